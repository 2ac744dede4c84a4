//! Tests with a policy that makes impossible decisions, and with a journal that holds impossible records.

use hindmost_core::cluster::{Cluster, Task};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Change, Condition, Decision, Event, Record};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_core::verify::Difference;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;

use crate::test_run::{TestRun, key, records, takes, verified_as};

/// A pass that makes impossible decisions in every round and after each finish of an attempt.
struct ImpossibleDecisions;

fn all_tasks(cluster: &Cluster) -> Vec<(TaskId, Task)> {
    let mut all = Vec::new();
    for job in cluster.jobs() {
        for (phase, found) in (0..).zip(job.phases()) {
            let task = |(index, task): (u32, &Task)| (TaskId { job: job.id(), phase, index }, *task);
            all.extend((0..).zip(found.tasks()).map(task));
        }
    }
    all
}

impl Pass for ImpossibleDecisions {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let Seen::Event(Event::AttemptFinished { attempt }, _) = seen else { return };
        // The wake-up is possible. The watch is not, because attempt 999 was never started.
        view.wake(view.cluster.now());
        view.watch(AttemptId { copy: 999, ..*attempt }, Condition::Revealed);
        view.because(|| "it does not exist".to_owned());
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let nodes = (0..).map(NodeId).zip(round.cluster().nodes());
        let nodes: Vec<(NodeId, bool, Resources)> =
            nodes.map(|(id, node)| (id, node.is_up(), *node.capacity())).collect();
        for (task, found) in all_tasks(round.cluster()) {
            for (node, is_up, _) in &nodes {
                if found.is_finished() || !is_up {
                    assert!(!round.start(task, *node));
                    round.because(|| "nothing".to_owned());
                }
            }
            if found.is_finished() {
                assert!(!round.replace(AttemptId { task, copy: 0 }));
            }
        }
        for (node, _, capacity) in nodes {
            let too_much = Box::new(capacity.plus(&Resources::ONE_SLOT));
            let until = round.cluster().now() + Time::from_seconds(1.0);
            assert!(!round.decide(Decision::Reserve { node, resources: too_much, until, task: None }));
        }
    }
}

fn impossible_decisions() -> Policy {
    Policy::new(Box::new(Fifo), vec![Box::new(ImpossibleDecisions), Box::new(Originals::of(Which::Any))])
}

#[test]
fn a_run_continues_after_refused_decisions() {
    let test_run = TestRun::on("n1:2,n2:2,n3:2").phase("map", 14).phase("reduce", 3).policy("fifo");
    let test_run = test_run.own_policy(impossible_decisions).chaos("lose=n3:15s@5s").behaviour(|_| takes(10.0));
    let ended = test_run.run().done();
    let mut lost = false;
    for record in records(&ended.place.out) {
        match record.change {
            Change::Event(Event::NodeLost { .. }) => lost = true,
            Change::Event(Event::NodeReturned { .. }) => lost = false,
            Change::Decision(Decision::Start { node, .. }) => assert!(!(lost && node == NodeId(2))),
            Change::Decision(
                decision @ (Decision::Reserve { .. } | Decision::Replace { .. } | Decision::Watch { .. }),
            ) => {
                panic!("{decision:?} is in the journal")
            }
            _ => {}
        }
    }
    // Each event and each wake-up has one round.
    assert!(ended.outcome.rounds < 100, "{} rounds", ended.outcome.rounds);
    let messages: Vec<String> = test_run.messages().into_iter().filter(|line| line.contains("impossible")).collect();
    let expected = "the policy made an impossible decision, which is ignored: resources on node 0 can't be reserved";
    assert!(messages.iter().any(|line| line.starts_with(expected)), "{messages:?}");
    let mut once = messages.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), messages.len(), "a message is repeated");
}

#[test]
fn a_journal_has_one_winner_for_each_task() {
    for policy in ["dollymp", "dollymp(keep=best_locality)", "fifo+dollymp(per_node=2,keep=best_locality)", "sca"] {
        // All copies of a task end at the same time.
        let ended = TestRun::on("n1:3,n2:3,n3:3").phase("map", 3).phase("reduce", 1).policy(policy).run().done();
        let records = records(&ended.place.out);
        let finished = |record: &Record| match &record.change {
            Change::Event(Event::AttemptFinished { attempt }) => Some(attempt.task),
            _ => None,
        };
        let mut winners: Vec<TaskId> = records.iter().filter_map(finished).collect();
        winners.sort();
        winners.dedup();
        assert_eq!(winners.len(), records.iter().filter_map(finished).count(), "{policy}");
        // Verification finds a loser that is recorded as finished.
        let mut altered = 0;
        for at in 0..records.len() {
            let mut records = records.clone();
            let Change::Event(Event::AttemptStopped { attempt }) = records[at].change else { continue };
            records[at].change = Change::Event(Event::AttemptFinished { attempt });
            let found = verified_as(&ended.place.out, records, None);
            assert!(matches!(found, Err(Difference::TwoWinners { .. })), "{policy}: {} {found:?}", key(attempt));
            altered += 1;
        }
        assert!(altered > 0, "{policy} has no losers");
    }
}
