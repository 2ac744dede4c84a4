//! Changing rates: noise in the reports of watched attempts, and replacements. `instances/rates.toml` has more.

use hindmost_core::ids::AttemptId;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Change, Condition, Event};
use hindmost_core::time::Time;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;
use hindmost_sim::output::Outcome::{Replaced, Won};
use hindmost_sim::testing::{Run, World};

use crate::instances::passes;

/// Returns the notices about attempts: their time, the expected finish, and whether a condition has come true.
pub(super) fn notices(run: &Run) -> Vec<(f64, Option<f64>, bool)> {
    let notices = run.records.iter().filter_map(|record| match &record.change {
        Change::Event(Event::WatchMet { expected_finish, conditions, .. }) => {
            Some((record.at.seconds(), expected_finish.map(Time::seconds), conditions.is_none()))
        }
        _ => None,
    });
    notices.collect()
}

/// Runs a world under a policy that watches every attempt for a condition and starts no backups.
pub(super) fn watching(world: &World, condition: Condition) -> Run {
    world.run_own(move || passes::watching(condition))
}

#[test]
fn noise_applies_to_the_remaining_time_of_each_report() {
    // One task of 20 s on a node that is four times slower from 12 on.
    let world =
        World::machines(1).neighbour_on(0, 12.0, 1000.0, 4.0).knowledge("progress(0.5)").job("a").tasks([[20.0]]);
    let run = watching(&world.noise(0.5), Condition::Revealed);
    let [(10.0, Some(first), true), (12.0, Some(second), false)] = notices(&run)[..] else {
        panic!("{:?}", notices(&run))
    };
    // 10 s remain at 10, and 32 s at 12. Both are wrong by the same factor.
    let factor = (first - 10.0) / 10.0;
    assert!(factor != 1.0 && ((second - 12.0) / 32.0 - factor).abs() < 1e-9, "{first} {second}");
}

/// Replaces the first attempt of task 0 at a time.
struct ReplaceAt(f64);

impl Pass for ReplaceAt {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Event(Event::JobArrived { .. }, _) = seen {
            view.wake(Time::from_seconds(self.0));
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let cluster = round.cluster();
        if cluster.now() == Time::from_seconds(self.0) {
            let first = |id: &AttemptId| id.task.index == 0 && id.copy == 0;
            let found = cluster.running().map(hindmost_core::cluster::Attempt::id).find(first);
            if let Some(found) = found {
                assert!(round.replace(found));
            }
        }
    }
}

#[test]
fn a_replacement_begins_its_work_under_contention() {
    // Both run at half the rate. At 4 the first attempt is replaced by one of 3 s, which finishes at 10. The second task
    // has then done 5 of 8 s, and does the rest alone.
    let world = World::nodes([[("cpus", 2.0)]]).contention(2.0, 1.0).job("a").tasks([vec![10.0, 3.0], vec![8.0]]);
    let run = world
        .run_own(|| Policy::new(Box::new(Fifo), vec![Box::new(Originals::of(Which::Any)), Box::new(ReplaceAt(4.0))]));
    let expected = [(0, 0, 0, 0.0, 4.0, Replaced), (0, 1, 0, 4.0, 10.0, Won), (1, 0, 0, 0.0, 13.0, Won)];
    assert_eq!(run.table("a"), expected);
    // The replacement takes the same resources at the same time, so the other task's rate changes only at 10.
    assert_eq!(run.result.rate_changes, 1);
}
