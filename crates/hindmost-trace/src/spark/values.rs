//! Values of JSON fields, read leniently: a number may come as text, a missing one as null, and a
//! field of the wrong type is an absent field, not an unreadable event.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Number {
    /// Missing, null, or not a number.
    #[default]
    Absent,
    /// A whole number.
    Whole(i64),
    /// Any other finite number.
    Real(f64),
}

impl Number {
    /// As a whole number; fractions are cut off.
    pub(super) fn whole(self) -> Option<i64> {
        match self {
            Number::Absent => None,
            Number::Whole(n) => Some(n),
            Number::Real(x) => Some(x as i64),
        }
    }

    pub(super) fn real(self) -> Option<f64> {
        match self {
            Number::Absent => None,
            Number::Whole(n) => Some(n as f64),
            Number::Real(x) => Some(x),
        }
    }

    /// As an id or index: `None` where negative or too large.
    pub(super) fn id(self) -> Option<u32> {
        self.whole().and_then(|n| u32::try_from(n).ok())
    }

    /// As milliseconds since 1970: Spark writes 0 and −1 for times that never came, and nothing
    /// later than the year 9999 is believed.
    pub(super) fn instant(self) -> Option<i64> {
        self.whole().filter(|&n| n > 0 && n < 253_402_300_800_000)
    }
}

/// Text, or nothing. Borrowed from the line unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// True, or not said to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Flag(pub(super) bool);

/// What a lenient value makes of the JSON values it understands.
trait Lenient<'de>: Default {
    fn from_whole(_: i64) -> Self {
        Self::default()
    }
    fn from_real(_: f64) -> Self {
        Self::default()
    }
    fn from_truth(_: bool) -> Self {
        Self::default()
    }
    fn from_text(text: &str) -> Self;
    fn from_borrowed(text: &'de str) -> Self {
        Self::from_text(text)
    }
}

impl Lenient<'_> for Number {
    fn from_whole(n: i64) -> Self {
        Number::Whole(n)
    }
    fn from_real(x: f64) -> Self {
        if x.is_finite() { Number::Real(x) } else { Number::Absent }
    }
    fn from_text(text: &str) -> Self {
        let text = text.trim();
        text.parse::<i64>().map_or_else(|_| text.parse().map_or(Number::Absent, Self::from_real), Self::from_whole)
    }
}

impl<'de> Lenient<'de> for Text<'de> {
    fn from_whole(n: i64) -> Self {
        Text(Some(Cow::Owned(n.to_string())))
    }
    fn from_text(text: &str) -> Self {
        Text(Some(Cow::Owned(text.to_owned())))
    }
    fn from_borrowed(text: &'de str) -> Self {
        Text(Some(Cow::Borrowed(text)))
    }
}

impl Lenient<'_> for Flag {
    fn from_truth(truth: bool) -> Self {
        Flag(truth)
    }
    fn from_text(text: &str) -> Self {
        Flag(text == "true")
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, truth: bool) -> Result<T, E> {
        Ok(T::from_truth(truth))
    }
    fn visit_i64<E>(self, n: i64) -> Result<T, E> {
        Ok(T::from_whole(n))
    }
    fn visit_u64<E>(self, n: u64) -> Result<T, E> {
        Ok(i64::try_from(n).map_or_else(|_| T::from_real(n as f64), T::from_whole))
    }
    fn visit_f64<E>(self, x: f64) -> Result<T, E> {
        Ok(T::from_real(x))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_borrowed(text))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<T, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(T::default())
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

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(json: &str) -> Number {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn numbers_come_in_many_forms() {
        assert_eq!(number("-1"), Number::Whole(-1));
        assert_eq!(number("\" 2 \""), Number::Whole(2));
        assert_eq!(number("0.25").real(), Some(0.25));
        assert_eq!(number("1.0").whole(), Some(1));
        for absent in ["null", "true", "\"x\"", "\"NaN\"", "[1,[2]]", "{\"a\":{}}"] {
            assert_eq!(number(absent), Number::Absent, "{absent}");
        }
        assert_eq!(number("18446744073709551615").id(), None);
        assert_eq!(number("-1").id(), None);
        assert_eq!(number("0").instant(), None);
    }

    #[test]
    fn text_is_borrowed_unless_it_has_escapes() {
        let plain: Text<'_> = serde_json::from_str("\"host\"").unwrap();
        assert!(matches!(plain.0, Some(Cow::Borrowed("host"))));
        let escaped: Text<'_> = serde_json::from_str(r#""a\"b""#).unwrap();
        assert_eq!(escaped.get(), Some("a\"b"));
        let number: Text<'_> = serde_json::from_str("7").unwrap();
        assert_eq!(number.get(), Some("7"));
    }
}
