//! The worlds of the experiments: clusters with workloads, and the policies that run in them.

use hindmost_core::estimator::Knowledge;
use hindmost_core::reproduction::{Cell, DataTable, Measured, Plot, PlotShape};

use super::Scale;
use super::readings::Filled;
use crate::digest::{Digest, SECONDS_GRID, average, average_shares, change, each};
use crate::plan::{Handle, Plan, Runs, World};
use hindmost_sim::driver::SimulationError;

/// One of the compared policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Capacity,
    Tetris,
    Drf,
    /// `DollyMP` with this number of clones, up to 3.
    DollyMp(usize),
}

// `DollyMP` with 0 to 3 clones, and all compared policies.
pub(super) const D0: Of = Of::DollyMp(0);
pub(super) const D1: Of = Of::DollyMp(1);
pub(super) const D2: Of = Of::DollyMp(2);
pub(super) const D3: Of = Of::DollyMp(3);
pub(super) const EVERY: [Of; 7] = [Of::Capacity, Of::Tetris, Of::Drf, D0, D1, D2, D3];

impl Of {
    /// Returns the policy's index in [`EVERY`].
    fn place(self) -> usize {
        match self {
            Of::Capacity => 0,
            Of::Tetris => 1,
            Of::Drf => 2,
            Of::DollyMp(clones) => 3 + clones.min(3),
        }
    }

    /// Returns the policy as it is written on the command line. `added` are further parameters of `DollyMP`, each after
    /// a comma.
    fn policy(self, added: &str) -> String {
        match self {
            Of::Capacity => "capacity+hadoop".to_owned(),
            Of::Tetris => "tetris".to_owned(),
            Of::Drf => "drf".to_owned(),
            Of::DollyMp(clones) => format!("dollymp(clones={clones}{added})"),
        }
    }

    /// Returns the policy's name in tables.
    pub(super) fn name(self) -> String {
        self.policy("")
    }
}

/// The runs of all compared policies in one world.
pub(super) struct Compared {
    /// Name of the reading, followed by the kind of jobs if several experiments have the same reading.
    pub reading: String,
    /// The runs in the order of [`EVERY`].
    handles: [Handle; 7],
}

/// Returns the world at light load under the base reading.
pub(super) fn light(scale: &Scale) -> World {
    world(scale, "dollymp2022-light", scale.light_jobs)
}

/// Returns the world at heavy load under the base reading.
pub(super) fn heavy(scale: &Scale) -> World {
    world(scale, "dollymp2022-heavy", scale.heavy_jobs)
}

fn world(scale: &Scale, scenario: &'static str, jobs: u32) -> World {
    World {
        scenario,
        put: Vec::new(),
        set: vec![("workload.arrival.every.jobs", f64::from(jobs))],
        slot: 5.0,
        knowledge: Knowledge::Progress(0.2),
        seeds: scale.seeds,
    }
}

/// The share of a kind of jobs that does not occur. Shares in scenarios must be above 0, so this one is very small.
const NONE: f64 = 1e-12;

/// Makes all jobs `WordCount` jobs.
pub(super) fn wordcount_only(world: &mut World) {
    world.set.push(("workload.job.1.share", NONE));
}

/// Makes all jobs `PageRank` jobs.
pub(super) fn pagerank_only(world: &mut World) {
    world.set.push(("workload.job.0.share", NONE));
}

/// Requests the runs of all policies in a world.
///
/// # Errors
/// If a policy's name is not valid.
pub(super) fn compare(
    plan: &mut Plan,
    world: &World,
    reading: String,
    added: &str,
) -> Result<Compared, SimulationError> {
    let mut handles = Vec::with_capacity(EVERY.len());
    for of in EVERY {
        handles.push(plan.add(world, &of.policy(added))?);
    }
    let handles = handles.try_into().map_err(|_| SimulationError::Workload("seven policies".to_owned()))?;
    Ok(Compared { reading, handles })
}

/// Requests the runs of all policies in a world under a reading. `addition` is appended to the reading's name.
///
/// # Errors
/// If a policy's name is not valid.
pub(super) fn compare_under(
    plan: &mut Plan,
    world: &World,
    filled: &Filled,
    addition: &str,
) -> Result<Compared, SimulationError> {
    let mut world = world.clone();
    (filled.change)(&mut world);
    let mut compared = compare(plan, &world, format!("{}{addition}", filled.name), filled.dollymp)?;
    compared.handles[Of::Tetris.place()] = plan.add(&world, filled.tetris)?;
    Ok(compared)
}

