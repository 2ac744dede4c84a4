//! Reads what Snakemake keeps of its jobs in `.snakemake/metadata`: a JSON object in a file for each output, or these files joined.
//!
//! A rule is a phase, and a job a task. A job with several outputs has a record for each, with the same rule, `job_hash` and `endtime`. The
//! record of a job that runs, or was interrupted, has no end (`incomplete`). Benchmark files are refused: they have no times.

use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::error::TraceError;
use crate::format::{LOOKED_AT, TaskFormat};
use crate::reading::json::{Keys, parse_cleaned};
use crate::reading::values::{Flag, Number, Text};
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::Row;
use crate::tasks::{Collector, InFolders, Rows, Rules, lines};

/// The reader.
pub(crate) const READER: Rows<'static> = Rows {
    format: TaskFormat::Snakemake,
    is_one,
    in_folders: Some(InFolders { is_part: is_record, are_lines: true }),
    read: &read,
};

/// Returns whether a log with this beginning has records of jobs, or is a benchmark file.
fn is_one(beginning: &[u8]) -> bool {
    is_record(beginning) || is_benchmark(beginning)
}

/// Returns the first object of a text that begins with one, or with an array of them.
fn first_object(beginning: &[u8]) -> Option<&[u8]> {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    text.starts_with(b"{").then_some(text)
}

fn has_keys(object: &[u8], names: &[&str]) -> bool {
    names.iter().all(|name| Keys::of(object).any(|key| key == name.as_bytes()))
}

fn is_record(beginning: &[u8]) -> bool {
    let is_record = |object: &[u8]| {
        has_keys(object, &["rule", "incomplete"])
            && (has_keys(object, &["starttime"]) || has_keys(object, &["job_hash"]))
    };
    first_object(beginning).is_some_and(is_record)
}

/// Returns whether this is the beginning of a benchmark file (`s`, `h:m:s`, `max_rss` …), or of several under one heading.
fn is_benchmark(beginning: &[u8]) -> bool {
    if let Some(object) = first_object(beginning) {
        return has_keys(object, &["s", "h:m:s"]);
    }
    let line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    memchr::memmem::find(line, b"s\th:m:s\t").is_some()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    rule: Text<'a>,
    #[serde(borrow)]
    job_hash: Text<'a>,
    starttime: Number,
    endtime: Number,
    incomplete: Flag,
}

/// Reads records.
///
/// # Errors
/// If reading fails, or the log is a benchmark file.
fn read(mut window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let failed = |source| TraceError::Read { name: name.to_owned(), position: 0, source };
    if is_benchmark(window.hold(LOOKED_AT).map_err(failed)?) {
        return Err(TraceError::NoAttempt {
            name: name.to_owned(),
            format: TaskFormat::Snakemake.name(),
            why: ": a benchmark file says how long jobs took, and not when they ran; give the folder .snakemake/metadata of the workflow"
                .to_owned(),
        });
    }
    window.one_object_a_line();
    // A workflow that is run again adds to the records.
    collector.rules = Rules { has_pauses: true, ..Rules::default() };
    collector.issues.note(
        "Snakemake keeps only the last try of a job: earlier tries (retries:) are missing, so that their time looks like time without attempts; \
         and a job that failed for good looks like one that succeeded.",
    );
    let mut jobs: FxHashSet<(String, String, u64)> = FxHashSet::default();
    lines::each(window, name, collector, |collector, line, text, terminated| {
        let text = text.trim().trim_end_matches(',');
        if matches!(text, "[" | "]") {
            return Ok(());
        }
        let mut cleaned = String::new();
        match parse_cleaned::<Record<'_>>(text.as_bytes(), &mut cleaned) {
            Ok(record) => take(&record, &mut jobs, collector, line),
            // A file may end without a line feed.
            Err(_) if !terminated => collector.issues.cut(format!("in line {line}")),
            Err(why) => collector.issues.unreadable(line, &why),
        }
        Ok(())
    })
}

fn take(record: &Record<'_>, jobs: &mut FxHashSet<(String, String, u64)>, collector: &mut Collector, line: u64) {
    let rule = record.rule.get().unwrap_or_default();
    let (start, end) = (record.starttime.real(), record.endtime.real().filter(|_| !record.incomplete.0));
    if let (Some(hash), Some(end)) = (record.job_hash.filled(), end)
        && !jobs.insert((rule.to_owned(), hash.to_owned(), end.to_bits()))
    {
        return collector.issues.left_out(line, "records of further outputs of the same jobs");
    }
    collector.add(line, &Row { phase: rule, start, end, state: end.map(|_| Ended::Succeeded), ..Row::default() });
}
