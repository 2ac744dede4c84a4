//! Chains of tasks without barriers: each task waits only for the task with its number in the phase before.

use std::path::Path;

use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::World;

use crate::experiments::{experiment, jobs_of};

/// Durations of chains: one list for each phase, of a number of seconds for each chain.
fn durations(phases: u64, chains: u64, seed: u64) -> Vec<Vec<f64>> {
    let drawn = |phase: u64, chain: u64| 1 + (phase * 7919 + chain * 104_729 + seed * 1_299_709) % 97 % 30;
    (0..phases).map(|phase| (0..chains).map(|chain| drawn(phase, chain) as f64).collect()).collect()
}

fn run(durations: &[Vec<f64>], machines: u32, each: bool, policy: &str) -> f64 {
    let names = ["trim", "align", "count", "sort"];
    let mut world = World::machines(machines).job("a");
    for (at, tasks) in durations.iter().enumerate() {
        world = world.phase(names[at]);
        let parents = names[..at].iter().rev().take(1).copied();
        world = if each { world.after_each(parents) } else { world.after(parents) };
        world = world.tasks(tasks.iter().map(|seconds| [*seconds; 8]));
    }
    world.run(policy).job("a").finish
}

#[test]
fn with_enough_machines_a_job_ends_with_its_longest_chain() {
    for (seed, policy) in
        (0..24).zip(["none", "fifo", "srpt", "graphene", "tetris", "carbyne", "dollymp", "capacity"].iter().cycle())
    {
        let durations = durations(2 + seed % 3, 3 + seed % 8, seed);
        let chains = 0..durations[0].len();
        let longest = chains.map(|chain| durations.iter().map(|phase| phase[chain]).sum::<f64>()).fold(0.0, f64::max);
        let with_barriers: f64 = durations.iter().map(|phase| phase.iter().copied().fold(0.0, f64::max)).sum();
        // Other policies than `none` may start copies, which take as long as the originals.
        assert_eq!(run(&durations, 64, true, policy), longest, "{policy}, {durations:?}");
        assert_eq!(run(&durations, 64, false, policy), with_barriers, "{policy}, {durations:?}");
    }
}

#[test]
fn a_scenario_states_chains() {
    let text = |phase: &str| {
        format!(
            "[cluster]\nmachines = 400\n[workload]\narrival = {{ at_once = {{ jobs = 5 }} }}\n\
             [[workload.job]]\nname = \"pipeline\"\n\
             [[workload.job.phase]]\nname = \"trim\"\ntasks = {{ uniform = {{ min = 2, max = 9 }} }}\nduration = 3\n\
             [[workload.job.phase]]\nname = \"align\"\n{phase}\nduration = {{ exponential = {{ mean = 2 }} }}\n\
             [[policy]]\nname = \"none\"\n"
        )
    };
    for seed in 1..=5 {
        // Both phases of a job have the number of tasks that was drawn for the first, and no copies run.
        let (_, jobs) = jobs_of(&experiment(&text("after = [\"trim\"]\neach = true")), seed);
        assert!(jobs.iter().all(|job| job.tasks % 2 == 0 && job.attempts == job.tasks), "{jobs:?}");
    }
    for (phase, message) in [
        ("after = [\"trim\"]\neach = true\ntasks = 3", "remove tasks"),
        ("each = true", "add after"),
        ("after = [\"trim\"]", "it has no tasks"),
    ] {
        let error = Scenario::parse(&text(phase), "test", Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("align"), "{error}");
    }
}
