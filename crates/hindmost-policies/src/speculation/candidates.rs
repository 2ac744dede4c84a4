//! An index of candidates: the attempts that a rule found slow. It lets a round check only those candidates that can get
//! a backup now.
//!
//! Candidates are sorted by rank within their phase, and phases are grouped by the demand of one copy. A round takes
//! the first candidate of each demand that fits on some node. It skips a phase whose job may have no backup now. A
//! second index sorts candidates by the time at which they must be checked again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeInclusive};

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Round, Seen};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// How the remaining time follows from a rank (see `by_age::left`). The order of ranks on one scale does not change with
/// time.
pub(super) type Scale = u64;
/// A rank and its attempt. On one scale, the smallest rank is served first.
pub(super) type Entry = (u64, AttemptId);
type PhaseId = (JobId, u32);
type GroupId = (PhaseId, Scale);

/// The candidates of one phase whose ranks have the same scale.
#[derive(Debug)]
struct Group {
    demand: Resources,
    entries: BTreeSet<Entry>,
    /// The group's entry in [`Heads`]: the first candidate that this round has not taken. `None` if no candidate of the
    /// group can get a backup now.
    head: Option<Entry>,
    /// The slack of the order of jobs below which the order permits the group's job no more copies; 0 if unknown.
    needed: f64,
}

/// The groups with the same demand and scale.
#[derive(Debug, Default)]
struct Heads {
    /// The head of each group that has one.
    entries: BTreeSet<Entry>,
    /// True if no backup of this demand can be started any more in this round.
    stuck: bool,
}

/// The candidates of one rule, sorted for rounds.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The rank of each candidate and the time at which it must be checked again. The rank is `None` while the
    /// candidate is passed over.
    of: FxHashMap<AttemptId, (Option<(Scale, u64)>, Time)>,
    groups: BTreeMap<GroupId, Group>,
    heads: FxHashMap<(Resources, Scale), Heads>,
    /// The times at which candidates must be checked again. Entries that no longer agree with `of` are skipped.
    due: BTreeSet<(Time, AttemptId)>,
    /// Tasks that have got another copy since the last round.
    copied: Vec<TaskId>,
    /// Jobs that have candidates and whose permission to start backups may have changed since the last round.
    changed: Vec<JobId>,
    /// The slack of the order of jobs at the last round.
    slack: f64,
    /// The groups that need a positive slack, sorted by the bits of the slack. Positive floats sort as their bits do.
    needing: BTreeSet<(u64, GroupId)>,
    /// Groups from which this round has taken an entry.
    taken: Vec<GroupId>,
}

fn phase_of(id: AttemptId) -> PhaseId {
    (id.task.job, id.task.phase)
}

/// Returns the range of ids of a job's groups.
fn of_job(job: JobId) -> RangeInclusive<GroupId> {
    ((job, 0), 0)..=((job, u32::MAX), Scale::MAX)
}

impl Candidates {
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    pub(super) fn contains(&self, id: AttemptId) -> bool {
        self.of.contains_key(&id)
    }

    /// Adds a candidate, or changes its rank. `demand` is the demand of a copy of its task. The candidate must be checked
    /// again at `due`.
    pub(super) fn put(&mut self, rank: (Scale, u64), id: AttemptId, due: Time, demand: &Resources) {
        if self.of.get(&id).is_none_or(|known| known.0 != Some(rank)) {
            self.remove(id);
            let group = self.groups.entry((phase_of(id), rank.0)).or_insert_with(|| {
                self.changed.push(id.task.job);
                Group { demand: *demand, entries: BTreeSet::new(), head: None, needed: 0.0 }
            });
            group.entries.insert((rank.1, id));
            self.refresh((phase_of(id), rank.0));
        }
        self.wait(id, Some(rank), due);
    }

    /// Leaves a candidate out of rounds until a time.
    pub(super) fn pass_over(&mut self, id: AttemptId, until: Time) {
        self.remove(id);
        self.wait(id, None, until);
    }

