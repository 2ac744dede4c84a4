//! The state in which decision times are measured: many jobs wait for many idle machines. In section 6.3.3 of Xu, Liu &
//! Lau 2022 there are 1 000 jobs and 30 000 machines. The benchmarks of this crate and `hindmost reproduce` measure the
//! same state.

use std::sync::Arc;

use hindmost_core::cluster::{Cluster, RecordError};
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{JobId, NodeId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::{Dimensions, ResourceError, Resources};
use hindmost_core::session::{Answers, Session};
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};
use hindmost_math::distribution::{Distribution, DistributionError};
use hindmost_policies::catalogue::spec::BadPolicySpec;
use hindmost_policies::catalogue::{CatalogueError, Setting, build};

/// Bytes of a gigabyte.
const GB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The kind of machines of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// Machines with one slot.
    OneSlot,
    /// Machines with different numbers of cores and amounts of memory. As in Xu, Liu & Lau 2022, 2 of 30 machines have
    /// 24 cores and 48 GB, 7 have 16 cores and 32 or 64 GB, and 21 have 8 cores and 16 GB.
    Heterogeneous,
}

/// The size of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of machines.
    pub machines: u32,
    /// Number of waiting jobs.
    pub jobs: u32,
}

impl Size {
    /// 1 000 jobs on 30 000 machines.
    pub const LARGE: Size = Size { machines: 30_000, jobs: 1_000 };
    /// 500 jobs on 30 machines. The paper's own cluster has 30 machines.
    pub const SMALL: Size = Size { machines: 30, jobs: 500 };
}

