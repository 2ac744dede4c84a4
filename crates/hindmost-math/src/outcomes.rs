//! Ranges with probabilities: the possible values of an unknown number, each with its probability.
//!
//! A prediction from few observations is such a range: its smallest and largest value are known, and so is the
//! probability of each part of it. Expectations over one range, or over two independent ranges, are sums.

use crate::distribution::Distribution;

/// The possible values of an unknown number, such as a duration in seconds, with their probabilities.
///
/// ```
/// use hindmost_math::outcomes::Outcomes;
///
/// let duration = Outcomes::equally_likely([10.0, 14.0, 30.0, 10.0]).unwrap();
/// assert_eq!((duration.least(), duration.mean(), duration.greatest()), (10.0, 16.0, 30.0));
/// assert_eq!(duration.probability_above(10.0), 0.5);
///
/// // After 12, only 14 and 30 are left: 2 or 18 more, each with probability 1/2.
/// let rest = duration.rest_after(12.0).unwrap();
/// assert_eq!((rest.least(), rest.mean(), rest.greatest()), (2.0, 10.0, 18.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Outcomes {
    /// Values in ascending order, each once, with their probabilities. At least one; the probabilities sum to 1.
    values: Vec<(f64, f64)>,
}

impl Outcomes {
    /// Returns the range of a number that is known.
    pub fn certain(value: f64) -> Outcomes {
        Outcomes { values: vec![(value, 1.0)] }
    }

    /// Returns the range in which every given value has the same probability; a value that is given twice has twice the
    /// probability. Values that are not finite are left out. `None` if no value is left.
    pub fn equally_likely(values: impl IntoIterator<Item = f64>) -> Option<Outcomes> {
        Outcomes::weighted(values.into_iter().map(|value| (value, 1.0)))
    }

    /// Returns the range in which the probability of each value is in proportion to its weight. Pairs with a value that
    /// is not finite, or with a weight that is not positive and finite, are left out. `None` if no pair is left.
    pub fn weighted(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Outcomes> {
        let is_valid = |(value, weight): &(f64, f64)| value.is_finite() && weight.is_finite() && *weight > 0.0;
        let mut values: Vec<(f64, f64)> = pairs.into_iter().filter(is_valid).collect();
        values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        values.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let sum: f64 = values.iter().map(|(_, weight)| weight).sum();
        for (_, weight) in &mut values {
            *weight /= sum;
        }
        (!values.is_empty()).then_some(Outcomes { values })
    }

    /// Returns a range of `parts` equally likely values that stands for a distribution: the medians of `parts` slices of
    /// equal probability. `parts` below 1 counts as 1.
    pub fn of(distribution: &Distribution, parts: u32) -> Outcomes {
        Outcomes::of_tail(distribution, 0.0, parts)
    }

    /// As [`Outcomes::of`], for X − `age` given X > `age`. If X can't be above `age`, this is the certain value 0.
    pub fn of_tail(distribution: &Distribution, age: f64, parts: u32) -> Outcomes {
        let survival = if age <= 0.0 { 1.0 } else { distribution.survival(age) };
        let parts = parts.max(1);
        let slices = (0..parts).rev().map(|part| (f64::from(part) + 0.5) / f64::from(parts));
        let values = slices.map(|above| (distribution.survival_quantile(above * survival) - age.max(0.0)).max(0.0));
        let values = if survival > 0.0 { Outcomes::equally_likely(values) } else { None };
        values.unwrap_or_else(|| Outcomes::certain(0.0))
    }

    /// Returns the values in ascending order, each with its probability.
    pub fn values(&self) -> &[(f64, f64)] {
        &self.values
    }

    /// Returns the least value.
    pub fn least(&self) -> f64 {
        self.values.first().map_or(0.0, |(value, _)| *value)
    }

    /// Returns the greatest value.
    pub fn greatest(&self) -> f64 {
        self.values.last().map_or(0.0, |(value, _)| *value)
    }

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        self.values.iter().map(|(value, probability)| value * probability).sum()
    }

