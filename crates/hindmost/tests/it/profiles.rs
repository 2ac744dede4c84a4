//! Tests of `--profiles` and `hindmost profiles`.

use std::fs;

use hindmost_testing::{cases, seed};

use crate::run::Job;
use crate::{json, run, schemas};

/// A scenario of one kind of job on four machines of different speeds.
const SCENARIO: &str = r#"
name = "daily"
order = "fifo"
knowledge = "profiles"

[cluster]
[[cluster.nodes]]
count = 3
cpus = 1
memory = "1GB"
[[cluster.nodes]]
name = "slow"
count = 1
cpus = 1
memory = "1GB"
speed = 0.25

[workload]
arrival = { every = { gap = 30.0, jobs = 10 } }
[[workload.job]]
name = "etl"
[[workload.job.phase]]
name = "map"
tasks = 4
duration = 10.0
demand = { cpus = 1 }

[[policy]]
name = "riski"
"#;

#[test]
fn profiles_of_a_simulation_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, file) = (folder.path().join("daily.toml"), folder.path().join("p.redb"));
    fs::write(&scenario, SCENARIO).unwrap();
    let (scenario, file) = (scenario.to_str().unwrap(), file.to_str().unwrap());
    let simulated = || json(&["simulate", scenario, "--policy", "riski,none", "--profiles", file, "--json"]);
    let first = simulated();
    assert_eq!(first["knowledge"], "profiles");
    let document = json(&["profiles", file, "--json"]);
    schemas::conforms("profiles", &document);
    let [kind] = document["kinds"].as_array().unwrap().as_slice() else { panic!("{document}") };
    assert_eq!((kind["job"].as_str(), kind["phase"].as_str()), (Some("etl"), Some("map")));
    // Each of the 40 tasks has a winner, which leaves a profile; the second policy's attempts are not added.
    assert_eq!((document["profiles"].as_u64(), kind["count"].as_u64()), (Some(40), Some(40)));
    // Three machines take 10 s.
    assert_eq!(kind["median"].as_f64(), Some(10.0));
    let text = run(&["profiles", file]);
    assert!(text.stdout.contains("etl/map") && text.stdout.contains("40 profiles from"), "{}", text.stdout);
    // The next run knows the nodes from its first job on, so it is no slower, and adds its own 40.
    let second = simulated();
    let flowtime = |document: &serde_json::Value| document["results"][0]["flowtime"]["mean"].as_f64().unwrap();
    assert!(flowtime(&second) <= flowtime(&first), "{} {}", flowtime(&first), flowtime(&second));
    assert_eq!(json(&["profiles", file, "--json"])["profiles"], 80);
    // A bound drops the oldest.
    let more = ["simulate", scenario, "--profiles", file, "--most-profiles", "50", "--json"];
    json(&more);
    assert_eq!(json(&["profiles", file, "--json"])["profiles"], 50);
}

