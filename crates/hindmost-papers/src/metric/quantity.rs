//! Numbers that each job has.

use std::str::FromStr;
use std::sync::Arc;

use hindmost_core::metrics::{EnergyParts, JobResult};

/// A finished job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// The job's name.
    pub name: Arc<str>,
    /// The job's results.
    pub result: JobResult,
    /// What its attempts used; all zero unless a requested quantity needs it.
    pub used: JobUse,
}

/// What the attempts of a job used. A copy is every attempt that is not the first of its task and does not replace lost
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobUse {
    /// Time of all attempts, seconds.
    pub time: f64,
    /// Number of tasks with at least one copy.
    pub cloned_tasks: u64,
    /// Time of copies, seconds.
    pub copy_time: f64,
    /// Time of copies that won their task, seconds.
    pub copy_won_time: f64,
    /// Number of first attempts that were stopped before the copy that won their task finished.
    pub stopped_early: u64,
    /// Shortest and longest time of a copy that won its task, seconds; `None` without such a copy.
    pub copy_won_range: Option<(f64, f64)>,
    /// Energy of the attempts by what it was used for, joules. The part `idle` is the job's share of the idle power of
    /// all nodes, in proportion to the time of its attempts.
    pub energy: EnergyParts,
}

/// A number that each job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// From arrival to finish.
    Flowtime,
    /// From the start of the job's first task to the finish.
    RunningTime,
    /// From arrival to the start of the job's first task.
    WaitingTime,
    /// Resource usage: γ × machine time.
    Resource,
    /// Utility minus resource usage, where the utility is −flowtime.
    NetUtility,
    /// Time of the finish.
    Finish,
    /// Number of tasks.
    Tasks,
    /// Attempts beyond the first of each task.
    Copies,
    /// Copies that won their task.
    CopiesWon,
    /// Tasks with at least one copy.
    ClonedTasks,
    /// First attempts that were stopped before the copy that won their task finished.
    StoppedEarly,
    /// Time of copies.
    CopyTime,
    /// Time of copies that won their task.
    CopyWonTime,
    /// Time of the longest copy that won divided by that of the shortest one; NaN for less than two such times.
    CopyRange,
    /// Energy of all attempts.
    Energy,
    /// Energy of all attempts and a share of the nodes' idle power, by the time of the attempts.
    EnergyWithStatic,
    /// Energy of originals that are not stragglers.
    NormalEnergy,
    /// Energy of stragglers.
    StragglerEnergy,
    /// Energy of stragglers that won their task.
    StragglerWonEnergy,
    /// Energy of stragglers that did not.
    StragglerKilledEnergy,
    /// Energy of copies.
    CopyEnergy,
    /// Energy of copies that won their task.
    CopyWonEnergy,
    /// Energy of copies that did not.
    CopyKilledEnergy,
}

const QUANTITIES: [(&str, Quantity, &str); 23] = [
    ("flowtime", Quantity::Flowtime, "flowtime"),
    ("running_time", Quantity::RunningTime, "running time"),
    ("waiting_time", Quantity::WaitingTime, "waiting time"),
    ("resource", Quantity::Resource, "resource usage"),
    ("net_utility", Quantity::NetUtility, "utility minus resource usage"),
    ("finish", Quantity::Finish, "finish time"),
    ("tasks", Quantity::Tasks, "number of tasks"),
    ("copies", Quantity::Copies, "number of copies beyond the first of each task"),
    ("copies_won", Quantity::CopiesWon, "number of copies that finish first"),
    ("cloned_tasks", Quantity::ClonedTasks, "number of tasks with a copy"),
    ("stopped_early", Quantity::StoppedEarly, "number of first attempts stopped before their copy finishes"),
    ("copy_time", Quantity::CopyTime, "time of copies"),
    ("copy_won_time", Quantity::CopyWonTime, "time of copies that finish first"),
    ("copy_range", Quantity::CopyRange, "longest copy divided by the shortest one"),
    ("energy", Quantity::Energy, "energy of a job"),
    ("energy_with_static", Quantity::EnergyWithStatic, "energy of a job with static power"),
    ("normal_energy", Quantity::NormalEnergy, "energy of normal tasks"),
    ("straggler_energy", Quantity::StragglerEnergy, "energy of stragglers"),
    ("straggler_won_energy", Quantity::StragglerWonEnergy, "energy of stragglers that finish"),
    ("straggler_killed_energy", Quantity::StragglerKilledEnergy, "energy of stragglers that are stopped"),
    ("copy_energy", Quantity::CopyEnergy, "energy of copies"),
    ("copy_won_energy", Quantity::CopyWonEnergy, "energy of copies that finish"),
    ("copy_killed_energy", Quantity::CopyKilledEnergy, "energy of copies that are stopped"),
];

