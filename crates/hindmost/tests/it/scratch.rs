//! Folders for temporary files of runs that were killed.

use std::fs;
use std::process::{Command, Stdio};

use crate::run::Job;
use crate::scene::until;
use crate::{Ran, hindmost, run_in};

/// A job's folder with a folder for temporary files in it.
fn job(text: &str) -> Job {
    let job = Job::new(text);
    fs::create_dir(job.path().join("temporary")).unwrap();
    job
}

fn map(job: &Job, args: &[&str]) -> Ran {
    run_in(job.path(), &[&["map", "-j", "2", "--tmpdir", "temporary"], args].concat())
}

#[test]
fn what_a_killed_process_left_is_removed_once_unused() {
    let job = job("[[phase]]\nname = 'p'\ntasks = 2\n\
        command = 'echo > $TMPDIR/x; touch begun$HINDMOST_TASK; until test -e go; do sleep 0.05; done; cat $TMPDIR/x'\n");
    let run = ["run", "job.toml", "--out", "out", "--nodes", "n1:2", "--tmpdir", "temporary"];
    let mut child = hindmost();
    let child = child.current_dir(job.path()).args(run).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    until("both attempts have begun", || job.has("begun0") && job.has("begun1"));
    child.kill().unwrap();
    child.wait().unwrap();
    let left = job.names("temporary");
    assert_eq!(left.len(), 1);
    // Its attempts still run, so another process leaves it alone.
    assert_eq!(map(&job, &["true", ":::", "1"]).code, Some(0));
    assert_eq!(job.names("temporary"), left);
    let mut resumed = Command::new(env!("CARGO_BIN_EXE_hindmost"));
    let resumed =
        resumed.current_dir(job.path()).args(run).arg("--resume").stdout(Stdio::null()).stderr(Stdio::piped());
    let resumed = resumed.spawn().unwrap();
    job.write("go", "");
    let ended = resumed.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(map(&job, &["true", ":::", "1"]).code, Some(0));
    assert_eq!(job.names("temporary"), Vec::<String>::new());
}
