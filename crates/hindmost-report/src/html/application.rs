//! The page of one application of a log, which `advise` writes: what its wall time was spent on, its slots over time, and
//! why its stragglers were slow. The page of a replay has the same section.

use hindmost_core::metrics::{
    Diagnosis, FinishedLast, SlotTimeline, SlotUse, SlowNode, Spent, StragglersByCause, Variance, VarianceShare,
    Workers,
};

use super::{glossary, name, sentence};
use crate::advice::add_advice;
use crate::diagnosis::{
    AGAIN, COLUMNS, WORTH, after_failure, cause, cure_of_part, cure_with, details, failed_jobs, failing_nodes, last,
    lost, mostly, needed, nodes, small_phases, spent, stragglers, suggested, task_itself, task_time, title,
    unsuccessful, whole,
};
use crate::document::{Document, Form, Frame, Picture, Role, Table, Text};
use crate::figures::{SlotChart, SlotLayer, SlotLook, SlotRow, SlotSpan};
use crate::text::{capitalised, counted, duration, grouped, percent};

/// The most lanes of phases, and of jobs, in a picture.
const LANES: [usize; 2] = [10, 4];

/// The content of the page of an application.
pub struct ApplicationPage<'a> {
    /// The application.
    pub diagnosis: &'a Diagnosis,
    /// Path of its log.
    pub log: &'a str,
    /// Warnings about the log.
    pub warnings: &'a [String],
    /// File name of the page of all applications; `None` if there is none.
    pub index: Option<&'a str>,
}

/// Returns the page of an application.
pub fn application_page(page: &ApplicationPage<'_>) -> String {
    let one = page.diagnosis;
    let mut document = Document::new(Form::Page);
    if let Some(index) = page.index {
        document.paragraph(Text::default().link(index, "All applications"));
    }
    document.facts(facts(page));
    document.paragraphs(Role::Caution, page.warnings);
    document.heading(2, "Findings");
    add_findings(&mut document, one);
    if let Some(advice) = &one.advice {
        add_advice(&mut document, advice, one.jobs);
    }
    if !one.settings.is_empty() {
        document.heading(2, "Settings");
        document.details("Settings of the engine that matter for stragglers", |inside| {
            inside.facts(one.settings.iter().map(|(key, value)| (name(key), sentence(value))));
        });
    }
    let heading = name(one.name.as_deref().or(one.id.as_deref()).unwrap_or(&title(one)));
    document.page(&Frame {
        title: format!("{heading} – hindmost"),
        lead: lead(one),
        heading,
        glossary: glossary::diagnosis(),
        again: &[],
    })
}

/// Returns what most of the time was spent on, in a sentence.
fn lead(one: &Diagnosis) -> String {
    let Some(time) = &one.wall_time else { return "The log does not record when tasks ran.".to_owned() };
    let mostly = mostly(time.parts.iter().map(|part| (part.what, part.share)));
    format!("It took {}{}.", duration(time.seconds), mostly.map_or_else(String::new, |mostly| format!(", {mostly}")))
}

fn facts(page: &ApplicationPage<'_>) -> Vec<(&'static str, String)> {
    let one = page.diagnosis;
    let mut facts = vec![("log", sentence(page.log))];
    if let Some(id) = &one.id {
        facts.push(("application", name(id)));
    }
    facts.push(("jobs", grouped(one.jobs)));
    let all =
        if one.tasks < one.all_tasks { format!(" of {} finished", grouped(one.all_tasks)) } else { String::new() };
    facts.push(("tasks", grouped(one.tasks) + &all));
    if let Some(time) = &one.wall_time {
        facts.push(("wall time", duration(time.seconds)));
        let about = if time.slots_known { "" } else { "about " };
        let used = time.used_share.map_or_else(String::new, |share| format!(", {} in use", percent(share)));
        facts.push(("slots", format!("{about}{:.1} on average{used}", time.slots)));
    }
    facts
}

