//! `hindmost run --resume` after a failure, Ctrl-C, `kill -9`, or a change of the job file.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Job, document, is_running, wait_for};

#[test]
fn a_failed_job_resumes_after_its_cause_is_corrected() {
    let job = Job::new(
        r#"
name = "mended"
[[phase]]
name = "map"
tasks = 4
command = '''
echo run >> ran-$HINDMOST_TASK
[ "$HINDMOST_TASK" != 2 ] || [ -e mended ] || { printf 'the \033[31mfile\033[0m is\tmissing\n' >&2; exit 7; }
echo "$HINDMOST_ATTEMPT" > "$HINDMOST_OUTPUT/attempt"
'''
[[phase]]
name = "sum"
after = ["map"]
tasks = 1
command = 'echo run >> ran-sum; cat "$HINDMOST_FROM"/map/*/attempt > "$HINDMOST_OUTPUT/all"'
"#,
    );
    // On one node, all other tasks are done before the last failure.
    let ran = job.run(&["--nodes", "n1:4", "--policy", "none"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    for part in ["mended: failed after", "map/2", "exit code 7", "missing"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\x1b') && !ran.stderr.contains('\x1b'), "{}{}", ran.stdout, ran.stderr);
    for part in ["error: the job failed: map/2", "--resume"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(job.lines("ran-2"), 3);
    assert!(!job.has("mended.out/map/2") && !job.has("ran-sum"));

    // Nothing is corrected yet, so all attempts of the task fail again.
    let failed = job.json(&["--resume", "--nodes", "n1:4"], 1);
    assert_eq!((&failed["state"], &failed["tasks"]), (&"failed".into(), &5.into()));
    let task = &failed["failed_tasks"][0];
    assert_eq!((&task["phase"], &task["task"], &task["failures"]), (&"map".into(), &2.into(), &6.into()));
    assert!(task["reason"].as_str().unwrap().contains("exit code 7"), "{task}");
    assert!(task["stderr"].as_str().unwrap().contains("missing"), "{task}");
    assert_eq!(job.lines("ran-2"), 6);

    // Without --nodes, the resumed run has the nodes of the journal.
    job.write("mended", "");
    let done = job.json(&["--resume"], 0);
    assert_eq!((&done["state"], &done["failed_tasks"]), (&"done".into(), &Value::Array(Vec::new())));
    assert_eq!(job.read("mended.out/sum/0/all"), "0\n0\n6\n0\n");
    for (file, times) in [("ran-0", 1), ("ran-1", 1), ("ran-2", 7), ("ran-3", 1), ("ran-sum", 1)] {
        assert_eq!(job.lines(file), times, "{file}");
    }

    // Finished tasks do not run again, and a line on standard error says so.
    let again = job.run(&["--resume", "--json"]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert_eq!(again.stderr, "the run is already done: every task has its result, so nothing is left to run\n");
    assert_eq!(document(&again)["attempts"], done["attempts"]);
    assert_eq!(job.lines("ran-sum"), 1);
}

#[test]
fn the_advised_command_continues_the_run() {
    let job =
        Job::new("[[phase]]\nname = \"a\"\ntasks = 2\nretries = 0\ncommand = \"echo run >> ran; [ -e mended ]\"\n");
    let ran = job.run(&["--out", "out of it", "--nodes", "n1:1,n2:1", "--policy", "late(cap=0.5)"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let advised = ran.stderr.split('`').find_map(|part| part.strip_prefix("hindmost ")).expect("advice");
    let before = job.lines("ran");
    job.write("mended", "");
    let script = format!("\"$HINDMOST_PROGRAM\" {advised} --json");
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("HINDMOST_PROGRAM", env!("CARGO_BIN_EXE_hindmost"))
        .current_dir(job.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{advised}: {}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["state"], &result["policy"]), (&"done".into(), &"late(cap=0.5)".into()));
    assert_eq!(job.lines("ran"), before + 2);
    assert_eq!(job.names("."), ["job.toml", "mended", "out of it", "ran"]);
}

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
fn a_changed_phase_runs_its_new_command() {
    let text = |command: &str| {
        format!(
            "name = \"mended\"\n[[phase]]\nname = \"map\"\ntasks = 2\ncommand = 'echo run >> map; echo 1 > \"$HINDMOST_OUTPUT/n\"'\n\
             [[phase]]\nname = \"sum\"\nafter = [\"map\"]\ntasks = 3\nretries = 0\ncommand = '{command}'\n"
        )
    };
    let bad = "echo first > \"$HINDMOST_OUTPUT/by\"; [ \"$HINDMOST_TASK\" != 1 ]";
    let good = "echo second > \"$HINDMOST_OUTPUT/by\"";

    // The phase has no results yet: its new command uses the results of its parents.
    let job = Job::new(&text("false"));
    assert_eq!(job.run(&["--nodes", "n1:1", "--policy", "none"]).code, Some(1));
    job.write("job.toml", &text(good));
    let ran = job.done(&["--resume"]);
    assert!(ran.stderr.contains("the command of phase sum has changed"), "{}", ran.stderr);
    assert_eq!((job.lines("map"), job.read("mended.out/sum/1/by").as_str()), (2, "second\n"));

    // Results of the earlier command are not mixed with new ones, unless an option allows it.
    let job = Job::new(&text(bad));
    assert_eq!(job.run(&["--nodes", "n1:1", "--policy", "none"]).code, Some(1));
    job.write("job.toml", &text(good));
    let ran = job.run(&["--resume"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    for part in ["phase \"sum\"", "--keep-results", "--out"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    job.done(&["--resume", "--keep-results"]);
    let by: Vec<String> = (0..3).map(|task| job.read(&format!("mended.out/sum/{task}/by"))).collect();
    assert_eq!(by, ["first\n", "second\n", "second\n"]);
    // The run now has results of the new command.
    job.done(&["--resume"]);

    // A job file with other phases is another job.
    job.write("job.toml", &text(good).replace("\"sum\"", "\"total\""));
    let ran = job.run(&["--resume", "--keep-results"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let said =
        "its phase \"sum\" is not in the job file any more, and a run continues only with all of its phases; put the";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    job.write("job.toml", &text(good).replace("after = [\"map\"]", ""));
    let ran = job.run(&["--resume", "--keep-results"]);
    assert!(ran.stderr.contains("`after` of phase \"sum\" is [] now and was [\"map\"]"), "{}", ran.stderr);
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

#[test]
fn a_run_without_its_journal_keeps_its_results() {
    let job = Job::new(
        "name = \"j\"\n[[phase]]\nname = \"a\"\ntasks = 3\ncommand = \"echo run >> ran; echo x > $HINDMOST_OUTPUT/x\"\n",
    );
    job.done(&NODES);
    let (report, journal) = (job.read("j.out/report.html"), job.path().join("j.out/.hindmost/journal.jsonl"));
    std::fs::remove_file(&journal).unwrap();
    // Every task has its result.
    let ran = job.run(&["--resume", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in ["has no journal, so only its results", "already done", "Its journal is missing"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("new run begins"), "{}", ran.stderr);
    let done = document(&ran);
    assert_eq!((&done["state"], &done["tasks"], &done["attempts"]), (&"done".into(), &3.into(), &0.into()));
    assert_eq!(done["phases"][0]["finished"], 3);
    assert_eq!((job.lines("ran"), job.read("j.out/report.html")), (3, report));
    // One result is missing, too.
    std::fs::remove_dir_all(job.path().join("j.out/a/1")).unwrap();
    let done = job.json(&["--resume"], 0);
    assert_eq!((&done["state"], &done["attempts"]), (&"done".into(), &1.into()));
    assert_eq!(job.lines("ran"), 4);
}

#[test]
fn a_copy_with_other_times_is_said_to_be_one() {
    let text = "name = \"j\"\n[[phase]]\nname = \"a\"\ntasks = 3\ncommand = \"echo x > $HINDMOST_OUTPUT/x\"\n";
    for (options, recursive, said) in
        [(&[][..], "-r", true), (&[][..], "-a", false), (&["--checksum"][..], "-r", false)]
    {
        let job = Job::new(text);
        job.done(&[&NODES, options].concat());
        let copied = Command::new("cp").args([recursive, "j.out", "copy"]).current_dir(job.path()).status();
        assert!(copied.unwrap().success());
        let ran = job.done(&["--out", "copy", "--resume", "--check"]);
        let line = "the folder is a copy, and 3 results differ only in the times of their files";
        let output = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((output.contains(line), output.contains("`cp -a`")), (said, said), "{output}");
        assert!(output.contains(if said { "0 finished, 3 tasks to run" } else { "3 finished, 0 tasks" }), "{output}");
    }
}

#[test]
fn a_command_that_changes_its_input_is_not_repeated() {
    let job = Job::new(
        "name = \"own\"\n[[phase]]\nname = \"a\"\ninputs = \"*.txt\"\n\
        command = \"sed -i s/x/xy/ $HINDMOST_INPUT\"\n",
    );
    for name in ["a.txt", "b.txt", "c.txt"] {
        job.write(name, "x\n");
    }
    assert_eq!(job.run(&[]).code, Some(0));
    let again = job.run(&["--resume"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(["a.txt", "b.txt", "c.txt"].map(|name| job.read(name)), ["xy\n"; 3], "{}", again.stderr);
    // What others change counts.
    job.write("b.txt", "x\n\n");
    assert_eq!(job.run(&["--resume"]).code, Some(0));
    assert_eq!(["a.txt", "b.txt", "c.txt"].map(|name| job.read(name)), ["xy\n", "xy\n\n", "xy\n"]);
}
