//! Keeps the details of a phase while its attempts end.

use rustc_hash::FxHashMap;

use super::attempts::{Role, Tally, Times};
use super::regression::Regression;
use super::task_set::TaskSet;
use super::winners::{Winner, Winners};
use super::{Ended, EndedAttempt};

/// The most tasks of a phase whose killed attempts are remembered until another attempt wins, and the most tasks whose
/// overtaken originals are remembered.
const REMEMBERED: usize = 4096;

/// The node of an original attempt (`None` if unknown), and how long the attempt ran, in seconds.
pub(super) type Original = (Option<u32>, f64);

/// The killed attempts of a task that has no winner yet.
#[derive(Clone, Copy, Debug, Default)]
struct Killed {
    seconds: f64,
    original: Option<Original>,
}

/// The details of a phase that is not folded.
#[derive(Debug, Default)]
pub(super) struct Phase {
    pub tally: Tally,
    pub start: Option<f64>,
    pub winners: Winners,
    pub regression: Regression,
    /// By task, the original that a speculative copy overtook. Without the copy the original would have run at least as
    /// long as it did.
    pub overtaken: FxHashMap<u32, Original>,
    won: TaskSet,
    won_by_copy: TaskSet,
    killed: FxHashMap<u32, Killed>,
    last_event: u64,
    closed: bool,
}

impl Phase {
    /// Adds an attempt. `wins` says whether it won its task; `None` if the reader does not know.
    pub(super) fn ended(&mut self, attempt: &EndedAttempt, wins: Option<bool>, now: u64) {
        self.last_event = now;
        let times = Times::of(attempt);
        self.start = match (self.start, times.start) {
            (Some(first), Some(start)) => Some(first.min(start)),
            (first, start) => first.or(start),
        };
        let task = attempt.task;
        let original = times.seconds.filter(|_| !attempt.speculative).map(|seconds| (attempt.node, seconds));
        let first = attempt.ended == Ended::Succeeded && !attempt.repeated && self.won.insert(task);
        let role = match attempt.ended {
            _ if attempt.repeated => Role::Repeat,
            Ended::Succeeded if wins.unwrap_or(first) => Role::Winner,
            _ if self.won.contains(task) => Role::Loser,
            _ => Role::Alone,
        };
        self.tally.take(attempt, times.seconds, role);
        match role {
            Role::Winner => self.winner(attempt, times),
            Role::Loser if attempt.ended != Ended::Failed && self.won_by_copy.contains(task) => {
                self.overtook(task, original);
            }
            Role::Alone if attempt.ended == Ended::Killed => {
                let remembers = self.killed.len() < REMEMBERED || self.killed.contains_key(&task);
                if remembers {
                    let killed = self.killed.entry(task).or_default();
                    killed.seconds += times.seconds.unwrap_or(0.0);
                    killed.original = killed.original.or(original);
                }
            }
            _ => {}
        }
    }

    fn winner(&mut self, attempt: &EndedAttempt, times: Times) {
        let task = attempt.task;
        let killed = self.killed.remove(&task);
        if let Some(killed) = killed {
            self.tally.lost_after_all(killed.seconds);
        }
        if attempt.speculative {
            self.won_by_copy.insert(task);
            self.overtook(task, killed.and_then(|killed| killed.original));
        }
        let (Some(seconds), Some(end)) = (times.seconds, times.end) else { return };
        let winner = Winner {
            task,
            node: attempt.node,
            seconds,
            end,
            bytes: attempt.bytes_read,
            speculative: attempt.speculative,
        };
        if let Some(bytes) = winner.bytes.filter(|bytes| *bytes > 0)
            && seconds > 0.0
        {
            self.regression.push((bytes as f64).ln(), seconds.ln());
        }
        self.winners.push(winner);
    }

    fn overtook(&mut self, task: u32, original: Option<Original>) {
        if let Some(original) = original
            && (self.overtaken.len() < REMEMBERED || self.overtaken.contains_key(&task))
        {
            self.overtaken.entry(task).or_insert(original);
        }
    }

    pub(super) fn close(&mut self, now: u64) {
        self.last_event = now;
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn last_event(&self) -> u64 {
        self.last_event
    }
}
