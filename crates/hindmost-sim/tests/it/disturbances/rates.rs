//! Contention and neighbours' load, worked by hand.

use hindmost_core::ids::AttemptId;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Change, Condition, Decision, Event};
use hindmost_core::time::Time;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;
use hindmost_sim::output::Outcome::{Lost, NodeLost, Replaced, Won};
use hindmost_sim::testing::{Run, World};

const TICK: f64 = 1e-9;

fn ends(run: &Run, job: &str) -> Vec<f64> {
    run.tries(job).iter().map(|one| one.end).collect()
}

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

fn rounds(run: &Run) -> Vec<f64> {
    let rounds = run.records.iter().filter(|record| record.change == Change::Event(Event::Round));
    rounds.map(|record| record.at.seconds()).collect()
}

/// Watches every attempt for one condition from its start on.
struct Watching(Condition);

impl Pass for Watching {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Decision(Decision::Start { attempt, .. }) = seen {
            view.watch(*attempt, self.0);
        }
    }
}

/// Runs a world under a policy that watches every attempt for a condition and starts no backups.
pub(super) fn watching(world: &World, condition: Condition) -> Run {
    world.run_own(move || {
        Policy::new(Box::new(Fifo), vec![Box::new(Originals::of(Which::Any)), Box::new(Watching(condition))])
    })
}

#[test]
fn two_tasks_on_one_node_slow_each_other_down() {
    // Each has the other on the whole rest of the node, so both take 2.5 times as long. The second one finishes at
    // 4 · 2.5 = 10. The first has then done 4 of its 10 s, and does the other 6 s alone.
    let world = World::nodes([[("cpus", 2.0)]]).contention(2.5, 1.0).job("a").tasks([[10.0], [4.0]]);
    let run = world.run("none");
    assert_eq!(ends(&run, "a"), [16.0, 10.0]);
    assert_eq!(run.result.rate_changes, 1);
    assert!(run.verify().is_ok());
}

#[test]
fn a_task_that_arrives_slows_the_running_one_down() {
    // The first task does 5 s alone, 4 s from 5 to 15, and the last second alone.
    let world = World::nodes([[("cpus", 2.0)]]).contention(2.5, 1.0);
    let run = world.job("a").tasks([[10.0]]).job("b").at(5.0).tasks([[4.0]]).run("none");
    assert_eq!((ends(&run, "a"), ends(&run, "b")), (vec![16.0], vec![15.0]));
}

#[test]
fn the_exponent_bends_contention() {
    // Three CPUs: the other task holds half of the rest, so the slow-down is 1 + 1·(1/2)² = 1.25.
    let run = World::nodes([[("cpus", 3.0)]]).contention(2.0, 2.0).job("a").tasks([[4.0], [4.0]]).run("none");
    assert_eq!(ends(&run, "a"), [5.0, 5.0]);
}

#[test]
fn contention_multiplies_with_the_speed_of_the_node() {
    // At half the speed, 4 s of work take 8 s alone and 16 s beside another task.
    let world = World::nodes([[("cpus", 2.0)]]).speeds([0.5]).contention(2.0, 1.0);
    assert_eq!(ends(&world.job("a").tasks([[4.0], [4.0]]).run("none"), "a"), [16.0, 16.0]);
}

#[test]
fn one_slot_nodes_have_no_contention() {
    let run = World::machines(2).contention(3.0, 1.0).job("a").tasks([[4.0], [4.0], [1.0]]).run("none");
    assert_eq!(ends(&run, "a"), [4.0, 4.0, 5.0]);
    assert_eq!(run.result.rate_changes, 0);
}

#[test]
fn a_neighbour_that_comes_slows_a_running_task_down() {
    // 10 s of work until 10, 5/3 s until 15 at a third of the rate, and the other 25/3 s at the full rate.
    let run = World::machines(1).neighbour_on(0, 10.0, 5.0, 3.0).job("a").tasks([[20.0]]).run("none");
    assert_eq!(ends(&run, "a"), [23.333_333_333]);
    assert_eq!(run.result.rate_changes, 2);
    // The policy observes no change, so it decides at the arrival and at the finish only.
    assert_eq!(rounds(&run), [0.0, 23.333_333_333]);
}

#[test]
fn a_task_that_ends_when_the_neighbour_comes_is_not_slowed() {
    let run = World::machines(1).neighbour_on(0, 10.0, 5.0, 3.0).job("a").tasks([[10.0], [5.0]]).run("none");
    // The second task does 5/3 s until 15, and the other 10/3 s after that.
    assert_eq!(ends(&run, "a"), [10.0, 18.333_333_333]);
}

