//! Reads what Slurm's `sacct --parsable2` (or `--parsable`) prints, with its header.
//!
//! | Slurm | here |
//! | --- | --- |
//! | all of the output | one application |
//! | job array | job, and a phase whose tasks are the elements of the array |
//! | any other job | job with one task; jobs with the same name are compared as one phase |
//! | row of a job | attempt; with `--duplicates` a requeued job has several |
//! | step (`12.batch`, `12.extern`, `12.0`) | left out: it is part of its job |
//! | node | node; a job on several nodes has none |
//!
//! `REQUEUED` and `PREEMPTED` attempts were interrupted, `CANCELLED` ones killed. `TIMEOUT`, `NODE_FAIL`, `OUT_OF_MEMORY`
//! and the like count as failed, with the state as cause.

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::header::Header;
use crate::tasks::row::{Row, state};
use crate::tasks::units::{duration, is_given, no_time, number, time};
use crate::tasks::{Collector, Rows, Rules};

/// How to get output that can be read.
const CURE: &str = "run sacct --parsable2 --duplicates \
                    --format=JobID,JobName,State,ExitCode,Submit,Start,End,Elapsed,NodeList,AllocNodes,AllocCPUS";

/// Returns the header if a log with this beginning is output of `sacct`.
fn header(beginning: &[u8]) -> Option<Header> {
    let of_slurm = ["elapsed", "elapsedraw", "nodelist", "alloccpus", "exitcode", "partition", "submit", "jobname"];
    Header::find(beginning, &["jobid"])
        .or_else(|| Header::find(beginning, &["jobidraw"]))
        .filter(|header| header.place(&["state"]).is_some() || header.place(&["start"]).is_some())
        .filter(|header| header.place(&of_slurm).is_some() || is_parsable(beginning))
}

/// Returns whether the first line has the delimiter of `--parsable`.
fn is_parsable(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').next().is_some_and(|line| line.contains(&b'|'))
}

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Slurm, is_one, read: &read };

/// Returns whether a log with this beginning is output of `sacct`.
fn is_one(beginning: &[u8]) -> bool {
    header(beginning).is_some()
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
    let header = header(window.held()).ok_or_else(|| refused("it has no header with JobID"))?;
    let [id, raw_id] = [&["jobid", "jobidraw"][..], &["jobidraw"]].map(|names| header.place(names));
    let [start_place, end_place] = ["start", "end"].map(|name| header.place(&[name]));
    let elapsed = header.place(&["elapsed", "elapsedraw"]);
    if [start_place, end_place, elapsed].iter().flatten().count() < 2 {
        return Err(refused("it has no columns Start and End"));
    }
    let [job_name, word, exit] = ["jobname", "state", "exitcode"].map(|name| header.place(&[name]));
    let [submit, nodes, node_count, cpus] =
        [&["submit", "eligible"][..], &["nodelist"], &["allocnodes", "nnodes"], &["alloccpus", "ncpus", "reqcpus"]]
            .map(|names| header.place(names));
    collector.rules = Rules { jobs_within: true, same_in_every_job: true, ..Rules::default() };
    let (mut phase, mut job) = (String::new(), String::new());
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at));
        let id = JobId::of(text(id)).or_else(|| JobId::of(text(raw_id)));
        let Some(id) = id else { return collector.issues.unreadable(line, "its JobID is no job") };
        if id.is_step {
            return collector.issues.left_out(line, "steps of jobs");
        }
        let seconds = |place| time(text(place), None).filter(|at| *at > 0.0);
        let took = duration(text(elapsed), None);
        let (start, end) = (seconds(start_place), seconds(end_place));
        for (name, place) in [("Start", start_place), ("End", end_place)] {
            if is_given(text(place)) && time(text(place), None).is_none() {
                return collector.issues.unreadable(line, &no_time(text(place), name));
            }
        }
        // A start that is not known means that the job never started.
        let derived = || Some(end? - took?).filter(|_| start_place.is_none());
        let (start, end) = (start.or_else(derived), end.or_else(|| Some(start? + took?)));
        let word = text(word);
        let ended = state(word).unwrap_or_else(|_| {
            collector.issues.unknown_state(line, word);
            Some(Ended::Succeeded)
        });
        if id.is_pending || (start.is_none() && ended.is_none()) {
            return collector.issues.left_out(line, "pending jobs");
        }
        if start.is_none() {
            return collector.issues.left_out(line, "jobs that ended before they started");
        }
        let name = text(job_name);
        phase.clear();
        job.clear();
        job.push_str(id.job);
        if !name.is_empty() {
            job.push(' ');
            job.push_str(name);
        }
        // An array is a phase of its own; other jobs with the same name are compared with each other.
        phase.push_str(if id.index.is_some() { &job } else { name });
        collector.add(
            line,
            &Row {
                job: &job,
                phase: &phase,
                // Arrays with the same name do the same work, index by index.
                work: name,
                task: id.index.unwrap_or(id.job),
                node: one_node(text(nodes), text(node_count)),
                submitted: seconds(submit),
                start,
                end,
                state: ended,
                cause: &cause(word, text(exit)),
                slots: number(text(cpus)),
                ..Row::default()
            },
        );
    })
}

/// The parts of a job's id.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JobId<'a> {
    job: &'a str,
    /// Index within the array; `None` if the job is no element of an array.
    index: Option<&'a str>,
    is_step: bool,
    /// Whether this is the part of an array that has not started.
    is_pending: bool,
}

impl<'a> JobId<'a> {
    /// Parses `12`, `12_3`, `12_[4-9%2]`, `12+1` or either of these with a step, such as `12_3.batch`.
    fn of(text: &'a str) -> Option<JobId<'a>> {
        let (whole, step) = text.split_once('.').map_or((text, None), |(whole, step)| (whole, Some(step)));
        let (job, index) = whole.split_once('_').map_or((whole, None), |(job, index)| (job, Some(index)));
        if !job.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let is_pending = index.is_some_and(|index| index.starts_with('['));
        Some(JobId { job, index, is_step: step.is_some(), is_pending })
    }
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
fn cause(state: &str, exit: &str) -> String {
    let word = state.split(' ').next().unwrap_or_default();
    match exit.split_once(':') {
        Some((code, signal)) if word == "FAILED" && signal != "0" => {
            format!("FAILED, exit code {code}, signal {signal}")
        }
        Some((code, _)) if word == "FAILED" => format!("FAILED, exit code {code}"),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows::found;

    #[test]
    fn job_ids_are_parsed() {
        let plain = JobId { job: "12", index: None, is_step: false, is_pending: false };
        assert_eq!(JobId::of("12"), Some(plain));
        assert_eq!(JobId::of("12_3.0"), Some(JobId { index: Some("3"), is_step: true, ..plain }));
        assert_eq!(JobId::of("12_[4-9%2]").map(|id| id.is_pending), Some(true));
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
