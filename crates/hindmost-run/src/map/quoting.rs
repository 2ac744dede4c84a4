//! Quotes texts for a shell.

/// Stands for the number of the attempt's slot in the command of a task; see
/// [`PlannedPhase::commands`](crate::job_file::PlannedPhase::commands).
pub(super) const SLOT: u8 = 0;

/// Quotes a text for a shell, exactly as GNU parallel does. The character that stands for the number of a slot needs no quotes.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+/".contains(byte) || *byte == SLOT;
    if text.is_empty() {
        return b"''".to_vec();
    }
    if text.iter().all(is_plain) {
        return text.to_vec();
    }
    let mut quoted = vec![b'\''];
    for byte in text {
        if *byte == b'\'' { quoted.extend_from_slice(b"'\"'\"'") } else { quoted.push(*byte) }
    }
    quoted.push(b'\'');
    // Empty quotes at the beginning and at the end are left out.
    let begin = if quoted.starts_with(b"''") { 2 } else { 0 };
    let end = if quoted.ends_with(b"''") && quoted.len() >= begin + 2 { quoted.len() - 2 } else { quoted.len() };
    quoted[begin..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_as_gnu_parallel_quotes_them() {
        for (value, expected) in [
            ("", "''"),
            ("a+b_c-d./e", "a+b_c-d./e"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            ("'", "\"'\""),
            ("''", "\"'\"''\"'\""),
            ("a=b,c", "'a=b,c'"),
            ("$(rm)\n", "'$(rm)\n'"),
        ] {
            assert_eq!(String::from_utf8(quoted(value.as_bytes())).unwrap(), expected);
        }
    }
}
