//! Reads job logs of GNU parallel (`--joblog`).
//!
//! All rows are one job with one phase. A task is a sequence number with its command: a command that was run again
//! (`--retries`, `--resume-failed`) has several attempts, and logs that several runs have appended to have no tasks in
//! common. A command that ended with an exit code or by a signal has failed; one that parallel stopped itself (exit
//! value -1 and a signal, as with `--halt now` and `--timeout`) was killed. The bytes sent to other hosts are the input. A line feed within
//! a command is a zero byte in the log.
//!
//! A job has a line only when it has ended, so numbers that are missing in a run are those of jobs that parallel stopped itself, or that it
//! did not see the end of.

mod cautions;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::header::Header;
use crate::tasks::row::Row;
use crate::tasks::units::{duration, number, time};
use crate::tasks::{Collector, Rows, Rules};
use cautions::{Numbers, Times};

/// Fields that each job log has.
const NEEDED: &[&str] = &["seq", "host", "starttime", "jobruntime"];
/// The header, which a log that began with `--joblog +FILE` lacks.
const HEADER: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand";

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Parallel, is_one, in_folders: None, read: &read };

/// Returns whether a log with this beginning is a job log.
fn is_one(beginning: &[u8]) -> bool {
    header(beginning).is_some()
}

/// Returns the header of a log with this beginning; if its first line is a row, the one that is missing.
fn header(beginning: &[u8]) -> Option<Header> {
    let first = beginning.split(|byte| *byte == b'\n').next().map(String::from_utf8_lossy)?;
    let fields: Vec<&str> = first.splitn(9, '\t').collect();
    let is_row = fields.len() == 9 && (0..8).all(|at| (at == 1) != number(fields[at].trim()).is_some());
    if is_row { Header::missing(HEADER) } else { Header::find(beginning, NEEDED) }
}

/// Reads a job log.
///
/// # Errors
/// If reading fails.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let header = header(window.held()).ok_or_else(|| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Parallel.name(),
        why: ": it has no header".to_owned(),
    })?;
    let [seq, host, start, runtime, send, exit, signal, command] =
        ["seq", "host", "starttime", "jobruntime", "send", "exitval", "signal", "command"]
            .map(|name| header.place(&[name]));
    collector.rules = Rules { has_pauses: true, ..Rules::default() };
    let (mut task, mut cause) = (String::new(), String::new());
    let (mut numbers, mut times) = (Numbers::default(), Times::default());
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at));
        let (Some(began), Some(took)) = (time(text(start), None), duration(text(runtime), None)) else {
            return collector.issues.unreadable(line, "its start or its runtime is no number");
        };
        numbers.add(text(seq));
        times.add(began, began + took);
        let code = |place| number(text(place)).unwrap_or(0.0);
        task.clear();
        task.push_str(text(seq));
        task.push(' ');
        for (at, line) in text(command).split('\0').enumerate() {
            task.push_str(if at > 0 { "\n" } else { "" });
            task.push_str(line);
        }
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
    })?;
    numbers.end(collector);
    times.end(collector);
    Ok(())
}

/// Returns the host of an entry such as `8/user@server`; `:` is the machine on which parallel runs.
fn host_of(text: &str) -> &str {
    match text.split_once('/') {
        Some((slots, host)) if slots.bytes().all(|byte| byte.is_ascii_digit()) => host_of(host),
        _ if text == ":" => "localhost",
        _ => text,
    }
}
