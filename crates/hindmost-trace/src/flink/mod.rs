//! Reads jobs of Flink: the archive that the JobManager writes for the history server, and the pages of vertices of the REST interface
//! (`/jobs/J/vertices/V`).
//!
//! An archive has the documents of the REST interface of one job, each as a text under its path. A job is one application, a vertex a
//! phase, and a subtask a task. Of its documents these are read:
//!
//! | path | what is read |
//! | --- | --- |
//! | `/jobs/J` | names of the job and its vertices, which of them wait for others, kind of the job, kind of the scheduler |
//! | `/jobs/J/vertices/V/subtasks/S/attempts/A` | an attempt |
//! | `/jobs/J/exceptions` | why attempts failed |
//!
//! A copy and a retry have the same numbers: a copy is an attempt that began while another one of its subtask ran. An attempt that was
//! cancelled has lost if one that finished ran at the same time. Otherwise its region was restarted, or the job was cancelled or failed.
//!
//! A page of a vertex has only the current attempts of each subtask: not those that failed and were followed by another one.
//!
//! `documents.rs` has what is read of documents, and `job.rs` makes attempts of them.

mod documents;
mod job;

use std::fmt;
use std::io::{BufReader, Cursor, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::json::Keys;
use crate::reading::window::Window;
use crate::tasks::{Collector, InFolders, Rows};
use job::Job;

/// The reader.
pub(crate) const READER: Rows<'static> = Rows {
    format: TaskFormat::Flink,
    is_one,
    in_folders: Some(InFolders { is_part: is_archive, are_lines: false }),
    read: &read,
};

/// What to give in place of a document without the attempts of a job.
const INSTEAD: &str =
    "give the job's archive (a file below jobmanager.archive.fs.dir), or the pages /jobs/J/vertices/V of its vertices";

/// Returns whether a file with this beginning is an archive: that of a job, or of an application, which has no attempts.
fn is_archive(beginning: &[u8]) -> bool {
    let first = beginning.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    first.is_some_and(|object| object.starts_with(b"\"archive\""))
        && memchr::memmem::find(beginning, b"\"path\"").is_some()
}

/// Returns whether a log with this beginning is an archive, or a document of the REST interface: also one that is refused.
fn is_one(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text);
    is_archive(text)
        || text.trim_ascii_start().starts_with(b"{")
            && Page::of(|name| Keys::of(text).any(|key| key == name.as_bytes())).is_some()
}

/// A document of the REST interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    /// A vertex with the current attempts of its subtasks.
    Vertex,
    /// Another one, and why it is refused.
    Other(&'static str),
}

impl Page {
    /// Recognises a document by its keys.
    fn of(has: impl Fn(&str) -> bool) -> Option<Page> {
        if has("subtasks") && has("parallelism") {
            Some(Page::Vertex)
        } else if has("subtasks") && has("now") {
            Some(Page::Other("these are the times of the current attempts of a vertex only"))
        } else if has("taskmanagers") && has("now") {
            Some(Page::Other("these are sums by TaskManager"))
        } else if has("vertices") && has("jid") {
            Some(Page::Other("this is the overview of a job (/jobs/J)"))
        } else if has("subtask")
            && has("status-duration")
            && !["vertex", "vertex-id", "vertex-name"].into_iter().any(&has)
        {
            Some(Page::Other("these attempts do not name the vertex to which they belong"))
        } else if has("exceptionHistory") {
            Some(Page::Other("these are the exceptions of a job"))
        } else {
            None
        }
    }
}

/// Reads archives, or pages of vertices.
///
/// # Errors
/// If reading fails, or the document has no attempts of a job.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let refused = |why: &str| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Flink.name(),
        why: format!(": {why}; {INSTEAD}"),
    };
    let reads_archives = is_archive(window.held());
    let (held, plain) = window.into_rest();
    let stream = BufReader::with_capacity(1 << 16, Cursor::new(held).chain(plain));
    let mut json = serde_json::Deserializer::from_reader(stream);
    let mut pages = 0;
    loop {
        let mut job = Job::default();
        let found = if reads_archives {
            Archive(&mut job).deserialize(&mut json)
        } else {
            Value::deserialize(&mut json).map(|value| job.pages = one_or_many(value))
        };
        for value in std::mem::take(&mut job.pages) {
            pages += 1;
            match Page::of(|key| value.get(key).is_some()) {
                Some(Page::Vertex) => job.take_vertex(value, pages),
                Some(Page::Other(why)) => return Err(refused(why)),
                None => collector.issues.unreadable(pages, "it is no page of a vertex"),
            }
        }
        job.add(collector);
        match found {
            Ok(()) if json.end().is_ok() => break,
            Ok(()) => {}
            Err(error) if error.is_io() => {
                return Err(TraceError::Read { name: name.to_owned(), position: 0, source: error.into() });
            }
            Err(error) => {
                collector.issues.json(&error);
                break;
            }
        }
    }
    if pages == 0 && !collector.found_any() {
        return Err(refused("it is the archive of an application, or of a job without an attempt"));
    }
    Ok(())
}

fn one_or_many(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        one => vec![one],
    }
}

/// Walks through an archive and takes its documents one by one.
struct Archive<'j>(&'j mut Job);

impl<'de> DeserializeSeed<'de> for Archive<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Archive<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an archive")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut documents: A) -> Result<(), A::Error> {
        while let Some(document) = documents.next_element()? {
            self.0.take(&document);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "archive" {
                map.next_value_seed(Archive(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
