//! Applies records to the cluster's state.
//!
//! A live cluster reports some events late or twice, so these are accepted: a finish after a stop decision (the copy
//! may even win), events for attempts that have already ended, and the loss of a node that is already lost. Every other
//! record that does not fit the state is a [`RecordError`] and changes nothing.

use std::sync::Arc;

use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::power::PowerModel;
use crate::record::{Change, Decision, Event, Record};
use crate::resources::{ResourceError, Resources};
use crate::time::Time;
use crate::workload::JobSpec;
use hindmost_math::distribution::Distribution;

use super::Cluster;
use super::attempt::{Attempt, AttemptState, FinishIs};
use super::end::Ending;
use super::job::Job;
use super::node::{Node, OnNode};
use super::phase::Learned;
use super::tasks_by_input::TasksByInput;

/// Why a record does not fit the state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// The record's time is before the time of the last record.
    #[error("a record at {at} comes after one at {now}")]
    TimeWentBack {
        /// Time of the record.
        at: Time,
        /// Time of the last record that was applied before.
        now: Time,
    },
    /// A node or job does not have the next free id.
    #[error("{what} {got} arrived, but the next {what} must be {what} {expected}")]
    OutOfOrder {
        /// What arrived: `node` or `job`.
        what: &'static str,
        /// Id in the record.
        got: u32,
        /// Id that the record should have.
        expected: u32,
    },
    /// A task's demand can't change now.
    #[error("the demand of {0} can't change while an attempt of it runs")]
    CannotDemand(TaskId),
    /// The record names something that does not exist.
    #[error("{0} is not known")]
    Unknown(String),
    /// The specification of a job is invalid: for example, the job has no phases, or a phase comes before one of its
    /// parents.
    #[error("{job} can't be accepted: {reason}")]
    BadJob {
        /// Id of the job.
        job: JobId,
        /// What is wrong with the specification.
        reason: String,
    },
    /// The cluster's dimensions can't express a demand.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The state does not allow the attempt to start.
    #[error("{attempt} can't be started: {reason}")]
    CannotStart {
        /// Id of the attempt.
        attempt: AttemptId,
        /// Why the attempt can't start.
        reason: &'static str,
    },
    /// The state does not allow the job to be abandoned.
    #[error("{job} can't be abandoned: {reason}")]
    CannotAbandon {
        /// Id of the job.
        job: JobId,
        /// Why the job can't be abandoned.
        reason: &'static str,
    },
    /// The state does not allow the task to be withheld, to return or to be given up.
    #[error("{task} can't be withheld, returned or given up: {reason}")]
    CannotWithhold {
        /// Id of the task.
        task: TaskId,
        /// Why this is not possible.
        reason: &'static str,
    },
    /// A node's speed is not a positive number.
    #[error("{node} can't have the speed {speed}: a speed is a positive number")]
    BadSpeed {
        /// Id of the node.
        node: NodeId,
        /// The invalid speed.
        speed: f64,
    },
    /// A node's power model is not valid.
    #[error("{node} can't have its power model: {reason}")]
    BadPower {
        /// Id of the node.
        node: NodeId,
        /// What is wrong with the model.
        reason: String,
    },
    /// The resources to reserve are not free.
    #[error("resources on {0} can't be reserved: they are not free")]
    CannotReserve(NodeId),
    /// The resources can't be reserved for a task.
    #[error("resources on {node} can't be reserved for {task}: {reason}")]
    CannotReserveFor {
        /// Id of the node.
        node: NodeId,
        /// Id of the task.
        task: TaskId,
        /// Why they can't be reserved.
        reason: &'static str,
    },
}

