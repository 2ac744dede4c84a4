//! Metrics of simulated jobs, as they are written in the files of papers.
//!
//! - `mean(QUANTITY)`, `quantile(QUANTITY, SHARE)`, `max(QUANTITY)`, `sum(QUANTITY)`: over jobs.
//! - `spread(QUANTITY)`: the standard deviation divided by the mean.
//! - `share(QUANTITY <= VALUE)`: percentage of jobs.
//! - `ratio(QUANTITY, QUANTITY)`: the sums over jobs, divided.
//! - `jobs()`: number of finished jobs.
//! - `pairs(QUANTITY <= FACTOR)`: percentage of jobs whose quantity is at most FACTOR times that of the same job under
//!   the policy with which the policy is compared.
//! - `matched(QUANTITY, SHARE)`: percentage of jobs within the value within which this share of the jobs is under the
//!   policy with which it is compared. So it does not depend on the unit of the quantity.
//!
//! - `product(QUANTITY, QUANTITY)`: the means over jobs, multiplied.
//! - `efficiency(QUANTITY)`, `efficiency(QUANTITY, QUANTITY)`: one divided by the mean, or by the product of two means.
//! - `energy()`, `dynamic_energy()`: energy of all nodes in the run, with and without their idle power.
//! - `utilization()`: share of the busiest resource in use, in per cent: from time 0 to the end of arrivals, or, without
//!   such a time, until the last attempt ends. Every attempt counts for as long as it runs, also one that is stopped, and
//!   those of abandoned jobs.
//! - `pocd()`: percentage of the jobs with a deadline that meet it (probability of completion before deadline). A job that
//!   was abandoned has missed its deadline. Jobs that were unfinished at the end of the run, before their deadline, are
//!   left out.
//! - `abandoned()`: percentage of the jobs that the policy abandoned.
//! - `choices()`: mean number of slots among which a policy chose when it placed a copy, if the policy counts them.
//!
//! Jobs are those that finished: abandoned jobs, and jobs that were unfinished at the end of the run, count only in the
//! metrics of the whole run: the energies, `utilization()`, `pocd()`, `abandoned()` and `choices()`. So a policy that
//! abandons late jobs has shorter flowtimes for this reason alone. If only jobs count that had finished when arrivals
//! stopped, the metrics of the whole run stay the same.
//!
//! Quantities of a job: `flowtime`, `running_time`, `waiting_time`, `resource`, `net_utility` (−flowtime − resource), `finish`,
//! `tasks`, `copies` (attempts beyond the first of each task), `copies_won`, `cloned_tasks` (tasks with at least one copy),
//! `stopped_early` (first attempts stopped before the copy that won finished), `copy_time`, `copy_won_time`, `copy_range` (longest
//! divided by shortest copy that won), and energies: `energy` of all attempts, `energy_with_static`, `normal_energy`, and
//! `straggler_energy` and `copy_energy` with their parts, such as `copy_won_energy` and `straggler_killed_energy`. `mean`,
//! `quantile`, `share`, `spread` and `ratio` may count only jobs of up to so many tasks: `mean(flowtime; tasks <= 25)`.

mod quantity;
mod words;

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use hindmost_math::statistics::{mean, quantile};

pub use quantity::{JobRow, JobUse, Quantity};

/// A number of one run, or of two runs of the same jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Mean over jobs.
    Mean(Quantity, UpTo),
    /// The value that this share of the jobs does not exceed.
    Quantile(Quantity, f64, UpTo),
    /// Percentage of jobs up to a value.
    Share(Quantity, f64, UpTo),
    /// Standard deviation divided by the mean.
    Spread(Quantity, UpTo),
    /// Largest value.
    Max(Quantity),
    /// Sum over jobs.
    Sum(Quantity),
    /// Sum of the first quantity divided by the sum of the second.
    Ratio(Quantity, Quantity, UpTo),
    /// Number of jobs.
    Jobs,
    /// Percentage of jobs with at most so many times the value of the same job in the other run.
    Pairs(Quantity, f64),
    /// Percentage of jobs up to the value that this share of the jobs does not exceed in the other run.
    Matched(Quantity, f64),
    /// Product of two means over jobs.
    Product(Quantity, Quantity),
    /// One divided by the mean over jobs, or by the product of two means.
    Efficiency(Quantity, Option<Quantity>),
    /// Energy of all nodes in the run.
    RunEnergy,
    /// Energy of all nodes in the run without their idle power.
    DynamicEnergy,
    /// Percentage of the busiest resource in use.
    Utilization,
    /// Percentage of the jobs with a deadline that met it.
    Pocd,
    /// Percentage of the jobs that were abandoned.
    Abandoned,
    /// Mean number of slots among which a policy chose when it placed a copy.
    Choices,
}

