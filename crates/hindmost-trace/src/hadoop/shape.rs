//! The kinds of objects in Hadoop logs, and how the objects begin.

/// Bytes of a line that are enough to see whether an object begins there.
pub(super) const LOOK: usize = 96;

/// The kind of objects that a log consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Events of a job history, each beginning with its type.
    Events,
    /// Rumen jobs, whose tasks are returned one by one.
    Jobs,
}

/// The list of a Rumen job that holds a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Maps,
    Reduces,
    Others,
}

#[derive(Debug, PartialEq)]
pub(super) enum Item<'a> {
    /// Text between objects, without surrounding whitespace. Of a long text only the beginning is returned.
    Text(&'a [u8]),
    /// A complete object; a Rumen job without its tasks.
    Object(&'a [u8]),
    /// A task of a Rumen job. The job itself is returned after all of its tasks.
    Task(List, &'a [u8]),
    /// An object that is too long, or incomplete because another one begins within it.
    Broken,
    /// The log ends within an object.
    Cut,
}

/// Keys that Rumen jobs have, and their tasks and attempts do not have.
const OF_JOBS: [&str; 14] = [
    "jobID",
    "priority",
    "user",
    "jobName",
    "submitTime",
    "launchTime",
    "mapTasks",
    "queue",
    "reduceTasks",
    "otherTasks",
    "outcome",
    "jobtype",
    "totalMaps",
    "jobProperties",
];

impl Shape {
    /// Returns whether a line with this beginning can only be the beginning of an object or of another log's text.
    pub(super) fn begins(self, line: &[u8]) -> bool {
        match self {
            Shape::Events => {
                let line = line.trim_ascii_start();
                let kind = line.strip_prefix(br#"{"type":""#).and_then(<[u8]>::first);
                kind.is_some_and(u8::is_ascii_uppercase) || line.starts_with(b"Avro-")
            }
            Shape::Jobs => {
                let key = line.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
                let key =
                    key.and_then(|text| text.strip_prefix(b"\"")).and_then(|text| text.split(|b| *b == b'"').next());
                key.is_some_and(|key| OF_JOBS.iter().any(|known| known.as_bytes() == key))
            }
        }
    }
}
