//! `none`: one copy of each task, in instances small enough to work out by hand.

use hindmost_sim::output::Outcome::Won;
use hindmost_sim::testing::World;

#[test]
fn each_task_has_one_copy() {
    let run = World::machines(9).job("a").tasks([[99.0], [1.0]]).run("none");
    assert_eq!(run.result.attempts, 2);
    assert!(run.tries("a").iter().all(|one| one.outcome == Won));
}
