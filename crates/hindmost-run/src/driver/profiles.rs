//! Profiles of a live run: those of earlier runs, what the policy learns from them, and those that the run adds.
//!
//! The file is open only while it is read or written, so several runs can use it. A run adds its profiles when its job is
//! done: a run that is interrupted and resumed replays its journal, and then has the profiles of all of its processes. A run
//! that was killed before it added them, or that ran without the file, adds them when it is resumed, and never twice.

use std::path::PathBuf;
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::JobId;
use hindmost_core::profiles::{FinishedProfile, OF_PHASE, Profile, job_type};
use hindmost_core::workload::JobSpec;
use hindmost_profiles::{Known, Learner, Store};

use super::{Driver, Follower, RunError, RunOptions};
use crate::job_file::Plan;

/// The profiles of a run.
pub(super) struct RunProfiles {
    known: Arc<Known>,
    /// Makes events of profiles; `None` unless the progress model is `profiles`.
    learner: Option<Learner>,
    /// The file, and the number of profiles that it has at most.
    file: Option<(PathBuf, u64)>,
    /// Profiles of this run.
    finished: Vec<Arc<Profile>>,
    /// True if an attempt has finished in this process.
    is_new: bool,
}

impl RunProfiles {
    /// Reads the profiles of earlier runs of a job. The file is created if it does not exist.
    ///
    /// # Errors
    /// If the file can't be opened or read.
    pub(super) fn read(plan: &Plan, options: &RunOptions, knowledge: Knowledge) -> Result<RunProfiles, RunError> {
        let phases = plan.phases.iter().map(|phase| phase.name.as_str());
        let known = options.profiles.as_ref().map(|(path, most)| {
            let store = Store::open(path, *most)?;
            Known::of_job(&store, &plan.name, phases)
        });
        let known = known.transpose().map_err(|error| RunError::Input(error.to_string()))?;
        let known = Arc::new(known.unwrap_or_default());
        Ok(RunProfiles {
            learner: matches!(knowledge, Knowledge::Profiles(_)).then(|| Learner::new(known.clone())),
            known,
            file: options.profiles.clone(),
            finished: Vec::new(),
            is_new: false,
        })
    }

    /// Returns the newest known durations of a phase, seconds on a node of speed 1.
    pub(super) fn durations(&self, job: &str, phase: &str) -> Vec<f64> {
        let known = self.known.of(job_type(job), phase);
        known[known.len().saturating_sub(OF_PHASE)..].iter().map(Profile::seconds_at_speed_1).collect()
    }

    /// Adds the run's profiles to the file. A failure is reported and does not fail the run, whose results are complete.
    pub(super) fn keep(&self, follower: &mut dyn Follower) {
        let Some((path, most)) = &self.file else { return };
        let profiles: Vec<Profile> = self.finished.iter().map(|profile| (**profile).clone()).collect();
        match Store::open(path, *most).and_then(|store| store.add_once(&profiles)) {
            Err(error) => follower.message(&format!("the profiles of this run are not kept: {error}")),
            Ok(true) if !self.is_new => follower.message(&format!(
                "the profiles of the run's {} finished attempts are now in {}",
                profiles.len(),
                path.display()
            )),
            Ok(_) => {}
        }
    }
}

impl Driver<'_> {
    /// Reports the profiles of earlier runs before the job arrives.
    pub(super) fn recall_profiles(&mut self, job: JobId, spec: &JobSpec) -> Result<(), RunError> {
        let events = self.jobs[job].profiles.learner.as_mut().map_or_else(Vec::new, |learner| learner.recall(spec));
        events.iter().try_for_each(|event| self.happen(event).map(drop))
    }

    /// Takes over the profiles that an earlier process has made, after its journal was replayed.
    pub(super) fn resume_profiles(&mut self) {
        let finished = self.session.take_profiles();
        for job in self.jobs.iter_mut() {
            if let Some(learner) = &mut job.profiles.learner {
                drop(learner.recall(&job.plan.job_spec()));
            }
        }
        for FinishedProfile { job, profile, .. } in finished {
            let Some(job) = self.jobs.get_mut(job) else { continue };
            if let Some(learner) = &mut job.profiles.learner {
                drop(learner.finished(&profile));
            }
            job.profiles.finished.push(profile);
        }
    }

    /// Takes the profiles of attempts that have finished, and notifies the policy of new weights.
    pub(super) fn learn_profiles(&mut self) -> Result<(), RunError> {
        for FinishedProfile { job, profile, .. } in self.session.take_profiles() {
            let Some(job) = self.jobs.get_mut(job) else { continue };
            job.profiles.is_new = true;
            job.profiles.finished.push(Arc::clone(&profile));
            let Some(learner) = &mut job.profiles.learner else { continue };
            let events = learner.finished(&profile);
            if self.is_open() {
                events.iter().try_for_each(|event| self.happen(event).map(drop))?;
            }
        }
        Ok(())
    }
}
