//! What is wrong with a job file, and where.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use hindmost_math::plain::with_plain_numbers;
use hindmost_math::suggest::did_you_mean;

/// A job file that can't be run, and why.
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// The file can't be read.
    #[error("{}: {}", path.display(), unreadable(error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The text is no job.
    #[error("{}{}: {message}", file.display(), place.map_or(String::new(), |place| format!(", {place}")))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Where in it, as far as that can be told.
        place: Option<Place>,
        /// What is wrong, and what would be valid.
        message: String,
    },
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        std::io::ErrorKind::IsADirectory => "this is a folder; name the job file in it".to_owned(),
        std::io::ErrorKind::PermissionDenied => "this file may not be read".to_owned(),
        _ => error.to_string(),
    }
}

/// A place in a file, both counted from 1; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of a byte. Past the end it is the end.
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

/// A mistake in the text, before the file is known.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The bytes that are wrong.
    pub span: Option<Range<usize>>,
    /// What is wrong with them.
    pub message: String,
}

impl Wrong {
    /// A mistake at a place.
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Wrong {
        Wrong { span: Some(span), message: message.into() }
    }

    /// A mistake of the whole file.
    pub fn anywhere(message: impl Into<String>) -> Wrong {
        Wrong { span: None, message: message.into() }
    }

    /// The same with words before it.
    pub fn within(mut self, what: &str) -> Wrong {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What the reader of TOML complains about, in the words of this page.
    pub fn from_toml(error: &toml::de::Error, text: &str) -> Wrong {
        let found = error.span().and_then(|span| text.get(span)).unwrap_or_default();
        Wrong { span: error.span(), message: in_our_words(&with_plain_numbers(error.message().trim_end()), found) }
    }
}

/// Longest part of a file that is quoted in an error.
const QUOTED: usize = 60;

fn in_our_words(message: &str, found: &str) -> String {
    // What several types might be says only what it should be.
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
