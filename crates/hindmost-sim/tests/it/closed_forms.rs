//! Runs whose outcome is known in closed form.

use hindmost_sim::testing::World;

use crate::experiments::{experiment, jobs_of};

#[test]
fn equal_tasks_take_whole_waves() {
    for (tasks, machines, seconds) in [(1, 1, 2.5), (7, 3, 1.0), (9, 3, 0.1), (10, 100, 4.0), (1000, 7, 0.3)] {
        let run = World::machines(machines).job("a").same(tasks, seconds).run("fifo");
        // Whole nanoseconds: no rounding adds up.
        let rounds = f64::from(tasks.div_ceil(machines));
        assert_eq!(run.job("a").finish, (rounds * seconds * 1e9).round() / 1e9, "{tasks} tasks on {machines}");
        assert_eq!(run.job("a").resource, (f64::from(tasks) * seconds * 1e9).round() / 1e9);
        assert_eq!(run.result.attempts, u64::from(tasks));
    }
}

#[test]
fn the_next_task_goes_to_the_first_free_machine() {
    // Two machines: 3 and 3 until 3, then 2 and 2 until 5, then the last 2 until 7.
    let run = World::machines(2).job("a").tasks([[3.0], [3.0], [2.0], [2.0], [2.0]]).run("none");
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 3.0, 5.0]);
    assert_eq!(run.job("a").finish, 7.0);
    // Three machines of which two go free at once: the lower number comes first.
    let run = World::machines(3).job("a").tasks([[1.0], [1.0], [5.0], [1.0], [1.0]]).run("none");
    let nodes: Vec<u32> = run.tries("a").iter().map(|one| one.node).collect();
    assert_eq!(nodes, [0, 1, 2, 0, 1]);
}

#[test]
fn a_chain_of_phases_takes_the_sum_of_their_longest_tasks() {
    let run = World::machines(10)
        .job("a")
        .phase("map")
        .tasks([[1.0], [4.0]])
        .phase("shuffle")
        .after(["map"])
        .tasks([[2.0], [0.5], [1.5]])
        .phase("reduce")
        .after(["shuffle"])
        .tasks([[3.0]])
        .run("fifo");
    assert_eq!(run.starts("a"), [0.0, 0.0, 4.0, 4.0, 4.0, 6.0]);
    assert_eq!(run.job("a").flowtime(), 9.0);
}

#[test]
fn a_faster_node_takes_its_share_of_the_time() {
    let run = World::nodes([[("cpus", 1.0)], [("cpus", 1.0)]]).speeds([2.0, 0.5]).job("a").same(2, 3.0).run("fifo");
    let ends: Vec<f64> = run.tries("a").iter().map(|one| one.end).collect();
    assert_eq!(ends, [1.5, 6.0]);
}

#[test]
fn a_task_of_several_resources_waits_for_all_of_them() {
    // 3 GB hold two copies of 1.5 GB, though 4 cpus would hold four.
    const GB: f64 = 1024.0 * 1024.0 * 1024.0;
    let run = World::nodes([[("cpus", 4.0), ("memory", 3.0 * GB)]])
        .job("a")
        .same(5, 1.0)
        .demand([("cpus", 1.0), ("memory", 1.5 * GB)])
        .run("fifo");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 1.0, 2.0]);
    // γ × Σ over dimensions of demand / total × time: (1/4 + 1/2) × 5 s.
    assert!((run.job("a").resource - 3.75).abs() < 1e-12);
}

/// E\[(max over m tasks of the min of c copies)^p] of Pareto(1, α): m!/Π (k − p/(cα)), k = 1 … m.
fn moment_of_the_longest(tasks: u32, copies: u32, alpha: f64, power: f64) -> f64 {
    let b = power / (alpha * f64::from(copies));
    (1..=tasks).map(|k| f64::from(k) / (f64::from(k) - b)).product()
}