    /// Stores a candidate's rank and the time at which it must be checked again.
    fn wait(&mut self, id: AttemptId, rank: Option<(Scale, u64)>, due: Time) {
        self.of.insert(id, (rank, due));
        if due < Time::NEVER {
            self.due.insert((due, id));
        }
    }

    pub(super) fn remove(&mut self, id: AttemptId) {
        let Some((Some((scale, rank)), _)) = self.of.remove(&id) else { return };
        let Some(group) = self.groups.get_mut(&(phase_of(id), scale)) else { return };
        group.entries.remove(&(rank, id));
        self.refresh((phase_of(id), scale));
    }

    /// Makes a group's first entry its head if the group's job may get a backup now. Deletes the group if it is empty.
    fn refresh(&mut self, id: GroupId) {
        let Some(group) = self.groups.get(&id) else { return };
        let may_be_helped = group.needed <= self.slack;
        let (first, empty) = (group.entries.first().copied().filter(|_| may_be_helped), group.entries.is_empty());
        self.set_head(id, first);
        if empty {
            self.need(id, 0.0);
            self.groups.remove(&id);
        }
    }

    /// Records how much slack a group needs.
    fn need(&mut self, id: GroupId, needed: f64) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let before = std::mem::replace(&mut group.needed, needed.max(0.0));
        if before > 0.0 {
            self.needing.remove(&(before.to_bits(), id));
        }
        if needed > 0.0 {
            self.needing.insert((needed.to_bits(), id));
        }
    }

    fn set_head(&mut self, id: GroupId, head: Option<Entry>) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let before = std::mem::replace(&mut group.head, head);
        if before == head {
            return;
        }
        let heads = self.heads.entry((group.demand, id.1)).or_default();
        before.map(|before| heads.entries.remove(&before));
        heads.entries.extend(head);
        if heads.entries.is_empty() {
            self.heads.remove(&(group.demand, id.1));
        }
    }

    /// Observes a record. Adds the candidates about which the record brings new information to `new`.
    pub(super) fn observe(&mut self, seen: Seen<'_>, cluster: &Cluster, new: &mut Vec<AttemptId>) {
        if self.is_empty() {
            return;
        }
        let (task, ended) = match seen {
            Seen::Decision(Decision::Abandon { job }) => {
                let of_job = self.of.keys().copied().filter(|id| id.task.job == *job);
                for id in of_job.collect::<Vec<AttemptId>>() {
                    self.remove(id);
                }
                return;
            }
            Seen::Decision(Decision::Start { attempt, .. } | Decision::Replace { attempt, .. }) => (attempt.task, None),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                _,
            ) => (attempt.task, Some(*attempt)),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                new.extend(self.of.contains_key(attempt).then_some(*attempt));
                return;
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                new.extend(self.of.keys().filter(|id| phase_of(**id) == (*job, *phase)));
                self.changed.push(*job);
                return;
            }
            Seen::Event(Event::NodeSpeedLearned { .. }, _) => {
                new.extend(self.of.keys());
                return;
            }
            Seen::Event(Event::NodeLost { .. } | Event::NodeJoined { .. } | Event::NodeReturned { .. }, _) => {
                let gone = self.of.keys().copied().filter(|id| cluster.attempt(*id).is_none());
                for id in gone.collect::<Vec<AttemptId>>() {
                    self.remove(id);
                }
                self.changed.extend(self.groups.keys().map(|((job, _), _)| *job));
                return;
            }
            _ => return,
        };
        if let Some(id) = ended {
            self.remove(id);
        } else if cluster.task(task).is_some_and(|task| task.running_copies() > 1) {
            self.copied.push(task);
        }
        if self.groups.range(of_job(task.job)).next().is_some() {
            self.changed.push(task.job);
        }
    }

    /// Returns the candidates of a phase, sorted by rank within each scale.
    pub(super) fn of_phase(&self, phase: PhaseId) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        self.groups.range((phase, 0)..=(phase, Scale::MAX)).flat_map(|(_, group)| &group.entries).copied()
    }

    /// Removes candidates that are no longer their task's only copy.
    pub(super) fn forget_copied(&mut self, cluster: &Cluster) {
        for task in std::mem::take(&mut self.copied) {
            for copy in cluster.copies(task).filter(|copy| !cluster.is_only_copy(copy)) {
                self.remove(copy.id());
            }
        }
    }

    /// Updates which of the changed jobs may have backups now: the slack of the order of jobs must be at least what the
    /// task needs (`slack_needed`; see `Order::slack_needed`).
    pub(super) fn close(&mut self, slack_needed: impl Fn(TaskId) -> f64, slack: f64) {
        let before = std::mem::replace(&mut self.slack, slack);
        let (low, high) = (before.min(slack).to_bits(), before.max(slack).to_bits());
        let first = ((JobId(0), 0), 0);
        let mut affected: Vec<GroupId> =
            self.needing.range((low, first)..(high + 1, first)).map(|(_, id)| *id).collect();
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        for job in changed {
            let of_job: Vec<GroupId> = self.groups.range(of_job(job)).map(|(id, _)| *id).collect();
            for id in of_job {
                let Some(group) = self.groups.get_mut(&id) else { continue };
                let needed = group.entries.first().map_or(0.0, |(_, id)| slack_needed(id.task)).max(0.0);
                if group.needed != needed {
                    self.need(id, needed);
                    affected.push(id);
                }
            }
        }
        for id in affected {
            self.refresh(id);
        }
    }

    /// Removes and returns the candidates whose jobs the order may permit another copy now.
    pub(super) fn take_permitted(&mut self, round: &Round<'_>) -> Vec<Entry> {
        if self.is_empty() {
            return Vec::new();
        }
        self.forget_copied(round.cluster());
        self.close(|task| round.slack_needed(task), round.slack());
        let permitted: Vec<Entry> = std::iter::from_fn(|| self.next(|_, _| 0.0, -1.0, |_| true)).collect();
        for (_, id) in &permitted {
            self.remove(*id);
        }
        self.end_round();
        permitted
    }

    /// Returns the candidates that are due to be checked again, sorted by id. They stay among the candidates.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<AttemptId> {
        let mut ids = Vec::new();
        while let Some((due, id)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            self.due.pop_first();
            ids.extend(self.of.get(&id).filter(|known| known.1 == due).map(|_| id));
        }
        ids.sort_unstable();
        ids
    }

    /// Returns the demands of the candidates that can get a backup now. Complete only before this round's first call of
    /// [`Candidates::next`].
    pub(super) fn demands(&self) -> impl Iterator<Item = &Resources> {
        self.heads.keys().map(|(demand, _)| demand)
    }

    /// Returns the next candidate of this round, each candidate at most once. Among the candidates whose demand is
    /// `worth` a try, the longest remaining time is first; `left` computes it in seconds from scale and rank. Returns
    /// `None` if no remaining time is above `above`.
    pub(super) fn next(
        &mut self,
        left: impl Fn(Scale, u64) -> f64,
        above: f64,
        mut worth: impl FnMut(&Resources) -> bool,
    ) -> Option<Entry> {
        loop {
            let heads = self.heads.iter_mut().filter(|(_, heads)| !heads.stuck);
            let heads = heads.filter_map(|((demand, scale), heads)| {
                let entry = *heads.entries.first()?;
                Some((left(*scale, entry.0), entry, *scale, (demand, heads)))
            });
            let first = heads.min_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            let (_, entry, scale, (demand, heads)) = first.filter(|first| first.0 > above)?;
            if !worth(demand) {
                heads.stuck = true;
                continue;
            }
            let id = (phase_of(entry.1), scale);
            let after = (Bound::Excluded(entry), Bound::Unbounded);
            let next = self.groups.get(&id).and_then(|group| group.entries.range(after).next().copied());
            self.set_head(id, next);
            self.taken.push(id);
            return Some(entry);
        }
    }

    /// Makes this round skip all candidates that have the phase and the scale of candidate `of`, which
    /// [`Candidates::next`] has just returned.
    pub(super) fn leave_phase(&mut self, of: AttemptId) {
        if let Some((Some((scale, _)), _)) = self.of.get(&of) {
            self.set_head((phase_of(of), *scale), None);
        }
    }

    /// Ends a round. The next round begins with all candidates again.
    pub(super) fn end_round(&mut self) {
        for id in std::mem::take(&mut self.taken) {
            self.refresh(id);
        }
        self.try_again();
    }

    /// Makes [`Candidates::next`] try the demands again that were not worth a try before.
    pub(super) fn try_again(&mut self) {
        self.heads.values_mut().for_each(|heads| heads.stuck = false);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attempt(job: u32, index: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(job), phase: 0, index }, copy: 0 }
    }

    /// Returns the demand of a job's tasks in these tests.
    fn demand(job: u32) -> Resources {
        let mut demand = Resources::NONE;
        demand.0[0] = u64::from(job % 3);
        demand
    }

    proptest! {
        #[test]
        fn rounds_return_candidates_in_sorted_order(
            rounds in prop::collection::vec(
                (prop::collection::vec((0u32..5, 0u32..6, prop::option::of(0u64..9)), 0..12), 0u32..5, 0u64..3),
                1..20,
            ),
        ) {
            let mut candidates = Candidates::default();
            let mut known: BTreeMap<AttemptId, u64> = BTreeMap::new();
            for (changes, closed, unfit) in rounds {
                for (job, index, rank) in changes {
                    let id = attempt(job, index);
                    if let Some(rank) = rank {
                        candidates.put((0, rank), id, Time::NEVER, &demand(job));
                        known.insert(id, rank);
                    } else {
                        candidates.remove(id);
                        known.remove(&id);
                    }
                }
                candidates.changed.extend((0..5).map(JobId));
                candidates.close(|task| f64::from(u8::from(task.job == JobId(closed))), 0.0);
                let may = |id: &AttemptId| id.task.job != JobId(closed) && demand(id.task.job.0).0[0] != unfit;
                let mut sorted: Vec<Entry> = known.iter().filter(|(id, _)| may(id)).map(|(id, rank)| (*rank, *id)).collect();
                sorted.sort_unstable();
                let found: Vec<Entry> = std::iter::from_fn(|| candidates.next(|_, _| 0.0, -1.0, |demand| demand.0[0] != unfit)).collect();
                candidates.end_round();
                prop_assert_eq!(found, sorted);
            }
        }
    }

    #[test]
    fn a_candidate_passed_over_returns_when_it_is_due() {
        let mut candidates = Candidates::default();
        candidates.put((0, 1), attempt(0, 0), Time::NEVER, &demand(0));
        candidates.put((0, 2), attempt(0, 1), Time(7), &demand(0));
        assert_eq!(candidates.next(|_, _| 0.0, -1.0, |_| true), Some((1, attempt(0, 0))));
        candidates.pass_over(attempt(0, 0), Time(5));
        candidates.end_round();
        assert_eq!(candidates.next(|_, _| 0.0, -1.0, |_| true), Some((2, attempt(0, 1))));
        candidates.end_round();
        assert_eq!(candidates.take_due(Time(4)), []);
        assert_eq!(candidates.take_due(Time(7)), [attempt(0, 0), attempt(0, 1)]);
        candidates.put((0, 3), attempt(0, 0), Time::NEVER, &demand(0));
        assert_eq!(
            [(); 3].map(|()| candidates.next(|_, _| 0.0, -1.0, |_| true)),
            [Some((2, attempt(0, 1))), Some((3, attempt(0, 0))), None]
        );
    }
}
