//! Copies are left out where two attempts of a task would write one file.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::Job;
use crate::run_in;

/// Runs `hindmost map -j 4` for eight values in a job's folder.
fn map(job: &Job, args: &[&str], command: &str) -> crate::Ran {
    let values = ["1", "2", "3", "4", "5", "6", "7", "8"];
    run_in(job.path(), &[&["map", "-j", "4"], args, &[command, ":::"], &values].concat())
}

/// Returns true if tasks may have copies according to the journal of a run.
fn may_be_copied(job: &Job, out: &str) -> bool {
    !job.read(&format!("{out}/.hindmost/journal.jsonl")).contains("\"never_copied\":true")
}

#[test]
fn a_map_that_names_a_file_for_writing_gets_no_copies_and_says_so() {
    let job = Job::new("");
    for (number, (command, file)) in [
        ("echo {} | gzip -c > {}.gz", Some("{}.gz")),
        ("echo {} | tee {}.txt", Some("{}.txt")),
        ("echo {} | gzip -c | wc -c", None),
        ("echo {} > \"$HINDMOST_OUTPUT/x\"", None),
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("out{number}");
        let ran = map(&job, &["--out", &out], command);
        let said = ran.stderr.lines().filter(|line| line.starts_with("no copies, because")).collect::<Vec<_>>();
        assert_eq!((ran.code, said.len()), (Some(0), usize::from(file.is_some())), "{}", ran.stderr);
        if let Some(file) = file {
            assert!(said[0].contains(&format!("writes {file} (")) && said[0].contains("--copies"), "{said:?}");
        }
        assert_eq!(may_be_copied(&job, &out), file.is_none(), "{command}");
        for option in ["--copies", "--no-copies", "--once"] {
            assert_eq!(map(&job, &[option], command).stderr, "", "{option}: {command}");
        }
    }
}

#[test]
fn copies_are_forced_by_those_who_know_better() {
    // The first attempt of a task waits for its copy.
    let command = "if [ {} = 7 ] && [ $HINDMOST_ATTEMPT = 0 ]; then until test -e copied; do sleep 0.05; done; fi; \
                   [ $HINDMOST_ATTEMPT = 0 ] || touch copied; echo {} > $HINDMOST_ATTEMPT-{}";
    let job = Job::new("");
    let ran = map(&job, &["--copies", "--json"], command);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(ran.code == Some(0) && result["copies"]["launched"].as_u64() >= Some(1), "{result}{}", ran.stderr);
    assert!(job.has("copied"));
}

/// Returns whether the phases of a job may have copies, as `--check` says.
fn checked(job: &Job, args: &[&str]) -> Vec<bool> {
    let ran = job.run(&[&["--check", "--json"], args].concat());
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    plan["phases"].as_array().unwrap().iter().map(|phase| phase["copies"].as_bool().unwrap()).collect()
}