/// What is known of a run besides its jobs. NaN stands for what is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFacts {
    /// Energy of all nodes, joules.
    pub energy: f64,
    /// The part of `energy` that nodes use even if nothing runs, joules.
    pub idle_energy: f64,
    /// Share of the busiest resource in use, 0 to 1.
    pub utilization: f64,
    /// Share of the jobs with a deadline that met it, 0 to 1. Abandoned jobs have not; jobs that were unfinished at the
    /// end of the run, before their deadline, are left out.
    pub pocd: f64,
    /// Share of the jobs that were abandoned, 0 to 1.
    pub abandoned: f64,
    /// Mean number of slots among which a policy chose when it placed a copy.
    pub choices: f64,
}

impl RunFacts {
    /// Nothing is known.
    pub const UNKNOWN: RunFacts = RunFacts {
        energy: f64::NAN,
        idle_energy: f64::NAN,
        utilization: f64::NAN,
        pocd: f64::NAN,
        abandoned: f64::NAN,
        choices: f64::NAN,
    };
}

/// The largest number of tasks of the jobs that count; `None`: all jobs count.
type UpTo = Option<f64>;

impl Metric {
    /// Returns whether the metric compares two runs job by job.
    pub fn needs_two(&self) -> bool {
        matches!(self, Metric::Pairs(..) | Metric::Matched(..))
    }

    /// Returns the quantity of a metric that compares two runs.
    pub(crate) fn pairs_quantity(self) -> Option<Quantity> {
        match self {
            Metric::Pairs(quantity, _) | Metric::Matched(quantity, _) => Some(quantity),
            _ => None,
        }
    }

    /// Returns the quantities of which the metric is made.
    fn quantities(&mut self) -> Vec<&mut Quantity> {
        match self {
            Metric::Mean(quantity, _)
            | Metric::Quantile(quantity, ..)
            | Metric::Share(quantity, ..)
            | Metric::Spread(quantity, _)
            | Metric::Max(quantity)
            | Metric::Sum(quantity)
            | Metric::Pairs(quantity, _)
            | Metric::Matched(quantity, _)
            | Metric::Efficiency(quantity, None) => vec![quantity],
            Metric::Ratio(one, other, _) | Metric::Product(one, other) | Metric::Efficiency(one, Some(other)) => {
                vec![one, other]
            }
            Metric::Jobs
            | Metric::RunEnergy
            | Metric::DynamicEnergy
            | Metric::Utilization
            | Metric::Pocd
            | Metric::Abandoned
            | Metric::Choices => Vec::new(),
        }
    }

    /// Returns whether the metric is made from attempts.
    pub(crate) fn needs_attempts(mut self) -> bool {
        self.quantities().into_iter().any(|quantity| quantity.needs_attempts())
    }

    /// Returns the metric with other quantities: each key is replaced by its value.
    #[must_use]
    pub(crate) fn with(mut self, others: &BTreeMap<Quantity, Quantity>) -> Metric {
        for quantity in self.quantities() {
            *quantity = others.get(quantity).copied().unwrap_or(*quantity);
        }
        self
    }

    /// Computes the metric of a run; NaN if it needs two runs, or there are no jobs with the quantity.
    pub fn of(&self, jobs: &[JobRow], run: &RunFacts) -> f64 {
        let values = |quantity: Quantity, up_to: UpTo| -> Vec<f64> {
            let counts = |job: &&JobRow| up_to.is_none_or(|tasks| job.result.tasks as f64 <= tasks);
            let all = jobs.iter().filter(counts).map(|job| quantity.of(job));
            // Only this quantity is missing in some jobs.
            if quantity == Quantity::CopyRange { all.filter(|range| !range.is_nan()).collect() } else { all.collect() }
        };
        let mean_of = |quantity: Quantity| mean(&values(quantity, None));
        let value = match *self {
            Metric::Mean(quantity, up_to) => mean(&values(quantity, up_to)),
            Metric::Quantile(quantity, share, up_to) => quantile(&mut values(quantity, up_to), share),
            Metric::Share(quantity, limit, up_to) => share_up_to(&values(quantity, up_to), limit),
            Metric::Spread(quantity, up_to) => spread(&values(quantity, up_to)),
            Metric::Max(quantity) => values(quantity, None).into_iter().max_by(f64::total_cmp),
            Metric::Sum(quantity) => Some(values(quantity, None).iter().sum()),
            Metric::Ratio(one, other, up_to) => {
                Some(values(one, up_to).iter().sum::<f64>() / values(other, up_to).iter().sum::<f64>())
            }
            Metric::Jobs => Some(jobs.len() as f64),
            Metric::Pairs(..) | Metric::Matched(..) => None,
            Metric::Product(one, other) => mean_of(one).zip(mean_of(other)).map(|(one, other)| one * other),
            Metric::Efficiency(quantity, None) => mean_of(quantity).map(f64::recip),
            Metric::Efficiency(one, Some(other)) => {
                mean_of(one).zip(mean_of(other)).map(|(one, other)| (one * other).recip())
            }
            Metric::RunEnergy => Some(run.energy),
            Metric::DynamicEnergy => Some(run.energy - run.idle_energy),
            Metric::Utilization => Some(100.0 * run.utilization),
            Metric::Pocd => Some(100.0 * run.pocd),
            Metric::Abandoned => Some(100.0 * run.abandoned),
            Metric::Choices => Some(run.choices),
        };
        value.unwrap_or(f64::NAN)
    }

