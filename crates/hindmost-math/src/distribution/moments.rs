//! Expectations of durations cut short, of the first of several copies and of the last of several tasks.

use super::family::Family;
use super::{Distribution, with_family};

impl Distribution {
    /// E\[min of `copies` independent copies] = ∫₀^∞ S^copies.
    ///
    /// `copies` may be any positive number, so that it can be optimised over; ∞ where the integral
    /// diverges (Pareto with α·`copies` ≤ 1), NaN where `copies` isn't positive.
    pub fn expected_minimum(&self, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 {
            return f64::NAN;
        }
        if copies == 1.0 {
            return self.mean();
        }
        with_family!(self, family => family.expected_minimum(copies))
    }

    /// E\[(min of `copies` independent copies)²]; otherwise as [`Self::expected_minimum`].
    pub fn expected_minimum_squared(&self, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 {
            return f64::NAN;
        }
        with_family!(self, family => family.expected_minimum_squared(copies))
    }

    /// The expected duration of a job of `tasks` tasks that start together, `copies` copies of each:
    /// E\[d] = ∫₀^∞ 1 − (1 − S^copies)^tasks (Xu & Lau 2015, Eq. 11–12).
    ///
    /// Both may be any positive number. ∞ and NaN as in [`Self::expected_minimum`].
    pub fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 || tasks.is_nan() || tasks <= 0.0 {
            return f64::NAN;
        }
        if tasks == 1.0 {
            return self.expected_minimum(copies);
        }
        with_family!(self, family => family.expected_maximum_of_minima(tasks, copies))
    }

    /// E\[min(`limit`, X)].
    pub fn limited_expectation(&self, limit: f64) -> f64 {
        self.limited_minimum(limit, 1.0)
    }

    /// E\[min(`limit`, X₁, …, X_copies)] = ∫₀^limit S^copies: how long a race lasts against something
    /// known to take `limit`. 0 for `limit` ≤ 0; NaN where `copies` isn't positive.
    pub fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 {
            return f64::NAN;
        }
        if limit == f64::INFINITY {
            return self.expected_minimum(copies);
        }
        with_family!(self, family => family.limited_minimum(limit, copies))
    }

    /// E\[min(`limit`, X)²]; ∞ where it diverges for an infinite `limit`.
    pub fn limited_second_moment(&self, limit: f64) -> f64 {
        with_family!(self, family => family.limited_second_moment(limit))
    }
}
