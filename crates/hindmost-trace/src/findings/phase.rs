//! Adds up the attempts of a phase.

use hindmost_core::metrics::{Skew, Stragglers};
use rustc_hash::FxHashMap;

use super::tally::{Role, Tally, Times};
use super::winners::Winners;
use crate::recording::{AttemptRow, Ended, PhaseRows};

/// Number of an application and, within it, of a phase.
pub(super) type PhaseKey = (u32, u32);

/// The longest name that is kept, in characters.
const NAME: usize = 500;

/// A phase whose attempts are added up.
#[derive(Debug, Default)]
pub(super) struct Phase {
    pub name: Option<String>,
    pub job: Option<String>,
    /// Number of tasks, as stated in the log.
    pub tasks: Option<u32>,
    pub tally: Tally,
    /// When the first attempt started.
    pub start: Option<f64>,
    pub winners: Winners,
    /// As the diagnosis has them.
    pub stragglers: Stragglers,
    pub skew: Option<Skew>,
}

impl Phase {
    /// The bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let names = [&self.name, &self.job].into_iter().flatten().map(String::len).sum::<usize>();
        size_of::<Phase>() + names + self.winners.bytes()
    }

    /// Adds the attempts of a phase, or of a part of it. Attempts of a task in different parts count as those of different tasks.
    pub(super) fn add(&mut self, rows: &PhaseRows) {
        self.name = self.name.take().or_else(|| rows.name.as_deref().map(shortened));
        self.job = self.job.take().or_else(|| rows.job.as_deref().map(shortened));
        self.tasks = self.tasks.or(rows.tasks).or(rows.listed);
        let tasks = Tasks::of(rows);
        for row in rows.without_times.iter().chain(&rows.rows) {
            let times = Times::of(row);
            self.start = [self.start, times.start].into_iter().flatten().reduce(f64::min);
            let role = tasks.role(row);
            self.tally.take(row, times.seconds, role);
            if role == Role::Winner
                && let Some((seconds, end)) = times.seconds.zip(times.end)
            {
                self.winners.push(seconds, end);
            }
        }
    }
}

/// When the winners ran of those tasks of a phase that have other attempts.
struct Tasks(FxHashMap<u32, Option<(f64, f64)>>);

impl Tasks {
    fn of(rows: &PhaseRows) -> Tasks {
        let all = || rows.without_times.iter().chain(&rows.rows);
        let mut tasks: FxHashMap<u32, Option<(f64, f64)>> =
            all().filter(|row| !row.wins).map(|row| (row.task, None)).collect();
        if !tasks.is_empty() {
            for row in all().filter(|row| row.wins) {
                if let Some(winner) = tasks.get_mut(&row.task) {
                    *winner = Some((row.start, row.end));
                }
            }
        }
        Tasks(tasks)
    }

    /// Returns the role of an attempt. One that did not run at the same time as the winner of its task has lost nothing to it.
    fn role(&self, row: &AttemptRow) -> Role {
        if row.wins {
            return Role::Winner;
        }
        let winner = self.0.get(&row.task).copied().flatten();
        let is_after = |(_, end): (f64, f64)| row.start >= end && !row.speculative;
        if row.repeated || winner.is_some_and(is_after) {
            return Role::Repeat;
        }
        match (row.ended, winner) {
            (Ended::Succeeded, _) => Role::Loser,
            (_, None) => Role::Alone,
            (Ended::Killed, Some((start, _))) if row.end <= start => Role::Alone,
            (Ended::Interrupted, Some((_, end))) if row.end < end => Role::Alone,
            (_, Some(_)) => Role::Loser,
        }
    }
}

/// Shortens a name to at most `NAME` characters.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
