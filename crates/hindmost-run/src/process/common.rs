//! Names and types that are the same on every system.

use std::collections::HashSet;
use std::path::PathBuf;

use hindmost_core::usage::Usage;

use super::Mark;

/// Environment variable with the marks of the attempts inside which a run was started, outermost first, in hexadecimal
/// and separated by commas.
pub const WITHIN_VARIABLE: &str = "HINDMOST_WITHIN";
/// Environment variable with the id of the run to which a process belongs.
pub const RUN_VARIABLE: &str = "HINDMOST_RUN";
/// Environment variable with the key of the attempt to which a process belongs.
pub const KEY_VARIABLE: &str = "HINDMOST_KEY";
/// Environment variable with the folder of the run to which a process belongs.
pub const FOLDER_VARIABLE: &str = "HINDMOST_FROM";

/// Whether an attempt has ended completely.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Processes of the attempt were left and have been killed: call [`Ending::step`](super::Ending::step) again soon.
    Unfinished,
    /// No process of the attempt is left. Holds the exit code of its root process, if the root process was a child of this
    /// process and was not killed by a signal, and what the attempt has used, as far as that is known.
    Nothing(Option<i32>, Usage),
    /// A process of the attempt has not ended ten seconds after it was killed; holds a message about this process.
    Stays(String),
}

/// Processes of a run that belong to no running attempt.
#[derive(Debug)]
pub struct Strays<'a> {
    /// Mark of the run.
    pub run: Mark,
    /// Marks of the attempts whose processes may continue.
    pub kept: &'a HashSet<Mark>,
    /// Marks of known attempts of the run. Processes of a run that was started inside one of these attempts are strays too.
    pub of_run: &'a HashSet<Mark>,
    /// Paths of the run's control groups.
    pub groups: &'a [PathBuf],
}

/// A file that a process has open for writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its path when it was found.
    pub path: PathBuf,
    /// Device, in two numbers, and inode.
    pub place: (u32, u32, u64),
    /// True if it is in a temporary folder of the system, and the entry there that leads to it was made after the attempt had begun.
    pub is_scratch: bool,
    /// True if what is written replaces what was there before, as far as the way shows in which it is open: for writing only, and not
    /// at its end. Otherwise a further attempt would add to what this one has written.
    pub is_replaced: bool,
    /// True if it is open for nothing but adding to its end (`>>`), and the position of the descriptor is still the beginning: nothing
    /// was added through it. A file that is open for reading too says nothing, because databases write without moving the position.
    pub added_nothing: bool,
}
