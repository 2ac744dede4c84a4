//! `window`: the reasons that it gives for its reservations.

use hindmost_sim::testing::World;

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
