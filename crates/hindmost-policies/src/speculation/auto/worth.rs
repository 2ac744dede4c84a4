//! The one inequality: the job time that an attempt is expected to save against what its slot is worth to others.
//!
//! Both sides are linear in the price ν of a slot-second, so each question is answered once, as a range of prices for which the answer is
//! yes, and the price may change without new integrals.

use super::fresh::{Copy, DELAYS};
use super::survival::{Cells, Survival, WIDTHS, dot};

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

    /// Returns the price above which a running copy of this value is not worth its slot.
    pub(super) fn limit(self) -> f64 {
        if self.slots < 0.0 { (self.gain / -self.slots).max(0.0) } else { f64::INFINITY }
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
    /// After how long it would better start, in E, if not now.
    pub(super) later: Option<f64>,
}

/// What the job of a task waits for besides.
#[derive(Clone, Debug)]
pub(super) struct Others {
    /// exp(−h(t)), where h(t) is the expected number of unfinished tasks of the job, this one included. If the other tasks will get copies as
    /// well, exp(−h(t)·S(t)).
    done: Cells,
    /// S(t), the survival function of the copies that the other tasks will get; 1 if they get none.
    clones: Survival,
}

impl Others {
    /// `unfinished` is h(t); `clones` is S(t) if the other tasks will get copies as well. `beside` is what adds to h(t) because of other phases
    /// that run at the same time.
    pub(super) fn new(unfinished: &Survival, clones: Option<&Survival>, beside: Option<&Survival>) -> Others {
        let clones = *clones.unwrap_or(&Survival::ONE);
        let mut done = [1.0; super::survival::CELLS];
        let beside = beside.unwrap_or(&Survival::ZERO);
        for (cell, done) in done.iter_mut().enumerate() {
            *done = (-unfinished.all()[cell] * clones.all()[cell] - beside.all()[cell]).exp();
        }
        Others { done, clones }
    }

    /// Takes into account that what is left of a task has changed.
    pub(super) fn change(&mut self, before: &Survival, after: &Survival) {
        let used = before.cells().len().max(after.cells().len());
        let cells = self.done.iter_mut().zip(self.clones.all()).zip(before.all()).zip(after.all());
        for (((done, clone), before), after) in cells.take(used) {
            let less = (before - after) * clone;
            let factor = grown(less.abs());
            *done *= if less >= 0.0 { factor } else { 1.0 / factor };
        }
    }

    /// There are no other tasks, for a task with this survival function.
    pub(super) fn none(task: &Survival) -> Others {
        Others::new(task, None, None)
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
    /// The share of predictions that come true: others don't show which copy will lose.
    pub(super) reliable: f64,
}

impl Judged<'_> {
    /// Returns a new copy's worth:
    ///
    /// ```text
    /// ∫ D·s·(1 − S) dt + ν·[(A − B)·(1 + (n − 1)·h) − h·B],   A = min(∫ s, V),   B = ∫ s·S
    /// ```
    ///
    /// with s(t) of the task and S(t) of the copy, n running copies, V the mean duration of a copy and h the share of it during which a
    /// losing copy holds its slot. If it starts Δ later, S(t − Δ) stands for S(t), and the copy holds no slot before. `usual` is V. Whether
    /// it would better start later is computed only if it pays at `price` now.
    pub(super) fn offer(&self, copy: &Copy, usual: f64, price: f64) -> Offer {
        let used = self.task.cells().len();
        let mut time = WIDTHS;
        for (time, task) in time.iter_mut().zip(self.task.cells()) {
            *time *= task;
        }
        let time = &time[..used];
        let mut done = self.done(used);
        for (done, time) in done.iter_mut().zip(time) {
            *done *= time;
        }
        let (whole, integral) = (dot(&done[..used], Survival::ONE.all()), self.task.integral());
        let held = self.held(copy.held);
        let losers = 1.0 + f64::from(self.copies.saturating_sub(1)) * held;
        let worth = |survival: &Survival, before: f64| {
            let both = dot(time, survival.cells());
            let gain = whole - dot(&done[..used], survival.cells());
            let runs = both - before;
            (Value { gain, slots: (integral.min(usual) - both) * losers - held * runs }, runs)
        };
        let (value, uses) = worth(&copy.survival, 0.0);
        let mut prices = Prices::ALL.where_positive(value);
        let mut later = None;
        for (survival, delay) in copy.delayed.iter().zip(DELAYS) {
            if !prices.contain(price) {
                break;
            }
            prices = prices.where_positive(value.minus(worth(survival, self.task.integral_to(delay)).0));
            later = (!prices.contain(price)).then_some(delay);
        }
        Offer { value, prices, uses, later }
    }

    /// Returns what one of several running copies is worth: `left` is P(T > t) of the task without and with it, `held` the share of a
    /// losing copy's duration during which it holds its slot.
    pub(super) fn kept(&self, [without, with]: &[Survival; 2], held: f64, usual: f64) -> Value {
        let (gain, held) = (self.saved(without, with), self.held(held));
        let (with, without) = (with.integral().min(usual), without.integral().min(usual));
        let others = f64::from(self.copies.saturating_sub(2));
        Value { gain, slots: (without - with) * (1.0 + others * held) - held * with }
    }

    /// Returns what starting an attempt again is worth instead of waiting for it.
    pub(super) fn restart(&self, copy: &Survival) -> Value {
        Value { gain: self.saved(self.task, copy), slots: self.task.integral() - copy.integral() }
    }

    /// Returns the share of its duration during which a losing copy holds its slot, if it is `held` where predictions come true.
    fn held(&self, held: f64) -> f64 {
        1.0 - (1.0 - held) * self.reliable
    }

    /// Returns ∫ D·(before − after) dt.
    fn saved(&self, before: &Survival, after: &Survival) -> f64 {
        let used = before.cells().len().max(after.cells().len());
        let mut saved = self.done(used);
        for ((saved, before), after) in saved.iter_mut().zip(before.all()).zip(after.all()).take(used) {
            *saved *= before - after;
        }
        dot(&saved[..used], &WIDTHS)
    }

    /// Returns D(t) in the first cells. Where the other tasks will get copies, they are expected to be done sooner, for all questions alike:
    /// else a copy that was worth its start would be stopped at once.
    fn done(&self, used: usize) -> Cells {
        let mut done = self.others.done;
        for ((done, clone), task) in done.iter_mut().zip(self.others.clones.all()).zip(self.task.all()).take(used) {
            *done *= grown(task * clone);
        }
        done
    }
}

/// Returns e^x for x in [0, 1], with an error below 0.1%.
fn grown(x: f32) -> f32 {
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
        let table = tables.make(durations, share);
        let fresh = tables.get(table).unwrap();
        let mut huge = Survival::ZERO;
        huge.add(&Survival::ONE, 1e3);
        let others = Others::new(&huge, None, None);
        let pays = |left: f64| {
            let task = Survival::step(left);
            let judged = Judged { task: &task, copies: 1, others: &others, reliable: 1.0 };
            judged.offer(&fresh.single, f64::INFINITY, price).value.at(price) > 0.0
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
