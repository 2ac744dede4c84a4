//! Queued jobs by what a copy of their waiting tasks demands: where a cluster is short of one resource and
//! has others left, most jobs of a long queue can start nothing, and nobody has to ask each of them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::cluster::{Cluster, Job};
use crate::ids::JobId;
use crate::resources::{MAX_DIMENSIONS, Resources};

use super::queue::{Place, Which, first_of, next_after};

/// The jobs of which a copy of some waiting task demands so much.
#[derive(Debug, Default)]
struct Jobs {
    started: BTreeSet<Place>,
    new: BTreeSet<Place>,
}

impl Jobs {
    fn of(&mut self, started: bool) -> &mut BTreeSet<Place> {
        if started { &mut self.started } else { &mut self.new }
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_demand: BTreeMap<[u64; MAX_DIMENSIONS], Jobs>,
    demands: FxHashMap<JobId, Vec<Resources>>,
    /// Used again and again.
    now: Vec<Resources>,
}

/// Demands that fit nowhere until room grows.
#[derive(Debug, Default)]
pub(super) struct Stuck(BTreeSet<[u64; MAX_DIMENSIONS]>);

impl Waiting {
    /// A job's place has changed, or what its waiting tasks demand.
    pub(super) fn set(&mut self, before: Option<(Place, bool)>, now: Option<(Place, bool)>, job: &Job) {
        if before.is_none() && now.is_none() {
            return;
        }
        self.now.clear();
        if now.is_some() {
            for phase in job.phases().iter().filter(|phase| phase.is_open() && phase.pending() > 0) {
                if !self.now.contains(phase.demand()) {
                    self.now.push(*phase.demand());
                }
            }
        }
        let known = self.demands.entry(job.id()).or_default();
        if before == now && *known == self.now {
            return;
        }
        std::mem::swap(known, &mut self.now);
        let (demands, earlier) = (&*known, &self.now);
        if let Some((place, started)) = before {
            for demand in earlier {
                let Some(jobs) = self.by_demand.get_mut(&demand.0) else { continue };
                jobs.of(started).remove(&place);
                if jobs.started.is_empty() && jobs.new.is_empty() {
                    self.by_demand.remove(&demand.0);
                }
            }
        }
        if let Some((place, started)) = now {
            for demand in demands {
                self.by_demand.entry(demand.0).or_default().of(started).insert(place);
            }
        } else {
            self.demands.remove(&job.id());
        }
    }

    /// Takes out a job that is gone.
    pub(super) fn forget(&mut self, (place, started): (Place, bool)) {
        for demand in self.demands.remove(&place.job()).unwrap_or_default() {
            if let Some(jobs) = self.by_demand.get_mut(&demand.0) {
                jobs.of(started).remove(&place);
                if jobs.started.is_empty() && jobs.new.is_empty() {
                    self.by_demand.remove(&demand.0);
                }
            }
        }
    }

    /// The next job after a place, a copy of some waiting task of which fits on a node. Demands that fit
    /// nowhere are added to `stuck`, and what is in there is not tried.
    pub(super) fn next(
        &self,
        which: Which,
        after: Option<Place>,
        stuck: &mut Stuck,
        cluster: &Cluster,
    ) -> Option<Place> {
        let heads =
            self.by_demand.iter().filter(|(demand, _)| !stuck.0.contains(*demand)).filter_map(|(demand, jobs)| {
                let first = first_of(which, next_after(&jobs.started, after), next_after(&jobs.new, after))?;
                Some((first, *demand))
            });
        let mut heads: Vec<(Place, [u64; MAX_DIMENSIONS])> = heads.collect();
        heads.sort_unstable();
        for (place, demand) in heads {
            if cluster.fits_somewhere(&Resources(demand)) {
                return Some(place);
            }
            stuck.0.insert(demand);
        }
        None
    }
}