/// Changes that a record caused and that it does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about one record, not a state")]
pub struct Applied {
    /// True if the attempt is the first of its task to finish.
    pub won: bool,
    /// True if the last task of a phase has finished.
    pub phase_finished: bool,
    /// True if the last task of the job has finished.
    pub job_finished: bool,
    /// True if tasks are pending now that waited for the task that has finished or was given up.
    pub unblocked: bool,
    /// The node on which the attempt held resources until now, and the time since which it held them. The resources are
    /// free now, or a replacement holds them. `None` if the attempt held none.
    pub released: Option<(NodeId, Time)>,
    /// The node of the attempt that has ended; `None` if no attempt has ended, or only one that had already ended
    /// before.
    pub ended_on: Option<NodeId>,
    /// Time from the start of the attempt that has ended to the begin of its command; zero if the command began at once.
    pub waited: Time,
    /// True if the task of the attempt has no running copy left and is pending again, or if a withheld task has returned. For
    /// the loss of a node: true if this holds for any task.
    pub pending_again: bool,
    /// The node of the reservation that ended because its task has finished, is withheld or was given up; `None` if the task
    /// had none.
    pub reservation_ended_on: Option<NodeId>,
}

impl Applied {
    /// Returns true if tasks of the job may be pending now that could not start before.
    pub fn makes_pending(&self) -> bool {
        self.pending_again || self.phase_finished || self.unblocked
    }
}

impl Cluster {
    /// Applies a record.
    ///
    /// # Errors
    /// If the record does not fit the state. The state then stays unchanged.
    pub fn apply(&mut self, record: &Record) -> Result<Applied, RecordError> {
        match &record.change {
            Change::Event(event) => self.apply_event(record.at, event),
            Change::Decision(decision) => self.apply_decision(record.at, decision),
        }
    }

    /// Applies an event at a time.
    ///
    /// # Errors
    /// If the event does not fit the state. The state then stays unchanged.
    pub fn apply_event(&mut self, at: Time, event: &Event) -> Result<Applied, RecordError> {
        self.at(at, |cluster| cluster.happen(event))
    }

    fn happen(&mut self, event: &Event) -> Result<Applied, RecordError> {
        match event {
            Event::NodeJoined { node, name, capacity, speed, rack, power } => {
                check_speed(*node, *speed)?;
                self.check_power(*node, power.as_ref())?;
                self.node_joined(*node, name, (*capacity, *speed), (rack.as_ref(), power.as_ref()))
            }
            Event::NodeLost { node, .. } => self.node_lost(*node),
            Event::NodeLeaving { node } => self.node_leaving(*node),
            Event::NodeReturned { node } => self.node_returned(*node),
            Event::JobArrived { job, spec } => self.job_arrived(*job, spec),
            Event::AttemptRunning { attempt, waited } => {
                let now = self.now;
                if let Some(slot) = self.slot_of(*attempt)? {
                    let attempt = self.attempts.get_mut(slot);
                    if attempt.state == AttemptState::Starting {
                        attempt.state = AttemptState::Running;
                    }
                    if let Some(waited) = waited {
                        attempt.wait((*waited).min(now - attempt.since));
                    }
                }
                Ok(Applied::default())
            }
            Event::AttemptFinished { attempt } => self.attempt_ended(*attempt, Ending::Finished),
            Event::AttemptFailed { attempt, reason, .. } => {
                // Remember the node only if the attempt itself failed. If something else ended it, the node may not be
                // the cause.
                if let Some(slot) = self.slot_of(*attempt)?.filter(|_| reason.is_some()) {
                    let node = self.attempts.get(slot).node;
                    self.failed_on.entry(attempt.task).or_default().push(node);
                }
                self.attempt_ended(*attempt, Ending::Broken)
            }
            Event::AttemptStopped { attempt } => self.attempt_ended(*attempt, Ending::Stopped),
            Event::NoMoreCopies { task, may_restart } => self.end_copying(*task, *may_restart),
            Event::TaskWithheld { task, .. } => self.withhold(*task),
            Event::TaskReturned { task } => self.return_task(*task),
            Event::TaskGivenUp { task } => self.give_up(*task),
            Event::JobGivenUp { job } => self.abandon(*job),
            Event::WatchMet { attempt, expected_finish, guessed, stalled, .. } => {
                if let Some(slot) = self.slot_of(*attempt)?
                    && let Some(expected_finish) = expected_finish
                {
                    let found = self.attempts.get_mut(slot);
                    found.expected_finish = *expected_finish;
                    found.finish_is = match (guessed, stalled) {
                        (true, _) => FinishIs::Guessed,
                        (_, true) => FinishIs::LowerBound,
                        _ => FinishIs::Measured,
                    };
                }
                Ok(Applied::default())
            }
            Event::DurationsLearned { job, phase, durations, median, p90, progress, samples } => {
                let learned = Learned { median: *median, p90: *p90, samples: *samples };
                self.durations_learned((*job, *phase), durations, learned, *progress)
            }
            Event::NodeSpeedLearned { node, speed } => {
                check_speed(*node, *speed)?;
                let known =
                    self.nodes.get_mut(node.0 as usize).ok_or_else(|| RecordError::Unknown(node.to_string()))?;
                known.speed = *speed;
                self.nodes_changed();
                Ok(Applied::default())
            }
            Event::TaskDemands { task, demand } => self.set_demand(*task, demand),
            Event::AttemptMeasured { .. }
            | Event::ProfilesRecalled { .. }
            | Event::WeightsFitted { .. }
            | Event::Woken
            | Event::Round => Ok(Applied::default()),
        }
    }

