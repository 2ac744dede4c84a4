//! Folders for temporary files: each attempt has one of its own, which is gone after it.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

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
fn an_attempts_scratch_folder_is_gone_after_it() {
    let job = job("");
    // In every way in which an attempt can end, also with folders that can't be read.
    let command = "test \"$TMPDIR\" = \"$HINDMOST_TMP\"; test -z \"$(ls -A $TMPDIR)\"; mktemp -d; echo {} > $TMPDIR/x; \
                   mkdir -p $TMPDIR/a/b/c/d/e/f; chmod 000 $TMPDIR/a; pwd -P > /dev/null; \
                   case {} in 2) exit 3;; 3) sleep 600;; 4) kill -9 $$;; esac";
    let ran = map(&job, &["--timeout", "1", "--out", "out", command, ":::", "1", "2", "3", "4"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let place = fs::canonicalize(job.path().join("temporary")).unwrap();
    assert!(ran.stdout.starts_with(&format!("{}/hindmost-tmp-", place.display())), "{}", ran.stdout);
    assert_eq!(job.names("temporary"), Vec::<String>::new());
    // Nothing of it becomes a result.
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
}

#[test]
fn copies_have_scratch_folders_of_their_own() {
    let job = job("");
    let values = ["1", "2", "3", "4", "5", "6", "7", "8"];
    // The first attempt of task 7 holds its file open until its copy has one.
    let command = "exec 3> \"$TMPDIR/x\"; echo $HINDMOST_ATTEMPT >&3; if [ {}$HINDMOST_ATTEMPT = 70 ]; then \
                   until test -e copied; do sleep 0.05; done; fi; [ $HINDMOST_ATTEMPT = 0 ] || touch copied; sleep 0.1; cat $TMPDIR/x";
    let ran = map(&job, &[&["--json", command, ":::"], &values[..]].concat());
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(ran.code == Some(0) && result["copies"]["launched"].as_u64() >= Some(1), "{result}{}", ran.stderr);
    assert_eq!(job.names("temporary"), Vec::<String>::new());
}

#[test]
fn the_place_is_that_of_the_option_or_the_job_or_the_user() {
    let text = |keys: &str| {
        format!(
            "[[phase]]\nname = 'p'\ntasks = 1\ncommand = 'dirname $(dirname $TMPDIR) > $HINDMOST_OUTPUT/place'\n{keys}\n"
        )
    };
    let of_phase = "environment = { TMPDIR = 'phase' }";
    for (keys, args, of_user, place) in [
        ("", &[][..], "user", "user"),
        (of_phase, &[], "user", "phase"),
        (of_phase, &["--tmpdir", "option"], "user", "option"),
        // A place that can't be used is no reason to fail.
        ("", &[], "missing", "out/.hindmost/attempts"),
    ] {
        let job = Job::new(&text(keys));
        for folder in ["user", "phase", "option"] {
            fs::create_dir(job.path().join(folder)).unwrap();
        }
        let mut command = hindmost();
        command.current_dir(job.path()).args(["run", "job.toml", "--out", "out"]).args(args);
        let ran = command.env("TMPDIR", job.path().join(of_user)).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let place = fs::canonicalize(job.path()).unwrap().join(place);
        assert_eq!(job.read("out/p/0/place").trim_end(), place.to_str().unwrap());
    }
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
