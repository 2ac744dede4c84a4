//! A look at a phase: what is left of each of its running tasks, what the job waits for, and which copies would pay at which price.

use std::borrow::Cow;
use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase, Task};
use hindmost_core::estimator::{Knowledge, Pace};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::fresh::{Copy, Fresh};
use super::guard::{Guard, Running};
use super::share::{self, Mixture, Shares};
use super::survival::Survival;
use super::watched;
use super::worth::{Judged, Offer, Others, Prices, Value};

/// At most so many copies of a task run at the same time.
const MOST_RUNNING: u32 = 8;
/// At most so many copies of a task are started in all.
const MOST_STARTED: u32 = 20;
/// While copies of a task may be slow together, what they show is noted after so long, in E, and the next copy starts that much later than
/// the last one: twice as much later for each further one.
const COPIES_APART: f64 = 0.25;

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

/// The running copies of a task, and the guard of them if they may be slow together.
type Attempts = (Vec<(AttemptId, Running)>, Option<Guard>);

/// What is left of a running task.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// P(T > t) of the time until its first copy ends, in E.
    survival: Survival,
    /// Number of copies that run and are not being stopped.
    copies: u32,
    /// True if the remaining time of none of them is known.
    is_unknown: bool,
    /// The remaining time of the only copy, if it is known.
    step: Option<f64>,
}

/// A phase with running tasks, as last seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Indices of the tasks with running copies.
    pub(super) running: BTreeSet<u32>,
    /// What its tasks wait for, as of the last look; `None` if there is only one.
    others: Option<Box<Others>>,
    /// What was left of each running task when it was last looked at.
    lefts: FxHashMap<u32, Survival>,
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
    /// The keys under which its tasks' copies are offered.
    pub(super) offered: FxHashMap<u32, u64>,
    /// The keys under which its tasks' copies may have to go.
    pub(super) crowded: FxHashMap<u32, u64>,
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

/// What a look needs to know.
pub(super) struct Sight<'a> {
    pub(super) id: (JobId, u32),
    pub(super) cluster: &'a Cluster,
    pub(super) phase: &'a Phase,
    pub(super) knowledge: Knowledge,
    pub(super) fresh: &'a mut Fresh,
    pub(super) shares: &'a mut Shares,
    pub(super) kind: u64,
    pub(super) tasks: &'a watched::Tasks,
    /// True if jobs wait.
    pub(super) waits: bool,
    /// True if the other tasks of the job will get copies, too: nobody waits, and the free slots suffice for that.
    pub(super) cloned: bool,
}

