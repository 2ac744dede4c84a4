//! A session: one cluster, one policy, and the step that every run consists of.
//!
//! ```text
//! event ─► Cluster::apply ─► Sink::applied ─► Policy::observe (a round: Policy::decide) ─► Sink::decided ─► retire
//! ```
//!
//! Simulated, live, replayed and explained runs all call [`Session::step`] for each event. They differ only in where
//! events come from and in what their [`Sink`] does with the decisions. When the sink receives decisions, these have
//! already taken effect on the cluster; carrying them out leads to the next events.

use std::collections::BTreeMap;

use crate::cluster::{Applied, Attempt, Cluster, Job, RecordError};
use crate::estimator::Estimator;
use crate::estimator::Knowledge;
use crate::ids::{AttemptId, JobId, TaskId};
use crate::policy::{Counts, Learned, NoCopy, Policy, Refused};
use crate::profiles::{Collector, FinishedProfile};
use crate::record::{Decision, Event};
use crate::time::Time;

/// A cluster, the policy that decides on it, and the estimator that the policy queries.
///
/// The [crate's example](crate#example) runs a policy in a session. A session whose policy has no passes makes no
/// decisions:
///
/// ```
/// use hindmost_core::cluster::{Cluster, Job};
/// use hindmost_core::estimator::{Knowledge, estimator};
/// use hindmost_core::policy::{Policy, order::Order};
/// use hindmost_core::record::Event;
/// use hindmost_core::resources::Dimensions;
/// use hindmost_core::session::{Answers, Session};
/// use hindmost_core::time::Time;
///
/// struct Fifo;
///
/// impl Order for Fifo {
///     fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
///         f64::from(job.id().0)
///     }
/// }
///
/// let policy = Policy::new(Box::new(Fifo), Vec::new());
/// let mut session = Session::new(Cluster::new(Dimensions::one_slot()), policy, estimator(Knowledge::Oracle));
/// let mut answers = Answers::default();
/// session.step(Time::from_seconds(2.0), &Event::Round, &mut answers)?;
/// assert_eq!(session.cluster().now().seconds(), 2.0);
/// assert!(answers.decisions.is_empty());
/// # Ok::<(), hindmost_core::cluster::RecordError>(())
/// ```
pub struct Session {
    cluster: Cluster,
    policy: Policy,
    estimator: Box<dyn Estimator>,
    /// Decisions of the current step; empty between steps. The vector is kept to reuse its memory.
    decisions: Vec<Decision>,
    /// Makes profiles of finished attempts; `None` if nobody needs them.
    collector: Option<Box<Collector>>,
    /// What the policy had learned from the copies of each phase of a job when the job finished; `None` if nobody needs it.
    learned: Option<BTreeMap<JobId, Vec<Option<Learned>>>>,
}

/// The effects of a step.
#[derive(Debug)]
pub struct Stepped {
    /// Changes that the event caused and that it does not contain, for example that a task has its winner.
    pub applied: Applied,
    /// The jobs that left the cluster in this step, because they are finished or abandoned and their last attempts have
    /// ended. The loss of a node may remove several jobs, and a round the jobs that it abandons; every other event removes
    /// at most one.
    pub retired: Vec<Box<Job>>,
}

/// The policy's answer to an event.
pub struct Decided<'a> {
    /// The time of the event and of the decisions.
    pub at: Time,
    /// The decisions, in order. A sink may take them out of the vector.
    pub decisions: &'a mut Vec<Decision>,
    /// Reasons, each with the index of its decision. Empty unless [`Session::keep_reasons`] was called; not every
    /// decision has a reason.
    pub reasons: Vec<(usize, String)>,
    /// Decisions that the state does not allow. They changed nothing and are not in `decisions`. A replay drops them as
    /// the recorded run did.
    pub refused: Vec<Refused>,
    /// The attempts that got no copy because of what the policy has learned. Empty unless [`Session::keep_learned`] was
    /// called.
    pub no_copies: Vec<NoCopy>,
    /// The state after the decisions.
    pub cluster: &'a Cluster,
    /// The policy after the decisions.
    pub(crate) policy: &'a Policy,
    pub(crate) estimator: &'a dyn Estimator,
}

