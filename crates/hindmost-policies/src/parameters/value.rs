//! The values of parameters, as they are written in names of policies and in scenario files, and the Rust types that
//! they are converted to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use hindmost_math::plain::{Plain, Quoted};

use super::Valid;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A word, such as `optimal`.
    Word(Cow<'static, str>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => write!(f, "{on}"),
            Value::Number(number) => write!(f, "{}", Plain(*number)),
            Value::Word(word) => f.write_str(word),
        }
    }
}

impl Value {
    /// Returns the value as error messages show it: words in quotes.
    pub(super) fn echoed(&self) -> String {
        if let Value::Word(word) = self { Quoted(word).to_string() } else { self.to_string() }
    }
}

/// The values of parameters by name. Parameters without a value here have their defaults.
pub type Given = BTreeMap<String, Value>;

/// The type of a field of [`Parameters`](super::Parameters).
pub trait ParameterType: Copy + PartialEq {
    /// Converts a valid value to this type; `None` if the value has another type.
    fn read(value: &Value) -> Option<Self>;

    /// Converts to the value of a parameter whose valid values are `valid`.
    fn write(self, valid: Valid) -> Value;
}

impl ParameterType for f64 {
    fn read(value: &Value) -> Option<f64> {
        if let Value::Number(number) = value { Some(*number) } else { None }
    }

    fn write(self, _: Valid) -> Value {
        Value::Number(self)
    }
}

impl ParameterType for u32 {
    fn read(value: &Value) -> Option<u32> {
        f64::read(value).map(|number| number as u32)
    }

    fn write(self, _: Valid) -> Value {
        Value::Number(f64::from(self))
    }
}

impl ParameterType for bool {
    fn read(value: &Value) -> Option<bool> {
        if let Value::Switch(on) = value { Some(*on) } else { None }
    }

    fn write(self, _: Valid) -> Value {
        Value::Switch(self)
    }
}

/// A number; `None` stands for the word that the parameter takes in place of a number.
impl ParameterType for Option<f64> {
    fn read(value: &Value) -> Option<Option<f64>> {
        match value {
            Value::Number(number) => Some(Some(*number)),
            Value::Word(_) => Some(None),
            Value::Switch(_) => None,
        }
    }

    fn write(self, valid: Valid) -> Value {
        self.map_or_else(|| Value::Word(Cow::Borrowed(valid.word().unwrap_or_default())), Value::Number)
    }
}

/// An enum with a word for each variant; implemented with [`words!`](crate::words!).
pub trait Words: Copy + PartialEq + 'static {
    /// The words of the variants, in the order of [`Words::ALL`].
    const WORDS: &'static [&'static str];
    /// The variants, in the order of their declaration.
    const ALL: &'static [Self];

    /// Returns the word of this variant.
    fn word(self) -> &'static str;
}

impl<W: Words> ParameterType for W {
    fn read(value: &Value) -> Option<W> {
        let Value::Word(word) = value else { return None };
        W::WORDS.iter().zip(W::ALL).find(|(known, _)| *known == word).map(|(_, variant)| *variant)
    }

    fn write(self, _: Valid) -> Value {
        Value::Word(Cow::Borrowed(self.word()))
    }
}
