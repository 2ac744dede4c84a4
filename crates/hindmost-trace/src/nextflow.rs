//! Reads traces of Nextflow (`trace.txt`, `execution_trace_….txt`), also with other fields, raw values or separators.
//!
//! A trace is one application. A process is a phase, and a task a row of the trace. A task that is retried has a row for
//! each attempt; they have the same name and belong together if the earlier ones failed. Tasks whose result was cached
//! did not run in this run and are left out. If the trace has no `start` and `complete`, an attempt ends at `submit` plus
//! `duration`, and ran for `realtime`.

use rustc_hash::FxHashMap;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::header::Header;
use crate::tasks::row::{Row, state};
use crate::tasks::units::{Unit, bytes, duration, number, time};
use crate::tasks::{Collector, Rows};

/// Fields of which a trace has at least two, and other logs have none.
const FIELDS: &[&str] = &["hash", "native_id", "realtime", "%cpu", "workdir", "peak_rss", "error_action"];

fn header(beginning: &[u8]) -> Option<Header> {
    let named =
        Header::find(beginning, &["name", "status"]).or_else(|| Header::find(beginning, &["process", "status"]));
    let is_trace = |header: &Header| {
        FIELDS.iter().filter(|name| header.place(&[name]).is_some()).count() >= 2
            || (header.place(&["realtime"]).is_some() && header.place(&["task_id", "process"]).is_some())
    };
    named.filter(is_trace)
}

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Nextflow, is_one, read: &read };

/// Returns whether a log with this beginning is a trace.
fn is_one(beginning: &[u8]) -> bool {
    header(beginning).is_some()
}

/// Reads a trace.
///
/// # Errors
/// If reading fails, or the trace lacks the fields for times.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let refused = |why: &str| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Nextflow.name(),
        why: format!(": {why}"),
    };
    let header = header(window.held()).ok_or_else(|| refused("it has no header"))?;
    let [task_name, process, word, exit, attempt, submit, start, complete, took, ran, cpus] =
        ["name", "process", "status", "exit", "attempt", "submit", "start", "complete", "duration", "realtime", "cpus"]
            .map(|name| header.place(&[name]));
    let input = header.place(&["rchar", "read_bytes"]);
    let host = header.place(&["hostname"]);
    let has_end = complete.is_some() || submit.is_some() && took.is_some();
    if !has_end && !(start.is_some() && (ran.is_some() || took.is_some())) {
        return Err(refused(
            "it has no times; set trace.fields = \
             'task_id,process,name,status,exit,attempt,submit,start,complete,realtime,cpus,rchar,hostname'",
        ));
    }
    let mut retries = Retries::default();
    let mut cause = String::new();
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at)).trim_matches('-');
        let word = text(word);
        if word.eq_ignore_ascii_case("cached") {
            return collector.issues.left_out(line, "cached tasks, which did not run");
        }
        let at = |place| time(text(place), None).filter(|at| *at > 0.0);
        let span = |place| duration(text(place), Some(Unit::Milliseconds));
        let (submitted, ran, took) = (at(submit), span(ran), span(took));
        let start = at(start);
        let end = at(complete).or_else(|| Some(submitted? + took?)).or_else(|| Some(start? + ran.or(took)?));
        let start = start.or_else(|| Some(end? - ran?)).or(submitted);
        let ended = state(word).unwrap_or_else(|_| {
            collector.issues.unknown_state(line, word);
            Some(Ended::Succeeded)
        });
        if end.is_none() && (ended.is_none() || start.is_none()) {
            return collector.issues.left_out(line, "tasks that had not ended");
        }
        let name = text(task_name);
        let process = match text(process) {
            "" => name.split_once(" (").map_or(name, |(process, _)| process),
            process => process,
        };
        let attempt = number(text(attempt)).map(|n| n as u32);
        cause.clear();
        cause.push_str(word);
        if !text(exit).is_empty() && ended == Some(Ended::Failed) {
            cause = format!("exit code {}", text(exit));
        }
        collector.add(
            line,
            &Row {
                phase: process,
                task: retries.task(name, attempt, ended == Some(Ended::Succeeded)),
                node: text(host),
                // A wrong clock of a node may give a start before the submission.
                submitted: submitted.filter(|at| start.is_none_or(|start| *at <= start)),
                start,
                end,
                state: ended,
                cause: &cause,
                bytes: bytes(text(input)),
                attempt,
                slots: number(text(cpus)),
                ..Row::default()
            },
        );
    })
}

