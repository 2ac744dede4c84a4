//! A round of decisions: the interface with which a pass decides.

use crate::cluster::{Cluster, RecordError, Task};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::record::Decision;
use crate::resources::Resources;
use crate::time::Time;

use super::job_queue::JobQueue;
use super::learned::{HeldBackBy, HeldBackCounts, NoCopy};
use super::queue_place::{Place, Which};
use super::runnable_by_demand::Stuck;
use super::{Reasons, Refused};

/// The interface with which a pass decides: the cluster's state, which every decision changes at once, and the jobs
/// with pending tasks, in the policy's order. After each start, the job moves to its new place in that order.
///
/// The [crate's example](crate#example) starts the pending tasks of all jobs with this interface.
pub struct Round<'a> {
    cluster: &'a mut Cluster,
    /// Evaluates tests on running attempts and estimates their remaining times.
    pub estimator: &'a dyn Estimator,
    queue: &'a mut JobQueue,
    decisions: &'a mut Vec<Decision>,
    refused: &'a mut Vec<Refused>,
    /// True if the last decision of the pass was refused. [`Round::because`] has no effect in that case.
    refused_last: bool,
    reasons: &'a mut Reasons,
    /// Counts the attempts that are held back; `None` if nobody needs the counts.
    pub(super) held_back: Option<&'a mut HeldBackCounts>,
    /// If true, every decision is refused.
    #[cfg(any(test, feature = "testing"))]
    refuses_all: bool,
}

/// The result of [`Round::start_copies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedCopies {
    /// Number of copies that were started.
    pub started: u32,
    /// Why fewer copies were started than requested; `None` if all were started.
    pub stopped_by: Option<NotStarted>,
}

