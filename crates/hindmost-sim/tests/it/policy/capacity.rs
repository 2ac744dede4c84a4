//! The order `capacity`: without queues, and queues in scenarios.

use std::path::Path;

use hindmost_core::record::{Change, Event};
use hindmost_core::workload::QueueSpec;
use hindmost_sim::scenario::Scenario;
use proptest::prelude::*;

use crate::every_policy::worlds::any_cluster_of_dags;
use crate::experiments::{experiment, run_on};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(250, 2500)))]

    /// Without queues, `capacity` and `fifo` give the same results.
    #[test]
    fn without_queues_capacity_is_fifo(world in any_cluster_of_dags()) {
        prop_assert_eq!(world.run("capacity").result, world.run("fifo").result);
    }
}

/// A scenario with queues, and with the probabilities with which jobs are submitted to them.
const SCENARIO: &str = include_str!("../mistakes/queues.scenario.toml");

#[test]
fn queues_of_scenarios_are_read_and_written() {
    let scenario = Scenario::parse(SCENARIO, "s.toml", Path::new(""), &[]).unwrap();
    let everything = QueueSpec { name: "research".into(), guaranteed: 0.3, maximum: 1.0 };
    assert_eq!(scenario.queue[1], everything, "a queue without a maximum may use the whole cluster");
    // A scenario that is written back has the same queues.
    let again = toml::to_string(&scenario).unwrap();
    let again = Scenario::parse(&again, "again", Path::new(""), &[]).unwrap();
    assert_eq!((again.queue, again.workload.queues), (scenario.queue, scenario.workload.queues));
    let file = "[[queue]]\nname = \"q\"\nguaranteed = 1\n[cluster]\nmachines = 1\n[workload]\nfile = \"x\"\nqueues = { q = 1 }\n";
    let error = Scenario::parse(file, "s.toml", Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("leave workload.queues out"), "{error}");
}

/// Runs the first policy of a scenario on seed 1 and returns the jobs that arrived.
fn jobs_of(text: &str) -> Vec<std::sync::Arc<hindmost_core::workload::JobSpec>> {
    #[derive(Default)]
    struct Arrivals(Vec<std::sync::Arc<hindmost_core::workload::JobSpec>>);
    impl hindmost_sim::output::Output for Arrivals {
        fn wants_records(&self) -> bool {
            true
        }
        fn record(&mut self, record: &hindmost_core::record::Record) -> std::io::Result<()> {
            if let Change::Event(Event::JobArrived { spec, .. }) = &record.change {
                self.0.push(spec.clone());
            }
            Ok(())
        }
    }
    let experiment = experiment(text);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let control = hindmost_sim::driver::Control { stop: &stop, progress: &|_| {} };
    let mut arrivals = Arrivals::default();
    experiment.run_one(&experiment.policies[0], 1, &mut arrivals, &control).unwrap();
    arrivals.0
}

#[test]
fn queues_of_generated_jobs_change_no_other_draw() {
    let with = jobs_of(SCENARIO);
    let without = jobs_of(&SCENARIO.replacen("queues = {", "# queues = {", 1));
    assert_eq!(with.len(), without.len());
    for (one, other) in with.iter().zip(&without) {
        let alike = hindmost_core::workload::JobSpec { queue: None, ..(**one).clone() };
        assert_eq!(alike, **other);
    }
    let count = with.len() as f64;
    let share = |queue: Option<&str>| with.iter().filter(|job| job.queue.as_deref() == queue).count() as f64 / count;
    for (queue, chance) in [(Some("production"), 0.6), (Some("research.students"), 0.3), (None, 0.1f64)] {
        // The tolerance is four standard errors.
        let error = 4.0 * (chance * (1.0 - chance) / count).sqrt();
        assert!((share(queue) - chance).abs() < error, "{queue:?}: {} ± {error}", share(queue));
    }
    assert!(run_on(&experiment(SCENARIO), 1)[0][0].finished > 500);
}
