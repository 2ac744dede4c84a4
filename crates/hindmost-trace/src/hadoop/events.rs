//! The events of job histories of all Hadoop versions, and how they change a job.
//!
//! Hadoop versions differ in which fields events have, and in which fields are unions. Therefore all events are
//! parsed into the same optional fields.

use std::borrow::Cow;
use std::fmt;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::counters::Counters;
use super::diagnostics::cause;
use super::hosts::Hosts;
use super::ids::{Id, Kind};
use super::job::{Attempt, Job, JobEnd, Place, TaskKey};
use crate::reading::json::{behind_key, leading_number, leading_string};
use crate::reading::values::{Number, Text};
use crate::recording::Ended;

/// The most bytes of a text that is recovered from an unreadable event.
const LONGEST: usize = 4 << 10;

/// An event as it is in the log, or the schema before all events.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(rename = "event", borrow)]
    payload: Union<'a>,
    /// A key that schemas have and events do not have.
    fields: Option<IgnoredAny>,
}

/// The only branch of the union in the field `event`.
#[derive(Debug, Default)]
struct Union<'a>(Option<Fields<'a>>);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(rename = "jobid", alias = "jobId", borrow)]
    job: Text<'a>,
    #[serde(rename = "jobName", borrow)]
    job_name: Text<'a>,
    #[serde(rename = "applicationAttemptId", borrow)]
    application: Text<'a>,
    #[serde(rename = "submitTime")]
    submitted: Number,
    #[serde(rename = "launchTime")]
    launched: Number,
    #[serde(rename = "startTime")]
    start: Number,
    #[serde(rename = "finishTime")]
    finish: Number,
    #[serde(rename = "totalMaps")]
    total_maps: Number,
    #[serde(rename = "totalReduces")]
    total_reduces: Number,
    #[serde(rename = "finishedMaps")]
    finished_maps: Number,
    #[serde(rename = "finishedReduces")]
    finished_reduces: Number,
    #[serde(rename = "taskid", alias = "taskId", borrow)]
    task: Text<'a>,
    #[serde(rename = "taskType", borrow)]
    task_type: Text<'a>,
    #[serde(rename = "attemptId", alias = "attemptID", borrow)]
    attempt: Text<'a>,
    #[serde(rename = "successfulAttemptId", borrow)]
    successful: Text<'a>,
    #[serde(rename = "splitLocations", borrow)]
    splits: Text<'a>,
    #[serde(rename = "trackerName", borrow)]
    tracker: Text<'a>,
    #[serde(rename = "hostname", alias = "hostName", borrow)]
    host: Text<'a>,
    #[serde(rename = "rackname", alias = "rackName", borrow)]
    rack: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
    #[serde(borrow)]
    locality: Text<'a>,
    #[serde(borrow)]
    avataar: Text<'a>,
    counters: Option<Counters>,
    #[serde(rename = "totalCounters")]
    total_counters: Option<Counters>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Union<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Branch;
        impl<'de> Visitor<'de> for Branch {
            type Value = Union<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event of one class")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Union(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut classes: A) -> Result<Self::Value, A::Error> {
                let mut found = None;
                while classes.next_key::<IgnoredAny>()?.is_some() {
                    if found.is_none() {
                        found = Some(classes.next_value()?);
                    } else {
                        classes.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Union(found))
            }
        }
        deserializer.deserialize_any(Branch)
    }
}

/// The kind of an object in a job history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Event,
    Schema,
    /// JSON, but neither an event nor a schema.
    Neither,
}

/// The jobs of a history that is being read; nearly always one job.
#[derive(Debug, Default)]
pub(super) struct OpenJobs {
    pub jobs: Vec<Job>,
    by_id: FxHashMap<Box<str>, usize>,
    /// Index of the last event's job.
    last: usize,
}

impl OpenJobs {
    /// Returns the job with an id (given without `job_`). Without an id, returns the last event's job.
    fn job(&mut self, id: Option<&str>) -> &mut Job {
        let same = |job: &Job, id: &str| job.id.as_deref().and_then(|of| of.strip_prefix("job_")) == Some(id);
        let known = self.jobs.get(self.last).is_some_and(|job| id.is_none_or(|id| same(job, id)));
        if !known {
            self.last = match id {
                Some(id) => match self.by_id.get(id) {
                    Some(&index) => index,
                    None => self.add(Some(id)),
                },
                None => self.add(None),
            };
        }
        &mut self.jobs[self.last]
    }

    fn add(&mut self, id: Option<&str>) -> usize {
        let index = self.jobs.len();
        if let Some(id) = id {
            self.by_id.insert(id.into(), index);
        }
        self.jobs.push(Job { id: id.map(|id| format!("job_{id}").into()), ..Job::default() });
        index
    }