#[test]
fn a_neighbour_comes_and_goes_while_the_node_is_idle() {
    // Busy from 10 to 15, from 25 to 30 and from 40 to 45: at 41 the task does a third of a second per second until 45.
    let world = World::machines(1).neighbour_on(0, 10.0, 5.0, 3.0).job("a").at(41.0).tasks([[2.0]]);
    assert_eq!(ends(&world.run("none"), "a"), [45.0 + 2.0 - 4.0 / 3.0].map(|end: f64| (end * 1e9).round() / 1e9));
}

#[test]
fn contention_and_neighbours_multiply() {
    // From 10 on each task runs at 1/(2·3) of its rate: 5 s are done at 10, and the last 1 s takes 6 s.
    let world = World::nodes([[("cpus", 2.0)]]).contention(2.0, 1.0).neighbour_on(0, 10.0, 99.0, 3.0);
    assert_eq!(ends(&world.job("a").tasks([[6.0], [6.0]]).run("none"), "a"), [16.0, 16.0]);
}

/// One task of 20 s on a node that is four times slower from 12 on.
fn slowed_at_12() -> World {
    World::machines(1).neighbour_on(0, 12.0, 1000.0, 4.0).knowledge("progress(0.5)").job("a").tasks([[20.0]])
}

#[test]
fn a_changed_finish_is_reported_after_the_reveal() {
    // Half of the work is done at 10: the finish is expected at 20. From 12 on the other 8 s take 32 s.
    let run = watching(&slowed_at_12(), Condition::Revealed);
    assert_eq!(notices(&run), [(10.0, Some(20.0), true), (12.0, Some(44.0), false)]);
    assert_eq!(ends(&run, "a"), [44.0]);
    assert_eq!(rounds(&run), [0.0, 10.0, 12.0, 44.0]);
}

#[test]
fn a_change_before_the_reveal_is_part_of_it() {
    // Three quarters of the work are done at 12 + 3·4 = 24; the last 5 s take 20 s.
    let run = watching(&slowed_at_12().knowledge("progress(0.75)"), Condition::Revealed);
    assert_eq!(notices(&run), [(24.0, Some(44.0), true)]);
}

#[test]
fn the_oracle_knows_the_present_rate_but_no_future_change() {
    let run = watching(&slowed_at_12().knowledge("oracle"), Condition::Revealed);
    assert_eq!(notices(&run), [(0.0, Some(20.0), true), (12.0, Some(44.0), false)]);
}

#[test]
fn age_observes_no_change() {
    let run = watching(&slowed_at_12().knowledge("age"), Condition::ElapsedAbove(30.0));
    assert_eq!(notices(&run), [(30.0 + TICK, None, true)]);
    assert_eq!(rounds(&run), [0.0, 30.0 + TICK, 44.0]);
}

#[test]
fn a_remaining_time_grows_above_its_limit_by_a_change() {
    // At the reveal 10 s remain, and at 12 there are 32 s.
    let run = watching(&slowed_at_12(), Condition::RemainingAbove(12.0));
    assert_eq!(notices(&run), [(12.0, Some(44.0), true)]);
    assert_eq!(notices(&watching(&slowed_at_12(), Condition::RemainingAbove(32.0))), []);
}

#[test]
fn an_attempt_lags_by_a_change_alone() {
    // 60% of the work are done at 12, and 1/80 in each second after that. The average progress falls below 0.04 when
    // 0.6 + (t − 12)/80 = 0.04·t, at t = 0.45/0.0275.
    let run = watching(&slowed_at_12(), Condition::Lagging { rate: 0.04, after: 3.0 });
    assert_eq!(notices(&run), [(16.363_636_365, Some(44.0), true)]);
    // With a rate of 0.049, just below the average up to 12, this happens at 0.45/0.0365.
    let run = watching(&slowed_at_12(), Condition::Lagging { rate: 0.049, after: 3.0 });
    assert_eq!(notices(&run), [(12.328_767_124, Some(44.0), true)]);
    // After the last change it never falls below 1/44.
    assert_eq!(notices(&watching(&slowed_at_12(), Condition::Lagging { rate: 0.0227, after: 3.0 })), []);
    assert_eq!(notices(&watching(&slowed_at_12().knowledge("age"), Condition::Lagging { rate: 1.0, after: 0.0 })), []);
}

#[test]
fn a_policy_notified_of_the_age_is_notified_of_the_reveal() {
    // The age is above 4 before half of the work is done at 10; then 10 s remain.
    let run = watching(&slowed_at_12(), Condition::RemainingOrElapsedAbove(99.0, 4.0));
    assert_eq!(notices(&run), [(4.0 + TICK, None, true), (10.0, Some(20.0), true), (12.0, Some(44.0), false)]);
    // The remaining time is revealed first, and is above 15 s only after the change.
    let run = watching(&slowed_at_12(), Condition::RemainingOrElapsedAbove(15.0, 11.0));
    assert_eq!(notices(&run), [(12.0, Some(44.0), true)]);
}

