//! Tests of `hindmost simulate`.

use crate::{hindmost, json, run};

/// A small scenario: 40 s of arrivals on 40 machines.
const SMALL: &[&str] = &["simulate", "quickstart", "--set", "horizon=40", "--set", "cluster.machines=40"];

fn small(more: &[&str]) -> Vec<String> {
    SMALL.iter().chain(more).map(ToString::to_string).collect()
}

fn printed(more: &[&str]) -> String {
    let args = small(more);
    let ran = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn the_table_of_a_comparison_is_as_recorded() {
    insta::assert_snapshot!("simulate-table", printed(&["--policy", "none,mantri,sda"]));
}

#[test]
fn a_narrow_terminal_gets_fewer_columns() {
    let args = small(&["--policy", "none,fair+mantri(delta=0.5,kill_restart=true)"]);
    for width in ["20", "40", "60", "80", "100"] {
        let output = hindmost().args(&args).env("COLUMNS", width).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let table = text.lines().skip(1).take_while(|line| !line.starts_with("Flowtime"));
        let widest = table.map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.parse().unwrap(), "{widest} columns on {width}:\n{text}");
    }
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let one = printed(&["--json", "--threads", "1"]);
    assert_eq!(one, printed(&["--json", "--threads", "1"]));
    assert_eq!(one, printed(&["--json", "--threads", "4"]));
}

#[test]
fn json_has_the_documented_keys_in_order() {
    let document = printed(&["--json", "--policy", "none,sca(max_copies=4)"]);
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(",");
    assert!(keys(&value).starts_with("scenario,seeds,knowledge,placement,gamma,results,cautions"), "{}", keys(&value));
    let result = &value["results"][1];
    assert_eq!(result["policy"], "sca(max_copies=4)");
    assert_eq!(
        keys(result),
        "policy,jobs,unfinished_jobs,tasks,attempts,flowtime,running_time,resource,slowdown,utilization,makespan,\
         copies,versus_first,energy_joules,pocd,events"
    );
    assert_eq!(keys(&result["flowtime"]), "mean,ci95,p50,p80,p90,p95,p99,max,quantile_ci95");
    let [at, around] = [&result["flowtime"]["p50"], &result["flowtime"]["quantile_ci95"]["p50"]];
    assert_eq!(keys(&result["flowtime"]["quantile_ci95"]), "p50,p80,p90,p95,p99");
    assert!(around[0].as_f64() <= at.as_f64() && at.as_f64() <= around[1].as_f64(), "{around}");
    assert_eq!(keys(&result["versus_first"]), "flowtime_ratio,ci95,bootstrap_ci95");
    let [ratio, around] = [&result["versus_first"]["flowtime_ratio"], &result["versus_first"]["bootstrap_ci95"]];
    assert!(around[0].as_f64() < ratio.as_f64() && ratio.as_f64() < around[1].as_f64(), "{around}");
    assert_eq!(keys(&result["copies"]), "launched,won,wasted_share");
    assert_eq!(result["versus_first"]["ci95"].as_array().unwrap().len(), 2);
    assert_eq!(value["seeds"], serde_json::json!([1, 2, 3, 4, 5]));
}

/// Returns the cautions of a document.
fn cautions(document: &serde_json::Value) -> Vec<&str> {
    document["cautions"].as_array().unwrap().iter().map(|caution| caution.as_str().unwrap()).collect()
}

