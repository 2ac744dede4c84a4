//! What the copies of a phase have taught `pace`: whether durations belong to the task, so that a copy takes as long as its
//! original, or to luck or the node, so that a copy is worth its resources.
//!
//! - A copy that finishes before an older copy of its task, or makes it overtaken, is a win.
//! - A copy that runs when an older copy finishes, or that is stopped because it was overtaken, is a loss. Its weight is its
//!   age in medians of its phase, at most 1: a copy that had no time to finish proves little, and has cost little. But a
//!   copy whose measured progress shows that it takes about as long as the older one ([`ALIKE`]) has the weight [`MEASURED`].
//!
//! - If only ages are known, a copy that becomes as old as attempts must be to get a copy is a loss at that moment.
//!
//! If only ages are known, copies are tried one at a time in each phase until one of them has won.
//!
//! Where losses outweigh two times the wins, each further loss doubles the age or the remaining time from which on an
//! attempt gets a copy, up to [`MOST_DOUBLINGS`] times. Wins halve it again.

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::Seen;
use hindmost_core::record::{Decision, Event, StopReason};
use hindmost_core::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::ALIKE;
use super::task_share::{TaskShare, measured_work};
use crate::speculation::kinds::kind;

/// Weight of a loss of a copy whose measured progress shows that it takes about as long as an older one: that is no accident.
const MEASURED: f64 = 2.0;
/// A win counts as much as this many losses, because it saves at least the time that the original still needed.
const WIN: f64 = 2.0;
/// The limits are doubled at most this many times. An attempt that hangs gets its copy in the end, whatever happened before.
const MOST_DOUBLINGS: f64 = 4.0;

/// The copies of one phase whose outcome is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcomes {
    /// Number of copies that were faster than an older one.
    pub(super) won: u32,
    /// Sum of the weights of copies that were slower than an older one.
    pub(super) lost: f64,
    /// Number of these copies.
    pub(super) losers: u32,
    /// Number of running copies whose outcome is open.
    pub(super) open: u32,
    /// Number of copies of this task that were stopped because they took long as well.
    pub(super) stopped: u32,
    /// True if at least [`Recent::SHARE`] of the copies of such phases have won.
    pub(super) promises: bool,
}

impl Outcomes {
    /// Returns the factor by which copies must pay more than usual: 1, 2, 4, …
    pub(super) fn factor(self) -> f64 {
        let of_phase = (self.lost - WIN * f64::from(self.won)).floor().clamp(0.0, MOST_DOUBLINGS);
        (of_phase + f64::from(self.stopped)).exp2()
    }

    /// Returns true if copies of this phase have won, and not lost more often.
    pub(super) fn copies_win(self) -> bool {
        self.won > 0 && f64::from(self.won) >= self.lost
    }

    /// Returns true if copies of this phase have won, or some of such phases.
    pub(super) fn promises(self) -> bool {
        self.promises || self.copies_win()
    }

    /// Returns true if a copy may be tried although only ages are known.
    pub(super) fn may_try(self) -> bool {
        self.open == 0 || self.promises()
    }
}

/// The outcomes of copies of one kind of phase, over all jobs. The last [`Recent::MOST`] of them count.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    won: f64,
    all: f64,
}

impl Recent {
    const MOST: f64 = 100.0;
    /// Number of outcomes below which they promise nothing.
    const LEAST: f64 = 5.0;
    /// Share of copies that must have won: the few that win save more than the many that lose cost, if durations have a long tail.
    /// Where durations belong to the task, none wins.
    const SHARE: f64 = 0.03;

    fn add(&mut self, won: u32, lost: f64) {
        let keep = (Recent::MOST / (self.all + f64::from(won) + lost)).min(1.0);
        self.won = (self.won + f64::from(won)) * keep;
        self.all = (self.all + f64::from(won) + lost) * keep;
    }

    fn promises(self) -> bool {
        self.all >= Recent::LEAST && self.won >= Recent::SHARE * self.all
    }
}

/// The outcomes of copies, by phase.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    outcomes: FxHashMap<(JobId, u32), Outcomes>,
    /// Running copies whose outcome is open.
    open: FxHashSet<AttemptId>,
    /// The number of copies of each task that were counted as late.
    late: FxHashMap<TaskId, u32>,
    /// The number of copies of each task that were stopped because they took long as well.
    stopped: FxHashMap<TaskId, u32>,
    /// The longest time that a winner of each phase has taken, in seconds on a node of speed 1.
    longest: FxHashMap<(JobId, u32), f64>,
    recent: FxHashMap<u64, Recent>,
    task_share: TaskShare,
    /// The job that finished with the last event: its outcomes are kept until the next record, for the summary.
    finished_job: Option<JobId>,
}