/// Adds what is said about an application.
pub(super) fn add_findings(document: &mut Document, one: &Diagnosis) {
    let Some(time) = &one.wall_time else {
        document.paragraph("The log does not record when tasks ran.");
        return;
    };
    document.paragraph(whole(one, time));
    let worth = || time.parts.iter().filter(|part| part.share >= WORTH);
    let cures = worth().filter_map(|part| Some(capitalised(&cure_of_part(part, one)?)));
    let ended = one.unsuccessful.map(|ended| unsuccessful(ended).to_owned());
    let slow_nodes = nodes(one).filter(|_| !one.slow_nodes.is_empty());
    let details = worth().flat_map(|part| details(part, time, one));
    let first = failing_nodes(one)
        .into_iter()
        .chain(ended)
        .chain(failed_jobs(&one.failed_jobs))
        .chain(slow_nodes)
        .chain(cures)
        .chain(details);
    document.list(first.chain(task_time(&one.task_time)).chain(lost(one, time)));
    if let Some(timeline) = &one.timeline {
        document.heading(3, "Slots over time");
        document.picture(picture(timeline));
        document.paragraphs(Role::Note, left_out(timeline));
    }
    document.heading(3, "Where the time went");
    let parts = time.parts.iter().map(|part| (spent(part.what).to_owned(), part));
    let mut table = Table::of_columns("The wall time by what it was spent on", "", COLUMNS, parts);
    table.columns[COLUMNS.len()].is_text = true;
    document.table(table);
    if let Some(about) = last(&one.finished_last) {
        document.heading(3, "What finished last");
        document.paragraph(about);
        document.table(last_table(&one.finished_last));
    }
    document.heading(3, "Why stragglers were slow");
    document.paragraph(slow(&one.stragglers));
    document.paragraphs(Role::Usual, small_phases(one));
    document.table(causes(&one.stragglers, Some(one.workers), &one.slow_nodes));
    document.paragraphs(Role::Usual, nodes(one));
    if let Some(variance) = &one.variance {
        document.heading(3, "What durations depend on");
        document.paragraph(variance_about(variance));
        document.table(variance_table(variance));
    }
    if let Some(needed) = needed(one) {
        document.heading(3, "What tasks needed");
        document.paragraph(needed);
        document.paragraphs(Role::Usual, one.suggestions.iter().map(suggested));
    }
}

fn last_table(last: &FinishedLast) -> Table {
    let rows = [
        ("a task that took long", last.long_attempt, "copies, if the cause is not the task itself"),
        ("a task that started late", last.late_start, "more slots, smaller tasks, or long tasks first"),
        ("a task that ran again after a failure", after_failure(last), "fewer failures"),
        (AGAIN, last.retry_without_failure, "whatever keeps attempts and outputs from being killed or lost"),
    ]
    .into_iter()
    .filter(|(_, waited, _)| waited.phases > 0)
    .map(|(what, waited, cure)| [what.to_owned(), grouped(waited.phases), duration(waited.seconds), cure.to_owned()]);
    let caption = "The wait for the last 5% of the tasks, by what finished last";
    Table::new(caption, &["", "phases", "waited", "what helps:"]).with_rows(rows)
}

/// Returns how many stragglers there were, in a sentence.
pub(super) fn slow(found: &StragglersByCause) -> String {
    if found.tasks == 0 {
        return stragglers(found, None);
    }
    let tasks = counted(found.tasks, "straggler");
    format!("{tasks} took {} longer than is typical, summed over tasks.", duration(found.excess_seconds))
}

/// Returns the table of the stragglers by cause, with what helps against these slow nodes.
pub(super) fn causes(found: &StragglersByCause, workers: Option<Workers>, slow: &[SlowNode]) -> Table {
    let table = Table::new(
        "Stragglers by cause; the excess is the time beyond what is typical, summed over tasks",
        &["cause:", "tasks", "excess", "share", "what helps:"],
    );
    let rows = found.causes.iter().map(|one| {
        let share = one.excess_seconds / found.excess_seconds.max(f64::MIN_POSITIVE);
        let (cause, cure) = (cause(one.cause, workers), cure_with(one.cause, workers, slow));
        [cause.to_owned(), grouped(one.tasks), duration(one.excess_seconds), percent(share), cure]
    });
    table.with_rows(rows)
}

fn variance_about(variance: &Variance) -> String {
    format!(
        "Differences between {} of the same phase: variance of the logarithm of the durations. {}",
        counted(variance.tasks, "task"),
        task_itself(variance)
    )
}

fn variance_table(variance: &Variance) -> Table {
    let mut table = Table::new("What the durations of tasks depend on", &["", "share", "95% interval"]);
    let parts: [(&str, Option<VarianceShare>); 5] = [
        ("first waves", Some(variance.first_wave)),
        ("input", Some(variance.input)),
        ("node", variance.node),
        ("node at the time", variance.node_time),
        ("the rest: the task itself, or luck", Some(variance.rest)),
    ];
    for (what, share) in parts {
        let [value, interval] = share.map_or_else(
            || ["–".to_owned(), "–".to_owned()],
            |share| [percent(share.share), format!("{} to {}", percent(share.ci95[0]), percent(share.ci95[1]))],
        );
        table.row([what.to_owned(), value, interval]);
    }
    table
}

