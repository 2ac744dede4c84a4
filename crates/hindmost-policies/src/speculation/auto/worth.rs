//! The one inequality: the job time that an attempt is expected to save against what its slot is worth to others.
//!
//! Both sides are linear in the price ν of a slot-second, so each question is answered once, as a range of prices for which the answer is
//! yes, and the price may change without new integrals.

use super::fresh::{Copy, DELAYS};
use super::survival::Survival;

/// A value that is linear in the price ν: job time saved + ν · slot time saved, both in E. Slot time that is used is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Value {
    /// Job time that is expected to be saved.
    pub(super) gain: f64,
    /// Slot time that is expected to be saved.
    pub(super) slots: f64,
}

impl Value {
    /// Returns the value at a price.
    pub(super) fn at(self, price: f64) -> f64 {
        self.gain + price * self.slots
    }

    fn minus(self, other: Value) -> Value {
        Value { gain: self.gain - other.gain, slots: self.slots - other.slots }
    }
}

/// The prices at which something pays: more than `above`, less than `below`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prices {
    pub(super) above: f64,
    pub(super) below: f64,
}

impl Prices {
    /// At no price.
    pub(super) const NONE: Prices = Prices { above: 0.0, below: 0.0 };
    const ALL: Prices = Prices { above: 0.0, below: f64::INFINITY };

    /// Returns the prices of this range at which a value is positive.
    fn where_positive(self, value: Value) -> Prices {
        let Value { gain, slots } = value;
        match () {
            () if slots < 0.0 => Prices { below: self.below.min(gain / -slots), ..self },
            () if gain >= 0.0 => self,
            () if slots > 0.0 => Prices { above: self.above.max(-gain / slots), ..self },
            () => Prices::NONE,
        }
    }

    /// True if there is no such price.
    pub(super) fn is_empty(self) -> bool {
        self.below <= self.above
    }

    /// True if a price is one of these.
    pub(super) fn contain(self, price: f64) -> bool {
        self.above <= price && price < self.below
    }
}

/// A copy that could start now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Offer {
    /// What it is worth.
    pub(super) value: Value,
    /// The prices at which it should start now: it is worth something, and no less than if it started later.
    pub(super) prices: Prices,
    /// The slot time that it is expected to use, in E.
    pub(super) uses: f64,
}

/// A task whose attempts are judged.
pub(super) struct Judged<'a> {
    /// P(T > t) of the time until the first of its copies ends.
    pub(super) task: &'a Survival,
    /// Number of its running copies.
    pub(super) copies: u32,
    /// The expected number of unfinished other tasks of its job at each time, and P(T > t) of a copy of each: D(t) = exp(−others · copy)
    /// is the probability that all other tasks are done, and only then the job ends sooner.
    pub(super) others: &'a Survival,
}

