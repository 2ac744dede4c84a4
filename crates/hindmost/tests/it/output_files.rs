//! Standard output that becomes files: of a run that is killed, and on another file system.

use std::fs;

use crate::run::Job;
use crate::scene::until;
use crate::{Ran, run_in};

/// Eight files, in a folder of their own.
fn texts() -> Job {
    let job = Job::new("");
    for number in 1..=8 {
        job.write(&format!("a {number}.txt"), &format!("text {number}\n"));
    }
    job
}

/// Runs `hindmost map -j 4` over the eight files.
fn map(job: &Job, args: &[&str]) -> Ran {
    let files: Vec<String> = (1..=8).map(|number| format!("a {number}.txt")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    run_in(job.path(), &[&["map", "-j", "4"], args, &[":::"], &files].concat())
}

#[test]
fn a_killed_run_leaves_whole_files_or_none() {
    let job = Job::new(
        "[[phase]]\nname = 'p'\ntasks = 60\nretries = 5\n\
         command = 'head -c 100000 /dev/zero | tr \"\\\\0\" x; echo $HINDMOST_TASK'\noutput = 'made/{#}'\n",
    );
    let mut args = vec!["--out", "out", "--nodes", "n1:4"];
    for round in 1..=5 {
        let live = job.start(&args);
        until("some files are there", || job.path().join("made").is_dir() && job.names("made").len() >= round * 8);
        live.signal("KILL");
        live.wait();
        for name in job.names("made") {
            assert!(name.starts_with(".hindmost-") || job.read(&format!("made/{name}")).len() > 100_000, "{name}");
        }
        args = vec!["--out", "out", "--resume"];
    }
    job.done(&args);
    let mut expected: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    expected.sort();
    assert_eq!(job.names("made"), expected);
    for name in expected {
        assert!(job.read(&format!("made/{name}")).ends_with(&format!("x{name}\n")));
    }
}

#[test]
fn outputs_on_another_file_system_are_copied() {
    let there = tempfile::tempdir_in("/dev/shm");
    let Ok(there) = there else { return hindmost_testing::left_out("there is no /dev/shm") };
    let job = texts();
    let output = format!("{}/{{/.}}", there.path().display());
    let ran = map(&job, &["--output", &output, "--out", "out", "cat {}"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let names = || {
        let mut names: Vec<_> = fs::read_dir(there.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!((names().len(), names()[0].to_str()), (8, Some("a 1")));
    assert_eq!(fs::read_to_string(there.path().join("a 8")).unwrap(), "text 8\n");
    let ran = map(&job, &["--output", &output, "--out", "out", "--resume", "cat {}"]);
    assert_eq!((ran.code, names().len()), (Some(0), 8), "{}", ran.stderr);
}
