//! What a run says of its progress, its nodes and its failures.

use std::time::Duration;

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::{FailedTask, PhaseProgress};
use hindmost_math::plain::Plain;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_report::gantt::{GanttOptions, gantt};
use hindmost_report::text::{columns, counted, indented, wrapped};
use hindmost_run::driver::{Follower, RunOutcome};
use hindmost_run::engine::NodeOffer;
use hindmost_run::job_file::{self, Plan, PlannedPhase};
use serde_json::Value;

use crate::board::Board;
use crate::failure::{Failure, Outcome};
use crate::forecast::Forecast;
use crate::terminal;

/// Largest number of failed tasks that the error message names.
const MOST_NAMED: usize = 5;

/// Shows the progress of a run on a board.
pub struct Shown<'a> {
    board: &'a Board,
    forecast: Forecast,
    quiet: bool,
}

impl<'a> Shown<'a> {
    /// Creates a follower that says nothing but failures if `quiet`.
    pub fn new(board: &'a Board, quiet: bool) -> Shown<'a> {
        Shown { board, forecast: Forecast::default(), quiet }
    }
}

impl Follower for Shown<'_> {
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration) {
        let note = self.forecast.observe(phases, elapsed);
        self.board.update(phases, elapsed, note.as_deref());
    }

    fn message(&mut self, line: &str) {
        if !self.quiet {
            self.board.message(line);
        }
    }

    fn failure(&mut self, line: &str) {
        self.board.message(line);
    }
}

/// Returns which tasks made a job fail, and where the output of their commands is. Failures that their phase allows are left out.
pub fn why_failed(outcome: &RunOutcome) -> String {
    let all = &outcome.summary.failed_tasks;
    let is_too_many =
        |phase: &&PlannedPhase| all.iter().filter(|task| task.phase == phase.name).count() > phase.may_fail() as usize;
    let decisive: Vec<&str> = outcome.plan.phases.iter().filter(is_too_many).map(|phase| phase.name.as_str()).collect();
    let tasks: Vec<&FailedTask> = all.iter().filter(|task| decisive.contains(&task.phase.as_str())).collect();
    let mut failed: Vec<String> =
        tasks.iter().take(MOST_NAMED).map(|task| format!("{}/{}", task.phase, task.task)).collect();
    if let Some(more) = tasks.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        failed.push(format!("and {}", counted(more as u64, "more task")));
    }
    let has_logs = tasks.iter().any(|task| task.stdout_log.is_some() || task.stderr_log.is_some());
    let logs = if has_logs {
        format!("the output of its commands is in {}", outcome.folder.join(".hindmost/logs").display())
    } else {
        "no output of the failed commands was kept".to_owned()
    };
    let may_repeat = |name: &str| outcome.plan.phases.iter().any(|phase| phase.name == name && phase.idempotent);
    let once = if tasks.iter().any(|task| !may_repeat(&task.phase)) {
        "; a failed task with idempotent = false runs again only if `retries` of its phase allows it"
    } else {
        ""
    };
    format!("{}; {logs}{once}", failed.join(", "))
}

/// Returns the Gantt chart of a run, as wide as the terminal.
pub fn chart(outcome: &RunOutcome, until: Option<f64>) -> String {
    let options =
        GanttOptions { width: terminal::width(), colour: terminal::colour(), ascii: false, until, max_lanes: 64 };
    gantt(&outcome.timeline, &options)
}

/// Returns a checked job as JSON, with what it would run with.
pub fn checked(plan: &Plan, chosen: &(PolicySpec, Knowledge), nodes: &[NodeOffer]) -> Outcome<Value> {
    let mut json = plan.to_json();
    json["policy"] = chosen.0.to_string().into();
    json["shell"] = plan.shells_in_words(&job_file::default_shell()).into();
    json["knowledge"] = chosen.1.to_string().into();
    json["nodes"] = serde_json::to_value(nodes).map_err(Failure::work)?;
    Ok(json)
}

/// Returns a line for each node with its capacity, its features and, if one is not 1, the speeds.
pub fn nodes_in_words(nodes: &[NodeOffer]) -> String {
    let has_speeds = nodes.iter().any(|node| node.speed != 1.0);
    let line = |node: &NodeOffer| {
        let features =
            if node.features.is_empty() { String::new() } else { format!(" ({})", node.features.join(", ")) };
        let speed = if has_speeds { format!(", speed {}", Plain(node.speed)) } else { String::new() };
        format!("  {}: {}{speed}{features}\n", node.name, node.capacity_in_words())
    };
    nodes.iter().map(line).collect()
}

/// Returns the description of plans with its lines wrapped to the terminal.
pub fn described(text: &str) -> String {
    let width = usize::from(terminal::width());
    text.lines().map(|line| fitted(line, width)).collect()
}

/// Width of the labels in the description of a plan, in columns, with the spaces before and after them.
const LABELS: usize = 13;

/// Wraps a line of a plan's description if it is wider than `width`. Its label stays alone in the first columns.
fn fitted(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return format!("{line}\n");
    }
    match line.split_at_checked(LABELS) {
        Some((label, rest)) if label.starts_with("  ") && label.ends_with(' ') => indented(label, rest, width),
        _ => wrapped(line, width, 2) + "\n",
    }
}
