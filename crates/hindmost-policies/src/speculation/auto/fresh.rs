//! What a fresh copy of a phase promises, computed once for each shape of durations: how long it takes, whether it should start again at
//! some age, and what an attempt that is still running has left.

use hindmost_math::distribution::Distribution;
use hindmost_math::shapes::{ShapeNumber, Shapes};
use rustc_hash::FxHashMap;

use super::chain::{best_limit, chain_survival};
use super::share::survival;
use super::survival::Survival;

/// Times by which the start of a copy could be put off, in E.
pub(super) const DELAYS: [f64; 4] = [0.1, 0.3, 0.8, 2.0];

/// Ages are rounded down to steps, each this many times the last one.
const STEP: f64 = 1.1;

/// Speeds are rounded to steps, each this many times the last one.
const SPEED_STEP: f64 = 1.05;

/// The share of its work after which a remaining time counts as known at the earliest: with 0, starting again would cost nothing.
const EARLIEST: f64 = 0.05;

/// Quantiles that stand for the unknown duration of the first attempt.
const QUARTILES: [f64; 2] = [0.25, 0.75];

/// Number of classes of durations of a first attempt that does not run any more.
const STRATA: u32 = 8;

/// A new copy's time until its task is done, if it takes the usual course.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    /// P(T > t).
    pub(super) survival: Survival,
    /// P(T > t − Δ) for each delay Δ of [`DELAYS`].
    pub(super) delayed: [Survival; DELAYS.len()],
    /// The mean of T.
    pub(super) mean: f64,
    /// Share of T during which a losing copy holds its slot.
    pub(super) held: f64,
}

impl Copy {
    fn of(survival: impl Fn(f64) -> f64, mean: f64, held: f64) -> Copy {
        let delayed = DELAYS.map(|delay| Survival::of(|time| if time < delay { 1.0 } else { survival(time - delay) }));
        Copy { survival: Survival::of(survival), delayed, mean, held }
    }

    /// Returns what [`Copy::add`] adds to.
    pub(super) fn never(held: f64) -> Copy {
        Copy { survival: Survival::ZERO, delayed: [Survival::ZERO; DELAYS.len()], mean: f64::INFINITY, held }
    }

    /// Adds another copy's survival function, with this probability.
    pub(super) fn add(&mut self, other: &Copy, probability: f64) {
        self.survival.add(&other.survival, probability);
        for (sum, one) in self.delayed.iter_mut().zip(&other.delayed) {
            sum.add(one, probability);
        }
    }

    /// Adds that the copy does not end first, with this probability.
    pub(super) fn add_never(&mut self, probability: f64) {
        self.survival.add(&Survival::ONE, probability);
        for sum in &mut self.delayed {
            sum.add(&Survival::ONE, probability);
        }
    }

    /// Returns the same on a node of another speed.
    pub(super) fn on(&self, speed: f64) -> Copy {
        if (speed - 1.0).abs() < 1e-9 {
            return self.clone();
        }
        let factor = 1.0 / speed;
        Copy {
            survival: self.survival.stretched(factor),
            delayed: std::array::from_fn(|at| {
                let (delay, survival) = (DELAYS[at], &self.survival);
                Survival::sampled(|time| if time < delay { 1.0 } else { survival.at((time - delay) / factor) })
            }),
            mean: self.mean * factor,
            held: self.held,
        }
    }
}

/// What is known of copies of a phase before they run.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    durations: Distribution,
    /// The share S of an attempt's work after which its remaining time is known.
    known_from: f64,
    /// The shortest duration.
    pub(super) least: f64,
    /// The longest duration.
    pub(super) most: f64,
    /// A copy that runs to its end.
    pub(super) single: Copy,
    /// A copy that starts again at [`Fresh::starts_again`].
    pub(super) chain: Copy,
    /// The age a* at which an attempt of unknown remaining time starts again; infinite if that never pays.
    pub(super) starts_again: f64,
    /// The remaining times of attempts of unknown remaining time, by the step of their age.
    unknown: FxHashMap<i32, Survival>,
    /// The same on nodes of other speeds, by the steps of age and speed.
    unknown_on: FxHashMap<[i32; 2], Survival>,
    /// Chains on nodes of other speeds, by the step of the speed.
    chain_on: FxHashMap<i32, Box<Copy>>,
    /// The same as `unknown` if they start again in time.
    young: FxHashMap<i32, Survival>,
    /// Fresh copies of tasks whose copies have a share in common, by the share and what is known of the first attempt.
    common: FxHashMap<(u64, First<i32>), Box<Copy>>,
    /// What is left of copies of such tasks, by the share, the duration of the first attempt, and the copy's age and least duration.
    common_left: FxHashMap<(u64, [i32; 3]), Option<Survival>>,
    /// The same if the first attempt does not run any more, by its least duration.
    common_left_above: FxHashMap<(u64, [i32; 3]), Survival>,
}

