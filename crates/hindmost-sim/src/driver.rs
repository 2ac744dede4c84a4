//! The simulated driver: a virtual clock, drawn durations, and the loop between cluster and policy.
//!
//! All events up to and including a boundary (with a slot: its multiples; without: every instant at
//! which something happens) are applied in order of time, then finishes, arrivals, watches and
//! wake-ups, then ids; then the policy decides. Room that is freed inside a slot is used again from
//! its end on, because nothing starts in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_core::cluster::{Applied, Attempt, Cluster, Job, Node, RecordError};
use hindmost_core::distribution::Distribution;
use hindmost_core::estimator::{Estimator, Knowledge, Pace, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::metrics::{BusyTime, JobResult};
use hindmost_core::policy::Policy;
use hindmost_core::record::{Change, Condition, Decision, Event, Record};
use hindmost_core::resources::{Dimensions, MAX_DIMENSIONS, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::{JobSpec, QueueSpec, WorkloadJob};

use crate::agenda::{Agenda, Due, MOST_COPIES, MOST_PHASES};
use crate::network::{Network, Reading, check_replicas};
use crate::output::{AttemptResult, Outcome, Output};
use crate::truth::{Model, Reveal, Truth};

/// Why a simulation could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The workload can't be read or makes no sense.
    #[error("{0}")]
    Workload(String),
    /// A copy whose duration is not given.
    #[error("{attempt} has no duration: the workload lists fewer copies of this task than the policy starts")]
    NoDuration {
        /// The copy.
        attempt: AttemptId,
    },
    /// The same, by the names that users know.
    #[error(
        "job {job:?}, phase {phase:?}, task {task}: the workload lists {} of it, and {policy} starts one more: list \
         more durations there, or name a policy or parameters with fewer copies",
        durations(*listed)
    )]
    TooFewDurations {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The task's number, from 0.
        task: u32,
        /// Copies whose durations are listed.
        listed: u32,
        /// The policy's name, or what stands for it.
        policy: String,
    },
    /// A task that fits on no node.
    #[error(
        "phase {phase:?} of job {job:?} fits on no node, even an empty one: a copy wants {wants}, and the node that \
         comes nearest has {has}"
    )]
    DoesNotFit {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// What a copy demands.
        wants: String,
        /// What the node has that comes nearest.
        has: String,
    },
    /// A copy that is more than its job's queue may ever hold.
    #[error(
        "job {job:?} waits for ever: one copy of its phase {phase:?} is more than its queue may hold at most ({queue})"
    )]
    BeyondMaximum {
        /// The job's name.
        job: String,
        /// The phase's name.
        phase: String,
        /// The queue that it names, in words.
        queue: String,
    },
    /// A job or task outside what the simulator can number.
    #[error("{0}")]
    TooLarge(String),
    /// A decision or event that the state does not allow: a defect of the policy or the driver.
    #[error("internal error, please report it: {0}")]
    Record(#[from] RecordError),
    /// Jobs that wait while nothing happens any more: a defect of the policy.
    #[error("internal error, please report it: {0} jobs wait, but the policy starts nothing")]
    Stuck(usize),
    /// A result could not be written.
    #[error("a result could not be written: {0}")]
    Output(#[from] std::io::Error),
    /// The run was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// So many durations of copies, in words.
fn durations(listed: u32) -> String {
    match listed {
        0 => "no duration".to_owned(),
        1 => "the duration of one copy".to_owned(),
        _ => format!("the durations of {listed} copies"),
    }
}

/// A node as the simulated cluster begins with it.
#[derive(Clone, Debug)]
pub struct NodeSetup {
    /// Name.
    pub name: String,
    /// Room.
    pub capacity: Resources,
    /// Work done in a second, relative to a node of speed 1.
    pub speed: f64,
    /// The rack that it is in; nodes of which none is told share one.
    pub rack: Option<Arc<str>>,
}

/// Everything about a run but its jobs and its policy.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Dimensions of room.
    pub dimensions: Dimensions,
    /// The nodes.
    pub nodes: Vec<NodeSetup>,
    /// Time between decisions; zero: decisions follow every event.
    pub slot: Time,
    /// When a run that is not drained stops, and what utilization refers to.
    pub horizon: Option<Time>,
    /// Whether to run on until every job is done.
    pub drain: bool,
    /// What the policy knows of running attempts.
    pub knowledge: Knowledge,
    /// σ of the log-normal factor on estimated remaining times.
    pub noise: f64,
    /// Share of a drawn duration that is common to a task's copies.
    pub correlation: f64,
    /// Share of the work after which a slow copy becomes slow.
    pub slow_from: f64,
    /// Seed of everything drawn.
    pub seed: u64,
    /// γ: price of a machine-second.
    pub gamma: f64,
    /// The queues that jobs are submitted to.
    pub queues: Vec<QueueSpec>,
    /// What reading from other nodes costs; `None`: nothing.
    pub network: Option<Network>,
}

/// What a run has measured. One entry a job, by id; NaN for jobs that did not finish.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Finish − arrival, seconds.
    pub flowtime: Vec<f64>,
    /// Finish − first start, seconds.
    pub running_time: Vec<f64>,
    /// γ × room-time of all copies.
    pub resource: Vec<f64>,
    /// Flowtime over the longest path of mean durations.
    pub slowdown: Vec<f64>,
    /// Jobs that finished.
    pub finished: u64,
    /// Jobs that did not.
    pub unfinished: u64,
    /// Tasks of all jobs.
    pub tasks: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Copies beyond each task's first.
    pub copies_launched: u64,
    /// Tasks won by a copy other than their first.
    pub copies_won: u64,
    /// Part of `resource` that losers held, summed.
    pub wasted: f64,
    /// Busy room over [0, horizon], in the dimension that was the busiest.
    pub utilization: f64,
    /// When the last job finished, seconds.
    pub makespan: f64,
    /// Jobs with a deadline.
    pub deadlines: u64,
    /// Jobs among them that met it.
    pub met_deadlines: u64,
    /// Events that happened.
    pub events: u64,
}