impl Compared {
    /// Returns the summaries of a policy's runs over all jobs, one for each seed.
    pub(super) fn get(&self, runs: &Runs, of: Of) -> Vec<Digest> {
        runs.drained(self.handles[of.place()])
    }

    /// Returns by how many per cent `what` is larger under `policy` than under `base`, for each seed.
    pub(super) fn change(&self, runs: &Runs, policy: Of, base: Of, what: fn(&Digest) -> f64) -> Vec<f64> {
        change(&self.get(runs, policy), &self.get(runs, base), what)
    }
}

/// Measures by how many per cent `what` is larger under `policy` than under `base`, for every reading.
pub(super) fn changes(
    cases: &[Compared],
    runs: &Runs,
    value: &str,
    policy: Of,
    base: Of,
    what: fn(&Digest) -> f64,
) -> Vec<Measured> {
    let one = |case: &Compared| Measured::over_seeds(&case.reading, value, &case.change(runs, policy, base, what), "%");
    cases.iter().map(one).collect()
}

/// Measures a share of the jobs in per cent, for every reading.
pub(super) fn percentages(
    cases: &[Compared],
    runs: &Runs,
    value: &str,
    policy: Of,
    share: fn(&Digest) -> f64,
) -> Vec<Measured> {
    let one = |case: &Compared| {
        let values = each(&case.get(runs, policy), |run| 100.0 * share(run));
        Measured::over_seeds(&case.reading, value, &values, "%")
    };
    cases.iter().map(one).collect()
}

/// Returns a table of means over seeds, with a row for each policy under each reading. `figures` names the paper's
/// figures.
pub(super) fn means_table(figures: &str, cases: &[Compared], runs: &Runs) -> DataTable {
    let columns = [
        "policy, reading",
        "jobs",
        "mean flowtime",
        "90% of jobs within",
        "mean running time",
        "spread of running times",
        "mean resource usage",
        "copies of a task, without its first attempt",
    ];
    let caption = format!(
        "{figures}: means over seeds. Times in seconds, resource usage in γ·s; spread is the standard deviation \
         divided by the mean"
    );
    let what: [fn(&Digest) -> f64; 7] = [
        |run| run.jobs,
        |run| run.flowtime,
        |run| run.flowtime_p90,
        |run| run.running,
        |run| run.running_spread,
        |run| run.resource,
        |run| run.copies,
    ];
    let mut rows = Vec::new();
    for case in cases {
        for of in EVERY {
            let digests = case.get(runs, of);
            let mut row = vec![Cell::Text(format!("{}, {}", of.name(), case.reading))];
            row.extend(what.map(|what| Cell::from(average(&digests, what))));
            rows.push(row);
        }
    }
    DataTable::new(caption, columns.map(str::to_owned).to_vec(), rows)
}

/// Returns a table of cumulative shares of jobs, with a row for each policy and a column for each value of
/// [`SECONDS_GRID`] in the range `seconds`. `variable` is the quantity by which the shares are given.
pub(super) fn shares_table(
    caption: &str,
    variable: &str,
    case: &Compared,
    runs: &Runs,
    seconds: (f64, f64),
    of: fn(&Digest) -> &Vec<f64>,
) -> DataTable {
    let places: Vec<usize> =
        (0..SECONDS_GRID.len()).filter(|at| (seconds.0..=seconds.1).contains(&SECONDS_GRID[*at])).collect();
    let mut columns = vec!["policy; t =".to_owned()];
    columns.extend(places.iter().map(|at| format!("{}", SECONDS_GRID[*at])));
    let row = |policy: Of| {
        let shares = average_shares(&case.get(runs, policy), |run| of(run));
        let mut row = vec![Cell::Text(policy.name())];
        row.extend(places.iter().map(|at| Cell::from(shares.get(*at).copied())));
        row
    };
    let plot = Plot {
        title: caption.to_owned(),
        x: format!("{variable} t (s)"),
        y: "share of jobs".to_owned(),
        shape: PlotShape::CumulativeRows,
        curves: [Of::Capacity, Of::Tetris, D0, D2].map(Of::name).to_vec(),
        rows: None,
    };
    DataTable { plot: Some(plot), ..DataTable::new(caption, columns, EVERY.map(row).to_vec()) }
}
