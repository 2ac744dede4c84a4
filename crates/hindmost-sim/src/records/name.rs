//! Names of folders that every file system accepts.

use std::fmt::Write;

/// Longest name, in bytes. Most file systems accept 255 bytes; some that encrypt names accept 143.
const LONGEST: usize = 140;

/// Bytes kept from the beginning of a longer name.
const BEGINNING: usize = 100;

/// Names that Windows reserves for devices, in upper or lower case and with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Returns the name of a folder for a label; different labels get different names.
///
/// `%XX` is the only escape of a byte, and `%` is escaped, too. So `%` alone (the empty label) and `%-` (a hash
/// follows) are never the result of an escape.
pub(super) fn safe(label: &str) -> String {
    if label.is_empty() {
        return "%".to_owned();
    }
    let last = label.len() - 1;
    let device = is_device(label);
    let mut name = String::with_capacity(label.len());
    for (at, byte) in label.bytes().enumerate() {
        let plain = match byte {
            // A dot at the beginning hides a file, and Windows drops one at the end.
            b'.' => at != 0 && at != last,
            _ => byte.is_ascii_alphanumeric() || b"+-_=,()".contains(&byte),
        };
        if plain && !(device && at == 0) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() > LONGEST {
        // The name is ASCII, so it can be cut at any byte.
        name.truncate(BEGINNING);
        let _ = write!(name, "%-{:032x}", hash(label));
    }
    name
}

fn is_device(label: &str) -> bool {
    let stem = label.split('.').next().unwrap_or(label).to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    DEVICES.contains(&stem.as_str())
        || numbered.is_some_and(|number| number.len() == 1 && number.bytes().all(|c| c.is_ascii_digit()))
}

/// Returns the 128-bit FNV-1a hash of a label, which is the same on every machine and in every version.
fn hash(label: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    label.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn usual_labels_are_unchanged() {
        for label in ["sca", "sca(max_copies=8)", "fair+mantri(delta=0.5,kill_restart=true)", "LATE-2"] {
            assert_eq!(safe(label), label);
        }
    }

    #[test]
    fn bytes_that_file_systems_refuse_are_escaped() {
        for (label, name) in [
            ("", "%"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("../up", "%2E.%2Fup"),
            ("a.", "a%2E"),
            ("a b:c*", "a%20b%3Ac%2A"),
            ("100%", "100%25"),
            ("é", "%C3%A9"),
            ("nul", "%6Eul"),
            ("Com1.x", "%43om1.x"),
            ("com12", "com12"),
        ] {
            assert_eq!(safe(label), name);
        }
    }

    #[test]
    fn no_two_labels_share_a_name() {
        let long = "x".repeat(500);
        let labels =
            ["", "%", "%25", "a/b", "a%2Fb", "a%2fb", ".", "%2E", "nul", "%6Eul", &long, &long[1..], "a b", "a_b"];
        let names: BTreeSet<String> = labels.iter().map(|label| safe(label)).collect();
        assert_eq!(names.len(), labels.len());
        assert!(names.iter().all(|name| name.len() <= LONGEST));
    }
}
