//! Describes files that are not logs, from their first bytes or first line, for error messages.

use serde_json::Value;

use super::compression::Compression;
use crate::error::TraceError;

/// Magic bytes of files in unsupported compressions or archives, their names, and how to unpack them.
const PACKED: &[(&[u8], &str, &str)] = &[
    (b"\xfd7zXZ\0", "xz", "xz -d FILE"),
    (b"BZh", "bzip2", "bzip2 -d FILE"),
    (b"PK\x03\x04", "zip", "unzip FILE"),
    (b"PK\x05\x06", "zip", "unzip FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x FILE"),
];

/// First bytes that are enough to recognise a file.
pub(crate) const LOOKED_AT: usize = 512;

/// Magic bytes of other files that aren't text, and descriptions of these files.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PAR1", "Parquet"),
    (b"Obj\x01", "Avro"),
    (b"ORC", "ORC"),
    (b"\xff\xfe", "UTF-16 text; convert it to UTF-8"),
    (b"\xfe\xff", "UTF-16 text; convert it to UTF-8"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "PDF"),
];

/// A line of more bytes than this is described by its length only.
const LONGEST_DESCRIBED: usize = 1 << 20;

/// Returns an error if a file with these first bytes can't be a log.
pub(crate) fn refuse(beginning: &[u8], name: &str) -> Result<(), TraceError> {
    let name = || name.to_owned();
    if beginning.is_empty() {
        return Err(TraceError::Empty { name: name() });
    }
    for &(magic, kind, how) in PACKED {
        if beginning.starts_with(magic) {
            return Err(TraceError::Compressed { name: name(), kind: kind.to_owned(), how });
        }
    }
    if beginning.get(257..262) == Some(b"ustar") {
        return Err(TraceError::Compressed { name: name(), kind: "tar".to_owned(), how: "tar -xf FILE" });
    }
    // These bytes have been decompressed once already.
    let again = Compression::of(beginning);
    if again != Compression::None {
        let kind = format!("{} within another compression", again.name());
        return Err(TraceError::Compressed { name: name(), kind, how: "decompress it once, with any tool" });
    }
    for &(magic, found) in OTHERS {
        if beginning.starts_with(magic) {
            return Err(TraceError::Binary { name: name(), found: found.to_owned() });
        }
    }
    let looked_at = &beginning[..beginning.len().min(8 << 10)];
    // A file that begins like an event log may have unusual bytes later.
    if beginning.trim_ascii_start().starts_with(b"{") {
        return Ok(());
    }
    if let Some(at) = memchr::memchr(0, looked_at) {
        let found = format!("byte {at} is zero");
        return Err(TraceError::Binary { name: name(), found });
    }
    let control = looked_at.iter().filter(|b| b.is_ascii_control() && !b.is_ascii_whitespace());
    if control.count() * 20 > looked_at.len() {
        let found = "many control characters".to_owned();
        return Err(TraceError::Binary { name: name(), found });
    }
    Ok(())
}

/// Describes an error of [`refuse`] in a word or two.
pub(crate) fn in_a_word(error: &TraceError) -> String {
    match error {
        TraceError::Empty { .. } => "empty".to_owned(),
        TraceError::Compressed { kind, .. } => kind.clone(),
        TraceError::Binary { found, .. } => found.clone(),
        other => other.to_string(),
    }
}

/// Describes a line, as a continuation of "line 3 is".
pub(crate) fn describe(line: &[u8]) -> String {
    if line.starts_with(b"Avro-Json") || line.starts_with(b"Avro-Binary") {
        return "the beginning of a Hadoop job history".to_owned();
    }
    if line.len() > LONGEST_DESCRIBED {
        return format!("a line of {} bytes", line.len());
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => match object.get("Event") {
            Some(Value::String(name)) => format!("an event called {name:?}, which isn't Spark's"),
            _ if object.is_empty() => "an empty JSON object".to_owned(),
            _ => {
                let keys: Vec<_> = object.keys().take(4).map(|key| format!("{key:?}")).collect();
                let more = if object.len() > 4 { ", …" } else { "" };
                format!("a JSON object with the keys {}{more}", keys.join(", "))
            }
        },
        Ok(Value::Array(_)) => "a JSON array".to_owned(),
        Err(error) if error.is_eof() && line.starts_with(b"{") => {
            "the beginning of a JSON object that continues on other lines".to_owned()
        }
        _ => format!("the text {}", quoted(line)),
    }
}

/// Returns the beginning of a text, in quotes.
pub(crate) fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(240)]);
    let shown: String = text.chars().take(50).collect();
    let more = if text.chars().count() > 50 { " …" } else { "" };
    format!("{shown:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_formats_are_refused_by_name() {
        let said = |bytes: &[u8]| refuse(bytes, "x").map_err(|e| e.to_string());
        assert!(said(b"").unwrap_err().contains("is empty"));
        assert!(said(b"\x1f\x8b\x08").unwrap_err().contains("gzip within another compression"));
        assert!(said(b"ZV\x01").unwrap_err().contains("LZF within another compression"));
        assert!(said(b"PK\x03\x04").unwrap_err().contains("unzip"));
        assert!(said(&[&[b'a'; 257][..], b"ustar\x0000"].concat()).unwrap_err().contains("tar -xf"));
        assert!(said(b"PAR1....").unwrap_err().contains("Parquet"));
        assert!(said(b"abc\0def").unwrap_err().contains("byte 3 is zero"));
        assert!(said(&[1, 2, 3, 4, 5]).unwrap_err().contains("control characters"));
        assert!(said(b"{\"Event\":\0").is_ok());
        assert!(said("größer, schöner\n".as_bytes()).is_ok());
    }

    #[test]
    fn lines_that_are_no_events_are_described() {
        assert_eq!(describe(b"[1]"), "a JSON array");
        assert_eq!(describe(br#"{"a":1,"b":2}"#), r#"a JSON object with the keys "a", "b""#);
        assert_eq!(describe(b"{}"), "an empty JSON object");
        assert_eq!(describe(b"job,arrival"), r#"the text "job,arrival""#);
        assert!(describe(&[b'y'; 999]).ends_with(" …"));
        assert!(describe(b"{").contains("on other lines"));
    }
}
