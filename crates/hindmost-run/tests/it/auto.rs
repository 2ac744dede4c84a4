//! What `auto` costs and gains in live runs, beside `pace`: `HINDMOST_CASES=all cargo test -p hindmost-run --test it auto:: -- --nocapture`
//! prints the tables of docs/auto.md.

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_math::distribution::Distribution;
use hindmost_run::engine::Launch;
use hindmost_testing::{cases, is_nightly};

use crate::fake_engine::FakeTask;
use crate::test_run::{FinishedRun, TestRun, silently, takes};

/// With the price of a slot for live runs.
const LIVE: &str = "auto(idle=0.05)";

const FOUR: &str = "n1:4,n2:4,n3:4,n4:4";

/// What an attempt takes, by its seed, phase, task, copy and node.
type Play = fn(u64, [u32; 3], u32) -> FakeTask;

/// A job in one of two worlds: one with slow or hung attempts, and one without. They are the same if copies are in vain.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    nodes: &'static str,
    phases: &'static [u32],
    play: Play,
    /// The same without slow and hung attempts.
    ideal: Play,
    /// The most that [`LIVE`] takes, relative to a run without copies in the ideal world: time, and slot-time if copies are in vain.
    most: [f64; 2],
}

fn draw(seed: u64, [phase, index, copy]: [u32; 3]) -> f64 {
    let task = TaskId { job: JobId(0), phase: 0, index: 1000 * phase + index };
    draw_for_attempt(seed, Purpose::Duration, AttemptId { task, copy })
}

/// Tasks of about a second.
fn alike(seed: u64, id: [u32; 3], _: u32) -> FakeTask {
    silently(0.975 + 0.05 * draw(seed, id))
}

/// One node takes eight times as long.
fn slow(seed: u64, id: [u32; 3], node: u32) -> FakeTask {
    let task = alike(seed, id, node);
    silently(task.seconds * if node == 3 { 8.0 } else { 1.0 })
}

fn alike_with_reports(seed: u64, id: [u32; 3], node: u32) -> FakeTask {
    takes(alike(seed, id, node).seconds)
}

fn slow_with_reports(seed: u64, id: [u32; 3], node: u32) -> FakeTask {
    takes(slow(seed, id, node).seconds)
}

/// Every attempt of a task takes as long.
fn long_by_nature(seed: u64, [phase, index, _]: [u32; 3], _: u32) -> FakeTask {
    let durations = Distribution::log_normal(0.6, ((0.8_f64 * 0.8).exp() - 1.0).sqrt()).unwrap();
    silently(durations.quantile(draw(seed, [phase, index, 0])))
}

fn short(seed: u64, id: [u32; 3], _: u32) -> FakeTask {
    silently(0.4 + 0.01 * draw(seed, id))
}

fn short_with_reports(seed: u64, id: [u32; 3], node: u32) -> FakeTask {
    takes(short(seed, id, node).seconds)
}

fn hangs(seed: u64, [phase, index, copy]: [u32; 3]) -> bool {
    copy == 0 && draw(seed + 1000, [phase, index, 0]) < 0.08
}

/// One in twelve first attempts hangs for 30 s.
fn hung(seed: u64, id: [u32; 3], node: u32) -> FakeTask {
    if hangs(seed, id) { silently(30.0) } else { short(seed, id, node) }
}

/// The same, once half of the work is done.
fn hung_with_reports(seed: u64, id: [u32; 3], node: u32) -> FakeTask {
    FakeTask { hangs: if hangs(seed, id) { 30.0 } else { 0.0 }, ..short_with_reports(seed, id, node) }
}

/// Without a bound for what is above its target (docs/auto.md).
const NO: f64 = f64::INFINITY;

