//! Reads event logs of HTCondor: the file that `log = FILE` in a submit file names, and the event log of all jobs of a machine.
//!
//! A log is one application. A cluster is a job and a phase, because its jobs have one submit file; a job of it (`CLUSTER.PROC`) is a task,
//! and each time that it executes an attempt:
//!
//! | event | here |
//! | --- | --- |
//! | 000 submitted, 013 released | the job can start |
//! | 001 executing | an attempt starts, on the machine of the slot or the address |
//! | 005 terminated | it succeeded with return value 0, and failed with another one or by a signal |
//! | 004 evicted, 007 shadow exception, 012 held, 024 reconnection failed | it was interrupted; the job can start again (once released) |
//! | 002 error in the executable | it failed |
//! | 009 aborted | it was killed; without an attempt the job is left out |
//!
//! Lines after the first of an event, up to `...`, belong to it. Times are local, and in older logs have no year.

use rustc_hash::FxHashMap;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::warnings::some;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::Row;
use crate::tasks::units::{number, time};
use crate::tasks::{Collector, Rows, Rules, lines};

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Condor, is_one, in_folders: None, read: &read };

/// The year of times without one; a leap year.
const SOME_YEAR: i32 = 2000;

/// Returns whether a log with this beginning is an event log: its first line that is not blank begins an event.
fn is_one(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.and_then(|line| Event::of(line, &mut Years::default())).is_some()
}

/// Gives times a year that have none. Events are in order, so that a month before the last one is in the next year.
#[derive(Debug, Default)]
struct Years {
    passed: i32,
    month: u32,
    /// Whether there was a time without a year.
    used: bool,
}

impl Years {
    /// Returns the seconds since 1970 of a date and a time: `2026-11-30 09:00:00`, or `11/30 09:00:00`.
    fn time(&mut self, date: &str, clock: &str) -> Option<f64> {
        let Some((month, day)) = date.split_once('/').filter(|(month, _)| month.len() <= 2) else {
            return time(&format!("{date} {clock}"), None);
        };
        let number: u32 = month.parse().ok()?;
        self.passed += i32::from(number < self.month);
        self.month = number;
        self.used = true;
        time(&format!("{}-{month:0>2}-{day:0>2} {clock}", SOME_YEAR + self.passed), None)
    }
}

/// The first line of an event.
#[derive(Debug)]
struct Event<'a> {
    code: u16,
    cluster: u64,
    proc: u64,
    at: f64,
    /// What follows the time.
    text: &'a str,
}

impl<'a> Event<'a> {
    fn of(line: &'a str, years: &mut Years) -> Option<Event<'a>> {
        let (code, rest) = line.split_once(" (")?;
        if code.len() != 3 {
            return None;
        }
        let (id, rest) = rest.split_once(')')?;
        let mut parts = id.split('.');
        let (cluster, proc) = (parts.next()?, parts.next()?);
        // A cluster itself has the process -1.
        let proc = proc.parse().unwrap_or(u64::MAX);
        let (code, cluster) = (code.parse().ok()?, cluster.parse().ok()?);
        let rest = rest.trim_start();
        let (date, rest) = rest.split_once([' ', 'T'])?;
        let (clock, text) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Event { code, cluster, proc, at: years.time(date, clock)?, text })
    }
}

/// A job that has not ended.
#[derive(Debug, Default)]
struct Job {
    /// When it could start.
    ready: Option<f64>,
    /// When its attempt started, if it runs.
    started: Option<f64>,
    machine: String,
    cpus: Option<f64>,
    /// Number of attempts before.
    attempts: u32,
    /// The line of the attempt's start.
    line: u64,
}

/// An event that is being read, and what its further lines say.
#[derive(Debug, Default)]
struct Open {
    line: u64,
    code: u16,
    job: (u64, u64),
    at: f64,
    machine: Option<String>,
    cpus: Option<f64>,
    /// How a job terminated: the return value or the signal.
    outcome: Option<String>,
}

/// Reads an event log.
///
/// # Errors
/// If reading fails.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    collector.rules = Rules { jobs_within: true, ..Rules::default() };
    let mut years = Years::default();
    let mut jobs = Jobs::default();
    let mut open: Option<Open> = None;
    lines::each(window, name, collector, |collector, line, text, terminated| {
        if text.trim_end() == "..." {
            jobs.take(open.take(), collector);
        } else if let Some(event) = Event::of(text, &mut years) {
            // The end of an event may be missing.
            jobs.take(open.take(), collector);
            let mut new =
                Open { line, code: event.code, job: (event.cluster, event.proc), at: event.at, ..Open::default() };
            new.read_more(event.text);
            open = Some(new);
        } else if let Some(open) = &mut open {
            open.read_more(text.trim());
        } else if terminated {
            collector.issues.unreadable(line, "it belongs to no event");
        } else {
            collector.issues.cut(format!("in line {line}"));
        }
        Ok(())
    })?;
    if let Some(last) = open {
        collector.issues.cut(format!("in the event of line {}", last.line));
        // How a job terminated may be missing.
        if last.code != 5 || last.outcome.is_some() {
            jobs.take(Some(last), collector);
        }
    }
    jobs.end(collector);
    if years.used {
        collector.issues.note(format!("The times of this log have no year; {SOME_YEAR} is taken for the first one."));
    }
    Ok(())
}