#[test]
fn a_job_decides_by_its_commands_unless_it_or_an_option_says_otherwise() {
    let phases = [
        "command = 'wc -w x > \"$HINDMOST_OUTPUT/words\"'",
        "command = 'wc -w x > words'",
        "command = 'wc -w x > words'\ncopies = true",
        "command = 'wc -w x'\ncopies = false",
        "command = 'wc -w x'\nidempotent = false",
        "command = 'print(3 > 2)'\nshell = ['python3', '-c']",
    ];
    let phase = |(number, keys): (usize, &&str)| format!("[[phase]]\nname = 'p{number}'\ntasks = 1\n{keys}\n");
    let job = Job::new(&phases.iter().enumerate().map(phase).collect::<String>());
    assert_eq!(checked(&job, &[]), [true, false, true, false, false, true]);
    assert_eq!(checked(&job, &["--copies"]), [true, true, true, true, false, true]);
    assert_eq!(checked(&job, &["--no-copies"]), [false; 6]);
    let shown = job.run(&["--check"]).stdout;
    assert_eq!(shown.matches("restarts and no copies (writes words)").count(), 1, "{shown}");
    fs::write(job.path().join("x"), "a b\n").unwrap();
    let ran = job.run(&["--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("phase p1: no copies, because").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("no copies, because").count(), 1, "{}", ran.stderr);
    assert!(!job.run(&["--out", "none", "--policy", "none"]).stderr.contains("no copies"));
}

#[test]
fn examples_write_only_into_their_own_folders() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found = 0;
    for folder in fs::read_dir(&examples).unwrap() {
        let file = folder.unwrap().path().join("job.toml");
        if file.exists() {
            found += 1;
            let ran = crate::run(&["run", file.to_str().unwrap(), "--check", "--json"]);
            let plan: Value =
                serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
            let phases = plan["phases"].as_array().unwrap();
            assert!(phases.iter().all(|phase| phase["copies"] == true), "{}: {plan}", file.display());
        }
    }
    assert!(found >= 4, "{found} examples");
}

/// Writes a program into a job's folder that can be started as `./NAME`.
fn program(job: &Job, name: &str, text: &str) {
    job.write(name, text);
    let path = job.path().join(name);
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_copy_is_left_out_while_an_attempt_writes_a_file_of_its_own() {
    let job = Job::new("");
    // The text of the command names no file. The first attempt of task 7 holds its file open until the user knows of it.
    program(
        &job,
        "hidden",
        "#!/bin/sh\nexec > $1.out\necho begin\nif [ $1$HINDMOST_ATTEMPT = 70 ]; then \
         until grep -q 'gets no copy' said; do sleep 0.05; done; fi\nsleep 0.1; echo end\n",
    );
    let said = fs::File::create(job.path().join("said")).unwrap();
    let mut command = crate::hindmost();
    command.current_dir(job.path()).args(["map", "-j", "4", "--out", "out", "./hidden {}", ":::"]);
    command.args(["1", "2", "3", "4", "5", "6", "7", "8"]).stderr(said);
    let ran = command.output().unwrap();
    let said = job.read("said");
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(
        said.contains("map/6 (7) gets no copy: attempt 0 writes ")
            && said.contains("/7.out, which a copy might destroy"),
        "{said}"
    );
    assert!(!said.contains("second time"), "{said}");
    for number in 1..=8 {
        assert_eq!(job.read(&format!("{number}.out")), "begin\nend\n");
    }
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
    let why = run_in(job.path(), &["explain", "out", "map/6"]).stdout;
    assert!(why.contains("no other copy starts"), "{why}");
}

#[test]
fn scratch_files_and_files_without_a_name_prevent_no_copies() {
    let job = Job::new("");
    // The first attempt of task 7 holds scratch files open until its copy runs.
    program(
        &job,
        "scratch",
        "#!/bin/sh\nscratch=$(mktemp)\nexec 3> $scratch\nnone=$(mktemp); exec 4> $none; rm $none\n\
         if [ $1 = 7 ] && [ $HINDMOST_ATTEMPT = 0 ]; then until test -e copied; do sleep 0.05; done; fi\n\
         [ $HINDMOST_ATTEMPT = 0 ] || touch copied\nsleep 0.1; rm $scratch; echo $1\n",
    );
    let ran = map(&job, &["--json"], "./scratch {}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(ran.code == Some(0) && result["copies"]["launched"].as_u64() >= Some(1), "{result}{}", ran.stderr);
}

#[test]
fn attempts_that_write_one_file_at_a_time_are_both_stopped() {
    let job = Job::new("");
    // The first attempt of task 7 opens its file when its copy runs, which waits with its own until then.
    program(
        &job,
        "late",
        "#!/bin/sh\nif [ $1 = 7 ]; then case $HINDMOST_ATTEMPT in\n0) until test -e copied; do sleep 0.02; done; exec > \
         $1.out; touch opened; sleep 600;;\n1) touch copied; until test -e opened; do sleep 0.02; done; exec > $1.out; sleep \
         600;;\nesac; fi\nsleep 0.1; echo $1 > $1.out\n",
    );
    let ran = map(&job, &["--out", "out"], "./late {}");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("two attempts of map/6 (7) have ") && ran.stderr.contains("/7.out open"),
        "{}",
        ran.stderr
    );
    assert_eq!(job.read("7.out"), "7\n");
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
}

#[test]
fn a_hanging_attempt_starts_again_where_copies_would_share() {
    let job = Job::new("");
    let command = "if [ {} = 7 ] && [ $HINDMOST_ATTEMPT = 0 ]; then echo part > {}.out; sleep 600; fi; sleep 0.8; echo {} > {}.out";
    let ran = map(&job, &["--out", "out"], command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(job.read("7.out"), "7\n");
    assert!(ran.stderr.contains("map/6 (7) is stopped and starts again: it seems to hang"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 attempt that seemed to hang was stopped"), "{}", ran.stderr);
    let why = run_in(job.path(), &["explain", "out", "map/6"]).stdout;
    assert!(why.contains("is stopped, so that its task can start again"), "{why}");
    let plan = Job::new("[[phase]]\nname = 'p'\ntasks = 1\ncommand = 'wc x > y'\n").run(&["--check", "--json"]).stdout;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["phases"][0]["restarts"], true);
    // What a stopped attempt has added to a file would be there twice.
    let ran = map(
        &job,
        &["--out", "added"],
        "echo {} >> {}.log; if [ {} = 7 ] && [ $HINDMOST_ATTEMPT = 0 ]; then sleep 4; fi; sleep 0.2",
    );
    assert_eq!((ran.code, job.read("7.log")), (Some(0), "7\n".to_owned()), "{}", ran.stderr);
}

#[test]
fn an_attempt_that_hangs_with_a_hidden_file_open_starts_again() {
    let job = Job::new("");
    program(
        &job,
        "hidden",
        "#!/bin/sh\nexec $2 $1.out\necho begin\n[ $1$HINDMOST_ATTEMPT != 70 ] || sleep $3\nsleep 0.8; echo end\n"
            .replace("exec $2 ", "eval exec \"$2\" ")
            .as_str(),
    );
    let ran = map(&job, &["--out", "out"], "./hidden {} '>' 600");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("map/6 (7) gets no copy: attempt 0 writes "), "{}", ran.stderr);
    assert!(ran.stderr.contains("map/6 (7) is stopped and starts again: it seems to hang"), "{}", ran.stderr);
    let why = run_in(job.path(), &["explain", "out", "map/6"]).stdout;
    assert!(why.contains("if the attempt hangs,"), "{why}");
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
    // What it has added to the file would be there twice, so it is waited for.
    for number in 1..=8 {
        assert_eq!(job.read(&format!("{number}.out")), "begin\nend\n");
        fs::remove_file(job.path().join(format!("{number}.out"))).unwrap();
    }
    let ran = map(&job, &["--out", "added"], "./hidden {} '>>' 4");
    assert_eq!((ran.code, job.read("7.out")), (Some(0), "begin\nend\n".to_owned()), "{}", ran.stderr);
}

#[test]
fn a_loser_does_nothing_after_another_attempt_has_won() {
    // What the loser would do to clean up would destroy the winner's file.
    for cleanup in ["rm -f $1.out; exit 1", "exec > $1.out; echo partial; exit 1", "echo late > $1.out"] {
        let job = Job::new("");
        let script = format!(
            "trap '{cleanup}' TERM\nif [ $HINDMOST_ATTEMPT = 0 ] && [ $1 = 7 ]; then sleep 600 & else sleep 0.1 & fi\nwait $!\n\
             echo $1 > $1.out\n"
        );
        job.write("script", &script);
        let ran = map(&job, &["--out", "out"], "bash script {}");
        assert_eq!((ran.code, job.read("7.out")), (Some(0), "7\n".to_owned()), "{cleanup}: {}", ran.stderr);
    }
}

#[test]
fn a_stopped_attempt_that_has_written_spoils_the_other_one() {
    let job = Job::new("");
    // Each attempt of task 7 writes its file for a second; what follows takes long, so one of them is stopped.
    program(
        &job,
        "long",
        "#!/bin/sh\nif [ $1 != 7 ]; then sleep 0.4; echo $1 > $1.out; exit; fi\n\
         (for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done) > $1.out\n[ $HINDMOST_ATTEMPT != 0 ] || sleep 5\n",
    );
    let ran = map(&job, &["--out", "out"], "./long {}");
    let whole: String = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n".to_owned();
    assert_eq!((ran.code, job.read("7.out")), (Some(0), whole), "{}", ran.stderr);
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
}

#[test]
fn attempts_that_add_to_one_file_fail_for_good() {
    let job = Job::new("");
    // Both attempts of task 7 have the file open when its copy runs.
    program(
        &job,
        "late",
        "#!/bin/sh\nif [ $1 = 7 ]; then case $HINDMOST_ATTEMPT in\n\
         0) until test -e copied; do sleep 0.02; done; exec >> $1.out; echo 7; touch opened; sleep 600;;\n\
         1) touch copied; until test -e opened; do sleep 0.02; done; exec >> $1.out; echo 7; sleep 600;;\n\
         esac; fi\nsleep 0.1; echo $1 >> $1.out\n",
    );
    let ran = map(&job, &["--retries", "5", "--json"], "./late {}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let failed = &result["failed_tasks"];
    assert_eq!((ran.code, failed.as_array().map(Vec::len)), (Some(1), Some(1)), "{result}{}", ran.stderr);
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(reason.contains("/7.out open, which each adds to") && reason.contains("--no-copies"), "{reason}");
    assert!(ran.stderr.contains("so both are stopped, and the task has failed"), "{}", ran.stderr);
    // Nothing has run a third time.
    assert!(job.read("7.out").lines().count() <= 2, "{}", job.read("7.out"));
}

#[test]
fn quiet_runs_say_nothing_but_failures() {
    let job = Job::new("[[phase]]\nname = 'p'\ntasks = 2\nretries = 0\ncommand = 'echo > x; exit $HINDMOST_TASK'\n");
    assert_eq!(map(&job, &["--quiet"], "echo {} > {}.txt").stderr, "");
    let ran = map(&job, &["--quiet"], "test {} != 3");
    assert!(ran.code == Some(1) && ran.stderr.starts_with("1 of 8 tasks failed:"), "{}", ran.stderr);
    let ran = job.run(&["--quiet", "--out", "out"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("exit code 1") && !ran.stderr.contains("no copies"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_winner_whose_file_may_be_destroyed_does_not_count() {
    let job = Job::new("");
    // The first attempt of task 7 writes its file, then its copy truncates it, and then the first one ends with exit code 0.
    program(
        &job,
        "late",
        "#!/bin/sh\nif [ $1 = 7 ]; then case $HINDMOST_ATTEMPT in\n0) until test -e copied; do sleep 0.02; done; echo 7 > \
         7.out; touch written\nuntil test -e truncated; do sleep 0.02; done; exit 0;;\n1) touch copied; until test -e written; \
         do sleep 0.02; done; exec > 7.out; touch truncated; sleep 600;;\nesac; fi\nsleep 0.1; echo $1 > $1.out\n",
    );
    let ran = map(&job, &["--out", "out"], "./late {}");
    assert_eq!((ran.code, job.read("7.out")), (Some(0), "7\n".to_owned()), "{}", ran.stderr);
    assert!(ran.stderr.contains("attempt 0 of map/6 (7) has ended well while another one writes "), "{}", ran.stderr);
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
}
