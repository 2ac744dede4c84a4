//! `window`: reservations for copies of stragglers, in instances that can be worked out by hand.

use hindmost_sim::testing::{Run, World};

/// The example of Figure 3 of Zhou et al. 2018, rebuilt from its text: node N1 frees a slot at 2, N2 at 4 and N3 at 11;
/// task T3 on N4 is a straggler; T5 and T6 are pending. The copy of T3 takes 16 on N1, and 11 on N2 and N3. The text
/// gives the copy's durations and ends and the slot-seconds of three mechanisms (72, 77, 70); the durations of T5 (13.2)
/// and T6 (7.8) on N2 and N3 follow from these. The paper's time 0 is 14 s here, because nodes need a past: N2 has run a
/// task of 7 s and N3 one of 14 s. T1 to T6 are the tasks 0, 4, 3, 5, 6 and 7. T3 shows its end at 15 s.
fn figure_3() -> World {
    let work = [11.0, 7.0, 14.0, 100.0, 11.0, 11.0, 13.2, 7.8];
    World::machines(4)
        .speeds([11.0 / 16.0, 1.0, 1.0, 1.0])
        .order("fifo")
        .knowledge("progress(0.15)")
        .job("a")
        .tasks(work.map(|seconds| [seconds, 11.0]))
        .mean(11.0)
}

/// Returns the paper's time at which T3 ends and the slot-seconds from the paper's time 0 on.
fn outcome(run: &Run) -> (f64, f64) {
    let end = run.tries("a").iter().filter(|one| one.id.task.index == 3).map(|one| one.end).fold(0.0, f64::max);
    let spent = run.tries("a").iter().map(|one| (one.end - one.start.max(14.0)).max(0.0)).sum();
    (end - 14.0, spent)
}

fn assert_outcome(policy: &str, end: f64, slot_seconds: f64) {
    let found = outcome(&figure_3().run(policy));
    let near = (found.0 - end).abs() < 1e-6 && (found.1 - slot_seconds).abs() < 1e-6;
    assert!(near, "{policy}: {found:?}, not {:?}", (end, slot_seconds));
}

#[test]
fn figure_3_is_reproduced() {
    // Early: the first slot that comes free is on N1. Late: T5 and T6 start first, then N3 has the next free slot.
    assert_outcome("mantri", 18.0, 72.0);
    assert_outcome("hadoop", 22.0, 77.0);
    // The window from 15 s to 20 s contains the slots of N1 (at 16 s) and N2 (at 18 s). The last task took 7 s on N2; on
    // N1 none has ended, so 11 s / (11/16) = 16 s are expected. N2 saves more time and more energy.
    assert_outcome("window(window=0.7142857142857143)", 15.0, 70.0);
    assert_outcome("hete_aware(window=0.7142857142857143)", 22.0, 77.0);
}

#[test]
fn the_example_needs_both_looking_ahead_and_choosing() {
    // The first slot that saves time and energy is that of N1: the outcome of the early mechanism.
    assert_outcome("window(window=0.7142857142857143,choice=first)", 18.0, 72.0);
    // At 15 s and 20 s no slot is free, and tasks take the slots of N1 and N2 in between. At 25 s that of N3 is free.
    assert_outcome("window(window=0.7142857142857143,look_ahead=false)", 22.0, 77.0);
}

#[test]
fn variants_of_window_in_the_example() {
    // The first slot that comes free is N1's, and a copy there saves time and energy.
    assert_outcome("window(window=0.7142857142857143,look_ahead=false,anytime=true)", 18.0, 72.0);
    // T5 and T6 start first; then the window contains no slot but N3's.
    assert_outcome("window(window=0.7142857142857143,originals_first=true)", 22.0, 77.0);
    assert_outcome("window(window=0.7142857142857143,saves=time)", 15.0, 70.0);
}

#[test]
fn copies_may_be_judged_by_time_alone() {
    // From 10 s on the straggler has 16 s left and a copy takes 10 s: 6 s are saved, and 10 − 6 core-seconds lost.
    let world = || World::machines(2).knowledge("oracle").job("a").tasks([[26.0, 10.0], [10.0, 10.0]]).mean(10.0);
    assert_eq!(world().run("window(window=1,slow=1)").backups("a"), []);
    let run = world().run("window(window=1,slow=1,saves=time)");
    assert_eq!((run.backups("a"), run.job("a").finish), (vec![(0, 10.0)], 20.0));
}

