//! Helpers of several test modules: they run scenarios that are given as text.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use hindmost_core::metrics::JobResult;
use hindmost_sim::driver::{Control, RunResult};
use hindmost_sim::experiment::{Execution, Experiment, Results, run_all};
use hindmost_sim::output::Output;
use hindmost_sim::scenario::Scenario;

/// Creates an experiment from the text of a scenario.
pub fn experiment(text: &str) -> Experiment {
    let scenario = Scenario::parse(text, "test", Path::new(""), &[]).expect("the test's scenario is valid");
    Experiment::of(&scenario, 1).expect("the test's scenario can be run")
}

/// Runs an experiment on this many threads.
pub fn run_on(experiment: &Experiment, threads: usize) -> Results {
    let stop = AtomicBool::new(false);
    let execution = Execution { threads, stop: &stop, progress: &|_| {}, output: None };
    let mut results = run_all(std::slice::from_ref(experiment), &execution).expect("the experiment runs");
    results.remove(0)
}

/// Runs the first policy of an experiment on one seed; returns the result and the measurements of each job, by id.
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
    // Jobs are numbered by arrival.
    jobs.0.sort_by(|one, other| one.arrival.total_cmp(&other.arrival));
    (result, jobs.0)
}

/// Returns the mean of independent values and its standard error.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
