use std::sync::Arc;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::random::{Purpose, draw};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_core::timeline::{Cause, TimelineNode};

use super::*;

fn timeline(names: &[&str], end: f64) -> Timeline {
    let node = |name: &&str| TimelineNode {
        name: Arc::from(*name),
        capacity: Resources::ONE_SLOT,
        lost_and_returned: Vec::new(),
    };
    Timeline { nodes: names.iter().map(node).collect(), end: Time::from_seconds(end), ..Timeline::default() }
}

/// Returns attempt number `copy` of task `index` on a node. All attempts but number 0 are copies.
fn row(node: u32, [index, copy]: [u32; 2], [start, end]: [f64; 2], outcome: AttemptEnd) -> TimelineRow {
    TimelineRow {
        attempt: AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy },
        node: NodeId(node),
        start: Time::from_seconds(start),
        end: Time::from_seconds(end),
        outcome,
        redundant: copy > 0,
        from_progress: 0.0,
        usage: None,
    }
}

fn options(width: u16) -> GanttOptions {
    GanttOptions { width, colour: false, ascii: false, until: None, max_lanes: 100 }
}

/// Returns a run in which a copy finishes before a straggler, another copy is stopped, an attempt fails, a node is lost
/// and returns, and an attempt is still running at the end.
fn eventful() -> Timeline {
    let mut run = timeline(&["quick", "slow", "shaky"], 30.0);
    run.nodes[2].lost_and_returned = [15.0, 24.0].map(Time::from_seconds).to_vec();
    run.rows = vec![
        row(0, [0, 0], [0.0, 6.0], AttemptEnd::Won),
        row(1, [1, 0], [0.0, 14.0], AttemptEnd::Lost),
        row(1, [2, 0], [0.0, 20.0], AttemptEnd::Won),
        row(2, [3, 0], [0.0, 5.0], AttemptEnd::Failed(Cause::External(None))),
        row(2, [4, 0], [5.0, 15.0], AttemptEnd::NodeLost),
        row(0, [1, 1], [6.0, 14.0], AttemptEnd::Won),
        row(0, [2, 1], [14.0, 20.0], AttemptEnd::Lost),
        row(0, [5, 0], [20.0, 30.0], AttemptEnd::Running),
        row(2, [6, 0], [25.0, 29.0], AttemptEnd::Won),
    ];
    run
}

#[test]
fn pauses_of_the_run_are_drawn() {
    let mut run = timeline(&["n1"], 10.0);
    run.pauses = vec![[2.0, 8.0].map(Time::from_seconds)];
    let chart = gantt(&run, &options(40));
    assert!(chart.starts_with("n1 ┤       ·····") && chart.contains("·· run paused"), "{chart}");
    let ascii = gantt(&run, &GanttOptions { ascii: true, ..options(40) });
    assert!(ascii.contains(".. run paused") && ascii.is_ascii(), "{ascii}");
}

#[test]
fn every_kind_of_attempt_looks_different() {
    let chart = gantt(&eventful(), &options(67));
    let expected = "\
quick ┤━━━━━━━━━━━╸█1█████████████▌░2░░░░░░░░░░┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄►
slow  ┤┄1┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
      │━2━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸
shaky ┤┄┄┄┄┄┄┄┄┄×┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄×╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱  ━━━━━━━╸
      └─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬
      0         5        10        15        20        25      30 s
━━ finished first   ██ copy that finished first
┄┄ stopped for another copy
░░ copy that was stopped for another copy   ┄× failed
┄► still running   ╱╱ node lost   1 task number
";
    assert_eq!(chart, expected, "\n{chart}");
    let ascii = gantt(&eventful(), &GanttOptions { ascii: true, ..options(67) });
    let expected = "\
quick |===========|#1#############|%2%%%%%%%%%%------------------->
slow  |-1--------------------------
      |=2=====================================|
shaky |---------X-------------------X//////////////////  =======|
      +---------+---------+---------+---------+---------+---------+
      0         5        10        15        20        25      30 s
== finished first   ## copy that finished first
-- stopped for another copy
%% copy that was stopped for another copy   -X failed
-> still running   // node lost   1 task number
";
    assert_eq!(ascii, expected, "\n{ascii}");
}