#[test]
fn the_slots_that_copies_could_choose_from_are_counted() {
    // The window of the example contains the slots of N1 and N2.
    let counts = figure_3().run("window(window=0.7142857142857143)").result.counts;
    assert_eq!(counts, [("copies_placed", 1), ("slots_offered", 2)].into());
    assert!(figure_3().run("mantri").result.counts.is_empty());
}

/// Nodes of two cpus. Task 0 of `a` (two cpus) is a straggler on node 0, task 1 runs on node 1 until 20, the tasks of `b`
/// (one cpu) on node 2 until 12 and 14. Four tasks of `c` are pending. A window is 20 long.
fn gathered() -> World {
    World::nodes([[("cpus", 2.0)]; 3])
        .order("fifo")
        .job("a")
        .tasks([[100.0, 10.0], [20.0, 20.0]])
        .mean(20.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .tasks([[12.0, 12.0], [14.0, 14.0]])
        .demand([("cpus", 1.0)])
        .job("c")
        .same(4, 3.0)
        .demand([("cpus", 1.0)])
}

#[test]
fn resources_for_a_copy_are_gathered_from_several_ends() {
    // The copy is expected to take the mean of 20, from 14 on: it saves 100 − 34 = 66. The cpu that comes free at 12 is kept.
    let run = gathered().run("window(window=1)");
    assert_eq!(run.backups("a"), [(0, 14.0)]);
    assert_eq!(run.tries("a")[1].node, 2);
    assert_eq!(run.starts("c"), [20.0, 20.0, 23.0, 23.0]);
    assert_eq!(run.job("a").finish, 24.0);
    run.verify().unwrap();
    // Without reservations, tasks of `c` take both cpus.
    assert_eq!(gathered().run("hete_aware(window=1)").starts("c")[..2], [12.0, 14.0]);
}

#[test]
fn explain_says_why_a_slot_was_reserved_and_for_which_task() {
    let run = gathered().run("window(window=1)");
    let straggler = run.tries("a")[0].id.task;
    let steps = run.explain(straggler).unwrap();
    let reserved = steps.iter().find(|step| step.what.contains("reserved")).unwrap();
    assert_eq!(reserved.what, "resources on node-2 are reserved for a new copy until 20.00 s");
    let why = reserved.because.as_deref().unwrap();
    let text = "a slot there is expected to come free at 14.00 s, for a copy of attempt 0: attempt 0 runs at 0.33 times the \
                mean rate of its phase and has 100.00 s left; a copy is expected to take 20.00 s there, and to save 66.00 s \
                and 92.00 core-seconds";
    assert_eq!(why, text);
    let started = steps.iter().find(|step| step.copy == Some(1)).unwrap();
    assert!(started.because.as_deref().unwrap().starts_with("its slot was reserved and is free now"), "{started:?}");
    // Nothing was reserved for other tasks.
    let other = run.tries("b")[0].id.task;
    assert!(run.explain(other).unwrap().iter().all(|step| !step.what.contains("reserved")));
}

#[test]
fn a_reservation_on_a_lost_node_is_made_again_elsewhere() {
    // Node 2 is lost at 13. The next window begins at 20, when node 1 comes free: the copy starts there before the tasks
    // of `b` and `c`.
    let run = gathered().outage(2, 13.0, f64::INFINITY).run("window(window=1)");
    assert_eq!(run.backups("a"), [(0, 20.0)]);
    run.verify().unwrap();
    // In a slotted run, the slots of the window come free between two decisions. The copy starts at the first one.
    assert_eq!(gathered().slot(5.0).run("window(window=1)").backups("a"), [(0, 15.0)]);
}

#[test]
fn a_policy_reserves_for_stragglers_of_several_jobs() {
    // Each of two jobs has a straggler; one slot comes free at 10 and one at 11. The first window of b is 11 long and
    // contains the slot of 10; that of a is 10 long and does not. The second window of a contains the slot of 11.
    let world = World::machines(4).order("fifo");
    let world = world.job("a").tasks([[90.0, 10.0], [10.0, 10.0]]).mean(10.0);
    let world = world.job("b").tasks([[80.0, 10.0], [11.0, 11.0]]).mean(10.0).job("c").same(3, 5.0);
    let run = world.run("window(window=1)");
    assert_eq!((run.backups("a"), run.backups("b")), (vec![(0, 11.0)], vec![(0, 10.0)]));
    assert_eq!(run.starts("c"), [20.0, 20.0, 21.0]);
    run.verify().unwrap();
}
