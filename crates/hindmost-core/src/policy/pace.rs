//! `pace` (ours): backs up attempts that fall behind the pace of their phase, and keeps new ones off
//! slow nodes. Made for live work, where a slow node shows long before a fixed share of its work is done.
//!
//! An attempt lags when its progress is less than 1/`lag` of what the median copy of its phase has done
//! at its age, asked from the age `after` medians on; its remaining time is then what its progress so
//! far foretells. Where copies tell no progress, it lags once it has run for longer than `late` times
//! what nine of ten copies take (and than `late` medians), and is expected to need as long again.
//! A lagging attempt gets one backup, the longest remaining time first, on the fastest node with room:
//! while tasks are pending if that saves resources (remaining time above two fresh copies, as in Mantri),
//! otherwise if the backup is expected to end clearly sooner (`margin`). An attempt on a slow node that ends before
//! the others have come to the end of what is pending needs none. Once a backup's own progress
//! foretells its end, a copy that must end well after it is stopped: what it would still do is lost. Where
//! copies tell no progress that is only said of a copy on a node known to be slow, beside one on a node that is
//! not: it is taken to need as long again as it has run, the other one what is left of the median.
//! Where there is no room for a backup, a lagging attempt on a slow node is stopped to be started afresh
//! elsewhere, if its remaining time is more than twice what the other nodes need for all that is pending,
//! and a fresh copy would need as long there.
//!
//! Originals go to the fastest node with the most free room. A node known to be slow gets one only if
//! it is expected to be done before the others have come to it: with p tasks pending, room for c copies
//! on nodes that are not slow, and speed s, if 1/s ≤ 1 + p/c.
//!
//! Passes: `[Backups(saving), Originals(order, by speed), Backups(sooner)]`; each stops what is outrun.
//!
//! Unlike rules on remaining time it does not wait until a share S of the work is done (`progress(S)`):
//! what it asks is whether an attempt has done much less than others had at its age.
//!
//! Parameters: `lag`, 2; `after`, medians, 0.1; `late`, 1.2; `margin`, 1.2; `slow`, speed below which a
//! node is slow, 0.67.

use crate::cluster::{Attempt, AttemptState, Cluster, Node, Phase};
use crate::estimator::{Knowledge, Pace};
use crate::ids::{AttemptId, NodeId, TaskId};
use crate::record::{Condition, Decision, Event, StopReason};

use super::queue::Which;
use super::{Pass, Round, Seen, View, is_only_copy};

/// The parameters of `pace`. See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub struct PaceParameters {
    /// How many times as long as the median copy an attempt must be about to take.
    pub lag: f64,
    /// Age, in medians, below which progress is not judged.
    pub after: f64,
    /// Factor on the age that nine of ten copies do not exceed, where no progress is told.
    pub late: f64,
    /// A backup must be expected to be so many times as fast as waiting.
    pub margin: f64,
    /// Speed below which a node is slow, relative to 1.
    pub slow: f64,
}

/// A backup that is started while others wait must save resources: the original and the backup both run
/// for as long as the backup takes.
const SAVING: f64 = 2.0;

/// A copy is outrun if its remaining time is so many times that of another.
const OUTRUN: f64 = 1.5;
/// A lagging attempt is moved if its remaining time is so many times what the others need.
const MOVE: f64 = 2.0;

/// Starts backups for lagging attempts. See the module's documentation.
pub struct PaceBackups {
    parameters: PaceParameters,
    /// True for the pass that comes before originals.
    saving: bool,
    candidates: Vec<AttemptId>,
}

impl PaceBackups {
    /// The pass before originals (`saving`) or the one after them.
    pub fn new(parameters: PaceParameters, saving: bool) -> PaceBackups {
        PaceBackups { parameters, saving, candidates: Vec::new() }
    }

    fn watch(&self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        if phase.is_assumed() || !is_only_copy(cluster, attempt) {
            return;
        }
        let PaceParameters { lag, after, late, .. } = self.parameters;
        let condition = if PaceBackups::sees_progress(view, phase) {
            Condition::Lagging { rate: 1.0 / (lag * phase.median()), after: after * phase.median() }
        } else {
            Condition::ElapsedAbove(late * phase.p90().max(phase.median()))
        };
        view.watch(id, condition);
    }

    fn sees_progress(view: &View<'_>, phase: &Phase) -> bool {
        phase.gives_progress() && !matches!(view.estimator.knowledge(), Knowledge::Age | Knowledge::History)
    }