impl Quantity {
    /// Returns the quantity of a job; NaN if the job has none.
    pub(crate) fn of(self, job: &JobRow) -> f64 {
        let JobRow { result, used, .. } = job;
        let parts = &used.energy;
        match self {
            Quantity::Flowtime => result.flowtime(),
            Quantity::RunningTime => result.finish - result.start,
            Quantity::WaitingTime => result.start - result.arrival,
            Quantity::Resource => result.resource,
            Quantity::NetUtility => -result.flowtime() - result.resource,
            Quantity::Finish => result.finish,
            Quantity::Tasks => result.tasks as f64,
            Quantity::Copies => result.copies_launched as f64,
            Quantity::CopiesWon => result.copies_won as f64,
            Quantity::ClonedTasks => used.cloned_tasks as f64,
            Quantity::StoppedEarly => used.stopped_early as f64,
            Quantity::CopyTime => used.copy_time,
            Quantity::CopyWonTime => used.copy_won_time,
            Quantity::CopyRange => {
                used.copy_won_range.filter(|(short, long)| short < long).map_or(f64::NAN, |it| it.1 / it.0)
            }
            Quantity::Energy => result.energy.unwrap_or(f64::NAN),
            Quantity::EnergyWithStatic => result.energy.unwrap_or(f64::NAN) + parts.idle,
            Quantity::NormalEnergy => parts.normal_successful + parts.normal_killed,
            Quantity::StragglerEnergy => parts.stragglers_successful + parts.stragglers_killed,
            Quantity::StragglerWonEnergy => parts.stragglers_successful,
            Quantity::StragglerKilledEnergy => parts.stragglers_killed,
            Quantity::CopyEnergy => parts.copies_successful + parts.copies_killed,
            Quantity::CopyWonEnergy => parts.copies_successful,
            Quantity::CopyKilledEnergy => parts.copies_killed,
        }
    }

    /// Returns whether the quantity is made from the job's attempts.
    pub(crate) fn needs_attempts(self) -> bool {
        !matches!(
            self,
            Quantity::Flowtime
                | Quantity::RunningTime
                | Quantity::WaitingTime
                | Quantity::Resource
                | Quantity::NetUtility
                | Quantity::Finish
                | Quantity::Tasks
                | Quantity::Copies
                | Quantity::CopiesWon
                | Quantity::Energy
        )
    }

    /// Returns the quantity in words.
    pub fn words(self) -> &'static str {
        QUANTITIES.iter().find(|(_, quantity, _)| *quantity == self).map_or("", |(_, _, words)| words)
    }

    /// Returns the unit, if times have the unit `time`.
    pub fn unit(self, time: &str) -> String {
        match self {
            Quantity::Flowtime
            | Quantity::RunningTime
            | Quantity::WaitingTime
            | Quantity::Finish
            | Quantity::CopyTime
            | Quantity::CopyWonTime => time.to_owned(),
            Quantity::Resource => format!("γ·{}", if time == "time units" { "units of time" } else { time }),
            Quantity::NetUtility | Quantity::CopyRange => String::new(),
            Quantity::Tasks | Quantity::ClonedTasks => "tasks".to_owned(),
            Quantity::Copies | Quantity::CopiesWon => "copies".to_owned(),
            Quantity::StoppedEarly => "attempts".to_owned(),
            Quantity::Energy
            | Quantity::EnergyWithStatic
            | Quantity::NormalEnergy
            | Quantity::StragglerEnergy
            | Quantity::StragglerWonEnergy
            | Quantity::StragglerKilledEnergy
            | Quantity::CopyEnergy
            | Quantity::CopyWonEnergy
            | Quantity::CopyKilledEnergy => "J".to_owned(),
        }
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Quantity, String> {
        QUANTITIES.iter().find(|(name, _, _)| *name == text.trim()).map(|(_, quantity, _)| *quantity).ok_or_else(|| {
            let names: Vec<&str> = QUANTITIES.iter().map(|(name, _, _)| *name).collect();
            format!("{:?} is not a quantity of a job; use {}", text.trim(), names.join(", "))
        })
    }
}
