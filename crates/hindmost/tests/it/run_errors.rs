//! `hindmost run` with wrong input: the message says what to do, the exit code is 2, and no file is left.

use std::fs;

use crate::run::Job;
use crate::{Ran, run_in};

const SMALL: &str = "name = \"small\"\n[[phase]]\nname = \"a\"\ntasks = 2\ncommand = \"echo run >> ran\"\n";

/// Checks that a command was refused with a message that has these parts.
fn assert_refused(what: &str, ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.code, Some(2), "{what}: {}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "", "{what}");
    assert!(ran.stderr.starts_with("error: "), "{what}: {}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{what} lacks {part:?}: {}", ran.stderr);
    }
}

#[test]
fn wrong_options_are_refused_and_leave_no_files() {
    let job = Job::new(SMALL);
    for (args, parts) in [
        (&["--policy", "mantry"][..], &["did you mean \"mantri\"?"][..]),
        (&["--policy", "mantri(dleta=1)"], &["did you mean \"delta\"?"]),
        (&["--policy", "mantri(delta=2)"], &["delta is 2"]),
        (&["--policy", "none,mantri"], &["2 policies"]),
        (&["--policy", ""], &["policy"]),
        (&["--knowledge", "oracle"], &["oracle", "simulation", "age"]),
        (&["--knowledge", "progress(uniform)"], &["simulation", "age"]),
        (&["--knowledge", "progres(0.1)"], &["\"progres(0.1)\"", "progress(S)", "age"]),
        (&["--knowledge", "progress(2)"], &["\"progress(2)\"", "progress(S)"]),
        (&["--nodes", "n1"], &["n1", "n1:2,n2:2"]),
        (&["--nodes", "n1:x"], &["\"x\"", "n1:2,n2:2"]),
        (&["--nodes", "n1:0"], &["\"0\"", "n1:2,n2:2"]),
        (&["--nodes", "n1:nan"], &["\"nan\"", "n1:2,n2:2"]),
        (&["--nodes", "n1:1e300"], &["n1 has \"1e300\" cpus, but must have above 0 and at most 1000000"]),
        (&["--nodes", "n1:2,n1:2"], &["named twice"]),
        (&["--nodes", "n1:2,"], &["\"\"", "n1:2,n2:2"]),
        (&["--nodes", "n1:2:4"], &["\"4\"", "4GB"]),
        (&["--nodes", ""], &["n1:2,n2:2"]),
        (&["--chaos", "slow=n1"], &["slow=NODE:FACTOR"]),
        (&["--chaos", "slow=n9:3"], &["n9", "the only node is"]),
        (&["--nodes", "n1:2,n2:2", "--chaos", "lose=n9:1s"], &["n9", "n1", "n2"]),
        (&["--chaos", "boom"], &["boom", "slow=NODE:FACTOR"]),
        (&["--chaos", "kill=2"], &["from 0 to 1"]),
        (&["--engine", "slrum"], &["local"]),
        (&["--history", "nowhere"], &["nowhere"]),
        (&["--history", "job.toml"], &["job.toml", "journal"]),
        (&["--jsn"], &["--json"]),
        (&["--check", "--chaos", "kill=0.1"], &["--chaos", "--check"]),
        (&["--redo", "a/x"], &["--redo", "a/3-9"]),
        (&["--redo", "a"], &["--redo", "holds no run"]),
        (&["--out", "job.toml"], &["job.toml"]),
        (&["--out", "job.toml/below"], &["job.toml/below"]),
        (&["--out", "/dev/null/below"], &["/dev/null/below"]),
        (&["more"], &["more"]),
    ] {
        for json in [false, true] {
            let ran = job.run(&[args, if json { &["--json"] } else { &[] }].concat());
            assert_refused(&format!("{args:?}"), &ran, parts);
        }
        assert_eq!(job.names("."), ["job.toml"], "{args:?}");
    }
    job.done(&[]);
}

#[test]
fn files_that_are_no_job_files_are_refused() {
    let job = Job::new(SMALL);
    fs::create_dir(job.path().join("folder")).unwrap();
    fs::write(job.path().join("binary.toml"), [0u8, 159, 146, 150]).unwrap();
    job.write("empty.toml", "");
    job.write("scenario.toml", "[cluster]\nmachines = 4\n[workload]\ntasks = 2\n");
    for (file, parts) in [
        ("nowhere.toml", &["nowhere.toml"][..]),
        ("folder", &["folder"]),
        ("folder/job.toml", &["folder/job.toml"]),
        ("job.toml/x", &["job.toml/x"]),
        ("binary.toml", &["binary.toml", "not a text file"]),
        ("empty.toml", &["empty.toml", "[[phase]]"]),
        ("scenario.toml", &["scenario.toml", "this is a scenario, not a job file", "hindmost simulate"]),
    ] {
        for more in [&[][..], &["--check"], &["--resume", "--json"]] {
            let ran = run_in(job.path(), &[&["run", file], more].concat());
            assert_refused(file, &ran, parts);
        }
    }
    assert_refused("no file", &run_in(job.path(), &["run"]), &["JOB"]);
    assert_eq!(job.names("."), ["binary.toml", "empty.toml", "folder", "job.toml", "scenario.toml"]);
}