#[test]
fn comparisons_on_one_seed_carry_a_caution() {
    let caution = "one seed: differences may be chance; --seeds 5 gives intervals";
    // Exponential durations have no other caution.
    let light = ["--set", "workload.duration.exponential.mean=2", "--set", "workload.tasks=2"];
    let run = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let scenario = "horizon = 20\n[cluster]\nmachines = 9\n[workload]\narrival = { poisson = { rate = 1 } }\n\
            tasks = 1\nduration = { exponential = { mean = 1 } }\n";
        std::fs::write(folder.path().join("s.toml"), scenario).unwrap();
        let args = [&["simulate", "s.toml"], &light[..], more].concat();
        let output = hindmost().args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let document =
        |more: &[&str]| serde_json::from_str::<serde_json::Value>(&run(&[more, &["--json"]].concat())).unwrap();
    // A file without `seeds` has one.
    assert_eq!(cautions(&document(&["--policy", "none,late"])), [caution]);
    assert!(cautions(&document(&["--policy", "none,late", "--seeds", "5"])).is_empty());
    assert!(cautions(&document(&["--policy", "none"])).is_empty());
    assert_eq!(cautions(&document(&["--policy", "none", "--sweep", "cluster.machines=5,9"])), [caution]);
    let text = run(&["--policy", "none,late"]);
    assert!(text.contains("\nCaution: one seed: differences may be chance; --seeds 5 gives intervals.\n"), "{text}");
    assert!(!run(&["--policy", "none,late", "--seeds", "5"]).contains("Caution"));
}

#[test]
fn durations_of_infinite_variance_carry_a_caution() {
    // With this many machines there is no caution about the load.
    let large = ["--json", "--policy", "none", "--set", "cluster.machines=400"];
    let document: serde_json::Value = serde_json::from_str(&printed(&large)).unwrap();
    let found = cautions(&document);
    assert!(found.len() == 1 && found[0].starts_with("durations have a Pareto tail with α = 2, so"), "{found:?}");
    let lighter = printed(&[&large[..], &["--set", "workload.duration.pareto.alpha=2.5"]].concat());
    assert!(cautions(&serde_json::from_str(&lighter).unwrap()).is_empty(), "{lighter}");
}

#[test]
fn built_in_scenarios_have_at_least_five_seeds() {
    for (name, text) in hindmost_sim::scenario::BUILT_IN {
        let scenario: toml::Table = text.parse().unwrap();
        assert!(scenario["seeds"].as_integer() >= Some(5), "{name}");
    }
}

#[test]
fn one_seed_has_no_interval() {
    let document = json(&["simulate", "xu2015-single-job", "--set", "workload.tasks=50", "--seeds", "1", "--json"]);
    assert_eq!(document["results"][0]["flowtime"]["ci95"], serde_json::Value::Null);
    assert_eq!(document["results"][0]["flowtime"]["quantile_ci95"]["p50"], serde_json::Value::Null);
    assert_eq!(document["results"][0]["versus_first"]["bootstrap_ci95"], serde_json::Value::Null);
    assert_eq!(document["results"][0]["jobs"], 1);
}

#[test]
fn all_policies_get_the_same_jobs() {
    let value: serde_json::Value = serde_json::from_str(&printed(&["--json"])).unwrap();
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), hindmost_policies::catalogue::SYSTEMS.len());
    for result in results {
        assert_eq!(result["tasks"], results[0]["tasks"]);
        assert_eq!(result["jobs"], results[0]["jobs"]);
    }
}

#[test]
fn a_sweep_makes_a_row_for_each_value_and_policy() {
    let value: serde_json::Value = serde_json::from_str(&printed(&[
        "--json",
        "--policy",
        "none,sda",
        "--seeds",
        "2",
        "--sweep",
        "workload.arrival.poisson.rate=0.5,1",
        "--sweep",
        "knowledge=oracle,progress(0.3)",
    ]))
    .unwrap();
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    assert_eq!(results[0]["set"]["workload.arrival.poisson.rate"], "0.5");
    assert_eq!(results[7]["set"]["knowledge"], "progress(0.3)");
    // At each point of the sweep, policies are compared with the first policy at this point.
    assert_eq!(results[2]["versus_first"]["flowtime_ratio"], 1.0);
}

