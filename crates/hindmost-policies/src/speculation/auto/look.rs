//! A look at running tasks: what is left of each of them, what its job waits for, and what copies of it are worth.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase, Task};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::time::Time;

use super::fresh::{Fresh, TableId};
use super::guard::{Guard, Running};
use super::predictions::Predictions;
use super::queue::Bound;
use super::share::{self, Shares};
use super::survival::Survival;
use super::watched::{self, Scale};
use super::worth::{Judged, Offer, Others, Value};

/// At most so many copies of a task run at the same time.
const MOST_RUNNING: u32 = 8;
/// At most so many copies of a task are started in all.
const MOST_STARTED: u32 = 20;
/// While copies of a task may be slow together, what they show is noted after so long, in E, and the next copy starts that much later than
/// the last one: twice as much later for each further one.
const COPIES_APART: f64 = 0.25;

/// What has taken longer than predicted is looked at again after this share of the time since then.
const LATER: f64 = 0.1;

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

/// A task as it was last seen.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// P(T > t) of the time until its first copy ends, in E.
    pub(super) survival: Survival,
    /// Number of its copies that run and are not being stopped.
    pub(super) copies: u32,
    /// Number of its copies that were started; 0 if it has not been seen since its first one.
    pub(super) launched: u32,
    /// Up to which price another copy pays.
    pub(super) offered: Bound,
    /// Up to which price each of its copies is worth its slot.
    pub(super) crowded: Bound,
    /// When its first attempt began, and the seconds that a second of usual work takes it, while it runs.
    pub(super) first: Option<(Time, f32)>,
    /// When it is to be looked at again because of its attempts' ages.
    pub(super) due: Time,
}

impl Seen {
    /// A task that has just started.
    pub(super) const NEW: Seen = Seen {
        survival: Survival::ONE,
        copies: 0,
        launched: 0,
        offered: Bound::None,
        crowded: Bound::None,
        first: None,
        due: Time::NEVER,
    };
}

/// What a look at a task shows besides.
pub(super) struct Signs {
    /// The next time to look at it, if nothing happens before.
    pub(super) next: Time,
    /// True if it may get a copy.
    pub(super) may_be_copied: bool,
    /// True if its attempts are so old that it should start again.
    pub(super) is_old: bool,
}

/// What a phase is judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    /// The durations of its copies.
    pub(super) table: TableId,
    /// Its kind.
    pub(super) kind: u64,
    /// The mean of its durations, seconds on a node of speed 1.
    pub(super) mean: f64,
}

/// A phase with running tasks, as last seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Its running tasks.
    pub(super) tasks: BTreeMap<u32, Box<Seen>>,
    /// What its tasks wait for, as of the last look at all of them, with what has changed since; `None` if there is only one.
    others: Option<Box<Others>>,
    /// The expected number of unfinished tasks at each time from the last look at all of them on; `None` in jobs of one phase.
    pub(super) unfinished: Option<Box<Survival>>,
    /// The time of the last look at all of them.
    pub(super) seen: Time,
    /// Number of unfinished tasks at that time.
    pub(super) size: u32,
    /// The dominant share of a copy's demand of the cluster.
    pub(super) share: f64,
    /// What it is judged by; `None` until it is looked at.
    pub(super) class: Option<Class>,
}

