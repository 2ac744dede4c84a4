//! Data for the figures of a comparison that are not in its summary: distributions over all jobs, and the attempts of
//! single jobs.

use std::collections::BTreeMap;

use crate::ids::AttemptId;
use crate::timeline::Timeline;

/// Maximum number of different values of a distribution that is kept completely.
const WHOLE: usize = 400;
/// Number of quantiles that are kept of a distribution with more values, at equal steps of the share. As many are kept
/// again above the 99th percentile.
const STEPS: usize = 250;

/// An empirical distribution: a limited number of points, and the share of values at or below each point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cdf {
    /// Number of values in the distribution.
    pub count: u64,
    /// Points as [value, share of all values that are at or below this value], in ascending order. The last share is 1.
    pub points: Vec<[f64; 2]>,
    /// True if every different value is a point. If false, the points are exact, but some values between them are
    /// missing.
    pub whole: bool,
}

impl Cdf {
    /// Builds the distribution of `values`. Values that are not finite are left out.
    pub fn of(mut values: Vec<f64>) -> Cdf {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        // Returns true if the value at this rank is the last of several equal values, or the only one.
        let ends = |at: &usize| values.get(at + 1).is_none_or(|next| *next > values[*at]);
        let different = (0..count).filter(ends).take(WHOLE + 1).count();
        let whole = different <= WHOLE;
        let point = |at: usize| [values[at], (at + 1) as f64 / count as f64];
        let points = if whole {
            (0..count).filter(ends).map(point).collect()
        } else {
            let last = count - 1;
            let coarse = (0..STEPS).map(|step| step * last / STEPS);
            let tail = last - last / 100;
            let fine = (0..=STEPS).map(|step| tail + step * (last - tail) / STEPS);
            let mut ranks: Vec<usize> = coarse.chain(fine).collect();
            ranks.sort_unstable();
            ranks.dedup();
            ranks.into_iter().map(point).collect()
        };
        Cdf { count: count as u64, points, whole }
    }

    /// Returns the smallest point with at least this share of values at or below it; `None` if there are no points.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.points.iter().find(|[_, at]| *at >= share - 1e-12).or(self.points.last()).map(|[value, _]| *value)
    }
}

/// The distributions over the finished jobs of all seeds, for one entry of [`Comparison::results`](super::Comparison).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyCurves {
    /// Flowtimes (job completion times, JCT), seconds.
    pub flowtime: Cdf,
    /// Resource usage of the jobs.
    pub resource: Cdf,
}

/// A representative job under one policy, attempt by attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownJob {
    /// The policy as the user named it.
    pub policy: String,
    /// Why this job was chosen, such as `the slowest job`.
    pub chosen: String,
    /// Seed of the run.
    pub seed: u64,
    /// The job's flowtime under this policy, seconds; `None` if the job did not finish.
    pub flowtime: Option<f64>,
    /// The job's attempts. The timeline has no other job.
    pub timeline: Timeline,
    /// The policy's reasons for starting attempts. Not every attempt has one.
    pub reasons: BTreeMap<AttemptId, String>,
}

#[cfg(test)]
mod tests {
    use hindmost_math::statistics::quantile;

    use super::*;

    #[test]
    fn distributions_of_few_values_are_kept_completely() {
        let cdf = Cdf::of(vec![3.0, 1.0, 2.0, 1.0, f64::NAN]);
        assert_eq!(cdf, Cdf { count: 4, points: vec![[1.0, 0.5], [2.0, 0.75], [3.0, 1.0]], whole: true });
        assert_eq!(Cdf::of(Vec::new()), Cdf { count: 0, points: Vec::new(), whole: true });
        assert_eq!(Cdf::of(vec![7.0; 100_000]).points, [[7.0, 1.0]]);
    }

    #[test]
    fn a_large_distribution_has_a_limited_number_of_points() {
        let values: Vec<f64> = (0..100_003u32).map(|at| f64::from(at.wrapping_mul(2_654_435_761) % 50_021)).collect();
        let cdf = Cdf::of(values.clone());
        assert!(!cdf.whole && cdf.points.len() <= 2 * STEPS + 1, "{}", cdf.points.len());
        let mut values = values;
        for [value, share] in &cdf.points {
            // Among equal values, the share of a point lies between the shares of the first and of the last one.
            let below = values.iter().filter(|other| *other < value).count() as f64 / 100_003.0;
            let up_to = values.iter().filter(|other| *other <= value).count() as f64 / 100_003.0;
            assert!(below < *share && *share <= up_to, "{value} {share}");
        }
        let exact = quantile(&mut values, 0.95).unwrap();
        assert!((cdf.quantile(0.95).unwrap() / exact - 1.0).abs() < 0.01);
        assert_eq!(cdf.quantile(1.0), quantile(&mut values, 1.0));
    }
}
