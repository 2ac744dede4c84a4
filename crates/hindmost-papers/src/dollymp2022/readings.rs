//! The readings of Xu, Liu & Lau 2022: interpretations of details that the paper does not specify, and how each of them
//! changes the experiments.

use hindmost_core::estimator::Knowledge;
use hindmost_core::reproduction::Reading;

use crate::plan::World;

/// Name of the base reading.
pub(super) const BASE: &str = "base";
/// Name of the reading of the example, in which nothing is random.
pub(super) const EXACT: &str = "exact";

/// A reading, given by its differences from the base reading.
pub(super) struct Filled {
    pub name: &'static str,
    description: &'static str,
    /// Turns the world of the base reading into the world of this reading.
    pub change: fn(&mut World),
    /// Parameters of DollyMP that follow its number of clones, each after a comma; may be empty.
    pub dollymp: &'static str,
    /// Tetris with its parameters, as it is written on the command line.
    pub tetris: &'static str,
    /// Whether the quick version runs this reading at heavy load. At light load it runs all readings.
    pub quick: bool,
}

/// Sets the tail index of every phase's durations.
pub(super) fn set_alpha(world: &mut World, alpha: f64) {
    world.set.extend([
        ("workload.job.0.phase.0.duration.pareto.alpha", alpha),
        ("workload.job.0.phase.1.duration.pareto.alpha", alpha),
        ("workload.job.1.phase.0.duration.pareto.alpha", alpha),
    ]);
}

/// Sets the share of a duration that all copies of a task have in common.
pub(super) fn set_correlation(world: &mut World, share: f64) {
    world.set.push(("workload.correlation", share));
}

/// Sets uniformly distributed numbers of tasks, from a tenth of the mean to 1.9 times the mean.
fn widen(world: &mut World) {
    world.set.extend([
        ("workload.job.0.phase.0.tasks.uniform.min", 16.0),
        ("workload.job.0.phase.0.tasks.uniform.max", 304.0),
        ("workload.job.0.phase.1.tasks.uniform.min", 10.0),
        ("workload.job.0.phase.1.tasks.uniform.max", 190.0),
        ("workload.job.1.phase.0.tasks.uniform.min", 12.0),
        ("workload.job.1.phase.0.tasks.uniform.max", 238.0),
    ]);
}

/// Sets log-normally distributed numbers of tasks, with a standard deviation equal to the mean.
fn spread(world: &mut World) {
    world.put.extend([
        ("workload.job.0.phase.0.tasks", "{ log_normal = { mean = 160, cv = 1 } }"),
        ("workload.job.0.phase.1.tasks", "{ log_normal = { mean = 100, cv = 1 } }"),
        ("workload.job.1.phase.0.tasks", "{ log_normal = { mean = 125, cv = 1 } }"),
    ]);
}

/// All readings of the experiments, beginning with the base reading.
pub(super) const ALL: &[Filled] = &[
    Filled {
        name: BASE,
        description: "The base reading; each other reading changes a part of it. Durations are Pareto distributed with \
                      α = 2.5, and the durations of a task's copies are independent. Numbers of tasks are within 20% \
                      of their mean. Policies decide every 5 s. The remaining time of a copy is known once a fifth of \
                      its work is done; the Capacity Scheduler's speculation needs it, DollyMP does not. Clones have \
                      no budget. They start after originals have been tried on all nodes, and when a copy finishes, \
                      the other copies of the task are stopped. The paper specifies none of this. It sets δ = 0.3 but \
                      does not say what δ is.",
        change: |_| {},
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "α = 2",
        description: "The tail of the durations is heavier. Their variance is infinite, so policies know no standard \
                      deviation.",
        change: |world| set_alpha(world, 2.0),
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "α = 4",
        description: "The tail of the durations is lighter.",
        change: |world| set_alpha(world, 4.0),
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "correlation 0.5",
        description: "All copies of a task share half of their duration, as if the task's work were slow and not its node.",
        change: |world| set_correlation(world, 0.5),
        dollymp: "",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "correlation 0.9",
        description: "All copies of a task share nine tenths of their duration.",
        change: |world| set_correlation(world, 0.9),
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "wide sizes",
        description: "Numbers of tasks are uniformly distributed from a tenth of their mean to 1.9 times the mean. The \
                      mean and the load are as in the base reading.",
        change: widen,
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "Tetris packs",
        description: "Tetris has ε = 0, so it only packs and ignores remaining work. The paper gives no ε. In the base \
                      reading ε is the mean alignment divided by the mean remaining work.",
        change: |_| {},
        dollymp: "",
        tetris: "tetris(epsilon=0)",
        quick: true,
    },
    Filled {
        name: "log-normal sizes",
        description: "Numbers of tasks are log-normally distributed. Their mean is as in the base reading, and their \
                      standard deviation is as large as the mean.",
        change: spread,
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "log-normal sizes, Tetris packs",
        description: "The readings log-normal sizes and Tetris packs together.",
        change: spread,
        dollymp: "",
        tetris: "tetris(epsilon=0)",
        quick: true,
    },
    Filled {
        name: "budget 0.3",
        description: "Clones hold at most 30% of the cluster: the paper's δ = 0.3 is interpreted as this budget.",
        change: |_| {},
        dollymp: ",budget=0.3",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "by node",
        description: "On each node, clones start right after originals, as in the paper's loop over nodes.",
        change: |_| {},
        dollymp: ",clone_pass=by_node",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "one copy kept",
        description: "When a copy finishes, one other copy continues to run, as in the paper's application master.",
        change: |_| {},
        dollymp: ",keep=best_locality",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "no slot",
        description: "Policies decide after every event instead of every 5 s.",
        change: |world| world.slot = 0.0,
        dollymp: "",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "oracle",
        description: "Remaining times are known from each copy's start, which is the best case for speculation.",
        change: |world| world.knowledge = Knowledge::Oracle,
        dollymp: "",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "age",
        description: "Policies observe no progress, only for how long a copy has been running.",
        change: |world| world.knowledge = Knowledge::Age,
        dollymp: "",
        tetris: "tetris",
        quick: false,
    },
];

/// Returns all readings with their descriptions.
pub(super) fn all() -> Vec<Reading> {
    let reading =
        |name: &str, description: &str| Reading { name: name.to_owned(), description: description.to_owned() };
    let mut readings: Vec<Reading> = ALL.iter().map(|filled| reading(filled.name, filled.description)).collect();
    readings.push(reading(EXACT, "The paper's example with the paper's numbers. Only r = 0 is added."));
    readings
}
