//! Lenient parsing of JSON fields. A number may be written as text, an absent value as null, and a value may be
//! wrapped as in Avro unions (`{"string":"x"}`). A field of the wrong type counts as absent, so that the event stays
//! readable.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Times from this one on, in milliseconds since 1970, are ignored: the beginning of the year 10000.
const LATEST: i64 = 253_402_300_800_000;
/// Numbers from this one on are too large for a whole number (`i64`).
const LARGEST: f64 = 9e18;

/// A number from a field of a log, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Number {
    /// Missing, null, or not a number.
    #[default]
    Absent,
    /// A whole number.
    Whole(i64),
    /// Any other finite number.
    Real(f64),
}

impl Number {
    /// Parses a text as a number.
    pub(crate) fn of(text: &str) -> Number {
        let text = text.trim();
        text.parse::<i64>().map_or_else(|_| text.parse().map_or(Number::Absent, Number::from_real), Number::Whole)
    }

    /// Returns the number without its fraction; `None` if absent or too large.
    pub(crate) fn whole(self) -> Option<i64> {
        match self {
            Number::Absent => None,
            Number::Whole(n) => Some(n),
            Number::Real(x) => (x.abs() < LARGEST).then_some(x as i64),
        }
    }

    pub(crate) fn real(self) -> Option<f64> {
        match self {
            Number::Absent => None,
            Number::Whole(n) => Some(n as f64),
            Number::Real(x) => Some(x),
        }
    }

    /// Returns an id, an index or a count of tasks; `None` if negative or too large.
    pub(crate) fn id(self) -> Option<u32> {
        self.whole().and_then(|n| u32::try_from(n).ok())
    }

    /// Returns an amount; `None` if negative, which is how Rumen writes an unknown amount.
    pub(crate) fn amount(self) -> Option<u64> {
        self.whole().and_then(|n| u64::try_from(n).ok())
    }

    /// Returns a time in milliseconds since 1970. `None` for 0 and −1, which logs contain for events that did not
    /// happen, and for times from the year 10000 on.
    pub(crate) fn instant(self) -> Option<i64> {
        self.whole().filter(|&n| n > 0 && n < LATEST)
    }

    fn from_real(x: f64) -> Number {
        if x.is_finite() { Number::Real(x) } else { Number::Absent }
    }
}

/// A text from a field of a log, or nothing. It is borrowed from the log unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the text unless it is empty.
    pub(crate) fn filled(&self) -> Option<&str> {
        self.get().filter(|text| !text.is_empty())
    }
}

/// A text from a field, or nothing. It is owned, for readers that do not hold the whole log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owned(pub(crate) Option<String>);

impl Owned {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn filled(&self) -> Option<&str> {
        self.get().filter(|text| !text.is_empty())
    }
}

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Owned(Text::<'de>::deserialize(deserializer)?.0.map(Cow::into_owned)))
    }
}

/// True if the field is true; false if it is false or absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Flag(pub(crate) bool);

/// A type that can be made from JSON values of several types. A JSON value of any other type gives the default.
trait Lenient<'de>: Deserialize<'de> + Default + PartialEq {
    fn from_number(_: Number) -> Self {
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
    fn from_number(number: Number) -> Self {
        number
    }
    fn from_text(text: &str) -> Self {
        Number::of(text)
    }
}

impl<'de> Lenient<'de> for Text<'de> {
    fn from_number(number: Number) -> Self {
        Text(number.whole().map(|n| Cow::Owned(n.to_string())))
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
        Ok(T::from_number(Number::Whole(n)))
    }
    fn visit_u64<E>(self, n: u64) -> Result<T, E> {
        Ok(T::from_number(i64::try_from(n).map_or_else(|_| Number::from_real(n as f64), Number::Whole)))
    }
    fn visit_f64<E>(self, x: f64) -> Result<T, E> {
        Ok(T::from_number(Number::from_real(x)))
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
    fn visit_map<A: MapAccess<'de>>(self, mut branches: A) -> Result<T, A::Error> {
        let mut found = T::default();
        while branches.next_key::<IgnoredAny>()?.is_some() {
            let value: T = branches.next_value()?;
            if found == T::default() {
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
    fn numbers_are_parsed_from_texts_and_unions() {
        assert_eq!(number("-1"), Number::Whole(-1));
        assert_eq!(number("\" 2 \""), Number::Whole(2));
        assert_eq!(number(r#"{"long":12}"#), Number::Whole(12));
        assert_eq!(number("0.25").real(), Some(0.25));
        assert_eq!((number("1.0").whole(), number("1.5").whole()), (Some(1), Some(1)));
        for absent in ["null", "true", "\"x\"", "\"NaN\"", "[1,[2]]", "{\"a\":{}}"] {
            assert_eq!(number(absent), Number::Absent, "{absent}");
        }
        for too_large in ["1e300", "18446744073709551615"] {
            assert_eq!((number(too_large).whole(), number(too_large).id()), (None, None));
        }
        assert_eq!((number("-1").id(), number("-1").amount()), (None, None));
        assert_eq!((number("1099511627776").id(), number("1099511627776").amount()), (None, Some(1 << 40)));
    }

    #[test]
    fn zero_negative_and_far_times_are_none() {
        for never in [-1, 0, i64::MAX] {
            assert_eq!(Number::Whole(never).instant(), None);
        }
        assert_eq!(Number::Whole(1_329_348_443_227).instant(), Some(1_329_348_443_227));
    }

    #[test]
    fn text_is_borrowed_unless_it_has_escapes() {
        let text = |json| serde_json::from_str::<Text<'static>>(json).unwrap();
        assert!(matches!(text("\"host\"").0, Some(Cow::Borrowed("host"))));
        assert_eq!(text(r#""a\"b""#).get(), Some("a\"b"));
        assert_eq!(text(r#"{"string":"a\nb"}"#).filled(), Some("a\nb"));
        assert_eq!((text(r#""""#).get(), text(r#""""#).filled()), (Some(""), None));
        assert_eq!(text("{}").get(), None);
        assert_eq!(text("7").get(), Some("7"));
    }
}