impl Open {
    /// Takes what a line of the event says.
    fn read_more(&mut self, text: &str) {
        if let Some(slot) = text.strip_prefix("SlotName:") {
            // Such as slot1_2@n1.
            self.machine = slot.rsplit('@').next().map(|machine| machine.trim().to_owned());
        } else if let Some(at) = text.find("executing on host:") {
            self.machine =
                Some(machine(text[at..].split_once(':').map_or("", |(_, address)| address.trim())).to_owned());
        } else if let Some(cpus) = text.strip_prefix("Cpus =") {
            self.cpus = number(cpus.trim());
        } else if let Some((_, value)) = text.split_once("(return value ") {
            self.outcome = Some(format!("exit code {}", value.trim_end_matches(')')));
        } else if let Some((_, signal)) = text.split_once("(signal ") {
            self.outcome = Some(format!("signal {}", signal.trim_end_matches(')')));
        }
    }
}

/// Returns the machine of an address such as `<10.0.0.11:9618?addrs=10.0.0.11-9618&alias=n1&noUDP>`: its alias, or else its number.
fn machine(address: &str) -> &str {
    let address = address.trim_matches(['<', '>']);
    let (number, rest) = address.split_once('?').unwrap_or((address, ""));
    let alias = rest.split('&').find_map(|part| part.strip_prefix("alias="));
    alias.unwrap_or_else(|| number.rsplit_once(':').map_or(number, |(host, _)| host))
}

/// The jobs of a log.
#[derive(Debug, Default)]
struct Jobs {
    open: FxHashMap<(u64, u64), Job>,
    /// Attempts that were suspended.
    suspended: u64,
}

impl Jobs {
    fn take(&mut self, event: Option<Open>, collector: &mut Collector) {
        let Some(event) = event else { return };
        let at = event.at;
        let job = self.open.entry(event.job).or_default();
        match event.code {
            0 | 13 => job.ready = Some(at),
            1 => {
                // Of an attempt without an end the next one shows that it ended, and not when.
                end(event.job, job, (None, Ended::Interrupted, ""), collector);
                *job = Job {
                    started: Some(at),
                    machine: event.machine.unwrap_or_default(),
                    cpus: event.cpus,
                    line: event.line,
                    ..std::mem::take(job)
                };
            }
            10 => self.suspended += 1,
            5 => {
                let outcome = event.outcome.unwrap_or_default();
                let ended = if outcome == "exit code 0" { Ended::Succeeded } else { Ended::Failed };
                end(event.job, job, (Some(at), ended, &outcome), collector);
                self.open.remove(&event.job);
            }
            2 => end(event.job, job, (Some(at), Ended::Failed, "error in the executable"), collector),
            4 => end(event.job, job, (Some(at), Ended::Interrupted, "evicted"), collector),
            7 => end(event.job, job, (Some(at), Ended::Interrupted, "shadow exception"), collector),
            12 => {
                end(event.job, job, (Some(at), Ended::Interrupted, "held"), collector);
                job.ready = None;
            }
            24 => end(event.job, job, (Some(at), Ended::Interrupted, "reconnection failed"), collector),
            9 => {
                if job.started.is_none() && job.attempts == 0 {
                    collector.issues.left_out(event.line, "jobs that were aborted before they started");
                }
                end(event.job, job, (Some(at), Ended::Killed, "aborted"), collector);
                self.open.remove(&event.job);
            }
            _ => {}
        }
    }

    /// Takes the attempts that run when the log ends.
    fn end(self, collector: &mut Collector) {
        let mut running: Vec<u64> =
            self.open.values().filter(|job| job.started.is_some()).map(|job| job.line).collect();
        running.sort_unstable();
        for line in running {
            collector.issues.unended.add(|| line);
        }
        if self.suspended > 0 {
            let times = some(self.suspended, "time", "times");
            collector.issues.note(format!("Jobs were suspended {times}; durations of their attempts contain that."));
        }
    }
}

/// Ends the attempt of a job, if it has one: when, how and why.
fn end(
    (cluster, proc): (u64, u64),
    job: &mut Job,
    (at, ended, why): (Option<f64>, Ended, &str),
    collector: &mut Collector,
) {
    let Some(start) = job.started.take() else { return };
    let cluster = cluster.to_string();
    collector.add(
        job.line,
        &Row {
            job: &cluster,
            phase: &format!("cluster {cluster}"),
            task: &proc.to_string(),
            node: &job.machine,
            submitted: job.ready,
            start: Some(start),
            end: at,
            state: Some(ended),
            cause: why,
            attempt: Some(job.attempts),
            slots: job.cpus,
            ..Row::default()
        },
    );
    job.attempts += 1;
    job.ready = at;
}
