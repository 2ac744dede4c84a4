//! Section 6.3.3: how long a round of decisions takes. Times differ in every run, so they are no part of the
//! reproduction, and the command prints them separately. The reproduction contains how many copies these rounds start.

use std::time::{Duration, Instant};

pub mod case;

use case::{Case, Machines, OverheadError, Size};
use hindmost_claims::{Cell, DataTable};

use hindmost_sim::driver::SimulationError;

/// The policies whose decision times are measured.
const POLICIES: [&str; 6] =
    ["tetris", "drf", "dollymp(clones=0)", "dollymp(clones=1)", "dollymp(clones=2)", "dollymp(clones=3)"];
/// The measured numbers of jobs and machines.
const SIZES: [Size; 2] = [Size::SMALL, Size::LARGE];
/// Number of times that each round is measured. The result is the median.
const RUNS: usize = 5;

/// The time that a policy takes to decide, for one number of jobs and machines.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionTime {
    /// Numbers of jobs and machines.
    pub size: Size,
    /// The policy as it is written on the command line.
    pub policy: &'static str,
    /// Number of attempts that the first round starts, clones included.
    pub copies: usize,
    /// Time of the first round, in which all machines are idle and all jobs wait: the median of five measurements.
    pub from_scratch: Duration,
    /// Time that the arrival of one more job and the round after it take together: the median of five measurements.
    pub after_one_arrival: Duration,
}

fn wrong(error: &OverheadError) -> SimulationError {
    SimulationError::Workload(error.to_string())
}

/// Returns the number of copies that the rounds start, which is the same in every run.
///
/// # Errors
/// If a policy makes a decision that the state does not allow.
pub fn copies_table() -> Result<DataTable, String> {
    let mut rows = Vec::new();
    for size in SIZES {
        for policy in POLICIES {
            let mut case = Case::new(Machines::Heterogeneous, size, policy).map_err(|error| error.to_string())?;
            let first = case.decide().map_err(|error| error.to_string())?;
            let then = case.after_one_arrival().map_err(|error| error.to_string())?;
            let name = format!("{policy}, {} jobs on {} machines", size.jobs, size.machines);
            rows.push(vec![Cell::Text(name), Cell::from(first as f64), Cell::from(then as f64)]);
        }
    }
    let columns = ["policy and size", "copies started in the first round", "copies started after one more arrival"];
    let caption = "Section 6.3.3: number of copies that a round starts, originals included".to_owned();
    Ok(DataTable::new(caption, columns.map(str::to_owned).to_vec(), rows))
}

/// Measures how long decisions take on this machine.
///
/// # Errors
/// If a policy makes a decision that the state does not allow.
pub fn decision_times() -> Result<Vec<DecisionTime>, SimulationError> {
    let mut times = Vec::new();
    for size in SIZES {
        for policy in POLICIES {
            times.push(measure(size, policy).map_err(|error| wrong(&error))?);
        }
    }
    Ok(times)
}

fn measure(size: Size, policy: &'static str) -> Result<DecisionTime, OverheadError> {
    let mut copies = 0;
    let (mut scratch, mut arrival) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut case = Case::new(Machines::Heterogeneous, size, policy)?;
        let begun = Instant::now();
        copies = case.decide()?;
        scratch.push(begun.elapsed());
        let begun = Instant::now();
        case.after_one_arrival()?;
        arrival.push(begun.elapsed());
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[RUNS / 2]
    };
    Ok(DecisionTime { size, policy, copies, from_scratch: median(scratch), after_one_arrival: median(arrival) })
}
