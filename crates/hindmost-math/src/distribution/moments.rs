//! Expected values of truncated durations, of the minimum over copies and of the maximum over tasks.

use super::family::Family;
use super::{Distribution, with_family};

impl Distribution {
    /// Returns E\[min of `copies` independent copies] = ∫₀^∞ S^copies.
    ///
    /// `copies` may be any positive number, so that it can be optimised. ∞ if the integral diverges (Pareto with
    /// α·`copies` ≤ 1), NaN if `copies` is not positive.
    pub fn expected_minimum(&self, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 {
            return f64::NAN;
        }
        if copies == 1.0 {
            return self.mean();
        }
        with_family!(self, family => family.expected_minimum(copies))
    }

    /// Returns E\[(min of `copies` independent copies)²]. Otherwise as [`Self::expected_minimum`].
    pub fn expected_minimum_squared(&self, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 {
            return f64::NAN;
        }
        with_family!(self, family => family.expected_minimum_squared(copies))
    }

    /// Returns the expected duration of a job of `tasks` tasks that start together with `copies` copies each: E\[d] =
    /// ∫₀^∞ 1 − (1 − S^copies)^tasks (Xu & Lau 2015, Eq. 11–12).
    ///
    /// Both arguments may be any positive number. ∞ and NaN as in [`Self::expected_minimum`].
    pub fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 || tasks.is_nan() || tasks <= 0.0 {
            return f64::NAN;
        }
        if tasks == 1.0 {
            return self.expected_minimum(copies);
        }
        with_family!(self, family => family.expected_maximum_of_minima(tasks, copies))
    }

    /// Returns E\[min(`limit`, X)].
    pub fn limited_expectation(&self, limit: f64) -> f64 {
        self.limited_minimum(limit, 1.0)
    }

    /// Returns E\[min(`limit`, X₁, …, X_copies)] = ∫₀^limit S^copies: the expected time to the first result if `copies`
    /// new copies run at the same time as an attempt that takes `limit`. 0 for `limit` ≤ 0; NaN if `copies` is not
    /// positive.
    pub fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        if copies.is_nan() || copies <= 0.0 {
            return f64::NAN;
        }
        if limit == f64::INFINITY {
            return self.expected_minimum(copies);
        }
        with_family!(self, family => family.limited_minimum(limit, copies))
    }

    /// Returns E\[min(`limit`, X)²]; ∞ if `limit` is infinite and the moment diverges.
    pub fn limited_second_moment(&self, limit: f64) -> f64 {
        with_family!(self, family => family.limited_second_moment(limit))
    }
}