impl Sight<'_> {
    fn task(&self, index: u32) -> TaskId {
        TaskId { job: self.id.0, phase: self.id.1, index }
    }

    /// Returns what the shares of a task are known to be, if its copies may be slow together.
    fn guard(&mut self, task: TaskId) -> Option<Guard> {
        let kind = self.shares.of(self.kind);
        if share::is_trusted(&kind) {
            return None;
        }
        let mixture: Mixture = self.shares.of_task(self.kind, task);
        let (mean, known_from) = (self.phase.mean(), known_from(self.knowledge, self.phase));
        let watched = self.tasks.first(task, mean, known_from, self.cluster);
        let copy = self.tasks.first_copy(task);
        let is_first = |attempt: &&Attempt| copy.is_none_or(|copy| attempt.id().copy == copy);
        let first = running(task, self.cluster).find(is_first);
        let known = watched.or_else(|| first.map(|first| watched::duration(first, mean, known_from, self.cluster)))?;
        Some(Guard { mixture, first: known, age: first.map(|first| age_of(first, self.phase, self.cluster)) })
    }

    /// Returns the copies of a task that run and are not being stopped, and brings `next` forward to the next time at which one of them is
    /// to be looked at.
    fn attempts(&mut self, id: TaskId, next: &mut Time) -> Vec<(AttemptId, Running)> {
        let (mean, known_from) = (self.phase.mean(), known_from(self.knowledge, self.phase));
        let first = self.tasks.first_copy(id);
        let mut all = Vec::new();
        for attempt in running(id, self.cluster) {
            let (left, step) = self.left_of(attempt, next);
            let running = Running {
                age: age_of(attempt, self.phase, self.cluster),
                duration: watched::duration(attempt, mean, known_from, self.cluster),
                left,
                step,
                is_first: first.is_none_or(|first| first == attempt.id().copy),
            };
            all.push((attempt.id(), running));
        }
        if all.len() > 1 {
            *next = (*next).min(self.cluster.now() + Time::from_seconds(COPIES_APART * mean));
        }
        all
    }

    /// Returns what is left of a task with these copies.
    fn left(&mut self, all: &[(AttemptId, Running)], guard: Option<&Guard>) -> Left {
        Left {
            survival: self.survival(all.iter().map(|(_, one)| one), guard.filter(|_| all.len() > 1)),
            copies: all.len() as u32,
            is_unknown: all.iter().all(|(_, one)| one.step.is_none()),
            step: if let [(_, only)] = all { only.step } else { None },
        }
    }

    /// Returns P(T > t) of the time until the first of these copies ends.
    fn survival<'r>(&mut self, copies: impl Iterator<Item = &'r Running>, guard: Option<&Guard>) -> Survival {
        let copies: Vec<&Running> = copies.collect();
        match (guard, copies.as_slice()) {
            (_, []) => Survival::ONE,
            (Some(guard), _) => guard.left(&copies, self.fresh),
            (None, [first, others @ ..]) => others.iter().fold(first.left, |all, one| all.and(&one.left)),
        }
    }

    /// Returns what is left of an attempt as if it were alone, and its remaining time if it is known.
    fn left_of(&mut self, attempt: &Attempt, next: &mut Time) -> (Survival, Option<f64>) {
        let (now, mean) = (self.cluster.now(), self.phase.mean());
        if let Some(finish) = attempt.measured_finish().filter(|finish| *finish > now) {
            let left = (finish - now).seconds() / mean;
            return (Survival::step(left), Some(left));
        }
        let (pace, age) = (Pace::of(self.cluster, attempt), age_of(attempt, self.phase, self.cluster));
        let again = attempt.began(now) + Time::from_seconds(pace.seconds(self.fresh.next_age(age) * mean));
        *next = again.max(now + Time::TICK).min(*next);
        (*self.fresh.unknown_on(age, pace.seconds(1.0)), None)
    }

    /// Returns the copy of a task that is expected to end last, and what is left of the task without it and with it; `None` if the task
    /// has only one, or none that may go.
    fn worst_copy(
        &mut self,
        all: &[(AttemptId, Running)],
        guard: Option<&Guard>,
    ) -> Option<(AttemptId, [Survival; 2])> {
        if all.len() < 2 {
            return None;
        }
        // Where copies may be slow together, the first attempt goes only if another one ends before it can.
        let known = all.iter().filter(|(_, one)| !one.is_first).filter_map(|(_, one)| one.step);
        let soonest = known.fold(f64::INFINITY, f64::min);
        let may_go = |one: &Running| guard.is_none() || !one.is_first || soonest < one.duration.least() - one.age;
        let longest = |one: &&(AttemptId, Running), other: &&(AttemptId, Running)| {
            one.1.left.integral().total_cmp(&other.1.left.integral()).then(one.0.cmp(&other.0))
        };
        let (worst, its) = all.iter().filter(|(_, one)| may_go(one)).max_by(longest).map(|(id, one)| (*id, *one))?;
        let without = self.survival(all.iter().filter(|(id, _)| *id != worst).map(|(_, one)| one), guard);
        let with = match guard {
            Some(_) => self.survival(all.iter().map(|(_, one)| one), guard),
            // As long as nothing is known of it, it promises what it did when it started.
            None if its.step.is_some() => without.and(&its.left),
            None => without.and(self.fresh.young(its.age).unwrap_or(&its.left)),
        };
        Some((worst, [without, with]))
    }

    /// Returns what a fresh copy of a task promises, and the mean duration that is assumed for a task whose copies take long.
    fn copy(&mut self, guard: Option<&Guard>) -> (Cow<'_, Copy>, f64) {
        match guard {
            None => (Cow::Borrowed(&self.fresh.chain), self.fresh.chain.mean),
            Some(guard) => (Cow::Owned(guard.copy(self.fresh)), f64::INFINITY),
        }
    }

    /// Returns when a task may get another copy at the earliest; `None` if it may not.
    fn copy_from(&self, id: TaskId, copies: u32, guard: Option<&Guard>) -> Option<Time> {
        let may = |task: &Task| task.launched() < MOST_STARTED && !task.has_last_copies();
        let most = guard.map_or(MOST_RUNNING, |guard| guard.most(self.waits).min(MOST_RUNNING));
        let phase = self.phase;
        let may =
            copies < most && phase.may_be_copied() && !phase.is_assumed() && self.cluster.task(id).is_some_and(may);
        let wait = |last: Time| last + Time::from_seconds(COPIES_APART * 2_f64.powi(copies as i32 - 2) * phase.mean());
        may.then(|| {
            let last = self.tasks.last_start(id).filter(|_| guard.is_some() && copies > 1);
            last.map_or(Time::ZERO, wait)
        })
    }

    /// True if the oldest attempt of a task is so old that a fresh one is expected to end sooner.
    pub(super) fn is_old(&self, id: TaskId) -> bool {
        let limit = self.fresh.starts_again * (1.0 - 1e-9);
        running(id, self.cluster).any(|attempt| age_of(attempt, self.phase, self.cluster) >= limit)
    }
}

