//! What `auto` looks at in a round: tasks of which something has changed or whose time has come, and all tasks of phases of which enough
//! has changed.

use hindmost_core::cluster::{Cluster, Phase};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::Round;
use hindmost_core::record::Decision;
use hindmost_core::time::Time;

use super::beside::beside;
use super::look::{Class, Group, Seen, Sight, Signs, known_from, likelihoods};
use super::queue::{Bound, Queue};
use super::watched::Scale;
use super::{Auto, Lessons, PhaseId, share, watched};
use crate::speculation::kinds::kind;

/// A phase is looked at again once so large a share of its unfinished tasks has ended.
const CHANGED: f64 = 0.05;
/// The same for phases with at most [`SMALL`] unfinished tasks.
const CHANGED_WHEN_SMALL: f64 = 0.1;
/// Number of unfinished tasks up to which a phase is small.
const SMALL: u32 = 20;
/// What was seen of a phase counts for this long, in E.
const FRESH: f64 = 0.25;
/// Tasks are looked at because of the ages of their attempts at most once in this time, in E.
const APART: f64 = 0.05;
/// What the attempts of a task show is noted after so long if nothing happens, in E: else short tasks would be seen first.
const NOTED: f64 = 0.25;

impl Lessons {
    /// Returns what durations of a phase are known from; their mean is the stated one.
    pub(super) fn scale(&mut self, id: PhaseId, phase: &Phase, kind: u64, knowledge: Knowledge) -> Scale {
        self.predictions.fit(kind);
        let known_from = self.reveals.known_from(kind, known_from(knowledge, phase));
        let (within, median_input) = (self.predictions.within(kind), self.median_input(id, kind));
        Scale { mean: phase.mean(), known_from, within, median_input }
    }

    /// Returns the median size in bytes of a phase whose durations follow the sizes, as far as is known. Durations that are stated are assumed
    /// not to, those that are learned, to follow them.
    pub(super) fn median_input(&self, id: PhaseId, kind: u64) -> Option<f64> {
        self.input_sizes.median(id, !self.reveals.is_learned(kind))
    }

    /// Returns what a phase is judged by.
    fn class(&mut self, id: PhaseId, phase: &Phase, knowledge: Knowledge, cluster: &Cluster) -> Class {
        let kind = kind(id.0, id.1, cluster).unwrap_or_default();
        let known_from = self.scale(id, phase, kind, knowledge).known_from;
        let learned = self.durations.of(kind);
        let (durations, mean) = learned
            .map_or((phase.durations(), phase.mean()), |learned| (&learned.durations, learned.mean(phase.mean())));
        Class { table: self.tables.make(durations, known_from), kind, mean }
    }

    /// Prepares looks at a phase.
    pub(super) fn sight<'a>(
        &'a mut self,
        id: PhaseId,
        group: &mut Group,
        knowledge: Knowledge,
        cluster: &'a Cluster,
    ) -> Option<Sight<'a>> {
        let phase = &cluster.job(id.0)?.phases()[id.1 as usize];
        let class = match group.class {
            Some(class) => class,
            None => *group.class.insert(self.class(id, phase, knowledge, cluster)),
        };
        let Class { table, kind, mean } = class;
        let scale = Scale { mean, ..self.scale(id, phase, kind, knowledge) };
        let (fresh, share) = (self.tables.get(table)?, share::mean(self.shares.of(kind)));
        let is_trusted = share < share::TRUSTED;
        // Where copies may be slow together, what an attempt has done is lost only once a copy of the kind has shown whether fresh attempts are
        // sooner, and if no progress will show what remains; or if no slot will come free for a copy.
        let may_start_again =
            is_trusted || scale.known_from >= 1.0 && self.shares.tried(kind) > 0 || cluster.running_attempts() <= 1;
        Some(Sight {
            id,
            cluster,
            phase,
            scale,
            predictions: &self.predictions,
            starts_again: if may_start_again { fresh.starts_again } else { f64::INFINITY },
            is_trusted,
            fresh,
            shares: &mut self.shares,
            kind,
            tasks: &self.tasks,
            waits: self.waits,
            cloned: self.is_idle,
        })
    }
}