/// Names of tasks of which an attempt failed.
#[derive(Debug, Default)]
struct Retries {
    /// How many tasks with this name have been retried with success.
    done: FxHashMap<String, u32>,
    task: String,
}

impl Retries {
    /// Returns the task of an attempt; empty for a task of its own. Tasks may share a name, so only attempts after one
    /// that failed are of its task.
    fn task(&mut self, name: &str, attempt: Option<u32>, succeeded: bool) -> &str {
        self.task.clear();
        if name.is_empty() {
            return "";
        }
        let may_be_retry = attempt.is_none_or(|attempt| attempt > 1);
        match (self.done.get_mut(name), succeeded) {
            (Some(done), true) if may_be_retry => {
                self.task = format!("{name} {done}");
                *done += 1;
            }
            (_, true) => {}
            (Some(done), false) => self.task = format!("{name} {done}"),
            (None, false) => {
                self.done.insert(name.to_owned(), 0);
                self.task = format!("{name} 0");
            }
        }
        &self.task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows::{found, replayed};

    #[test]
    fn default_fields_are_read() {
        let log = "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\tpeak_rss\tpeak_vmem\trchar\twchar\n\
            1\taa/000001\t10\tTRIM (s1)\tCACHED\t0\t2024-02-01 09:00:00.000\t7s\t4s\t9%\t1 MB\t1 MB\t1 MB\t0\n\
            2\taa/000002\t11\tTRIM (s2)\tCOMPLETED\t0\t2024-02-01 10:00:00.000\t1m 3s\t1m\t9%\t1 MB\t1 MB\t1.5 KB\t0\n\
            3\taa/000003\t12\tTRIM (s3)\tFAILED\t137\t2024-02-01 10:00:00.500\t20s\t10s\t-\t-\t-\t-\t-\n\
            5\taa/000005\t14\tALIGN (s2)\tABORTED\t-\t2024-02-01 10:02:00.000\t-\t-\t-\t-\t-\t-\t-\n\
            4\taa/000004\t13\tTRIM (s3)\tCOMPLETED\t0\t2024-02-01 10:00:20.500\t40s\t30s\t9%\t1 MB\t1 MB\t2 KB\t0\n";
        let found = found(log, TaskFormat::Nextflow);
        let summary = &found.summary;
        assert_eq!((summary.format, summary.jobs, summary.stages, summary.tasks), ("nextflow", 1, 2, 3));
        assert_eq!((summary.attempts, summary.failed_attempts, summary.killed_attempts), (4, 1, 1));
        assert_eq!(summary.failures["exit code 137"], 1);
        assert_eq!(found.findings.machine_time.winners, 90.0);
        assert_eq!(found.findings.machine_time.failed, 10.0);
        // `date -u -d 2024-02-01T10:00:00 +%s` is 1706781600. The task of s2 ended 63 s after it was submitted.
        assert_eq!((summary.from, summary.to), (Some(1_706_781_600.0), Some(1_706_781_663.0)));
        assert_eq!(
            summary.warnings,
            [
                "1 row was left out (cached tasks, which did not run); the first is line 2.",
                "1 attempt has no start or no end; counted, but without a duration; the first is line 5.",
                "1 task never succeeded; left out of replays.",
            ]
        );
        let phases = replayed(&found.trace).remove(0).2;
        assert_eq!(phases, [("TRIM".to_owned(), vec![], vec![60.0, 30.0])]);
    }

    #[test]
    fn raw_values_and_other_fields_are_read() {
        let log = "process,name,status,attempt,submit,start,complete,realtime,cpus,hostname,workdir\n\
            TRIM,TRIM (1),FAILED,1,1700000000000,1700000001000,1700000003000,1500,4,n1,/w/1\n\
            TRIM,TRIM (1),COMPLETED,2,1700000003000,1700000004000,1700000009000,4500,4,n2,/w/2\n\
            TRIM,TRIM (2),COMPLETED,1,1700000000000,1700000001000,1700000002000,1000,4,n1,/w/3\n\
            TRIM,TRIM (2),COMPLETED,1,1700000000000,1700000001000,1700000008000,7000,4,n2,/w/4\n";
        let found = found(log, TaskFormat::Nextflow);
        assert_eq!((found.summary.tasks, found.summary.attempts, found.summary.nodes), (3, 4, 2));
        assert_eq!(found.findings.machine_time.winners, 13.0);
        let nodes: Vec<_> = found.trace.cluster_nodes().iter().map(|node| (&*node.name, node.slots)).collect();
        // Two tasks with four processors each ran on either node at the same time.
        assert_eq!(nodes, [("n1", 8), ("n2", 8)]);
    }
}
