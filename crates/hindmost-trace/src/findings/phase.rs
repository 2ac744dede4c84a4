//! Adds up the attempts of a phase.

use hindmost_core::metrics::{Skew, Stragglers};

use super::roles::{Role, Roles};
use super::tally::{Tally, Times};
use super::winners::Winners;
use crate::recording::PhaseRows;

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
        let roles = Roles::of(rows);
        for row in rows.without_times.iter().chain(&rows.rows) {
            let times = Times::of(row);
            self.start = [self.start, times.start].into_iter().flatten().reduce(f64::min);
            let role = roles.role(row);
            self.tally.take(row, times.seconds, role);
            if role == Role::Winner
                && let Some((seconds, end)) = times.seconds.zip(times.end)
            {
                self.winners.push(seconds, end);
            }
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
