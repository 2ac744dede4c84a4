//! Expected values that are written as TOML, and how they are compared with what a test finds.

use toml::Value;

/// Returns whether a value is the expected one. Numbers may differ by less than a tick of the clock, 1 ns. In place of a
/// number, "< 3" and the like state a limit, and "-" leaves it open. In place of a list, a number or a limit states its
/// length, and "..." at its end leaves the rest open. The lists in a list may leave out their last entries. A table states
/// some keys. "..." at the beginning or at the end of a text leaves it open there.
pub fn matches(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(text), _) if text == "-" => true,
        (Value::Array(expected), Value::Array(actual)) => {
            let mut expected = expanded(expected);
            let is_open = expected.pop_if(|last| last.as_str() == Some("...")).is_some();
            (expected.len() == actual.len() || is_open) && begins(&expected, actual)
        }
        (_, Value::Array(actual)) => matches(expected, &Value::Float(actual.len() as f64)),
        (Value::Table(expected), Value::Table(actual)) => {
            expected.iter().all(|(key, expected)| actual.get(key).is_some_and(|actual| matches(expected, actual)))
        }
        (Value::String(limit), Value::Float(_) | Value::Integer(_)) => is_within(limit, number(actual)),
        (Value::String(expected), actual) => actual.as_str().is_some_and(|actual| is_text(expected, actual)),
        (Value::Boolean(expected), actual) => actual.as_bool() == Some(*expected),
        (Value::Float(_) | Value::Integer(_), Value::Float(_) | Value::Integer(_)) => {
            let (expected, actual) = (number(expected), number(actual));
            (expected - actual).abs() < 0.5e-9 || expected.is_nan() && actual.is_nan()
        }
        _ => false,
    }
}

/// Returns the number in a value.
///
/// # Panics
/// If the value is no number.
pub fn number(value: &Value) -> f64 {
    let found = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    found.unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Returns the list in which the text "6 x VALUE" stands for six equal values, with these written out.
pub fn expanded(list: &[Value]) -> Vec<Value> {
    list.iter().flat_map(repeated).collect()
}

fn repeated(value: &Value) -> Vec<Value> {
    let parts = value.as_str().and_then(|text| text.split_once(" x "));
    let Some((times, repeated)) = parts.and_then(|(times, rest)| Some((times.parse::<usize>().ok()?, rest))) else {
        return vec![value.clone()];
    };
    let repeated = repeated.parse::<Value>().unwrap_or_else(|error| panic!("{value}: {error}"));
    vec![repeated; times]
}

/// Returns whether a list begins with the expected values.
fn begins(expected: &[Value], actual: &[Value]) -> bool {
    let fits = |(expected, actual): (&Value, &Value)| match (expected, actual) {
        (Value::Array(expected), Value::Array(actual)) => begins(expected, actual),
        (expected, actual) => matches(expected, actual),
    };
    expected.len() <= actual.len() && expected.iter().zip(actual).all(fits)
}

fn is_text(expected: &str, actual: &str) -> bool {
    match (expected.strip_prefix("..."), expected.strip_suffix("...")) {
        (Some(rest), None) => actual.ends_with(rest),
        (None, Some(rest)) => actual.starts_with(rest),
        (Some(rest), Some(_)) => actual.contains(rest.trim_end_matches("...")),
        (None, None) => actual == expected,
    }
}

fn is_within(limit: &str, actual: f64) -> bool {
    let Some((sign, limit)) = limit.split_once(' ') else { return false };
    let Ok(limit) = limit.parse::<f64>() else { return false };
    match sign {
        "<" => actual < limit,
        "<=" => actual <= limit,
        ">" => actual > limit,
        ">=" => actual >= limit,
        _ => false,
    }
}

#[test]
fn a_limit_and_a_length_stand_for_numbers_and_lists() {
    let value = |text: &str| text.parse::<Value>().unwrap();
    let agrees = |expected: &str, actual: &str| matches(&value(expected), &value(actual));
    assert!(agrees("3", "3.0000000004") && !agrees("3", "3.0000000006"));
    assert!(agrees("\"< 3\"", "2.9") && !agrees("\"< 3\"", "3.0") && !agrees("\"at least 3\"", "3"));
    assert!(agrees("[\"2 x 0\", 1]", "[0.0, 0.0, 1.0]") && !agrees("[\"2 x 0\"]", "[0.0, 0.0, 1.0]"));
    assert!(agrees("[0, \"...\"]", "[0.0, 1.0]") && !agrees("[1, \"...\"]", "[0.0, 1.0]"));
    assert!(agrees("2", "[7.0, 8.0]") && !agrees("2", "[7.0]") && agrees("\">= 1\"", "[7.0]"));
    assert!(
        agrees("[[0, \"-\", \"won\"]]", "[[0, 5.0, \"won\"]]") && !agrees("[[0, 5, \"lost\"]]", "[[0, 5.0, \"won\"]]")
    );
    assert!(!agrees("3", "\"3\"") && !agrees("\"a\"", "\"ab\"") && agrees("\"a...\"", "\"ab\""));
    assert!(agrees("\"...b\"", "\"ab\"") && agrees("\"...b...\"", "\"abc\"") && !agrees("\"...b...\"", "\"ac\""));
}

#[test]
fn repeated_values_are_written_out() {
    let list: Value = "[1, \"2 x [3, 4]\", \"3 x 0.5\"]".parse().unwrap();
    let written: Value = "[1, [3, 4], [3, 4], 0.5, 0.5, 0.5]".parse().unwrap();
    assert_eq!(Value::Array(expanded(list.as_array().unwrap())), written);
}
