//! Attempts that outlive their run, which was killed, while its plan changes: they count, run again, or are stopped.

use std::fs;
use std::time::{Duration, Instant};

use super::{Job, wait_for};
use crate::scene::{has_ended, processes, run_id};

/// Copies would add lines to the files that count runs.
const NO_COPIES: &[&str] = &["--policy", "none"];

/// A job whose tasks copy their input and wait until a file exists.
const SLOW: &str = r#"
name = "mend"
[[phase]]
name = "map"
inputs = "in/*.txt"
matrix = { v = [1, 2] }
command = """
cat "$HINDMOST_INPUT" > "$HINDMOST_OUTPUT/n"; echo started >> started
while [ ! -e go ]; do sleep 0.02; done
"""
"#;

#[test]
fn outliving_attempts_count_only_for_their_task_and_input() {
    // The run is killed while its attempts run. They end either before it is resumed, or are taken over by it.
    for ends_before in [true, false] {
        let job = Job::new(SLOW);
        fs::create_dir(job.path().join("in")).unwrap();
        job.write("in/a.txt", "1\n");
        job.write("in/b.txt", "1\n");
        let started = job.start(&[NO_COPIES, &["--nodes", "n1:4"]].concat());
        wait_for("the attempts", || job.has("started") && job.lines("started") == 4);
        job.until_recorded();
        started.signal("KILL");
        started.wait();
        // One input changes, and one value goes.
        job.write("in/a.txt", "1\n2\n");
        job.write("job.toml", &SLOW.replace("[1, 2]", "[1]"));
        job.write("go", "");
        if ends_before {
            until_ended(&job, 4);
        }
        let done = job.json(&["--resume"], 0);
        assert_eq!(done["state"], "done");
        assert_eq!(job.names("mend.out/map").len(), 2, "the tasks with v=2 are withdrawn");
        let table = job.read("mend.out/results.tsv");
        for row in table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()) {
            if row.last() == Some(&"done") {
                let result = job.read(&format!("mend.out/{}/n", row[4]));
                assert_eq!(result, fs::read_to_string(row[2]).unwrap(), "{table}");
            }
        }
        assert!(job.run(&["--resume"]).stderr.contains("already done"));
    }
}

/// Waits until so many attempts of a run whose Hindmost was killed have ended.
fn until_ended(job: &Job, count: usize) {
    let all_ended = || {
        let attempts = fs::read_dir(job.path().join("mend.out/.hindmost/attempts")).unwrap();
        attempts.filter(|entry| has_ended(&entry.as_ref().unwrap().path())).count() == count
    };
    wait_for("the ends of the attempts", all_ended);
    let id = run_id(&job.path().join("mend.out")).unwrap();
    wait_for("the ends of their processes", || processes(&id).is_empty());
}

/// A job of which each task waits until a file exists.
const WAITS: &str = r#"
name = "mend"
[[phase]]
name = "map"
inputs = "in/*"
command = """
echo $HINDMOST_TASK >> started
while [ ! -e go ]; do sleep 0.02; done
echo $HINDMOST_TASK > "$HINDMOST_OUTPUT/n"
"""
"#;

/// What a killed run has written down about its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// That they run, and as which processes.
    Running,
    /// As which processes they run. The journal does not say that they began.
    Processes,
    /// Nothing but that they were to be started.
    Nothing,
}

const KNOWN: [Known; 3] = [Known::Running, Known::Processes, Known::Nothing];

/// Starts this job with three inputs, and kills Hindmost while all attempts run.
fn killed_with_three_inputs(keys: &str, known: Known) -> Job {
    let job = Job::new(&format!("{WAITS}{keys}"));
    fs::create_dir(job.path().join("in")).unwrap();
    for input in ["a", "b", "c"] {
        job.write(&format!("in/{input}"), "1\n");
    }
    let started = job.start(&[NO_COPIES, &["--nodes", "n1:3"]].concat());
    wait_for("the attempts", || job.has("started") && job.lines("started") == 3);
    job.until_recorded();
    started.signal("KILL");
    started.wait();
    if known == Known::Nothing {
        for attempt in job.names("mend.out/.hindmost/attempts") {
            fs::remove_file(job.path().join("mend.out/.hindmost/attempts").join(attempt).join("process")).unwrap();
        }
    }
    if known != Known::Running {
        let journal = job.read("mend.out/.hindmost/journal.jsonl");
        let kept: String = journal.split_inclusive('\n').filter(|line| !line.contains("attempt_running")).collect();
        job.write("mend.out/.hindmost/journal.jsonl", &kept);
    }
    job
}