#[test]
fn a_sweep_may_complete_a_table_that_set_begins() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = ["--set", "cluster.failures.repair=0.5", "--sweep", "cluster.failures.between=20,1000000"];
    let out = folder.path().join("out");
    let args = [&["--json", "--policy", "none", "--seeds", "1", "--out", out.to_str().unwrap()][..], &sweep].concat();
    let value: serde_json::Value = serde_json::from_str(&printed(&args)).unwrap();
    let failures: Vec<u64> =
        (0..2).map(|at| value["results"][at]["disturbances"]["node_failures"].as_u64().unwrap()).collect();
    // Arrivals go on until 40 s, so that each of the 40 machines fails at 20 s. The run ends long before 1 000 000 s.
    assert!(failures[0] >= 40 && failures[1] == 0, "{failures:?}");
    // The scenario is that of the first point, so that it is complete.
    let text = std::fs::read_to_string(out.join("scenario.toml")).unwrap();
    assert!(text.contains("between = 20"), "{text}");
}

#[test]
fn a_sweep_over_seeds_lists_all_of_them() {
    let value: serde_json::Value =
        serde_json::from_str(&printed(&["--json", "--policy", "none", "--sweep", "seeds=1,3"])).unwrap();
    assert_eq!(value["seeds"], serde_json::json!([1, 2, 3]));
}

#[test]
fn seeds_count_up_from_the_first() {
    let value: serde_json::Value =
        serde_json::from_str(&printed(&["--json", "--policy", "none", "--seed", "7", "--seeds", "2"])).unwrap();
    assert_eq!(value["seeds"], serde_json::json!([7, 8]));
}

/// A scenario with nodes of two speeds.
const UNEQUAL: &str = r#"
horizon = 30.0
[[cluster.nodes]]
count = 2
cpus = 4
speed = 0.5
[[cluster.nodes]]
count = 2
cpus = 4
speed = 2.0
[workload]
arrival = { poisson = { rate = 0.3 } }
tasks = 4
duration = 2.0
[[policy]]
name = "none"
"#;

#[test]
fn every_result_states_the_placement() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("unequal.toml").to_string_lossy().into_owned();
    std::fs::write(&scenario, UNEQUAL).unwrap();
    let simulate = |more: &[&str]| {
        let ran = run(&[&["simulate", &scenario][..], more].concat());
        (ran.code, ran.stdout, ran.stderr)
    };
    let heading = |more: &[&str]| simulate(more).1.lines().next().unwrap_or_default().to_owned();
    // Nodes of unequal speed are taken at random by default, nodes of equal speed in order.
    assert!(heading(&[]).ends_with(", placement random"), "{}", heading(&[]));
    assert!(heading(&["--set", "cluster.nodes.0.speed=2"]).ends_with(", placement first"));
    assert!(heading(&["--set", "placement=fastest"]).ends_with(", placement fastest"));
    assert!(heading(&["--sweep", "placement=first,spread"]).ends_with(", placement swept"));
    let swept = simulate(&["--sweep", "cluster.nodes.0.speed=2,0.5"]).1.replace('\n', " ");
    assert!(swept.contains("The placement is random at cluster.nodes.0.speed = 0.5"), "{swept}");
    let out = folder.path().join("out");
    let (code, printed, errors) = simulate(&["--json", "--out", &out.to_string_lossy()]);
    assert_eq!(code, Some(0), "{errors}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    for document in [&printed, &read("summary.json")] {
        assert_eq!(serde_json::from_str::<serde_json::Value>(document).unwrap()["placement"], "random");
    }
    assert!(read("scenario.toml").contains("placement = \"random\""));
    assert!(read("report.html").contains("random: a copy gets a random one of the nodes"), "{}", read("report.html"));
    let (code, _, message) = simulate(&["--set", "placement=fastet"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("did you mean \"fastest\"?"), "{message}");
}

