//! Turns known and new profiles into the events from which policies learn of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;
use hindmost_core::profiles::{FinishedProfile, Index, OF_NODE, OF_PHASE, Profile, job_type};
use hindmost_core::record::Event;
use hindmost_core::workload::JobSpec;
use hindmost_math::fit::sample::describe_sample;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fit::{FEWEST, fit};
use crate::{Store, StoreError};

/// Number of durations from which on the distribution of a phase is known.
const ENOUGH_DURATIONS: usize = 2;
/// Number of profiles of earlier runs that are recalled for each job type and phase, the newest.
const RECALLED: usize = 4 * OF_PHASE;

/// A job type and the name of a phase.
type Kind = (Arc<str>, Arc<str>);

/// Profiles of earlier runs, by job type and phase.
#[derive(Clone, Debug, Default)]
pub struct Known {
    kinds: FxHashMap<Kind, Arc<[Profile]>>,
}

impl FromIterator<Profile> for Known {
    /// Groups profiles by job type and phase. The oldest must come first.
    fn from_iter<T: IntoIterator<Item = Profile>>(profiles: T) -> Known {
        let mut kinds: FxHashMap<(Arc<str>, Arc<str>), Vec<Profile>> = FxHashMap::default();
        for profile in profiles {
            kinds.entry((profile.job.clone(), profile.phase.clone())).or_default().push(profile);
        }
        Known { kinds: kinds.into_iter().map(|(kind, profiles)| (kind, profiles.into())).collect() }
    }
}

impl Known {
    /// Reads the newest profiles of each job type and phase from a store.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn all(store: &Store) -> Result<Known, StoreError> {
        let mut known = Known::default();
        for kind in store.kinds()? {
            let profiles = store.newest(&kind.job, &kind.phase, RECALLED)?;
            known.kinds.insert((kind.job, kind.phase), profiles.into());
        }
        Ok(known)
    }

    /// Reads the newest profiles of the phases of one job from a store.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn of_job<'a>(
        store: &Store,
        name: &str,
        phases: impl IntoIterator<Item = &'a str>,
    ) -> Result<Known, StoreError> {
        let (job, mut known) = (job_type(name), Known::default());
        for phase in phases {
            let profiles = store.newest(job, phase, RECALLED)?;
            if !profiles.is_empty() {
                known.kinds.insert((job.into(), phase.into()), profiles.into());
            }
        }
        Ok(known)
    }

    /// Returns the profiles of a job type and phase, the oldest first; empty if there are none.
    pub fn of(&self, job: &str, phase: &str) -> &[Profile] {
        self.kinds.get(&(Arc::from(job), Arc::from(phase))).map_or(&[], |profiles| profiles)
    }

    fn shared(&self, job: &str, phase: &str) -> Option<Arc<[Profile]>> {
        self.kinds.get(&(Arc::from(job), Arc::from(phase))).cloned()
    }
}

/// Turns known and new profiles into events. Each driver has one for a run under the progress model `profiles`.
///
/// - When the first job of a type arrives, the profiles of earlier runs are recalled.
/// - Weights are fitted again each time the number of profiles of a phase, or of a phase on a node, has doubled, from eight
///   on. So a run of n tasks fits some log n times.
/// - The distribution of a phase's durations is learned when its job arrives, and again each time the number of durations
///   has grown by a quarter.
pub struct Learner {
    known: Arc<Known>,
    recalled: FxHashSet<(Arc<str>, Arc<str>)>,
    index: Index,
    /// Number of durations behind the last event about an unfinished phase.
    reported: FxHashMap<(JobId, u32), u64>,
}

impl Learner {
    /// Creates the learner of a run that knows these profiles of earlier runs.
    pub fn new(known: Arc<Known>) -> Learner {
        Learner { known, recalled: FxHashSet::default(), index: Index::default(), reported: FxHashMap::default() }
    }

