//! `hadoop`: Apache Hadoop's speculator, in instances small enough to work out by hand.

use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

/// Returns when the first backup starts, in seconds.
fn first_backup(run: &Run) -> Option<f64> {
    run.backups("a").iter().map(|(_, start)| *start).min_by(f64::total_cmp)
}

#[test]
fn a_backup_waits_until_no_task_of_its_phase_is_pending() {
    // Task 0 takes 9 s, its backup would take 1 s. The second machine runs tasks 1, 2 and 3; the last of them starts at
    // 2. The scan at 2 finds task 0, but the next machine becomes free at 3.5.
    let run = World::machines(2).job("a").tasks([[9.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.5, 1.0]]).run("fifo+hadoop");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 2.0]);
    assert_eq!(run.backups("a"), [(0, 3.5)]);
    assert_eq!(run.job("a").finish, 4.5);
}

#[test]
fn an_attempt_that_starts_with_a_scan_hides_no_other() {
    // Task 3 starts at 1, on the machine of task 0, and ends last, at 32. The scan at 1 can't compare it yet and finds
    // task 1, which ends at 30. The backup ends at 3, and the scan at 16 finds task 3.
    let tasks = [vec![1.0], vec![30.0, 2.0], vec![1.0], vec![31.0, 2.0]];
    let run = World::machines(3).job("a").tasks(tasks).run("fifo+hadoop");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(run.backups("a"), [(1, 1.0), (3, 16.0)]);
    // The only attempt starts with the scan at 1. The scan at 2 finds it.
    let world = World::machines(2).job("b").same(1, 1.5).job("a").tasks([vec![1.0], vec![30.0, 2.0]]);
    assert_eq!(world.run("fifo+hadoop").backups("a"), [(1, 2.0)]);
}

#[test]
fn a_scan_starts_one_backup_and_the_next_one_follows_15_s_later() {
    // The first task has finished at 1.5. The scan at 2 finds task 1, which ends last; the scan at 17 finds task 0.
    let world = World::machines(9).job("a").tasks([[60.0, 90.0], [80.0, 90.0], [1.5, 90.0]]);
    assert_eq!(world.run("hadoop").backups("a"), [(0, 17.0), (1, 2.0)]);
    let quick = "hadoop(retry_after_no_speculate=0.4,retry_after_speculate=3)";
    assert_eq!(world.run(quick).backups("a"), [(0, 4.6), (1, 1.6)]);
}

#[test]
fn every_phase_of_a_job_gets_a_backup_in_one_scan() {
    let world = World::machines(9).job("a").phase("x").tasks([[1.0, 9.0], [40.0, 9.0]]);
    let run = world.phase("y").tasks([[1.0, 9.0], [40.0, 9.0]]).run("hadoop");
    assert_eq!(run.backups("a"), [(1, 1.0), (1, 1.0)]);
}

#[test]
fn limits_of_running_backups_are_rounded_down() {
    let world = World::machines(9).job("a").tasks([[60.0, 90.0], [80.0, 90.0], [1.5, 90.0]]);
    let backups = |limits: &str| world.run(&format!("hadoop({limits})")).backups("a");
    assert_eq!(backups("minimum_allowed=1"), [(1, 2.0)]);
    assert_eq!(backups("minimum_allowed=0"), []);
    // Half of the two running tasks, a third of the three tasks.
    assert_eq!(backups("minimum_allowed=0,of_running_tasks=0.5"), [(1, 2.0)]);
    assert_eq!(backups("minimum_allowed=0,of_running_tasks=0.49"), []);
    assert_eq!(backups("minimum_allowed=0,of_total_tasks=0.34"), [(1, 2.0)]);
    assert_eq!(backups("minimum_allowed=0,of_total_tasks=0.33"), []);
}

#[test]
fn no_backup_starts_before_5_percent_of_a_phase_have_finished() {
    let world = |tasks: usize| {
        let short = [1.0, 2.2, 5.2];
        let durations = |task: usize| vec![short.get(task).copied().unwrap_or(50.0 + task as f64), 9.0];
        World::machines(60).job("a").tasks((0..tasks).map(durations))
    };
    // 2 of 40 tasks are 5%, 2 of 41 are less.
    assert_eq!(first_backup(&world(40).run("hadoop")), Some(3.0));
    assert_eq!(first_backup(&world(41).run("hadoop")), Some(6.0));
    assert_eq!(first_backup(&world(3).run("hadoop")), Some(1.0));
}

#[test]
fn a_new_attempt_is_expected_to_take_the_mean_of_finished_tasks() {
    // At 2 the remaining task has 1.5 s left, less than the 2 s of the finished task.
    let world = World::machines(3).job("a").tasks([[2.0, 1.0], [3.5, 1.0]]);
    assert_eq!(world.clone().mean(0.1).run("hadoop").backups("a"), []);
    // After 4 s the mean of the finished tasks, 2.5 s, is below the 4 s that are left, whatever the phase's mean is.
    let world = World::machines(4).job("a").tasks([[1.0, 1.0], [4.0, 1.0], [8.0, 1.0]]);
    assert_eq!(world.mean(100.0).run("hadoop").backups("a"), [(2, 1.0)]);
}

