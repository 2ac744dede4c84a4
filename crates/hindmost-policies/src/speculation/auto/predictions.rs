//! How far off predicted remaining times are: what an attempt has left whose progress shows it.
//!
//! z is the time that an attempt takes from its first prediction on, relative to the predicted time; its tail is estimated for each kind
//! of phase (`observed`). Before that, as many predictions as [`WEIGHT`] says are assumed, nearly all of which came true.

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::observed::{EXPECTED, Observed, Tail, lower_limit};
use super::survival::Survival;

/// The weight of what is assumed of a kind before it is known, in predictions.
const WEIGHT: f64 = 8.0;
/// The share of predictions that are assumed to be wrong without any evidence: z is then above x with the probability x^−2.
const WRONG: f64 = 0.025;
/// Predictions of a kind count as exact while at least this share came true.
const EXACT: f64 = 0.85;
/// The standard deviation of the logarithm of z that is assumed besides: its square is divided by the number of predictions that are known.
const UNTRIED: f64 = 0.3;
/// Below this factor, predictions may be off without any effect.
const NEGLIGIBLE: f64 = 1.05;
/// Errors are estimated again once more than one in so many predictions has ended.
const ENOUGH: usize = 20;
/// Predictions below this share of a mean duration are not counted: nothing depends on them.
const LEAST: f64 = 0.01;

/// How far off predictions are.
#[derive(Clone, Debug)]
pub(super) struct Errors(Tail);

impl Errors {
    /// What is assumed without any evidence.
    fn assumed() -> Errors {
        let (from, to) = (lower_limit(EXPECTED), lower_limit(EXPECTED + 1));
        Errors(Tail::of(|x| if x <= from { 1.0 } else { WRONG * (x / to).powi(-2) }))
    }

    /// True if predictions come true.
    pub(super) fn are_negligible(&self) -> bool {
        self.0.share(EXPECTED) >= EXACT
    }

    /// Returns the share of predictions that come true, 1 if it is nearly that.
    pub(super) fn reliable(&self) -> f64 {
        if self.are_negligible() { 1.0 } else { self.0.share(EXPECTED) }
    }

    /// Returns the factor by which a prediction is off at most in two of three cases.
    fn spread(&self) -> f64 {
        (self.0.exceeded_with(1.0 / 6.0) / self.0.exceeded_with(5.0 / 6.0)).sqrt()
    }

    /// Returns what is left of an attempt that was predicted to take the time `predicted`, of which `passed` has passed.
    pub(super) fn left(&self, predicted: f64, passed: f64) -> Survival {
        let reached = self.0.exceeds(passed / predicted).max(f64::MIN_POSITIVE);
        Survival::sampled(|time| self.0.exceeds((passed + time) / predicted) / reached)
    }
}

/// The predictions of one kind that have ended.
#[derive(Clone, Debug)]
struct OfKind {
    observed: Observed,
    count: usize,
    changes: usize,
    errors: Errors,
}

impl OfKind {
    fn new(errors: Errors) -> OfKind {
        OfKind { observed: Observed::NONE, count: 0, changes: 0, errors }
    }

    fn note(&mut self, z: f64, has_finished: bool) {
        self.observed.add(z, has_finished);
        self.count += 1;
        self.changes += 1;
    }

    fn fit(&mut self, prior: &Errors) {
        if self.changes > self.count / ENOUGH {
            self.changes = 0;
            self.errors = Errors(self.observed.tail(&prior.0, WEIGHT));
        }
    }
}

/// What was predicted of a running attempt.
#[derive(Clone, Copy, Debug)]
struct Prediction {
    kind: u64,
    /// When its end was predicted first, and for when.
    first: (Time, Time),
    /// The same for the last time.
    last: (Time, Time),
}

/// The predictions for all running attempts, and how far off earlier ones were.
#[derive(Debug)]
pub(super) struct Predictions {
    running: FxHashMap<AttemptId, Prediction>,
    kinds: FxHashMap<u64, OfKind>,
    /// All kinds together: what a new kind starts from.
    all: OfKind,
    assumed: Errors,
}

impl Default for Predictions {
    fn default() -> Predictions {
        let assumed = Errors::assumed();
        let all = OfKind::new(assumed.clone());
        Predictions { running: FxHashMap::default(), kinds: FxHashMap::default(), all, assumed }
    }
}

impl Predictions {
    /// Notes that the end of an attempt is predicted for a time.
    pub(super) fn predict(&mut self, attempt: AttemptId, kind: u64, now: Time, finish: Time) {
        let new = Prediction { kind, first: (now, finish), last: (now, finish) };
        self.running.entry(attempt).or_insert(new).last = (now, finish);
    }

