//! How long something still lasts that has lasted for a while: the product-limit estimate (Kaplan & Meier 1958) from durations
//! of which some were cut off.

/// The estimated probability that a duration is longer than a time, as a step function.
///
/// ```
/// use hindmost_math::survival::{Observed, Survival};
///
/// // Durations of 1, 2 and 4 s, and one that was cut off after 3 s.
/// let all = [(1.0, true), (2.0, true), (3.0, false), (4.0, true)];
/// let all = all.map(|(seconds, ended)| Observed { seconds, ended, weight: 1.0 });
/// let durations = Survival::of(&all);
/// // Three of four last longer than 1 s, and two of the remaining three longer than 2 s.
/// assert_eq!(durations.beyond(1.5), 0.75);
/// assert_eq!(durations.beyond(2.5), 0.5);
/// assert_eq!(durations.beyond(4.0), 0.0);
/// // Whatever has lasted for 2.5 s lasts for another 1.5 s.
/// assert_eq!(durations.remaining(2.5, 0.5), Some(1.5));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survival {
    /// The times at which durations ended, ascending, each with the probability of lasting longer.
    steps: Vec<(f64, f64)>,
}

/// An observed duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// The duration, in seconds.
    pub seconds: f64,
    /// False if it was cut off, so that only its lower bound is known.
    pub ended: bool,
    /// How many durations it stands for.
    pub weight: f64,
}

impl Survival {
    /// Returns the estimate from durations in any order. A duration that was cut off at the moment at which another one ended
    /// is the longer one.
    pub fn of(observed: &[Observed]) -> Survival {
        let mut sorted = observed.to_vec();
        sorted.sort_unstable_by(|one, other| one.seconds.total_cmp(&other.seconds).then(other.ended.cmp(&one.ended)));
        Survival::of_sorted(&sorted)
    }

    /// Returns the estimate from durations in ascending order, in which those that ended come before equal ones that were cut
    /// off.
    pub fn of_sorted(sorted: &[Observed]) -> Survival {
        let mut at_risk: f64 = sorted.iter().map(|one| one.weight).sum();
        let last_end = sorted.iter().rposition(|one| one.ended);
        let mut survival = 1.0;
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (at, one) in sorted.iter().enumerate() {
            if one.ended && at_risk > 0.0 {
                // Rounding must not leave anything after the last duration if that one ended.
                let is_last = last_end == Some(at) && at + 1 == sorted.len();
                survival *= if is_last { 0.0 } else { (1.0 - one.weight / at_risk).max(0.0) };
                match steps.last_mut() {
                    Some((time, after)) if *time == one.seconds => *after = survival,
                    _ => steps.push((one.seconds, survival)),
                }
            }
            at_risk -= one.weight;
        }
        Survival { steps }
    }

    /// Returns the probability that a duration is longer than this time.
    pub fn beyond(&self, seconds: f64) -> f64 {
        let passed = self.steps.partition_point(|(time, _)| *time <= seconds);
        passed.checked_sub(1).map_or(1.0, |last| self.steps[last].1)
    }

    /// Returns the quantile `share` of the time that something still lasts after `age`: the smallest time within which at least
    /// this share ends. `None` if too few durations ended after that age to know it.
    pub fn remaining(&self, age: f64, share: f64) -> Option<f64> {
        let bound = (1.0 - share) * self.beyond(age);
        let passed = self.steps.partition_point(|(time, _)| *time <= age);
        let later = &self.steps[passed..];
        let at = later.partition_point(|(_, after)| *after > bound);
        later.get(at).map(|(time, _)| time - age)
    }

    /// As [`Survival::remaining`], but the probability falls evenly between the durations that ended, from `age` on: each gap
    /// between two of them is as likely as the next one.
    pub fn remaining_between(&self, age: f64, share: f64) -> Option<f64> {
        let begin = self.beyond(age);
        let bound = (1.0 - share) * begin;
        let passed = self.steps.partition_point(|(time, _)| *time <= age);
        let later = &self.steps[passed..];
        let at = later.partition_point(|(_, after)| *after > bound);
        let (time, after) = *later.get(at)?;
        let (last, before) = if at == 0 { (age, begin) } else { later[at - 1] };
        let part = if before > after { (before - bound) / (before - after) } else { 1.0 };
        Some(last + part * (time - last) - age)
    }

    /// Of the durations that reach `age`, returns the share that is known in full, in [0, 1]. The others were cut off later.
    pub fn known_share(&self, age: f64) -> f64 {
        let (now, last) = (self.beyond(age), self.steps.last().map_or(1.0, |(_, after)| *after));
        if now > 0.0 { 1.0 - last / now } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(observed: &[(f64, bool)]) -> Survival {
        let observed =
            observed.iter().map(|(seconds, ended)| Observed { seconds: *seconds, ended: *ended, weight: 1.0 });
        Survival::of(&observed.collect::<Vec<_>>())
    }

    #[test]
    fn remaining_times_follow_the_durations_beyond_the_age() {
        // At 2 s half of the four are left, at 5 s a quarter, at 9 s none.
        let durations = of(&[(9.0, true), (2.0, true), (5.0, true), (1.0, true)]);
        assert_eq!([0.5, 1.0, 2.0, 5.0].map(|at| durations.beyond(at)), [1.0, 0.75, 0.5, 0.25]);
        assert_eq!([0.4, 0.5, 0.6].map(|share| durations.remaining(3.0, share)), [Some(2.0), Some(2.0), Some(6.0)]);
        assert_eq!(durations.known_share(3.0), 1.0);
        assert_eq!(durations.remaining(9.0, 0.5), None);
        assert_eq!(durations.known_share(9.0), 0.0);
    }

    #[test]
    fn durations_between_the_observed_ones_are_possible() {
        let durations = of(&[(9.0, true), (2.0, true), (5.0, true), (1.0, true)]);
        // From the age of 3 s on, one half ends until 5 s and the other until 9 s.
        let found = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| durations.remaining_between(3.0, share));
        assert_eq!(found, [0.0, 1.0, 2.0, 4.0, 6.0].map(Some));
        assert_eq!(durations.remaining_between(9.0, 0.5), None);
    }

    #[test]
    fn what_is_cut_off_counts_until_then() {
        // 1 of 5 ends at 1 s. Then one is cut off, so 1 of 3 ends at 3 s: 0.8 · 2/3. Nobody knows more about the last two.
        let durations = of(&[(1.0, true), (2.0, false), (3.0, true), (3.0, false), (8.0, false)]);
        assert!((durations.beyond(3.0) - 0.8 * 2.0 / 3.0).abs() < 1e-12);
        // A third of those that last longer than 2 s ends after one more second.
        assert_eq!(durations.remaining(2.0, 0.33), Some(1.0));
        assert_eq!(durations.remaining(2.0, 0.34), None);
        assert!((durations.known_share(2.0) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(durations.known_share(3.0), 0.0);
    }

    #[test]
    fn nothing_is_known_without_ends() {
        assert_eq!(of(&[]).remaining(0.0, 0.5), None);
        assert_eq!(of(&[(4.0, false)]).known_share(1.0), 0.0);
    }

    #[test]
    fn weights_count_as_several_durations() {
        let weighted = Survival::of(&[
            Observed { seconds: 1.0, ended: true, weight: 3.0 },
            Observed { seconds: 2.0, ended: true, weight: 1.0 },
        ]);
        assert_eq!(weighted.beyond(1.0), 0.25);
        assert_eq!(weighted.beyond(2.0), 0.0);
    }
}
