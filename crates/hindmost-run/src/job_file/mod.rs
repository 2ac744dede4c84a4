//! Job files: what a user writes, checked and turned into a plan.
//!
//! ```toml
//! name = "wordcount"
//!
//! [[phase]]
//! name = "count"
//! inputs = "text/*.txt"
//! command = "wc -w < \"$HINDMOST_INPUT\" > \"$HINDMOST_OUTPUT/words\""
//!
//! [[phase]]
//! name = "sum"
//! after = ["count"]
//! tasks = 1
//! command = "cat \"$HINDMOST_FROM\"/count/*/words | awk '{n += $1} END {print n}' > \"$HINDMOST_OUTPUT/sum\""
//! ```
//!
//! text → `format` (serde) → `check` (values, globs, folders, order) → [`Plan`]. Unknown keys, wrong
//! types and values that make no sense are errors that say where, what, and what would be valid. Every
//! key is described in `docs/jobs.md`; `docs/job.schema.json` is for editors.

mod check;
mod describe;
mod error;
mod format;
mod inputs;
mod order;
mod plan;
mod values;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) use check::check_knowledge;
pub use error::{JobFileError, Place};
pub use format::schema;
pub use plan::{Plan, PlannedPhase};

use error::Wrong;

/// Job files are a page or two; 16 MiB is no job file.
const LARGEST: u64 = 16 << 20;

/// Reads and checks a job file. Relative paths in it are taken from its folder.
///
/// # Errors
/// If it can't be read or is not valid.
pub fn load(path: &Path) -> Result<Plan, JobFileError> {
    let unreadable = |error: std::io::Error| JobFileError::Unreadable { path: path.into(), error };
    let invalid = |message: &str| JobFileError::Invalid { file: path.into(), place: None, message: message.to_owned() };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(invalid("this is too large for a job file"));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| invalid("this is not a text file; a job file is written in TOML"))?;
    // A file named alone is in the current folder, and the parent of that name is empty.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parse(&text, path, folder)
}

/// Checks the text of a job file. `file` is named in errors and gives the job its name where it has
/// none; relative paths are taken from `folder`.
///
/// # Errors
/// If it is not valid.
pub fn parse(text: &str, file: &Path, folder: &Path) -> Result<Plan, JobFileError> {
    // Lines end as the shell that runs the commands expects it, wherever they were written.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let folder = resolved(folder).map_err(|error| JobFileError::Unreadable { path: folder.into(), error })?;
    let read: Result<format::JobFile, Wrong> = toml::from_str(&text).map_err(|error| Wrong::from_toml(&error, &text));
    let plan = read.and_then(|job| check::plan(job, file, &folder));
    plan.map_err(|wrong| JobFileError::Invalid {
        file: file.into(),
        place: wrong.span.map(|span| Place::of(&text, span.start)),
        message: wrong.message,
    })
}

/// The folder's own path, by whatever way it was reached: a job must be known again from elsewhere.
fn resolved(folder: &Path) -> std::io::Result<PathBuf> {
    folder.canonicalize().or_else(|_| std::path::absolute(folder))
}

/// A span of time as job files write it, such as `90s` or `1.5h`; `None` if it is none.
pub fn parse_duration(text: &str) -> Option<std::time::Duration> {
    values::time(&format::Span::Text(text.to_owned())).ok()
}
