//! Gathers the findings of any attempts, and checks that the findings are consistent and their text fits the terminal's
//! width.

use crate::{check_findings, check_width};
use arbitrary::Arbitrary;
use hindmost_report::findings::text;
use hindmost_trace::findings::Gathering;
use hindmost_trace::recording::{AttemptRow, Ended, PhaseRows, Recording, TaskTimes, UNKNOWN};

/// A phase, or a later part of it.
#[derive(Arbitrary, Debug)]
struct Part {
    application: u8,
    phase: u8,
    name: Option<String>,
    job: Option<String>,
    tasks: Option<u32>,
    attempts: Vec<Attempt>,
    /// Tasks that follow these attempts, as in real logs.
    wave: u8,
    at: u32,
}

#[derive(Arbitrary, Debug)]
struct Attempt {
    task: u32,
    start: Clock,
    end: Clock,
    bytes: Option<u64>,
    wins: bool,
    speculative: bool,
    ended: u8,
}

/// A time: milliseconds as in real logs, or any number.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Clock {
    Milliseconds(u32),
    Any(f64),
}

impl Clock {
    fn seconds(self) -> f64 {
        match self {
            Clock::Milliseconds(count) => f64::from(count) / 1000.0,
            Clock::Any(seconds) => seconds,
        }
    }
}

/// The input, built from bytes.
#[derive(Arbitrary, Debug)]
pub struct Input {
    width: u8,
    parts: Vec<Part>,
}

fn row(attempt: &Attempt) -> AttemptRow {
    let ended = [Ended::Succeeded, Ended::Failed, Ended::Killed, Ended::Interrupted][usize::from(attempt.ended % 4)];
    AttemptRow {
        task: attempt.task,
        executor: UNKNOWN,
        start: attempt.start.seconds(),
        end: attempt.end.seconds(),
        bytes_read: attempt.bytes,
        spent: TaskTimes::default(),
        ended,
        wins: attempt.wins && ended == Ended::Succeeded,
        speculative: attempt.speculative,
        repeated: attempt.ended >= 192,
        is_unmatched: false,
    }
}

fn recording(part: Part) -> Recording {
    let attempts = part.attempts.iter().map(row);
    let wave = (0..u32::from(part.wave)).map(|task| {
        let start = Clock::Milliseconds(part.at);
        let end = Clock::Milliseconds(part.at.saturating_add(1000 + task * 37 % 101));
        let speculative = task % 17 == 16;
        row(&Attempt { task, start, end, bytes: None, wins: true, speculative, ended: 0 })
    });
    let (rows, without_times) = attempts.chain(wave).partition(AttemptRow::has_times);
    let phase = u32::from(part.phase);
    let (name, job, tasks) = (part.name, part.job, part.tasks);
    let phases = vec![PhaseRows { phase, name, job, tasks, rows, without_times, ..PhaseRows::default() }];
    Recording { application: part.application.into(), phases, ..Recording::default() }
}

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(input: Input) {
    let mut all = Gathering::default();
    let mut ended = 0;
    for part in input.parts {
        ended += part.attempts.len() as u64 + u64::from(part.wave);
        all.add(&recording(part));
    }
    let findings = all.findings(&[]);
    assert_eq!(findings.attempts.ended, ended);
    check_findings(&findings);
    let width = 40 + u16::from(input.width) % 161;
    check_width(&text(&findings, &[], width), usize::from(width));
}
