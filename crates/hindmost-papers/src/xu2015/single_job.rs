//! Fig. 5: one job of 10 000 tasks under ESE (section VI-C1).

use hindmost_core::estimator::Knowledge;
use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured, Plot, PlotShape};
use hindmost_policies::theory::sigma::{ese, ese_resource_ratio};

use super::Scale;
use super::readings::{BASE, ORACLE, RANDOM};
use super::regimes::pareto;
use crate::digest::{Digest, average, change, each};
use crate::plan::{Handle, Plan, Runs, World};
use hindmost_sim::driver::SimulationError;

/// The tail indices of the figure.
const ALPHAS: [f64; 3] = [2.0, 3.0, 4.0];
/// Number of tasks of the job. Their mean duration is 1, so this is also the expected machine time without backups.
const TASKS: f64 = 10_000.0;
/// The price of machine time, as in [`World`]'s experiments.
const GAMMA: f64 = 0.01;
/// The optimal σ that the paper gives for α = 2, in mean durations; every sweep contains it.
const PAPERS: f64 = 1.7;

/// One tail index under one reading.
struct Case {
    reading: &'static str,
    alpha: f64,
    /// The runs without backups.
    none: Handle,
    /// The runs of ESE, by σ.
    ese: Vec<Handle>,
}

/// The runs that the figure needs.
pub(super) struct Single {
    /// Values of σ in ascending order, in mean durations.
    sigmas: Vec<f64>,
    /// Number of runs for each σ.
    runs: u32,
    cases: Vec<Case>,
}

pub(super) fn plan(plan: &mut Plan, scale: &Scale) -> Result<Single, SimulationError> {
    let step = if scale.quick { 0.5 } else { 0.25 };
    let count = (6.0 / step) as u32;
    let mut sigmas: Vec<f64> = (1..count).map(|at| f64::from(at) * step).chain([PAPERS]).collect();
    sigmas.sort_unstable_by(f64::total_cmp);
    let readings =
        [(RANDOM, Knowledge::ProgressUniform), (BASE, Knowledge::Progress(0.2)), (ORACLE, Knowledge::Oracle)];
    let runs = scale.single_job_runs;
    let mut cases = Vec::new();
    for (reading, knowledge) in readings {
        for alpha in ALPHAS {
            let set = vec![
                ("cluster.machines", 100.0),
                ("workload.arrival.at_once.jobs", 1.0),
                ("workload.tasks", TASKS),
                ("workload.duration.pareto.alpha", alpha),
                ("workload.duration.pareto.mean", 1.0),
            ];
            let world =
                World { scenario: "xu2015-single-job", put: Vec::new(), set, slot: 0.1, knowledge, seeds: runs };
            let ese = sigmas.iter().map(|sigma| plan.add(&world, &format!("ese(sigma={sigma})")));
            let ese = ese.collect::<Result<Vec<_>, _>>()?;
            cases.push(Case { reading, alpha, none: plan.add(&world, "none")?, ese });
        }
    }
    Ok(Single { sigmas, runs, cases })
}

/// One tail index under one reading, with its results.
struct Curve<'a> {
    case: &'a Case,
    /// Results without backups, by run.
    none: Vec<Digest>,
    /// Results of ESE by σ, then by run.
    ese: Vec<Vec<Digest>>,
}

impl Curve<'_> {
    /// Returns the index of the σ for which the mean of `of` over all runs is lowest.
    fn lowest(&self, of: fn(&Digest) -> f64) -> usize {
        let means: Vec<f64> = self.ese.iter().map(|runs| average(runs, of)).collect();
        (0..means.len()).min_by(|one, other| means[*one].total_cmp(&means[*other])).unwrap_or(0)
    }
}

pub(super) fn figure(single: &Single, runs: &Runs) -> Result<Figure, SimulationError> {
    let curves: Vec<Curve<'_>> = single
        .cases
        .iter()
        .map(|case| Curve {
            case,
            none: runs.drained(case.none),
            ese: case.ese.iter().map(|handle| runs.drained(*handle)).collect(),
        })
        .collect();
    let mut claims = optimum_claims(single, &curves);
    claims.push(analysis_claim(single, &curves)?);
    claims.push(gain_claim(single, &curves)?);
    let mut tables = Vec::new();
    for reading in [RANDOM, BASE, ORACLE] {
        let of_reading: Vec<&Curve<'_>> = curves.iter().filter(|curve| curve.case.reading == reading).collect();
        tables.extend(panels(single, reading, &of_reading)?);
    }
    Ok(Figure {
        name: "Figure 5".to_owned(),
        about: format!(
            "One job of 10 000 tasks with a mean duration of 1 on 100 machines: ESE with σ between 0 and 6 mean \
             durations, compared with no backups, for α = 2, 3, 4. Each σ has {} runs.",
            single.runs
        ),
        claims,
        tables,
    })
}

