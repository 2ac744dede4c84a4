//! Checks of names that users write in files: names of jobs, phases, resources and racks.
//!
//! Names in logs are untrusted and not checked here; code that prints them escapes them.

/// Why a text can't be a name. The message continues a sentence that begins with the name: `"" must not be blank`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The name is empty or has only white space.
    #[error("must not be blank")]
    Blank,
    /// The name has a line break, a tab or another control character.
    #[error("must not contain control characters")]
    Control,
    /// The name begins or ends with white space.
    #[error("must not begin or end with white space")]
    Padded,
}

/// Checks a name of a job or phase.
///
/// # Errors
/// If the name is blank or has control characters.
pub fn check_name(name: &str) -> Result<(), BadName> {
    if name.trim().is_empty() {
        Err(BadName::Blank)
    } else if name.chars().any(char::is_control) {
        Err(BadName::Control)
    } else {
        Ok(())
    }
}

/// Checks a name that several places of a file use to mean the same thing, such as the name of a resource or rack.
/// White space at the ends is not allowed, because two names that look the same must be the same.
///
/// # Errors
/// If the name is blank, has control characters, or begins or ends with white space.
pub fn check_shared_name(name: &str) -> Result<(), BadName> {
    check_name(name)?;
    if name.trim() == name { Ok(()) } else { Err(BadName::Padded) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_control_and_padded_names_are_refused() {
        for (name, shared, alone) in [
            ("map", Ok(()), Ok(())),
            ("a b/c-ü", Ok(()), Ok(())),
            ("", Err(BadName::Blank), Err(BadName::Blank)),
            (" \u{a0}", Err(BadName::Blank), Err(BadName::Blank)),
            ("\n", Err(BadName::Blank), Err(BadName::Blank)),
            ("a\tb", Err(BadName::Control), Err(BadName::Control)),
            ("a\u{1b}[1m", Err(BadName::Control), Err(BadName::Control)),
            (" cpus", Err(BadName::Padded), Ok(())),
            ("cpus\u{2003}", Err(BadName::Padded), Ok(())),
        ] {
            assert_eq!((check_shared_name(name), check_name(name)), (shared, alone), "{name:?}");
        }
    }
}