impl Judged<'_> {
    /// Returns a new copy's worth:
    ///
    /// ```text
    /// ∫ D·s·(1 − S) dt + ν·[(A − B)·(1 + (n − 1)·h) − h·B],   A = min(∫ s, V),   B = ∫ s·S
    /// ```
    ///
    /// with s(t) of the task and S(t) of the copy, n running copies, V the mean duration of a copy and h the share of it during which a
    /// losing copy holds its slot. If it starts Δ later, S(t − Δ) stands for S(t), and the copy holds no slot before. `cloned` says that the other tasks
    /// of the job will get copies too. `usual` is the mean duration of the copy that would otherwise be needed.
    pub(super) fn offer(&self, copy: &Copy, cloned: bool, usual: f64) -> Offer {
        let done = self.done(if cloned { Some(&copy.survival) } else { None });
        let left = self.task.integral().min(usual);
        let losers = 1.0 + f64::from(self.copies.saturating_sub(1)) * copy.held;
        let worth = |survival: &Survival, before: f64| {
            let gain = done.integral_with(self.task, survival, |done, task, copy| done * task * (1.0 - copy));
            let both = self.task.integral_with(survival, survival, |task, copy, _| task * copy);
            let runs = both - before;
            (Value { gain, slots: (left - both) * losers - copy.held * runs }, runs)
        };
        let (value, uses) = worth(&copy.survival, 0.0);
        let mut prices = Prices::ALL.where_positive(value);
        for (survival, delay) in copy.delayed.iter().zip(DELAYS) {
            if prices.is_empty() {
                break;
            }
            let before = self.task.and(&Survival::step(delay)).integral();
            prices = prices.where_positive(value.minus(worth(survival, before).0));
        }
        Offer { value, prices, uses }
    }

    /// Returns what one of several running copies is worth: `without` is P(T > t) of the task if it is stopped, `held` the share of a
    /// losing copy's duration during which it holds its slot.
    pub(super) fn kept(&self, without: &Survival, held: f64, usual: f64) -> Value {
        let done = self.done(None);
        let gain = done.integral_with(without, self.task, |done, without, with| done * (without - with));
        let (with, without) = (self.task.integral().min(usual), without.integral().min(usual));
        let others = f64::from(self.copies.saturating_sub(2));
        Value { gain, slots: (without - with) * (1.0 + others * held) - held * with }
    }

    /// Returns what starting an attempt again is worth instead of waiting for it.
    pub(super) fn restart(&self, copy: &Copy) -> Value {
        let done = self.done(None);
        let gain = done.integral_with(self.task, &copy.survival, |done, task, copy| done * (task - copy));
        Value { gain, slots: self.task.integral() - copy.survival.integral() }
    }

    /// Returns D(t): the probability that all other tasks are done.
    fn done(&self, copies: Option<&Survival>) -> Survival {
        let mut done = *self.others;
        for (at, value) in done.0.iter_mut().enumerate() {
            *value = (-*value * copies.map_or(1.0, |copies| copies.0[at])).exp();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speculation::auto::fresh::Tables;
    use hindmost_math::distribution::Distribution;

    /// Returns the limit of the remaining time from which on a task gets a copy at a price, if only resources count.
    fn limit(share: f64, price: f64, durations: &Distribution) -> f64 {
        let mut tables = Tables::default();
        let fresh = tables.of(durations, share);
        let others = Survival([1e9; super::super::survival::CELLS]);
        let pays = |left: f64| {
            let task = Survival::step(left);
            let judged = Judged { task: &task, copies: 1, others: &others };
            judged.offer(&fresh.single, false, f64::INFINITY).value.at(price) > 0.0
        };
        (1..2000).map(|step| f64::from(step) * 0.005).find(|left| pays(*left)).unwrap()
    }

    #[test]
    fn at_a_high_price_a_copy_must_save_resources() {
        // With S = 1 this is SDA's rule with two copies: r > 2·E[min(r, y)]. For Pareto durations with tail index 2 and mean 1,
        // E[min(r, y)] = 1 − 1/(4·r), so that r² − 2·r + 1/2 = 0 and r = 1 + 1/√2.
        let pareto = Distribution::pareto_with_mean(2.0, 1.0).unwrap();
        let found = limit(1.0, 1e12, &pareto);
        assert!((found - (1.0 + 0.5_f64.sqrt())).abs() < 0.03, "{found}");
        // In general r/E[min(r, y)] > 1 + S.
        let found = limit(0.3, 1e12, &pareto);
        let ratio = found / (1.0 - 0.25 / found);
        assert!((ratio - 1.3).abs() < 0.03, "{ratio}");
    }

    #[test]
    fn prices_are_where_all_values_are_positive() {
        let both = Prices::ALL.where_positive(Value { gain: 2.0, slots: -1.0 }).where_positive(Value { gain: -1.0, slots: 2.0 });
        assert_eq!(both, Prices { above: 0.5, below: 2.0 });
        assert!(Prices::ALL.where_positive(Value { gain: -1.0, slots: -1.0 }).is_empty());
        assert!(Prices::ALL.where_positive(Value { gain: 0.0, slots: 1.0 }).contain(1e9));
    }
}
