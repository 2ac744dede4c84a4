//! The methods of a family of distributions, by quadrature if no closed form is known.

use crate::numeric::integrate_panels;

/// Relative tolerance of the quadratures.
pub(super) const TOLERANCE: f64 = 1e-12;

/// Levels of the cumulative distribution at which an integration range is split, ascending. Below the first level the
/// survival is 1 in double precision.
const LOWER_LEVELS: [f64; 8] = [1e-20, 1e-9, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75];
/// Levels of the survival at which an integration range is split, descending. The area beyond the last level is
/// negligible: unlimited tails that are heavy enough to matter have closed forms.
const UPPER_LEVELS: [f64; 8] = [0.1, 0.01, 1e-4, 1e-8, 1e-16, 1e-40, 1e-100, 1e-300];

/// A family of distributions. S is the survival function, S(t) = P(X > t), and F = 1 − S. A number of copies may be any
/// real number above 0, and a number of tasks any real number from 1 on.
pub(super) trait Family {
    fn mean(&self) -> f64;
    fn second_moment(&self) -> Option<f64>;
    fn sd(&self) -> Option<f64>;
    fn minimum(&self) -> f64;
    /// The supremum of the support; ∞ if there is none.
    fn maximum(&self) -> f64;
    fn cdf(&self, t: f64) -> f64;
    fn survival(&self, t: f64) -> f64;
    fn quantile(&self, p: f64) -> f64;
    fn survival_quantile(&self, q: f64) -> f64;
    /// E\[min(limit, X)²] = ∫₀^limit 2t·S(t) dt.
    fn limited_second_moment(&self, limit: f64) -> f64;
    /// E\[X − age | X > age] for age > 0; 0 if S(age) = 0.
    fn mean_residual(&self, age: f64) -> f64;

    /// P(X > t | X > age) for t ≥ age; 0 if S(age) = 0.
    fn conditional_survival(&self, age: f64, t: f64) -> f64 {
        let survival = self.survival(age);
        if survival > 0.0 { self.survival(t) / survival } else { 0.0 }
    }

    /// E\[min(limit, X₁, …, X_copies)] = ∫₀^limit S^copies.
    fn limited_minimum(&self, limit: f64, copies: f64) -> f64 {
        integrate_composite(self, limit, 1.0, copies, Power::One)
    }

    /// E\[min(X₁, …, X_copies)] = ∫₀^∞ S^copies.
    fn expected_minimum(&self, copies: f64) -> f64 {
        self.limited_minimum(f64::INFINITY, copies)
    }

    /// E\[min(X₁, …, X_copies)²] = ∫₀^∞ 2t·S^copies; ∞ if the integral diverges.
    fn expected_minimum_squared(&self, copies: f64) -> f64 {
        integrate_composite(self, f64::INFINITY, 1.0, copies, Power::Two)
    }

    /// Expected maximum over `tasks` tasks of the minimum over `copies` copies: ∫₀^∞ 1 − (1 − S^copies)^tasks.
    fn expected_maximum_of_minima(&self, tasks: f64, copies: f64) -> f64 {
        integrate_composite(self, f64::INFINITY, tasks, copies, Power::One)
    }
}

/// Which moment of a composite duration is integrated. A composite duration is the maximum over tasks of the minimum
/// over copies; C is its survival function ([`composite_survival`]).
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Power {
    /// The first moment, ∫ C(t) dt.
    One,
    /// The second moment, ∫ 2t·C(t) dt.
    Two,
}

/// Returns C = 1 − (1 − s^copies)^tasks: the probability that the maximum of `tasks` durations, each the minimum of
/// `copies`, is larger than a time that one copy exceeds with probability s, `survival`.
pub(super) fn composite_survival(survival: f64, tasks: f64, copies: f64) -> f64 {
    let one_task = if copies == 1.0 { survival } else { survival.powf(copies) };
    if tasks == 1.0 { one_task } else { -(tasks * (-one_task).ln_1p()).exp_m1() }
}

/// Returns a moment of min(limit, X), where X is the maximum of `tasks` durations, each of which is the minimum of
/// `copies` draws.
///
/// Integrates over ln t in panels that are split at quantiles of X, so that the result is accurate for wide ranges and
/// steep tails.
pub(super) fn integrate_composite<F: Family + ?Sized>(
    family: &F,
    limit: f64,
    tasks: f64,
    copies: f64,
    power: Power,
) -> f64 {
    let lower = |p: f64| {
        // (1 − S^copies)^tasks = p, solved for F.
        let one_task = p.powf(1.0 / tasks);
        let cdf = -((-one_task).ln_1p() / copies).exp_m1();
        family.quantile(cdf)
    };
    let upper = |q: f64| {
        let one_task = if tasks == 1.0 { q } else { -((-q).ln_1p() / tasks).exp_m1() };
        family.survival_quantile(one_task.powf(1.0 / copies))
    };
    let start = lower(LOWER_LEVELS[0]).max(family.minimum()).max(f64::MIN_POSITIVE);
    let area = |t: f64| if power == Power::One { t } else { t * t };
    if limit <= start {
        return area(limit.max(0.0));
    }
    let end = limit.min(upper(UPPER_LEVELS[UPPER_LEVELS.len() - 1])).min(family.maximum());
    let mut breaks = vec![start.ln()];
    let inner = LOWER_LEVELS[1..].iter().map(|&p| lower(p)).chain(UPPER_LEVELS.iter().map(|&q| upper(q)));
    for t in inner.chain([end]) {
        let t = t.min(end);
        let last = breaks[breaks.len() - 1];
        if t.is_finite() && t.ln() > last {
            breaks.push(t.ln());
        }
    }
    let integrand = |log: f64| {
        let t = log.exp();
        let survival = composite_survival(family.survival(t), tasks, copies);
        if power == Power::One { survival * t } else { 2.0 * survival * t * t }
    };
    area(start) + integrate_panels(integrand, &breaks, TOLERANCE).value
}

/// Returns ∫₁^ratio y^(−exponent) dy for a ratio ≥ 1, which may be ∞.
pub(super) fn power_integral(exponent: f64, ratio: f64) -> f64 {
    let log = ratio.ln();
    let excess = exponent - 1.0;
    if excess == 0.0 {
        log
    } else if ratio == f64::INFINITY {
        if excess > 0.0 { 1.0 / excess } else { f64::INFINITY }
    } else {
        -(-excess * log).exp_m1() / excess
    }
}
