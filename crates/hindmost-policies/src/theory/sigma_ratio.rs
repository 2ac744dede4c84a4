//! Computes the expected machine time of a task under SDA's and ESE's rules, for [`super::sigma`].
//!
//! g(r) = c·E\[min(r, Y)] − r is the additional cost of a race at remaining time r, compared with no race. SDA's
//! machine time is E\[x] + E\[g((1−s)·x); (1−s)·x > σ·E\[x]] (Eq. 21–26). ESE's, with the time of the test uniform over
//! [0, x] and c = 2, is E\[x] + E\[(1/x)·∫ g(u) du over σ·E\[x] < u < x] (Eq. 30–33). An expectation over x of h(x)
//! with h(x₀) = 0 is ∫ h′·S from x₀ on, which needs no density. For Pareto there are closed forms, and for a sample the
//! expectation is a sum.

use hindmost_math::distribution::{Distribution, Pareto};
use hindmost_math::numeric::integrate_panels;

/// Relative tolerance of the quadratures.
const TOLERANCE: f64 = 1e-12;

/// Returns E\[R]/E\[x] under SDA's rule, for copies ≥ 2 and a positive mean.
pub(super) fn sda_cost(duration: &Distribution, s: f64, sigma: f64, copies: u32) -> f64 {
    let mean = duration.mean();
    let copies = f64::from(copies);
    let left = 1.0 - s;
    // A task is a straggler if its duration exceeds this.
    let from = sigma * mean / left;
    let change = match duration {
        Distribution::Pareto(pareto) if pareto.maximum().is_none() => sda_pareto(pareto, left, from, copies),
        Distribution::Constant(constant) => sda_sample(&[constant.value()], left, from, copies),
        Distribution::Empirical(sample) => sda_sample(sample.values(), left, from, copies),
        _ => sda_quadrature(duration, left, from, copies),
    };
    1.0 + change / mean
}

/// Returns E\[R]/E\[x] under ESE's rule, for a positive mean.
pub(super) fn ese_cost(duration: &Distribution, sigma: f64) -> f64 {
    let mean = duration.mean();
    let from = sigma * mean;
    let change = match duration {
        Distribution::Pareto(pareto) if pareto.maximum().is_none() => ese_pareto(pareto, from),
        Distribution::Constant(constant) => ese_sample(&[constant.value()], from),
        Distribution::Empirical(sample) => ese_sample(sample.values(), from),
        _ => ese_quadrature(duration, from),
    };
    1.0 + change / mean
}

fn sda_pareto(pareto: &Pareto, left: f64, from: f64, copies: f64) -> f64 {
    let (alpha, minimum) = (pareto.alpha(), pareto.minimum());
    let survival = |x: f64| (minimum / x).powf(alpha);
    // E[x; x > y] for y ≥ μ.
    let beyond = |y: f64| alpha / (alpha - 1.0) * y * survival(y);
    let from = from.max(minimum);
    // An attempt with a remaining time below μ certainly ends before a new copy, so E[min] is its remaining time.
    let certain = from.max(minimum / left);
    let short = copies * left * (beyond(from) - beyond(certain));
    // E[min(r, Y)]/μ = 1 + (1 − (r/μ)^(−ε))/ε with ε = α(c−1) − 1 > 0, averaged over x > certain.
    let excess = alpha * (copies - 1.0) - 1.0;
    let log = (left * certain / minimum).ln().max(0.0);
    let wait = -(-excess * log).exp_m1() / excess + (-excess * log).exp() / (alpha + excess);
    short + copies * minimum * survival(certain) * (1.0 + wait) - left * beyond(from)
}

fn ese_pareto(pareto: &Pareto, from: f64) -> f64 {
    let (alpha, minimum) = (pareto.alpha(), pareto.minimum());
    // ∫ g(u)·E[1/x; x > u] du in units of μ; below μ it is u·α/(α+1).
    let from = from / minimum;
    let short = if from < 1.0 { 0.5 * (1.0 - from * from) } else { 0.0 };
    let y = from.max(1.0);
    let long = (2.0 * y.powf(-alpha) - 2.0 * y.powf(1.0 - 2.0 * alpha) / (2.0 * alpha - 1.0) - y.powf(1.0 - alpha))
        / (alpha - 1.0);
    minimum * alpha / (alpha + 1.0) * (short + long)
}

