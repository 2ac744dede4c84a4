//! Lists in which the text "6 x VALUE" stands for six equal values.

use toml::Value;

/// Returns the list with its repeated values written out.
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

#[test]
fn repeated_values_are_written_out() {
    let list: Value = "[1, \"2 x [3, 4]\", \"3 x 0.5\"]".parse().unwrap();
    let expected: Value = "[1, [3, 4], [3, 4], 0.5, 0.5, 0.5]".parse().unwrap();
    assert_eq!(Value::Array(expanded(list.as_array().unwrap())), expected);
}
