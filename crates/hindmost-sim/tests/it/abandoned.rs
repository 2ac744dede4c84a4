//! Jobs that a policy abandons, under every order and system: nothing of them starts later, and their resources come free.

use hindmost_core::cluster::Job;
use hindmost_core::ids::JobId;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Change, Decision, Event};
use hindmost_math::random::mix;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::World;
use proptest::prelude::*;

use crate::audit::{audit, audit_abandonments, audit_as};
use crate::live_like::{any_live_like, any_policy_of_the_catalogue, policy};
use crate::properties::{any_cluster_of_dags, any_policy};

/// Abandons, in each round, about one of `one_in` of the jobs that are not over. The choice depends only on the seed, the
/// time and the job, so a replay makes the same one.
struct AtRandom {
    seed: u64,
    one_in: u64,
}

impl Pass for AtRandom {
    fn decide(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let drawn = |job: &&Job| mix(mix(self.seed ^ now.0) ^ u64::from(job.id().0)).is_multiple_of(self.one_in);
        let chosen = round.cluster().jobs().filter(|job| !job.is_over()).filter(drawn);
        for job in chosen.map(Job::id).collect::<Vec<JobId>>() {
            assert!(round.abandon(job));
        }
    }
}

/// Abandons each job at its deadline.
struct AtDeadline;

impl Pass for AtDeadline {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let Seen::Event(Event::JobArrived { job, .. }, _) = seen else { return };
        if let Some(deadline) = view.cluster.job(*job).and_then(Job::deadline) {
            view.wake(deadline);
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let late = |job: &&Job| !job.is_over() && job.deadline().is_some_and(|deadline| deadline <= now);
        for job in round.cluster().jobs().filter(late).map(Job::id).collect::<Vec<JobId>>() {
            assert!(round.abandon(job));
        }
    }
}

fn abandoning(name: &str, at: usize, (seed, one_in): (u64, u64)) -> Policy {
    policy(name).with_pass(at, Box::new(AtRandom { seed, one_in }))
}

fn any_share() -> impl Strategy<Value = u64> {
    proptest::sample::select(vec![1, 3, 10, 40])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(400, 4000)))]

    #[test]
    fn nothing_of_an_abandoned_job_starts(
        world in any_live_like(false),
        name in any_policy_of_the_catalogue(),
        at in 0..4usize,
        seed in any::<u64>(),
        one_in in any_share(),
    ) {
        let make = || abandoning(&name, at, (seed, one_in));
        let ran = world.run(make()).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
        prop_assert!(ran.refused.is_empty(), "{name}: {:?}", ran.refused);
        prop_assert!(one_in > 1 || ran.abandoned().len() == world.jobs.len());
        ran.is_sound();
        ran.leaves_nothing_behind();
        let verified = ran.verify(make());
        prop_assert!(verified.is_ok(), "{name}: {}", verified.unwrap_err());
    }

    #[test]
    fn simulations_with_abandoned_jobs_pass_the_audit(
        world in any_cluster_of_dags(),
        name in any_policy(),
        at in 0..4usize,
        seed in any::<u64>(),
        one_in in any_share(),
    ) {
        let named = name.clone();
        let run = world.run_own(move || abandoning(&named, at, (seed, one_in)));
        audit_as(&world, &run, &name);
        let verified = run.verify();
        prop_assert!(verified.is_ok(), "{name}: {}", verified.unwrap_err());
    }
}

/// Random draws may miss a combination of order and system, so this test runs each of them once.
#[test]
fn every_order_with_every_system_forgets_an_abandoned_job() {
    let world = World::machines(4)
        .knowledge("progress(0.2)")
        .job("a")
        .phase("m")
        .drawn(9, "pareto(alpha=1.5,mean=2)")
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
        .drawn(7, "weibull(shape=0.4,mean=2)");
    for order in ORDERS {
        for system in SYSTEMS {
            let name = format!("{}+{}", order.name, system.name);
            let named = name.clone();
            let run = world.run_own(move || policy(&named).with_pass(0, Box::new(AtDeadline)));
            audit_as(&world, &run, &name);
            audit_abandonments(&run);
            run.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
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
