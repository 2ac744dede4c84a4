//! Values of Hadoop's JSON, read leniently: Avro's unions (`{"string":"x"}`) are unwrapped, a number may
//! come as text, and a field of the wrong type is an absent field, not an unreadable event.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// An object without what JSON doesn't allow: line breaks that a tool put into texts, and bytes that
/// aren't UTF-8.
pub(super) fn cleaned(object: &[u8]) -> String {
    String::from_utf8_lossy(object).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What is wrong with an object, without a line and column that would be taken for those of the log.
pub(super) fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// Milliseconds since 1970 after which a time isn't believed: the year 9999.
const LATEST: i64 = 253_402_300_800_000;

/// A whole number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number(pub(super) Option<i64>);

impl Number {
    /// As milliseconds since 1970: Hadoop writes 0 and −1 for times that never came.
    pub(super) fn instant(self) -> Option<i64> {
        self.0.filter(|&n| n > 0 && n < LATEST)
    }

    /// As a count or an amount: `None` where negative, as Rumen writes what it doesn't know.
    pub(super) fn amount(self) -> Option<u64> {
        self.0.and_then(|n| u64::try_from(n).ok())
    }

    /// As a count of tasks.
    pub(super) fn count(self) -> Option<u32> {
        self.0.and_then(|n| u32::try_from(n).ok())
    }
}

/// Text, or nothing. Borrowed from the log unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

impl Text<'_> {
    /// The text, unless it is empty.
    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

/// What a lenient value makes of the JSON values it understands.
trait Lenient<'de>: Default {
    fn whole(n: i64) -> Self;
    fn text(text: &str) -> Self;
    fn borrowed(text: &'de str) -> Self {
        Self::text(text)
    }
    fn is_absent(&self) -> bool;
}

impl Lenient<'_> for Number {
    fn whole(n: i64) -> Self {
        Number(Some(n))
    }
    fn text(text: &str) -> Self {
        Number(text.trim().parse().ok())
    }
    fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl<'de> Lenient<'de> for Text<'de> {
    fn whole(n: i64) -> Self {
        Text(Some(Cow::Owned(n.to_string())))
    }
    fn text(text: &str) -> Self {
        Text(Some(Cow::Owned(text.to_owned())))
    }
    fn borrowed(text: &'de str) -> Self {
        Text(Some(Cow::Borrowed(text)))
    }
    fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: Lenient<'de> + Deserialize<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_i64<E>(self, n: i64) -> Result<T, E> {
        Ok(T::whole(n))
    }
    fn visit_u64<E>(self, n: u64) -> Result<T, E> {
        Ok(i64::try_from(n).map_or_else(|_| T::default(), T::whole))
    }
    fn visit_f64<E>(self, x: f64) -> Result<T, E> {
        // Beyond these bounds the cast would saturate.
        Ok(if x.abs() < 9e18 { T::whole(x as i64) } else { T::default() })
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::borrowed(text))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_none<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<T, A::Error> {
        let mut found = T::default();
        while fields.next_key::<IgnoredAny>()?.is_some() {
            let value: T = fields.next_value()?;
            if found.is_absent() {
                found = value;
            }
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor::<Text<'de>>(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_and_numbers_as_text_are_understood() {
        let number = |json: &str| serde_json::from_str::<Number>(json).unwrap().0;
        assert_eq!(number("12"), Some(12));
        assert_eq!(number(r#"{"long":12}"#), Some(12));
        assert_eq!(number(r#""12""#), Some(12));
        assert_eq!(number("1.5"), Some(1));
        assert_eq!(number("null"), None);
        assert_eq!(number("1e300"), None);
        assert_eq!(number("18446744073709551615"), None);
        assert_eq!(number("[1,2]"), None);
        assert_eq!(number("true"), None);
        let text = |json: &str| serde_json::from_str::<Text<'_>>(json).unwrap().get().map(str::to_owned);
        assert_eq!(text(r#"{"string":"a\nb"}"#).as_deref(), Some("a\nb"));
        assert_eq!(text(r#""""#), None);
        assert_eq!(text("{}"), None);
        assert_eq!(text("7").as_deref(), Some("7"));
    }

    #[test]
    fn times_that_never_came_are_none() {
        for never in [-1, 0, i64::MAX] {
            assert_eq!(Number(Some(never)).instant(), None);
        }
        assert_eq!(Number(Some(1_329_348_443_227)).instant(), Some(1_329_348_443_227));
        assert_eq!(Number(Some(-1)).amount(), None);
        assert_eq!(Number(Some(1 << 40)).count(), None);
    }
}
