//! Numbers for the shapes of distributions: what is left of one when its scale is taken away.
//!
//! What policies solve for (σ, tables of clones) depends on the shape only, so it is solved once a
//! shape and not once a job.

use crate::distribution::Distribution;

/// A shape met before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShapeNumber(u64);

/// The shapes met so far.
#[derive(Debug, Default)]
pub struct Shapes {
    known: Vec<(Distribution, ShapeNumber)>,
    next: u64,
}

/// Shapes remembered; with more, the oldest is forgotten and gets a new number when it comes again.
const REMEMBERED: usize = 64;

impl Shapes {
    /// The number of a distribution's shape.
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

/// A distribution of the same shape and a scale that depends on the shape alone; where a parameter
/// names the shape, it is taken over to the last bit.
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
    fn scale_does_not_matter_and_shape_does() {
        let mut shapes = Shapes::default();
        let first = shapes.number(&Distribution::pareto(2.0, 1.3).unwrap());
        assert_eq!(shapes.number(&Distribution::pareto(2.0, 7.7).unwrap()), first);
        assert_ne!(shapes.number(&Distribution::pareto(2.1, 1.3).unwrap()), first);
        assert_ne!(shapes.number(&Distribution::exponential(1.3).unwrap()), first);
    }
}
