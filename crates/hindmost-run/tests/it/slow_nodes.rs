//! Tests that `pace` makes no job slower whose tasks are alike but one node is slow, and helps where the slow node would have kept the
//! job waiting.

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_run::engine::Launch;
use hindmost_testing::{is_nightly, sample};

use crate::fake_engine::FakeTask;
use crate::test_run::{FinishedRun, TestRun, journal_text, reads, silently, takes};

/// A job whose tasks take about as long on normal nodes, and `factor` times as long on n2.
#[derive(Clone, Copy, Debug)]
struct Case {
    nodes: &'static str,
    tasks: u32,
    factor: f64,
    reports: bool,
}

impl Case {
    /// Returns the time that the job takes with a policy, in seconds.
    fn flowtime(self, policy: &str, seed: u64) -> f64 {
        let Case { nodes, tasks, factor, reports } = self;
        let test_run = TestRun::on(nodes).phase("map", tasks).policy(policy);
        let behaviour = move |launch: &Launch<'_>| {
            let task = TaskId { job: JobId(0), ..launch.attempt.task };
            let draw = draw_for_attempt(seed, Purpose::Duration, AttemptId { task, ..launch.attempt });
            let seconds = 0.5 * (0.95 + 0.1 * draw) * if launch.node.0 == 1 { factor } else { 1.0 };
            if reports { takes(seconds) } else { silently(seconds) }
        };
        test_run.behaviour(behaviour).run().done().flowtime()
    }
}

#[test]
fn a_slow_node_makes_no_job_slower() {
    let nodes = [("n1:4,n2:4", [16, 30, 80]), ("n1:2,n2:2,n3:2,n4:2", [16, 80, 160]), ("n1:1,n2:1", [6, 10, 20])];
    let (mut sum, mut cases) = (0.0, 0.0);
    for (nodes, sizes) in nodes {
        for (factor, reports) in [1.6, 3.0, 4.0, 8.0].into_iter().flat_map(|factor| [(factor, false), (factor, true)]) {
            for tasks in sample(3, sizes) {
                let case = Case { nodes, tasks, factor, reports };
                let ratio = |seed| case.flowtime("pace", seed) / case.flowtime("none", seed);
                let mean = (0..3).map(ratio).sum::<f64>() / 3.0;
                // Sixteen tasks on eight slots: whether the second wave's last original goes to the slow node is luck.
                assert!(mean <= 1.08, "{case:?}: {mean:.3} times the time without copies");
                sum += mean;
                cases += 1.0;
            }
        }
    }
    let mean = sum / cases;
    println!("{mean:.3} times the time without copies");
    // The second bound is that of the sample.
    assert!(mean <= if is_nightly() { 0.93 } else { 0.95 }, "{mean:.3} times the time without copies");
}

#[test]
fn all_attempts_of_a_slow_node_get_copies_at_once() {
    // Two waves of tasks, and a node that is eight times as slow. Without it, the job would take three waves on the other nodes.
    for reports in [false, true] {
        let behaviour = move |launch: &Launch<'_>| {
            let seconds = if launch.node.0 == 1 { 40.0 } else { 5.0 };
            if reports { takes(seconds) } else { silently(seconds) }
        };
        let test_run = TestRun::on("n1:4,n2:4,n3:4,n4:4").phase("map", 32).behaviour(behaviour);
        assert_eq!(test_run.clone().policy("none").run().done().flowtime().round(), 40.0);
        let flowtime = test_run.policy("pace").run().done().flowtime();
        // One copy at a time would take a wave more.
        assert!((15.0..18.0).contains(&flowtime), "reports progress: {reports}: {flowtime:.2} s");
    }
}

/// How attempts on files show their progress.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    /// By reading.
    Reading,
    /// By reports.
    Reports,
    Nothing,
}

/// Files of 1 to 20 blocks on nodes of which n2 is slow, with some attempts that hang.
#[derive(Clone, Copy, Debug)]
struct Files {
    nodes: &'static str,
    tasks: u32,
    /// How many times as long blocks take on n2.
    factor: f64,
    /// Share of the attempts that hang for 60 s.
    hang: f64,
    shows: Shows,
}

impl Files {
    /// Returns the time that the job takes with a policy, in seconds.
    fn flowtime(self, policy: &str, seed: u64) -> f64 {
        self.run(policy, seed).flowtime()
    }

    fn run(self, policy: &str, seed: u64) -> FinishedRun {
        let Files { nodes, tasks, factor, hang, shows } = self;
        let draw = move |purpose, index, copy| {
            let task = TaskId { job: JobId(0), phase: 0, index };
            draw_for_attempt(seed, purpose, AttemptId { task, copy })
        };
        // Most files are small, and a few are large.
        let blocks = move |index| (1.0 / (0.05 + 0.95 * draw(Purpose::Input, index, 0))).round() as u32;
        let sizes: Vec<u64> = (0..tasks).map(|index| u64::from(blocks(index)) * 20_480).collect();
        let behaviour = move |launch: &Launch<'_>| {
            let (index, copy) = (launch.attempt.task.index, launch.attempt.copy);
            let speed = if launch.node.0 == 1 { factor } else { 1.0 };
            let block = 0.2 * (0.95 + 0.1 * draw(Purpose::Duration, index, copy)) * speed;
            let found = reads(blocks(index), block);
            let found =
                if draw(Purpose::Detection, index, copy) < hang { FakeTask { seconds: 60.0, ..found } } else { found };
            match shows {
                Shows::Reading => found,
                Shows::Reports => FakeTask { reports: true, blocks: 0, ..found },
                Shows::Nothing => FakeTask { blocks: 0, ..found },
            }
        };
        let test_run = TestRun::on(nodes).phase_of_files("map", &sizes).policy(policy).behaviour(behaviour);
        test_run.run().done()
    }
}

#[test]
fn unequal_files_leave_slow_nodes_and_hung_attempts() {
    for nodes in sample(2, ["n1:8,n2:4", "n1:4,n2:4,n3:4,n4:4"]) {
        for (factor, hang) in [(1.0, 0.0), (1.0, 0.04), (4.0, 0.0), (4.0, 0.04)] {
            for shows in sample(3, [Shows::Reading, Shows::Reports, Shows::Nothing]) {
                let files = Files { nodes, tasks: 100, factor, hang, shows };
                let ratio = |seed| files.flowtime("pace", seed) / files.flowtime("none", seed);
                let ratios: Vec<f64> = (0..4).map(ratio).collect();
                let mean = ratios.iter().sum::<f64>() / 4.0;
                println!("{files:?}: {mean:.3} times the time without copies {ratios:.2?}");
                let bound = match (factor > 1.0, hang > 0.0) {
                    (false, false) => 1.03,
                    // Whether nothing is known but ages of large files on the slow node is luck.
                    (true, false) => {
                        if shows == Shows::Nothing {
                            1.0
                        } else {
                            0.9
                        }
                    }
                    (_, true) => 0.4,
                };
                assert!(mean <= bound, "{files:?}: {mean:.3} times the time without copies");
            }
        }
    }
}

#[test]
fn virtual_runs_do_not_depend_on_the_time_that_they_take() {
    let files = Files { nodes: "n1:8,n2:4", tasks: 60, factor: 4.0, hang: 0.04, shows: Shows::Reports };
    let records =
        || journal_text(&files.run("pace", 1).place.out).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let first = records();
    for _ in 0..4 {
        assert!(records() == first, "the same run has other records");
    }
}
