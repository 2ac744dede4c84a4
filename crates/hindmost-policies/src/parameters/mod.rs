//! The parameters of a policy: one struct, in which each parameter's name, meaning, default, unit and range are
//! written once.
//!
//! [`parameters!`](crate::parameters!) declares such a struct. The catalogue, the checks of names in scenarios and
//! on the command line, error messages and the reference page are made from it:
//!
//! ```
//! use hindmost_policies::parameters::Parameters;
//!
//! hindmost_policies::parameters! {
//!     /// The parameters of `my_policy`.
//!     pub struct MyParameters {
//!         /// share of the cluster that clones may hold, or none: no limit
//!         pub budget: Option<f64> = None, word none, in 0.0..=1.0;
//!         /// seconds for which an attempt is left alone
//!         pub min_age: f64 = 60.0, in 0.0.., unit "s";
//!     }
//! }
//!
//! let entries = MyParameters::ENTRIES;
//! assert_eq!((entries[0].name, entries[0].default.to_string()), ("budget", "none".to_owned()));
//! assert_eq!(entries[0].valid.to_string(), "none, or a number from 0 to 1");
//! assert_eq!((entries[1].about, entries[1].unit), ("seconds for which an attempt is left alone", Some("s")));
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

/// The parameters of a policy, declared with [`parameters!`](crate::parameters!).
pub trait Parameters: Copy + Default + Send + 'static {
    /// The parameters by name, in the order in which they are listed.
    const ENTRIES: &'static [ParameterEntry];

    /// Returns these values, and the default of each parameter that is not given. Ignores names that are not
    /// parameters of this struct.
    ///
    /// # Errors
    /// If a value is not valid.
    fn read(given: &Given) -> Result<Self, BadValue>;

    /// Returns the parameters that differ from their defaults.
    fn given(&self) -> Given;
}

/// No parameters.
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
    /// Name.
    pub name: &'static str,
    /// Value unless given.
    #[serde(serialize_with = "as_text")]
    pub default: Value,
    /// What it is.
    pub about: &'static str,
    /// The unit of its numbers; `None` for shares, probabilities, ratios and words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// What is valid.
    pub valid: Valid,
}

impl ParameterEntry {
    /// Checks that a value is valid.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, value: &Value) -> Result<(), BadValue> {
        if self.valid.accepts(value) { Ok(()) } else { Err(self.bad(value)) }
    }

    fn bad(&self, value: &Value) -> BadValue {
        BadValue { name: self.name, value: value.echoed(), valid: self.valid }
    }
}

/// Returns a field's value, or its default where it is not given.
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

/// Adds a field to the parameters that are given, where it is not its default.
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

/// A parameter's value that is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}, but must be {valid}")]
pub struct BadValue {
    /// The parameter.
    pub name: &'static str,
    /// The value, as the message echoes it.
    pub value: String,
    /// What is valid.
    pub valid: Valid,
}

/// Values that a parameter may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Valid {
    /// `true` or `false`.
    Switch,
    /// A number from the first to the second, ends included.
    Number(f64, f64),
    /// As `Number`, without the upper end.
    NumberBelow(f64, f64),
    /// A whole number from the first to the second, ends included.
    Count(u32, u32),
    /// The word `optimal`, or a positive number.
    OptimalOrNumber,
    /// The word given first, or a number from the first to the second, ends included.
    WordOrNumber(&'static str, f64, f64),
    /// One of these words.
    OneOf(&'static [&'static str]),
}

impl Valid {
    /// True if a parameter may take this value.
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

    /// The word that stands beside numbers.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Valid::OptimalOrNumber => Some("optimal"),
            Valid::WordOrNumber(word, ..) => Some(word),
            _ => None,
        }
    }
}

/// In words: `a number from 0 to 1`.
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
