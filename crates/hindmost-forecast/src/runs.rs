//! Replays of one application, and what they took.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_core::estimator::Knowledge;
use hindmost_core::resources::Dimensions;
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, WorkloadJob};
use hindmost_math::statistics::mean;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_sim::driver::{Learns, RunResult, Setup, SimulationError};
use hindmost_sim::experiment::{Execution, Experiment, Jobs, default_placement, run_all};
use hindmost_sim::scenario::CommonPart;
use hindmost_trace::replay::Presence;

use crate::cluster::{of_executor, with_unique_names};
use crate::recorded::RecordedApplication;

/// Replays that have run.
#[derive(Default)]
pub(crate) struct Known(RefCell<Vec<KnownRuns>>);

struct KnownRuns {
    jobs: Arc<Vec<WorkloadJob>>,
    policy: PolicySpec,
    order: String,
    executors: Vec<Presence>,
    share: f64,
    are_held_back: bool,
    learns: Learns,
    runs: Vec<RunResult>,
}

impl Known {
    /// Returns the runs of a replay that are known. Where no duration was drawn, all seeds and shares have the same ones.
    fn runs(&self, of: &Replay<'_>, seeds: u64) -> Option<Vec<RunResult>> {
        let is_same = |one: &&KnownRuns| {
            let is_drawn = one.runs.first().is_none_or(|run| run.drawn > 0);
            Arc::ptr_eq(&one.jobs, &of.jobs)
                && one.policy == of.policy
                && one.order == of.order
                && one.executors == of.executors
                && one.are_held_back == of.are_held_back
                && one.learns == of.learns
                && (!is_drawn || one.share == of.share && one.runs.len() as u64 >= seeds)
        };
        let known = self.0.borrow();
        let found = known.iter().find(is_same)?;
        Some(found.runs.iter().cycle().take(seeds as usize).cloned().collect())
    }

    fn add(&self, of: &Replay<'_>, runs: &[RunResult]) {
        self.0.borrow_mut().push(KnownRuns {
            jobs: of.jobs.clone(),
            policy: of.policy.clone(),
            order: of.order.clone(),
            executors: of.executors.to_vec(),
            share: of.share,
            are_held_back: of.are_held_back,
            learns: of.learns,
            runs: runs.to_vec(),
        });
    }
}

/// How often a replay runs, and by how many threads.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'a> {
    /// What has run before.
    pub(crate) known: &'a Known,
    /// Number of seeds.
    pub(crate) seeds: u64,
    /// The most threads.
    pub(crate) threads: usize,
    /// Stops the replay.
    pub(crate) stop: &'a AtomicBool,
}

/// What a change of a replay concerns.
pub(crate) struct Replay<'a> {
    pub(crate) application: &'a RecordedApplication,
    pub(crate) jobs: Arc<Vec<WorkloadJob>>,
    pub(crate) policy: PolicySpec,
    /// The order of jobs, for policies without an order of their own.
    pub(crate) order: String,
    /// How executors come and leave.
    pub(crate) executors: &'a [Presence],
    /// The share of the durations that belongs to the tasks.
    pub(crate) share: f64,
    /// Whether tasks that something else than slots held back are held back again.
    pub(crate) are_held_back: bool,
    /// What the policy learns.
    pub(crate) learns: Learns,
}

impl Replay<'_> {
    /// Runs the replay once for each seed, unless its results are known.
    pub(crate) fn run(&self, how: Effort<'_>) -> Result<Vec<RunResult>, SimulationError> {
        if let Some(known) = how.known.runs(self, how.seeds) {
            return Ok(known);
        }
        let runs = self.run_anew(how)?;
        how.known.add(self, &runs);
        Ok(runs)
    }

    fn run_anew(&self, how: Effort<'_>) -> Result<Vec<RunResult>, SimulationError> {
        let Effort { seeds, threads, stop, .. } = how;
        let nodes = with_unique_names(self.application.executors.iter().map(of_executor));
        let dimensions = Dimensions::of([&DemandByName::new()]).unwrap_or_else(|_| Dimensions::one_slot());
        let mut setup = Setup {
            dimensions: dimensions.clone(),
            nodes: Vec::new(),
            slot: Time::ZERO,
            horizon: None,
            drain: true,
            // Spark's rule and Hadoop's see no more in most logs.
            knowledge: Knowledge::Age,
            placement: default_placement(nodes.iter().map(|kind| &kind.speed)),
            noise: 0.0,
            correlation: self.share,
            common_part: CommonPart::FirstAttempt,
            slow_from: 0.0,
            seed: 0,
            gamma: 1.0,
            network: None,
            outages: Vec::new(),
            disturbances: Vec::new(),
            stragglers: None,
            learns_speeds: false,
            known_profiles: Arc::default(),
            keeps_profiles: false,
            as_recorded: None,
            queues: Vec::new(),
        };
        self.application.world.set_up_with(&mut setup, self.executors, self.are_held_back);
        setup.correlation = self.share;
        if let Some(recorded) = &mut setup.as_recorded {
            Arc::make_mut(recorded).learns = self.learns;
        }
        let experiment = Experiment {
            name: String::new(),
            dimensions,
            nodes,
            jobs: Jobs::Given(self.jobs.clone()),
            policies: vec![self.policy.clone()],
            seeds: (1..=seeds).collect(),
            order: self.order.clone(),
            setup,
        };
        let execution = Execution { threads, stop, progress: &|_| {}, output: None };
        let mut results = run_all(std::slice::from_ref(&experiment), &execution)?;
        Ok(results.pop().and_then(|mut one| one.pop()).unwrap_or_default())
    }
}