#[test]
fn built_in_scenarios_are_listed_and_printed() {
    let list = run(&["simulate", "--list"]).stdout;
    let lines: Vec<(&str, &str)> =
        list.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| !name.is_empty()).collect();
    let names: Vec<&str> = lines.iter().map(|(name, _)| *name).collect();
    let expected = [
        "quickstart",
        "xu2015-light",
        "xu2015-heavy",
        "xu2015-single-job",
        "dollymp2022-light",
        "dollymp2022-heavy",
        "zhou2018-stragglers",
        "deadlines",
    ];
    assert_eq!(names, expected);
    for (name, about) in lines {
        assert!(about.contains("machines") || about.contains("nodes"), "{name}: {about}");
        let text = run(&["simulate", name, "--print"]);
        assert_eq!(text.code, Some(0));
        assert!(text.stdout.contains(&format!("name = \"{name}\"")), "{}", text.stdout);
    }
}

/// Returns the document of a small comparison with these options.
fn small_document(more: &[&str]) -> serde_json::Value {
    serde_json::from_str(&printed(&[&["--json", "--policy", "none,mantri"], more].concat())).unwrap()
}

#[test]
fn an_open_correlation_is_compared_side_by_side() {
    let open = small_document(&[]);
    let table = &open["by_correlation"];
    assert_eq!(table["correlations"], serde_json::json!([0.0, 0.5, 0.9]));
    assert_eq!((table["results"].as_array().unwrap().len(), &table["seeds"]), (6, &open["seeds"]));
    // The column of the scenario's own value has the same figures as the first table.
    assert_eq!(table["results"][1]["versus_first"], open["results"][1]["versus_first"]);
    // A single value is shown, too.
    let single = small_document(&["--correlations", "0.5"]);
    assert_eq!(single["by_correlation"]["correlations"], serde_json::json!([0.5]));
    let nothing = printed(&["--policy", "none,srpt+none", "--correlations", "0.5"]).replace('\n', " ");
    assert!(nothing.contains("--correlations 0.5 shows no other table"), "{nothing}");
    // The other keys are those of a comparison without the table.
    let mut off = small_document(&["--correlations", "off"]);
    assert_eq!((&off["by_correlation"], &off["results"]), (&serde_json::Value::Null, &open["results"]));
    assert!(cautions(&off).iter().any(|one| one.contains("(correlation 0)")), "{off}");
    assert!(!cautions(&open).iter().any(|one| one.contains("(correlation 0)")), "{open}");
    // A scenario with the key has no table, unless the option gives values.
    off = small_document(&["--set", "workload.correlation=0.5"]);
    assert_eq!(off["by_correlation"], serde_json::Value::Null);
    let given = small_document(&["--set", "workload.correlation=0.5", "--correlations", "0.5,1"]);
    assert_eq!(given["by_correlation"]["correlations"], serde_json::json!([0.5, 1.0]));
    assert_eq!(given["by_correlation"]["used"], 0.5);
    // The jobs are the same, so `none` has the same result.
    assert_eq!(open["results"][0], off["results"][0]);
    assert_ne!(open["results"][1], off["results"][1]);
    let text = printed(&["--policy", "none,mantri"]);
    let heading = text.lines().find(|line| line.starts_with("policy")).unwrap();
    assert_eq!(heading.split_whitespace().collect::<Vec<_>>()[..4], ["policy", "0", "0.5", "0.9"]);
    for (options, reason) in [
        (&["--correlations", "0,2"][..], "\"2\" is not a number from 0 to 1"),
        (&["--correlations", "0,1", "--sweep", "correlation=0,1"][..], "leave one of the two out"),
    ] {
        let args = small(options);
        let ran = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(ran.code == Some(2) && ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn the_recommendations_of_a_sweep_weigh_other_correlations() {
    let swept = small_document(&["--sweep", "gamma=0,1"]);
    let alone = small_document(&[]);
    let values = |document: &serde_json::Value, point: usize| {
        let found = &document["recommendation"][point];
        ["policy", "flowtime_ratio", "correlation", "at_correlations", "worst_case"].map(|key| found[key].clone())
    };
    // The price of resources changes no decision of these policies.
    for point in [0, 1] {
        assert_eq!(values(&swept, point), values(&alone, 0));
    }
    assert_eq!(swept["recommendation"][1]["correlation"], 0.5);
    assert!(cautions(&swept).iter().any(|one| one.contains("recommendations go by the middle")), "{swept}");
    // The results are those of the scenario's own correlation.
    assert_eq!(swept["results"][1]["flowtime"], alone["results"][1]["flowtime"]);
    for options in [&["--sweep", "gamma=0,1", "--correlations", "off"][..], &["--sweep", "correlation=0,0.5"]] {
        assert_eq!(small_document(options)["recommendation"][0]["at_correlations"], serde_json::Value::Null);
    }
}

#[test]
fn a_comparison_ends_with_a_recommendation() {
    let document = small_document(&["--correlations", "off"]);
    let found = &document["recommendation"][0];
    assert_eq!((&found["policy"], &found["versus"]), (&"mantri".into(), &"none".into()));
    let ratio = &document["results"][1]["versus_first"];
    assert_eq!((&found["flowtime_ratio"], &found["ci95"]), (&ratio["flowtime_ratio"], &ratio["bootstrap_ci95"]));
    let last = |text: &str| text.lines().rev().find(|line| line.contains("ecommendation: ")).map(str::to_owned);
    let line = last(&printed(&["--policy", "none,mantri", "--correlations", "off"])).unwrap();
    assert!(line.starts_with("Recommendation: mantri, whose mean flowtime is 0."), "{line}");
    // At this load, the backups delay other tasks, which is a loss where they save little.
    let all = small_document(&[]);
    let found = &all["recommendation"][0];
    assert_eq!((&found["policy"], &found["worst_case"]), (&"none".into(), &"none".into()));
    assert_eq!(
        (&found["at_correlations"][1]["best"], &found["at_correlations"][2]["best"]),
        (&"mantri".into(), &"none".into())
    );
    // The scenario leaves the correlation open, so the middle one decides, also about what is first.
    assert_eq!((&found["correlation"], &found["at_correlations"][0]["correlation"]), (&0.5.into(), &0.5.into()));
    let one_seed = last(&printed(&["--policy", "none,mantri", "--seeds", "1"])).unwrap();
    assert!(one_seed.starts_with("No recommendation: one seed is no basis"), "{one_seed}");
    assert_eq!(last(&printed(&["--policy", "mantri"])), None);
    let swept = small_document(&["--sweep", "load=0.3,0.6"]);
    assert_eq!(swept["recommendation"][1]["set"]["load"], "0.6");
    assert_eq!((&swept["load"][1]["set"]["load"], &swept["load"][1]["load"]), (&"0.6".into(), &0.6.into()));
}

#[test]
fn the_list_of_scenarios_has_a_json_form() {
    let list = json(&["simulate", "--list", "--json"]);
    assert_eq!(list[0]["name"], "quickstart");
    assert!(list[0]["description"].as_str().unwrap().starts_with("400 one-slot machines"), "{list}");
}

#[test]
fn wrong_values_are_explained() {
    for (setting, expected) in [
        ("policy.9.name=none", "the scenario has no list policy, so that there is no entry 9; --policy names policies"),
        ("workload.arrival.every.load=0.5", "only one kind can be given; replace the whole table"),
        ("cluster.machines=1000000000000", "expected a whole number from 0 to 4294967295"),
        ("knowledge=foo", "progress(uniform), age, profiles or profiles(S)"),
        ("load=60", "must be at most 10: it is a share of what the cluster can do, so that 60% is 0.6"),
        ("load=inf", "load is inf, but must be above 0 and finite"),
    ] {
        let ran = run(&["simulate", "--set", setting]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(expected), "{setting}: {}", ran.stderr);
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    use std::process::Stdio;
    let mut child = hindmost().args(["policies"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
