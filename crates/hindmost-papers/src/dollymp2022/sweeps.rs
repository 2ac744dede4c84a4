//! Tables that show how the tail of durations, the correlation of copies, the load, the slot and the budget of clones
//! change the results.

use hindmost_core::reproduction::{Cell, DataTable, Figure, Plot, PlotShape};
use hindmost_math::statistics::mean;

use super::Scale;
use super::clones::with_half;
use super::readings::{set_alpha, set_correlation};
use super::worlds::{Compared, D0, D2, Of, compare, heavy, light};
use crate::plan::{Plan, Runs, World};
use hindmost_sim::driver::SimulationError;

/// A table along one quantity.
struct Sweep {
    caption: String,
    /// Name of the quantity.
    variable: &'static str,
    /// Values of the quantity with the runs of all policies.
    places: Vec<(Cell, Compared)>,
    /// Whether the table is drawn as a figure.
    drawn: bool,
}

/// The runs that all tables need.
pub(super) struct Sweeps(Vec<Sweep>);

/// Offered load if a job arrives every second: a job needs 15 000 core-seconds on average, and the cluster has 328
/// cores.
const LOAD_AT_GAP_1: f64 = 15_000.0 / 328.0;

pub(super) fn plan(plan: &mut Plan, scale: &Scale) -> Result<Sweeps, SimulationError> {
    let (light, heavy) = (light(scale), heavy(scale));
    // Returns `few` for the quick version, otherwise `all`.
    let pick = |all: &[f64], few: &[f64]| if scale.quick { few.to_vec() } else { all.to_vec() };
    let alphas = pick(&[2.0, 2.5, 3.0, 4.0, 6.0], &[2.0, 2.5, 4.0]);
    let mut sweeps = Vec::new();
    for share in pick(&[0.0, 0.5, 0.9], &[0.0, 0.5]) {
        let change = |world: &mut World, alpha: f64| {
            set_correlation(world, share);
            set_alpha(world, alpha);
        };
        let caption = format!("Light load, correlation {share}, by α");
        sweeps.push(by_number(plan, &light, (caption, "α"), &alphas, change)?);
    }
    sweeps.push(by_number(plan, &heavy, ("Heavy load, by α".to_owned(), "α"), &alphas, set_alpha)?);
    let shares = pick(&[0.0, 0.25, 0.5, 0.75, 0.9, 1.0], &[0.0, 0.5, 0.9]);
    let caption = "Light load, by correlation of copies".to_owned();
    sweeps.push(by_number(plan, &light, (caption, "correlation"), &shares, set_correlation)?);

    let loads = pick(&[0.1, 0.23, 0.4, 0.6, 0.8, 1.0, 1.5, 2.29, 3.0], &[0.4, 0.8, 1.2]);
    let at_load = |world: &mut World, load: f64| world.set.push(("workload.arrival.every.gap", LOAD_AT_GAP_1 / load));
    let mut many = heavy.clone();
    // The quick version has as many jobs as at light load.
    many.set.push((
        "workload.arrival.every.jobs",
        f64::from(if scale.quick { scale.light_jobs } else { scale.heavy_jobs }),
    ));
    let caption = "Half WordCount, half PageRank, by offered load".to_owned();
    sweeps.push(Sweep { drawn: true, ..by_number(plan, &many, (caption, "offered load"), &loads, at_load)? });

    let slots = pick(&[0.0, 1.0, 2.0, 5.0, 10.0, 20.0], &[0.0, 5.0, 20.0]);
    for (name, world) in [("Light", &light), ("Heavy", &heavy)].into_iter().take(if scale.quick { 1 } else { 2 }) {
        let caption = format!("{name} load, by the time between decisions (0: a decision after every event)");
        sweeps.push(by_number(plan, world, (caption, "slot (s)"), &slots, |world, slot| world.slot = slot)?);
    }
    if !scale.quick {
        sweeps.push(by_parameter(
            plan,
            &heavy,
            ("Heavy load, by the slot in seconds in which DollyMP's priorities count time", "slot of priorities"),
            &["slot=1", "slot=5", "slot=20", "slot=100"],
        )?);
    }
    let budgets = if scale.quick {
        &["budget=0.1", "budget=0.3", "budget=none"][..]
    } else {
        &["budget=0.05", "budget=0.1", "budget=0.2", "budget=0.3", "budget=0.5", "budget=none"][..]
    };
    sweeps.push(by_parameter(plan, &light, ("Light load, by the budget of clones", "budget"), budgets)?);
    let mut medium = many.clone();
    at_load(&mut medium, 0.8);
    sweeps.push(by_parameter(plan, &medium, ("Offered load 0.8, by the budget of clones", "budget"), budgets)?);
    Ok(Sweeps(sweeps))
}

