//! Nodes that are lost and return, a controller that restarts, allocations that are cancelled, folders that are not shared.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hindmost_core::record::{Change, Event, Record};
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Cause};
use hindmost_run::live_view::LiveView;
use hindmost_testing::left_out;

use super::ends::{failed, gated, has_results, is_done, job, until_reported};
use super::lab::{Cluster, SOON, cluster, on_cluster, own_cluster, own_cluster_with};
use crate::scene::{Scene, has_ended, names, program, records, timeline, until, until_equal};

/// A cluster that notices soon that a node is silent.
fn watchful_cluster() -> Cluster {
    own_cluster_with(&[SOON])
}

#[test]
#[ignore = "needs Slurm"]
fn a_node_is_lost_and_returns() {
    let cluster = watchful_cluster();
    let scene = gated(40, "");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    until("attempts run on n4", || cluster.lab.attempts().iter().any(|(_, node)| node == "n4"));
    cluster.lab.kill_node("n4");
    until("the node is lost", || scene.read("stderr").contains("node n4 is lost"));
    cluster.lab.start_node("n4");
    until("the node has returned", || scene.read("stderr").contains("node n4 has returned"));
    scene.open();
    is_done(scene.end(child), &scene, &cluster.lab, 40);
    assert_eq!(timeline(&scene.out()).nodes[3].lost_and_returned.len(), 2);
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_survives_a_restart_of_the_controller() {
    let cluster = cluster();
    let scene = gated(40, "");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    until("attempts run", || cluster.lab.attempts().len() > 10);
    // If it is killed earlier, it forgets the allocations.
    cluster.lab.until_saved();
    cluster.lab.kill_controller();
    let attempts = scene.out().join(".hindmost/attempts");
    let mut running: Vec<PathBuf> = names(&attempts).iter().map(|name| attempts.join(name)).collect();
    running.retain(|folder| !has_ended(folder));
    scene.open();
    // Attempts end meanwhile. Some of the steps may wait for the controller before they begin.
    until("an attempt has ended", || running.iter().any(|folder| !folder.exists() || has_ended(folder)));
    cluster.lab.start_controller();
    is_done(scene.end(child), &scene, &cluster.lab, 40);
    assert_eq!(failed(&scene), 0);
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_survives_a_controller_that_forgets_its_allocations() {
    let cluster = own_cluster();
    let scene = gated(40, "");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    until("attempts run", || cluster.lab.attempts().len() > 10);
    cluster.lab.kill_forgetful_controller();
    cluster.lab.start_controller();
    until("nodes are lost", || scene.read("stderr").contains(" is lost"));
    scene.open();
    is_done(scene.end(child), &scene, &cluster.lab, 40);
    assert_eq!(failed(&scene), 0);
    assert!(timeline(&scene.out()).rows.iter().any(|row| row.outcome == AttemptEnd::NodeLost));
}

#[test]
#[ignore = "needs Slurm"]
fn attempts_are_not_to_blame_for_the_end_of_their_allocation() {
    let cluster = cluster();
    let scene = gated(12, "retries = 0");
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none"]);
    until("attempts run", || cluster.lab.attempts().len() == 12);
    let allocations = cluster.lab.allocations();
    let (id, _) = allocations.iter().find(|(_, node)| node == "n2").unwrap();
    cluster.lab.output("scancel", &[id]);
    until("the node is lost", || scene.read("stderr").contains("node n2 is lost"));
    scene.open();
    is_done(scene.end(child), &scene, &cluster.lab, 12);
    assert_eq!(failed(&scene), 0);
    assert!(timeline(&scene.out()).rows.iter().any(|row| row.outcome == AttemptEnd::NodeLost));
}

#[test]
#[ignore = "needs Slurm"]
fn a_folder_that_a_node_does_not_share_is_found_at_the_start() {
    let cluster = cluster();
    let scene = Scene::new(&job(4, "1"));
    let hidden = scene.path("hidden");
    fs::create_dir(&hidden).unwrap();
    cluster.lab.kill_node("n3");
    // Its `slurmd` sees another folder there.
    let configuration = cluster.lab.configuration();
    let script = r#"mount -t tmpfs none "$1" && PATH=$PATH:/usr/sbin exec slurmd -N n3 -f "$2""#;
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&hidden).arg(&configuration);
    on_cluster(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        left_out("mounting is not permitted");
        cluster.lab.start_node("n3");
        return;
    }
    cluster.lab.until_idle();
    let mut command = crate::hindmost();
    command.current_dir(&scene.folder).args(["run", "job.toml", "--engine", "slurm", "--out", "hidden/out"]);
    let ran = command.output().unwrap();
    cluster.lab.kill_node("n3");
    cluster.lab.start_node("n3");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("node n3 ") && stderr.contains("hidden/out") && stderr.contains("share"), "{stderr}");
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_killed_slurmd_with_its_steps_is_no_failure() {
    let cluster = watchful_cluster();
    let lab = &cluster.lab;
    // The `slurmd` is back at once, before Slurm notices anything, or after a while.
    for away in [Duration::ZERO, Duration::from_millis(1500), Duration::from_secs(12)] {
        let scene = gated(10, "retries = 0");
        let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none", "--nodes", "n1,n2"]);
        until_reported(&scene, lab, 8);
        lab.kill_node_with_steps("n1");
        scene.open();
        std::thread::sleep(away);
        lab.start_node("n1");
        is_done(scene.end(child), &scene, lab, 10);
        let rows = timeline(&scene.out()).rows;
        let is_lost = |end: &AttemptEnd| matches!(end, AttemptEnd::Failed(Cause::External(_)) | AttemptEnd::NodeLost);
        let lost = rows.iter().filter(|row| is_lost(&row.outcome)).count();
        assert_eq!((rows.len(), lost), (14, 4), "{away:?}: {rows:?}");
    }
}

/// Stands in for `srun`: the steps of attempts on n1 begin only once the file `held` is gone, as on a node that is slow to start steps.
const HOLDING: &str = r#"#!/bin/sh
case "$*" in
*--nodelist=n1\ *\ attempt\ *) while test -e "${0%/bin/srun}/held"; do sleep 0.02; done ;;
esac
PATH=${PATH#*:} exec srun "$@"
"#;

#[test]
#[ignore = "needs Slurm"]
fn attempts_whose_steps_wait_are_starting() {
    let cluster = cluster();
    let lab = &cluster.lab;
    // The first wave waits until steps on n1 do, the second on n2 until attempts have been placed on all slots of n1.
    let scene = gated(16, "retries = 0");
    let second = format!("until test -e {}; do sleep 0.1; done", scene.path("second").display());
    let job = scene.read("job.toml");
    let gates = format!("if test $HINDMOST_TASK -lt 8; then {}; else {second}; fi", scene.gate());
    fs::write(scene.path("job.toml"), job.replace(&scene.gate(), &gates)).unwrap();
    fs::create_dir(scene.path("bin")).unwrap();
    program(&scene.path("bin/srun"), HOLDING);
    let child = scene.spawn(Some(r#"PATH=$PWD/bin:$PATH exec "$@""#), &["--engine", "slurm", "--nodes", "n1,n2"]);
    let state = || {
        let mut view = LiveView::new(&scene.out());
        let state = view.refresh().map(|()| view.snapshot()).ok()?;
        Some((state.starting_attempts, state.running_attempts, state.finished, state.failed_attempts))
    };
    until_equal("starting, running, finished, failed", &Some((0, 8, 0, 0)), state);
    scene.touch("held");
    scene.open();
    until_equal("the second wave has begun", &Some((4, 4, 8, 0)), state);
    scene.touch("second");
    until_equal("all others are done", &Some((4, 0, 12, 0)), state);
    let begin = Instant::now();
    // The slots of n2 are free, but attempts that take three times as long as the others because they wait are not late.
    let rows = timeline(&scene.out()).rows;
    let finished: Vec<_> = rows.iter().filter(|row| row.outcome == AttemptEnd::Won).collect();
    let longest = finished.iter().map(|row| row.end.seconds() - row.start.seconds()).fold(0.0, f64::max);
    std::thread::sleep(Duration::from_secs_f64(3.0 * longest).saturating_sub(begin.elapsed()));
    assert_eq!(state(), Some((4, 0, 12, 0)), "{}", scene.read("stderr"));
    fs::remove_file(scene.path("held")).unwrap();
    scene.end(child).with(0);
    has_results(&scene, 16);
    // Once they have begun they may have copies as all others may, but their ages don't count from before: the longest of the
    // waits is three times as long as any attempt has run, and is recorded as what it is.
    let waits = |record: Record| match record.change {
        Change::Event(Event::AttemptRunning { waited, .. }) => waited.map(Time::seconds),
        _ => None,
    };
    let waits: Vec<f64> = records(&scene.out()).into_iter().filter_map(waits).collect();
    let long = waits.iter().filter(|waited| **waited >= 3.0 * longest).count();
    assert_eq!(long, 4, "longest {longest}: {waits:?}");
    lab.until_clean();
}
