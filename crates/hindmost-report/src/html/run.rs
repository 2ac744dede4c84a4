//! The page of a live run, which `hindmost run` writes.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::{Copies, FailedTask, RunState, RunSummary};
use hindmost_core::timeline::Timeline;

use super::copies::{attempt_list, copies_table};
use super::{Step, glossary, knowledge_text, name, sentence};
use crate::copies::{gain, lessons};
use crate::document::{Document, Form, Frame, Picture, Role, Table};
use crate::failures::values;
use crate::figures::gantt::{Fate, GanttChart, Panel, by_node};
use crate::needs::needs_table;
use crate::run::{BROKEN_NOT_COUNTED, COLUMNS, in_words, state as state_name, total};
use crate::text::{counted, duration, escaped, grouped, percent};

/// Largest number of copies in the table of copies.
const MOST_COPIES: usize = 50;
/// Largest number of attempts that are described in words.
const MOST_LISTED: usize = 120;
/// Largest number of failed tasks that are shown.
const MOST_FAILED: usize = 20;

/// The content of the page of a live run.
pub struct RunPage<'a> {
    /// How the run ended, with its numbers of tasks, attempts and copies.
    pub summary: &'a RunSummary,
    /// The nodes and attempts of the run.
    pub timeline: &'a Timeline,
    /// The reasons for which attempts were started; attempts without a known reason are missing.
    pub reasons: &'a BTreeMap<AttemptId, String>,
    /// Description of the job, such as the job file; empty to show nothing.
    pub work: &'a str,
    /// The injected faults in words; empty without fault injection.
    pub faults: &'a str,
    /// Instructions to run the job again or to resume it.
    pub again: &'a [Step],
}

/// Returns the page of a live run, finished or not.
pub fn run_page(page: &RunPage<'_>) -> String {
    let summary = page.summary;
    let mut document = Document::new(Form::Page);
    document.heading(2, "Result");
    document.facts(facts(page));
    if !summary.failed_tasks.is_empty() {
        document.heading(2, "Failed tasks");
        document.paragraph(failed_about(summary));
    }
    summary.failed_tasks.iter().take(MOST_FAILED).for_each(|task| failed(&mut document, task));
    document.heading(2, "Phases");
    document.table(phases(summary));
    document.paragraph_as(
        Role::Note,
        format!(
            "Started after, finished after: time from the start of the run to the start of the phase's first attempt, \
             and to the finish of its last task{}. p50, p95, max: median, 95th percentile and longest duration of the \
             attempts that finished first. Broken: attempts that failed, lost their node or were stopped with the run.",
            if summary.pauses.is_empty() { "" } else { ", pauses included" }
        ),
    );
    let measured = summary.phases.iter().filter_map(|phase| Some((phase.name.as_str(), phase.needs.as_ref()?)));
    if let Some(needed) = needs_table(measured) {
        document.table(needed);
    }
    document.heading(2, "Attempts over time");
    document.pictures(vec![gantt(page)]);
    attempts(&mut document, page);
    document.heading(2, "Copies and why they were started");
    let copies = copies_table(page.timeline, page.reasons, MOST_COPIES);
    document.paragraph(copies_about(summary, copies.rows.len()));
    document.table(copies);
    if !page.work.is_empty() {
        document.heading(2, "The job");
        document.code(page.work);
    }
    let job = name(&summary.job);
    document.page(&Frame {
        title: format!("{job} – hindmost"),
        lead: format!("{} under the policy {}.", state(summary), name(&summary.policy)),
        heading: job,
        glossary: glossary::run(),
        again: page.again,
    })
}

/// Returns how the run ended, after which time, and with how many finished tasks.
fn state(summary: &RunSummary) -> String {
    let finished: u64 = summary.phases.iter().map(|phase| phase.finished).sum();
    let of = format!("{} of {} finished", grouped(finished), counted(summary.tasks, "task"));
    let pauses = if summary.pauses.is_empty() { "" } else { " (without pauses)" };
    let took = duration(summary.flowtime) + pauses;
    match summary.state {
        RunState::Done => format!("Done in {took}: all {} finished", counted(summary.tasks, "task")),
        RunState::Failed => format!("Failed after {took}: {of}"),
        RunState::Abandoned => format!("Abandoned after {took}: {of}"),
        RunState::Interrupted => format!("Interrupted after {took}: {of}"),
    }
}

