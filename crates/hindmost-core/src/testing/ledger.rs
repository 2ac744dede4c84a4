//! The books of a run, rebuilt from its records alone, without the cluster: what attempts hold, and which tasks have finished.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ids::{AttemptId, JobId, TaskId};
use crate::record::{Change, Decision, Event, Record};
use crate::resources::{Dimensions, Resources};
use crate::time::Time;
use crate::workload::JobSpec;

/// An attempt that holds resources.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Number of the node.
    pub node: u32,
    /// Since when it holds them.
    pub since: Time,
    /// What it holds.
    pub demand: Resources,
}

/// Resources that are reserved for a task.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    task: TaskId,
    node: u32,
    amount: Resources,
    /// The part of the amount that has come free.
    taken: Resources,
    until: Time,
}

/// The state rebuilt from the records.
#[derive(Debug)]
pub struct Ledger {
    dimensions: Dimensions,
    /// Resources of each node when nothing runs on it.
    pub capacities: Vec<Resources>,
    /// Whether each node is lost.
    lost: Vec<bool>,
    /// Nodes that leave.
    leaving: BTreeSet<u32>,
    /// The jobs that have arrived.
    pub specs: Vec<Arc<JobSpec>>,
    /// What tasks demand whose phases say something else.
    own_demands: BTreeMap<TaskId, Resources>,
    /// The attempts that hold resources.
    pub held: BTreeMap<AttemptId, Held>,
    /// The reservations, the oldest first.
    reserved: Vec<Reserved>,
    /// Each attempt that is being replaced, with the replacement that waits for its resources.
    replacements: BTreeMap<AttemptId, AttemptId>,
    /// How many attempts of each task have started.
    pub started: BTreeMap<TaskId, u32>,
    /// Unfinished tasks whose last running copies have failed or were lost with their nodes.
    broken: BTreeSet<TaskId>,
    /// Attempts that started because all earlier copies of their task had failed or were lost.
    pub relaunches: BTreeSet<AttemptId>,
    /// The first attempt of each task to finish, and when.
    pub winners: BTreeMap<TaskId, (AttemptId, Time)>,
    /// Attempts that finished after the winner of their task. Only a copy that the policy keeps does so.
    pub late: BTreeSet<AttemptId>,
    /// The tasks that were given up.
    given_up: BTreeSet<TaskId>,
    /// The jobs that were abandoned or given up, and when.
    pub abandoned: BTreeMap<JobId, Time>,
    /// Σ (end − start) of ended attempts, by job and phase, in ticks.
    pub spent: BTreeMap<(JobId, u32), u64>,
}

impl Ledger {
    /// Creates the ledger of a run before its first record.
    pub fn new(dimensions: Dimensions) -> Ledger {
        Ledger {
            dimensions,
            capacities: Vec::new(),
            lost: Vec::new(),
            leaving: BTreeSet::new(),
            specs: Vec::new(),
            own_demands: BTreeMap::new(),
            held: BTreeMap::new(),
            reserved: Vec::new(),
            replacements: BTreeMap::new(),
            started: BTreeMap::new(),
            broken: BTreeSet::new(),
            relaunches: BTreeSet::new(),
            winners: BTreeMap::new(),
            late: BTreeSet::new(),
            given_up: BTreeSet::new(),
            abandoned: BTreeMap::new(),
            spent: BTreeMap::new(),
        }
    }

    /// Creates the ledger of a run and enters all of its records.
    ///
    /// # Panics
    /// As [`Ledger::enter`].
    pub fn of(dimensions: Dimensions, records: &[Record]) -> Ledger {
        let mut ledger = Ledger::new(dimensions);
        for record in records {
            ledger.enter(record);
        }
        ledger
    }

