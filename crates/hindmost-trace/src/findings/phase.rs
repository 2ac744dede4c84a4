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
    /// Adds the attempts of a phase, or of a part of it. Attempts of a task in different parts count as those of different tasks.
    pub(super) fn add(&mut self, rows: &PhaseRows) {
        self.name = self.name.take().or_else(|| rows.name.as_deref().map(shortened));
        self.job = self.job.take().or_else(|| rows.job.as_deref().map(shortened));
        self.tasks = self.tasks.or(rows.tasks).or(rows.listed);
        let mut tasks = Tasks::of(rows);
        for row in rows.without_times.iter().chain(&rows.rows) {
            let times = Times::of(row);
            self.start = [self.start, times.start].into_iter().flatten().reduce(f64::min);
            let role = tasks.role(row);
            self.tally.take(row, times.seconds, role);
            match (role, times.seconds) {
                (Role::Winner, seconds) => {
                    self.tally.lost_after_all(tasks.killed.remove(&row.task).unwrap_or(0.0));
                    if let Some((seconds, end)) = seconds.zip(times.end) {
                        self.winners.push(seconds, end);
                    }
                }
                (Role::Alone, Some(seconds)) if row.ended == Ended::Killed => {
                    *tasks.killed.entry(row.task).or_default() += seconds;
                }
                _ => {}
            }
        }
    }
}

/// The tasks of a phase with attempts that did not succeed, while the attempts are added.
struct Tasks {
    /// Whether an attempt of each has succeeded.
    won: FxHashMap<u32, bool>,
    /// Machine time of killed attempts, of tasks without a successful attempt so far. If one succeeds later, these have lost.
    killed: FxHashMap<u32, f64>,
}

impl Tasks {
    fn of(rows: &PhaseRows) -> Tasks {
        let others = rows.without_times.iter().chain(&rows.rows).filter(|row| row.ended != Ended::Succeeded);
        Tasks { won: others.map(|row| (row.task, false)).collect(), killed: FxHashMap::default() }
    }

    /// Returns the role of the next attempt.
    fn role(&mut self, row: &AttemptRow) -> Role {
        if row.repeated {
            return Role::Repeat;
        }
        let has_won = self.won.get_mut(&row.task);
        if row.ended != Ended::Succeeded {
            return if has_won.is_some_and(|won| *won) { Role::Loser } else { Role::Alone };
        }
        if let Some(won) = has_won {
            *won = true;
        }
        if row.wins { Role::Winner } else { Role::Loser }
    }
}

/// Shortens a name to at most `NAME` characters.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
