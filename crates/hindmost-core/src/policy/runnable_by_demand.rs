//! Queued jobs by what a copy of their waiting tasks demands: where a cluster is short of one resource and
//! has others left, most jobs of a long queue can start nothing, and nobody has to ask each of them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::cluster::Job;
use crate::ids::JobId;
use crate::resources::{MAX_DIMENSIONS, Resources};

use super::queue_place::{Place, Which, first_of, next_after};

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

/// A waiting job: its place, whether it was started, and what its waiting tasks demand.
#[derive(Debug)]
struct Member {
    place: Place,
    started: bool,
    demands: Vec<Resources>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Waiting {
    by_demand: BTreeMap<[u64; MAX_DIMENSIONS], Jobs>,
    members: FxHashMap<JobId, Member>,
}

/// Demands that fit nowhere until room grows.
#[derive(Debug, Default)]
pub struct Stuck(BTreeSet<[u64; MAX_DIMENSIONS]>);

impl Stuck {
    /// No copy with this demand is to be tried until room grows.
    pub fn add(&mut self, demand: &Resources) {
        self.0.insert(demand.0);
    }

    /// True if nothing is stuck.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Waiting {
    /// True if no job waits.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A job's place has changed, or what its waiting tasks demand.
    pub fn set(&mut self, place: Place, job: &Job) {
        let mut demands = Vec::new();
        for phase in job.phases().iter().filter(|phase| phase.is_open() && phase.pending() > 0) {
            if !demands.contains(phase.demand()) {
                demands.push(*phase.demand());
            }
        }
        let now = Member { place, started: job.started().is_some(), demands };
        if let Some(before) = self.members.get(&job.id()) {
            if (before.place, before.started) == (now.place, now.started) && before.demands == now.demands {
                return;
            }
            self.remove(job.id());
        }
        for demand in &now.demands {
            self.by_demand.entry(demand.0).or_default().of(now.started).insert(place);
        }
        self.members.insert(job.id(), now);
    }

    /// Takes out a job that has nothing to start.
    pub fn remove(&mut self, job: JobId) {
        let Some(Member { place, started, demands }) = self.members.remove(&job) else { return };
        for demand in demands {
            let Some(jobs) = self.by_demand.get_mut(&demand.0) else { continue };
            jobs.of(started).remove(&place);
            if jobs.started.is_empty() && jobs.new.is_empty() {
                self.by_demand.remove(&demand.0);
            }
        }
    }

    /// Where all jobs wait for the same, and there is room for it: those that were started, and those that are new.
    pub fn of_one_demand(&self, fits: impl Fn(&Resources) -> bool) -> Option<(&BTreeSet<Place>, &BTreeSet<Place>)> {
        let (demand, jobs) = self.by_demand.first_key_value().filter(|_| self.by_demand.len() == 1)?;
        fits(&Resources(*demand)).then_some((&jobs.started, &jobs.new))
    }

    /// The next job after a place, some waiting task of which demands what `fits`. Demands that do not are added to
    /// `stuck`, and what is in there is not tried.
    pub fn next(
        &self,
        which: Which,
        after: Option<Place>,
        stuck: &mut Stuck,
        fits: impl Fn(&Resources) -> bool,
    ) -> Option<Place> {
        let heads =
            self.by_demand.iter().filter(|(demand, _)| !stuck.0.contains(*demand)).filter_map(|(demand, jobs)| {
                let first = first_of(which, next_after(&jobs.started, after), next_after(&jobs.new, after))?;
                Some((first, *demand))
            });
        let mut heads: Vec<(Place, [u64; MAX_DIMENSIONS])> = heads.collect();
        heads.sort_unstable();
        for (place, demand) in heads {
            if fits(&Resources(demand)) {
                return Some(place);
            }
            stuck.0.insert(demand);
        }
        None
    }
}
