//! Errors of job files, and the places in the files to which they refer.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use hindmost_math::plain::with_plain_numbers;
use hindmost_math::suggest::with_nearest_name;

/// A job file that can't be run.
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// The file can't be read.
    #[error("{}: {}", path.display(), unreadable(error))]
    Unreadable {
        /// Path of the job file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The text is not a valid job.
    #[error("{}{}: {message}", file.display(), place.map_or(String::new(), |place| format!(", {place}")))]
    Invalid {
        /// Path of the job file.
        file: PathBuf,
        /// The place in the file, if it is known.
        place: Option<Place>,
        /// What is wrong, and what would be valid.
        message: String,
    },
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        std::io::ErrorKind::IsADirectory => "this is a folder; name the job file in it".to_owned(),
        std::io::ErrorKind::PermissionDenied => "you may not read this file; check its permissions".to_owned(),
        _ => error.to_string(),
    }
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the character in its line, from 1.
    pub column: usize,
}

impl Place {
    /// Returns the place of a byte; a byte past the end has the place of the end.
    pub(super) fn of(text: &str, byte: usize) -> Place {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |begun| begun.chars().count()) + 1;
        Place { line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A mistake in the text, without the file's name.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Range of the bytes that are wrong; `None` if the mistake has no place in the text.
    pub span: Option<Range<usize>>,
    /// What is wrong, and what would be valid.
    pub message: String,
}

impl Wrong {
    /// Creates a mistake at a place.
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Wrong {
        Wrong { span: Some(span), message: message.into() }
    }

    /// Creates a mistake without a place.
    pub fn anywhere(message: impl Into<String>) -> Wrong {
        Wrong { span: None, message: message.into() }
    }

    /// Puts a prefix before the message.
    pub fn within(mut self, what: &str) -> Wrong {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Turns an error of the TOML parser into a mistake with plainer words.
    pub fn from_toml(error: &toml::de::Error, text: &str) -> Wrong {
        let found = error.span().and_then(|span| text.get(span)).unwrap_or_default();
        Wrong { span: error.span(), message: in_plain_words(&with_plain_numbers(error.message().trim_end()), found) }
    }
}

/// Number of characters of a file that an error quotes at most.
const QUOTED: usize = 60;

fn in_plain_words(message: &str, found: &str) -> String {
    // If a value may have several types, the parser says only what it expects, and not what it has found.
    if message.starts_with("expected ") {
        let quotable = !found.is_empty() && found.chars().count() <= QUOTED && !found.contains('\n');
        return if quotable { format!("`{found}` is not valid here, {message}") } else { message.to_owned() };
    }
    if message.starts_with("invalid type") || message.starts_with("invalid value") {
        let Some((start, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
        let expected = match expected {
            "f64" => "a number",
            "i64" => "a whole number",
            "a string" => "a text, in quotes",
            "a boolean" => "true or false",
            "a map" => "a table",
            "a sequence" if start == "invalid type: map" => "a list: a phase begins with [[phase]], in two brackets",
            "a sequence" => "a list, in brackets",
            other => other,
        };
        return format!("{start}, expected {expected}");
    }
    with_nearest_name(message)
}
