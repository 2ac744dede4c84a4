//! Tests of what attempts need: it is recorded, and tasks get more memory or time after attempts that had too little.

use std::cell::RefCell;
use std::rc::Rc;

use hindmost_core::metrics::{RunState, Spread};
use hindmost_core::resources::MEMORY;
use hindmost_core::usage::Usage;
use hindmost_run::engine::{Launch, Used};

use crate::fake_engine::FakeTask;
use crate::test_run::{FinishedRun, TestRun, fails, takes};

const GB: f64 = 1_073_741_824.0;

/// Runs four tasks, of which task 1 does `what`, and returns the run and what the attempts of task 1 demanded, in GB.
fn demanded(nodes: &str, keys: &str, what: impl Fn(&Launch<'_>) -> FakeTask + 'static) -> (FinishedRun, Vec<f64>) {
    let demanded = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&demanded);
    let behaviour = move |launch: &Launch<'_>| {
        if launch.attempt.task.index != 1 {
            return FakeTask { memory: (0.5 * GB) as u64, ..takes(10.0) };
        }
        noted.borrow_mut().push(launch.demand[MEMORY] / GB);
        what(launch)
    };
    let finished = TestRun::on(nodes).phase_with("map", 4, keys).policy("none").behaviour(behaviour).run();
    let demanded = demanded.borrow().clone();
    (finished, demanded)
}

fn needs(gigabytes: f64) -> impl Fn(&Launch<'_>) -> FakeTask {
    move |_| FakeTask { memory: (gigabytes * GB) as u64, ..takes(10.0) }
}

#[test]
fn a_task_that_needs_more_than_its_memory_gets_more() {
    let keys = "memory = { first = \"1GB\", retry = 2 }";
    let (finished, demanded) = demanded("n1:4:8GB", keys, needs(3.0));
    // What the attempts hold is checked against the node's memory after each record.
    assert_eq!((finished.outcome.summary.state, demanded), (RunState::Done, vec![1.0, 2.0, 4.0]));
    assert_eq!(finished.outcome.summary.attempts, 6);
}

#[test]
fn a_task_gets_no_more_than_the_largest_node_has() {
    let keys = "memory = { first = \"1GB\", retry = 2 }\nretries = 3\nkeep_going = true";
    let (finished, demanded) = demanded("n1:2:2GB,n2:2:3GB", keys, needs(3.5));
    assert_eq!(demanded, [1.0, 2.0, 3.0, 3.0]);
    let [failed] = &finished.outcome.summary.failed_tasks[..] else { panic!() };
    assert_eq!(failed.reason, "needed 3.5GB of memory, more than its limit of 3GB");
    assert_eq!(finished.outcome.summary.phases[0].finished, 3);
}

#[test]
fn a_plain_size_is_no_limit() {
    let (finished, demanded) = demanded("n1:4:8GB", "memory = \"1GB\"", needs(3.0));
    assert_eq!((finished.outcome.summary.attempts, demanded), (4, vec![1.0]));
}

#[test]
fn only_a_proven_kill_for_memory_counts_as_one() {
    for (is_proven, expected) in [(true, vec![1.0, 1.5]), (false, vec![1.0, 1.0])] {
        let killed = move |launch: &Launch<'_>| {
            let used = Used { killed_for_memory: is_proven, ..Used::default() };
            let killed = FakeTask { exit: Some(137), used, ..fails(3.0) };
            if launch.attempt.copy == 0 { killed } else { takes(3.0) }
        };
        let keys = "memory = { first = \"1GB\", retry = 1.5 }";
        let (finished, demanded) = demanded("n1:4:8GB", keys, killed);
        assert_eq!((finished.outcome.summary.state, demanded), (RunState::Done, expected));
    }
}

#[test]
fn a_task_that_reaches_its_time_limit_gets_more_time() {
    let (finished, _) =
        demanded("n1:4:8GB", "memory = \"1GB\"\ntime_limit = { first = \"20s\", retry = 2 }", |_| takes(70.0));
    let task = |row: &&hindmost_core::timeline::TimelineRow| row.attempt.task.index == 1;
    let rows = finished.outcome.timeline.rows.iter().filter(task);
    let took: Vec<f64> = rows.map(|row| (row.end - row.start).seconds()).collect();
    // 20, 40 and 80 s are allowed.
    assert_eq!((finished.outcome.summary.state, took), (RunState::Done, vec![20.0, 40.0, 70.0]));
}

#[test]
fn what_winners_needed_is_in_the_summary_and_the_table() {
    let usage = |launch: &Launch<'_>| {
        let number = u64::from(launch.attempt.task.index) + 1;
        // Task 2 says nothing of its memory, task 3 nothing at all.
        let memory = (number < 3).then_some(number << 20);
        Usage { memory, cpu_seconds: Some(0.5 * number as f64), read: Some(0), written: Some(7 * number) }
    };
    let behaviour = move |launch: &Launch<'_>| {
        let used = if launch.attempt.task.index < 3 { usage(launch) } else { Usage::default() };
        FakeTask { used: Used { usage: used, ..Used::default() }, ..takes(10.0) }
    };
    let finished = TestRun::on("n1:4").phase("map", 4).policy("none").behaviour(behaviour).run();
    let needs = finished.outcome.summary.phases[0].needs.unwrap();
    let spread = |p50, max, tasks| Some(Spread { p50, max, tasks });
    assert_eq!(needs.memory, spread(1.5 * 1_048_576.0, 2.0 * 1_048_576.0, 2));
    // CPU times of 0.5, 1.0 and 1.5 s in 10 s.
    assert_eq!((needs.cpu_seconds, needs.cores), (spread(1.0, 1.5, 3), spread(0.1, 0.15, 3)));
    assert_eq!((needs.read, needs.written), (spread(0.0, 0.0, 3), spread(14.0, 21.0, 3)));
    let table = std::fs::read_to_string(finished.place.out.join("results.tsv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with("peak_memory\tcpu_seconds\tbytes_read\tbytes_written"), "{table}");
    let expected = ["1048576\t0.500\t0\t7", "2097152\t1.000\t0\t14", "\t1.500\t0\t21", "\t\t\t"];
    for (line, expected) in table.lines().skip(1).zip(expected) {
        assert_eq!(line.split_once("done\t").unwrap().1, expected);
    }
}
