//! Begins a run: checks its folder, policy and nodes, and builds the driver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::policy::Policy;
use hindmost_core::record::{Event, Record};
use hindmost_core::resources::{CPUS, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::PhaseSpec;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;

use super::again::{Again, ResumePlan};
use super::arrivals::{Arrival, arrival, live_job};
use super::attempts::Attempts;
use super::deadlines::{Deadline, Deadlines};
use super::fault_injection::FaultInjection;
use super::finished;
use super::full_disk::FullDisk;
use super::jobs::{Jobs, ONLY};
use super::journal::{self, LiveJournal};
use super::node_loss::LostNodes;
use super::permanent::FailedAgain;
use super::recorder::Recorder;
use super::submissions::{OnlyJob, Submissions};
use super::waiting::Waiting;
use super::watches::Watches;
use super::{
    Driver, Follower, RunError, RunOptions, RunOutcome, check, options, recheck, resume, several, what_counts,
};
use crate::energy::EnergyMeter;
use crate::engine::{Engine, NodeOffer};
use crate::job_file::Plan;
use crate::store::Opened;
use hindmost_core::learning::Learner;

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
    let mut only = OnlyJob::default();
    let jobs = RunJobs { home: None, jobs: vec![opened], submissions: &mut only };
    run_with(own, options, jobs, engine, stop_requests, follower)?;
    only.take().ok_or(RunError::Stuck)
}

/// The jobs of a run.
pub struct RunJobs<'a> {
    /// The folder of the run, which holds its journal; its plan has no phases. `None` for a run of one job, whose folder is
    /// also that of the run.
    pub home: Option<Opened>,
    /// The jobs that are known when the run begins, in the order of their arrival. Their names differ.
    pub jobs: Vec<Opened>,
    /// Jobs that arrive later. It receives the outcomes of all jobs.
    pub submissions: &'a mut dyn Submissions,
}

/// Runs several jobs at once on the nodes of an engine, under one policy, or resumes such a run.
///
/// # Errors
/// The same as those of [`run`]. A job that fails does not end the others.
pub fn run_jobs(
    options: &RunOptions,
    jobs: RunJobs<'_>,
    engine: &mut dyn Engine,
    stop_requests: &AtomicU32,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    run_with(None, options, jobs, engine, stop_requests, follower)
}