#[test]
fn a_live_job_that_comes_back_is_known() {
    let job = Job::new(
        "name = \"daily-2026-11-23\"\nknowledge = \"profiles\"\n[[phase]]\nname = \"work\"\ntasks = 6\ncommand = \"sleep 0.05\"\n",
    );
    job.done(&["--policy", "riski", "--profiles", "p.redb", "--out", "first"]);
    let file = job.path().join("p.redb");
    let file = file.to_str().unwrap();
    let document = json(&["profiles", file, "--json"]);
    assert_eq!((document["profiles"].as_u64(), document["kinds"][0]["job"].as_str()), (Some(6), Some("daily")));
    assert!(document["kinds"][0]["median"].as_f64().unwrap() >= 0.05);
    let journal = |out: &str| job.read(&format!("{out}/.hindmost/journal.jsonl"));
    assert!(!journal("first").contains("profiles_recalled"));
    // The next day's run has another name, and begins with the profiles and durations of the first.
    job.write("job.toml", &job.read("job.toml").replace("11-23", "11-24"));
    job.done(&["--policy", "riski", "--profiles", "p.redb", "--out", "second"]);
    let second = journal("second");
    let (recalled, arrived) = (second.find("profiles_recalled").unwrap(), second.find("job_arrived").unwrap());
    let (learned, round) = (second.find("durations_learned").unwrap(), second.find("\"round\"").unwrap());
    assert!(recalled < arrived && arrived < learned && learned < round);
    assert_eq!(json(&["profiles", file, "--json"])["profiles"], 12);
    for out in ["first", "second"] {
        let verified = run(&["verify", job.path().join(out).to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    }
}

#[test]
fn a_resumed_run_adds_its_profiles_once() {
    let job = Job::new("name = \"once\"\n[[phase]]\nname = \"work\"\ntasks = 3\ncommand = \"sleep 0.05\"\n");
    // The first process keeps no profiles, as if it had been killed before it could.
    job.done(&["--policy", "none"]);
    let resumed = |file: &str| job.run(&["--resume", "--profiles", file]);
    let count =
        |file: &str| json(&["profiles", job.path().join(file).to_str().unwrap(), "--json"])["profiles"].as_u64();
    for _ in 0..2 {
        let ran = resumed("p.redb");
        assert_eq!((ran.code, count("p.redb")), (Some(0), Some(3)), "{}", ran.stderr);
    }
    let first = resumed("q.redb");
    assert!(first.stderr.contains("the profiles of the run's 3 finished attempts are now in"), "{}", first.stderr);
    let second = resumed("q.redb");
    assert!(!second.stderr.contains("finished attempts"), "{}", second.stderr);
    // A run that adds its own says nothing, and its resume adds nothing.
    job.done(&["--policy", "none", "--out", "other", "--profiles", "q.redb"]);
    let again = job.run(&["--out", "other", "--resume", "--profiles", "q.redb"]);
    assert_eq!((again.code, count("q.redb")), (Some(0), Some(6)), "{}", again.stderr);
}

#[test]
fn a_damaged_file_does_not_lose_the_run() {
    let job = Job::new("name = \"safe\"\n[[phase]]\nname = \"work\"\ntasks = 2\ncommand = \"sleep 0.05\"\n");
    job.done(&["--policy", "none", "--profiles", "p.redb", "--out", "whole"]);
    let (file, whole) = (job.path().join("p.redb"), job.path().join("whole.redb"));
    fs::rename(&file, &whole).unwrap();
    let bytes = fs::read(&whole).unwrap();
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    for seed in seed()..seed() + u64::from(cases(12, 60)) {
        let mut damaged = bytes.clone();
        for step in 0..20u64 {
            damaged[used[(hindmost_math::random::hash(seed, step, 0, 0) % used.len() as u64) as usize]] ^= 0x5a;
        }
        fs::write(&file, &damaged).unwrap();
        let looked = run(&["profiles", file.to_str().unwrap()]);
        assert!(matches!(looked.code, Some(0 | 2)), "{seed}: {:?} {}", looked.code, looked.stderr);
        assert!(!looked.stderr.contains("panicked"), "{}", looked.stderr);
        assert_eq!(fs::read(&file).unwrap(), damaged, "{seed}");
        let out = format!("out{seed}");
        let ran = job.run(&["--policy", "none", "--profiles", "p.redb", "--out", &out]);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        match ran.code {
            Some(0) => assert_eq!(job.names(&format!("{out}/work")).len(), 2),
            Some(2) => {
                assert!(ran.stderr.contains("move it away") && !ran.stderr.trim().contains('\n'), "{}", ran.stderr);
            }
            other => panic!("{seed}: {other:?} {}", ran.stderr),
        }
    }
}

/// A job on the nodes `fast` and `slow`, the second of which runs `on_slow`.
fn nightly(date: &str, tasks: u32, on_slow: &str) -> String {
    format!(
        r#"
name = "nightly-{date}"
knowledge = "profiles"
[[phase]]
name = "work"
tasks = {tasks}
command = '''
if [ "$HINDMOST_NODE" = slow ]; then {on_slow}; fi
echo "$HINDMOST_NODE" > "$HINDMOST_OUTPUT/by"
'''
"#
    )
}

#[test]
fn the_second_day_knows_the_slow_node() {
    let nodes = ["--nodes", "fast:1,slow:1", "--profiles", "p.redb"];
    let job = Job::new(&nightly("2026-11-23", 8, "sleep 2"));
    job.done(&[&nodes[..], &["--policy", "none", "--out", "first"]].concat());
    let profiles = run(&["profiles", job.path().join("p.redb").to_str().unwrap()]);
    assert!(profiles.stdout.contains("8 profiles from 2 nodes"), "{}", profiles.stdout);
    // On the second day the slow node needs minutes. Its task has shown no progress, and only one task of the phase can
    // finish, but the profiles say how much sooner a backup ends on the other node.
    job.write("job.toml", &nightly("2026-11-24", 2, "sleep 300"));
    let second = job.json(&[&nodes[..], &["--policy", "riski", "--out", "second"]].concat(), 0);
    assert_eq!((&second["copies"]["launched"], &second["copies"]["won"]), (&1.into(), &1.into()));
    assert_eq!([job.read("second/work/0/by"), job.read("second/work/1/by")], ["fast\n", "fast\n"]);
    let verified = run(&["verify", job.path().join("second").to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

#[test]
fn profiles_have_the_sizes_of_input_files() {
    let job = Job::new(
        "name = \"sized-1\"\nknowledge = \"profiles\"\n[[phase]]\nname = \"work\"\ninputs = \"*.txt\"\n\
         command = \"cat \\\"$HINDMOST_INPUT\\\" > \\\"$HINDMOST_OUTPUT/copy\\\"\"\n",
    );
    job.write("a.txt", "abc");
    job.write("b.txt", "abcde");
    job.done(&["--policy", "riski", "--profiles", "p.redb", "--out", "first"]);
    let journal = |out: &str| job.read(&format!("{out}/.hindmost/journal.jsonl"));
    assert_eq!(journal("first").matches("\"input\":{\"bytes\":[3,5]}").count(), 1);
    job.done(&["--policy", "riski", "--profiles", "p.redb", "--out", "second"]);
    let second = journal("second");
    let recalled = second.lines().find(|line| line.contains("profiles_recalled")).unwrap();
    for size in ["3.0", "5.0"] {
        assert_eq!(recalled.matches(&format!("\"input\":{size},")).count(), 1, "{recalled}");
    }
}

#[test]
fn wrong_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, text) = (folder.path().join("missing"), folder.path().join("text"));
    fs::write(&text, "not profiles\n".repeat(1000)).unwrap();
    for (path, expected) in [(&missing, "No such file"), (&text, "not a readable file of profiles")] {
        let ran = run(&["profiles", path.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert!(!missing.exists());
    let ran = run(&["simulate", "--most-profiles", "9"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}
