//! Reads job logs of GNU parallel (`--joblog`).
//!
//! All rows are one job with one phase. A task is a sequence number with its command: a command that was run again
//! (`--retries`, `--resume-failed`) has several attempts, and logs that several runs have appended to have no tasks in
//! common. A command that ended with an exit code or by a signal has failed; one that parallel stopped itself (exit
//! value -1 and a signal, as with `--halt now` and `--timeout`) was killed. The bytes sent to other hosts are the input.

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::header::Header;
use crate::tasks::row::Row;
use crate::tasks::units::{duration, number, time};
use crate::tasks::{Collector, Rows};

/// Fields that each job log has.
const NEEDED: &[&str] = &["seq", "host", "starttime", "jobruntime"];

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Parallel, is_one, read: &read };

/// Returns whether a log with this beginning is a job log.
fn is_one(beginning: &[u8]) -> bool {
    Header::find(beginning, NEEDED).is_some()
}

/// Reads a job log.
///
/// # Errors
/// If reading fails.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let header = Header::find(window.held(), NEEDED).ok_or_else(|| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Parallel.name(),
        why: ": it has no header".to_owned(),
    })?;
    let [seq, host, start, runtime, send, exit, signal, command] =
        ["seq", "host", "starttime", "jobruntime", "send", "exitval", "signal", "command"]
            .map(|name| header.place(&[name]));
    let (mut task, mut cause) = (String::new(), String::new());
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at));
        let (Some(began), Some(took)) = (time(text(start), None), duration(text(runtime), None)) else {
            return collector.issues.unreadable(line, "its start or its runtime is no number");
        };
        let code = |place| number(text(place)).unwrap_or(0.0);
        task.clear();
        task.push_str(text(seq));
        task.push(' ');
        task.push_str(text(command));
        cause.clear();
        let (exit, signal) = (code(exit), code(signal));
        let ended = if exit == 0.0 && signal == 0.0 {
            Ended::Succeeded
        } else {
            cause = if signal == 0.0 { format!("exit code {exit}") } else { format!("signal {signal}") };
            if exit < 0.0 && signal != 0.0 { Ended::Killed } else { Ended::Failed }
        };
        collector.add(
            line,
            &Row {
                task: &task,
                node: host_of(text(host)),
                start: Some(began),
                end: Some(began + took),
                state: Some(ended),
                cause: &cause,
                bytes: number(text(send)).filter(|sent| *sent > 0.0).map(|sent| sent as u64),
                ..Row::default()
            },
        );
    })
}

/// Returns the host of an entry such as `8/user@server`; `:` is the machine on which parallel runs.
fn host_of(text: &str) -> &str {
    match text.split_once('/') {
        Some((slots, host)) if slots.bytes().all(|byte| byte.is_ascii_digit()) => host_of(host),
        _ if text == ":" => "localhost",
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows::{found, replayed};

    const LOG: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
        2\t:\t1700000000.500\t     1.000\t0\t48\t0\t0\tconvert b.png\n\
        1\t:\t1700000000.250\t     2.000\t0\t48\t1\t0\tconvert a.png\n\
        3\t4/user@far\t1700000001.500\t     4.250\t1000\t48\t0\t0\tconvert c.png\tbig\n\
        4\t:\t1700000002.500\t     3.000\t0\t0\t-1\t15\tconvert d.png\n\
        5\t:\tlater\t\t0\t0\t0\t0\tconvert e.png\n\
        1\t:\t1700000003.000\t     2.500\t0\t48\t0\t0\tconvert a.png\n\
        Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
        1\t:\t1700000010.000\t     1.000\t0\t48\t0\t9\tsharpen a.png\n";

    #[test]
    fn commands_that_ran_again_have_several_attempts() {
        let found = found(LOG, TaskFormat::Parallel);
        let summary = &found.summary;
        assert_eq!((summary.format, summary.jobs, summary.stages, summary.tasks), ("parallel", 1, 1, 5));
        assert_eq!((summary.attempts, summary.failed_attempts, summary.killed_attempts, summary.nodes), (6, 2, 1, 2));
        assert_eq!((summary.failures["exit code 1"], summary.failures["signal 9"]), (1, 1));
        assert_eq!(summary.killed_by["signal 15"], 1);
        assert_eq!((summary.from, summary.to), (Some(1_700_000_000.25), Some(1_700_000_011.0)));
        assert_eq!(found.findings.machine_time.winners, 7.75);
        assert_eq!(summary.speculative_attempts, 0);
        assert_eq!(
            summary.warnings,
            [
                "1 row was skipped as unreadable; the first is line 6: its start or its runtime is no number.",
                "1 row was left out (repeated headers); the first is line 8.",
                "2 tasks never succeeded; left out of replays.",
            ]
        );
        // In the order in which they started first: at 0.25 s, 0.5 s and 1.5 s.
        let jobs = replayed(&found.trace);
        assert_eq!(jobs, [("my.log".to_owned(), 0.0, vec![("phase-1".to_owned(), vec![], vec![2.5, 1.0, 4.25])])]);
        let nodes: Vec<_> = found.trace.cluster_nodes().iter().map(|node| (&*node.name, node.slots)).collect();
        // At 1 s two commands ran on this machine.
        assert_eq!(nodes, [("localhost", 2), ("user@far", 1)]);
    }
}
