//! What a Hadoop log in JSON is made of, and how its objects begin.

/// How much of a line is looked at to tell whether an object begins there.
pub(super) const LOOK: usize = 96;

/// What the log is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Events of a job history, each with its type first.
    Events,
    /// Jobs of Rumen, whose tasks are given one by one.
    Jobs,
}

/// Which of a Rumen job's lists a task stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Maps,
    Reduces,
    Others,
}

#[derive(Debug, PartialEq)]
pub(super) enum Item<'a> {
    /// Text between objects, without blanks around it; of a long one the beginning.
    Text(&'a [u8]),
    /// A whole object; of a Rumen job, without its tasks.
    Object(&'a [u8]),
    /// A task of the Rumen job that is given next.
    Task(List, &'a [u8]),
    /// An object that breaks off where the next one begins, or that is too long.
    Broken,
    /// The log ends within an object.
    Cut,
}

/// Keys that a job of Rumen has and its tasks and attempts have not.
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
    /// Whether a line that begins so can only be the beginning of an object, or of another log's text.
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
