//! An auditor independent of the simulator: it rebuilds the state from a run's records and checks the invariants.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::{MAX_DIMENSIONS, Resources};
use hindmost_core::time::Time;
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, World};

/// An attempt that holds resources.
struct Held {
    node: u32,
    since: Time,
    demand: Resources,
}

/// Resources that are reserved for a task.
struct Reserved {
    task: TaskId,
    node: u32,
    amount: Resources,
    /// The part of the amount that has come free.
    taken: Resources,
    until: Time,
}

/// The state rebuilt from the records: the resources that attempts hold on nodes, and the tasks that have finished.
#[derive(Default)]
struct Ledger {
    capacities: Vec<Resources>,
    /// Whether each node is lost.
    lost: Vec<bool>,
    /// Nodes that leave.
    leaving: BTreeSet<u32>,
    specs: Vec<std::sync::Arc<hindmost_core::workload::JobSpec>>,
    held: BTreeMap<AttemptId, Held>,
    /// The reservations, the oldest first.
    reserved: Vec<Reserved>,
    /// Each attempt that is being replaced, with the replacement that waits for its resources.
    replacements: BTreeMap<AttemptId, AttemptId>,
    started: BTreeMap<TaskId, u32>,
    /// Unfinished tasks whose last running copies were lost with their nodes.
    broken: BTreeSet<TaskId>,
    /// Attempts that started because all earlier copies of their task were lost.
    relaunches: BTreeSet<AttemptId>,
    winners: BTreeMap<TaskId, (AttemptId, Time)>,
    /// The jobs that the policy has abandoned, and when.
    abandoned: BTreeMap<u32, Time>,
    /// Σ (end − start) of ended attempts, by job and phase, in ticks.
    spent: BTreeMap<(u32, u32), u64>,
}

