//! Tests of `hindmost run` with several jobs, and of `hindmost submit`.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::scene::{ended, leftovers, run_id, signal, until, until_recorded};
use crate::{Ran, hindmost, run_in};

/// A job that counts in its last phase how many results the first has, and waits in each task of the first.
fn counting(name: &str, tasks: u32, wait: &str) -> String {
    format!(
        "name = {name:?}\n[[phase]]\nname = \"map\"\ntasks = {tasks}\n\
         command = \"sleep {wait}; echo $HINDMOST_TASK > $HINDMOST_OUTPUT/x\"\n\
         [[phase]]\nname = \"sum\"\nafter = [\"map\"]\ntasks = 1\n\
         command = \"cat $HINDMOST_FROM/map/*/x | wc -l > $HINDMOST_OUTPUT/n\"\n"
    )
}

/// A folder with job files.
struct Jobs(TempDir);

impl Jobs {
    fn new(files: &[(&str, String)]) -> Jobs {
        let jobs = Jobs(tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(jobs.0.path().join(name), text).unwrap();
        }
        jobs
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, args: &[&str]) -> Ran {
        run_in(self.path(), args)
    }

    fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns what the last phase of a job has counted.
    fn count(&self, out: &str, job: &str) -> String {
        self.read(&format!("{out}/{job}/sum/0/n")).trim().to_owned()
    }

    /// Starts a run that accepts jobs, and waits until it does.
    fn listen(&self, args: &[&str]) -> Listening<'_> {
        let log = |name: &str| fs::File::create(self.path().join(name)).unwrap();
        let mut command = hindmost();
        command.current_dir(self.path()).args(["run", "--listen", "socket", "--out", "out"]).args(args);
        let child = command.stdin(Stdio::null()).stdout(log("stdout")).stderr(log("stderr")).spawn().unwrap();
        let listening = Listening { jobs: self, child };
        until("the run accepts jobs", || self.read("stderr").contains("accepting jobs"));
        listening
    }

    fn snapshot(&self, out: &str) -> Value {
        serde_json::from_str(&self.done(&["watch", out, "--json"]).stdout).unwrap()
    }

    /// Returns the state of the run and of its jobs, as `watch` shows them.
    fn watched(&self, out: &str) -> (String, Vec<(String, String)>) {
        let json = self.snapshot(out);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let jobs = json["jobs"].as_array().unwrap().iter();
        let mut states: Vec<_> = jobs.map(|job| (text(&job["name"]), text(&job["state"]))).collect();
        states.sort();
        (text(&json["state"]), states)
    }

    fn is_clean(&self) {
        let run = run_id(&self.path().join("out")).expect("a run");
        let (left, _) = leftovers(&run);
        assert!(left.is_empty(), "processes are left: {left:?}");
        assert!(!self.path().join("socket").exists());
    }
}

/// A run that accepts jobs. It is killed when the test ends.
struct Listening<'a> {
    jobs: &'a Jobs,
    child: Child,
}

impl Listening<'_> {
    fn end(mut self) -> Ran {
        let status = ended(&mut self.child).expect("the run ends");
        Ran { code: status.code(), stdout: self.jobs.read("stdout"), stderr: self.jobs.read("stderr") }
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn states(ran: &Ran) -> Vec<(String, String)> {
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut states: Vec<_> =
        json["jobs"].as_array().unwrap().iter().map(|job| (text(&job["job"]), text(&job["state"]))).collect();
    states.sort();
    states
}

fn pairs(states: &[(&str, &str)]) -> Vec<(String, String)> {
    states.iter().map(|(job, state)| ((*job).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn a_killed_run_knows_its_submitted_jobs() {
    let jobs = Jobs::new(&[("a.toml", counting("a", 8, "0.2")), ("b.toml", counting("b", 4, "0.2"))]);
    let mut run = jobs.listen(&["--nodes", "n1:2"]);
    jobs.done(&["submit", "a.toml", "--to", "socket"]);
    jobs.done(&["submit", "b.toml", "--to", "socket"]);
    until("a task has finished", || {
        jobs.path().join("out/a/map/0/x").exists() || jobs.path().join("out/a/map/1/x").exists()
    });
    until_recorded(&jobs.path().join("out"));
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    drop(run);
    let run = jobs.listen(&["--resume"]);
    jobs.done(&["submit", "--close", "--to", "socket"]);
    let ran = run.end();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!((jobs.count("out", "a"), jobs.count("out", "b")), ("8".to_owned(), "4".to_owned()));
    jobs.done(&["verify", "out"]);
    jobs.is_clean();
}

#[test]
fn an_interrupted_run_ends_its_jobs_and_continues() {
    let jobs = Jobs::new(&[("a.toml", counting("a", 4, "0.2")), ("b.toml", counting("b", 4, "0.2"))]);
    let run = jobs.listen(&["a.toml", "b.toml", "--nodes", "n1:2"]);
    until("an attempt runs", || {
        fs::read_dir(jobs.path().join("out/a/.hindmost/attempts")).is_ok_and(|found| found.count() > 0)
    });
    signal(run.child.id(), "INT");
    let ran = run.end();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("--listen socket --out out --resume` continues the run"), "{}", ran.stderr);
    jobs.is_clean();
    jobs.done(&["run", "--out", "out", "--resume"]);
    assert_eq!((jobs.count("out", "a"), jobs.count("out", "b")), ("4".to_owned(), "4".to_owned()));
    // A run that waits for jobs ends without an error.
    let idle = jobs.listen(&["--resume"]);
    signal(idle.child.id(), "INT");
    assert_eq!(idle.end().code, Some(0));
}

#[test]
fn jobs_whose_files_are_gone_are_not_done() {
    let waiting = "0; until test -e go; do sleep 0.05; done";
    let jobs = Jobs::new(&[
        ("a.toml", counting("a", 1, waiting)),
        ("b.toml", counting("b", 1, waiting)),
        ("c.toml", counting("c", 1, "0")),
    ]);
    let run = jobs.listen(&["a.toml", "b.toml", "--nodes", "n1:3"]);
    jobs.done(&["submit", "c.toml", "--to", "socket", "--wait"]);
    signal(run.child.id(), "INT");
    assert_eq!(run.end().code, Some(130));
    fs::write(jobs.path().join("go"), "").unwrap();
    let a = jobs.read("a.toml");
    for name in ["a.toml", "c.toml"] {
        fs::remove_file(jobs.path().join(name)).unwrap();
    }
    // A job that was done needs no file.
    let ran = jobs.run(&["run", "--out", "out", "--resume", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(states(&ran), pairs(&[("b", "done"), ("c", "done")]));
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["left_out"], serde_json::json!(["a"]));
    assert!(ran.stderr.contains("not done, because their files can't be used: a;"), "{}", ran.stderr);
    let expected = pairs(&[("a", "interrupted"), ("b", "done"), ("c", "done")]);
    assert_eq!(jobs.watched("out"), ("interrupted".to_owned(), expected.clone()));
    // Nothing is left to run, and the run still is not done.
    let ran = jobs.run(&["run", "--out", "out", "--resume"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!ran.stdout.contains("every job is done"), "{}", ran.stdout);
    assert_eq!(jobs.watched("out").1, expected);
    fs::write(jobs.path().join("a.toml"), a).unwrap();
    jobs.done(&["run", "--out", "out", "--resume"]);
    assert_eq!(jobs.watched("out"), ("done".to_owned(), pairs(&[("a", "done"), ("b", "done"), ("c", "done")])));
}
