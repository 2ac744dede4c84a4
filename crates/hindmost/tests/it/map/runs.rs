//! Runs of `hindmost map` whose output is known.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Place;

#[test]
fn each_value_replaces_the_replacement_strings() {
    let place = Place::new();
    let args = ["-k", "echo {#} {} {.} {/} {//} {/.}", ":::", "a/b c.txt", "it's"];
    assert_eq!(place.printed(&args), "1 a/b c.txt a/b c b c.txt a b c\n2 it's it's it's . it's\n");
    assert_eq!(place.printed(&["-k", "echo", "{2}{1}", ":::", "a", "b", ":::", "1", "2"]), "1a\n2a\n1b\n2b\n");
    assert_eq!(place.printed(&["-k", ":::", "echo x; echo y"]), "x\ny\n");
    assert_eq!(place.printed(&["--dry-run", "gzip", ":::", "a b", "$c"]), "gzip 'a b'\ngzip '$c'\n");
    assert_eq!(place.printed(&["echo", ":::"]), "");
}

#[test]
fn names_of_files_may_have_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 \n.txt");
    fs::write(place.path("").join(name), "text").unwrap();
    let mut command = place.command(&["cat {} && printf %s {} | wc -c", ":::"]);
    let output = command.arg(name).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "text10", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_exit_code_counts_failed_tasks() {
    let place = Place::new();
    let ran = place.map(&["-k", "echo {}; echo e{} >&2; exit {}", ":::", "0", "3", "0", "5"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), "0\n3\n0\n5\n"));
    let listed = "2 of 4 tasks failed:\n  task 2, exit code 3: echo 3; echo e3 >&2; exit 3\n  task 4, exit code 5: echo 5; \
                  echo e5 >&2; exit 5\n";
    assert_eq!(ran.stderr, format!("e0\ne3\ne0\ne5\n{listed}"));
    let values: Vec<String> = (0..102).map(|number| number.to_string()).collect();
    let args: Vec<&str> = ["-j8", "false {}", ":::"].into_iter().chain(values.iter().map(String::as_str)).collect();
    let ran = place.map(&args);
    assert_eq!(ran.code, Some(101));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[11]),
        (12, "102 of 102 tasks failed:", "  and 92 more; --joblog FILE lists all")
    );
    // They are listed by number, whichever failed first.
    let expected: Vec<String> =
        (1..=10).map(|number| format!("  task {number}, exit code 1: false {}", number - 1)).collect();
    assert_eq!(lines[1..11], expected);
}

#[test]
fn results_are_found_by_the_values_of_a_map() {
    let place = Place::new();
    place.map(&["--out", "out", "test {1} != b || false", ":::", "a", "b", ":::", "1", "2 3"]);
    let table = fs::read_to_string(place.path("out/results.tsv")).unwrap();
    let of = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<[String; 2]> = table.lines().skip(1).map(of).map(|row| [row[2].clone(), row[6].clone()]).collect();
    let expected = [["a 1", "done"], ["a 2 3", "done"], ["b 1", "failed"], ["b 2 3", "failed"]];
    assert_eq!(rows, expected.map(|row| row.map(str::to_owned)));
}

#[test]
fn halt_ends_the_run_early() {
    let place = Place::new();
    let script = "echo {} >> ran; sleep {}; exit {#}";
    let begun = Instant::now();
    let ran = place.map(&["-j2", "--halt", "now,fail=1", script, ":::", "0.1", "600", "0"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(begun.elapsed() < Duration::from_mins(5) && ran.stderr.contains("task 1 failed"), "{}", ran.stderr);
    assert!(!place.read("ran").lines().any(|line| line == "0"));
    // With soon, the running task finishes and its output counts.
    let ran = place.map(&["-j2", "--halt", "soon,fail=1", "sleep {}; echo {}; exit {#}", ":::", "0.1", "0.6", "0"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), "0.1\n0.6\n"), "{}", ran.stderr);
    let ran = place.map(&["-j1", "--halt", "now,success=1", "echo {}; exit {}", ":::", "4", "0", "5"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "4\n0\n"));
}

#[test]
fn failing_tasks_are_tried_again() {
    let place = Place::new();
    let args = ["--retries", "3", "echo x >> tries; [ $(wc -l < tries) = 3 ] && echo {}", ":::", "good"];
    let ran = place.map(&args);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "good\n"), "{}", ran.stderr);
    assert_eq!(place.read("tries").lines().count(), 3);
}

