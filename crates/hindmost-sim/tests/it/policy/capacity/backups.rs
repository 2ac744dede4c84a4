//! Backups under `capacity`: they count for their queue, stay within its maximum, and wait in its turn.

use hindmost_sim::testing::World;

#[test]
fn backups_stay_within_the_maximum_too() {
    // Under `fifo`, the scan at 1 starts a backup of task 1, the scan at 16 one of task 2. Under `capacity`, both tasks
    // hold all that the queue may have from 1 on; the backup of task 1 that the scan at 1 requests never starts.
    let tasks = [vec![1.0], vec![30.0, 1.0], vec![30.0, 1.0]];
    let world = World::machines(4).queues([("q", 0.5, 0.5)]).job("j").queue("q").tasks(tasks);
    assert_eq!(world.run("fifo+hadoop").backups("j"), [(1, 1.0), (2, 16.0)]);
    assert_eq!(world.run("capacity+hadoop").backups("j"), []);
}

#[test]
fn a_backup_waits_below_the_maximum_while_machines_idle() {
    // x and y have a straggler each: at 1, a scan of hadoop requests a backup for it. The queue of x already holds its
    // maximum of two machines, the queue of y only one of four. At 6 the backup of y has finished and two machines are
    // idle, but x still gets none.
    let world = World::machines(4)
        .queues([("a", 0.25, 0.5), ("b", 0.75, 1.0)])
        .job("x")
        .queue("a")
        .tasks([vec![1.0], vec![30.0, 5.0], vec![30.0, 5.0]])
        .job("y")
        .queue("b")
        .tasks([vec![1.0], vec![30.0, 5.0]]);
    let run = world.run("capacity+hadoop");
    assert_eq!((run.backups("x"), run.backups("y")), (vec![], vec![(1, 1.0)]));
    assert_eq!((run.job("x").finish, run.job("y").finish), (31.0, 6.0));
    // Without the maximum, x's first straggler gets a backup too.
    let free = world.queues([("a", 0.25, 1.0), ("b", 0.75, 1.0)]);
    assert!(matches!(free.run("capacity+hadoop").backups("x")[..], [(1, ..=6.0), ..]));
}

#[test]
fn backups_count_in_the_used_share_of_their_queue() {
    // Each queue is guaranteed two of four machines. At 1, x gets a backup of its straggler: queue a holds two machines.
    // At 10 the two attempts of z end. Queue b holds nothing, so w starts on both machines. If the backup did not count,
    // the queues would be equal after the first of them, and y would start at 10.
    let run = World::machines(4)
        .queues([("a", 0.5, 1.0), ("b", 0.5, 1.0)])
        .job("x")
        .queue("a")
        .tasks([vec![1.0], vec![30.0, 25.0]])
        .job("z")
        .queue("b")
        .same(2, 10.0)
        .job("y")
        .at(2.0)
        .queue("a")
        .same(3, 5.0)
        .job("w")
        .at(2.0)
        .queue("b")
        .same(3, 5.0)
        .run("capacity+hadoop");
    assert_eq!(run.backups("x"), [(1, 1.0)]);
    assert_eq!(run.starts("w"), [10.0, 10.0, 15.0]);
    assert_eq!(run.starts("y")[0], 15.0);
}

#[test]
fn a_waiting_backup_comes_in_its_jobs_turn() {
    // At 1 the first task of x ends, and y starts a task on its machine. The scan at 1 requests a backup of the other
    // task of x, but no machine is free. At 11 one is: x arrived before y, so its backup comes before y's tasks.
    let world = World::machines(2).job("x").tasks([vec![1.0], vec![30.0, 2.0]]).job("y").at(0.5).same(3, 10.0);
    let run = world.run("capacity+hadoop");
    assert_eq!((run.backups("x"), run.job("x").finish), (vec![(1, 11.0)], 13.0));
    assert_eq!(run.starts("y"), [1.0, 13.0, 13.0]);
    run.verify().unwrap();
    // Other orders serve all originals first: y ends at 31, x at 30.
    let run = world.run("fifo+hadoop");
    assert_eq!((run.backups("x"), run.starts("y")), (vec![], vec![1.0, 11.0, 21.0]));
}

#[test]
fn a_waiting_backup_comes_in_its_queues_turn() {
    // As above, but y is in a queue of its own. Each queue is guaranteed one of the two machines. At 11 the queue of x
    // holds a machine and that of y none, so y is next, and again at 21. The backup waits until x has ended.
    let jobs = |world: World| {
        world.job("x").queue("a").tasks([vec![1.0], vec![30.0, 2.0]]).job("y").at(0.5).queue("b").same(3, 10.0)
    };
    let run = jobs(World::machines(2).queues([("a", 0.5, 1.0), ("b", 0.5, 1.0)])).run("capacity+hadoop");
    assert_eq!((run.backups("x"), run.starts("y")), (vec![], vec![1.0, 11.0, 21.0]));
    // Three machines, of which the queue of x is guaranteed 2.4. At 1 it has nothing to start yet, so y borrows a
    // machine. At 10.5 it uses 1/2.4 of its guarantee and that of y 1/0.6, so the backup is next.
    let run = jobs(World::machines(3).queues([("a", 0.8, 1.0), ("b", 0.2, 1.0)])).run("capacity+hadoop");
    assert_eq!((run.backups("x"), run.starts("y")), (vec![(1, 10.5)], vec![0.5, 1.0, 11.0]));
}
