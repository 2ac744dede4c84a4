//! How attempts and runs end: copies that win, Ctrl-C, crashes, steps that are cancelled.

use std::fs;
use std::process::Child;

use hindmost_core::timeline::AttemptEnd;

use hindmost_run::live_view::LiveView;

use super::lab::{Cluster, Lab, cluster};
use crate::scene::{Ended, Live, Scene, names, resumed, signal, timeline, until};

const SLURM: [&str; 2] = ["--engine", "slurm"];

/// A job of tasks that take some seconds. Their processes leave others running.
pub fn job(tasks: u32, seconds: &str) -> String {
    format!(
        r#"
name = "seconds"
[[phase]]
name = "a"
tasks = {tasks}
command = '''
sleep 60 &
sleep {seconds}
echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/number"
'''
"#
    )
}

/// A scene with such a job, whose tasks run until it is opened. `settings` are lines of its phase.
pub fn gated(tasks: u32, settings: &str) -> Scene {
    let scene = Scene::new("");
    let text = job(tasks, "0.1").replace("\nsleep 0.1\n", &format!("\n{}\n", scene.gate()));
    let text = text.replace("\ncommand =", &format!("\n{settings}\ncommand ="));
    fs::write(scene.path("job.toml"), text).unwrap();
    scene
}

/// Checks the results of such a job.
pub fn has_results(scene: &Scene, tasks: u32) {
    for task in 0..tasks {
        assert_eq!(scene.read(&format!("out/a/{task}/number")), format!("{task}\n"));
    }
    assert!(names(&scene.out().join(".hindmost/attempts")).is_empty());
    scene.is_verified();
}

/// Checks that the run of such a job is done, with its results, and leaves nothing in Slurm.
pub fn is_done(ended: Ended, scene: &Scene, lab: &Lab, tasks: u32) {
    ended.with(0);
    has_results(scene, tasks);
    lab.until_clean();
}

/// Waits until so many attempts run and their agents have reported, which the run's journal says.
pub fn until_reported(scene: &Scene, lab: &Lab, attempts: usize) {
    let running = || {
        let mut view = LiveView::new(&scene.out());
        view.refresh().map(|()| view.snapshot().running_attempts).ok()
    };
    until("agents have reported", || running() == Some(attempts as u64) && lab.attempts().len() == attempts);
}

