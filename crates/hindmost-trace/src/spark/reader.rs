//! From lines to events: which lines are events, which can't be read, and where the log is cut.

use std::borrow::Cow;
use std::io::Read;

use serde::de::IgnoredAny;

use super::collect::{Application, Collector, Keep};
use super::events::{Head, Kind, head, kind_by_parsing, parse};
use super::lines::{Body, Line, Lines, Progress};
use super::sniff;
use super::warnings::{self, some};
use crate::error::TraceError;
use crate::summary::TraceSummary;

/// After so many lines, or bytes, without an event of Spark, the log isn't one.
const LINES_TO_FIND_SPARK: u64 = 1000;
const BYTES_TO_FIND_SPARK: u64 = 64 << 20;

/// What has been read of a log.
pub(super) struct Reading {
    pub collected: Collector,
    /// Lines that are complete events of Spark.
    events: u64,
    /// Lines that aren't blank.
    lines: u64,
    /// The first line that isn't blank: its number and what it is, until an event is found.
    first: Option<(u64, FirstLine)>,
    unreadable: u64,
    first_unreadable: Option<(u64, String)>,
    /// The last line that isn't blank, if it breaks off.
    cut: Option<u64>,
    /// Lines with bytes that aren't UTF-8 where it mattered.
    replaced: u64,
}

struct FirstLine {
    description: String,
    may_be_event: bool,
}

/// Why a line gives no event.
struct Unreadable {
    why: String,
    /// Whether the line, as far as it goes, could be the beginning of an event.
    breaks_off: bool,
}

impl Unreadable {
    fn new(why: &str) -> Self {
        Unreadable { why: why.to_owned(), breaks_off: false }
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        // Its "line 1" would be taken for a line of the log.
        let text = error.to_string().replace(" at line 1 column ", " at column ");
        Unreadable { why: text, breaks_off: error.is_eof() }
    }
}

/// Reads a whole log.
pub(super) fn read(
    reader: impl Read,
    name: &str,
    keep: Keep,
    progress: Option<Progress<'_>>,
) -> Result<Reading, TraceError> {
    let mut lines = Lines::new(reader, progress);
    let failed = |position| move |source| TraceError::Read { name: name.to_owned(), position, source };
    let position = lines.position();
    let beginning = lines.beginning(16).map_err(failed(position))?;
    sniff::refuse(beginning, name)?;
    if beginning.starts_with("\u{feff}".as_bytes()) {
        lines.leave_out(3);
    }
    let mut reading = Reading {
        collected: Collector::new(keep),
        events: 0,
        lines: 0,
        first: None,
        unreadable: 0,
        first_unreadable: None,
        cut: None,
        replaced: 0,
    };
    loop {
        let position = lines.position();
        let Some(line) = lines.next().map_err(failed(position))? else {
            break;
        };
        reading.take(&line);
        let looked = reading.lines >= LINES_TO_FIND_SPARK || position >= BYTES_TO_FIND_SPARK;
        if reading.events == 0 && looked {
            break;
        }
    }
    reading.check(name)?;
    Ok(reading)
}

impl Reading {
    fn take(&mut self, line: &Line<'_>) {
        let result = match line.body {
            Body::Whole([]) => return,
            Body::Whole(bytes) => self.take_whole(bytes, line.terminated),
            Body::Passed { head: Head::Event(kind), closed: true } => Ok(kind),
            Body::Passed { head: Head::Event(_), .. } => {
                Err(Unreadable { why: "it breaks off".to_owned(), breaks_off: true })
            }
            Body::Passed { .. } => Err(Unreadable::new("not a JSON object")),
        };
        if self.lines == 0 && !matches!(result, Ok(kind) if kind != Kind::Foreign) {
            self.first = Some((line.number, FirstLine::of(&line.body)));
        }
        self.lines += 1;
        // Only the last line may break off; an earlier one that did is one that can't be read.
        if let Some(number) = self.cut.take() {
            self.cannot_read(number, "it breaks off".to_owned());
        }
        match result {
            Ok(Kind::Foreign) => {}
            Ok(_) => self.events += 1,
            Err(Unreadable { breaks_off: true, .. }) => self.cut = Some(line.number),
            Err(Unreadable { why, .. }) => self.cannot_read(line.number, why),
        }
    }

