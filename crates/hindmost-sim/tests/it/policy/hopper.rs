//! `hopper`: what it starts and what it keeps idle, in instances worked out by hand.
//!
//! Most use the same setting: a job A of four tasks, one of which straggles, and a job B of five on seven machines.

use hindmost_sim::testing::World;

/// A's mean is 15 s, B's 10 s. With β = 1.6 their virtual sizes are 5 and 7 (of 6.25).
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
    // A is given 5 and uses 4, B is given 2. At 10, A has one task left and wants 2, B three and wants 4: there are
    // slots for all.
    assert_eq!(run.starts("B"), [0.0, 0.0, 10.0, 10.0, 10.0]);
    // Without the paper's tails nothing is kept.
    let run = two_jobs().run("hopper(epsilon=1)");
    assert_eq!(run.starts("B"), [0.0, 0.0, 0.0, 10.0, 10.0]);
}

#[test]
fn backups_of_hadoop_get_the_idle_slot_at_once() {
    let run = two_jobs().run("hopper(beta=1.6,epsilon=1)+hadoop");
    assert_eq!(run.backups("A"), [(3, 0.0)]);
    assert_eq!((run.job("A").finish, run.job("B").finish), (10.0, 20.0));
    // First in, first out: B takes the seventh machine, and the backup has to wait for a free one.
    let run = two_jobs().run("fifo+hadoop");
    assert_eq!(run.backups("A"), [(3, 10.0)]);
    assert_eq!((run.job("A").finish, run.job("B").finish), (20.0, 20.0));
}

#[test]
fn backups_of_spark_get_the_idle_slot_when_they_are_due() {
    // B has enough to fill the cluster for long. A's last is too slow at 15, 1.5 medians.
    let world = World::machines(7)
        .job("A")
        .tasks([vec![10.0], vec![10.0], vec![10.0], vec![30.0, 5.0]])
        .job("B")
        .tasks([[40.0]; 10]);
    let spark = "spark(quantile=0.5,multiplier=1.5,min_runtime=0)";
    let run = world.run(&format!("hopper(beta=1.6,epsilon=1)+{spark}"));
    let backups = run.backups("A");
    assert_eq!(backups.len(), 1);
    assert!(backups[0].0 == 3 && (backups[0].1 - 15.0).abs() < 1e-6, "{backups:?}");
    assert!((run.job("A").finish - 20.0).abs() < 1e-6);
    // At 10, A (one left) wants 2 and is given them, B the 5 others.
    assert_eq!(run.starts("B")[..5], [0.0, 0.0, 10.0, 10.0, 10.0]);
    let run = world.run(&format!("fifo+{spark}"));
    assert_eq!((run.backups("A"), run.job("A").finish), (vec![], 30.0));
}

#[test]
fn a_jobs_backups_do_not_take_slots_kept_for_another() {
    // A wants 3 (of 2.5) of the five machines and uses 2. B is given 2, both of which run what Mantri would like a
    // backup for: the fifth stays idle, also when B's next two straggle.
    let world = World::machines(5)
        .job("A")
        .same(2, 100.0)
        .job("B")
        .tasks([[50.0, 1.0], [50.0, 1.0], [50.0, 1.0], [50.0, 1.0]])
        .mean(1.0);
    let run = world.run("hopper(beta=1.6,epsilon=1)+mantri");
    assert_eq!(run.starts("B"), [0.0, 0.0, 50.0, 50.0]);
    assert_eq!(run.backups("B"), []);
    // By first in, first out nothing is kept for A.
    let run = world.run("fifo+mantri");
    assert!(!run.backups("B").is_empty());
}

#[test]
fn with_slots_for_all_backups_fill_a_jobs_share() {
    // Two tasks on five machines; SDA would start three backups of each: 8 copies, but there are 5 slots. A
    // second job's one task, which is no straggler, is given 5/3, one whole slot; the first 10/3, three.
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
    // Alone it has all five.
    let alone = World { jobs: world.jobs[..1].to_vec(), ..world };
    let run = alone.run("hopper(beta=2)+sda(sigma=1,max_copies=4)");
    assert_eq!(run.tries("one").iter().filter(|one| one.start == 0.0).count(), 5);
}

#[test]
fn jobs_of_different_demands_add_up_in_dominant_shares() {
    // Copies of both are a fifth of the cluster: of its memory and of its cpus. With β = 1.5 the first wants 4
    // copies of its 3 tasks, the second 3 (of 2.67) of its 2 and goes first: 0.6, and 0.4 are left.
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
    // Two jobs of ten on eight machines, β = 2, ε = 0: what a holds beyond its half is not taken from it.
    let world = World::machines(8).job("a").same(10, 1.0).job("b").at(0.5).same(10, 1.0);
    let run = world.run("hopper(beta=2,epsilon=0)");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    // At 1 a has 2 left and wants them; b is given the rest.
    assert_eq!(run.starts("b"), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
}

#[test]
fn later_phases_lower_a_jobs_place() {
    // Of equal maps the job with the smaller reduce goes first, though it came later.
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
    // At 1 small wants one slot, large's map the two: large is given one.
    assert_eq!(run.starts("large")[..2], [1.0, 2.0]);
}
