//! Runs with random faults: steps, allocations and the command are killed, a `slurmd` is killed, alone or with all its steps, and
//! started again, `slurmctld` is stopped or killed and started again. Each run is resumed until it is done. Its results must be
//! complete, and nothing may be left.
//!
//! A usual run of the tests does one run, the nightly one 20.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::time::{Duration, Instant};

use hindmost_testing::{Draw, cases, seed};

use super::ends::is_done;
use super::lab::{Lab, NODES, SOON, own_cluster_with};
use crate::scene::{Scene, signal};

const TASKS: u32 = 60;
/// Tasks that run until the last fault has happened.
const GATED: u32 = 2;

/// Returns a time from `least` to `most` milliseconds.
fn between(draw: &mut Draw, least: u64, most: u64) -> Duration {
    Duration::from_millis(least + draw.below(most - least))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kill,
    Interrupt,
    StopController,
    KillController,
    Node,
    NodeWithSteps,
    Step,
    Allocation,
}

const KINDS: [Kind; 8] = [
    Kind::Kill,
    Kind::Interrupt,
    Kind::StopController,
    Kind::KillController,
    Kind::Node,
    Kind::NodeWithSteps,
    Kind::Step,
    Kind::Allocation,
];

/// Returns the faults of a run: at least three of different kinds.
fn plan(draw: &mut Draw) -> Vec<Kind> {
    let mut kinds = draw.shuffled(KINDS.to_vec());
    kinds.truncate(3);
    for _ in 0..draw.below(4) {
        kinds.push(KINDS[draw.below(KINDS.len() as u64) as usize]);
    }
    kinds
}

#[test]
#[ignore = "needs Slurm"]
fn runs_with_random_faults_have_the_same_results_and_leave_nothing() {
    let mut cluster = own_cluster_with(&[SOON]);
    let (runs, first) = (u64::from(cases(1, 20)), seed());
    let (begin, mut failed) = (Instant::now(), Vec::new());
    for seed in first..first + runs {
        let faults = plan(&mut Draw(seed));
        cluster.lab.settle();
        let ran = catch_unwind(AssertUnwindSafe(|| one_run(&cluster.lab, seed)));
        let how = if ran.is_ok() { "ok" } else { "FAILED" };
        eprintln!("seed {seed}: {how}, {faults:?}, {:.0} s in all", begin.elapsed().as_secs_f64());
        if ran.is_err() {
            failed.push(seed);
            cluster.renew();
        }
    }
    assert!(failed.is_empty(), "{} of {runs} runs failed: seeds {failed:?}", failed.len());
}

/// The process of a run. It is killed if the test fails.
struct Process(Option<Child>);

