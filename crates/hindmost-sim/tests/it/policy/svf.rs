//! The order `svf`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_smallest_remaining_volume_comes_first() {
    // A volume is tasks × seconds × share of the 4 cpus: wide 1 × 2 × 4/4 = 2, long 1 × 6 × 1/4 = 1.5, many
    // 3 × 3 × 1/4 = 2.25.
    let run = World::nodes([[("cpus", 4.0)]])
        .job("wide")
        .same(1, 2.0)
        .demand([("cpus", 4.0)])
        .job("long")
        .same(1, 6.0)
        .demand([("cpus", 1.0)])
        .job("many")
        .same(3, 3.0)
        .demand([("cpus", 1.0)])
        .run("svf");
    // "wide" is second, but does not fit while "long" runs. So "many" starts, and "wide" starts when "long" has
    // finished.
    assert_eq!(run.starts("long"), [0.0]);
    assert_eq!(run.starts("many"), [0.0, 0.0, 0.0]);
    assert_eq!(run.starts("wide"), [6.0]);
}

#[test]
fn volume_includes_deviations_and_only_unfinished_tasks() {
    // On one machine the volume of "sure" is 2 × 3 = 6 s and that of "unsure" 2 + 1.5 × 2 = 5 s, so "unsure" is first.
    // At 2, "sure" has 6 s and "late" 5 s, so "late" is next.
    let run = World::machines(1)
        .job("sure")
        .tasks([[3.0], [3.0]])
        .job("unsure")
        .tasks([[2.0]])
        .mean(2.0)
        .sd(2.0)
        .job("late")
        .at(1.0)
        .tasks([[5.0]])
        .run("svf");
    assert_eq!(run.starts("unsure"), [0.0]);
    assert_eq!(run.starts("late"), [2.0]);
    assert_eq!(run.starts("sure"), [7.0, 10.0]);
}
