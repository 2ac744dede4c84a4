//! Combines the runs of an experiment into a comparison.

use hindmost_core::metrics::{Copies, PolicyResult, Summary, VersusFirst};
use hindmost_math::statistics::{mean, student_interval};

use crate::driver::RunResult;
use crate::experiment::{Experiment, Results};

/// Returns one result for each policy of an experiment. `set` has the swept keys and their values, for the output.
pub fn policy_results(experiment: &Experiment, results: &Results, set: &[(String, String)]) -> Vec<PolicyResult> {
    let first = results.first();
    experiment
        .policies
        .iter()
        .zip(results)
        .map(|(policy, seeds)| {
            let pairs = first.map(|first| versus(first, seeds)).unwrap_or_default();
            policy_result(policy.to_string(), seeds, &pairs, set)
        })
        .collect()
}

/// Returns, for each seed, the summed flowtimes under `other` divided by those under `first`, over the jobs that
/// finished in both runs.
fn versus(first: &[RunResult], other: &[RunResult]) -> Vec<f64> {
    first
        .iter()
        .zip(other)
        .filter_map(|(first, other)| {
            let pairs = first.flowtime.iter().zip(&other.flowtime);
            let pairs = pairs.filter(|(one, other)| one.is_finite() && other.is_finite());
            let (sum_first, sum_other) = pairs.fold((0.0, 0.0), |sums, (one, other)| (sums.0 + one, sums.1 + other));
            (sum_first > 0.0).then_some(sum_other / sum_first)
        })
        .collect()
}

fn policy_result(policy: String, seeds: &[RunResult], ratios: &[f64], set: &[(String, String)]) -> PolicyResult {
    let sum = |of: fn(&RunResult) -> u64| seeds.iter().map(of).sum::<u64>();
    let average = |of: fn(&RunResult) -> f64| mean(&seeds.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0);
    let summary = |of: fn(&RunResult) -> &[f64]| {
        let finished: Vec<Vec<f64>> =
            seeds.iter().map(|seed| of(seed).iter().copied().filter(|value| value.is_finite()).collect()).collect();
        Summary::of(&finished.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    let mut resource = summary(|seed| &seed.resource);
    let total: f64 = seeds.iter().flat_map(|seed| &seed.resource).filter(|value| value.is_finite()).sum();
    resource.total = Some(total);
    let wasted: f64 = seeds.iter().map(|seed| seed.wasted).sum();
    let (met, with_deadline) = (sum(|seed| seed.met_deadlines), sum(|seed| seed.deadlines));
    PolicyResult {
        policy,
        set: set.to_vec(),
        jobs: sum(|seed| seed.finished + seed.unfinished),
        unfinished_jobs: sum(|seed| seed.unfinished),
        tasks: sum(|seed| seed.tasks),
        attempts: sum(|seed| seed.attempts),
        flowtime: summary(|seed| &seed.flowtime),
        running_time: summary(|seed| &seed.running_time),
        resource,
        slowdown: summary(|seed| &seed.slowdown),
        utilization: average(|seed| seed.utilization),
        makespan: average(|seed| seed.makespan),
        copies: Copies {
            launched: sum(|seed| seed.copies_launched),
            won: sum(|seed| seed.copies_won),
            wasted_share: if total > 0.0 { wasted / total } else { 0.0 },
        },
        lost_attempts: sum(|seed| seed.lost_attempts),
        versus_first: VersusFirst { flowtime_ratio: mean(ratios), ci95: student_interval(ratios) },
        energy_joules: None,
        pocd: (with_deadline > 0).then(|| met as f64 / with_deadline as f64),
        events: sum(|seed| seed.events),
    }
}
