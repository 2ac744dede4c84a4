//! The result of a test's run.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use hindmost_core::cluster::{Cluster, Placement};
use hindmost_core::estimator::estimator;
use hindmost_core::explain::{Step, explain};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::journal::{Header, JournalWriter, VERSION};
use hindmost_core::metrics::JobResult;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::session::Session;
use hindmost_core::verify::{Difference, Verified, verify};

use crate::driver::RunResult;
use crate::output::{AttemptResult, Outcome, Output};

use super::{Choice, World};

/// Number of records at which a run is considered endless. No test needs that many.
const MOST_RECORDS: usize = 100_000;

/// Collects the output of a run.
#[derive(Default)]
pub(super) struct Collected {
    jobs: Vec<(Arc<str>, JobResult)>,
    attempts: Vec<Try>,
    records: Vec<Record>,
}

impl Output for Collected {
    fn job(&mut self, name: &Arc<str>, result: &JobResult) -> io::Result<()> {
        self.jobs.push((name.clone(), *result));
        Ok(())
    }

    fn wants_attempts(&self) -> bool {
        true
    }

    fn attempt(&mut self, result: &AttemptResult<'_>) -> io::Result<()> {
        self.attempts.push(Try {
            id: result.attempt,
            node: result.node.0,
            start: result.start.seconds(),
            end: result.end.seconds(),
            outcome: result.outcome,
            energy: result.energy.map(|energy| energy.joules),
        });
        Ok(())
    }

    fn wants_records(&self) -> bool {
        true
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.records.push(record.clone());
        if self.records.len() < MOST_RECORDS {
            Ok(())
        } else {
            Err(io::Error::other(format!("the run does not end: {record:?} is one of {MOST_RECORDS} records")))
        }
    }
}

impl Collected {
    pub(super) fn into_run(mut self, result: RunResult, world: World, policy: Choice) -> Run {
        let mut names = BTreeMap::new();
        for record in &self.records {
            if let Change::Event(Event::JobArrived { job, spec }) = &record.change {
                names.insert(*job, spec.name.to_string());
            }
        }
        self.attempts.sort_by_key(|ended| ended.id);
        Run {
            result,
            jobs: self.jobs.iter().map(|(name, job)| (name.to_string(), *job)).collect(),
            attempts: self.attempts,
            records: self.records,
            names,
            world,
            policy,
        }
    }
}

/// An attempt that has ended. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Try {
    /// Id of the attempt.
    pub id: AttemptId,
    /// Number of the node on which it ran, from 0.
    pub node: u32,
    /// When it started.
    pub start: f64,
    /// When it ended.
    pub end: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// Its energy, joules; `None` without power models.
    pub energy: Option<f64>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The measurements of the run.
    pub result: RunResult,
    /// The finished jobs with their measurements, in the order in which their last attempts ended.
    pub jobs: Vec<(String, JobResult)>,
    /// All attempts, sorted by job, phase, task and copy.
    pub attempts: Vec<Try>,
    /// The records, in order.
    pub records: Vec<Record>,
    names: BTreeMap<JobId, String>,
    world: World,
    policy: Choice,
}

impl Run {
    /// Returns the measurements of a job that has finished.
    pub fn job(&self, name: &str) -> JobResult {
        let found = self.jobs.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no job {name:?} has finished")).1
    }

    /// Returns the names of the jobs that have arrived, in the order of their arrivals.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    /// Returns the attempts of a job, sorted by phase, task and copy.
    pub fn tries(&self, name: &str) -> Vec<Try> {
        let is_of = |attempt: &&Try| self.names.get(&attempt.id.task.job).is_some_and(|known| known == name);
        self.attempts.iter().filter(is_of).copied().collect()
    }

    /// Returns the attempts of a job as (task, copy, node, start, end, outcome).
    pub fn table(&self, name: &str) -> Vec<(u32, u32, u32, f64, f64, Outcome)> {
        let row = |one: &Try| (one.id.task.index, one.id.copy, one.node, one.start, one.end, one.outcome);
        self.tries(name).iter().map(row).collect()
    }

