//! The simulated driver: a virtual clock, drawn durations, and the loop between cluster and policy.
//!
//! If a slot is set, the policy decides at multiples of the slot; otherwise, it decides at every instant at which an
//! event happens. Before each decision, the driver applies all events up to and including its time, in order of time.
//! Events at the same time are ordered by kind (finishes, arrivals, losses and returns of nodes, changes of neighbours'
//! load, watches, wake-ups), then by id. Resources that are released within a slot stay free until its end, because
//! attempts start only at the end.
//!
//! Without contention and neighbours' load, an attempt's finish is computed once. With them, `rates` keeps the work done
//! and schedules finishes and notices again after each change.

mod as_recorded;
mod attempts;
mod energy;
pub(crate) mod error;
mod failures;
mod learned_speeds;
mod live_learning;
mod measure;
pub(crate) mod outage_times;
mod outages;
mod profiles;
mod rates;
pub(crate) mod result;
pub(crate) mod setup;

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_core::cluster::{Applied, Attempt, Cluster, Node, RecordError};
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::metrics::BusyTime;
use hindmost_core::node_speeds::NodeSpeeds;
use hindmost_core::policy::Policy;
use hindmost_core::record::{Change, Decision, Event, Record, StopReason};
use hindmost_core::resources::MAX_DIMENSIONS;
use hindmost_core::session::{Decided, Session, Sink, Stepped};
use hindmost_core::time::Time;
use hindmost_core::workload::WorkloadJob;
use hindmost_math::distribution::Distribution;

use as_recorded::Withheld;
pub use as_recorded::{AsRecorded, Lag, Learns};
pub use error::SimulationError;
use failures::NodeFailures;
use live_learning::LiveLearning;
pub use outage_times::Outage;
use profiles::Profiles;
use rates::{Notice, Rates};
pub use result::RunResult;
pub use setup::{NodeDisturbances, NodeSetup, Setup};

use crate::agenda::{Agenda, Due, MOST_PHASES};
use crate::energy::Meter;
use crate::network::{Reading, check_replicas};
use crate::output::{Outcome, Output};
use crate::truth::{Model, Truth};

/// Lets the caller follow and stop a run.
pub struct Control<'a> {
    /// Set to true to stop the run.
    pub stop: &'a AtomicBool,
    /// Called with the simulated time, every 1024 rounds.
    pub progress: &'a (dyn Fn(Time) + Sync),
}

/// The end of simulated time, about 500 years: well before the clock's counter overflows.
const LAST_INSTANT: Time = Time(16_000_000_000 * hindmost_core::time::TICKS_PER_SECOND);

/// Why an attempt fails that failed in a log.
const IN_THE_LOG: &str = "it failed in the log";

/// Number of rounds after which [`Control::stop`] is checked and [`Control::progress`] is called.
const ROUNDS_BETWEEN_CHECKS: u32 = 1024;

/// Sends events and decisions to the output, and keeps the decisions for the driver.
struct Recorder<'a> {
    output: &'a mut dyn Output,
    wants_records: bool,
    wants_reasons: bool,
    /// Decisions of the last step, until the driver carries them out.
    decisions: Vec<Decision>,
    /// Number of events so far, not counting rounds.
    events: u64,
}

impl Sink for Recorder<'_> {
    type Error = SimulationError;

    fn applied(&mut self, at: Time, event: &Event, _applied: Applied, _state: &Session) -> Result<(), SimulationError> {
        self.events += u64::from(!matches!(event, Event::Round));
        if self.wants_records {
            self.output.record(&Record { at, change: Change::Event(event.clone()) })?;
        }
        Ok(())
    }

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), SimulationError> {
        // A live run continues without the refused decision; a simulation ends, so that the defect is visible.
        if let Some(refused) = decided.refused.first() {
            return Err(SimulationError::Record(refused.error.clone()));
        }
        if self.wants_reasons {
            for (decision, fresh, why) in decided.reasoned() {
                self.output.reason(decision, fresh, why);
            }
        }
        if self.wants_records {
            for decision in &*decided.decisions {
                self.output.record(&Record { at: decided.at, change: Change::Decision(decision.clone()) })?;
            }
        }
        std::mem::swap(&mut self.decisions, decided.decisions);
        Ok(())
    }
}

