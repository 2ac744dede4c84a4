//! How much longer than usual a task takes because its input is larger than usual.
//!
//! A task whose input is b times as large as the median input of its phase takes b times as long, and its copy too, if the durations of
//! the phase follow the sizes of the inputs. They do if the durations of winners, divided by the sizes, vary less than the durations
//! themselves (as logarithms).
//!
//! - An attempt whose progress is known seems to need long, for what its phase needs. If its input is as much larger, that is the
//!   likelier reason, and a copy would need as long. This is assumed until [`FEWEST`] winners show that durations do not
//!   follow sizes.
//! - If only ages are known, larger inputs excuse higher ages in `pace` only where winners have shown ([`CLEAR`]) that durations follow
//!   sizes; in `auto`, where durations are learned, until winners have shown that they do not: those with small inputs end first.
//!
//! A small input is never a reason to expect less than the median.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::policy::Seen;
use hindmost_core::record::{Decision, Event};
use rustc_hash::FxHashMap;

/// Number of winners of a phase from which on they show whether durations follow sizes.
const FEWEST: u32 = 5;
/// Durations clearly follow sizes if, divided by the sizes, their logarithms have less than this share of their variance.
const CLEAR: f64 = 0.5;

/// The mean and the sum of squared deviations of numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    mean: f64,
    squares: f64,
}

impl Spread {
    /// Adds a number, which is the `count`th (Welford's method).
    fn add(&mut self, number: f64, count: u32) {
        let before = number - self.mean;
        self.mean += before / f64::from(count);
        self.squares += before * (number - self.mean);
    }
}

/// The sizes of the inputs of one phase, and how long its winners took.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    /// Median size in bytes.
    median: f64,
    winners: u32,
    /// Logarithms of the durations of winners, and of their durations divided by the sizes of their inputs.
    durations: Spread,
    per_byte: Spread,
}

impl Sizes {
    fn new(bytes: &[u64]) -> Option<Sizes> {
        let mut sorted = bytes.to_vec();
        sorted.sort_unstable();
        let (median, largest) = (*sorted.get(sorted.len() / 2)?, *sorted.last()?);
        (largest > median && median > 0).then(|| Sizes { median: median as f64, ..Sizes::default() })
    }

    fn add(&mut self, seconds: f64, bytes: u64) {
        if seconds > 0.0 {
            self.winners += 1;
            self.durations.add(seconds.ln(), self.winners);
            self.per_byte.add((seconds / bytes.max(1) as f64).ln(), self.winners);
        }
    }

    /// Returns true if the durations follow the sizes, as far as is known. `clearly` demands proof.
    fn count(&self, clearly: bool) -> bool {
        let bound = if clearly { CLEAR } else { 1.0 };
        // Sizes of winners that don't differ show nothing.
        let limit = bound * self.durations.squares * (1.0 + 1e-9);
        if self.winners < FEWEST { !clearly } else { self.per_byte.squares <= limit }
    }
}

/// The sizes of the inputs of all phases in which they differ.
#[derive(Debug, Default)]
pub(super) struct InputSizes(FxHashMap<(JobId, u32), Sizes>);

impl InputSizes {
    /// Returns how many times as long as the median copy of its phase a task is expected to take because of its input, at least 1.
    /// If `clearly` is true, it is 1 unless winners have shown that durations follow sizes.
    pub(super) fn factor(&self, task: TaskId, clearly: bool, cluster: &Cluster) -> f64 {
        self.median((task.job, task.phase), clearly).map_or(1.0, |median| times(task, median, cluster))
    }

    /// Returns the median size in bytes of a phase whose durations follow the sizes, as far as is known. `clearly` demands that winners
    /// have shown it.
    pub(super) fn median(&self, phase: (JobId, u32), clearly: bool) -> Option<f64> {
        Some(self.0.get(&phase).filter(|known| known.count(clearly))?.median)
    }

    /// Observes a record after it was applied.
    pub(super) fn observe(&mut self, seen: Seen<'_>, cluster: &Cluster) {
        match seen {
            Seen::Event(Event::JobArrived { job, .. }, _) => {
                let phases = cluster.job(*job).into_iter().flat_map(|job| job.spec().phases.iter().enumerate());
                let sizes =
                    phases.filter_map(|(phase, spec)| Some((phase as u32, Sizes::new(&spec.input.as_ref()?.bytes)?)));
                self.0.extend(sizes.map(|(phase, sizes)| ((*job, phase), sizes)));
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) if !self.0.is_empty() => {
                let task = attempt.task;
                if let Some((node, since)) = applied.released.filter(|_| applied.won)
                    && let Some(known) = self.0.get_mut(&(task.job, task.phase))
                    && let Some(bytes) = cluster.input_bytes(task)
                {
                    let seconds = (cluster.now() - (since + applied.waited)).seconds();
                    known.add(seconds * cluster.node(node).map_or(1.0, Node::speed), bytes);
                }
                if applied.job_finished {
                    self.forget_job(task.job);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => self.forget_job(*job),
            _ => {}
        }
    }

    fn forget_job(&mut self, job: JobId) {
        self.0.retain(|(known, _), _| *known != job);
    }
}

/// Returns how many times as large as this median the input of a task is, at least 1.
pub(super) fn times(task: TaskId, median: f64, cluster: &Cluster) -> f64 {
    cluster.input_bytes(task).map_or(1.0, |bytes| (bytes as f64 / median).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(winners: &[(f64, u64)]) -> Sizes {
        let mut sizes = Sizes::new(&[1, 2, 3]).unwrap();
        for (seconds, bytes) in winners {
            sizes.add(*seconds, *bytes);
        }
        sizes
    }

    #[test]
    fn sizes_that_do_not_differ_or_are_unknown_explain_nothing() {
        assert!(Sizes::new(&[]).is_none() && Sizes::new(&[4, 4, 4]).is_none() && Sizes::new(&[0, 0, 9]).is_none());
        assert_eq!(Sizes::new(&[9, 1, 4]).map(|sizes| sizes.median), Some(4.0));
    }

    #[test]
    fn durations_follow_sizes_until_winners_show_otherwise() {
        let few = sizes(&[(1.0, 1), (1.0, 9)]);
        assert!(few.count(false) && !few.count(true));
        let follow = sizes(&[(1.0, 10), (2.0, 19), (4.1, 40), (8.0, 82), (3.0, 30)]);
        assert!(follow.count(false) && follow.count(true));
        let alike = sizes(&[(1.0, 10), (1.1, 10), (0.9, 10), (1.05, 10), (1.2, 10)]);
        assert!(alike.count(false) && !alike.count(true), "small ones end first and show nothing of the others");
        let do_not = sizes(&[(1.0, 10), (1.1, 80), (0.9, 20), (1.0, 5), (1.2, 40)]);
        assert!(!do_not.count(false) && !do_not.count(true));
    }
}