#[test]
fn slow_attempts_are_stopped_at_their_time_limit() {
    let place = Place::new();
    let begun = Instant::now();
    let args = ["-j1", "--no-copies", "--timeout", "300%", "--joblog", "log", "echo {}; sleep {}"];
    let ran = place.map(&[&args[..], &[":::", "0.2", "0.2", "0.2", "600", "0.1"]].concat());
    assert_eq!((ran.code, &*ran.stdout), (Some(1), "0.2\n0.2\n0.2\n600\n0.1\n"), "{}", ran.stderr);
    assert!(begun.elapsed() < Duration::from_mins(5) && ran.stderr.contains("time limit"), "{}", ran.stderr);
    let log = place.read("log");
    let late: Vec<&str> = log.lines().nth(4).unwrap().split('\t').collect();
    assert_eq!((late[6], late[7], late[8]), ("-1", "15", "echo 600; sleep 600"));
    assert_eq!(place.map(&["--timeout", "0.3", "sleep", ":::", "60", "0"]).code, Some(1));
}

#[test]
fn job_logs_resume_runs() {
    let place = Place::new();
    let args = |rest: &[&'static str], command: &'static str| {
        [&["-k", "--joblog", "log"], rest, &[command, ":::", "a", "b", "c"]].concat()
    };
    assert_eq!(place.map(&args(&[], "echo {}; [ {} != b ]")).code, Some(1));
    let failed = place.map(&args(&["--resume-failed"], "echo {#} {}"));
    assert_eq!((failed.code, &*failed.stdout), (Some(0), "2 b\n"), "{}", failed.stderr);
    assert_eq!(place.map(&args(&["--resume"], "echo {}")).stdout, "");
    let log = place.read("log");
    assert_eq!(log.lines().count(), 5, "{log}");
    assert!(log.ends_with("\techo 2 b\n"), "{log}");
    for option in ["--resume", "--resume-failed"] {
        let ran = place.map(&[option, "echo", ":::", "a"]);
        assert!(ran.code == Some(2) && ran.stderr.starts_with(&format!("error: {option} needs ")), "{}", ran.stderr);
        assert!(ran.stderr.contains("--joblog FILE") && !ran.stderr.contains("Usage"), "{}", ran.stderr);
    }
}

#[test]
fn a_result_folder_holds_all_of_a_run() {
    let place = Place::new();
    let args = ["-k", "--out", "out", "echo {}; [ -e go ] || [ {} != b ]", ":::", "a", "b", "c"];
    assert_eq!(place.map(&args).code, Some(1));
    assert!(place.path("out/report.html").exists());
    assert_eq!(place.read("out/.hindmost/logs/map/1.0.out"), "b\n");
    let explain = crate::run_in(&place.path(""), &["explain", "out", "map/1"]);
    assert_eq!(explain.code, Some(0), "{}", explain.stderr);
    assert_eq!(crate::run_in(&place.path(""), &["verify", "out"]).code, Some(0));
    // Without --resume the folder is not used; with it, only the failed task runs.
    assert_eq!(place.map(&args).code, Some(2));
    fs::write(place.path("go"), "").unwrap();
    let resumed = place.map(&[&["--resume"], &args[..]].concat());
    assert_eq!((resumed.code, &*resumed.stdout), (Some(0), "a\nb\nc\n"), "{}", resumed.stderr);
    assert!(!place.path("out/.hindmost/logs/map/0.1.out").exists(), "only the failed task has run");
}

#[test]
fn json_replaces_the_output() {
    let place = Place::new();
    let ran = place.map(&["--json", "echo", ":::", "a", "b"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&json["job"], &json["state"], &json["tasks"]), (&"echo".into(), &"done".into(), &2.into()));
    let ran = place.map(&["--json", "echo", ":::"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &json["tasks"]), (Some(0), &0.into()));
}

#[test]
fn a_slow_task_gets_a_copy_and_only_the_winner_is_printed() {
    let place = Place::new();
    // The first attempt of the last task waits for the second one, which finishes once the user knows of it.
    let script = "echo start {#} $HINDMOST_ATTEMPT; if [ {#} = 7 ]; then if [ $HINDMOST_ATTEMPT = 0 ]; then sleep 600; fi; \
        until grep -q 'second time' messages; do sleep 0.1; done; fi; sleep 0.2; echo end";
    let values = ["1", "2", "3", "4", "5", "6", "7"];
    let mut command = place.command(&[&["-j2", "-k", script, ":::"], &values[..]].concat());
    let messages = fs::File::create(place.path("messages")).unwrap();
    let ran = command.stdin(Stdio::null()).stderr(messages).output().unwrap();
    let (stdout, messages) = (String::from_utf8(ran.stdout).unwrap(), place.read("messages"));
    assert_eq!(ran.status.code(), Some(0), "{messages}");
    assert!(stdout.ends_with("end\nstart 7 1\nend\n"), "{stdout}");
    assert_eq!(stdout.lines().count(), 14, "{stdout}");
    assert!(
        messages.contains("map/6 (7) runs a second time, and the first attempt to finish wins: attempt 0 "),
        "{messages}"
    );
}

#[test]
fn the_last_line_says_what_copies_gained() {
    let place = Place::new();
    // The first attempt of the last task hangs until the second one has finished.
    let script = "if [ {#} = 7 ] && [ $HINDMOST_ATTEMPT = 0 ]; then sleep 600; fi; sleep 0.8";
    let args = ["-j2", script, ":::", "1", "2", "3", "4", "5", "6", "7"];
    let ran = place.map(&args);
    let last = ran.stderr.lines().next_back().unwrap_or_default();
    assert!(
        ran.code == Some(0) && last.contains(" started, and ") && last.contains(" finished first"),
        "{}",
        ran.stderr
    );
    let ran = place.map(&[&["--json"], &args[..]].concat());
    assert!(ran.code == Some(0) && !ran.stderr.contains("finished first"), "{}", ran.stderr);
}

#[test]
fn commands_that_run_once_get_no_copies() {
    let place = Place::new();
    for option in ["--once", "--no-copies"] {
        let script = "echo $HINDMOST_ATTEMPT >> attempts; [ {#} != 7 ] || sleep 2; sleep 0.1";
        let ran = place.map(&["-j2", option, script, ":::", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
        assert_eq!(place.read("attempts"), "0\n".repeat(7));
        fs::remove_file(place.path("attempts")).unwrap();
    }
}

#[test]
fn ctrl_c_stops_everything() {
    let place = Place::new();
    // The values follow the command, as with GNU parallel.
    let mut command = place.command(&["touch started; sleep", ":::", "600", "600"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !place.path("started").exists() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(super::is_empty(&place.path("temporary")));
}

#[test]
fn sigusr1_and_sigusr2_print_the_running_tasks() {
    let place = Place::new();
    for signal in ["-USR1", "-USR2"] {
        // The task ends once the report is there, or after a minute.
        let script =
            "touch started; for i in $(seq 600); do grep -q running.for report && break; sleep 0.1; done; echo {}";
        let mut command = place.command(&["-j2", "--once", script, ":::", "a"]);
        let report = fs::File::create(place.path("report")).unwrap();
        let mut child = command.stdout(Stdio::null()).stderr(report).spawn().unwrap();
        let begun = Instant::now();
        while !place.path("started").exists() && begun.elapsed() < Duration::from_mins(1) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let report = place.read("report");
        let lines: Vec<&str> = report.lines().collect();
        assert_eq!(lines.len(), 2, "{report}");
        assert!(lines[0].starts_with("0 of 1 tasks finished, 1 running, 0 failed"), "{report}");
        assert!(lines[1].starts_with("task 1, running for ") && lines[1].ends_with("; echo a"), "{report}");
        fs::remove_file(place.path("started")).unwrap();
    }
}

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let place = Place::new();
    let mut command = place.command(&["-j1", "-k", "seq 100000; sleep {}", ":::", "0", "0", "600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    // Not all tasks have run, so this is no success: the code of a program that SIGPIPE ends.
    assert_eq!((first, output.status.code()), (*b"1\n", Some(141)));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(super::is_empty(&place.path("temporary")));
}

#[test]
fn other_options_of_gnu_parallel_are_refused_with_a_replacement() {
    let place = Place::new();
    for (args, instead) in [
        (&["--pipe", "cat"][..], "split"),
        (&["-X", "echo", ":::", "a"], "-n N"),
        (&["--line-buff", "echo", ":::", "a"], "winner"),
        (&["--profile", "p", "echo", ":::", "a"], "script"),
        (&["-u", "echo", ":::", "a"], "winner"),
        (&["--sshlogin=x", "echo", ":::", "a"], "this machine only"),
        (&["--delay", "3", "echo", ":::", "a"], "sleep"),
        (&["--nice", "3", "echo", ":::", "a"], "begin the command with `nice`"),
        (&["--load", "3", "echo", ":::", "a"], "-j N"),
    ] {
        let ran = place.map(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(
            ran.stderr.contains(args[0].split('=').next().unwrap()) && ran.stderr.contains(instead),
            "{}",
            ran.stderr
        );
    }
    for args in [
        &["-j", "many", "echo", ":::", "a"][..],
        &["--timeout", "soon", "echo", ":::", "a"],
        &["--halt", "now", "echo", ":::", "a"],
        &["--colsep", "[,;", "echo", ":::", "a"],
        &["-n", "2", "echo", ":::", "a", ":::", "b"],
        &["--profile", "fast", "echo", ":::", "a"],
        &["-a", "missing", "echo"],
        &["echo {= 1 =}", ":::", "a"],
        &["--no-such-option", "echo"],
        &["--workdir", "missing", "echo", ":::", "a"],
    ] {
        assert_eq!(place.map(args).code, Some(2), "{args:?}");
    }
}