/// Returns the names and values of the facts at the beginning of the page.
fn facts(page: &RunPage<'_>) -> Vec<(&'static str, String)> {
    let summary = page.summary;
    let copies = summary.copies;
    let mut facts = Vec::new();
    let mut fact = |what: &'static str, value: String| facts.push((what, value));
    fact("state", state_name(summary.state).to_owned());
    let pauses = if summary.pauses.is_empty() {
        String::new()
    } else {
        format!(", without {} of pauses; the other times on this page include the pauses", duration(summary.paused()))
    };
    fact("time", duration(summary.flowtime) + &pauses);
    let withdrawn = match summary.withdrawn {
        0 => String::new(),
        count => format!(", and {} withdrawn", grouped(count)),
    };
    fact("tasks", grouped(summary.tasks) + &withdrawn);
    fact("attempts", grouped(summary.attempts));
    let won = if copies.launched == 0 { String::new() } else { format!(", and {}", finished_first(copies)) };
    fact("copies", format!("{} started{won}", grouped(copies.launched)));
    let broken = summary.phases.iter().any(|phase| phase.broken > 0);
    fact(
        "extra work",
        format!(
            "{} of the total time of all attempts{}{}",
            percent(copies.wasted_share),
            if broken { ". " } else { "" },
            if broken { BROKEN_NOT_COUNTED } else { "" }
        ),
    );
    for suggestion in &summary.suggestions {
        fact("suggestion", escaped(&suggestion.text));
    }
    if let Some(known) = &summary.energy {
        fact("energy", in_words(known));
    }
    if let Some(met) = summary.met_deadline {
        fact("deadline", if met { "met" } else { "missed" }.to_owned());
    }
    fact("policy", name(&summary.policy));
    if let Some(shell) = &summary.shell {
        fact("shell", name(shell));
    }
    fact("knowledge", knowledge_text(&summary.knowledge));
    let nodes: Vec<String> = page.timeline.nodes.iter().take(12).map(|node| name(&node.name)).collect();
    let more = page.timeline.nodes.len().saturating_sub(nodes.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    fact("nodes", format!("{}: {}{more}", page.timeline.nodes.len(), nodes.join(", ")));
    if !page.faults.is_empty() {
        fact("fault injection", format!("{} (caused on purpose)", sentence(page.faults)));
    }
    facts
}

fn failed(document: &mut Document, task: &FailedTask) {
    let times = if task.failures == 1 { "once".to_owned() } else { format!("{} times", task.failures) };
    document.heading(3, format!("{}/{}", name(&task.phase), task.task));
    document.paragraph_as(Role::Failure, format!("Failed {times}; last error: {}", sentence(task.reason.trim())));
    let matrix = Some(values(task)).filter(|values| !values.is_empty());
    let facts = [
        ("input", task.input.clone()),
        ("values", matrix),
        ("command", Some(task.command.trim().to_owned()).filter(|command| !command.is_empty())),
        ("log of standard error", task.stderr_log.clone()),
        ("log of standard output", task.stdout_log.clone()),
    ];
    document.facts(facts.into_iter().filter_map(|(what, value)| Some((what, value?))));
    document.code(&task.stderr);
    document.code(&task.stdout);
}

fn failed_about(summary: &RunSummary) -> String {
    let count = summary.failed_tasks.len();
    let shown = if count > MOST_FAILED { format!(" The first {MOST_FAILED} are shown.") } else { String::new() };
    let which = if count == 1 { "One task used up its retries" } else { "These tasks used up their retries" };
    format!("{which}. Below each task are the ends of its last attempt's standard error and output.{shown}")
}

/// Returns the table of phases, with all columns that a wide terminal shows.
fn phases(summary: &RunSummary) -> Table {
    let total = total(summary);
    let rows = summary.phases.iter().chain(&total).map(|phase| (name(&phase.name), phase));
    Table::of_columns("The phases and their attempts", "phase:", COLUMNS, rows)
}

/// Draws the attempts by node, for narrow and for wide screens.
fn gantt(page: &RunPage<'_>) -> Picture {
    let panel = by_node(page.timeline, page.reasons);
    let caption = caption(&panel);
    let mut chart = GanttChart {
        title: format!(
            "{} on {}",
            crate::text::name(&page.summary.job, 60, "…"),
            counted(page.timeline.nodes.len() as u64, "node")
        ),
        about: "The attempts of the run on each node over time.".to_owned(),
        time: "time since the run began".to_owned(),
        panels: vec![panel],
        until: None,
        wide: false,
    };
    let narrow = chart.draw();
    chart.wide = true;
    Picture { wide: Some(chart.draw()), ..Picture::new(narrow, caption) }
}

/// Explains the picture of the nodes, with the signs that occur in it.
fn caption(panel: &Panel) -> String {
    let attempts = || panel.rows.iter().flat_map(|row| row.lanes.iter().flatten());
    let ended = |fate: Fate| attempts().any(|attempt| attempt.fate == fate);
    let signs = [
        (ended(Fate::Won), "Solid: finished first."),
        (ended(Fate::Lost), "Hatched: stopped for another copy."),
        (ended(Fate::Failed), "Cross: failed."),
        (ended(Fate::NodeLost), "Crossed-out circle: lost with its node."),
        (ended(Fate::Cut), "Dashed: not finished, stopped with the run or still running."),
        (
            attempts().any(|attempt| attempt.copy),
            "Diamond: a copy, which started while another attempt of its task was running, or in place of one.",
        ),
        (panel.rows.iter().any(|row| !row.away.is_empty()), "Grey: the node was lost."),
        (!panel.pauses.is_empty(), "Over all nodes: the run was paused, from its interruption until it was resumed."),
    ];
    let mut text = "Each row is a node, with as many lanes as attempts ran there at the same time. Each bar is an \
                    attempt, labelled with its task if it is long enough."
        .to_owned();
    for (_, sign) in signs.iter().filter(|(occurs, _)| *occurs) {
        text += " ";
        text += sign;
    }
    text
}

/// Adds the attempts in words. If there are too many, the attempts of tasks with several attempts are listed first.
fn attempts(document: &mut Document, page: &RunPage<'_>) {
    let mut counts: BTreeMap<TaskId, usize> = BTreeMap::new();
    for row in &page.timeline.rows {
        *counts.entry(row.attempt.task).or_default() += 1;
    }
    let again = |times: bool| counts.iter().filter(move |(_, count)| (**count > 1) == times).map(|(task, _)| *task);
    let mut tasks: Vec<TaskId> = again(true).chain(again(false)).take(MOST_LISTED).collect();
    let all = page.timeline.rows.len();
    if all <= MOST_LISTED {
        tasks.sort_unstable();
    }
    let list = attempt_list(page.timeline, &tasks, page.reasons, 0.0, MOST_LISTED);
    let note = if all > MOST_LISTED {
        format!(
            "{MOST_LISTED} of {} are listed, first the attempts of tasks with several attempts. `hindmost explain` \
             shows the attempts of any task.",
            counted(all as u64, "attempt")
        )
    } else {
        String::new()
    };
    list.add_to(document, "All attempts by task (times count from the start of the run)", note);
}

/// Says how many of the copies, of which there is at least one, finished first.
fn finished_first(copies: Copies) -> String {
    match (copies.launched, copies.won) {
        (1, 0) => "it did not finish first".to_owned(),
        (1, _) => "it finished first".to_owned(),
        (_, won) => format!("{} of them finished first", grouped(won)),
    }
}

/// Introduces the table of copies, which has `listed` rows.
fn copies_about(summary: &RunSummary, listed: usize) -> String {
    let launched = summary.copies.launched;
    if launched == 0 {
        return "No copies were started.".to_owned();
    }
    let which = if (listed as u64) < launched { format!(" The first {listed} are below.") } else { String::new() };
    let copies = if launched == 1 { "One copy was".to_owned() } else { format!("{} copies were", grouped(launched)) };
    let won = finished_first(summary.copies);
    let gained = gain(summary).into_iter().chain(lessons(summary)).map(|text| text + " ").collect::<String>();
    format!(
        "{copies} started while another attempt of the same task was running, and {won}. {gained}The policy gives these \
         reasons in a replay of the run's journal.{which}"
    )
}