    /// Returns the resources of a node that no attempt holds and no reservation has taken.
    ///
    /// # Panics
    /// If they are more than the node has.
    pub fn free(&self, node: usize) -> Resources {
        let on_node = self.held.values().filter(|held| held.node as usize == node);
        let free = on_node.fold(self.capacities[node], |free, held| {
            assert!(held.demand.fits(&free), "attempts on node {node} hold more than its capacity");
            free.minus(&held.demand)
        });
        if self.leaving.contains(&(node as u32)) {
            return Resources::NONE;
        }
        let on_node = self.reserved.iter().filter(|reserved| reserved.node as usize == node);
        on_node.fold(free, |free, reserved| {
            assert!(reserved.taken.fits(&free), "reserved resources of node {node} were given away");
            free.minus(&reserved.taken)
        })
    }

    /// Lets reservations take what has come free.
    fn fill(&mut self) {
        for at in 0..self.reserved.len() {
            let node = self.reserved[at].node as usize;
            if !self.lost[node] {
                let free = self.free(node);
                let reserved = &mut self.reserved[at];
                reserved.taken = reserved.taken.plus(&reserved.amount.minus(&reserved.taken).least(&free));
            }
        }
    }

    /// Returns what an attempt of a task needs.
    fn demand(&self, task: TaskId) -> Resources {
        if let Some(own) = self.own_demands.get(&task) {
            return *own;
        }
        let spec = &self.specs[task.job.0 as usize].phases[task.phase as usize];
        self.dimensions.demand(&spec.demand).expect("the job has arrived")
    }

    /// Returns the tasks of a phase.
    fn tasks(&self, job: JobId, phase: u32) -> impl Iterator<Item = TaskId> + use<> {
        let tasks = self.specs[job.0 as usize].phases[phase as usize].tasks;
        (0..tasks).map(move |index| TaskId { job, phase, index })
    }

    /// Returns whether a task has finished: in this run, before it, or because it was given up.
    fn is_finished(&self, task: TaskId) -> bool {
        let before = || &self.specs[task.job.0 as usize].phases[task.phase as usize].finished;
        self.winners.contains_key(&task) || self.given_up.contains(&task) || before().contains(&task.index)
    }

    fn phase_finished(&self, job: JobId, phase: u32) -> bool {
        self.tasks(job, phase).all(|task| self.is_finished(task))
    }

    /// Returns whether the phases have finished for which all tasks of a phase wait.
    fn is_open(&self, job: JobId, phase: u32) -> bool {
        let spec = &self.specs[job.0 as usize].phases[phase as usize];
        spec.barriers().all(|parent| self.phase_finished(job, parent))
    }

    /// Returns whether the single tasks have finished for which a task waits.
    fn is_unblocked(&self, task: TaskId) -> bool {
        let edges = &self.specs[task.job.0 as usize].phases[task.phase as usize].edges;
        edges.iter().all(|edges| {
            let of_parent = |index| TaskId { phase: edges.parent, index, ..task };
            edges.parents_of(task.index).into_iter().all(|index| self.is_finished(of_parent(index)))
        })
    }

    fn has_running_copies(&self, task: TaskId) -> bool {
        self.held.keys().chain(self.replacements.values()).any(|id| id.task == task)
    }

    fn may_start(&mut self, id: AttemptId) {
        let task = id.task;
        assert!(!self.abandoned.contains_key(&task.job), "{id} starts after its job was abandoned");
        assert!(self.is_open(task.job, task.phase), "{id} starts before its phase's parents have finished");
        assert!(self.is_unblocked(task), "{id} starts before the tasks have finished for which it waits");
        assert!(!self.is_finished(task), "{id} starts after its task has finished");
        let next = self.started.entry(task).or_default();
        assert_eq!(id.copy, *next, "copies are numbered in the order of their starts");
        *next += 1;
        if self.broken.remove(&task) {
            self.relaunches.insert(id);
        }
    }

    /// Returns whether an attempt is a copy that started although another attempt of its task had not failed.
    pub fn is_clone(&self, id: AttemptId) -> bool {
        id.copy > 0 && !self.relaunches.contains(&id)
    }

