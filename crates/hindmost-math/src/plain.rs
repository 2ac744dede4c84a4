//! Formats numbers and quoted texts for messages.

use std::fmt;

/// Formats a number with all its digits, and with an exponent if it would otherwise have many zeros: 0.25, 1e300, 1e-7.
///
/// Parsing the text gives the same number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plain(pub f64);

/// Numbers with a larger absolute value are written with an exponent.
const LARGE: f64 = 1e15;
/// Numbers with a smaller absolute value, except 0, are written with an exponent.
const SMALL: f64 = 1e-6;

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let is_long = size.is_finite() && (size > LARGE || (size > 0.0 && size < SMALL));
        if is_long { write!(f, "{:e}", self.0) } else { write!(f, "{}", self.0) }
    }
}

/// Formats an untrusted text in quotes, with special characters escaped. A long text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a str);

/// Maximum number of characters that [`Quoted`] shows.
const QUOTED: usize = 80;

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(QUOTED) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => write!(f, "{:?}… ({} characters)", &self.0[..end], self.0.chars().count()),
        }
    }
}

/// Writes long numbers in a parser's message with an exponent. Parsers write 1e300 with 301 digits.
pub fn with_plain_numbers(message: &str) -> String {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut plain = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(begin) = rest.find(is_of_number) {
        plain.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let length = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
        let number: Option<f64> = rest[..length].parse().ok().filter(|_| length > LONGEST_UNCHANGED);
        match number {
            Some(number) => plain += &Plain(number).to_string(),
            None => plain.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    plain + rest
}

/// Numbers of at most this many characters stay unchanged. No 64-bit integer is longer.
const LONGEST_UNCHANGED: usize = 24;

#[cfg(test)]
mod tests {
    use super::{Plain, QUOTED, Quoted, with_plain_numbers};

    #[test]
    fn long_numbers_in_messages_become_short() {
        let long = |sign: &str| format!("invalid type: floating point `{sign}{:.1}`, expected u32", 1e300);
        assert_eq!(with_plain_numbers(&long("")), "invalid type: floating point `1e300`, expected u32");
        assert_eq!(with_plain_numbers(&long("-")), "invalid type: floating point `-1e300`, expected u32");
        for same in ["TOML parse error at line 1, column 8", "18446744073709551615 and 0.1", "1.2.3", ""] {
            assert_eq!(with_plain_numbers(same), same);
        }
        let digits = format!("{:.}", 2f64.powi(-100));
        assert_eq!(with_plain_numbers(&digits), "7.888609052210118e-31");
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_quoted() {
        assert_eq!(Quoted("").to_string(), "\"\"");
        assert_eq!(Quoted("a\n\"b\"").to_string(), r#""a\n\"b\"""#);
        let longest = "ü".repeat(QUOTED);
        assert_eq!(Quoted(&longest).to_string(), format!("\"{longest}\""));
        assert_eq!(Quoted(&(longest.clone() + "ü")).to_string(), format!("\"{longest}\"… (81 characters)"));
    }

    #[test]
    fn numbers_with_many_zeros_get_an_exponent() {
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
