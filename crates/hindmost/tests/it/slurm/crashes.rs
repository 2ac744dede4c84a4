//! Crashes at bad moments: of the command before its allocations are watched over, and of an agent together with Slurm's process
//! that watches over its step.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::ends::{failed, gated, has_results, is_done, job, until_reported};
use super::lab::{Lab, cluster};
use crate::scene::{Live, Scene, program, signal, until};

const SLURM: [&str; 2] = ["--engine", "slurm"];

/// Starts a run whose keepers wait for this many seconds.
fn start(scene: &Scene, keepers: &str, args: &[&str]) -> Live {
    let mut command = crate::hindmost();
    command.env("HINDMOST_SLURM_KEEPER_SECONDS", keepers);
    Live::start_with(command, scene.folder.path(), "job.toml", "out", args)
}

/// Allocates nodes, so that requests for them wait. Returns the allocations.
fn block(lab: &Lab, nodes: &[&str]) -> Vec<String> {
    for node in nodes {
        lab.output("salloc", &["--no-shell", "--nodes=1", "--exclusive", "--nodelist", node]);
    }
    lab.allocations().into_iter().map(|(id, _)| id).collect()
}

/// Returns the ids of the requests that wait.
pub fn pending(lab: &Lab) -> Vec<String> {
    let text = lab.output("squeue", &["--noheader", "--states=PENDING", "-o", "%A"]);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Kills the processes with such command lines, and returns their number. Their parents, which are Slurm's, are killed first if
/// `with_parents` is true.
fn kill(is_it: impl Fn(&[String]) -> bool, with_parents: bool) -> usize {
    let numbers = fs::read_dir("/proc").unwrap();
    let numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let words = |number: &u32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
    };
    let found: Vec<u32> = numbers.filter(|number| is_it(&words(number))).collect();
    for number in &found {
        let parent = Command::new("ps").args(["-o", "ppid=", "-p", &number.to_string()]).output().unwrap();
        let parent = String::from_utf8(parent.stdout).unwrap().trim().parse().ok().filter(|_| with_parents);
        for killed in parent.into_iter().chain([*number]) {
            signal(killed, "KILL");
        }
    }
    found.len()
}

/// Kills the agent of task 0's first attempt, and Slurm's process that watches over the step.
fn kill_step_of_first(scene: &Scene) {
    let attempts = scene.out().join(".hindmost/attempts");
    let folder = attempts.display().to_string();
    let is_it = |words: &[String]| {
        let [_, command, what, path, ..] = words else { return false };
        let name = path.strip_prefix(&folder).unwrap_or_default();
        command == "slurm-step" && what == "attempt" && name.starts_with("/0-0.0")
    };
    assert_eq!(kill(is_it, true), 1);
}

#[test]
#[ignore = "needs Slurm"]
fn a_request_of_a_killed_run_is_withdrawn() {
    let cluster = cluster();
    let lab = &cluster.lab;
    for kills_requester in [false, true] {
        let scene = Scene::new(&job(2, "1"));
        let blockers = block(lab, &["n1", "n2"]);
        let live = start(&scene, "4", &["--engine", "slurm", "--nodes", "n1,n2"]);
        until("the requests wait", || pending(lab).len() == 2);
        live.kill();
        if kills_requester {
            let folder = scene.out().display().to_string();
            let is_it = |words: &[String]| {
                words.get(1..3).is_some_and(|words| words == ["slurm-step", "request"])
                    && words.iter().any(|word| word.starts_with(&folder))
            };
            // They may have ended by now.
            kill(is_it, false);
        } else {
            until("the requests are withdrawn", || pending(lab).is_empty());
        }
        let ids: Vec<&str> = blockers.iter().map(String::as_str).collect();
        lab.output("scancel", &ids);
        lab.until_clean();
        is_done(scene.run(&SLURM), &scene, lab, 2);
    }
}

