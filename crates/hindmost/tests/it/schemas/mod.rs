//! The JSON schemas of scenarios and of the documents of `--json`: they are current, and real files and documents
//! conform to them.

mod documents;
mod validator;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hindmost_sim::experiment::Execution;
use hindmost_sim::scenario::{self, BUILT_IN};
use hindmost_sim::testing::World;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{json as printed, json_in, run, run_in};
use validator::Validator;

/// Set to 1, this environment variable makes the tests write the schemas.
const UPDATE: &str = "HINDMOST_UPDATE_DOCS";

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Checks that a file has this schema, or writes the file if [`UPDATE`] is set.
fn is_current(file: &str, schema: &Value) {
    let current = format!("{schema:#}\n");
    let path = project(file);
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        fs::write(&path, &current).expect("the schema can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == current, "{file} is not current: {UPDATE}=1 cargo test -p hindmost --test it schemas writes it");
}

/// Returns the schema with additional keys forbidden, so that a key that it does not describe is an error.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(entries) => {
            for entry in entries.values_mut() {
                *entry = closed(entry.take());
            }
            if entries.contains_key("properties") && entries.get("type").is_some_and(|name| name == "object") {
                entries.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| *entry = closed(entry.take())),
        _ => {}
    }
    schema
}

/// Checks that a command's document conforms to its definition in the schema and has no other keys. The definition has
/// the command's name.
pub fn conforms(command: &str, document: &Value) {
    conforming(command, document).unwrap_or_else(|error| panic!("{command}: {error}"));
}

/// The same as a result. The error says what does not conform.
pub fn conforming(command: &str, document: &Value) -> Result<(), String> {
    let schema = closed(documents::schema());
    Validator::new(&schema).check(Some(command), document)
}