    /// Stops the copies of a task that must end well after another of which the end is known too.
    fn stop_outrun(task: TaskId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let remaining = |copy: &Attempt| copy.expected_finish().map(|finish| (finish - cluster.now()).seconds());
        let known = || cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping);
        let Some(best) = known().filter_map(remaining).min_by(f64::total_cmp) else { return };
        let outrun = known().filter(|copy| remaining(copy).is_some_and(|other| other > OUTRUN * best && other > 0.0));
        PaceBackups::stop_all(outrun.map(Attempt::id).collect(), best, view);
    }

    /// The same where copies tell no progress: stops those on slow nodes, or asks to be told when to.
    fn stop_outrun_by_age(&self, task: TaskId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some(phase) = cluster.phase(task) else { return };
        if phase.is_assumed() || PaceBackups::sees_progress(view, phase) {
            return;
        }
        let age = |copy: &Attempt| (cluster.now() - copy.since()).seconds();
        let alive = || cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping);
        let is_slow =
            |copy: &&Attempt| cluster.node(copy.node()).is_some_and(|node| node.speed() < self.parameters.slow);
        let left = |copy: &Attempt| fresh(cluster, copy.node(), phase) - age(copy);
        let best = alive().filter(|copy| !is_slow(copy) && left(copy) > 0.0);
        let Some(best) = best.min_by(|one, other| left(one).total_cmp(&left(other))) else { return };
        let left = left(best);
        let (outrun, others): (Vec<&Attempt>, Vec<&Attempt>) =
            alive().filter(is_slow).partition(|copy| age(copy) > OUTRUN * left);
        // age + t > OUTRUN (left − t)
        let wait = others.iter().map(|copy| (OUTRUN * left - age(copy)) / (1.0 + OUTRUN)).min_by(f64::total_cmp);
        let (best, from) = (best.id(), age(best));
        PaceBackups::stop_all(outrun.into_iter().map(Attempt::id).collect(), left, view);
        if let Some(wait) = wait {
            view.watch(best, Condition::ElapsedAbove(from + wait));
        }
    }

    fn stop_all(outrun: Vec<AttemptId>, best: f64, view: &mut View<'_>) {
        for attempt in outrun {
            view.stop(attempt, StopReason::Outrun);
            view.because(|| {
                format!("another copy is expected to end {best:.2} s from now, and this one more than {OUTRUN} times as late")
            });
        }
    }

    /// True of an attempt on a slow node that is expected to end before the other nodes have come to the end of
    /// what is pending: a backup would take room on them, and what it frees is of little use.
    fn ends_with_the_queue(&self, remaining: f64, id: AttemptId, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        let is_slow = cluster.node(attempt.node()).is_some_and(|node| node.speed() < self.parameters.slow);
        let waves = || waves_elsewhere(cluster, id.task, self.parameters.slow).unwrap_or(0.0);
        is_slow && remaining <= waves() * phase.median()
    }

    /// True if a lagging attempt is better started afresh elsewhere than waited for.
    fn should_move(&self, remaining: f64, id: AttemptId, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        let speed = cluster.node(attempt.node()).map_or(1.0, Node::speed);
        let Some(waves) = waves_elsewhere(cluster, id.task, self.parameters.slow) else { return false };
        // Well past the point where an original would still be started there, or it would come back.
        let useless = speed < self.parameters.slow && 1.0 / speed > MOVE * (1.0 + waves);
        // Once: wherever it goes then, it may end.
        id.copy == 0
            && useless
            && attempt.expected_finish().is_some()
            && remaining > MOVE * (1.0 + waves) * phase.median()
    }

    fn watch_all(&self, concerns: impl Fn(&Attempt) -> bool, view: &mut View<'_>) {
        let mut concerned: Vec<AttemptId> =
            view.cluster.living().filter(|attempt| concerns(attempt)).map(Attempt::id).collect();
        concerned.sort_unstable();
        for id in concerned {
            self.watch(id, view);
        }
    }

    /// The candidates that are their task's only copy, with their remaining times, the longest first.
    fn sort_candidates(&mut self, round: &Round<'_>) -> Vec<(f64, AttemptId)> {
        let cluster = round.cluster();
        self.candidates.sort_unstable();
        self.candidates.dedup();
        let mut waiting = Vec::with_capacity(self.candidates.len());
        self.candidates.retain(|id| {
            let Some(attempt) = cluster.attempt(*id).filter(|attempt| is_only_copy(cluster, attempt)) else {
                return false;
            };
            if attempt.state() != AttemptState::Stopping {
                waiting.push((remaining(cluster, attempt), *id));
            }
            true
        });
        waiting.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        waiting
    }
}

/// Remaining time of a lagging attempt, seconds: as its progress foretells, else as long again as it has
/// run, or what is left of the median on a node known to be slow.
fn remaining(cluster: &Cluster, attempt: &Attempt) -> f64 {
    let now = cluster.now();
    let age = (now - attempt.since()).seconds();
    match attempt.expected_finish() {
        Some(finish) if finish > now => (finish - now).seconds(),
        _ => cluster.phase(attempt.id().task).map_or(0.0, |phase| fresh(cluster, attempt.node(), phase) - age).max(age),
    }
}

