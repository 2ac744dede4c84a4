//! Tests that `pace` costs little where tasks are long by nature, so that a copy takes as long as its original, and that it
//! still helps where attempts hang. Nothing reports progress.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_math::distribution::Distribution;
use hindmost_run::engine::Launch;
use hindmost_testing::sample;

use crate::fake_engine::{FakeTask, Reported};
use crate::test_run::{FinishedRun, TestRun, reads, silently, takes};

/// Returns a number in (0, 1) for a copy of a task.
fn draw(seed: u64, index: u32, copy: u32) -> f64 {
    draw_for_attempt(seed, Purpose::Duration, AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy })
}

/// Returns the time that a job takes without copies if its tasks start in order, in seconds.
fn time_without_copies(seconds: &[f64], slots: u32) -> f64 {
    let mut free: BinaryHeap<Reverse<u64>> = (0..slots).map(|_| Reverse(0)).collect();
    let mut last = 0;
    for task in seconds {
        let Some(Reverse(start)) = free.pop() else { continue };
        let end = start + (task * 1e9) as u64;
        free.push(Reverse(end));
        last = last.max(end);
    }
    last as f64 / 1e9
}

/// Returns the log-normal distribution with this mean and this standard deviation of the logarithm.
fn log_normal(mean: f64, sigma: f64) -> Distribution {
    Distribution::log_normal(mean, ((sigma * sigma).exp() - 1.0).sqrt()).unwrap()
}

/// A duration from a number in (0, 1).
type Drawn<'a> = &'a dyn Fn(f64) -> f64;

/// An attempt that takes this many seconds.
type Attempt = fn(f64) -> FakeTask;

/// Returns an attempt whose progress is the fourth power of the share of its time that has passed.
fn fourth_power(seconds: f64) -> FakeTask {
    FakeTask { reported: Reported::Power(4), ..takes(seconds) }
}

/// Returns an attempt whose progress is the second power of the share of its time that has passed.
fn second_power(seconds: f64) -> FakeTask {
    FakeTask { reported: Reported::Power(2), ..takes(seconds) }
}

/// The time and the slot-time of a job with `pace`, relative to those without copies.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    time: f64,
    work: f64,
}

/// Runs tasks whose copies take as long as their originals.
fn by_nature(seconds: &[f64], slots: u32) -> Cost {
    by_nature_on(&format!("n1:{slots}"), seconds, slots)
}

/// Does the same on these nodes, which have so many slots together.
fn by_nature_on(nodes: &str, seconds: &[f64], slots: u32) -> Cost {
    cost_on(nodes, seconds, slots, silently)
}

/// Does the same with attempts that report their progress or do not.
fn cost_on(nodes: &str, seconds: &[f64], slots: u32, attempt: impl Fn(f64) -> FakeTask + 'static) -> Cost {
    let tasks: Rc<[f64]> = seconds.into();
    let test_run = TestRun::on(nodes).phase("map", seconds.len() as u32).policy("pace");
    let finished = test_run.behaviour(move |launch| attempt(tasks[launch.attempt.task.index as usize])).run().done();
    let work: f64 = finished.outcome.timeline.rows.iter().map(FinishedRun::seconds).sum();
    Cost { time: finished.flowtime() / time_without_copies(seconds, slots), work: work / seconds.iter().sum::<f64>() }
}

/// Returns the mean costs over seeds, and the highest time.
fn mean_cost(seeds: u64, cost: impl Fn(u64) -> Cost) -> (Cost, f64) {
    let (mut sum, mut most) = (Cost::default(), 0.0f64);
    for cost in (0..seeds).map(cost) {
        sum.time += cost.time / seeds as f64;
        sum.work += cost.work / seeds as f64;
        most = most.max(cost.time);
    }
    (sum, most)
}

/// Does the same with tasks whose copies take as long as their originals: their durations, and the number of slots.
fn mean_of(seeds: u64, case: impl Fn(u64) -> (Vec<f64>, u32)) -> (Cost, f64) {
    mean_cost(seeds, |seed| {
        let (seconds, slots) = case(seed);
        by_nature(&seconds, slots)
    })
}