#[test]
fn job_file_errors_say_the_line_and_what_to_do() {
    for (from, to, parts) in [
        ("tasks", "task", &["line 4, column 1", "did you mean \"tasks\"?"][..]),
        ("tasks = 2", "tasks = 0", &["line 4, column 9", "tasks is 0"]),
        ("tasks = 2", "inputs = \"no/*\"", &["line 4", "matches no file"]),
        ("[[phase]]", "[phase]", &["line 2", "two brackets"]),
        ("[[phase]]", "policy = \"mantry\"\n[[phase]]", &["line 2", "did you mean \"mantri\"?"]),
        ("[[phase]]", "nodes = \"n1\"\n[[phase]]", &["n1:2,n2:2"]),
        ("[[phase]]", "knowledge = \"oracle\"\n[[phase]]", &["simulation"]),
        ("[[phase]]", "knowledge = \"progress(2)\"\n[[phase]]", &["line 2", "progress(2)", "age, history or profiles"]),
        ("tasks = 2", "tasks = 2\nshell = [\"no-such-shell\", \"-c\"]", &["line 5", "\"a\"", "no-such-shell", "PATH"]),
        ("tasks = 2", "tasks = 2\nshell = [\"./no-shell\"]", &["line 5", "no-shell is not a program"]),
        ("tasks = 2", "tasks = 2\nenvironment = { \"A B\" = \"1\" }", &["line 5", "A B", "spaces"]),
        ("command = \"echo run >> ran\"\n", "", &["line 2", "\"a\"", "no command"]),
        ("name = \"a\"", "", &["line 2", "no name"]),
        ("tasks = 2", "tasks = 2\nafter = [\"b\"]", &["line 5", "\"b\""]),
        ("tasks = 2", "tasks = 2\nmemory = \"4\"", &["line 5", "unit"]),
        ("tasks = 2", "tasks = 2\nenvironment = { HINDMOST_TASK = \"1\" }", &["line 5", "HINDMOST_"]),
        ("command", "comand", &["line 5", "did you mean \"command\"?"]),
    ] {
        let job = Job::new(&SMALL.replacen(from, to, 1));
        for more in [&[][..], &["--json"]] {
            assert_refused(to, &job.run(more), &[&["job.toml"], parts].concat());
        }
        assert_eq!(job.names("."), ["job.toml"], "{to}");
    }
}

#[test]
fn a_task_that_fits_no_node_is_refused_before_the_run() {
    for (key, nodes, parts) in [
        ("cpus = 3", "n1:2,n2:2", &["\"a\"", "cpu", "3"][..]),
        ("memory = \"3GB\"", "n1:2:2GB,n2:2:1GB", &["\"a\"", "memory"]),
    ] {
        let first = "[[phase]]\nname = \"first\"\ntasks = 1\ncommand = \"echo run >> ran\"\n";
        let job = Job::new(&SMALL.replacen("[[phase]]", &format!("{first}[[phase]]\n{key}"), 1));
        assert_refused(key, &job.run(&["--nodes", nodes]), parts);
        assert_eq!(job.names("."), ["job.toml"], "{key}");
        job.done(&["--nodes", "n1:4:8GB"]);
    }
}

#[test]
fn a_folder_that_is_not_empty_stays_as_it_is() {
    let job = Job::new(SMALL);
    job.done(&[]);
    assert_eq!(job.lines("ran"), 2);
    // The folder holds a run of this job.
    let summary = job.read("small.out/.hindmost/summary.json");
    for args in [&[][..], &["--json"], &["--out", "small.out"]] {
        assert_refused("a run", &job.run(args), &["small.out", "\"small\"", "--out"]);
    }
    // The folder holds other files.
    fs::create_dir(job.path().join("taken")).unwrap();
    job.write("taken/letter", "dear");
    for more in [&[][..], &["--resume"]] {
        assert_refused("files", &job.run(&[&["--out", "taken"], more].concat()), &["taken", "not empty", "--out"]);
    }
    assert_eq!(job.names("taken"), ["letter"]);
    // The folder holds another job of the same name.
    job.write("job.toml", &SMALL.replace("ran", "walked"));
    for more in [&[][..], &["--resume"], &["--resume", "--json"]] {
        assert_refused("another job", &job.run(more), &["small.out", "\"small\""]);
    }
    assert_eq!((job.lines("ran"), job.has("walked")), (2, false));
    assert_eq!(job.read("small.out/.hindmost/summary.json"), summary);
    // An empty folder is accepted.
    fs::create_dir(job.path().join("empty")).unwrap();
    job.done(&["--out", "empty"]);
    assert_eq!(job.lines("walked"), 2);
}

#[test]
fn resuming_without_an_earlier_run_begins_a_new_run() {
    let job = Job::new(SMALL);
    job.done(&["--resume"]);
    assert_eq!(job.lines("ran"), 2);
}

#[test]
fn a_command_that_cannot_run_says_why() {
    for (command, parts) in [
        ("no-such-program-anywhere", &["exit code 127", "no-such-program-anywhere"][..]),
        ("if then", &["exit code 2", "yntax"]),
        ("echo oh no >&2; kill -9 $$", &["oh no", "signal 9"]),
        ("rm -r \\\"$HINDMOST_OUTPUT\\\"", &["output folder"]),
        ("exit 300", &["exit code"]),
    ] {
        let text = format!("[[phase]]\nname = \"a\"\ntasks = 1\nretries = 0\ncommand = \"{command}\"\n");
        let ran = Job::new(&text).run(&[]);
        assert_eq!(ran.code, Some(1), "{command}: {}{}", ran.stdout, ran.stderr);
        for part in parts {
            assert!(ran.stdout.contains(part), "{command} lacks {part:?}: {}", ran.stdout);
        }
        assert!(ran.stderr.contains("error: the job failed: a/0"), "{}", ran.stderr);
    }
}
