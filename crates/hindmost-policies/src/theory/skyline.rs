//! When and where a copy of a straggler runs: the formulas and the allocation heuristic of Zhou, Phan, Ibrahim & He,
//! "Energy-Efficient Speculative Execution using Advanced Reservation for Heterogeneous Clusters", ICPP 2018, sections
//! 5.1 and 5.2. The policies `window` and `hete_aware` call them.
//!
//! Times are in seconds, powers in watts or in any other unit that is the same for all slots. A slot is space for one
//! copy on a node from some time on.
//!
//! ```
//! use hindmost_policies::theory::skyline::{Gain, best_slot, energy_saved, time_saved};
//!
//! // A straggler ends at 100 s. A copy on slot a starts at 2 s and takes 16 s, one on slot b starts at 4 s and takes 11 s.
//! let gain = |start, copy| {
//!     let time = time_saved(100.0, 0.0, copy, start);
//!     Gain { time, energy: energy_saved(1.0, time, 1.0, copy) }
//! };
//! let slots = [("a", gain(2.0, 16.0)), ("b", gain(4.0, 11.0))];
//! assert_eq!(best_slot(slots), Some(("b", Gain { time: 85.0, energy: 74.0 })));
//! ```

/// The last task on a slot that was not a straggler: T_h in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastTask {
    /// Duration of the task, seconds.
    pub seconds: f64,
    /// True if the node held the task's input.
    pub is_local: bool,
    /// Time in which the task's input is transferred, D/B, seconds.
    pub data_seconds: f64,
}

/// Returns the expected duration of a copy on a slot, seconds (the three cases of section 5.2.1). `is_local` is true if
/// the slot's node holds the copy's input; `data_seconds` is the time in which that input is transferred, D/B.
///
/// 1. If both or neither have local input, the copy takes as long as the last task.
/// 2. If only the copy has, it takes the transfer of the last task less; never less than zero.
/// 3. If only the last task had, it takes its own transfer more.
pub fn copy_duration(last: &LastTask, is_local: bool, data_seconds: f64) -> f64 {
    match (is_local, last.is_local) {
        (true, true) | (false, false) => last.seconds,
        (true, false) => (last.seconds - last.data_seconds).max(0.0),
        (false, true) => last.seconds + data_seconds,
    }
}

/// Returns the time by which a copy shortens the job, seconds (equation 2): the end of the straggler minus the end of the
/// copy.
pub fn time_saved(straggler_seconds: f64, straggler_start: f64, copy_seconds: f64, copy_start: f64) -> f64 {
    straggler_seconds + straggler_start - copy_seconds - copy_start
}

/// Returns the energy that a copy saves, joules (equation 5): what the straggler would draw in the saved time minus what
/// the copy draws. `straggler_watts` and `copy_watts` are the powers of the two slots.
pub fn energy_saved(straggler_watts: f64, time_saved: f64, copy_watts: f64, copy_seconds: f64) -> f64 {
    straggler_watts * time_saved - copy_watts * copy_seconds
}

/// Returns the criticalness of a running task (section 5.1): the remaining time at its average speed so far, seconds.
/// `progress` is in (0, 1], `elapsed` is the time that it has run, seconds. Infinite without progress.
pub fn criticalness(progress: f64, elapsed: f64) -> f64 {
    if progress <= 0.0 { f64::INFINITY } else { (1.0 - progress) * elapsed / progress }
}

/// Windows are at least this share of the mean duration, and below it by the same share.
const LEAST_WINDOW: f64 = 0.05;

/// Returns the length of a window, seconds: `share` of the duration of the fastest task, but below the mean duration
/// (section 5.1).
///
/// Addition to the paper: a window is at least a twentieth of the mean, because a single task that ends at once would
/// otherwise make windows arbitrarily short.
pub fn window_length(share: f64, fastest: f64, mean: f64) -> f64 {
    (share * fastest).max(LEAST_WINDOW * mean).min((1.0 - LEAST_WINDOW) * mean)
}

/// What a copy on a slot saves: its two metrics in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Saved time Δt, seconds.
    pub time: f64,
    /// Saved energy ΔE, joules.
    pub energy: f64,
}

impl Gain {
    /// The gain without a copy.
    pub const NONE: Gain = Gain { time: 0.0, energy: 0.0 };

    /// Returns true if this gain is strictly larger in both metrics: the skyline comparison. Of two gains, neither may
    /// beat the other.
    pub fn beats(self, other: Gain) -> bool {
        self.time > other.time && self.energy > other.energy
    }
}

