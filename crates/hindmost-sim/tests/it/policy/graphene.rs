//! The order `graphene`, in instances small enough to work out by hand.

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
    // x1 → x2 → x3, each 4 s and 3 cpus; y (1 s, 2 cpus) → z (10 s, 1 cpu). On 4 cpus z can run at the same time as an
    // x, but y cannot.
    //
    // By the longest path, x1 (12 s) is before y (11 s) at 0. At 4 y (11 s) is before x2 (8 s), so x2 starts at 5, and
    // the job finishes at 15. `fifo` starts the phases in this way if they are listed in this order:
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
    // By packing alone every x is before y, which uses fewer cpus, and the job takes 12 + 1 + 10 = 23 s.
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
    // Graphene places z first, because it is long: y runs before z, and the x phases run at the same time as z. No
    // schedule is shorter, because y cannot run at the same time as an x.
    let run = by_path.run("graphene");
    assert_eq!(run.starts("a"), [1.0, 0.0, 1.0, 5.0, 9.0]);
    assert_eq!(run.job("a").finish, 13.0);
    run.verify().unwrap();
    let run = by_packing.run("graphene");
    assert_eq!(run.starts("a"), [1.0, 5.0, 9.0, 0.0, 1.0]);
    assert_eq!(run.job("a").finish, 13.0);
}

/// Creates a job on two cpus from its phases (name, tasks, seconds, parents); each task needs one cpu.
fn on_two_cpus(phases: &[(&'static str, u32, f64, &[&'static str])]) -> World {
    let mut world = World::nodes([[("cpus", 2.0)]]).job("a");
    for (name, tasks, seconds, after) in phases {
        world = world.phase(name).after(after.iter().copied()).same(*tasks, *seconds).demand([("cpus", 1.0)]);
    }
    world
}

#[test]
fn the_troublesome_phase_starts_first() {
    // The job has four tasks of 5 s and one of 20 s, and then one of 5 s. If the long task starts first, the job takes
    // 20 + 5 s. In the order in which the phases are listed, the long task starts at 10.
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
fn the_parent_of_a_troublesome_phase_starts_first() {
    // The long task depends on "before", which takes 5 s: "before" starts at 0, "long" at 5 and "last" at 25.
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
    // Five short tasks of 5 s, and 5 s followed by 20 s, are 50 s of work, so two cpus need at least 25 s. Graphene's
    // schedule has "long" from 0 to 20, "before" from −5 to 0 and the short tasks one after the other from −5 to 20.
    // The first short task starts before "long", the others after it. If all short tasks started before "long", it
    // would start at 10.
    let run = on_two_cpus(&[("short", 5, 5.0, &[]), ("before", 1, 5.0, &[]), ("long", 1, 20.0, &["before"])]);
    let run = run.run("graphene");
    assert_eq!(run.starts("a"), [0.0, 5.0, 10.0, 15.0, 20.0, 0.0, 5.0]);
    assert_eq!(run.job("a").finish, 25.0);
    run.verify().unwrap();
}

#[test]
fn a_phase_of_lower_rank_starts_where_the_first_does_not_fit() {
    // No phase depends on w (1 s, 2 cpus), so it comes after x1 in the schedule. But at 0 w fits next to y, and x1 does
    // not.
    let run =
        on_four_cpus(&[("x1", 4.0, 3.0, &[]), ("y", 1.0, 2.0, &[]), ("z", 10.0, 1.0, &["y"]), ("w", 1.0, 2.0, &[])])
            .run("graphene");
    assert_eq!(run.starts("a"), [1.0, 0.0, 1.0, 0.0]);
}

/// Runs job "little" with 12 tasks and job "big" with 20 tasks, all of 1 s, on ten machines. Returns the number of
/// tasks that start at 0, 1, 2 and 3 s, for each job.
fn little_and_big(policy: &str) -> [Vec<usize>; 2] {
    let run = World::machines(10).job("big").same(20, 1.0).job("little").same(12, 1.0).run(policy);
    ["little", "big"].map(|job| {
        let starts = run.starts(job);
        (0..4).map(|second| starts.iter().filter(|start| **start == f64::from(second)).count()).collect()
    })
}

#[test]
fn unfairness_is_bounded() {
    // All tasks have the same packing score, so the job with less work is first. If the bound is large, it starts all
    // its tasks first.
    assert_eq!(little_and_big("graphene(kappa=100)"), [vec![10, 2, 0, 0], vec![0, 8, 10, 2]]);
    // Each start of "little" uses a tenth of the cluster, half of which "big" is owed. After five starts "big" is owed
    // 0.25, more than the bound of 0.22, and starts a task, after which it is owed 0.2. From then on the jobs take
    // turns: 7 and 3 tasks start at 0. At 1, 5 and 5 tasks start; then "little" has no task left.
    assert_eq!(little_and_big("graphene(kappa=0.22)"), [vec![7, 5, 0, 0], vec![3, 5, 10, 2]]);
}

#[test]
fn packing_is_weighed_against_the_work_left() {
    // On two cpus "large" has the packing score 1 and "small" 0.5. With srpt = 0 packing decides, so "large" is first.
    // With srpt = 10 the smaller work decides: "small" scores 0.5 − 10 · 0.5, "large" 1 − 10.
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
fn a_task_that_fits_starts_even_behind_hundreds_of_jobs() {
    // Graphene compares the offers of 256 jobs. 300 jobs come before the job whose tasks fit on the small node.
    let mut world = World::nodes([[("cpus", 4.0)], [("cpus", 1.0)]]);
    for _ in 0..300 {
        world = world.job("wide").same(2, 2.0).demand([("cpus", 3.0)]);
    }
    let run = world.job("narrow").same(400, 4.0).demand([("cpus", 1.0)]).run("graphene(kappa=1000000)");
    // The narrow job has the most work and is last, but at 0 it gets the two cpus that the wide tasks cannot use.
    let at_once = run.starts("narrow").iter().filter(|start| **start == 0.0).count();
    assert_eq!(at_once, 2);
    assert_eq!(run.result.flowtime.len(), 301);
}
