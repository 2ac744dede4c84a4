//! Turns lines into events, finds lines that can't be read, and finds where the log is cut.

use std::borrow::Cow;
use std::io::Read;

use serde::de::IgnoredAny;

use super::collect::Collector;
use super::events::{Head, Kind, head, kind_by_parsing, may_be_event, not_needed, parse};
use super::parts;
use crate::error::TraceError;
use crate::reading::compression::Plain;
use crate::reading::lines::{Body, Line, Lines};
use crate::reading::sniff;
use crate::reading::warnings::{Occurrences, some};
use crate::recorder::Recorder;

/// A file that has this many lines without a Spark event is not a Spark log.
const LINES_TO_FIND_SPARK: u64 = 1000;
/// A file that has this many bytes without a Spark event is not a Spark log.
const BYTES_TO_FIND_SPARK: u64 = 64 << 20;

/// The state of reading one or several logs.
pub(super) struct Reading {
    pub collector: Collector,
    /// Warnings in the order of the logs.
    pub warnings: Vec<String>,
}

/// A stream of events: a file or another reader.
pub(super) struct Stream<'n> {
    /// The stream's name in errors.
    pub name: &'n str,
    /// The stream's name in warnings; `None` if there is only one stream.
    pub label: Option<&'n str>,
    /// Whether the stream continues the previous stream.
    pub later_part: bool,
    /// Whether the stream may be empty without an error.
    pub may_be_empty: bool,
}

impl Reading {
    pub(super) fn new(recorder: Recorder, several: bool) -> Self {
        Reading { collector: Collector::new(recorder, several), warnings: Vec::new() }
    }

    /// Reads a stream to its end.
    pub(super) fn read(&mut self, reader: impl Read, stream: &Stream<'_>) -> Result<(), TraceError> {
        let name = stream.name;
        let failed = |position| move |source| TraceError::Read { name: name.to_owned(), position, source };
        let mut lines = Lines::new(Plain::new(reader).map_err(failed(0))?, not_needed);
        let beginning = lines.window.hold(sniff::LOOKED_AT).map_err(failed(0))?;
        let (empty, byte_order_mark) = (beginning.is_empty(), beginning.starts_with("\u{feff}".as_bytes()));
        if empty && stream.may_be_empty {
            return Ok(());
        }
        if !empty || lines.window.damage().is_none() {
            sniff::refuse(lines.window.held(), name)?;
        }
        if byte_order_mark {
            lines.window.take(3);
        }
        let unit = if lines.window.one_object_a_line() { "object" } else { "line" };
        self.collector.begin(stream.later_part);
        let mut events = Events { unit, ..Events::default() };
        loop {
            let (position, read) = (lines.window.position(), lines.window.read());
            let Some(line) = lines.next().map_err(failed(position))? else {
                break;
            };
            events.take(&line, &mut self.collector);
            let looked = events.lines >= LINES_TO_FIND_SPARK || read >= BYTES_TO_FIND_SPARK;
            if events.count == 0 && looked {
                break;
            }
        }
        let damage = lines.window.damage().map(ToString::to_string);
        match (events.nothing_found(name), &damage) {
            (Some(_), Some(what)) => {
                return Err(TraceError::Damaged { name: name.to_owned(), what: what.clone() });
            }
            (Some(TraceError::Empty { .. }), _) if stream.may_be_empty => return Ok(()),
            (Some(error), _) => return Err(error),
            (None, _) => {}
        }
        if damage.is_some() || events.cut.is_some() {
            self.collector.was_cut();
        }
        if parts::is_compacted(name) {
            self.collector.was_compacted();
        }
        self.warn(&events, damage, stream.label);
        Ok(())
    }