/// The error of a case: its policy is unknown, or the policy made a decision that the cluster's state does not allow.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant has the error as its documentation")]
pub enum OverheadError {
    #[error(transparent)]
    Spec(#[from] BadPolicySpec),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Resource(#[from] ResourceError),
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

/// A cluster with waiting jobs and a policy, whose decisions can be timed.
pub struct Case {
    machines: Machines,
    size: Size,
    session: Session,
}

/// Returns amounts of cores and memory by name.
fn amounts(cpus: f64, gigabytes: f64) -> DemandByName {
    DemandByName::from([("cpus".to_owned(), cpus), ("memory".to_owned(), gigabytes * GB)])
}

/// Returns the capacity of a heterogeneous machine.
fn capacity(node: u32) -> DemandByName {
    match node % 30 {
        0 | 1 => amounts(24.0, 48.0),
        at @ 2..=8 => amounts(16.0, if at % 2 == 0 { 32.0 } else { 64.0 }),
        _ => amounts(8.0, 16.0),
    }
}

fn phase(
    name: &str,
    after: Vec<u32>,
    tasks: u32,
    tail: Distribution,
    sd: Option<f64>,
    demand: DemandByName,
) -> PhaseSpec {
    let usual = PhaseSpec::new(name, tasks, tail.mean());
    PhaseSpec { after, demand, sd, tail: Some(tail), ..usual }
}

/// Creates job `number`. For one-slot machines it has one phase of 1 to 50 tasks. For heterogeneous machines it has a
/// first phase of 1 to 50 tasks, with one of 40 demands, and a second phase of 1 to 20 tasks.
fn job(number: u32, machines: Machines) -> Result<Arc<JobSpec>, DistributionError> {
    let mean = 1.0 + f64::from(number % 7) / 2.0;
    let phases = match machines {
        Machines::OneSlot => {
            let tail = Distribution::pareto_with_mean(2.0, mean)?;
            vec![phase("tasks", Vec::new(), 1 + number % 50, tail, None, DemandByName::new())]
        }
        Machines::Heterogeneous => {
            let (cpus, gigabytes) = (1.0 + f64::from(number % 5), 1.0 + f64::from(number % 8));
            let (map, reduce) = (10.0 * mean, 15.0 * mean);
            let tail = |mean| Distribution::pareto_with_mean(2.4, mean);
            vec![
                phase("map", Vec::new(), 1 + number * 7 % 50, tail(map)?, Some(map), amounts(cpus, gigabytes)),
                phase("reduce", vec![0], 1 + number % 20, tail(reduce)?, Some(reduce), amounts(2.0, 4.0)),
            ]
        }
    };
    let name = number.to_string().into();
    Ok(Arc::new(JobSpec { name, arrival: Time::ZERO, deadline: None, weight: 1.0, queue: None, phases }))
}

impl Case {
    /// Creates a case in which all jobs have arrived, all machines are idle, and nothing is decided yet.
    ///
    /// # Errors
    /// If the policy is not in the catalogue.
    pub fn new(machines: Machines, size: Size, policy: &str) -> Result<Case, OverheadError> {
        let setting = Setting { order: "smallest_workload", gamma: 0.01, queues: &[], live: false };
        let dimensions = match machines {
            Machines::OneSlot => Dimensions::one_slot(),
            Machines::Heterogeneous => Dimensions::of([&capacity(0)])?,
        };
        let mut case = Case {
            machines,
            size,
            session: Session::new(
                Cluster::new(dimensions.clone()),
                build(&policy.parse()?, &setting)?,
                estimator(Knowledge::Progress(0.2)),
            ),
        };
        for node in 0..size.machines {
            let capacity = match machines {
                Machines::OneSlot => Resources::ONE_SLOT,
                Machines::Heterogeneous => dimensions.amounts(&capacity(node))?,
            };
            let name = format!("n{node}").into();
            case.step(&Event::NodeJoined { node: NodeId(node), name, capacity, speed: 1.0, rack: None, power: None })?;
        }
        for number in 0..size.jobs {
            case.arrive(number)?;
        }
        Ok(case)
    }

    /// Creates a case in which all jobs have arrived and a first round has started everything that fits.
    ///
    /// # Errors
    /// The errors of [`Case::new`] and [`Case::decide`].
    pub fn busy(machines: Machines, size: Size, policy: &str) -> Result<Case, OverheadError> {
        let mut case = Case::new(machines, size, policy)?;
        case.decide()?;
        Ok(case)
    }

    fn arrive(&mut self, number: u32) -> Result<(), OverheadError> {
        let spec = job(number, self.machines)?;
        self.step(&Event::JobArrived { job: JobId(number), spec }).map(drop)
    }

    /// Passes an event to the session and returns the policy's decisions. A decision that the cluster refuses is an
    /// error.
    fn step(&mut self, event: &Event) -> Result<Vec<Decision>, OverheadError> {
        let mut answers = Answers::default();
        self.session.step(Time::ZERO, event, &mut answers)?;
        answers.refused.into_iter().next().map_or(Ok(answers.decisions), |refused| Err(refused.error.into()))
    }

    /// Makes a round and returns the number of attempts that it starts.
    ///
    /// # Errors
    /// If the policy makes a decision that the state does not allow.
    pub fn decide(&mut self) -> Result<usize, OverheadError> {
        let decisions = self.step(&Event::Round)?;
        Ok(decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. })).count())
    }

    /// Adds one more job, makes a round, and returns the number of attempts that the round starts.
    ///
    /// # Errors
    /// If the policy makes a decision that the state does not allow.
    pub fn after_one_arrival(&mut self) -> Result<usize, OverheadError> {
        self.arrive(self.size.jobs)?;
        self.decide()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_starts_all_tasks_and_clones() {
        let size = Size { machines: 300, jobs: 10 };
        // Job n has 1 + n tasks on one-slot machines and 1 + (7n mod 50) tasks in its first phase on heterogeneous
        // ones. The sums for n from 0 to 9 are 55 and 225. With two clones of each task there are 3 · 225 attempts.
        for (machines, policy, copies) in [
            (Machines::OneSlot, "fifo", 55),
            (Machines::Heterogeneous, "tetris", 225),
            (Machines::Heterogeneous, "dollymp(clones=0)", 225),
            (Machines::Heterogeneous, "dollymp", 675),
        ] {
            let mut case = Case::new(machines, size, policy).unwrap();
            assert_eq!(case.decide().unwrap(), copies, "{policy}");
            assert!(case.after_one_arrival().unwrap() > 0, "{policy}");
        }
        assert!(matches!(Case::new(Machines::OneSlot, size, "nothing"), Err(OverheadError::Catalogue(_))));
    }
}
