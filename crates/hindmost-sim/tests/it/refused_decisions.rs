//! Decisions that the session refuses.

use hindmost_core::cluster::RecordError;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round};
use hindmost_core::record::{Change, Decision};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::testing::World;
use proptest::prelude::*;

use crate::live_like::any_live_like;

/// Makes decisions that the session must refuse: starts on lost nodes, starts of finished tasks and of tasks whose
/// phase is not open, and reservations beyond a node's capacity.
struct RefusedDecisions;

impl Pass for RefusedDecisions {
    fn decide(&mut self, round: &mut Round<'_>) {
        let down = round.cluster().nodes().iter().position(|node| !node.is_up()).map(|node| NodeId(node as u32));
        let mut tasks = Vec::new();
        for job in round.cluster().jobs() {
            for (phase, found) in (0..).zip(job.phases()) {
                for (index, task) in (0..).zip(found.tasks()) {
                    let id = TaskId { job: job.id(), phase, index };
                    tasks.push((id, task.is_finished() || !found.is_open()));
                }
            }
        }
        for (task, is_wrong) in tasks {
            if let Some(down) = down {
                assert!(!round.start(task, down));
            }
            if is_wrong {
                assert!(!round.start(task, NodeId(0)));
                assert!(!round.replace(AttemptId { task, copy: 0 }));
            }
        }
        let until = round.cluster().now() + Time::from_seconds(1.0);
        for node in (0..round.cluster().nodes().len() as u32).map(NodeId) {
            let capacity = round.cluster().node(node).map_or(Resources::NONE, |node| *node.capacity());
            assert!(!round.decide(Decision::Reserve {
                node,
                resources: Box::new(capacity.plus(&Resources::ONE_SLOT)),
                until,
                task: None
            }));
        }
    }
}

fn refused_policy() -> Policy {
    Policy::new(Box::new(Fifo), vec![Box::new(RefusedDecisions), Box::new(Originals::of(Which::Any))])
}

#[test]
fn a_refused_decision_ends_a_simulation() {
    let world = World::machines(2).job("a").same(3, 1.0);
    let error = world.try_run_own(refused_policy).unwrap_err();
    assert!(matches!(error, SimulationError::Record(RecordError::CannotReserve(NodeId(0)))), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hindmost_testing::cases(100, 1000), max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn refused_decisions_change_nothing(world in any_live_like(true)) {
        let ran = world.run(refused_policy()).unwrap();
        ran.is_sound();
        prop_assert!(!ran.refused.is_empty());
        let verified = ran.verify(refused_policy());
        prop_assert!(verified.is_ok(), "{}", verified.unwrap_err());
        let others = world.run(Policy::new(Box::new(Fifo), vec![Box::new(Originals::of(Which::Any))])).unwrap();
        prop_assert_eq!(&ran.records, &others.records);
        for refused in &ran.refused {
            let bad = Change::Decision(refused.decision.clone());
            let reserves = matches!(refused.decision, Decision::Reserve { .. } | Decision::Replace { .. });
            prop_assert!(!reserves || ran.records.iter().all(|record| record.change != bad));
        }
    }
}