impl Evidence {
    /// Returns the outcomes of a phase's copies.
    pub(super) fn known_of(&self, task: TaskId, cluster: &Cluster) -> Outcomes {
        let recent = kind(task.job, task.phase, cluster).and_then(|kind| self.recent.get(&kind));
        Outcomes { promises: recent.is_some_and(|recent| recent.promises()), ..self.of(task) }
    }

    /// Returns the outcomes of a phase's copies, without what other jobs have taught.
    pub(super) fn of(&self, task: TaskId) -> Outcomes {
        let of_phase = self.outcomes.get(&(task.job, task.phase)).copied().unwrap_or_default();
        Outcomes { stopped: self.stopped.get(&task).copied().unwrap_or(0), ..of_phase }
    }

    /// Returns the outcomes of a phase's copies, except those of this task's own copies that were counted as late.
    pub(super) fn of_others(&self, task: TaskId) -> Outcomes {
        let all = self.of(task);
        let own = f64::from(self.late.get(&task).copied().unwrap_or(0));
        Outcomes { lost: (all.lost - own).max(0.0), ..all }
    }

    /// Returns the longest time that a winner of a task's phase has taken, in seconds on a node of speed 1.
    pub(super) fn longest(&self, task: TaskId) -> f64 {
        self.longest.get(&(task.job, task.phase)).copied().unwrap_or(0.0)
    }

    /// Returns true if the outcome of a copy is open.
    pub(super) fn is_open(&self, copy: AttemptId) -> bool {
        self.open.contains(&copy)
    }

    /// Notes that the outcome of a copy is known, or will never be. Returns true if it was open.
    fn close(&mut self, copy: AttemptId) -> bool {
        let was_open = self.open.remove(&copy);
        if let Some(outcomes) = self.outcomes.get_mut(&(copy.task.job, copy.task.phase)).filter(|_| was_open) {
            outcomes.open -= 1;
        }
        was_open
    }

    /// Counts a copy that has become as old as attempts must be to get a copy. Only ages are known.
    pub(super) fn late(&mut self, copy: AttemptId, cluster: &Cluster) {
        if self.close(copy) {
            *self.late.entry(copy.task).or_default() += 1;
            self.count(copy.task, (0, 1.0, 1), cluster);
        }
    }

    /// Counts copies that won, and the weights and the number of those that lost.
    fn count(&mut self, task: TaskId, (won, lost, losers): (u32, f64, u32), cluster: &Cluster) {
        let outcomes = self.outcomes.entry((task.job, task.phase)).or_default();
        outcomes.won += won;
        outcomes.lost += lost;
        outcomes.losers += losers;
        if let Some(kind) = kind(task.job, task.phase, cluster) {
            self.recent.entry(kind).or_default().add(won, lost);
        }
    }

    fn forget_job(&mut self, job: JobId) {
        self.outcomes.retain(|(known, _), _| *known != job);
        self.longest.retain(|(known, _), _| *known != job);
        self.open.retain(|copy| copy.task.job != job);
        self.stopped.retain(|task, _| task.job != job);
        self.late.retain(|task, _| task.job != job);
    }

    /// Returns the probability that a copy takes as long as its original, in [0, 1].
    pub(super) fn task_share(&self, task: TaskId, cluster: &Cluster) -> f64 {
        self.task_share.of(task, cluster)
    }