    /// Adds warnings about a stream.
    fn warn(&mut self, events: &Events, damage: Option<String>, label: Option<&str>) {
        let place = label.map(|label| format!(" of {label}")).unwrap_or_default();
        if let Some(what) = damage {
            self.warnings.push(match label {
                Some(label) => format!("{label}: {what}; everything before that was read."),
                None => format!("{}; everything before that was read.", capital(&what)),
            });
        }
        if let Some(line) = events.cut {
            let (subject, unit) = (label.unwrap_or("The log"), events.unit);
            self.warnings
                .push(format!("{subject} is cut short in {unit} {line}; everything before that {unit} was read."));
        }
        if let Some((line, why)) = &events.unreadable.first {
            let unit = events.unit;
            self.warnings.push(format!(
                "{}; the first is {unit} {line}{place}: {why}.",
                some(
                    events.unreadable.count,
                    &format!("{unit} was skipped, because it can't be read as a Spark event"),
                    &format!("{unit}s were skipped, because they can't be read as Spark events")
                ),
            ));
        }
        if events.replaced > 0 {
            self.warnings.push(format!(
                "{}{place} not valid UTF-8; the invalid bytes were replaced.",
                some(events.replaced, &format!("{} is", events.unit), &format!("{}s are", events.unit))
            ));
        }
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Counts of the lines of a stream.
#[derive(Default)]
struct Events {
    /// What the lines are: lines of the log, or objects that were rewritten as lines.
    unit: &'static str,
    /// Lines that are complete Spark events.
    count: u64,
    /// Lines that aren't blank.
    lines: u64,
    /// Number and description of the first non-blank line, unless it is an event.
    first: Option<(u64, FirstLine)>,
    /// Lines that could not be read: the number of the first, and why.
    unreadable: Occurrences<(u64, String)>,
    /// The number of the last non-blank line, if it is incomplete.
    cut: Option<u64>,
    /// Lines with bytes that aren't UTF-8 in fields that are read.
    replaced: u64,
}

struct FirstLine {
    description: String,
    may_be_event: bool,
}

/// Why a line could not be read.
struct Unreadable {
    why: String,
    /// Whether the line could be the beginning of an event.
    breaks_off: bool,
}

impl Unreadable {
    fn new(why: &str) -> Self {
        Unreadable { why: why.to_owned(), breaks_off: false }
    }

    fn cut() -> Self {
        Unreadable { why: "it is incomplete".to_owned(), breaks_off: true }
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        // Removes "line 1", because it is not line 1 of the log.
        let text = error.to_string().replace(" at line 1 column ", " at column ");
        Unreadable { why: text, breaks_off: error.is_eof() }
    }
}

impl Events {
    fn take(&mut self, line: &Line<'_, Head>, collector: &mut Collector) {
        let result = match line.body {
            Body::Whole([]) => return,
            Body::Whole(bytes) => self.take_whole(bytes, line.terminated, collector),
            Body::Skipped { kind: Some(Head::Event(kind)), beginning, last: b'}' } => {
                collector.take(kind, beginning).map(|()| kind).map_err(Unreadable::from)
            }
            Body::Skipped { kind: Some(Head::Event(_)), .. } => Err(Unreadable::cut()),
            Body::Skipped { .. } => Err(Unreadable::new("not a JSON object, or too long")),
        };
        if self.lines == 0 && !matches!(result, Ok(kind) if kind != Kind::Foreign) {
            self.first = Some((line.number, FirstLine::of(&line.body)));
        }
        self.lines += 1;
        // Only the last line may be incomplete; an earlier one counts as unreadable.
        if let Some(number) = self.cut.take() {
            self.unreadable.add(|| (number, "it is incomplete".to_owned()));
        }
        match result {
            Ok(Kind::Foreign) => {}
            Ok(_) => self.count += 1,
            Err(Unreadable { breaks_off: true, .. }) => self.cut = Some(line.number),
            Err(Unreadable { why, .. }) => self.unreadable.add(|| (line.number, why)),
        }
    }

    fn take_whole(&mut self, bytes: &[u8], terminated: bool, collector: &mut Collector) -> Result<Kind, Unreadable> {
        understand(bytes, terminated, collector).or_else(|error| match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(_) => Err(error),
            Cow::Owned(text) => {
                let kind = understand(text.as_bytes(), terminated, collector)?;
                self.replaced += 1;
                Ok(kind)
            }
        })
    }

    /// Returns the error for a stream without a complete Spark event.
    fn nothing_found(&self, name: &str) -> Option<TraceError> {
        let name = name.to_owned();
        match &self.first {
            _ if self.count > 0 => None,
            None => Some(TraceError::Empty { name }),
            Some((line, first)) if first.may_be_event && self.cut == Some(*line) => {
                Some(TraceError::NothingComplete { name, line: *line })
            }
            Some((line, first)) => Some(TraceError::NotSpark { name, line: *line, found: first.description.clone() }),
        }
    }
}

/// Applies a line as an event, and returns the event's kind.
fn understand(bytes: &[u8], terminated: bool, collector: &mut Collector) -> Result<Kind, Unreadable> {
    let kind = match head(bytes) {
        Head::Event(kind) => kind,
        Head::Object => kind_by_parsing(bytes)?.ok_or_else(|| Unreadable::new("a JSON object that is no event"))?,
        Head::Other => return Err(Unreadable::new("not a JSON object")),
    };
    if !kind.is_read() {
        // The line of an event that is not needed is not parsed; its last byte must be a brace. The last line of the
        // log may be cut after any brace, so it is parsed.
        if !terminated {
            parse::<IgnoredAny>(bytes)?;
        } else if bytes.last() != Some(&b'}') {
            return Err(Unreadable::cut());
        }
    }
    collector.take(kind, bytes)?;
    Ok(kind)
}

impl FirstLine {
    fn of(body: &Body<'_, Head>) -> FirstLine {
        match body {
            Body::Whole(bytes) => FirstLine { description: sniff::describe(bytes), may_be_event: may_be_event(bytes) },
            Body::Skipped { kind, .. } => {
                let event = matches!(kind, Some(Head::Event(_)));
                let description = if event { "an event that isn't Spark's" } else { "a very long text" };
                FirstLine { description: description.to_owned(), may_be_event: event }
            }
        }
    }
}
