//! Reads workloads in the Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, and comments after semicolons.
//!
//! | field | what is read |
//! | --- | --- |
//! | 1 | job, which is one task |
//! | 2, 3, 4 | seconds from the log's start to the submission, from there to the start, and from there to the end |
//! | 5, 8 | processors that the job had, or requested |
//! | 11 | status: 1 succeeded, 0 failed, 5 cancelled; -1 is not known and counts as success |
//! | 14 | executable, which is the phase |
//!
//! −1 stands for what is not known. A job whose parts have lines of their own (status 2, 3 and 4) has a line for the whole, too, which
//! counts. Times begin at `UnixStartTime` of the comments.

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::Row;
use crate::tasks::units::number;
use crate::tasks::{Collector, Rows, Rules, lines};

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Swf, is_one, in_folders: None, read: &read };

/// Numbers in a line.
const FIELDS: usize = 18;

/// Returns whether a log with this beginning is in the format: its first line that is no comment has 18 numbers.
fn is_one(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let mut rows = text.lines().filter(|line| !is_comment(line));
    rows.next().and_then(fields).is_some()
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with(';')
}

/// Returns the numbers of a line; `None` if there are others than 18.
fn fields(line: &str) -> Option<[f64; FIELDS]> {
    let fields: Option<Vec<f64>> = line.split_whitespace().map(number).collect();
    fields?.try_into().ok()
}

/// Reads a workload.
///
/// # Errors
/// If reading fails.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    collector.rules = Rules { jobs_within: true, ..Rules::default() };
    let mut origin = 0.0;
    lines::each(window, name, collector, |collector, line, text, terminated| {
        if is_comment(text) {
            let about = text.trim_start_matches([';', ' ', '\t']);
            let start = about.strip_prefix("UnixStartTime:").and_then(|time| number(time.split_whitespace().next()?));
            origin = start.unwrap_or(origin);
            return Ok(());
        }
        match fields(text) {
            Some(fields) => take(&fields, origin, collector, line),
            None if !terminated => collector.issues.cut(format!("in line {line}")),
            None => collector.issues.unreadable(line, "it does not have 18 numbers"),
        }
        Ok(())
    })
}

fn take(fields: &[f64; FIELDS], origin: f64, collector: &mut Collector, line: u64) {
    let known = |field: usize| Some(fields[field - 1]).filter(|value| *value >= 0.0);
    let status = fields[10];
    let ended = match status as i64 {
        2..=4 => return collector.issues.left_out(line, "parts of jobs, which have lines for the whole, too"),
        0 => Ended::Failed,
        5 => Ended::Killed,
        _ => Ended::Succeeded,
    };
    let (submitted, waited, ran) = (known(2), known(3), known(4));
    if ended == Ended::Killed && ran.unwrap_or(0.0) == 0.0 {
        return collector.issues.left_out(line, "jobs that were cancelled before they started");
    }
    let submitted = submitted.map(|at| origin + at);
    let start = submitted.zip(waited).map(|(at, waited)| at + waited);
    let job = format!("{}", fields[0]);
    collector.add(
        line,
        &Row {
            job: &job,
            task: &job,
            phase: &known(14).map_or_else(String::new, |number| format!("executable {number}")),
            submitted,
            start,
            end: start.zip(ran).map(|(start, ran)| start + ran),
            state: Some(ended),
            cause: match ended {
                Ended::Failed => "status 0",
                Ended::Killed => "cancelled",
                _ => "",
            },
            slots: known(5).filter(|slots| *slots > 0.0).or(known(8)),
            ..Row::default()
        },
    );
}
