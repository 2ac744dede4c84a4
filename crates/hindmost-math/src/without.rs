//! Medians and quantiles of values without some of them, for many such choices from the same values.

use crate::statistics::rank;

/// The value at a place, counted from 0, among sorted values without some of them, which are sorted too. `None` if there are not as many.
fn nth(all: &[f64], without: &[f64], at: usize) -> Option<f64> {
    let until = |values: &[f64], value: f64| values.partition_point(|one| one.total_cmp(&value).is_le());
    let is_before = |value: &f64| until(all, *value).saturating_sub(until(without, *value)) <= at;
    all.get(all.partition_point(is_before)).copied()
}

/// Returns the median of sorted values without some of them, which are sorted too: the mean of the middle two if the number of the
/// others is even. `None` without others.
///
/// ```
/// use hindmost_math::without::median_without;
/// assert_eq!(median_without(&[1.0, 2.0, 2.0, 9.0], &[2.0, 9.0]), Some(1.5));
/// ```
pub fn median_without(all: &[f64], without: &[f64]) -> Option<f64> {
    let count = all.len().checked_sub(without.len()).filter(|count| *count > 0)?;
    Some(f64::midpoint(nth(all, without, (count - 1) / 2)?, nth(all, without, count / 2)?))
}

/// Returns an empirical quantile of sorted values without some of them, which are sorted too: the smallest of the others with at least this
/// share of the others at or below it. `None` without others.
pub fn quantile_without(all: &[f64], without: &[f64], share: f64) -> Option<f64> {
    let count = all.len().checked_sub(without.len()).filter(|count| *count > 0)?;
    nth(all, without, rank(share, count) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{median, quantile};

    #[test]
    fn what_is_left_has_its_median_and_its_quantiles() {
        let all = [1.0, 2.0, 2.0, 2.0, 3.0, 5.0, 8.0, 8.0];
        // Every choice of values that are left out.
        for choice in 0..1_u32 << all.len() {
            let (mut others, mut without) = (Vec::new(), Vec::new());
            for (at, value) in all.iter().enumerate() {
                if choice >> at & 1 == 1 { without.push(*value) } else { others.push(*value) }
            }
            assert_eq!(median_without(&all, &without), median(&mut others), "{without:?}");
            for share in [0.05, 0.5, 0.9] {
                assert_eq!(
                    quantile_without(&all, &without, share),
                    quantile(&mut others, share),
                    "{without:?} {share}"
                );
            }
        }
        assert_eq!(median_without(&[], &[]), None);
    }
}
