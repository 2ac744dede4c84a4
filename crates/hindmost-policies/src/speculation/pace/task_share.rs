//! How often a copy takes as long as its original: what `pace` learns for each kind of phase, that is for each type of job and
//! name of phase, over all jobs.
//!
//! An original that takes T_o gets a copy that takes T_c. Both are measured in medians of their phase on a node of speed 1, so
//! that slow nodes do not count. As soon as both ends are known or can be extrapolated from progress, the pair gives the ratio
//! of the excesses over a median copy, r = (T_c − 1)/(T_o − 1), limited to [0, 1]: 0 where the original was long by bad luck,
//! 1 where the task itself takes long. After n pairs,
//!
//! ```text
//! w = Σ r / (n + PRIOR).
//! ```
//!
//! Durations that call for copies have long tails, of which a single cause decides whether an original is long. So `pace` reads
//! w as the probability that a copy takes as long as its original.
//!
//! A copy that runs and has not been compared counts as if it had confirmed w. So few copies are tried at a time where copies take
//! long. With each phase of an arriving job, the pairs of its kind count [`KEPT`] times as much. So where copies have stopped,
//! one is tried again from time to time.

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use rustc_hash::FxHashMap;

use crate::speculation::kinds::kind;

/// Weight of the assumption that a copy takes one median, in pairs.
const PRIOR: f64 = 2.0;
/// Share of the weight of pairs that is left when a job with such a phase arrives.
const KEPT: f64 = 0.998;
/// Largest weight of all pairs. What happened long ago does not count for ever.
const MOST: f64 = 50.0;
/// Excess of an original over the median below which a pair shows nothing.
const LEAST: f64 = 0.5;

/// The pairs of one kind of phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pairs {
    /// Sum of the ratios.
    ratios: f64,
    /// Number of pairs, as far as they still count.
    weight: f64,
    /// Number of running copies that have not been compared.
    open: u32,
}

impl Pairs {
    /// Adds the excesses of an original and of its copy over the median, in medians.
    fn add(&mut self, original: f64, copy: f64) {
        if original < LEAST {
            return;
        }
        self.keep(((MOST - 1.0) / self.weight).min(1.0));
        self.ratios += (copy / original).clamp(0.0, 1.0);
        self.weight += 1.0;
    }

    /// Lets the pairs count this many times as much.
    fn keep(&mut self, factor: f64) {
        self.ratios *= factor;
        self.weight *= factor;
    }

    fn share(self) -> f64 {
        if self.ratios <= 0.0 {
            return 0.0;
        }
        let open = f64::from(self.open);
        (self.ratios + open * self.ratios / self.weight) / (self.weight + open + PRIOR)
    }
}

/// The shares of all kinds of phases.
#[derive(Debug, Default)]
pub(super) struct TaskShare {
    kinds: FxHashMap<u64, Pairs>,
    /// Tasks whose original and first copy run and have not been compared: these two, and the kind of the phase.
    open: FxHashMap<TaskId, ([AttemptId; 2], u64)>,
}

impl TaskShare {
    /// Returns the probability that a copy takes as long as its original, in [0, 1].
    pub(super) fn of(&self, task: TaskId, cluster: &Cluster) -> f64 {
        if self.kinds.is_empty() {
            return 0.0;
        }
        let pairs = kind(task.job, task.phase, cluster).and_then(|kind| self.kinds.get(&kind));
        pairs.map_or(0.0, |pairs| pairs.share())
    }

    /// Notes that a job has arrived.
    pub(super) fn job_arrives(&mut self, job: JobId, cluster: &Cluster) {
        if self.kinds.is_empty() {
            return;
        }
        let phases = cluster.job(job).map_or(0, |job| job.phases().len() as u32);
        for phase in 0..phases {
            if let Some(pairs) = kind(job, phase, cluster).and_then(|kind| self.kinds.get_mut(&kind)) {
                pairs.keep(KEPT);
            }
        }
    }

