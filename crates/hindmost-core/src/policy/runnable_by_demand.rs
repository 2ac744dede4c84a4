//! The queued jobs by the demands of their pending tasks. If one resource of a cluster is used up and others are free,
//! most jobs of a long queue can start no task. This index skips them together.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::cluster::Job;
use crate::ids::JobId;
use crate::resources::{MAX_DIMENSIONS, Resources};

use super::queue_place::{Place, Which, first_of, next_after};

/// The queued jobs that have a pending task of one particular demand.
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

/// A queued job: its place, whether it has a started attempt, and the demands of its pending tasks.
#[derive(Debug)]
struct Member {
    place: Place,
    started: bool,
    demands: Vec<Resources>,
}

/// The queued jobs, grouped by the demands of their pending tasks.
#[derive(Debug, Default)]
pub struct Waiting {
    by_demand: BTreeMap<[u64; MAX_DIMENSIONS], Jobs>,
    members: FxHashMap<JobId, Member>,
    /// The demands of the job that was set last. The vector is kept to reuse its memory.
    demands: Vec<Resources>,
}

/// Demands that fit on no node until free resources grow.
#[derive(Debug, Default)]
pub struct Stuck(BTreeSet<[u64; MAX_DIMENSIONS]>);

impl Stuck {
    /// Adds a demand that fits on no node.
    pub fn add(&mut self, demand: &Resources) {
        self.0.insert(demand.0);
    }

    /// Returns true if a demand was added.
    #[inline]
    pub fn contains(&self, demand: &Resources) -> bool {
        !self.0.is_empty() && self.0.contains(&demand.0)
    }

    /// Returns true if no demand was added.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Waiting {
    /// Returns true if no job is queued.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Must be called after a job's place or the demands of its pending tasks have changed.
    pub fn set(&mut self, place: Place, job: &Job) {
        let mut demands = std::mem::take(&mut self.demands);
        demands.clear();
        for phase in job.open_phases().filter(|phase| phase.pending() > 0) {
            if !demands.contains(phase.demand()) {
                demands.push(*phase.demand());
            }
        }
        let started = job.started().is_some();
        let before = self.members.get(&job.id());
        let is_same = |before: &Member| (before.place, before.started) == (place, started) && before.demands == demands;
        if !before.is_some_and(is_same) {
            self.remove(job.id());
            for demand in &demands {
                self.by_demand.entry(demand.0).or_default().of(started).insert(place);
            }
            self.members.insert(job.id(), Member { place, started, demands: demands.clone() });
        }
        self.demands = demands;
    }

    /// Removes a job that has no pending tasks left.
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

    /// Returns the places of the started and of the new jobs if all jobs have the same single demand and it fits.
    /// `None` otherwise.
    pub fn of_one_demand(&self, fits: impl Fn(&Resources) -> bool) -> Option<(&BTreeSet<Place>, &BTreeSet<Place>)> {
        let (demand, jobs) = self.by_demand.first_key_value().filter(|_| self.by_demand.len() == 1)?;
        fits(&Resources(*demand)).then_some((&jobs.started, &jobs.new))
    }

    /// Returns the place of the next selected job, after `after` if given, that has a pending task whose demand `fits`.
    /// Demands that do not fit are added to `stuck`; demands in `stuck` are not tried.
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
