//! Begins a run: checks its folder, policy and nodes, and builds the driver.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::NodeId;
use hindmost_core::policy::Policy;
use hindmost_core::record::Event;
use hindmost_core::resources::{CPUS, Resources};
use hindmost_core::time::Time;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;
use rustc_hash::{FxHashMap, FxHashSet};

use super::again::{Again, ResumePlan};
use super::attempts::Attempts;
use super::deadlines::{Deadline, Deadlines};
use super::failures::Failures;
use super::fault_injection::FaultInjection;
use super::follow::Counts;
use super::journal::{self, LiveJournal};
use super::learning::Learner;
use super::limits::TimeLimits;
use super::node_loss::LostNodes;
use super::profiles::RunProfiles;
use super::recorder::Recorder;
use super::shutdown::Shutdown;
use super::task_ends::Failing;
use super::waiting::Waiting;
use super::watches::Watches;
use super::{Driver, Follower, JOB, RunError, RunOptions, RunOutcome, check, options, permanent, recheck, resume};
use crate::energy::EnergyMeter;
use crate::engine::Engine;
use crate::store::Opened;
use permanent::FailedAgain;

/// Runs a job in a folder, or resumes the run that the folder holds.
///
/// `opened` comes from [`Store::open`](crate::store::Store::open). `stop_requests` counts how often the user has requested
/// to stop, for example with Ctrl-C.
///
/// # Errors
/// If the plan, options, nodes and folder do not fit each other, or a file can't be read or written. In that case no
/// attempt is left running.
pub fn run(
    options: &RunOptions,
    opened: Opened,
    engine: &mut dyn Engine,
    stop_requests: &AtomicU32,
    follower: &mut dyn Follower,
) -> Result<RunOutcome, RunError> {
    run_under(None, options, opened, engine, stop_requests, follower)
}

/// Runs a job as [`run`] does, under a policy that the caller has built and that need not be in the catalogue. `None`
/// builds the policy from the options.
///
/// # Errors
/// The same as those of [`run`].
pub fn run_under(
    own: Option<Policy>,
    options: &RunOptions,
    opened: Opened,
    engine: &mut dyn Engine,
    stop_requests: &AtomicU32,
    follower: &mut dyn Follower,
) -> Result<RunOutcome, RunError> {
    let Opened { mut store, begun, changed, plan, tasks, redo } = opened;
    let plan = &plan;
    let names: Vec<String> = engine.nodes().iter().map(|node| node.name.clone()).collect();
    check(plan, options, engine.nodes())?;
    let mut held = if begun { journal::read(&store)? } else { None };
    let mut taken_back = None;
    if let Some((name, header, records)) = recheck::finished_journal(plan, &store, held.as_ref())? {
        taken_back = Some(name);
        held = Some((header, records));
    }
    let header = match &held {
        Some((header, records)) => {
            resume::check_nodes(records, &names)?;
            resume::check_header(header, options)?
        }
        None => options::new_header(plan, &options.filled_from(&store), engine)?,
    };
    let spec: PolicySpec = header.policy.parse().map_err(|error| RunError::Input(format!("{error}")))?;
    let setting = catalogue::Setting::from(&header);
    let policy = own.map_or_else(|| catalogue::build(&spec, &setting), Ok)?;
    let capacities = engine.nodes().iter().map(|node| header.dimensions.amounts(&node.capacity));
    let total = capacities.collect::<Result<Vec<_>, _>>()?.iter().fold(Resources::NONE, Resources::plus);
    if let Some(why) = catalogue::without_clones(&spec, &plan.job_spec(), &header.dimensions, (names.len(), &total)) {
        follower.message(&why);
    }
    if let Some(why) = catalogue::after_deadline(&spec, &plan.job_spec()) {
        follower.message(&why);
    }
    let records = held.as_ref().map(|(_, records)| records.as_slice()).filter(|records| recheck::has_job(records));
    let (retry, held_records) = (options.retry_failed, records.unwrap_or_default());
    let failed = FailedAgain::of(plan, &store, retry, &changed, (&tasks, &redo), held_records);
    let again = Again::of(plan, &store, records, failed, &tasks, &redo)?;
    for line in again.messages() {
        follower.message(&line);
    }
    if let Some(name) = taken_back {
        store.take_back(&name, &recheck::failures(plan, records.unwrap_or_default()))?;
    }
    if again.is_needed() {
        recheck::begin_again(&again, plan, &mut store, records, engine, follower)?;
        held = None;
    } else {
        // All checks have passed. From here on the folder may be changed.
        if tasks.withdrawn.is_empty() {
            recheck::kill_moved(&store, engine, follower);
        } else {
            // Attempts of withdrawn tasks must not be adopted, and nothing else is left to run.
            recheck::kill_earlier(&store, engine, follower);
            recheck::put_aside(&again, plan, &store, follower)?;
        }
        store.accept(plan)?;
    }
    let earlier_failures = store.earlier_failures();
    let profiles = RunProfiles::read(plan, options, header.knowledge)?;
    let history = plan.phases.iter().map(|phase| match options.history.get(&phase.name) {
        Some(durations) => durations.clone(),
        None => profiles.durations(&plan.name, &phase.name),
    });
    // Other progress models hide progress from the policy: no attempt reaches a share above 1.
    let reveal_share = match header.knowledge {
        Knowledge::Progress(share) | Knowledge::Profiles(share) => share,
        _ => 2.0,
    };
    let journal = LiveJournal::open(&store, if held.is_some() { None } else { Some(&header) });
    let journal = journal.inspect_err(|_| recheck::kill_earlier(&store, engine, follower))?;
    let energy = EnergyMeter::start(options.powercap.as_deref(), held.is_some());
    let mut driver = Driver {
        plan,
        engine,
        follower,
        session: catalogue::session_under(policy, &header),
        header,
        recorder: Recorder::new(journal),
        attempts: Attempts::default(),
        waiting: Waiting::default(),
        failures: Failures::new(plan),
        watches: Watches::new(reveal_share),
        learner: Learner::new(names.len(), reveal_share, history.collect()),
        limits: TimeLimits::new(plan),
        failing: Failing::default(),
        profiles,
        faults: FaultInjection::new(&options.chaos, names),
        lost: LostNodes::default(),
        shutdown: Shutdown::default(),
        counts: Counts::new(plan.phases.len()),
        deadlines: Deadlines::default(),
        in_place: FxHashSet::default(),
        reported: FxHashMap::default(),
        was_at: None,
        is_due: true,
        followed_at: Time::ZERO,
        store,
    };
    if options.profiles.is_some() {
        driver.session.collect_profiles();
    }
    let result = match held {
        Some((_, records)) => driver.resume(records, &changed, &earlier_failures),
        None => driver.begin(&earlier_failures),
    };
    let result = result.and_then(|()| driver.work(stop_requests));
    if let Err(error) = &result {
        driver.kill_everything(error);
    }
    driver.outcome(result?, energy)
}

