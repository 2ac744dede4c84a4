//! Finds out which application a log belongs to, from its first events.

use std::fs::File;
use std::path::Path;

use super::events::{Head, Kind, head, kind_by_parsing, not_needed, parse};
use super::fields::{ApplicationStart, Rollover};
use crate::reading::compression::Plain;
use crate::reading::lines::{Body, Lines};
use crate::reading::sniff;

/// The most lines that are searched for the application start event. Spark writes it within the first ten lines.
const LINES: usize = 200;
/// The most bytes that are searched for the application start event.
const BYTES: u64 = 8 << 20;

/// The application, as its start event describes it, and the part of its log.
#[derive(Debug, Default)]
pub(super) struct Identity {
    id: Option<String>,
    attempt: Option<String>,
    start: Option<i64>,
    /// Whether the first events have the start of an application.
    pub started: bool,
    /// Id of the Spark context and number of the part, if the first line is that of a part of Databricks.
    pub rollover: Option<(i64, u64)>,
}

impl Identity {
    /// Returns whether two identities certainly belong to the same application. For a log in progress the start times
    /// are not compared.
    pub(super) fn is_same(&self, other: &Identity, in_progress: bool) -> bool {
        let started = in_progress || self.start == other.start;
        self.id.is_some() && self.id == other.id && self.attempt == other.attempt && started
    }
}

/// Reads the first events of a file. If it is not a log, the error describes what it is.
pub(super) fn identify(path: &Path) -> Result<Identity, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let plain = Plain::new(file).map_err(|error| error.to_string())?;
    let mut lines = Lines::new(plain, not_needed);
    let beginning = lines.window.hold(sniff::LOOKED_AT).map_err(|error| error.to_string())?;
    sniff::refuse(beginning, "").map_err(|error| sniff::in_a_word(&error))?;
    lines.window.one_object_a_line();
    let mut events = 0;
    let mut first = None;
    let mut rollover = None;
    for _ in 0..LINES {
        if lines.window.read() > BYTES {
            break;
        }
        let Some(line) = lines.next().map_err(|error| error.to_string())? else {
            break;
        };
        let (bytes, whole) = match line.body {
            Body::Whole([]) => continue,
            Body::Whole(bytes) => (bytes, true),
            Body::Skipped { beginning, .. } => (beginning, false),
        };
        let kind = match head(bytes) {
            Head::Event(kind) => Some(kind),
            Head::Object if whole => kind_by_parsing(bytes).ok().flatten(),
            _ => None,
        };
        match kind {
            Some(Kind::ApplicationStart) if whole => {
                if let Ok(event) = parse::<ApplicationStart<'_>>(bytes) {
                    return Ok(Identity {
                        id: event.id.get().map(str::to_owned),
                        attempt: event.attempt.get().map(str::to_owned),
                        start: event.time.instant(),
                        started: true,
                        rollover,
                    });
                }
            }
            Some(Kind::Rollover) if whole => {
                let event: Rollover = parse(bytes).unwrap_or_default();
                rollover = rollover.or(event.context.whole().zip(event.number.amount()));
                events += 1;
            }
            None | Some(Kind::Foreign) => {
                first.get_or_insert_with(|| sniff::describe(bytes));
            }
            Some(_) => events += 1,
        }
    }
    match first {
        Some(first) if events == 0 => Err(first),
        None if events == 0 => Err("empty".to_owned()),
        _ => Ok(Identity { rollover, ..Identity::default() }),
    }
}
