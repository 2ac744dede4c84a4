//! A look at a phase: what is left of each of its running tasks, what the job waits for, and which copies would pay at which price.

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase};
use hindmost_core::estimator::{Knowledge, Pace};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::fresh::{Fresh, Tables};
use super::survival::Survival;
use super::worth::{Judged, Offer, Prices, Value};

/// At most so many copies of a task run at the same time.
const MOST_RUNNING: u32 = 8;
/// At most so many copies of a task are started in all.
const MOST_STARTED: u32 = 20;

/// What policies know of running attempts: the share S of an attempt's work after which its remaining time is known.
pub(super) fn known_from(knowledge: Knowledge, phase: &Phase) -> f64 {
    match knowledge {
        _ if !phase.gives_progress() => 1.0,
        Knowledge::Oracle => 0.0,
        Knowledge::Progress(share) | Knowledge::Profiles(share) => share,
        // The mean of a uniform share.
        Knowledge::ProgressUniform => 0.5,
        Knowledge::Age | Knowledge::History => 1.0,
    }
}

/// What is left of a running task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// P(T > t) of the time until its first copy ends, in E.
    pub(super) survival: Survival,
    /// Number of copies that run and are not being stopped.
    pub(super) copies: u32,
    /// True if the remaining time of none of them is known.
    pub(super) is_unknown: bool,
    /// The certain remaining time of the only copy, if it is known.
    step: Option<f64>,
}

/// A phase with running tasks, as last seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Indices of the tasks with running copies.
    pub(super) running: BTreeSet<u32>,
    /// The expected number of unfinished tasks at each time from the last look on.
    pub(super) unfinished: Survival,
    /// When the phase is to be looked at again because of the ages of its attempts.
    pub(super) due: Time,
    /// The time of the last look.
    pub(super) seen: Time,
    /// Number of unfinished tasks at the last look.
    pub(super) size: u32,
    /// Number of running tasks with one copy at the last look.
    pub(super) single: u64,
    /// The dominant share of a copy's demand of the cluster.
    pub(super) share: f64,
    /// True if something has changed since the last look.
    pub(super) is_dirty: bool,
    /// The keys under which its tasks' copies are offered.
    pub(super) offered: FxHashMap<u32, u64>,
    /// The keys under which its tasks' copies may have to go.
    pub(super) crowded: FxHashMap<u32, u64>,
}

impl Default for Survival {
    fn default() -> Survival {
        Survival::ZERO
    }
}

/// What a look at a task shows.
pub(super) enum Finding {
    /// A copy would start at these prices.
    Offer(u32, Prices),
    /// One of several copies should be stopped above this price.
    Crowded(u32, f64),
    /// The task's attempts are so old that it should start again.
    StartsAgain(u32),
}

impl Group {
    /// Looks at all running tasks of the phase. Returns the next time at which it should be looked at again if nothing happens
    /// before.
    pub(super) fn look(
        &mut self,
        (job, index): (JobId, u32),
        fresh: &mut Fresh,
        (phase, cluster): (&Phase, &Cluster),
        cloned: bool,
        mut found: impl FnMut(Finding),
    ) -> Time {
        let now = cluster.now();
        let task = |index_of_task| TaskId { job, phase: index, index: index_of_task };
        self.running.retain(|index| {
            cluster.task(task(*index)).is_some_and(|task| !task.is_finished() && task.running_copies() > 0)
        });
        (self.seen, self.size, self.is_dirty) = (now, phase.unfinished(), false);
        self.share = phase.demand().dominant_share(cluster.total()).max(1e-9);
        let mut next = Time::NEVER;
        let mut all = Survival::ZERO;
        let mut lefts: Vec<(u32, Left)> = Vec::with_capacity(self.running.len());
        for index in &self.running {
            let left = left_of(task(*index), fresh, phase, cluster, &mut next);
            all.add(&left.survival, 1.0);
            lefts.push((*index, left));
        }
        if phase.pending() > 0 {
            let waits = if cluster.fits_somewhere(phase.demand()) { 0.0 } else { f64::from(phase.pending()) * self.share };
            let survival = &fresh.single.survival;
            let pending = if waits < 0.05 {
                *survival
            } else {
                Survival::of(|time| if time < waits { 1.0 } else { survival.at(time - waits) })
            };
            all.add(&pending, f64::from(phase.pending()));
        }
        self.unfinished = all;
        self.single = lefts.iter().filter(|(_, left)| left.copies == 1).count() as u64;
        let is_alone = self.running.len() as u32 + phase.pending() == 1;
        for (index, left) in &lefts {
            let judged_others = self.others(&left.survival, is_alone);
            let judged = Judged { task: &left.survival, copies: left.copies, others: &judged_others };
            if left.copies > 1 {
                let worst = worst_copy(task(*index), fresh, phase, cluster);
                if let Some((_, without)) = worst {
                    let value = judged.kept(&without, fresh.chain.held, fresh.chain.mean);
                    found(Finding::Crowded(*index, threshold(value)));
                }
            }
            if left.step.is_some_and(|left| left <= fresh.least) || !may_copy(task(*index), left.copies, phase, cluster) {
                continue;
            }
            if left.is_unknown && is_old(task(*index), fresh, phase, cluster) {
                found(Finding::StartsAgain(*index));
            }
            let offer = judged.offer(&fresh.chain, cloned, fresh.chain.mean);
            if !offer.prices.is_empty() {
                found(Finding::Offer(*index, offer.prices));
            }
        }
        next
    }

