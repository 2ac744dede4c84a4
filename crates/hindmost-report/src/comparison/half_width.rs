//! Means with half of their interval, as text.

use super::significant;

/// Formats a mean with half of its interval, which has two significant digits; the mean ends at the same place.
pub(crate) fn with_half_width(mean: f64, half: f64) -> String {
    let are_plain = half > 0.0 && half.is_finite() && mean.abs() < 1e7 && half < 1e7;
    // The power of ten of the rounded half: 9.96 is 10.
    let power = format!("{half:.1e}").split_once('e').and_then(|(_, power)| power.parse::<i32>().ok());
    match power {
        Some(power) if are_plain && power >= -8 => {
            let digits = (1 - power).max(0) as usize;
            let place = 10f64.powi((power - 1).max(0));
            format!("{:.digits$} ± {:.digits$}", rounded(mean, place), rounded(half, place))
        }
        _ => format!("{} ± {}", significant(mean), significant(half)),
    }
}

/// Rounds a number to a multiple of a power of ten from 1 on; decimals are left to the formatting.
fn rounded(number: f64, place: f64) -> f64 {
    if place > 1.0 { (number / place).round() * place } else { number }
}

/// Returns half of an interval's width; 0 if it is so small that it can only be a rounding error.
pub(crate) fn half_width(mean: f64, [low, high]: [f64; 2]) -> f64 {
    let half = (high - low) / 2.0;
    if half.abs() <= 1e-9 * mean.abs() { 0.0 } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_have_two_digits_and_means_end_at_the_same_place() {
        for (mean, half, expected) in [
            (9.608, 0.3631, "9.61 ± 0.36"),
            (113.1, 0.1231, "113.10 ± 0.12"),
            (1482.3, 1054.9, "1500 ± 1100"),
            (8084.0, 150.4, "8080 ± 150"),
            (5.0, 0.0996, "5.00 ± 0.10"),
            (5.0, 9.96, "5 ± 10"),
            (2.5e9, 1.5e8, "2.500·10⁹ ± 1.500·10⁸"),
            (3.0, 0.0, "3.000 ± 0"),
        ] {
            assert_eq!(with_half_width(mean, half), expected);
        }
    }
}
