//! What holds for every policy of the catalogue: one property of simulated runs and one of runs that are like live ones. Both draw
//! worlds and policies and try a list of invariants. Random draws may miss a combination of an order and a system, so the
//! last tests run each of them once.

mod abandoning;
mod energy;
mod invariants;
mod policies;
mod queues;
pub mod worlds;

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::journal::JournalReader;
use hindmost_core::record::{Change, Decision, Record};
use hindmost_core::testing::AtDeadline;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::World;
use hindmost_testing::cases;
use proptest::prelude::*;

use crate::audit::{audit, audit_abandonments, audit_as};
use crate::live_like::{LiveLike, any_live_like, any_policy_of_the_catalogue, policy};
use abandoning::{abandoning, one_in};
use invariants::{Case, OF_ANOTHER_RUN, OF_THE_RUN};
pub use policies::{any_knowledge, any_policy};
use worlds::{Happening, any_world};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1800, 18_000), max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn simulated_runs_keep_the_invariants(
        (world, happening) in any_world(),
        policy in any_policy(),
        other in any_policy(),
        number in any::<u64>(),
        which in 0..OF_ANOTHER_RUN.len(),
    ) {
        let mut policy = policy;
        if matches!(happening, Happening::Queues) {
            let system = policy.name.rsplit('+').next().unwrap_or_default();
            policy.name = format!("capacity+{system}");
        }
        let run = match world.try_run(&policy.name) {
            Ok(run) => run,
            Err(error) => {
                // In a small cluster the maximum of a queue may be less than one copy demands.
                let is_known = error.to_string().contains("more than the maximum capacity of its queue");
                prop_assert!(is_known && matches!(happening, Happening::Queues), "{}: {}", policy.name, error);
                return Ok(());
            }
        };
        let case = Case { world, happening, policy, other: other.name, number, run };
        for holds in OF_THE_RUN.iter().chain([&OF_ANOTHER_RUN[which]]) {
            holds(&case);
        }
    }
}

