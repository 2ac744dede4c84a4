//! Watched conditions on an attempt whose rate changes, compared with a computation that follows the attempt step by step.

use hindmost_core::record::Condition;
use hindmost_sim::testing::World;
use proptest::prelude::*;

use super::rates::{notices, watching};

/// An attempt alone on a node: its work, when its remaining time is revealed, the periods of the neighbours, and the
/// progress that is made at the mean rate.
#[derive(Clone, Copy, Debug)]
struct Alone {
    work: f64,
    share: f64,
    quiet: f64,
    busy: f64,
    slowdown: f64,
    mean: f64,
    slow_from: f64,
}

/// The state of the attempt at a time.
#[derive(Clone, Copy, Debug)]
struct State {
    at: f64,
    done: f64,
    slowdown: f64,
}

impl Alone {
    fn world(&self) -> World {
        let world = World::machines(1).neighbour_on(0, self.quiet, self.busy, self.slowdown).slow_from(self.slow_from);
        let knowledge = if self.share == 0.0 { "oracle".to_owned() } else { format!("progress({})", self.share) };
        world.knowledge(&knowledge).job("a").tasks([[self.work]]).mean(self.mean)
    }

    /// Returns the states at the beginning of each period, and the finish.
    fn periods(&self) -> (Vec<State>, f64) {
        let (mut at, mut done, mut is_busy, mut states) = (0.0, 0.0, false, Vec::new());
        loop {
            let (length, slowdown) = if is_busy { (self.busy, self.slowdown) } else { (self.quiet, 1.0) };
            states.push(State { at, done, slowdown });
            let left = (self.work - done) * slowdown;
            if left <= length {
                return (states, at + left);
            }
            (at, done, is_busy) = (at + length, done + length / slowdown, !is_busy);
        }
    }

    fn becomes_slow(&self) -> bool {
        self.slow_from > 0.0 && self.work > self.mean
    }

    fn progress(&self, done: f64) -> f64 {
        let until = self.mean * self.slow_from;
        if !self.becomes_slow() {
            done / self.work
        } else if done < until {
            done / self.mean
        } else {
            self.slow_from + (1.0 - self.slow_from) * (done - until) / (self.work - until)
        }
    }

    /// Returns the work after which the remaining time is revealed.
    fn reveal(&self) -> f64 {
        let until = self.mean * self.slow_from;
        if self.becomes_slow() && self.share > 0.0 {
            until + (self.share - self.slow_from).max(0.0) / (1.0 - self.slow_from) * (self.work - until)
        } else {
            self.work * self.share
        }
    }

    /// Returns when the attempt has done this much work.
    fn when(&self, work: f64) -> f64 {
        let (states, _) = self.periods();
        let state = states.iter().rev().find(|state| state.done <= work).unwrap();
        state.at + (work - state.done) * state.slowdown
    }

    /// Returns when the remaining time at the present rate is above `limit` for the first time: when it is revealed or
    /// when the rate changes, because it falls in between.
    fn remaining_above(&self, limit: f64) -> Option<f64> {
        let revealed = self.when(self.reveal());
        let (states, finish) = self.periods();
        let starts = states.iter().map(|state| (state.at, state.slowdown)).filter(|(at, _)| *at >= revealed);
        let slowdown = states.iter().rev().find(|state| state.at <= revealed).unwrap().slowdown;
        let moments = std::iter::once((revealed, slowdown)).chain(starts);
        let left = |at: f64| {
            let state = states.iter().rev().find(|state| state.at <= at).unwrap();
            self.work - state.done - (at - state.at) / state.slowdown
        };
        moments.filter(|(at, _)| *at < finish).find(|(at, slowdown)| left(*at) * slowdown > limit).map(|(at, _)| at)
    }

    /// Returns the first of many times at which the average progress is below `rate` per second.
    fn lags(&self, rate: f64, after: f64, step: f64) -> Option<f64> {
        let (states, finish) = self.periods();
        let mut at = after + step;
        while at < finish {
            let state = states.iter().rev().find(|state| state.at <= at).unwrap();
            if self.progress(state.done + (at - state.at) / state.slowdown) < rate * at {
                return Some(at);
            }
            at += step;
        }
        None
    }
}

prop_compose! {
    fn any_attempt()(
        work in 1.0..20.0f64, share in prop_oneof![Just(0.0), 0.05..0.95f64], quiet in 0.3..8.0f64,
        busy in 0.3..8.0f64, slowdown in 1.1..6.0f64, mean in 1.0..20.0f64,
        slow_from in prop_oneof![Just(0.0), 0.1..0.8f64],
    ) -> Alone {
        Alone { work, share, quiet, busy, slowdown, mean, slow_from }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(300, 3000)))]

    #[test]
    fn remaining_times_are_tested_after_each_change(attempt in any_attempt(), limit in 0.0..30.0f64) {
        let run = watching(&attempt.world(), Condition::RemainingAbove(limit));
        let (_, finish) = attempt.periods();
        prop_assert!((run.job("a").finish - finish).abs() < 1e-6);
        let met = notices(&run).into_iter().find(|notice| notice.2).map(|notice| notice.0);
        match (met, attempt.remaining_above(limit)) {
            (None, None) => {}
            (Some(met), Some(expected)) => prop_assert!((met - expected).abs() < 1e-6, "{met}, not {expected}"),
            (met, expected) => prop_assert!(false, "{met:?}, not {expected:?}"),
        }
        // Every report after the first notice is the finish at the rate of its period.
        for (at, expected_finish, _) in notices(&run) {
            let (states, _) = attempt.periods();
            let state = states.iter().rev().find(|state| state.at <= at + 1e-8).unwrap();
            let expected = state.at + (attempt.work - state.done) * state.slowdown;
            prop_assert!((expected_finish.unwrap() - expected).abs() < 1e-6, "at {at}: {expected_finish:?}, not {expected}");
        }
    }

    #[test]
    fn lagging_is_tested_along_all_rates(attempt in any_attempt(), rate in 0.02..1.0f64, after in 0.0..10.0f64) {
        const STEP: f64 = 1e-3;
        let run = watching(&attempt.world(), Condition::Lagging { rate, after });
        let met = notices(&run).into_iter().find(|notice| notice.2).map(|notice| notice.0);
        match (met, attempt.lags(rate, after, STEP)) {
            (None, None) => {}
            (Some(met), Some(expected)) => prop_assert!((met - expected).abs() < 2.0 * STEP, "{met}, not {expected}"),
            // It may lag for a moment between two steps.
            (Some(met), None) => {
                let (states, _) = attempt.periods();
                let state = states.iter().rev().find(|state| state.at <= met).unwrap();
                let progress = attempt.progress(state.done + (met - state.at) / state.slowdown);
                prop_assert!(met > after && progress < rate * met + 1e-6, "{met}");
            }
            (None, expected) => prop_assert!(false, "not at {expected:?}"),
        }
    }
}
