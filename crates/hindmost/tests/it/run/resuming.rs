//! `hindmost run --resume` after a failure, Ctrl-C, `kill -9`, or a change of the job file.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Job, document, is_running, wait_for};

/// A job whose second phase waits until the file `go` exists.
const WAITS: &str = r#"
name = "waits"
[[phase]]
name = "quick"
tasks = 2
command = 'echo run >> quick; echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/n"'
[[phase]]
name = "slow"
after = ["quick"]
tasks = 2
command = '''
echo $$ >> pids
while [ ! -e go ]; do sleep 0.02; done
cp "$HINDMOST_FROM/quick/$HINDMOST_TASK/n" "$HINDMOST_OUTPUT/n"
'''
"#;
const NODES: [&str; 4] = ["--nodes", "n1:1,n2:1", "--policy", "none"];

#[test]
fn an_interrupted_run_leaves_no_processes_and_resumes() {
    for (signal, json) in [("INT", false), ("TERM", true), ("HUP", true)] {
        let job = Job::new(WAITS);
        let started = job.start(&[&NODES[..], if json { &["--json"] } else { &[] }].concat());
        wait_for("the slow phase", || job.lines("pids") == 2);
        started.signal(signal);
        let ran = started.wait();
        assert_eq!(ran.code, Some(130), "{signal}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("--resume"), "{}", ran.stderr);
        if json {
            let result = document(&ran);
            assert_eq!((&result["state"], &result["failed_tasks"]), (&"interrupted".into(), &Value::Array(Vec::new())));
        } else {
            assert!(ran.stdout.starts_with("waits: interrupted after"), "{}", ran.stdout);
        }
        for pid in job.read("pids").lines() {
            wait_for("the tasks' end", || !is_running(pid));
        }
        assert_eq!(job.names("waits.out/slow"), [""; 0]);
        job.write("go", "");
        let result = job.json(&["--resume", "--nodes", "n1:1,n2:1"], 0);
        assert_eq!(result["state"], "done");
        assert_eq!((job.lines("quick"), job.lines("pids")), (2, 4));
        assert_eq!(job.read("waits.out/slow/1/n"), "1\n");
    }
}

#[test]
fn a_killed_run_keeps_its_finished_and_running_tasks() {
    let job = Job::new(WAITS);
    let started = job.start(&NODES);
    wait_for("the slow phase", || job.lines("pids") == 2);
    job.until_recorded();
    started.signal("KILL");
    assert_eq!(started.wait().code, None);
    job.write("go", "");
    // The attempts count, whether they end before the resume or after it.
    let result = job.json(&["--resume", "--nodes", "n1:1,n2:1"], 0);
    assert_eq!((&result["state"], &result["attempts"]), (&"done".into(), &4.into()));
    assert_eq!((job.lines("quick"), job.lines("pids")), (2, 2));
    assert_eq!(job.read("waits.out/slow/0/n"), "0\n");
    assert_eq!(job.names("waits.out/.hindmost/attempts"), [""; 0]);
}

#[test]
fn tasks_that_fail_while_away_have_their_own_reasons() {
    let text = "name = \"m\"\n[[phase]]\nname = \"m\"\ntasks = 4\nretries = 0\n\
                command = 'echo run >> began; sleep 2; echo end >> ended; kill -TERM $$'\n";
    let job = Job::new(text);
    let started = job.start(&["--nodes", "n1:4"]);
    wait_for("the tasks run", || job.lines("began") == 4);
    job.until_recorded();
    started.signal("KILL");
    assert_eq!(started.wait().code, None);
    wait_for("the tasks' end", || job.lines("ended") == 4);
    std::thread::sleep(Duration::from_secs(1));
    let result = job.json(&["--resume"], 1);
    let failed = result["failed_tasks"].as_array().unwrap();
    assert!(!failed.is_empty() && job.lines("began") == 4, "{result}");
    for task in failed {
        assert_eq!(task["reason"], "exit code 143 (killed by signal 15)", "{task}");
    }
}

#[test]
fn a_folder_in_use_is_refused_to_a_second_run() {
    let job = Job::new(WAITS);
    let started = job.start(&NODES);
    wait_for("the slow phase", || job.lines("pids") == 2);
    for args in [&[][..], &["--resume"], &["--resume", "--json"]] {
        let ran = job.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("in use"), "{}", ran.stderr);
    }
    // Another folder is allowed.
    let other = job.start(&[&NODES[..], &["--out", "other"]].concat());
    wait_for("the slow phase of the other run", || job.lines("pids") == 4);
    job.write("go", "");
    assert_eq!((started.wait().code, other.wait().code), (Some(0), Some(0)));
    assert!(job.has("other/slow/1/n") && job.has("waits.out/slow/1/n"));
}