impl Decided<'_> {
    /// Returns what the policy has learned from the copies of a task's phase; `None` if that is nothing.
    pub fn learned(&self, task: TaskId) -> Option<Learned> {
        self.policy.learned(task.job, task.phase, self.cluster, self.estimator)
    }

    /// Returns each decision that has a reason, the attempt that the decision starts if it is a [`Decision::Replace`],
    /// and the reason.
    pub fn reasoned(&self) -> impl Iterator<Item = (&Decision, Option<AttemptId>, &str)> {
        self.reasons.iter().filter_map(|(number, why)| {
            let decision = self.decisions.get(*number)?;
            let replacement = match decision {
                Decision::Replace { attempt, .. } => self.cluster.copies(attempt.task).map(Attempt::id).max(),
                _ => None,
            };
            Some((decision, replacement, why.as_str()))
        })
    }
}

/// The driver's side of a step: receives the applied event and the policy's decisions.
pub trait Sink {
    /// An error that ends the run.
    type Error: From<RecordError>;

    /// Called after the event was applied to the cluster and before the policy observes it.
    ///
    /// # Errors
    /// Any error ends the run; the policy does not observe the event.
    fn applied(&mut self, _at: Time, _event: &Event, _applied: Applied, _state: &Session) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called after the policy has observed every event, even if it made no decisions.
    ///
    /// # Errors
    /// Any error ends the run.
    fn decided(&mut self, decided: Decided<'_>) -> Result<(), Self::Error>;
}

/// A sink that collects the policy's decisions without carrying them out.
#[derive(Debug, Default)]
pub struct Answers {
    /// All decisions, in order.
    pub decisions: Vec<Decision>,
    /// All refused decisions, in order.
    pub refused: Vec<Refused>,
    /// Reasons, each with the index of its decision in `decisions`.
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
    /// Creates a session. The cluster is usually empty; the policy must have observed every event that the cluster has
    /// applied.
    pub fn new(cluster: Cluster, policy: Policy, estimator: Box<dyn Estimator>) -> Session {
        let collector = matches!(estimator.knowledge(), Knowledge::Profiles(_)).then(Box::default);
        Session { cluster, policy, estimator, decisions: Vec::new(), collector, learned: None }
    }

    /// Makes profiles of finished attempts from now on, for [`Session::take_profiles`]. Under the progress model
    /// `profiles` they are made anyway.
    pub fn collect_profiles(&mut self) {
        self.collector.get_or_insert_default();
    }

    /// Removes and returns the profiles of the attempts that have finished since the last call. Of very many, only the
    /// newest are kept.
    pub fn take_profiles(&mut self) -> Vec<FinishedProfile> {
        self.collector.as_mut().map_or_else(Vec::new, |collector| collector.take())
    }

    /// Applies an event at a time, passes it to the policy (which decides if the event is [`Event::Round`]), and
    /// removes the finished and abandoned jobs whose last attempts have ended.
    ///
    /// # Errors
    /// If the event does not fit the state, or if the sink returns an error. An event that does not fit leaves the
    /// state unchanged.
    pub fn step<S: Sink>(&mut self, at: Time, event: &Event, sink: &mut S) -> Result<Stepped, S::Error> {
        let may_retire = self.jobs_that_may_retire(event);
        let finished = self.collector.as_mut().and_then(|collector| collector.before(at, event, &self.cluster));
        let applied = self.cluster.apply_event(at, event)?;
        self.estimator.observe(event);
        if let Some((finished, collector)) = finished.zip(self.collector.as_mut()) {
            self.estimator.learn(&finished.profile);
            collector.keep(finished);
        }
        sink.applied(at, event, applied, self)?;
        let Session { cluster, policy, estimator, decisions, collector, learned } = self;
        if matches!(event, Event::Round) {
            policy.decide(cluster, &**estimator, decisions);
        } else {
            policy.observe(event, applied, cluster, &**estimator, decisions);
        }
        // The sink may take the decisions out of the vector.
        let may_retire = if matches!(event, Event::Round) { abandoned_jobs(decisions) } else { may_retire };
        if let Some(collector) = collector {
            collector.decided(decisions, cluster);
        }
        let (reasons, refused, no_copies) = (policy.take_reasons(), policy.take_refused(), policy.take_no_copies());
        let estimator = &**estimator;
        if let Some(learned) = learned
            && applied.job_finished
            && let Some(job) = job_of_end(event)
        {
            learned.insert(job, learned_of(job, policy, cluster, estimator));
            policy.forget_held_back(job);
        }
        let answered = sink.decided(Decided { at, decisions, reasons, refused, no_copies, cluster, policy, estimator });
        decisions.clear();
        answered?;
        let mut retired = Vec::new();
        match event {
            Event::AttemptFinished { attempt }
            | Event::AttemptStopped { attempt }
            | Event::AttemptFailed { attempt, .. } => retired.extend(self.cluster.retire(attempt.task.job)),
            Event::TaskGivenUp { task } => retired.extend(self.cluster.retire(task.job)),
            Event::JobGivenUp { job } => retired.extend(self.cluster.retire(*job)),
            _ if may_retire.is_empty() => {}
            _ => retired.extend(may_retire.into_iter().filter_map(|job| self.cluster.retire(job))),
        }
        Ok(Stepped { applied, retired })
    }