impl Queue {
    /// Notes what a look has shown. Its bounds are computed when they matter.
    fn note(&mut self, task: TaskId, seen: &mut Seen, signs: &Signs, (phase, now): (&Phase, Time)) {
        // A bound that was known may be another now.
        self.offer(task, seen, if signs.may_be_copied { Bound::Unknown } else { Bound::None });
        self.crowd(task, seen, if seen.copies > 1 { Bound::Unknown } else { Bound::None });
        if signs.is_old {
            self.old.insert(task);
        } else {
            self.old.remove(&task);
        }
        let earliest = now + Time::from_seconds(APART * phase.mean());
        self.be_due(task, seen, if signs.next == Time::NEVER { signs.next } else { signs.next.max(earliest) });
    }
}

impl Auto {
    /// Notes what the attempts of a task show of what they have in common, if it has had several.
    pub(super) fn note(&mut self, task: TaskId, knowledge: Knowledge, cluster: &Cluster) {
        let Some(group) = self.groups.get_mut(&(task.job, task.phase)) else { return };
        if !self.lessons.tasks.contains(task) {
            return;
        }
        let Some(sight) = self.lessons.sight((task.job, task.phase), group, knowledge, cluster) else { return };
        if let Some(likelihoods) = likelihoods(task, &sight) {
            let (kind, within) = (sight.kind, sight.scale.within);
            self.lessons.shares.note(kind, task, likelihoods, within);
            self.lessons.tasks.note(task, cluster.now());
        }
    }

    /// Compares the durations of kinds of which enough attempts have ended with what was stated.
    pub(super) fn compare_durations(&mut self, round: &Round<'_>) {
        let (cluster, knowledge) = (round.cluster(), round.estimator.knowledge());
        for kind in self.lessons.durations.due() {
            let mut running = Vec::new();
            for ((job, phase), group) in
                self.groups.iter().filter(|(_, group)| group.class.is_some_and(|class| class.kind == kind))
            {
                let Some(stated) = cluster.job(*job).map(|job| &job.phases()[*phase as usize]) else { continue };
                let scale = self.lessons.scale((*job, *phase), stated, kind, knowledge);
                let tasks = group.tasks.keys().map(|index| TaskId { job: *job, phase: *phase, index: *index });
                let firsts = tasks.filter_map(|task| cluster.attempt(AttemptId { task, copy: 0 }));
                running.extend(firsts.map(|first| (watched::duration(first, scale, cluster), scale.mean)));
            }
            if self.lessons.durations.compare(kind, running.into_iter()) {
                self.changed.extend(self.groups.keys());
            }
        }
    }

    /// Looks again at the tasks that have changed, at all tasks of the phases that have changed enough, and at those whose time has come.
    pub(super) fn look_at_changed(&mut self, round: &mut Round<'_>) {
        let (now, knowledge) = (round.cluster().now(), round.estimator.knowledge());
        let mut unnoted = std::mem::take(&mut self.unnoted);
        unnoted.sort_unstable();
        unnoted.dedup();
        for task in unnoted {
            // Where copies are independent it is early enough when the task has finished.
            let kind = self.kind(task, round.cluster());
            if share::mean(self.lessons.shares.of(kind)) >= share::TRUSTED {
                self.note(task, knowledge, round.cluster());
            }
        }
        let mut tasks = std::mem::take(&mut self.changed_tasks);
        while let Some(task) = self.queue.next_due(now) {
            if let Some(seen) =
                self.groups.get_mut(&(task.job, task.phase)).and_then(|group| group.tasks.get_mut(&task.index))
            {
                self.queue.be_due(task, seen, Time::NEVER);
            }
            tasks.push(task);
        }
        tasks.sort_unstable();
        tasks.dedup();
        let mut phases = std::mem::take(&mut self.changed);
        let mut last = None;
        for task in &tasks {
            let id = (task.job, task.phase);
            if last.replace(id) == Some(id) {
                continue;
            }
            let Some(group) = self.groups.get(&id) else { continue };
            let phase = round.cluster().phase(*task);
            if phase.is_none_or(|phase| group.has_changed(phase, now)) {
                phases.insert(id);
            }
        }
        tasks.retain(|task| !phases.contains(&(task.job, task.phase)));
        for phase in phases {
            self.look(phase, knowledge, round.cluster());
        }
        for task in tasks {
            self.look_at(task, knowledge, round.cluster());
        }
    }

    /// Requests a round when the next task is to be looked at.
    pub(super) fn wake(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        if let Some(at) = self.queue.first_due()
            && (at < self.woken || self.woken <= now)
        {
            self.woken = at;
            round.decide(Decision::Wake { at });
        }
    }

