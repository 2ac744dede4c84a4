//! Scenarios given as text, run without files: what several modules need.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use hindmost_core::metrics::JobResult;
use hindmost_sim::driver::{Control, RunResult};
use hindmost_sim::experiment::{Execution, Experiment, Results, run_all};
use hindmost_sim::output::Output;
use hindmost_sim::scenario::Scenario;

/// The experiment that a scenario's text describes.
pub fn experiment(text: &str) -> Experiment {
    let scenario = Scenario::parse(text, "test", Path::new(""), &[]).expect("the test's scenario is valid");
    Experiment::of(&scenario, 1).expect("the test's scenario can be run")
}

/// All runs of an experiment, on so many threads.
pub fn run_on(experiment: &Experiment, threads: usize) -> Results {
    let stop = AtomicBool::new(false);
    let execution = Execution { threads, stop: &stop, progress: &|_| {}, output: None };
    let mut results = run_all(std::slice::from_ref(experiment), &execution).expect("the experiment runs");
    results.remove(0)
}

/// The run of an experiment's first policy on one seed, and what was measured of each job, by id.
pub fn jobs_of(experiment: &Experiment, seed: u64) -> (RunResult, Vec<JobResult>) {
    #[derive(Default)]
    struct Jobs(Vec<JobResult>);
    impl Output for Jobs {
        fn job(&mut self, _name: &std::sync::Arc<str>, result: &JobResult) -> std::io::Result<()> {
            self.0.push(*result);
            Ok(())
        }
    }
    let mut jobs = Jobs::default();
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    let result = experiment.run_one(&experiment.policies[0], seed, &mut jobs, &control).expect("the run succeeds");
    // Ids are given by arrival.
    jobs.0.sort_by(|one, other| one.arrival.total_cmp(&other.arrival));
    (result, jobs.0)
}

/// Mean and standard error of the mean of independent values.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