/// Requests the runs of all policies in a world for each of `numbers`. `change` sets a number in the world.
fn by_number(
    plan: &mut Plan,
    world: &World,
    (caption, variable): (String, &'static str),
    numbers: &[f64],
    change: impl Fn(&mut World, f64),
) -> Result<Sweep, SimulationError> {
    let mut places = Vec::with_capacity(numbers.len());
    for number in numbers {
        let mut world = world.clone();
        change(&mut world, *number);
        places.push((Cell::from(*number), compare(plan, &world, String::new(), "")?));
    }
    Ok(Sweep { caption, variable, places, drawn: false })
}

/// Requests the runs of all policies in a world for each value of a parameter of `DollyMP`, given as `NAME=VALUE`.
fn by_parameter(
    plan: &mut Plan,
    world: &World,
    (caption, variable): (&str, &'static str),
    parameters: &[&str],
) -> Result<Sweep, SimulationError> {
    let mut places = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        places.push((Cell::from(*parameter), compare(plan, world, String::new(), &format!(",{parameter}"))?));
    }
    Ok(Sweep { caption: caption.to_owned(), variable, places, drawn: false })
}

/// Heading of the number of clones.
const CLONES: &str = "copies of a task under DollyMP², without its first attempt";

/// The compared policies, one pair for each column.
const PAIRS: [(&str, Of, Of); 4] = [
    ("DollyMP² / Capacity", D2, Of::Capacity),
    ("DollyMP² / Tetris", D2, Of::Tetris),
    ("DollyMP² / DRF", D2, Of::Drf),
    ("DollyMP² / DollyMP⁰", D2, D0),
];

fn table(sweep: &Sweep, runs: &Runs) -> DataTable {
    let mut columns = vec![sweep.variable.to_owned()];
    for (name, _, _) in PAIRS {
        columns.extend([name.to_owned(), format!("± {name}")]);
    }
    columns.extend(["resource usage, DollyMP² / DollyMP⁰", CLONES].map(str::to_owned));
    let row = |(place, compared): &(Cell, Compared)| {
        let mut row = vec![place.clone()];
        for (_, policy, base) in PAIRS {
            row.extend(with_half(&compared.change(runs, policy, base, |run| run.flowtime)));
        }
        row.push(Cell::from(mean(&compared.change(runs, D2, D0, |run| run.resource))));
        let copies: Vec<f64> = compared.get(runs, D2).iter().map(|run| run.copies).collect();
        row.push(Cell::from(mean(&copies)));
        row
    };
    let caption = format!(
        "{}: change of the mean flowtime and of the mean resource usage in per cent; A / B is A compared with B",
        sweep.caption
    );
    let plot = sweep.drawn.then(|| Plot {
        title: sweep.caption.clone(),
        x: sweep.variable.to_owned(),
        y: "change of the mean flowtime (%)".to_owned(),
        shape: PlotShape::Columns,
        curves: PAIRS.map(|(name, _, _)| name.to_owned()).to_vec(),
        rows: None,
    });
    DataTable { plot, ..DataTable::new(caption, columns, sweep.places.iter().map(row).collect()) }
}

pub(super) fn figure(sweeps: &Sweeps, runs: &Runs) -> Figure {
    Figure {
        name: "Sweeps".to_owned(),
        about: "The paper does not specify these quantities, but its claims depend on them. Each table changes one of \
                them in the base reading. Half of the jobs are WordCount jobs, half are PageRank jobs."
            .to_owned(),
        claims: Vec::new(),
        tables: sweeps.0.iter().map(|sweep| table(sweep, runs)).collect(),
    }
}
