//! Reproduces Figures 1 to 6 and the analysis of section III of Xu & Lau, *Optimization for Speculative Execution of
//! Multiple Jobs in a MapReduce-like Cluster*, 2015. Durations are in units of time, which the paper does not relate to
//! seconds.

mod dual;
mod ese_sigma;
mod heavy;
mod light;
mod readings;
mod regimes;
mod sda_sigma;
mod single_job;

use hindmost_core::reproduction::{Cell, DataTable, Expected, Plot, PlotShape, Reproduction};

use super::digest::{Digest, SMALL_JOB_TASKS, average, average_shares};
use super::plan::Plan;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::Execution;

/// The size of the simulations.
struct Scale {
    quick: bool,
    /// Time for which jobs arrive, in units of time.
    horizon: f64,
    /// Number of seeds of all figures but Fig. 5.
    seeds: u32,
    /// Number of runs of the single job of Fig. 5 for each σ.
    single_job_runs: u32,
}

impl Scale {
    fn new(quick: bool) -> Scale {
        let (horizon, single_job_runs) = if quick { (200.0, 10) } else { (1500.0, 50) };
        Scale { quick, horizon, seeds: 5, single_job_runs }
    }
}

/// The runs of each figure that needs simulations.
struct Simulated {
    light: light::Light,
    sda_sigma: sda_sigma::Sweep,
    single_job: single_job::Single,
    heavy: heavy::Heavy,
}

/// Requests the runs of all figures.
fn plan(scale: &Scale) -> Result<(Plan, Simulated), SimulationError> {
    let mut plan = Plan::default();
    let simulated = Simulated {
        light: light::plan(&mut plan, scale)?,
        sda_sigma: sda_sigma::plan(&mut plan, scale)?,
        single_job: single_job::plan(&mut plan, scale)?,
        heavy: heavy::plan(&mut plan, scale)?,
    };
    Ok((plan, simulated))
}

/// Returns the number of simulations that [`xu2015`] makes. Each of them advances the execution's progress by 1.
pub fn xu2015_runs(quick: bool) -> u64 {
    plan(&Scale::new(quick)).map_or(0, |(plan, _)| plan.runs())
}

/// Reproduces the experiments of Xu & Lau 2015. If `quick` is true, jobs arrive for 200 units of time instead of 1500,
/// and the sweeps over σ have fewer points. `execution.output` is ignored.
///
/// # Errors
/// If a simulation fails or is interrupted.
pub fn xu2015(quick: bool, execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    reproduce(&Scale::new(quick), execution)
}

/// Reproduces the experiments of Xu & Lau 2015 with very short simulations, for tests of the document. Its numbers say
/// nothing about the paper.
///
/// # Errors
/// If a simulation fails or is interrupted.
#[cfg(feature = "testing")]
pub fn xu2015_short(execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    reproduce(&Scale { quick: true, horizon: 1.0, seeds: 2, single_job_runs: 2 }, execution)
}

fn reproduce(scale: &Scale, execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    let (plan, simulated) = plan(scale)?;
    let runs = plan.run(execution)?;
    let mut notes = vec![
        "A simulated value is the mean over seeds, with its 95% interval by Student's t. All policies run the same \
         jobs with the same durations on a seed, so a change between two policies is computed for each seed. For the \
         mean flowtime of SCA compared with Mantri, −60% means that SCA's mean flowtime is 60% lower."
            .to_owned(),
        "Each claim has a rule, which is the same under every reading. The claim is reproduced if its rule holds under \
         all readings that were run; otherwise the verdict says under how many readings it holds. If the paper claims \
         a number, the rule has limits around it. If the paper claims a direction, such as faster or more, the whole \
         95% interval must lie on that side."
            .to_owned(),
    ];
    if scale.quick {
        notes.push(format!(
            "This is the quick version: jobs arrive for {} units of time instead of 1500, sweeps are coarser, and a \
             single job is run {} times instead of 50. This changes little at light load. At heavy load the queue has \
             less time to grow, which changes every number of Fig. 6.",
            scale.horizon, scale.single_job_runs
        ));
    }
    Ok(Reproduction {
        paper: "xu2015".to_owned(),
        title: "Xu & Lau, Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster, 2015"
            .to_owned(),
        quick: scale.quick,
        seeds: (1..=u64::from(scale.seeds)).collect(),
        notes,
        readings: readings::all(),
        figures: vec![
            regimes::figure()?,
            dual::figure()?,
            light::figure(&simulated.light, &runs),
            sda_sigma::figure(&simulated.sda_sigma, &runs)?,
            ese_sigma::figure()?,
            single_job::figure(&simulated.single_job, &runs)?,
            heavy::figure(&simulated.heavy, &runs),
        ],
    })
}

/// Returns the rule that a value differs from the target by at most `percent` per cent of the target.
fn percent_near(target: f64, percent: f64) -> Expected {
    Expected::near(target, target * percent / 100.0)
}

