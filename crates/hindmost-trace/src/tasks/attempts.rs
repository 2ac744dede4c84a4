//! Finds out which rows are attempts of the same task, which of them won, and which are copies.

use rustc_hash::FxHashMap;

use super::held::{Application, Held};
use crate::recording::Ended;

/// A row with what follows from the other rows of its task.
pub(super) struct Attempt<'a> {
    pub row: &'a Held,
    pub task: u32,
    pub ended: Ended,
    pub wins: bool,
    pub speculative: bool,
    /// Whether it began after its task had succeeded: it lost nothing to the winner, but did the work again.
    pub repeated: bool,
}

pub(super) fn name_of(application: &Application, phase: u32) -> Option<String> {
    Some(application.phases.get(phase).to_owned()).filter(|name| !name.is_empty())
}

/// Sorts rows by their ends, and numbers their tasks within each phase in the order in which they started, because a replay starts them in
/// this order. Returns these numbers; [`Held::task`] of a row becomes the position of that of its task. `finished` has the number of tasks
/// of each phase in earlier parts, and receives the new number.
pub(super) fn in_order(rows: &mut Vec<Held>, finished: &mut [u32]) -> Vec<u32> {
    let mut starts: Vec<(f64, u32)> = rows.iter().zip(0..).map(|(row, at)| (row.start, at)).collect();
    starts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut positions: FxHashMap<(u32, u64), u32> = FxHashMap::default();
    positions.reserve(rows.len());
    let mut numbers = Vec::with_capacity(rows.len());
    for (_, at) in starts {
        let row = &mut rows[at as usize];
        let position = *positions.entry((row.phase, row.task)).or_insert_with(|| {
            let next = &mut finished[row.phase as usize];
            numbers.push(*next);
            *next += 1;
            numbers.len() as u32 - 1
        });
        row.task = u64::from(position);
    }
    // Rows are large, so that only their times are sorted.
    let mut ends: Vec<(f64, f64, u32)> = rows.iter().zip(0..).map(|(row, at)| (row.end, row.start, at)).collect();
    ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    *rows = ends.into_iter().map(|(.., at)| rows[at as usize]).collect();
    numbers
}

/// Finds each task's winner and copies among rows in order, given the numbers of their tasks, and drops rows that repeat an attempt.
pub(super) fn attempts<'a>(rows: &'a [Held], numbers: &[u32], retried_have_failed: bool) -> Vec<Attempt<'a>> {
    let mut repeated: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    let mut all: Vec<Attempt<'a>> = Vec::with_capacity(rows.len());
    let mut firsts: Vec<Option<u32>> = vec![None; numbers.len()];
    for row in rows {
        let at = all.len() as u32;
        let first = &mut firsts[row.task as usize];
        if let Some(first) = *first {
            let siblings = repeated.entry(row.task).or_insert_with(|| vec![first]);
            let is_same = |other: &u32| {
                let other = all[*other as usize].row;
                row.times().is_some()
                    && row.times() == other.times()
                    && row.node == other.node
                    && row.ended == other.ended
            };
            if siblings.iter().any(is_same) {
                continue;
            }
            siblings.push(at);
        } else {
            *first = Some(at);
        }
        all.push(Attempt {
            row,
            task: numbers[row.task as usize],
            ended: row.ended,
            wins: row.ended == Ended::Succeeded,
            speculative: row.speculative == Some(true),
            repeated: false,
        });
    }
    for siblings in repeated.into_values() {
        settle(&mut all, siblings, retried_have_failed);
    }
    all
}

/// Finds the winner and the copies among the attempts of a task; `siblings` are their positions, by end.
fn settle(all: &mut [Attempt<'_>], mut siblings: Vec<u32>, retried_have_failed: bool) {
    if retried_have_failed {
        let last = siblings.iter().map(|at| all[*at as usize].row.attempt).max().unwrap_or(0);
        for at in &siblings {
            let one = &mut all[*at as usize];
            if one.row.attempt < last && one.ended == Ended::Succeeded {
                one.ended = Ended::Failed;
            }
        }
    }
    let winner = siblings.iter().copied().find(|at| all[*at as usize].ended == Ended::Succeeded);
    let won_at = winner.map_or(f64::INFINITY, |at| all[at as usize].row.end);
    siblings.sort_by(|a, b| all[*a as usize].row.start.total_cmp(&all[*b as usize].row.start));
    let mut busy_until = f64::NEG_INFINITY;
    for at in siblings {
        let one = &mut all[at as usize];
        one.wins = winner == Some(at);
        one.speculative = one.row.speculative.unwrap_or(one.row.start < busy_until);
        one.repeated = !one.wins && one.row.start >= won_at && one.row.speculative != Some(true);
        busy_until = busy_until.max(one.row.end);
    }
}
