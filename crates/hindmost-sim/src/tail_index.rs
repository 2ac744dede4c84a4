//! Tail indices of what is drawn in a scenario.

use crate::parameter::{Draws, Family, Parameter};

/// Returns the tail index of a parameter's values, over the draws of its own parameters; `None` if no Pareto
/// distribution without a limit is involved.
pub(crate) fn tail(parameter: &Parameter) -> Option<f64> {
    own_tail(parameter).into_iter().chain(parameters_tail(parameter)).min_by(f64::total_cmp)
}

/// Returns the tail index of a distribution, given its parameters: the smallest α that they can have. `None` if it is
/// not a Pareto distribution, or has a maximum: draws are then not larger than a parameter.
pub(crate) fn own_tail(parameter: &Parameter) -> Option<f64> {
    let Parameter::Drawn(family) = parameter else { return None };
    match &**family {
        // 1 is the draw that gives the smallest value.
        Family::Pareto { alpha, maximum: None, .. } => alpha.draw(&mut Draws::always(1.0)).ok(),
        _ => None,
    }
}

/// Returns the tail index of the parameters of a distribution to which its values are proportional.
pub(crate) fn parameters_tail(parameter: &Parameter) -> Option<f64> {
    let Parameter::Drawn(family) = parameter else { return None };
    match &**family {
        Family::Constant { value: scale }
        | Family::Exponential { mean: scale }
        | Family::LogNormal { mean: scale, .. }
        | Family::Weibull { mean: scale, .. }
        | Family::Uniform { max: scale, .. } => tail(scale),
        // Values are below the maximum, so both have to be large.
        Family::Pareto { alpha, maximum: Some(maximum), .. } => {
            Some(tail(maximum)? + alpha.draw(&mut Draws::always(1.0)).ok()?)
        }
        Family::Pareto { mean, minimum, maximum: None, .. } => {
            [mean, minimum].into_iter().flatten().filter_map(tail).min_by(f64::total_cmp)
        }
        Family::Empirical { .. } => None,
    }
}
