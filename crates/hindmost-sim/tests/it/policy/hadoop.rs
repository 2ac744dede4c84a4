//! `hadoop`: Apache Hadoop's speculator, compared with a simple program.

use hindmost_sim::testing::World;
use proptest::prelude::*;

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
