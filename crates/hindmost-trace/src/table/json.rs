//! Takes the values of named keys from a JSON object, or all values of an array.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::reading::json::parse_cleaned;

/// Reads objects, and keeps the values of known keys; or arrays, which have a value for each key.
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

    /// Reads an object or an array; returns why it can't be read.
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

/// Returns the arrays of objects within the one object that a text is, or begins with: the keys that lead to each, and where its first
/// element begins. Empty if other objects follow, as in JSON lines.
pub(super) fn arrays(text: &[u8]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    // The last key of each object that is open; an array has none.
    let mut open: Vec<Option<String>> = Vec::new();
    let next = |at: usize| text.get(at..)?.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                let Some(end) = end_of_string(text, at) else { break };
                if let (Some(Some(key)), Some(b':')) = (open.last_mut(), next(end)) {
                    *key = String::from_utf8_lossy(&text[at + 1..end - 1]).into_owned();
                }
                at = end;
                continue;
            }
            b'{' => open.push(Some(String::new())),
            b'[' => {
                let keys: Option<Vec<&str>> = open.iter().map(Option::as_deref).collect();
                if let (Some(keys), Some(b'{')) = (keys.filter(|keys| !keys.is_empty()), next(at + 1)) {
                    found.push((keys.join("."), at + 1));
                }
                open.push(None);
            }
            b'}' | b']' => {
                open.pop();
                if open.is_empty() {
                    return if next(at + 1).is_none() { found } else { Vec::new() };
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns where a string ends that begins at a quotation mark; `None` if it does not.
fn end_of_string(text: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

struct Object<'a> {
    places: &'a FxHashMap<String, usize>,
    values: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let width = self.values.len();
        let mut found = 0;
        while let Some(value) = self.values.get_mut(found)
            && items.next_element_seed(Scalar(value))?.is_some()
        {
            found += 1;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            found += 1;
        }
        let why = || A::Error::custom(format_args!("it has {found} values, and the header has {width}"));
        if found == width { Ok(()) } else { Err(why()) }
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
