//! Reads job histories of Hadoop 0.16 to 1.x: lines such as `Job JOBID="job_1" SUBMIT_TIME="…" .`
//!
//! A value may span several lines, such as the stack trace of an error. From Hadoop 0.20 on quotes and dots in values
//! have a backslash before them, and a record ends in a dot; before, neither was so. So a value ends at a quote with a
//! blank, a dot or nothing behind it, and a record also ends where a line begins another one.

use std::borrow::Cow;

use super::collect::Collector;
use super::counters::Counters;
use super::events::{Event, OpenJobs, Taken};
use super::format::begins;
use super::issues::Source;
use super::objects::Objects;
use crate::error::TraceError;
use crate::reading::lines::{Body, Lines};

/// The longest record, in bytes; what follows is left out.
const LONGEST: usize = 4 << 20;

/// Reads a history to its end, as far as possible.
///
/// # Errors
///
/// If reading fails, or the history has no record of a job.
pub(super) fn read(objects: Objects<'_>, source: &Source, collector: &mut Collector) -> Result<(), TraceError> {
    let mut lines: Lines<'_, ()> = Lines::over(objects.into_window(), |_| None).with_blanks();
    let mut open = OpenJobs::default();
    let (mut record, mut begun, mut last, mut events) = (String::new(), 0, 0, 0);
    let mut has_dots = false;
    loop {
        let position = lines.window.position();
        let Some(line) = lines.next().map_err(|error| source.failed(position, error))? else { break };
        last = line.number;
        let Body::Whole(bytes) = line.body else {
            collector.issues.unreadable(source, line.number, "the line is too long");
            continue;
        };
        let bytes = bytes.trim_ascii_end();
        if begins(bytes) {
            has_dots |= record.trim_end().ends_with(" .");
            events += u64::from(take(&record, begun, &mut open, source, collector));
            record.clear();
            begun = line.number;
        } else if begun == 0 {
            // What is before the first record, such as the name of the file.
            continue;
        }
        if record.len() < LONGEST {
            record.push_str(&String::from_utf8_lossy(bytes));
            record.push('\n');
        }
        if !line.terminated && !is_complete(&record, has_dots) {
            collector.issues.cut(source, &format!("in line {begun}"));
            record.clear();
        }
    }
    events += u64::from(take(&record, begun, &mut open, source, collector));
    if let Some(damage) = lines.window.damage() {
        collector.issues.cut_by(source, damage);
    }
    for job in std::mem::take(&mut open.jobs) {
        collector.take(job, source);
    }
    if events == 0 {
        return Err(TraceError::NothingComplete { name: source.name.clone(), line: last.max(1) });
    }
    Ok(())
}

/// Returns whether a record ends as one does: in a quote, with a dot behind it if records of this log have one.
fn is_complete(record: &str, has_dots: bool) -> bool {
    let end = record.trim_end();
    if has_dots { end.ends_with(" .") } else { end.ends_with('"') }
}

/// Applies a record to its job; returns whether it was about one.
fn take(record: &str, line: u64, open: &mut OpenJobs, source: &Source, collector: &mut Collector) -> bool {
    let Some((kind, rest)) = record.split_once(' ') else { return false };
    if kind == "Meta" {
        return false;
    }
    let fields = Fields::of(rest);
    let mut taken = false;
    for event in events(kind, &fields) {
        taken |= open.take(event, &mut collector.hosts) == Taken::Event;
    }
    if !taken {
        collector.issues.unreadable(source, line, "the record names no job or task");
    }
    taken
}

/// Keys and values of a record.
struct Fields<'a>(Vec<(&'a str, Cow<'a, str>)>);

impl<'a> Fields<'a> {
    fn of(mut rest: &'a str) -> Fields<'a> {
        let mut fields = Vec::new();
        while let Some((key, after)) = rest.split_once("=\"") {
            let Some(end) = end_of_value(after) else { break };
            fields.push((key.trim(), unescaped(&after[..end])));
            rest = &after[end + 1..];
        }
        Fields(fields)
    }

    fn get(&self, key: &str) -> Option<Cow<'a, str>> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }
}

/// Returns the position of the quote that ends a value.
fn end_of_value(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'"', bytes).find(|&at| {
        let escapes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        escapes % 2 == 0 && matches!(bytes.get(at + 1), None | Some(b' ' | b'\n' | b'\t' | b'.'))
    })
}

/// Removes the backslashes before other signs.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => plain.extend(signs.next()),
            sign => plain.push(sign),
        }
    }
    Cow::Owned(plain)
}