    fn cannot_read(&mut self, number: u64, why: String) {
        self.unreadable += 1;
        self.first_unreadable.get_or_insert((number, why));
    }

    fn take_whole(&mut self, bytes: &[u8], terminated: bool) -> Result<Kind, Unreadable> {
        let result = self.understand(bytes, terminated);
        match (result, String::from_utf8_lossy) {
            (Err(error), lossy) => match lossy(bytes) {
                Cow::Borrowed(_) => Err(error),
                Cow::Owned(text) => {
                    let kind = self.understand(text.as_bytes(), terminated)?;
                    self.replaced += 1;
                    Ok(kind)
                }
            },
            (ok, _) => ok,
        }
    }

    fn understand(&mut self, bytes: &[u8], terminated: bool) -> Result<Kind, Unreadable> {
        let kind = match head(bytes) {
            Head::Event(kind) => kind,
            Head::Object => kind_by_parsing(bytes)?.ok_or_else(|| Unreadable::new("a JSON object that is no event"))?,
            Head::Other => return Err(Unreadable::new("not a JSON object")),
        };
        if !kind.is_read() {
            // An event that isn't needed isn't parsed: its end is enough. The log's last line may
            // be cut at any brace.
            if !terminated {
                parse::<IgnoredAny>(bytes)?;
            } else if bytes.last() != Some(&b'}') {
                return Err(Unreadable { why: "it breaks off".to_owned(), breaks_off: true });
            }
        }
        self.collected.take(kind, bytes)?;
        Ok(kind)
    }

    /// Refuses what turned out not to be a Spark event log.
    fn check(&self, name: &str) -> Result<(), TraceError> {
        if self.events > 0 {
            return Ok(());
        }
        let name = name.to_owned();
        Err(match &self.first {
            None => TraceError::Empty { name },
            Some((line, first)) if first.may_be_event && self.cut == Some(*line) => {
                TraceError::NothingComplete { name, line: *line }
            }
            Some((line, first)) => TraceError::NotSpark { name, line: *line, found: first.description.clone() },
        })
    }

    /// The counts, and what was odd.
    pub(super) fn summary(&self) -> TraceSummary {
        let log = &self.collected;
        let applications = &log.applications;
        let stages = || applications.iter().flat_map(|application| application.stages.values());
        let seconds = |milliseconds: i64| milliseconds as f64 / 1000.0;
        let mut warnings = Vec::new();
        if let Some(line) = self.cut {
            warnings.push(format!("The log is cut short in line {line}; everything before that line was read."));
        }
        if let Some((line, why)) = &self.first_unreadable {
            warnings.push(format!(
                "{} not readable as Spark events and skipped; the first is line {line}: {why}.",
                some(self.unreadable, "line is", "lines are"),
            ));
        }
        if self.replaced > 0 {
            warnings.push(format!(
                "{} not UTF-8; the bytes that aren't were replaced.",
                some(self.replaced, "line is", "lines are")
            ));
        }
        warnings::of_events(log, self.cut.is_some(), &mut warnings);
        TraceSummary {
            format: "spark",
            jobs: applications.iter().map(|application| application.jobs.len() as u64).sum(),
            stages: stages().filter(|stage| stage.ran).count() as u64,
            tasks: stages().map(|stage| u64::from(stage.seen.len())).sum(),
            attempts: log.attempts,
            speculative_attempts: log.speculative,
            failed_attempts: log.failed,
            killed_attempts: log.killed,
            nodes: applications.iter().map(|a| a.executors.len() as u64).sum(),
            from: applications.iter().filter_map(Application::from).min().map(seconds),
            to: applications.iter().filter_map(Application::to).max().map(seconds),
            warnings,
        }
    }
}

impl FirstLine {
    fn of(body: &Body<'_>) -> FirstLine {
        match body {
            Body::Whole(bytes) => {
                FirstLine { description: sniff::describe(bytes), may_be_event: sniff::may_be_event(bytes) }
            }
            Body::Passed { head, .. } => {
                let event = matches!(head, Head::Event(_));
                let description = if event { "an event that isn't Spark's" } else { "a very long text" };
                FirstLine { description: description.to_owned(), may_be_event: event }
            }
        }
    }
}