    /// Returns the time at which each task of a job was started, in seconds, sorted by phase and task.
    pub fn starts(&self, name: &str) -> Vec<f64> {
        self.tries(name).iter().filter(|one| one.id.copy == 0).map(|one| one.start).collect()
    }

    /// Returns the tasks in the order in which their attempts were started, as `job/task`, or as `job/phase/task` if
    /// the job has several phases.
    pub fn started(&self) -> Vec<String> {
        let name = |task: TaskId| {
            let (job, phase, index) = (&self.names[&task.job], task.phase, task.index);
            let phases = self.world.jobs.iter().find(|known| *known.spec.name == **job).map(|job| &job.spec.phases);
            match phases.and_then(|phases| phases.get(phase as usize).filter(|_| phases.len() > 1)) {
                Some(phase) => format!("{job}/{}/{index}", phase.name),
                None => format!("{job}/{index}"),
            }
        };
        let started = self.decisions().into_iter().filter_map(|(_, decision)| match decision {
            Decision::Start { attempt, .. } => Some(name(attempt.task)),
            _ => None,
        });
        started.collect()
    }

    /// Returns the decisions in order, with their times in seconds.
    pub fn decisions(&self) -> Vec<(f64, Decision)> {
        let decided = self.records.iter().filter_map(|record| match &record.change {
            Change::Decision(decision) => Some((record.at.seconds(), decision.clone())),
            Change::Event(_) => None,
        });
        decided.collect()
    }

    /// Returns the attempts of a job except the first of each task, as (task, start).
    pub fn backups(&self, name: &str) -> Vec<(u32, f64)> {
        let backups = self.tries(name).into_iter().filter(|one| one.id.copy > 0);
        backups.map(|one| (one.id.task.index, one.start)).collect()
    }

    /// Returns the name of the policy, or "own" if the test has built the policy.
    pub fn policy(&self) -> &str {
        self.policy.name()
    }

    /// Checks that the policy makes the same decisions when the records are replayed.
    ///
    /// # Errors
    /// Returns the first difference between recorded and repeated decisions.
    pub fn verify(&self) -> Result<Verified, Difference> {
        self.verify_records(self.records.clone())
    }

    /// Like [`Run::verify`], for other records.
    ///
    /// # Errors
    /// Returns the first difference between recorded and repeated decisions.
    pub fn verify_records(&self, records: Vec<Record>) -> Result<Verified, Difference> {
        verify(self.session(), false, records)
    }

    /// Returns the events and decisions that concern a task, with the policy's reasons, as `hindmost explain` shows them.
    ///
    /// # Errors
    /// If the records do not fit the state.
    pub fn explain(&self, task: TaskId) -> Result<Vec<Step>, Difference> {
        explain(self.session(), self.records.clone(), task)
    }

    /// Returns a session in the state in which the run began.
    fn session(&self) -> Session {
        let setup = &self.world.setup;
        let cluster = Cluster::new(setup.dimensions.clone()).with_placement(setup.placement, setup.seed);
        Session::new(cluster, self.world.policy(&self.policy), estimator(setup.knowledge))
    }

    /// Returns the journal of the run.
    pub fn journal(&self) -> Vec<u8> {
        let header = Header {
            hindmost_journal: VERSION,
            dimensions: self.world.setup.dimensions.clone(),
            policy: self.policy.name().to_owned(),
            order: self.world.order.clone(),
            gamma: self.world.setup.gamma,
            knowledge: self.world.setup.knowledge,
            placement: self.world.setup.placement,
            placement_seed: Some(self.world.setup.seed).filter(|_| self.world.setup.placement == Placement::Random),
            live: Some(false),
            queues: self.world.setup.queues.clone(),
        };
        let mut writer = JournalWriter::new(Vec::new(), &header).expect("writing to memory succeeds");
        for record in &self.records {
            writer.write(record).expect("writing to memory succeeds");
        }
        writer.finish().expect("writing to memory succeeds")
    }
}
