//! Which attempts are stragglers, and which of them first waves do not explain.

use rustc_hash::FxHashMap;

use super::context::{Context, FEWEST_ALIKE, Wave};
use super::others::Others;
use super::typical::{STRAGGLER, Typical};
use crate::recording::{AttemptRow, Ended, PhaseRows};

/// A straggler.
pub(super) struct Straggler<'a> {
    /// The attempts of its phase.
    pub others: &'a Others<'a>,
    /// Its phase.
    pub at: usize,
    /// The attempt that was slow.
    pub number: usize,
    pub row: &'a AttemptRow,
    /// How long the task took.
    pub took: f64,
    /// The typical duration of the phase.
    pub typical: f64,
    /// ln of how many times as long it took.
    pub log: f64,
}

/// Returns the stragglers of a phase: the number of the attempt that was slow, and how long the task took. If a copy has won, that
/// is the time from the start of the original, which is the slow one.
pub(super) fn of_phase(phase: &PhaseRows, typical: &Typical) -> Vec<(usize, f64)> {
    let Some(limit) = typical.limit() else { return Vec::new() };
    let overtaken: FxHashMap<u32, usize> = phase
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.wins && !row.speculative && row.ended != Ended::Failed)
        .map(|(at, row)| (row.task, at))
        .collect();
    let of = |(at, row): (usize, &AttemptRow)| match overtaken.get(&row.task).filter(|_| row.speculative) {
        Some(original) if phase.rows[*original].start <= row.start => {
            (*original, row.end - phase.rows[*original].start)
        }
        _ => (at, row.seconds()),
    };
    let winners = phase.rows.iter().enumerate().filter(|(_, row)| row.wins);
    winners.map(of).filter(|(_, took)| *took > limit).collect()
}

/// True if a first attempt took more than 1.5 times as long as the other first attempts of its phase, although the other first
/// attempts on its executor did not. If its phase has too few, the first attempts of executors in other phases count: it must exceed what
/// is typical by more than 1.5 times as much as any of them.
pub(super) fn is_beyond_first_wave(context: &Context<'_>, straggler: &Straggler<'_>, first: f64) -> bool {
    let Straggler { others, at, number, row, typical, log, .. } = *straggler;
    let (count, elsewhere, here) = others.in_wave(number, typical);
    if count < FEWEST_ALIKE {
        let excess = straggler.took - typical;
        let is_of_executor = context.wave(at, number) == Wave::FirstOfExecutor;
        let most = context.most_of_other_cold(row.executor, excess).filter(|_| is_of_executor);
        return most.is_some_and(|most| excess > STRAGGLER * most);
    }
    let limit = elsewhere.unwrap_or(log).max(first) + STRAGGLER.ln();
    log > limit && here.is_none_or(|here| here <= limit)
}