impl Process {
    fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Checks that the process has not ended.
    fn still_runs(&mut self, scene: &Scene, what: &dyn fmt::Debug) {
        let status = self.0.as_mut().unwrap().try_wait().unwrap();
        assert!(status.is_none(), "{what:?}: the command has ended ({status:?}): {}", scene.read("stderr"));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What was stopped and is to be started again.
struct Repairs<'a> {
    lab: &'a Lab,
    controller: Option<Instant>,
    nodes: Vec<(Instant, &'static str)>,
}

impl Repairs<'_> {
    fn start_controller(&mut self) {
        if self.controller.take().is_some() {
            self.lab.start_controller();
        }
    }

    /// Waits, and starts what is due meanwhile.
    fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let now = Instant::now();
            if self.controller.is_some_and(|due| due <= now) {
                self.start_controller();
            } else if self.controller.is_none() {
                // Slurm 22.05 may crash when it has been killed and started again; its machine would start it once more.
                self.lab.restart_crashed_controller();
            }
            for (_, node) in self.nodes.extract_if(.., |(due, _)| *due <= now) {
                self.lab.start_node(node);
            }
            if now >= end {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn all(&mut self) {
        while self.controller.is_some() || !self.nodes.is_empty() {
            self.wait(Duration::from_millis(20));
        }
    }
}

/// Makes one run.
fn one_run(lab: &Lab, seed: u64) {
    let mut draw = Draw(seed);
    let faults = plan(&mut draw);
    let scene = Scene::new("");
    let job = format!(
        r#"
name = "faults"
[[phase]]
retries = 60
name = "a"
tasks = {TASKS}
command = """
sleep 60 &
sleep 0.7
if [ $HINDMOST_TASK -lt {GATED} ]; then {}; fi
echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/number"
"""
"#,
        scene.gate()
    );
    std::fs::write(scene.path("job.toml"), job).unwrap();
    let policy =
        ["pace", "pace", "none", "mantri(kill_restart=true,delta=0.1)", "late(cap=0.5)"][draw.below(5) as usize];
    let first = ["--engine", "slurm", "--policy", policy, "--chaos", "slow=n3:4"];
    let mut process = Process(Some(scene.spawn(None, &first)));
    let mut repairs = Repairs { lab, controller: None, nodes: Vec::new() };
    for kind in &faults {
        repairs.wait(between(&mut draw, 300, 2800));
        process.still_runs(&scene, kind);
        let node = NODES[draw.below(4) as usize];
        match kind {
            Kind::Kill | Kind::Interrupt => {
                let (name, code) = if *kind == Kind::Kill { ("KILL", None) } else { ("INT", Some(130)) };
                signal(process.id(), name);
                // The command may need the controller to end.
                let child = process.0.take().unwrap();
                if *kind == Kind::Interrupt {
                    repairs.all();
                }
                let mut child = child;
                while child.try_wait().unwrap().is_none() {
                    repairs.wait(Duration::from_millis(100));
                }
                let ended = scene.end(child);
                assert_eq!(ended.code, code, "{}", ended.stderr);
                // Killed at its very begin, there is no run to resume.
                let has_begun = scene.out().join(".hindmost/job.json").exists();
                let args = if has_begun { &["--resume", "--chaos", "slow=n3:4"][..] } else { &first };
                process.0 = Some(scene.spawn(None, args));
            }
            Kind::StopController | Kind::KillController => {
                repairs.start_controller();
                if *kind == Kind::StopController {
                    lab.end_controller();
                } else {
                    lab.kill_controller();
                }
                repairs.controller = Some(Instant::now() + between(&mut draw, 0, 3000));
            }
            Kind::Node | Kind::NodeWithSteps => {
                if repairs.nodes.iter().all(|(_, stopped)| *stopped != node) {
                    if *kind == Kind::Node {
                        lab.kill_node(node);
                    } else {
                        lab.kill_node_with_steps(node);
                    }
                    repairs.nodes.push((Instant::now() + between(&mut draw, 0, 9000), node));
                }
            }
            Kind::Step | Kind::Allocation => {
                repairs.start_controller();
                let (args, mark) = if *kind == Kind::Step {
                    (&["--noheader", "--steps", "-o", "%i %j"][..], "@")
                } else {
                    (&["--noheader", "-o", "%A %j"][..], "hindmost-")
                };
                let listed = String::from_utf8_lossy(&lab.try_output("squeue", args).stdout).into_owned();
                let ids = listed.lines().filter(|line| line.contains(mark));
                let ids: Vec<&str> = ids.filter_map(|line| line.split_whitespace().next()).collect();
                if let Some(id) = ids.get(draw.below(ids.len().max(1) as u64) as usize) {
                    let signal = ["--signal=TERM", "--signal=KILL"][draw.below(2) as usize];
                    let signal = (*kind == Kind::Step).then_some(signal);
                    let args: Vec<&str> = signal.into_iter().chain([*id]).collect();
                    lab.try_output("scancel", &args);
                }
            }
        }
    }
    scene.open();
    repairs.all();
    let (mut child, begin) = (process.0.take().unwrap(), Instant::now());
    while child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_mins(2) {
        repairs.wait(Duration::from_millis(100));
    }
    is_done(scene.end(child), &scene, lab, TASKS);
}