/// Returns the events of newer histories that a record stands for.
fn events<'a>(kind: &str, fields: &Fields<'a>) -> Vec<Event<'a>> {
    let status = fields.get("TASK_STATUS");
    let finished = fields.get("FINISH_TIME").is_some() || status.is_some();
    let counters = || fields.get("COUNTERS").map(|text| counters(&text));
    let event = |kind: &'static str| {
        let field = |key: &str| match (key, fields.get(key)?) {
            // Hadoop 0.17 and before gave tasks other names.
            ("TASKID", id) => Some(id.strip_prefix("tip_").map(|id| format!("task_{id}").into()).unwrap_or(id)),
            ("TASK_ATTEMPT_ID", id) => {
                Some(id.strip_prefix("task_").map(|id| format!("attempt_{id}").into()).unwrap_or(id))
            }
            (_, value) => Some(value),
        };
        Event::of(kind, &field, counters())
    };
    match (kind, status.as_deref()) {
        ("Job", _) => vec![event(match fields.get("JOB_STATUS").as_deref() {
            Some("SUCCESS" | "SUCCEEDED") => "JOB_FINISHED",
            Some("FAILED") => "JOB_FAILED",
            Some("KILLED") => "JOB_KILLED",
            _ => "JOB_CHANGED",
        })],
        ("Task", _) => vec![event(if finished { "TASK_FINISHED" } else { "TASK_STARTED" })],
        ("MapAttempt" | "ReduceAttempt", status) => {
            let is_map = kind == "MapAttempt";
            let mut all = Vec::new();
            if fields.get("START_TIME").is_some() || !finished {
                all.push(event(if is_map { "MAP_ATTEMPT_STARTED" } else { "REDUCE_ATTEMPT_STARTED" }));
            }
            if finished {
                all.push(event(match (status, is_map) {
                    (Some("FAILED"), true) => "MAP_ATTEMPT_FAILED",
                    (Some("FAILED"), false) => "REDUCE_ATTEMPT_FAILED",
                    (Some("KILLED"), true) => "MAP_ATTEMPT_KILLED",
                    (Some("KILLED"), false) => "REDUCE_ATTEMPT_KILLED",
                    (_, true) => "MAP_ATTEMPT_FINISHED",
                    (_, false) => "REDUCE_ATTEMPT_FINISHED",
                }));
            }
            all
        }
        _ => Vec::new(),
    }
}

/// Parses counters: from Hadoop 0.20 on `{(group)(name)[(COUNTER)(name)(value)]…}…`, before `group.name:value,…`.
fn counters(text: &str) -> Counters {
    let mut counters = Counters::default();
    if text.starts_with('{') {
        // Parentheses within names have a backslash before them.
        for counter in text.split("[(").skip(1) {
            let Some((name, rest)) = counter.split_once(")(") else { continue };
            let value = rest.split_once(")]").map_or(rest, |(value, _)| value).rsplit_once(")(");
            if let Some(value) = value.and_then(|(_, value)| value.parse().ok()) {
                counters.set(&name.replace('\\', ""), value);
            }
        }
        return counters;
    }
    for counter in text.split(',') {
        let Some((name, value)) = counter.rsplit_once(':') else { continue };
        let name = name.rsplit_once('.').map_or(name, |(_, name)| name).trim();
        let Ok(value) = value.trim().parse() else { continue };
        match name {
            "Local bytes read" => counters.set("FILE_BYTES_READ", value),
            "Local bytes written" => counters.set("FILE_BYTES_WRITTEN", value),
            "Launched map tasks" => counters.set("TOTAL_LAUNCHED_MAPS", value),
            "Launched reduce tasks" => counters.set("TOTAL_LAUNCHED_REDUCES", value),
            "Data-local map tasks" => counters.set("DATA_LOCAL_MAPS", value),
            "Rack-local map tasks" => counters.set("RACK_LOCAL_MAPS", value),
            name => counters.set(&name.to_uppercase().replace(' ', "_"), value),
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_contain_escaped_and_plain_quotes() {
        let fields = Fields::of("A=\"x\\\"y\\.z\" B=\"say \"no\", then\nmore\" C=\"\" D=\"e\" .");
        assert_eq!(fields.get("A").as_deref(), Some("x\"y.z"));
        assert_eq!(fields.get("B").as_deref(), Some("say \"no\", then\nmore"));
        assert_eq!((fields.get("C"), fields.get("D").as_deref()), (None, Some("e")));
    }

    #[test]
    fn counters_of_both_forms_are_read() {
        let new = "{(FileSystemCounters)(FileSystemCounters)[(HDFS_BYTES_READ)(HDFS_BYTES_READ)(1234)]}\
            {(org.Task$Counter)(Framework)[(SPILLED_RECORDS)(Spilled \\(all\\))(5)][(MAP_INPUT_RECORDS)(Map input)(7)]}";
        let old = "File Systems.HDFS bytes read:1234,Map-Reduce Framework.Spilled records:5,\
            Map-Reduce Framework.Map input records:7";
        assert_eq!(counters(new), counters(old));
        assert_eq!(counters(old).map_input(), Some(1234));
    }

    #[test]
    fn records_are_recognised() {
        for line in
            ["Meta VERSION=\"1\" .", "Job JOBID=\"job_1_1\"", "Task TASKID=\"t\"", "MapAttempt TASK_TYPE=\"MAP\""]
        {
            assert!(begins(line.as_bytes()), "{line}");
        }
        for line in ["", "Jobs JOBID=\"", "Task 5 failed", "\tat Task TASKID=\""] {
            assert!(!begins(line.as_bytes()), "{line}");
        }
    }
}