/// What a look needs to know.
pub(super) struct Sight<'a> {
    pub(super) id: (JobId, u32),
    pub(super) cluster: &'a Cluster,
    pub(super) phase: &'a Phase,
    pub(super) scale: Scale,
    pub(super) predictions: &'a Predictions,
    pub(super) fresh: &'a mut Fresh,
    pub(super) shares: &'a mut Shares,
    pub(super) kind: u64,
    /// True if copies of the phase's tasks are as good as independent.
    pub(super) is_trusted: bool,
    /// The age at which an attempt of unknown remaining time starts again.
    pub(super) starts_again: f64,
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

    /// Returns the age of an attempt, in E of a node of speed 1 and a task with the usual input.
    fn age_of(&self, attempt: &Attempt) -> f64 {
        attempt.age(self.cluster.now()).seconds() / self.scale.pace(attempt, self.cluster) / self.scale.mean
    }

    /// Returns how many times as long as usual a task takes because of its input.
    fn times(&self, task: TaskId) -> f64 {
        self.scale.times(task, self.cluster)
    }

    /// Returns what the shares of a task are known to be, if its copies may be slow together.
    fn guard(&mut self, task: TaskId) -> Option<Guard> {
        if self.is_trusted {
            return None;
        }
        let mixture = self.shares.of_task(self.kind, task);
        let watched = self.tasks.first(task, self.scale, self.cluster);
        let copy = self.tasks.first_copy(task);
        let is_first = |attempt: &&Attempt| copy.is_none_or(|copy| attempt.id().copy == copy);
        let first = running(task, self.cluster).find(is_first);
        let known = watched.or_else(|| first.map(|first| watched::duration(first, self.scale, self.cluster)))?;
        Some(Guard {
            mixture,
            first: known,
            age: first.map(|first| self.age_of(first)),
            after: self.tasks.longest_of_others(task, self.scale, self.cluster),
            times: self.times(task),
        })
    }

    /// Sees what is left of a task, and returns what it shows besides.
    fn see(&mut self, task: TaskId, seen: &mut Seen) -> Signs {
        let mut next = Time::NEVER;
        let (all, guard) = self.attempts(task, &mut next);
        (seen.copies, seen.launched) = (all.len() as u32, self.cluster.task(task).map_or(0, Task::launched));
        seen.survival = self.left(&all, guard.as_ref());
        seen.first = self
            .cluster
            .attempt(AttemptId { task, copy: 0 })
            .map(|first| (first.began(self.cluster.now()), self.scale.pace(first, self.cluster) as f32));
        let is_unknown = all.iter().all(|(_, one)| one.step.is_none());
        // An attempt that ends sooner than any other could has no use for a copy.
        let ends_first = match all.as_slice() {
            [(_, only)] => {
                let left = only.step.map_or(self.fresh.most - only.age, |left| left / self.times(task));
                (0.0..=self.fresh.least).contains(&left)
            }
            _ => false,
        };
        let from = self.copy_from(task, seen.copies, guard.as_ref()).filter(|_| seen.copies > 0 && !ends_first);
        let may_be_copied = from.is_some_and(|from| from <= self.cluster.now());
        if let Some(from) = from.filter(|_| !may_be_copied) {
            next = next.min(from);
        }
        let is_old = may_be_copied && is_unknown && self.is_old(task);
        Signs { next, may_be_copied, is_old }
    }

    /// Returns the copies of a task that run and are not being stopped, and brings `next` forward to the next time at which one of them is
    /// to be looked at.
    fn attempts(&mut self, id: TaskId, next: &mut Time) -> Attempts {
        let guard = self.guard(id);
        let first = self.tasks.first_copy(id);
        let mut all = Vec::new();
        for attempt in running(id, self.cluster) {
            let (left, step) = self.left_of(attempt, next);
            let running = Running {
                age: self.age_of(attempt),
                duration: watched::duration(attempt, self.scale, self.cluster),
                left,
                step,
                is_first: first.is_none_or(|first| first == attempt.id().copy),
            };
            all.push((attempt.id(), running));
        }
        if all.len() > 1 {
            *next = (*next).min(self.cluster.now() + Time::from_seconds(COPIES_APART * self.scale.mean));
        }
        (all, guard)
    }

    /// Returns what is left of a task with these copies.
    fn left(&mut self, all: &[(AttemptId, Running)], guard: Option<&Guard>) -> Survival {
        // The first attempt alone shows nothing of what others have in common with it.
        let is_first_alone = matches!(all, [(_, Running { is_first: true, .. })]);
        self.survival(all.iter().map(|(_, one)| one), guard.filter(|_| !is_first_alone))
    }

    /// Returns P(T > t) of the time until the first of these copies ends.
    fn survival<'r>(&mut self, copies: impl Iterator<Item = &'r Running>, guard: Option<&Guard>) -> Survival {
        if let Some(guard) = guard {
            return guard.left(&shortest(copies).collect::<Vec<_>>(), self.fresh);
        }
        let mut all = Survival::ONE;
        for copy in shortest(copies) {
            all.and(&copy.left);
        }
        all
    }

    /// Returns what is left of an attempt as if it were alone, and its remaining time if it is known.
    fn left_of(&mut self, attempt: &Attempt, next: &mut Time) -> (Survival, Option<f64>) {
        let (now, mean) = (self.cluster.now(), self.scale.mean);
        if let Some(finish) = attempt.measured_finish() {
            return self.predicted(attempt, finish, next);
        }
        let (pace, age) = (self.scale.pace(attempt, self.cluster), self.age_of(attempt));
        let again = attempt.began(now) + Time::from_seconds(pace * self.fresh.next_age(age, self.starts_again) * mean);
        *next = again.max(now + Time::TICK).min(*next);
        (*self.fresh.unknown_on(age, pace), None)
    }

    /// Returns what is left of an attempt whose end is predicted for a time, and its mean.
    fn predicted(&self, attempt: &Attempt, finish: Time, next: &mut Time) -> (Survival, Option<f64>) {
        let (now, mean, errors) = (self.cluster.now(), self.scale.mean, self.predictions.errors(self.kind));
        let is_late = finish <= now || attempt.has_stalled();
        if !is_late && errors.are_negligible() {
            let left = (finish - now).seconds() / mean;
            return (Survival::step(left), Some(left));
        }
        let begun = (attempt.began(now), finish);
        let prediction = self.predictions.of(attempt.id(), attempt.has_stalled()).unwrap_or(begun);
        let (at, finish) = if attempt.has_stalled() { prediction } else { (prediction.0, finish) };
        let predicted = (finish - at).max(Time::TICK);
        // What has stalled is late, whatever time it has left.
        let passed = if attempt.has_stalled() { (now - at).max(predicted) } else { now - at };
        // What is late is looked at again once it is later by a part of what has passed.
        let again = if is_late { now + Time::from_seconds(LATER * passed.seconds()).max(Time::TICK) } else { finish };
        *next = again.max(now + Time::TICK).min(*next);
        let left = errors.left(predicted.seconds() / mean, passed.seconds() / mean);
        (left, Some(left.integral()))
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
        let times = all.first().map_or(1.0, |(id, _)| self.times(id.task));
        let soonest = known.fold(f64::INFINITY, f64::min) * self.scale.within / times;
        let may_go = |one: &Running| guard.is_none() || !one.is_first || soonest < one.duration.least() - one.age;
        let longest = |one: &&(AttemptId, Running), other: &&(AttemptId, Running)| {
            one.1.left.integral().total_cmp(&other.1.left.integral()).then(one.0.cmp(&other.0))
        };
        let (worst, its) = all.iter().filter(|(_, one)| may_go(one)).max_by(longest).map(|(id, one)| (*id, *one))?;
        let without = self.survival(all.iter().filter(|(id, _)| *id != worst).map(|(_, one)| one), guard);
        if guard.is_some() || its.step.is_some() {
            return Some((worst, [without, self.survival(all.iter().map(|(_, one)| one), guard)]));
        }
        let mut with = without;
        // As long as nothing is known of it, it promises what it did when it started.
        with.and(&self.fresh.young(its.age).map_or(its.left, |young| young.stretched(times)));
        Some((worst, [without, with]))
    }

    /// Returns when a task may get another copy at the earliest; `None` if it may not.
    fn copy_from(&self, id: TaskId, copies: u32, guard: Option<&Guard>) -> Option<Time> {
        let may = |task: &Task| task.launched() < MOST_STARTED && !task.has_last_copies();
        let most = guard.map_or(MOST_RUNNING, |guard| guard.most(self.waits).min(MOST_RUNNING));
        let phase = self.phase;
        let may =
            copies < most && phase.may_be_copied() && !phase.is_assumed() && self.cluster.task(id).is_some_and(may);
        let wait =
            |last: Time| last + Time::from_seconds(COPIES_APART * 2_f64.powi(copies as i32 - 2) * self.scale.mean);
        may.then(|| {
            let last = self.tasks.last_start(id).filter(|_| guard.is_some() && copies > 1);
            last.map_or(Time::ZERO, wait)
        })
    }

    /// True if the oldest attempt of a task is so old that a fresh one is expected to end sooner.
    pub(super) fn is_old(&self, id: TaskId) -> bool {
        let limit = self.starts_again * (1.0 - 1e-9);
        running(id, self.cluster).any(|attempt| self.age_of(attempt) >= limit)
    }
}

