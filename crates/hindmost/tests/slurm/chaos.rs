//! Runs with random faults: steps and the command are killed, a `slurmd` is killed and started again, `slurmctld` is restarted. Each
//! run is resumed until it is done. Its results must be complete, and nothing may be left.
//!
//! `HINDMOST_CHAOS_RUNS` sets the number of runs (3), `HINDMOST_CHAOS_SEED` the seed of the first run.

use std::time::{Duration, Instant};

use crate::ends::{has_results, job};
use crate::lab::{Lab, cluster};
use crate::scene::{Scene, signal};

const TASKS: u32 = 40;

/// A generator of random numbers (SplitMix64) with its state.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

#[test]
fn runs_with_random_faults_have_the_same_results_and_leave_nothing() {
    let Some(cluster) = cluster("runs_with_random_faults_have_the_same_results_and_leave_nothing") else { return };
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (runs, seed) = (number("HINDMOST_CHAOS_RUNS", 3), number("HINDMOST_CHAOS_SEED", 1));
    let begin = Instant::now();
    for seed in seed..seed + runs {
        let faults = one_run(&cluster.lab, seed);
        eprintln!("seed {seed}: {faults:?}, {:.0} s in all", begin.elapsed().as_secs_f64());
    }
}

/// Makes one run and returns its faults.
fn one_run(lab: &Lab, seed: u64) -> Vec<String> {
    let mut draw = Draw(seed);
    let scene = Scene::new(&job(TASKS, "0.7").replace("[[phase]]", "[[phase]]\nretries = 60"));
    let policy =
        ["pace", "pace", "none", "mantri(kill_restart=true,delta=0.1)", "late(cap=0.5)"][draw.below(5) as usize];
    let mut args = vec!["--engine", "slurm", "--policy", policy, "--chaos", "slow=n3:4"];
    let mut faults = Vec::new();
    for process_run in 0.. {
        let child = scene.spawn(None, &args);
        let is_last = process_run == 4;
        let mut is_killed = false;
        for _ in 0..draw.below(4) {
            std::thread::sleep(Duration::from_millis(300 + draw.below(2500)));
            let node = ["n1", "n2", "n3", "n4"][draw.below(4) as usize];
            let fault = match draw.below(7) {
                0 if !is_last => {
                    signal(child.id(), "KILL");
                    is_killed = true;
                    "kill".to_owned()
                }
                1 if !is_last => {
                    signal(child.id(), "INT");
                    is_killed = true;
                    "interrupt".to_owned()
                }
                2 => {
                    // If it were killed, it could forget that an allocation was given back.
                    lab.end_controller();
                    std::thread::sleep(Duration::from_millis(draw.below(3000)));
                    lab.start_controller();
                    "controller".to_owned()
                }
                3 => {
                    lab.kill_node(node);
                    std::thread::sleep(Duration::from_millis(draw.below(9000)));
                    lab.start_node(node);
                    format!("slurmd of {node}")
                }
                _ => {
                    let steps = lab.try_output("squeue", &["--noheader", "--steps", "-o", "%i %j"]).stdout;
                    let steps = String::from_utf8_lossy(&steps).into_owned();
                    let steps: Vec<&str> = steps.lines().filter(|line| line.contains('@')).collect();
                    if let Some(step) = steps.get(draw.below(steps.len().max(1) as u64) as usize) {
                        let id = step.split_whitespace().next().unwrap_or_default();
                        let signal = ["--signal=TERM", "--signal=KILL"][draw.below(2) as usize];
                        lab.try_output("scancel", &[signal, id]);
                    }
                    "step".to_owned()
                }
            };
            faults.push(fault);
            if is_killed {
                break;
            }
        }
        let ended = scene.end(child);
        match ended.code {
            Some(0) => break,
            // Killed, or interrupted.
            None | Some(130) => {}
            other => panic!("seed {seed}, {faults:?}: exit code {other:?}: {}", ended.stderr),
        }
        args = vec!["--resume"];
    }
    has_results(&scene, TASKS);
    lab.until_clean();
    faults
}
