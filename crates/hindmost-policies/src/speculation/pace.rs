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
//! the others have come to the end of what is pending needs none. Once the progress of both copies
//! foretells their ends, one that must end well after the other is stopped: what it would still do is lost. Where
//! copies tell no progress none is stopped before the other has finished. An attempt that has outrun three copies gets no
//! further one: it is its task that takes long.
//! Where there is no room for a backup, a lagging attempt on a slow node is stopped to be started afresh
//! elsewhere, if its remaining time is more than twice what the other nodes need for all that is pending,
//! and a fresh copy would need as long there.
//!
//! Originals go to the fastest node with the most free room. A node known to be slow gets one only if
//! it is expected to be done before the others have come to it: with p tasks pending in all jobs, room for c
//! copies on nodes that are not slow, and speed s, if 1/s ≤ 1 + p/c.
//!
//! Passes: `[Backups(saving), Originals(order, by speed), Backups(sooner)]`; the first stops what is outrun.
//!
//! Unlike rules on remaining time it does not wait until a share S of the work is done (`progress(S)`):
//! what it asks is whether an attempt has done much less than others had at its age.

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase};
use hindmost_core::estimator::{Knowledge, Pace};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::candidates::Candidates;
use super::lagging::{Lagging, waits};
use super::{Cause, Rule};
use crate::placement::by_speed::GoodNodes;

crate::parameters! {
    /// The parameters of `pace`. See the module's documentation.
    pub struct PaceParameters {
        /// how many times as long as the median copy an attempt must be about to take
        pub lag: f64 = 2.0, in 1.0..;
        /// age, in medians, below which progress is not judged
        pub after: f64 = 0.1, in 0.0.., unit "medians";
        /// without progress: age, in 90th percentiles, from which on an attempt lags
        pub late: f64 = 1.2, in 1.0.., unit "90th percentiles";
        /// how many times as fast as waiting a backup must be while nothing is pending
        pub margin: f64 = 1.2, in 1.0..;
        /// speed below which a node is slow
        pub slow: f64 = 0.67, in 0.0..=1.0;
    }
}

/// A backup that is started while others wait must save resources: the original and the backup both run
/// for as long as the backup takes.
const SAVING: f64 = 2.0;

/// A copy is outrun if its remaining time is so many times that of another.
const OUTRUN: f64 = 1.5;
/// A lagging attempt is moved if its remaining time is so many times what the others need.
const MOVE: f64 = 2.0;

/// An attempt that has outrun so many copies gets no more of them.
const ENOUGH: u32 = 3;

/// So many candidates are kept without looking whether they still run.
const MANY: usize = 1024;

/// The rule of backups for lagging attempts. See the module's documentation.
pub struct PaceRule {
    parameters: PaceParameters,
    /// True for the pass that comes before originals.
    saving: bool,
    lagging: Lagging,
    /// Lagging attempts that are expected to end, and whose jobs the order permits no other copy now.
    not_permitted: Candidates,
    /// How many copies beside it each attempt has outrun.
    outran: FxHashMap<AttemptId, u32>,
    good_nodes: GoodNodes,
}

impl PaceRule {
    /// The rule of the pass before originals (`saving`) or of the one after them.
    pub fn new(parameters: PaceParameters, saving: bool) -> PaceRule {
        PaceRule {
            parameters,
            saving,
            lagging: Lagging::default(),
            not_permitted: Candidates::default(),
            outran: FxHashMap::default(),
            good_nodes: GoodNodes::above(parameters.slow),
        }
    }

    fn sees_progress(view: &View<'_>, phase: &Phase) -> bool {
        phase.gives_progress() && !matches!(view.estimator.knowledge(), Knowledge::Age | Knowledge::History)
    }