/// Runs a policy in a world that is like a live one, and asserts what holds for such runs. `number` is that of [`abandoning`].
fn live_run_keeps_the_invariants(world: &LiveLike, name: &str, number: Option<u64>) {
    let make = || number.map_or_else(|| policy(name), |number| abandoning(name, number));
    let ran = world.run(make()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(ran.refused.is_empty(), "{name}: {:?}", ran.refused);
    ran.is_sound();
    if let Some(number) = number {
        assert!(one_in(number) > 1 || ran.abandoned().len() == world.jobs.len());
        ran.leaves_nothing_behind();
    }
    ran.verify(make()).unwrap_or_else(|error| panic!("{name}: {error}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(800, 8000), max_shrink_iters: 400, ..ProptestConfig::default() })]

    /// Nodes are lost and return, attempts fail, tasks may be finished before the run, jobs may be abandoned.
    #[test]
    fn live_runs_keep_the_invariants(
        world in any::<bool>().prop_flat_map(any_live_like),
        name in any_policy_of_the_catalogue(),
        number in proptest::option::of(any::<u64>()),
    ) {
        live_run_keeps_the_invariants(&world, &name, number);
    }
}

/// Returns all combinations of orders and systems.
fn all_combinations() -> impl Iterator<Item = String> {
    let of = |order: &'static str| SYSTEMS.iter().map(move |system| format!("{order}+{}", system.name));
    ORDERS.iter().flat_map(move |order| of(order.name))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2, 6), max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn every_order_with_every_system_finishes_despite_losses(
        world in any_live_like(false), finished in any_live_like(true),
    ) {
        for name in all_combinations().chain(SYSTEMS.iter().map(|system| system.name.to_owned())) {
            live_run_keeps_the_invariants(&world, &name, None);
            live_run_keeps_the_invariants(&finished, &name, None);
        }
    }
}

#[test]
fn every_order_with_every_system_passes_the_audit() {
    let world = World::machines(5)
        .knowledge("progress(0.2)")
        .job("a")
        .phase("m")
        .drawn(12, "pareto(alpha=1.5,mean=2)")
        .phase("r")
        .after(["m"])
        .drawn(3, "pareto(alpha=2,mean=1)")
        .job("b")
        .at(0.7)
        .deadline(2.5)
        .drawn(6, "pareto(alpha=1.2,mean=1)")
        .job("c")
        .at(1.5)
        .deadline(0.5)
        .drawn(7, "weibull(shape=0.4,mean=2)")
        .job("d")
        .at(1.5)
        .drawn(1, "log_normal(mean=5,cv=3)");
    for name in all_combinations() {
        for world in [world.clone(), world.clone().slot(0.5)] {
            let run = world.run(&name);
            let verified = run.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(verified.decisions >= 25);
            audit(&world, &run);
        }
        // And if it abandons jobs at their deadlines.
        let named = name.clone();
        let run = world.run_own(move || policy(&named).with_pass(0, Box::new(AtDeadline)));
        audit_as(&world, &run, &name);
        audit_abandonments(&run);
        run.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// JSON has no infinity, so a limit that overflows must be written as a value that can be read again.
#[test]
fn a_journal_with_infinite_limits_can_be_read_again() {
    let world = World::machines(4).job("a").drawn(3, "pareto(alpha=2,mean=100)");
    for policy in
        ["sda(sigma=1e308,max_copies=2)", "ese(sigma=1e308)", "spark(multiplier=1e308)", "late(min_age=1e300)"]
    {
        for knowledge in ["oracle", "age"] {
            let run = world.clone().knowledge(knowledge).run(policy);
            let journal = run.journal();
            let read: Result<Vec<Record>, _> = JournalReader::new(&journal[..]).unwrap().collect();
            match read {
                Ok(records) => assert_eq!(records, run.records),
                Err(error) => panic!("{policy}, {knowledge}: {error}"),
            }
        }
    }
}

#[test]
fn jobs_with_finished_tasks_run_in_simulations() {
    let mut world = World::machines(2).job("a").phase("m").same(4, 2.0).phase("r").after(["m"]).same(2, 1.0);
    world.jobs[0].spec.phases[0].finished = vec![0, 1, 2, 3];
    world.jobs[0].spec.phases[1].finished = vec![1];
    for name in all_combinations() {
        let run = world.run(&name);
        assert!(run.starts("a").iter().all(|start| *start == 0.0), "{name}");
        let job = run.job("a");
        assert_eq!((job.tasks, job.finish, job.slowdown), (6, 1.0, 1.0), "{name}");
        assert!(run.verify().is_ok());
        let left = TaskId { job: JobId(0), phase: 1, index: 0 };
        assert!(run.attempts.iter().all(|one| one.id.task == left), "{name}: {:?}", run.attempts);
    }
}

#[test]
fn an_abandoned_job_frees_its_machines_at_once() {
    // Two machines. Job a runs two of its three tasks of 9 s; at its deadline, 4, it is abandoned, and job b takes both
    // machines for its tasks of 1 s.
    let world = World::machines(2).job("a").deadline(4.0).same(3, 9.0).job("b").at(1.0).same(2, 1.0);
    let run = world.run_own(|| policy("fifo+none").with_pass(0, Box::new(AtDeadline)));
    audit(&world, &run);
    audit_abandonments(&run);
    let ended: Vec<_> = run.tries("a").iter().map(|one| (one.start, one.end, one.outcome)).collect();
    assert_eq!(ended, [(0.0, 4.0, Outcome::Abandoned), (0.0, 4.0, Outcome::Abandoned)]);
    assert_eq!((run.starts("b"), run.job("b").finish), (vec![4.0, 4.0], 5.0));
    let result = &run.result;
    assert_eq!((result.finished, result.unfinished, result.abandoned), (1, 0, 1));
    assert_eq!((result.deadlines, result.met_deadlines, result.undecided_deadlines), (1, 0, 0));
    assert_eq!((result.tasks, result.attempts), (5, 4));
    let abandoned =
        run.records.iter().filter(|record| matches!(record.change, Change::Decision(Decision::Abandon { .. })));
    assert_eq!(abandoned.map(|record| record.at.seconds()).collect::<Vec<_>>(), [4.0]);
    let steps = run.explain(run.attempts[0].id.task).unwrap();
    let texts: Vec<&str> = steps.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(
        texts,
        [
            "started on machine-0",
            "the job is abandoned; this task gets no result",
            "is stopped: its job is abandoned",
            "stopped after 4.00 s"
        ]
    );
}

#[test]
fn a_job_that_waits_can_be_abandoned() {
    // The only machine is busy until 10, so job b never starts and leaves in the round that abandons it, at 3.
    let world = World::machines(1).job("a").same(1, 10.0).job("b").at(1.0).deadline(2.0).same(2, 1.0);
    let run = world.run_own(|| policy("fifo+none").with_pass(0, Box::new(AtDeadline)));
    audit(&world, &run);
    assert!(run.tries("b").is_empty());
    assert_eq!((run.result.finished, run.result.abandoned, run.result.makespan), (1, 1, 10.0));
}
