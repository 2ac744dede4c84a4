//! Tests of `hindmost run` with several jobs, and of `hindmost submit`.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::scene::{ended, leftovers, run_id, signal, until, until_recorded};
use crate::schemas::conforms;
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
fn several_jobs_share_the_nodes_and_each_has_a_folder() {
    let jobs = Jobs::new(&[("a.toml", counting("a", 6, "0.05")), ("b.toml", counting("b", 4, "0.05"))]);
    let ran = jobs.done(&["run", "a.toml", "b.toml", "--nodes", "n1:2,n2:2", "--policy", "fair+pace"]);
    assert!(ran.stdout.contains("hindmost.out/JOB"), "{}", ran.stdout);
    assert_eq!((jobs.count("hindmost.out", "a"), jobs.count("hindmost.out", "b")), ("6".to_owned(), "4".to_owned()));
    for file in ["report.html", "results.tsv", ".hindmost/summary.json"] {
        assert!(jobs.path().join("hindmost.out/b").join(file).is_file(), "{file}");
    }
    jobs.done(&["verify", "hindmost.out"]);
    jobs.done(&["replay", "hindmost.out", "--policy", "none"]);
    let explained = jobs.done(&["explain", "hindmost.out", "b/map/3"]);
    assert!(explained.stdout.contains("b/map/3 of b"), "{}", explained.stdout);
    let wrong = jobs.run(&["explain", "hindmost.out", "map/3"]);
    assert!(wrong.stderr.contains("JOB/PHASE/NUMBER"), "{}", wrong.stderr);
    let wrong = jobs.run(&["explain", "hindmost.out", "c/map/3"]);
    assert!(wrong.stderr.contains("the jobs are a, b"), "{}", wrong.stderr);
    let alone = jobs.run(&["explain", "hindmost.out/a", "map/3"]);
    assert!(alone.stderr.contains("the folder that holds the folders of all"), "{}", alone.stderr);
    // Everything is there: nothing runs again.
    let again = jobs.done(&["run", "--resume", "--json", "--out", "hindmost.out"]);
    assert_eq!(states(&again), pairs(&[("a", "done"), ("b", "done")]));
    let explained = jobs.done(&["explain", "hindmost.out", "b/map/3"]);
    assert!(explained.stdout.contains("b/map/3 of b"), "the journal stays: {}", explained.stdout);
    let watched = jobs.done(&["watch", "hindmost.out", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&watched.stdout).unwrap()["state"], "done");
}

