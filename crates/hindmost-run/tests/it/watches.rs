//! Tests with a policy in which several passes watch the same attempts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Change, Condition, Decision, Event};
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;

use crate::crashes::ProcessRun;
use crate::test_run::{TestRun, records, silently};

/// A pass that watches every attempt for one condition.
struct Watches(Condition);

impl Pass for Watches {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Decision(Decision::Start { attempt, .. }) = seen {
            view.watch(*attempt, self.0);
        }
    }

    fn decide(&mut self, _round: &mut Round<'_>) {}
}

const CONDITIONS: [Condition; 4] = [
    Condition::ElapsedAbove(2.0),
    Condition::ElapsedAbove(5.0),
    Condition::RemainingOrElapsedAbove(1.0, 3.0),
    Condition::ElapsedAbove(2.0),
];

fn watched_by_four() -> Policy {
    let passes = CONDITIONS.map(|condition| -> Box<dyn Pass> { Box::new(Watches(condition)) });
    let originals: Box<dyn Pass> = Box::new(Originals::of(Which::Any));
    Policy::new(Box::new(Fifo), std::iter::once(originals).chain(passes).collect())
}

fn one_task() -> TestRun {
    TestRun::on_nodes(1)
        .phase("map", 1)
        .policy("fifo")
        .knowledge("age")
        .own_policy(watched_by_four)
        .behaviour(|_| silently(10.0))
}

/// Returns the conditions that have come true in a journal, for each notification.
fn met(out: &Path) -> Vec<Vec<Condition>> {
    let met = records(out).into_iter().filter_map(|record| match record.change {
        Change::Event(Event::WatchMet { conditions, .. }) => conditions,
        _ => None,
    });
    met.collect()
}

/// Returns the expected notifications. The last condition equals the first one, so it gives no notification of its own.
fn each_once() -> Vec<Vec<Condition>> {
    [0, 2, 1].map(|number| vec![CONDITIONS[number]]).to_vec()
}

#[test]
fn each_pass_is_notified_of_its_condition_once() {
    assert_eq!(met(&one_task().run().done().place.out), each_once());
}

#[test]
fn a_resumed_run_watches_the_same_conditions() {
    let first = one_task().place();
    let mut crashes = BTreeMap::new();
    for calls in 1.. {
        let place = first.another(calls);
        let out = &place.out;
        let mut checked_engine = place.engine();
        checked_engine.dies_after = Some(calls);
        let ProcessRun::Died(left) = place.run_until_death(&mut checked_engine, true) else {
            break;
        };
        let before = met(out).len();
        // For each number of notifications before the death, one such death is tested.
        if out.join(".hindmost/journal.jsonl").metadata().is_ok_and(|found| found.len() > 0)
            && !left.is_empty()
            && crashes.insert(before, calls).is_none()
        {
            let mut checked_engine = place.engine();
            checked_engine.orphans = left;
            assert_eq!(place.run_on(&mut checked_engine).summary.attempts, 1);
            assert_eq!(met(out), each_once(), "after {before} notifications");
        }
        fs::remove_dir_all(out).unwrap();
    }
    assert_eq!(crashes.into_keys().collect::<Vec<_>>(), [0, 1, 2, 3]);
}