#[test]
fn charts_with_and_without_colours_have_the_same_text() {
    let chart = gantt(&eventful(), &GanttOptions { colour: true, ..options(67) });
    assert!(chart.contains("\x1b[1;35m█\x1b[0m\x1b[1;7;35m1\x1b[0m\x1b[1;35m█"), "{chart:?}");
    assert_eq!(without_colours(&chart), gantt(&eventful(), &options(67)));
    assert!(chart.lines().all(|line| line.matches("\x1b[0m").count() * 2 == line.matches('\x1b').count()));
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').expect("a colour").1)
}

#[test]
fn a_legend_wider_than_its_chart_is_wrapped() {
    let mut run = timeline(&["a"], 30.0);
    run.rows = vec![
        row(0, [1, 0], [0.0, 14.0], AttemptEnd::Lost),
        row(0, [1, 1], [14.0, 28.0], AttemptEnd::Won),
        row(0, [2, 0], [28.0, 30.0], AttemptEnd::Running),
    ];
    let chart = gantt(&run, &options(16));
    let legend: Vec<&str> = chart.lines().skip(3).collect();
    let expected = [
        "██ copy that",
        "   finished",
        "   first",
        "┄┄ stopped for",
        "   another copy",
        "┄► still running",
        "1 task number",
    ];
    assert_eq!(legend, expected, "\n{chart}");
    run.rows = (0..20).map(|task| row(0, [task, 0], [0.0, 30.0], AttemptEnd::Won)).collect();
    let chart = gantt(&run, &GanttOptions { max_lanes: 3, ..options(16) });
    assert!(chart.contains("\n… and 17 more\n  lanes\n"), "{chart}");
}

#[test]
fn charts_of_two_runs_have_one_axis() {
    let mut run = timeline(&["a"], 5.0);
    run.rows = vec![row(0, [0, 0], [0.0, 5.0], AttemptEnd::Stopped)];
    let expected = "\
a ┤┄┄┄┄┄┄┄┄┄►
  └─────────┬─────────┬─────────┬─────────
  0         5        10        15 s
┄► stopped with the run
";
    assert_eq!(gantt(&run, &GanttOptions { until: Some(19.5), ..options(42) }), expected);
    // An axis that ends before the run cuts bars off without the symbol of an end.
    let cut = gantt(&run, &GanttOptions { until: Some(2.5), ..options(42) });
    assert_eq!(cut.lines().next(), Some(format!("a ┤{}", "┄".repeat(39)).as_str()), "{cut}");
    for until in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        assert_eq!(gantt(&run, &GanttOptions { until: Some(until), ..options(42) }), gantt(&run, &options(42)));
    }
}

#[test]
fn lanes_beyond_the_limit_are_counted() {
    let mut run = timeline(&["first", "second"], 10.0);
    run.rows = (0..9).map(|task| row(task / 5, [task, 0], [0.0, 10.0], AttemptEnd::Won)).collect();
    let shown = |max_lanes| {
        let chart = gantt(&run, &GanttOptions { max_lanes, ..options(40) });
        (chart.lines().count() - 3, chart.lines().find(|line| line.starts_with('…')).map(str::to_owned))
    };
    assert_eq!(shown(9), (9, None));
    assert_eq!(shown(8), (9, Some("… and 1 more lane".to_owned())));
    // A chart without lanes has no legend.
    assert_eq!(shown(0), (0, Some("… and 9 more lanes".to_owned())));
}

#[test]
fn a_run_without_attempts_has_empty_lanes() {
    let empty = gantt(&timeline(&[], 0.0), &options(40));
    assert_eq!(empty.lines().count(), 2, "{empty}");
    let idle = gantt(&timeline(&["a", "b"], 4.0), &options(40));
    assert!(idle.starts_with("a ┤\nb ┤\n  └"), "{idle}");
}

#[test]
fn names_are_escaped_and_stay_distinct() {
    let run = timeline(&["\x1b[2Jred", "worker-1.eu.example.org", "worker-2.eu.example.org"], 1.0);
    let chart = gantt(&run, &options(60));
    let names: Vec<&str> = chart.lines().take(3).map(|line| line.trim_end_matches('┤').trim()).collect();
    assert_eq!(names, ["\\u{1b}[2Jred", "worker-…ple.org", "worker-…ple.org"]);
    let run = timeline(&["worker-1.eu.example.org", "worker-2.eu.example.org"], 1.0);
    let chart = gantt(&run, &options(60));
    assert!(chart.starts_with("worker-1.eu.ex… ┤\nworker-2.eu.ex… ┤\n"), "{chart}");
}

