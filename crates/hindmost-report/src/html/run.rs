//! The page of a live run.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::{PhaseSummary, RunState, RunSummary};
use hindmost_core::timeline::Timeline;
use serde::Serialize;

use super::copies::{Told, stories, told};
use super::{Frame, Picture, Pictures, Step, Table, glossary, knowledge_text, long, name, rendered, sentence};
use crate::figures::gantt::{GanttChart, by_node};
use crate::text::{counted, duration, grouped, percent};

/// Copies whose stories are told.
const MOST_COPIES: usize = 50;
/// Attempts that are told of in words.
const MOST_TOLD: usize = 120;
/// Failed tasks that are shown.
const MOST_FAILED: usize = 20;

/// What is on the page of a live run.
pub struct RunPage<'a> {
    /// What came of it.
    pub summary: &'a RunSummary,
    /// Attempt by attempt.
    pub timeline: &'a Timeline,
    /// Why attempts were started, as far as that is known.
    pub reasons: &'a BTreeMap<AttemptId, String>,
    /// What each phase does, as text; empty if that is not to be shown.
    pub work: &'a str,
    /// What was rehearsed; empty if nothing was.
    pub rehearsal: &'a str,
    /// How to go on.
    pub again: &'a [Step],
}

#[derive(Serialize)]
struct Content {
    facts: Vec<[String; 2]>,
    failed: Vec<Failed>,
    failed_about: String,
    phases: Table,
    phases_about: &'static str,
    gantt: Picture,
    attempts: Told,
    copies: Option<Table>,
    copies_about: String,
    work: String,
}

#[derive(Serialize)]
struct Failed {
    name: String,
    reason: String,
    stderr: String,
}

/// The page of a live run, whether it came to its end or not.
///
/// # Errors
/// If a template is at fault, which is a defect of ours.
pub fn run_page(page: &RunPage<'_>) -> Result<String, minijinja::Error> {
    let summary = page.summary;
    let mut pictures = Pictures::default();
    let stories = stories(page.timeline, page.reasons, 0.0, MOST_COPIES);
    let copies = (!stories.is_empty()).then(|| {
        let mut table = Table::new(
            "Copies in the order of their starts",
            &["task:", "attempt", "on", "started after", "because:", "what came of it:"],
        );
        table.stacked = true;
        for story in &stories {
            let cells =
                [&story.task, &story.copy.to_string(), &story.node, &duration(story.at), &story.why, &story.came];
            table.rows.push(cells.map(Clone::clone).to_vec());
        }
        table
    });
    let content = Content {
        facts: facts(page),
        failed: summary.failed_tasks.iter().take(MOST_FAILED).map(failed).collect(),
        failed_about: failed_about(summary),
        phases: phases(summary),
        phases_about: "Times since the run began. p50, p95 and max are of the attempts that finished first. Broken: \
                       attempts that failed, lost their node or were stopped with the run.",
        gantt: gantt(page, &mut pictures),
        attempts: attempts(page),
        copies_about: copies_about(summary, stories.len()),
        copies,
        work: long(page.work),
    };
    let job = name(&summary.job);
    let frame = Frame {
        title: format!("{job} – hindmost"),
        lead: format!("{} under the policy {}.", state(summary), name(&summary.policy)),
        heading: job,
        glossary: glossary::run(),
        again: page.again,
    };
    rendered("run.html", &frame, &content)
}

fn state(summary: &RunSummary) -> String {
    let finished: u64 = summary.phases.iter().map(|phase| phase.finished).sum();
    let of = format!("{} of {} have their result", grouped(finished), counted(summary.tasks, "task"));
    let took = duration(summary.flowtime);
    match summary.state {
        RunState::Done => format!("Done in {took}: all {} have their result,", counted(summary.tasks, "task")),
        RunState::Failed => format!("Failed after {took}: {of},"),
        RunState::Interrupted => format!("Interrupted after {took}: {of},"),
    }
}

