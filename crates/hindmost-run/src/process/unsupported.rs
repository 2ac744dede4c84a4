//! The same functions for systems other than Linux, where jobs can't be run: they find nothing, and starting or watching a
//! process returns an error.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Identity, Signal};

/// Variable with the marks of the attempts inside which a run was started.
pub const WITHIN_VARIABLE: &str = "HINDMOST_WITHIN";
/// Variable that names the run to which a process belongs.
pub const RUN_VARIABLE: &str = "HINDMOST_RUN";
/// Variable that names the attempt to which a process belongs.
pub const KEY_VARIABLE: &str = "HINDMOST_KEY";
/// Variable that names the folder of a process's run.
pub const FOLDER_VARIABLE: &str = "HINDMOST_FROM";

/// Returns the error for everything that needs Linux.
fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "running jobs needs Linux")
}

/// Stands for the mark of a run or attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(());

impl Mark {
    /// Returns the same mark for every run.
    pub fn of_run(_: &str, _: &Path) -> Mark {
        Mark(())
    }
}

/// Stands for the marks of an attempt and its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The attempt.
    pub attempt: Mark,
    /// Its run.
    pub run: Mark,
}

impl Tag {
    /// Returns the same tag for every attempt.
    pub fn new(_: &str, _: &Path, _: &str) -> Tag {
        Tag { attempt: Mark(()), run: Mark(()) }
    }
}

/// Returns `None`: there are no enclosing attempts.
pub fn within() -> Option<String> {
    None
}

/// Fails: orphans can't be adopted.
///
/// # Errors
///
/// Always.
pub fn adopt_orphans() -> io::Result<()> {
    Err(unsupported())
}

/// Returns an ordinary command.
pub fn apart(program: &str) -> Command {
    Command::new(program)
}

/// Returns false.
pub fn keeps_terminal() -> bool {
    false
}

/// Fails: processes can't be started.
///
/// # Errors
///
/// Always.
pub fn spawn(_: &mut Command, _: Tag) -> io::Result<Identity> {
    Err(unsupported())
}

/// Returns false: processes can't be started.
pub fn can_start_processes() -> bool {
    false
}

/// Does nothing.
pub fn adopt(_: &Identity, _: Tag) {}

/// Does nothing.
pub fn abandon(_: &Identity) {}

/// Returns false.
pub fn is_proven(_: &Identity, _: Tag) -> bool {
    false
}

/// Returns `None`.
pub fn find_root(_: Tag, _: &[&str]) -> Option<Identity> {
    None
}

/// Stands for a control group.
#[derive(Debug)]
pub struct Group(PathBuf);

impl Group {
    /// Returns `None`: there are no control groups.
    pub fn enter(_: Mark) -> Option<Group> {
        None
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns false.
    pub fn was_there(&self) -> bool {
        false
    }
}

/// Returns false.
pub fn is_group_of(_: &Path, _: Mark) -> bool {
    false
}

/// Does nothing.
pub fn remove_group(_: &Path) {}

/// Whether an attempt has ended completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Processes are left.
    Unfinished,
    /// No process is left.
    Nothing(Option<i32>),
    /// A process does not end.
    Stays(String),
}

/// Stands for the end of an attempt.
#[derive(Debug)]
pub struct Ending(Tag);

impl Ending {
    /// Does nothing.
    pub fn new(_: Identity, tag: Tag, _: Vec<PathBuf>) -> Ending {
        Ending(tag)
    }

    /// Returns that no process is left.
    pub fn step(&mut self) -> Outcome {
        Outcome::Nothing(None)
    }

    /// Returns the attempt's tag.
    pub fn tag(&self) -> Tag {
        self.0
    }
}

/// Returns the message that a process does not end.
pub fn does_not_end(pid: u32) -> String {
    format!("process {pid} does not end")
}

/// Does nothing.
pub fn kill_now(_: &Identity, _: Tag) {}

/// Stands for the processes of a run that belong to no running attempt.
#[derive(Debug)]
pub struct Strays<'a> {
    /// The run.
    pub run: Mark,
    /// Attempts whose processes are left alone.
    pub kept: &'a HashSet<Mark>,
    /// Known attempts of the run.
    pub of_run: &'a HashSet<Mark>,
    /// Control groups of the run.
    pub groups: &'a [PathBuf],
}

impl Strays<'_> {
    /// Returns no messages: there are no processes.
    pub fn end(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Stands for a watcher of processes.
#[derive(Debug)]
pub struct Watcher(());

impl Watcher {
    /// Fails: processes can't be watched.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new() -> io::Result<Watcher> {
        Err(unsupported())
    }

    /// Returns 0.
    pub fn count(&self) -> usize {
        0
    }

    /// Fails: processes can't be watched.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn watch(&mut self, _: &Identity, _: u64) -> io::Result<()> {
        Err(unsupported())
    }

    /// Sleeps for the time `most`.
    pub fn wait(&mut self, most: Duration) -> Vec<u64> {
        std::thread::sleep(most);
        Vec::new()
    }
}

/// Fails: process groups can't be signalled.
///
/// # Errors
///
/// Always.
pub fn signal_group(_: u32, _: Signal) -> io::Result<bool> {
    Err(unsupported())
}

/// Returns none.
pub fn descendants(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Does nothing.
pub fn kill_tree(_: &Identity) {}

/// Does nothing.
pub fn stop_tree(_: &Identity) {}

/// Does nothing.
pub fn continue_tree(_: &Identity) {}

/// Returns `None`: it is unknown.
pub fn read_share(_: &Identity, _: &Path) -> Option<f64> {
    None
}

/// Returns `None`: it is unknown.
pub fn cpu_seconds(_: &Identity) -> Option<f64> {
    None
}

/// Returns a limit without values.
pub(crate) fn own_limit(_: &str) -> rustix::process::Rlimit {
    rustix::process::Rlimit { current: None, maximum: None }
}