impl Group {
    /// Looks at all running tasks, and calls `found` with what each shows. `beside` is what the job waits for besides.
    pub(super) fn look(
        &mut self,
        sight: &mut Sight<'_>,
        beside: Option<Survival>,
        mut found: impl FnMut(TaskId, &mut Seen, &Signs),
    ) {
        let (phase, cluster) = (sight.phase, sight.cluster);
        (self.seen, self.size) = (cluster.now(), phase.unfinished() - phase.blocked());
        self.share = phase.demand().dominant_share(cluster.total()).max(1e-9);
        let mut unfinished = Survival::ZERO;
        for (index, seen) in &mut self.tasks {
            let task = sight.task(*index);
            let signs = sight.see(task, seen);
            unfinished.add(&seen.survival, 1.0);
            found(task, seen, &signs);
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
        let has_phases = cluster.job(sight.id.0).is_some_and(|job| job.phases().len() > 1);
        self.unfinished = has_phases.then(|| Box::new(unfinished));
        let is_alone = self.tasks.len() as u32 + phase.pending() <= 1 && beside.is_none();
        let clones = sight.cloned.then_some(&sight.fresh.chain.survival);
        self.others = (!is_alone).then(|| Box::new(Others::new(&unfinished, clones, beside.as_ref())));
    }

    /// Looks at one task, of which something has changed, and calls `found` with what it shows.
    pub(super) fn look_at(&mut self, index: u32, sight: &mut Sight<'_>, found: impl FnOnce(TaskId, &mut Seen, &Signs)) {
        let Some(seen) = self.tasks.get_mut(&index) else { return };
        let task = sight.task(index);
        // A task that has just started was pending before.
        let before = if seen.launched == 0 { sight.fresh.single.survival } else { seen.survival };
        let signs = sight.see(task, seen);
        if let Some(others) = &mut self.others {
            others.change(&before, &seen.survival);
        }
        found(task, seen, &signs);
    }

    /// Notes that a task has ended. Returns how it was last seen.
    pub(super) fn ended(&mut self, index: u32) -> Option<Box<Seen>> {
        let seen = self.tasks.remove(&index)?;
        if let Some(others) = self.others.as_mut().filter(|_| seen.launched > 0) {
            others.change(&seen.survival, &Survival::ZERO);
        }
        Some(seen)
    }

    /// Calls `f` with what a task is judged by, its copies and their guard.
    fn judged<T>(
        &self,
        id: TaskId,
        sight: &mut Sight<'_>,
        f: impl FnOnce(&Judged<'_>, &Attempts, &mut Sight<'_>) -> Option<T>,
    ) -> Option<T> {
        let seen = self.tasks.get(&id.index).filter(|seen| seen.copies > 0)?;
        let mut unused = Time::NEVER;
        let attempts = sight.attempts(id, &mut unused);
        let copies = attempts.0.len() as u32;
        let now = sight.left(&attempts.0, attempts.1.as_ref());
        let others = self.others.as_deref().map_or_else(|| Cow::Owned(Others::none(&seen.survival)), Cow::Borrowed);
        let reliable = sight.predictions.errors(sight.kind).reliable();
        f(&Judged { task: &now, copies, others: &others, reliable }, &attempts, sight)
    }

    /// Returns what a copy of a task would be worth now on a node.
    pub(super) fn offer(&self, id: TaskId, node: NodeId, price: f64, sight: &mut Sight<'_>) -> Option<Offer> {
        self.judged(id, sight, |judged, (_, guard), sight| {
            let from = sight.copy_from(id, judged.copies, guard.as_ref());
            from.filter(|from| *from <= sight.cluster.now())?;
            let times = sight.times(id);
            let speed = sight.cluster.node(node).map_or(1.0, Node::speed) / times;
            Some(match guard {
                None => {
                    let usual = sight.fresh.chain.mean * times;
                    judged.offer(sight.fresh.chain_on(speed), usual, price)
                }
                Some(guard) => judged.offer(&guard.copy(sight.fresh).on(speed), f64::INFINITY, price),
            })
        })
    }

    /// Returns the copy of a task that is stopped first, and what it is worth.
    pub(super) fn crowded(&self, id: TaskId, sight: &mut Sight<'_>) -> Option<(AttemptId, Value)> {
        self.judged(id, sight, |judged, (all, guard), sight| {
            let (worst, left) = sight.worst_copy(all, guard.as_ref())?;
            // As when it started.
            let (held, usual) = match guard {
                None => (sight.fresh.chain.held, sight.fresh.chain.mean * sight.times(id)),
                Some(_) => (sight.fresh.single.held, f64::INFINITY),
            };
            Some((worst, judged.kept(&left, held, usual)))
        })
    }

    /// Returns what starting the only attempt of a task again is worth, and what another copy would be worth if copies of the task may be
    /// slow together.
    pub(super) fn restart(&self, id: TaskId, price: f64, sight: &mut Sight<'_>) -> Option<(Value, Option<Value>)> {
        self.judged(id, sight, |judged, (_, guard), sight| {
            let times = sight.times(id);
            Some(match guard {
                None => (judged.restart(&sight.fresh.chain_on(1.0 / times).survival), None),
                Some(guard) => {
                    let copy = judged.offer(&guard.copy(sight.fresh).on(1.0 / times), f64::INFINITY, price).value;
                    (judged.restart(&guard.again(sight.fresh).stretched(times)), Some(copy))
                }
            })
        })
    }
}

/// Returns the copies that decide when a task ends: those of unknown remaining time, and the one of the others that ends first.
pub(super) fn shortest<'r>(copies: impl Iterator<Item = &'r Running>) -> impl Iterator<Item = &'r Running> {
    let (mut unknown, mut first): (Vec<&Running>, Option<&Running>) = (Vec::new(), None);
    for copy in copies {
        match copy.step {
            None => unknown.push(copy),
            Some(step) if first.and_then(|first| first.step).is_none_or(|least| step < least) => first = Some(copy),
            Some(_) => {}
        }
    }
    unknown.into_iter().chain(first)
}

/// Returns the copies of a task that run and are not being stopped.
pub(super) fn running(id: TaskId, cluster: &Cluster) -> impl Iterator<Item = &Attempt> {
    cluster.copies(id).filter(|copy| copy.state() != AttemptState::Stopping)
}

/// Returns how likely the durations of a task's attempts are under each share.
pub(super) fn likelihoods(id: TaskId, sight: &Sight<'_>) -> Option<share::Mixture> {
    sight.tasks.likelihoods(id, sight.scale, sight.fresh, sight.cluster)
}