fn run_with(
    own: Option<Policy>,
    options: &RunOptions,
    RunJobs { mut home, mut jobs, submissions }: RunJobs<'_>,
    engine: &mut dyn Engine,
    stop_requests: &AtomicU32,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    let names: Vec<String> = engine.nodes().iter().map(|node| node.name.clone()).collect();
    let speeds: Vec<f64> = engine.nodes().iter().map(|node| node.speed).collect();
    for job in &jobs {
        check(&job.plan, options, engine.nodes())?;
    }
    let plans: Vec<&Plan> = jobs.iter().map(|job| &job.plan).collect();
    let dimensions = options::dimensions(&plans, engine.nodes(), submissions.are_open())?;
    let begun_with = match &home {
        Some(home) => home,
        None => jobs.first().ok_or_else(|| RunError::Input("a run needs a job".to_owned()))?,
    };
    let mut held = if begun_with.begun { journal::read(&begun_with.store)? } else { None };
    let mut taken_back = None;
    if home.is_none()
        && let Some((name, header, records)) =
            recheck::finished_journal(&begun_with.plan, &begun_with.store, held.as_ref())?
    {
        taken_back = Some(name);
        held = Some((header, records));
    }
    let mut header = if let Some((header, records)) = &held {
        resume::check_nodes(records, engine.nodes())?;
        resume::check_header(header, options)?
    } else {
        options::new_header(&plans, &options.filled_from(&begun_with.store), dimensions.clone())?
    };
    let spec: PolicySpec = header.policy.parse().map_err(|error| RunError::Input(format!("{error}")))?;
    let setting = catalogue::Setting::from(&header);
    let policy = own.map_or_else(|| catalogue::build(&spec, &setting), Ok)?;
    for job in &jobs {
        warn(&spec, &job.plan, &*engine, follower)?;
    }
    let mut changed = Vec::new();
    match &mut home {
        Some(home) => {
            let records = held.take().map(|(_, records)| records);
            let is_closed = !submissions.are_open();
            several::begin_again((home, &mut jobs), (records.as_deref(), is_closed), options, engine, follower)?;
            if jobs.is_empty() && is_closed {
                return Ok(());
            }
        }
        None => {
            for job in &mut jobs {
                prepare_only(job, &mut held, taken_back.as_deref(), options, engine, follower)?;
                changed = std::mem::take(&mut job.changed);
            }
        }
    }
    if let (None, None, [job]) = (&home, &held, jobs.as_slice())
        && job.lacks_journal()
        && let Some(outcome) = finished::outcome(job, &header, follower)?
    {
        submissions.ended(outcome);
        return Ok(());
    }
    if held.as_ref().is_none_or(|(_, records)| !what_counts::has_job(records)) {
        // The run begins again, perhaps with other features.
        header.dimensions = dimensions;
    }
    // Other progress models hide progress from the policy: no attempt reaches a share above 1.
    let reveal_share = match header.knowledge {
        Knowledge::Progress(share) | Knowledge::Profiles(share) => share,
        _ => 2.0,
    };
    let earlier_failures: Vec<_> = jobs.iter().map(|job| job.store.earlier_failures()).collect();
    let mut learner = Learner::new(&speeds, reveal_share);
    let mut live = Jobs::default();
    for opened in jobs {
        let job = live_job(live.next(), opened, options, header.knowledge, &mut learner)?;
        live.add(job);
    }
    let home = home.map(|home| home.store);
    let store = home.as_ref().or_else(|| live.iter().next().map(|job| &job.store));
    let store = store.ok_or_else(|| RunError::Input("a run needs a job".to_owned()))?;
    let journal = LiveJournal::open(store, if held.is_some() { None } else { Some(&header) });
    let journal = journal.inspect_err(|_| recheck::kill_earlier(store, engine, follower))?;
    let energy = home.is_none().then(|| EnergyMeter::start(options.powercap.as_deref(), held.is_some()));
    let mut driver = Driver {
        jobs: live,
        home,
        options,
        submissions,
        engine,
        follower,
        session: catalogue::session_under(policy, &header),
        header,
        recorder: Recorder::new(journal),
        attempts: Attempts::default(),
        waiting: Waiting::default(),
        watches: Watches::new(reveal_share),
        learner,
        faults: FaultInjection::new(&options.chaos, names),
        lost: LostNodes::default(),
        deadlines: Deadlines::default(),
        energy,
        is_stopped: false,
        was_at: None,
        disk: FullDisk::default(),
        seconds_said: 0,
        shared: BTreeMap::new(),
        frozen: Vec::new(),
        unsaid: BTreeMap::new(),
        is_due: true,
        followed_at: Time::ZERO,
        ended: Vec::new(),
    };
    driver.session.keep_learned();
    driver.session.keep_reasons();
    if options.profiles.is_some() {
        driver.session.collect_profiles();
    }
    let result = match held {
        Some((_, records)) => driver.resume(records, &changed, &earlier_failures.concat()),
        None => driver.begin(&earlier_failures),
    };
    let result = result.and_then(|()| driver.work(stop_requests));
    if let Err(error) = &result {
        driver.kill_everything(error);
    }
    result?;
    driver.close()
}

/// Warns the user if the policy can't do for a job what its name promises.
fn warn(spec: &PolicySpec, plan: &Plan, engine: &dyn Engine, follower: &mut dyn Follower) -> Result<(), RunError> {
    let nodes = engine.nodes();
    let dimensions = options::dimensions(&[plan], nodes, false)?;
    let capacities = nodes.iter().map(|node| node.capacity_in(&dimensions));
    let total = capacities.collect::<Result<Vec<_>, _>>()?.iter().fold(Resources::NONE, Resources::plus);
    let job = plan.job_spec();
    let warnings = [
        catalogue::without_clones(spec, &job, &dimensions, (nodes.len(), &total)),
        catalogue::after_deadline(spec, &job),
    ];
    warnings.iter().flatten().for_each(|why| follower.message(why));
    Ok(())
}

/// Prepares the folder of a run's only job. `held` is the journal of a resumed run; it is dropped if the run begins again and
/// something is left to run. `taken_back` is the name of a journal that was put away and is the journal of the run again.
fn prepare_only(
    job: &mut Opened,
    held: &mut Option<(Header, Vec<Record>)>,
    taken_back: Option<&str>,
    options: &RunOptions,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    let Opened { store, changed, plan, tasks, redo, .. } = job;
    let records = held.as_ref().map(|(_, records)| records.as_slice()).filter(|records| what_counts::has_job(records));
    let (retry, held_records) = (options.retry_failed, records.unwrap_or_default());
    let failed = FailedAgain::of(plan, store, retry, changed, (tasks, redo), held_records);
    let again = Again::of(plan, store, records, failed, tasks, redo)?;
    for line in again.messages() {
        follower.message(&line);
    }
    if let Some(name) = taken_back {
        store.take_back(name, &what_counts::failures(plan, held_records))?;
    }
    if again.is_needed() {
        recheck::begin_again(&again, plan, store, records, engine, follower)?;
        *held = None;
        // The attempts that ended while no Hindmost ran may have left nothing to begin again for.
        if let Some((name, header, records)) = recheck::finished_journal(plan, store, None)? {
            store.take_back(&name, &what_counts::failures(plan, &records))?;
            *held = Some((header, records));
        }
    } else {
        // All checks have passed. From here on the folder may be changed.
        if tasks.withdrawn.is_empty() {
            recheck::kill_moved(store, engine, follower);
        } else {
            // Attempts of withdrawn tasks must not be adopted, and nothing else is left to run.
            recheck::kill_earlier(store, engine, follower);
            recheck::put_aside(&again, plan, store, follower)?;
        }
        store.accept(plan)?;
    }
    Ok(())
}

