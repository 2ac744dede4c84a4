//! Takes the values of named keys from a JSON object.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::reading::json::parse_cleaned;

/// Reads objects, and keeps the values of known keys.
#[derive(Debug)]
pub(super) struct Objects {
    places: FxHashMap<String, usize>,
    values: Vec<String>,
}

impl Objects {
    /// Returns a reader that keeps the values of these keys.
    pub(super) fn new(keys: &[String]) -> Objects {
        let places: FxHashMap<String, usize> = keys.iter().cloned().zip(0..).collect();
        Objects { values: vec![String::new(); keys.len()], places }
    }

    /// Reads an object; returns why it can't be read.
    pub(super) fn read(&mut self, object: &str) -> Result<&[String], String> {
        self.values.iter_mut().for_each(String::clear);
        let mut json = serde_json::Deserializer::from_str(object);
        Object { places: &self.places, values: &mut self.values }
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| error.to_string().split(" at line ").next().unwrap_or_default().to_owned())?;
        Ok(&self.values)
    }
}

/// Returns the keys of an object whose values are no objects or arrays.
pub(super) fn keys(object: &[u8]) -> Option<Vec<String>> {
    let mut cleaned = String::new();
    let found: serde_json::Map<String, serde_json::Value> = parse_cleaned(object, &mut cleaned).ok()?;
    Some(found.into_iter().map(|(key, _)| key).collect())
}

struct Object<'a> {
    places: &'a FxHashMap<String, usize>,
    values: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(place) = map.next_key_seed(Key(self.places))? {
            match place.and_then(|place| self.values.get_mut(place)) {
                Some(value) => map.next_value_seed(Scalar(value))?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The place of a key.
struct Key<'a>(&'a FxHashMap<String, usize>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.get(key).copied())
    }
}

/// A value as text; objects and arrays are left out.
struct Scalar<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Scalar<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scalar<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<(), E> {
        self.0.push_str(if truth { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.push_str(&number.to_string());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text.trim());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
