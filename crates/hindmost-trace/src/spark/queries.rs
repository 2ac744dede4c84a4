//! Joins jobs of an SQL query that wait for each other.
//!
//! With adaptive execution each exchange of a query runs as a job of its own. A job that needs the exchange's output
//! lists the exchange's stages again under other numbers, and skips them. A skipped stage and the stage that ran have
//! the same RDD as output, which shows that they belong together. A replay treats their jobs as one job.

use rustc_hash::{FxHashMap, FxHashSet};

use super::stage::Stage;

/// Which jobs are joined, and which stages ran instead of skipped stages.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// For each job, an earlier job of its group, or the job itself if it is the group's first job. Following these
    /// links leads to the group's first job.
    earlier: Vec<u32>,
    /// The members of each group of joined jobs, by the group's first job.
    members: FxHashMap<u32, Vec<u32>>,
    /// For each stage, the stage with the same output that ran; the stage itself if it ran.
    ran_as: FxHashMap<u32, u32>,
}

/// Joins the jobs of queries whose stages wait for each other.
pub(super) fn join(stages: &FxHashMap<u32, Stage>, jobs: usize) -> Joined {
    let mut joined = Joined { earlier: (0..jobs as u32).collect(), ..Joined::default() };
    // The stages that ran, by execution and output RDD. If several have the same, the stage with the lowest id counts.
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
        // Searches the parents, and the parents of skipped stages for which no other stage ran.
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
        // Earlier jobs already point to the first job of their group.
        let first = joined.first_of(job);
        joined.earlier[job as usize] = first;
        if first != job {
            joined.members.entry(first).or_insert_with(|| vec![first]).push(job);
        }
    }
    joined
}

impl Joined {
    /// Returns the first job of a job's group.
    pub(super) fn first_of(&self, mut job: u32) -> u32 {
        while let Some(&to) = self.earlier.get(job as usize).filter(|&&to| to != job) {
            job = to;
        }
        job
    }

    /// Returns all jobs of the group with this first job.
    pub(super) fn members(&self, first: u32) -> Vec<u32> {
        self.members.get(&first).cloned().unwrap_or_else(|| vec![first])
    }

    /// Returns the stage of the same query that ran instead of `stage`; `stage` itself if it ran.
    pub(super) fn ran_as(&self, stage: u32) -> Option<u32> {
        self.ran_as.get(&stage).copied()
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first_of(one), self.first_of(other));
        self.earlier[one.max(other) as usize] = one.min(other);
    }
}
