//! Attempts that start again at some age.

use hindmost_math::distribution::Distribution;

/// Number of quantiles among which the age to start again is sought.
const QUANTILES: u32 = 200;

/// Returns the limit τ such that an attempt that takes longer should start again once that is known, at the age S·τ, and the mean time
/// V = (E\[x; x ≤ τ] + q·S·τ)/(1 − q), q = P(x > τ), until an attempt has finished then. Infinite, with the mean 1, if starting again
/// never pays.
pub(super) fn best_limit(durations: &Distribution, share: f64) -> (f64, f64) {
    let mut best = (f64::INFINITY, 1.0);
    for quantile in 1..QUANTILES {
        let limit = durations.quantile(f64::from(quantile) / f64::from(QUANTILES));
        let over = durations.survival(limit);
        if over >= 1.0 || limit <= 0.0 {
            continue;
        }
        let within = durations.limited_expectation(limit) - limit * over;
        let mean = (within + over * share * limit) / (1.0 - over);
        if mean < best.1 * (1.0 - 1e-6) {
            best = (limit, mean);
        }
    }
    best
}

/// Returns P(T > t) for the chain of attempts that start again at the age `stint` if they take longer than the limit, which has the
/// probability `over`.
pub(super) fn chain_survival(durations: &Distribution, (limit, over): (f64, f64), stint: f64, time: f64) -> f64 {
    let (mut sum, mut reached, mut left) = (0.0, 1.0, time.max(0.0));
    // The attempt that is not started again takes longer than what is left of the time.
    while reached > 1e-6 {
        sum += reached * (durations.survival(left.min(limit)) - over).max(0.0);
        reached *= over;
        if left < stint || stint <= 0.0 {
            // All attempts after this one begin later.
            return (sum + reached).min(1.0);
        }
        left -= stint;
    }
    sum.min(1.0)
}
