//! Metrics of simulated jobs, as they are written in the files of papers.
//!
//! - `mean(QUANTITY)`, `quantile(QUANTITY, SHARE)`, `max(QUANTITY)`, `sum(QUANTITY)`: over jobs.
//! - `spread(QUANTITY)`: the standard deviation divided by the mean.
//! - `share(QUANTITY <= VALUE)`: percentage of jobs.
//! - `ratio(QUANTITY, QUANTITY)`: the sums over jobs, divided.
//! - `jobs()`: number of jobs.
//! - `pairs(QUANTITY <= FACTOR)`: percentage of jobs whose quantity is at most FACTOR times that of the same job under
//!   the policy with which the policy is compared.
//! - `matched(QUANTITY, SHARE)`: percentage of jobs within the value within which this share of the jobs is under the
//!   policy with which it is compared. So it does not depend on the unit of the quantity.
//!
//! Quantities: `flowtime`, `running_time`, `waiting_time`, `resource`, `net_utility` (−flowtime − resource), `finish`,
//! `tasks`, `copies` (attempts of a job beyond the first of each task). `mean`, `quantile`, `share`, `spread` and
//! `ratio` may count only jobs of up to so many tasks: `mean(flowtime; tasks <= 25)`.

use std::str::FromStr;

use hindmost_core::metrics::JobResult;
use hindmost_math::statistics::{mean, quantile};

/// A finished job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// The job's name.
    pub name: std::sync::Arc<str>,
    /// The job's results.
    pub result: JobResult,
}

/// A number that each job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// From arrival to finish.
    Flowtime,
    /// From the start of the job's first task to the finish.
    RunningTime,
    /// From arrival to the start of the job's first task.
    WaitingTime,
    /// Resource usage: γ × machine time.
    Resource,
    /// Utility minus resource usage, where the utility is −flowtime.
    NetUtility,
    /// Time of the finish.
    Finish,
    /// Number of tasks.
    Tasks,
    /// Attempts beyond the first of each task.
    Copies,
}

const QUANTITIES: [(&str, Quantity, &str); 8] = [
    ("flowtime", Quantity::Flowtime, "flowtime"),
    ("running_time", Quantity::RunningTime, "running time"),
    ("waiting_time", Quantity::WaitingTime, "waiting time"),
    ("resource", Quantity::Resource, "resource usage"),
    ("net_utility", Quantity::NetUtility, "utility minus resource usage"),
    ("finish", Quantity::Finish, "finish time"),
    ("tasks", Quantity::Tasks, "number of tasks"),
    ("copies", Quantity::Copies, "number of copies beyond the first of each task"),
];

impl Quantity {
    /// Returns the quantity of a job.
    pub(crate) fn of(self, job: &JobResult) -> f64 {
        match self {
            Quantity::Flowtime => job.flowtime(),
            Quantity::RunningTime => job.finish - job.start,
            Quantity::WaitingTime => job.start - job.arrival,
            Quantity::Resource => job.resource,
            Quantity::NetUtility => -job.flowtime() - job.resource,
            Quantity::Finish => job.finish,
            Quantity::Tasks => job.tasks as f64,
            Quantity::Copies => job.copies_launched as f64,
        }
    }

    /// Returns the quantity in words.
    pub fn words(self) -> &'static str {
        QUANTITIES.iter().find(|(_, quantity, _)| *quantity == self).map_or("", |(_, _, words)| words)
    }

    /// Returns the unit, if times have the unit `time`.
    pub fn unit(self, time: &str) -> String {
        match self {
            Quantity::Flowtime | Quantity::RunningTime | Quantity::WaitingTime | Quantity::Finish => time.to_owned(),
            Quantity::Resource => format!("γ·{}", if time == "time units" { "units of time" } else { time }),
            Quantity::NetUtility => String::new(),
            Quantity::Tasks => "tasks".to_owned(),
            Quantity::Copies => "copies".to_owned(),
        }
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Quantity, String> {
        QUANTITIES.iter().find(|(name, _, _)| *name == text.trim()).map(|(_, quantity, _)| *quantity).ok_or_else(|| {
            let names: Vec<&str> = QUANTITIES.iter().map(|(name, _, _)| *name).collect();
            format!("{:?} is not a quantity of a job; use {}", text.trim(), names.join(", "))
        })
    }
}

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
}

