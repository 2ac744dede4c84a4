//! Simulated and wall-clock time in whole nanoseconds.
//!
//! Everything inside Hindmost counts in ticks of one nanosecond, so that sums do not depend on the
//! order in which they are taken and two runs with one seed agree to the last bit. Seconds as `f64`
//! appear only where numbers enter (scenarios, logs) and leave (metrics).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// Ticks in one second.
pub const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// An instant since the run began, or a span between two of them, in ticks of 1 ns.
///
/// Addition and subtraction saturate: an instant never wraps, and "before the beginning" is the
/// beginning. The largest instant, [`Time::NEVER`], is some 584 years away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of a run, and the empty span.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const NEVER: Time = Time(u64::MAX);
    /// The smallest span.
    pub const TICK: Time = Time(1);

    /// The instant or span of so many seconds, rounded to the nearest tick.
    ///
    /// Negative values and NaN become zero, values past the end of time become [`Time::NEVER`]:
    /// input is checked where it enters, and a drawn duration from a very heavy tail may be huge.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Time {
        // `as` saturates on both sides and maps NaN to 0.
        Time((seconds * TICKS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// In seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }

    /// The first multiple of `slot` at or after this instant. A zero `slot` changes nothing.
    #[inline]
    pub fn round_up_to(self, slot: Time) -> Time {
        if slot.0 == 0 {
            return self;
        }
        Time(self.0.div_ceil(slot.0).saturating_mul(slot.0))
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_survive_the_round_trip() {
        for seconds in [0.0, 0.1, 1.0, 1500.0, 86_400.5] {
            assert_eq!(Time::from_seconds(seconds).seconds(), seconds);
        }
    }

    #[test]
    fn out_of_range_seconds_saturate() {
        assert_eq!(Time::from_seconds(-1.0), Time::ZERO);
        assert_eq!(Time::from_seconds(f64::NAN), Time::ZERO);
        assert_eq!(Time::from_seconds(f64::INFINITY), Time::NEVER);
        assert_eq!(Time::from_seconds(1e30), Time::NEVER);
    }

    #[test]
    fn rounding_up_to_a_slot_keeps_boundaries() {
        let slot = Time::from_seconds(0.1);
        assert_eq!(Time::from_seconds(0.3).round_up_to(slot), Time::from_seconds(0.3));
        assert_eq!(Time::from_seconds(0.31).round_up_to(slot), Time::from_seconds(0.4));
        assert_eq!(Time(7).round_up_to(Time::ZERO), Time(7));
    }
}