const CASES: [Case; 13] = [
    Case {
        name: "slow node, 24 tasks, reports",
        nodes: FOUR,
        phases: &[24],
        play: slow_with_reports,
        ideal: alike_with_reports,
        most: [1.1, NO],
    },
    Case { name: "slow node, 24 tasks", nodes: FOUR, phases: &[24], play: slow, ideal: alike, most: [1.2, NO] },
    Case {
        name: "slow node, 36 tasks, reports",
        nodes: FOUR,
        phases: &[36],
        play: slow_with_reports,
        ideal: alike_with_reports,
        most: [1.1, NO],
    },
    Case { name: "slow node, 36 tasks", nodes: FOUR, phases: &[36], play: slow, ideal: alike, most: [1.1, NO] },
    Case {
        name: "slow node, three phases of 12 tasks",
        nodes: FOUR,
        phases: &[12, 12, 12],
        play: slow,
        ideal: alike,
        most: [1.4, NO],
    },
    Case {
        name: "no slow node, 24 tasks, reports",
        nodes: FOUR,
        phases: &[24],
        play: alike_with_reports,
        ideal: alike_with_reports,
        most: [1.02, 1.12],
    },
    Case { name: "no slow node, 24 tasks", nodes: FOUR, phases: &[24], play: alike, ideal: alike, most: [1.02, 1.05] },
    Case { name: "no slow node, 80 tasks", nodes: FOUR, phases: &[80], play: alike, ideal: alike, most: [1.02, 1.05] },
    Case {
        name: "long by nature, 100 tasks",
        nodes: "n1:8",
        phases: &[100],
        play: long_by_nature,
        ideal: long_by_nature,
        most: [1.02, 1.1],
    },
    Case {
        name: "long by nature, 12 tasks",
        nodes: FOUR,
        phases: &[12],
        play: long_by_nature,
        ideal: long_by_nature,
        most: [1.02, NO],
    },
    Case { name: "hung, 100 tasks", nodes: "n1:8", phases: &[100], play: hung, ideal: short, most: [1.35, 1.4] },
    Case { name: "hung, 200 tasks", nodes: "n1:16", phases: &[200], play: hung, ideal: short, most: [1.3, 1.3] },
    Case {
        name: "hung, 100 tasks, reports",
        nodes: "n1:8",
        phases: &[100],
        play: hung_with_reports,
        ideal: short_with_reports,
        most: [1.3, 1.3],
    },
];

impl Case {
    /// Runs the job. Returns its time, the slot-time of all attempts, and the number of copies.
    fn run(&self, policy: &str, play: Play, seed: u64) -> [f64; 3] {
        let mut test_run = TestRun::on(self.nodes);
        for (at, tasks) in self.phases.iter().enumerate() {
            test_run = test_run.phase(&format!("phase{at}"), *tasks);
        }
        let behaviour = move |launch: &Launch<'_>| {
            let AttemptId { task, copy } = launch.attempt;
            play(seed, [task.phase, task.index, copy], launch.node.0)
        };
        let finished = test_run.policy(policy).behaviour(behaviour).run().done();
        let work = finished.outcome.timeline.rows.iter().map(FinishedRun::seconds).sum();
        [finished.flowtime(), work, finished.copies() as f64]
    }

    /// Returns the mean time and slot-time over seeds, relative to a run without copies in the ideal world, and the copies.
    fn costs(&self, policy: &str, seeds: u32) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for seed in 0..u64::from(seeds) {
            let (with, without) = (self.run(policy, self.play, seed), self.run("none", self.ideal, seed));
            for (sum, one) in sum.iter_mut().zip([with[0] / without[0], with[1] / without[1], with[2]]) {
                *sum += one / f64::from(seeds);
            }
        }
        sum
    }
}

#[test]
fn times_and_costs_in_live_runs() {
    let others: &[&str] = if is_nightly() { &["pace", "auto", "auto(idle=0.02)"] } else { &[] };
    for case in CASES {
        for policy in [others, &[LIVE]].concat() {
            let costs = case.costs(policy, cases(2, 10));
            println!("| {} | `{policy}` | {:.2} | {:.2} | {:.0} |", case.name, costs[0], costs[1], costs[2]);
            if policy == LIVE {
                let [time, work, _] = costs;
                assert!(
                    time <= case.most[0] && work <= case.most[1],
                    "{}: {time:.3} times the time, {work:.3} times the work",
                    case.name
                );
            }
        }
    }
}

/// Runs a job of 24 tasks that read files at the same rate, on eight slots. The first four files are six times as large as the others; most
/// tasks end when only these still run. The first attempt of the task `hung` takes 30 s.
fn reads_files(hung: Option<u32>) -> FinishedRun {
    let times = |index: u32| if index < 4 { 6_u32 } else { 1 };
    let sizes: Vec<u64> = (0..24).map(|index| 20_480 * u64::from(times(index))).collect();
    let behaviour = move |launch: &Launch<'_>| {
        let AttemptId { task: TaskId { index, .. }, copy } = launch.attempt;
        let seconds = 0.2 * f64::from(times(index)) * alike(0, [0, index, copy], 0).seconds;
        silently(if copy == 0 && hung == Some(index) { 30.0 } else { seconds })
    };
    TestRun::on("n1:8").phase_of_files("map", &sizes).policy(LIVE).behaviour(behaviour).run().done()
}

#[test]
fn large_inputs_are_no_reason_for_copies() {
    // Large files take six times as long as the others, but no copy would be sooner.
    assert_eq!(reads_files(None).copies(), 0);
    // An attempt that takes as long with a small file hangs.
    let run = reads_files(Some(12));
    let copied = run.outcome.timeline.rows.iter().filter(|row| row.attempt.copy > 0).map(|row| row.attempt.task.index);
    let copied: Vec<u32> = copied.collect();
    assert!(copied.contains(&12) && copied.iter().all(|index| *index >= 4), "{copied:?}");
    assert!(run.flowtime() < 1.5, "{:.2} s", run.flowtime());
}
