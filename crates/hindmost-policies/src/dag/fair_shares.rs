//! Divides the whole cluster among jobs by dominant resource fairness, for `carbyne`, which plans with the jobs'
//! shares.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;

use crate::dag::dominant_shares::{Claim, Claims};

/// The change of a job's share since [`FairShares::take`] last returned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShareChange {
    /// The share is the same.
    #[default]
    None,
    /// The share has grown and never shrunk.
    Grown,
    /// The share has shrunk at least once.
    Shrunk,
}

/// The share of a job, and its change since it was last returned.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    share: f64,
    change: ShareChange,
}

/// Shares that differ by at most this count as the same.
const SAME: f64 = 1e-9;

impl Held {
    /// Sets the share. Returns true if it has changed.
    fn change(&mut self, share: f64) -> bool {
        let changes = (share - self.share).abs() > SAME;
        if changes {
            self.change = self.change.max(if share < self.share { ShareChange::Shrunk } else { ShareChange::Grown });
            self.share = share;
        }
        changes
    }
}

/// The unfinished jobs, their claims and their shares.
///
/// While all unfinished tasks of all jobs fit into the cluster at once, each job's share is all that the job could use,
/// and only the shares of changed jobs are computed. A job's number is its id minus the id of the first job; ids grow
/// in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct FairShares {
    /// The id of the job with number 0.
    first: u32,
    claims: Claims,
    /// The shares, by number.
    held: Vec<Held>,
    /// By number, true if the job is unfinished.
    here: Vec<bool>,
    /// The number of finished jobs before the first unfinished one.
    gone: usize,
    /// The jobs that arrived, or finished a task, since shares were last computed.
    changed: Vec<JobId>,
    /// True if nodes have joined or left since shares were last computed.
    all_changed: bool,
    /// True if each job got all that it could use when shares were last computed.
    was_satisfied: bool,
}

impl FairShares {
    fn number_of(&self, job: JobId) -> Option<usize> {
        let number = job.0.checked_sub(self.first)? as usize;
        self.here.get(number).is_some_and(|here| *here).then_some(number)
    }

    /// Adds a job that has arrived after all others. Its share is 0 until shares are computed, so its first share is
    /// never a shrunk one.
    pub fn join(&mut self, job: JobId) {
        if self.here.is_empty() {
            self.first = job.0;
        }
        // Ids that no job has count as finished jobs.
        while self.first + (self.here.len() as u32) < job.0 {
            self.push(false);
        }
        self.push(true);
        self.changed.push(job);
    }

    fn push(&mut self, here: bool) {
        self.here.push(here);
        self.held.push(Held::default());
        self.claims.push();
    }

    /// Removes a job that has finished or was abandoned.
    pub fn leave(&mut self, job: JobId) {
        let Some(number) = self.number_of(job) else { return };
        self.claims.set(number, Claim::none());
        self.here[number] = false;
        self.gone += self.here[self.gone..].iter().take_while(|here| !**here).count();
    }

    /// Removes the finished jobs before the first unfinished one if they are more than half of all jobs.
    fn drop_finished(&mut self) {
        if self.gone * 2 <= self.here.len() {
            return;
        }
        self.claims.drop_first(self.gone);
        self.held.drain(..self.gone);
        self.here.drain(..self.gone);
        self.first += self.gone as u32;
        self.gone = 0;
    }

    /// Notes that a task of a job has finished.
    pub fn change(&mut self, job: JobId) {
        if self.changed.last() != Some(&job) {
            self.changed.push(job);
        }
    }

    /// Notes that nodes have joined or left.
    pub fn change_all(&mut self) {
        self.all_changed = true;
    }

    /// Returns a job's dominant share; 0 for an unknown job.
    pub fn share(&self, job: JobId) -> f64 {
        self.number_of(job).map_or(0.0, |number| self.held[number].share)
    }

    /// Returns a job's share and its change since the last call for this job.
    pub fn take(&mut self, job: JobId) -> (f64, ShareChange) {
        let Some(number) = self.number_of(job) else { return (0.0, ShareChange::None) };
        let held = &mut self.held[number];
        (held.share, std::mem::take(&mut held.change))
    }

    /// Computes the shares of all unfinished jobs, except those that certainly have not changed. Returns true if any
    /// share has changed.
    pub fn share_out(&mut self, cluster: &Cluster) -> bool {
        let mut changed = std::mem::take(&mut self.changed);
        if std::mem::take(&mut self.all_changed) {
            changed.clear();
            let here = self.here.iter().enumerate().filter(|(_, here)| **here);
            changed.extend(here.map(|(number, _)| JobId(self.first + number as u32)));
        }
        changed.sort_unstable();
        changed.dedup();
        self.drop_finished();
        let claim = |id: &JobId| {
            let job = cluster.job(*id).filter(|job| !job.is_over())?;
            Some((self.number_of(*id)?, Claim::of(job, cluster)))
        };
        let claims: Vec<(usize, Claim)> = changed.iter().filter_map(claim).collect();
        self.claims.set_all(&claims);
        let mut has_changed = false;
        let mut give = |number: usize, share: f64| has_changed |= self.held[number].change(share);
        // Jobs that need nothing do not affect the shares of others.
        let is_satisfied = self.claims.are_satisfied();
        for (number, claim) in &claims {
            if is_satisfied || !claim.needs_some() {
                give(*number, claim.most());
            }
        }
        if !is_satisfied {
            self.claims.divide(give);
        } else if !self.was_satisfied {
            let here = self.here.iter().zip(self.claims.all()).enumerate().filter(|(_, (here, _))| **here);
            here.for_each(|(number, (_, claim))| give(number, claim.most()));
        }
        self.was_satisfied = is_satisfied;
        changed.clear();
        self.changed = changed;
        has_changed
    }
}