/// What the median copy of a phase takes on a node, seconds.
fn fresh(cluster: &Cluster, node: NodeId, phase: &Phase) -> f64 {
    Pace::new(cluster.node(node).map_or(1.0, Node::speed), 0.0).seconds(phase.median())
}

impl Pass for PaceBackups {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        // Both passes hear when an attempt lags; one asks for it.
        if let Seen::Event(Event::WatchMet { attempt, .. }, _) = seen {
            self.candidates.push(*attempt);
        }
        if !self.saving {
            return;
        }
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                let backup = view.cluster.task(attempt.task).is_some_and(|task| task.alive() > 1);
                let phase = view.cluster.phase(attempt.task);
                let tells = phase.is_some_and(|phase| PaceBackups::sees_progress(view, phase));
                match (backup, tells) {
                    (true, true) => view.watch(*attempt, Condition::Revealed),
                    (true, false) => self.stop_outrun_by_age(attempt.task, view),
                    (false, _) => self.watch(*attempt, view),
                }
            }
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                PaceBackups::stop_outrun(attempt.task, view);
                self.stop_outrun_by_age(attempt.task, view);
            }
            Seen::Event(Event::NodeSpeedLearned { node, .. }, _) => {
                let on_node = view.cluster.living().filter(|attempt| attempt.node() == *node);
                let mut tasks: Vec<TaskId> = on_node.map(|attempt| attempt.id().task).collect();
                tasks.sort_unstable();
                for task in tasks {
                    self.stop_outrun_by_age(task, view);
                }
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                let left = view.cluster.copies(attempt.task).next().map(Attempt::id);
                if let Some(left) = left {
                    self.watch(left, view);
                }
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.watch_all(|attempt| (attempt.id().task.job, attempt.id().task.phase) == (*job, *phase), view);
            }
            Seen::Event(Event::NodeLost { .. }, _) => self.watch_all(|_| true, view),
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        if self.candidates.is_empty() {
            return;
        }
        let pending = round.queue.next(Which::Any, None).is_some();
        if pending && !self.saving {
            return;
        }
        let factor = if pending { SAVING } else { self.parameters.margin };
        for (remaining, id) in self.sort_candidates(round) {
            let cluster = round.cluster();
            let Some(phase) = cluster.phase(id.task) else { continue };
            let elsewhere = |node, _: &Node| !cluster.has_copy_on(id.task, node) && !cluster.avoids(id.task, node);
            let Some(node) = cluster.find_fastest_node(phase.demand(), elsewhere) else {
                if self.saving && self.should_move(remaining, id, cluster) {
                    round.decide(Decision::Stop { attempt: id, reason: StopReason::Moved });
                    round.because(|| {
                        format!(
                            "its node is slow and it was expected to need {remaining:.2} s more, more than {MOVE} times what \
                             the other nodes need for all that waits: it is started afresh when there is room"
                        )
                    });
                }
                continue;
            };
            let fresh = fresh(cluster, node, phase);
            let pays = remaining > factor * fresh && !(pending && self.ends_with_the_queue(remaining, id, cluster));
            if pays && round.may_start(id.task) {
                if !round.start(id.task, node) {
                    continue;
                }
                round.because(|| {
                    let (copy, waits) = (id.copy, if pending { "tasks wait" } else { "nothing waits" });
                    format!(
                        "copy {copy} lags: expected to need {remaining:.2} s more, a fresh copy {fresh:.2} s, and that is more \
                         than {factor} times as long ({waits})"
                    )
                });
                round.requeue(id.task.job);
            }
        }
    }
}

/// The node on which a pending task is started now; `None` if it better waits for a faster one. Nodes
/// below the speed `slow` are slow. See the module's documentation.
pub(super) fn place_by_speed(cluster: &Cluster, task: TaskId, slow: f64) -> Option<NodeId> {
    let node = cluster.find_fastest_node(cluster.phase(task)?.demand(), |node, _| !cluster.avoids(task, node))?;
    let speed = cluster.node(node)?.speed();
    // Waiting must not be for ever: with nothing at work nothing would end the wait.
    if speed >= slow || cluster.living_attempts() == 0 {
        return Some(node);
    }
    let pays = waves_elsewhere(cluster, task, slow).is_none_or(|waves| 1.0 / speed <= 1.0 + waves);
    pays.then_some(node)
}

/// How many times the nodes that are not slow must be filled for all that is pending of a task's job, in
/// copies like this one; `None` if there are no such nodes.
fn waves_elsewhere(cluster: &Cluster, task: TaskId, slow: f64) -> Option<f64> {
    let (phase, job) = (cluster.phase(task)?, cluster.job(task.job)?);
    let good = cluster.nodes().iter().filter(|node| node.is_up() && node.speed() >= slow);
    let room: u64 = good.map(|node| node.capacity().times(phase.demand())).fold(0, u64::saturating_add);
    (room > 0).then(|| f64::from(job.runnable()) / room as f64)
}
