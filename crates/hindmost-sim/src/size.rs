//! Amounts of data in scenario files: numbers of bytes, or texts with a unit, such as `"128MB"`.

use std::fmt;
use std::path::Path;

use hindmost_core::resources::parse_size;
use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Plain;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::parameter::{Draws, Parameter};

/// Amounts must be below this number of bytes.
pub(crate) const LARGEST: f64 = 1e15;

/// Pattern of the texts that [`parse_size`] reads.
pub(crate) const SIZE: &str = r"^\s*[0-9.]+\s*([kKmMgGtT]([iI]?[bB])?|[bB])\s*$";

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(pub f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() < LARGEST { f.write_str(&with_unit(self.0)) } else { write!(f, "{} bytes", Plain(self.0)) }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&with_unit(self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct NumberOrText;

        impl Visitor<'_> for NumberOrText {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"128MB\", or a number of bytes")
            }

            fn visit_f64<E>(self, number: f64) -> Result<Bytes, E> {
                Ok(Bytes(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Bytes, E> {
                Ok(Bytes(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Bytes, E> {
                Ok(Bytes(number as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
                parse_size(text).map(Bytes).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(NumberOrText)
    }
}

/// Formats an amount in the largest unit in which it is a whole number.
fn with_unit(bytes: f64) -> String {
    let units = [(4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")];
    let whole = units.into_iter().map(|(power, unit)| (bytes / 1024f64.powi(power), unit));
    let found = whole.into_iter().find(|(amount, _)| *amount >= 1.0 && amount.fract() == 0.0);
    found.map_or_else(|| format!("{bytes}B"), |(amount, unit)| format!("{amount}{unit}"))
}

/// An amount of data, or a distribution of amounts, whose own parameters are amounts, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Size(Parameter);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_constant() {
            Some(bytes) => Bytes(bytes).serialize(serializer),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let mut value = toml::Value::deserialize(deserializer)?;
        to_bytes(&mut value).map_err(D::Error::custom)?;
        Parameter::deserialize(value).map(Size).map_err(|error| D::Error::custom(error.message()))
    }
}

/// Converts sizes with a unit to numbers of bytes, except in names of files.
fn to_bytes(value: &mut toml::Value) -> Result<(), String> {
    match value {
        toml::Value::String(text) => *value = toml::Value::Float(parse_size(text)?),
        toml::Value::Table(table) => {
            for (_, inner) in table.iter_mut().filter(|(key, _)| *key != "file") {
                to_bytes(inner)?;
            }
        }
        _ => {}
    }
    Ok(())
}

impl Size {
    /// Reads the files that the size names, relative to a folder.
    ///
    /// # Errors
    /// Returns the errors of [`Parameter::load`].
    pub(crate) fn load(&mut self, folder: &Path) -> Result<(), String> {
        self.0.load(folder)
    }

    /// Draws the size's own parameters and returns the resulting distribution of amounts, in bytes.
    ///
    /// # Errors
    /// If the drawn parameters are not valid, or the mean is not from 0 to below [`LARGEST`].
    pub(crate) fn resolve(&self, draws: &mut Draws) -> Result<Distribution, String> {
        let made = self.0.resolve(draws)?;
        if (0.0..LARGEST).contains(&made.mean()) {
            Ok(made)
        } else {
            Err(format!("its mean is {} bytes, but must be from 0 to below 10^15", Plain(made.mean())))
        }
    }
}

/// Rounds a drawn amount to whole bytes.
pub(crate) fn whole(bytes: f64) -> u64 {
    bytes.round().clamp(0.0, LARGEST) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Both {
        plain: Bytes,
        drawn: Size,
    }

    fn both(plain: &str, drawn: &str) -> Result<Both, String> {
        toml::from_str(&format!("plain = {plain}\ndrawn = {drawn}")).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_numbers_texts_or_distributions() {
        let read = both("\"128MB\"", "{ uniform = { min = \"1kB\", max = 2048 } }").unwrap();
        assert_eq!(read.plain, Bytes(128.0 * 1024.0 * 1024.0));
        let mean = read.drawn.resolve(&mut Draws::always(0.5)).unwrap().mean();
        assert_eq!(mean, 1536.0);
        let written = toml::to_string(&both("1e6", "\"3GB\"").unwrap()).unwrap();
        assert_eq!(written, "plain = \"1000000B\"\ndrawn = \"3GB\"\n");
        let again: Both = toml::from_str(&written).unwrap();
        assert_eq!(again.plain, Bytes(1e6));
        assert_eq!((with_unit(0.5), with_unit(0.0), with_unit(1536.0)), ("0.5B".into(), "0B".into(), "1536B".into()));
    }

    #[test]
    fn invalid_sizes_are_errors() {
        for (plain, drawn, expected) in [
            ("\"many\"", "1", "\"many\" is not a size"),
            ("true", "1", "a size such as \"128MB\""),
            ("1", "\"many\"", "\"many\" is not a size"),
            ("1", "{ uniform = { min = \"1\", max = 2 } }", "\"1\" is not a size"),
            ("1", "{ unifrom = { min = 1, max = 2 } }", "unifrom"),
            ("1", "[1]", "a number or a distribution"),
        ] {
            let error = both(plain, drawn).err().unwrap();
            assert!(error.contains(expected), "{error}");
        }
        for wrong in ["-1", "1e15", "{ pareto = { alpha = 2, mean = 1e16 } }"] {
            assert!(both("1", wrong).unwrap().drawn.resolve(&mut Draws::always(0.5)).is_err(), "{wrong}");
        }
    }
}