    /// Stops the copies of a task that must end well after another, as far as progress foretells their ends.
    fn stop_outrun(&mut self, task: TaskId, view: &mut View<'_>) {
        let cluster = view.cluster;
        // An end that should have come by now was foretold wrongly: it proves nothing.
        let foretold = |copy: &Attempt| copy.measured_finish().filter(|finish| *finish > cluster.now());
        let known = cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping);
        let mut known: Vec<(Time, AttemptId)> = known.filter_map(|copy| Some((foretold(copy)?, copy.id()))).collect();
        known.sort_unstable_by_key(|(finish, _)| *finish);
        let remaining = |finish: Time| (finish - cluster.now()).seconds();
        let Some((first, fastest)) = known.first().copied() else { return };
        let best = remaining(first);
        for (_, attempt) in known.into_iter().filter(|(finish, _)| remaining(*finish) > OUTRUN * best) {
            *self.outran.entry(fastest).or_default() += 1;
            // Both passes know it; one acts.
            if self.saving {
                view.stop(attempt, StopReason::Overtaken);
                view.because(|| {
                    format!("another copy is expected to end {best:.2} s from now, and this one more than {OUTRUN} times as late")
                });
            }
        }
    }

    /// True of an attempt that has outrun so many copies that its task must be what takes long. Where its own end was
    /// foretold wrongly that says nothing.
    fn has_outrun_enough(&self, id: AttemptId, cluster: &Cluster) -> bool {
        let is_foretold = || cluster.attempt(id).and_then(Attempt::expected_finish) > Some(cluster.now());
        self.outran.get(&id).is_some_and(|copies| *copies >= ENOUGH) && is_foretold()
    }

    fn node_speed(cluster: &Cluster, attempt: &Attempt) -> f64 {
        cluster.node(attempt.node()).map_or(1.0, Node::speed)
    }

    /// True of an attempt on a slow node that is expected to end before the other nodes have come to the end of
    /// what is pending: a backup would take room on them, and what it frees is of little use.
    fn ends_with_the_queue(&mut self, remaining: f64, id: AttemptId, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        PaceRule::node_speed(cluster, attempt) < self.parameters.slow
            && remaining <= self.good_nodes.waves(id.task, cluster).unwrap_or(0.0) * phase.median()
    }

    /// True if it may pay some day to relaunch a lagging attempt elsewhere: once, for wherever it goes then, it may end;
    /// and from a node well slower than one on which an original would still be started, or it would come back.
    fn may_move(&self, attempt: &Attempt, cluster: &Cluster) -> bool {
        let speed = PaceRule::node_speed(cluster, attempt);
        self.saving && attempt.id().copy == 0 && speed < self.parameters.slow && 1.0 / speed > MOVE
    }

    /// True if a lagging attempt is better relaunched elsewhere than waited for.
    fn should_move(&mut self, remaining: f64, id: AttemptId, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        if !self.may_move(attempt, cluster) || attempt.measured_finish().is_none() {
            return false;
        }
        let Some(waves) = self.good_nodes.waves(id.task, cluster) else { return false };
        let useless = 1.0 / PaceRule::node_speed(cluster, attempt) > MOVE * (1.0 + waves);
        useless && remaining > MOVE * (1.0 + waves) * phase.median()
    }

    /// Looks at the attempts again whose jobs the order may permit another copy now, and at those that should have ended.
    fn permit_again(&mut self, round: &Round<'_>) {
        if self.not_permitted.is_empty() {
            return;
        }
        let cluster = round.cluster();
        let mut again = self.not_permitted.take_due(cluster.now());
        for id in &again {
            self.not_permitted.remove(*id);
        }
        again.extend(self.not_permitted.take_permitted(round).into_iter().map(|(_, id)| id));
        for id in again {
            if let Some((found, phase)) = only_copy(id, cluster) {
                self.lagging.add(found, phase.demand(), false);
            }
        }
    }

    /// Lays an attempt aside that may get no copy now, whatever happens to others. False for one that has to be looked at in
    /// each round nevertheless: its end is not known, or it may be relaunched.
    fn lay_aside(&mut self, id: AttemptId, round: &Round<'_>) -> bool {
        let cluster = round.cluster();
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        let Some(finish) = attempt.expected_finish().filter(|finish| *finish > cluster.now()) else { return false };
        if self.may_move(attempt, cluster) || round.slack() >= round.slack_needed(id.task) {
            return false;
        }
        self.lagging.remove(id);
        self.not_permitted.put((0, 0), id, finish, phase.demand());
        true
    }

    /// The attempts to look at in this round with their remaining times, the longest first.
    fn lagging_now(&mut self, factor: f64, cluster: &Cluster) -> Vec<(f64, AttemptId)> {
        self.lagging.let_time_pass(cluster);
        let bound = cluster.fastest_open_speed().map(|speed| factor / speed);
        let mut concerned = self.lagging.take_concerned(bound, cluster);
        concerned.sort_unstable();
        concerned.dedup();
        let waiting = concerned.into_iter().filter_map(|id| {
            let attempt = cluster.attempt(id).filter(|attempt| waits(attempt, cluster))?;
            Some((remaining(cluster, attempt), id))
        });
        let mut waiting: Vec<(f64, AttemptId)> = waiting.collect();
        waiting.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        waiting
    }
}