#[test]
fn a_failed_job_does_not_end_the_others_and_continues_on_resume() {
    let broken = "name = \"c\"\n[[phase]]\nname = \"p\"\ntasks = 2\nkeep_going = true\nretries = 0\n\
        command = \"test $HINDMOST_TASK = 0 || test -e fixed; echo ran >> ran\"\n";
    let jobs = Jobs::new(&[("a.toml", counting("a", 4, "0.1")), ("c.toml", broken.to_owned())]);
    let ran = jobs.run(&["run", "c.toml", "a.toml", "--nodes", "n1:2", "--json", "--out", "out"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(states(&ran), pairs(&[("a", "done"), ("c", "failed")]));
    assert!(ran.stderr.contains("job c failed: p/1"), "{}", ran.stderr);
    fs::write(jobs.path().join("fixed"), "").unwrap();
    let ran = jobs.done(&["run", "--resume", "--out", "out", "--json"]);
    assert_eq!(states(&ran), pairs(&[("a", "done"), ("c", "done")]));
    // Task 0 has not run again.
    assert_eq!(jobs.read("ran"), "ran\nran\n");
}

#[test]
fn jobs_that_do_not_fit_together_are_refused_before_anything_is_written() {
    let other = counting("b", 1, "0");
    let jobs = Jobs::new(&[
        ("a.toml", format!("policy = \"late\"\nnodes = \"n1:2\"\n{}", counting("a", 1, "0"))),
        ("b.toml", format!("policy = \"none\"\n{other}")),
        ("c.toml", format!("nodes = \"n1:3\"\n{other}")),
        ("d.toml", counting("a", 1, "0")),
        ("large.toml", "[[phase]]\nname = \"p\"\ntasks = 1\ncpus = 9\ncommand = \"true\"\n".to_owned()),
    ]);
    let refused = |args: &[&str], why: &str| {
        let ran = jobs.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    };
    refused(&["run", "a.toml", "b.toml"], "choose it with --policy");
    refused(&["run", "a.toml", "c.toml"], "choose them with --nodes");
    refused(&["run", "a.toml", "d.toml"], "both have the name \"a\"");
    refused(&["run", "a.toml", "large.toml"], "job \"large\"");
    refused(&["run", "a.toml", "b.toml", "--redo", "map"], "--redo is about one job");
    refused(&["run", "--resume"], "hindmost.out holds no run of several jobs");
    refused(&["submit", "a.toml", "--to", "socket"], "no run accepts jobs on socket");
    assert!(!jobs.path().join("hindmost.out").exists());
    let checked = jobs.done(&["run", "a.toml", "b.toml", "--policy", "srpt+pace", "--check"]);
    assert!(checked.stdout.contains("would run together with policy srpt+pace"), "{}", checked.stdout);
}

#[test]
fn submitted_jobs_run_beside_others() {
    let broken = "[[phase]]\nname = \"p\"\ntasks = 1\nretries = 0\ncommand = \"test -e fixed\"\n";
    let jobs = Jobs::new(&[
        ("a.toml", counting("a", 6, "0.1")),
        ("b.toml", counting("b", 2, "0.05")),
        ("c.toml", broken.to_owned()),
    ]);
    let run = jobs.listen(&["a.toml", "--nodes", "n1:2", "--policy", "srpt+pace"]);
    let taken = jobs.run(&["submit", "a.toml", "--to", "socket"]);
    assert!(taken.stderr.contains("--name"), "{}", taken.stderr);
    let waited = jobs.done(&["submit", "b.toml", "--to", "socket", "--wait", "--json"]);
    let json: Value = serde_json::from_str(&waited.stdout).unwrap();
    conforms("submit", &json);
    assert_eq!((json["job"].as_str(), json["summary"]["state"].as_str()), (Some("b"), Some("done")));
    // A job that is done can't be continued, and the run goes on.
    let done = jobs.run(&["submit", "b.toml", "--to", "socket", "--wait", "--resume"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("job \"b\" is already done"), "{}", done.stderr);
    let failed = jobs.run(&["submit", "c.toml", "--to", "socket", "--wait"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("job c failed"), "{}", failed.stderr);
    fs::write(jobs.path().join("fixed"), "").unwrap();
    let again = jobs.run(&["submit", "c.toml", "--to", "socket", "--wait"]);
    assert!(again.stderr.contains("continue it with --resume"), "{}", again.stderr);
    jobs.done(&["submit", "c.toml", "--to", "socket", "--wait", "--resume"]);
    jobs.done(&["submit", "b.toml", "--to", "socket", "--name", "d"]);
    let closed = jobs.done(&["submit", "--close", "--to", "socket", "--json"]);
    conforms("submit-close", &serde_json::from_str(&closed.stdout).unwrap());
    let ran = run.end();
    // The last end of job c counts, and the job is there once.
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        jobs.watched("out"),
        ("done".to_owned(), pairs(&[("a", "done"), ("b", "done"), ("c", "done"), ("d", "done")]))
    );
    let json = jobs.snapshot("out");
    assert_eq!((json["tasks"].as_u64(), json["finished"].as_u64()), (Some(7 + 3 + 1 + 3), Some(7 + 3 + 1 + 3)));
    // The failure belongs to the job as it is listed.
    let failed = json["failures"][0]["job"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap();
    assert_eq!(json["jobs"][failed]["name"], "c");
    assert_eq!((jobs.count("out", "a"), jobs.count("out", "d")), ("6".to_owned(), "2".to_owned()));
    jobs.done(&["verify", "out"]);
    jobs.is_clean();
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

#[test]
fn jobs_that_were_done_before_a_resume_stay_visible() {
    let jobs = Jobs::new(&[("a.toml", counting("a", 3, "0")), ("b.toml", counting("b", 4, "0"))]);
    jobs.done(&["run", "a.toml", "b.toml", "--nodes", "n1:2", "--out", "out"]);
    fs::remove_dir_all(jobs.path().join("out/a/map/2")).unwrap();
    jobs.done(&["run", "--out", "out", "--resume"]);
    assert_eq!(jobs.watched("out"), ("done".to_owned(), pairs(&[("a", "done"), ("b", "done")])));
    let (tasks, finished) = (jobs.snapshot("out")["tasks"].as_u64(), jobs.snapshot("out")["finished"].as_u64());
    assert_eq!((tasks, finished), (Some(9), Some(9)));
    for task in ["a/map/2", "map/2", "b/map/3"] {
        let explained = jobs.done(&["explain", "out", task]);
        assert!(explained.stdout.contains("attempt 0 started on n1"), "{task}: {}", explained.stdout);
    }
    let kept = jobs.done(&["explain", "out", "a/map/1"]);
    assert!(kept.stdout.contains("journal-1.jsonl a/map/1"), "{}", kept.stdout);
    let part = jobs.run(&["watch", "out/b"]);
    assert_eq!(part.code, Some(2), "{}", part.stdout);
    assert!(part.stderr.contains("job \"b\" of the run in"), "{}", part.stderr);
}

#[test]
fn advice_about_a_changed_command_can_be_followed() {
    let broken = "name = \"c\"\n[[phase]]\nname = \"p\"\ntasks = 2\nkeep_going = true\nretries = 0\n\
        command = \"test $HINDMOST_TASK = 0\"\n";
    let jobs = Jobs::new(&[("c.toml", broken.to_owned())]);
    let run = jobs.listen(&["--nodes", "n1:2"]);
    assert_eq!(jobs.run(&["submit", "c.toml", "--to", "socket", "--wait"]).code, Some(1));
    let failed = jobs.done(&["watch", "out"]);
    assert!(failed.stdout.contains("tasks, failed"), "{}", failed.stdout);
    fs::write(jobs.path().join("c.toml"), broken.replace("test $HINDMOST_TASK = 0", "true")).unwrap();
    let refused = jobs.run(&["submit", "c.toml", "--to", "socket", "--resume"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("--redo p` runs the phase again") && refused.stderr.contains("--name"),
        "{}",
        refused.stderr
    );
    jobs.done(&["submit", "--close", "--to", "socket"]);
    assert_eq!(run.end().code, Some(1));
    let refused = jobs.run(&["run", "--out", "out", "--resume"]);
    assert!(refused.stderr.contains("--out out/c --redo p`"), "{}", refused.stderr);
    jobs.done(&["run", "c.toml", "--out", "out/c", "--redo", "p"]);
    let again = jobs.done(&["run", "--out", "out", "--resume", "--json"]);
    assert_eq!(states(&again), pairs(&[("c", "done")]));
}

#[test]
fn a_run_that_got_no_job_is_done() {
    let jobs = Jobs::new(&[("a.toml", counting("a", 1, "0"))]);
    let run = jobs.listen(&[]);
    jobs.done(&["submit", "--close", "--to", "socket"]);
    assert_eq!(run.end().code, Some(0));
    assert_eq!(jobs.watched("out"), ("done".to_owned(), Vec::new()));
    let resumed = jobs.run(&["run", "--out", "out", "--resume"]);
    assert_eq!(resumed.code, Some(2), "{}", resumed.stdout);
    assert!(resumed.stderr.contains("has no job: name job files"), "{}", resumed.stderr);
    let taken = jobs.run(&["run", "a.toml", "--listen", "other", "--out", "out"]);
    assert!(taken.stderr.contains("holds a run of several jobs"), "{}", taken.stderr);
    // What can't be used is found before a folder is made.
    for options in [["--listen", "missing/socket"], ["--serve", "0.0.0.0:80"]] {
        let refused = jobs.run(&["run", "a.toml", "--out", "new", options[0], options[1]]);
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
        assert!(!jobs.path().join("new").exists());
    }
    let checked = jobs.run(&["run", "a.toml", "--check", "--serve", "0.0.0.0:80"]);
    assert_eq!(checked.code, Some(2), "{}", checked.stdout);
    fs::write(jobs.path().join("out/.hindmost/journal.jsonl"), "garbage\n").unwrap();
    let damaged = jobs.run(&["watch", "out"]);
    assert_eq!(damaged.code, Some(2), "{}", damaged.stdout);
    assert!(damaged.stderr.contains("not a journal"), "{}", damaged.stderr);
}
