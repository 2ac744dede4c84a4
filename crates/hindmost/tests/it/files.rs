//! Tests of the files that `--out` writes. No file may be incomplete.

use std::fs;
use std::path::Path;

use crate::{hindmost, run_in};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn small(out: &str) -> Vec<&str> {
    let mut args = vec!["simulate", "--set", "horizon=20", "--set", "cluster.machines=30", "--seeds", "2", "--json"];
    args.extend(["--out", out]);
    args
}

#[test]
fn records_add_up_to_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&small("results")[..], &["--policy", "none,sca(max_copies=4)"]].concat();
    let ran = run_in(folder.path(), &args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let out = folder.path().join("results");
    assert_eq!(names(&out), ["none", "report.html", "sca(max_copies=4)", "scenario.toml", "summary.json"]);
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary, serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap());
    let run = out.join("sca(max_copies=4)").join("2");
    assert_eq!(names(&run), ["attempts.csv", "jobs.csv"]);
    let rows = |policy: &str, seed: &str, file: &str| {
        fs::read_to_string(out.join(policy).join(seed).join(file)).unwrap().lines().count() as u64 - 1
    };
    for (at, policy) in ["none", "sca(max_copies=4)"].into_iter().enumerate() {
        let result = &summary["results"][at];
        let total = |file| rows(policy, "1", file) + rows(policy, "2", file);
        assert_eq!(result["jobs"], total("jobs.csv"));
        assert_eq!(result["attempts"], total("attempts.csv"));
    }
    let jobs = fs::read_to_string(run.join("jobs.csv")).unwrap();
    assert!(jobs.starts_with("job,arrival,start,finish,flowtime,running_time,resource,tasks,attempts\n"));
    let attempts = fs::read_to_string(run.join("attempts.csv")).unwrap();
    assert!(attempts.starts_with("job,phase,task,copy,node,start,end,outcome\n"));
}

#[test]
fn the_written_scenario_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let first = run_in(folder.path(), &small("one"));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let again = run_in(folder.path(), &["simulate", "one/scenario.toml", "--json"]);
    assert_eq!(first.stdout, again.stdout);
}

#[test]
fn results_of_two_runs_are_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run_in(folder.path(), &small("out")).code, Some(0));
    let again = run_in(folder.path(), &small("out"));
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("this folder is not empty"), "{}", again.stderr);
}

#[test]
fn the_written_scenario_finds_its_workload_file() {
    let folder = tempfile::tempdir().unwrap();
    let job = "{\"job\":\"a\",\"arrival\":0,\"phases\":[{\"name\":\"p\",\"mean\":1,\"tasks\":[[2.1]]}]}\n";
    fs::write(folder.path().join("w.jsonl"), job).unwrap();
    fs::write(folder.path().join("s.toml"), "[cluster]\nmachines = 2\n[workload]\nfile = \"w.jsonl\"\n").unwrap();
    let first = run_in(folder.path(), &["simulate", "s.toml", "--policy", "none", "--json", "--out", "out"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let again = run_in(folder.path(), &["simulate", "out/scenario.toml", "--json"]);
    assert_eq!(first.stdout, again.stdout);
}

#[test]
fn records_can_be_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), &[&small("out")[..], &["--policy", "none", "--records", "parquet"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let run = folder.path().join("out/none/1");
    assert_eq!(names(&run), ["attempts.parquet", "jobs.parquet"]);
    assert!(fs::read(run.join("jobs.parquet")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn a_run_that_fails_leaves_no_records() {
    let folder = tempfile::tempdir().unwrap();
    let job = "{\"job\":\"a\",\"arrival\":0,\"phases\":[{\"name\":\"p\",\"mean\":1,\"tasks\":[[9]]}]}\n";
    fs::write(folder.path().join("w.jsonl"), job).unwrap();
    fs::write(folder.path().join("s.toml"), "[cluster]\nmachines = 2\n[workload]\nfile = \"w.jsonl\"\n").unwrap();
    let ran = run_in(folder.path(), &["simulate", "s.toml", "--policy", "sda", "--out", "out"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(names(&folder.path().join("out")), Vec::<String>::new());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let ran = run_in(folder.path(), &small("file/below"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("file/below"), "{}", ran.stderr);
}

#[test]
fn a_full_disk_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = hindmost().args(["policies"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
}
