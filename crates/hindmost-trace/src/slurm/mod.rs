//! Reads the accounting of Slurm: what `sacct` prints.
//!
//! | file | what it does |
//! | --- | --- |
//! | `form.rs` | rows with a delimiter or aligned, with a header or without |
//! | `json.rs` | jobs of `sacct --json` |
//! | `kinds.rs` | jobs of one name that do different work, by what submitted them |
//! | `times.rs` | when a job could start, started and ended: suspension, changes of the clock, holds |
//!
//! | Slurm | here |
//! | --- | --- |
//! | all of the output | one application |
//! | job array | job, and a phase whose tasks are the elements of the array |
//! | any other job | job with one task; jobs with the same name, and of one kind, are compared as one phase |
//! | row of a job | attempt; with `--duplicates` a requeued job has several |
//! | step (`12.batch`, `12.extern`, `12.0`) | left out: it is part of its job |
//! | job that was cancelled before it started | counted in a warning, no attempt |
//! | node | node; a job on several nodes has none |
//!
//! `REQUEUED` and `PREEMPTED` attempts were interrupted, `CANCELLED` ones killed. `TIMEOUT`, `NODE_FAIL`, `OUT_OF_MEMORY`
//! and the like count as failed, with the state as cause.

mod form;
mod json;
mod kinds;
mod times;

use std::borrow::Cow;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::{LastState, Row, state};
use crate::tasks::units::{is_given, no_time, number, time};
use crate::tasks::{Collector, Rows, Rules};
use form::Form;
use kinds::Kinds;
use times::Times;

/// How to get output that can be read. Seconds since 1970 do not change with the clock.
pub(crate) const CURE: &str = "run SLURM_TIME_FORMAT=%s sacct --parsable2 --duplicates \
                               --format=JobID,JobName,State,ExitCode,Submit,Eligible,Start,End,Elapsed,Suspended,NodeList,\
                               AllocNodes,AllocCPUS";

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Slurm, is_one, in_folders: None, read: &read };

/// Returns whether a log with this beginning is output of `sacct`.
fn is_one(beginning: &[u8]) -> bool {
    json::is_one(beginning) || form::is_yaml(beginning) || form::is_one(beginning)
}

/// A job as `sacct` prints it, whatever the form; a text that the output does not have is empty.
#[derive(Debug, Default)]
pub(super) struct Job<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    /// The command that submitted it.
    command: Cow<'a, str>,
    state: Cow<'a, str>,
    exit: Cow<'a, str>,
    submit: Cow<'a, str>,
    eligible: Cow<'a, str>,
    /// `None` if there is no such column.
    start: Option<Cow<'a, str>>,
    end: Cow<'a, str>,
    elapsed: Cow<'a, str>,
    suspended: Cow<'a, str>,
    nodes: Cow<'a, str>,
    node_count: Cow<'a, str>,
    cpus: Cow<'a, str>,
}

/// Reads the output of `sacct`.
///
/// # Errors
/// If reading fails, or there are no times.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let refused = |why: &str| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Slurm.name(),
        why: format!(": {why}; {CURE}"),
    };
    collector.rules = Rules { jobs_within: true, same_in_every_job: true, ..Rules::default() };
    let mut jobs = Jobs::default();
    if json::is_one(window.held()) {
        json::read(window, name, collector, |collector, line, job| jobs.take(collector, line, job))?;
    } else if form::is_yaml(window.held()) {
        return Err(refused("it is YAML, which is not read"));
    } else {
        let form = Form::of(window.held()).ok_or_else(|| refused("its columns have no names (--noheader)"))?;
        if ["start", "end", "elapsed"].into_iter().filter(|name| form.place(&[name]).is_some()).count() < 2 {
            return Err(refused("it has no columns Start and End"));
        }
        form.rows(window, name, collector, |collector, line, job| jobs.take(collector, line, job))?;
    }
    jobs.end(collector);
    Ok(())
}

/// Turns jobs into rows, one after the other.
#[derive(Debug, Default)]
struct Jobs {
    times: Times,
    kinds: Kinds,
    /// How many jobs were cancelled before they started.
    never_started: u64,
    phase: String,
    job: String,
    last_state: LastState,
}

impl Jobs {
    fn take(&mut self, collector: &mut Collector, line: u64, found: &Job<'_>) {
        let Some(id) = JobId::of(&found.id) else {
            return collector.issues.unreadable(line, "its JobID is no job");
        };
        if id.is_step {
            return collector.issues.left_out(line, "steps of jobs");
        }
        let texts = [found.start.as_deref().unwrap_or_default(), &*found.end];
        let times = texts.map(|text| time(text, None));
        for ((name, text), time) in ["Start", "End"].into_iter().zip(texts).zip(times) {
            if time.is_none() && is_given(text) {
                let why = if times::is_relative(text) {
                    format!("its times have no date ({text}): {CURE}")
                } else {
                    no_time(text, name)
                };
                return collector.issues.unreadable(line, &why);
            }
        }
        let word = &*found.state;
        let ended = self.last_state.of(word, state).unwrap_or_else(|_| {
            collector.issues.unknown_state(line, word);
            Some(Ended::Succeeded)
        });
        let ran = self.times.of(found, times, ended);
        let has_started = ran.start.is_some() && id.waiting.is_none();
        if !has_started && ended.is_none() {
            return collector.issues.left_out(line, "pending jobs");
        }
        if !has_started {
            self.never_started += id.waiting.unwrap_or(1);
            return;
        }
        let name = &*found.name;
        self.phase.clear();
        self.job.clear();
        self.job.push_str(id.job);
        if !name.is_empty() {
            self.job.push(' ');
            self.job.push_str(name);
        }
        // An array is a phase of its own; other jobs with the same name are compared with each other.
        if id.index.is_some() {
            self.phase.push_str(&self.job);
        } else {
            self.kinds.add(name, &found.command, &mut self.phase);
        }
        collector.add(
            line,
            &Row {
                job: &self.job,
                phase: &self.phase,
                // Arrays with the same name do the same work, index by index.
                work: name,
                task: id.index.unwrap_or(id.job),
                node: one_node(&found.nodes, &found.node_count),
                submitted: ran.submitted,
                start: ran.start,
                end: ran.end,
                state: ended,
                cause: &cause(word, &found.exit),
                slots: number(&found.cpus),
                ..Row::default()
            },
        );
    }

