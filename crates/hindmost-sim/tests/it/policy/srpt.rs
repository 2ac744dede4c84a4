//! The order `srpt`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_shortest_effective_time_comes_first() {
    // The effective time is the mean plus 1.5 standard deviations: 2 + 1.5 × 2 = 5 s for "unsure", 3 s for "sure".
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
fn a_phase_counts_in_full_until_its_last_task_ends() {
    // "two" is alone at 0 and starts. When its map ends at 3, its path is 3 s, shorter than 4 s of "one" and 5 s of
    // "five", and stays 3 s until both reduces have ended. Then "one" is next; after its first task its path is still 4
    // s.
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
fn the_longest_of_parallel_paths_counts() {
    // The longest path of the diamond is 1 + max(2, 5) + 1 = 7 s, although its phases add up to 9 s. So it comes after
    // a job of 6 s and before a job of 8 s.
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