#[test]
fn attempts_of_an_old_command_are_started_again() {
    let job = Job::new(WAITS);
    let started = job.start(&NODES);
    wait_for("the slow phase", || job.lines("pids") == 2);
    job.until_recorded();
    started.signal("KILL");
    assert_eq!(started.wait().code, None);
    let pids = job.read("pids");
    job.write("job.toml", &WAITS.replace("echo $$ >> pids", "echo $$ >> later"));
    job.write("go", "");
    let result = job.json(&["--resume"], 0);
    assert_eq!((&result["state"], &result["attempts"]), (&"done".into(), &6.into()));
    assert_eq!((job.lines("pids"), job.lines("later")), (2, 2));
    for pid in pids.lines() {
        assert!(!is_running(pid));
    }
}

#[test]
fn an_attempt_that_ended_before_a_resume_has_its_duration() {
    let job = Job::new(WAITS);
    let begun = Instant::now();
    let started = job.start(&NODES);
    wait_for("the slow phase", || job.lines("pids") == 2);
    job.until_recorded();
    started.signal("KILL");
    assert_eq!(started.wait().code, None);
    job.write("go", "");
    let attempts = "waits.out/.hindmost/attempts";
    let ends = |task: u32| {
        let of_task = |name: &&String| name.starts_with(&format!("1-{task}.0."));
        let names = job.names(attempts);
        names.iter().find(of_task).is_some_and(|name| job.lines(&format!("{attempts}/{name}/end")) == 1)
    };
    wait_for("the ends of both attempts", || ends(0) && ends(1));
    let so_far = begun.elapsed().as_secs_f64();
    std::thread::sleep(Duration::from_millis(1500));
    let result = job.json(&["--resume"], 0);
    assert!(result["phases"][1]["max"].as_f64().unwrap() <= so_far, "{so_far}: {result}");
    assert!(result["flowtime"].as_f64().unwrap() <= so_far, "{so_far}: {result}");
}

#[test]
fn a_check_counts_tasks_that_have_ended_meanwhile() {
    let job = Job::new(WAITS);
    let started = job.start(&NODES);
    wait_for("the slow phase", || job.lines("pids") == 2);
    job.until_recorded();
    started.signal("KILL");
    assert_eq!(started.wait().code, None);
    let slow = || job.json(&["--resume", "--check"], 0)["resume"]["phases"][1].clone();
    let counts = |phase: &Value| ["finished", "ended", "to_run"].map(|key| phase[key].as_u64().unwrap());
    assert_eq!(counts(&slow()), [0, 0, 2]);
    let refused = job.run(&["--resume", "--check", "--nodes", "others:4"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("can't be resumed on others"), "{}", refused.stderr);
    job.write("go", "");
    wait_for("the ends of both attempts", || counts(&slow()) == [2, 2, 0]);
    let said = job.done(&["--resume", "--check"]).stdout;
    assert!(said.contains("slow: 2 finished (2 of them while Hindmost was not running), 0 tasks to run"), "{said}");
    job.done(&["--resume"]);
    assert_eq!(counts(&slow()), [2, 0, 0]);
    assert_eq!(job.lines("pids"), 2);
}
