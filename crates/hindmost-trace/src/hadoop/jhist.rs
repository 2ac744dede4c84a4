//! Reads job history files: Avro's JSON with one object per event, or Avro's binary encoding.

use std::io::{BufReader, Cursor, Read as _};

use serde::Deserialize;

use super::avro::{AvroError, Decoder, Schema};
use super::collect::Collector;
use super::events::{Event, OpenJobs, Taken, recover_start};
use super::issues::Source;
use super::objects::Objects;
use super::shape::Item;
use crate::error::TraceError;
use crate::reading::json::parse_cleaned;

/// Reads a job history to its end, as far as possible.
///
/// # Errors
///
/// If reading fails, or the history has no event.
pub(super) fn read(objects: Objects<'_>, source: &Source, collector: &mut Collector) -> Result<(), TraceError> {
    let mut history = History { source, collector, open: OpenJobs::default(), events: 0, ended_at: 1 };
    let result = history.read_json(objects);
    history.close();
    result?;
    if history.events == 0 {
        return Err(TraceError::NothingComplete { name: source.name.clone(), line: history.ended_at });
    }
    Ok(())
}

struct History<'h> {
    source: &'h Source,
    collector: &'h mut Collector,
    open: OpenJobs,
    events: u64,
    /// The line on which the log's last object or text begins.
    ended_at: u64,
}

impl History<'_> {
    fn read_json(&mut self, mut objects: Objects<'_>) -> Result<(), TraceError> {
        // Text before the first event is ignored, for example a licence that a tool inserted.
        let mut headed = false;
        loop {
            let position = objects.position();
            let Some((line, item)) = objects.next().map_err(|error| self.source.failed(position, error))? else {
                if let Some(damage) = objects.damage() {
                    self.ended_at = objects.began();
                    self.collector.issues.cut_by(self.source, damage);
                }
                return Ok(());
            };
            self.ended_at = line;
            let issues = &mut self.collector.issues;
            match item {
                Item::Text(text) => {
                    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
                    if text.starts_with(b"Avro-Json") {
                        headed = true;
                        // Another log begins, appended to the first one.
                        self.close();
                    } else if text.starts_with(b"Avro-Binary") {
                        self.close();
                        return self.read_binary(objects);
                    } else if headed || self.events > 0 {
                        issues.unreadable(self.source, line, "it is not a JSON object");
                    }
                }
                Item::Object(bytes) => match self.object(bytes) {
                    Ok(Taken::Event | Taken::Schema) => {}
                    Ok(Taken::Neither) => {
                        self.collector.issues.unreadable(self.source, line, "it is a JSON object, but not an event");
                    }
                    Err(why) => self.collector.issues.unreadable(self.source, line, &why),
                },
                Item::Task(..) => {}
                Item::Broken => issues.unreadable(self.source, line, "it is incomplete"),
                Item::Cut => issues.cut(self.source, &format!("in line {line}")),
            }
        }
    }

    /// Applies a JSON object to its job. An error says why the object can't be read.
    fn object(&mut self, bytes: &[u8]) -> Result<Taken, String> {
        let mut cleaned = String::new();
        match parse_cleaned(bytes, &mut cleaned) {
            Ok(event) => {
                let taken = self.event(event);
                self.collector.issues.replaced += u64::from(!cleaned.is_empty());
                Ok(taken)
            }
            Err(why) => {
                if let Some(event) = recover_start(bytes) {
                    self.collector.issues.recovered_starts += 1;
                    self.event(event);
                }
                Err(why)
            }
        }
    }

    fn event(&mut self, event: Event<'_>) -> Taken {
        let taken = self.open.take(event, &mut self.collector.hosts);
        self.events += u64::from(taken == Taken::Event);
        taken
    }

    /// Reads on after the line `Avro-Binary`: the schema, then all events.
    fn read_binary(&mut self, mut objects: Objects<'_>) -> Result<(), TraceError> {
        let position = objects.position();
        let schema = match objects.next().map_err(|error| self.source.failed(position, error))? {
            // The log ends after its first line.
            None => return Ok(()),
            Some((line, item)) => {
                self.ended_at = line;
                match item {
                    Item::Object(bytes) => Schema::parse(bytes),
                    Item::Cut => return Ok(()),
                    _ => None,
                }
            }
        };
        let Some(schema) = schema else {
            let found = "a job history whose schema can't be read".to_owned();
            return Err(TraceError::NotHadoop { name: self.source.name.clone(), found });
        };
        let (rest, plain) = objects.into_rest();
        let mut stream = BufReader::with_capacity(1 << 16, Cursor::new(rest).chain(plain));
        // Skips the end of the schema's line.
        let mut end = [0];
        loop {
            match stream.read(&mut end).map_err(|error| self.source.failed(position, error))? {
                1 if end == *b"\r" => {}
                1 if end == *b"\n" => break,
                0 => return Ok(()),
                _ => {
                    let found = "a binary job history without a line end after its schema".to_owned();
                    return Err(TraceError::NotHadoop { name: self.source.name.clone(), found });
                }
            }
        }
        let mut decoder = Decoder::new(stream);
        let mut number = 0u64;
        let cut = loop {
            number += 1;
            match decoder.next(&schema) {
                Ok(None) => break None,
                Ok(Some(value)) => {
                    let taken = Event::deserialize(&value).map(|event| self.event(event));
                    if !matches!(taken, Ok(Taken::Event)) {
                        self.collector.issues.unreadable_event(self.source, number);
                    }
                }
                Err(AvroError::Cut) => break Some(format!("in event {number}")),
                Err(AvroError::Damaged(why)) => {
                    let place = format!("event {number}, {} bytes after the schema", decoder.position());
                    self.collector.issues.damaged(self.source, &place, why);
                    return Ok(());
                }
                Err(AvroError::Io(error)) => {
                    let (_, plain) = decoder.reader().get_ref().get_ref();
                    return Err(self.source.failed(plain.position(), error));
                }
            }
        };
        let (_, plain) = decoder.reader().get_ref().get_ref();
        match (plain.damage(), cut) {
            (Some(damage), _) => self.collector.issues.cut_by(self.source, damage),
            (None, Some(at)) => self.collector.issues.cut(self.source, &at),
            (None, None) => {}
        }
        Ok(())
    }

    /// Passes the jobs read so far to the collector.
    fn close(&mut self) {
        for job in std::mem::take(&mut self.open).jobs {
            self.collector.take(job, self.source);
        }
    }
}