fn facts(page: &RunPage<'_>) -> Vec<[String; 2]> {
    let summary = page.summary;
    let copies = summary.copies;
    let mut facts: Vec<[String; 2]> = Vec::new();
    let mut fact = |what: &str, value: String| facts.push([what.to_owned(), value]);
    let state = match summary.state {
        RunState::Done => "done",
        RunState::Failed => "failed",
        RunState::Interrupted => "interrupted",
    };
    fact("state", state.to_owned());
    fact("time", duration(summary.flowtime));
    fact("tasks", grouped(summary.tasks));
    fact("attempts", grouped(summary.attempts));
    fact("copies", format!("{} started, {} of them finished first", grouped(copies.launched), grouped(copies.won)));
    fact("extra work", format!("{} of the time of all attempts", percent(copies.wasted_share)));
    if let Some(met) = summary.met_deadline {
        fact("deadline", if met { "met" } else { "missed" }.to_owned());
    }
    fact("policy", name(&summary.policy));
    fact("knowledge", knowledge_text(&summary.knowledge));
    let nodes: Vec<String> = page.timeline.nodes.iter().take(12).map(|node| name(&node.name)).collect();
    let more = page.timeline.nodes.len().saturating_sub(nodes.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    fact("nodes", format!("{}: {}{more}", page.timeline.nodes.len(), nodes.join(", ")));
    if !page.rehearsal.is_empty() {
        fact("rehearsed", format!("{}: this trouble was made on purpose", sentence(page.rehearsal)));
    }
    facts
}

fn failed(task: &hindmost_core::metrics::FailedTask) -> Failed {
    let times = if task.failures == 1 { "once".to_owned() } else { format!("{} times", task.failures) };
    Failed {
        name: format!("{}/{}", name(&task.phase), task.task),
        reason: format!("Failed {times}, at last with: {}", sentence(task.reason.trim())),
        stderr: long(&task.stderr),
    }
}

fn failed_about(summary: &RunSummary) -> String {
    let count = summary.failed_tasks.len();
    let shown = if count > MOST_FAILED { format!(" The first {MOST_FAILED} are shown.") } else { String::new() };
    let which =
        if count == 1 { "One task failed more often than it may" } else { "Tasks failed more often than they may" };
    format!("{which}. Below each is the end of what its last attempt wrote to standard error.{shown}")
}

fn phases(summary: &RunSummary) -> Table {
    let columns = [
        "phase:",
        "tasks finished",
        "attempts",
        "copies started",
        "copies won",
        "broken",
        "p50",
        "p95",
        "max",
        "begun after",
        "finished after",
    ];
    let mut table = Table::new("What came of each phase", &columns);
    let time = |seconds: Option<f64>| seconds.map_or("–".to_owned(), duration);
    let row = |phase: &PhaseSummary| {
        vec![
            name(&phase.name),
            format!("{} of {}", grouped(phase.finished), grouped(phase.tasks)),
            grouped(phase.attempts),
            grouped(phase.copies.launched),
            grouped(phase.copies.won),
            grouped(phase.broken),
            time(phase.p50),
            time(phase.p95),
            time(phase.max),
            time(phase.start),
            time(phase.finish),
        ]
    };
    table.rows = summary.phases.iter().map(row).collect();
    table
}

fn gantt(page: &RunPage<'_>, pictures: &mut Pictures) -> Picture {
    let mut chart = GanttChart {
        title: format!(
            "{} on {}",
            crate::text::name(&page.summary.job, 60, "…"),
            counted(page.timeline.nodes.len() as u64, "node")
        ),
        about: "The attempts of the run, node by node, along time.".to_owned(),
        time: "time since the run began".to_owned(),
        panels: vec![by_node(page.timeline, page.reasons)],
        until: None,
        wide: false,
    };
    let svg = pictures.inline(&chart.draw());
    chart.wide = true;
    Picture {
        svg,
        wide: pictures.inline(&chart.draw()),
        caption: "Each row is a node, with as many lanes as attempts ever ran there at once; each bar is an attempt, with \
                  its task's number where there is room. Solid bars finished first, hatched ones were stopped for another \
                  copy, and a diamond marks an attempt that was started beside another of its task."
            .to_owned(),
    }
}

/// The attempts in words: those of tasks that ran more than once before others.
fn attempts(page: &RunPage<'_>) -> Told {
    let mut counts: BTreeMap<TaskId, usize> = BTreeMap::new();
    for row in &page.timeline.rows {
        *counts.entry(row.attempt.task).or_default() += 1;
    }
    let again = |times: bool| counts.iter().filter(move |(_, count)| (**count > 1) == times).map(|(task, _)| *task);
    let mut tasks: Vec<TaskId> = again(true).chain(again(false)).take(MOST_TOLD).collect();
    let all = page.timeline.rows.len();
    if all <= MOST_TOLD {
        tasks.sort_unstable();
    }
    let heading = "Where each attempt ran, task by task".to_owned();
    let mut told = told(heading, page.timeline, &tasks, page.reasons, 0.0, MOST_TOLD);
    if all > MOST_TOLD {
        told.note = format!(
            "Told are {MOST_TOLD} of {}, those of tasks that ran more than once before others; `hindmost explain` tells \
             of any task.",
            counted(all as u64, "attempt")
        );
    }
    told
}

fn copies_about(summary: &RunSummary, told: usize) -> String {
    let launched = summary.copies.launched;
    if launched == 0 {
        return "No task was run twice at once.".to_owned();
    }
    let which = if (told as u64) < launched { format!(" The first {told} are below.") } else { String::new() };
    format!(
        "{} started beside another attempt of the same task, and {} of them finished first. The reasons are the policy's \
         own, from a replay of the run's journal.{which}",
        if launched == 1 { "One copy was".to_owned() } else { format!("{} copies were", grouped(launched)) },
        grouped(summary.copies.won)
    )
}