/// Follows and stops a run from outside.
pub struct Control<'a> {
    /// Set to stop the run.
    pub stop: &'a AtomicBool,
    /// Told now and then how far the run's clock has got.
    pub progress: &'a (dyn Fn(Time) + Sync),
}

/// Simulated time ends here, well before its ticks do: some 500 years.
const LAST_INSTANT: Time = Time(16_000_000_000 * hindmost_core::time::TICKS_PER_SECOND);

/// Rounds between two looks at [`Control`].
const ROUNDS_BETWEEN_LOOKS: u32 = 1024;

#[allow(clippy::struct_excessive_bools, reason = "what an output wants is asked once")]
struct Driver<'a> {
    setup: &'a Setup,
    cluster: Cluster,
    policy: &'a mut Policy,
    estimator: Box<dyn Estimator>,
    truth: Truth,
    reading: Reading,
    agenda: Agenda,
    output: &'a mut dyn Output,
    wants_records: bool,
    wants_attempts: bool,
    wants_reasons: bool,
    one_slot: bool,
    /// Of a cluster of one-slot machines, the shares of one slot.
    slot_shares: [f64; MAX_DIMENSIONS],
    busy: BusyTime,
    result: RunResult,
    /// When the last job finished.
    last_finish: Time,
    /// When the last copy of a finished job ended.
    last_end: Time,
    /// Decisions of a round or reaction, not yet carried out.
    decisions: Vec<Decision>,
}