/// What is known of the duration of the first attempt of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum First<T = f64> {
    /// It is this long.
    Exactly(T),
    /// The attempt runs and has this age; its remaining time is unknown.
    Runs(T),
    /// It is longer than `least`, and the attempt does not run any more. Another one takes longer than `after`.
    Above { least: T, after: T },
}

impl Fresh {
    /// Tabulates copies of these durations, whose mean is 1. `known_from` is S.
    fn new(durations: &Distribution, known_from: f64) -> Fresh {
        let share = known_from.max(EARLIEST);
        let survival = |time: f64| if time < 0.0 { 1.0 } else { durations.survival(time) };
        let single = Copy::of(survival, 1.0, share);
        let (limit, mean) = best_limit(durations, share);
        let chain = if limit.is_finite() {
            let over = durations.survival(limit);
            let stint = share * limit;
            let chained = |time: f64| chain_survival(durations, (limit, over), stint, time);
            let within = (durations.limited_expectation(limit) - limit * over) / (1.0 - over);
            Copy::of(chained, mean, share.max((mean - (1.0 - share) * within) / mean).min(1.0))
        } else {
            single.clone()
        };
        Fresh {
            known_from,
            least: durations.minimum(),
            most: durations.maximum(),
            single,
            chain,
            starts_again: share * limit,
            unknown: FxHashMap::default(),
            unknown_on: FxHashMap::default(),
            chain_on: FxHashMap::default(),
            young: FxHashMap::default(),
            common: FxHashMap::default(),
            common_left: FxHashMap::default(),
            common_left_above: FxHashMap::default(),
            durations: durations.clone(),
        }
    }

    /// Returns the remaining time of an attempt of this age, in E on its node of speed 1, whose remaining time is not known: it has not
    /// done the share S of its work.
    pub(super) fn unknown(&mut self, age: f64) -> &Survival {
        let step = step_of(age);
        let Fresh { durations, known_from, unknown, .. } = self;
        unknown.entry(step).or_insert_with(|| {
            let age = value_of(step);
            let least = if *known_from > 0.0 { age / *known_from } else { age };
            let left = durations.survival(least);
            Survival::of(|time| {
                let total = age + time;
                match () {
                    () if total <= least => 1.0,
                    () if left > 0.0 => durations.survival(total) / left,
                    // It is older than any should become: it may well take as long again.
                    () => (least / total).powi(2),
                }
            })
        })
    }

    /// Returns the same in time of a node on which work takes `pace` times as long.
    pub(super) fn unknown_on(&mut self, age: f64, pace: f64) -> &Survival {
        let steps = [step_of(age), speed_step(pace)];
        if steps[1] == 0 {
            return self.unknown(age);
        }
        if !self.unknown_on.contains_key(&steps) {
            let survival = self.unknown(age).stretched(SPEED_STEP.powi(steps[1]));
            self.unknown_on.insert(steps, survival);
        }
        &self.unknown_on[&steps]
    }

    /// Returns a copy that starts again in time on a node of this speed.
    pub(super) fn chain_on(&mut self, speed: f64) -> &Copy {
        let step = speed_step(speed);
        if step == 0 {
            return &self.chain;
        }
        let Fresh { chain_on, chain, .. } = self;
        chain_on.entry(step).or_insert_with(|| Box::new(chain.on(SPEED_STEP.powi(step))))
    }

    /// Returns the time until a task is done by an attempt of this age and unknown remaining time, if it starts again at
    /// [`Fresh::starts_again`]: what a copy promised when it started, as long as nothing is known of it. `None` if it is older.
    pub(super) fn young(&mut self, age: f64) -> Option<&Survival> {
        if age >= self.starts_again || self.starts_again.is_infinite() {
            return None;
        }
        let step = step_of(age);
        if !self.young.contains_key(&step) {
            let age = value_of(step);
            let share = self.known_from.max(EARLIEST);
            let (limit, stint) = (self.starts_again / share, self.starts_again - age);
            let least = age / share;
            let (left, over) = (self.survival(least), self.survival(limit));
            let survival = Survival::of(|time| {
                let within = (self.survival((age + time).max(least).min(limit)) - over).max(0.0);
                let again = if time < stint { 1.0 } else { self.chain.survival.at(time - stint) };
                ((within + over * again) / left).min(1.0)
            });
            self.young.insert(step, survival);
        }
        self.young.get(&step)
    }