    /// Notes that a copy of a task that runs already has been started. Only the first backup of an original is compared: others
    /// start where the first one was slow too.
    pub(super) fn starts(&mut self, copy: AttemptId, cluster: &Cluster) {
        let (task, mut copies) = (copy.task, cluster.copies(copy.task).map(Attempt::id));
        let (Some(one), Some(other), None) = (copies.next(), copies.next(), copies.next()) else { return };
        let original = if one == copy { other } else { one };
        if let Some(kind) = kind(task.job, task.phase, cluster)
            && self.open.insert(task, ([original, copy], kind)).is_none()
        {
            self.kinds.entry(kind).or_default().open += 1;
        }
    }

    /// Compares a task's original and its first copy, if both durations are known. `work` returns the duration of an attempt on
    /// a node of speed 1, in seconds.
    pub(super) fn compare(&mut self, task: TaskId, cluster: &Cluster, work: impl Fn(AttemptId) -> Option<f64>) {
        let Some(([original, copy], kind)) = self.open.get(&task).copied() else { return };
        let Some((older, younger)) = work(original).zip(work(copy)) else { return };
        let Some(median) = cluster.phase(task).map(Phase::median).filter(|median| *median > 0.0) else { return };
        self.kinds.entry(kind).or_default().add(older / median - 1.0, younger / median - 1.0);
        self.end(task);
    }

    /// Notes that a task has ended, or one of its attempts.
    pub(super) fn end(&mut self, task: TaskId) {
        let pairs = self.open.remove(&task).and_then(|(_, kind)| self.kinds.get_mut(&kind));
        if let Some(pairs) = pairs {
            pairs.open -= 1;
        }
    }

    /// Forgets the tasks that no longer run.
    pub(super) fn forget_gone(&mut self, cluster: &Cluster) {
        let gone = self.open.iter().filter(|(_, (ids, _))| ids.iter().any(|id| cluster.attempt(*id).is_none()));
        let gone: Vec<TaskId> = gone.map(|(task, _)| *task).collect();
        for task in gone {
            self.end(task);
        }
    }
}

/// Returns the time that a copy takes from its start to its end on a node of speed 1, extrapolated from its progress, in
/// seconds. `None` if its progress is unknown, or if it leaves out a part of the work.
pub(super) fn measured_work(copy: &Attempt, cluster: &Cluster) -> Option<f64> {
    let finish = copy.measured_finish().filter(|_| copy.from_progress() <= 0.0)?;
    let speed = cluster.node(copy.node()).map_or(1.0, Node::speed);
    Some((finish - copy.began(cluster.now())).seconds() * speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(pairs: &[(f64, f64)]) -> f64 {
        let mut all = Pairs::default();
        for (original, copy) in pairs {
            all.add(*original, *copy);
        }
        all.share()
    }

    #[test]
    fn copies_as_long_as_their_originals_raise_the_share() {
        assert_eq!(share(&[]), 0.0);
        assert!((share(&[(2.0, 2.0)]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((share(&[(2.0, 3.0), (2.0, 1.0)]) - 1.5 / 4.0).abs() < 1e-12);
        assert!((share(&vec![(2.0, 2.0); 100]) - 50.0 / 52.0).abs() < 1e-9);
    }

    #[test]
    fn copies_of_median_length_leave_it_low() {
        assert_eq!(share(&vec![(4.0, 0.0); 100]), 0.0);
        assert_eq!(share(&vec![(4.0, -0.5); 100]), 0.0);
        assert!((share(&vec![(4.0, 2.0); 100]) - 25.0 / 52.0).abs() < 1e-9);
        // An original of usual length shows nothing.
        assert_eq!(share(&[(0.4, 0.4)]), 0.0);
    }

    #[test]
    fn old_pairs_are_forgotten() {
        let mut pairs: Vec<(f64, f64)> = vec![(2.0, 2.0); 1000];
        pairs.extend(vec![(2.0, 0.0); 150]);
        // (49/50)^150 of the old ones are left.
        assert!((share(&pairs) - 50.0 * 0.98f64.powi(150) / 52.0).abs() < 1e-6);
    }

    #[test]
    fn copies_that_run_count_as_what_is_known() {
        let known = Pairs { ratios: 8.0, weight: 8.0, open: 0 };
        assert!((known.share() - 0.8).abs() < 1e-12);
        assert!((Pairs { open: 2, ..known }.share() - 10.0 / 12.0).abs() < 1e-12);
        assert_eq!(Pairs { open: 9, ..Pairs::default() }.share(), 0.0);
    }
}
