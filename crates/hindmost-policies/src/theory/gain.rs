//! The expected gain of a backup, for RiskI's choice of node.
//!
//! Paper: RiskI, sections 6.2 and 6.3. A job ends with its last task. So time that a backup saves before the last finish L
//! of the other tasks is worth nothing to the job, and the gain of a backup that finishes at t, for a straggler that
//! finishes at s, is max(s, L) − max(t, L). Both s and t are ranges with probabilities; the best node is the one with the
//! largest expectation.
//!
//! The paper divides the ranges at L: its profit is P(s > L)·(E[s | s > L] − L) for the straggler, less the same for the
//! backup. This equals the expectation above, which the tests check.

use hindmost_math::outcomes::Outcomes;

/// What a backup does to its straggler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// It takes the straggler's place, as in the paper: the gain is max(s, L) − max(t, L), and is negative if the backup is
    /// slower.
    Replacement,
    /// Both run until the first finishes: the gain is max(s, L) − max(min(s, t), L). It is never negative, but the backup
    /// costs a slot.
    Race,
}

crate::words!(Gain: Replacement = "replacement", Race = "race");

/// Returns the expected gain of a backup, seconds. `straggler` and `backup` are the times from now until each would finish,
/// independent of each other, and `last` is the time until the last of the other tasks finishes, all in seconds.
pub fn expected_gain(gain: Gain, straggler: &Outcomes, backup: &Outcomes, last: f64) -> f64 {
    let with_backup = match gain {
        Gain::Replacement => backup.mean_of_larger(last),
        Gain::Race => straggler.mean_of_first(backup, last),
    };
    straggler.mean_of_larger(last) - with_backup
}

/// Returns a number that [`expected_gain`] does not exceed for any backup with the mean duration `backup_mean`, but for
/// rounding errors. `without_backup` is E\[max(s, L)]. E\[max(t, L)] is at least max(E\[t], L), and
/// E\[max(min(s, t), L)] at least L.
pub fn most_gain(gain: Gain, without_backup: f64, backup_mean: f64, last: f64) -> f64 {
    match gain {
        Gain::Replacement => without_backup - backup_mean.max(last),
        Gain::Race => without_backup - last,
    }
}

/// Returns the expected time for which the backup holds its slot, seconds.
pub fn expected_slot_time(gain: Gain, straggler: &Outcomes, backup: &Outcomes) -> f64 {
    match gain {
        Gain::Replacement => backup.mean(),
        Gain::Race => straggler.mean_of_smaller(backup),
    }
}

