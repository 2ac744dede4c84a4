//! The order `hopper`: the tasks that it starts and the slots that it keeps idle, in instances worked out by hand.

use hindmost_sim::testing::World;

/// Seven machines. Job A has four tasks with a mean of 15 s, one of them a straggler; job B has five tasks of 10 s.
/// With β = 1.6 their virtual sizes are 5 and 6.25.
fn two_jobs() -> World {
    World::machines(7)
        .job("A")
        .tasks([vec![10.0], vec![10.0], vec![10.0], vec![30.0, 10.0]])
        .job("B")
        .tasks([[10.0]; 5])
}

#[test]
fn a_slot_is_kept_for_the_smaller_jobs_backup() {
    let run = two_jobs().run("hopper(beta=1.6,epsilon=1)");
    assert_eq!(run.starts("A"), [0.0; 4]);
    // A is given 5 slots and uses 4; B is given 2. At 10, A has one task left and wants 1.25 slots, B has three and
    // wants 3.75: there are enough slots for both.
    assert_eq!(run.starts("B"), [0.0, 0.0, 10.0, 10.0, 10.0]);
    // Without a known Pareto distribution or `beta`, no slots are kept for backups.
    let run = two_jobs().run("hopper(epsilon=1)");
    assert_eq!(run.starts("B"), [0.0, 0.0, 0.0, 10.0, 10.0]);
}

/// As [`two_jobs`], but B has ten tasks of 40 s, enough to fill the cluster.
fn two_jobs_of_ten() -> World {
    World::machines(7)
        .job("A")
        .tasks([vec![10.0], vec![10.0], vec![10.0], vec![30.0, 10.0]])
        .job("B")
        .tasks([[40.0]; 10])
}

#[test]
fn backups_of_hadoop_get_the_idle_slot_at_once() {
    let world = two_jobs_of_ten();
    // 2/β is 1.54. At 0, A is given 6.15 slots, and B the other 0.85, rounded to one. At 10, A has one task left and is
    // given the 1.54 slots that it wants. B is given 5.46, rounded to five.
    let run = world.run("hopper(beta=1.3,epsilon=1)+hadoop");
    assert_eq!((run.backups("A"), run.job("A").finish), (vec![(3, 10.0)], 20.0));
    // Under `fifo`, B's tasks take every machine that becomes free before A's last task finishes.
    let run = world.run("fifo+hadoop");
    assert_eq!((run.backups("A"), run.job("A").finish), (vec![], 30.0));
}

#[test]
fn half_a_slot_is_the_least_that_is_kept() {
    // At 10, A wants 2/β slots for its last task. With β = 1.34 that is 1.49, so B is given 5.51 slots, rounded to six.
    // With β = 1.33 it is 1.504, so B is given 5.496, rounded to five.
    let started_at_ten = |beta: &str| {
        let run = two_jobs_of_ten().run(&format!("hopper(beta={beta},epsilon=1)"));
        run.starts("B").iter().filter(|start| **start <= 10.0).count()
    };
    assert_eq!((started_at_ten("1.34"), started_at_ten("1.33")), (6, 5));
}

#[test]
fn the_reserve_vanishes_as_beta_approaches_two() {
    // 20 jobs of one task each want 2/β slots each. They come first; the large job is given what is left of 40 slots:
    // 40 − 20 · 2/β, to the nearest whole number. Rounding each virtual size up would leave it none at any β below 2.
    let mut world = World::machines(40).job("large").same(60, 10.0);
    for number in 0..20 {
        world = world.job(&format!("small {number}")).same(1, 10.0);
    }
    for (beta, large) in [
        ("1.6", 15),  // 40 − 25
        ("1.9", 19),  // 40 − 21.05 = 18.95
        ("1.93", 19), // 40 − 20.73 = 19.27
        ("1.96", 20), // 40 − 20.41 = 19.59
        ("1.99", 20), // 40 − 20.10 = 19.90
        ("2", 20),
        ("3", 20),
    ] {
        let run = world.run(&format!("hopper(beta={beta},epsilon=1)"));
        let at_once = |job: &str| run.starts(job).iter().filter(|start| **start == 0.0).count();
        assert_eq!(at_once("large"), large, "{beta}");
        assert!((0..20).all(|number| at_once(&format!("small {number}")) == 1), "{beta}");
    }
}

#[test]
fn any_small_job_may_take_a_slot_of_the_reserve() {
    // The four small jobs want 1.25 slots each and keep one of ten slots together; the large job is given 5. Whichever
    // small job has the straggler gets the backup: here the first, and then the last.
    for slow in [0, 3] {
        let mut world = World::machines(10).job("large").same(60, 100.0);
        for number in 0..4 {
            let tasks = if number == slow { [90.0, 10.0] } else { [90.0, 90.0] };
            world = world.job(&format!("small {number}")).tasks([tasks]).mean(if number == slow { 10.0 } else { 90.0 });
        }
        let run = world.run("hopper(beta=1.6,epsilon=1)+mantri");
        let at_once = run.starts("large").iter().filter(|start| **start == 0.0).count();
        assert_eq!(at_once, 5);
        assert_eq!(run.backups(&format!("small {slow}")).len(), 1, "{slow}");
        assert!((0..4).all(|number| number == slow || run.backups(&format!("small {number}")).is_empty()));
    }
}

