//! What a log is, from its first bytes or its first line.

use serde_json::Value;

use crate::compression::Compression;
use crate::error::TraceError;

/// Beginnings of files that are packed in ways that aren't read, their names, and how to undo them.
const PACKED: &[(&[u8], &str, &str)] = &[
    (b"ZV\x00", "lzf", "no common tool does it: write logs with spark.eventLog.compression.codec=zstd"),
    (b"ZV\x01", "lzf", "no common tool does it: write logs with spark.eventLog.compression.codec=zstd"),
    (b"\xfd7zXZ\0", "xz", "xz -d FILE"),
    (b"BZh", "bzip2", "bzip2 -d FILE"),
    (b"PK\x03\x04", "zip", "unzip FILE"),
    (b"PK\x05\x06", "zip", "unzip FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x FILE"),
];

/// As many first bytes tell what a file is.
pub(super) const LOOKED_AT: usize = 512;

/// Beginnings of other files that aren't text.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PAR1", "Parquet"),
    (b"Obj\x01", "Avro"),
    (b"ORC", "ORC"),
    (b"\xff\xfe", "UTF-16 text; convert it to UTF-8"),
    (b"\xfe\xff", "UTF-16 text; convert it to UTF-8"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "PDF"),
];

/// Lines longer than this are described by their length alone.
const LONGEST_DESCRIBED: usize = 1 << 20;

/// Refuses what can't be a log, from its first bytes.
pub(super) fn refuse(beginning: &[u8], name: &str) -> Result<(), TraceError> {
    let name = || name.to_owned();
    if beginning.is_empty() {
        return Err(TraceError::Empty { name: name() });
    }
    for &(magic, kind, how) in PACKED {
        if beginning.starts_with(magic) {
            return Err(TraceError::Compressed { name: name(), kind, how });
        }
    }
    if beginning.get(257..262) == Some(b"ustar") {
        return Err(TraceError::Compressed { name: name(), kind: "tar", how: "tar -xf FILE" });
    }
    // What is here has been decompressed once.
    let again = Compression::of(beginning);
    if again != Compression::None {
        let how = "decompress it once, by any tool";
        return Err(TraceError::Compressed { name: name(), kind: again.twice(), how });
    }
    for &(magic, found) in OTHERS {
        if beginning.starts_with(magic) {
            return Err(TraceError::Binary { name: name(), found: found.to_owned() });
        }
    }
    let looked_at = &beginning[..beginning.len().min(8 << 10)];
    // An event log that begins well may still hold odd bytes further on.
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

/// What an error of [`refuse`] says of a file, in a word or two.
pub(super) fn in_a_word(error: &TraceError) -> String {
    match error {
        TraceError::Empty { .. } => "empty".to_owned(),
        TraceError::Compressed { kind, .. } => (*kind).to_owned(),
        TraceError::Binary { found, .. } => found.clone(),
        other => other.to_string(),
    }
}

/// What a line is, as it goes on after "line 3 is".
pub(super) fn describe(line: &[u8]) -> String {
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
            "the beginning of a JSON object that goes on over other lines".to_owned()
        }
        _ => {
            let text = String::from_utf8_lossy(&line[..line.len().min(240)]);
            let shown: String = text.chars().take(50).collect();
            let more = if text.chars().count() > 50 { " …" } else { "" };
            format!("the text {shown:?}{more}")
        }
    }
}

/// Whether the line may be the beginning of a Spark event.
pub(super) fn may_be_event(line: &[u8]) -> bool {
    let expected = br#"{"Event":"#;
    let compact: Vec<u8> = line.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(expected.len()).collect();
    expected.starts_with(&compact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_named() {
        let said = |bytes: &[u8]| refuse(bytes, "x").map_err(|e| e.to_string());
        assert!(said(b"").unwrap_err().contains("is empty"));
        assert!(said(b"\x1f\x8b\x08").unwrap_err().contains("gzip within another compression"));
        assert!(said(b"ZV\x01").unwrap_err().contains("lzf"));
        assert!(said(b"PK\x03\x04").unwrap_err().contains("unzip"));
        assert!(said(&[&[b'a'; 257][..], b"ustar\x0000"].concat()).unwrap_err().contains("tar -xf"));
        assert!(said(b"PAR1....").unwrap_err().contains("Parquet"));
        assert!(said(b"abc\0def").unwrap_err().contains("byte 3 is zero"));
        assert!(said(&[1, 2, 3, 4, 5]).unwrap_err().contains("control characters"));
        assert!(said(b"{\"Event\":\0").is_ok());
        assert!(said("größer, schöner\n".as_bytes()).is_ok());
    }

    #[test]
    fn lines_are_described() {
        assert_eq!(describe(b"[1]"), "a JSON array");
        assert_eq!(describe(br#"{"a":1,"b":2}"#), r#"a JSON object with the keys "a", "b""#);
        assert_eq!(describe(b"{}"), "an empty JSON object");
        assert_eq!(describe(b"job,arrival"), r#"the text "job,arrival""#);
        assert!(describe(&[b'y'; 999]).ends_with(" …"));
        assert!(describe(b"{").contains("over other lines"));
        assert!(may_be_event(br#"{ "Ev"#) && may_be_event(br#"{"Event":"Spark"#));
        assert!(!may_be_event(br#"{"foo"#));
    }
}
