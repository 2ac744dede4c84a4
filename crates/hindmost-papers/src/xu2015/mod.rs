//! Xu & Lau, *Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster*,
//! 2015: Figures 1 to 6 and the analysis of section III.

mod dual;
mod ese_sigma;
mod heavy;
mod light;
mod readings;
mod regimes;
mod sda_sigma;
mod single_job;

use hindmost_core::reproduction::{Cell, DataTable, Expected, Plot, PlotShape, Reproduction};

use super::digest::{Digest, average, average_shares};
use super::plan::Plan;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::Execution;

/// The size of the simulations.
struct Scale {
    quick: bool,
    /// Time for which jobs arrive, in units of time.
    horizon: f64,
    seeds: u32,
    /// Number of runs of Fig. 5's single job for each σ.
    single_job_runs: u32,
}

impl Scale {
    fn new(quick: bool) -> Scale {
        let (horizon, single_job_runs) = if quick { (200.0, 10) } else { (1500.0, 50) };
        Scale { quick, horizon, seeds: 5, single_job_runs }
    }
}

/// The figures that need simulations.
struct Simulated {
    light: light::Light,
    sda_sigma: sda_sigma::Sweep,
    single_job: single_job::Single,
    heavy: heavy::Heavy,
}

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

/// Returns the number of simulations that [`xu2015`] makes, which is the sum of its progress.
pub fn xu2015_runs(quick: bool) -> u64 {
    plan(&Scale::new(quick)).map_or(0, |(plan, _)| plan.runs())
}

/// Reproduces the experiments of Xu & Lau 2015. With `quick`, jobs arrive for 200 units of time instead of 1500, and the
/// sweeps over σ have fewer points. The execution's output is not used.
///
/// # Errors
/// If a simulation fails or is interrupted.
pub fn xu2015(quick: bool, execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    reproduce(&Scale::new(quick), execution)
}

fn reproduce(scale: &Scale, execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    let (plan, simulated) = plan(scale)?;
    let runs = plan.run(execution)?;
    let mut notes = vec![
        "A simulated value is the mean over seeds of each seed's value, with its 95% interval by Student's t. Policies are \
         compared on the same seeds, so the same jobs and durations: a change is taken seed by seed."
            .to_owned(),
        "A claim's rule is the same under every reading. Reproduced: it holds under all that were run. Reproduced under: \
         under those named only. A claimed number counts within the limits given with it, a claimed direction if the \
         whole interval lies on its side."
            .to_owned(),
    ];
    if scale.quick {
        notes.push(format!(
            "This is the quick version: jobs arrive for {} units of time instead of 1500, sweeps are coarser, and a \
             single job is run {} times instead of 50. At light load that changes little; at heavy load the queue has \
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

/// Returns the rule that a value is within `percent` per cent of the target.
fn percent_near(target: f64, percent: f64) -> Expected {
    Expected::near(target, target * percent / 100.0)
}

fn means_table(caption: &str, rows: &[(String, Vec<Digest>)]) -> DataTable {
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
        "flowtime",
        "80% within",
        "90% within",
        "flowtime of small jobs",
        "resource",
        "80% take at most",
        "extra copies a task",
    ];
    DataTable::new(caption, columns.map(str::to_owned).to_vec(), rows.iter().map(row).collect())
}

/// A variable of cumulative shares: its letter in tables, and its name with unit in pictures.
#[derive(Clone, Copy)]
struct Variable {
    letter: &'static str,
    name: &'static str,
}

const FLOWTIME: Variable = Variable { letter: "t", name: "flowtime t (units of time)" };
const RESOURCE: Variable = Variable { letter: "R", name: "resource R (γ × machine time)" };

/// Returns a table of cumulative shares, with a row for each policy and a column for each value of the grid. Only the
/// policies under the base reading are drawn.
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

    /// A tiny version of all figures, with different numbers of threads.
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
    fn figures_without_simulation_have_their_verdicts() {
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
