//! Recognises the format of a Hadoop log from its first kilobytes.

use crate::reading::json::Keys;
use crate::reading::sniff::quoted;

/// Bytes that are enough to recognise the format.
pub(super) const LOOKED_AT: usize = 32 << 10;

/// The kinds of records, with the first letters of the first key that each has.
pub(super) const KINDS: [(&str, &str); 5] = [
    ("Meta", "VERSION=\""),
    ("Job", "JOBID=\""),
    ("Task", "TASKID=\""),
    ("MapAttempt", "TASK"),
    ("ReduceAttempt", "TASK"),
];

/// A format of Hadoop logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HadoopFormat {
    /// A job history in Avro's JSON: its first line is `Avro-Json`.
    HistoryJson,
    /// A job history in Avro's binary encoding: its first line is `Avro-Binary`.
    HistoryBinary,
    /// A job history of Hadoop 0.16 to 1.x: records such as `Job JOBID="…" .`
    HistoryText,
    /// A Rumen trace: jobs as JSON objects one after the other.
    Rumen,
}

/// Returns the format of a log with this decompressed beginning; `None` if it is not a Hadoop log. A few kilobytes
/// are enough.
pub fn sniff(beginning: &[u8]) -> Option<HadoopFormat> {
    let beginning = &beginning[..beginning.len().min(LOOKED_AT)];
    let beginning = beginning.strip_prefix("\u{feff}".as_bytes()).unwrap_or(beginning);
    if beginning.trim_ascii_start().starts_with(b"{") || beginning.trim_ascii_start().starts_with(b"[") {
        return by_keys(beginning);
    }
    // Some tools put a licence or a comment before the first line.
    for line in beginning.split(|byte| *byte == b'\n') {
        match line.trim_ascii() {
            b"Avro-Json" => return Some(HadoopFormat::HistoryJson),
            b"Avro-Binary" => return Some(HadoopFormat::HistoryBinary),
            line if begins(line) => return Some(HadoopFormat::HistoryText),
            line if line.starts_with(b"{") || line.contains(&0) => return None,
            _ => {}
        }
    }
    None
}

/// Returns whether a line begins a record of a history as text.
pub(super) fn begins(line: &[u8]) -> bool {
    KINDS.iter().any(|(kind, key)| {
        let rest = line.strip_prefix(kind.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(key.as_bytes()))
    })
}

/// Describes a file that is not a Hadoop log, as a continuation of "it is".
pub(super) fn describe(beginning: &[u8]) -> String {
    let text = beginning.trim_ascii();
    if text.is_empty() {
        return "empty".to_owned();
    }
    if beginning.contains(&0) {
        return "not a text file".to_owned();
    }
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or(text);
    format!("a text that begins with {}", quoted(line))
}

/// Recognises the format from the keys of the first JSON object.
fn by_keys(beginning: &[u8]) -> Option<HadoopFormat> {
    let mut event = false;
    let mut kind = false;
    for key in Keys::of(beginning) {
        match key {
            // A Spark event log, or a Hindmost journal.
            b"Event" | b"hindmost_journal" => return None,
            b"jobID" | b"mapTasks" | b"reduceTasks" | b"otherTasks" => return Some(HadoopFormat::Rumen),
            b"event" => event = true,
            b"type" => kind = true,
            // The schema of a history whose first line is missing.
            b"namespace" if kind => return by_history(beginning),
            _ => {}
        }
        if event && kind {
            return by_history(beginning);
        }
    }
    None
}

fn by_history(beginning: &[u8]) -> Option<HadoopFormat> {
    let package = b"org.apache.hadoop.mapreduce.jobhistory";
    memchr::memmem::find(beginning, package).map(|_| HadoopFormat::HistoryJson)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        use HadoopFormat::{HistoryBinary, HistoryJson, Rumen};
        for (text, format) in [
            ("Avro-Json\n{\"type\":\"record\"", Some(HistoryJson)),
            ("\u{feff}Avro-Json\r\n", Some(HistoryJson)),
            ("<!--\n   Licensed\n-->\nAvro-Json\n", Some(HistoryJson)),
            ("Avro-Binary\n{", Some(HistoryBinary)),
            ("{\n  \"priority\" : \"NORMAL\",\n  \"jobID\" : \"job_1_1\",", Some(Rumen)),
            ("{\"mapTasks\":[{\"attempts\":[", Some(Rumen)),
            (
                "{\"type\":\"AM_STARTED\",\"event\":{\"org.apache.hadoop.mapreduce.jobhistory.AMStarted\":{",
                Some(HistoryJson),
            ),
            (
                "{\"type\":\"record\",\"name\":\"Event\",\"namespace\":\"org.apache.hadoop.mapreduce.jobhistory\",",
                Some(HistoryJson),
            ),
            ("{\"Event\":\"SparkListenerLogStart\",\"jobID\":1}", None),
            ("{\"hindmost_journal\":1,\"jobID\":1}", None),
            ("{\"a\":{\"jobID\":1},\"b\":\"jobID\"}", None),
            ("{\"type\":\"x\",\"event\":\"y\"}", None),
            ("{\"name\":\"<root>\",\"children\":[{\"name\":\"rack\"}]}", None),
            ("job,arrival\nAvro-Jsonx", None),
            ("{", None),
            ("", None),
            ("{\"jobID\\", None),
            ("{}{\"jobID\":1}", None),
        ] {
            assert_eq!(sniff(text.as_bytes()), format, "{text}");
        }
    }
}
