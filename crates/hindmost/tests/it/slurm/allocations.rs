//! Allocations that end before the run does: cancelled, or at their time limit.

use std::fs;
use std::time::{Duration, Instant};

use hindmost_core::timeline::{AttemptEnd, Cause};

use super::ends::{gated, has_results, is_done, job, until_reported};
use super::lab::{Lab, cluster, own_cluster, own_cluster_with};
use crate::scene::{Live, Scene, timeline, until};

/// Options of runs that start no copies.
const SLURM: [&str; 4] = ["--engine", "slurm", "--policy", "none"];

/// A job whose tasks must not fail.
fn strict(tasks: u32, seconds: &str) -> String {
    job(tasks, seconds).replace(&format!("tasks = {tasks}"), &format!("tasks = {tasks}\nretries = 0"))
}

fn cancel_all(lab: &Lab) {
    let allocations = lab.allocations();
    let ids: Vec<&str> = allocations.iter().map(|(id, _)| id.as_str()).collect();
    lab.output("scancel", &ids);
}

#[test]
#[ignore = "needs Slurm"]
fn allocations_that_end_while_hindmost_is_away_are_no_failures() {
    let cluster = cluster();
    let lab = &cluster.lab;
    for waits in [true, false] {
        // The second task of each pair ends with another code when Slurm ends it, for which the first attempts wait.
        let command = "[ $((HINDMOST_TASK % 2)) = 0 ] || trap 'exit 1' TERM\n\
                       while [ $HINDMOST_ATTEMPT = 0 ]; do sleep 1 & wait $!; done\nsleep 60 &\n";
        let scene = Scene::new(&strict(18, "0.2").replace("sleep 60 &\n", command));
        let live = Live::start_with(crate::hindmost(), scene.folder.path(), "job.toml", "out", &SLURM);
        until_reported(&scene, lab, 18);
        live.kill();
        cancel_all(lab);
        if waits {
            lab.until_clean();
        }
        is_done(scene.run(&["--resume"]), &scene, lab, 18);
        let rows = timeline(&scene.out()).rows;
        let is_lost = |end: &AttemptEnd| matches!(end, AttemptEnd::Failed(Cause::External(_)) | AttemptEnd::NodeLost);
        let lost = rows.iter().filter(|row| is_lost(&row.outcome)).count();
        assert_eq!((rows.len(), lost), (36, 18), "{rows:?}");
    }
}