    /// Computes a metric that compares two runs of the same jobs, from the quantity of each job with a number that
    /// identifies the job; NaN for a metric of one run.
    pub fn of_two(&self, jobs: &[(u64, f64)], others: &[(u64, f64)]) -> f64 {
        let all = |jobs: &[(u64, f64)]| -> Vec<f64> { jobs.iter().map(|(_, value)| *value).collect() };
        let value = match *self {
            Metric::Pairs(_, factor) => {
                let paired: HashMap<u64, f64> = others.iter().copied().collect();
                let is_within = |(job, value): &(u64, f64)| Some(*value <= factor * paired.get(job)?);
                let pairs: Vec<bool> = jobs.iter().filter_map(is_within).collect();
                let within = pairs.iter().filter(|within| **within).count();
                (!pairs.is_empty()).then(|| 100.0 * within as f64 / pairs.len() as f64)
            }
            Metric::Matched(_, share) => {
                quantile(&mut all(others), share).and_then(|limit| share_up_to(&all(jobs), limit))
            }
            _ => None,
        };
        value.unwrap_or(f64::NAN)
    }
}

/// Returns the percentage of values of at most `limit`.
fn share_up_to(values: &[f64], limit: f64) -> Option<f64> {
    let within = values.iter().filter(|value| **value <= limit).count();
    (!values.is_empty()).then(|| 100.0 * within as f64 / values.len() as f64)
}

/// Returns the standard deviation of the values divided by their mean.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / values.len() as f64).sqrt() / mean)
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Metric, String> {
        let wrong = || {
            format!(
                "{text:?} is not a metric; use mean, quantile, share, spread, max, sum, ratio, product, efficiency, pairs or \
                 matched with a quantity in parentheses, or jobs(), energy(), dynamic_energy(), utilization(), \
                 pocd(), abandoned() or choices()"
            )
        };
        let (name, rest) = text.trim().split_once('(').ok_or_else(wrong)?;
        let inside = rest.strip_suffix(')').ok_or_else(wrong)?;
        let (inside, up_to) = match inside.split_once(';') {
            Some((inside, filter)) => {
                let (what, limit) = filter.split_once("<=").ok_or_else(wrong)?;
                if what.trim() != "tasks" {
                    return Err(wrong());
                }
                (inside, Some(number(limit)?))
            }
            None => (inside, None),
        };
        let two = |separator: &str| inside.split_once(separator).ok_or_else(wrong);
        let share = |text: &str| {
            number(text).and_then(|share| {
                (0.0..=1.0).contains(&share).then_some(share).ok_or_else(|| format!("{text}: a share is from 0 to 1"))
            })
        };
        let metric = match name.trim() {
            "mean" => Metric::Mean(inside.parse()?, up_to),
            "quantile" => {
                let (quantity, part) = two(",")?;
                Metric::Quantile(quantity.parse()?, share(part)?, up_to)
            }
            "share" => {
                let (quantity, limit) = two("<=")?;
                Metric::Share(quantity.parse()?, number(limit)?, up_to)
            }
            "spread" => Metric::Spread(inside.parse()?, up_to),
            "max" => Metric::Max(inside.parse()?),
            "sum" => Metric::Sum(inside.parse()?),
            "ratio" => {
                let (one, other) = two(",")?;
                Metric::Ratio(one.parse()?, other.parse()?, up_to)
            }
            "product" => {
                let (one, other) = two(",")?;
                Metric::Product(one.parse()?, other.parse()?)
            }
            "efficiency" => match inside.split_once(',') {
                Some((one, other)) => Metric::Efficiency(one.parse()?, Some(other.parse()?)),
                None => Metric::Efficiency(inside.parse()?, None),
            },
            "jobs" if inside.trim().is_empty() => Metric::Jobs,
            "energy" if inside.trim().is_empty() => Metric::RunEnergy,
            "dynamic_energy" if inside.trim().is_empty() => Metric::DynamicEnergy,
            "utilization" if inside.trim().is_empty() => Metric::Utilization,
            "pocd" if inside.trim().is_empty() => Metric::Pocd,
            "abandoned" if inside.trim().is_empty() => Metric::Abandoned,
            "choices" if inside.trim().is_empty() => Metric::Choices,
            "pairs" => {
                let (quantity, factor) = two("<=")?;
                Metric::Pairs(quantity.parse()?, number(factor)?)
            }
            "matched" => {
                let (quantity, part) = two(",")?;
                Metric::Matched(quantity.parse()?, share(part)?)
            }
            _ => return Err(wrong()),
        };
        Ok(metric)
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{:?} is not a number", text.trim()))
}

#[cfg(test)]
mod tests;