    /// Returns the jobs with attempts on a node that is lost, in the order of their ids; empty for every other event.
    fn jobs_that_may_retire(&self, event: &Event) -> Vec<JobId> {
        let Event::NodeLost { node, .. } = event else { return Vec::new() };
        let mut jobs: Vec<JobId> = self.cluster.attempts_on(*node).map(|attempt| attempt.id().task.job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// Returns the state after the last step.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns the estimator that the policy queries.
    pub fn estimator(&self) -> &dyn Estimator {
        &*self.estimator
    }

    /// Returns what the policy has counted so far.
    pub fn counts(&self) -> Counts {
        self.policy.counts()
    }

    /// Returns false if the policy's order of jobs does not let the task have a copy now. If the cluster is idle, the
    /// task can then never start.
    pub fn permits(&mut self, task: TaskId) -> bool {
        self.policy.permits(task, &self.cluster)
    }

    /// Sets whether every decision of a round is refused from now on. For tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn refuse_all(&mut self, refuses: bool) {
        self.policy.refuse_all(refuses);
    }

    /// Keeps from now on what the policy learns from copies, for [`Session::learned`] and [`Decided::no_copies`].
    pub fn keep_learned(&mut self) {
        self.learned.get_or_insert_default();
        self.policy.count_held_back();
    }

    /// Returns what the policy has learned from the copies of each phase of a job, or had learned when the job finished; an
    /// entry is `None` if that is nothing. Empty unless [`Session::keep_learned`] was called.
    pub fn learned(&self, job: JobId) -> Vec<Option<Learned>> {
        let Some(finished) = &self.learned else { return Vec::new() };
        finished.get(&job).cloned().unwrap_or_else(|| learned_of(job, &self.policy, &self.cluster, self.estimator()))
    }

    /// Makes the policy keep its reasons from now on, for [`Decided::reasons`].
    pub fn keep_reasons(&mut self) {
        self.policy.keep_reasons();
    }
}

/// Returns the job that an event may have finished.
fn job_of_end(event: &Event) -> Option<JobId> {
    match event {
        Event::AttemptFinished { attempt } => Some(attempt.task.job),
        Event::TaskGivenUp { task } => Some(task.job),
        _ => None,
    }
}

/// Returns what a policy has learned from the copies of each phase of a job.
fn learned_of(job: JobId, policy: &Policy, cluster: &Cluster, estimator: &dyn Estimator) -> Vec<Option<Learned>> {
    let phases = cluster.job(job).map_or(0, |job| job.phases().len() as u32);
    (0..phases).map(|phase| policy.learned(job, phase, cluster, estimator)).collect()
}

/// Returns the jobs that decisions abandon, in the order of their ids.
fn abandoned_jobs(decisions: &[Decision]) -> Vec<JobId> {
    let abandoned = |decision: &Decision| if let Decision::Abandon { job } = decision { Some(*job) } else { None };
    let mut jobs: Vec<JobId> = decisions.iter().filter_map(abandoned).collect();
    jobs.sort_unstable();
    jobs
}