    /// Returns the events with the profiles of earlier runs for the phases of a job, and with the weights that are fitted
    /// to them. Each job type and phase is recalled once.
    pub fn recall(&mut self, spec: &JobSpec) -> Vec<Event> {
        let job = job_type(&spec.name);
        let mut events = Vec::new();
        for phase in &spec.phases {
            if !self.recalled.insert((job.into(), phase.name.clone())) {
                continue;
            }
            let Some(profiles) = self.known.shared(job, &phase.name).filter(|profiles| !profiles.is_empty()) else {
                continue;
            };
            let nodes: BTreeSet<Arc<str>> = profiles.iter().map(|profile| profile.node.clone()).collect();
            for profile in profiles.iter() {
                self.index.add(Arc::new(profile.clone()));
            }
            events.push(Event::ProfilesRecalled { profiles });
            events.extend(self.fitted(job, &phase.name, None));
            for node in &nodes {
                events.extend(self.fitted(job, &phase.name, Some(node)));
            }
        }
        events
    }

    /// Returns an event with the weights of a phase, or of a phase on a node; `None` if there are too few profiles.
    fn fitted(&self, job: &str, phase: &str, node: Option<&Arc<str>>) -> Option<Event> {
        let newest: Vec<Arc<Profile>> = self.index.newest(job, phase, node.map(|node| &**node)).cloned().collect();
        // If the program can't be solved, the earlier weights stay.
        let weights = fit(&newest, node).ok().flatten()?;
        Some(Event::WeightsFitted { weights: Arc::new(weights) })
    }

    /// Returns the events with the durations of a job's phases as far as they are known when it arrives.
    pub fn arrived(&mut self, job: JobId, spec: &JobSpec) -> Vec<Event> {
        let phases = spec.phases.iter().zip(0..).filter(|(phase, _)| phase.tasks_to_do() > 0);
        let phases: Vec<(Arc<str>, u32)> = phases.map(|(phase, at)| (phase.name.clone(), at)).collect();
        let of_type = job_type(&spec.name);
        phases.into_iter().filter_map(|(phase, at)| self.durations(of_type, &phase, (job, at))).collect()
    }

    /// Returns the durations of a phase as an event.
    fn durations(&mut self, job: &str, phase: &str, (id, at): (JobId, u32)) -> Option<Event> {
        let newest = self.index.newest(job, phase, None);
        let mut seconds: Vec<f64> = newest.map(|profile| profile.seconds_at_speed_1()).collect();
        if seconds.len() < ENOUGH_DURATIONS {
            return None;
        }
        seconds.sort_unstable_by(f64::total_cmp);
        let made = describe_sample(&seconds)?;
        self.reported.insert((id, at), self.index.added(job, phase, "").0);
        Some(Event::DurationsLearned {
            job: id,
            phase: at,
            durations: made.durations,
            median: made.median,
            p90: made.p90,
            progress: true,
            samples: seconds.len() as u32,
        })
    }

    /// Adds the profile of a finished attempt, and returns the weights that were fitted again.
    pub fn finished(&mut self, profile: &Arc<Profile>) -> Vec<Event> {
        self.index.add(profile.clone());
        let (of_phase, of_node) = self.index.added(&profile.job, &profile.phase, &profile.node);
        let is_due = |count: u64| count >= FEWEST as u64 && count.is_power_of_two();
        let mut events = Vec::new();
        if is_due(of_phase) {
            events.extend(self.fitted(&profile.job, &profile.phase, None));
        }
        // Weights of the newest profiles of a node stay as they are once its ring is full a few times over.
        if is_due(of_node) && of_node <= 64 * OF_NODE as u64 {
            events.extend(self.fitted(&profile.job, &profile.phase, Some(&profile.node)));
        }
        events
    }

    /// Returns the durations of the phase of a finished attempt as an event, if enough new ones are known and the phase is
    /// unfinished.
    pub fn learned(&mut self, finished: &FinishedProfile, cluster: &Cluster) -> Option<Event> {
        let key = (finished.job, finished.phase);
        let phase = cluster.job(finished.job).and_then(|job| job.phases().get(finished.phase as usize));
        if phase.is_none_or(hindmost_core::cluster::Phase::is_finished) {
            self.reported.remove(&key);
            return None;
        }
        let Profile { job, phase, .. } = &*finished.profile;
        let (known, reported) = (self.index.added(job, phase, "").0, self.reported.get(&key).copied().unwrap_or(0));
        if known < reported + reported.div_ceil(4).max(1) {
            return None;
        }
        self.durations(job, phase, key)
    }
}
