//! Orders, each by an instance small enough to be worked out by hand.

use hindmost_sim::testing::World;

#[test]
fn fifo_starts_all_of_the_first_job_before_the_second() {
    let run = World::machines(2)
        .job("late")
        .at(0.5)
        .tasks([[1.0]])
        .job("early")
        .tasks([[2.0], [2.0], [2.0]])
        .job("tied")
        .at(0.5)
        .tasks([[1.0]])
        .run("fifo");
    assert_eq!(run.starts("early"), [0.0, 0.0, 2.0]);
    // Jobs of one instant go by id: in the order in which they were given.
    assert_eq!(run.starts("late"), [2.0]);
    assert_eq!(run.starts("tied"), [3.0]);
}

#[test]
fn fair_gives_the_next_machine_to_the_job_with_the_fewest() {
    let run = World::machines(4).job("a").same(4, 1.0).job("b").same(4, 1.0).run("fair");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0, 1.0]);
    // An odd one goes to the lower id.
    let run = World::machines(3).job("a").same(2, 1.0).job("b").same(2, 1.0).run("fair");
    assert_eq!(run.starts("a"), [0.0, 0.0]);
    assert_eq!(run.starts("b"), [0.0, 1.0]);
    // Who has none comes before who has been there for long.
    let run = World::machines(2)
        .job("a")
        .tasks([[1.0], [3.0], [5.0], [5.0]])
        .job("b")
        .at(0.5)
        .tasks([[5.0], [5.0]])
        .run("fair");
    assert_eq!(run.starts("b"), [1.0, 6.0]);
    // At 3 both have nothing but b's one: a is next; at 6 a runs one, b none.
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 8.0]);
}

#[test]
fn fair_divides_by_weight() {
    // Three machines to the job of weight 3 for each one of weight 1.
    let run = World::machines(8).job("heavy").weight(3.0).same(8, 1.0).job("light").same(8, 1.0).run("fair");
    assert_eq!(run.starts("heavy").iter().filter(|start| **start == 0.0).count(), 6);
    assert_eq!(run.starts("light").iter().filter(|start| **start == 0.0).count(), 2);
}

#[test]
fn fair_compares_dominant_shares_where_there_are_several_resources() {
    // Of 12 cpus and 12 GB: a needs a quarter of the memory for each copy, b a twelfth of the cpus.
    // The shares go a 1/4, b 1/12, 2/12, 3/12; then a is next by id: 1/2, but no memory is short.
    let run = World::nodes([[("cpus", 12.0), ("memory", 12.0e9)]])
        .job("a")
        .same(4, 1.0)
        .demand([("cpus", 1.0), ("memory", 3.0e9)])
        .job("b")
        .same(9, 1.0)
        .demand([("cpus", 1.0), ("memory", 0.0)])
        .run("fair");
    let at_once = |job| run.starts(job).iter().filter(|start| **start == 0.0).count();
    assert_eq!((at_once("a"), at_once("b")), (3, 9));
}