/// Returns a table of means over seeds, with a row for each policy under each reading. `jobs` says which jobs count.
fn means_table(jobs: &str, rows: &[(String, Vec<Digest>)]) -> DataTable {
    let row = |(name, runs): &(String, Vec<Digest>)| {
        let mut row = vec![Cell::from(name.as_str())];
        let columns: [fn(&Digest) -> f64; 8] = [
            |run| run.jobs,
            |run| run.flowtime,
            |run| run.flowtime_p80,
            |run| run.flowtime_p90,
            |run| run.small_flowtime,
            |run| run.resource,
            |run| run.resource_p80,
            |run| run.copies,
        ];
        row.extend(columns.map(|of| Cell::from(average(runs, of))));
        row
    };
    let columns = [
        "policy, reading",
        "jobs",
        "mean flowtime",
        "80% of jobs within",
        "90% of jobs within",
        "mean flowtime of small jobs",
        "mean resource usage",
        "resource usage of 80% of jobs at most",
        "copies of a task, without its first attempt",
    ];
    let caption = format!(
        "{jobs}: means and quantiles, averaged over seeds. Times in units of time, resource usage in {USAGE}. Small \
         jobs have at most {SMALL_JOB_TASKS} tasks"
    );
    DataTable::new(caption, columns.map(str::to_owned).to_vec(), rows.iter().map(row).collect())
}

/// A quantity by which cumulative shares of jobs are given: its letter in tables, and its name with unit in pictures.
#[derive(Clone, Copy)]
struct Variable {
    letter: &'static str,
    name: &'static str,
}

const FLOWTIME: Variable = Variable { letter: "t", name: "flowtime t (units of time)" };
const RESOURCE: Variable = Variable { letter: "R", name: "resource usage R (γ × machine time)" };
/// The unit of resource usage: the price of machine time times the paper's unit of time.
const USAGE: &str = "γ·units of time";

/// Returns a table of cumulative shares of jobs, with a row for each policy under each reading and a column for each
/// value of the grid. The plot shows only the base reading.
fn shares_table(
    caption: &str,
    variable: Variable,
    grid: &[f64],
    rows: &[(String, Vec<Digest>)],
    of: fn(&Digest) -> &Vec<f64>,
) -> DataTable {
    let mut columns = vec![format!("policy, reading; {} =", variable.letter)];
    columns.extend(grid.iter().map(|place| format!("{place}")));
    let row = |(name, runs): &(String, Vec<Digest>)| {
        let mut row = vec![Cell::from(name.as_str())];
        row.extend(average_shares(runs, |run| of(run)).into_iter().map(Cell::from));
        row
    };
    // Names of rows are those of policies, followed by a comma and the reading, except where there is only one reading.
    let of_base = |name: &&String| !name.contains(',') || name.ends_with(&format!(", {}", readings::BASE));
    let plot = Plot {
        title: caption.to_owned(),
        x: variable.name.to_owned(),
        y: "share of jobs".to_owned(),
        shape: PlotShape::CumulativeRows,
        curves: rows.iter().map(|(name, _)| name).filter(of_base).cloned().collect(),
        rows: None,
    };
    DataTable { plot: Some(plot), ..DataTable::new(caption, columns, rows.iter().map(row).collect()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Makes all figures with very short simulations, on one and on three threads.
    #[test]
    fn figures_do_not_depend_on_the_number_of_threads() {
        let scale = Scale { quick: true, horizon: 2.0, seeds: 2, single_job_runs: 2 };
        let stop = AtomicBool::new(false);
        let made = |threads| {
            let execution = Execution { threads, stop: &stop, progress: &|_| {}, output: None };
            reproduce(&scale, &execution).unwrap()
        };
        let one = made(1);
        let names: Vec<&str> = one.figures.iter().map(|figure| figure.name.as_str()).collect();
        let expected = ["Section III", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5", "Figure 6"];
        assert_eq!(names, expected);
        let known: Vec<&str> = one.readings.iter().map(|reading| reading.name.as_str()).collect();
        for claim in one.figures.iter().flat_map(|figure| &figure.claims) {
            assert!(!claim.readings.is_empty(), "{}", claim.claimed);
            for measured in &claim.readings {
                let name = measured.reading.split(',').next().unwrap();
                assert!(known.contains(&name), "{name} is not explained");
            }
        }
        for table in one.figures.iter().flat_map(|figure| &figure.tables) {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.caption);
        }
        assert_eq!(one, made(3));
    }

    #[test]
    fn computed_figures_hold_except_the_dual_method() {
        let dual = dual::figure().unwrap();
        assert!(!dual.claims[0].readings[0].holds);
        let fast: Vec<bool> = dual.claims[1].readings.iter().map(|measured| measured.holds).collect();
        assert_eq!(fast, [false, true]);
        for figure in [regimes::figure().unwrap(), ese_sigma::figure().unwrap()] {
            for claim in figure.claims {
                assert!(claim.readings.iter().any(|measured| measured.holds), "{}: {}", claim.claimed, claim.verdict);
            }
        }
    }

    #[test]
    fn a_stopped_reproduction_is_an_error() {
        let stop = AtomicBool::new(true);
        let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
        assert!(matches!(xu2015(true, &execution), Err(SimulationError::Interrupted)));
    }
}