    /// Applies a decision at a time. It takes effect immediately.
    ///
    /// # Errors
    /// If the state does not allow the decision. The state then stays unchanged.
    pub fn apply_decision(&mut self, at: Time, decision: &Decision) -> Result<Applied, RecordError> {
        self.at(at, |cluster| cluster.carry_out(decision))
    }

    fn carry_out(&mut self, decision: &Decision) -> Result<Applied, RecordError> {
        match decision {
            Decision::Start { attempt, node, from_progress } => {
                self.start(*attempt, *node, *from_progress)?;
                Ok(Applied::default())
            }
            Decision::Stop { attempt, .. } => {
                if let Some(slot) = self.slot_of(*attempt)? {
                    self.mark_stopping(slot);
                }
                Ok(Applied::default())
            }
            Decision::Replace { attempt, from_progress } => self.replace(*attempt, *from_progress),
            Decision::Reserve { node, resources, until, task } => {
                self.reserve(*node, **resources, *until, task.as_deref().copied())
            }
            Decision::Release { task } => self.release(*task),
            Decision::Abandon { job } => self.abandon(*job),
            Decision::Wake { .. } => Ok(Applied::default()),
            Decision::Watch { attempt, .. } => {
                self.slot_of(*attempt)?;
                Ok(Applied::default())
            }
        }
    }

    /// Advances the time, ends expired reservations and makes a change. If the change fails, the time and the
    /// reservations are restored.
    fn at(
        &mut self,
        at: Time,
        change: impl FnOnce(&mut Cluster) -> Result<Applied, RecordError>,
    ) -> Result<Applied, RecordError> {
        let before = self.now;
        if at < before {
            return Err(RecordError::TimeWentBack { at, now: before });
        }
        self.now = at;
        let expired = if self.reservations.is_empty() { None } else { self.expire_reservations() };
        let applied = change(self);
        if applied.is_err() {
            self.now = before;
            if let Some(expired) = expired {
                self.reserve_again(expired);
            }
        }
        applied
    }

    /// Checks the power model of a node that joins. Nodes of one class share a model, which is checked only once.
    fn check_power(&self, node: NodeId, power: Option<&Arc<PowerModel>>) -> Result<(), RecordError> {
        let last = self.nodes.last().and_then(|last| last.power.as_ref());
        match power {
            Some(model) if last.is_none_or(|last| !Arc::ptr_eq(last, model)) => {
                model.check().map_err(|reason| RecordError::BadPower { node, reason })
            }
            _ => Ok(()),
        }
    }

