//! Helpers of several test modules, which run scenarios that are given as text, and what holds for any number of threads.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use hindmost_core::metrics::JobResult;
use hindmost_policies::catalogue::compared;
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

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let experiment = experiment(
        "slot = 0.1\nhorizon = 30\nseeds = 3\nknowledge = \"progress(0.1)\"\n[cluster]\nmachines = 30\n[workload]\n\
         arrival = { poisson = { rate = 2.0 } }\ntasks = { uniform = { min = 1, max = 20 } }\n\
         duration = { pareto = { alpha = 1.8, mean = { uniform = { min = 0.5, max = 2.0 } } } }\n",
    );
    assert_eq!(experiment.policies.len(), compared().count(), "a scenario without policies runs all compared systems");
    let one = run_on(&experiment, 1);
    assert_eq!(one, run_on(&experiment, 4));
    // Each seed has its own jobs, and all policies get the same jobs.
    let tasks: Vec<Vec<u64>> = one.iter().map(|seeds| seeds.iter().map(|seed| seed.tasks).collect()).collect();
    assert!(tasks.iter().all(|seeds| *seeds == tasks[0]));
    assert!(tasks[0][0] != tasks[0][1] && tasks[0][1] != tasks[0][2]);
}

#[test]
fn a_run_that_draws_no_duration_stands_for_all_seeds() {
    use hindmost_core::workload::{Durations, JobSpec, PhaseSpec, WorkloadJob};
    use hindmost_sim::experiment::Jobs;

    // Of each task only the first copy has a duration; one task is long.
    let mut experiment = experiment(
        "seeds = 4\nknowledge = \"oracle\"\n[cluster]\nmachines = 6\n[workload]\narrival = { at_once = { jobs = 1 } }\ntasks = 1\nduration = 1\n[[policy]]\nname = \"none\"\n[[policy]]\nname = \"mantri\"",
    );
    let seconds = vec![5.0, 6.0, 7.0, 5.5, 6.5, 60.0];
    let spec = JobSpec::new("job", vec![PhaseSpec::new("map", 6, 6.0)]);
    let job = WorkloadJob { spec, durations: vec![Durations::Recorded(seconds)] };
    experiment.jobs = Jobs::Given(std::sync::Arc::new(vec![job]));
    let stop = AtomicBool::new(false);
    let done = std::sync::Mutex::new(0.0);
    let progress = |part: f64| *done.lock().unwrap() += part;
    let execution = Execution { threads: 2, stop: &stop, progress: &progress, output: None };
    let together = run_all(std::slice::from_ref(&experiment), &execution).unwrap().remove(0);
    assert_eq!((*done.lock().unwrap() * 1e9_f64).round(), 8e9, "each of the 8 runs is progress");
    for (policy, together) in experiment.policies.iter().zip(&together) {
        let alone = |seed: &u64| {
            let control = Control { stop: &stop, progress: &|_| {} };
            experiment.run_one(policy, *seed, &mut hindmost_sim::output::Silent, &control).unwrap()
        };
        assert_eq!(*together, experiment.seeds.iter().map(alone).collect::<Vec<RunResult>>());
    }
    let [none, mantri] = &together[..] else { panic!("two policies") };
    assert!(none.iter().all(|run| run.drawn == 0 && run.makespan == 60.0));
    assert!(mantri.iter().all(|run| run.drawn > 0 && run.makespan < 60.0));
    assert!(mantri.iter().any(|run| run.makespan != mantri[0].makespan), "copies take what other tasks took");
}
