//! Reproduces Figures 1, 2 and 4 to 7 of Xu, Liu & Lau, *Multi Resource Scheduling with Task Cloning in Heterogeneous
//! Clusters*, ICPP 2022 (`DollyMP`). Figure 3 shows the architecture. Figures 8 to 11 need traces and are not
//! reproduced.

mod clones;
mod example;
mod heavy;
mod light;
mod overhead;
pub mod overhead_case;
mod readings;
mod sweeps;
mod worlds;

use hindmost_core::reproduction::Reproduction;

pub use overhead::{DecisionTime, dollymp2022_decision_times};

use super::plan::Plan;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::Execution;

/// The size of the simulations.
struct Scale {
    quick: bool,
    /// Number of seeds, beginning with seed 1.
    seeds: u32,
    /// Number of jobs in the experiments at light load.
    light_jobs: u32,
    /// Number of jobs in the experiments at heavy load.
    heavy_jobs: u32,
}

impl Scale {
    fn new(quick: bool) -> Scale {
        Scale { quick, seeds: if quick { 3 } else { 5 }, light_jobs: 100, heavy_jobs: 500 }
    }
}

/// The runs of each figure that needs simulations.
struct Simulated {
    light: light::Light,
    heavy: heavy::Heavy,
    sweeps: sweeps::Sweeps,
}

/// Requests the runs of all figures.
fn plan(scale: &Scale) -> Result<(Plan, Simulated), SimulationError> {
    let mut plan = Plan::default();
    let simulated = Simulated {
        light: light::plan(&mut plan, scale)?,
        heavy: heavy::plan(&mut plan, scale)?,
        sweeps: sweeps::plan(&mut plan, scale)?,
    };
    Ok((plan, simulated))
}

/// Returns the number of simulations that [`dollymp2022`] makes. Each of them advances the execution's progress by 1.
pub fn dollymp2022_runs(quick: bool) -> u64 {
    plan(&Scale::new(quick)).map_or(0, |(plan, _)| plan.runs())
}

/// Reproduces the experiments of Xu, Liu & Lau 2022 on a simulation of their cluster of 30 nodes. If `quick` is true,
/// there are 3 seeds instead of 5, fewer readings at heavy load, and sweeps with fewer points. `execution.output` is
/// ignored.
///
/// # Errors
/// If a simulation fails or is interrupted.
pub fn dollymp2022(quick: bool, execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    reproduce(&Scale::new(quick), execution)
}

fn reproduce(scale: &Scale, execution: &Execution<'_>) -> Result<Reproduction, SimulationError> {
    let (plan, simulated) = plan(scale)?;
    let runs = plan.run(execution)?;
    let mut notes = vec![
        "A simulated value is the mean over seeds, with its 95% interval by Student's t. All policies run the same \
         jobs on a seed, so a change between two policies is computed for each seed. For the mean flowtime of DollyMP² \
         compared with Tetris, −30% means that DollyMP²'s mean flowtime is 30% lower."
            .to_owned(),
        "Each claim has a rule, which is the same under every reading. The claim is reproduced if its rule holds under \
         all readings that were run; otherwise the verdict says under how many readings it holds. If the paper claims \
         a number, the rule allows a difference of 5 percentage points unless it says otherwise. If the paper claims a \
         direction, such as faster or more, the whole 95% interval must lie on that side."
            .to_owned(),
        "The authors measured on 30 nodes of their own; this is a simulation of these nodes. The paper gives no \
         numbers of tasks, durations or demands. They were chosen once, so that the offered load is 2.29 with 20 s \
         between jobs, and were not fitted to any claim. The simulation leaves out unequal node speeds, other work on \
         the nodes, the network, delay assignment and locality."
            .to_owned(),
        "DollyMPⁿ is DollyMP with up to n clones of a task; it does not speculate. Capacity is YARN's Capacity \
         Scheduler with one queue and with Hadoop's speculation. The offered load is the work that arrives in a \
         second, divided by the work that the cluster can do in a second."
            .to_owned(),
        "Figure 3 of the paper shows the system's architecture. Figures 8 to 11 need traces and are not reproduced."
            .to_owned(),
    ];
    if scale.quick {
        notes.push(format!(
            "This is the quick version. It has {} seeds instead of 5, so intervals are wider, fewer readings at heavy \
             load, and sweeps with fewer values.",
            scale.seeds
        ));
    }
    let Simulated { light, heavy, sweeps } = &simulated;
    Ok(Reproduction {
        paper: "dollymp2022".to_owned(),
        title: "Xu, Liu & Lau, Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters (DollyMP), 2022"
            .to_owned(),
        quick: scale.quick,
        seeds: (1..=u64::from(scale.seeds)).collect(),
        notes,
        readings: readings::all(),
        figures: vec![
            light::figure_1(light, &runs),
            example::figure()?,
            light::figure_4(light, &runs),
            heavy::figure_5(heavy, &runs),
            heavy::figure_6(heavy, &runs),
            heavy::figure_7(heavy, &runs),
            clones::figure(light, heavy, &runs),
            sweeps::figure(sweeps, &runs),
            overhead::figure()?,
        ],
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Makes all figures with very few jobs, on one and on three threads.
    #[test]
    fn figures_do_not_depend_on_the_number_of_threads() {
        let scale = Scale { quick: true, seeds: 2, light_jobs: 2, heavy_jobs: 3 };
        let stop = AtomicBool::new(false);
        let made = |threads| {
            let execution = Execution { threads, stop: &stop, progress: &|_| {}, output: None };
            reproduce(&scale, &execution).unwrap()
        };
        let one = made(1);
        let names: Vec<&str> = one.figures.iter().map(|figure| figure.name.as_str()).collect();
        let figures = ["Figure 1", "Figure 2", "Figure 4", "Figure 5", "Figure 6", "Figure 7"];
        let additions = ["Clones and order", "Sweeps", "Scheduling overhead"];
        assert_eq!(names, [&figures[..], &additions[..]].concat());
        let known: Vec<&str> = one.readings.iter().map(|reading| reading.name.as_str()).collect();
        for claim in one.figures.iter().flat_map(|figure| &figure.claims) {
            assert!(!claim.readings.is_empty(), "{}", claim.claimed);
            for measured in &claim.readings {
                let name = measured.reading.split(',').next().unwrap();
                assert!(known.contains(&name), "{name} is not explained");
                assert!(measured.mean.is_some(), "{}: {name}", claim.claimed);
            }
        }
        for table in one.figures.iter().flat_map(|figure| &figure.tables) {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.caption);
        }
        assert_eq!(one, made(3));
        let json = serde_json::to_value(&one).unwrap();
        assert_eq!((&json["paper"], &json["quick"]), (&"dollymp2022".into(), &true.into()));
        let sum = &json["figures"][1]["claims"][3];
        assert_eq!((&sum["readings"][0]["mean"], &sum["verdict"]), (&28.0.into(), &"reproduced".into()));
    }

    #[test]
    fn the_example_has_the_sums_of_the_paper() {
        let figure = example::figure().unwrap();
        let sums: Vec<Option<f64>> = figure.claims.iter().take(4).map(|claim| claim.readings[0].mean).collect();
        assert_eq!(sums, [46.0, 42.0, 34.0, 28.0].map(Some));
        assert!(figure.claims.iter().all(|claim| claim.readings[0].holds));
    }

    #[test]
    fn a_stopped_reproduction_is_an_error() {
        let stop = AtomicBool::new(true);
        let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
        assert!(matches!(dollymp2022(true, &execution), Err(SimulationError::Interrupted)));
    }
}