    /// Applies an event to its job. Returns the kind of the object.
    pub(super) fn take(&mut self, event: Event<'_>, hosts: &mut Hosts) -> Taken {
        let Event { kind, payload: Union(fields), fields: schema } = event;
        let (Some(kind), Some(fields)) = (kind.filled(), fields) else {
            return if schema.is_some() { Taken::Schema } else { Taken::Neither };
        };
        let attempt = fields.attempt.filled().and_then(Id::attempt);
        let task = attempt.or_else(|| fields.task.filled().and_then(Id::task));
        let named = fields.job.filled().map(|id| id.strip_prefix("job_").unwrap_or(id));
        let application = fields.application.filled().and_then(|id| id.strip_prefix("appattempt_"));
        let application = application.and_then(|id| id.rsplit_once('_')).map(|(job, _)| job);
        let job = self.job(named.or(task.map(|id| id.job)).or(application));
        for time in [fields.submitted, fields.launched, fields.start, fields.finish] {
            job.saw(time.instant());
        }
        if let Some(of) = kind.strip_suffix("_STARTED").and_then(|kind| kind.strip_suffix("_ATTEMPT")) {
            if let Some((key, number)) = locate(attempt, &fields, of) {
                started(job.task(key).attempt(number), &fields, hosts);
            }
        } else if let Some((of, ended)) = attempt_end(kind) {
            attempt_ended(job, locate(attempt, &fields, of), of, ended, &fields, hosts);
        } else if let Some(id) = task.filter(|_| kind.starts_with("TASK_")) {
            let key = key(id, &fields, "");
            let task = job.task(key);
            if let Some(splits) = fields.splits.filled() {
                task.splits = splits.split(',').filter_map(|split| hosts.of(split)).collect();
            }
            if let Some(winner) = fields.successful.filled().and_then(Id::attempt) {
                task.winner = winner.attempt;
            }
        } else {
            about_job(job, kind, fields);
        }
        Taken::Event
    }
}

impl<'a> Event<'a> {
    /// Returns an event with the fields of a text history, by their names there. The counters are those of an attempt, or
    /// of a job.
    pub(super) fn of(
        kind: &'static str,
        field: &dyn Fn(&str) -> Option<Cow<'a, str>>,
        counters: Option<Counters>,
    ) -> Event<'a> {
        let text = |name: &str| Text(field(name));
        let number = |name: &str| field(name).map_or(Number::Absent, |text| Number::of(&text));
        let of_job = kind.starts_with("JOB_");
        let (counters, total_counters) = if of_job { (None, counters) } else { (counters, None) };
        let fields = Fields {
            job: text("JOBID"),
            job_name: text("JOBNAME"),
            submitted: number("SUBMIT_TIME"),
            launched: number("LAUNCH_TIME"),
            start: number("START_TIME"),
            finish: number("FINISH_TIME"),
            total_maps: number("TOTAL_MAPS"),
            total_reduces: number("TOTAL_REDUCES"),
            finished_maps: number("FINISHED_MAPS"),
            finished_reduces: number("FINISHED_REDUCES"),
            task: text("TASKID"),
            task_type: text("TASK_TYPE"),
            attempt: if kind.starts_with("TASK_") { Text(None) } else { text("TASK_ATTEMPT_ID") },
            splits: text("SPLITS"),
            tracker: text("TRACKER_NAME"),
            host: text("HOSTNAME"),
            error: text("ERROR"),
            locality: text("LOCALITY"),
            avataar: text("AVATAAR"),
            counters,
            total_counters,
            ..Fields::default()
        };
        Event { kind: Text(Some(kind.into())), payload: Union(Some(fields)), fields: None }
    }
}

/// Returns, for the type of an event that ends an attempt, the part before `_ATTEMPT_` and how the attempt ended.
fn attempt_end(kind: &str) -> Option<(&str, Ended)> {
    let (of, how) = kind.split_once("_ATTEMPT_")?;
    let ended = match how {
        "FINISHED" => Ended::Succeeded,
        "FAILED" => Ended::Failed,
        "KILLED" => Ended::Killed,
        _ => return None,
    };
    Some((of, ended))
}

/// Returns the kind of a task: from the task type in the event, else from the event's name, else from the task's id.
fn kind_of(fields: &Fields<'_>, event: &str, id: Option<Id<'_>>) -> Kind {
    let named = fields.task_type.filled().map(Kind::of_type);
    let by_event = || match event {
        "SETUP" | "CLEANUP" => Some(Kind::Other),
        _ => id.map(|id| id.kind()),
    };
    named.or_else(by_event).unwrap_or_else(|| Kind::of_type(event))
}

