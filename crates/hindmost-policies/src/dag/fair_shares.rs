//! Dominant resource fairness as a division of the whole cluster, for orders that plan with a job's share.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;

use crate::dag::dominant_shares::{Claim, Claims};

/// What has become of a job's share since it was last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// It is what it was.
    #[default]
    None,
    /// It has grown, once or several times.
    Grown,
    /// It has shrunk, whether or not it has grown before or since.
    Shrunk,
}

/// A job's share.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    share: f64,
    news: News,
}

/// Shares that differ by less are the same.
const SAME: f64 = 1e-9;

impl Held {
    /// Has another share from now on; true if it is not the same.
    fn change(&mut self, share: f64) -> bool {
        let changes = (share - self.share).abs() > SAME;
        if changes {
            self.news = self.news.max(if share < self.share { News::Shrunk } else { News::Grown });
            self.share = share;
        }
        changes
    }
}

/// The unfinished jobs and what they could use. While the cluster has room for all tasks of all jobs at once each job
/// has what it could use, and only those have a new share of which that has changed. Jobs are numbered by their ids, which
/// are in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct FairShares {
    /// The id of the job that has number 0.
    first: u32,
    claims: Claims,
    /// By number.
    held: Vec<Held>,
    /// By number, whether the job is unfinished.
    here: Vec<bool>,
    /// So many at the front have left.
    gone: usize,
    /// Jobs of which tasks have finished since shares were last handed out, and new ones.
    changed: Vec<JobId>,
    /// True once the cluster has changed.
    all_changed: bool,
    /// True if all jobs had what they could use when shares were last handed out.
    was_satisfied: bool,
}

impl FairShares {
    fn number_of(&self, job: JobId) -> Option<usize> {
        let number = job.0.checked_sub(self.first)? as usize;
        self.here.get(number).is_some_and(|here| *here).then_some(number)
    }

    /// A job has arrived, after all others. Until shares are handed out it has none: the first is no loss.
    pub fn join(&mut self, job: JobId) {
        if self.here.is_empty() {
            self.first = job.0;
        }
        // Should there be ids that no job has, they have left.
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

    /// A job has finished.
    pub fn leave(&mut self, job: JobId) {
        let Some(number) = self.number_of(job) else { return };
        self.claims.set(number, Claim::none());
        self.here[number] = false;
        self.gone += self.here[self.gone..].iter().take_while(|here| !**here).count();
    }

    /// Takes out jobs that have left, if those at the front are most.
    fn forget_left(&mut self) {
        if self.gone * 2 <= self.here.len() {
            return;
        }
        self.claims.drop_first(self.gone);
        self.held.drain(..self.gone);
        self.here.drain(..self.gone);
        self.first += self.gone as u32;
        self.gone = 0;
    }

    /// A task of a job has finished.
    pub fn change(&mut self, job: JobId) {
        if self.changed.last() != Some(&job) {
            self.changed.push(job);
        }
    }

    /// Nodes have come or gone.
    pub fn change_all(&mut self) {
        self.all_changed = true;
    }

    /// A job's share.
    pub fn share(&self, job: JobId) -> f64 {
        self.number_of(job).map_or(0.0, |number| self.held[number].share)
    }

    /// A job's share, and what has become of it since the last time.
    pub fn take(&mut self, job: JobId) -> (f64, News) {
        let Some(number) = self.number_of(job) else { return (0.0, News::None) };
        let held = &mut self.held[number];
        (held.share, std::mem::take(&mut held.news))
    }

    /// Hands each unfinished job its share, unless it certainly is what it was; true if any has changed.
    pub fn share_out(&mut self, cluster: &Cluster) -> bool {
        let mut changed = std::mem::take(&mut self.changed);
        if std::mem::take(&mut self.all_changed) {
            changed.clear();
            let here = self.here.iter().enumerate().filter(|(_, here)| **here);
            changed.extend(here.map(|(number, _)| JobId(self.first + number as u32)));
        }
        changed.sort_unstable();
        changed.dedup();
        self.forget_left();
        let claim = |id: &JobId| {
            let job = cluster.job(*id).filter(|job| job.finished().is_none())?;
            Some((self.number_of(*id)?, Claim::of(job, cluster)))
        };
        let claims: Vec<(usize, Claim)> = changed.iter().filter_map(claim).collect();
        self.claims.set_all(&claims);
        let mut has_changed = false;
        let mut give = |number: usize, share: f64| has_changed |= self.held[number].change(share);
        // Those that need nothing are not in the others' way.
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
