//! Policies continue after the cluster has refused their decisions.

use hindmost_core::cluster::Cluster;
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::JobId;
use hindmost_core::policy::Policy;
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Dimensions;
use hindmost_core::session::{Answers, Session};
use hindmost_core::testing::joined;
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};
use hindmost_policies::catalogue::{ORDERS, SYSTEMS, Setting, build};

/// Runs two rounds of a policy on a cluster of three nodes with two jobs. The first round refuses all decisions, the
/// second accepts them. Returns the decisions and refusals of both.
fn two_rounds(policy: Policy) -> Answers {
    let amounts = |cpus: f64| DemandByName::from([("cpus".to_owned(), cpus), ("memory".to_owned(), cpus * 1e9)]);
    let dimensions = Dimensions::of([&amounts(4.0)]).unwrap();
    let cluster = Cluster::new(dimensions.clone());
    let mut session = Session::new(cluster, policy, estimator(Knowledge::Progress(0.1)));
    session.keep_reasons();
    let mut answers = Answers::default();
    for node in 0..3 {
        let capacity = dimensions.amounts(&amounts(4.0)).unwrap();
        session.step(Time::ZERO, &joined(node, capacity), &mut answers).unwrap();
    }
    for job in 0..2 {
        let phase = |name: &str, after: Vec<u32>| PhaseSpec {
            after,
            demand: amounts(1.0),
            sd: Some(1.0),
            ..PhaseSpec::new(name, 5, 2.0)
        };
        let phases = vec![phase("a", Vec::new()), phase("b", Vec::new()), phase("c", vec![0])];
        let spec = JobSpec::new(format!("j{job}"), phases);
        session.step(Time::ZERO, &Event::JobArrived { job: JobId(job), spec: spec.into() }, &mut answers).unwrap();
    }
    assert!(answers.decisions.is_empty());
    session.refuse_all(true);
    session.step(Time::ZERO, &Event::Round, &mut answers).unwrap();
    assert!(answers.decisions.is_empty(), "{:?}", answers.decisions);
    assert_eq!(session.cluster().running_attempts(), 0);
    let refused = answers.refused.len();
    session.refuse_all(false);
    session.step(Time::ZERO, &Event::Round, &mut answers).unwrap();
    assert_eq!(answers.refused.len(), refused);
    answers
}

#[test]
fn every_policy_starts_tasks_in_the_round_after_refusals() {
    let setting = Setting { order: "fair", gamma: 0.01, queues: &[], live: false };
    for order in ORDERS {
        for system in SYSTEMS {
            let name = format!("{}+{}", order.name, system.name);
            let answers = two_rounds(build(&name.parse().unwrap(), &setting).unwrap());
            let Answers { decisions, refused, reasons } = answers;
            assert!((1..1000).contains(&refused.len()), "{name}: {} refused", refused.len());
            let starts = decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. }));
            assert!(starts.count() >= 10, "{name}: {decisions:?}");
            assert!(reasons.iter().all(|(number, _)| *number < decisions.len()), "{name}");
            assert!(reasons.len() <= decisions.len(), "{name}: there are reasons for refused decisions");
        }
    }
}