/// Runs a workload under a policy.
///
/// # Errors
/// If a job makes no sense, a result can't be written, or the run is stopped.
pub fn simulate(
    setup: &Setup,
    jobs: &mut dyn Iterator<Item = Result<WorkloadJob, SimulationError>>,
    policy: &mut Policy,
    output: &mut dyn Output,
    control: &Control<'_>,
) -> Result<RunResult, SimulationError> {
    if setup.knowledge == Knowledge::History {
        return Err(SimulationError::Workload(
            "knowledge history is for live runs; a simulation knows its durations: give age".to_owned(),
        ));
    }
    let noise = (setup.noise > 0.0)
        .then(|| Distribution::log_normal(1.0, (setup.noise.powi(2).exp() - 1.0).sqrt()))
        .transpose()
        .map_err(|error| SimulationError::Workload(format!("noise: {error}")))?;
    let model = Model {
        seed: setup.seed,
        knowledge: setup.knowledge,
        noise,
        correlation: setup.correlation,
        slow_from: setup.slow_from,
    };
    let mut slot_shares = [0.0; MAX_DIMENSIONS];
    slot_shares[0] = 1.0 / setup.nodes.len().max(1) as f64;
    let mut driver = Driver {
        cluster: Cluster::new(setup.dimensions.clone()),
        policy,
        estimator: estimator(setup.knowledge),
        truth: Truth::new(model),
        reading: Reading::over(setup.network.clone()),
        agenda: Agenda::default(),
        wants_records: output.wants_records(),
        wants_attempts: output.wants_attempts(),
        wants_reasons: output.wants_reasons(),
        output,
        one_slot: setup.dimensions.is_one_slot(),
        slot_shares,
        busy: BusyTime::until(setup.horizon.unwrap_or(Time::NEVER)),
        result: RunResult::default(),
        last_finish: Time::ZERO,
        last_end: Time::ZERO,
        decisions: Vec::new(),
        setup,
    };
    if driver.wants_reasons {
        driver.policy.keep_reasons();
    }
    driver.run(jobs, control)?;
    driver.finish()
}

