//! Tests of `hindmost replay`, `verify` and `trace info` on journals of runs.

use std::fs;
use std::path::{Path, PathBuf};

use hindmost_policies::catalogue::compared;
use hindmost_sim::testing::{Run, World};
use serde_json::Value;

use crate::{document, json_in, run_in};

/// Returns a cluster of two kinds of nodes, and jobs with dependent phases. The copies of a task take different times.
fn world() -> World {
    World::nodes([[("cpus", 4.0), ("memory", 8e9)], [("cpus", 2.0), ("memory", 2e9)]])
        .knowledge("progress(0.2)")
        .gamma(0.125)
        .job("first")
        .at(0.5)
        .phase("map")
        .drawn(12, "pareto(alpha=1.5,mean=2)")
        .demand([("cpus", 1.0), ("memory", 1e9)])
        .phase("reduce")
        .after(["map"])
        .drawn(3, "exponential(mean=1)")
        .demand([("cpus", 2.0), ("memory", 4e9)])
        .job("second")
        .at(1.25)
        .drawn(7, "pareto(alpha=1.2,mean=1)")
}

/// Writes the output folder of a run, with the journal where a live run has it, and returns its path.
fn run_folder(folder: &Path, name: &str, recorded: &Run) -> PathBuf {
    let inside = folder.join(name).join(".hindmost");
    fs::create_dir_all(&inside).unwrap();
    fs::write(inside.join("journal.jsonl"), recorded.journal()).unwrap();
    inside.join("journal.jsonl")
}

fn policies(replayed: &Value) -> Vec<&str> {
    replayed["results"].as_array().unwrap().iter().map(|result| result["policy"].as_str().unwrap()).collect()
}

/// Returns the bits of a number. JSON keeps all of them.
fn bits(value: &Value) -> u64 {
    value.as_f64().unwrap().to_bits()
}

#[test]
fn the_recorded_policy_has_the_same_flowtime_again() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, policy) in [(1, "none"), (2, "fifo+none"), (3, "none"), (4, "none"), (5, "fair")] {
        let recorded = world().seed(seed).run(policy);
        fs::write(folder.path().join("j"), recorded.journal()).unwrap();
        let replayed = json_in(folder.path(), &["replay", "j", "--policy", policy, "--seeds", "2", "--json"]);
        let result = &replayed["results"][0];
        // All durations are recorded and nothing is drawn, so that every seed gives the same bits.
        assert_eq!(bits(&result["makespan"]), recorded.result.makespan.to_bits(), "{policy}");
        let longest = recorded.result.flowtime.iter().copied().fold(0.0, f64::max);
        assert_eq!(bits(&result["flowtime"]["max"]), longest.to_bits(), "{policy}");
        let resource: f64 = recorded.result.resource.iter().sum();
        assert!((result["resource"]["total"].as_f64().unwrap() / (2.0 * resource) - 1.0).abs() < 1e-9, "{policy}");
        assert_eq!((&result["tasks"], &result["jobs"]), (&Value::from(44), &Value::from(4)));
    }
}

#[test]
fn nodes_keep_their_recorded_speeds() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = World::machines(3).speeds([1.0, 0.5, 0.25]).job("a").drawn(9, "exponential(mean=2)").run("none");
    fs::write(folder.path().join("j"), recorded.journal()).unwrap();
    let replayed = json_in(
        folder.path(),
        &["replay", "j", "--policy", "none", "--seeds", "1", "--set", "placement=first", "--json"],
    );
    assert_eq!(bits(&replayed["results"][0]["makespan"]), recorded.result.makespan.to_bits());
}

#[test]
fn a_replay_takes_its_settings_from_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path(), "out", &world().order("srpt").run("fifo+mantri(delta=0.5)"));
    let replayed = json_in(folder.path(), &["replay", "out", "--json"]);
    let systems = compared().map(|system| system.name);
    assert_eq!(policies(&replayed), ["fifo+mantri(delta=0.5)"].into_iter().chain(systems).collect::<Vec<_>>());
    assert_eq!((&replayed["knowledge"], &replayed["scenario"]), (&"progress(0.2)".into(), &"out".into()));
    let notes: Vec<&str> = replayed["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    assert!(notes[0].contains("at least as long as it ran") && notes[0].contains("drawn"), "{notes:?}");
    assert_eq!(
        notes[1],
        "order srpt for policies without an order of their own, gamma 0.125; jobs arrive at their recorded times"
    );
    assert!(notes[2].contains("the recorded run (policy fifo+mantri(delta=0.5)"), "{notes:?}");
    // Options override the journal.
    let set = ["replay", "out", "--json", "--policy", "late", "--knowledge", "age", "--set", "order=fifo"];
    let replayed = json_in(folder.path(), &set);
    assert_eq!((policies(&replayed), &replayed["knowledge"]), (vec!["late"], &"age".into()));
    assert_eq!(replayed["notes"][1], "order fifo, gamma 0.125; jobs arrive at their recorded times");
}

