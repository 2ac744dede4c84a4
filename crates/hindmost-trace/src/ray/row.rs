//! Rows of lists of tasks, as JSON and as CSV.
//!
//! An exception that ended an attempt is in its `profiling_data`. A cancelled task is `FINISHED`, with the exception in its own event
//! `task::NAME`, where no other attempt's is. Steps of asynchronous methods may have exceptions of other attempts, so those
//! count only if the message of the error has them, too.

use serde::Deserialize;

use super::raised;
use crate::reading::values::{Number, Text};
use crate::recording::Ended;
use crate::tasks::delimited::Fields;
use crate::tasks::header::Header;

/// The state of a task whose arguments are there, so that it waits for a slot.
const WAITS: &str = "PENDING_NODE_ASSIGNMENT";

/// The texts of a row, whatever its form. Those that it does not have are empty.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    pub task: &'a str,
    pub number: Option<u32>,
    pub name: &'a str,
    pub function: &'a str,
    state: &'a str,
    pub job: &'a str,
    pub kind: &'a str,
    pub node: &'a str,
    pub worker: &'a str,
    error: &'a str,
    message: &'a str,
    pub created: &'a str,
    /// When the task began to wait for a slot.
    pub waited: Option<&'a str>,
    pub start: &'a str,
    pub end: &'a str,
    /// The exception in the event of the attempt itself, and the first one in those of its steps.
    own_exception: Option<&'a str>,
    exception: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// Takes a row of a CSV file, whose columns with objects have them as Python writes them.
    pub(super) fn of(header: &Header, fields: &'a Fields) -> Row<'a> {
        let text = |name: &str| header.place(&[name]).map_or("", |at| fields.get(at));
        let waited = text("events").split_once(WAITS).and_then(|(_, rest)| {
            let number = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
            number.split(['}', ',']).next()
        });
        let mut row = Row {
            task: text("task_id"),
            number: Number::of(text("attempt_number")).id(),
            name: text("name"),
            function: text("func_or_class_name"),
            state: text("state"),
            job: text("job_id"),
            kind: text("type"),
            node: text("node_id"),
            worker: text("worker_id"),
            error: text("error_type"),
            message: text("error_message"),
            created: text("creation_time_ms"),
            waited,
            start: text("start_time_ms"),
            end: text("end_time_ms"),
            ..Row::default()
        };
        let mut parts = text("profiling_data").split("'event_name': ");
        let mut before = parts.next().unwrap_or_default();
        for part in parts {
            let exception = before.rsplit_once("'extra_data'").and_then(|(_, extra)| {
                let begin = extra.find("<class '")?;
                extra.get(begin..begin + extra[begin..].find("'>")? + 2)
            });
            row.add_exception(part.trim_start_matches(['"', '\'']), exception);
            before = part;
        }
        row
    }

    fn add_exception(&mut self, event: &str, exception: Option<&'a str>) {
        let of = if event.starts_with("task::") { &mut self.own_exception } else { &mut self.exception };
        *of = of.or(exception);
    }

    /// Returns how the attempt ended and why; `None` for how if it has not ended.
    pub(super) fn ended(&self) -> (Option<Ended>, &'a str) {
        match (self.state, self.own_exception.map(raised)) {
            ("FINISHED", Some((ended, cause))) => (Some(ended), cause),
            ("FINISHED", None) => (Some(Ended::Succeeded), ""),
            ("FAILED", _) if self.error == "TASK_CANCELLED" => (Some(Ended::Killed), self.error),
            ("FAILED", own) => {
                let of_step = self.exception.map(raised);
                let is_said = |name: &str| self.message.contains(name.rsplit('.').next().unwrap_or(name));
                let said = of_step.or(own).filter(|(_, name)| is_said(name));
                let (ended, cause) = said.unwrap_or((Ended::Failed, self.error));
                (Some(ended), cause)
            }
            _ => (None, ""),
        }
    }
}

/// A row as JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Found<'a> {
    #[serde(borrow)]
    task_id: Text<'a>,
    attempt_number: Number,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    func_or_class_name: Text<'a>,
    #[serde(borrow)]
    state: Text<'a>,
    #[serde(borrow)]
    job_id: Text<'a>,
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    node_id: Text<'a>,
    #[serde(borrow)]
    worker_id: Text<'a>,
    #[serde(borrow)]
    error_type: Text<'a>,
    #[serde(borrow)]
    error_message: Text<'a>,
    #[serde(borrow)]
    creation_time_ms: Text<'a>,
    #[serde(borrow)]
    start_time_ms: Text<'a>,
    #[serde(borrow)]
    end_time_ms: Text<'a>,
    #[serde(borrow)]
    events: Option<Vec<Change<'a>>>,
    #[serde(borrow)]
    profiling_data: Option<Profile<'a>>,
}

/// A change of the state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Change<'a> {
    #[serde(borrow)]
    state: Text<'a>,
    #[serde(borrow)]
    created_ms: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Profile<'a> {
    #[serde(borrow)]
    events: Vec<Event<'a>>,
}

/// The attempt itself, or a step.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    event_name: Text<'a>,
    #[serde(borrow)]
    extra_data: Option<Extra<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra<'a> {
    #[serde(rename = "type", borrow)]
    exception: Text<'a>,
}

impl Found<'_> {
    /// Returns the texts of the row.
    pub(super) fn row(&self) -> Row<'_> {
        fn text<'a>(text: &'a Text<'_>) -> &'a str {
            text.get().unwrap_or_default()
        }
        let waits = self.events.iter().flatten().find(|change| change.state.get() == Some(WAITS));
        let mut row = Row {
            task: text(&self.task_id),
            number: self.attempt_number.id(),
            name: text(&self.name),
            function: text(&self.func_or_class_name),
            state: text(&self.state),
            job: text(&self.job_id),
            kind: text(&self.kind),
            node: text(&self.node_id),
            worker: text(&self.worker_id),
            error: text(&self.error_type),
            message: text(&self.error_message),
            created: text(&self.creation_time_ms),
            waited: waits.map(|change| text(&change.created_ms)),
            start: text(&self.start_time_ms),
            end: text(&self.end_time_ms),
            ..Row::default()
        };
        for event in self.profiling_data.iter().flat_map(|profile| &profile.events) {
            let exception = event.extra_data.as_ref().and_then(|extra| extra.exception.filled());
            row.add_exception(text(&event.event_name), exception);
        }
        row
    }
}