struct Driver<'a> {
    setup: &'a Setup,
    session: Session,
    recorder: Recorder<'a>,
    wants_attempts: bool,
    truth: Truth,
    reading: Reading,
    /// The attempt that was begun last by the decisions that are being carried out, and when it finishes.
    begun: Option<(AttemptId, Time)>,
    /// The changing rates of attempts; `None` if rates are constant.
    rates: Option<Rates>,
    /// Random failures of nodes; `None` if there are none.
    failures: Option<NodeFailures>,
    /// What policies learn about the speeds of nodes; `None` if they know them.
    learned: Option<NodeSpeeds>,
    /// What policies learn in the replay of a live run; `None` in other runs.
    live: Option<Box<LiveLearning>>,
    /// Profiles of attempts; `None` if nobody needs them.
    profiles: Option<Box<Profiles>>,
    agenda: Agenda,
    /// Phases whose tasks can't start yet, as in a log.
    withheld: Withheld,
    one_slot: bool,
    /// The real speeds of the nodes, which policies need not know.
    speeds: Vec<f64>,
    /// Share of the cluster that an attempt holds in each dimension, if all machines have one slot.
    slot_shares: [f64; MAX_DIMENSIONS],
    busy: BusyTime,
    /// Measures energy; `None` without power models.
    meter: Option<Meter>,
    result: RunResult,
    /// When the last job finished.
    last_finish: Time,
    /// When the last copy of a finished job ended.
    last_end: Time,
}