#[test]
fn a_run_with_knowledge_history_is_replayed_with_age() {
    let folder = tempfile::tempdir().unwrap();
    let journal = String::from_utf8(world().knowledge("age").run("mantri").journal()).unwrap();
    fs::write(folder.path().join("j"), journal.replacen("\"age\"", "\"history\"", 1)).unwrap();
    let replayed = json_in(folder.path(), &["replay", "j", "--policy", "none", "--json"]);
    assert_eq!(replayed["knowledge"], "age");
    assert!(replayed["notes"].to_string().contains("history, which is for live runs"), "{}", replayed["notes"]);
    // In a run with `history`, the journal gives the policy the same information as `age`.
    assert_eq!(json_in(folder.path(), &["verify", "j", "--json"])["knowledge"], "history");
}

#[test]
fn a_recorded_system_is_not_named_twice() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path(), "out", &world().run("sda"));
    let replayed = json_in(folder.path(), &["replay", "out", "--json"]);
    let named = policies(&replayed);
    assert_eq!((named[0], named.iter().filter(|name| **name == "sda").count()), ("sda", 1));
    // Durations of copies that never ran are drawn by seed, so the same command prints the same result.
    let again = |threads: &str| run_in(folder.path(), &["replay", "out", "--seeds", "3", "--threads", threads]).stdout;
    assert_eq!(again("1"), again("2"));
}

#[test]
fn several_journals_are_replayed_with_swept_machines() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path(), "a", &world().run("none"));
    run_folder(folder.path(), "b", &world().knowledge("age").seed(2).run("sca"));
    let args = ["replay", "a", "b", "--sweep", "machines=2,20", "--policy", "none,late", "--json"];
    let replayed = json_in(folder.path(), &args);
    assert_eq!(replayed["results"].as_array().unwrap().len(), 8);
    assert_eq!(replayed["results"][6]["set"], serde_json::json!({"log": "b", "machines": "20"}));
    assert_eq!(replayed["knowledge"], "age");
    let notes = replayed["notes"].to_string();
    assert!(notes.contains("\"b: the recorded run (policy sca, knowledge age)"), "{notes}");
    assert!(notes.contains("the recorded runs have different progress models"), "{notes}");
    let makespan = |at: usize| replayed["results"][at]["makespan"].as_f64().unwrap();
    assert!(makespan(0) > makespan(2), "{} machines, {} machines", makespan(0), makespan(2));
    // The journals' policies come first, in the order of the journals.
    let replayed = json_in(folder.path(), &["replay", "b", "a", "--json"]);
    assert_eq!(policies(&replayed)[..2], ["sca", "none"]);
}

#[test]
fn trace_info_counts_the_journal_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = world().run("hadoop");
    run_folder(folder.path(), "out", &recorded);
    let counted = json_in(folder.path(), &["trace", "info", "out", "--json"]);
    for (key, expected) in [("jobs", 2), ("stages", 3), ("tasks", 22), ("failed_attempts", 0), ("nodes", 2)] {
        assert_eq!(counted[key], expected, "{key}");
    }
    assert_eq!((&counted["format"], &counted["from"]), (&"journal".into(), &Value::from(0.0)));
    assert_eq!(counted["attempts"], recorded.result.attempts);
    assert_eq!(counted["speculative_attempts"], recorded.result.copies_launched);
    assert!(recorded.result.copies_launched > 0);
    assert_eq!(counted["killed_attempts"], recorded.result.attempts - 22);
    assert_eq!(counted["warnings"], serde_json::json!([]));
    let text = run_in(folder.path(), &["trace", "info", "out"]).stdout;
    assert!(text.contains("  phases                 3\n"), "{text}");
}

#[test]
fn a_whole_journal_verifies() {
    let folder = tempfile::tempdir().unwrap();
    for policy in ["none", "mantri(delta=0.5,kill_restart=true)", "late", "sca(max_copies=4)", "srpt+sda", "ese"] {
        let recorded = world().run(policy);
        let journal = run_folder(folder.path(), policy, &recorded);
        let verdict = json_in(folder.path(), &["verify", policy, "--json"]);
        let verified = recorded.verify().unwrap();
        let expected = serde_json::json!({
            "journal": format!("{policy}/.hindmost/journal.jsonl"), "policy": policy, "knowledge": "progress(0.2)",
            "events": verified.events, "rounds": verified.rounds, "decisions": verified.decisions,
            "same": true, "difference": null, "cut_short": false
        });
        assert_eq!(verdict, expected);
        assert_eq!(verdict.as_object().unwrap().keys().count(), 9);
        let text = run_in(folder.path(), &["verify", journal.to_str().unwrap()]);
        assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
        assert!(text.stdout.contains("the same decisions again\n"), "{}", text.stdout);
        assert!(text.stdout.contains(&format!("  decisions    {}\n", verified.decisions)), "{}", text.stdout);
    }
}