    /// Ends an attempt. A replacement that waits for its resources holds them from now on.
    fn end(&mut self, id: AttemptId, at: Time) {
        let Some(held) = self.held.remove(&id) else {
            let replaced = self.replacements.iter().find(|(_, waits)| **waits == id).map(|(replaced, _)| *replaced);
            let replaced = replaced.unwrap_or_else(|| panic!("{id} ends, but does not run"));
            self.replacements.remove(&replaced);
            return;
        };
        *self.spent.entry((id.task.job, id.task.phase)).or_default() += at.0 - held.since.0;
        if let Some(replacement) = self.replacements.remove(&id) {
            self.held.insert(replacement, Held { since: at, ..held });
        }
    }

    /// Ends an attempt that did not finish its work and was not stopped.
    fn break_off(&mut self, id: AttemptId, at: Time) {
        self.end(id, at);
        if !self.is_finished(id.task) && !self.has_running_copies(id.task) {
            self.broken.insert(id.task);
        }
    }

    fn abandon(&mut self, job: JobId, at: Time) {
        assert!((job.0 as usize) < self.specs.len(), "{job} is abandoned before it arrives");
        assert!(self.abandoned.insert(job, at).is_none(), "{job} is abandoned twice");
        assert!(!self.has_finished(job), "{job} has finished");
        self.reserved.retain(|reserved| reserved.task.job != job);
    }

    /// Returns whether all tasks of a job have finished.
    pub fn has_finished(&self, job: JobId) -> bool {
        let mut phases = 0..self.specs[job.0 as usize].phases.len() as u32;
        phases.all(|phase| self.phase_finished(job, phase))
    }

    /// Enters a record.
    ///
    /// # Panics
    /// If the record does not fit those before it: the message says which invariant it breaks.
    pub fn enter(&mut self, record: &Record) {
        let at = record.at;
        if self.reserved.iter().any(|reserved| reserved.until <= at) {
            self.reserved.retain(|reserved| reserved.until > at);
            self.fill();
        }
        match &record.change {
            Change::Event(Event::NodeJoined { capacity, .. }) => {
                self.capacities.push(*capacity);
                self.lost.push(false);
            }
            Change::Event(Event::NodeLost { node, .. }) => {
                self.lost[node.0 as usize] = true;
                self.reserved.retain(|reserved| reserved.node != node.0);
                // A replacement holds the resources once the attempt that it replaces has ended.
                let next =
                    |ledger: &Ledger| ledger.held.iter().find(|(_, held)| held.node == node.0).map(|(id, _)| *id);
                while let Some(id) = next(self) {
                    self.break_off(id, at);
                }
            }
            Change::Event(Event::NodeLeaving { node }) => {
                self.leaving.insert(node.0);
                self.reserved.retain(|reserved| reserved.node != node.0);
            }
            Change::Event(Event::NodeReturned { node }) => {
                self.lost[node.0 as usize] = false;
                self.leaving.remove(&node.0);
            }
            Change::Event(Event::JobArrived { spec, .. }) => {
                assert!(at >= spec.arrival);
                self.specs.push(spec.clone());
            }
            Change::Event(Event::AttemptFinished { attempt }) => {
                if self.is_finished(attempt.task) {
                    self.late.insert(*attempt);
                } else {
                    self.winners.insert(attempt.task, (*attempt, at));
                }
                self.end(*attempt, at);
                self.reserved.retain(|reserved| reserved.task != attempt.task);
            }
            Change::Event(Event::AttemptFailed { attempt, .. }) => self.break_off(*attempt, at),
            Change::Event(Event::AttemptStopped { attempt }) => self.end(*attempt, at),
            Change::Event(Event::TaskGivenUp { task }) => {
                assert!(!self.is_finished(*task) && !self.has_running_copies(*task), "{task} is given up, but runs");
                self.given_up.insert(*task);
                self.reserved.retain(|reserved| reserved.task != *task);
            }
            Change::Event(Event::TaskDemands { task, demand }) => {
                assert!(
                    self.held.keys().all(|attempt| attempt.task != *task),
                    "the demand of {task} changes while it runs"
                );
                self.own_demands.insert(*task, **demand);
            }
            Change::Event(Event::TaskWithheld { task, .. }) => {
                self.reserved.retain(|reserved| reserved.task != *task);
            }
            Change::Event(Event::JobGivenUp { job }) | Change::Decision(Decision::Abandon { job }) => {
                self.abandon(*job, at);
            }
            Change::Decision(Decision::Start { attempt, node, .. }) => {
                self.may_start(*attempt);
                let demand = self.demand(attempt.task);
                assert!(!self.lost[node.0 as usize], "{attempt} starts on a lost node");
                assert!(!self.leaving.contains(&node.0), "{attempt} starts on a node that leaves");
                self.reserved.retain(|reserved| reserved.task != attempt.task);
                assert!(
                    demand.fits(&self.free(node.0 as usize)),
                    "{attempt} starts on a node without enough free resources"
                );
                self.held.insert(*attempt, Held { node: node.0, since: at, demand });
            }
            Change::Decision(Decision::Replace { attempt, .. }) => {
                let copy = self.started[&attempt.task];
                let replacement = AttemptId { copy, ..*attempt };
                self.may_start(replacement);
                self.replacements.insert(*attempt, replacement);
            }
            Change::Decision(Decision::Reserve { node, resources, until, task: Some(task) }) => {
                assert!(self.reserved.iter().all(|reserved| reserved.task != **task), "{task} has two reservations");
                assert!(!self.is_finished(**task), "a reservation is made for the finished {task}");
                assert!(!self.lost[node.0 as usize] && at < *until);
                let (task, amount, until) = (**task, **resources, *until);
                self.reserved.push(Reserved { task, node: node.0, amount, taken: Resources::NONE, until });
            }
            Change::Decision(Decision::Release { task }) => {
                let before = self.reserved.len();
                self.reserved.retain(|reserved| reserved.task != *task);
                assert_eq!(self.reserved.len() + 1, before, "{task} has no reservation to release");
            }
            _ => {}
        }
        if !self.reserved.is_empty() {
            self.fill();
        }
    }