    fn node_joined(
        &mut self,
        id: NodeId,
        name: &Arc<str>,
        (capacity, speed): (Resources, f64),
        (rack, power): (Option<&Arc<str>>, Option<&Arc<PowerModel>>),
    ) -> Result<Applied, RecordError> {
        let expected = self.nodes.len() as u32;
        if id.0 != expected {
            return Err(RecordError::OutOfOrder { what: "node", got: id.0, expected });
        }
        self.nodes.push(Node {
            name: name.clone(),
            rack: rack.cloned(),
            capacity,
            free: capacity,
            reserved: Resources::NONE,
            speed,
            power: power.cloned(),
            up: true,
            before_leaving: None,
            attempts: OnNode::NONE,
        });
        self.total = self.total.plus(&capacity);
        self.joined_total = self.joined_total.plus(&capacity);
        self.nodes_changed();
        self.refresh_open(id);
        Ok(Applied::default())
    }

    /// Must be called after a node has joined, was lost, has returned or has changed its speed.
    fn nodes_changed(&mut self) {
        self.node_changes += 1;
        self.ranked.get_mut().clear();
    }

    fn node_lost(&mut self, id: NodeId) -> Result<Applied, RecordError> {
        let node = self.nodes.get_mut(id.0 as usize).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if !node.up {
            return Ok(Applied::default());
        }
        node.up = false;
        let mut lost: Vec<AttemptId> = node.attempts.iter().map(|slot| self.attempts.get(slot).id).collect();
        self.total = self.total.minus(&node.capacity);
        self.nodes_changed();
        lost.sort_unstable();
        let mut applied = Applied::default();
        for attempt in lost {
            applied.pending_again |= self.attempt_ended(attempt, Ending::Broken)?.pending_again;
        }
        self.forget_reservations(id);
        let node = &mut self.nodes[id.0 as usize];
        node.reserved = Resources::NONE;
        node.capacity = node.before_leaving.take().map_or(node.capacity, |before| *before);
        node.free = node.capacity;
        self.refresh_open(id);
        Ok(applied)
    }

    /// Lets a node leave: its reservations end, and its capacity shrinks to what its attempts hold.
    fn node_leaving(&mut self, id: NodeId) -> Result<Applied, RecordError> {
        let node = self.nodes.get(id.0 as usize).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if node.up && !node.is_leaving() {
            self.forget_reservations(id);
            let node = &mut self.nodes[id.0 as usize];
            let unused = node.free.plus(&node.reserved);
            node.before_leaving = Some(Box::new(node.capacity));
            (node.free, node.reserved) = (Resources::NONE, Resources::NONE);
            self.gone(id, &unused);
        }
        Ok(Applied::default())
    }

    /// Takes resources that nothing holds from a node that leaves.
    pub(super) fn gone(&mut self, id: NodeId, resources: &Resources) {
        let node = &mut self.nodes[id.0 as usize];
        node.capacity = node.capacity.minus(resources);
        self.total = self.total.minus(resources);
        self.nodes_changed();
        self.refresh_open(id);
    }

    fn node_returned(&mut self, id: NodeId) -> Result<Applied, RecordError> {
        let node = self.nodes.get_mut(id.0 as usize).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if !node.up {
            node.up = true;
            self.total = self.total.plus(&node.capacity);
            self.nodes_changed();
            self.refresh_open(id);
        }
        Ok(Applied::default())
    }

