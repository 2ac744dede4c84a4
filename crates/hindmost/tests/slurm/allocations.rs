//! Allocations that end before the run does: cancelled, or at their time limit.

use std::time::Duration;

use hindmost_core::timeline::{AttemptEnd, Cause};

use crate::ends::{has_results, job};
use crate::lab::{Lab, cluster};
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
fn allocations_that_end_while_hindmost_is_away_are_no_failures() {
    let Some(cluster) = cluster("allocations_that_end_while_hindmost_is_away_are_no_failures") else { return };
    let lab = &cluster.lab;
    for waits in [true, false] {
        // The second task of each pair ends with another code when Slurm ends it.
        let command = "[ $((HINDMOST_TASK % 2)) = 0 ] || trap 'exit 1' TERM\nsleep 60 &\n";
        let scene = Scene::new(&strict(18, "4").replace("sleep 60 &\n", command).replace("sleep 4", "sleep 4 & wait $!"));
        let live = Live::start_with(crate::hindmost(), scene.folder.path(), "job.toml", "out", &SLURM);
        until("attempts run", || lab.attempts().len() == 18);
        // Each agent has reported.
        std::thread::sleep(Duration::from_millis(1500));
        live.kill();
        cancel_all(lab);
        if waits {
            until("the attempts have ended", || lab.attempts().is_empty());
            std::thread::sleep(Duration::from_secs(1));
        }
        scene.run(&["--resume"]).with(0);
        has_results(&scene, 18);
        let rows = timeline(&scene.out()).rows;
        let is_lost = |end: &AttemptEnd| matches!(end, AttemptEnd::Failed(Cause::External(_)) | AttemptEnd::NodeLost);
        let lost = rows.iter().filter(|row| is_lost(&row.outcome)).count();
        assert_eq!((rows.len(), lost), (36, 18), "{rows:?}");
        lab.until_clean();
    }
}

#[test]
fn a_command_that_a_signal_ends_while_hindmost_is_away_has_failed() {
    let Some(cluster) = cluster("a_command_that_a_signal_ends_while_hindmost_is_away_has_failed") else { return };
    let lab = &cluster.lab;
    let scene = Scene::new(&strict(4, "2").replace("sleep 2", "sleep 3; [ $HINDMOST_TASK != 1 ] || kill -TERM $$"));
    let live = Live::start_with(crate::hindmost(), scene.folder.path(), "job.toml", "out", &SLURM);
    until("attempts run", || lab.attempts().len() == 4);
    std::thread::sleep(Duration::from_secs(1));
    live.kill();
    until("the attempts have ended", || lab.attempts().is_empty());
    // Its allocation ends only later.
    cancel_all(lab);
    let ended = scene.run(&["--resume"]).with(1);
    assert_eq!(ended.reason(), "exit code 143 (killed by signal 15)");
    lab.until_clean();
}
