//! Errors of job files, with their places.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use hindmost_math::plain::with_plain_numbers;
use hindmost_math::suggest::did_you_mean;

/// A job file that can't be run.
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// The file can't be read.
    #[error("{}: {}", path.display(), unreadable(error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The text is not a valid job.
    #[error("{}{}: {message}", file.display(), place.map_or(String::new(), |place| format!(", {place}")))]
    Invalid {
        /// The file.
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

/// A place in a file. Lines and columns count from 1; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
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
    /// The bytes that are wrong.
    pub span: Option<Range<usize>>,
    /// What is wrong with these bytes.
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

/// Most characters of a file that an error quotes.
const QUOTED: usize = 60;

fn in_plain_words(message: &str, found: &str) -> String {
    // For a value of several possible types the parser reports only what it expects.
    if message.starts_with("expected ") {
        let quotable = !found.is_empty() && found.chars().count() <= QUOTED && !found.contains('\n');
        return if quotable { format!("`{found}` is not valid here, {message}") } else { message.to_owned() };
    }
    if let Some((_, names)) = message.split_once("unknown field") {
        let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
        if let Some((unknown, known)) = names.split_first() {
            return format!("{message}{}", did_you_mean(unknown, known.iter().copied()));
        }
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
    message.to_owned()
}
