//! Snapshots of the output of live runs at several terminal widths.

use std::sync::Arc;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::metrics::{BrokenCopies, Copies, FailedTask, PhaseSummary, RunState, RunSummary};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineNode, TimelineRow};
use hindmost_report::gantt::{GanttOptions, gantt};
use hindmost_report::run::{run_table, side_by_side};
use hindmost_report::text::columns;

/// Returns the text at three widths of the terminal, one below the other. Checks that no line is wider.
fn at_widths(text: impl Fn(u16) -> String) -> String {
    let mut all = String::new();
    for width in [40, 80, 120] {
        let text = text(width);
        for line in text.lines() {
            assert!(columns(line) <= usize::from(width), "{width}: {line}");
            assert_eq!(line, line.trim_end(), "{width}");
        }
        all += &format!("== {width} columns\n{text}");
    }
    all
}

fn phase(name: &str, tasks: u64, p50: f64) -> PhaseSummary {
    PhaseSummary {
        name: name.to_owned(),
        tasks,
        finished: tasks,
        attempts: tasks + 9,
        broken: 1,
        copies: Copies { launched: 8, won: 5, wasted_share: 0.031 },
        start: Some(p50 / 10.0),
        finish: Some(p50 * 12.0),
        p50: Some(p50),
        p95: Some(p50 * 1.7),
        max: Some(p50 * 2.9),
        ..PhaseSummary::default()
    }
}

fn done() -> RunSummary {
    RunSummary {
        job: "wordcount".to_owned(),
        tasks: 1212,
        attempts: 1230,
        copies: Copies { launched: 16, won: 10, wasted_share: 0.0277 },
        flowtime: 23.44,
        phases: vec![phase("count words of every page", 1200, 1.08), phase("sum", 12, 0.35)],
        policy: "late:order=srpt".to_owned(),
        knowledge: "progress".to_owned(),
        met_deadline: Some(true),
        synced: true,
        ..RunSummary::default()
    }
}

fn failed() -> RunSummary {
    let task = |task, failures, reason: &str, stderr: &str| FailedTask {
        phase: "map".to_owned(),
        task,
        failures,
        reason: reason.to_owned(),
        stderr: stderr.to_owned(),
        ..FailedTask::default()
    };
    let traceback = "Traceback (most recent call last):\n\tFile \"count.py\", line 12, in <module>\n\
                     \x1b[31mUnicodeDecodeError\x1b[0m: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte\r\n\n";
    let mut tasks = vec![task(7, 4, "exit code 1", traceback), task(11, 1, "killed by signal 9 (out of memory?)", "")];
    tasks.extend((20..31).map(|number| task(number, 2, "exit code 3", "")));
    RunSummary {
        state: RunState::Failed,
        tasks: 64,
        attempts: 70,
        copies: Copies::default(),
        phases: vec![PhaseSummary {
            finished: 51,
            copies: Copies::default(),
            finish: None,
            broken: 19,
            ..phase("map", 64, 2.0)
        }],
        failed_tasks: tasks,
        met_deadline: None,
        ..done()
    }
}

#[test]
fn a_done_run_is_printed_at_three_widths() {
    insta::assert_snapshot!("run-done", at_widths(|width| run_table(&done(), width)));
}

#[test]
fn the_pauses_of_a_resumed_run_are_named() {
    let resumed = RunSummary { pauses: vec![[3.0, 13.0], [20.0, 20.5]], ..done() };
    let flat = |run: &RunSummary| run_table(run, 120).replace('\n', " ");
    assert!(flat(&resumed).contains("done in 23.4 s (without 10.5 s of pauses), deadline met"), "{}", flat(&resumed));
    assert!(flat(&resumed).contains("including its preparation and its pauses,"), "{}", flat(&resumed));
    assert!(
        flat(&done()).contains("since the run began, including its preparation, which")
            && !flat(&done()).contains("pause")
    );
}