/// Returns what a resumed run will do, without changing the folder.
///
/// # Errors
/// If the run can't be resumed with these options, or a file can't be read.
pub fn resume_plan(options: &RunOptions, opened: &Opened) -> Result<ResumePlan, RunError> {
    let held = if opened.begun { journal::read(&opened.store)? } else { None };
    if let Some((header, _)) = &held {
        resume::check_header(header, options)?;
    }
    let Opened { store, changed, plan, tasks, redo, .. } = opened;
    let records = held.as_ref().map(|(_, records)| records.as_slice()).filter(|records| recheck::has_job(records));
    let (retry, held_records) = (options.retry_failed, records.unwrap_or_default());
    let failed = FailedAgain::of(plan, store, retry, changed, (tasks, redo), held_records);
    Ok(Again::of(plan, store, records, failed, tasks, redo)?.resume_plan())
}

impl Driver<'_> {
    /// Writes the first records of a new run, or of a run that begins again with the results that are still valid.
    pub(super) fn begin(&mut self, earlier_failures: &[recheck::TaskFailures]) -> Result<(), RunError> {
        recheck::kill(&self.store.run(), self.engine, self.follower);
        recheck::clear(&self.store, self.follower)?;
        let mut spec = self.plan.job_spec();
        let given_up = recheck::given_up(self.plan, &self.store, &[], &[]);
        let valid = recheck::valid_results(self.plan, &self.store, &given_up)?;
        if valid.len() as u64 == self.plan.tasks() {
            return Err(RunError::Input(format!(
                "{} has every result of job {:?} and no journal, so there is nothing to run; remove the folder to run \
                                 the job again",
                self.store.folder().display(),
                self.plan.name
            )));
        }
        for task in &valid {
            spec.phases[task.phase as usize].finished.push(task.index);
        }
        for (phase, planned) in spec.phases.iter_mut().zip(&self.plan.phases) {
            phase.input = planned.input();
        }
        let nodes = self.engine.nodes().to_vec();
        for (at, node) in nodes.iter().enumerate() {
            let capacity = self.header.dimensions.amounts(&node.capacity)?;
            let name = node.name.as_str().into();
            let cores = node.capacity.get(CPUS).copied().unwrap_or(1.0);
            let power = self.plan.power.as_ref().map(|power| power.model(cores)).transpose();
            let power = power.map_err(|error| RunError::Input(format!("power: {error}")))?.map(Arc::new);
            self.happen(&Event::NodeJoined { node: NodeId(at as u32), name, capacity, speed: 1.0, rack: None, power })?;
        }
        self.recall_profiles(&spec)?;
        self.happen(&Event::JobArrived { job: JOB, spec: spec.into() })?;
        for task in self.store.job().given_up.clone() {
            if given_up.contains(&task.id()) && !valid.contains(&task.id()) {
                self.recall_given_up(&task)?;
            }
        }
        self.recall_failures(earlier_failures)?;
        self.prepare(Time::ZERO)
    }

    /// Prepares the first round of a new or resumed run: schedules the faults, and notifies the policy of
    /// the durations that are known.
    pub(super) fn prepare(&mut self, now: Time) -> Result<(), RunError> {
        for (at, loss) in self.faults.losses(now) {
            self.deadlines.push(at, Deadline::Lose(loss));
        }
        self.learner.set_due();
        self.learn()
    }
}
