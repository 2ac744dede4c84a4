//! The same comparison for several values of `workload.correlation`, side by side.
//!
//! How much copies help depends on the share of a duration that belongs to the task, because all its copies have that share in
//! common. Few users know it. If a scenario does not give it, the results for several values stand side by side. All values
//! have the same jobs, the same first attempts and the same seeds, so only policies that start copies run again.

use hindmost_core::metrics::{ByCorrelation, CorrelationResult, PolicyResult, VersusFirst};
use hindmost_core::workload::{Durations, WorkloadJob};
use hindmost_math::statistics::mean;

use crate::compare::versus;
use crate::driver::RunResult;
use crate::experiment::{Experiment, Jobs, Results};
use crate::scenario::{CommonPart, Scenario};

/// The values that are compared if the scenario gives none.
pub const VALUES: [f64; 3] = [0.0, 0.5, 0.9];

/// Returns whether a scenario leaves the correlation open: it generates jobs and does not give the key.
pub fn is_open(scenario: &Scenario) -> bool {
    scenario.workload.file.is_none() && scenario.workload.correlation.is_none()
}

/// The runs that are needed for the other values.
pub struct Plan {
    /// One experiment for each value other than that of the comparison.
    pub experiments: Vec<Experiment>,
    values: Vec<f64>,
    /// The policies whose results depend on the correlation.
    moving: Vec<usize>,
}

impl Plan {
    /// Plans the runs for these values, from the results of a comparison. `None` if there is nothing to compare: no value, a
    /// single policy, jobs with given durations, or no policy that starts copies.
    pub fn of(experiment: &Experiment, results: &Results, values: &[f64]) -> Option<Plan> {
        let is_given = matches!(&experiment.jobs, Jobs::Given(jobs) if !jobs.iter().any(depends_on_correlation));
        if values.is_empty() || results.len() < 2 || is_given {
            return None;
        }
        // The first attempts of all tasks are the same, so a policy that starts nothing else gives the same result.
        let depends = |seeds: &Vec<RunResult>| {
            experiment.setup.common_part == CommonPart::OwnDraw
                || seeds.iter().any(|seed| seed.copies_launched > 0 || seed.lost_attempts > 0)
        };
        let moving: Vec<usize> =
            results.iter().enumerate().filter(|(_, seeds)| depends(seeds)).map(|(at, _)| at).collect();
        if moving.is_empty() {
            return None;
        }
        let at = |correlation: f64| {
            let mut other = experiment.clone();
            other.policies = moving.iter().filter_map(|at| experiment.policies.get(*at).cloned()).collect();
            other.setup.correlation = correlation;
            other.setup.keeps_profiles = false;
            other
        };
        let others = values.iter().filter(|value| **value != experiment.setup.correlation);
        Some(Plan { experiments: others.map(|value| at(*value)).collect(), values: values.to_vec(), moving })
    }

    /// Puts the results of all values beside each other: those of the comparison, whose `rows` are given too, and those of the
    /// planned experiments. `None` if they are the same for several values, because durations do not vary.
    pub fn beside<'a>(
        &self,
        experiment: &Experiment,
        (results, rows): (&'a Results, &[PolicyResult]),
        others: &'a [Results],
    ) -> Option<Beside<'a>> {
        let own: Vec<&[RunResult]> = results.iter().map(Vec::as_slice).collect();
        let mut others = others.iter();
        let mut values = Vec::new();
        for value in &self.values {
            let mut runs = own.clone();
            if *value == experiment.setup.correlation {
                let versus_first = rows.iter().map(|row| row.versus_first).collect();
                values.push(AtValue { correlation: *value, runs, versus_first });
                continue;
            }
            for (at, of_policy) in self.moving.iter().zip(others.next()?) {
                runs[*at] = of_policy;
            }
            let first = *runs.first()?;
            let versus_first = runs.iter().map(|of_policy| versus(first, of_policy)).collect();
            values.push(AtValue { correlation: *value, runs, versus_first });
        }
        let differ = values.iter().any(|value| value.runs.iter().zip(&own).any(|(one, other)| !are_equal(one, other)));
        (differ || values.len() == 1).then_some(Beside { values, decisive: None })
    }
}

/// Returns the value by which policies are compared if the scenario leaves the correlation open: the middle one, the higher of two. The
/// lowest one would favour the policies that start the most copies.
pub fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The runs of all policies for several correlations.
pub struct Beside<'a> {
    /// The values in the order in which they are shown.
    pub values: Vec<AtValue<'a>>,
    /// The value by which a policy is recommended; `None` for that of the comparison.
    pub decisive: Option<f64>,
}

/// The runs of all policies for one correlation.
pub struct AtValue<'a> {
    /// The share of a duration that all copies of a task have in common.
    pub correlation: f64,
    /// The runs of each policy: one for each seed.
    pub runs: Vec<&'a [RunResult]>,
    /// The flowtimes of each policy relative to those of the first one.
    pub versus_first: Vec<VersusFirst>,
}

impl Beside<'_> {
    /// Returns the results of all values as data.
    pub fn table(&self, experiment: &Experiment) -> ByCorrelation {
        let mut table = Vec::new();
        for value in &self.values {
            let first = value.runs.first().and_then(|runs| mean_resource(runs)).filter(|mean| *mean > 0.0);
            for (at, policy) in experiment.policies.iter().enumerate().take(value.runs.len()) {
                let resource_mean = mean_resource(value.runs[at]);
                table.push(CorrelationResult {
                    policy: policy.to_string(),
                    correlation: value.correlation,
                    flowtime_mean: mean_of(value.runs[at], |seed| &seed.flowtime),
                    resource_mean,
                    versus_first: value.versus_first[at],
                    resource_ratio: resource_mean.zip(first).map(|(own, first)| own / first),
                });
            }
        }
        ByCorrelation {
            seeds: experiment.seeds.clone(),
            used: experiment.setup.correlation,
            correlations: self.values.iter().map(|value| value.correlation).collect(),
            results: table,
        }
    }
}

/// Returns the mean over seeds of the mean resource usage of a finished job.
pub(crate) fn mean_resource(seeds: &[RunResult]) -> Option<f64> {
    mean_of(seeds, |seed| &seed.resource)
}

/// Returns whether the durations of copies of a given job depend on the correlation.
fn depends_on_correlation(job: &WorkloadJob) -> bool {
    job.durations.iter().any(|durations| matches!(durations, Durations::Situated(_)))
}

/// Returns whether two policies' runs have the same mean flowtimes and resource usages.
fn are_equal(one: &[RunResult], other: &[RunResult]) -> bool {
    let means = |runs: &[RunResult]| {
        [mean_of(runs, |seed| &seed.flowtime), mean_of(runs, |seed| &seed.resource)].map(|mean| mean.map(f64::to_bits))
    };
    means(one) == means(other)
}

/// Returns the mean over seeds of each seed's mean over its finished jobs.
fn mean_of(seeds: &[RunResult], of: fn(&RunResult) -> &Vec<f64>) -> Option<f64> {
    let finished = |seed: &RunResult| of(seed).iter().copied().filter(|value| value.is_finite()).collect::<Vec<f64>>();
    mean(&seeds.iter().filter_map(|seed| mean(&finished(seed))).collect::<Vec<f64>>())
}
