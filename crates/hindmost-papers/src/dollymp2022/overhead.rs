//! Section 6.3.3: the cost of decisions. The reproduction contains the decisions. Their times, which differ in every run,
//! are printed separately.

use std::time::{Duration, Instant};

use crate::dollymp2022::overhead_case::{Case, Machines, OverheadError, Size};
use hindmost_core::reproduction::{Cell, DataTable, Figure};

use hindmost_sim::driver::SimulationError;

const POLICIES: [&str; 6] =
    ["tetris", "drf", "dollymp(clones=0)", "dollymp(clones=1)", "dollymp(clones=2)", "dollymp(clones=3)"];
const SIZES: [Size; 2] = [Size::SMALL, Size::LARGE];
/// Number of runs; the median counts.
const RUNS: usize = 5;

/// The time that one policy takes to decide in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionTime {
    /// Jobs and machines.
    pub size: Size,
    /// The policy.
    pub policy: &'static str,
    /// Number of copies started in the first round.
    pub copies: usize,
    /// Time of the first round, in which all jobs wait: the median of five runs.
    pub from_scratch: Duration,
    /// Time of the arrival of one more job and the round after it: the median of five runs.
    pub after_one_arrival: Duration,
}

fn wrong(error: &OverheadError) -> SimulationError {
    SimulationError::Workload(error.to_string())
}

/// Returns the decisions, which are the same in every run.
pub(super) fn figure() -> Result<Figure, SimulationError> {
    let mut rows = Vec::new();
    for size in SIZES {
        for policy in POLICIES {
            let mut case = Case::new(Machines::Heterogeneous, size, policy).map_err(|error| wrong(&error))?;
            let first = case.decide().map_err(|error| wrong(&error))?;
            let then = case.after_one_arrival().map_err(|error| wrong(&error))?;
            let name = format!("{policy}, {} jobs on {} machines", size.jobs, size.machines);
            rows.push(vec![Cell::Text(name), Cell::from(first as f64), Cell::from(then as f64)]);
        }
    }
    let columns = ["policy and case", "copies started from scratch", "after one more arrival"];
    let caption = "Section 6.3.3: copies that one round starts".to_owned();
    Ok(Figure {
        name: "Scheduling overhead".to_owned(),
        about: "The paper claims less than 20 ms for all jobs on its cluster, and less than 50 ms to schedule 1 000 jobs to \
                30 000 machines (6.3.3). The time of a round differs between runs and machines, so the times are not part \
                of this page: the command prints those of its machine, and docs/performance.md has times with the machine \
                on which they were measured. This table shows the decisions of these rounds. The machines are those of \
                Figure 4, repeated; jobs have 1 to 50 tasks of 40 kinds of demands, and a second phase."
            .to_owned(),
        claims: Vec::new(),
        tables: vec![DataTable::new(&caption, columns.map(str::to_owned).to_vec(), rows)],
    })
}

/// Measures the times of decisions on this machine.
///
/// # Errors
/// If a policy makes a decision that the state does not allow.
pub fn dollymp2022_decision_times() -> Result<Vec<DecisionTime>, SimulationError> {
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
