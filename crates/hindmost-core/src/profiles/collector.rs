//! Makes profiles from the records of a run.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cluster::{Attempt, Cluster};
use crate::ids::{AttemptId, JobId};
use crate::record::{Decision, Event};
use crate::time::Time;

use super::conditions::Names;
use super::{Conditions, Profile, job_type};

/// Number of finished attempts whose profiles are kept until [`Collector::take`]. Older ones are dropped.
const KEPT: usize = 100_000;

/// A profile with the job and phase from which it comes.
#[derive(Clone, Debug)]
pub struct FinishedProfile {
    /// Id of the job.
    pub job: JobId,
    /// Index of the phase within its job.
    pub phase: u32,
    /// The profile.
    pub profile: Arc<Profile>,
}

/// Makes a profile of every attempt that finishes. Its conditions are those after the round in which it starts.
///
/// Attempts that are stopped or fail leave no profile, as in the paper: their durations are unknown. An attempt that
/// starts with a part of its work done leaves none either.
#[derive(Debug, Default)]
pub struct Collector {
    started: FxHashMap<AttemptId, Conditions>,
    finished: VecDeque<FinishedProfile>,
    /// The types of the jobs so far, so that all profiles of a type share its name.
    types: FxHashSet<Arc<str>>,
    names: Names,
}

impl Collector {
    /// Observes an event before it is applied at a time. Returns the profile of the attempt that finishes with it;
    /// `None` for every other event.
    pub fn before(&mut self, at: Time, event: &Event, cluster: &Cluster) -> Option<FinishedProfile> {
        match event {
            Event::AttemptFinished { attempt } => self.profile(at, *attempt, cluster),
            Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt } => {
                self.started.remove(attempt);
                None
            }
            Event::NodeLost { node, .. } => {
                for attempt in cluster.attempts_on(*node) {
                    self.started.remove(&attempt.id());
                }
                None
            }
            _ => None,
        }
    }

    fn profile(&mut self, at: Time, id: AttemptId, cluster: &Cluster) -> Option<FinishedProfile> {
        let conditions = self.started.remove(&id)?;
        let attempt = cluster.attempt(id)?;
        let (job, node) = cluster.job(id.task.job).zip(cluster.node(attempt.node()))?;
        let phase = job.spec().phases.get(id.task.phase as usize)?;
        let kind = job_type(&job.spec().name);
        let kind = self.types.get(kind).cloned().unwrap_or_else(|| {
            let kind: Arc<str> = kind.into();
            self.types.insert(kind.clone());
            kind
        });
        let profile = Profile {
            job: kind,
            phase: phase.name.clone(),
            node: node.name().clone(),
            speed: node.speed(),
            seconds: attempt.age(at).seconds(),
            conditions,
        };
        let finished = FinishedProfile { job: id.task.job, phase: id.task.phase, profile: Arc::new(profile) };
        finished.profile.is_valid().then_some(finished)
    }

    /// Keeps a profile until [`Collector::take`].
    pub fn keep(&mut self, finished: FinishedProfile) {
        if self.finished.len() >= KEPT {
            self.finished.pop_front();
        }
        self.finished.push_back(finished);
    }

    /// Observes the decisions of a step, after all of them have been applied.
    pub fn decided(&mut self, decisions: &[Decision], cluster: &Cluster) {
        for decision in decisions {
            let started = match decision {
                Decision::Start { attempt, from_progress, .. } if *from_progress == 0.0 => cluster.attempt(*attempt),
                Decision::Replace { attempt, from_progress } if *from_progress == 0.0 => {
                    cluster.copies(attempt.task).max_by_key(|copy| copy.id().copy)
                }
                _ => None,
            };
            let Some((id, node)) = started.map(|attempt| (Attempt::id(attempt), attempt.node())) else { continue };
            self.started.insert(id, Conditions::with_names(cluster, id.task, node, &mut self.names));
        }
    }

    /// Removes and returns the profiles since the last call, in the order in which attempts finished.
    pub fn take(&mut self) -> Vec<FinishedProfile> {
        self.finished.drain(..).collect()
    }
}