fn optimum_claims(single: &Single, curves: &[Curve<'_>]) -> Vec<Claim> {
    let at_papers = single.sigmas.iter().position(|sigma| *sigma == PAPERS).unwrap_or(0);
    let heavy = || curves.iter().filter(|curve| curve.case.alpha == 2.0);
    // Measures by how many per cent the value at σ = 1.7 exceeds the lowest value of the sweep.
    let excess = |what: &str, of: fn(&Digest) -> f64| -> Vec<Measured> {
        let one = |curve: &Curve<'_>| {
            let lowest = curve.lowest(of);
            let value =
                format!("{what} at σ = 1.7 compared with the lowest of the sweep, at σ = {}", single.sigmas[lowest]);
            let values = change(&curve.ese[at_papers], &curve.ese[lowest], of);
            Measured::over_seeds(curve.case.reading, &value, &values, "%")
        };
        heavy().map(one).collect()
    };
    let against = |what: &str, of: fn(&Digest) -> f64| -> Vec<Measured> {
        let value = format!("{what} at σ = 1.7 compared with no backups, α = 2");
        let one = |curve: &Curve<'_>| {
            Measured::over_seeds(curve.case.reading, &value, &change(&curve.ese[at_papers], &curve.none, of), "%")
        };
        heavy().map(one).collect()
    };
    vec![
        Claim::judge(
            "With α = 2 the resource consumption is lowest for σ close to 1.7",
            "VI-C1, Fig. 5",
            Expected::at_most(1.0),
            excess("resource usage", |run| run.resource),
            "Lowest is taken as within 1% of the sweep's lowest value.",
        ),
        Claim::judge(
            "With α = 2 the job flowtime is lowest for σ close to 1.7",
            "VI-C1, Fig. 5",
            Expected::at_most(2.0),
            excess("flowtime", |run| run.flowtime),
            "Lowest is taken as within 2% of the sweep's lowest value. The limit is wider than for the resource usage, \
             because the flowtime of a single job depends on its last task and varies a lot between runs.",
        ),
        Claim::judge(
            "ESE consumes less resource than the method without backup",
            "VI-C1, Fig. 5",
            Expected::below(0.0),
            against("resource usage", |run| run.resource),
            "",
        ),
        Claim::judge(
            "ESE finishes the job earlier than the method without backup",
            "VI-C1, Fig. 5",
            Expected::below(0.0),
            against("flowtime", |run| run.flowtime),
            "",
        ),
    ]
}