/// What a use of slots is called, and how it is drawn.
fn layer(what: SlotUse) -> (&'static str, SlotLook) {
    match what {
        SlotUse::Work => ("ordinary work", SlotLook::Plain),
        SlotUse::FirstWave => ("first waves", SlotLook::Dotted),
        SlotUse::Lost => ("attempts that did not win", SlotLook::Light),
        SlotUse::Straggler => ("longer than 1.5 times typical", SlotLook::Rising),
        SlotUse::Retry => ("retries", SlotLook::Falling),
    }
}

/// The parts of the wall time that have rows in the picture, in the order of the rows.
const ROWS: [Spent; 7] = [
    Spent::NoJob,
    Spent::NoSlots,
    Spent::Scheduling,
    Spent::Retries,
    Spent::Stragglers,
    Spent::FewTasks,
    Spent::LastWave,
];

fn picture(timeline: &SlotTimeline) -> Picture {
    let caption = "The line is the number of slots, the grey area below it the slots that were free. The rows below show \
                   what most of each step was spent on (where no row is marked: ordinary work), and when phases and jobs ran.";
    let mut chart = SlotChart {
        title: "For what the slots were used".to_owned(),
        about: "The number of slots over time, and for what they were used. The tables below have the sums.".to_owned(),
        end: timeline.seconds,
        starts: timeline.starts.clone(),
        slots: timeline.slots.clone(),
        layers: timeline
            .uses
            .iter()
            .map(|one| {
                let (name, look) = layer(one.what);
                SlotLayer { name: name.to_owned(), look, slots: one.slots.clone() }
            })
            .collect(),
        rows: rows(timeline),
        wide: false,
    };
    let narrow = chart.draw();
    chart.wide = true;
    Picture { wide: Some(chart.draw()), ..Picture::new(narrow, caption) }
}

fn rows(timeline: &SlotTimeline) -> Vec<SlotRow> {
    let mut rows: Vec<SlotRow> = Vec::new();
    for what in ROWS {
        let spans = spans(timeline, what);
        if !spans.is_empty() {
            rows.push(SlotRow { name: spent(what).to_owned(), spans, lanes: 1 });
        }
    }
    let phases = timeline.phases.iter().map(|phase| {
        let label = phase.name.clone().unwrap_or_else(|| format!("phase {}", phase.phase));
        let about = format!("{}, {} of machine time", counted(phase.tasks, "task"), duration(phase.machine_seconds));
        SlotSpan {
            from: phase.from,
            to: phase.to,
            label: phase.phase.to_string(),
            tip: format!("{label}: {about}, {} to {}", duration(phase.from), duration(phase.to)),
        }
    });
    let phases: Vec<SlotSpan> = phases.collect();
    if !phases.is_empty() {
        rows.push(SlotRow { name: "phases".to_owned(), spans: phases, lanes: LANES[0] });
    }
    let jobs = timeline.jobs.iter().map(|job| {
        let label = job.job.map_or_else(String::new, |job| job.to_string());
        SlotSpan {
            from: job.from,
            to: job.to,
            tip: format!("job {label}: {} to {}", duration(job.from), duration(job.to)),
            label,
        }
    });
    let jobs: Vec<SlotSpan> = jobs.collect();
    if !jobs.is_empty() {
        rows.push(SlotRow { name: "jobs".to_owned(), spans: jobs, lanes: LANES[1] });
    }
    rows
}

/// Returns the spans of time that were mostly spent on one thing.
fn spans(timeline: &SlotTimeline, what: Spent) -> Vec<SlotSpan> {
    let mut spans: Vec<SlotSpan> = Vec::new();
    for (at, spent) in timeline.spent.iter().enumerate() {
        let end = timeline.starts.get(at + 1).copied().unwrap_or(timeline.seconds);
        let Some(start) = timeline.starts.get(at).filter(|_| *spent == what) else { continue };
        match spans.last_mut() {
            Some(last) if last.to >= *start => last.to = end,
            _ => spans.push(SlotSpan { from: *start, to: end, label: String::new(), tip: String::new() }),
        }
    }
    spans
}

fn left_out(timeline: &SlotTimeline) -> Vec<String> {
    let mut notes = Vec::new();
    if timeline.other_phases > 0 {
        notes.push(format!(
            "The picture has the {} phases with the most machine time; {} are left out.",
            timeline.phases.len(),
            grouped(timeline.other_phases)
        ));
    }
    if timeline.other_jobs > 0 {
        notes.push(format!(
            "The picture has the {} longest jobs; {} are left out.",
            timeline.jobs.len(),
            grouped(timeline.other_jobs)
        ));
    }
    notes
}