/// Runs a workload under a policy.
///
/// # Errors
/// If a job is not valid, a result cannot be written, or the run is stopped.
pub fn simulate(
    setup: &Setup,
    jobs: &mut dyn Iterator<Item = Result<WorkloadJob, SimulationError>>,
    policy: Policy,
    output: &mut dyn Output,
    control: &Control<'_>,
) -> Result<RunResult, SimulationError> {
    if setup.knowledge == Knowledge::History {
        return Err(SimulationError::Workload(
            "knowledge history is for live runs only; use age in simulations".to_owned(),
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
        common_part: setup.common_part,
        slow_from: setup.slow_from,
        stragglers: setup.stragglers.clone(),
    };
    let mut slot_shares = [0.0; MAX_DIMENSIONS];
    slot_shares[0] = 1.0 / setup.nodes.len().max(1) as f64;
    let cluster = Cluster::new(setup.dimensions.clone()).with_placement(setup.placement, setup.seed);
    let mut agenda = Agenda::default();
    let mut driver = Driver {
        rates: Rates::of(setup)?,
        failures: NodeFailures::of(setup, &mut agenda)?,
        learned: setup.learns_speeds.then(|| NodeSpeeds::new(setup.nodes.len())),
        live: LiveLearning::of(setup),
        profiles: Profiles::of(setup),
        session: Session::new(cluster, policy, estimator(setup.knowledge)),
        truth: Truth::new(model),
        reading: Reading::over(setup.network.clone()),
        begun: None,
        agenda,
        withheld: Withheld::default(),
        wants_attempts: output.wants_attempts(),
        recorder: Recorder {
            wants_records: output.wants_records(),
            wants_reasons: output.wants_reasons(),
            output,
            decisions: Vec::new(),
            events: 0,
        },
        one_slot: setup.dimensions.is_one_slot(),
        speeds: setup.nodes.iter().map(|node| node.speed).collect(),
        slot_shares,
        busy: BusyTime::until(setup.horizon.unwrap_or(Time::NEVER)),
        meter: Meter::of(setup),
        result: RunResult::default(),
        last_finish: Time::ZERO,
        last_end: Time::ZERO,
        setup,
    };
    if driver.recorder.wants_reasons {
        driver.session.keep_reasons();
    }
    if setup.keeps_profiles {
        driver.session.collect_profiles();
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
                speed: if self.setup.learns_speeds { 1.0 } else { node.speed },
                rack: node.rack.clone(),
                power: node.power.clone(),
            };
            self.step(Time::ZERO, &event)?;
        }
        outages::schedule(&self.setup.outages, &mut self.agenda);
        if let Some(recorded) = &self.setup.as_recorded {
            recorded.schedule(&mut self.agenda);
        }
        let end = self.setup.horizon.filter(|_| !self.setup.drain).unwrap_or(Time::NEVER);
        let mut next_job = jobs.next().transpose()?;
        let mut rounds = 0u32;
        let goes_on_alone = !self.setup.outages.is_empty()
            || self.setup.as_recorded.is_some()
            || self.failures.is_some()
            || self.rates.is_some();
        let mut decided = None;
        loop {
            // Outages, failures and outdated finishes after the last job would only lengthen the run.
            if next_job.is_none() && goes_on_alone {
                let is_over = self.session.cluster().active_jobs() == 0;
                if is_over || (decided.is_some() && self.only_failures_are_left()) {
                    break;
                }
            }
            self.settle();
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
                    "the run lasts more than 500 years of simulated time, which is more than the clock can count"
                        .to_owned(),
                ));
            }
            while let Some((at, is_arrival)) = self.settled_next_before(boundary.min(end), next_job.as_ref()) {
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
            // A change of rates that policies do not observe causes no round.
            if self.rates.is_none() || decided != Some(self.recorder.events) {
                self.decide(boundary)?;
                decided = Some(self.recorder.events);
            }
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(ROUNDS_BETWEEN_CHECKS) {
                if control.stop.load(Ordering::Relaxed) {
                    return Err(SimulationError::Interrupted);
                }
                (control.progress)(boundary);
            }
        }
        if self.setup.drain && self.session.cluster().active_jobs() > 0 {
            return Err(self.stuck());
        }
        Ok(())
    }

    /// Returns why jobs wait although no more events will occur.
    fn stuck(&mut self) -> SimulationError {
        let waiting: Vec<TaskId> =
            self.session.cluster().jobs().filter_map(|job| job.next_runnable(|_| true, |_| true)).collect();
        let beyond = waiting.into_iter().find(|task| !self.session.permits(*task));
        let job = beyond.and_then(|task| Some((task, self.session.cluster().job(task.job)?)));
        let Some((task, job)) = job else {
            let cluster = self.session.cluster();
            let is_lost = cluster.nodes().iter().any(|node| !node.is_up());
            return match cluster.jobs().next().filter(|_| is_lost) {
                Some(job) => SimulationError::NodesLost(job.spec().name.to_string()),
                None => SimulationError::Stuck(cluster.active_jobs()),
            };
        };
        let spec = job.spec();
        SimulationError::BeyondMaximum {
            job: spec.name.to_string(),
            phase: spec.phases[task.phase as usize].name.to_string(),
            queue: spec.queue.as_ref().map_or_else(|| "the default queue".to_owned(), |queue| format!("{queue:?}")),
        }
    }

    /// Schedules what follows from changed rates.
    fn settle(&mut self) {
        if let Some(rates) = &mut self.rates {
            rates.settle(self.session.cluster(), &mut self.agenda);
        }
    }

    /// As [`Driver::next_before`], after what follows from changed rates has been scheduled, if time goes on. If it does
    /// not, the rates may change again in this instant.
    fn settled_next_before(&mut self, boundary: Time, next_job: Option<&WorkloadJob>) -> Option<(Time, bool)> {
        let next = self.next_before(boundary, next_job);
        let Some(changed_at) = self.rates.as_ref().and_then(Rates::changed_at) else { return next };
        if next.map_or(boundary, |(at, _)| at) == changed_at {
            return next;
        }
        self.settle();
        self.next_before(boundary, next_job)
    }

    /// Returns the time of the next event, and whether the event is the arrival of `next_job`; `None` if there is no
    /// event up to and including `boundary`.
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

    /// Passes an event to the session and carries out the decisions that the policy makes.
    fn step(&mut self, at: Time, event: &Event) -> Result<Stepped, SimulationError> {
        let stepped = self.session.step(at, event, &mut self.recorder)?;
        if !self.recorder.decisions.is_empty() {
            let decisions = std::mem::take(&mut self.recorder.decisions);
            self.carry_out(decisions)?;
        }
        Ok(stepped)
    }

    /// Lets the policy decide, and measures the jobs without attempts that it abandons.
    fn decide(&mut self, at: Time) -> Result<(), SimulationError> {
        let Stepped { retired, .. } = self.step(at, &Event::Round)?;
        retired.into_iter().try_for_each(|job| self.leave(&job, at))
    }

    fn arrive(&mut self, at: Time, job: WorkloadJob) -> Result<(), SimulationError> {
        let id = JobId(self.session.cluster().arrived_jobs());
        let spec = job.spec;
        if id.0 == u32::MAX || spec.phases.len() > MOST_PHASES {
            return Err(SimulationError::TooLarge(format!(
                "job {:?}: there are too many jobs, or it has more than {MOST_PHASES} phases",
                spec.name
            )));
        }
        if !self.one_slot {
            for phase in &spec.phases {
                let demand = self.session.cluster().dimensions().demand(&phase.demand).map_err(RecordError::from);
                let demand = demand.map_err(|error| {
                    SimulationError::Workload(format!("job {:?}, phase {:?}: {error}", spec.name, phase.name))
                })?;
                let capacities = self.session.cluster().nodes().iter().map(Node::capacity);
                if let Some((wants, has)) = self.session.cluster().dimensions().lacking(&demand, capacities) {
                    let (job, phase) = (spec.name.to_string(), phase.name.to_string());
                    return Err(SimulationError::DoesNotFit { job, phase, wants, has });
                }
            }
        }
        check_replicas(&spec, self.session.cluster().nodes().len()).map_err(SimulationError::Workload)?;
        self.truth.push(job.durations)?;
        for column in [
            &mut self.result.flowtime,
            &mut self.result.running_time,
            &mut self.result.resource,
            &mut self.result.slowdown,
        ] {
            column.push(f64::NAN);
        }
        if spec.deadline.is_some() || !self.result.lateness.is_empty() {
            self.result.lateness.resize(self.result.flowtime.len(), None);
        }
        let name = spec.name.clone();
        let (spec, learned) = self.recall(at, id, spec)?;
        match self.step(at, &Event::JobArrived { job: id, spec: spec.into() }) {
            Err(SimulationError::Record(RecordError::BadJob { reason, .. })) => {
                Err(SimulationError::Workload(format!("job {name:?}: {reason}")))
            }
            other => other.map(|_| ()),
        }?;
        learned.iter().try_for_each(|event| self.step(at, event).map(drop))?;
        if let Some((live, job)) = self.live.as_mut().zip(self.session.cluster().job(id)) {
            live.add_job(job.spec());
        }
        self.withhold_tasks(id, at)
    }

    /// Removes the next event from the agenda and processes it.
    fn happen(&mut self) -> Result<(), SimulationError> {
        let Some((at, due)) = self.agenda.pop() else { return Ok(()) };
        match due {
            Due::Finish(attempt) => {
                // The agenda still has the finishes of copies that have been stopped.
                let Some(node) = self.session.cluster().attempt(attempt).map(Attempt::node) else { return Ok(()) };
                // It also has the finishes that were expected before rates changed.
                if self.rates.as_mut().is_some_and(|rates| rates.finish(node, attempt) != Some(at)) {
                    return Ok(());
                }
                if self.truth.fails(attempt) {
                    // Without a reason, the cluster does not keep the task from its node.
                    let recorded = self.setup.as_recorded.as_deref();
                    let is_kept_away = recorded.is_none_or(|recorded| !recorded.retries_anywhere);
                    let reason = is_kept_away.then(|| IN_THE_LOG.into());
                    let event = Event::AttemptFailed { attempt, reason, external: None };
                    self.end(attempt, at, &event, Outcome::Failed)?;
                    return self.withhold_again(attempt, at);
                }
                self.end(attempt, at, &Event::AttemptFinished { attempt }, Outcome::Lost)?;
            }
            Due::Watch(attempt, revealed) => {
                let Some(node) = self.session.cluster().attempt(attempt).map(Attempt::node) else { return Ok(()) };
                if let Some(rates) = &mut self.rates {
                    let notice = rates.notice(node, attempt, at, &mut self.agenda);
                    return notice.map_or(Ok(()), |notice| self.notify(attempt, at, notice));
                }
                let expected_finish =
                    if revealed { self.timing(attempt)?.map(|timing| timing.1.expected_finish) } else { None };
                self.step(
                    at,
                    &Event::WatchMet { attempt, expected_finish, conditions: None, guessed: false, stalled: false },
                )?;
            }
            Due::Lose(node) => self.outage_begins(node, at)?,
            Due::Fail(node) => self.fail(node, at)?,
            Due::Return(node) => self.outage_ends(node, at)?,
            Due::Repair(node) => self.repair(node, at)?,
            Due::Switch(node) => {
                if let Some(rates) = &mut self.rates {
                    rates.switch(node, at);
                    // What policies observe in this instant happens at the new rate.
                    self.settle();
                }
            }
            Due::Release(task) => {
                self.step(at, &Event::TaskReturned { task })?;
            }
            Due::Leave(node) => self.leave_cluster(node, at)?,
            Due::Look => self.look_at_late(at)?,
            Due::Wake => {
                self.step(at, &Event::Woken)?;
            }
        }
        Ok(())
    }

    /// Notifies the policy about an attempt whose rate may change.
    fn notify(&mut self, attempt: AttemptId, at: Time, notice: Notice) -> Result<(), SimulationError> {
        let Notice { expected_finish, condition_met } = notice;
        let conditions = (!condition_met).then(Vec::new);
        self.step(at, &Event::WatchMet { attempt, expected_finish, conditions, guessed: false, stalled: false })
            .map(drop)
    }

    /// Carries out decisions that the cluster has already applied: begins and ends attempts, and schedules events.
    fn carry_out(&mut self, mut decisions: Vec<Decision>) -> Result<(), SimulationError> {
        let at = self.session.cluster().now();
        self.begun = None;
        for decision in &decisions {
            match decision {
                Decision::Start { attempt, .. } => self.begin(*attempt)?,
                Decision::Stop { attempt, reason } => {
                    // The reaction to an earlier stop in this list may have ended the attempt.
                    if self.session.cluster().attempt(*attempt).is_some() {
                        let outcome = match reason {
                            StopReason::Replaced => Outcome::Replaced,
                            StopReason::Abandoned => Outcome::Abandoned,
                            StopReason::Lost
                            | StopReason::Overtaken
                            | StopReason::Relaunched
                            | StopReason::Restarted => Outcome::Lost,
                        };
                        self.end(*attempt, at, &Event::AttemptStopped { attempt: *attempt }, outcome)?;
                    }
                }
                Decision::Replace { attempt, .. } => {
                    // The newest copy may be another one that has started since.
                    let replaces = |copy: &&Attempt| copy.replaces() == Some(*attempt);
                    let fresh = self.session.cluster().copies(attempt.task).find(replaces).map(Attempt::id);
                    self.end(*attempt, at, &Event::AttemptStopped { attempt: *attempt }, Outcome::Replaced)?;
                    if let Some(fresh) = fresh {
                        self.begin(fresh)?;
                    }
                }
                // A round follows the end of a reservation, because resources come free.
                Decision::Reserve { until, .. } if *until > LAST_INSTANT => {}
                Decision::Reserve { until, .. } => self.agenda.push((*until).max(at), Due::Wake),
                // The policy's last pass stops the attempts of an abandoned job.
                Decision::Release { .. } | Decision::Abandon { .. } => {}
                // Wake-ups after the end of simulated time never occur.
                Decision::Wake { at: when } if *when > LAST_INSTANT => {}
                Decision::Wake { at: when } => self.agenda.push((*when).max(at), Due::Wake),
                Decision::Watch { attempt, condition } => self.watch(*attempt, *condition)?,
            }
        }
        // The empty list goes back to the recorder, so that its memory is reused.
        decisions.clear();
        self.recorder.decisions = decisions;
        Ok(())
    }
}
