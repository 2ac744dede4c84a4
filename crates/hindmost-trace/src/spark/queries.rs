//! Jobs of SQL queries that wait for each other.
//!
//! With adaptive execution each exchange of a query runs as a job of its own, and a job that needs its
//! output lists the exchange's stages anew, by other numbers, to skip them. Such a stage has the same RDD
//! as output; by that the one that ran is found, and the jobs are one job to a replay.

use rustc_hash::{FxHashMap, FxHashSet};

use super::stage::Stage;

/// Which jobs are one, and which stages ran in the place of skipped ones.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// For each job the one it was joined to, itself or an earlier one, and so on from there.
    earlier: Vec<u32>,
    /// By the first of them, all jobs that are one with it, if there are others.
    members: FxHashMap<u32, Vec<u32>>,
    ran_as: FxHashMap<u32, u32>,
}

/// Joins the jobs of queries, as far as stages of one wait for those of another.
pub(super) fn join(stages: &FxHashMap<u32, Stage>, jobs: usize) -> Joined {
    let mut joined = Joined { earlier: (0..jobs as u32).collect(), ..Joined::default() };
    // The stages that ran, by execution and output; of several the first.
    let mut ran: FxHashMap<(i64, u32), u32> = FxHashMap::default();
    for (&id, stage) in stages.iter().filter(|(_, stage)| stage.ran && stage.owner.is_some()) {
        if let (Some(execution), Some(output)) = (stage.execution, stage.output) {
            let first = ran.entry((execution, output)).or_insert(id);
            *first = id.min(*first);
        }
    }
    for (&id, stage) in stages {
        if let (Some(execution), Some(output)) = (stage.execution, stage.output)
            && let Some(&other) = ran.get(&(execution, output))
        {
            joined.ran_as.insert(id, if stage.ran { id } else { other });
        }
    }
    for stage in stages.values() {
        let (Some(job), Some(execution)) = (stage.owner, stage.execution) else {
            continue;
        };
        // Through skipped stages that nothing ran for, to those behind them.
        let mut next = stage.parents.clone().unwrap_or_default();
        let mut visited = FxHashSet::default();
        while let Some(parent) = next.pop() {
            if !visited.insert(parent) {
                continue;
            }
            let other = joined.ran_as.get(&parent).and_then(|other| stages.get(other));
            match other.filter(|other| other.execution == Some(execution)).and_then(|other| other.owner) {
                Some(of) => joined.join(job, of),
                None => next.extend(stages.get(&parent).and_then(|stage| stage.parents.as_ref()).into_iter().flatten()),
            }
        }
    }
    for job in 0..jobs as u32 {
        // Those before have arrived at their first ones.
        let first = joined.first_of(job);
        joined.earlier[job as usize] = first;
        if first != job {
            joined.members.entry(first).or_insert_with(|| vec![first]).push(job);
        }
    }
    joined
}

impl Joined {
    /// The first of the jobs that a job is one with.
    pub(super) fn first_of(&self, mut job: u32) -> u32 {
        while let Some(&to) = self.earlier.get(job as usize).filter(|&&to| to != job) {
            job = to;
        }
        job
    }

    /// All jobs that are one with a first one.
    pub(super) fn members(&self, first: u32) -> Vec<u32> {
        self.members.get(&first).cloned().unwrap_or_else(|| vec![first])
    }

    /// The stage of the same query that ran in a stage's place, or itself.
    pub(super) fn ran_as(&self, stage: u32) -> Option<u32> {
        self.ran_as.get(&stage).copied()
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first_of(one), self.first_of(other));
        self.earlier[one.max(other) as usize] = one.min(other);
    }
}
