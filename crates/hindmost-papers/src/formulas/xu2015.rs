//! Formulas of Xu & Lau 2015: the limit between light and heavy load (section III), problem P2 and its dual method
//! (IV-A), the rule of Mantri (II), and the optimal σ of SDA (V) and ESE (VI).

mod clones;
mod cutoff;
mod dual;
mod sigma;

use hindmost_claims::Measured;
use hindmost_math::distribution::Distribution;

use super::{ANALYSIS, Table, Value, one, text};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("clones/bound-is-below", clones::bound_is_below),
    ("clones/duration-convex", clones::duration_convex),
    ("clones/duration-decreasing", clones::duration_decreasing),
    ("clones/exact", clones::exact_is_best),
    ("clones/gamma", clones::copies_by_gamma),
    ("clones/improvement", clones::improvement),
    ("clones/job-duration", clones::job_duration),
    ("clones/lemma-1", clones::lemma_1),
    ("clones/minimum", clones::minimum),
    ("clones/ratio", clones::ratio),
    ("cutoff/delay", cutoff::delay),
    ("cutoff/equal-delays", cutoff::equal_delays),
    ("cutoff/equation-3", cutoff::equation_3),
    ("cutoff/faster-below", cutoff::faster_below),
    ("cutoff/lambda-6", || cutoff::against_limit(&[6.0])),
    ("cutoff/lambda-30-and-40", || cutoff::against_limit(&[30.0, 40.0])),
    ("cutoff/not-sufficient", cutoff::not_sufficient),
    ("cutoff/theorem-1", cutoff::theorem_1),
    ("cutoff/threshold", cutoff::threshold),
    ("cutoff/two-load-least", cutoff::two_load_least),
    ("dual/distance", dual::distance),
    ("dual/gap", dual::gap),
    ("dual/iterations", dual::iterations),
    ("dual/lyapunov", dual::lyapunov),
    ("dual/positive-steps", dual::positive_steps),
    ("dual/subgradients", dual::subgradients),
    ("dual/tuned", dual::tuned),
    ("ese/interior", sigma::ese_interior),
    ("ese/sigma-increases", sigma::ese_increases),
    ("ese/sigma-near-2", sigma::ese_near_2),
    ("ese/sigma-of-2", sigma::ese_of_2),
    ("mantri/change", sigma::mantri_change),
    ("sda/copies", sigma::sda_copies),
    ("sda/equation-26", sigma::equation_26),
    ("sda/sigma", sigma::sda_sigma),
    ("sda/sigma-of-alpha", sigma::sda_sigma_of_alpha),
    ("sda/sigma-of-mean", sigma::sda_sigma_of_mean),
    ("sda/sigma-of-s", sigma::sda_sigma_of_s),
    ("sda/tau-increases", sigma::tau_increases),
    ("sda/tau-two-below-one", sigma::tau_two_below_one),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[
    ("clones/lemma-1", clones::lemma_1_table),
    ("clones/ratios", clones::ratio_table),
    ("cutoff/limits", cutoff::limits_table),
    ("dual/optimum", dual::optimum_table),
    ("dual/steps", dual::steps_table),
    ("dual/printed-trace", || dual::trace_table(dual::Steps::Printed)),
    ("dual/divided-trace", || dual::trace_table(dual::Steps::Divided)),
    ("ese/ratio", sigma::ese_ratio_table),
    ("ese/optima", sigma::ese_optima_table),
    ("mantri/thresholds", sigma::mantri_table),
    ("sda/optima", sigma::sda_optima_table),
    ("sda/tau", sigma::tau_table),
];

/// Returns the Pareto distribution with this tail index and a mean of 1.
fn pareto(alpha: f64) -> Result<Distribution, String> {
    Distribution::pareto_with_mean(alpha, 1.0).map_err(text)
}

/// Returns a value for each tail index.
fn by_alpha(
    alphas: &[f64],
    value: &str,
    unit: &str,
    of: impl Fn(f64) -> Result<Option<f64>, String>,
) -> Result<Vec<Measured>, String> {
    let one = |alpha: &f64| Ok(Measured::exact(&format!("{ANALYSIS}, α = {alpha}"), value, of(*alpha)?, unit));
    alphas.iter().map(one).collect()
}

/// Returns the largest of these values; −∞ if there are none.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the smallest of these values; ∞ if there are none.
fn smallest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}