/// Returns drawn durations of so many tasks.
fn drawn(durations: &Distribution, tasks: u32, seed: u64) -> Vec<f64> {
    (0..tasks).map(|index| durations.quantile(draw(seed, index, 0))).collect()
}

/// Returns the time of a job with `pace` on these nodes, of which an attempt takes so many seconds, by its task and number.
fn flowtime(nodes: &str, tasks: u32, takes: impl Fn(u32, u32) -> f64 + 'static) -> f64 {
    let behaviour = move |launch: &Launch<'_>| silently(takes(launch.attempt.task.index, launch.attempt.copy));
    TestRun::on(nodes).phase("map", tasks).policy("pace").behaviour(behaviour).run().done().flowtime()
}

/// Prints the mean costs and checks that the time is at most 1.03 times as long as without copies.
fn report(name: &str, cost: (Cost, f64)) -> Cost {
    report_at_most(1.03, name, cost)
}

/// Prints the mean costs and checks that the time is at most so many times as long as without copies.
fn report_at_most(bound: f64, name: &str, (mean, most): (Cost, f64)) -> Cost {
    println!("{name}: {:.3} times the time (at most {most:.3}), {:.3} times the work", mean.time, mean.work);
    assert!(mean.time <= bound, "{name}: {} times the time", mean.time);
    mean
}

fn repeated(seconds: f64, times: usize) -> Vec<f64> {
    vec![seconds; times]
}

#[test]
fn a_few_long_tasks_cost_little() {
    let a = [repeated(0.3, 6), repeated(3.0, 1), repeated(0.3, 20)].concat();
    let eight = || repeated(0.2, 8);
    let c = [eight(), vec![2.0], eight(), vec![2.0], eight(), vec![2.0], repeated(0.2, 6)].concat();
    let g = [repeated(0.1, 8), vec![1.0]].concat().repeat(10);
    let noisy = |tasks: &[f64], seed| {
        let tasks = tasks.iter().enumerate();
        tasks.map(|(index, seconds)| seconds * (1.0 + 0.02 * draw(seed, index as u32, 0))).collect::<Vec<f64>>()
    };
    let cases: [(&str, &[f64], u32); 4] = [("a", &a, 2), ("b", &a, 4), ("c", &c, 2), ("g", &g, 2)];
    for (name, tasks, slots) in cases {
        let cost = mean_of(10, |seed| (noisy(tasks, seed), slots));
        // The first copy of so few tasks costs 4% of the work, and a half wave more, if the only long task comes early.
        let mean = if name == "a" { report_at_most(1.06, name, cost) } else { report(name, cost) };
        assert!(mean.work <= 1.1, "{name}: {} times the work", mean.work);
    }
    // 19 tasks of 0.2 to 0.29 s, and two of 2 s anywhere among them.
    let two_of_21 = |seed| {
        let long = |at| (draw(seed, at, 1) * 21.0) as usize;
        let mut tasks: Vec<f64> = (0..21).map(|index| 0.2 + 0.09 * draw(seed, index, 0)).collect();
        tasks[long(0)] = 2.0;
        tasks[long(1)] = 2.0;
        (tasks, 2)
    };
    assert!(report("two of 21", mean_of(40, two_of_21)).work <= 1.1);
    for (tasks, slots) in sample(3, [(20, 2), (40, 4), (100, 8), (100, 2), (200, 16), (40, 16)]) {
        let some_long = |seed| {
            let seconds = |index| if draw(seed, index, 1) < 0.05 { 4.0 } else { 0.3 + 0.1 * draw(seed, index, 0) };
            ((0..tasks).map(seconds).collect(), slots)
        };
        let mean = report(&format!("5% of {tasks} long on {slots} slots"), mean_of(20, some_long));
        assert!(mean.work <= 1.1, "5% of {tasks} on {slots} slots: {} times the work", mean.work);
    }
}