/// A task's only copy, and its phase.
fn only_copy(id: AttemptId, cluster: &Cluster) -> Option<(&Attempt, &Phase)> {
    cluster.attempt(id).filter(|found| cluster.is_only_copy(found)).zip(cluster.phase(id.task))
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

impl Rule for PaceRule {
    fn condition(&mut self, _attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        // Both passes observe when an attempt lags; one asks for it.
        if !self.saving || phase.is_assumed() {
            return None;
        }
        let PaceParameters { lag, after, late, .. } = self.parameters;
        Some(if PaceRule::sees_progress(view, phase) {
            Condition::Lagging { rate: 1.0 / (lag * phase.median()), after: after * phase.median() }
        } else {
            Condition::ElapsedAbove(late * phase.p90().max(phase.median()))
        })
    }

    fn watches_again(&self, cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        cause != Cause::SpeedLearned
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {
        let cluster = view.cluster;
        // What becomes known anew of an attempt is handed to `serve`.
        self.not_permitted.observe(seen, cluster, &mut Vec::new());
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                if cluster.task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
                    cluster.copies(attempt.task).for_each(|copy| self.lagging.copied(copy.id()));
                    let phase = cluster.phase(attempt.task);
                    if self.saving && phase.is_some_and(|phase| PaceRule::sees_progress(view, phase)) {
                        view.watch(*attempt, Condition::Revealed);
                    }
                } else {
                    self.lagging.unsettle(attempt.task.job);
                }
            }
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.stop_outrun(attempt.task, view),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                _,
            ) => {
                self.lagging.remove(*attempt);
                self.outran.remove(attempt);
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.lagging.look_again(|task| (task.job, task.phase) == (*job, *phase));
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                self.lagging.forget_gone(cluster);
                self.outran.retain(|id, _| cluster.attempt(*id).is_some());
                self.lagging.look_again(|_| true);
            }
            Seen::Event(Event::NodeSpeedLearned { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. }, _) => {
                self.lagging.look_again(|_| true);
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        if self.lagging.is_empty() && self.not_permitted.is_empty() && candidates.is_empty() {
            return;
        }
        let pending = round.next_job(Which::Any, None).is_some();
        if pending && !self.saving {
            // They may wait for long: what has ended meanwhile is forgotten now and then.
            if candidates.len() > MANY.max(2 * round.cluster().running_attempts()) {
                candidates.retain(|id| round.cluster().attempt(*id).is_some());
            }
            return;
        }
        self.lagging.forget_copied(round.cluster());
        self.permit_again(round);
        for id in candidates.drain(..) {
            let cluster = round.cluster();
            self.not_permitted.remove(id);
            if let Some((found, phase)) = only_copy(id, cluster) {
                self.lagging.add(found, phase.demand(), self.may_move(found, cluster));
            }
        }
        let factor = if pending { SAVING } else { self.parameters.margin };
        for (remaining, id) in self.lagging_now(factor, round.cluster()) {
            let cluster = round.cluster();
            let Some(phase) = cluster.phase(id.task) else { continue };
            let (median, demand) = (phase.median(), phase.demand());
            if self.has_outrun_enough(id, cluster) {
                self.lagging.looked_at(id, remaining / median);
                continue;
            }
            let elsewhere = |node, _: &Node| !cluster.has_copy_on(id.task, node) && !cluster.avoids(id.task, node);
            let Some(node) = cluster.find_fastest_node(demand, elsewhere) else {
                if self.should_move(remaining, id, cluster) {
                    round.decide(Decision::Stop { attempt: id, reason: StopReason::Relaunched });
                    round.because(|| {
                        format!(
                            "its node is slow and it was expected to need {remaining:.2} s more, more than {MOVE} times what \
                             the other nodes need for all that waits: it is started afresh when there is room"
                        )
                    });
                }
                continue;
            };
            self.lagging.leave_unsettled(id);
            let fresh = fresh(cluster, node, phase);
            let pays = remaining > factor * fresh && !(pending && self.ends_with_the_queue(remaining, id, cluster));
            let is_permitted = pays && round.may_start(id.task);
            if pays && !is_permitted && self.lay_aside(id, round) {
                continue;
            }
            if !is_permitted || !round.start(id.task, node) {
                self.lagging.looked_at(id, remaining / median);
                continue;
            }
            round.because(|| {
                let (copy, waits) = (id.copy, if pending { "tasks wait" } else { "nothing waits" });
                format!(
                    "copy {copy} lags: expected to need {remaining:.2} s more, a fresh copy {fresh:.2} s, and that is more \
                     than {factor} times as long ({waits})"
                )
            });
        }
    }
}
