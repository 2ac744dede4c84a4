//! Section 6.3.3: what deciding costs. What is decided goes into the reproduction; how long it takes is a different
//! time in every run, and told beside it.

use std::time::{Duration, Instant};

use crate::dollymp2022::overhead_case::{Case, Machines, OverheadError, Size};
use hindmost_core::reproduction::{Cell, DataTable, Figure};

use hindmost_sim::driver::SimulationError;

const POLICIES: [&str; 6] =
    ["tetris", "drf", "dollymp(clones=0)", "dollymp(clones=1)", "dollymp(clones=2)", "dollymp(clones=3)"];
const SIZES: [Size; 2] = [Size::SMALL, Size::LARGE];
/// Runs of which the middle one counts.
const RUNS: usize = 5;

/// How long one policy takes to decide in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionTime {
    /// Jobs and machines.
    pub size: Size,
    /// The policy.
    pub policy: &'static str,
    /// Copies started from scratch.
    pub copies: usize,
    /// Time that this took, the median of five runs.
    pub from_scratch: Duration,
    /// Time from one more arrival until what it changes is decided, the median of five runs.
    pub after_one_arrival: Duration,
}

fn wrong(error: &OverheadError) -> SimulationError {
    SimulationError::Workload(error.to_string())
}

/// What is decided, which is the same in every run.
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
                30 000 machines (6.3.3). How long a round takes differs from run to run and from machine to machine, so \
                the times are not part of this page: the command tells those of its machine beside the result, and \
                docs/performance.md has them with what they were measured on. Here is what these rounds decide. Machines \
                are those of Figure 4, over and over; jobs have 1 to 50 tasks of 40 kinds of demands, and a second phase."
            .to_owned(),
        claims: Vec::new(),
        tables: vec![DataTable::new(&caption, columns.map(str::to_owned).to_vec(), rows)],
    })
}

/// Measures what deciding costs on this machine.
///
/// # Errors
/// If a policy decides what the state does not allow.
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
