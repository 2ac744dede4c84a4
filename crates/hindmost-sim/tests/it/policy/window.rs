//! `window`: reservations for copies of stragglers, in instances that can be worked out by hand.

use hindmost_core::record::{Change, Decision};
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
