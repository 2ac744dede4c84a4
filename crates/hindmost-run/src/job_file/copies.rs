//! Whether tasks may have two attempts at a time.

use super::shell::is_bourne;
use super::writes::{Found, written};

/// Whether a task may have two attempts at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// It may, as long as no attempt is seen to write a file that the other one would: the command seems to write only on standard output
    /// or into the folder of its attempt.
    #[default]
    Allowed,
    /// It may, because the user says so.
    Forced,
    /// The user wants none.
    Never,
    /// It may not, because the command names a file for writing, outside the folder of its attempt.
    WouldShare(Found),
}

impl Copies {
    /// Returns what holds for two commands together. The file is that of the first one that names any.
    pub(crate) fn and(self, other: Copies) -> Copies {
        match (self, other) {
            (Copies::WouldShare(one), Copies::WouldShare(other)) => Copies::WouldShare(Found {
                repeats: one.repeats.min(other.repeats),
                shows_files: one.shows_files && other.shows_files,
                changes_files: one.changes_files || other.changes_files,
                ..one
            }),
            (Copies::Allowed, other) => other,
            (one, _) => one,
        }
    }

    /// Returns whether tasks with this command may have copies. `shell` runs it; `None` for the default one.
    pub fn of(command: &str, shell: Option<&[String]>) -> Copies {
        if shell.is_some_and(|shell| !shell.first().is_some_and(|program| is_bourne(program))) {
            return Copies::Allowed;
        }
        written(command).map_or(Copies::Allowed, Copies::WouldShare)
    }
}
