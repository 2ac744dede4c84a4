//! Shapes of distributions. Two distributions have the same shape if multiplying one by a factor gives the other.
//!
//! Some results of policies (σ, tables of clones) depend only on the shape. They are computed once per shape instead of
//! once per job.

use crate::distribution::Distribution;

/// The number that [`Shapes`] gives to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShapeNumber(u64);

/// Gives equal numbers to distributions of the same shape.
#[derive(Debug, Default)]
pub struct Shapes {
    known: Vec<(Distribution, ShapeNumber)>,
    next: u64,
}

/// Maximum number of remembered shapes. Beyond it, the oldest shape is removed, and gets a new number if it occurs
/// again.
const REMEMBERED: usize = 64;

impl Shapes {
    /// Returns the number of a distribution's shape.
    pub fn number(&mut self, distribution: &Distribution) -> ShapeNumber {
        let shape = shape(distribution);
        if let Some((_, number)) = self.known.iter().rev().find(|(known, _)| *known == shape) {
            return *number;
        }
        if self.known.len() == REMEMBERED {
            self.known.remove(0);
        }
        let number = ShapeNumber(self.next);
        self.next += 1;
        self.known.push((shape, number));
        number
    }
}

/// Returns a distribution that represents the shape: it is equal for all distributions of the same shape. A parameter
/// that defines the shape is copied without rounding.
pub fn shape(distribution: &Distribution) -> Distribution {
    let canonical = match distribution {
        Distribution::Pareto(pareto) if pareto.maximum().is_none() => Distribution::pareto(pareto.alpha(), 1.0),
        Distribution::LogNormal(log_normal) => Distribution::log_normal(1.0, log_normal.cv()),
        Distribution::Weibull(weibull) => Distribution::weibull(weibull.shape(), 1.0),
        Distribution::Exponential(_) => Distribution::exponential(1.0),
        Distribution::Constant(_) => Distribution::constant(1.0),
        _ => return distribution.with_mean(1.0),
    };
    canonical.unwrap_or_else(|_| distribution.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_depends_on_shape_and_not_on_scale() {
        let mut shapes = Shapes::default();
        let first = shapes.number(&Distribution::pareto(2.0, 1.3).unwrap());
        assert_eq!(shapes.number(&Distribution::pareto(2.0, 7.7).unwrap()), first);
        assert_ne!(shapes.number(&Distribution::pareto(2.1, 1.3).unwrap()), first);
        assert_ne!(shapes.number(&Distribution::exponential(1.3).unwrap()), first);
    }
}
