//! Reads any text as a list of policies.

use hindmost_policies::catalogue::spec::{PolicySpec, split_list};
use hindmost_policies::catalogue::{self, Setting};

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(text: &str) {
    let parts = split_list(text);
    assert_eq!(parts.join(","), text, "a list is split at its commas only");
    for part in parts {
        let Ok(spec) = part.parse::<PolicySpec>() else { continue };
        // The policies are compared as text, because NaN is not equal to itself.
        let written = spec.to_string();
        let again: PolicySpec = written.parse().unwrap_or_else(|error| panic!("{written:?} from {part:?}: {error}"));
        assert_eq!(again.to_string(), written);
        let setting = Setting { order: catalogue::DEFAULT_ORDER, gamma: 0.01, queues: &[], live: false };
        match catalogue::check(&spec) {
            Ok(_) => drop(catalogue::build(&spec, &setting).unwrap_or_else(|error| panic!("{written}: {error}"))),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
