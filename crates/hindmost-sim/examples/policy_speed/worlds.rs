//! The worlds in which policies are timed, as scenarios.

use std::fmt::Write as _;
use std::path::Path;

use hindmost_core::estimator::Knowledge;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;
use serde::Serialize;

/// The kind of machines and jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One-slot machines, jobs of one phase.
    OneSlot,
    /// Machines of one CPU with drawn speeds, jobs of one phase.
    Speeds,
    /// Machines of five classes with cores and memory, jobs of two phases, one demand.
    Classes,
    /// The machines of `Classes`, jobs of two phases, 40 different demands.
    Demands,
}

/// The demand of the arriving jobs relative to the machines' capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// 0.3: clones and backups find free resources.
    Light,
    /// 0.9: few resources are free for clones and backups.
    Loaded,
    /// 1.5: jobs queue until no more arrive.
    Overloaded,
}

/// A cluster and the jobs that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct World {
    pub kind: Kind,
    pub machines: u32,
    pub load: Load,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::OneSlot, Kind::Speeds, Kind::Classes, Kind::Demands];

    /// Returns the heading of the kind's table.
    pub fn title(self) -> &'static str {
        match self {
            Kind::OneSlot => "One-slot machines",
            Kind::Speeds => "Machines of different speeds",
            Kind::Classes => "Cores and memory, one demand",
            Kind::Demands => "Cores and memory, 40 demands",
        }
    }

    /// Returns the mean number of tasks of a job, and its mean work in core-seconds (slot-seconds).
    fn job(self) -> (f64, f64) {
        match self {
            Kind::OneSlot | Kind::Speeds => (TASKS, TASKS * 2.5),
            Kind::Classes => (TASKS + REDUCES, 2.0 * TASKS * MAP + 2.0 * REDUCES * REDUCE),
            Kind::Demands => (TASKS + REDUCES, 3.0 * TASKS * MAP + 2.0 * REDUCES * REDUCE),
        }
    }

    /// Returns the mean number of cores (slots) of a machine.
    fn cores(self) -> f64 {
        match self {
            Kind::OneSlot | Kind::Speeds => 1.0,
            Kind::Classes | Kind::Demands => {
                CLASSES.iter().map(|(count, cpus, _)| f64::from(count * cpus)).sum::<f64>() / 30.0
            }
        }
    }
}

impl Load {
    pub const ALL: [Load; 3] = [Load::Light, Load::Loaded, Load::Overloaded];

    pub fn name(self) -> &'static str {
        match self {
            Load::Light => "light",
            Load::Loaded => "loaded",
            Load::Overloaded => "overloaded",
        }
    }

    fn share(self) -> f64 {
        match self {
            Load::Light => 0.3,
            Load::Loaded => 0.9,
            Load::Overloaded => 1.5,
        }
    }
}

/// Mean number of tasks of the first phase, which has 1 to 50 tasks.
const TASKS: f64 = 25.5;
/// Mean number of tasks of the second phase, which has 1 to 20 tasks.
const REDUCES: f64 = 10.5;
/// Mean duration of a task of the first phase, in seconds.
const MAP: f64 = 25.0;
/// Mean duration of a task of the second phase, in seconds.
const REDUCE: f64 = 37.5;

/// Classes of machines: number among 30 machines, cores, and GB of memory, as in Xu, Liu & Lau 2022.
const CLASSES: [(u32, u32, u32); 5] = [(2, 24, 48), (3, 16, 32), (1, 16, 48), (3, 16, 64), (21, 8, 16)];

impl World {
    /// Returns the name of the world for messages: kind, number of machines, load.
    pub fn name(self) -> String {
        format!("{:?}, {} machines, {}", self.kind, self.machines, self.load.name())
    }

    /// Returns the experiment with about `tasks` tasks in total. `placement`: as in scenarios; `None`: their default.
    ///
    /// # Errors
    /// If the scenario is not valid, as with fewer than 30 machines of several classes.
    pub fn experiment(self, tasks: u32, knowledge: Knowledge, placement: Option<&str>) -> Result<Experiment, String> {
        let set: Vec<(String, String)> =
            placement.map(|placement| ("placement".to_owned(), placement.to_owned())).into_iter().collect();
        let scenario = Scenario::parse(&self.scenario(tasks, knowledge), &self.name(), Path::new(""), &set);
        Experiment::of(&scenario.map_err(|error| error.to_string())?, 1).map_err(|error| error.to_string())
    }

    fn scenario(self, tasks: u32, knowledge: Knowledge) -> String {
        let (of_a_job, work) = self.kind.job();
        let gap = work / (self.load.share() * self.kind.cores() * f64::from(self.machines));
        let jobs = (f64::from(tasks) / of_a_job).ceil();
        let mut text = format!("order = \"fifo\"\nknowledge = \"{knowledge}\"\ngamma = 0.01\n");
        match self.kind {
            Kind::OneSlot => _ = writeln!(text, "[cluster]\nmachines = {}", self.machines),
            Kind::Speeds => {
                let speed = "speed = { uniform = { min = 0.4, max = 1.6 } }";
                _ = writeln!(text, "[[cluster.nodes]]\ncount = {}\ncpus = 1\n{speed}", self.machines);
            }
            Kind::Classes | Kind::Demands => {
                for (of_thirty, cpus, gb) in CLASSES {
                    let count = of_thirty * self.machines / 30;
                    _ = writeln!(text, "[[cluster.nodes]]\ncount = {count}\ncpus = {cpus}\nmemory = \"{gb}GB\"");
                }
            }
        }
        let arrival = format!("{{ every = {{ gap = {{ exponential = {{ mean = {gap} }} }}, jobs = {jobs} }} }}");
        // Without deadlines `shed` and `chronos` have nothing to do. All other policies ignore them.
        let deadline = "deadline_factor = { uniform = { min = 1.5, max = 6.0 } }";
        _ = writeln!(text, "[workload]\narrival = {arrival}\n{deadline}");
        match self.kind {
            Kind::OneSlot | Kind::Speeds => {
                text += "tasks = { uniform = { min = 1, max = 50 } }\n\
                         duration = { pareto = { alpha = 2.0, mean = { uniform = { min = 1.0, max = 4.0 } } } }\n";
            }
            Kind::Classes => text += &job(2, 4),
            Kind::Demands => (0..40).for_each(|number| text += &job(1 + number % 5, 1 + number % 8)),
        }
        text
    }
}

/// Returns a kind of job; `cpus` and `gb` are the cores and GB of memory of a map task.
fn job(cpus: u32, gb: u32) -> String {
    let phase = |name: &str, after: &str, tasks: u32, mean: f64, demand: (u32, u32)| {
        let (low, high) = (mean * 0.4, mean * 1.6);
        format!(
            "[[workload.job.phase]]\nname = \"{name}\"\nafter = [{after}]\n\
             tasks = {{ uniform = {{ min = 1, max = {tasks} }} }}\n\
             duration = {{ pareto = {{ alpha = 2.4, mean = {{ uniform = {{ min = {low}, max = {high} }} }} }} }}\n\
             demand = {{ cpus = {}, memory = \"{}GB\" }}\n",
            demand.0, demand.1
        )
    };
    let (map, reduce) = (phase("map", "", 50, MAP, (cpus, gb)), phase("reduce", "\"map\"", 20, REDUCE, (2, 4)));
    format!("[[workload.job]]\nname = \"job-{cpus}-{gb}\"\n{map}{reduce}")
}