#[test]
fn inputs_that_change_while_away_run_no_task_twice_that_may_not() {
    for (ends_before, known) in [true, false].into_iter().flat_map(|ends| KNOWN.map(|known| (ends, known))) {
        for (keys, runs) in [("idempotent = false\n", 3), ("", 4)] {
            let job = killed_with_three_inputs(keys, known);
            job.write("in/b", "1\n2\n");
            job.write("go", "");
            if ends_before {
                until_ended(&job, 3);
            }
            let ran = job.done(&["--resume"]);
            assert!(!ran.stderr.contains("lost"), "{}", ran.stderr);
            assert_eq!(job.lines("started"), runs, "{keys}, {known:?}: {}", ran.stderr);
            assert_eq!(job.read("mend.out/map/1/n"), "1\n");
            assert_eq!(ran.stderr.contains("its input has changed since it started"), runs == 4, "{}", ran.stderr);
        }
    }
}

#[test]
fn all_that_was_left_may_have_ended_while_away() {
    for known in KNOWN {
        let job = killed_with_three_inputs("", known);
        job.write("go", "");
        until_ended(&job, 3);
        fs::remove_file(job.path().join("in/b")).unwrap();
        let ran = job.done(&["--resume"]);
        assert_eq!(job.lines("started"), 3, "{known:?}: {}", ran.stderr);
        assert_eq!([job.read("mend.out/map/0/n"), job.read("mend.out/map/2/n")], ["0\n", "2\n"]);
        assert_eq!(job.read("mend.out/results.tsv").lines().count(), 4);
        assert!(job.run(&["--resume"]).stderr.contains("already done"));
    }
}

#[test]
fn attempts_that_a_new_plan_stops_are_counted() {
    let job = killed_with_three_inputs("", Known::Running);
    job.write("in/d", "1\n");
    let resumed = job.start(&[NO_COPIES, &["--resume"]].concat());
    wait_for("new attempts", || job.lines("started") >= 6);
    job.write("go", "");
    let ran = resumed.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("3 attempts that still ran are stopped, because the run begins again"),
        "{}",
        ran.stderr
    );
}

/// A job of two tasks that take at least a second.
const SECOND: &str = r#"
name = "second"
[[phase]]
name = "map"
matrix = { v = [1, 2] }
command = "echo started >> started; sleep 1; echo $v > $HINDMOST_OUTPUT/n"
"#;

/// Checks the durations of the first two tasks in the table of a run.
fn check_seconds(job: &Job, most: f64) {
    let table = job.read("second.out/results.tsv");
    let seconds = table.lines().skip(1).take(2).map(|line| line.split('\t').nth_back(1).unwrap().parse::<f64>());
    let seconds: Vec<f64> = seconds.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}: {table}"));
    assert!(seconds.len() == 2 && seconds.iter().all(|seconds| (0.95..most).contains(seconds)), "{most}: {table}");
}

#[test]
fn attempts_that_outlive_their_run_keep_their_durations() {
    // With another value, the run begins again.
    for changed in [SECOND.to_owned(), SECOND.replace("[1, 2]", "[1, 2, 3]")] {
        let job = Job::new(SECOND);
        let begin = Instant::now();
        let started = job.start(&[NO_COPIES, &["--nodes", "n1:2"]].concat());
        wait_for("the attempts", || job.has("started") && job.lines("started") == 2);
        job.until_recorded();
        started.signal("KILL");
        started.wait();
        wait_for("their ends", || {
            let attempts = fs::read_dir(job.path().join("second.out/.hindmost/attempts")).unwrap();
            attempts.filter(|entry| has_ended(&entry.as_ref().unwrap().path())).count() == 2
        });
        let most = begin.elapsed().as_secs_f64();
        std::thread::sleep(Duration::from_secs(1));
        job.write("job.toml", &changed);
        assert_eq!(job.json(&["--resume"], 0)["state"], "done");
        check_seconds(&job, most);
        assert_eq!(job.lines("started"), 2 + changed.matches(", 3").count());
    }
}

#[test]
fn results_whose_ends_were_not_recorded_keep_their_durations() {
    let job = Job::new(SECOND);
    let begin = Instant::now();
    job.done(&[NO_COPIES, &["--nodes", "n1:2"]].concat());
    let most = begin.elapsed().as_secs_f64();
    // As if Hindmost was killed after it had moved the results into place.
    let journal = job.read("second.out/.hindmost/journal.jsonl");
    let kept: String = journal.split_inclusive('\n').take_while(|line| !line.contains("attempt_finished")).collect();
    assert!(kept.len() < journal.len());
    job.write("second.out/.hindmost/journal.jsonl", &kept);
    std::thread::sleep(Duration::from_secs(1));
    let done = job.json(&["--resume"], 0);
    check_seconds(&job, most);
    assert!(done["phases"][0]["max"].as_f64().unwrap() < most, "{done}");
    assert_eq!(job.lines("started"), 2);
}