    fn job_arrived(&mut self, id: JobId, spec: &Arc<JobSpec>) -> Result<Applied, RecordError> {
        let expected = self.arrived_jobs();
        if id.0 != expected {
            return Err(RecordError::OutOfOrder { what: "job", got: id.0, expected });
        }
        let bad = |reason: &str| RecordError::BadJob { job: id, reason: reason.to_owned() };
        if spec.phases.is_empty() {
            return Err(bad("it has no phases"));
        }
        let mut known = Vec::with_capacity(spec.phases.len());
        for (at, phase) in spec.phases.iter().enumerate() {
            if phase.tasks == 0 {
                return Err(bad(&format!("phase {:?} has no tasks", phase.name)));
            }
            if let Some(last) = phase.finished.last().filter(|last| **last >= phase.tasks) {
                return Err(bad(&format!("phase {:?} has no task {last}, but names it as finished", phase.name)));
            }
            if phase.finished.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(bad(&format!("the finished tasks of phase {:?} are not in ascending order", phase.name)));
            }
            if phase.after.iter().any(|parent| *parent as usize >= at) {
                return Err(bad(&format!("phase {:?} comes before one of its parents", phase.name)));
            }
            if let Some(input) = &phase.input {
                let tasks = phase.tasks as usize;
                if input.bytes.len() != tasks || !(input.replicas.is_empty() || input.replicas.len() == tasks) {
                    return Err(bad(&format!("the input of phase {:?} is not given for each task", phase.name)));
                }
            }
            let durations = match &phase.tail {
                Some(tail) => tail.clone(),
                None if phase.mean == 0.0 => {
                    Distribution::constant(0.0).map_err(|error| bad(&format!("phase {:?}: {error}", phase.name)))?
                }
                None => Distribution::fit_mean_sd(phase.mean, phase.sd)
                    .map_err(|error| bad(&format!("phase {:?}: {error}", phase.name)))?,
            };
            known.push((self.dimensions.demand(&phase.demand)?, durations));
        }
        if let Some(fault) = spec.fault_of_edges() {
            return Err(bad(&fault));
        }
        if spec.phases.iter().all(|phase| phase.tasks_to_do() == 0) {
            return Err(bad("all of its tasks have finished already"));
        }
        let mut job = Job::new(id, spec.clone(), self.now, known);
        for (phase, spec) in job.phases.iter_mut().zip(&spec.phases) {
            phase.by_input = TasksByInput::of(spec, &self.nodes).map(Box::new);
        }
        self.runnable += u64::from(job.runnable);
        self.jobs.push_back(Some(Box::new(job)));
        self.active_jobs += 1;
        Ok(Applied::default())
    }

    fn durations_learned(
        &mut self,
        (job, phase_at): (JobId, u32),
        durations: &Distribution,
        learned: Learned,
        progress: bool,
    ) -> Result<Applied, RecordError> {
        // A finished job that has left the cluster needs no estimates.
        let Some(found) = self.job_mut(job) else { return Ok(Applied::default()) };
        let phase = found
            .phases
            .get_mut(phase_at as usize)
            .ok_or_else(|| RecordError::Unknown(format!("{job} phase {phase_at}")))?;
        // Before the first durations were learned, nothing was known about progress.
        let no_longer = phase.learned.is_some() && phase.gives_progress && !progress;
        phase.mean = durations.mean();
        phase.sd = durations.sd();
        phase.learned = Some(learned);
        phase.gives_progress = progress;
        phase.durations = durations.clone();
        phase.assumed = false;
        if no_longer {
            self.forget_finishes(job, phase_at);
        }
        Ok(Applied::default())
    }

    /// Forgets when the running attempts of a phase were expected to end, because its progress was found to say nothing.
    fn forget_finishes(&mut self, job: JobId, phase: u32) {
        let is_of_phase = |attempt: &Attempt| (attempt.id.task.job, attempt.id.task.phase) == (job, phase);
        let of_phase: Vec<AttemptId> = self.running().filter(|attempt| is_of_phase(attempt)).map(Attempt::id).collect();
        for id in of_phase {
            if let Ok(Some(slot)) = self.slot_of(id) {
                self.attempts.get_mut(slot).expected_finish = Time::NEVER;
            }
        }
    }

    /// Returns the slot of an attempt; `None` if the attempt has ended.
    ///
    /// # Errors
    /// If the attempt was never started.
    pub(super) fn slot_of(&self, id: AttemptId) -> Result<Option<u32>, RecordError> {
        let Some(job) = self.job(id.task.job) else {
            // All attempts of a job that has left have ended; jobs with larger ids have not arrived.
            if id.task.job.0 < self.arrived_jobs() {
                return Ok(None);
            }
            return Err(RecordError::Unknown(id.to_string()));
        };
        let task = job
            .phases
            .get(id.task.phase as usize)
            .and_then(|phase| phase.tasks.get(id.task.index as usize))
            .filter(|task| id.copy < task.launched)
            .ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        Ok(self.attempts.find(task.newest, |attempt| attempt.id.copy == id.copy))
    }

    #[inline]
    pub(super) fn refresh_open(&mut self, id: NodeId) {
        let node = &self.nodes[id.0 as usize];
        if node.up && node.free.is_some(self.dimensions.count()) {
            self.open.insert(id.0);
        } else {
            self.open.remove(id.0);
        }
        self.ranked.get_mut().changed(id, node);
        if let Some(free) = &mut self.free {
            let now = if node.up { &node.free } else { &Resources::NONE };
            if free.set(id.0, now) {
                self.first_fits.get_mut().grew(id.0, now);
            }
        }
    }
}