/// Returns what a resumed run will do on these nodes, without changing the folder.
///
/// # Errors
/// If the run can't be resumed with these options or on these nodes, or a file can't be read.
pub fn resume_plan(options: &RunOptions, opened: &Opened, nodes: &[NodeOffer]) -> Result<ResumePlan, RunError> {
    let held = if opened.begun { journal::read(&opened.store)? } else { None };
    if let Some((header, records)) = &held {
        resume::check_nodes(records, nodes)?;
        resume::check_header(header, options)?;
    }
    let Opened { store, changed, plan, tasks, redo, .. } = opened;
    let records = held.as_ref().map(|(_, records)| records.as_slice()).filter(|records| what_counts::has_job(records));
    let (retry, held_records) = (options.retry_failed, records.unwrap_or_default());
    let failed = FailedAgain::of(plan, store, retry, changed, (tasks, redo), held_records);
    let again = Again::of(plan, store, records, failed, tasks, redo)?;
    let mut resumed = again.resume_plan();
    again.count_ended(store, &mut resumed)?;
    Ok(resumed)
}

/// True if nothing of an opened job would run: its results are there and valid, and failed tasks stay failed as their phases
/// allow. The folder is not changed.
///
/// # Errors
/// If a file can't be read.
pub fn is_complete(options: &RunOptions, opened: &Opened) -> Result<bool, RunError> {
    let Opened { store, changed, plan, tasks, redo, .. } = opened;
    let failed = FailedAgain::of(plan, store, options.retry_failed, changed, (tasks, redo), &[]);
    let resumed = Again::of(plan, store, None, failed, tasks, redo)?.resume_plan();
    Ok(resumed.phases.iter().all(|phase| phase.to_run == 0))
}

impl Driver<'_> {
    /// Writes the first records of a new run, or of a run that begins again with the results that are still valid.
    pub(super) fn begin(&mut self, earlier_failures: &[Vec<what_counts::TaskFailures>]) -> Result<(), RunError> {
        for store in self.home.iter().chain(self.jobs.iter().map(|job| &job.store)) {
            recheck::kill(&store.run(), self.engine, self.follower);
            recheck::clear(store, self.follower)?;
        }
        let arrivals = self.jobs.iter().map(|job| Ok((job.id(), arrival(&job.plan, &job.store)?)));
        let arrivals: Vec<(JobId, Arrival)> = arrivals.collect::<Result<_, RunError>>()?;
        if self.home.is_none() {
            let finished = |(phase, spec): (u32, &PhaseSpec)| {
                let task = |index: &u32| TaskId { job: ONLY, phase, index: *index };
                spec.finished.iter().map(task).collect::<Vec<_>>()
            };
            let phases = arrivals.first().map_or(&[][..], |(_, arrival)| &arrival.spec.phases);
            let tasks = (0..).zip(phases).flat_map(finished).collect();
            self.report_earlier(&tasks, BTreeMap::new())?;
        }
        self.nodes_join()?;
        for ((job, arrival), failures) in arrivals.into_iter().zip(earlier_failures) {
            self.arrive(job, arrival, failures)?;
        }
        self.prepare(Time::ZERO)
    }

    fn nodes_join(&mut self) -> Result<(), RunError> {
        let power = self.jobs.iter().find_map(|job| job.plan.power.clone());
        for (at, node) in self.engine.nodes().to_vec().iter().enumerate() {
            let capacity = node.capacity_in(&self.header.dimensions)?;
            let name = node.name.as_str().into();
            let cores = node.capacity.get(CPUS).copied().unwrap_or(1.0);
            let power = power.as_ref().map(|power| power.model(cores)).transpose();
            let power = power.map_err(|error| RunError::Input(format!("power: {error}")))?.map(Arc::new);
            let (node, speed) = (NodeId(at as u32), node.speed);
            self.happen(&Event::NodeJoined { node, name, capacity, speed, rack: None, power })?;
        }
        Ok(())
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
