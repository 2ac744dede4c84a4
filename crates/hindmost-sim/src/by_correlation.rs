//! The same comparison for several values of `workload.correlation`, side by side.
//!
//! How much copies help depends on the share of a duration that belongs to the task, because all its copies have that share in
//! common. Few users know it. If a scenario does not give it, the results for several values stand side by side. All values
//! have the same jobs and the same first attempts, so only policies that start copies run again, on the first few seeds.

use hindmost_core::metrics::{ByCorrelation, CorrelationResult};
use hindmost_math::statistics::mean;

use crate::compare::versus;
use crate::driver::RunResult;
use crate::experiment::{Experiment, Jobs, Results};
use crate::scenario::{CommonPart, Scenario};

/// The values that are compared if the scenario gives none.
pub const VALUES: [f64; 3] = [0.0, 0.5, 0.9];
/// Largest number of seeds on which policies run for each value.
pub const SEEDS: usize = 3;

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
    /// Plans the runs for these values, from the results of a comparison. `None` if there is nothing to compare: a single
    /// policy or value, jobs with given durations, or no policy that starts copies.
    pub fn of(experiment: &Experiment, results: &Results, values: &[f64]) -> Option<Plan> {
        if values.len() < 2 || results.len() < 2 || matches!(experiment.jobs, Jobs::Given(_)) {
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
            other.seeds.truncate(SEEDS);
            other.setup.correlation = correlation;
            other.setup.keeps_profiles = false;
            other
        };
        let others = values.iter().filter(|value| **value != experiment.setup.correlation);
        Some(Plan { experiments: others.map(|value| at(*value)).collect(), values: values.to_vec(), moving })
    }

    /// Returns the results of all values, from those of the comparison and of the planned experiments. `None` if they are
    /// the same for all values, because durations do not vary.
    pub fn table(&self, experiment: &Experiment, results: &Results, others: &[Results]) -> Option<ByCorrelation> {
        let seeds = experiment.seeds.len().min(SEEDS);
        let mut others = others.iter();
        let mut table = Vec::new();
        for value in &self.values {
            let mut of_value: Vec<&[RunResult]> = results.iter().map(|of| &of[..seeds.min(of.len())]).collect();
            if *value != experiment.setup.correlation {
                for (at, of_policy) in self.moving.iter().zip(others.next()?) {
                    of_value[*at] = of_policy;
                }
            }
            let first = *of_value.first()?;
            table.extend(experiment.policies.iter().zip(&of_value).map(|(policy, of_policy)| CorrelationResult {
                policy: policy.to_string(),
                correlation: *value,
                flowtime_mean: mean_of(of_policy, |seed| &seed.flowtime),
                resource_mean: mean_of(of_policy, |seed| &seed.resource),
                versus_first: versus(first, of_policy),
            }));
        }
        let policies = experiment.policies.len();
        let means =
            |row: &CorrelationResult| (row.flowtime_mean.map(f64::to_bits), row.resource_mean.map(f64::to_bits));
        let differ =
            table.chunks(policies).any(|rows| rows.iter().map(means).ne(table.iter().take(policies).map(means)));
        differ.then(|| ByCorrelation {
            seeds: experiment.seeds[..seeds].to_vec(),
            used: experiment.setup.correlation,
            correlations: self.values.clone(),
            results: table,
        })
    }
}

/// Returns the mean over seeds of each seed's mean over its finished jobs.
fn mean_of(seeds: &[RunResult], of: fn(&RunResult) -> &Vec<f64>) -> Option<f64> {
    let finished = |seed: &RunResult| of(seed).iter().copied().filter(|value| value.is_finite()).collect::<Vec<f64>>();
    mean(&seeds.iter().filter_map(|seed| mean(&finished(seed))).collect::<Vec<f64>>())
}
