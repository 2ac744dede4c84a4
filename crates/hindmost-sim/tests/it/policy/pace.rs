//! `pace` in many runs: bounds on what it may cost.

use hindmost_sim::output::Outcome::Won;
use hindmost_sim::testing::World;

#[test]
fn an_overdue_estimate_stops_no_copy() {
    // Remaining times are known with a log-normal error of σ = 1, so the expected end of the slow task's original may
    // be in the past. A backup must not be stopped because it ends later than this; otherwise it is started again
    // endlessly.
    const MANY: usize = 100;
    for seed in 0..200 {
        let tasks = [1.0, 1.0, 8.0].map(|seconds| [seconds; MANY]);
        let run = World::machines(4).job("a").tasks(tasks).mean(1.0).sd(0.0).noise(1.0).seed(seed).run("pace");
        assert!(run.backups("a").len() < 12, "seed {seed}: {:?}", run.backups("a"));
    }
}

#[test]
fn a_slow_node_gets_further_tasks_while_the_queue_is_long() {
    // The slow machine takes 20 s for a task. With 400 tasks its attempts end long before the last pending task starts.
    let long = World::machines(3).speeds([1.0, 1.0, 0.05]).job("a").same(400, 1.0).mean(1.0).sd(0.0);
    let run = long.knowledge("age").run("pace");
    let slow = run.table("a").into_iter().filter(|row| row.5 == Won && (row.4 - row.3 - 20.0).abs() < 1e-6).count();
    assert!(slow >= 8, "{slow}");
    assert!(run.backups("a").len() <= 1, "{:?}", run.backups("a"));
}

#[test]
fn tasks_that_are_long_by_nature_are_hardly_copied() {
    // Copies take exactly as long as their originals, and only ages are known.
    let (mut time, mut work) = (0.0, 0.0);
    let (seeds, tasks, machines) = (40, 100, 8);
    for seed in 1..=seeds {
        let world = World::machines(machines).job("a").drawn(tasks, "log_normal(mean=1,cv=1)").correlation(1.0);
        let world = world.knowledge("age").seed(seed);
        let held = |run: &hindmost_sim::testing::Run| run.table("a").iter().map(|row| row.4 - row.3).sum::<f64>();
        let (none, pace) = (world.run("none"), world.run("pace"));
        let ratio = pace.job("a").finish / none.job("a").finish;
        time += ratio / seeds as f64;
        work += held(&pace) / held(&none) / seeds as f64;
        assert!(ratio < 1.1, "seed {seed}: {ratio}");
    }
    assert!(time < 1.01 && work < 1.05, "{time} times the time, {work} times the work");
}