#[test]
fn an_attempt_that_becomes_faster_finishes_before_a_watched_age() {
    // Alone from 10 on, the first task finishes at 16; at the rate of the start it would have finished at 25.
    let world = World::nodes([[("cpus", 2.0)]]).contention(2.5, 1.0).job("a").tasks([[10.0], [4.0]]);
    let run = watching(&world, Condition::ElapsedAbove(15.5));
    assert_eq!(notices(&run), [(15.5 + TICK, None, true)]);
    assert_eq!(notices(&watching(&world, Condition::ElapsedAbove(17.0))), []);
}

#[test]
fn a_slow_copy_seems_normal_until_it_becomes_slow_at_any_rate() {
    // With a mean of 10 s and slow_from = 0.5, the first half of the 20 s of work takes 5 s, and the second half 15 s.
    // At 12 a neighbour makes everything four times slower: 12 s of work are done, and 8 s remain. Progress is then
    // 0.5 + 0.5·7/15, and grows by 1/120 in each second. It falls behind 0.06·t where 11/15 − 0.72 = (0.06 − 1/120)·(t − 12).
    let world = slowed_at_12().mean(10.0).slow_from(0.5);
    let run = watching(&world, Condition::Lagging { rate: 0.06, after: 0.0 });
    let [(at, Some(44.0), true)] = notices(&run)[..] else { panic!("{:?}", notices(&run)) };
    assert!((at - (12.0 + (11.0 / 15.0 - 0.72) / (0.06 - 1.0 / 120.0))).abs() < 2e-9, "{at}");
    // At the full rate it falls behind 0.08·t at 0.5 + (t − 5)/30 = 0.08·t.
    let run = watching(&world, Condition::Lagging { rate: 0.08, after: 0.0 });
    let at = notices(&run)[0].0;
    assert!((at - (0.5 - 1.0 / 6.0) / (0.08 - 1.0 / 30.0)).abs() < 2e-9, "{at}");
}

#[test]
fn a_backup_starts_because_of_a_change() {
    // 32 s remain at 12, above 1.5 mean durations. The backup on the other machine takes 3 s.
    let world = World::machines(2).neighbour_on(0, 12.0, 1000.0, 4.0).knowledge("progress(0.5)");
    let world = world.job("a").tasks([[20.0, 3.0]]);
    assert_eq!(
        world.run("sda(sigma=1.5,max_copies=2)").table("a"),
        [(0, 0, 0, 0.0, 15.0, Lost), (0, 1, 1, 12.0, 15.0, Won)]
    );
    let quiet = World::machines(2).knowledge("progress(0.5)").job("a").tasks([[20.0, 3.0]]);
    assert_eq!(quiet.run("sda(sigma=1.5,max_copies=2)").backups("a"), []);
}

#[test]
fn noise_applies_to_the_remaining_time_of_each_report() {
    let run = watching(&slowed_at_12().noise(0.5), Condition::Revealed);
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

#[test]
fn a_lost_node_slows_nobody_down() {
    // Node 0 with two tasks is lost at 4. Both start again at 6 on the node that has returned; nothing of the work counts.
    let world = World::nodes([[("cpus", 2.0)]]).contention(2.0, 1.0).outage(0, 4.0, 6.0);
    let run = world.job("a").tasks([[10.0, 3.0], [8.0, 1.0]]).run("none");
    let mut table = run.table("a");
    table.sort_by_key(|row| (row.0, row.1));
    assert_eq!(table[0], (0, 0, 0, 0.0, 4.0, NodeLost));
    // The shorter one takes 2 s, and the other one does the remaining 2 s alone.
    assert_eq!(table[1], (0, 1, 0, 6.0, 10.0, Won));
    assert_eq!(table[3], (1, 1, 0, 6.0, 8.0, Won));
}

#[test]
fn decisions_wait_for_slots_but_rates_do_not() {
    // The second task finishes at 5, within a slot of 4 s; the first one speeds up at once.
    let world = World::nodes([[("cpus", 2.0)]]).slot(4.0).contention(2.5, 1.0).job("a").tasks([[10.0], [2.0], [1.0]]);
    let run = world.run("none");
    // At 5 the first has done 2 s; at 8 it has done 5 s, and the third task starts. That one finishes at 10.5.
    assert_eq!(ends(&run, "a"), [14.5, 5.0, 10.5]);
}
