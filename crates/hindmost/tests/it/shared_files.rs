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
            assert!(said[0].contains(&format!("\"{file}\"")) && said[0].contains("--copies"), "{said:?}");
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
    assert_eq!(shown.matches("no copies (writes words)").count(), 1, "{shown}");
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