    /// Looks at all tasks of a phase.
    fn look(&mut self, id: PhaseId, knowledge: Knowledge, cluster: &Cluster) {
        let Some(phase) = cluster.job(id.0).filter(|job| !job.is_over()).map(|job| &job.phases()[id.1 as usize]) else {
            self.forget(id);
            return;
        };
        let Some(mut group) = self.groups.remove(&id) else { return };
        group.class = None;
        let task = |index| TaskId { job: id.0, phase: id.1, index };
        let over: Vec<u32> = group.tasks.keys().copied().filter(|index| !runs(task(*index), cluster)).collect();
        for index in over {
            self.leave(task(index), &mut group);
        }
        let apart = Time::from_seconds(NOTED * phase.mean());
        let indices: Vec<u32> =
            if self.lessons.tasks.is_empty() { Vec::new() } else { group.tasks.keys().copied().collect() };
        self.groups.insert(id, group);
        for index in indices {
            if self.lessons.tasks.noted(task(index)).is_some_and(|at| at + apart <= cluster.now()) {
                self.note(task(index), knowledge, cluster);
            }
        }
        let job = cluster.job(id.0).filter(|job| job.phases().len() > 1);
        let mean = self.groups.get(&id).and_then(|group| group.class).map_or(phase.mean(), |class| class.mean);
        let beside = job.and_then(|job| beside(id, job, &self.groups, (cluster.now(), mean)));
        let Some(group) = self.groups.get_mut(&id) else { return };
        if group.tasks.is_empty() {
            self.groups.remove(&id);
            // What ran beside it is now all that its job waits for.
            let phases = job.map_or(0, |job| job.phases().len() as u32);
            self.changed.extend((0..phases).map(|at| (id.0, at)).filter(|other| self.groups.contains_key(other)));
            return;
        }
        let (queue, single) = (&mut self.queue, &mut self.single);
        let Some(mut sight) = self.lessons.sight(id, group, knowledge, cluster) else { return };
        *single -= group.tasks.values().filter(|seen| seen.copies == 1).count();
        group.look(&mut sight, beside, |task, seen, signs| queue.note(task, seen, signs, (phase, cluster.now())));
        *single += group.tasks.values().filter(|seen| seen.copies == 1).count();
        self.share = group.share;
    }

    /// Looks at one task.
    pub(super) fn look_at(&mut self, task: TaskId, knowledge: Knowledge, cluster: &Cluster) {
        let id = (task.job, task.phase);
        let Some(phase) = cluster.phase(task) else { return };
        let Some(group) = self.groups.get_mut(&id) else { return };
        if runs(task, cluster) {
            let (queue, single) = (&mut self.queue, &mut self.single);
            let Some(mut sight) = self.lessons.sight(id, group, knowledge, cluster) else { return };
            *single -= group.tasks.get(&task.index).map_or(0, |seen| usize::from(seen.copies == 1));
            group.look_at(task.index, &mut sight, |task, seen, signs| {
                *single += usize::from(seen.copies == 1);
                queue.note(task, seen, signs, (phase, cluster.now()));
            });
        } else if let Some(mut group) = self.groups.remove(&id) {
            self.leave(task, &mut group);
            self.groups.insert(id, group);
        }
    }

    /// Notes that a task does not run any more.
    fn leave(&mut self, task: TaskId, group: &mut Group) {
        if let Some(mut seen) = group.ended(task.index) {
            self.single -= usize::from(seen.copies == 1);
            self.queue.forget(task, &mut seen);
        }
    }
}

impl Group {
    /// True if so much of a phase has changed since all its tasks were looked at that they should be looked at again.
    fn has_changed(&self, phase: &Phase, now: Time) -> bool {
        let limit = if self.size <= SMALL { CHANGED_WHEN_SMALL } else { CHANGED };
        let changed = f64::from(self.size.abs_diff(phase.unfinished()));
        self.size == 0
            || changed >= (limit * f64::from(self.size)).max(1.0)
            || (now - self.seen).seconds() >= FRESH * phase.mean()
    }
}

/// True if a task has running attempts.
fn runs(task: TaskId, cluster: &Cluster) -> bool {
    cluster.task(task).is_some_and(|task| !task.is_finished() && task.running_copies() > 0)
}
