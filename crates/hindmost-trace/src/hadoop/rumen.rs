//! Reads Rumen traces: jobs as consecutive JSON objects, each with its tasks and their attempts.

use serde::Deserialize;

use super::collect::Collector;
use super::counters::Counters;
use super::hosts::{Host, Hosts};
use super::ids::{Id, Kind};
use super::issues::Source;
use super::job::{Job, JobEnd, TaskKey};
use super::objects::Objects;
use super::shape::{Item, List};
use crate::error::TraceError;
use crate::reading::json::parse_cleaned;
use crate::reading::values::{Number, Text};
use crate::recording::Ended;

/// A job without its tasks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LoggedJob<'a> {
    #[serde(rename = "jobID", borrow)]
    id: Text<'a>,
    #[serde(rename = "jobName", borrow)]
    name: Text<'a>,
    #[serde(rename = "submitTime")]
    submitted: Number,
    #[serde(rename = "launchTime")]
    launched: Number,
    #[serde(rename = "finishTime")]
    finished: Number,
    #[serde(borrow)]
    outcome: Text<'a>,
    #[serde(rename = "totalMaps")]
    total_maps: Number,
    #[serde(rename = "totalReduces")]
    total_reduces: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LoggedTask<'a> {
    #[serde(rename = "taskID", borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    attempts: Option<Vec<Option<LoggedAttempt<'a>>>>,
    #[serde(rename = "preferredLocations", borrow)]
    locations: Option<Vec<Option<Location<'a>>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Location<'a> {
    #[serde(borrow)]
    layers: Option<Vec<Text<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LoggedAttempt<'a> {
    #[serde(rename = "attemptID", borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    host_name: Text<'a>,
    #[serde(borrow)]
    location: Option<Location<'a>>,
    start_time: Number,
    finish_time: Number,
    #[serde(borrow)]
    result: Text<'a>,
    hdfs_bytes_read: Number,
    hdfs_bytes_written: Number,
    file_bytes_read: Number,
    file_bytes_written: Number,
    map_input_bytes: Number,
    map_input_records: Number,
    map_output_bytes: Number,
    map_output_records: Number,
    combine_input_records: Number,
    reduce_input_groups: Number,
    reduce_input_records: Number,
    reduce_shuffle_bytes: Number,
    reduce_output_records: Number,
    spilled_records: Number,
}

/// Reads a trace to its end, as far as possible.
///
/// # Errors
///
/// If reading fails, or the trace has no job.
pub(super) fn read(objects: Objects<'_>, source: &Source, collector: &mut Collector) -> Result<(), TraceError> {
    let mut trace = Trace { source, collector, job: Job::default(), jobs: 0, ended_at: 1 };
    let result = trace.read(objects);
    trace.close();
    result?;
    if trace.jobs == 0 {
        return Err(TraceError::NothingComplete { name: source.name.clone(), line: trace.ended_at });
    }
    Ok(())
}

struct Trace<'t> {
    source: &'t Source,
    collector: &'t mut Collector,
    /// The job that is being read.
    job: Job,
    jobs: u64,
    /// The line on which the last job or text begins.
    ended_at: u64,
}