#[test]
fn the_cost_of_copies_includes_those_that_failed() {
    let lost = Copies { launched: 3, won: 0, wasted_share: 0.1 };
    let broken = BrokenCopies { count: 2, share: 0.5 };
    let run = RunSummary { copies: lost, broken_copies: Some(broken), ..done() };
    let flat = |run: &RunSummary| run_table(run, 120).replace('\n', " ");
    let expected = "the copies took 60.0% of the total time of all attempts; 2 of them failed, lost their node or were stopped \
                    with the run.";
    assert!(flat(&run).contains(expected), "{}", flat(&run));
    let run = RunSummary { copies: Copies { launched: 3, won: 1, wasted_share: 0.1 }, ..run };
    assert!(flat(&run).contains("2 won nothing. 2 copies failed, lost"), "{}", flat(&run));
    let run = RunSummary { copies: lost, broken_copies: None, ..run };
    assert!(flat(&run).contains("the copies cost 10.0% more work."), "{}", flat(&run));
}

#[test]
fn withdrawn_tasks_are_counted_apart() {
    let flat = |run: &RunSummary| run_table(run, 120).replace('\n', " ");
    let run = RunSummary { withdrawn: 1, ..done() };
    assert!(flat(&run).contains("1 withdrawn task is not counted: its input or values are gone."), "{}", flat(&run));
    assert!(!flat(&done()).contains("withdrawn"));
}

#[test]
fn a_failed_run_is_printed_at_three_widths() {
    insta::assert_snapshot!("run-failed", at_widths(|width| run_table(&failed(), width)));
}

#[test]
fn two_runs_are_printed_side_by_side_at_three_widths() {
    let without =
        RunSummary { flowtime: 42.3, phases: vec![phase("map", 400, 7.1)], copies: Copies::default(), ..done() };
    let compared = |width| {
        side_by_side(("without", &without), ("with", &done()), width)
            + "\n"
            + &side_by_side(("the policy called none", &failed()), ("a policy of a long name", &done()), width)
    };
    insta::assert_snapshot!("side-by-side", at_widths(compared));
}

/// A chart of four nodes with two lanes each. Tasks take 2 s, but 8 s on one node. Late tasks get
/// copies near the end.
#[test]
fn a_chart_with_stragglers_is_drawn_at_three_widths() {
    let node = |name: &str| TimelineNode {
        name: Arc::from(name),
        capacity: Resources::ONE_SLOT,
        lost_and_returned: Vec::new(),
    };
    let row = |node: u32, [index, copy]: [u32; 2], [start, end]: [f64; 2], outcome: AttemptEnd| TimelineRow {
        attempt: AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy },
        node: NodeId(node),
        start: Time::from_seconds(start),
        end: Time::from_seconds(end),
        outcome,
        redundant: copy > 0,
        from_progress: 0.0,
        usage: None,
    };
    let mut run = Timeline {
        nodes: ["node-1", "node-2", "node-3", "node-4"].map(node).to_vec(),
        end: Time::from_seconds(11.9),
        ..Timeline::default()
    };
    let mut index = 0;
    for slot in 0..8 {
        let (node, mut now) = (slot % 4, f64::from(slot) / 50.0);
        let takes = if node == 2 { 8.0 } else { 2.0 };
        while now < 9.0 {
            let end = now + takes - f64::from((index * 7) % 10) / 20.0;
            let outcome = if end > 12.0 { AttemptEnd::Lost } else { AttemptEnd::Won };
            run.rows.push(row(node, [index, 0], [now, end.min(11.8)], outcome));
            index += 1;
            now = end;
        }
    }
    let late: Vec<TaskId> =
        run.rows.iter().filter(|row| row.outcome == AttemptEnd::Lost).map(|row| row.attempt.task).collect();
    for (node, task) in [0, 3].into_iter().zip(late) {
        run.rows.push(row(node, [task.index, 1], [9.9, 11.8], AttemptEnd::Won));
    }
    let chart = |ascii| {
        let run = &run;
        move |width| gantt(run, &GanttOptions { width, colour: false, ascii, until: None, max_lanes: 40 })
    };
    insta::assert_snapshot!("gantt", at_widths(chart(false)));
    insta::assert_snapshot!("gantt-ascii", at_widths(chart(true)));
}
