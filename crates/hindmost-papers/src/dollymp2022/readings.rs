//! The readings: interpretations of details that the paper does not specify, and what each changes.

use hindmost_core::estimator::Knowledge;
use hindmost_core::reproduction::Reading;

use crate::plan::World;

pub(super) const BASE: &str = "base";
pub(super) const EXACT: &str = "exact";

/// A reading and its differences from the base reading.
pub(super) struct Filled {
    pub name: &'static str,
    description: &'static str,
    /// Changes the world of the base reading.
    pub change: fn(&mut World),
    /// Additional parameters of DollyMP.
    pub dollymp: &'static str,
    /// Name and parameters of Tetris.
    pub tetris: &'static str,
    /// Whether the quick version includes the reading at heavy load.
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

/// Sets wide sizes of jobs: from a tenth of the mean to 1.9 times the mean.
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

/// Sets log-normal sizes of jobs, with a standard deviation equal to the mean.
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
        description: "The one that the others vary. Durations are Pareto with α = 2.5, and copies of a task independent. \
                      Job sizes are narrow: within 20% of their mean. Decisions every 5 s. Once a fifth of a copy's work \
                      is done its remaining time is known, which the Capacity Scheduler's speculation needs and DollyMP \
                      does not. Clones have no budget, come after originals have been tried everywhere, and all end with \
                      the first that finishes. The paper gives none of these but sets δ = 0.3 without saying what it is.",
        change: |_| {},
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "α = 2",
        description: "A heavier tail of durations, with infinite variance, so policies know no standard deviation.",
        change: |world| set_alpha(world, 2.0),
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "α = 4",
        description: "A milder tail of durations.",
        change: |world| set_alpha(world, 4.0),
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "correlation 0.5",
        description: "Half of a task's duration is common to all its copies: its work, not its node, is slow.",
        change: |world| set_correlation(world, 0.5),
        dollymp: "",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "correlation 0.9",
        description: "Nine tenths of a task's duration are common to all its copies.",
        change: |world| set_correlation(world, 0.9),
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "wide sizes",
        description: "Numbers of tasks are uniform from a tenth of the mean to 1.9 times it: the same mean and load.",
        change: widen,
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "Tetris packs",
        description: "Tetris with ε = 0: it only packs, as the paper gives no ε. By default ε is the mean alignment over \
                      the mean remaining work.",
        change: |_| {},
        dollymp: "",
        tetris: "tetris(epsilon=0)",
        quick: true,
    },
    Filled {
        name: "log-normal sizes",
        description: "Numbers of tasks are log-normal with a deviation as large as their mean, which stays the same.",
        change: spread,
        dollymp: "",
        tetris: "tetris",
        quick: true,
    },
    Filled {
        name: "log-normal sizes, Tetris packs",
        description: "Both of these readings.",
        change: spread,
        dollymp: "",
        tetris: "tetris(epsilon=0)",
        quick: true,
    },
    Filled {
        name: "budget 0.3",
        description: "Clones use at most 0.3 of the cluster; δ = 0.3 is interpreted as this budget.",
        change: |_| {},
        dollymp: ",budget=0.3",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "by node",
        description: "A node's clones come right after its originals, as the paper's loop is printed.",
        change: |_| {},
        dollymp: ",clone_pass=by_node",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "one copy kept",
        description: "When a copy finishes, one other copy keeps running, as in the paper's application master.",
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
        description: "Remaining times are known from each copy's start: the best that speculation can do.",
        change: |world| world.knowledge = Knowledge::Oracle,
        dollymp: "",
        tetris: "tetris",
        quick: false,
    },
    Filled {
        name: "age",
        description: "Policies observe no progress, only how long a copy has run.",
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
    readings.push(reading(EXACT, "The paper's example with its own numbers; only r = 0 is added."));
    readings
}
