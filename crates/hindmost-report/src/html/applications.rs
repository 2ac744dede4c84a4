//! The page of all applications of some logs, which `advise` writes: sums, what costs most, and a table with links to the pages
//! of the applications.

use hindmost_core::metrics::{Diagnosis, DiagnosisTotal, Spent, TimePart};
use serde::Serialize;

use super::application::{causes, slow};
use super::{Step, glossary, name};
use crate::diagnosis::{TOTAL_COLUMNS, last, longest, lost_in_words, mostly, spent, title};
use crate::document::{Document, Form, Frame, Role, Table, Text};
use crate::text::{counted, duration, grouped, percent};

/// The most parts in the table of what costs most.
const COSTS: usize = 20;
/// The most logs that can't be read that are listed.
const UNREAD: usize = 200;
/// Parts of one application in the table of what costs most.
const COSTS_OF_ONE: usize = 2;

/// The content of the page of all applications.
pub struct ApplicationsPage<'a> {
    /// All applications together.
    pub total: &'a DiagnosisTotal,
    /// The applications, in any order.
    pub rows: &'a [ApplicationRow],
    /// Logs that can't be read.
    pub unread: &'a [UnreadLog],
    /// Instructions to write the page again.
    pub again: &'a [Step],
}

/// A log that can't be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnreadLog {
    /// Path of the log.
    pub log: String,
    /// Why it can't be read.
    pub error: String,
}

/// What the page of all applications says about one of them. It is small, because there may be many thousands.
#[derive(Clone, Debug)]
pub struct ApplicationRow {
    /// File name of the application's page.
    page: String,
    name: String,
    log: String,
    jobs: u64,
    tasks: u64,
    all_tasks: u64,
    seconds: f64,
    used_share: Option<f64>,
    /// What most of the time was spent on, apart from ordinary work and time without jobs.
    costs: Vec<Cost>,
    /// What most of the time was spent on, and the share.
    mostly: Option<(Spent, f64)>,
    straggler_seconds: f64,
}

/// A part of an application's time.
#[derive(Clone, Debug)]
struct Cost {
    what: Spent,
    seconds: f64,
    share: f64,
    /// Name of the phase that had most of it.
    phase: String,
}

impl Cost {
    fn of(part: &TimePart) -> Cost {
        Cost { what: part.what, seconds: part.seconds, share: part.share, phase: name(&longest(part)) }
    }
}

impl ApplicationRow {
    /// Creates the row of an application. `page` is the file name of its page.
    pub fn of(one: &Diagnosis, log: &str, page: &str) -> ApplicationRow {
        let time = one.wall_time.as_ref();
        let parts = || time.iter().flat_map(|time| &time.parts);
        let costs = parts().filter(|part| !matches!(part.what, Spent::Work | Spent::NoJob)).take(COSTS_OF_ONE);
        ApplicationRow {
            page: page.to_owned(),
            name: name(one.name.as_deref().or(one.id.as_deref()).unwrap_or(&title(one))),
            log: name(log),
            jobs: one.jobs,
            tasks: one.tasks,
            all_tasks: one.all_tasks,
            seconds: time.map_or(0.0, |time| time.seconds),
            used_share: time.and_then(|time| time.used_share),
            costs: costs.map(Cost::of).collect(),
            mostly: parts().next().map(|part| (part.what, part.share)),
            straggler_seconds: one.stragglers.excess_seconds,
        }
    }
}

/// Returns the page of all applications.
pub fn applications_page(page: &ApplicationsPage<'_>) -> String {
    let total = page.total;
    let mut document = Document::new(Form::Page);
    document.heading(2, "Where the time went");
    let parts = total.parts.iter().map(|part| (spent(part.what).to_owned(), part));
    document.table(Table::of_columns("The wall time of all applications", "", TOTAL_COLUMNS, parts));
    let lost = lost_in_words(&total.lost).map(|said| said + ".");
    let findings = [last(&total.finished_last), Some(slow(&total.stragglers)), lost];
    document.paragraphs(Role::Usual, findings.into_iter().flatten());
    let costs = costs(page.rows);
    if !costs.rows.is_empty() {
        document.heading(2, "What costs most");
        document
            .paragraph("The longest parts of single applications, apart from ordinary work and time without a job.");
        document.table(costs);
    }
    if !total.stragglers.causes.is_empty() {
        document.heading(2, "Why stragglers were slow");
        document.table(causes(&total.stragglers, None, &[]));
    }
    document.heading(2, "Applications");
    document.table(applications(page.rows));
    if !page.unread.is_empty() {
        document.heading(2, "Logs that can’t be read");
        document.paragraph(unread_about(page.unread.len()));
        document.list(page.unread.iter().take(UNREAD).map(|one| &one.error));
    }
    let heading = format!("Where the time of {} went", counted(total.applications, "application"));
    document.page(&Frame {
        title: format!("{heading} – hindmost"),
        heading,
        lead: lead(total),
        glossary: glossary::diagnosis(),
        again: page.again,
    })
}

/// Returns a row that begins with the name of an application, which is a link to its page.
fn linked(row: &ApplicationRow, cells: impl IntoIterator<Item = String>) -> Vec<Text> {
    let name = Text::default().link(&row.page, &row.name);
    std::iter::once(name).chain(cells.into_iter().map(Text::from)).collect()
}

fn lead(total: &DiagnosisTotal) -> String {
    let mostly = mostly(total.parts.iter().map(|part| (part.what, part.share)));
    let mostly = mostly.map_or_else(String::new, |mostly| format!(", {mostly}"));
    format!("{} of wall time in all{mostly}.", duration(total.seconds))
}

fn costs(rows: &[ApplicationRow]) -> Table {
    let mut all: Vec<(&ApplicationRow, &Cost)> =
        rows.iter().flat_map(|row| row.costs.iter().map(move |cost| (row, cost))).collect();
    // The sort is stable, so equal costs keep the order of the logs.
    all.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    let rows = all.into_iter().take(COSTS).map(|(row, cost)| {
        let what = spent(cost.what).to_owned();
        linked(row, [what, duration(cost.seconds), percent(cost.share), cost.phase.clone(), row.log.clone()])
    });
    let headings = ["application:", "time spent on:", "wall time", "share of its time", "longest in:", "log:"];
    Table::new("What costs most", &headings).with_rows(rows)
}

fn applications(rows: &[ApplicationRow]) -> Table {
    let mut sorted: Vec<&ApplicationRow> = rows.iter().collect();
    sorted.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let rows = sorted.into_iter().map(|row| {
        let cells = [
            duration(row.seconds),
            row.used_share.map_or_else(|| "–".to_owned(), percent),
            row.mostly.map_or_else(|| "–".to_owned(), |(what, share)| format!("{} ({})", spent(what), percent(share))),
            duration(row.straggler_seconds),
            grouped(row.jobs),
            grouped(row.all_tasks.max(row.tasks)),
            grouped(row.tasks),
            row.log.clone(),
        ];
        linked(row, cells)
    });
    let headings = [
        "application:",
        "wall time",
        "slots used",
        "mostly:",
        "excess of stragglers",
        "jobs",
        "tasks",
        "finished tasks",
        "log:",
    ];
    Table::new("All applications, longest first", &headings).with_rows(rows)
}

fn unread_about(unread: usize) -> String {
    let all = counted(unread as u64, "log");
    if unread > UNREAD { format!("{all}; the first {UNREAD} are listed.") } else { format!("{all}.") }
}