/// Returns the mean of g((1−s)·x) for x > from over an ascending sample.
fn sda_sample(values: &[f64], left: f64, from: f64, copies: f64) -> f64 {
    let count = values.len() as f64;
    let share = |passed: usize| ((count - passed as f64) / count).powf(copies - 1.0);
    // E[min(r, Y)] is extended from value to value, because r ascends with x.
    let (mut passed, mut at, mut area) = (0, 0.0, 0.0);
    let mut sum = 0.0;
    for &value in values.iter().filter(|&&value| value > from) {
        let r = left * value;
        while passed < values.len() && values[passed] <= r {
            area += (values[passed] - at) * share(passed);
            at = values[passed];
            passed += 1;
        }
        sum += copies * (area + (r - at) * share(passed)) - r;
    }
    sum / count
}

fn ese_sample(values: &[f64], from: f64) -> f64 {
    let count = values.len() as f64;
    // ∫₀^t E[min(u, X)] du = E[min(t,X)·t − min(t,X)²/2].
    let (mut passed, mut sum, mut squares) = (0, 0.0, 0.0);
    let mut area = |t: f64| {
        while passed < values.len() && values[passed] <= t {
            sum += values[passed];
            squares += values[passed] * values[passed];
            passed += 1;
        }
        let later = count - passed as f64;
        (t * (sum + later * t) - 0.5 * (squares + later * t * t)) / count
    };
    let start = area(from);
    let mut total = 0.0;
    for &value in values.iter().filter(|&&value| value > from) {
        total += (2.0 * (area(value) - start) - 0.5 * (value * value - from * from)) / value;
    }
    total / count
}

fn sda_quadrature(duration: &Distribution, left: f64, from: f64, copies: f64) -> f64 {
    let fresh = copies - 1.0;
    let survival = duration.survival(from);
    if survival == 0.0 {
        return 0.0;
    }
    let at_start = copies * duration.limited_minimum(left * from, fresh) - left * from;
    let breaks = breaks(duration, from, left);
    let start = breaks[0].exp();
    let race = integrate_panels(
        |log| {
            let x = log.exp();
            duration.survival(left * x).powf(fresh) * duration.survival(x) * x
        },
        &breaks,
        TOLERANCE,
    )
    .value
        // No copy ends before the first break.
        + (start - from).max(0.0);
    at_start * survival + left * (copies * race - survival * duration.mean_residual(from))
}

fn ese_quadrature(duration: &Distribution, from: f64) -> f64 {
    if duration.survival(from) == 0.0 {
        return 0.0;
    }
    let area = |t: f64| t * duration.limited_expectation(t) - 0.5 * duration.limited_second_moment(t);
    let start_area = area(from);
    let breaks = breaks(duration, from, 1.0);
    let start = breaks[0].exp();
    let value = integrate_panels(
        |log| {
            let t = log.exp();
            let race = 2.0 * duration.limited_expectation(t) - t;
            let mean_race = (2.0 * (area(t) - start_area) - 0.5 * (t * t - from * from)) / t;
            (race - mean_race) * duration.survival(t)
        },
        &breaks,
        TOLERANCE,
    )
    .value;
    // No copy ends before the first break: g(u) = u there, and the integral of its derivative's mean is
    // h(start) = (start² − from²)/(2·start).
    value + if start > from { 0.5 * (start - from * from / start) } else { 0.0 }
}

/// Returns the logarithms at which integrals over x from `from` on are split: at quantiles of x and of the remaining
/// time `left`·x, and at the ends of both supports. The result is not empty. The first logarithm is at `from` or later,
/// and no copy ends between `from` and the first.
fn breaks(duration: &Distribution, from: f64, left: f64) -> Vec<f64> {
    let lower = [1e-20, 1e-9, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75].map(|p| duration.quantile(p));
    let upper = [0.1, 0.01, 1e-4, 1e-8, 1e-16, 1e-40, 1e-100, 1e-300].map(|q| duration.survival_quantile(q));
    let start = from.max(lower[0]).max(f64::MIN_POSITIVE);
    let end = duration.survival_quantile(1e-300).min(duration.maximum()).max(start);
    let mut places: Vec<f64> = lower
        .into_iter()
        .chain(upper)
        .chain([duration.minimum(), duration.maximum()])
        .flat_map(|t| [t, t / left])
        .chain([start, end])
        .filter(|t| *t >= start && *t <= end)
        .map(f64::ln)
        .collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    places
}