#[test]
fn a_backup_that_would_not_end_earlier_is_not_started() {
    // At 2, 2 s of the second task are left, as many as a new attempt is expected to take.
    let run = World::machines(3).job("a").tasks([[2.0, 1.0], [4.0, 1.0]]).run("hadoop");
    assert_eq!(run.backups("a"), []);
}

#[test]
fn a_requested_backup_waits_for_free_resources() {
    // The scan at 1 requests a backup, but b's tasks take the second machine until 21.3.
    let world = World::machines(2).job("a").tasks([[30.0, 1.0], [1.0, 1.0]]).job("b").at(0.5).same(2, 10.15);
    let run = world.run("fifo+hadoop");
    assert_eq!(run.starts("b"), [1.0, 11.15]);
    assert_eq!(run.backups("a"), [(0, 21.3)]);
}

#[test]
fn an_attempt_with_few_reports_seems_endless_to_exponential() {
    let world = World::machines(9).job("a").tasks([[1.0, 9.0], [1.5, 9.0], [1.6, 9.0]]);
    // After 1 s one task has finished; 0.5 and 0.6 s are left, less than its 1 s.
    assert_eq!(world.run("hadoop").backups("a"), []);
    // The estimate of a new attempt from one finished task is 0 s. Attempts without enough reports count with 1e7 s for
    // the share of their work that remains: 0.33 and 0.38.
    let run = world.run("hadoop(estimator=exponential)");
    assert_eq!(run.backups("a"), [(2, 1.0)]);
    // At 17 the mean of the two finished tasks is 9 s, and 1 s of task 2 is left: too little with 24 reports or more.
    let world = World::machines(9).job("a").tasks([[1.0, 9.0], [17.0, 9.0], [18.0, 9.0]]);
    let backups = |parameters: &str| world.run(&format!("hadoop({parameters})")).backups("a");
    assert_eq!(backups("retry_after_no_speculate=17"), []);
    assert_eq!(backups("retry_after_no_speculate=17,estimator=exponential,report=1"), [(2, 17.0)]);
    assert_eq!(backups("retry_after_no_speculate=17,estimator=exponential,report=0.7"), []);
}

/// The backups of a job, as (task, start), when every attempt finds free resources at once. Each task has the durations of
/// its original and its backup. Written from the source of Hadoop, without anything of the simulator.
fn backups_with_free_resources(arrival: f64, tasks: &[[f64; 2]]) -> Vec<(u32, f64)> {
    let mut backups: Vec<Option<f64>> = vec![None; tasks.len()];
    let ends = |task: usize, backups: &[Option<f64>]| {
        let original = (arrival + tasks[task][0], tasks[task][0]);
        let backup = backups[task].map(|start| (start + tasks[task][1], tasks[task][1]));
        backup.filter(|backup| backup.0 < original.0).unwrap_or(original)
    };
    let mut scan = arrival;
    loop {
        let finished: Vec<f64> =
            (0..tasks.len()).map(|task| ends(task, &backups)).filter(|end| end.0 <= scan).map(|end| end.1).collect();
        if finished.len() == tasks.len() {
            return (0..).zip(&backups).filter_map(|(task, start)| Some((task, (*start)?))).collect();
        }
        let running = tasks.len() - finished.len();
        let duplicated =
            (0..tasks.len()).filter(|task| backups[*task].is_some() && ends(*task, &backups).0 > scan).count();
        let cap = 10.max(tasks.len() / 100).max(running / 10);
        let enough = !finished.is_empty() && finished.len() as f64 / tasks.len() as f64 >= 0.05;
        let new = finished.iter().sum::<f64>() / finished.len() as f64;
        let mut best = (new, None);
        for task in (0..tasks.len()).filter(|task| enough && backups[*task].is_none()) {
            let remaining = arrival + tasks[task][0] - scan;
            if remaining > best.0 {
                best = (remaining, Some(task));
            }
        }
        match best.1.filter(|_| duplicated < cap) {
            Some(task) => {
                backups[task] = Some(scan);
                scan += 15.0;
            }
            None => scan += 1.0,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(200, 2000)))]

    #[test]
    fn backups_are_those_of_a_simulation_written_from_the_source(
        jobs in proptest::collection::vec(
            (0..40u32, proptest::collection::vec((1..40u32, 1..400u32, 1..10u32, 1..80u32), 1..60)), 1..4
        ),
    ) {
        // Durations are multiples of 1/8 s, so that sums are exact; one task in ten is slow.
        let eighths = |number: u32| f64::from(number) / 8.0;
        let mut world = World::machines(400);
        let mut expected = Vec::new();
        for (number, (arrival, tasks)) in jobs.iter().enumerate() {
            let duration = |(usual, slow, which, backup): &(u32, u32, u32, u32)| {
                [eighths(if *which == 1 { *slow } else { *usual }), eighths(*backup)]
            };
            let tasks: Vec<[f64; 2]> = tasks.iter().map(duration).collect();
            expected.push(backups_with_free_resources(eighths(*arrival), &tasks));
            world = world.job(&number.to_string()).at(eighths(*arrival)).tasks(tasks);
        }
        let run = world.run("fifo+hadoop");
        for (number, expected) in expected.iter().enumerate() {
            prop_assert_eq!(&run.backups(&number.to_string()), expected);
        }
    }
}
