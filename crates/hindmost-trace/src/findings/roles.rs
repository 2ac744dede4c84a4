//! Which attempts of a task won, lost to its winner, repeated it, or ended alone.

use rustc_hash::FxHashMap;

use crate::recording::{AttemptRow, Ended, PhaseRows};

/// The role of an attempt among the attempts of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The attempt was the first of its task to succeed.
    Winner,
    /// Another attempt of the task won.
    Loser,
    /// The attempt did not succeed, and no other attempt of the task won while it ran.
    Alone,
    /// The attempt began after the task had succeeded, such as because the output was lost.
    Repeat,
}

/// When the winners ran of those tasks of a phase that have other attempts.
pub(crate) struct Roles(FxHashMap<u32, Option<(f64, f64)>>);

impl Roles {
    /// Looks at the attempts of a phase.
    pub(crate) fn of(rows: &PhaseRows) -> Roles {
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
        Roles(tasks)
    }

    /// Returns the role of an attempt. One that did not run at the same time as the winner of its task has lost nothing to it.
    pub(crate) fn role(&self, row: &AttemptRow) -> Role {
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