    /// Observes a record. Returns the phase whose factor has changed.
    pub(super) fn observe(&mut self, seen: Seen<'_>, cluster: &Cluster) -> Option<(JobId, u32)> {
        if let Some(job) = self.finished_job.take() {
            self.forget_job(job);
        }
        match seen {
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                let before = self.of(attempt.task).factor();
                self.close(*attempt);
                if let Some((node, since)) = applied.released.filter(|_| applied.won) {
                    let began = since + applied.waited;
                    let took = (cluster.now() - began).seconds() * cluster.node(node).map_or(1.0, Node::speed);
                    let longest = self.longest.entry((attempt.task.job, attempt.task.phase)).or_default();
                    *longest = longest.max(took);
                    self.finished(attempt.task, (since, began), cluster);
                    self.compare(attempt.task, Some((*attempt, node, began)), cluster);
                    self.task_share.end(attempt.task);
                }
                if applied.job_finished {
                    self.finished_job = Some(attempt.task.job);
                    return None;
                }
                self.changed(attempt.task, before)
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.forget_job(*job);
                self.task_share.forget_gone(cluster);
                None
            }
            // It is stopped because it takes long as well.
            Seen::Decision(Decision::Stop { attempt, reason: StopReason::Overtaken }) => {
                if cluster.attempt(*attempt).is_some_and(|copy| copy.measured_finish().is_none()) {
                    let before = self.of(attempt.task).factor();
                    *self.stopped.entry(attempt.task).or_default() += 1;
                    self.late(*attempt, cluster);
                    return self.changed(attempt.task, before);
                }
                None
            }
            Seen::Decision(Decision::Start { attempt, .. }) => {
                if cluster.task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
                    self.task_share.starts(*attempt, cluster);
                    if self.open.insert(*attempt) {
                        self.outcomes.entry((attempt.task.job, attempt.task.phase)).or_default().open += 1;
                    }
                }
                None
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                self.task_share.end(attempt.task);
                self.close(*attempt);
                None
            }
            // The duration of a copy is known now.
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                self.compare(attempt.task, None, cluster);
                None
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                let gone = self.open.iter().copied().filter(|copy| cluster.attempt(*copy).is_none());
                let gone: Vec<AttemptId> = gone.collect();
                for copy in gone {
                    self.close(copy);
                }
                self.task_share.forget_gone(cluster);
                None
            }
            Seen::Event(Event::JobArrived { job, .. }, _) => {
                self.task_share.job_arrives(*job, cluster);
                None
            }
            _ => None,
        }
    }

    fn changed(&self, task: TaskId, before: f64) -> Option<(JobId, u32)> {
        (self.of(task).factor() != before).then_some((task.job, task.phase))
    }

    /// Counts the copies that run when a copy finishes that was started at `since` and whose command began at `began`.
    fn finished(&mut self, task: TaskId, (since, began): (Time, Time), cluster: &Cluster) {
        // Copies that are being stopped were counted when that was decided.
        let others = cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping);
        let (mut has_older, mut lost, mut losers) = (false, 0.0, 0);
        let others: Vec<&Attempt> = others.collect();
        for other in others {
            has_older |= other.since() < since;
            let took = (cluster.now() - began).seconds();
            let is_open = self.close(other.id());
            if is_open && other.since() > since {
                lost += weight(other, took, cluster);
                losers += 1;
            }
        }
        self.stopped.remove(&task);
        self.late.remove(&task);
        if has_older || lost > 0.0 {
            self.count(task, (u32::from(has_older), lost, losers), cluster);
        }
    }

    /// Compares the durations of a task's copies. One of them may just have finished: it ran on this node since this time.
    fn compare(&mut self, task: TaskId, finished: Option<(AttemptId, NodeId, Time)>, cluster: &Cluster) {
        self.task_share.compare(task, cluster, |id| match finished {
            Some((attempt, node, since)) if attempt == id => {
                Some((cluster.now() - since).seconds() * cluster.node(node).map_or(1.0, Node::speed))
            }
            _ => measured_work(cluster.attempt(id)?, cluster),
        });
    }

    /// Counts a copy that is stopped because another one of its task will finish sooner.
    pub(super) fn overtaken(&mut self, stopped: AttemptId, cluster: &Cluster) {
        let Some(copy) = cluster.attempt(stopped) else { return };
        self.compare(stopped.task, None, cluster);
        let older = cluster.copies(stopped.task).filter(|other| other.since() < copy.since());
        let takes = older.map(|other| measured(other).unwrap_or(f64::INFINITY)).reduce(f64::min);
        self.close(stopped);
        let counted = takes.map_or((1, 0.0, 0), |takes| (0, weight(copy, takes, cluster), 1));
        self.count(stopped.task, counted, cluster);
    }
}

/// Returns the time that a copy takes from its start to its end, extrapolated from its progress, in seconds. `None` if its
/// progress is unknown.
pub(super) fn measured(copy: &Attempt) -> Option<f64> {
    copy.measured_finish().map(|finish| (finish - copy.began(copy.since())).seconds())
}

/// Returns the weight of a copy that lost to an older one, which takes `takes` seconds: its age in medians of its phase, at
/// most 1, or [`MEASURED`].
fn weight(copy: &Attempt, takes: f64, cluster: &Cluster) -> f64 {
    if measured(copy).is_some_and(|time| time >= ALIKE * takes) {
        return MEASURED;
    }
    let median = cluster.phase(copy.id().task).map_or(0.0, Phase::median);
    let age = copy.age(cluster.now()).seconds();
    if age < median { age / median } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(won: u32, lost: f64) -> Outcomes {
        Outcomes { won, lost, ..Outcomes::default() }
    }

    #[test]
    fn losses_make_copies_rarer_and_wins_bring_them_back() {
        let factors = [(0, 0.0), (0, 0.9), (0, 1.0), (0, 2.5), (1, 2.5), (1, 4.0), (0, 9.0)];
        assert_eq!(factors.map(|(won, lost)| outcomes(won, lost).factor()), [1.0, 1.0, 2.0, 4.0, 1.0, 4.0, 16.0]);
    }

    #[test]
    fn copies_win_unless_they_lose_more_often() {
        assert!(!outcomes(0, 0.0).copies_win());
        assert!(outcomes(1, 1.0).copies_win());
        assert!(!outcomes(1, 1.5).copies_win());
    }
}