/// Adds the names of the keys without a description to `found`.
fn undescribed(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(entries) => {
            for (key, rule) in entries.get("properties").and_then(Value::as_object).into_iter().flatten() {
                // The description of an enumeration's variant is next to `properties`, not in them.
                if rule.get("description").is_none() && entries.get("description").is_none() {
                    found.push(key.clone());
                }
            }
            entries.values().for_each(|entry| undescribed(entry, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| undescribed(entry, found)),
        _ => {}
    }
}

#[test]
fn the_schemas_in_the_documentation_are_current() {
    is_current("docs/scenario.schema.json", &scenario::schema());
    is_current(documents::FILE, &documents::schema());
}

#[test]
fn every_key_has_a_description() {
    let mut scenario = scenario::schema();
    scenario["$defs"].as_object_mut().unwrap().remove("Policy");
    for schema in [scenario, documents::schema()] {
        let mut found = Vec::new();
        undescribed(&schema, &mut found);
        assert!(found.is_empty(), "without description: {found:?}");
    }
}

fn scenario_conforms(text: &str) -> Result<(), String> {
    let parsed: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let parsed = serde_json::to_value(parsed).unwrap();
    Validator::new(&scenario::schema()).check(None, &parsed)
}

/// Returns the TOML blocks of a page of the documentation.
fn toml_blocks(page: &str) -> Vec<String> {
    let text = fs::read_to_string(project(page)).unwrap();
    text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn scenarios_conform_to_their_schema() {
    for (name, text) in BUILT_IN {
        scenario_conforms(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let shown = run(&["simulate", name, "--print"]);
        scenario_conforms(&shown.stdout).unwrap_or_else(|error| panic!("{name} --print: {error}"));
    }
    for seed in fs::read_dir(project("fuzz/seeds/scenario")).unwrap() {
        let text = fs::read_to_string(seed.unwrap().path()).unwrap();
        scenario_conforms(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    let blocks = toml_blocks("docs/scenarios.md");
    assert!(blocks.len() >= 4);
    for block in &blocks {
        let table: toml::Table = block.parse().unwrap();
        // An example of a part of a scenario is completed with a small cluster and workload.
        let part = |key: &str, rest: &str| if table.contains_key(key) { "" } else { rest }.to_owned();
        let listed = block.starts_with("[[workload.job.phase]]");
        let kind = if listed { "[[workload.job]]\nname = \"kind\"\n" } else { "" };
        let mut whole = if listed { format!("{kind}{block}") } else { block.clone() };
        whole += &part("cluster", "\n[cluster]\nmachines = 4\n");
        let mut whole: toml::Table = whole.parse().unwrap();
        let workload = whole.entry("workload").or_insert_with(|| toml::Table::new().into());
        let arrival = toml::Table::from_iter([(
            "at_once".to_owned(),
            toml::Table::from_iter([("jobs".to_owned(), 1.into())]).into(),
        )]);
        workload.as_table_mut().unwrap().entry("arrival").or_insert(arrival.into());
        scenario_conforms(&whole.to_string()).unwrap_or_else(|error| panic!("{error}: {block}"));
    }
    let every_form = "cluster = { nodes = [{ count = 2, cpus = 4, memory = \"8 GB\", speed = { uniform = { min = 1, max = 2 } } }] }\n\
        network = { rack_bandwidth = \"1GB\", remote_bandwidth = 1e8, assignment = \"delay\" }\n\
        [workload]\narrival = { every = { gap = { exponential = { mean = 2 } }, jobs = 3 } }\n\
        [[workload.job]]\nname = \"kind\"\n\
        [[workload.job.phase]]\nname = \"map\"\ntasks = 3\nduration = { weibull = { shape = 1, mean = 2 } }\n\
        input = { uniform = { min = \"1MB\", max = 5e6 } }\n\
        [[policy]]\nname = \"sca\"\nmax_copies = 8\n";
    scenario_conforms(every_form).unwrap();
}

#[test]
fn schema_and_program_refuse_the_same_wrong_scenarios() {
    let scenario = "order = \"fair\"\nknowledge = \"age\"\nnoise = 0\ngamma = 1\ncluster = { machines = 4 }\nqueue = [{ name = \
                    \"a\", guaranteed = 0.5, maximum = 0.75 }]\n[workload]\ncorrelation = 0\nslow_from = 0\nqueues = { a = \
                    0.25 }\narrival = { at_once = { jobs = 2 } }\ntasks = 3\nduration = { exponential = { mean = 2 } \
                    }\n[[policy]]\nname = \"sca\"\nmax_copies = 8\n";
    let folder = TempDir::new().unwrap();
    let exit_code = |text: &str| {
        fs::write(folder.path().join("s.toml"), text).unwrap();
        run_in(folder.path(), &["simulate", "s.toml"]).code
    };
    for order in ["fair", "tetris(epsilon=0.1)", " hopper ( beta = fitted ) ", "fifo()"] {
        let valid = scenario.replacen("fair", order, 1);
        scenario_conforms(&valid).unwrap();
        assert_eq!(exit_code(&valid), Some(0), "{valid}");
    }
    for knowledge in
        ["oracle", "progress(0)", "progress(.5)", "progress(0.99)", "progress(1e-3)", "progress( uniform )"]
    {
        let valid = scenario.replacen("age", knowledge, 1);
        scenario_conforms(&valid).unwrap();
        assert_eq!(exit_code(&valid), Some(0), "{valid}");
    }
    for (right, wrong) in [
        ("cluster = ", "clutser = "),
        ("machines", "machine"),
        ("machines = 4", "machines = 0"),
        ("machines = 4", "machines = 4, nodes = [{ count = 1, cpus = 1 }]"),
        ("machines = 4", "nodes = [{ count = 1, cpus = 1, memory = 48 }]"),
        ("cluster = { machines = 4 }", "seeds = 1.5\ncluster = { machines = 4 }"),
        ("\"age\"", "\"orakel\""),
        ("\"age\"", "\"history\""),
        ("\"age\"", "\"progress(1)\""),
        ("\"age\"", "\"progress(1.5)\""),
        ("\"age\"", "\"progress(-0.5)\""),
        ("\"fair\"", "\"fare\""),
        ("\"fair\"", "\"fair+mantri\""),
        ("\"fair\"", "\"mantri\""),
        ("\"fair\"", "\"tetris(epsilom=0.1)\""),
        ("\"fair\"", "\"fair(epsilon=0.1)\""),
        ("noise = 0", "noise = -1"),
        ("noise = 0", "noise = 6"),
        ("gamma = 1", "gamma = -1"),
        ("guaranteed = 0.5", "guaranteed = -0.5"),
        ("guaranteed = 0.5", "guaranteed = 1.5"),
        ("maximum = 0.75", "maximum = 1.5"),
        ("correlation = 0", "correlation = -0.1"),
        ("correlation = 0", "correlation = 1.1"),
        ("slow_from = 0", "slow_from = 1"),
        ("slow_from = 0", "slow_from = -0.1"),
        ("queues = { a = 0.25 }", "queues = { a = 1.25 }"),
        ("queues = { a = 0.25 }", "queues = { a = -0.25 }"),
        ("cluster = { machines = 4 }", "cluster = { machines = 4 }\nnetwork = { assignment = \"first\" }"),
        ("at_once", "at_onec"),
        ("jobs = 2", "jobs = 2, gap = 1"),
        ("tasks = 3", "tasks = \"3\""),
        ("tasks", "task"),
        ("mean = 2", "mean = 2, cv = 1"),
        ("exponential", "exponentail"),
        ("\"sca\"", "\"scaa\""),
        ("max_copies", "max_copy"),
        ("name = \"sca\"\n", ""),
    ] {
        let changed = scenario.replacen(right, wrong, 1);
        assert_ne!(changed, scenario, "{right}");
        assert!(scenario_conforms(&changed).is_err(), "the schema accepts {changed}");
        assert_eq!(exit_code(&changed), Some(2), "the program accepts {changed}");
    }
}

#[test]
fn documents_of_logs_and_journals_conform() {
    let folder = TempDir::new().unwrap();
    let world = World::nodes([[("cpus", 4.0), ("memory", 8e9)]]).job("first").phase("map");
    let recorded =
        world.drawn(40, "pareto(alpha=1.5,mean=2)").phase("reduce").after(["map"]).drawn(3, "exponential(mean=1)");
    fs::write(folder.path().join("journal.jsonl"), recorded.run("late").journal()).unwrap();
    let journal = |args: &[&str]| json_in(folder.path(), args);
    conforms("verify", &journal(&["verify", "journal.jsonl", "--json"]));
    fs::create_dir_all(folder.path().join("out/.hindmost/set-aside/map.0.1")).unwrap();
    conforms("clean", &journal(&["clean", "out", "--json"]));
    conforms("explain", &journal(&["explain", "journal.jsonl", "map/3", "--json"]));
    conforms("replay", &journal(&["replay", "journal.jsonl", "--policy", "none,late", "--json"]));
    let info = journal(&["trace", "info", "journal.jsonl", "--json"]);
    conforms("trace-info", &info);
    assert!(info["findings"]["phases"][0]["fit"]["pareto"].is_object(), "{info}");
    conforms("trace-info", &journal(&["trace", "info", "journal.jsonl", "journal.jsonl", "--json"]));
    for log in ["spark_log/usual.json", "spark_log/odd.json", "hadoop_log/history.jhist", "rumen_trace/one.json"] {
        let log = project("fuzz/seeds").join(log);
        conforms("trace-info", &printed(&["trace", "info", log.to_str().unwrap(), "--json"]));
        conforms("advise", &printed(&["advise", log.to_str().unwrap(), "--json"]));
    }
    conforms("advise", &journal(&["advise", "journal.jsonl", "--json"]));
}

#[test]
fn documents_of_reproductions_conform() {
    let stop = AtomicBool::new(false);
    let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
    let paper = hindmost_papers::built_in("xu2015").unwrap().unwrap();
    let selection = hindmost_papers::Selection { size: hindmost_papers::Size::Short, ..Default::default() };
    let made = hindmost_papers::reproduce(&paper, &selection, &execution).unwrap();
    let document = serde_json::to_value(made.reproduction).unwrap();
    conforms("reproduce", &document);
    // The command prints a list if several papers are named.
    conforms("reproduce", &json!([document, document]));
    let ranking = hindmost_papers::ranking::RankingSelection { size: hindmost_papers::Size::Short, seeds: Some(2) };
    let ranking = serde_json::to_value(hindmost_papers::ranking::rank_all(ranking, &execution).unwrap()).unwrap();
    conforms("reproduce", &ranking);
    conforms("reproduce", &json!([document, ranking]));
    let figures = document["figures"].as_array().unwrap();
    assert!(figures.iter().any(|figure| figure["tables"][0]["plot"].is_object()), "{document}");
}

#[test]
fn wrong_documents_do_not_conform() {
    let schema = documents::schema();
    let definitions = schema["$defs"].as_object().unwrap();
    assert!(documents::names().iter().all(|name| definitions.contains_key(name)), "{:?}", documents::names());
    let sigma = json!({ "sigma": 1.5, "copies": 2, "resource_ratio": 0.9 });
    conforms("theory-sigma", &sigma);
    let closed = closed(schema);
    let validator = Validator::new(&closed);
    for (key, value) in [("sigma", json!("1.5")), ("copies", json!(null)), ("copies", json!(2.5)), ("more", json!(1))] {
        let mut wrong = sigma.clone();
        wrong[key] = value;
        assert!(validator.check(Some("theory-sigma"), &wrong).is_err(), "{wrong}");
    }
    for command in documents::names() {
        assert!(validator.check(Some(&command), &json!({})).is_err(), "{command}");
    }
}
