//! The one inequality: the job time that an attempt is expected to save against what its slot is worth to others.
//!
//! Both sides are linear in the price ν of a slot-second, so each question is answered once, as a range of prices for which the answer is
//! yes, and the price may change without new integrals.

use super::fresh::{Copy, DELAYS};
use super::survival::{CELLS, Survival, widths};

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

/// What the job of a task waits for besides.
#[derive(Clone, Debug)]
pub(super) struct Others {
    /// exp(−h(t)), where h(t) is the expected number of unfinished tasks of the job, this one included.
    alone: Survival,
    /// exp(−h(t)·S(t)), where S(t) is the survival function of the copies that the other tasks will get; `None` if they get none.
    cloned: Option<(Survival, Survival)>,
}

impl Others {
    /// `unfinished` is h(t); `clones` is S(t) if the other tasks will get copies as well.
    pub(super) fn new(unfinished: &Survival, clones: Option<&Survival>) -> Others {
        let alone = unfinished.map(|tasks| (-tasks).exp());
        Others { alone, cloned: clones.map(|clones| (unfinished.and(clones).map(|tasks| (-tasks).exp()), *clones)) }
    }

    /// Takes into account that what is left of a task has changed.
    pub(super) fn change(&mut self, before: &Survival, after: &Survival) {
        let factor = |less: f64| if less >= 0.0 { grown(less) } else { 1.0 / grown(-less) };
        for ((value, before), after) in self.alone.0.iter_mut().zip(&before.0).zip(&after.0) {
            *value *= factor(before - after);
        }
        if let Some((cloned, clones)) = &mut self.cloned {
            for (((value, clone), before), after) in cloned.0.iter_mut().zip(&clones.0).zip(&before.0).zip(&after.0) {
                *value *= factor((before - after) * clone);
            }
        }
    }

    /// There are no other tasks, for a task with this survival function.
    pub(super) fn none(task: &Survival) -> Others {
        Others::new(task, None)
    }
}

/// A task whose attempts are judged: D(t) = exp(−(h − s)) is the probability that all other tasks of the job are done, and only then the
/// job ends sooner.
pub(super) struct Judged<'a> {
    /// s(t) = P(T > t) of the time until the first of its copies ends.
    pub(super) task: &'a Survival,
    /// Number of its running copies.
    pub(super) copies: u32,
    /// What its job waits for.
    pub(super) others: &'a Others,
}

impl Judged<'_> {
    /// Returns a new copy's worth:
    ///
    /// ```text
    /// ∫ D·s·(1 − S) dt + ν·[(A − B)·(1 + (n − 1)·h) − h·B],   A = min(∫ s, V),   B = ∫ s·S
    /// ```
    ///
    /// with s(t) of the task and S(t) of the copy, n running copies, V the mean duration of a copy and h the share of it during which a
    /// losing copy holds its slot. If it starts Δ later, S(t − Δ) stands for S(t), and the copy holds no slot before. `usual` is V. Without `delays`, the
    /// prices are those at which a copy is worth something, now or later.
    pub(super) fn offer(&self, copy: &Copy, usual: f64, delays: bool) -> Offer {
        let (done, time) = self.weights();
        let left = time.iter().sum::<f64>().min(usual);
        let losers = 1.0 + f64::from(self.copies.saturating_sub(1)) * copy.held;
        let worth = |survival: &Survival, before: f64| {
            let (mut gain, mut both) = (0.0, 0.0);
            for ((done, time), copy) in done.iter().zip(&time).zip(&survival.0) {
                gain += done * (1.0 - copy);
                both += time * copy;
            }
            let runs = both - before;
            (Value { gain, slots: (left - both) * losers - copy.held * runs }, runs)
        };
        let (value, uses) = worth(&copy.survival, 0.0);
        let mut prices = Prices::ALL.where_positive(value);
        for (survival, delay) in copy.delayed.iter().zip(DELAYS).filter(|_| delays) {
            if prices.is_empty() {
                break;
            }
            prices = prices.where_positive(value.minus(worth(survival, self.task.integral_to(delay)).0));
        }
        Offer { value, prices, uses }
    }

    /// Returns what one of several running copies is worth: `left` is P(T > t) of the task without and with it, `held` the share of a
    /// losing copy's duration during which it holds its slot.
    pub(super) fn kept(&self, [without, with]: &[Survival; 2], held: f64, usual: f64) -> Value {
        let done = self.done();
        let gain = done.integral_with(without, with, |done, without, with| done * (without - with));
        let (with, without) = (with.integral().min(usual), without.integral().min(usual));
        let others = f64::from(self.copies.saturating_sub(2));
        Value { gain, slots: (without - with) * (1.0 + others * held) - held * with }
    }

    /// Returns what starting an attempt again is worth instead of waiting for it.
    pub(super) fn restart(&self, copy: &Copy) -> Value {
        let done = self.done();
        let gain = done.integral_with(self.task, &copy.survival, |done, task, copy| done * (task - copy));
        Value { gain, slots: self.task.integral() - copy.survival.integral() }
    }

    /// Returns D(t). Where the other tasks will get copies, they are expected to be done sooner, for all questions alike: else a copy that
    /// was worth its start would be stopped at once.
    fn done(&self) -> Survival {
        let Some((cloned, clones)) = &self.others.cloned else {
            let mut done = self.others.alone;
            for (done, task) in done.0.iter_mut().zip(&self.task.0) {
                *done *= grown(*task);
            }
            return done;
        };
        let mut done = *cloned;
        for ((done, clone), task) in done.0.iter_mut().zip(&clones.0).zip(&self.task.0) {
            *done *= grown(*task * clone);
        }
        done
    }

    /// Returns D·s dt and s dt in each cell.
    fn weights(&self) -> ([f64; CELLS], [f64; CELLS]) {
        let mut time = self.task.0;
        for (time, width) in time.iter_mut().zip(widths()) {
            *time *= width;
        }
        let mut done = self.done().0;
        for (done, time) in done.iter_mut().zip(&time) {
            *done *= time;
        }
        (done, time)
    }
}

/// Returns e^x for x in [0, 1], with an error below 0.1%.
fn grown(x: f64) -> f64 {
    1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x / 100.0))))
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
        let others = Others::new(&Survival([1e3; CELLS]), None);
        let pays = |left: f64| {
            let task = Survival::step(left);
            let judged = Judged { task: &task, copies: 1, others: &others };
            judged.offer(&fresh.single, f64::INFINITY, true).value.at(price) > 0.0
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
        let both = Prices::ALL
            .where_positive(Value { gain: 2.0, slots: -1.0 })
            .where_positive(Value { gain: -1.0, slots: 2.0 });
        assert_eq!(both, Prices { above: 0.5, below: 2.0 });
        assert!(Prices::ALL.where_positive(Value { gain: -1.0, slots: -1.0 }).is_empty());
        assert!(Prices::ALL.where_positive(Value { gain: 0.0, slots: 1.0 }).contain(1e9));
    }
}