impl Trace<'_> {
    fn read(&mut self, mut objects: Objects<'_>) -> Result<(), TraceError> {
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
            match item {
                Item::Task(list, bytes) => {
                    if let Err(why) = self.task(bytes, list) {
                        self.collector.issues.unreadable(self.source, line, &why);
                    }
                }
                Item::Object(bytes) => {
                    if let Err(why) = self.head(bytes) {
                        self.collector.issues.unreadable(self.source, line, &why);
                    }
                    self.close();
                }
                Item::Text(text) => {
                    if self.jobs > 0 && !text.is_empty() {
                        self.collector.issues.unreadable(self.source, line, "it is not a JSON object");
                    }
                }
                Item::Broken => {
                    self.collector.issues.unreadable(self.source, line, "an incomplete job");
                    self.close();
                }
                Item::Cut => {
                    self.collector.issues.cut(self.source, &format!("in the job that begins in line {line}"));
                    self.close();
                }
            }
        }
    }

    /// Passes the job to the collector, if there is one.
    fn close(&mut self) {
        let job = std::mem::take(&mut self.job);
        if job.id.is_some() || !job.tasks.is_empty() {
            self.jobs += 1;
            self.collector.take(job, self.source);
        }
    }

    fn head(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut cleaned = String::new();
        self.take_head(&parse_cleaned(bytes, &mut cleaned)?);
        self.collector.issues.replaced += u64::from(!cleaned.is_empty());
        if self.job.id.is_none() && self.job.tasks.is_empty() {
            return Err("it is a JSON object, but not a job".to_owned());
        }
        Ok(())
    }

    fn task(&mut self, bytes: &[u8], list: List) -> Result<(), String> {
        let mut cleaned = String::new();
        self.take_task(&parse_cleaned(bytes, &mut cleaned)?, list);
        self.collector.issues.replaced += u64::from(!cleaned.is_empty());
        Ok(())
    }

    fn take_head(&mut self, head: &LoggedJob<'_>) {
        let job = &mut self.job;
        job.id = head.id.filled().map(Into::into);
        job.name = head.name.filled().map(Into::into);
        job.submitted = head.submitted.instant();
        job.launched = head.launched.instant();
        job.finished = head.finished.instant();
        for time in [job.submitted, job.launched, job.finished] {
            job.saw(time);
        }
        job.end = match head.outcome.filled().map(str::to_ascii_uppercase).as_deref() {
            Some("SUCCESS" | "SUCCEEDED") => Some(JobEnd::Succeeded),
            Some("FAILED") => Some(JobEnd::Failed),
            Some("KILLED") => Some(JobEnd::Killed),
            _ => None,
        };
        // A time of -1 says that the job had not finished when the trace was made. Its outcome is only a default then.
        if head.finished.whole().is_some_and(|time| time <= 0) {
            job.end = None;
        }
        job.total = [head.total_maps.id(), head.total_reduces.id()];
        if job.end == Some(JobEnd::Succeeded) {
            job.succeeded = job.total;
        }
    }

    fn take_task(&mut self, logged: &LoggedTask<'_>, list: List) {
        let kind = match list {
            List::Maps => Kind::Map,
            List::Reduces => Kind::Reduce,
            List::Others => Kind::Other,
        };
        let hosts = &mut self.collector.hosts;
        let attempts = || logged.attempts.iter().flatten().flatten();
        let id = logged.id.filled().and_then(Id::task).or_else(|| attempts().find_map(|a| Id::attempt(a.id.filled()?)));
        // A task without an id gets an unused number.
        let unnamed = u32::MAX - self.job.tasks.len() as u32;
        let key = id.map_or(TaskKey { kind, letter: b'?', index: unnamed }, |id| TaskKey {
            kind,
            letter: id.letter,
            index: id.task,
        });
        let splits = logged.locations.iter().flatten().flatten();
        let splits: Vec<_> = splits.filter_map(|location| location.host(hosts)).collect();
        for logged in attempts() {
            self.job.saw(logged.start_time.instant());
            self.job.saw(logged.finish_time.instant());
        }
        let mut summed = Counters::default();
        let mut repeated = 0;
        let task = self.job.task(key);
        task.splits = splits;
        for (position, logged) in (0..).zip(attempts()) {
            let number = logged.id.filled().and_then(Id::attempt).and_then(|id| id.attempt);
            let attempt = task.attempt(number.unwrap_or(position));
            let of_location = logged.location.as_ref().and_then(|location| location.host(hosts));
            attempt.host = logged.host_name.filled().and_then(|field| hosts.of(field)).or(of_location);
            attempt.start = logged.start_time.instant();
            attempt.bytes_read = logged.bytes_read(kind);
            let ended = match logged.result.filled().map(str::to_ascii_uppercase).as_deref() {
                Some("SUCCESS" | "SUCCEEDED") => Ended::Succeeded,
                Some("FAILED") => Ended::Failed,
                Some("KILLED") => Ended::Killed,
                _ => continue,
            };
            repeated += u64::from(attempt.end(ended, logged.finish_time.instant()));
            if ended == Ended::Succeeded && kind != Kind::Other {
                logged.add_to(&mut summed);
            }
        }
        self.job.summed.add(&summed);
        self.job.repeated += repeated;
    }
}

impl Location<'_> {
    fn host(&self, hosts: &mut Hosts) -> Option<Host> {
        let layers: Vec<&str> = self.layers.as_ref()?.iter().filter_map(Text::filled).collect();
        hosts.of_layers(&layers)
    }
}

impl LoggedAttempt<'_> {
    fn bytes_read(&self, kind: Kind) -> Option<u64> {
        if kind == Kind::Reduce {
            return self.reduce_shuffle_bytes.amount();
        }
        let amounts = [self.hdfs_bytes_read, self.map_input_bytes, self.file_bytes_read].map(Number::amount);
        let some = amounts.iter().flatten().find(|&&bytes| bytes > 0);
        some.or_else(|| amounts.iter().flatten().next()).copied()
    }

    fn add_to(&self, sum: &mut Counters) {
        let mut of_this = Counters::default();
        for (name, value) in [
            ("HDFS_BYTES_READ", self.hdfs_bytes_read),
            ("HDFS_BYTES_WRITTEN", self.hdfs_bytes_written),
            ("FILE_BYTES_READ", self.file_bytes_read),
            ("FILE_BYTES_WRITTEN", self.file_bytes_written),
            ("BYTES_READ", self.map_input_bytes),
            ("MAP_INPUT_RECORDS", self.map_input_records),
            ("MAP_OUTPUT_BYTES", self.map_output_bytes),
            ("MAP_OUTPUT_RECORDS", self.map_output_records),
            ("COMBINE_INPUT_RECORDS", self.combine_input_records),
            ("REDUCE_INPUT_GROUPS", self.reduce_input_groups),
            ("REDUCE_INPUT_RECORDS", self.reduce_input_records),
            ("REDUCE_SHUFFLE_BYTES", self.reduce_shuffle_bytes),
            ("REDUCE_OUTPUT_RECORDS", self.reduce_output_records),
            ("SPILLED_RECORDS", self.spilled_records),
        ] {
            if let Some(value) = value.amount().and_then(|value| i64::try_from(value).ok()) {
                of_this.set(name, value);
            }
        }
        sum.add(&of_this);
    }
}
