//! Names of any bytes as text, for records.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

/// Returns a name as text. Bytes that are not text, and `%`, are written as `%` and two hexadecimal digits. Different names
/// give different texts.
pub(crate) fn escaped(name: &OsStr) -> String {
    if let Some(text) = name.to_str().filter(|text| !text.contains('%')) {
        return text.to_owned();
    }
    let mut text = String::new();
    for byte in name.as_bytes() {
        if (0x20..0x7f).contains(byte) && *byte != b'%' {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// Returns the bytes of a name from its text.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut name = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            name.push(byte);
            at += 3;
        } else {
            name.push(bytes[at]);
            at += 1;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_survive_escaping() {
        for name in [&b"plain"[..], b"with %41 and %", b"\xff\xfe%", "näme".as_bytes(), b"a\nb%"] {
            assert_eq!(unescaped(&escaped(OsStr::from_bytes(name))), name);
        }
    }
}
