//! The page of a live run, which `hindmost run` writes.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::{PhaseSummary, RunState, RunSummary};
use hindmost_core::timeline::Timeline;
use serde::Serialize;

use super::copies::{AttemptList, attempt_list, copy_entries};
use super::{Frame, Picture, Pictures, Step, Table, glossary, knowledge_text, long, name, rendered, sentence};
use crate::copies::{gain, lessons};
use crate::failures::values;
use crate::figures::gantt::{Fate, GanttChart, Panel, by_node};
use crate::run::{BROKEN_NOT_COUNTED, in_words};
use crate::text::{counted, duration, grouped, percent};

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

#[derive(Serialize)]
struct Content {
    facts: Vec<[String; 2]>,
    failed: Vec<Failed>,
    failed_about: String,
    phases: Table,
    phases_about: String,
    gantt: Picture,
    attempts: AttemptList,
    copies: Option<Table>,
    copies_about: String,
    work: String,
}

#[derive(Serialize)]
struct Failed {
    name: String,
    reason: String,
    facts: Vec<[String; 2]>,
    stderr: String,
    stdout: String,
}

/// Returns the page of a live run, finished or not.
///
/// # Errors
/// If a template is faulty, which is a defect of this crate.
pub fn run_page(page: &RunPage<'_>) -> Result<String, minijinja::Error> {
    let summary = page.summary;
    let mut pictures = Pictures::default();
    let entries = copy_entries(page.timeline, page.reasons, 0.0, MOST_COPIES);
    let copies = (!entries.is_empty()).then(|| {
        let mut table = Table::new(
            "Copies in order of start",
            &["task:", "attempt", "node", "started after", "reason:", "result:"],
        );
        table.stacked = true;
        for entry in &entries {
            let cells =
                [&entry.task, &entry.attempt.to_string(), &entry.node, &duration(entry.at), &entry.why, &entry.result];
            table.rows.push(cells.map(Clone::clone).to_vec());
        }
        table
    });
    let content = Content {
        facts: facts(page),
        failed: summary.failed_tasks.iter().take(MOST_FAILED).map(failed).collect(),
        failed_about: failed_about(summary),
        phases: phases(summary),
        phases_about: format!(
            "Started after, finished after: time from the start of the run to the start of the phase's first attempt, \
             and to the finish of its last task{}. p50, p95, max: median, 95th percentile and longest duration of the \
             attempts that finished first. Broken: attempts that failed, lost their node or were stopped with the run.",
            if summary.pauses.is_empty() { "" } else { ", pauses included" }
        ),
        gantt: gantt(page, &mut pictures),
        attempts: attempts(page),
        copies_about: copies_about(summary, entries.len()),
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
fn facts(page: &RunPage<'_>) -> Vec<[String; 2]> {
    let summary = page.summary;
    let copies = summary.copies;
    let mut facts: Vec<[String; 2]> = Vec::new();
    let mut fact = |what: &str, value: String| facts.push([what.to_owned(), value]);
    let state = match summary.state {
        RunState::Done => "done",
        RunState::Failed => "failed",
        RunState::Abandoned => "abandoned",
        RunState::Interrupted => "interrupted",
    };
    fact("state", state.to_owned());
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
    let won = match (copies.launched, copies.won) {
        (0, _) => String::new(),
        (1, 1) => ", and it finished first".to_owned(),
        (1, _) => ", and it did not finish first".to_owned(),
        (_, won) => format!(", and {} of them finished first", grouped(won)),
    };
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

fn failed(task: &hindmost_core::metrics::FailedTask) -> Failed {
    let times = if task.failures == 1 { "once".to_owned() } else { format!("{} times", task.failures) };
    Failed {
        name: format!("{}/{}", name(&task.phase), task.task),
        reason: format!("Failed {times}; last error: {}", sentence(task.reason.trim())),
        facts: failed_facts(task),
        stderr: long(&task.stderr),
        stdout: long(&task.stdout),
    }
}

/// Returns what a failed task worked on and where its logs are.
fn failed_facts(task: &hindmost_core::metrics::FailedTask) -> Vec<[String; 2]> {
    let matrix = Some(values(task)).filter(|values| !values.is_empty());
    let facts = [
        ("input", task.input.clone()),
        ("values", matrix),
        ("command", Some(task.command.trim().to_owned()).filter(|command| !command.is_empty())),
        ("log of standard error", task.stderr_log.clone()),
        ("log of standard output", task.stdout_log.clone()),
    ];
    facts.into_iter().filter_map(|(what, value)| Some([what.to_owned(), long(&value?)])).collect()
}

fn failed_about(summary: &RunSummary) -> String {
    let count = summary.failed_tasks.len();
    let shown = if count > MOST_FAILED { format!(" The first {MOST_FAILED} are shown.") } else { String::new() };
    let which = if count == 1 { "One task used up its retries" } else { "These tasks used up their retries" };
    format!("{which}. Below each task are the ends of its last attempt's standard error and output.{shown}")
}

/// Returns the table of phases.
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
        "started after",
        "finished after",
    ];
    let mut table = Table::new("The phases and their attempts", &columns);
    let time = |seconds: Option<f64>| seconds.map_or("–".to_owned(), duration);
    // All percentiles of one finished task are equal, so only the maximum is shown.
    let quantile = |phase: &PhaseSummary, seconds: Option<f64>| time(seconds.filter(|_| phase.finished > 1));
    let row = |phase: &PhaseSummary| {
        vec![
            name(&phase.name),
            format!("{} of {}", grouped(phase.finished), grouped(phase.tasks)),
            grouped(phase.attempts),
            grouped(phase.copies.launched),
            grouped(phase.copies.won),
            grouped(phase.broken),
            quantile(phase, phase.p50),
            quantile(phase, phase.p95),
            time(phase.max),
            time(phase.start),
            time(phase.finish),
        ]
    };
    table.rows = summary.phases.iter().map(row).collect();
    table
}

/// Draws the attempts by node, for narrow and for wide screens.
fn gantt(page: &RunPage<'_>, pictures: &mut Pictures) -> Picture {
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
    let svg = pictures.inline(&chart.draw());
    chart.wide = true;
    Picture { svg, wide: pictures.inline(&chart.draw()), caption }
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

/// Lists the attempts in words. If there are too many, the attempts of tasks with several attempts are listed first.
fn attempts(page: &RunPage<'_>) -> AttemptList {
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
    let heading = "All attempts by task (times count from the start of the run)".to_owned();
    let mut list = attempt_list(heading, page.timeline, &tasks, page.reasons, 0.0, MOST_LISTED);
    if all > MOST_LISTED {
        list.note = format!(
            "{MOST_LISTED} of {} are listed, first the attempts of tasks with several attempts. `hindmost explain` \
             shows the attempts of any task.",
            counted(all as u64, "attempt")
        );
    }
    list
}

/// Introduces the table of copies, which has `listed` rows.
fn copies_about(summary: &RunSummary, listed: usize) -> String {
    let launched = summary.copies.launched;
    if launched == 0 {
        return "No copies were started.".to_owned();
    }
    let which = if (listed as u64) < launched { format!(" The first {listed} are below.") } else { String::new() };
    let copies = if launched == 1 { "One copy was".to_owned() } else { format!("{} copies were", grouped(launched)) };
    let won = match (launched, summary.copies.won) {
        (1, 0) => "it did not finish first".to_owned(),
        (1, _) => "it finished first".to_owned(),
        (_, won) => format!("{} of them finished first", grouped(won)),
    };
    let gained = gain(summary).into_iter().chain(lessons(summary)).map(|text| text + " ").collect::<String>();
    format!(
        "{copies} started while another attempt of the same task was running, and {won}. {gained}The policy gives these \
         reasons in a replay of the run's journal.{which}"
    )
}
