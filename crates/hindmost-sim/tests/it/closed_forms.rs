//! Runs whose results are known from a formula.

use hindmost_sim::scenario::CommonPart;
use hindmost_sim::testing::World;

use crate::experiments::{experiment, jobs_of};

#[test]
fn equal_tasks_run_in_full_waves() {
    for (tasks, machines, seconds) in [(1, 1, 2.5), (7, 3, 1.0), (9, 3, 0.1), (10, 100, 4.0), (1000, 7, 0.3)] {
        let run = World::machines(machines).job("a").same(tasks, seconds).run("fifo");
        // Times are whole nanoseconds, so rounding errors do not add up.
        let rounds = f64::from(tasks.div_ceil(machines));
        assert_eq!(run.job("a").finish, (rounds * seconds * 1e9).round() / 1e9, "{tasks} tasks on {machines}");
        assert_eq!(run.job("a").resource, (f64::from(tasks) * seconds * 1e9).round() / 1e9);
        assert_eq!(run.result.attempts, u64::from(tasks));
    }
}

/// Returns the `power`-th moment of a job's running time if each task takes the shortest of its copies, whose durations
/// are Pareto with minimum 1: m!/Π (k − p/(cα)) over k = 1 … m, for m tasks, c copies and power p.
fn moment_of_the_longest(tasks: u32, copies: u32, alpha: f64, power: f64) -> f64 {
    let b = power / (alpha * f64::from(copies));
    (1..=tasks).map(|k| f64::from(k) / (f64::from(k) - b)).product()
}

#[test]
fn cloned_jobs_match_the_closed_form() {
    // With γ = 0 copies cost nothing, so SCA's problem P2 gives every task the largest number of copies. Running times
    // are independent with known mean and variance. Their average must be within 4 standard errors of the mean, which a
    // normal variable exceeds once in 16 000 draws.
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
            assert_eq!(
                result.attempts,
                u64::from(jobs * tasks * copies),
                "every task has the largest number of copies"
            );
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
fn a_task_of_three_copies_uses_three_times_its_running_time() {
    // All 3 copies of a task run until the first one finishes, so a job of one task uses 3 times its running time in
    // machine-seconds.
    let experiment = experiment(
        "gamma = 0\n[cluster]\nmachines = 1000\n[workload]\narrival = { at_once = { jobs = 100 } }\ntasks = 1\n\
         duration = { pareto = { alpha = 2, minimum = 1 } }\n[[policy]]\nname = \"sca\"\nmax_copies = 3\n",
    );
    // With γ = 0 the resource usage is 0, so the machine-seconds are computed from the utilization.
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
    // With a common part of its own, a duration at a correlation of 1/2 is (common + own)/2: the mean is the same, the
    // variance is half.
    let variance_of = |part| {
        let lengths: Vec<f64> = (1..=5)
            .flat_map(|seed| {
                let world = World::machines(2000).seed(seed).correlation(0.5).common_part(part);
                let run = world.job("a").drawn(2000, "uniform(min=0,max=1)").run("none");
                run.attempts.iter().map(|one| one.end - one.start).collect::<Vec<f64>>()
            })
            .collect();
        let n = lengths.len() as f64;
        let mean = lengths.iter().sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / n).sqrt(), "{mean}");
        (lengths.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / n, n)
    };
    // The mean of two uniform numbers is triangular, with variance 1/24 and fourth central moment 1/240.
    let (variance, n) = variance_of(CommonPart::OwnDraw);
    assert!((variance - 1.0 / 24.0).abs() < 4.0 * ((1.0 / 240.0 - 1.0 / 576.0) / n).sqrt(), "{variance}");
    // Without, the first attempt has the whole variance, 1/12; the fourth central moment is 1/80.
    let (variance, n) = variance_of(CommonPart::FirstAttempt);
    assert!((variance - 1.0 / 12.0).abs() < 4.0 * ((1.0 / 80.0 - 1.0 / 144.0) / n).sqrt(), "{variance}");
}