#[test]
fn cloned_jobs_match_the_closed_form() {
    // With γ = 0 copies cost nothing, so P2 on an idle cluster gives every task all it may have.
    // Running times are then i.i.d. with known mean and variance; the mean of n is within 4 of its
    // standard errors, which a normal variable leaves once in 16 000.
    for (alpha, tasks, copies) in [(2.0, 1, 2), (2.0, 1, 3), (3.0, 1, 2), (2.0, 5, 2), (2.0, 20, 3), (1.5, 4, 4)] {
        let jobs = 400;
        let machines = jobs * tasks * copies + 1;
        let experiment = experiment(&format!(
            "gamma = 0\n[cluster]\nmachines = {machines}\n[workload]\narrival = {{ at_once = {{ jobs = {jobs} }} }}\n\
             tasks = {tasks}\nduration = {{ pareto = {{ alpha = {alpha:?}, minimum = 1 }} }}\n\
             [[policy]]\nname = \"sca\"\nmax_copies = {copies}\n"
        ));
        let mut measured = Vec::new();
        for seed in 1..=10 {
            let (result, _) = jobs_of(&experiment, seed);
            assert_eq!(result.attempts, u64::from(jobs * tasks * copies), "every task has all its copies");
            measured.extend(result.running_time);
        }
        let mean = measured.iter().sum::<f64>() / measured.len() as f64;
        let expected = moment_of_the_longest(tasks, copies, alpha, 1.0);
        let variance = moment_of_the_longest(tasks, copies, alpha, 2.0) - expected * expected;
        let error = (variance / measured.len() as f64).sqrt();
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "α = {alpha}, {tasks} tasks, {copies} copies: {mean} is not {expected} ± {error}"
        );
    }
}

#[test]
fn a_cloned_task_costs_copies_times_the_shortest() {
    // c·E[min of c] machine-seconds a task; of one task, resource is c times its running time.
    let experiment = experiment(
        "gamma = 0\n[cluster]\nmachines = 1000\n[workload]\narrival = { at_once = { jobs = 100 } }\ntasks = 1\n\
         duration = { pareto = { alpha = 2, minimum = 1 } }\n[[policy]]\nname = \"sca\"\nmax_copies = 3\n",
    );
    // γ is 0 for the policy; machine-time is read off the utilization instead.
    let (result, jobs) = jobs_of(&experiment, 1);
    let held: f64 = jobs.iter().map(|job| 3.0 * job.running_time()).sum();
    assert!((result.utilization * result.makespan * 1000.0 - held).abs() < 1e-6 * held);
}

#[test]
fn fully_correlated_copies_do_not_help() {
    let world = World::machines(9).correlation(1.0).gamma(0.0).job("a").drawn(4, "pareto(alpha=2,mean=1)");
    let cloned = world.run("sca(max_copies=2)");
    let alone = world.run("none");
    assert_eq!(cloned.result.attempts, 8);
    assert_eq!(cloned.job("a").finish, alone.job("a").finish);
    // With w = 1/2 a task's mean stays and its variance halves: x = (common + own)/2.
    let halves = |seed| {
        let world = World::machines(2000).seed(seed).correlation(0.5).job("a").drawn(2000, "uniform(min=0,max=1)");
        let run = world.run("none");
        let lengths: Vec<f64> = run.attempts.iter().map(|one| one.end - one.start).collect();
        lengths
    };
    let lengths: Vec<f64> = (1..=5).flat_map(halves).collect();
    let n = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / n;
    let variance = lengths.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / n;
    // The mean of two uniforms is triangular: variance 1/24, fourth central moment 1/240.
    assert!((mean - 0.5).abs() < 4.0 * (1.0 / 24.0 / n).sqrt(), "{mean}");
    assert!((variance - 1.0 / 24.0).abs() < 4.0 * ((1.0 / 240.0 - 1.0 / 576.0) / n).sqrt(), "{variance}");
}