/// Kills a run once so many attempts run and their agents have reported.
fn kill_once_running(mut run: Child, scene: &Scene, cluster: &Cluster, attempts: usize) {
    until_reported(scene, &cluster.lab, attempts);
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Returns how many attempts failed.
pub fn failed(scene: &Scene) -> usize {
    let rows = timeline(&scene.out()).rows;
    rows.iter().filter(|row| matches!(row.outcome, AttemptEnd::Failed(_))).count()
}

#[test]
#[ignore = "needs Slurm"]
fn a_copy_overtakes_a_straggler_and_nothing_of_the_straggler_is_left() {
    let cluster = cluster();
    // Many short steps, because a single `sleep` goes on while its process is stopped. Without copies, the tasks on n3 take 30 s.
    let scene = Scene::new(&job(18, &["0.1"; 15].join("\nsleep ")));
    is_done(scene.run(&["--engine", "slurm", "--chaos", "slow=n3:20"]), &scene, &cluster.lab, 18);
    let timeline = timeline(&scene.out());
    let won = timeline.rows.iter().filter(|row| row.attempt.copy > 0 && row.outcome == AttemptEnd::Won).count();
    assert!(won >= 2, "{:?}", timeline.rows);
}

#[test]
#[ignore = "needs Slurm"]
fn ctrl_c_gives_the_allocations_back_and_resume_continues() {
    let cluster = cluster();
    let scene = gated(20, "");
    let child = scene.spawn(None, &SLURM);
    until("attempts run", || cluster.lab.attempts().len() > 5);
    signal(child.id(), "INT");
    scene.end(child).with(130);
    assert!(names(&scene.out().join(".hindmost/attempts")).is_empty());
    cluster.lab.until_clean();
    scene.open();
    is_done(scene.run(&["--resume"]), &scene, &cluster.lab, 20);
}

#[test]
#[ignore = "needs Slurm"]
fn a_resumed_run_takes_over_the_attempts_and_allocations_of_a_killed_one() {
    let cluster = cluster();
    let scene = gated(8, "");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    kill_once_running(child, &scene, &cluster, 8);
    let before = cluster.lab.allocations();
    assert_eq!(before.len(), 4);
    let child = resumed(&scene.out(), || scene.spawn(None, &["--resume"]));
    assert_eq!(cluster.lab.allocations(), before);
    scene.open();
    is_done(scene.end(child), &scene, &cluster.lab, 8);
    let timeline = timeline(&scene.out());
    assert_eq!(timeline.rows.len(), 8, "each attempt was taken over: {:?}", timeline.rows);
}

#[test]
#[ignore = "needs Slurm"]
fn a_resume_that_is_refused_leaves_everything_as_it_is() {
    let cluster = cluster();
    let scene = gated(8, "");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    kill_once_running(child, &scene, &cluster, 8);
    let (attempts, allocations) = (cluster.lab.attempts(), cluster.lab.allocations());
    for refused in
        [&["--policy", "late"][..], &["--nodes", "n1,n2"], &["--knowledge", "age"], &["--node-speed", "fast=2"]]
    {
        let ended = scene.run(&[&["--resume"], refused].concat());
        assert_eq!(ended.code, Some(2), "{refused:?}: {}", ended.stderr);
        assert_eq!((cluster.lab.attempts(), cluster.lab.allocations()), (attempts.clone(), allocations.clone()));
    }
    scene.open();
    is_done(scene.run(&["--resume"]), &scene, &cluster.lab, 8);
    let timeline = timeline(&scene.out());
    assert_eq!(timeline.rows.len(), 8, "each attempt was taken over: {:?}", timeline.rows);
}

#[test]
#[ignore = "needs Slurm"]
fn tasks_of_several_jobs_that_may_not_run_twice_go_on() {
    let cluster = cluster();
    let scene = Scene::new("");
    for name in ["a", "b"] {
        let starts = scene.path(&format!("starts-{name}"));
        let text = format!(
            "name = \"{name}\"\n[[phase]]\nname = \"p\"\ntasks = 2\nidempotent = false\n\
             command = \"echo x >> {}; {}\"\n",
            starts.display(),
            scene.gate()
        );
        fs::write(scene.path(&format!("{name}.toml")), text).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = crate::hindmost();
        command.current_dir(scene.folder.path()).arg("run").args(args);
        command
    };
    let child = run(&["a.toml", "b.toml", "--engine", "slurm", "--out", "out"]).spawn().unwrap();
    kill_once_running(child, &scene, &cluster, 4);
    let refused = run(&["--out", "out", "--resume"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("is still running and may not be stopped"), "{said}");
    assert_eq!(cluster.lab.attempts().len(), 4, "they go on");
    scene.open();
    until("they have ended", || cluster.lab.attempts().is_empty());
    let resumed = run(&["--out", "out", "--resume"]).output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    for name in ["a", "b"] {
        assert_eq!(scene.read(&format!("starts-{name}")), "x\nx\n", "each task started once");
    }
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn the_allocations_of_a_killed_run_that_nobody_resumes_are_given_back() {
    let cluster = cluster();
    let scene = gated(6, "");
    let mut command = crate::hindmost();
    command.env("HINDMOST_SLURM_KEEPER_SECONDS", "4");
    let live = Live::start_with(command, scene.folder.path(), "job.toml", "out", &SLURM);
    until_reported(&scene, &cluster.lab, 6);
    live.kill();
    scene.open();
    cluster.lab.until_clean();
    is_done(scene.run(&["--resume"]), &scene, &cluster.lab, 6);
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_whose_folder_is_removed_leaves_nothing() {
    let cluster = cluster();
    let scene = gated(6, "");
    let mut command = crate::hindmost();
    command.env("HINDMOST_SLURM_KEEPER_SECONDS", "600");
    let live = Live::start_with(command, scene.folder.path(), "job.toml", "out", &SLURM);
    until_reported(&scene, &cluster.lab, 6);
    live.kill();
    // Attempts still write into it.
    until("the folder is gone", || fs::remove_dir_all(scene.out()).is_ok() || !scene.out().exists());
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_cancelled_step_is_a_failure_and_runs_again() {
    let cluster = cluster();
    let scene = gated(6, "");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    until_reported(&scene, &cluster.lab, 6);
    let steps = cluster.lab.attempts();
    cluster.lab.output("scancel", &[&steps[0].0]);
    cluster.lab.output("scancel", &["--signal=KILL", &steps[1].0]);
    until("the steps have ended", || !cluster.lab.attempts().iter().any(|step| steps[..2].contains(step)));
    scene.open();
    is_done(scene.end(child), &scene, &cluster.lab, 6);
    assert_eq!(failed(&scene), 2);
}