fn analysis_claim(single: &Single, curves: &[Curve<'_>]) -> Result<Claim, SimulationError> {
    let mut measured = Vec::new();
    for curve in curves {
        let expected = analysis(single, curve.case.alpha)?;
        let deviations: Vec<Vec<f64>> = curve
            .ese
            .iter()
            .zip(&expected)
            .map(|(runs, expected)| each(runs, |run| 100.0 * (run.resource / (GAMMA * TASKS) / expected - 1.0)))
            .collect();
        let size = |at: usize| hindmost_math::statistics::mean(&deviations[at]).unwrap_or(f64::NAN).abs();
        let worst = (0..deviations.len()).max_by(|one, other| size(*one).total_cmp(&size(*other))).unwrap_or(0);
        let value = format!("largest deviation of resource usage from the analysis, at σ = {}", single.sigmas[worst]);
        let reading = format!("{}, α = {}", curve.case.reading, curve.case.alpha);
        measured.push(Measured::over_seeds(&reading, &value, &deviations[worst], "%"));
    }
    Ok(Claim::judge(
        "The result matches well with the theoretical analysis",
        "VI-C1, Fig. 4 and 5",
        Expected::near(0.0, 5.0),
        measured,
        "A good match is taken as a deviation of at most 5% at every σ of the sweep. The analysis has the assumptions \
         of the reading progress(uniform).",
    ))
}

fn gain_claim(single: &Single, curves: &[Curve<'_>]) -> Result<Claim, SimulationError> {
    let mut measured = Vec::new();
    for reading in [RANDOM, BASE, ORACLE] {
        let mut gains = Vec::new();
        for alpha in [2.0, 4.0] {
            let best = ese(&pareto(alpha)?).map_err(|error| SimulationError::Workload(error.to_string()))?.sigma;
            let near = |at: usize| (single.sigmas[at] - best).abs();
            let at = (0..single.sigmas.len()).min_by(|one, other| near(*one).total_cmp(&near(*other))).unwrap_or(0);
            let curve = curves.iter().find(|curve| curve.case.reading == reading && curve.case.alpha == alpha);
            gains.extend(curve.map(|curve| change(&curve.ese[at], &curve.none, |run| run.resource)));
        }
        let shrunk: Vec<f64> = match gains.as_slice() {
            [heavy, light] => heavy.iter().zip(light).map(|(heavy, light)| light - heavy).collect(),
            _ => Vec::new(),
        };
        let value = "saving of resource usage compared with no backups: with α = 2 minus with α = 4";
        measured.push(Measured::over_seeds(reading, value, &shrunk, "percentage points"));
    }
    Ok(Claim::judge(
        "As α increases, the improvement by ESE becomes inconspicuous",
        "VI-C1",
        Expected::above(0.0),
        measured,
        "Each α has the σ of the sweep that is nearest to its optimal σ.",
    ))
}

/// Returns the expected resource usage of a task divided by its mean duration, for each σ of the sweep.
fn analysis(single: &Single, alpha: f64) -> Result<Vec<f64>, SimulationError> {
    let duration = pareto(alpha)?;
    let ratio = |sigma: &f64| ese_resource_ratio(&duration, *sigma);
    single
        .sigmas
        .iter()
        .map(ratio)
        .collect::<Result<_, _>>()
        .map_err(|error| SimulationError::Workload(error.to_string()))
}

/// Returns the numbers of both panels by σ: resource usage of a task divided by its mean duration E\[x], and flowtime.
fn panels(single: &Single, reading: &str, curves: &[&Curve<'_>]) -> Result<[DataTable; 2], SimulationError> {
    let mut columns = ["σ".to_owned()].to_vec();
    let mut flowtime_columns = columns.clone();
    let mut rows: Vec<Vec<Cell>> = single.sigmas.iter().map(|sigma| vec![Cell::from(*sigma)]).collect();
    let mut flowtime_rows = rows.clone();
    let mut without = vec![Cell::from("no backups")];
    let mut flowtime_without = without.clone();
    for curve in curves {
        let alpha = curve.case.alpha;
        columns.extend([format!("α = {alpha}"), format!("analysis, α = {alpha}")]);
        flowtime_columns.push(format!("α = {alpha}"));
        let expected = analysis(single, alpha)?;
        for (at, runs) in curve.ese.iter().enumerate() {
            rows[at].push(Cell::from(average(runs, |run| run.resource) / (GAMMA * TASKS)));
            rows[at].push(Cell::from(expected[at]));
            flowtime_rows[at].push(Cell::from(average(runs, |run| run.flowtime)));
        }
        without.extend([average(&curve.none, |run| run.resource) / (GAMMA * TASKS), 1.0].map(Cell::from));
        flowtime_without.push(Cell::from(average(&curve.none, |run| run.flowtime)));
    }
    rows.push(without);
    flowtime_rows.push(flowtime_without);
    let plot = |what: &str, unit: &str| {
        Some(Plot {
            title: format!("ESE under {reading}: {what} by σ"),
            x: "σ (mean durations)".to_owned(),
            y: unit.to_owned(),
            shape: PlotShape::Columns,
            curves: Vec::new(),
            rows: None,
        })
    };
    Ok([
        DataTable {
            plot: plot("resource usage of a task", "resource usage of a task / E[x]"),
            ..DataTable::new(
                format!("Panel a, {reading}: resource usage of a task divided by E[x], by σ"),
                columns,
                rows,
            )
        },
        DataTable {
            plot: plot("flowtime of the job", "flowtime (units of time)"),
            ..DataTable::new(
                format!("Panel b, {reading}: flowtime of the job in units of time, by σ"),
                flowtime_columns,
                flowtime_rows,
            )
        },
    ])
}