#[test]
fn smallest_workload_is_tasks_times_mean_and_started_jobs_come_first() {
    let run = World::machines(1)
        .job("six")
        .tasks([[3.0], [3.0]])
        .job("four")
        .tasks([[1.0], [1.0], [1.0], [1.0]])
        .job("one")
        .at(0.5)
        .tasks([[1.0]])
        .run("smallest_workload");
    // "four" starts; "one" is smaller, but new, and waits for all of "four".
    assert_eq!(run.starts("four"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run.starts("one"), [4.0]);
    assert_eq!(run.starts("six"), [5.0, 8.0]);
}

#[test]
fn of_started_jobs_the_one_with_the_least_left_to_start_goes_first() {
    // Both maps run from 0 to 1. Then 3 s of b are left to start and 6 s of a: b goes first, and of a
    // one task has to wait until 3.
    let run = World::machines(2)
        .job("a")
        .phase("map")
        .same(1, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(2, 3.0)
        .job("b")
        .phase("map")
        .same(1, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(1, 2.0)
        .run("smallest_workload");
    assert_eq!(run.starts("b"), [0.0, 1.0]);
    assert_eq!(run.starts("a"), [0.0, 1.0, 3.0]);
}

#[test]
fn srpt_takes_the_shortest_job_by_effective_time() {
    // Means 2 and 3, but 1.5 standard deviations count: 2 + 1.5 × 2 = 5 against 3.
    let run = World::machines(1)
        .job("unsure")
        .tasks([[2.0]])
        .mean(2.0)
        .sd(2.0)
        .job("sure")
        .tasks([[3.0]])
        .mean(3.0)
        .sd(0.0)
        .run("srpt");
    assert_eq!(run.starts("sure"), [0.0]);
    assert_eq!(run.starts("unsure"), [3.0]);
}

#[test]
fn srpt_counts_a_phase_whole_until_its_last_task_ends() {
    // "two" has a path of 3 + 3 s, "one" of 4 s. Once the map of "two" is over, 3 s are left, less than
    // the 4 of "one", one of whose two tasks has run by then: it counts whole.
    let run = World::machines(1)
        .job("one")
        .at(0.5)
        .tasks([[4.0], [4.0]])
        .job("two")
        .phase("map")
        .tasks([[3.0]])
        .phase("reduce")
        .after(["map"])
        .tasks([[3.0], [3.0]])
        .job("five")
        .at(0.5)
        .tasks([[5.0]])
        .run("srpt");
    assert_eq!(run.starts("two"), [0.0, 3.0, 6.0]);
    assert_eq!(run.starts("one"), [9.0, 13.0]);
    assert_eq!(run.starts("five"), [17.0]);
}

#[test]
fn srpt_takes_the_longest_of_parallel_paths() {
    // A diamond: 1 + max(2, 5) + 1 = 7 against 6, though its phases add up to 9.
    let diamond = World::machines(1)
        .job("diamond")
        .phase("a")
        .tasks([[1.0]])
        .phase("b")
        .after(["a"])
        .tasks([[2.0]])
        .phase("c")
        .after(["a"])
        .tasks([[5.0]])
        .phase("d")
        .after(["b", "c"])
        .tasks([[1.0]]);
    assert_eq!(diamond.clone().job("six").tasks([[6.0]]).run("srpt").starts("six"), [0.0]);
    let eight = diamond.job("eight").tasks([[8.0]]).run("srpt");
    assert_eq!(eight.starts("diamond"), [0.0, 1.0, 3.0, 8.0]);
    assert_eq!(eight.starts("eight"), [9.0]);
}

#[test]
fn fewest_remaining_counts_tasks_and_not_their_length() {
    // Of the started jobs, a has one long task left, b two short ones.
    let run = World::nodes([[("cpus", 3.0)]])
        .job("a")
        .same(2, 4.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .same(4, 2.0)
        .run("fewest_remaining");
    // New jobs go by workload: both 8 s, so a by id. At 2 b's one cpu is free for b alone; at 4 a has
    // one task left and b two: a takes its two cpus.
    assert_eq!(run.starts("a"), [0.0, 4.0]);
    assert_eq!(run.starts("b"), [0.0, 2.0, 4.0, 6.0]);
}

#[test]
fn fair_sca_leaves_no_machine_idle_where_new_jobs_outnumber_the_machines() {
    // 7 tasks on 4 machines: no cloning, one copy each until machines run out. The two jobs take
    // turns, and when the small one has its only task, the large one has the rest.
    let run = World::machines(4).job("large").same(6, 1.0).job("small").same(1, 1.0).run("fair+sca");
    assert_eq!(run.starts("small"), [0.0]);
    assert_eq!(run.starts("large"), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    // And nobody gets more than a fair share.
    let run = World::machines(4).job("a").same(3, 1.0).job("b").same(3, 1.0).run("fair+sca");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0]);
}

#[test]
fn a_job_whose_next_task_fits_nowhere_is_passed_over() {
    // First in first out, but the large task has to wait for both cpus; phases that fit go on.
    let run = World::nodes([[("cpus", 2.0)]])
        .job("large")
        .phase("wide")
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .phase("thin")
        .same(1, 1.0)
        .job("small")
        .same(2, 1.0)
        .run("fifo");
    assert_eq!(run.starts("large"), [0.0, 1.0]);
    assert_eq!(run.starts("small"), [1.0, 2.0]);
    let run = World::nodes([[("cpus", 2.0)]])
        .job("first")
        .same(1, 3.0)
        .job("wide")
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .job("thin")
        .same(2, 1.0)
        .run("fifo");
    assert_eq!(run.starts("thin"), [0.0, 1.0]);
    assert_eq!(run.starts("wide"), [3.0]);
}