#[test]
#[ignore = "needs Slurm"]
fn a_request_is_withdrawn_although_salloc_hangs() {
    let cluster = cluster();
    let lab = &cluster.lab;
    let folder = tempfile::tempdir().unwrap();
    // It does not end when it is sent a signal, as the one of Slurm 22.05 sometimes does not.
    let hangs = "#!/bin/sh\ntrap '' TERM\nPATH=${PATH#*:}\nsalloc --no-shell --nodes=1 --exclusive\nexec sleep 100\n";
    program(&folder.path().join("salloc"), hangs);
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = crate::hindmost();
    command.env("PATH", path).args(["slurm-step", "request"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    until("the allocation is granted", || lab.allocations().len() == 1);
    // As if the run had died.
    drop(child.stdin.take());
    until("the allocation is given back", || lab.allocations().is_empty());
    child.wait().unwrap();
    lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_that_is_killed_as_it_begins_leaves_nothing() {
    let cluster = cluster();
    for milliseconds in (20..400).step_by(40) {
        let scene = Scene::new(&job(6, "1"));
        let live = start(&scene, "3", &SLURM);
        std::thread::sleep(Duration::from_millis(milliseconds));
        live.kill();
        cluster.lab.until_clean();
        let has_begun = scene.out().join(".hindmost/job.json").exists();
        is_done(scene.run(if has_begun { &["--resume"] } else { &SLURM }), &scene, &cluster.lab, 6);
    }
}

#[test]
#[ignore = "needs Slurm"]
fn an_attempt_whose_step_was_killed_is_tried_again() {
    let cluster = cluster();
    let lab = &cluster.lab;
    // The first attempt of task 0 would write a wrong result if it went on.
    let late = "if [ $HINDMOST_TASK$HINDMOST_ATTEMPT = 00 ]; then echo late > $HINDMOST_OUTPUT/late; fi\necho";
    let scene = gated(6, "");
    fs::write(scene.path("job.toml"), scene.read("job.toml").replace("echo", late)).unwrap();
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    until_reported(&scene, lab, 6);
    kill_step_of_first(&scene);
    until("the attempt has failed", || scene.read("out/.hindmost/journal.jsonl").contains("attempt_failed"));
    scene.open();
    is_done(scene.end(child), &scene, lab, 6);
    assert_eq!(failed(&scene), 1);
    assert!(!scene.path("out/a/0/late").exists());
    scene.is_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_with_a_killed_step_can_be_stopped() {
    let cluster = cluster();
    let lab = &cluster.lab;
    let scene = gated(6, "");
    let child = scene.spawn(None, &SLURM);
    until_reported(&scene, lab, 6);
    kill_step_of_first(&scene);
    signal(child.id(), "TERM");
    scene.end(child).with(130);
    scene.is_clean();
    lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_killed_step_holds_no_allocation_of_a_killed_run() {
    let cluster = cluster();
    let scene = gated(6, "");
    let live = start(&scene, "4", &SLURM);
    until_reported(&scene, &cluster.lab, 6);
    kill_step_of_first(&scene);
    live.kill();
    scene.open();
    cluster.lab.until_clean();
    is_done(scene.run(&["--resume"]), &scene, &cluster.lab, 6);
}

#[test]
#[ignore = "needs Slurm"]
fn nothing_is_started_on_a_node_that_is_not_granted_yet() {
    let cluster = cluster();
    let lab = &cluster.lab;
    let scene = Scene::new(&job(12, "1").replace("tasks = 12", "tasks = 12\nretries = 0"));
    let blockers = block(lab, &["n4"]);
    scene.run(&["--engine", "slurm", "--nodes", "n[1-2],n4"]).with(0);
    has_results(&scene, 12);
    let timeline = crate::scene::timeline(&scene.out());
    let on_n4 = timeline.rows.iter().filter(|row| &*timeline.nodes[row.node.0 as usize].name == "n4").count();
    assert_eq!((timeline.nodes.len(), on_n4), (3, 0), "{:?}", timeline.rows);
    let ids: Vec<&str> = blockers.iter().map(String::as_str).collect();
    lab.output("scancel", &ids);
    lab.until_clean();
}