impl Ledger {
    fn free(&self, node: usize) -> Resources {
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

    fn demand(&self, world: &World, task: TaskId) -> Resources {
        let spec = &self.specs[task.job.0 as usize].phases[task.phase as usize];
        world.setup.dimensions.demand(&spec.demand).unwrap()
    }

    fn phase_finished(&self, job: u32, phase: u32) -> bool {
        let tasks = self.specs[job as usize].phases[phase as usize].tasks;
        (0..tasks).all(|index| self.winners.contains_key(&TaskId { job: hindmost_core::ids::JobId(job), phase, index }))
    }

    fn is_open(&self, job: u32, phase: u32) -> bool {
        self.specs[job as usize].phases[phase as usize].after.iter().all(|parent| self.phase_finished(job, *parent))
    }

    fn has_running_copies(&self, task: TaskId) -> bool {
        self.held.keys().chain(self.replacements.values()).any(|id| id.task == task)
    }

    fn may_start(&mut self, id: AttemptId) {
        let task = id.task;
        assert!(!self.abandoned.contains_key(&task.job.0), "{id} starts after its job was abandoned");
        assert!(self.is_open(task.job.0, task.phase), "{id} starts before its phase's parents have finished");
        assert!(!self.winners.contains_key(&task), "{id} starts after its task has finished");
        let next = self.started.entry(task).or_default();
        assert_eq!(id.copy, *next, "copies are numbered in the order of their starts");
        *next += 1;
        if self.broken.remove(&task) {
            self.relaunches.insert(id);
        }
    }

    fn is_clone(&self, id: AttemptId) -> bool {
        id.copy > 0 && !self.relaunches.contains(&id)
    }

    fn end(&mut self, id: AttemptId, at: Time) -> Held {
        let held = self.held.remove(&id).unwrap_or_else(|| panic!("{id} ends, but does not run"));
        *self.spent.entry((id.task.job.0, id.task.phase)).or_default() += at.0 - held.since.0;
        held
    }

    fn enter(&mut self, world: &World, record: &Record) {
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
                let on_node = self.held.iter().filter(|(_, held)| held.node == node.0).map(|(id, _)| *id);
                let ended: Vec<AttemptId> = on_node.collect();
                for id in ended {
                    self.end(id, at);
                    if !self.winners.contains_key(&id.task) && !self.has_running_copies(id.task) {
                        self.broken.insert(id.task);
                    }
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
                self.end(*attempt, at);
                self.winners.entry(attempt.task).or_insert((*attempt, at));
                self.reserved.retain(|reserved| reserved.task != attempt.task);
            }
            Change::Event(Event::AttemptStopped { attempt }) => {
                let held = self.end(*attempt, at);
                if let Some(replacement) = self.replacements.remove(attempt) {
                    self.held.insert(replacement, Held { since: at, ..held });
                }
            }
            Change::Decision(Decision::Start { attempt, node, .. }) => {
                self.may_start(*attempt);
                let demand = self.demand(world, attempt.task);
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
                assert!(!self.winners.contains_key(task), "a reservation is made for the finished {task}");
                assert!(!self.lost[node.0 as usize] && at < *until);
                let (task, amount, until) = (**task, **resources, *until);
                self.reserved.push(Reserved { task, node: node.0, amount, taken: Resources::NONE, until });
            }
            Change::Decision(Decision::Abandon { job }) => {
                assert!((job.0 as usize) < self.specs.len(), "{job} is abandoned before it arrives");
                assert!(self.abandoned.insert(job.0, at).is_none(), "{job} is abandoned twice");
                let mut phases = 0..self.specs[job.0 as usize].phases.len() as u32;
                assert!(!phases.all(|phase| self.phase_finished(job.0, phase)), "{job} has finished");
                self.reserved.retain(|reserved| reserved.task.job != *job);
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
    fn is_conserving(&self, world: &World) {
        for (job, spec) in self.specs.iter().enumerate() {
            for (phase, described) in spec.phases.iter().enumerate() {
                if !self.is_open(job as u32, phase as u32) || self.abandoned.contains_key(&(job as u32)) {
                    continue;
                }
                let waits = (0..described.tasks).map(|index| TaskId {
                    job: hindmost_core::ids::JobId(job as u32),
                    phase: phase as u32,
                    index,
                });
                let waits =
                    waits.into_iter().find(|task| !self.winners.contains_key(task) && !self.has_running_copies(*task));
                if let Some(task) = waits {
                    let demand = self.demand(world, task);
                    let mut up = (0..self.capacities.len()).filter(|node| !self.lost[*node]);
                    let fits = up.any(|node| demand.fits(&self.free(node)));
                    assert!(!fits, "{task} waits although it fits on a node");
                }
            }
        }
    }
}

/// Returns whether a record is a decision, or an event by which the driver carries out a decision immediately.
fn follows_a_decision(change: &Change) -> bool {
    matches!(change, Change::Decision(_) | Change::Event(Event::AttemptRunning { .. } | Event::AttemptStopped { .. }))
}

/// Limits on clones: clones of a task, copies of a task on a node, and the share of the cluster that all clones hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub clones: usize,
    pub per_node: usize,
    pub budget: Option<f64>,
}

/// Checks after every start that clones stay within their limits.
pub fn audit_clones(world: &World, run: &Run, limits: Limits) {
    let mut ledger = Ledger::default();
    for record in &run.records {
        ledger.enter(world, record);
        let Change::Decision(Decision::Start { attempt, node, .. }) = &record.change else { continue };
        let copies = || ledger.held.iter().filter(|(id, _)| id.task == attempt.task);
        assert!(copies().count() <= 1 + limits.clones, "{attempt} exceeds the limit of clones of a task");
        let here = copies().filter(|(_, held)| held.node == node.0).count();
        assert!(here <= limits.per_node, "{attempt} exceeds the limit of copies of a task on a node");
        let Some(budget) = limits.budget.filter(|_| ledger.is_clone(*attempt)) else { continue };
        let clones = ledger.held.iter().filter(|(id, _)| ledger.is_clone(**id));
        let held = clones.fold(Resources::NONE, |sum, (_, held)| sum.plus(&held.demand));
        let total = ledger.capacities.iter().fold(Resources::NONE, Resources::plus);
        for (held, total) in held.0.iter().zip(&total.0) {
            assert!(*held as f64 <= budget * *total as f64 + 0.01, "clones hold {held} of {total}");
        }
    }
}

/// Asserts that the policy abandons no job before its deadline, and no job without one. For tests of policies that give up
/// late jobs.
pub fn audit_abandonments(run: &Run) {
    let mut due: Vec<Option<Time>> = Vec::new();
    for record in &run.records {
        match &record.change {
            Change::Event(Event::JobArrived { spec, .. }) => due.push(spec.deadline.map(|after| record.at + after)),
            Change::Decision(Decision::Abandon { job }) => {
                let due = due[job.0 as usize].unwrap_or_else(|| panic!("{job} is abandoned, but has no deadline"));
                assert!(record.at >= due, "{job} is abandoned at {}, before its deadline at {due}", record.at);
            }
            _ => {}
        }
    }
}

/// Checks the invariants after each record of a run, and the run's results at the end.
pub fn audit(world: &World, run: &Run) {
    audit_as(world, run, run.policy());
}

/// As [`audit`], for a policy of the test that is based on the policy of the catalogue with this name.
pub fn audit_as(world: &World, run: &Run, name: &str) {
    let mut ledger = Ledger::default();
    // These leave resources idle on purpose: hopper keeps slots for later copies, pace does not use slow nodes, dollymp may wait
    // for the first open phase, and a queue has a maximum. What window reserves is not free.
    let idle = ["hopper", "pace", "phase=first"].iter().any(|other| name.contains(other));
    let conserving = !idle && world.setup.queues.is_empty();
    let mut last = Time::ZERO;
    let (mut in_round, mut stops) = (false, false);
    for (at, record) in run.records.iter().enumerate() {
        assert!(record.at >= last, "records are in order of time");
        // When a winner finishes, the task's other copies end at the same time, except one that the policy keeps. When a job
        // is abandoned, all its copies end at the same time.
        if record.at > last {
            let outlives = ledger.held.keys().find(|id| ledger.abandoned.contains_key(&id.task.job.0));
            assert!(outlives.is_none(), "{outlives:?} runs on after its job was abandoned");
            let mut outlives = ledger.held.keys().filter(|id| ledger.winners.contains_key(&id.task)).peekable();
            while let Some(id) = outlives.next() {
                let alone = outlives.peek().is_none_or(|next| next.task != id.task);
                assert!(world.keep == Keep::BestLocality && alone, "{id} runs on after its task has finished");
            }
        }
        last = record.at;
        ledger.enter(world, record);
        if !follows_a_decision(&record.change) {
            in_round = record.change == Change::Event(Event::Round);
            stops = false;
        }
        let frees = matches!(record.change, Change::Decision(Decision::Stop { .. } | Decision::Abandon { .. }));
        stops |= in_round && frees;
        let goes_on = run.records.get(at + 1).is_some_and(|next| follows_a_decision(&next.change));
        // The resources of a copy that is stopped in a round are free after it. The next round at the same time uses them.
        let mut same_time = run.records[at + 1..].iter().take_while(|later| later.at == record.at);
        let goes_on = goes_on || stops && same_time.any(|later| later.change == Change::Event(Event::Round));
        if in_round && !goes_on && conserving {
            ledger.is_conserving(world);
        }
    }
    assert!(ledger.reserved.is_empty(), "a reservation outlives its task");
    ledger.leaving.clear();
    for node in 0..ledger.capacities.len() {
        assert_eq!(ledger.free(node), ledger.capacities[node], "all resources are free at the end");
    }
    for (job, spec) in (0u32..).zip(&ledger.specs) {
        let is_abandoned = ledger.abandoned.contains_key(&job);
        assert!((0..spec.phases.len() as u32).all(|phase| is_abandoned || ledger.phase_finished(job, phase)));
    }
    let left = (0u32..).zip(&ledger.specs).filter(|(job, _)| !ledger.abandoned.contains_key(job));
    let tasks: u32 = left.flat_map(|(_, spec)| &spec.phases).map(|phase| phase.tasks).sum();
    let winners = ledger.winners.keys().filter(|task| !ledger.abandoned.contains_key(&task.job.0));
    assert_eq!(winners.count() as u32, tasks, "every task has one winner");
    check_results(world, run, &ledger);
}

fn check_results(world: &World, run: &Run, ledger: &Ledger) {
    let total = ledger.capacities.iter().fold(Resources::NONE, Resources::plus);
    let one_slot = world.setup.dimensions.is_one_slot();
    let won = run.attempts.iter().filter(|one| one.outcome == Outcome::Won);
    assert_eq!(won.count(), ledger.winners.len());
    let started: u64 = ledger.started.values().map(|copies| u64::from(*copies)).sum();
    assert_eq!((run.result.attempts, run.attempts.len() as u64), (started, started));
    let first_copies = ledger.started.values().filter(|copies| **copies > 0).count() as u64;
    let redundant = started - first_copies - ledger.relaunches.len() as u64;
    assert_eq!(run.result.copies_launched, redundant);
    let won = ledger.winners.values().filter(|(winner, _)| ledger.is_clone(*winner)).count() as u64;
    assert_eq!(run.result.copies_won, won);
    assert_eq!(run.result.abandoned, ledger.abandoned.len() as u64);
    assert_eq!(run.result.finished + run.result.abandoned, ledger.specs.len() as u64);
    let mut busy = [0.0; MAX_DIMENSIONS];
    for (job, spec) in ledger.specs.iter().enumerate() {
        let mut resource = 0.0;
        for (phase, described) in spec.phases.iter().enumerate() {
            let seconds = ledger.spent.get(&(job as u32, phase as u32)).copied().unwrap_or(0) as f64 / 1e9;
            let demand = world.setup.dimensions.demand(&described.demand).unwrap();
            let shares =
                demand.0.iter().zip(&total.0).filter(|(_, all)| **all > 0).map(|(one, all)| *one as f64 / *all as f64);
            let shares: Vec<f64> = shares.collect();
            resource += world.setup.gamma * seconds * if one_slot { 1.0 } else { shares.iter().sum() };
            for (busy, (one, all)) in
                busy.iter_mut().zip(demand.0.iter().zip(&total.0)).filter(|(_, (_, all))| **all > 0)
            {
                *busy += seconds * *one as f64 / *all as f64;
            }
        }
        if ledger.abandoned.contains_key(&(job as u32)) {
            assert!(run.result.flowtime[job].is_nan() && run.result.resource[job].is_nan());
            continue;
        }
        let measured = run.result.resource[job];
        assert!((measured - resource).abs() <= 1e-9 * resource.max(1.0), "job {job}: {measured}, not {resource}");
        let finish = ledger.winners.iter().filter(|(task, _)| task.job.0 as usize == job).map(|(_, (_, at))| *at).max();
        let flowtime = (finish.unwrap() - spec.arrival).seconds();
        assert_eq!(run.result.flowtime[job], flowtime, "job {job} finishes with its last task");
    }
    let finished = ledger.winners.iter().filter(|(task, _)| !ledger.abandoned.contains_key(&task.job.0));
    let makespan = finished.map(|(_, (_, at))| *at).max().unwrap_or(Time::ZERO);
    assert_eq!(run.result.makespan, makespan.seconds());
    // The last job leaves with its last attempt, or when it is abandoned without any.
    let abandoned = ledger.abandoned.values().map(|at| at.seconds());
    let end = run.attempts.iter().map(|one| one.end).chain(abandoned).fold(0.0, f64::max);
    let utilization = if end > 0.0 { busy.into_iter().fold(0.0, f64::max) / end } else { 0.0 };
    assert!(utilization < 1.0 + 1e-9, "attempts held more than the cluster: {utilization}");
    assert!(
        (run.result.utilization - utilization).abs() < 1e-9,
        "utilization is {}, but attempts held {utilization}",
        run.result.utilization
    );
}