#[test]
fn backups_of_spark_get_the_idle_slot_when_they_are_due() {
    // B has enough tasks to fill the cluster. A's last task is slow from 15 on, 1.5 times the median.
    let world = World::machines(7)
        .job("A")
        .tasks([vec![10.0], vec![10.0], vec![10.0], vec![30.0, 5.0]])
        .job("B")
        .tasks([[40.0]; 10]);
    let spark = "spark(quantile=0.5,multiplier=1.5,min_runtime=0)";
    let run = world.run(&format!("hopper(beta=1.3,epsilon=1)+{spark}"));
    let backups = run.backups("A");
    assert_eq!(backups.len(), 1);
    assert!(backups[0].0 == 3 && (backups[0].1 - 15.0).abs() < 1e-6, "{backups:?}");
    assert!((run.job("A").finish - 20.0).abs() < 1e-6);
    // At 10, A has one task left and is given the 1.54 slots that it wants; B is given 5.46, rounded to five.
    assert_eq!(run.starts("B")[..5], [0.0, 10.0, 10.0, 10.0, 10.0]);
    let run = world.run(&format!("fifo+{spark}"));
    assert_eq!((run.backups("A"), run.job("A").finish), (vec![], 30.0));
}

#[test]
fn a_jobs_backups_do_not_take_slots_kept_for_another() {
    // A wants 2.67 of the five slots and uses 2. B is given the other 2.33, rounded to 2. Mantri would start backups of
    // B's tasks, but the fifth slot is kept for A, also while B's third and fourth task run.
    let world = World::machines(5)
        .job("A")
        .same(2, 100.0)
        .job("B")
        .tasks([[50.0, 1.0], [50.0, 1.0], [50.0, 1.0], [50.0, 1.0]])
        .mean(1.0);
    let run = world.run("hopper(beta=1.5,epsilon=1)+mantri");
    assert_eq!(run.starts("B"), [0.0, 0.0, 50.0, 50.0]);
    assert_eq!(run.backups("B"), []);
    // Under `fifo` no slot is kept for A.
    let run = world.run("fifo+mantri");
    assert!(!run.backups("B").is_empty());
}

#[test]
fn backups_fill_the_share_of_their_job() {
    // SDA would start three backups of each task of job "one": 8 copies, but there are five slots. Job "other" has one
    // task, which is no straggler. "one" is given 10/3 slots, that is three whole ones; "other" is given 5/3, that is
    // one.
    let straggler = vec![9.0, 9.0, 9.0, 9.0];
    let world = World::machines(5)
        .job("one")
        .tasks([straggler.clone(), straggler.clone()])
        .mean(1.0)
        .tail("pareto(alpha=1.1,mean=1)")
        .job("other")
        .same(1, 9.0);
    let run = world.run("hopper(beta=2)+sda(sigma=1,max_copies=4)");
    let at_once = |name| run.tries(name).iter().filter(|one| one.start == 0.0).count();
    assert_eq!((at_once("one"), at_once("other")), (3, 1));
    // Without "other", job "one" has all five slots.
    let alone = World { jobs: world.jobs[..1].to_vec(), ..world };
    let run = alone.run("hopper(beta=2)+sda(sigma=1,max_copies=4)");
    assert_eq!(run.tries("one").iter().filter(|one| one.start == 0.0).count(), 5);
}

#[test]
fn allotments_of_different_demands_are_dominant_shares() {
    // A copy of "memory" holds a fifth of the memory, a copy of "cpus" a fifth of the cpus. With β = 1.5 "memory" wants
    // 4 copies for its 3 tasks, and "cpus" wants 2.67 for its 2. "cpus" is first and is given 0.53 of the cluster, so
    // 0.47 are left: 2.33 copies of "memory", rounded to two.
    let world = World::nodes([[("cpus", 10.0), ("memory", 100e9)]])
        .job("memory")
        .same(3, 10.0)
        .demand([("cpus", 1.0), ("memory", 20e9)])
        .job("cpus")
        .same(2, 20.0)
        .demand([("cpus", 2.0), ("memory", 1e9)]);
    let run = world.run("hopper(beta=1.5,epsilon=1)");
    assert_eq!(run.starts("cpus"), [0.0, 0.0]);
    assert_eq!(run.starts("memory"), [0.0, 0.0, 10.0]);
}

#[test]
fn a_later_job_gets_its_share_as_attempts_end() {
    // With ε = 0 each of the two jobs is given four of the eight machines at 0.5, but a keeps all eight until its
    // attempts end.
    let world = World::machines(8).job("a").same(10, 1.0).job("b").at(0.5).same(10, 1.0);
    let run = world.run("hopper(beta=2,epsilon=0)");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    // At 1 a has 2 tasks left and is given 2 slots; b is given the other 6.
    assert_eq!(run.starts("b"), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
}

#[test]
fn the_job_with_the_smaller_later_phase_comes_first() {
    // The maps are equal, so the job with the smaller reduce is first, although its id is higher.
    let world = World::machines(2)
        .job("large")
        .phase("map")
        .same(2, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(5, 1.0)
        .job("small")
        .phase("map")
        .same(2, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(1, 1.0);
    let run = world.run("hopper(beta=2,epsilon=1)");
    assert_eq!(run.starts("small"), [0.0, 0.0, 1.0]);
    // At 1, "small" wants one of the two slots and the map of "large" wants two, so "large" is given one.
    assert_eq!(run.starts("large")[..2], [1.0, 2.0]);
}
