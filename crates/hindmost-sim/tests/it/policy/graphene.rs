//! The order `graphene`, by instances small enough to be worked out by hand.

use hindmost_sim::testing::World;

/// Phases of one task: name, seconds, cpus, parents.
type Phases = [(&'static str, f64, f64, &'static [&'static str])];

fn on_four_cpus(phases: &Phases) -> World {
    let mut world = World::nodes([[("cpus", 4.0)]]).job("a");
    for (name, seconds, cpus, after) in phases {
        world = world.phase(name).after(after.iter().copied()).same(1, *seconds).demand([("cpus", *cpus)]);
    }
    world
}

#[test]
fn a_long_narrow_phase_is_scheduled_early() {
    // x1 → x2 → x3, each 4 s and 3 cpus; y (1 s, 2 cpus) → z (10 s, 1 cpu). z fits beside an x, y does not.
    //
    // By the longest path, x1 is first (12 s against 11), and at 4 it is y's turn (11 against 8): x2 waits
    // for it until 5, and all is over at 15. Phases in this order are served so:
    let by_path = on_four_cpus(&[
        ("x1", 4.0, 3.0, &[]),
        ("y", 1.0, 2.0, &[]),
        ("z", 10.0, 1.0, &["y"]),
        ("x2", 4.0, 3.0, &["x1"]),
        ("x3", 4.0, 3.0, &["x2"]),
    ]);
    let run = by_path.run("fifo");
    assert_eq!(run.starts("a"), [0.0, 4.0, 5.0, 5.0, 9.0]);
    assert_eq!(run.job("a").finish, 15.0);
    // By packing alone every x goes before y, which fills less: 12 + 1 + 10.
    let by_packing = on_four_cpus(&[
        ("x1", 4.0, 3.0, &[]),
        ("x2", 4.0, 3.0, &["x1"]),
        ("x3", 4.0, 3.0, &["x2"]),
        ("y", 1.0, 2.0, &[]),
        ("z", 10.0, 1.0, &["y"]),
    ]);
    let run = by_packing.run("fifo");
    assert_eq!(run.starts("a"), [0.0, 4.0, 8.0, 12.0, 13.0]);
    assert_eq!(run.job("a").finish, 23.0);
    // z is troublesome: y goes before it, and the x beside it. No schedule is shorter, for y is beside no x.
    let run = by_path.run("graphene");
    assert_eq!(run.starts("a"), [1.0, 0.0, 1.0, 5.0, 9.0]);
    assert_eq!(run.job("a").finish, 13.0);
    run.verify().unwrap();
    let run = by_packing.run("graphene");
    assert_eq!(run.starts("a"), [1.0, 5.0, 9.0, 0.0, 1.0]);
    assert_eq!(run.job("a").finish, 13.0);
}

/// Phases: name, tasks, seconds, parents; each task needs one of two cpus.
fn on_two_cpus(phases: &[(&'static str, u32, f64, &[&'static str])]) -> World {
    let mut world = World::nodes([[("cpus", 2.0)]]).job("a");
    for (name, tasks, seconds, after) in phases {
        world = world.phase(name).after(after.iter().copied()).same(*tasks, *seconds).demand([("cpus", 1.0)]);
    }
    world
}

#[test]
fn the_troublesome_phase_starts_first() {
    // 4 tasks of 5 s beside one of 20 s, then one of 5 s: with the long one first all is over at 20 + 5. As the
    // file has it, short ones before the long one, that begins at 10.
    let file = [("short", 4, 5.0, &[][..]), ("long", 1, 20.0, &[]), ("last", 1, 5.0, &["short", "long"])];
    let swapped = [file[1], file[0], file[2]];
    assert_eq!(on_two_cpus(&file).run("fifo").job("a").finish, 35.0);
    let run = on_two_cpus(&file).run("graphene");
    assert_eq!(run.starts("a"), [0.0, 5.0, 10.0, 15.0, 0.0, 20.0]);
    assert_eq!(run.job("a").finish, 25.0);
    let run = on_two_cpus(&swapped).run("graphene");
    assert_eq!(run.starts("a"), [0.0, 0.0, 5.0, 10.0, 15.0, 20.0]);
    assert_eq!(run.job("a").finish, 25.0);
}

#[test]
fn a_troublesome_phase_behind_another_pulls_it_forward() {
    // The long task waits for "before", so there are 5 s more: before at 0, long at 5, last at 25.
    for file in [["short", "before", "long"], ["before", "long", "short"]] {
        let phase = |name| match name {
            "short" => ("short", 4, 5.0, &[][..]),
            "before" => ("before", 1, 5.0, &[][..]),
            _ => ("long", 1, 20.0, &["before"][..]),
        };
        let [one, two, three] = file.map(phase);
        let run = on_two_cpus(&[one, two, three, ("last", 1, 5.0, &["short", "long"])]).run("graphene");
        assert_eq!(run.job("a").finish, 30.0, "{file:?}");
    }
}

#[test]
fn tasks_of_parallel_phases_take_turns() {
    // 5 tasks of 5 s beside 5 s and then 20 s: 50 s on two cpus, so at best 25. The long task has 0 to 20 of the
    // schedule, "before" -5 to 0, and the short ones what is left, -5 to 20. The first of them begins before the
    // long task and the others after it; if all went before it, or with "before", it would begin at 10.
    let run = on_two_cpus(&[("short", 5, 5.0, &[]), ("before", 1, 5.0, &[]), ("long", 1, 20.0, &["before"])]);
    let run = run.run("graphene");
    assert_eq!(run.starts("a"), [0.0, 5.0, 10.0, 15.0, 20.0, 0.0, 5.0]);
    assert_eq!(run.job("a").finish, 25.0);
    run.verify().unwrap();
}

#[test]
fn a_phase_of_lower_rank_starts_where_the_first_does_not_fit() {
    // As above, with a task w of 2 cpus and 1 s that nothing waits for: beside y it fits at 0.
    let run =
        on_four_cpus(&[("x1", 4.0, 3.0, &[]), ("y", 1.0, 2.0, &[]), ("z", 10.0, 1.0, &["y"]), ("w", 1.0, 2.0, &[])])
            .run("graphene");
    assert_eq!(run.starts("a"), [1.0, 0.0, 1.0, 0.0]);
}

/// Ten machines, a job of 12 tasks of 1 s and one of 20; tasks by the second of their start.
fn little_and_big(policy: &str) -> [Vec<usize>; 2] {
    let run = World::machines(10).job("big").same(20, 1.0).job("little").same(12, 1.0).run(policy);
    ["little", "big"].map(|job| {
        let starts = run.starts(job);
        (0..4).map(|second| starts.iter().filter(|start| **start == f64::from(second)).count()).collect()
    })
}

#[test]
fn unfairness_is_bounded() {
    // All tasks pack alike, so the job with less work goes first: all of it, if no bound is met.
    assert_eq!(little_and_big("graphene(kappa=100)"), [vec![10, 2, 0, 0], vec![0, 8, 10, 2]]);
    // Each start of "little" is a tenth of the cluster, of which "big" is owed half: after five it is owed
    // 0.25 and comes next, which leaves 0.2; then they take turns: 7 and 3. At 1 they go on so until "little"
    // has no task left: 5 and 5.
    assert_eq!(little_and_big("graphene(kappa=0.22)"), [vec![7, 5, 0, 0], vec![3, 5, 10, 2]]);
}

#[test]
fn packing_is_weighed_against_the_work_left() {
    // Two cpus: "large" fills them, "small" half. With srpt = 0 packing decides; with 10 the small job's less
    // work does: 0.5 - 10 · 0.5 against 1 - 10.
    let world = World::nodes([[("cpus", 2.0)]])
        .job("small")
        .same(1, 1.0)
        .demand([("cpus", 1.0)])
        .job("large")
        .same(1, 1.0)
        .demand([("cpus", 2.0)]);
    let run = world.run("graphene(kappa=100,srpt=0)");
    assert_eq!((run.starts("large"), run.starts("small")), (vec![0.0], vec![1.0]));
    let run = world.run("graphene(kappa=100,srpt=10)");
    assert_eq!((run.starts("large"), run.starts("small")), (vec![1.0], vec![0.0]));
}

#[test]
fn all_of_many_jobs_are_served() {
    // More jobs than are compared at once, and a demand that fits only behind those.
    let mut world = World::nodes([[("cpus", 4.0)], [("cpus", 1.0)]]);
    for _ in 0..300 {
        world = world.job("wide").same(2, 2.0).demand([("cpus", 3.0)]);
    }
    let run = world.job("narrow").same(400, 4.0).demand([("cpus", 1.0)]).run("graphene(kappa=1000000)");
    // The narrow job's work is the most by far, but from the beginning it has what the others leave.
    let at_once = run.starts("narrow").iter().filter(|start| **start == 0.0).count();
    assert_eq!(at_once, 2);
    assert_eq!(run.result.flowtime.len(), 301);
}
