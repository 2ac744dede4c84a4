//! What looks at phases have found, in the order of the queue length up to which it counts, and when phases are looked at again.

use hindmost_core::cluster::{Cluster, Phase};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::TaskId;
use hindmost_core::policy::Round;
use hindmost_core::record::Decision;
use hindmost_core::time::Time;

use super::look::{Finding, Group};
use super::{Auto, PhaseId, key};

/// A phase is looked at again once so large a share of its unfinished tasks has ended.
const CHANGED: f64 = 0.05;
/// The same for phases with at most [`SMALL`] unfinished tasks.
const CHANGED_WHEN_SMALL: f64 = 0.1;
/// Number of unfinished tasks up to which a phase is small.
const SMALL: u32 = 20;
/// What was seen of a phase counts for this long, in E.
const FRESH: f64 = 0.25;
/// Phases are looked at because of the ages of their attempts at most once in this time, in E.
const APART: f64 = 0.05;
/// What the attempts of a task show is noted after so long if nothing happens, in E: else short tasks would be seen first.
const NOTED: f64 = 0.25;

impl Auto {
    /// Looks again at the tasks that have changed, at all tasks of the phases that have changed enough, and at those whose time has come.
    pub(super) fn look_at_changed(&mut self, round: &mut Round<'_>) {
        let (now, knowledge) = (round.cluster().now(), round.estimator.knowledge());
        let mut tasks = std::mem::take(&mut self.changed_tasks);
        let mut phases = std::mem::take(&mut self.changed);
        let mut last = None;
        for task in &tasks {
            let id = (task.job, task.phase);
            if last.replace(id) == Some(id) {
                continue;
            }
            let Some(group) = self.groups.get(&id) else { continue };
            let phase = round.cluster().phase(*task);
            let has_changed = phase.is_none_or(|phase| {
                let limit = if group.size <= SMALL { CHANGED_WHEN_SMALL } else { CHANGED };
                let changed = f64::from(group.size.abs_diff(phase.unfinished()));
                group.size == 0
                    || changed >= (limit * f64::from(group.size)).max(1.0)
                    || (now - group.seen).seconds() >= FRESH * phase.mean()
            });
            if has_changed {
                phases.insert(id);
            }
        }
        while let Some((at, phase)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, phase));
            phases.insert(phase);
        }
        tasks.retain(|task| !phases.contains(&(task.job, task.phase)));
        for phase in phases {
            self.look(phase, knowledge, round.cluster());
        }
        for task in tasks {
            self.look_at(task, knowledge, round.cluster());
        }
        if let Some((at, _)) = self.due.first().copied()
            && (at < self.wake || self.wake <= now)
        {
            self.wake = at;
            round.decide(Decision::Wake { at });
        }
    }

    /// Looks at all tasks of a phase.
    pub(super) fn look(&mut self, id: PhaseId, knowledge: Knowledge, cluster: &Cluster) {
        let Some(phase) = cluster.job(id.0).filter(|job| !job.is_over()).map(|job| &job.phases()[id.1 as usize]) else {
            self.forget(id);
            return;
        };
        let Some(mut group) = self.groups.remove(&id) else { return };
        self.withdraw(&group, id);
        self.due.remove(&(group.due, id));
        self.single -= group.single;
        group.offered.clear();
        group.crowded.clear();
        let apart = Time::from_seconds(NOTED * phase.mean());
        for index in &group.running {
            let task = TaskId { job: id.0, phase: id.1, index: *index };
            if self.lessons.tasks.noted(task).is_some_and(|at| at + apart <= cluster.now()) {
                self.lessons.note(task, knowledge, cluster);
            }
        }
        let mut findings = Vec::new();
        let mut sight = self.lessons.sight(id, phase, knowledge, cluster);
        let next = group.look(&mut sight, |finding| findings.push(finding));
        if group.running.is_empty() {
            return;
        }
        self.find(id, &mut group, findings);
        self.single += group.single;
        group.due = Time::NEVER;
        self.be_due(id, &mut group, next, (phase, cluster));
        self.groups.insert(id, group);
    }

    /// Looks at one task.
    pub(super) fn look_at(&mut self, task: TaskId, knowledge: Knowledge, cluster: &Cluster) {
        let id = (task.job, task.phase);
        let Some(phase) = cluster.phase(task) else { return };
        let Some(mut group) = self.groups.remove(&id) else { return };
        if let Some(key) = group.offered.remove(&task.index) {
            self.offers.remove(&(key, task));
        }
        if let Some(key) = group.crowded.remove(&task.index) {
            self.crowded.remove(&(key, task));
        }
        self.old.remove(&task);
        if cluster.task(task).is_some_and(|task| !task.is_finished() && task.running_copies() > 0) {
            let mut findings = Vec::new();
            let mut sight = self.lessons.sight(id, phase, knowledge, cluster);
            let next = group.look_at(task.index, &mut sight, |finding| findings.push(finding));
            self.find(id, &mut group, findings);
            self.be_due(id, &mut group, next, (phase, cluster));
        } else {
            group.finished(task.index);
        }
        self.groups.insert(id, group);
    }

    /// Notes when a phase is to be looked at again, if that is before the time known so far.
    pub(super) fn be_due(&mut self, id: PhaseId, group: &mut Group, next: Time, (phase, cluster): (&Phase, &Cluster)) {
        let next = next.max(cluster.now() + Time::from_seconds(APART * phase.mean()));
        if next < group.due {
            self.due.remove(&(group.due, id));
            group.due = next;
            self.due.insert((next, id));
        }
    }

    /// Notes what a look has found.
    pub(super) fn find(&mut self, id: PhaseId, group: &mut Group, findings: Vec<Finding>) {
        let task = |index| TaskId { job: id.0, phase: id.1, index };
        for finding in findings {
            match finding {
                Finding::Offer(index, prices) => {
                    let key = key(self.parameters.waiting_at(prices.below, group.share), true);
                    group.offered.insert(index, key);
                    self.offers.insert((key, task(index)));
                }
                Finding::Crowded(index, price) => {
                    let key = key(self.parameters.waiting_at(price, group.share), false);
                    group.crowded.insert(index, key);
                    self.crowded.insert((key, task(index)));
                }
                Finding::StartsAgain(index) => {
                    self.old.insert(task(index));
                }
            }
        }
    }

    /// Removes what was found in a phase.
    pub(super) fn withdraw(&mut self, group: &Group, phase: PhaseId) {
        let task = |index| TaskId { job: phase.0, phase: phase.1, index };
        for (index, key) in &group.offered {
            self.offers.remove(&(*key, task(*index)));
        }
        for (index, key) in &group.crowded {
            self.crowded.remove(&(*key, task(*index)));
        }
        let of_phase: Vec<TaskId> = self.old.range(task(0)..=task(u32::MAX)).copied().collect();
        for task in of_phase {
            self.old.remove(&task);
        }
    }

    /// Withdraws an offer, or makes it again for prices below a lower one: waiting is worth more than was assumed.
    pub(super) fn offer_again(&mut self, old: u64, task: TaskId, below: Option<f64>, waiting: usize) {
        self.offers.remove(&(old, task));
        let Some(group) = self.groups.get_mut(&(task.job, task.phase)) else { return };
        group.offered.remove(&task.index);
        let again = below.map(|below| key(self.parameters.waiting_at(below, group.share), true));
        // An offer for the present number of waiting jobs would be looked at for ever.
        if let Some(again) = again.filter(|again| *again >= key(waiting as f64, true)) {
            group.offered.insert(task.index, again);
            self.offers.insert((again, task));
        }
    }
}
