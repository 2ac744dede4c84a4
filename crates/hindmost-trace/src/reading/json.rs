//! Finds fields and keys without parsing the whole JSON, and parses objects that are not quite valid JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

/// Returns the text from the value of a key on. The key's first occurrence counts, at any depth. `key` includes its
/// quotes, so it does not match inside a string, where quotes are escaped.
pub(crate) fn behind_key<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(text, key.as_bytes())?;
    text[at + key.len()..].trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start)
}

/// Parses the whole number at the beginning of a text; `None` if there is none or it is too large.
pub(crate) fn leading_number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// Parses the JSON string at the beginning of a text. A long or incomplete string is cut after `most` bytes.
pub(crate) fn leading_string(text: &[u8], most: usize) -> Option<String> {
    let text = text.strip_prefix(b"\"")?;
    let mut end = 0;
    while end < text.len().min(most) && text[end] != b'"' {
        // Takes an escape as a whole; \uXXXX is the longest.
        let length = match &text[end..] {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => 1,
        };
        if end + length > text.len() {
            break;
        }
        end += length;
    }
    let quoted = format!("\"{}\"", String::from_utf8_lossy(&text[..end]));
    serde_json::from_str(&quoted).ok()
}

/// Parses an object. If that fails, replaces control characters (such as line breaks that a tool put into texts) and
/// bytes that aren't UTF-8, which JSON does not allow, and parses again. `cleaned` must be empty; it receives the text
/// that was parsed again.
///
/// # Errors
/// If the cleaned text can't be parsed either; the message is that of the first failure.
pub(crate) fn parse_cleaned<'a, T: Deserialize<'a>>(object: &'a [u8], cleaned: &'a mut String) -> Result<T, String> {
    serde_json::from_slice(object).or_else(|error| {
        let text = String::from_utf8_lossy(object);
        cleaned.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        serde_json::from_str(cleaned).map_err(|_| {
            // Removes line and column, because they are counted within the object, not within the log.
            let text = error.to_string();
            text.split(" at line ").next().unwrap_or(&text).to_owned()
        })
    })
}

/// Reads an array element by element, and calls `take` with each.
///
/// # Errors
/// If the JSON is no array, ends early or can't be read; elements before that have been taken.
pub(crate) fn each_element<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    json: D,
    take: impl FnMut(T),
) -> Result<(), D::Error> {
    json.deserialize_seq(Elements { take, of: PhantomData })
}

struct Elements<T, F> {
    take: F,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Elements<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.take)(element);
        }
        Ok(())
    }
}

/// Iterates over the keys of the first object in a text, without those of nested objects.
pub(crate) struct Keys<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Keys<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let at = memchr::memchr(b'{', text).map_or(text.len(), |at| at + 1);
        Keys { text, at, depth: 1 }
    }
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            match byte {
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => self.depth -= 1,
                b'"' => {
                    let from = self.at;
                    loop {
                        match self.text.get(self.at)? {
                            b'"' => break,
                            b'\\' => self.at += 2,
                            _ => self.at += 1,
                        }
                    }
                    let string = &self.text[from..self.at];
                    self.at += 1;
                    let rest = self.text[self.at..].trim_ascii_start();
                    if self.depth == 1 && rest.starts_with(b":") {
                        return Some(string);
                    }
                }
                _ => {}
            }
            if self.depth == 0 {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_after_their_key() {
        let id = |line: &str| behind_key(line.as_bytes(), "\"Task ID\"").and_then(leading_number::<u32>);
        assert_eq!(id(r#"{"Event":"x","Task Info":{"Task ID":17,"Index":3}}"#), Some(17));
        assert_eq!(id(r#"{"Task Info" : {"a":"\"Task ID\":5", "Task ID" : 4294967295 }}"#), Some(u32::MAX));
        for none in [r#"{"Task ID":4294967296}"#, r#"{"Task ID":"#, r#"{"Task ID":-1}"#, r#"{"Task ID""#, "{}"] {
            assert_eq!(id(none), None, "{none}");
        }
    }

    #[test]
    fn long_and_incomplete_strings_are_cut() {
        assert_eq!(leading_string(br#""a \u00e4 \"b\"" ..."#, 99).as_deref(), Some("a \u{e4} \"b\""));
        for cut in [r#""ab\"#, r#""ab\u00"#, r#""ab"#] {
            assert_eq!(leading_string(cut.as_bytes(), 99).as_deref(), Some("ab"));
        }
        assert_eq!(leading_string(b"\"abcdef\"", 3).as_deref(), Some("abc"));
        assert_eq!(leading_string(b"null", 3), None);
    }

    #[test]
    fn bytes_that_json_does_not_allow_are_replaced() {
        let read = |object: &[u8]| {
            let mut cleaned = String::new();
            parse_cleaned::<Vec<String>>(object, &mut cleaned).map(|texts| (texts.concat(), !cleaned.is_empty()))
        };
        assert_eq!(read(b"[\"a b\"]"), Ok(("a b".to_owned(), false)));
        assert_eq!(read(b"[\"a\nb\xff\"]"), Ok(("a b\u{fffd}".to_owned(), true)));
        assert_eq!(read(b"[\n\"a"), Err("EOF while parsing a string".to_owned()));
    }

    #[test]
    fn keys_of_nested_and_later_objects_are_left_out() {
        let keys = |text: &'static str| Keys::of(text.as_bytes()).map(String::from_utf8_lossy).collect::<Vec<_>>();
        assert_eq!(keys(r#"x {"a":{"b":1},"c":["d",{"e":1}],"f" : "g\":","h"} {"i":1}"#), ["a", "c", "f"]);
        assert_eq!(keys(r#"{"a":1,"b\"#), ["a"]);
    }
}