impl Group {
    /// Looks at all running tasks of the phase. Returns the next time at which it should be looked at again if nothing happens
    /// before.
    pub(super) fn look(&mut self, sight: &mut Sight<'_>, mut found: impl FnMut(Finding)) -> Time {
        let (phase, cluster) = (sight.phase, sight.cluster);
        self.running.retain(|index| {
            cluster.task(sight.task(*index)).is_some_and(|task| !task.is_finished() && task.running_copies() > 0)
        });
        (self.seen, self.size) = (cluster.now(), phase.unfinished());
        self.share = phase.demand().dominant_share(cluster.total()).max(1e-9);
        let mut next = Time::NEVER;
        let mut unfinished = Survival::ZERO;
        self.lefts.clear();
        let mut lefts: Vec<(u32, Attempts, Left)> = Vec::with_capacity(self.running.len());
        for index in &self.running {
            let task = sight.task(*index);
            let (guard, all) = (sight.guard(task), sight.attempts(task, &mut next));
            let left = sight.left(&all, guard.as_ref());
            unfinished.add(&left.survival, 1.0);
            self.lefts.insert(*index, left.survival);
            lefts.push((*index, (all, guard), left));
        }
        if phase.pending() > 0 {
            let waits =
                if cluster.fits_somewhere(phase.demand()) { 0.0 } else { f64::from(phase.pending()) * self.share };
            let survival = &sight.fresh.single.survival;
            let pending = if waits < 0.05 {
                *survival
            } else {
                Survival::sampled(|time| if time < waits { 1.0 } else { survival.at(time - waits) })
            };
            unfinished.add(&pending, f64::from(phase.pending()));
        }
        let is_alone = self.running.len() as u32 + phase.pending() <= 1;
        let clones = sight.cloned.then_some(&sight.fresh.chain.survival);
        self.others = (!is_alone).then(|| Box::new(Others::new(&unfinished, clones)));
        self.single = lefts.iter().filter(|(.., left)| left.copies == 1).count() as u64;
        for (index, (all, guard), left) in &lefts {
            self.judge(*index, guard.as_ref(), (all, left), sight, &mut next, &mut found);
        }
        next
    }

    /// Looks at one task, of which something has changed. Returns as [`Group::look`] does.
    pub(super) fn look_at(&mut self, index: u32, sight: &mut Sight<'_>, mut found: impl FnMut(Finding)) -> Time {
        let task = sight.task(index);
        let mut next = Time::NEVER;
        let (guard, all) = (sight.guard(task), sight.attempts(task, &mut next));
        let left = sight.left(&all, guard.as_ref());
        // A task that has just started was pending before.
        let before = self.lefts.insert(index, left.survival).unwrap_or(sight.fresh.single.survival);
        if let Some(others) = &mut self.others {
            others.change(&before, &left.survival);
        }
        if left.copies > 0 {
            self.judge(index, guard.as_ref(), (&all, &left), sight, &mut next, &mut found);
        }
        next
    }

    /// Notes that a task has finished.
    pub(super) fn finished(&mut self, index: u32) {
        self.running.remove(&index);
        if let Some((before, others)) = self.lefts.remove(&index).zip(self.others.as_mut()) {
            others.change(&before, &Survival::ZERO);
        }
    }

