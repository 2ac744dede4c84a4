//! The one step that every run consists of: simulated, live, replayed and explained runs differ in where their events
//! come from and in what they do with the decisions, and in nothing else.
//!
//! ```text
//! event ─► Cluster::apply ─► Sink::applied ─► Policy::observe (a round: Policy::decide) ─► Sink::decided ─► retire
//! ```
//!
//! A driver calls [`Session::step`] with what happened. Its [`Sink`] writes the event down, then receives the decisions,
//! which have taken effect on the cluster already; carrying them out leads to the next events.

use crate::cluster::{Applied, Attempt, Cluster, Job, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, TaskId};
use crate::policy::{Policy, Refused};
use crate::record::{Decision, Event};
use crate::time::Time;

/// A cluster, the policy that decides on it, and what that policy may know.
pub struct Session {
    cluster: Cluster,
    policy: Policy,
    estimator: Box<dyn Estimator>,
    /// Decisions of the current step; empty in between, and kept for its memory.
    decisions: Vec<Decision>,
}

/// What an event brought about.
#[derive(Debug)]
pub struct Stepped {
    /// What it changed, beyond what it says itself.
    pub applied: Applied,
    /// The job that has left the cluster: it is finished, and this was the end of its last attempt.
    pub retired: Option<Box<Job>>,
}

/// The policy's answer to an event.
pub struct Decided<'a> {
    /// The event's time, which is that of the decisions.
    pub at: Time,
    /// The decisions, in order. A sink may take them out.
    pub decisions: &'a mut Vec<Decision>,
    /// Why, by the number of the decision, as far as the policy gives reasons and was asked to keep them
    /// ([`Session::keep_reasons`]).
    pub reasons: Vec<(usize, String)>,
    /// What the state did not allow. It has changed nothing and is not among the decisions. A replay leaves it out as the
    /// recorded run did.
    pub refused: Vec<Refused>,
    /// The state after the decisions.
    pub cluster: &'a Cluster,
}

impl Decided<'_> {
    /// Returns each decision that has a reason, the attempt that it starts in another's place if it is a replacement, and
    /// the reason.
    pub fn reasoned(&self) -> impl Iterator<Item = (&Decision, Option<AttemptId>, &str)> {
        self.reasons.iter().filter_map(|(number, why)| {
            let decision = self.decisions.get(*number)?;
            let fresh = match decision {
                Decision::Replace { attempt, .. } => self.cluster.copies(attempt.task).map(Attempt::id).max(),
                _ => None,
            };
            Some((decision, fresh, why.as_str()))
        })
    }
}

/// What a driver does with a step.
pub trait Sink {
    /// Why a driver gives up.
    type Error: From<RecordError>;

    /// The event was applied to the cluster, and the policy has not seen it yet.
    ///
    /// # Errors
    /// Whatever ends the run. The policy does not see the event then.
    fn applied(&mut self, _at: Time, _event: &Event, _applied: Applied, _state: &Session) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The policy has answered. Called after every event, also with no decisions.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn decided(&mut self, decided: Decided<'_>) -> Result<(), Self::Error>;
}

/// A sink that keeps what the policy answers, for callers that carry nothing out.
#[derive(Debug, Default)]
pub struct Answers {
    /// All decisions, in order.
    pub decisions: Vec<Decision>,
    /// All decisions that the state did not allow.
    pub refused: Vec<Refused>,
    /// The reasons for decisions, by their number.
    pub reasons: Vec<(usize, String)>,
}

impl Sink for Answers {
    type Error = RecordError;

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RecordError> {
        let first = self.decisions.len();
        self.reasons.extend(decided.reasons.into_iter().map(|(number, why)| (first + number, why)));
        self.decisions.append(decided.decisions);
        self.refused.extend(decided.refused);
        Ok(())
    }
}

impl Session {
    /// Begins with a cluster, usually an empty one, and a policy that has seen as much as the cluster has.
    pub fn new(cluster: Cluster, policy: Policy, estimator: Box<dyn Estimator>) -> Session {
        Session { cluster, policy, estimator, decisions: Vec::new() }
    }

    /// Applies an event at a time, lets the policy observe it (or, in an [`Event::Round`], decide), and takes out the job
    /// whose last attempt it ended.
    ///
    /// # Errors
    /// If the event does not fit the state, which then stays as it was; or what the sink returns.
    pub fn step<S: Sink>(&mut self, at: Time, event: &Event, sink: &mut S) -> Result<Stepped, S::Error> {
        let applied = self.cluster.apply_event(at, event)?;
        sink.applied(at, event, applied, self)?;
        let Session { cluster, policy, estimator, decisions } = self;
        if *event == Event::Round {
            policy.decide(cluster, &**estimator, decisions);
        } else {
            policy.observe(event, applied, cluster, &**estimator, decisions);
        }
        let (reasons, refused) = (policy.take_reasons(), policy.take_refused());
        let answered = sink.decided(Decided { at, decisions, reasons, refused, cluster });
        decisions.clear();
        answered?;
        Ok(Stepped { applied, retired: self.retire(event) })
    }

    /// Takes out the job of an attempt that has ended, if it is finished and this was its last attempt.
    fn retire(&mut self, event: &Event) -> Option<Box<Job>> {
        match event {
            Event::AttemptFinished { attempt }
            | Event::AttemptStopped { attempt }
            | Event::AttemptFailed { attempt, .. } => self.cluster.retire(attempt.task.job),
            _ => None,
        }
    }

    /// Returns the state after the last step.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns what answers the policy's questions about running attempts.
    pub fn estimator(&self) -> &dyn Estimator {
        &*self.estimator
    }

    /// False if the policy's order of jobs would not let a task have a copy even now, with an idle cluster: then never.
    pub fn permits(&mut self, task: TaskId) -> bool {
        self.policy.permits(task, &self.cluster)
    }

    /// From now on refuses every decision of a round, or no longer does: for tests of what a policy does then.
    #[cfg(any(test, feature = "testing"))]
    pub fn refuse_all(&mut self, refuses: bool) {
        self.policy.refuse_all(refuses);
    }

    /// From now on the policy keeps its reasons, for [`Decided::reasons`].
    pub fn keep_reasons(&mut self) {
        self.policy.keep_reasons();
    }
}