/// Checks that a speed is a positive number.
fn check_speed(node: NodeId, speed: f64) -> Result<(), RecordError> {
    if speed.is_finite() && speed > 0.0 { Ok(()) } else { Err(RecordError::BadSpeed { node, speed }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Dimensions;

    const NODE: NodeId = NodeId(0);

    fn joined(node: u32, speed: f64) -> Event {
        let (name, capacity) = (format!("n{node}").into(), Resources::ONE_SLOT);
        Event::NodeJoined { node: NodeId(node), name, capacity, speed, rack: None, power: None }
    }

    #[test]
    fn a_record_that_does_not_fit_changes_nothing() {
        let seconds = Time::from_seconds;
        let mut cluster = Cluster::new(Dimensions::one_slot());
        cluster.apply_event(Time::ZERO, &joined(0, 1.0)).unwrap();
        let resources = Box::new(Resources::ONE_SLOT);
        let reserve = Decision::Reserve { node: NODE, resources, until: seconds(5.0), task: None };
        cluster.apply_decision(seconds(1.0), &reserve).unwrap();
        let unknown = Event::NodeLost { node: NodeId(7), time_is_up: false };
        assert!(cluster.apply_event(seconds(9.0), &unknown).is_err());
        assert_eq!((cluster.now(), cluster.open_nodes()), (seconds(1.0), 0));
        assert_eq!(*cluster.node(NODE).unwrap().reserved(), Resources::ONE_SLOT);
        // The time is still 1 s, so a record at 4 s is accepted, and the reservation ends at 5 s.
        cluster.apply_event(seconds(4.0), &Event::Round).unwrap();
        assert_eq!(cluster.open_nodes(), 0);
        cluster.apply_event(seconds(5.0), &Event::Round).unwrap();
        assert_eq!(cluster.open_nodes(), 1);
    }

    #[test]
    fn a_speed_is_a_positive_number() {
        let mut cluster = Cluster::new(Dimensions::one_slot());
        cluster.apply_event(Time::ZERO, &joined(0, 2.0)).unwrap();
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let learned = Event::NodeSpeedLearned { node: NODE, speed };
            assert!(matches!(cluster.apply_event(Time::ZERO, &learned), Err(RecordError::BadSpeed { .. })), "{speed}");
            assert!(cluster.apply_event(Time::ZERO, &joined(1, speed)).is_err(), "{speed}");
        }
        assert_eq!(cluster.node(NODE).map(Node::speed), Some(2.0));
    }
}
