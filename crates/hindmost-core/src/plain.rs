//! Numbers in messages, as people write them.

use std::fmt;

/// A number with all its digits, with an exponent where it would be a long row of zeros: 0.25, 1e300, 1e-7.
///
/// Reading the text gives the same number again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plain(pub f64);

/// Numbers from here on have an exponent.
const LARGE: f64 = 1e15;
/// And those below this one.
const SMALL: f64 = 1e-6;

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let is_long = size.is_finite() && (size > LARGE || (size > 0.0 && size < SMALL));
        if is_long { write!(f, "{:e}", self.0) } else { write!(f, "{}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::Plain;

    #[test]
    fn long_rows_of_zeros_become_exponents() {
        for (number, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (-3.0, "-3"),
            (1e15, "1000000000000000"),
            (1e16, "1e16"),
            (1e300, "1e300"),
            (-1.5e300, "-1.5e300"),
            (1e-6, "0.000001"),
            (2.5e-7, "2.5e-7"),
            (1e-300, "1e-300"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(Plain(number).to_string(), text);
            assert!(text.parse::<f64>().unwrap() == number || number.is_nan());
        }
    }
}
