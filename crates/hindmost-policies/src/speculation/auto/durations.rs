//! How long attempts take where the durations that are stated for a phase turn out not to hold.
//!
//! For each kind of phase, the durations of first attempts, relative to their stated mean, are compared with the stated distributions
//! (`observed`). Once they differ beyond chance, the observed distribution takes their place, with the stated one as [`WEIGHT`]
//! observations. Later attempts of a task don't count: tasks get them because they take long.
//!
//! Where durations are not stated but learned, as in live runs, the observed ones count from the first on, with a Pareto distribution of tail
//! index [`TAIL`] as [`WEIGHT`] observations: an attempt that is older than others have become is expected to take as long again.

use hindmost_math::distribution::Distribution;
use rustc_hash::FxHashMap;

use super::observed::{Observed, Tail};
use super::share::Known;

/// The weight of the stated distribution, in attempts.
const WEIGHT: f64 = 5.0;
/// The fewest attempts that are compared.
const FEWEST: f64 = 10.0;
/// Durations are compared again each time their number has grown by this factor.
const GROWTH: f64 = 1.25;
/// Durations differ from the stated ones beyond so many standard deviations: by chance one of 1 000 comparisons finds that.
const DIFFERENT: f64 = 3.5;
/// The tail index of the Pareto distribution that is assumed where no durations are stated.
const TAIL: f64 = 2.0;
/// Number of equally likely values that stand for a distribution.
const VALUES: u32 = 200;

/// Durations that were learned.
#[derive(Clone, Debug)]
pub(super) struct Learned {
    /// Their distribution, with the mean 1.
    pub(super) durations: Distribution,
    /// Their mean, relative to the stated one or in units of `unit`.
    mean: f64,
    unit: Option<f64>,
}

impl Learned {
    /// Returns the mean in seconds of a phase for which this one is stated.
    pub(super) fn mean(&self, stated: f64) -> f64 {
        self.mean * self.unit.unwrap_or(stated)
    }
}

/// The durations of one kind.
#[derive(Clone, Debug)]
struct OfKind {
    observed: Observed,
    /// The mean of the distributions that were stated for these attempts.
    stated: Tail,
    /// What was stated for the last of them, its mean, and its tail in units of that.
    last: Option<(Distribution, f64, Tail)>,
    attempts: f64,
    /// In seconds, where durations are not stated: the mean that was known when the first of these attempts ended.
    unit: Option<f64>,
    /// Number of attempts at which they are compared next.
    next: f64,
    learned: Option<Learned>,
}

impl OfKind {
    /// Returns what is known of a duration in the units of the kind, from what is known of it in a mean.
    fn in_units(&self, known: Known, mean: f64) -> Known {
        let factor = self.unit.map_or(1.0, |unit| mean / unit);
        match known {
            Known::Exactly(time) => Known::Exactly(time * factor),
            Known::About { time, within } => Known::About { time: time * factor, within },
            Known::Above(time) => Known::Above(time * factor),
        }
    }
}

/// The durations of all kinds.
#[derive(Debug, Default)]
pub(super) struct Durations {
    kinds: FxHashMap<u64, OfKind>,
    /// Kinds of which enough attempts have ended to compare them.
    due: Vec<u64>,
}

impl Durations {
    /// Notes how long the first attempt of a task took, in means of the stated distribution. `is_stated` is false if that was learned.
    pub(super) fn note(&mut self, kind: u64, known: Known, stated: (&Distribution, f64), is_stated: bool) {
        let (durations, mean) = stated;
        let of_kind = self.kinds.entry(kind).or_insert_with(|| OfKind {
            observed: Observed::NONE,
            stated: Tail::of(|_| 0.0),
            last: None,
            attempts: 0.0,
            unit: (!is_stated).then_some(mean),
            next: if is_stated { FEWEST } else { 1.0 },
            learned: None,
        });
        of_kind.attempts += 1.0;
        if of_kind.unit.is_none() {
            let last = of_kind.last.take().filter(|(last, of, _)| *of == mean && last == durations);
            let tail = |x: f64| durations.survival(x * mean);
            let last = last.unwrap_or_else(|| (durations.clone(), mean, Tail::of(tail)));
            of_kind.stated.mix(&last.2, 1.0 / of_kind.attempts);
            of_kind.last = Some(last);
        } else if of_kind.attempts == 1.0 {
            // With the mean 1 the least duration is 1 − 1/TAIL.
            of_kind.stated = Tail::of(|x| ((1.0 - 1.0 / TAIL) / x).powf(TAIL).min(1.0));
        }
        let known = of_kind.in_units(known, mean);
        add(&mut of_kind.observed, known);
        if of_kind.attempts >= of_kind.next {
            of_kind.next = GROWTH * of_kind.attempts;
            self.due.push(kind);
        }
    }

