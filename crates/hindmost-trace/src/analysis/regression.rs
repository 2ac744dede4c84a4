//! Linear regression of ln duration on ln bytes read, updated point by point.

use hindmost_core::metrics::Skew;
use hindmost_math::fit::{student_quantile, student_two_sided};

/// The least number of tasks for a regression.
const FEWEST: f64 = 10.0;
/// Level of the test of whether durations depend on the input.
const LEVEL: f64 = 0.01;
/// The least share of the variance that the input must explain.
const LEAST_SHARE: f64 = 0.1;

/// Sums of a linear regression, updated by Welford's method.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Regression {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Regression {
    pub(crate) fn push(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx / self.count;
        self.mean_y += dy / self.count;
        self.xx += dx * (x - self.mean_x);
        self.xy += dx * (y - self.mean_y);
        self.yy += dy * (y - self.mean_y);
    }

    /// Returns the result of the regression; `None` for fewer than 10 points or if one variable does not vary.
    pub(crate) fn skew(&self) -> Option<Skew> {
        let degrees = self.count - 2.0;
        let varies = |squares: f64, mean: f64| (squares / self.count).sqrt() > 1e-9 * mean.abs().max(1.0);
        if self.count < FEWEST || !varies(self.xx, self.mean_x) || !varies(self.yy, self.mean_y) {
            return None;
        }
        let elasticity = self.xy / self.xx;
        let r_squared = (self.xy * self.xy / (self.xx * self.yy)).min(1.0);
        let error = (self.yy * (1.0 - r_squared) / degrees / self.xx).sqrt();
        let half = student_quantile(0.975, degrees) * error;
        // A perfect fit leaves no error to compare with.
        let p = if error > 0.0 { student_two_sided(elasticity / error, degrees) } else { 0.0 };
        Some(Skew {
            tasks: self.count as u64,
            elasticity,
            elasticity_ci95: [elasticity - half, elasticity + half],
            r_squared,
            p,
            explains: p < LEVEL && elasticity > 0.0 && r_squared >= LEAST_SHARE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_regression_matches_a_statistics_package() {
        // Expected values: scipy.stats.linregress.
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let y = [2.1, 2.9, 3.2, 5.1, 4.8, 6.9, 6.1, 8.4, 8.0, 9.9];
        let mut regression = Regression::default();
        for (x, y) in x.into_iter().zip(y) {
            regression.push(x, y);
        }
        let skew = regression.skew().unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b.abs(), "{a} {b}");
        close(skew.elasticity, 0.830_303_030_3);
        close(skew.r_squared, 0.947_550_272_8);
        assert!((skew.p / 2.114_229e-6 - 1.0).abs() < 1e-4, "{}", skew.p);
        close(skew.elasticity_ci95[0], 0.671_037_351_3);
        close(skew.elasticity_ci95[1], 0.989_568_709_3);
        assert!(skew.explains);
    }

    #[test]
    fn without_variation_there_is_no_regression() {
        let mut regression = Regression::default();
        for y in 0..20 {
            regression.push(17.3, f64::from(y));
        }
        assert_eq!(regression.skew(), None);
    }
}