    /// Returns the expected number of unfinished other tasks at each time.
    fn others(&self, task: &Survival, is_alone: bool) -> Survival {
        if is_alone {
            return Survival::ZERO;
        }
        let mut others = self.unfinished;
        for (sum, own) in others.0.iter_mut().zip(&task.0) {
            *sum = (*sum - own).max(0.0);
        }
        others
    }

    /// Returns what a copy of a task would be worth now on a node, and what is left of the task.
    pub(super) fn offer(
        &self,
        id: TaskId,
        node: NodeId,
        fresh: &mut Fresh,
        (phase, cluster): (&Phase, &Cluster),
        cloned: bool,
    ) -> Option<(Offer, Left)> {
        let left = left_of(id, fresh, phase, cluster, &mut Time::NEVER.clone());
        if !may_copy(id, left.copies, phase, cluster) || left.copies == 0 {
            return None;
        }
        let is_alone = self.running.len() as u32 + phase.pending() == 1;
        let others = self.others(&left.survival, is_alone);
        let judged = Judged { task: &left.survival, copies: left.copies, others: &others };
        let speed = cluster.node(node).map_or(1.0, Node::speed);
        let offer = if (speed - 1.0).abs() < 1e-9 {
            judged.offer(&fresh.chain, cloned, fresh.chain.mean)
        } else {
            judged.offer(&fresh.chain.on(speed), cloned, fresh.chain.mean)
        };
        Some((offer, left))
    }

    /// Returns the copy of a task that is stopped first, and the price above which it is not worth its slot.
    pub(super) fn crowded(
        &self,
        id: TaskId,
        fresh: &mut Fresh,
        (phase, cluster): (&Phase, &Cluster),
    ) -> Option<(hindmost_core::ids::AttemptId, Value)> {
        let left = left_of(id, fresh, phase, cluster, &mut Time::NEVER.clone());
        if left.copies < 2 {
            return None;
        }
        let others = self.others(&left.survival, false);
        let judged = Judged { task: &left.survival, copies: left.copies, others: &others };
        let (worst, without) = worst_copy(id, fresh, phase, cluster)?;
        Some((worst, judged.kept(&without, fresh.chain.held, fresh.chain.mean)))
    }

    /// Returns what starting the only attempt of a task again is worth.
    pub(super) fn restart(&self, id: TaskId, fresh: &mut Fresh, (phase, cluster): (&Phase, &Cluster)) -> Value {
        let left = left_of(id, fresh, phase, cluster, &mut Time::NEVER.clone());
        let others = self.others(&left.survival, false);
        Judged { task: &left.survival, copies: left.copies, others: &others }.restart(&fresh.chain)
    }
}