/// The largest number of tasks of the jobs that count; `None`: all jobs count.
type UpTo = Option<f64>;

impl Metric {
    /// Returns whether the metric compares two runs job by job.
    pub fn needs_two(&self) -> bool {
        matches!(self, Metric::Pairs(..) | Metric::Matched(..))
    }

    /// Computes the metric of a run; NaN if it needs two runs or there are no jobs.
    pub fn of(&self, jobs: &[JobRow]) -> f64 {
        let values = |quantity: Quantity, up_to: UpTo| -> Vec<f64> {
            let counts = |job: &&JobRow| up_to.is_none_or(|tasks| job.result.tasks as f64 <= tasks);
            jobs.iter().filter(counts).map(|job| quantity.of(&job.result)).collect()
        };
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
        };
        value.unwrap_or(f64::NAN)
    }

    /// Computes the metric of two runs of the same jobs. Both lists are sorted by job. A metric of one run is that of
    /// the first.
    pub fn of_two(&self, jobs: &[JobRow], other: &[JobRow]) -> f64 {
        let all = |jobs: &[JobRow], quantity: Quantity| -> Vec<f64> {
            jobs.iter().map(|job| quantity.of(&job.result)).collect()
        };
        let value = match *self {
            Metric::Pairs(quantity, factor) => {
                let paired: std::collections::HashMap<&str, f64> =
                    other.iter().map(|job| (&*job.name, quantity.of(&job.result))).collect();
                let pairs: Vec<bool> = jobs
                    .iter()
                    .filter_map(|job| Some(quantity.of(&job.result) <= factor * paired.get(&*job.name)?))
                    .collect();
                let within = pairs.iter().filter(|within| **within).count();
                (!pairs.is_empty()).then(|| 100.0 * within as f64 / pairs.len() as f64)
            }
            Metric::Matched(quantity, share) => {
                quantile(&mut all(other, quantity), share).and_then(|limit| share_up_to(&all(jobs, quantity), limit))
            }
            _ => Some(self.of(jobs)),
        };
        value.unwrap_or(f64::NAN)
    }

    /// Returns the metric in words, such as `mean flowtime`.
    pub fn words(&self) -> String {
        let of = |up_to: UpTo| up_to.map_or(String::new(), |tasks| format!(" of jobs of up to {tasks} tasks"));
        match self {
            Metric::Mean(quantity, up_to) => format!("mean {}{}", quantity.words(), of(*up_to)),
            Metric::Quantile(quantity @ (Quantity::Flowtime | Quantity::RunningTime), share, up_to) => {
                format!("{} within which {}% of the jobs{} finish", quantity.words(), 100.0 * share, of(*up_to))
            }
            Metric::Quantile(quantity, share, up_to) => {
                format!("{} that {}% of the jobs{} do not exceed", quantity.words(), 100.0 * share, of(*up_to))
            }
            Metric::Share(quantity, limit, up_to) => {
                format!("share of jobs{} with a {} of at most {limit}", of(*up_to), quantity.words())
            }
            Metric::Spread(quantity, up_to) => {
                format!("standard deviation of the {}{} divided by its mean", quantity.words(), of(*up_to))
            }
            Metric::Max(Quantity::Finish) => "makespan".to_owned(),
            Metric::Max(quantity) => format!("largest {}", quantity.words()),
            Metric::Sum(Quantity::Finish) => "sum of completion times".to_owned(),
            Metric::Sum(quantity) => format!("total {}", quantity.words()),
            Metric::Ratio(Quantity::Copies, Quantity::Tasks, up_to) => {
                format!("copies of a task{}, without its first attempt", of(*up_to))
            }
            Metric::Ratio(one, other, up_to) => format!("{} divided by {}{}", one.words(), other.words(), of(*up_to)),
            Metric::Jobs => "jobs".to_owned(),
            Metric::Pairs(quantity, factor) => {
                format!("share of jobs with at most {factor} times the {}", quantity.words())
            }
            Metric::Matched(quantity, share) => {
                format!("share of jobs within the {} of {}% of the jobs", quantity.words(), 100.0 * share)
            }
        }
    }

    /// Returns the unit of the metric, if times have the unit `time`.
    pub fn unit(&self, time: &str) -> String {
        match self {
            Metric::Mean(quantity, _)
            | Metric::Quantile(quantity, ..)
            | Metric::Max(quantity)
            | Metric::Sum(quantity) => quantity.unit(time),
            Metric::Share(..) | Metric::Pairs(..) | Metric::Matched(..) => "%".to_owned(),
            Metric::Spread(..) | Metric::Ratio(..) => String::new(),
            Metric::Jobs => "jobs".to_owned(),
        }
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
                "{text:?} is not a metric; use mean, quantile, share, spread, max, sum, ratio, pairs or matched with a \
                 quantity in parentheses, or jobs()"
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
            "jobs" if inside.trim().is_empty() => Metric::Jobs,
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
mod tests {
    use super::*;

    fn job(name: &str, finish: f64, resource: f64, tasks: u64) -> JobRow {
        let result = JobResult {
            arrival: 1.0,
            start: 2.0,
            finish,
            resource,
            wasted: 0.0,
            slowdown: 1.0,
            tasks,
            attempts: tasks + 1,
            copies_launched: 1,
            copies_won: 0,
            met_deadline: None,
            energy: None,
        };
        JobRow { name: name.into(), result }
    }

    #[test]
    fn metrics_of_one_run() {
        let jobs = [job("a", 3.0, 1.0, 10), job("b", 5.0, 2.0, 30), job("c", 9.0, 6.0, 40)];
        for (text, value) in [
            ("mean(flowtime)", 14.0 / 3.0),
            ("mean(flowtime; tasks <= 30)", 3.0),
            ("quantile(flowtime, 0.5)", 4.0),
            ("share(running_time <= 3)", 200.0 / 3.0),
            ("max(finish)", 9.0),
            ("sum(resource)", 9.0),
            ("ratio(copies, tasks)", 3.0 / 80.0),
            ("ratio(copies, tasks; tasks <= 30)", 2.0 / 40.0),
            ("mean(net_utility)", -(14.0 + 9.0) / 3.0),
            ("mean(waiting_time)", 1.0),
            ("jobs()", 3.0),
        ] {
            let measured = text.parse::<Metric>().unwrap().of(&jobs);
            assert!((measured - value).abs() < 1e-12, "{text}: {measured}");
        }
        let spread = "spread(running_time)".parse::<Metric>().unwrap().of(&jobs[..2]);
        assert!((spread - 0.5).abs() < 1e-12);
        assert!("mean(flowtime)".parse::<Metric>().unwrap().of(&[]).is_nan());
    }

    #[test]
    fn metrics_of_two_runs_pair_jobs_by_name() {
        let jobs = [job("a", 3.0, 1.0, 1), job("b", 5.0, 1.0, 1), job("c", 9.0, 1.0, 1), job("d", 2.0, 1.0, 1)];
        let other = [job("c", 10.0, 1.0, 1), job("b", 7.0, 1.0, 1), job("a", 11.0, 1.0, 1)];
        // a: 2 against 10, b: 4 against 6, c: 8 against 9; d has no pair.
        let pairs = |text: &str| text.parse::<Metric>().unwrap().of_two(&jobs, &other);
        assert!((pairs("pairs(flowtime <= 0.7)") - 200.0 / 3.0).abs() < 1e-12);
        // Half of the other jobs have a flowtime of at most 9; all of these jobs have.
        assert_eq!(pairs("matched(flowtime, 0.5)"), 100.0);
        assert!(Metric::Pairs(Quantity::Flowtime, 1.0).of(&jobs).is_nan());
    }

    #[test]
    fn wrong_metrics_are_errors() {
        for text in
            ["mean", "mean(speed)", "quantile(flowtime, 2)", "share(flowtime, 3)", "mean(flowtime; jobs <= 3)", "x()"]
        {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
    }
}