    /// Returns the kinds that are to be compared now.
    pub(super) fn due(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.due)
    }

    /// Compares the durations of a kind. `running` are those of first attempts that run, and the mean that is stated for each. Returns true if
    /// others have been learned.
    pub(super) fn compare(&mut self, kind: u64, running: impl Iterator<Item = (Known, f64)>) -> bool {
        let Some(of_kind) = self.kinds.get_mut(&kind) else { return false };
        let mut observed = of_kind.observed.clone();
        running.for_each(|(known, mean)| add(&mut observed, of_kind.in_units(known, mean)));
        let is_stated = of_kind.unit.is_none();
        let is_as_stated = of_kind.learned.is_none() && observed.distance(&of_kind.stated) < DIFFERENT;
        if is_stated && (is_as_stated || observed.ended() < FEWEST) {
            return false;
        }
        let tail = observed.tail(&of_kind.stated, WEIGHT);
        let values = (0..VALUES).map(|part| tail.exceeded_with((f64::from(part) + 0.5) / f64::from(VALUES)));
        let Ok(durations) = Distribution::empirical(values.collect()) else { return false };
        let mean = durations.mean();
        of_kind.learned = Some(Learned { durations: durations.with_mean(1.0), mean, unit: of_kind.unit });
        true
    }

    /// Returns what was learned of a kind; `None` if its durations are as stated.
    pub(super) fn of(&self, kind: u64) -> Option<&Learned> {
        self.kinds.get(&kind)?.learned.as_ref()
    }
}

fn add(observed: &mut Observed, known: Known) {
    match known {
        Known::Exactly(time) | Known::About { time, .. } => observed.add(time, true),
        Known::Above(time) => observed.add(time, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_testing::Draw;

    /// Returns what is learned from 400 attempts of these durations that are stated as Pareto durations with the mean 1 and tail index 2.
    fn learned(durations: &Distribution) -> Option<Learned> {
        let stated = Distribution::pareto_with_mean(2.0, 1.0).unwrap();
        let (mut all, mut draw) = (Durations::default(), Draw(5));
        for _ in 0..400 {
            let time = durations.quantile((draw.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30));
            all.note(1, if time > 5.0 { Known::Above(5.0) } else { Known::Exactly(time) }, (&stated, 1.0), true);
            for kind in all.due() {
                all.compare(kind, std::iter::empty());
            }
        }
        all.of(1).cloned()
    }

    #[test]
    fn durations_as_stated_are_left_alone() {
        assert!(learned(&Distribution::pareto_with_mean(2.0, 1.0).unwrap()).is_none());
    }

    #[test]
    fn other_durations_are_learned() {
        let right = Distribution::log_normal(1.5, 0.4).unwrap();
        let found = learned(&right).unwrap();
        assert!((found.mean / 1.5 - 1.0).abs() < 0.1, "{}", found.mean);
        for quantile in [0.2, 0.5, 0.9] {
            let (found, right) = (found.mean * found.durations.quantile(quantile), right.quantile(quantile));
            assert!((found / right - 1.0).abs() < 0.1, "{quantile}: {found} {right}");
        }
    }

    #[test]
    fn where_none_are_stated_the_first_durations_count() {
        // What is learned outside changes its mean all the time; each attempt takes 10 s.
        let mut all = Durations::default();
        for attempt in 0..20 {
            let mean = 14.0 - 0.2 * f64::from(attempt);
            let guess = Distribution::pareto_with_mean(3.0, mean).unwrap();
            all.note(1, Known::Exactly(10.0 / mean), (&guess, mean), false);
            for kind in all.due() {
                assert!(all.compare(kind, std::iter::empty()), "nothing stated could hold");
            }
        }
        let found = all.of(1).unwrap();
        // 20 of 25 values are 10 s, in classes of 10%; the other five have the mean 14 s and are Pareto distributed.
        let mean = found.mean(1.0);
        assert!((mean / 10.8 - 1.0).abs() < 0.1, "{mean}");
        let exceeds = |seconds: f64| found.durations.survival(seconds / mean);
        assert!((exceeds(28.0) / (0.2 / 16.0) - 1.0).abs() < 0.5, "{}", exceeds(28.0));
        assert!(exceeds(9.0) > 0.8 && exceeds(11.1) < 0.1, "{} {}", exceeds(9.0), exceeds(11.1));
    }
}