#[test]
fn log_normal_tasks_cost_little() {
    for sigma in sample(3, [0.5, 1.0, 1.2]) {
        let (mut all, mut cases) = (Cost::default(), 0.0);
        for slots in [2, 4, 8, 16] {
            for tasks in [20, 40, 100, 200] {
                let durations = log_normal(0.6, sigma);
                let name = format!("{tasks} tasks of sigma {sigma} on {slots} slots");
                let mean = report(&name, mean_of(10, |seed| (drawn(&durations, tasks, seed), slots)));
                (all.time, all.work, cases) = (all.time + mean.time, all.work + mean.work, cases + 1.0);
            }
        }
        // In a job of little more than one wave, copies run in slots that are free, and cost a fifth of the work.
        assert!(all.work / cases <= 1.1, "sigma {sigma}: {} times the work", all.work / cases);
        println!("sigma {sigma}: {:.4} times the time, {:.4} times the work", all.time / cases, all.work / cases);
    }
}

#[test]
fn progress_that_speeds_up_misleads_only_at_first() {
    // Progress is the fourth power of the share of the time, or its second: at first, an attempt seems to need many times as long
    // as it does.
    let powers: [(&str, Attempt); 3] =
        [("fourth power", fourth_power), ("second power", second_power), ("first power", takes)];
    for (name, attempt) in powers {
        let worlds = [(0.9, 60, "n1:8"), (0.9, 60, "n1:4,n2:4"), (0.3, 200, "n1:8"), (0.5, 40, "n1:4")];
        for (sigma, tasks, nodes) in sample(4, worlds) {
            let durations = log_normal(0.75, sigma);
            let slots = if nodes == "n1:4" { 4 } else { 8 };
            let name = format!("{name}, sigma {sigma}, {tasks} tasks on {nodes}");
            let cost = mean_cost(20, |seed| cost_on(nodes, &drawn(&durations, tasks, seed), slots, attempt));
            assert!(report(&name, cost).work <= 1.06, "{name}: {} times the work", cost.0.work);
        }
    }
}