/// Returns the price above which a running copy is not worth its slot.
fn threshold(value: Value) -> f64 {
    if value.slots < 0.0 { (value.gain / -value.slots).max(0.0) } else { f64::INFINITY }
}

/// True if a task may get another copy.
fn may_copy(id: TaskId, copies: u32, phase: &Phase, cluster: &Cluster) -> bool {
    let may = |task: &hindmost_core::cluster::Task| task.launched() < MOST_STARTED && !task.has_last_copies();
    copies < MOST_RUNNING && phase.may_be_copied() && !phase.is_assumed() && cluster.task(id).is_some_and(may)
}

/// True if the oldest attempt of a task is so old that a fresh one is expected to end sooner.
pub(super) fn is_old(id: TaskId, fresh: &Fresh, phase: &Phase, cluster: &Cluster) -> bool {
    running(id, cluster).any(|attempt| age_of(attempt, phase, cluster) >= fresh.starts_again * (1.0 - 1e-9))
}

/// Returns the copies of a task that run and are not being stopped.
pub(super) fn running(id: TaskId, cluster: &Cluster) -> impl Iterator<Item = &Attempt> {
    cluster.copies(id).filter(|copy| copy.state() != AttemptState::Stopping)
}

/// Returns the age of an attempt, in E of a node of speed 1.
fn age_of(attempt: &Attempt, phase: &Phase, cluster: &Cluster) -> f64 {
    Pace::of(cluster, attempt).age(attempt.age(cluster.now()).seconds()) / phase.mean()
}

/// Returns what is left of an attempt, and its certain remaining time if it is known.
fn left_of_attempt(
    attempt: &Attempt,
    fresh: &mut Fresh,
    phase: &Phase,
    cluster: &Cluster,
    next: &mut Time,
) -> (Survival, Option<f64>) {
    let now = cluster.now();
    if let Some(finish) = attempt.measured_finish().filter(|finish| *finish > now) {
        let left = (finish - now).seconds() / phase.mean();
        return (Survival::step(left), Some(left));
    }
    let (pace, age) = (Pace::of(cluster, attempt), age_of(attempt, phase, cluster));
    let again = attempt.began(now) + Time::from_seconds(pace.seconds(fresh.next_age(age) * phase.mean()));
    *next = again.max(now + Time::TICK).min(*next);
    (fresh.unknown(age).stretched(pace.seconds(1.0)), None)
}

/// Returns what is left of a task with running copies, and brings `next` forward to the next age at which one of them is to be looked at.
fn left_of(id: TaskId, fresh: &mut Fresh, phase: &Phase, cluster: &Cluster, next: &mut Time) -> Left {
    let mut left = Left { survival: Survival::ONE, copies: 0, is_unknown: true, step: None };
    for attempt in running(id, cluster) {
        let (survival, step) = left_of_attempt(attempt, fresh, phase, cluster, next);
        left.survival = if left.copies == 0 { survival } else { left.survival.and(&survival) };
        left.step = step.filter(|_| left.copies == 0);
        left.is_unknown &= step.is_none();
        left.copies += 1;
    }
    left
}

/// Returns the copy of a task that is expected to end last, and what is left of the task without it.
fn worst_copy(
    id: TaskId,
    fresh: &mut Fresh,
    phase: &Phase,
    cluster: &Cluster,
) -> Option<(hindmost_core::ids::AttemptId, Survival)> {
    let mut none = Time::NEVER;
    let all: Vec<_> = running(id, cluster)
        .map(|attempt| (attempt.id(), left_of_attempt(attempt, fresh, phase, cluster, &mut none).0))
        .collect();
    let worst = all.iter().max_by(|one, other| one.1.integral().total_cmp(&other.1.integral()).then(one.0.cmp(&other.0)))?.0;
    let others = all.iter().filter(|(id, _)| *id != worst).map(|(_, survival)| survival);
    let without = others.fold(Survival::ONE, |all, one| all.and(one));
    (all.len() > 1).then_some((worst, without))
}

/// Returns the table for the durations of a phase.
pub(super) fn table<'a>(tables: &'a mut Tables, phase: &Phase, knowledge: Knowledge) -> &'a mut Fresh {
    tables.of(phase.durations(), known_from(knowledge, phase))
}
