//! How runs are stopped: what Ctrl-C and `SIGTERM` do, and what hangs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::run::Job;
use crate::scene::until;
use crate::{Ran, hindmost, run_in};

fn map(job: &Job, args: &[&str]) -> Ran {
    run_in(job.path(), &[&["map", "-j", "4"], args].concat())
}

/// Starts `hindmost` with these arguments in a job's folder; its messages go to the file `said`.
fn start(job: &Job, args: &[&str]) -> Child {
    let said = fs::File::create(job.path().join("said")).unwrap();
    hindmost().current_dir(job.path()).args(args).stdout(Stdio::null()).stderr(said).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// A job with a task that may not run twice, and with one that may. Both wait for the file `go`.
const BOTH: &str = "[[phase]]\nname = 'once'\ntasks = 1\nidempotent = false\n\
    command = 'touch once; until test -e go; do sleep 0.05; done'\n\
    [[phase]]\nname = 'again'\ntasks = 1\ncommand = \"trap 'rm scratch; exit' TERM; touch scratch; sleep 600 & wait\"\n";

/// Starts the job, and waits until both tasks run.
fn started(job: &Job, args: &[&str]) -> Child {
    let child = start(job, &[&["run", "job.toml", "--out", "out", "--nodes", "n1:2"], args].concat());
    until("both tasks run", || job.has("once") && job.has("scratch"));
    child
}

/// Returns the number of results of phase `once`.
fn results(job: &Job) -> usize {
    if job.has("out/once") { job.names("out/once").len() } else { 0 }
}

#[test]
fn a_second_ctrl_c_stops_tasks_that_may_not_run_twice() {
    for (signals, results_of_once) in [(&["-INT"][..], 1), (&["-INT", "-INT"], 0), (&["-TERM"], 0), (&["-HUP"], 0)] {
        let job = Job::new(BOTH);
        let mut child = started(&job, &[]);
        signal(&child, signals[0]);
        until("the other task has cleaned up", || !job.has("scratch"));
        let said = if signals[0] == "-INT" {
            "the job stops: 1 running attempt is sent SIGTERM and killed after 5 s, 1 running attempt of tasks that may not run twice \
             finishes (a second Ctrl-C stops them too); a third Ctrl-C kills what is left"
        } else {
            "the job stops: 2 running attempts are sent SIGTERM and killed after 5 s; a third Ctrl-C kills what is left"
        };
        until("the run says so", || job.read("said").contains(said));
        match signals.get(1) {
            Some(second) => signal(&child, second),
            None => job.write("go", ""),
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signals:?}: {}", job.read("said"));
        assert_eq!(results(&job), results_of_once, "{signals:?}: {}", job.read("said"));
        assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
    }
}

#[test]
fn sigterm_may_count_as_one() {
    let job = Job::new(BOTH);
    let mut child = started(&job, &["--on-term", "once"]);
    signal(&child, "-TERM");
    until("the other task has cleaned up", || !job.has("scratch"));
    job.write("go", "");
    assert_eq!((child.wait().unwrap().code(), results(&job)), (Some(130), 1), "{}", job.read("said"));
}

#[test]
fn a_third_ctrl_c_kills_what_is_left() {
    let job = Job::new(
        "[[phase]]\nname = 'deaf'\ntasks = 1\nkill_after = '1h'\n\
        command = \"trap '' TERM; touch begun; sleep 600\"\n",
    );
    let mut child = start(&job, &["run", "job.toml", "--out", "out"]);
    until("the task runs", || job.has("begun"));
    signal(&child, "-INT");
    until("the run stops", || job.read("said").contains("killed after 3600 s"));
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", job.read("said"));
    // SIGQUIT does so at once.
    fs::remove_file(job.path().join("begun")).unwrap();
    let mut child = start(&job, &["run", "job.toml", "--out", "other"]);
    until("the task runs", || job.has("begun"));
    signal(&child, "-QUIT");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", job.read("said"));
}

#[test]
fn what_ended_while_hindmost_was_stopped_is_not_late() {
    let job = Job::new("");
    let command = "touch attempt-{}-$HINDMOST_ATTEMPT; \
        if [ {} -lt 7 ]; then sleep 1; else until test -e go; do sleep 0.05; done; fi; echo {} > {}.out";
    let mut child = start(&job, &["map", "-j2", command, ":::", "1", "2", "3", "4", "5", "6", "7", "8"]);
    until("the last tasks run", || job.has("attempt-7-0") && job.has("attempt-8-0"));
    signal(&child, "-STOP");
    job.write("go", "");
    until("they have ended", || job.has("7.out") && job.has("8.out"));
    // Longer than any of them may take before it seems to hang.
    std::thread::sleep(Duration::from_secs(5));
    signal(&child, "-CONT");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", job.read("said"));
    let attempts = job.names(".").iter().filter(|name| name.starts_with("attempt-")).count();
    assert_eq!(attempts, 8, "{}", job.read("said"));
}

#[test]
fn an_attempt_that_hangs_before_it_adds_starts_again() {
    let job = Job::new("");
    job.write("early", "if [ $1 = 5 ] && mkdir first 2> /dev/null; then exec sleep 600; fi; sleep 0.3; echo $1\n");
    job.write(
        "late",
        "sleep 0.3; echo $1; if [ $1 = 5 ]; then touch added; until test -e go; do sleep 0.1; done; fi; echo $1\n",
    );
    let values = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"];
    let ran = map(&job, &[&["sh early {} >> log", ":::"], &values[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("map/4 (5) is stopped and starts again"), "{}", ran.stderr);
    let lines = |name: &str| {
        let mut lines: Vec<u32> = job.read(name).lines().map(|line| line.parse().unwrap()).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines("log"), (1..=12).collect::<Vec<_>>(), "{}", ran.stderr);
    // One that has added a line would add it again.
    let args = [&["map", "-j4", "sh late {} >> other", ":::"], &values[..]].concat();
    let mut child = start(&job, &args);
    until("the run says so", || job.read("said").contains("map/4 (5) is waited for: it may have changed"));
    job.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", job.read("said"));
    assert_eq!(lines("other"), (1..=12).flat_map(|value| [value; 2]).collect::<Vec<_>>(), "{}", job.read("said"));
    // One that has added its line and closed the file, and has another one open to which it has added nothing.
    fs::remove_file(job.path().join("go")).unwrap();
    job.write("holds", "exec 3>> held; sleep 0.3; if [ $1 = 5 ]; then until test -e go; do sleep 0.1; done; fi\n");
    let args = [&["map", "-j4", "echo {} >> third; sh holds {}", ":::"], &values[..]].concat();
    let mut child = start(&job, &args);
    until("the run says so", || job.read("said").contains("map/4 (5) is waited for"));
    job.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", job.read("said"));
    assert_eq!(lines("third"), (1..=12).collect::<Vec<_>>(), "{}", job.read("said"));
}

#[test]
fn an_attempt_that_hangs_before_it_changes_a_file_starts_again() {
    let job = Job::new("");
    let values: Vec<String> = (1..=12).map(|value| value.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    for value in &values {
        job.write(&format!("{value}.in"), "a\n");
    }
    job.write("early", "if [ $1 = 5 ] && mkdir first 2> /dev/null; then exec sleep 600; fi; sleep 0.3\n");
    job.write("late", "sleep 0.3; if [ $1 = 5 ]; then touch waits; until test -e go; do sleep 0.1; done; fi\n");
    let ran = map(&job, &[&["sh early {} && sed -i s/^/x/ {}.in && gzip {}.in", ":::"], &values[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("map/4 (5) is stopped and starts again"), "{}", ran.stderr);
    for value in &values {
        let text =
            Command::new("gunzip").current_dir(job.path()).args(["-c", &format!("{value}.in.gz")]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&text.stdout), "xa\n", "{value}: {}", ran.stderr);
        job.write(&format!("{value}.in"), "a\n");
    }
    // One that has changed its file would change it again.
    let args = [&["map", "-j4", "sed -i s/^/x/ {}.in && sh late {}", ":::"], &values[..]].concat();
    let mut child = start(&job, &args);
    until("the run says so", || job.read("said").contains("map/4 (5) is waited for: it may have changed"));
    job.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", job.read("said"));
    assert!(values.iter().all(|value| job.read(&format!("{value}.in")) == "xa\n"), "{}", job.read("said"));
}

#[test]
fn a_map_does_not_write_beside_commands_of_a_killed_one() {
    let job = Job::new("");
    let command = "touch begun; until test -e go; do sleep 0.05; done; echo {} > {}.out";
    let map = |command: &str| {
        let mut map = hindmost();
        // Other tests have folders of killed maps, too.
        map.current_dir(job.path()).env("TMPDIR", job.path()).args(["map", command, ":::", "1"]);
        map
    };
    let mut child = map(command).stderr(Stdio::null()).spawn().unwrap();
    until("the task runs", || job.has("begun"));
    // Others can't read what the commands print.
    let folders = job.names(".").into_iter().filter(|name| name.starts_with("hindmost-"));
    let modes = folders.map(|name| fs::metadata(job.path().join(name)).unwrap().permissions().mode() & 0o777);
    assert_eq!(modes.collect::<Vec<_>>(), [0o700, 0o700]);
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = map(command).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(255), "{said}");
    assert!(said.contains("commands of a map that was killed still run in this folder"), "{said}");
    // What writes no file is no danger.
    assert_eq!(map("true").status().unwrap().code(), Some(0));
    job.write("go", "");
    until("the command has ended", || map(command).output().unwrap().status.code() == Some(0));
    assert_eq!(job.read("1.out"), "1\n");
}
