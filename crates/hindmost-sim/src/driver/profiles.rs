//! Profiles of attempts: what policies learn from them under the progress model `profiles`, and what the run keeps.
//!
//! Under `profiles` policies don't know the distributions of durations. A job arrives with guessed durations, as in a live
//! run. What earlier runs and finished attempts show becomes events.

use std::collections::VecDeque;
use std::sync::Arc;

use hindmost_core::cluster::longest_path;
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::profiles::Profile;
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_core::workload::JobSpec;
use hindmost_profiles::Learner;
use rustc_hash::FxHashMap;

use super::{Driver, Learns, Setup, SimulationError};

/// Mean duration that policies assume before a duration is known, seconds; as in live runs.
const GUESSED_MEAN: f64 = 1.0;
/// Number of profiles that a run keeps at most, the newest.
const KEPT: usize = 100_000;

/// The durations of a job that policies don't know.
struct Hidden {
    /// Mean duration of each phase, seconds.
    means: Vec<f64>,
    /// Longest path through the job's phases at these means, seconds.
    path: f64,
}

/// Profiles of a run.
pub(super) struct Profiles {
    /// Makes events of profiles; `None` unless the progress model is `profiles`.
    learner: Option<Learner>,
    /// The hidden durations of the jobs in the cluster.
    hidden: FxHashMap<JobId, Hidden>,
    /// The newest profiles, if the run keeps them.
    kept: Option<VecDeque<Arc<Profile>>>,
}

impl Profiles {
    /// Returns the profiles of a run that has just begun; `None` if nobody needs them.
    pub(super) fn of(setup: &Setup) -> Option<Box<Profiles>> {
        let learns = matches!(setup.knowledge, Knowledge::Profiles(_));
        // A live run does not know the durations either.
        let is_live = setup.as_recorded.as_deref().is_some_and(|recorded| recorded.learns != Learns::Nothing);
        (learns || is_live || setup.keeps_profiles).then(|| {
            Box::new(Profiles {
                learner: learns.then(|| Learner::new(setup.known_profiles.clone())),
                hidden: FxHashMap::default(),
                kept: setup.keeps_profiles.then(VecDeque::new),
            })
        })
    }

    /// Returns the newest profiles of the run, the oldest first.
    pub(super) fn kept(self) -> Vec<Arc<Profile>> {
        self.kept.map_or_else(Vec::new, Vec::from)
    }
}

impl Driver<'_> {
    /// Prepares the arrival of a job: reports the profiles of earlier runs of its type. Returns the job as policies see it,
    /// and what they know of its durations, as events that follow the arrival.
    pub(super) fn recall(
        &mut self,
        at: Time,
        id: JobId,
        mut spec: JobSpec,
    ) -> Result<(JobSpec, Vec<Event>), SimulationError> {
        let Some(profiles) = &mut self.profiles else { return Ok((spec, Vec::new())) };
        if profiles.learner.is_none() && self.live.is_none() {
            return Ok((spec, Vec::new()));
        }
        let means: Vec<f64> = spec.phases.iter().map(|phase| phase.mean).collect();
        let path = longest_path(&spec, |phase| (spec.phases[phase].tasks_to_do() > 0).then(|| means[phase]));
        profiles.hidden.insert(id, Hidden { means, path });
        for phase in &mut spec.phases {
            (phase.mean, phase.sd, phase.tail, phase.assumed) = (GUESSED_MEAN, None, None, true);
        }
        let Some(learner) = &mut profiles.learner else { return Ok((spec, Vec::new())) };
        let (recalled, learned) = (learner.recall(&spec), learner.arrived(id, &spec));
        recalled.iter().try_for_each(|event| self.step(at, event).map(drop))?;
        Ok((spec, learned))
    }

    /// Reports what follows from the attempts that have finished since the last call.
    pub(super) fn learn_profiles(&mut self, at: Time) -> Result<(), SimulationError> {
        if self.profiles.is_none() {
            return Ok(());
        }
        for finished in self.session.take_profiles() {
            let Some(profiles) = &mut self.profiles else { continue };
            if let Some(kept) = &mut profiles.kept {
                if kept.len() >= KEPT {
                    kept.pop_front();
                }
                kept.push_back(finished.profile.clone());
            }
            let Some(learner) = &mut profiles.learner else { continue };
            let mut events = learner.finished(&finished.profile);
            events.extend(learner.learned(&finished, self.session.cluster()));
            events.iter().try_for_each(|event| self.step(at, event).map(drop))?;
        }
        Ok(())
    }

    fn hidden(&self, job: JobId) -> Option<&Hidden> {
        self.profiles.as_ref()?.hidden.get(&job)
    }

    /// Returns the true mean duration of a task's phase, seconds, if policies don't know it.
    pub(super) fn hidden_mean(&self, task: TaskId) -> Option<f64> {
        self.hidden(task.job)?.means.get(task.phase as usize).copied()
    }

    /// Returns the longest path through a job's phases at their true mean durations, seconds, if policies don't know them.
    pub(super) fn hidden_path(&self, job: JobId) -> Option<f64> {
        self.hidden(job).map(|hidden| hidden.path)
    }

    /// Forgets the true durations of a job that has left the cluster.
    pub(super) fn forget_hidden(&mut self, job: JobId) {
        if let Some(profiles) = &mut self.profiles {
            profiles.hidden.remove(&job);
        }
    }
}