    /// Reports whether a task may get a copy, lose one or start again.
    fn judge(
        &self,
        index: u32,
        guard: Option<&Guard>,
        (all, left): (&[(AttemptId, Running)], &Left),
        sight: &mut Sight<'_>,
        next: &mut Time,
        found: &mut impl FnMut(Finding),
    ) {
        let task = sight.task(index);
        let others = self.others_of(left);
        let judged = Judged { task: &left.survival, copies: left.copies, others: &others };
        if left.copies > 1
            && let Some((_, left)) = sight.worst_copy(all, guard)
        {
            let (copy, usual) = sight.copy(None);
            let usual = if guard.is_some() { f64::INFINITY } else { usual };
            found(Finding::Crowded(index, threshold(judged.kept(&left, copy.held, usual))));
        }
        let Some(from) = sight.copy_from(task, left.copies, guard) else { return };
        if left.step.is_some_and(|left| left <= sight.fresh.least) {
            return;
        }
        if from > sight.cluster.now() {
            *next = (*next).min(from);
            return;
        }
        if guard.is_none() && left.is_unknown && sight.is_old(task) {
            found(Finding::StartsAgain(index));
        }
        let (copy, usual) = sight.copy(guard);
        let offer = judged.offer(&copy, usual, false);
        if !offer.prices.is_empty() {
            found(Finding::Offer(index, offer.prices));
        }
    }

    /// Returns what a task's job waits for besides.
    fn others_of(&self, left: &Left) -> Cow<'_, Others> {
        self.others.as_deref().map_or_else(|| Cow::Owned(Others::none(&left.survival)), Cow::Borrowed)
    }

    /// Calls `f` with what a task is judged by, its copies and their guard.
    fn judged<T>(
        &self,
        id: TaskId,
        sight: &mut Sight<'_>,
        f: impl FnOnce(&Judged<'_>, &Attempts, &mut Sight<'_>) -> T,
    ) -> T {
        let (guard, mut unused) = (sight.guard(id), Time::NEVER);
        let all = sight.attempts(id, &mut unused);
        let left = sight.left(&all, guard.as_ref());
        let others = self.others_of(&left);
        f(&Judged { task: &left.survival, copies: left.copies, others: &others }, &(all, guard), sight)
    }

    /// Returns what a copy of a task would be worth now on a node.
    pub(super) fn offer(&self, id: TaskId, node: NodeId, sight: &mut Sight<'_>) -> Option<Offer> {
        self.judged(id, sight, |judged, (_, guard), sight| {
            let from = sight.copy_from(id, judged.copies, guard.as_ref());
            from.filter(|from| *from <= sight.cluster.now() && judged.copies > 0)?;
            let speed = sight.cluster.node(node).map_or(1.0, Node::speed);
            Some(match guard {
                None => {
                    let usual = sight.fresh.chain.mean;
                    judged.offer(sight.fresh.chain_on(speed), usual, true)
                }
                Some(guard) => judged.offer(&guard.copy(sight.fresh).on(speed), f64::INFINITY, true),
            })
        })
    }

    /// Returns the copy of a task that is stopped first, and what it is worth.
    pub(super) fn crowded(&self, id: TaskId, sight: &mut Sight<'_>) -> Option<(AttemptId, Value)> {
        self.judged(id, sight, |judged, (all, guard), sight| {
            if guard.is_some() && !sight.waits {
                return None;
            }
            let (worst, left) = sight.worst_copy(all, guard.as_ref())?;
            let usual = if guard.is_some() { f64::INFINITY } else { sight.fresh.chain.mean };
            Some((worst, judged.kept(&left, sight.copy(None).0.held, usual)))
        })
    }

    /// Returns what starting the only attempt of a task again is worth; `None` if its copies may be slow together.
    pub(super) fn restart(&self, id: TaskId, sight: &mut Sight<'_>) -> Option<Value> {
        self.judged(id, sight, |judged, (_, guard), sight| guard.is_none().then(|| judged.restart(&sight.fresh.chain)))
    }
}

/// Returns the price above which a running copy is not worth its slot.
fn threshold(value: Value) -> f64 {
    if value.slots < 0.0 { (value.gain / -value.slots).max(0.0) } else { f64::INFINITY }
}

/// Returns the copies of a task that run and are not being stopped.
pub(super) fn running(id: TaskId, cluster: &Cluster) -> impl Iterator<Item = &Attempt> {
    cluster.copies(id).filter(|copy| copy.state() != AttemptState::Stopping)
}

/// Returns the age of an attempt, in E of a node of speed 1.
fn age_of(attempt: &Attempt, phase: &Phase, cluster: &Cluster) -> f64 {
    Pace::of(cluster, attempt).age(attempt.age(cluster.now()).seconds()) / phase.mean()
}

/// Returns how likely the durations of a task's attempts are under each share.
pub(super) fn likelihoods(id: TaskId, sight: &Sight<'_>) -> Option<Mixture> {
    let known_from = known_from(sight.knowledge, sight.phase);
    sight.tasks.likelihoods(id, (sight.phase.mean(), known_from), sight.fresh, sight.cluster)
}
