//! `riski`: what it learns, and the reasons that it gives.

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::record::{Change, Event};
use hindmost_sim::testing::World;

#[test]
fn profiles_of_the_same_run_are_learned() {
    // Twelve jobs of one type, one after another, of two tasks of 10 s each on two machines. Nothing is known at first.
    let mut world = World::machines(2).knowledge("profiles");
    for at in 0..12u32 {
        world = world.job(&format!("etl-{at}")).at(20.0 * f64::from(at)).tasks([[10.0], [10.0]]).mean(3.0);
    }
    let run = world.run("riski");
    let learned: Vec<(f64, u32, f64)> = run
        .records
        .iter()
        .filter_map(|record| match &record.change {
            Change::Event(Event::DurationsLearned { samples, durations, .. }) => {
                Some((record.at.seconds(), *samples, durations.mean()))
            }
            _ => None,
        })
        .collect();
    // The second job arrives at 20 and finds the two profiles of the first; each later one finds two more. When the first
    // task of a job finishes, the number has grown by a quarter only from 2 to 3 and from 4 to 5.
    let mut expected: Vec<(f64, u32, f64)> = (1..12u32).map(|at| (20.0 * f64::from(at), 2 * at, 10.0)).collect();
    expected.extend([(30.0, 3, 10.0), (50.0, 5, 10.0)]);
    expected.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert_eq!(learned, expected);
    run.verify().unwrap();
    // Slowdown is measured with the true mean, not with the learned one: 10 s / 3 s.
    assert!((run.job("etl-5").slowdown - 10.0 / 3.0).abs() < 1e-9);
}

#[test]
fn reasons_have_the_ranges() {
    // Policies know that a copy takes 4 to 6 s.
    let world = World::machines(4).job("a").tasks([[5.0, 5.0], [40.0, 5.0]]).tail("uniform(min=4,max=6)");
    let run = world.run("riski");
    let steps = run.explain(TaskId { job: JobId(0), phase: 0, index: 1 }).unwrap();
    let reasons: Vec<&str> = steps.iter().filter_map(|step| step.because.as_deref()).collect();
    let expected = "attempt 0 was expected to end last of its phase, in 40.00 s (40.00 to 40.00 s; the other tasks in 5.00 s); \
                    a backup on this node was expected to take 5.00 s (4.05 to 5.95 s) and to gain";
    assert!(reasons.iter().any(|reason| reason.starts_with(expected)), "{reasons:?}");
    assert!(
        reasons.iter().any(|reason| reason.contains("at most 5.95 s, and this attempt at least 40.00 s")),
        "{reasons:?}"
    );
}
