//! Expected values of parameters: by a formula where there is one, otherwise the mean of a large sample with a fixed seed.

use hindmost_core::random::Purpose;
use hindmost_math::distribution::Distribution;

use crate::parameter::{Draws, Family, Parameter};
use crate::tail_index::tail;

/// Number of draws of a sample.
const SAMPLE: u64 = 1 << 16;
/// Number of draws of a sample of counts, each of which needs a sum of [`TERMS_OF_SAMPLE`] terms.
const SAMPLE_OF_COUNTS: u64 = 1 << 13;
/// Number of terms of the sum for the mean of a rounded value; an integral replaces the others.
const TERMS: u32 = 4096;
/// The same for each draw of a sample.
const TERMS_OF_SAMPLE: u32 = 64;
/// Seed of samples.
const SEED: u64 = 0x10ad;

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) value: f64,
    /// Whether the value is the mean of a sample.
    pub(crate) estimated: bool,
}

impl Expected {
    pub(crate) fn exactly(value: f64) -> Expected {
        Expected { value, estimated: false }
    }

    /// Returns the expected value of the product with an independent number.
    pub(crate) fn times(self, other: Expected) -> Expected {
        Expected { value: self.value * other.value, estimated: self.estimated || other.estimated }
    }
}

/// Returns the expected value of a parameter, over all of its own parameters.
///
/// # Errors
/// If it is infinite, or parameters are not valid.
pub(crate) fn of(parameter: &Parameter) -> Result<Expected, String> {
    finite(parameter)?;
    if let Some(value) = by_formula(parameter) {
        return checked(Expected::exactly(value));
    }
    // The mean given the drawn parameters varies less than a draw, and has a finite variance where draws do not.
    let mean = |at| parameter.resolve(&mut Draws::new(SEED, Purpose::Parameter, at)).map(|made| made.mean());
    let sum = (0..SAMPLE).map(mean).sum::<Result<f64, String>>()?;
    checked(Expected { value: sum / SAMPLE as f64, estimated: true })
}

/// Returns the expected value of a parameter of which whole numbers are drawn ([`Parameter::draw_count`]).
///
/// # Errors
/// If it is infinite, or parameters are not valid.
pub(crate) fn of_count(parameter: &Parameter) -> Result<Expected, String> {
    finite(parameter)?;
    match parameter {
        Parameter::Number(number) => return Ok(Expected::exactly(*number)),
        Parameter::Drawn(family) => {
            if let Family::Uniform { min, max } = &**family {
                let (min, max) = (of(min)?, of(max)?);
                let value = f64::midpoint(min.value, max.value);
                return Ok(Expected { value, estimated: min.estimated || max.estimated });
            }
        }
    }
    if has_constant_parameters(parameter) {
        let made = parameter.resolve(&mut Draws::always(0.5))?;
        return checked(Expected::exactly(mean_of_rounded(&made, TERMS)));
    }
    let mean = |at| {
        let made = parameter.resolve(&mut Draws::new(SEED, Purpose::Tasks, at))?;
        Ok(mean_of_rounded(&made, TERMS_OF_SAMPLE))
    };
    let sum = (0..SAMPLE_OF_COUNTS).map(mean).sum::<Result<f64, String>>()?;
    checked(Expected { value: sum / SAMPLE_OF_COUNTS as f64, estimated: true })
}

/// Returns the mean of values that are rounded to whole numbers of at least 1: the sum over k ≥ 1 of the probability of at
/// least k, which is 1 for k = 1, and that of a value of at least k − 1/2 for others. From `terms` on the sum is replaced by
/// the integral of the survival function.
fn mean_of_rounded(made: &Distribution, terms: u32) -> f64 {
    match made {
        Distribution::Constant(constant) => constant.value().round().max(1.0),
        Distribution::Empirical(sample) => {
            let rounded = sample.values().iter().map(|value| value.round().max(1.0));
            rounded.sum::<f64>() / sample.values().len() as f64
        }
        _ => {
            let sum: f64 = (2..=terms).map(|k| made.survival(f64::from(k) - 0.5)).sum();
            1.0 + sum + made.mean() - made.limited_expectation(f64::from(terms))
        }
    }
}

fn checked(expected: Expected) -> Result<Expected, String> {
    if expected.value.is_finite() { Ok(expected) } else { Err(INFINITE.to_owned()) }
}

const INFINITE: &str = "its mean is infinite, so there is no rate that gives a load; give a rate instead";

/// Checks that the mean of a parameter is finite.
fn finite(parameter: &Parameter) -> Result<(), String> {
    let Parameter::Drawn(family) = parameter else { return Ok(()) };
    let heavy = tail(parameter).is_some_and(|index| index <= 1.0);
    // The mean of a Pareto distribution is α/(α − 1) times its minimum. If α may come arbitrarily near to 1, the mean of
    // these means diverges.
    let near_one = match &**family {
        Family::Pareto { alpha, minimum: Some(_), maximum: None, .. } if alpha.is_constant().is_none() => {
            alpha.draw(&mut Draws::always(1.0))? <= 1.0
        }
        _ => false,
    };
    if heavy || near_one { Err(INFINITE.to_owned()) } else { Ok(()) }
}

