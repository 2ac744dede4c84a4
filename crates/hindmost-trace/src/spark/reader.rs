//! From lines to events: which lines are events, which can't be read, and where the log is cut.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Read};

use serde::de::IgnoredAny;

use super::collect::{Collected, Collector, Keep};
use super::events::{Head, Kind, head, kind_by_parsing, parse};
use super::lines::{Body, Line, Lines};
use super::sniff;
use super::warnings::some;
use crate::compression::decompressed;
use crate::error::TraceError;

/// After so many lines, or bytes, without an event of Spark, the log isn't one.
const LINES_TO_FIND_SPARK: u64 = 1000;
const BYTES_TO_FIND_SPARK: u64 = 64 << 20;

/// Told of the bytes read so far, compressed as they are.
pub(super) type Told<'p> = &'p mut dyn FnMut(u64);

/// What has been read of one log or several.
pub(super) struct Reading {
    pub collector: Collector,
    /// What the reader had to get around, in the order of the logs.
    pub warnings: Vec<String>,
}

/// A stream of events: a file, or what a reader gives.
pub(super) struct Stream<'n> {
    /// What errors call it.
    pub name: &'n str,
    /// What warnings call it, where there are several.
    pub label: Option<&'n str>,
    /// Whether it goes on where the stream before ended.
    pub later_part: bool,
    /// Whether it may hold nothing, and that be no news.
    pub may_be_empty: bool,
}

/// Counts the bytes that go through.
struct Counting<'c, R> {
    reader: R,
    count: &'c Cell<u64>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

impl Reading {
    pub(super) fn new(keep: Keep, several: bool) -> Self {
        Reading { collector: Collector::new(keep, several), warnings: Vec::new() }
    }

    /// Reads a stream to its end.
    pub(super) fn read(
        &mut self,
        reader: impl Read,
        stream: &Stream<'_>,
        tell: Option<Told<'_>>,
    ) -> Result<(), TraceError> {
        let name = stream.name;
        let failed = |position| move |source| TraceError::Read { name: name.to_owned(), position, source };
        let count = Cell::new(0);
        let (plain, _) = decompressed(Counting { reader, count: &count }).map_err(failed(0))?;
        let mut on_chunk = tell.map(|tell| {
            let count = &count;
            move |_| tell(count.get())
        });
        let progress = on_chunk.as_mut().map(|tell| tell as &mut dyn FnMut(u64));
        let mut lines = Lines::new(plain, progress);
        let beginning = lines.beginning(sniff::LOOKED_AT).map_err(failed(0))?;
        let (empty, byte_order_mark) = (beginning.is_empty(), beginning.starts_with("\u{feff}".as_bytes()));
        if empty && stream.may_be_empty {
            return Ok(());
        }
        if !empty || lines.damage().is_none() {
            sniff::refuse(lines.beginning(0).map_err(failed(0))?, name)?;
        }
        if byte_order_mark {
            lines.leave_out(3);
        }
        self.collector.begin(stream.later_part);
        let mut events = Events::new(&mut self.collector);
        loop {
            let position = lines.position();
            let Some(line) = lines.next().map_err(failed(position))? else {
                break;
            };
            events.take(&line);
            let looked = events.lines >= LINES_TO_FIND_SPARK || position >= BYTES_TO_FIND_SPARK;
            if events.count == 0 && looked {
                break;
            }
        }
        let damage = lines.damage();
        let Findings { count, cut, unreadable, replaced, result } = events.end(name);
        if count == 0
            && let Some(damage) = damage
        {
            return Err(TraceError::Damaged { name: name.to_owned(), what: damage.to_string() });
        }
        match result {
            Err(TraceError::Empty { .. }) if stream.may_be_empty => return Ok(()),
            result => result?,
        }
        let label = stream.label;
        if let Some(damage) = damage {
            let what = damage.to_string();
            self.warnings.push(match label {
                Some(label) => format!("{label}: {what}; everything before was read."),
                None => format!("{}; everything before was read.", capital(&what)),
            });
        }
        if let Some(line) = cut {
            let subject = label.unwrap_or("The log");
            self.warnings.push(format!("{subject} is cut short in line {line}; everything before that line was read."));
        }
        if let Some((unreadable, line, why)) = unreadable {
            let place = label.map(|label| format!(" of {label}")).unwrap_or_default();
            self.warnings.push(format!(
                "{} not readable as Spark events and skipped; the first is line {line}{place}: {why}.",
                some(unreadable, "line is", "lines are"),
            ));
        }
        if replaced > 0 {
            let place = label.map(|label| format!(" of {label}")).unwrap_or_default();
            self.warnings.push(format!(
                "{}{place} not UTF-8; the bytes that aren't were replaced.",
                some(replaced, "line is", "lines are")
            ));
        }
        if damage.is_some() || cut.is_some() {
            self.collector.was_cut();
        }
        Ok(())
    }

    pub(super) fn finish(self) -> (Collected, Vec<String>) {
        (self.collector.finish(), self.warnings)
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The events of a stream, as its lines come.
struct Events<'c> {
    collector: &'c mut Collector,
    /// Lines that are complete events of Spark.
    count: u64,
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

/// What there is to say about a stream at its end.
struct Findings {
    count: u64,
    cut: Option<u64>,
    /// How many lines, the first of them, and why.
    unreadable: Option<(u64, u64, String)>,
    replaced: u64,
    /// An error if there was no event at all.
    result: Result<(), TraceError>,
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

    fn cut() -> Self {
        Unreadable { why: "it breaks off".to_owned(), breaks_off: true }
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        // Its "line 1" would be taken for a line of the log.
        let text = error.to_string().replace(" at line 1 column ", " at column ");
        Unreadable { why: text, breaks_off: error.is_eof() }
    }
}

impl<'c> Events<'c> {
    fn new(collector: &'c mut Collector) -> Self {
        Events {
            collector,
            count: 0,
            lines: 0,
            first: None,
            unreadable: 0,
            first_unreadable: None,
            cut: None,
            replaced: 0,
        }
    }

    fn take(&mut self, line: &Line<'_>) {
        let result = match line.body {
            Body::Whole([]) => return,
            Body::Whole(bytes) => self.take_whole(bytes, line.terminated),
            Body::Passed { head: Head::Event(kind), beginning, closed: true } => {
                self.collector.take(kind, beginning).map(|()| kind).map_err(Unreadable::from)
            }
            Body::Passed { head: Head::Event(_), .. } => Err(Unreadable::cut()),
            Body::Passed { .. } => Err(Unreadable::new("not a JSON object, or too long for one")),
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
            Ok(_) => self.count += 1,
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
                return Err(Unreadable::cut());
            }
        }
        self.collector.take(kind, bytes)?;
        Ok(kind)
    }

    /// What to say of the stream; an error if it turned out not to be a Spark event log.
    fn end(self, name: &str) -> Findings {
        let name = || name.to_owned();
        let result = match &self.first {
            _ if self.count > 0 => Ok(()),
            None => Err(TraceError::Empty { name: name() }),
            Some((line, first)) if first.may_be_event && self.cut == Some(*line) => {
                Err(TraceError::NothingComplete { name: name(), line: *line })
            }
            Some((line, first)) => {
                Err(TraceError::NotSpark { name: name(), line: *line, found: first.description.clone() })
            }
        };
        let unreadable = self.first_unreadable.map(|(line, why)| (self.unreadable, line, why));
        Findings { count: self.count, cut: self.cut, unreadable, replaced: self.replaced, result }
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
