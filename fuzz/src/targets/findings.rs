//! Passes any attempts to the analysis, and checks that the findings are consistent and their text fits the terminal's
//! width.

use crate::{check_findings, check_width};
use arbitrary::Arbitrary;
use hindmost_report::findings::text;
use hindmost_trace::analysis::{Analysis, Ended, EndedAttempt, PhaseFacts, PhaseKey};

#[derive(Arbitrary, Debug)]
enum Step {
    Phase {
        key: (u8, u8),
        name: Option<String>,
        job: Option<String>,
        tasks: Option<u32>,
    },
    Ended {
        key: (u8, u8),
        attempt: Attempt,
    },
    /// Many tasks of one phase on a few nodes, as in real logs.
    Wave {
        key: (u8, u8),
        tasks: u8,
        nodes: u8,
        slow: u8,
        at: u32,
        bytes: Option<u16>,
    },
    Closed {
        key: (u8, u8),
    },
}

#[derive(Arbitrary, Debug)]
struct Attempt {
    task: u32,
    node: Option<u8>,
    start: Option<Clock>,
    end: Option<Clock>,
    bytes: Option<u64>,
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
    names: Vec<String>,
    width: u8,
    steps: Vec<Step>,
}

fn key((application, phase): (u8, u8)) -> PhaseKey {
    PhaseKey { application: u32::from(application), phase: u32::from(phase) }
}

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(input: Input) {
    let mut analysis = Analysis::new();
    let mut ended = 0;
    for step in input.steps {
        match step {
            Step::Phase { key: of, name, job, tasks } => analysis.phase(key(of), PhaseFacts { name, job, tasks }),
            Step::Closed { key: of } => analysis.closed(key(of)),
            Step::Ended { key: of, attempt } => {
                ended += 1;
                let outcome = [Ended::Succeeded, Ended::Failed, Ended::Killed][usize::from(attempt.ended % 3)];
                let attempt = EndedAttempt {
                    task: attempt.task,
                    node: attempt.node.map(u32::from),
                    start: attempt.start.map(Clock::seconds),
                    end: attempt.end.map(Clock::seconds),
                    bytes_read: attempt.bytes,
                    speculative: attempt.speculative,
                    repeated: attempt.ended >= 192,
                    ended: outcome,
                };
                analysis.ended(key(of), &attempt);
            }
            Step::Wave { key: of, tasks, nodes, slow, at, bytes } => {
                for task in 0..u32::from(tasks) {
                    ended += 1;
                    let node = task % (u32::from(nodes) + 1);
                    let start = f64::from(at) / 1000.0;
                    let mut took = 1.0 + f64::from(task * 37 % 101) / 10.0;
                    if node == u32::from(slow) {
                        took *= 3.0;
                    }
                    let attempt = EndedAttempt {
                        task,
                        node: Some(node),
                        start: Some(start),
                        end: Some(start + took),
                        bytes_read: bytes.map(|bytes| u64::from(bytes) * u64::from(task)),
                        speculative: task % 17 == 16,
                        repeated: false,
                        ended: Ended::Succeeded,
                    };
                    analysis.ended(key(of), &attempt);
                }
            }
        }
    }
    let names = &input.names;
    let findings =
        analysis.findings(&|node| names.get(node as usize).cloned().unwrap_or_else(|| format!("node-{node}")));
    assert_eq!(findings.attempts.ended, ended);
    check_findings(&findings);
    let width = 40 + u16::from(input.width) % 161;
    check_width(&text(&findings, &[], width), usize::from(width));
}
