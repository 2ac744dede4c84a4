//! Tests of `hindmost replay` and `hindmost trace info` on Spark event logs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::{hindmost, json, run, run_in};

/// Returns the log of a job with two stages on two executors. The first stage has four tasks; one of them straggled and
/// its speculative copy finished first. The second stage has one task.
fn log() -> String {
    let mut lines = vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationStart","App Name":"own","App ID":"app-1","Timestamp":1000000,"User":"u"}"#
            .to_owned(),
    ];
    for executor in 1..=2 {
        lines.push(format!(
            r#"{{"Event":"SparkListenerExecutorAdded","Timestamp":1000000,"Executor ID":"{executor}","Executor Info":{{"Host":"h{executor}","Total Cores":2,"Log Urls":{{}}}}}}"#
        ));
    }
    let stage = |id: u32, tasks: u32, parents: &str| {
        format!(
            r#"{{"Stage ID":{id},"Stage Attempt ID":0,"Stage Name":"s{id}","Number of Tasks":{tasks},"RDD Info":[],"Parent IDs":[{parents}],"Details":""}}"#
        )
    };
    lines.push(format!(
        r#"{{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":1000000,"Stage Infos":[{},{}],"Stage IDs":[0,1],"Properties":{{}}}}"#,
        stage(0, 4, ""),
        stage(1, 1, "0")
    ));
    let end = |stage: u32, id: u32, index: u32, executor: u32, times: (u64, u64), speculative: bool, killed: bool| {
        let reason = if killed {
            r#"{"Reason":"TaskKilled","Kill Reason":"another attempt succeeded"}"#
        } else {
            r#"{"Reason":"Success"}"#
        };
        format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{stage},"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{reason},"Task Info":{{"Task ID":{id},"Index":{index},"Attempt":{},"Launch Time":{},"Executor ID":"{executor}","Host":"h{executor}","Locality":"ANY","Speculative":{speculative},"Getting Result Time":0,"Finish Time":{},"Failed":false,"Killed":{killed},"Accumulables":[]}}}}"#,
            u32::from(speculative),
            times.0,
            times.1
        )
    };
    for id in 0..6 {
        lines.push(format!(
            r#"{{"Event":"SparkListenerTaskStart","Stage ID":{},"Stage Attempt ID":0,"Task Info":{{"Task ID":{id}}}}}"#,
            id / 5
        ));
    }
    lines.push(format!(r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{}}}"#, stage(0, 4, "")));
    lines.push(end(0, 0, 0, 1, (1_000_000, 1_002_000), false, false));
    lines.push(end(0, 1, 1, 1, (1_000_000, 1_002_000), false, false));
    lines.push(end(0, 2, 2, 2, (1_000_000, 1_002_500), false, false));
    lines.push(end(0, 4, 3, 1, (1_006_000, 1_008_000), true, false));
    lines.push(end(0, 3, 3, 2, (1_000_000, 1_008_100), false, true));
    lines.push(format!(r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{}}}"#, stage(1, 1, "0")));
    lines.push(end(1, 5, 0, 1, (1_008_100, 1_009_100), false, false));
    lines.push(r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":1009200,"Job Result":{"Result":"JobSucceeded"}}"#.to_owned());
    lines.push(r#"{"Event":"SparkListenerApplicationEnd","Timestamp":1009300}"#.to_owned());
    lines.join("\n") + "\n"
}

#[test]
fn a_log_is_counted_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app-1"), log()).unwrap();
    let counted = run_in(folder.path(), &["trace", "info", "app-1", "--json"]);
    let counted: serde_json::Value = serde_json::from_str(&counted.stdout).unwrap();
    for (key, expected) in [
        ("jobs", 1),
        ("stages", 2),
        ("tasks", 5),
        ("attempts", 6),
        ("speculative_attempts", 1),
        ("failed_attempts", 0),
        ("killed_attempts", 1),
        ("nodes", 2),
    ] {
        assert_eq!(counted[key], expected, "{key}");
    }
    assert_eq!(counted["format"], "spark");
    assert_eq!(counted["warnings"], serde_json::json!([]));
    let ran = run_in(folder.path(), &["replay", "app-1", "--policy", "none,spark", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let replayed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    // Without copies the straggler of the first stage takes the 8.1 s after which its copy stopped it in the log. The second stage
    // starts 0.1 s after the first one has ended, as in the log, and takes 1 s.
    assert_eq!(replayed["results"][0]["flowtime"]["mean"], 9.2);
    assert_eq!(replayed["knowledge"], "progress(0.1)");
    // Durations of copies are drawn, so a replay has several seeds unless the command line says otherwise.
    assert_eq!(replayed["seeds"], serde_json::json!([1, 2, 3, 4, 5]));
    // The straggler gets a copy in every seed.
    assert_eq!(replayed["results"][1]["copies"]["launched"], 5);
    assert_eq!(replayed["cautions"], serde_json::json!([]));
    let single = run_in(folder.path(), &["replay", "app-1", "--policy", "none,spark", "--seeds", "1"]);
    assert!(single.stdout.contains("Caution: one seed: differences may be chance"), "{}", single.stdout);
    assert!(replayed["notes"][0].as_str().unwrap().contains("Copies that never ran"), "{}", replayed["notes"]);
}

#[test]
fn a_log_that_is_cut_short_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let whole = log();
    let cut = whole.rfind("\"Task ID\":3").unwrap();
    fs::write(folder.path().join("cut"), &whole[..cut]).unwrap();
    let ran = run_in(folder.path(), &["trace", "info", "cut", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let counted: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(counted["attempts"], 4);
    assert!(!counted["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn several_logs_give_a_list_of_results() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), log()).unwrap();
    fs::write(folder.path().join("b"), log()).unwrap();
    let info = run_in(folder.path(), &["trace", "info", "a", "b", "--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&info.stdout).unwrap().as_array().unwrap().len(), 2);
    let replayed = run_in(folder.path(), &["replay", "a", "b", "--policy", "none,sda", "--json"]);
    let replayed: serde_json::Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(replayed["results"].as_array().unwrap().len(), 4);
    assert_eq!(replayed["results"][2]["set"]["log"], "b");
}

/// Returns the real logs below the folder `HINDMOST_DATA`; `None` if the variable is not set.
fn real_logs() -> Option<Vec<PathBuf>> {
    let mut logs: Vec<PathBuf> =
        fs::read_dir(hindmost_testing::data("spark")?).ok()?.map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    Some(logs)
}

#[test]
fn every_real_log_is_read_and_replayed() {
    let Some(logs) = real_logs() else { return };
    assert!(!logs.is_empty());
    for log in logs {
        let log = log.to_str().unwrap();
        let counted = json(&["trace", "info", log, "--json"]);
        assert!(counted["attempts"].as_u64().unwrap() > 0, "{log}");
        let ran = run(&["replay", log, "--json", "--policy", "none,spark,mantri,sda,late,sca"]);
        assert_eq!(ran.code, Some(0), "{log}: {}", ran.stderr);
        let replayed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        for result in replayed["results"].as_array().unwrap() {
            assert_eq!(result["unfinished_jobs"], 0, "{log}");
            // Counts are sums over the five seeds.
            assert!(result["tasks"].as_u64().unwrap() <= 5 * counted["tasks"].as_u64().unwrap(), "{log}");
        }
    }
}

#[test]
fn nodes_of_a_replay_are_named_by_executor_and_host() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app-1"), log()).unwrap();
    let nodes = |out: &str, logs: &[&str]| -> BTreeSet<String> {
        let ran = run_in(folder.path(), &[&["replay", "--policy", "none", "--out", out], logs].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let attempts = files_below(&folder.path().join(out)).into_iter().find(|path| path.ends_with("attempts.csv"));
        let attempts = fs::read_to_string(attempts.expect("rows of attempts")).unwrap();
        let column = attempts.lines().next().unwrap().split(',').position(|name| name == "node").unwrap();
        attempts.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().to_owned()).collect()
    };
    let expected = BTreeSet::from(["executor-1@h1".to_owned(), "executor-2@h2".to_owned()]);
    assert_eq!(nodes("one", &["app-1"]), expected);
    // One-slot machines are named by their numbers.
    assert!(nodes("machines", &["app-1", "--set", "machines=2"]).iter().all(|name| name.starts_with("machine-")));
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_log_without_a_job_to_replay_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        fs::write(folder.path().join("log"), text).unwrap();
        let ran = run_in(folder.path(), &["replay", "log", "--policy", "none"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        ran.stderr
    };
    let whole = log();
    let without = |text: &str| -> String { whole.split_inclusive('\n').filter(|line| !line.contains(text)).collect() };
    let said = refused(&without("JobStart"));
    assert!(said.contains("5 tasks have finished, but the log has no start of their jobs"), "{said}");
    let said = refused(&whole.replace("\"Finish Time\":100", "\"Finish Time\":90"));
    assert!(said.contains("5 tasks have finished, but none has a launch time with a later finish time"), "{said}");
    let said = refused(&without("TaskEnd"));
    assert!(said.contains("no job of this log has a finished task"), "{said}");
}

/// Replays a table of attempts of 10 s that start at these times, on two nodes in turn. Returns what is said of the recorded times,
/// the ratio of the mean flowtimes of `pace` and `none`, and the notes.
fn replayed_table(starts: impl Iterator<Item = u32>) -> (serde_json::Value, f64, String) {
    let folder = tempfile::tempdir().unwrap();
    let row = |(task, start): (usize, u32)| {
        format!("j{},t{task},n{},1700000000,{},{}\n", task % 2, task % 2, 1_700_000_000 + start, 1_700_000_010 + start)
    };
    let rows: String = starts.enumerate().map(row).collect();
    // The first attempt of another task fails.
    let failed = "j0,t99,n0,1700000000,1700000000,1700000005,failed\nj0,t99,n0,1700000000,1700000005,1700000015\n";
    fs::write(folder.path().join("t.csv"), format!("job,task,node,submitted,start,end,state\n{failed}{rows}")).unwrap();
    let ran = run_in(folder.path(), &["replay", "t.csv", "--policy", "none,pace", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let mean = |at: usize| found["results"][at]["flowtime"]["mean"].as_f64().unwrap();
    (found["recorded"][0].clone(), mean(1) / mean(0), found["notes"].to_string())
}

#[test]
fn a_table_is_replayed_as_it_ran() {
    // Slots explain these starts: each node runs two attempts at a time, the failed one and its retry included.
    let (recorded, _, notes) = replayed_table((0..5).flat_map(|wave| [0, 0, 15, 0].map(|after| 10 * wave + after)));
    assert_eq!((&recorded["jobs"], &recorded["failures"]), (&2.into(), &1.into()), "{recorded}");
    assert_eq!(recorded["job_time_mean"], 57.5);
    assert!(recorded["calibrated"] == true && notes.contains("start when slots are free"), "{recorded} {notes}");
    // Something else held these tasks back.
    let (recorded, ratio, notes) = replayed_table((0..12).map(|task| task * 40));
    assert_eq!((&recorded["job_time_mean"], &recorded["ratio"]), (&430.0.into(), &1.0.into()), "{recorded}");
    assert!(notes.contains("no task starts before it did"), "{notes}");
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn copies_that_ran_in_a_table_are_said() {
    // 24 tasks of 10 s on two nodes; the copies of two tasks end after 25 s, and their originals are killed then.
    let row = |task: u32| {
        let start = 1_700_000_000 + task / 4 * 10;
        if !matches!(task, 9 | 21) {
            return format!("t{task},n{},{start},{},done,0\n", task % 2, start + 10);
        }
        let end = start + 25;
        format!("t{task},n{},{start},{end},killed,0\nt{task},n{},{},{end},done,1\n", task % 2, 1 - task % 2, start + 15)
    };
    let folder = tempfile::tempdir().unwrap();
    let table = format!("task,node,start,end,state,copy\n{}", (0..24).map(row).collect::<String>());
    fs::write(folder.path().join("t.csv"), table).unwrap();
    let replayed = run_in(folder.path(), &["replay", "t.csv", "--policy", "none,pace", "--json"]);
    assert!(replayed.stdout.contains("Copies ran in this log"), "{}{}", replayed.stdout, replayed.stderr);
    let advised = run_in(folder.path(), &["advise", "t.csv", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&advised.stdout).unwrap();
    let said = &found["logs"][0]["applications"][0]["advice"]["not_offered"];
    assert!(said.to_string().contains("copies replaced 2 attempts"), "{said}");
}

/// The options without which [`named_columns`] can't be read.
const NAMED_COLUMNS: [&str; 4] = ["--columns", "task=x,start=t0,end=t1,state=colour", "--states", "failed=RED"];

/// A table with unusual names of columns and states: 24 tasks, of which one fails first.
fn named_columns() -> String {
    let row = |task: u32| {
        let start = 1_700_000_000 + task / 4 * 10;
        let failed = if task == 5 { format!("{task},{start},{},RED\n", start + 2) } else { String::new() };
        format!("{failed}{task},{start},{},GREEN\n", start + 8)
    };
    format!("x,t0,t1,colour\n{}", (0..24).map(row).collect::<String>())
}

/// Replays that table as `log`, from a pipe if it is `/dev/stdin`, and returns the page. A pipe can be read only once.
fn page_of_named_columns(log: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), named_columns()).unwrap();
    let mut command = hindmost();
    command.args(["replay", log, "--policy", "none", "--out", "out"]).args(NAMED_COLUMNS).current_dir(folder.path());
    let mut ran = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // Who does not read the pipe may have ended.
    let _ = ran.stdin.take().unwrap().write_all(named_columns().as_bytes());
    assert!(ran.wait().unwrap().success());
    fs::read_to_string(folder.path().join("out/report.html")).unwrap()
}

#[test]
fn a_page_shows_the_applications_of_a_table_with_named_columns() {
    // A log is read once, so it may also come from a pipe.
    for log in ["t.csv", "/dev/stdin"] {
        let page = page_of_named_columns(log);
        // The only application of the table, with its 24 tasks and the attempt that failed.
        assert!(page.contains("24 tasks, 194 s of machine time"), "{page}");
        assert!(page.contains("failed attempts 2.00 s"), "{page}");
    }
}

#[test]
fn a_page_names_the_columns_and_states_of_its_table() {
    let page = page_of_named_columns("t.csv");
    let again = "hindmost replay t.csv --columns task=x,start=t0,end=t1,state=colour --states failed=RED --policy none";
    assert!(page.contains(again), "{page}");
}

#[test]
fn a_replay_does_not_read_the_standard_input() {
    let ran = run(&["replay", "-", "--policy", "none"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("not from standard input: save it as a file"), "{}", ran.stderr);
}

#[test]
fn a_log_may_come_from_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app-1");
    fs::write(&path, log()).unwrap();
    let printed = |name: &str| {
        let mut command = hindmost();
        command.args(["trace", "info", name, "--json"]).current_dir(folder.path());
        let output = command.stdin(fs::File::open(&path).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    assert_eq!(printed("-"), printed("app-1"));
}
