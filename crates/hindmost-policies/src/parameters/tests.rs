//! Tests of a struct with a parameter of each type.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Colour {
    Red,
    Green,
}
crate::words!(Colour: Red = "red", Green = "dark-green");

crate::parameters! {
    /// A parameter of each type.
    pub struct OneOfEach {
        /// of a number
        /// on two lines
        pub share: f64 = 0.25, in 0.0..=1.0;
        /// of a number below
        pub below: f64 = 0.0, in 0.0..1.0;
        /// of a number from
        pub from: f64 = 3.0, in 1e-9.., unit "s";
        /// of a whole number
        pub count: u32 = 8, in 1..=64, unit "copies";
        /// of a switch
        pub switch: bool = false;
        /// of a word or a number
        pub limit: Option<f64> = None, word none, in 0.0..=1.0;
        /// of a word or a number from
        pub price: Option<f64> = Some(2.0), word auto, in 0.0.., unit "s";
        /// of optimal or a number
        pub sigma: Option<f64> = None, word optimal;
        /// of words
        pub colour: Colour = Colour::Green;
    }
}

fn given(values: &[(&str, Value)]) -> Given {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn entries_have_the_declared_defaults_units_and_ranges() {
    let described: Vec<String> = OneOfEach::ENTRIES
        .iter()
        .map(|entry| {
            let unit = entry.unit.map_or_else(String::new, |unit| format!(" [{unit}]"));
            format!("{} = {}{unit}, {}: {}", entry.name, entry.default, entry.about, entry.valid)
        })
        .collect();
    assert_eq!(
        described,
        [
            "share = 0.25, of a number on two lines: a number from 0 to 1",
            "below = 0, of a number below: a number from 0 to below 1",
            "from = 3 [s], of a number from: a number from 1e-9",
            "count = 8 [copies], of a whole number: a whole number from 1 to 64",
            "switch = false, of a switch: true or false",
            "limit = none, of a word or a number: none, or a number from 0 to 1",
            "price = 2 [s], of a word or a number from: auto, or a number from 0",
            "sigma = optimal, of optimal or a number: optimal or a positive number",
            "colour = dark-green, of words: red or dark-green",
        ]
    );
}

#[test]
fn given_parameters_are_read_back_unchanged() {
    let changed = OneOfEach {
        share: 0.5,
        below: 0.75,
        from: 1e-9,
        count: 64,
        switch: true,
        limit: Some(0.0),
        price: None,
        sigma: Some(1.5),
        colour: Colour::Red,
    };
    assert_eq!(changed.given().len(), OneOfEach::ENTRIES.len());
    assert_eq!(OneOfEach::read(&changed.given()), Ok(changed));
    assert_eq!(OneOfEach::default().given(), Given::new());
    let one = OneOfEach { price: None, ..OneOfEach::default() };
    assert_eq!(one.given(), given(&[("price", Value::Word("auto".into()))]));
}

#[test]
fn unknown_names_are_ignored_and_bad_values_refused() {
    let other = given(&[("delta", Value::Number(7.0)), ("count", Value::Number(2.0))]);
    assert_eq!(OneOfEach::read(&other), Ok(OneOfEach { count: 2, ..OneOfEach::default() }));
    let bad = |name, value| OneOfEach::read(&given(&[(name, value)])).unwrap_err().to_string();
    let word = |word: &'static str| Value::Word(word.into());
    assert_eq!(bad("share", Value::Number(1.5)), "share is 1.5, but must be a number from 0 to 1");
    assert_eq!(bad("below", Value::Number(1.0)), "below is 1, but must be a number from 0 to below 1");
    assert_eq!(bad("count", Value::Number(1.5)), "count is 1.5, but must be a whole number from 1 to 64");
    assert_eq!(bad("switch", Value::Number(1.0)), "switch is 1, but must be true or false");
    assert_eq!(bad("limit", word("auto")), "limit is \"auto\", but must be none, or a number from 0 to 1");
    assert_eq!(bad("sigma", Value::Number(0.0)), "sigma is 0, but must be optimal or a positive number");
    assert_eq!(bad("colour", word("blue")), "colour is \"blue\", but must be red or dark-green");
    assert_eq!(bad("switch", word("true")), "switch is \"true\", but must be true or false");
    assert_eq!(bad("sigma", word("")), "sigma is \"\", but must be optimal or a positive number");
    assert!(bad("from", Value::Number(f64::NAN)).starts_with("from is"));
}