/// Why a copy of a task can't start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// No node has enough free resources. Nodes on which a copy of the task runs do not count, nor do nodes that the
    /// task avoids ([`Cluster::avoids`]).
    NoNode,
    /// The order of jobs does not permit another copy now, or the task may have only one running copy and has it.
    NotPermitted,
    /// The cluster's state does not allow the start: see [`Round::decide`].
    Refused,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        cluster: &'a mut Cluster,
        estimator: &'a dyn Estimator,
        queue: &'a mut JobQueue,
        decisions: &'a mut Vec<Decision>,
        refused: &'a mut Vec<Refused>,
        reasons: &'a mut Reasons,
    ) -> Round<'a> {
        Round {
            cluster,
            estimator,
            queue,
            decisions,
            refused,
            refused_last: false,
            reasons,
            held_back: None,
            #[cfg(any(test, feature = "testing"))]
            refuses_all: false,
        }
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn refuse_all(&mut self, refuses: bool) {
        self.refuses_all = refuses;
    }

    /// Returns the state after all decisions of this round so far.
    #[inline]
    pub fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// Returns the state and the queue of jobs, with all jobs in their current places.
    pub fn cluster_and_queue(&mut self) -> (&Cluster, &JobQueue) {
        self.queue.settle(self.cluster);
        (self.cluster, self.queue)
    }

    /// Returns the state and the queue of jobs. Jobs that have started tasks may still be in their old places, so
    /// callers may use the queue only to compute keys.
    #[inline]
    pub fn cluster_and_orders(&self) -> (&Cluster, &JobQueue) {
        (self.cluster, self.queue)
    }

    /// Returns the place of the first selected job with a pending task or, if `after` is a place, of the first one
    /// after that place. `None` if there is no such job.
    pub fn next_job(&mut self, which: Which, after: Option<Place>) -> Option<Place> {
        self.queue.settle(self.cluster);
        self.queue.next(which, after)
    }

    /// As [`Round::next_job`], but skips jobs without a pending task that fits on a node now, and jobs of which the
    /// order permits no task to start. Demands that fit on no node are added to `stuck`; they need not be tried again
    /// until free resources grow.
    pub fn next_job_that_fits(&mut self, which: Which, after: Option<Place>, stuck: &mut Stuck) -> Option<Place> {
        self.queue.settle(self.cluster);
        self.queue.next_that_fits(which, after, stuck, self.cluster)
    }

    /// Appends to `places` the places that repeated calls of [`Round::next_job_that_fits`] would return if nothing were
    /// started between them. Stops when `places` has `most` entries or no job is left.
    pub fn next_jobs_that_fit(
        &mut self,
        which: Which,
        after: Option<Place>,
        most: usize,
        stuck: &mut Stuck,
        places: &mut Vec<Place>,
    ) {
        self.queue.settle(self.cluster);
        self.queue.next_ones_that_fit(which, after, most, stuck, self.cluster, places);
    }

    /// Returns true if another job must go next, because `job` has just started a task and its key has changed. Only
    /// selected jobs after the place `after` count.
    pub fn should_yield(&mut self, job: JobId, which: Which, after: Option<Place>) -> bool {
        self.queue.should_yield(job, which, after, self.cluster)
    }

    /// Returns the number of jobs with pending tasks in open phases.
    pub fn queued_jobs(&mut self) -> usize {
        self.queue.settle(self.cluster);
        self.queue.jobs()
    }

    /// Returns the number of queued jobs without a started attempt.
    pub fn new_jobs(&mut self) -> usize {
        self.queue.settle(self.cluster);
        self.queue.new_jobs()
    }

    /// Starts the next copy of a task on a node, from the beginning of its work.
    ///
    /// Returns false if the state does not allow the start: see [`Round::decide`].
    pub fn start(&mut self, task: TaskId, node: NodeId) -> bool {
        self.start_from(task, node, 0.0)
    }

    /// Starts the next copy of a task on a node. The copy need not repeat the share `from_progress` of the work, in
    /// [0, 1), unless every attempt of the phase does the whole work
    /// ([`Phase::resumes`](crate::cluster::Phase::resumes)).
    ///
    /// Returns false if the state does not allow the start: see [`Round::decide`].
    pub fn start_from(&mut self, task: TaskId, node: NodeId, from_progress: f64) -> bool {
        // If the job has left the cluster, there is no next copy. The cluster refuses to start copy 0 in that case.
        let attempt = self.cluster.next_copy(task).unwrap_or(AttemptId { task, copy: 0 });
        self.decide(Decision::Start { attempt, node, from_progress })
    }

    /// Returns false if the order of jobs does not let the task have another copy now, because its job or queue has reached its
    /// limit, or if no other attempt of the task may start while attempts of it run. A pass must call this before [`Round::start`].
    pub fn may_start(&mut self, task: TaskId) -> bool {
        let has_last_copies = self.cluster.task(task).is_some_and(Task::has_last_copies);
        !has_last_copies && self.queue.permits(task, self.cluster)
    }

    /// Returns the slack of the order of jobs: see [`Order::slack`](super::order::Order::slack).
    pub fn slack(&self) -> f64 {
        self.queue.slack()
    }

    /// Returns the smallest [`Round::slack`] with which [`Round::may_start`] can be true for a task with a running
    /// copy: see [`Order::slack_needed`](super::order::Order::slack_needed).
    pub fn slack_needed(&self, task: TaskId) -> f64 {
        self.queue.slack_needed(task, self.cluster)
    }

    /// Requests a backup of an attempt that can't start now because no resources are free. The pass that starts
    /// originals may start the backup in a later round, before tasks of other jobs: see
    /// [`Order::serves_requests`](super::order::Order::serves_requests). Otherwise this has no effect.
    pub fn request_backup(&mut self, attempt: AttemptId) {
        self.queue.request(attempt);
    }

    /// Removes and returns the attempts for which a backup was requested since the last call.
    pub fn take_requests(&mut self) -> Vec<AttemptId> {
        self.queue.take_requests()
    }

    /// Reserves resources on a node for the next copy of a task, until a time. The reservation takes what comes free on
    /// the node until the copy can start on it: see [`Cluster::reservation`].
    ///
    /// Returns false if the state does not allow the reservation: see [`Round::decide`].
    pub fn reserve(&mut self, task: TaskId, node: NodeId, until: Time) -> bool {
        let resources = self.cluster.demand(task).copied().unwrap_or(Resources::NONE);
        self.decide(Decision::Reserve { node, resources: Box::new(resources), until, task: Some(Box::new(task)) })
    }

    /// Stops an attempt and starts the next copy of its task on the resources that it holds.
    ///
    /// Returns false if the state does not allow the replacement: see [`Round::decide`].
    pub fn replace(&mut self, attempt: AttemptId) -> bool {
        self.replace_from(attempt, 0.0)
    }

    /// Stops an attempt and starts the next copy of its task on the resources that it holds. The copy need not repeat the
    /// share `from_progress` of the work: see [`Round::start_from`].
    ///
    /// Returns false if the state does not allow the replacement: see [`Round::decide`].
    pub fn replace_from(&mut self, attempt: AttemptId, from_progress: f64) -> bool {
        self.decide(Decision::Replace { attempt, from_progress })
    }

    /// Gives up a job: none of its tasks starts another attempt, and its attempts are stopped after the current pass. The
    /// job is then neither finished nor unfinished, but abandoned.
    ///
    /// Returns false if the state does not allow the decision, because the job is over or unknown: see
    /// [`Round::decide`].
    pub fn abandon(&mut self, job: JobId) -> bool {
        self.decide(Decision::Abandon { job })
    }

    /// Makes a decision.
    ///
    /// Returns false if the state does not allow the decision. In that case nothing changes, and the decision is not
    /// recorded but appears in [`Decided::refused`](crate::session::Decided::refused). The pass must not repeat the
    /// decision in the same round.
    pub fn decide(&mut self, decision: Decision) -> bool {
        #[cfg(any(test, feature = "testing"))]
        if self.refuses_all {
            return self.refuse(decision, RecordError::Unknown("this".to_owned()));
        }
        match self.cluster.apply_decision(self.cluster.now(), &decision) {
            Ok(_) => {
                match &decision {
                    Decision::Start { attempt, .. } | Decision::Replace { attempt, .. } => {
                        self.queue.started(attempt.task, self.cluster);
                    }
                    Decision::Abandon { job } => self.queue.abandoned(*job, self.cluster),
                    _ => {}
                }
                if let Some(counts) = &mut self.held_back {
                    counts.decision(&decision, self.cluster.now());
                }
                self.decisions.push(decision);
                self.refused_last = false;
                true
            }
            Err(error) => self.refuse(decision, error),
        }
    }

    fn refuse(&mut self, decision: Decision, error: RecordError) -> bool {
        self.refused.push(Refused { decision, error });
        self.refused_last = true;
        false
    }

    /// Gives the reason for the last decision. `why` is called only if reasons are kept. If the decision was refused,
    /// this has no effect.
    pub fn because(&mut self, why: impl FnOnce() -> String) {
        if !self.refused_last {
            self.reasons.add(self.decisions.len(), why);
        }
    }

    /// Notes that an attempt gets no copy now because of what the policy has learned. `since` is the time from which on it
    /// usually gets one, which may lie ahead. This is no decision and is not recorded: a replay notes the same. `why` is
    /// called only if somebody needs the notes.
    pub fn hold_back(&mut self, attempt: AttemptId, by: HeldBackBy, since: Time, why: impl FnOnce() -> String) {
        if let Some(counts) = &mut self.held_back {
            counts.add(NoCopy { attempt, by, why: why() }, since);
        }
    }

    /// Returns true if somebody needs the notes of [`Round::hold_back`].
    pub fn notes_held_back(&self) -> bool {
        self.held_back.is_some()
    }

    /// Starts up to `copies` copies of a task on different nodes, each as near to the task's input as possible, while
    /// the order of jobs allows it.
    pub fn start_copies(&mut self, task: TaskId, copies: u32) -> StartedCopies {
        for started in 0..copies {
            if let Err(stopped_by) = self.start_copy(task, |_| true) {
                return StartedCopies { started, stopped_by: Some(stopped_by) };
            }
        }
        StartedCopies { started: copies, stopped_by: None }
    }

    /// Starts a copy of a task as [`Round::start_copies`] does, on a node for which `allowed` is true.
    ///
    /// # Errors
    ///
    /// Says why no copy was started.
    pub fn start_copy(&mut self, task: TaskId, allowed: impl Fn(NodeId) -> bool) -> Result<(), NotStarted> {
        let phase = self.cluster.phase(task).ok_or(NotStarted::NotPermitted)?;
        let demand = *self.cluster.demand(task).ok_or(NotStarted::NotPermitted)?;
        if !phase.may_be_copied() && self.cluster.task(task).is_some_and(|task| task.running_copies() > 0) {
            return Err(NotStarted::NotPermitted);
        }
        if !self.may_start(task) {
            return Err(NotStarted::NotPermitted);
        }
        let copies = self.cluster.nodes_with_copies(task);
        let may_copy = |node| (self.cluster.has_one_node() || !copies.contains(node)) && allowed(node);
        let other_node =
            self.cluster.find_nearest_node(task, &demand, |node, _| may_copy(node) && !self.cluster.avoids(task, node));
        let node = other_node.ok_or(NotStarted::NoNode)?;
        if self.start(task, node) { Ok(()) } else { Err(NotStarted::Refused) }
    }
}
