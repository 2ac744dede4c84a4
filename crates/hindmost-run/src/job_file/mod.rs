//! Job files: reads what a user has written, checks it and turns it into a [`Plan`].
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
//! Steps: text → `format` (serde) → `check` (values, globs, folders, order) → [`Plan`]. Unknown keys, wrong types and
//! invalid values are errors that say where and what is wrong, and what would be valid. `docs/jobs.md` describes every key;
//! `docs/job.schema.json` is for editors.

mod allowance;
mod check;
mod commands;
mod copies;
mod describe;
mod digest;
mod edges;
mod error;
mod format;
mod inputs;
mod matrix;
mod numbering;
mod order;
mod output;
mod outputs;
mod plan;
mod printable;
mod redo;
mod row_command;
mod shell;
mod table;
mod task;
mod uses;
mod values;
pub(crate) mod writes;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use allowance::Allowance;
pub use check::KNOWLEDGE_OF_RUNS;
pub(crate) use check::check_knowledge;
pub use commands::{TaskCommand, TaskCommands};
pub use copies::Copies;
pub use edges::PlannedEdges;
pub(crate) use edges::{Later, MadeFrom, Tasks};
pub use error::{JobFileError, Place};
pub use format::schema;
pub(crate) use matrix::COLUMNS;
pub use matrix::Matrix;
pub use numbering::{RecordedPhase, TaskChanges};
pub use output::OutputTemplate;
pub(crate) use output::place_of;
pub(crate) use outputs::check_outputs_together;
pub(crate) use plan::DEFAULT_LOSSES;
pub use plan::{Overrides, Plan, PlannedPhase};
pub(crate) use printable::printable;
pub use redo::Redo;
pub use shell::{default_shell, shell_in_words};
pub(crate) use shell::{earlier_shell, is_bourne, is_program};
pub use table::Table;
pub use task::TaskReads;
pub use uses::{RowLimits, Uses};
pub(crate) use values::LONGEST_TEXT;
pub use values::{KILL_AFTER, time_or_zero};
pub(crate) use writes::cleans_up;
pub use writes::{Changed, Found, Named, Repeats};

use error::Wrong;

/// Largest size of a job file: 16 MiB.
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
        return Err(invalid("this file is too large for a job file (at most 16 MiB)"));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| invalid("this is not a text file; a job file is written in TOML"))?;
    // The parent of a name without a folder is empty; the file is in the current folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parse(&text, path, folder)
}

/// Checks the text of a job file. Errors name `file`, and its name is the job's default name. Relative paths are taken from
/// `folder`.
///
/// # Errors
/// If it is not valid.
pub fn parse(text: &str, file: &Path, folder: &Path) -> Result<Plan, JobFileError> {
    // The shell that runs the commands expects line ends without carriage returns.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let folder = resolved(folder).map_err(|error| JobFileError::Unreadable { path: folder.into(), error })?;
    let read: Result<format::JobFile, Wrong> = toml::from_str(&text).map_err(|error| {
        if is_scenario(&text) {
            let file = file.display();
            return Wrong::anywhere(format!(
                "this is a scenario, not a job file: `hindmost simulate {file}` simulates it"
            ));
        }
        Wrong::from_toml(&error, &text)
    });
    let plan = read.and_then(|job| check::plan(job, file, &folder));
    plan.map_err(|wrong| JobFileError::Invalid {
        file: file.into(),
        place: wrong.span.map(|span| Place::of(&text, span.start)),
        message: wrong.message,
    })
}

/// Returns true if a text that is not a job file is a scenario.
fn is_scenario(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| table.contains_key("cluster") && !table.contains_key("phase"))
}

/// Returns the folder's canonical path, so that the job is recognised by any path that leads to it.
fn resolved(folder: &Path) -> std::io::Result<PathBuf> {
    folder.canonicalize().or_else(|_| std::path::absolute(folder))
}

/// Parses a duration as in job files, such as `90s` or `1.5h`; `None` if it is not valid.
pub fn parse_duration(text: &str) -> Option<std::time::Duration> {
    values::time(&format::Span::Text(text.to_owned())).ok()
}