/// Returns true if the backup finishes before the straggler for certain: its worst finish is earlier than the straggler's
/// best (figure 9(d)). The straggler can then be stopped at once.
pub fn is_certain_to_win(straggler: &Outcomes, backup: &Outcomes) -> bool {
    backup.greatest() < straggler.least()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(values: &[f64]) -> Outcomes {
        Outcomes::equally_likely(values.iter().copied()).unwrap()
    }

    /// The paper's form: each range is divided at `last`, and only its part above `last` counts, with its probability and
    /// its mean distance from `last`.
    fn in_two_parts(straggler: &Outcomes, backup: &Outcomes, last: f64) -> f64 {
        let part = |range: &Outcomes| {
            let above: Vec<(f64, f64)> = range.values().iter().copied().filter(|(value, _)| *value > last).collect();
            let probability: f64 = above.iter().map(|(_, probability)| probability).sum();
            if probability == 0.0 {
                return 0.0;
            }
            let mean = above.iter().map(|(value, weight)| value * weight).sum::<f64>() / probability;
            probability * (mean - last)
        };
        part(straggler) - part(backup)
    }

    #[test]
    fn the_gain_depends_on_the_last_finish() {
        // The straggler takes 20 or 40 s more, the backup 10 or 30 s.
        let (straggler, backup) = (range(&[20.0, 40.0]), range(&[10.0, 30.0]));
        let replacement = |last| expected_gain(Gain::Replacement, &straggler, &backup, last);
        // L = 0: 30 − 20. L = 15: (20 + 40)/2 − (15 + 30)/2. L = 25: (25 + 40)/2 − (25 + 30)/2. L = 35: (35 + 40)/2 − 35.
        // L = 40: the other tasks end as late as the straggler at worst.
        assert_eq!([0.0, 15.0, 25.0, 35.0, 40.0].map(replacement), [10.0, 7.5, 5.0, 2.5, 0.0]);
        let race = |last| expected_gain(Gain::Race, &straggler, &backup, last);
        // min(s, t) is 10, 20, 10 or 30, so 17.5 on average: L = 0 gives 30 − 17.5. L = 15: 30 − (15 + 20 + 15 + 30)/4.
        // L = 25: 32.5 − (25 + 25 + 25 + 30)/4. L = 35: 37.5 − 35.
        assert_eq!([0.0, 15.0, 25.0, 35.0, 40.0].map(race), [12.5, 10.0, 6.25, 2.5, 0.0]);
        assert_eq!(expected_slot_time(Gain::Replacement, &straggler, &backup), 20.0);
        assert_eq!(expected_slot_time(Gain::Race, &straggler, &backup), 17.5);
    }

    #[test]
    fn a_faster_node_on_average_may_be_the_worse_one() {
        // On node a a backup takes 12 s; on node b 2 or 20 s, which is 11 s on average. The straggler takes 30 s.
        let (straggler, a, b) = (range(&[30.0]), range(&[12.0]), range(&[2.0, 20.0]));
        let gain = |backup: &Outcomes, last| expected_gain(Gain::Replacement, &straggler, backup, last);
        // L = 0: 18 on a, 19 on b. L = 15: 15 on a, which ends before L; on b 30 − (15 + 20)/2 = 12.5.
        assert_eq!((gain(&a, 0.0), gain(&b, 0.0)), (18.0, 19.0));
        assert_eq!((gain(&a, 15.0), gain(&b, 15.0)), (15.0, 12.5));
    }

    #[test]
    fn a_slower_backup_is_a_loss_as_replacement_and_none_in_a_race() {
        let (straggler, backup) = (range(&[5.0]), range(&[8.0]));
        assert_eq!(expected_gain(Gain::Replacement, &straggler, &backup, 0.0), -3.0);
        assert_eq!(expected_gain(Gain::Race, &straggler, &backup, 0.0), 0.0);
        // Neither helps if the other tasks end after both.
        assert_eq!(expected_gain(Gain::Replacement, &straggler, &backup, 9.0), 0.0);
    }

    #[test]
    fn no_gain_exceeds_its_bound() {
        let ranges = [range(&[20.0, 40.0]), range(&[10.0, 30.0]), range(&[30.0]), range(&[2.0, 20.0, 21.0])];
        for (straggler, backup) in ranges.iter().flat_map(|one| ranges.iter().map(move |other| (one, other))) {
            for last in [0.0, 5.0, 15.0, 25.0, 50.0] {
                for gain in [Gain::Replacement, Gain::Race] {
                    let most = most_gain(gain, straggler.mean_of_larger(last), backup.mean(), last);
                    assert!(expected_gain(gain, straggler, backup, last) <= most + 1e-12, "{last}");
                }
            }
        }
        // A backup whose duration is certain reaches it as a replacement.
        assert_eq!(most_gain(Gain::Replacement, 30.0, 12.0, 0.0), 18.0);
    }

    #[test]
    fn only_a_certain_winner_replaces_at_once() {
        let straggler = range(&[20.0, 40.0]);
        assert!(is_certain_to_win(&straggler, &range(&[10.0, 19.9])));
        // Both may finish after 20 s.
        assert!(!is_certain_to_win(&straggler, &range(&[10.0, 20.0])));
    }

    #[test]
    fn the_papers_form_is_the_same_expectation() {
        let unit = |at: u64| hindmost_math::random::unit(hindmost_math::random::hash(5, at, 0, 0));
        for case in 0..200u64 {
            let drawn = |from: u64, count: u64| {
                let values: Vec<f64> = (0..count).map(|at| (100.0 * unit(1000 * case + from + at)).round()).collect();
                range(&values)
            };
            let (straggler, backup) = (drawn(0, 1 + case % 7), drawn(100, 1 + case % 5));
            let last = (120.0 * unit(1000 * case + 200)).round();
            let (one, other) =
                (expected_gain(Gain::Replacement, &straggler, &backup, last), in_two_parts(&straggler, &backup, last));
            assert!((one - other).abs() < 1e-9, "{straggler:?} {backup:?} {last}: {one} {other}");
            // A race gains at least as much, and never loses.
            let race = expected_gain(Gain::Race, &straggler, &backup, last);
            assert!(race >= one - 1e-9 && race >= -1e-9);
        }
    }
}