/// Returns whether the distribution's own parameters are numbers, so that nothing is drawn to resolve it.
fn has_constant_parameters(parameter: &Parameter) -> bool {
    let Parameter::Drawn(family) = parameter else { return true };
    let constant = |parameter: &Parameter| parameter.is_constant().is_some();
    match &**family {
        Family::Constant { value: only } | Family::Exponential { mean: only } => constant(only),
        Family::Uniform { min: one, max: other }
        | Family::LogNormal { mean: one, cv: other }
        | Family::Weibull { shape: one, mean: other } => constant(one) && constant(other),
        Family::Pareto { alpha, mean, minimum, maximum } => {
            constant(alpha) && [mean, minimum, maximum].into_iter().flatten().all(constant)
        }
        Family::Empirical { .. } => true,
    }
}

/// Returns the expected value if there is a formula for it.
fn by_formula(parameter: &Parameter) -> Option<f64> {
    let family = match parameter {
        Parameter::Number(number) => return Some(*number),
        Parameter::Drawn(family) => &**family,
    };
    if has_constant_parameters(parameter) {
        return parameter.resolve(&mut Draws::always(0.5)).ok().map(|made| made.mean());
    }
    match family {
        // The mean of each of these is one of its parameters, whatever the others are.
        Family::Constant { value: mean }
        | Family::Exponential { mean }
        | Family::LogNormal { mean, .. }
        | Family::Weibull { mean, .. }
        | Family::Pareto { mean: Some(mean), .. } => by_formula(mean),
        Family::Uniform { min, max } => Some(f64::midpoint(by_formula(min)?, by_formula(max)?)),
        Family::Pareto { alpha, minimum: Some(minimum), maximum: None, .. } => {
            let alpha = alpha.is_constant()?;
            Some(by_formula(minimum)? * alpha / (alpha - 1.0))
        }
        Family::Pareto { .. } | Family::Empirical { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(text: &str) -> Parameter {
        #[derive(serde::Deserialize)]
        struct One {
            one: Parameter,
        }
        toml::from_str::<One>(&format!("one = {text}")).unwrap().one
    }

    fn near(found: Expected, value: f64, within: f64) -> bool {
        (found.value - value).abs() <= within * value
    }

    #[test]
    fn expected_values_follow_from_the_parameters() {
        for (text, value) in [
            ("3", 3.0),
            ("{ uniform = { min = 1, max = 4 } }", 2.5),
            ("{ pareto = { alpha = 1.5, minimum = 2 } }", 6.0),
            ("{ pareto = { alpha = 2, mean = { uniform = { min = 1, max = 4 } } } }", 2.5),
            ("{ pareto = { alpha = { uniform = { min = 1.5, max = 3 } }, mean = 4 } }", 4.0),
            ("{ pareto = { alpha = 2, minimum = { uniform = { min = 1, max = 4 } } } }", 5.0),
            ("{ log_normal = { mean = { exponential = { mean = 7 } }, cv = 3 } }", 7.0),
        ] {
            let found = of(&parameter(text)).unwrap();
            assert!(!found.estimated && near(found, value, 1e-12), "{text}: {found:?}");
        }
    }

    #[test]
    fn parameters_without_a_formula_are_sampled() {
        // E[α/(α − 1)] for α uniform on [2, 3] is 1 + ln 2. Means given α are between 1.5 and 2, so 2^16 draws have a
        // standard error below 0.001.
        let found = of(&parameter("{ pareto = { alpha = { uniform = { min = 2, max = 3 } }, minimum = 1 } }")).unwrap();
        assert!(found.estimated && near(found, 1.0 + 2f64.ln(), 0.003), "{found:?}");
    }

    #[test]
    fn counts_are_rounded_before_they_are_averaged() {
        let exact = |text: &str, value: f64| {
            let found = of_count(&parameter(text)).unwrap();
            assert!(!found.estimated && near(found, value, 1e-6), "{text}: {found:?}");
        };
        exact("5", 5.0);
        exact("{ uniform = { min = 1, max = 50 } }", 25.5);
        // A value rounds to at least k > 1 if it is at least k − 1/2: 1 + Σ exp(−(k − 1/2)/2) = 1 + e^(−3/4)/(1 − e^(−1/2)).
        exact("{ exponential = { mean = 2 } }", 1.0 + (-0.75f64).exp() / (1.0 - (-0.5f64).exp()));
        // A Pareto distribution of infinite variance: 1 + Σ (k − 1/2)^(−3/2) = 1 + (2√2 − 1)·ζ(3/2) − 2√2, because the sum over
        // half-integers from 1/2 on is (2^(3/2) − 1)·ζ(3/2), and its first term is 2√2.
        let zeta = 2.612_375_348_685_488_f64;
        exact("{ pareto = { alpha = 1.5, minimum = 1 } }", 1.0 + (2f64.powf(1.5) - 1.0) * zeta - 2f64.powf(1.5));
        let nested = "{ exponential = { mean = { uniform = { min = 50, max = 150 } } } }";
        let found = of_count(&parameter(nested)).unwrap();
        // The standard error of 2^13 means, with a standard deviation of 29, is 0.32.
        assert!(found.estimated && near(found, 100.0, 0.013), "{found:?}");
    }

    #[test]
    fn infinite_means_are_errors() {
        for text in [
            "{ pareto = { alpha = { uniform = { min = 1, max = 2 } }, minimum = 1 } }",
            "{ exponential = { mean = { pareto = { alpha = { uniform = { min = 0.5, max = 2 } }, mean = 1 } } } }",
        ] {
            assert!(of(&parameter(text)).unwrap_err().contains("its mean is infinite"), "{text}");
        }
        assert!(
            of_count(&parameter("{ pareto = { alpha = { uniform = { min = 1, max = 2 } }, minimum = 1 } }")).is_err()
        );
    }
}