/// Returns the time for which jobs ran, in seconds: the length of the union of the jobs' times. If jobs that followed one another in
/// the log overlap in a replay, their overlap counts twice, because the later one would have waited.
pub(crate) fn time_of_jobs(run: &RunResult, jobs: &[WorkloadJob], are_in_turn: bool) -> f64 {
    let times = jobs.iter().zip(&run.flowtime).filter(|(_, flowtime)| flowtime.is_finite());
    if are_in_turn {
        return times.map(|(_, flowtime)| flowtime).sum();
    }
    let (mut until, mut union) = (f64::NEG_INFINITY, 0.0);
    let mut times: Vec<(f64, f64)> =
        times.map(|(job, flowtime)| (job.spec.arrival.seconds(), job.spec.arrival.seconds() + flowtime)).collect();
    times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    for (from, to) in times {
        union += (to - from.max(until)).max(0.0);
        until = until.max(to);
    }
    union
}

/// Returns the slot-seconds for which executors are there until the application ends, `after_last` seconds after its last job.
pub(crate) fn held_seconds(
    run: &RunResult,
    jobs: &[WorkloadJob],
    slots: &[u32],
    (executors, after_last): (&[Presence], f64),
) -> f64 {
    let ends = jobs.iter().zip(&run.flowtime).filter(|(_, flowtime)| flowtime.is_finite());
    let end = ends.map(|(job, flowtime)| job.spec.arrival.seconds() + flowtime).fold(0.0, f64::max) + after_last;
    let held = |presence: &Presence| (presence.held_to.unwrap_or(end).min(end) - presence.held_from).max(0.0);
    executors.iter().zip(slots).map(|(presence, slots)| f64::from(*slots) * held(presence)).sum()
}

/// Returns the slot-seconds of all attempts.
pub(crate) fn slot_seconds(run: &RunResult, slots: u64) -> f64 {
    run.resource.iter().filter(|seconds| seconds.is_finite()).sum::<f64>() * slots as f64
}

/// The mean, and the least and the largest value.
pub(crate) fn mean_and_range(values: &[f64]) -> (f64, [f64; 2]) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (mean(values).unwrap_or(0.0), [least, most])
}

#[cfg(test)]
mod tests {
    use hindmost_core::workload::JobSpec;

    use super::*;

    #[test]
    fn executors_are_held_before_and_after_the_jobs() {
        // The application held one executor of 4 slots from 70 s before its only job of 100 s until 10 s after it began, and another one
        // from then on; it ended 30 s after the job.
        let spec = JobSpec::new("job", Vec::new());
        let jobs = [WorkloadJob { spec, durations: Vec::new() }];
        let run = RunResult { flowtime: vec![100.0], ..RunResult::default() };
        let first = Presence { held_from: -70.0, held_to: Some(10.0), ..Presence::default() };
        let second = Presence { held_from: 10.0, ..Presence::default() };
        assert_eq!(held_seconds(&run, &jobs, &[4, 4], (&[first, second], 30.0)), 4.0 * 80.0 + 4.0 * 120.0);
        // Kept, it would have been held for 200 s, if the job took as long.
        let kept = Presence { held_from: -70.0, ..Presence::default() };
        let never = Presence { held_from: f64::INFINITY, ..Presence::default() };
        assert_eq!(held_seconds(&run, &jobs, &[4, 4], (&[kept, never], 30.0)), 4.0 * 200.0);
    }
}
