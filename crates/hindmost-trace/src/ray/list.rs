//! Reads lists of tasks: `ray list tasks --detail --format json`, the same of the REST interface (`/api/v0/tasks?detail=1`), and rows of
//! `list_tasks(detail=True)` as CSV.
//!
//! A row is an attempt, and a job of Ray an application. Other forms of `ray list tasks` are recognised to say which one to use.

use super::row::{Found, Row};
use super::{Attempt, LIST, MOST_HELD, Tasks, hash};
use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::json::{behind_key, leading_number, parse_cleaned};
use crate::reading::window::Window;
use crate::tasks::Collector;
use crate::tasks::header::Header;
use crate::tasks::lines;
use crate::tasks::units::{Unit, time};

/// Keys that each row has, also without details.
const KEYS: [&str; 3] = ["task_id", "attempt_number", "func_or_class_name"];
/// As many rows as `ray list tasks` lists without `--limit`.
const USUAL_LIMIT: u64 = 100;

/// Returns whether a log with this beginning is a list of tasks, or another form of one, which can't be read.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    is_json(beginning) || header(beginning).is_some() || unreadable_form(beginning).is_some()
}

fn has(beginning: &[u8], texts: impl IntoIterator<Item = String>) -> bool {
    texts.into_iter().all(|text| memchr::memmem::find(beginning, text.as_bytes()).is_some())
}

fn is_json(beginning: &[u8]) -> bool {
    let is_json = matches!(beginning.trim_ascii_start().first(), Some(b'[' | b'{'));
    is_json && has(beginning, KEYS.map(|key| format!("\"{key}\"")))
}

fn header(beginning: &[u8]) -> Option<Header> {
    Header::find(beginning, &KEYS)
}

/// Returns what a list is that can't be read.
fn unreadable_form(beginning: &[u8]) -> Option<&'static str> {
    if beginning.starts_with(b"---") && has(beginning, KEYS.map(|key| format!("{key}:"))) {
        return Some("it is YAML, which is not read");
    }
    let is_table = has(beginning, KEYS.map(str::to_ascii_uppercase));
    let is_summary = has(beginning, ["FUNC_OR_CLASS_NAME", "STATE_COUNTS"].map(str::to_owned));
    (is_table || is_summary).then_some("it is a table without times")
}

/// Reads a list.
///
/// # Errors
/// If reading fails, or the list has no times.
pub(super) fn read(mut window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let refused = |why: &str| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Ray.name(),
        why: format!(": {why}; run {LIST}"),
    };
    let mut list = List::default();
    let limits = Limits::of(window.held());
    if is_json(window.held()) {
        match limits.begin {
            Some(begin) => window.only_array(begin),
            None => _ = window.one_object_a_line(),
        }
        lines::each(window, name, collector, |collector, line, text, terminated| {
            let text = text.trim().trim_start_matches(['[', ',']).trim_end_matches([',', ']']);
            if !text.starts_with('{') {
                return Ok(());
            }
            let mut cleaned = String::new();
            match parse_cleaned::<Found<'_>>(text.as_bytes(), &mut cleaned) {
                Ok(found) => list.take(line, &found.row(), collector),
                Err(_) if !terminated => collector.issues.cut(format!("in row {line}")),
                Err(why) => collector.issues.unreadable(line, &why),
            }
            Ok(())
        })?;
    } else if let Some(header) = header(window.held()) {
        header.rows(window, name, collector, |collector, line, fields| {
            list.take(line, &Row::of(&header, fields), collector);
        })?;
    } else {
        return Err(refused(unreadable_form(window.held()).unwrap_or("it has no rows")));
    }
    if list.rows > 0 && !list.has_times {
        return Err(refused("it has no times, which only --detail shows"));
    }
    limits.note(list.rows, collector);
    list.give(collector);
    Ok(())
}

/// What an answer of the REST interface says of the rows that it has.
#[derive(Debug, Default)]
struct Limits {
    /// Where the first element of the array with the rows begins; `None` if the list is no such answer.
    begin: Option<usize>,
    /// How many rows there are, how many of them Ray looked at, and how many of those the user wanted.
    total: Option<u64>,
    looked_at: Option<u64>,
    wanted: Option<u64>,
}

