//! Typed parameters of policies. A policy declares one struct, which states the name, meaning, default, unit and range
//! of each parameter once.
//!
//! [`parameters!`](crate::parameters!) declares such a struct. The catalogue, the checks of parameters in scenarios and
//! on the command line, their error messages and the reference page use it:
//!
//! ```
//! use hindmost_policies::parameters::Parameters;
//!
//! hindmost_policies::parameters! {
//!     /// The parameters of `my_policy`.
//!     pub struct MyParameters {
//!         /// share of the cluster that clones may hold, or none: no limit
//!         pub budget: Option<f64> = None, word none, in 0.0..=1.0;
//!         /// age below which an attempt gets no backup
//!         pub min_age: f64 = 60.0, in 0.0.., unit "s";
//!     }
//! }
//!
//! let entries = MyParameters::ENTRIES;
//! assert_eq!((entries[0].name, entries[0].default.to_string()), ("budget", "none".to_owned()));
//! assert_eq!(entries[0].valid.to_string(), "none, or a number from 0 to 1");
//! assert_eq!((entries[1].about, entries[1].unit), ("age below which an attempt gets no backup", Some("s")));
//!
//! let changed = MyParameters { budget: Some(0.5), ..MyParameters::default() };
//! assert_eq!(changed.given().into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(), [
//!     "budget=0.5"
//! ]);
//! assert_eq!(MyParameters::read(&changed.given()), Ok(changed));
//! ```

use std::fmt;

use hindmost_math::plain::Plain;
use serde::{Serialize, Serializer};

mod declare;
mod value;

pub use value::{Given, ParameterType, Value, Words};

/// A struct of a policy's parameters, declared with [`parameters!`](crate::parameters!).
pub trait Parameters: Copy + Default + Send + 'static {
    /// The entries of all parameters, in the order in which the catalogue lists them.
    const ENTRIES: &'static [ParameterEntry];

    /// Returns a struct with the given values. Parameters that are not given have their defaults. Ignores names that
    /// are not parameters of this struct.
    ///
    /// # Errors
    /// If a value is not valid.
    fn read(given: &Given) -> Result<Self, BadValue>;

    /// Returns the parameters that differ from their defaults.
    fn given(&self) -> Given;
}

/// The parameters of a policy that has none.
impl Parameters for () {
    const ENTRIES: &'static [ParameterEntry] = &[];

    fn read(_: &Given) -> Result<(), BadValue> {
        Ok(())
    }

    fn given(&self) -> Given {
        Given::new()
    }
}

/// A parameter as the catalogue lists it.
#[derive(Debug, Serialize)]
pub struct ParameterEntry {
    /// The parameter's name.
    pub name: &'static str,
    /// The parameter's value if none is given.
    #[serde(serialize_with = "as_text")]
    pub default: Value,
    /// The parameter's meaning.
    pub about: &'static str,
    /// The unit of the parameter's numbers; `None` for shares, probabilities, ratios and words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// The parameter's valid values.
    pub valid: Valid,
}

impl ParameterEntry {
    /// Checks that a value is valid.
    ///
    /// # Errors
    /// If the value is not valid.
    pub fn check(&self, value: &Value) -> Result<(), BadValue> {
        if self.valid.accepts(value) { Ok(()) } else { Err(self.bad(value)) }
    }

    fn bad(&self, value: &Value) -> BadValue {
        BadValue { name: self.name, value: value.echoed(), valid: self.valid }
    }
}

/// Returns a field's given value, or its default if none is given.
///
/// # Errors
/// If the value is not valid.
#[doc(hidden)] // parameters! calls it
pub fn read_field<T: ParameterType>(
    given: &Given,
    entries: &[ParameterEntry],
    name: &str,
    default: T,
) -> Result<T, BadValue> {
    let entry = entries.iter().find(|entry| entry.name == name);
    let Some((value, entry)) = given.get(name).zip(entry) else { return Ok(default) };
    entry.check(value)?;
    T::read(value).ok_or_else(|| entry.bad(value))
}

/// Adds a field's value to `given` unless it is the default.
#[doc(hidden)] // parameters! calls it
pub fn write_field<T: ParameterType>(given: &mut Given, entries: &[ParameterEntry], name: &str, value: T, default: T) {
    let entry = entries.iter().find(|entry| entry.name == name);
    if let Some(entry) = entry.filter(|_| value != default) {
        given.insert(name.to_owned(), value.write(entry.valid));
    }
}

fn as_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The error for a parameter's value that is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}, but must be {valid}")]
pub struct BadValue {
    /// The parameter's name.
    pub name: &'static str,
    /// The value as text, words in quotes.
    pub value: String,
    /// The valid values.
    pub valid: Valid,
}

/// The values that a parameter may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Valid {
    /// `true` or `false`.
    Switch,
    /// A number from the first to the second, both included.
    Number(f64, f64),
    /// A number from the first (included) to the second (excluded).
    NumberBelow(f64, f64),
    /// A whole number from the first to the second, both included.
    Count(u32, u32),
    /// The word `optimal`, or a positive number.
    OptimalOrNumber,
    /// This word, or a number from the first to the second, both included.
    WordOrNumber(&'static str, f64, f64),
    /// One of these words.
    OneOf(&'static [&'static str]),
}

impl Valid {
    /// Returns true if a parameter may take this value.
    pub fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Valid::Switch, Value::Switch(_)) => true,
            (Valid::Number(low, high) | Valid::WordOrNumber(_, low, high), Value::Number(number)) => {
                (low..=high).contains(number)
            }
            (Valid::NumberBelow(low, high), Value::Number(number)) => (low..high).contains(number),
            (Valid::Count(low, high), Value::Number(number)) => {
                number.fract() == 0.0 && (f64::from(low)..=f64::from(high)).contains(number)
            }
            (Valid::OptimalOrNumber, Value::Number(number)) => number.is_finite() && *number > 0.0,
            (Valid::OptimalOrNumber | Valid::WordOrNumber(..), Value::Word(word)) => self.word() == Some(word),
            (Valid::OneOf(words), Value::Word(word)) => words.contains(&word.as_ref()),
            _ => false,
        }
    }

    /// Returns the word that is valid in place of a number; `None` if there is no such word.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Valid::OptimalOrNumber => Some("optimal"),
            Valid::WordOrNumber(word, ..) => Some(word),
            _ => None,
        }
    }
}

/// Writes the valid values in words: `a number from 0 to 1`.
impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Valid::Switch => f.write_str("true or false"),
            Valid::Number(low, f64::MAX) => write!(f, "a number from {}", Plain(low)),
            Valid::Number(low, high) => write!(f, "a number from {} to {}", Plain(low), Plain(high)),
            Valid::NumberBelow(low, high) => write!(f, "a number from {} to below {}", Plain(low), Plain(high)),
            Valid::Count(low, high) => write!(f, "a whole number from {low} to {high}"),
            Valid::OptimalOrNumber => f.write_str("optimal or a positive number"),
            Valid::WordOrNumber(word, low, high) => write!(f, "{word}, or {}", Valid::Number(low, high)),
            Valid::OneOf(words) => f.write_str(&words.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests;