    /// Returns the smallest value that is not exceeded with at least the probability `share`, in [0, 1].
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sum = 0.0;
        // The probabilities are quotients, so their sums have rounding errors.
        let reaches = |(_, probability): &&(f64, f64)| {
            sum += probability;
            sum >= share - 1e-12
        };
        self.values.iter().find(reaches).map_or(self.greatest(), |(value, _)| *value)
    }

    /// Returns P(X > `limit`).
    pub fn probability_above(&self, limit: f64) -> f64 {
        self.values.iter().filter(|(value, _)| *value > limit).map(|(_, probability)| probability).sum()
    }

    /// Returns the range of every value times `factor`, which must be positive.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Outcomes {
        Outcomes { values: self.values.iter().map(|(value, probability)| (value * factor, *probability)).collect() }
    }

    /// Returns the range of X − `age` given X > `age`; `None` if no value is above `age`.
    pub fn rest_after(&self, age: f64) -> Option<Outcomes> {
        let above = self.values.iter().filter(|(value, _)| *value > age);
        Outcomes::weighted(above.map(|(value, probability)| (value - age, *probability)))
    }

    /// Returns the mean of [`Outcomes::rest_after`] to the last bit, without making the range.
    pub fn mean_rest_after(&self, age: f64) -> Option<f64> {
        let above = &self.values[self.values.partition_point(|(value, _)| *value <= age)..];
        // Differences may round to equal numbers. `weighted` adds the weights of these before it divides.
        let merged = || {
            let mut rest = above.iter().map(|(value, weight)| (value - age, *weight)).peekable();
            std::iter::from_fn(move || {
                let (value, mut weight) = rest.next()?;
                while let Some((_, more)) = rest.next_if(|next| next.0 == value) {
                    weight += more;
                }
                Some((value, weight))
            })
        };
        let sum: f64 = merged().map(|(_, weight)| weight).sum();
        (!above.is_empty()).then(|| merged().map(|(value, weight)| value * (weight / sum)).sum())
    }

    /// Returns E\[max(X, `limit`)].
    pub fn mean_of_larger(&self, limit: f64) -> f64 {
        self.values.iter().map(|(value, probability)| value.max(limit) * probability).sum()
    }

    /// Returns E\[min(X, Y)] for an independent Y.
    pub fn mean_of_smaller(&self, other: &Outcomes) -> f64 {
        self.mean_of_first(other, f64::NEG_INFINITY)
    }

    /// Returns E\[max(min(X, Y), `limit`)] for an independent Y.
    pub fn mean_of_first(&self, other: &Outcomes, limit: f64) -> f64 {
        let pairs =
            self.values.iter().flat_map(|(x, p)| other.values.iter().map(move |(y, q)| x.min(*y).max(limit) * p * q));
        pairs.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(values: &[f64]) -> Outcomes {
        Outcomes::equally_likely(values.iter().copied()).unwrap()
    }

    #[test]
    fn the_mean_of_the_rest_has_the_same_bits_without_the_range() {
        // 1e6 makes neighbouring differences round to equal numbers.
        let values: Vec<f64> = (0..200).map(|at| 1.0 + f64::from(at * at % 97) / 7.0).collect();
        let close: Vec<f64> = (0..40).map(|at| 1e-3 + f64::from(at) * f64::EPSILON / 4.0).collect();
        for values in [&values, &close, &vec![3.0]] {
            let range = range(values);
            for age in [0.0, 1e-3, 1.0, 1.5, 7.3, 14.0, 1e6] {
                let expected = range.rest_after(age).map(|rest| rest.mean());
                assert_eq!(range.mean_rest_after(age).map(f64::to_bits), expected.map(f64::to_bits), "{age}");
            }
            // A negative age moves the range up, where close values become equal.
            let expected = range.rest_after(-1e6).map(|rest| rest.mean());
            assert_eq!(range.mean_rest_after(-1e6).map(f64::to_bits), expected.map(f64::to_bits));
        }
    }

    #[test]
    fn equal_values_are_one_value() {
        // 4 of 5 values are 3: probability 4/5.
        let made = range(&[3.0, 8.0, 3.0, 3.0, 3.0]);
        assert_eq!(made.values(), [(3.0, 0.8), (8.0, 0.2)]);
        assert!((made.mean() - 4.0).abs() < 1e-12);
        assert_eq!((made.quantile(0.5), made.quantile(0.8), made.quantile(0.81)), (3.0, 3.0, 8.0));
    }

    #[test]
    fn values_that_are_not_numbers_are_left_out() {
        assert_eq!(Outcomes::equally_likely([f64::NAN, f64::INFINITY]), None);
        assert_eq!(Outcomes::weighted([(1.0, 0.0), (2.0, -1.0), (f64::NAN, 1.0)]), None);
        assert_eq!(Outcomes::weighted([(1.0, 0.0), (2.0, 5.0)]), Some(Outcomes::certain(2.0)));
    }

    #[test]
    fn the_rest_is_conditioned_on_the_age() {
        let made = range(&[2.0, 4.0, 6.0, 6.0]);
        assert_eq!(made.rest_after(1.0).unwrap().values(), [(1.0, 0.25), (3.0, 0.25), (5.0, 0.5)]);
        // An age that equals a value excludes this value, because the attempt has not ended at that age.
        let rest = made.rest_after(4.0).unwrap();
        assert_eq!(rest.values(), [(2.0, 1.0)]);
        assert_eq!(made.rest_after(6.0), None);
    }

    #[test]
    fn expectations_of_larger_and_smaller_values() {
        let (one, other) = (range(&[1.0, 5.0]), range(&[2.0, 4.0]));
        // max(1, 3) and max(5, 3): (3 + 5)/2.
        assert_eq!(one.mean_of_larger(3.0), 4.0);
        // The minima of the four pairs are 1, 1, 2 and 4.
        assert_eq!(one.mean_of_smaller(&other), 2.0);
        // With the limit 3 they become 3, 3, 3 and 4.
        assert_eq!(one.mean_of_first(&other, 3.0), 3.25);
    }

    #[test]
    fn slices_of_a_distribution_have_its_quantiles() {
        // The medians of four slices of the uniform distribution on [0, 8] are 1, 3, 5 and 7.
        let uniform = Distribution::uniform(0.0, 8.0).unwrap();
        let values: Vec<f64> = Outcomes::of(&uniform, 4).values().iter().map(|(value, _)| *value).collect();
        assert!(
            values.iter().zip([1.0, 3.0, 5.0, 7.0]).all(|(made, known)| (made - known).abs() < 1e-12),
            "{values:?}"
        );
        // Above 4 it is uniform on [4, 8]; the medians of two slices are 5 and 7, so 1 and 3 are left.
        let rest = Outcomes::of_tail(&uniform, 4.0, 2);
        assert!((rest.least() - 1.0).abs() < 1e-12 && (rest.greatest() - 3.0).abs() < 1e-12, "{rest:?}");
        assert_eq!(Outcomes::of_tail(&uniform, 9.0, 2), Outcomes::certain(0.0));
        // An exponential distribution does not age.
        let exponential = Distribution::exponential(2.0).unwrap();
        let (new, old) = (Outcomes::of(&exponential, 9), Outcomes::of_tail(&exponential, 7.0, 9));
        let pairs = new.values().iter().zip(old.values());
        assert!(pairs.into_iter().all(|(new, old)| (new.0 - old.0).abs() < 1e-9));
    }
}