    /// Returns a fresh copy of a task whose copies have the share `share` of their durations in common.
    pub(super) fn common(&mut self, share: f64, first: First) -> &Copy {
        let key = match first {
            First::Exactly(time) => First::Exactly(step_of(time)),
            First::Runs(age) => First::Runs(step_of(age)),
            First::Above { least, after } => First::Above { least: step_of(least), after: step_of(after) },
        };
        if !self.common.contains_key(&(share.to_bits(), key)) {
            let fresh = |time: f64| self.survival(time);
            let strata = match key {
                First::Above { least, after } => self.strata(share, value_of(least), value_of(after)),
                _ => Vec::new(),
            };
            let survival = Survival::sampled(|time| match key {
                First::Exactly(step) => survival(time, value_of(step), share, fresh),
                First::Runs(step) => {
                    let age = value_of(step);
                    let least = if self.known_from > 0.0 { age / self.known_from } else { age };
                    let firsts = QUARTILES.map(|quantile| self.quantile(quantile, least.max(age + time)));
                    firsts.map(|first| survival(time, first, share, fresh)).iter().sum::<f64>() / firsts.len() as f64
                }
                First::Above { .. } => {
                    strata.iter().map(|(first, weight)| weight * survival(time, *first, share, fresh)).sum()
                }
            });
            let delayed = DELAYS
                .map(|delay| Survival::sampled(|time| if time < delay { 1.0 } else { survival.at(time - delay) }));
            let copy = Copy { survival, delayed, mean: f64::INFINITY, held: self.single.held };
            self.common.insert((share.to_bits(), key), Box::new(copy));
        }
        &self.common[&(share.to_bits(), key)]
    }

    /// Returns durations of a first attempt that takes longer than `least`, with their probabilities if another attempt takes longer than
    /// `after`: the means of [`STRATA`] classes, which have the mean of all such durations.
    fn strata(&self, share: f64, least: f64, after: f64) -> Vec<(f64, f64)> {
        // E[y; y <= time]
        let within = |time: f64| self.durations.limited_expectation(time) - time * self.survival(time);
        let limit = |stratum: u32| self.quantile(f64::from(stratum) / f64::from(STRATA), least);
        let part = self.survival(least) / f64::from(STRATA);
        if part < 1e-12 {
            return vec![(least, 1.0)];
        }
        let to = |stratum: u32| if stratum == STRATA { 1.0 } else { within(limit(stratum)) };
        let mean = |stratum: u32| ((to(stratum + 1) - within(limit(stratum))) / part).max(least);
        let weight = |first: f64| survival(after, first, share, |time| self.survival(time)).max(f64::MIN_POSITIVE);
        let strata: Vec<(f64, f64)> = (0..STRATA).map(mean).map(|first| (first, weight(first))).collect();
        let sum: f64 = strata.iter().map(|(_, weight)| weight).sum();
        strata.into_iter().map(|(first, weight)| (first, weight / sum)).collect()
    }

    /// Returns what is left of a running copy of unknown remaining time that takes longer than `least`, if the first attempt took longer than
    /// `first` and does not run any more.
    pub(super) fn common_left_above(&mut self, share: f64, first: f64, age: f64, least: f64) -> &Survival {
        let key = (share.to_bits(), [step_of(first), step_of(age), step_of(least)]);
        if !self.common_left_above.contains_key(&key) {
            let [first, age, least] = key.1.map(value_of);
            let strata = self.strata(share, first, least);
            let fresh = |time: f64| self.survival(time);
            let reached = |first: f64| survival(least, first, share, fresh).max(f64::MIN_POSITIVE);
            let left = Survival::sampled(|time| {
                let left = |first: f64| survival((age + time).max(least), first, share, fresh) / reached(first);
                strata.iter().map(|(first, weight)| weight * left(*first)).sum()
            });
            self.common_left_above.insert(key, left);
        }
        &self.common_left_above[&key]
    }