#[test]
fn an_altered_journal_does_not_verify() {
    let folder = tempfile::tempdir().unwrap();
    let journal = String::from_utf8(world().run("mantri").journal()).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    let start = lines.iter().rposition(|line| line.contains("\"start\"")).unwrap();
    let without = [&lines[..start], &lines[start + 1..]].concat().join("\n") + "\n";
    let elsewhere = lines[start].replace("\"node\":0", "\"node\":7").replace("\"node\":1", "\"node\":7");
    let moved = journal.replace(lines[start], &elsewhere);
    let at = &lines[start][..lines[start].find(',').unwrap()];
    let delayed = journal.replace(lines[start], &lines[start].replace(at, &format!("{at}1")));
    for (what, text, expected) in [
        ("removed", &without, "the journal has"),
        ("moved", &moved, "attempt 0 on node 7, but the policy decides the start of"),
        ("delayed", &delayed, "but the policy decides it at"),
    ] {
        assert_ne!(*text, journal, "{what}");
        fs::write(folder.path().join(what), text).unwrap();
        let ran = run_in(folder.path(), &["verify", what, "--json"]);
        assert_eq!(ran.code, Some(1), "{what}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("error: the policy does not make the recorded decisions again: line "),
            "{}",
            ran.stderr
        );
        let verdict = document(&ran);
        assert_eq!((&verdict["same"], &verdict["cut_short"]), (&false.into(), &false.into()));
        let difference = verdict["difference"].as_str().unwrap();
        assert!(difference.starts_with(&format!("line {}: ", start + 1)), "{what}: {difference}");
        assert!(difference.contains(expected), "{what}: {difference}");
        let text = run_in(folder.path(), &["verify", what]);
        assert!(text.stdout.contains("different decisions"), "{}", text.stdout);
    }
    // A policy other than the run's makes other decisions.
    fs::write(folder.path().join("other"), journal.replacen("\"mantri\"", "\"none\"", 1)).unwrap();
    assert_eq!(run_in(folder.path(), &["verify", "other"]).code, Some(1));
}

#[test]
fn a_cut_journal_verifies_up_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let journal = world().run("late").journal();
    let whole = json_in_file(folder.path(), &journal);
    // Some of these lengths cut the journal within a line, one within a round.
    let text = String::from_utf8(journal.clone()).unwrap();
    let first_start = text.find("\"start\"").unwrap();
    let line_end = first_start + text[first_start..].find('\n').unwrap() + 1;
    for length in [journal.len() - 1, journal.len() - 4, journal.len() / 2, line_end, first_start] {
        let verdict = json_in_file(folder.path(), &journal[..length]);
        assert_eq!((&verdict["same"], &verdict["difference"]), (&true.into(), &Value::Null), "{length}");
        // In the first case only the last line feed is missing, so every line is complete.
        assert_eq!(verdict["cut_short"], length != journal.len() - 1, "{length}");
        assert!(verdict["decisions"].as_u64() <= whole["decisions"].as_u64());
    }
    let printed = run_in(folder.path(), &["verify", "j"]).stdout;
    assert!(printed.contains("up to the end of the journal, which is cut short"), "{printed}");
    fs::write(folder.path().join("j"), &journal[..journal.len() - 4]).unwrap();
    let replayed = json_in(folder.path(), &["replay", "j", "--policy", "none", "--json"]);
    assert!(replayed["notes"].to_string().contains("cut short in its last line"), "{}", replayed["notes"]);
}

/// Writes these bytes as a journal and returns the JSON document of `verify`.
fn json_in_file(folder: &Path, journal: &[u8]) -> Value {
    fs::write(folder.join("j"), journal).unwrap();
    json_in(folder, &["verify", "j", "--json"])
}

#[test]
fn explain_names_the_tasks_of_a_chain_for_which_a_task_waited() {
    let folder = tempfile::tempdir().unwrap();
    let phase = |name: &str, keys: &str| format!("[[phase]]\nname = \"{name}\"\n{keys}\ncommand = \"sleep 0.2\"\n");
    let text =
        format!("name = \"j\"\n{}{}", phase("trim", "tasks = 3"), phase("align", "after = [\"trim\"]\neach = true"));
    fs::write(folder.path().join("job.toml"), text).unwrap();
    assert_eq!(run_in(folder.path(), &["run", "job.toml", "--policy", "none"]).code, Some(0));
    let explained = json_in(folder.path(), &["explain", "j.out", "align/2", "--json"]);
    assert_eq!(explained["waited_for"][0]["task"], "trim/2");
    assert!(explained["waited_for"][0]["finish"].as_f64().is_some_and(|finish| finish > 0.1), "{explained}");
    let text = run_in(folder.path(), &["explain", "j.out", "align/2"]).stdout;
    assert!(text.contains("\nafter trim/2 ("), "{text}");
    assert_eq!(json_in(folder.path(), &["explain", "j.out", "trim/2", "--json"])["waited_for"], serde_json::json!([]));
}
