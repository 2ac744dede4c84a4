//! Xu, Liu & Lau, *Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters*, ICPP 2022 (`DollyMP`):
//! Figures 1, 2 and 4 to 7. Figures 8 to 11 need traces.

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
    seeds: u32,
    /// Jobs at light load.
    light_jobs: u32,
    /// Jobs at heavy load.
    heavy_jobs: u32,
}

impl Scale {
    fn new(quick: bool) -> Scale {
        Scale { quick, seeds: if quick { 3 } else { 5 }, light_jobs: 100, heavy_jobs: 500 }
    }
}

/// The figures that need simulations.
struct Simulated {
    light: light::Light,
    heavy: heavy::Heavy,
    sweeps: sweeps::Sweeps,
}

fn plan(scale: &Scale) -> Result<(Plan, Simulated), SimulationError> {
    let mut plan = Plan::default();
    let simulated = Simulated {
        light: light::plan(&mut plan, scale)?,
        heavy: heavy::plan(&mut plan, scale)?,
        sweeps: sweeps::plan(&mut plan, scale)?,
    };
    Ok((plan, simulated))
}

/// Returns the number of simulations that [`dollymp2022`] makes, which is the sum of its progress.
pub fn dollymp2022_runs(quick: bool) -> u64 {
    plan(&Scale::new(quick)).map_or(0, |(plan, _)| plan.runs())
}

/// Reproduces the experiments of Xu, Liu & Lau 2022 on their cluster of 30 nodes. With `quick`, there are 3 seeds instead
/// of 5, fewer readings at heavy load, and sweeps with fewer points. The execution's output is not used.
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
        "A simulated value is the mean over seeds of each seed's value, with its 95% interval by Student's t. Policies are \
         compared on the same seeds, so the same jobs: a change is taken seed by seed."
            .to_owned(),
        "A claim's rule is the same under every reading. Reproduced: it holds under all that were run. Reproduced under: \
         under those named only. A claimed number counts within 5 points unless its rule says otherwise, a claimed \
         direction if the whole interval lies on its side."
            .to_owned(),
        "The paper ran on 30 nodes of its own; this is a simulation of them. The paper gives no task counts, durations or \
         demands; those taken here are set once, to an offered load of 2.29 at 20 s between jobs, and not fitted to any \
         claim. Unequal node speeds, other work on the nodes, the network, delay assignment and locality are left out."
            .to_owned(),
        "DollyMPⁿ is DollyMP with n clones; it may not speculate besides. Capacity is YARN's Capacity Scheduler with one \
         queue and Hadoop's speculation."
            .to_owned(),
        "Figure 3 is the system's architecture. Figures 8 to 11, which are driven by traces, are not run yet.".to_owned(),
    ];
    if scale.quick {
        notes.push(format!(
            "This is the quick version: {} seeds instead of 5, so intervals are wider; fewer readings at heavy load, \
             and thinner sweeps.",
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

    /// A tiny version of all figures, with different numbers of threads.
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
    fn the_example_has_the_exact_sums() {
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