#[test]
#[ignore = "needs Slurm"]
fn a_command_that_a_signal_ends_while_away_has_failed() {
    let cluster = cluster();
    let lab = &cluster.lab;
    let scene = gated(4, "retries = 0");
    let text = scene.read("job.toml").replace("\necho", "\n[ $HINDMOST_TASK != 1 ] || kill -TERM $$\necho");
    fs::write(scene.path("job.toml"), text).unwrap();
    let live = Live::start_with(crate::hindmost(), scene.folder.path(), "job.toml", "out", &SLURM);
    until_reported(&scene, lab, 4);
    live.kill();
    scene.open();
    until("the attempts have ended", || lab.attempts().is_empty());
    // Its allocation ends only later.
    cancel_all(lab);
    let ended = scene.run(&["--resume"]).with(1);
    assert_eq!(ended.reason(), "exit code 143 (killed by signal 15)");
    lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_ends_with_the_allocation_in_which_it_takes_place() {
    let cluster = cluster();
    let lab = &cluster.lab;
    let scene = gated(6, "retries = 0");
    lab.output("salloc", &["--no-shell", "--nodes=2", "--nodelist=n1,n2", "--exclusive"]);
    let allocations = lab.allocations();
    let [(id, _)] = &allocations[..] else { panic!("{allocations:?}") };
    let mut command = crate::hindmost();
    command.env("SLURM_JOB_ID", id);
    let live = Live::start_with(command, scene.folder.path(), "job.toml", "out", &SLURM);
    until_reported(&scene, lab, 6);
    lab.output("scancel", &[id]);
    let ended = live.end().with(130);
    let why = format!("none can return: allocation {id}, in which this run takes place, is ");
    assert!(ended.stderr.contains(&why) && ended.stderr.contains("--resume` continues the run"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("waits until one returns"), "{}", ended.stderr);
    scene.is_clean();
    lab.until_clean();
    scene.open();
    is_done(scene.run(&["--resume"]), &scene, lab, 6);
}

#[test]
#[ignore = "needs Slurm"]
fn a_finished_run_is_resumed_without_slurm() {
    let cluster = own_cluster();
    let lab = &cluster.lab;
    let scene = Scene::new(&strict(4, "0.2"));
    scene.run(&SLURM).with(0);
    let again = scene.run(&["--resume"]).with(0);
    assert_eq!(again.stderr, "the run is already done: every task has its result, so nothing is left to run\n");
    lab.until_clean();
    lab.until_saved();
    lab.end_controller();
    let begin = Instant::now();
    let again = scene.run(&["--resume"]).with(0);
    let took = begin.elapsed();
    lab.start_controller();
    assert!(took < Duration::from_secs(30), "{took:?}");
    let [unknown, done] = &again.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", again.stderr) };
    assert!(unknown.starts_with("Slurm does not answer (") && unknown.contains("`squeue --me`"), "{unknown}");
    assert!(done.starts_with("the run is already done"), "{done}");
    has_results(&scene, 4);
}

#[test]
#[ignore = "needs Slurm"]
fn nodes_that_slurm_refuses_are_named_once() {
    let cluster = cluster();
    let scene = Scene::new(&strict(4, "0.5"));
    // Only n1 has this feature.
    let args = ["--engine", "slurm", "--policy", "none", "--nodes", "n1,n3", "--slurm-args=--constraint=ssd"];
    let ended = scene.run(&args).with(0);
    let of_n3: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("n3")).collect();
    assert!(of_n3.len() == 1 && of_n3[0].ends_with("the run uses the other nodes"), "{}", ended.stderr);
    has_results(&scene, 4);
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn nodes_are_chosen_with_the_option_for_them() {
    let _cluster = cluster();
    let scene = Scene::new(&strict(4, "0.2"));
    for (args, why) in [
        (&["--slurm-args=-N4"][..], "use --nodes N or --nodes LIST"),
        (&["--slurm-args", "--partition=main -w n1"], "use --nodes N or --nodes LIST"),
        (&["--slurm-args=--usage"], "run salloc itself"),
        (&["--nodes", ""], "names no node"),
        (&["--nodes", "n1:2,n2:2"], "nodes have only names"),
        (&["--nodes", "n1,n9,n10"], "--nodes: Slurm has no node n9, n10; `sinfo --Node` shows the nodes"),
    ] {
        let ended = scene.run(&[&["--engine", "slurm"], args].concat()).with(2);
        assert!(ended.stderr.contains(why) && ended.stderr.lines().count() == 1, "{args:?}: {}", ended.stderr);
        assert!(!scene.out().exists(), "{args:?}");
    }
    let mut command = crate::hindmost();
    let ran = command.args(["map", "--nodes", "2", "echo", ":::", "a"]).output().unwrap();
    assert!(String::from_utf8_lossy(&ran.stderr).contains("add --engine slurm"), "{ran:?}");
}

#[test]
#[ignore = "needs Slurm"]
fn the_time_limit_of_an_allocation_is_named() {
    let cluster = cluster();
    let lab = &cluster.lab;
    let gate = "[ $HINDMOST_ATTEMPT != 0 ] || sleep 100\nsleep 60 &\n";
    let scene = Scene::new(&strict(2, "0.2").replace("sleep 60 &\n", gate));
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none", "--nodes", "n1"]);
    until("attempts run", || lab.attempts().len() == 2);
    let allocations = lab.allocations();
    let [(id, _)] = &allocations[..] else { panic!("{allocations:?}") };
    // Slurm enforces limits every half minute.
    lab.output("scontrol", &["update", &format!("jobid={id}"), "EndTime=now+1"]);
    let ended = scene.end(child).with(0);
    let why = format!("node n1 is lost: its allocation {id} reached its time limit");
    assert!(ended.stderr.contains(&why), "{}", ended.stderr);
    has_results(&scene, 2);
    lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_warns_once_of_an_inactive_limit() {
    let cluster = own_cluster_with(&[("INACTIVE_LIMIT", "600")]);
    let scene = Scene::new(&job(4, "1"));
    let ended = scene.run(&["--engine", "slurm", "--nodes", "n1,n2"]).with(0);
    assert_eq!(ended.stderr.matches("Slurm's InactiveLimit is 600 s here").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("sbatch --nodes=N"), "{}", ended.stderr);
    cluster.lab.until_clean();
    // It does not apply to a batch job, nor is it needed if nothing runs.
    let again = scene.run(&["--resume"]).with(0);
    assert!(!again.stderr.contains("InactiveLimit"), "{}", again.stderr);
    cluster.lab.until_clean();
}