impl Limits {
    fn of(beginning: &[u8]) -> Limits {
        let mut begin = None;
        for at in memchr::memmem::find_iter(beginning, "\"result\"") {
            let array = behind_key(&beginning[at..], "\"result\"").and_then(|value| value.strip_prefix(b"["));
            begin = begin.or(array.map(|array| beginning.len() - array.len()));
        }
        let Some(before) = begin.and_then(|begin| beginning.get(..begin)) else { return Limits::default() };
        let count = |key: &str| behind_key(before, key).and_then(leading_number);
        let [total, looked_at, wanted] = ["\"total\"", "\"num_after_truncation\"", "\"num_filtered\""].map(count);
        Limits { begin, total, looked_at, wanted }
    }

    /// Notes that the list does not have all rows.
    fn note(&self, rows: u64, collector: &mut Collector) {
        let all = match (self.total, self.looked_at, self.wanted.or(self.total)) {
            (Some(total), Some(looked_at), _) if looked_at < total => Some(total),
            (.., Some(wanted)) if rows < wanted => Some(wanted),
            _ => None,
        };
        if let Some(all) = all {
            collector.issues.note(format!("The list has {rows} of {all} attempts; `{LIST}` lists more."));
        } else if self.begin.is_none() && rows == USUAL_LIMIT {
            collector.issues.note(format!(
                "The list has {rows} attempts, which is as many as `ray list tasks` lists without --limit: others may be missing; \
                 `{LIST}` lists more."
            ));
        }
    }
}

/// Parses a time: a date, or milliseconds since 1970.
fn instant(text: &str) -> Option<f64> {
    time(text, Some(Unit::Milliseconds)).filter(|at| *at > 0.0)
}

/// The rows that are held until the names of tasks are known.
#[derive(Debug, Default)]
struct List {
    tasks: Tasks,
    held: Vec<Attempt>,
    rows: u64,
    has_times: bool,
}

impl List {
    fn take(&mut self, line: u64, row: &Row<'_>, collector: &mut Collector) {
        self.rows += 1;
        let [created, start, end] = [row.created, row.start, row.end].map(instant);
        self.has_times |= created.or(start).or(end).is_some();
        let (state, cause) = row.ended();
        if start.is_none() {
            // A worker that dies loses the start of its task. A method waits at its actor, so it may not have started there.
            let may_have_started = !row.worker.is_empty() && row.kind != "ACTOR_TASK";
            if state.is_none() {
                return collector.issues.left_out(line, "tasks that had not started");
            } else if !may_have_started {
                let what = "attempts that failed or were cancelled before they started, as far as the list says";
                return collector.issues.left_out(line, what);
            }
        }
        let attempt = Attempt {
            line,
            job: self.tasks.text(row.job),
            function: self.tasks.text(row.function),
            name: self.tasks.text(row.name),
            task: hash(row.task),
            node: self.tasks.text(row.node),
            submitted: row.waited.and_then(instant).or(created).unwrap_or(f64::NAN),
            start: start.unwrap_or(f64::NAN),
            end: end.unwrap_or(f64::NAN),
            state,
            cause: self.tasks.text(cause),
            number: row.number,
        };
        self.tasks.add(&attempt);
        self.held.push(attempt);
        if self.held.len() >= MOST_HELD {
            self.give(collector);
        }
    }

    /// Gives the attempts that are held to the collector.
    fn give(&mut self, collector: &mut Collector) {
        for attempt in self.held.drain(..) {
            self.tasks.give(&attempt, collector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows::found;

    #[test]
    fn a_list_may_end_at_the_limit() {
        let row = |at: u64| {
            let (id, times) =
                (at % 50, format!("\"creation_time_ms\":1000,\"start_time_ms\":{},\"end_time_ms\":9000", 2000 + at));
            format!(
                "{{\"task_id\":\"{id}\",\"attempt_number\":0,\"func_or_class_name\":\"f\",\"name\":\"f\",\"job_id\":\"0{}\",\
                 \"state\":\"FINISHED\",\"error_type\":null,{times}}}\n",
                at / 50,
            )
        };
        for (rows, note) in [(99, 0), (100, 1), (101, 0)] {
            let log: String = (0..rows).map(row).collect();
            let summary = found(&log, TaskFormat::Ray).summary;
            let counts = (summary.jobs, summary.tasks, summary.attempts, summary.from);
            assert_eq!(counts, (rows.div_ceil(50), rows, rows, Some(1.0)));
            let said = summary.warnings.iter().filter(|warning| warning.contains("without --limit")).count();
            assert_eq!(said, note, "{:?}", summary.warnings);
        }
    }
}