    /// Notes that an attempt has finished or is being stopped. `mean` is the mean duration of its phase, seconds.
    pub(super) fn end(&mut self, attempt: AttemptId, now: Time, has_finished: bool, mean: f64) {
        let Some(Prediction { kind, first: (at, finish), .. }) = self.running.remove(&attempt) else { return };
        let predicted = (finish - at).seconds();
        if predicted < LEAST * mean {
            return;
        }
        let z = (now - at).seconds() / predicted;
        self.all.note(z, has_finished);
        let errors = &self.all.errors;
        self.kinds.entry(kind).or_insert_with(|| OfKind::new(errors.clone())).note(z, has_finished);
    }

    /// Forgets an attempt of which the end shows nothing.
    pub(super) fn forget(&mut self, attempt: AttemptId) {
        self.running.remove(&attempt);
    }

    /// Forgets the attempts that do not run any more.
    pub(super) fn keep(&mut self, runs: impl Fn(AttemptId) -> bool) {
        self.running.retain(|attempt, _| runs(*attempt));
    }

    /// Brings up to date how far off predictions of a kind are.
    pub(super) fn fit(&mut self, kind: u64) {
        self.all.fit(&self.assumed);
        if let Some(of_kind) = self.kinds.get_mut(&kind) {
            of_kind.fit(&self.all.errors);
        }
    }

    /// Returns the factor by which predictions of a kind may be off in two of three cases; 1 if they are known to come true.
    pub(super) fn within(&self, kind: u64) -> f64 {
        let of_kind = self.kinds.get(&kind).unwrap_or(&self.all);
        let known = if of_kind.errors.are_negligible() { 0.0 } else { of_kind.errors.spread().ln() };
        let within = (known.powi(2) + UNTRIED.powi(2) / (1.0 + of_kind.observed.ended())).sqrt().exp();
        if within < NEGLIGIBLE { 1.0 } else { within }
    }

    /// Returns how far off predictions of a kind are.
    pub(super) fn errors(&self, kind: u64) -> &Errors {
        &self.kinds.get(&kind).unwrap_or(&self.all).errors
    }

    /// Returns the factor by which predictions of a kind are off in two of three cases, in words, and from how many attempts it is known;
    /// `None` if they come true.
    pub(super) fn in_words(&self, kind: u64) -> Option<String> {
        let of_kind = self.kinds.get(&kind)?;
        let (errors, count) = (&of_kind.errors, of_kind.count);
        (!errors.are_negligible())
            .then(|| format!("remaining times are off by a factor of {:.1}, as {count} attempts show", errors.spread()))
    }

    /// Returns when the end of an attempt was predicted, and for when: the first time, if `first` is true, else the last time.
    pub(super) fn of(&self, attempt: AttemptId, first: bool) -> Option<(Time, Time)> {
        self.running.get(&attempt).map(|prediction| if first { prediction.first } else { prediction.last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::ids::{JobId, TaskId};
    use hindmost_math::distribution::Distribution;
    use hindmost_testing::Draw;

    /// Returns the errors that are learned from predictions of 1 s whose attempts take a time of this distribution; every third attempt is
    /// stopped after `stopped` seconds if it has not finished then.
    fn learned(durations: &Distribution, stopped: f64) -> Errors {
        let (mut predictions, mut draw) = (Predictions::default(), Draw(3));
        for index in 0..2000 {
            let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy: 0 };
            predictions.predict(attempt, 1, Time::ZERO, Time::from_seconds(1.0));
            let took = durations.quantile((draw.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30));
            let is_stopped = index % 3 == 0 && took > stopped;
            predictions.end(
                attempt,
                Time::from_seconds(took.min(if is_stopped { stopped } else { took })),
                !is_stopped,
                1.0,
            );
        }
        predictions.fit(1);
        predictions.errors(1).clone()
    }

    #[test]
    fn true_predictions_count_as_exact() {
        assert!(Errors::assumed().are_negligible());
        assert!(learned(&Distribution::constant(1.0).unwrap(), f64::INFINITY).are_negligible());
    }

    #[test]
    fn errors_are_found_although_attempts_are_stopped() {
        let errors = Distribution::log_normal(1.0, 0.31).unwrap();
        let found = learned(&errors, 0.9);
        assert!(!found.are_negligible());
        for x in [0.7, 0.9, 1.1, 1.5] {
            // 2 000 draws and classes a tenth wide.
            let (found, right) = (found.0.exceeds(x), errors.survival(x));
            assert!((found - right).abs() < 0.05, "P(z > {x}) = {found}, {right}");
        }
        assert!((found.spread().ln() - 0.3).abs() < 0.07, "{}", found.spread());
        // An attempt that has passed its prediction takes as long again as the tail says.
        let (left, passed) = (found.left(1.0, 1.2).integral(), 1.2);
        let right = errors.survival_quantile(0.5 * errors.survival(passed)) - passed;
        assert!(left > right, "{left} {right}");
    }
}
