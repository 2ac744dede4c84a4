//! Fig. 2: the paper's example of three jobs on one server. Nothing in it is random.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_core::metrics::JobResult;
use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured};
use hindmost_policies::catalogue::spec::PolicySpec;

use super::readings::EXACT;
use hindmost_sim::driver::{Control, SimulationError};
use hindmost_sim::exact::read_exact_from;
use hindmost_sim::experiment::{Experiment, Jobs};
use hindmost_sim::output::Output;
use hindmost_sim::scenario::Scenario;

/// The example's jobs as an exact workload. Job 1 demands the whole server for 10 s. Jobs 2 and 3 demand a quarter of
/// it for 8 s. With two copies they take 6 s, because the second copy takes 6 s.
const JOBS: &str = r#"{"job":"1","arrival":0,"phases":[{"name":"all","after":[],"demand":{"cpus":1},"mean":10,"sd":null,"tasks":[[10]]}]}
{"job":"2","arrival":0,"phases":[{"name":"all","after":[],"demand":{"cpus":0.25},"mean":8,"sd":null,"tasks":[[8,6]]}]}
{"job":"3","arrival":0,"phases":[{"name":"all","after":[],"demand":{"cpus":0.25},"mean":8,"sd":null,"tasks":[[8,6]]}]}
"#;

// The policies of the example, as they are written on the command line.
const TETRIS: &str = "tetris(epsilon=0.05)+none";
const TETRIS_CLONED: &str = "tetris(epsilon=0.05)+dollymp(clones=1,per_node=2)";
const SMALL_FIRST: &str = "svf+none";
const DOLLYMP: &str = "dollymp(clones=1,deviations=0,per_node=2)";

/// The claims about sums: the claim, its policy, and the claimed sum of the jobs' completion times, in seconds.
const CLAIMS: [(&str, &str, f64); 4] = [
    ("Under Tetris the jobs' completion times add up to 46 s", TETRIS, 46.0),
    ("Under Tetris with clones the jobs' completion times add up to 42 s", TETRIS_CLONED, 42.0),
    ("With jobs 2 and 3 first and without clones, the completion times add up to 34 s", SMALL_FIRST, 34.0),
    ("With jobs 2 and 3 and their clones first, the completion times add up to 28 s", DOLLYMP, 28.0),
];

/// Creates the experiment: one server of capacity 1, and the jobs of the example.
fn experiment() -> Result<Experiment, SimulationError> {
    let mut scenario =
        Scenario::load("dollymp2022-light", &[]).map_err(|error| SimulationError::Workload(error.to_string()))?;
    scenario.slot = None;
    scenario.cluster.nodes.truncate(1);
    for node in &mut scenario.cluster.nodes {
        (node.count, node.cpus, node.memory, node.racks) = (1, 1.0, None, None);
    }
    let jobs =
        read_exact_from(JOBS.as_bytes(), "Figure 2").map_err(|error| SimulationError::Workload(error.to_string()))?;
    let mut experiment = Experiment::of(&scenario, 1)?;
    experiment.jobs = Jobs::Given(Arc::new(jobs));
    Ok(experiment)
}

/// Collects the jobs' finish times, in seconds. Job 1 is at index 0.
#[derive(Default)]
struct Finishes(Vec<f64>);

impl Output for Finishes {
    fn job(&mut self, name: &Arc<str>, result: &JobResult) -> std::io::Result<()> {
        let at = name.parse::<usize>().map_or(0, |number| number.saturating_sub(1));
        self.0.resize(self.0.len().max(at + 1), f64::NAN);
        self.0[at] = result.finish;
        Ok(())
    }
}

/// Runs a policy and returns the jobs' finish times, in seconds.
fn finishes(experiment: &Experiment, policy: &str) -> Result<Vec<f64>, SimulationError> {
    let policy: PolicySpec = policy.parse().map_err(|error| SimulationError::Workload(format!("{error}")))?;
    let stop = AtomicBool::new(false);
    let mut finishes = Finishes::default();
    experiment.run_one(&policy, 1, &mut finishes, &Control { stop: &stop, progress: &|_| {} })?;
    Ok(finishes.0)
}

pub(super) fn figure() -> Result<Figure, SimulationError> {
    let experiment = experiment()?;
    let (mut claims, mut rows, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for (claimed, policy, expected) in CLAIMS {
        let finishes = finishes(&experiment, policy)?;
        let sum: f64 = finishes.iter().sum();
        let measured = Measured::exact(EXACT, &format!("sum of completion times under {policy}"), Some(sum), "s");
        claims.push(Claim::judge(claimed, "2, Fig. 2", Expected::near(expected, 0.0), vec![measured], ""));
        let mut row = vec![Cell::from(policy)];
        row.extend(finishes.into_iter().chain([sum]).map(Cell::from));
        rows.push(row);
        sums.push(sum);
    }
    let saved = 100.0 * (sums[2] / sums[1] - 1.0);
    claims.push(Claim::judge(
        "Small jobs first without clones take 20% less than Tetris with clones (34 against 42 s)",
        "2, Fig. 2",
        Expected::near(-20.0, 1.0),
        vec![Measured::exact(
            EXACT,
            "sum of completion times, small jobs first compared with Tetris with clones",
            Some(saved),
            "%",
        )],
        "In this example the order of jobs matters more than the clones.",
    ));
    let columns = ["policy", "job 1 ends", "job 2 ends", "job 3 ends", "sum"].map(str::to_owned).to_vec();
    Ok(Figure {
        name: "Figure 2".to_owned(),
        about: "One server of capacity 1. Job 1 demands all of it for 10 s. Jobs 2 and 3 demand a quarter each for 8 \
                s, or for 6 s with two copies. The paper gives the four sums. They fit Tetris only if its ε is below \
                0.094, with p = demand × time; otherwise Tetris has the other order of jobs. Here ε = 0.05. DollyMP \
                has r = 0 and no budget δ, because in the example clones hold half of the server. Both copies of a \
                task run on the only server (`per_node=2`), although the paper allows one copy of a task on a server."
            .to_owned(),
        claims,
        tables: vec![DataTable::new("Completion times in seconds", columns, rows)],
    })
}