    /// Returns what is left of a running copy of unknown remaining time; `None` if it takes longer than the share lets one expect.
    pub(super) fn common_left(&mut self, share: f64, first: f64, age: f64, least: f64) -> Option<&Survival> {
        let steps = [step_of(first), step_of(age), step_of(least)];
        let key = (share.to_bits(), steps);
        if !self.common_left.contains_key(&key) {
            let [first, age, least] = steps.map(value_of);
            let fresh = |time: f64| self.survival(time);
            let reached = survival(least, first, share, fresh);
            let left = (reached > 1e-9)
                .then(|| Survival::sampled(|time| survival((age + time).max(least), first, share, fresh) / reached));
            self.common_left.insert(key, left);
        }
        self.common_left[&key].as_ref()
    }

    /// Returns P(y > `time`).
    pub(super) fn survival(&self, time: f64) -> f64 {
        if time <= 0.0 { 1.0 } else { self.durations.survival(time) }
    }

    /// Returns the duration that is exceeded with the probability 1 − `quantile` if it is known to be above `least`.
    pub(super) fn quantile(&self, quantile: f64, least: f64) -> f64 {
        self.durations.survival_quantile((1.0 - quantile) * self.survival(least)).max(least)
    }

    /// Returns the next age at which an attempt of this age should be looked at again if nothing happens before, in E. `starts_again` is
    /// the age at which it may start again.
    pub(super) fn next_age(&self, age: f64, starts_again: f64) -> f64 {
        let least = self.least * self.known_from.max(EARLIEST);
        let next = if age < least { least } else { STEP.powi(step_of(age) + 2) };
        if age < starts_again { next.min(starts_again) } else { next }
    }
}

/// Returns the number of the step of a speed, 0 for 1.
fn speed_step(speed: f64) -> i32 {
    (speed.ln() / SPEED_STEP.ln()).round() as i32
}

/// Returns the number of the step of an age.
fn step_of(age: f64) -> i32 {
    // Younger attempts are as good as new.
    if age < 0.01 { i32::MIN } else { (age.ln() / STEP.ln() + 1e-9).floor() as i32 }
}

/// Returns the age at which a step begins.
fn value_of(step: i32) -> f64 {
    if step == i32::MIN { 0.0 } else { STEP.powi(step) }
}

/// The durations and the share S of a table.
pub(super) type TableId = (ShapeNumber, u64);

/// The tables of all shapes of durations.
#[derive(Debug, Default)]
pub(super) struct Tables {
    shapes: Shapes,
    known: FxHashMap<TableId, Fresh>,
}

impl Tables {
    /// Makes the table of these durations, if there is none yet. `known_from` is the share S.
    pub(super) fn make(&mut self, durations: &Distribution, known_from: f64) -> TableId {
        let id = (self.shapes.number(durations), known_from.to_bits());
        self.known.entry(id).or_insert_with(|| Fresh::new(&durations.with_mean(1.0), known_from));
        id
    }

    /// Returns a table.
    pub(super) fn get(&mut self, id: TableId) -> Option<&mut Fresh> {
        self.known.get_mut(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pareto() -> Distribution {
        Distribution::pareto_with_mean(2.0, 1.0).unwrap()
    }

    #[test]
    fn starting_again_pays_for_heavy_tails_only() {
        let fresh = Fresh::new(&pareto(), 0.1);
        assert!(
            fresh.chain.mean < 0.8 && fresh.starts_again.is_finite(),
            "{} {}",
            fresh.chain.mean,
            fresh.starts_again
        );
        // The mean of the chain is also the integral of its survival function.
        assert!((fresh.chain.survival.integral() - fresh.chain.mean).abs() < 0.02);
        let constant = Fresh::new(&Distribution::constant(1.0).unwrap(), 0.1);
        assert_eq!((constant.chain.mean, constant.starts_again), (1.0, f64::INFINITY));
        // An exponential time without progress has no memory: starting again neither helps nor harms.
        let exponential = Fresh::new(&Distribution::exponential(1.0).unwrap(), 1.0);
        assert!((exponential.chain.mean - 1.0).abs() < 1e-3);
    }

    #[test]
    fn what_is_not_known_by_its_time_takes_longer() {
        let mut fresh = Fresh::new(&pareto(), 0.1);
        // At the age 0.11^k an attempt of Pareto durations takes at least ten times its age: the mean of such is twice as much.
        let age = STEP.powi(-10);
        let left = fresh.unknown(age).integral();
        assert!((left - (20.0 * age - age)).abs() < 0.1 * left, "{left}");
        let mut by_age = Fresh::new(&pareto(), 1.0);
        let left = by_age.unknown(STEP.powi(8)).integral();
        assert!((left - STEP.powi(8)).abs() < 0.05 * left, "{left}");
    }
}