#[test]
fn lines_of_charts_have_at_most_the_given_width() {
    for seed in 0..60 {
        let number = |index: u64, most: f64| draw(seed, Purpose::Node, index, 0) * most;
        let mut run = timeline(&["a", "日本語のノード", "a-rather-long-name-of-a-node.example", "e\u{301}\u{7}"], 50.0);
        let count = [3, 40, 2000][seed as usize % 3];
        run.rows = (0..count)
            .map(|at| {
                let start = number(at * 5, 50.0);
                let end = (start + number(at * 5 + 1, 20.0).powi(2) / 10.0).min(50.0);
                let outcomes = [
                    AttemptEnd::Won,
                    AttemptEnd::Lost,
                    AttemptEnd::Replaced,
                    AttemptEnd::Failed(Cause::External(None)),
                    AttemptEnd::NodeLost,
                    AttemptEnd::Stopped,
                    AttemptEnd::Running,
                ];
                let outcome = outcomes[number(at * 5 + 2, 7.0) as usize].clone();
                let task = [(at / 2) as u32, (at % 2) as u32];
                row(number(at * 5 + 3, 4.0) as u32, task, [start, end], outcome)
            })
            .collect();
        for width in [16, 17, 23, 40, 41, 80, 120, 200] {
            for ascii in [false, true] {
                let chart = gantt(&run, &GanttOptions { ascii, max_lanes: 50, ..options(width) });
                for line in chart.lines() {
                    assert!(text::columns(line) <= usize::from(width), "{width}: {line}");
                    assert_eq!(line, line.trim_end());
                    assert!(!ascii || line.is_ascii(), "{line}");
                }
            }
        }
    }
}

#[test]
fn short_attempts_stay_visible_if_the_lane_is_idle() {
    let mut run = timeline(&["a"], 1000.0);
    run.rows = vec![
        row(0, [0, 0], [0.0, 0.0], AttemptEnd::Won),
        row(0, [1, 0], [500.0, 500.1], AttemptEnd::Failed(Cause::External(None))),
        row(0, [2, 1], [999.99, 1000.0], AttemptEnd::Won),
    ];
    let chart = gantt(&run, &options(43));
    let expected = format!("a ┤╸{}×{}▌", " ".repeat(19), " ".repeat(18));
    assert_eq!(chart.lines().next(), Some(expected.as_str()));
}

#[test]
fn a_column_shows_the_kind_that_ran_longest_in_it() {
    let mut run = timeline(&["a"], 40.0);
    // A hundred short attempts finish first. One attempt fails; it is longer than each of them, but shorter than their
    // sum.
    run.rows =
        (0..100).map(|at| f64::from(at) / 100.0).map(|at| row(0, [0, 0], [at, at + 0.008], AttemptEnd::Won)).collect();
    for (index, row) in run.rows.iter_mut().enumerate() {
        row.attempt.task.index = index as u32;
    }
    run.rows.push(row(0, [100, 0], [1.0, 1.3], AttemptEnd::Failed(Cause::External(None))));
    run.rows.push(row(0, [101, 0], [1.3, 3.0], AttemptEnd::Won));
    let chart = gantt(&run, &options(43));
    assert_eq!(chart.lines().next(), Some("a ┤╸━╸"));
}

#[test]
fn a_column_that_is_busy_for_half_of_its_time_shows_the_attempt() {
    // Columns of 1 s. Columns 2 and 10 are busy for half of their time, and column 21 for a quarter.
    let mut run = timeline(&["a"], 40.0);
    run.rows = [[0.0, 2.5], [10.5, 13.0], [20.0, 21.25]]
        .into_iter()
        .zip(0..)
        .map(|(span, task)| row(0, [task, 0], span, AttemptEnd::Won))
        .collect();
    let chart = gantt(&run, &options(43));
    let expected = format!("a ┤━━╸{0}━━╸{0}╸", " ".repeat(7));
    assert_eq!(chart.lines().next(), Some(expected.as_str()));
}