/// Returns the slot that the scan of Algorithm 1 keeps: it starts from no copy, and replaces what it has by each slot
/// that beats it. The order of the slots matters, because the comparison is partial. `None` if no slot beats having no
/// copy.
pub fn best_slot<S>(slots: impl IntoIterator<Item = (S, Gain)>) -> Option<(S, Gain)> {
    slots.into_iter().fold(None, |best, (slot, gain)| {
        let bar = best.as_ref().map_or(Gain::NONE, |(_, best)| *best);
        if gain.beats(bar) { Some((slot, gain)) } else { best }
    })
}

/// How close two stragglers are, score¹ of opportunistic rescheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closeness {
    /// (ct_j − ct_i)/ct_j, as printed. The paper calls this closeness, but it grows with the distance.
    Printed,
    /// ct_i/ct_j: 1 for equal criticalness, and less the less critical the straggler without a slot is.
    Ratio,
}

/// Returns the sum of the three scores of a placed straggler j with which a straggler i without a slot could change
/// places (section 5.2.4). `criticalness` is (ct_i, ct_j), `gain` is (of i, of j) on the slot of j. `None` unless i would
/// gain more than j on that slot in both metrics, because then score² and score³ are positive.
pub fn exchange_score(closeness: Closeness, criticalness: (f64, f64), gain: (Gain, Gain)) -> Option<f64> {
    let ((waiting, placed), (new, old)) = (criticalness, gain);
    if !new.beats(old) {
        return None;
    }
    let near = match closeness {
        Closeness::Printed => (placed - waiting) / placed,
        Closeness::Ratio => waiting / placed,
    };
    Some(near + (new.time - old.time) / old.time + (new.energy - old.energy) / old.energy)
}

/// The slots that copies of stragglers can get.
pub trait Slots {
    /// A slot.
    type Slot: Copy;

    /// Returns the slot that [`best_slot`] keeps for a straggler among those that are not taken.
    fn best(&mut self, straggler: usize) -> Option<(Self::Slot, Gain)>;

    /// Returns the gain of a straggler's copy on a slot, taken or not; `None` if it can't run there.
    fn gain(&mut self, straggler: usize, slot: Self::Slot) -> Option<Gain>;

    /// Takes a slot, so that [`Slots::best`] no longer returns it.
    fn take(&mut self, slot: Self::Slot);
}

/// Returns the slot of each straggler's copy and its gain, by Algorithm 1 with opportunistic rescheduling; `None` for a
/// straggler that gets no copy. `criticalness` has one entry per straggler, in descending order.
///
/// A straggler i without a slot may get that of an earlier one j, if another slot is left for j. At most `exchanges` of
/// the earlier stragglers are tried, those with the highest [`exchange_score`] first; of equal scores, the most critical
/// straggler is first. The first exchange that works is made.
pub fn allocate<S: Slots>(
    criticalness: &[f64],
    exchanges: usize,
    closeness: Closeness,
    slots: &mut S,
) -> Vec<Option<(S::Slot, Gain)>> {
    let mut placed: Vec<Option<(S::Slot, Gain)>> = Vec::with_capacity(criticalness.len());
    for straggler in 0..criticalness.len() {
        let mut found = slots.best(straggler);
        if let Some((slot, _)) = found {
            slots.take(slot);
        } else if exchanges > 0 {
            found = exchange(criticalness, exchanges, closeness, slots, &mut placed);
        }
        placed.push(found);
    }
    placed
}

/// Looks for a placed straggler that leaves its slot to the next one and gets another. Returns the slot of the next one.
fn exchange<S: Slots>(
    criticalness: &[f64],
    exchanges: usize,
    closeness: Closeness,
    slots: &mut S,
    placed: &mut [Option<(S::Slot, Gain)>],
) -> Option<(S::Slot, Gain)> {
    let next = placed.len();
    let mut partners: Vec<(f64, usize, Gain)> = Vec::new();
    for (partner, found) in placed.iter().enumerate() {
        let Some((slot, old)) = *found else { continue };
        let Some(new) = slots.gain(next, slot) else { continue };
        let score = exchange_score(closeness, (criticalness[next], criticalness[partner]), (new, old));
        partners.extend(score.map(|score| (score, partner, new)));
    }
    partners.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    for (_, partner, gain) in partners.into_iter().take(exchanges) {
        let Some(other) = slots.best(partner) else { continue };
        slots.take(other.0);
        let (left, _) = placed[partner].replace(other)?;
        return Some((left, gain));
    }
    None
}

#[cfg(test)]
mod tests;