    fn end(self, collector: &mut Collector) {
        if self.never_started > 0 {
            let (jobs, are) =
                if self.never_started == 1 { ("job was", "is no attempt") } else { ("jobs were", "are no attempts") };
            collector.issues.note(format!(
                "{} {jobs} cancelled before {} started, and {are}.",
                self.never_started,
                if self.never_started == 1 { "it" } else { "they" }
            ));
        }
        self.times.end(collector);
        self.kinds.end(collector);
    }
}

/// The parts of a job's id.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JobId<'a> {
    job: &'a str,
    /// Index within the array; `None` if the job is no element of an array.
    index: Option<&'a str>,
    is_step: bool,
    /// How many elements of an array the row stands for, if these have not started.
    waiting: Option<u64>,
}

impl<'a> JobId<'a> {
    /// Parses `12`, `12_3`, `12_[4-9%2]`, `12+1` or either of these with a step, such as `12_3.batch`.
    fn of(text: &'a str) -> Option<JobId<'a>> {
        let (whole, step) = text.split_once('.').map_or((text, None), |(whole, step)| (whole, Some(step)));
        let (job, index) = whole.split_once('_').map_or((whole, None), |(job, index)| (job, Some(index)));
        if !job.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let waiting = index.and_then(|index| index.strip_prefix('[')).map(elements);
        Some(JobId { job, index, is_step: step.is_some(), waiting })
    }
}

/// Returns how many elements a list such as `1,4-9:2%3]` has; at least 1. `sacct` may cut it off (`…`).
fn elements(list: &str) -> u64 {
    let list = list.split(['%', ']']).next().unwrap_or_default();
    let of_part = |part: &str| {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last, step] = [first, last, step].map(|text| text.parse::<u64>().ok());
        Some(last?.checked_sub(first?)? / step?.max(1) + 1)
    };
    list.split(',').filter_map(of_part).sum::<u64>().max(1)
}

/// Returns the node of a job that ran on one node; empty for several nodes and for none.
fn one_node<'a>(list: &'a str, count: &str) -> &'a str {
    let is_several = match number(count) {
        Some(count) => count > 1.0,
        None => list.contains([',', '[']),
    };
    if is_several || list.eq_ignore_ascii_case("none assigned") || list.eq_ignore_ascii_case("none") {
        ""
    } else {
        list
    }
}

/// Returns the state without the user who cancelled the job, and for a failed job with its exit code.
fn cause<'a>(state: &'a str, exit: &str) -> Cow<'a, str> {
    // Aligned output ends a word that it cuts off with a plus.
    let word = state.split(' ').next().unwrap_or_default().trim_end_matches('+');
    match exit.split_once(':') {
        Some((code, signal)) if word == "FAILED" && signal != "0" => {
            format!("FAILED, exit code {code}, signal {signal}").into()
        }
        // `sacct --json` of Slurm 22.05 gives 0 for every job.
        Some((code, _)) if word == "FAILED" && code != "0" => format!("FAILED, exit code {code}").into(),
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows::found;

    #[test]
    fn job_ids_are_parsed() {
        let plain = JobId { job: "12", index: None, is_step: false, waiting: None };
        assert_eq!(JobId::of("12"), Some(plain));
        assert_eq!(JobId::of("12_3.0"), Some(JobId { index: Some("3"), is_step: true, ..plain }));
        for (id, waiting) in
            [("12_[4-9%2]", 6), ("12_[1,4-9:2]", 4), ("12_[7]", 1), ("12_[0-3,...", 4), ("12_[9-4]", 1)]
        {
            assert_eq!(JobId::of(id).and_then(|id| id.waiting), Some(waiting), "{id}");
        }
        assert_eq!(JobId::of("12+1").map(|id| id.job), Some("12+1"));
        assert_eq!(JobId::of("batch"), None);
    }

    #[test]
    fn a_log_of_more_rows_than_are_held_stays_one_application() {
        // 160 arrays of 3400 elements, one after another.
        let mut log = "JobID|JobName|State|Start|End|NodeList\n".to_owned();
        for (array, index) in (0..160).flat_map(|array| (0..3400).map(move |index| (array, index))) {
            let start = 1_700_000_000 + 100 * array;
            log += &format!("{array}_{index}|work|COMPLETED|{start}|{}|n{}\n", start + 50 + index % 5, index % 9);
        }
        let found = found(&log, TaskFormat::Slurm);
        let counts = &found.summary;
        assert_eq!((counts.jobs, counts.stages, counts.tasks), (160, 160, 544_000));
        assert_eq!(found.diagnoses.len(), 1);
        assert!(counts.warnings.iter().any(|warning| warning.contains("covers only the first ones")), "{counts:?}");
        assert!(found.trace.world().is_none());
        let warnings = &found.trace.summary().warnings;
        assert!(warnings.iter().any(|warning| warning.contains("too large to be replayed as it ran")), "{warnings:?}");
    }
}