fn key(id: Id<'_>, fields: &Fields<'_>, event: &str) -> TaskKey {
    TaskKey { kind: kind_of(fields, event, Some(id)), letter: id.letter, index: id.task }
}

fn locate(attempt: Option<Id<'_>>, fields: &Fields<'_>, event: &str) -> Option<(TaskKey, u32)> {
    let id = attempt?;
    Some((key(id, fields, event), id.attempt?))
}

fn started(attempt: &mut Attempt, fields: &Fields<'_>, hosts: &mut Hosts) {
    attempt.start = attempt.start.or(fields.start.instant());
    if attempt.host.is_none() {
        attempt.host = fields.tracker.filled().and_then(|field| hosts.of(field));
    }
    attempt.marked = fields.avataar.filled().map(|avataar| avataar == "SPECULATIVE").or(attempt.marked);
    attempt.place = match fields.locality.filled() {
        Some("NODE_LOCAL") => Some(Place::Node),
        Some("RACK_LOCAL") => Some(Place::Rack),
        Some("OFF_SWITCH") => Some(Place::Off),
        _ => attempt.place,
    };
}

fn attempt_ended(
    job: &mut Job,
    located: Option<(TaskKey, u32)>,
    event: &str,
    ended: Ended,
    fields: &Fields<'_>,
    hosts: &mut Hosts,
) {
    let kind = located.map_or_else(|| kind_of(fields, event, None), |(key, _)| key.kind);
    if let (Ended::Succeeded, Some(counters), Some(_)) = (ended, &fields.counters, kind.phase()) {
        job.summed.add(counters);
    }
    let Some((key, number)) = located else {
        job.unidentified.push((kind, ended));
        return;
    };
    let attempt = job.task(key).attempt(number);
    if let Some(host) = fields.host.filled().and_then(|field| hosts.of(field)) {
        attempt.host = Some(host);
        if let Some(rack) = fields.rack.filled() {
            hosts.in_rack(host, rack);
        }
    }
    if let Some(counters) = &fields.counters {
        let read = if key.kind == Kind::Reduce { counters.shuffled() } else { counters.map_input() };
        attempt.bytes_read = read.or(attempt.bytes_read);
    }
    let again = attempt.end(ended, fields.finish.instant());
    attempt.cause = if ended == Ended::Succeeded { None } else { fields.error.filled().and_then(cause) };
    job.repeated += u64::from(again);
}

fn about_job(job: &mut Job, kind: &str, fields: Fields<'_>) {
    if let Some(name) = fields.job_name.filled() {
        job.name = Some(name.into());
    }
    job.submitted = fields.submitted.instant().or(job.submitted);
    job.launched = fields.launched.instant().or(job.launched);
    job.total[0] = fields.total_maps.id().or(job.total[0]);
    job.total[1] = fields.total_reduces.id().or(job.total[1]);
    job.end = match kind {
        "JOB_FINISHED" => Some(JobEnd::Succeeded),
        "JOB_FAILED" | "JOB_ERROR" => Some(JobEnd::Failed),
        "JOB_KILLED" => Some(JobEnd::Killed),
        _ => return,
    };
    job.finished = fields.finish.instant().or(job.finished);
    job.succeeded = [fields.finished_maps.id(), fields.finished_reduces.id()];
    if let Some(counters) = fields.total_counters.filter(|counters| !counters.is_empty()) {
        job.counters = Some(counters);
    }
}

/// Recovers the start of an attempt from an event that is not valid JSON, for example because a tool masked names in
/// it. Ends of attempts are not recovered, because they would change the counts.
pub(super) fn recover_start(bytes: &[u8]) -> Option<Event<'static>> {
    std::str::from_utf8(bytes).ok()?;
    let value = |key: &str| {
        let value = behind_key(bytes, key)?;
        Some(value.strip_prefix(b"{\"string\":").unwrap_or(value))
    };
    let string = |key: &str| value(key).and_then(|value| leading_string(value, LONGEST));
    let kind = string("\"type\"").filter(|kind| kind.ends_with("_ATTEMPT_STARTED"))?;
    let attempt = string("\"attemptId\"").filter(|id| Id::attempt(id).is_some())?;
    let text = |key: &str| Text(string(key).map(Into::into));
    let fields = Fields {
        attempt: Text(Some(attempt.into())),
        task_type: text("\"taskType\""),
        tracker: text("\"trackerName\""),
        locality: text("\"locality\""),
        avataar: text("\"avataar\""),
        start: value("\"startTime\"").and_then(leading_number).map_or(Number::Absent, Number::Whole),
        ..Fields::default()
    };
    Some(Event { kind: Text(Some(kind.into())), payload: Union(Some(fields)), fields: None })
}