impl Driver<'_> {
    fn run(
        &mut self,
        jobs: &mut dyn Iterator<Item = Result<WorkloadJob, SimulationError>>,
        control: &Control<'_>,
    ) -> Result<(), SimulationError> {
        for (at, node) in self.setup.nodes.iter().enumerate() {
            let event = Event::NodeJoined {
                node: NodeId(at as u32),
                name: node.name.as_str().into(),
                capacity: node.capacity,
                speed: node.speed,
                rack: node.rack.clone(),
            };
            self.apply(Time::ZERO, &event)?;
        }
        let end = self.setup.horizon.filter(|_| !self.setup.drain).unwrap_or(Time::NEVER);
        let mut next_job = jobs.next().transpose()?;
        let mut rounds = 0u32;
        loop {
            let arrival = next_job.as_ref().map(|job| job.spec.arrival);
            let first = match (arrival, self.agenda.next_time()) {
                (Some(arrival), Some(due)) => arrival.min(due),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => break,
            };
            if first > end {
                break;
            }
            let boundary = first.round_up_to(self.setup.slot);
            if boundary > LAST_INSTANT {
                return Err(SimulationError::TooLarge(
                    "the run goes on for more than 500 years of its own time, which is more than can be counted"
                        .to_owned(),
                ));
            }
            while let Some((at, is_arrival)) = self.next_before(boundary.min(end), next_job.as_ref()) {
                if !is_arrival {
                    self.happen()?;
                } else if let Some(job) = next_job.take() {
                    self.arrive(at, job)?;
                    next_job = jobs.next().transpose()?;
                }
            }
            if boundary > end {
                break;
            }
            self.round(boundary)?;
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(ROUNDS_BETWEEN_LOOKS) {
                if control.stop.load(Ordering::Relaxed) {
                    return Err(SimulationError::Interrupted);
                }
                (control.progress)(boundary);
            }
        }
        if self.setup.drain && self.cluster.active_jobs() > 0 {
            return Err(self.stuck());
        }
        Ok(())
    }

    /// Why jobs wait though nothing happens any more.
    fn stuck(&mut self) -> SimulationError {
        for job in self.cluster.jobs() {
            let Some(task) = job.next_runnable(|_| true, |_| true) else { continue };
            if self.policy.permits(task, &self.cluster) {
                continue;
            }
            let spec = job.spec();
            return SimulationError::BeyondMaximum {
                job: spec.name.to_string(),
                phase: spec.phases[task.phase as usize].name.to_string(),
                queue: spec.queue.as_ref().map_or_else(|| "it names none".to_owned(), |queue| format!("{queue:?}")),
            };
        }
        SimulationError::Stuck(self.cluster.active_jobs())
    }

    /// The next event up to a boundary: its time, and whether it is the arrival of the next job.
    fn next_before(&self, boundary: Time, next_job: Option<&WorkloadJob>) -> Option<(Time, bool)> {
        let due = self.agenda.next_time().filter(|at| *at <= boundary);
        let arrival = next_job.map(|job| job.spec.arrival).filter(|at| *at <= boundary);
        match (due, arrival) {
            (None, None) => None,
            (Some(due), None) => Some((due, false)),
            (None, Some(arrival)) => Some((arrival, true)),
            (Some(due), Some(arrival)) => {
                let due_first = due < arrival || (due == arrival && self.agenda.next_is_finish());
                Some(if due_first { (due, false) } else { (arrival, true) })
            }
        }
    }

    /// Applies an event, tells the policy and carries out what it asks for at once.
    fn apply(&mut self, at: Time, event: &Event) -> Result<Applied, SimulationError> {
        let applied = self.cluster.apply_event(at, event)?;
        self.result.events += 1;
        if self.wants_records {
            self.output.record(&Record { at, change: Change::Event(event.clone()) })?;
        }
        let mut decisions = std::mem::take(&mut self.decisions);
        self.policy.observe(event, applied, &mut self.cluster, &*self.estimator, &mut decisions);
        self.nothing_refused()?;
        self.carry_out(decisions)?;
        Ok(applied)
    }

    fn round(&mut self, at: Time) -> Result<(), SimulationError> {
        self.cluster.apply_event(at, &Event::Round)?;
        if self.wants_records {
            self.output.record(&Record { at, change: Change::Event(Event::Round) })?;
        }
        let mut decisions = std::mem::take(&mut self.decisions);
        self.policy.decide(&mut self.cluster, &*self.estimator, &mut decisions);
        self.nothing_refused()?;
        self.carry_out(decisions)
    }

    /// Ends the run if the policy asked for something that the state does not allow. A live run goes on without it; a
    /// simulation ends, so that the defect shows.
    fn nothing_refused(&mut self) -> Result<(), SimulationError> {
        match self.policy.take_refused().into_iter().next() {
            Some(refused) => Err(SimulationError::Record(refused.error)),
            None => Ok(()),
        }
    }

    fn arrive(&mut self, at: Time, job: WorkloadJob) -> Result<(), SimulationError> {
        let id = JobId(self.cluster.arrived_jobs());
        let spec = job.spec;
        if id.0 == u32::MAX || spec.phases.len() > MOST_PHASES {
            return Err(SimulationError::TooLarge(format!(
                "job {:?} is one too many or has more than {MOST_PHASES} phases",
                spec.name
            )));
        }
        if !self.one_slot {
            for phase in &spec.phases {
                let demand = self.cluster.dimensions().demand(&phase.demand).map_err(RecordError::from);
                let demand = demand.map_err(|error| {
                    SimulationError::Workload(format!("job {:?}, phase {:?}: {error}", spec.name, phase.name))
                })?;
                let capacities = self.cluster.nodes().iter().map(Node::capacity);
                if let Some((wants, has)) = self.cluster.dimensions().lacking(&demand, capacities) {
                    let (job, phase) = (spec.name.to_string(), phase.name.to_string());
                    return Err(SimulationError::DoesNotFit { job, phase, wants, has });
                }
            }
        }
        check_replicas(&spec, self.cluster.nodes().len()).map_err(SimulationError::Workload)?;
        self.truth.push(job.durations);
        for column in [
            &mut self.result.flowtime,
            &mut self.result.running_time,
            &mut self.result.resource,
            &mut self.result.slowdown,
        ] {
            column.push(f64::NAN);
        }
        let name = spec.name.clone();
        match self.apply(at, &Event::JobArrived { job: id, spec: spec.into() }) {
            Err(SimulationError::Record(RecordError::BadJob { reason, .. })) => {
                Err(SimulationError::Workload(format!("job {name:?}: {reason}")))
            }
            other => other.map(|_| ()),
        }
    }

    /// The next event of the agenda happens.
    fn happen(&mut self) -> Result<(), SimulationError> {
        let Some((at, due)) = self.agenda.pop() else { return Ok(()) };
        match due {
            Due::Finish(attempt) => {
                // Of copies that have been stopped there is nothing left to finish.
                if self.cluster.attempt(attempt).is_none() {
                    return Ok(());
                }
                self.end(attempt, at, &Event::AttemptFinished { attempt }, Outcome::Lost)?;
            }
            Due::Watch(attempt, revealed) => {
                if self.cluster.attempt(attempt).is_none() {
                    return Ok(());
                }
                let expected_finish =
                    if revealed { self.timing(attempt)?.map(|timing| timing.1.expected_finish) } else { None };
                self.apply(at, &Event::WatchMet { attempt, expected_finish })?;
            }
            Due::Wake => {
                self.apply(at, &Event::Woken)?;
            }
        }
        Ok(())
    }

    /// Carries out decisions that have been applied, and what they lead to.
    fn carry_out(&mut self, mut decisions: Vec<Decision>) -> Result<(), SimulationError> {
        let at = self.cluster.now();
        if self.wants_reasons {
            for (number, why) in self.policy.take_reasons() {
                let Some(decision) = decisions.get(number) else { continue };
                let fresh = match decision {
                    Decision::Replace { attempt, .. } => self.cluster.copies(attempt.task).map(Attempt::id).max(),
                    _ => None,
                };
                self.output.reason(decision, fresh, why);
            }
        }
        if self.wants_records {
            for decision in &decisions {
                self.output.record(&Record { at, change: Change::Decision(decision.clone()) })?;
            }
        }
        for decision in &decisions {
            match decision {
                Decision::Start { attempt, .. } => self.begin(*attempt)?,
                Decision::Stop { attempt, .. } => {
                    // Reactions to an earlier stop of this list may have ended it.
                    if self.cluster.attempt(*attempt).is_some() {
                        self.end(*attempt, at, &Event::AttemptStopped { attempt: *attempt }, Outcome::Lost)?;
                    }
                }
                Decision::Replace { attempt, .. } => {
                    self.end(*attempt, at, &Event::AttemptStopped { attempt: *attempt }, Outcome::Replaced)?;
                    let fresh = self.cluster.copies(attempt.task).next().map(Attempt::id);
                    if let Some(fresh) = fresh {
                        self.begin(fresh)?;
                    }
                }
                Decision::Reserve { until, .. } => self.agenda.push(*until, Due::Wake),
                // What is asked for after the end of time never comes.
                Decision::Wake { at: when } if *when > LAST_INSTANT => {}
                Decision::Wake { at: when } => self.agenda.push((*when).max(at), Due::Wake),
                Decision::Watch { attempt, condition } => self.watch(*attempt, *condition)?,
            }
        }
        // The empty list is kept for its room.
        decisions.clear();
        self.decisions = decisions;
        Ok(())
    }

    /// A started attempt runs, and will finish.
    fn begin(&mut self, attempt: AttemptId) -> Result<(), SimulationError> {
        if attempt.copy >= MOST_COPIES {
            return Err(SimulationError::TooLarge(format!("{attempt} is one too many of its task")));
        }
        self.reading.begin(&self.cluster, attempt);
        let Some((finish, _)) = self.timing(attempt)? else { return Ok(()) };
        self.agenda.push(finish, Due::Finish(attempt));
        let event = Event::AttemptRunning { attempt };
        self.cluster.apply_event(self.cluster.now(), &event)?;
        self.result.events += 1;
        if self.wants_records {
            self.output.record(&Record { at: self.cluster.now(), change: Change::Event(event) })?;
        }
        Ok(())
    }

    /// An error of a copy's duration with the names of its job and phase.
    fn named(&self, error: SimulationError) -> SimulationError {
        let SimulationError::NoDuration { attempt } = error else { return error };
        let spec = self.cluster.job(attempt.task.job).map(Job::spec);
        let phase = spec.and_then(|spec| spec.phases.get(attempt.task.phase as usize));
        let Some((spec, phase)) = spec.zip(phase) else { return error };
        SimulationError::TooFewDurations {
            job: spec.name.to_string(),
            phase: phase.name.to_string(),
            task: attempt.task.index,
            listed: attempt.copy,
            policy: "the policy".to_owned(),
        }
    }

    /// When an attempt finishes, and what is seen of it before.
    fn timing(&self, id: AttemptId) -> Result<Option<(Time, Reveal)>, SimulationError> {
        let Some(attempt) = self.cluster.attempt(id) else { return Ok(None) };
        let pace = Pace::of(&self.cluster, attempt);
        let works = Time::from_seconds(pace.seconds(self.truth.duration(id).map_err(|error| self.named(error))?));
        let finish = attempt.since() + works + self.reading.longer(id);
        let reveal = self.truth.reveal(id, attempt.since(), finish, self.mean_time(id));
        Ok(Some((finish, reveal)))
    }

    /// How long an attempt would take if it were like the mean of its phase.
    fn mean_time(&self, id: AttemptId) -> Time {
        let Some((attempt, phase)) = self.cluster.attempt(id).zip(self.cluster.phase(id.task)) else {
            return Time::ZERO;
        };
        Time::from_seconds(Pace::of(&self.cluster, attempt).seconds(phase.mean()))
    }

    /// Turns a watched condition into the events at which it comes true: mostly none.
    fn watch(&mut self, id: AttemptId, condition: Condition) -> Result<(), SimulationError> {
        let Some(since) = self.cluster.attempt(id).map(Attempt::since) else { return Ok(()) };
        let Some((finish, reveal)) = self.timing(id)? else { return Ok(()) };
        let now = self.cluster.now();
        let seen = reveal.at.max(now);
        let (remaining, elapsed) = match condition {
            Condition::Revealed => (Some(-1.0), None),
            Condition::RemainingAbove(remaining) => (Some(remaining), None),
            Condition::ElapsedAbove(elapsed) => (None, Some(elapsed)),
            Condition::RemainingOrElapsedAbove(remaining, elapsed) => (Some(remaining), Some(elapsed)),
            Condition::Lagging { rate, after } => {
                let mean = self.mean_time(id);
                if let Some(at) = self.truth.lags_at(since, finish, mean, rate, Time::from_seconds(after)) {
                    let at = at.max(now);
                    if at < finish {
                        self.agenda.push(at, Due::Watch(id, true));
                    }
                }
                return Ok(());
            }
        };
        let by_age = elapsed.map(|elapsed| (since + Time::from_seconds(elapsed) + Time::TICK).max(now));
        let by_age = by_age.filter(|at| *at < finish && (remaining.is_none() || *at < seen));
        if let Some(at) = by_age {
            self.agenda.push(at, Due::Watch(id, false));
        }
        if let Some(remaining) = remaining {
            let long = (reveal.expected_finish - seen).seconds() > remaining;
            // Who has been told of its age must hear when more is known.
            if (long || by_age.is_some()) && seen < finish {
                self.agenda.push(seen, Due::Watch(id, true));
            }
        }
        Ok(())
    }

    /// The shares of the cluster that an attempt holds, by dimension.
    fn shares_of(&self, attempt: AttemptId) -> [f64; MAX_DIMENSIONS] {
        if self.one_slot {
            return self.slot_shares;
        }
        let demand = self.cluster.phase(attempt.task).map(hindmost_core::cluster::Phase::demand);
        demand.map_or([0.0; MAX_DIMENSIONS], |demand| demand.shares_of(self.cluster.total()))
    }

    /// What an attempt's end is told with, if it is told at all.
    fn told_spec(&self, id: AttemptId) -> Option<Arc<JobSpec>> {
        if !self.wants_attempts {
            return None;
        }
        self.cluster.job(id.task.job).map(|job| Arc::clone(job.spec()))
    }

    /// An attempt ends: it gives back its room, and its job may be over. `unless_won` is how it ended
    /// if it did not win.
    fn end(&mut self, id: AttemptId, at: Time, event: &Event, unless_won: Outcome) -> Result<(), SimulationError> {
        // Taken before: once the policy has reacted to the end, the job may be gone.
        let (shares, spec) = (self.shares_of(id), self.told_spec(id));
        let applied = self.apply(at, event)?;
        self.reading.ended(id, matches!(event, Event::AttemptFinished { .. }));
        if applied.won && self.reading.looks_for_seconds() {
            let copies: Vec<AttemptId> = self.cluster.copies(id.task).map(Attempt::id).collect();
            for copy in copies {
                if let Some((finish, _)) = self.timing(copy)? {
                    self.reading.second(copy, finish);
                }
            }
        }
        if let Some((node, start)) = applied.released {
            self.busy.add(&shares, start, at);
            if let Some(job) = spec.as_deref() {
                let outcome = if applied.won { Outcome::Won } else { unless_won };
                let node_name = self.cluster.node(node).map_or("", |node| node.name());
                let told = AttemptResult { attempt: id, job, node, node_name, start, end: at, outcome };
                self.output.attempt(&told)?;
            }
        }
        let Some(job) = self.cluster.retire(id.task.job) else { return Ok(()) };
        self.truth.forget(job.id());
        self.reading.forget(&job);
        self.last_end = at;
        self.measure(&job)
    }

    /// Measures a job that has finished.
    fn measure(&mut self, job: &Job) -> Result<(), SimulationError> {
        let Some(measured) = JobResult::of(job, &self.cluster, self.setup.gamma) else { return Ok(()) };
        let finish = job.finished().unwrap_or(Time::ZERO);
        let result = &mut self.result;
        let index = job.id().0 as usize;
        result.flowtime[index] = measured.flowtime();
        result.running_time[index] = measured.running_time();
        result.resource[index] = measured.resource;
        result.slowdown[index] = measured.slowdown;
        result.finished += 1;
        result.tasks += measured.tasks;
        result.attempts += measured.attempts;
        result.copies_launched += measured.copies_launched;
        result.copies_won += measured.copies_won;
        result.wasted += measured.wasted;
        result.deadlines += u64::from(measured.met_deadline.is_some());
        result.met_deadlines += u64::from(measured.met_deadline == Some(true));
        self.last_finish = self.last_finish.max(finish);
        self.output.job(&job.spec().name, &measured)?;
        Ok(())
    }

    /// Counts what is left, of a run that was not drained too.
    fn finish(mut self) -> Result<RunResult, SimulationError> {
        let now = self.cluster.now();
        let left: Vec<JobId> = self.cluster.jobs().map(Job::id).collect();
        let mut running: Vec<(AttemptId, NodeId, Time)> = Vec::new();
        for node in 0..self.cluster.nodes().len() as u32 {
            let attempts = self.cluster.attempts_on(NodeId(node));
            running.extend(attempts.map(|attempt| (attempt.id(), attempt.node(), attempt.since())));
        }
        let end = self.setup.horizon.unwrap_or(now);
        for (attempt, node, start) in running {
            self.busy.add(&self.shares_of(attempt), start, end);
            if let Some(job) = self.told_spec(attempt) {
                let node_name = self.cluster.node(node).map_or("", |node| node.name());
                let outcome = Outcome::Unfinished;
                self.output.attempt(&AttemptResult { attempt, job: &job, node, node_name, start, end, outcome })?;
            }
        }
        for id in left {
            let Some(job) = self.cluster.job(id) else { continue };
            // A job whose policy keeps copies may be over before they are.
            if job.finished().is_some() {
                let job = job.clone();
                self.measure(&job)?;
                continue;
            }
            let result = &mut self.result;
            result.unfinished += 1;
            result.deadlines += u64::from(job.spec().deadline.is_some());
            result.tasks += job.task_count();
            result.attempts += u64::from(job.attempts());
            result.copies_launched += job.extra_copies();
            result.copies_won += u64::from(job.copies_won());
        }
        let result = &mut self.result;
        result.makespan = self.last_finish.seconds();
        result.utilization = self.busy.utilization(self.last_end.max(self.last_finish));
        Ok(self.result)
    }
}