#[test]
fn jobs_of_few_waves_take_no_longer_with_copies() {
    let (log_normal, pareto) = (log_normal(0.6, 1.0), Distribution::pareto(1.3, 1.3).unwrap());
    let some_long = |uniform: f64| if uniform < 0.2 { 3.0 } else { 0.3 + 0.1 * (uniform - 0.2) };
    let kinds: [(&str, Drawn<'_>); 3] = [
        ("log-normal, sigma 1", &|uniform| log_normal.quantile(uniform)),
        ("Pareto, alpha 1.3", &|uniform| pareto.quantile(uniform).min(20.0)),
        ("20% of 3 s", &some_long),
    ];
    for (name, seconds) in kinds {
        for (waves, most_work) in sample(2, [(1, 1.8), (2, 1.25), (3, 1.2), (4, 1.15)]) {
            let drawn = |seed| ((0..8 * waves).map(|index| seconds(draw(seed, index, 0))).collect(), 8);
            let (mean, most) = mean_of(40, drawn);
            println!(
                "{waves} waves of {name}: {:.3} times the time (at most {most:.3}), {:.3} times the work",
                mean.time, mean.work
            );
            assert!(mean.time <= 1.04, "{waves} waves of {name}: {} times the time", mean.time);
            assert!(mean.work <= most_work, "{waves} waves of {name}: {} times the work", mean.work);
        }
    }
}

#[test]
fn long_tasks_on_several_nodes_accuse_no_node() {
    // 5% of the tasks take 12 times as long, on two nodes of four slots. A node with several of them must not count as slow: tasks that
    // wait would then leave its slots free.
    let cost = mean_cost(20, |seed| {
        let seconds =
            |index| 0.5 * (0.95 + 0.1 * draw(seed, index, 1)) * if draw(seed, index, 0) < 0.05 { 12.0 } else { 1.0 };
        by_nature_on("n1:4,n2:4", &(0..80).map(seconds).collect::<Vec<f64>>(), 8)
    });
    report("long tasks on two nodes", cost);
    assert!(cost.1 <= 1.15, "at most {:.3} times the time", cost.1);
}

#[test]
fn hung_attempts_still_get_copies() {
    // Tasks, slots, sigma, the share of attempts that hang (copies too), and how many times as long as without hung attempts the
    // job may take. On two slots a copy must wait until a hung attempt is old, or until no task is pending.
    let cases = [
        (100, 8, 0.0, 0.08, 1.4),
        (100, 8, 0.5, 0.08, 1.6),
        (100, 8, 1.0, 0.08, 2.0),
        (200, 16, 0.0, 0.08, 1.5),
        (40, 8, 0.0, 0.08, 1.6),
        (100, 4, 0.0, 0.03, 1.4),
        (40, 4, 0.0, 0.08, 2.3),
        (60, 2, 0.0, 0.02, 1.4),
        (30, 2, 0.0, 0.04, 2.7),
        (30, 2, 0.0, 0.08, 4.3),
    ];
    for (tasks, slots, sigma, hang, bound) in sample(3, cases) {
        let (mut mean, mut most, mut without, seeds) = (0.0, 0.0f64, 0.0, 20);
        for seed in 0..seeds {
            let usual = move |index, copy| {
                if sigma > 0.0 {
                    let durations = log_normal(0.4, sigma);
                    durations.quantile(draw(seed, index, copy))
                } else {
                    0.4 + 0.01 * draw(seed, index, copy)
                }
            };
            let takes = move |index, copy| {
                if draw(seed + 1000, index, copy) < hang { 30.0 } else { usual(index, copy) }
            };
            let ideal: Vec<f64> = (0..tasks).map(|index| usual(index, 0)).collect();
            let ideal = time_without_copies(&ideal, slots);
            let test_run = TestRun::on(&format!("n1:{slots}")).phase("map", tasks).policy("pace").knowledge("age");
            let behaviour = move |launch: &Launch<'_>| silently(takes(launch.attempt.task.index, launch.attempt.copy));
            let finished = test_run.behaviour(behaviour).run().done();
            let none: Vec<f64> = (0..tasks).map(|index| takes(index, 0)).collect();
            without += time_without_copies(&none, slots) / ideal / seeds as f64;
            mean += finished.flowtime() / ideal / seeds as f64;
            most = most.max(finished.flowtime() / ideal);
        }
        println!(
            "{tasks} tasks of sigma {sigma} on {slots} slots, {hang} hang: {mean:.2} times ideal, at most {most:.2}; \
             without copies {without:.2}"
        );
        assert!(mean <= bound, "{tasks} tasks of sigma {sigma} on {slots} slots: {mean:.2} times ideal");
    }
}

#[test]
fn log_normal_tasks_on_several_nodes_cost_little() {
    for (nodes, slots, tasks) in [("n1:4,n2:4", 8, 20), ("n1:4,n2:4", 8, 80), ("n1:4,n2:4,n3:4,n4:4", 16, 160)] {
        for sigma in sample(2, [0.5, 1.2]) {
            let (name, durations) = (format!("{tasks} tasks of sigma {sigma} on {nodes}"), log_normal(0.6, sigma));
            let cost = mean_cost(20, |seed| by_nature_on(nodes, &drawn(&durations, tasks, seed), slots));
            assert!(report(&name, cost).work <= 1.25, "{name}: {} times the work", cost.0.work);
        }
    }
}

#[test]
fn long_tasks_that_report_progress_cost_little() {
    type Draw = fn(u64, u32) -> f64;
    let bimodal: Draw = |seed, index| if draw(seed, index, 1) < 0.1 { 4.0 } else { 0.4 + 0.01 * draw(seed, index, 0) };
    let very_long: Draw =
        |seed, index| if draw(seed, index, 1) < 0.05 { 8.0 } else { 0.4 + 0.01 * draw(seed, index, 0) };
    let pareto: Draw = |seed, index| (0.2 * draw(seed, index, 0).powf(-1.0 / 1.2)).min(12.0);
    let wide: Draw = |seed, index| log_normal(0.6, 1.2).quantile(draw(seed, index, 0)).min(12.0);
    let narrow: Draw = |seed, index| log_normal(0.6, 1.0).quantile(draw(seed, index, 0));
    let cases = [
        ("10% long", bimodal),
        ("5% very long", very_long),
        ("Pareto", pareto),
        ("sigma 1.2", wide),
        ("sigma 1", narrow),
    ];
    for (name, drawn) in sample(2, cases) {
        for (nodes, tasks) in sample(2, [("n1:8", 60), ("n1:4,n2:4", 80)]) {
            let name = format!("{tasks} tasks, {name}, on {nodes}");
            let seconds = |seed| (0..tasks).map(|index| drawn(seed, index)).collect::<Vec<f64>>();
            let cost = mean_cost(20, |seed| cost_on(nodes, &seconds(seed), 8, takes));
            assert!(report(&name, cost).work <= 1.06, "{name}: {} times the work", cost.0.work);
        }
    }
}

#[test]
fn long_tasks_that_report_in_coarse_steps_cost_little() {
    let kinds = [
        ("tenths", Reported::Steps(10)),
        ("one report of half", Reported::Steps(2)),
        ("quarters", Reported::Steps(4)),
        ("most at once", Reported::MostAtOnce),
        ("little until the end", Reported::LittleUntilTheEnd),
    ];
    // Where reports say little, only ages count. Where few say much, copies are tried one at a time.
    for (name, reported) in sample(2, kinds) {
        let worlds = [
            ("n1:8", 8, 40, 1.0),
            ("n1:8", 8, 80, 1.0),
            ("n1:4,n2:4", 8, 60, 0.7),
            ("n1:4", 4, 60, 1.2),
            ("n1:16", 16, 200, 1.0),
        ];
        for (nodes, slots, tasks, sigma) in sample(5, worlds) {
            let name = format!("{tasks} tasks, sigma {sigma}, {name}, on {nodes}");
            let (durations, attempt) = (log_normal(1.0, sigma), move |seconds| FakeTask { reported, ..takes(seconds) });
            let cost = mean_cost(15, |seed| cost_on(nodes, &drawn(&durations, tasks, seed), slots, attempt));
            assert!(report(&name, cost).work <= 1.08, "{name}: {} times the work", cost.0.work);
        }
    }
}

#[test]
fn a_few_long_tasks_that_report_when_half_is_done_cost_little() {
    let worlds = [
        ("n1:4", 4, 24, 0.1, 8.0),
        ("n1:4", 4, 30, 0.1, 6.0),
        ("n1:4", 4, 24, 0.2, 4.0),
        ("n1:2,n2:2", 4, 40, 0.15, 5.0),
        ("n1:2,n2:2", 4, 20, 0.3, 3.0),
        ("n1:8", 8, 60, 0.15, 6.0),
    ];
    for (nodes, slots, tasks, share, long) in sample(3, worlds) {
        let name = format!("{tasks} tasks, {share} of {long} times the length, on {nodes}");
        let half = |seconds| FakeTask { reported: Reported::Steps(2), ..takes(seconds) };
        let cost = mean_cost(30, |seed| {
            let seconds =
                |index| if draw(seed, index, 1) < share { 0.5 * long } else { 0.5 + 0.01 * draw(seed, index, 0) };
            cost_on(nodes, &(0..tasks).map(seconds).collect::<Vec<f64>>(), slots, half)
        });
        assert!(report_at_most(1.04, &name, cost).work <= 1.1, "{name}: {} times the work", cost.0.work);
    }
}

#[test]
fn hung_copies_are_followed_by_others() {
    // Eight of 100 tasks hang, and the first copies of some of them too.
    let worlds = [(4, 8, "n1:8"), (8, 8, "n1:8"), (4, 8, "n1:4,n2:4"), (4, 16, "n1:16"), (4, 4, "n1:4")];
    for (hung_copies, slots, nodes) in sample(3, worlds) {
        let mut flows = Vec::new();
        for seed in 0..20u64 {
            let mut order: Vec<u32> = (0..100).collect();
            order.sort_by(|one, other| draw(seed, *one, 7).total_cmp(&draw(seed, *other, 7)));
            let hangs: Vec<u32> = order[..8].to_vec();
            let takes = move |index: u32, copy: u32| {
                let rank = hangs.iter().position(|hung| *hung == index);
                let is_hung = rank.is_some_and(|rank| copy == 0 || (copy == 1 && rank < hung_copies));
                if is_hung { 30.0 } else { 0.4 + 0.01 * draw(seed, index, copy) }
            };
            flows.push(flowtime(nodes, 100, takes));
        }
        let mean = flows.iter().sum::<f64>() / 20.0;
        let ideal = 40.5 / f64::from(slots);
        println!("{hung_copies} hung copies on {nodes}: {:.2} times ideal {ideal:.1}; {flows:.1?}", mean / ideal);
        assert!(mean <= 2.0 * ideal, "{hung_copies} hung copies on {nodes}: {flows:.1?}");
        // Only if attempts that hang come to fill all slots, no copy can start.
        let stuck = flows.iter().filter(|flow| **flow > 30.0).count();
        assert!(stuck <= 1, "{hung_copies} hung copies on {nodes}: {flows:.1?}");
    }
}

#[test]
fn tasks_whose_first_three_attempts_hang_cost_little() {
    // Every twelfth task hangs for 20 s in its first three attempts, so copies gain nothing until the fourth.
    for (nodes, slots) in sample(2, [("n1:8", 8), ("n1:4", 4), ("n1:4,n2:4", 8), ("n1:16", 16)]) {
        let cost = mean_cost(20, |seed| {
            let hangs = move |index: u32, copy| (index + seed as u32).is_multiple_of(12) && copy < 3;
            let takes = move |index, copy| if hangs(index, copy) { 20.0 } else { 0.3 + 0.1 * draw(seed, index, copy) };
            let none: Vec<f64> = (0..100).map(|index| takes(index, 0)).collect();
            Cost { time: flowtime(nodes, 100, takes) / time_without_copies(&none, slots), work: 0.0 }
        });
        let name = format!("three attempts hang on {nodes}");
        report(&name, cost);
        assert!(cost.1 <= 1.1, "{name}: at most {:.3} times the time", cost.1);
    }
}

#[test]
fn many_long_tasks_are_not_taken_for_hung_ones() {
    // Long tasks come to hold half of the slots before the first of them has ended.
    for (share, long) in sample(2, [(0.2, 3.0), (0.3, 3.0), (0.1, 4.0), (0.2, 8.0)]) {
        for (slots, tasks) in sample(4, [(8, 60), (8, 100), (4, 60), (16, 100)]) {
            let seconds =
                |seed, index| if draw(seed, index, 5) < share { long } else { 0.4 + 0.01 * draw(seed, index, 0) };
            let drawn = |seed| ((0..tasks).map(|index| seconds(seed, index)).collect(), slots);
            let mean = report(&format!("{tasks} tasks, {share} take {long} s, on {slots} slots"), mean_of(40, drawn));
            assert!(mean.work <= 1.1, "{tasks} tasks on {slots} slots: {} times the work", mean.work);
        }
    }
}

#[test]
fn many_hung_attempts_do_not_fill_all_slots() {
    // Copies hang as often as originals. With even more of them, they can come to fill all slots within one duration.
    for (share, slots, bound) in sample(3, [(0.1, 4, 1.6), (0.15, 8, 1.9), (0.2, 8, 2.2)]) {
        let mut flows = Vec::new();
        for seed in 0..40u64 {
            let takes = move |index: u32, copy: u32| {
                if draw(seed + 500, index, copy) < share { 120.0 } else { 0.4 + 0.01 * draw(seed, index, copy) }
            };
            flows.push(flowtime(&format!("n1:{slots}"), 100, takes));
        }
        let (mean, ideal) = (flows.iter().sum::<f64>() / 40.0, 40.5 / f64::from(slots));
        println!("{share} hang on {slots} slots: {:.2} times ideal {ideal:.1}; {flows:.1?}", mean / ideal);
        assert!(mean <= bound * ideal, "{share} hang on {slots} slots: {flows:.1?}");
        assert!(flows.iter().all(|flow| *flow < 30.0), "{share} hang on {slots} slots: {flows:.1?}");
    }
}

#[test]
fn hung_attempts_of_small_jobs_get_a_copy_early() {
    // A second attempt that hangs takes the last slots, unless the first one gets its copy at once.
    for (hung, tasks, slots, bound) in [(2, 30, 2, 2.2), (3, 36, 3, 2.0), (2, 24, 2, 2.8)] {
        let mut flows = Vec::new();
        for seed in 0..40u64 {
            let mut order: Vec<u32> = (0..tasks).collect();
            order.sort_by(|one, other| draw(seed, *one, 7).total_cmp(&draw(seed, *other, 7)));
            let hangs: Vec<u32> = order[..hung].to_vec();
            let takes = move |index: u32, copy: u32| {
                if copy == 0 && hangs.contains(&index) { 15.0 } else { 0.2 + 0.01 * draw(seed, index, copy) }
            };
            flows.push(flowtime(&format!("n1:{slots}"), tasks, takes));
        }
        let (mean, ideal) = (flows.iter().sum::<f64>() / 40.0, 0.205 * f64::from(tasks) / f64::from(slots));
        println!("{hung} of {tasks} hang on {slots} slots: {:.2} times ideal {ideal:.1}; {flows:.1?}", mean / ideal);
        assert!(mean <= bound * ideal, "{hung} of {tasks} hang on {slots} slots: {flows:.1?}");
        // Some hang at the same time.
        let stuck = flows.iter().filter(|flow| **flow > 15.0).count();
        assert!(stuck <= 8, "{hung} of {tasks} hang on {slots} slots: {flows:.1?}");
    }
}

/// Returns the mean cost of jobs of so many tasks with log-normal numbers of blocks, each of which takes so many seconds. Their sizes are
/// known if they are read from files, and unknown if the attempts report the blocks.
fn cost_of_blocks(seconds: f64, slots: u32, tasks: u32, are_files: bool) -> (Cost, f64) {
    let durations = log_normal(4.0, 0.9);
    mean_cost(20, |seed| {
        let blocks = |index| durations.quantile(draw(seed, index, 0)).round().clamp(1.0, 40.0) as u32;
        let blocks: Rc<[u32]> = (0..tasks).map(blocks).collect();
        let block = move |index, copy| seconds * (0.95 + 0.1 * draw(seed + 77, index, copy));
        let sizes: Vec<u64> = blocks.iter().map(|blocks| u64::from(*blocks) * 20_480).collect();
        let test_run = TestRun::on(&format!("n1:{slots}"));
        let test_run = if are_files { test_run.phase_of_files("map", &sizes) } else { test_run.phase("map", tasks) };
        let own = Rc::clone(&blocks);
        let behaviour = move |launch: &Launch<'_>| {
            let AttemptId { task: TaskId { index, .. }, copy } = launch.attempt;
            FakeTask { reports: !are_files, ..reads(own[index as usize], block(index, copy)) }
        };
        let finished = test_run.policy("pace").behaviour(behaviour).run().done();
        let takes = |index: u32| f64::from(blocks[index as usize]) * block(index, 0);
        let without: Vec<f64> = (0..tasks).map(takes).collect();
        let work: f64 = finished.outcome.timeline.rows.iter().map(FinishedRun::seconds).sum();
        let time = finished.flowtime() / time_without_copies(&without, slots);
        let launched = finished.outcome.timeline.rows.iter().map(|row| row.attempt.copy).max();
        assert!(launched < Some(8), "seed {seed}: {launched:?}");
        Cost { time, work: work / without.iter().sum::<f64>() }
    })
}

/// Jobs of blocks: seconds of a block, slots, tasks.
const BLOCKS: [(f64, u32, u32); 5] = [(0.1, 16, 55), (0.2, 16, 55), (0.5, 16, 60), (0.2, 8, 100), (0.15, 4, 40)];

#[test]
fn unequal_files_that_are_read_slowly_cost_little() {
    for (seconds, slots, tasks) in sample(3, BLOCKS) {
        let name = format!("{tasks} files, {seconds} s a block, on {slots} slots");
        let mean = report_at_most(1.02, &name, cost_of_blocks(seconds, slots, tasks, true));
        assert!(mean.work <= 1.03, "{name}: {} times the work", mean.work);
    }
}

#[test]
fn blocks_that_are_reported_before_they_are_done_cost_little() {
    // The first report seems to show that a copy will be done soon, whatever the task. Copies must not overtake one another without end.
    for (seconds, slots, tasks) in sample(3, BLOCKS) {
        let name = format!("{tasks} tasks, {seconds} s a block, on {slots} slots");
        let mean = report_at_most(1.06, &name, cost_of_blocks(seconds, slots, tasks, false));
        assert!(mean.work <= 1.08, "{name}: {} times the work", mean.work);
    }
}