    /// Asserts that work is conserved: no task is waiting that could start and fits on a node.
    ///
    /// # Panics
    /// If there is such a task.
    pub fn is_conserving(&self) {
        for (job, spec) in (0..).map(JobId).zip(&self.specs).filter(|(job, _)| !self.abandoned.contains_key(job)) {
            for phase in (0..spec.phases.len() as u32).filter(|phase| self.is_open(job, *phase)) {
                let waits = |task: &TaskId| {
                    !self.is_finished(*task) && !self.has_running_copies(*task) && self.is_unblocked(*task)
                };
                if let Some(task) = self.tasks(job, phase).find(waits) {
                    let demand = self.demand(task);
                    let mut up = (0..self.capacities.len()).filter(|node| !self.lost[*node]);
                    let fits = up.any(|node| demand.fits(&self.free(node)));
                    assert!(!fits, "{task} waits although it fits on a node");
                }
            }
        }
    }

    /// Asserts that all tasks of the jobs that were not abandoned have finished.
    ///
    /// # Panics
    /// If one has not.
    pub fn has_finished_all(&self) {
        let jobs = (0..self.specs.len() as u32).map(JobId).filter(|job| !self.abandoned.contains_key(job));
        let unfinished: Vec<JobId> = jobs.filter(|job| !self.has_finished(*job)).collect();
        assert!(unfinished.is_empty(), "tasks of {unfinished:?} have not finished");
    }

    /// Asserts that no attempt runs, as after the end of a run.
    ///
    /// # Panics
    /// If one does.
    pub fn has_ended_all(&self) {
        assert!(self.held.is_empty(), "attempts run after the end of the run: {:?}", self.held);
    }

    /// Asserts that nothing holds or reserves resources, as after the end of a run in which no job failed.
    ///
    /// # Panics
    /// If something does.
    pub fn has_freed_all(&self) {
        self.has_ended_all();
        assert!(self.reserved.is_empty(), "a reservation outlives its task: {:?}", self.reserved);
    }
}
