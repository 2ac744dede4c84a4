//! Simulated and wall-clock time in whole nanoseconds.
//!
//! Hindmost counts time in ticks of one nanosecond. Sums of whole numbers do not depend on their order, so two runs
//! with one seed agree to the last bit. Seconds as `f64` appear only in input (scenarios, logs) and output (metrics).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// Ticks in one second.
pub const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// An instant since the start of the run, or a duration, in ticks of 1 ns.
///
/// Addition and subtraction saturate: a difference is never negative, and a sum is at most [`Time::NEVER`], about 584
/// years.
///
/// ```
/// use hindmost_core::time::Time;
///
/// let started = Time::from_seconds(1.5);
/// assert_eq!(started, Time(1_500_000_000));
/// assert_eq!((started + Time::from_seconds(0.5)).seconds(), 2.0);
/// assert_eq!(started - Time::from_seconds(9.0), Time::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of a run, or a duration of zero.
    pub const ZERO: Time = Time(0);
    /// The largest value: later than every event.
    pub const NEVER: Time = Time(u64::MAX);
    /// The shortest duration, 1 ns.
    pub const TICK: Time = Time(1);

    /// Converts seconds into ticks, rounded to the nearest tick.
    ///
    /// Negative values and NaN become zero; values that are too large become [`Time::NEVER`]. There is no error,
    /// because invalid input is rejected where it is read, and a duration drawn from a very heavy tail may be too
    /// large.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Time {
        // `as` saturates on both sides and maps NaN to 0.
        Time((seconds * TICKS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// Returns the time in seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }

    /// Returns the first multiple of `slot` at or after this instant. If `slot` is zero, returns this instant.
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
    fn seconds_are_converted_to_ticks_and_back() {
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
    fn a_time_on_a_slot_boundary_is_not_rounded_up() {
        let slot = Time::from_seconds(0.1);
        assert_eq!(Time::from_seconds(0.3).round_up_to(slot), Time::from_seconds(0.3));
        assert_eq!(Time::from_seconds(0.31).round_up_to(slot), Time::from_seconds(0.4));
        assert_eq!(Time(7).round_up_to(Time::ZERO), Time(7));
    }
}
