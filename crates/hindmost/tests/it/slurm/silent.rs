//! Nodes that do not answer while their attempts may go on: tasks that may not run twice wait.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use hindmost_run::live_view::LiveView;

use super::ends::until_reported;
use super::lab::{Cluster, Lab, own_cluster_with};
use crate::scene::{Scene, names, signal, until_within};

/// Time within which a silent node is lost: 15 s, and two checks that fail.
const LOST: Duration = Duration::from_mins(3);
const TASKS: u32 = 12;

/// Tasks that may not run twice, and others that may, which wait at the gate. Each writes down its starts.
fn scene() -> Scene {
    let scene = Scene::new("");
    let gate = scene.gate();
    let phase = |name: &str, tasks: u32, idempotent: bool| {
        format!(
            r#"
[[phase]]
name = "{name}"
tasks = {tasks}
cpus = 0.5
retries = 0
idempotent = {idempotent}
command = '''
echo "$HINDMOST_ATTEMPT" >> "starts-{name}-$HINDMOST_TASK"
{gate}
echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/number"
'''
"#
        )
    };
    let text = format!("name = \"silent\"\n{}{}", phase("once", TASKS, false), phase("free", 4, true));
    fs::write(scene.path("job.toml"), text).unwrap();
    scene
}

/// A cluster that does not notice for some minutes that a node is silent.
fn patient_cluster() -> Cluster {
    own_cluster_with(&[("SLURMD_TIMEOUT", "300"), ("MESSAGE_TIMEOUT", "3")])
}

/// Lets a stopped node continue.
struct Continues<'a>(&'a Lab);

impl Drop for Continues<'_> {
    fn drop(&mut self) {
        self.0.signal_node_with_steps("n2", "CONT");
    }
}

fn starts(scene: &Scene, phase: &str, tasks: u32) -> Vec<usize> {
    let count =
        |task| fs::read_to_string(scene.path(&format!("starts-{phase}-{task}"))).map_or(0, |text| text.lines().count());
    (0..tasks).map(count).collect()
}

/// Returns the numbers of tasks that are finished, and that wait.
fn state(scene: &Scene) -> Option<(u64, u64)> {
    let mut view = LiveView::new(&scene.out());
    view.refresh().map(|()| view.snapshot()).ok().map(|state| (state.finished, state.awaiting_tasks))
}

/// Starts a run, of which n2 becomes silent, and waits until only tasks are left that wait. Returns their number too.
fn run_until_tasks_wait<'a>(scene: &Scene, lab: &'a Lab) -> (Child, Continues<'a>, u64) {
    let child = scene.spawn(None, &["--engine", "slurm", "--policy", "none", "--nodes", "n1,n2"]);
    until_reported(scene, lab, 16);
    let continues = Continues(lab);
    lab.signal_node_with_steps("n2", "STOP");
    scene.open();
    until_within("the node is lost", LOST, || scene.read("stderr").contains("node n2 is lost"));
    until_within("only tasks that wait are left", LOST, || {
        state(scene).is_some_and(|(finished, waiting)| waiting > 0 && finished + waiting == u64::from(TASKS) + 4)
    });
    until_within("the user is notified", LOST, || {
        scene.read("stderr").contains("may not run twice (idempotent = false) and wait")
    });
    let (_, waiting) = state(scene).unwrap();
    assert!(waiting < u64::from(TASKS), "{waiting} wait");
    assert!(starts(scene, "free", 4).contains(&2), "other tasks of the node have run elsewhere");
    // Nothing begins for as long as another node would need.
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(starts(scene, "once", TASKS), [1; TASKS as usize], "{}", scene.read("stderr"));
    (child, continues, waiting)
}

fn has_results(scene: &Scene, waited: u64) {
    for (phase, tasks) in [("once", TASKS), ("free", 4)] {
        for task in 0..tasks {
            assert_eq!(scene.read(&format!("out/{phase}/{task}/number")), format!("{task}\n"));
        }
    }
    let twice = starts(scene, "once", TASKS).into_iter().filter(|starts| *starts == 2).count() as u64;
    assert_eq!(twice, waited, "{}", scene.read("stderr"));
    assert!(names(&scene.out().join(".hindmost/attempts")).is_empty());
    scene.is_verified();
}

#[test]
#[ignore = "needs Slurm"]
fn tasks_wait_until_slurm_says_that_their_node_is_down() {
    let cluster = patient_cluster();
    let scene = scene();
    let (child, continues, waiting) = run_until_tasks_wait(&scene, &cluster.lab);
    let mut watch = crate::hindmost();
    let watched = watch.arg("watch").arg(scene.out()).arg("--once").output().unwrap();
    let watched = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert!(watched.contains("for the ends of attempts on lost nodes"), "{watched}");
    cluster.lab.output("scontrol", &["update", "nodename=n2", "state=down", "reason=test"]);
    scene.end(child).with(0);
    has_results(&scene, waiting);
    drop(continues);
    cluster.lab.output("scontrol", &["update", "nodename=n2", "state=resume"]);
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn resumed_runs_wait_for_attempts_on_silent_nodes() {
    let cluster = patient_cluster();
    let scene = scene();
    let (mut child, continues, waiting) = run_until_tasks_wait(&scene, &cluster.lab);
    // Killed, and interrupted by the user.
    for kill in [true, false] {
        signal(child.id(), if kill { "KILL" } else { "INT" });
        let begin = Instant::now();
        let ended = scene.end(child);
        assert_eq!(ended.code, (!kill).then_some(130), "{}", ended.stderr);
        assert!(begin.elapsed() < Duration::from_mins(2), "{:?}", begin.elapsed());
        child = scene.spawn(None, &["--resume"]);
        until_within("tasks wait again", LOST, || {
            scene.read("stderr").contains("may not run twice (idempotent = false) and wait")
        });
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(starts(&scene, "once", TASKS), [1; TASKS as usize], "{}", scene.read("stderr"));
    }
    // The agents find the request to stop, or their steps are ended.
    drop(continues);
    scene.end(child).with(0);
    has_results(&scene, waiting);
    cluster.lab.until_clean();
}
