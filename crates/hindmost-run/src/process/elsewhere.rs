//! The same functions on systems other than Linux, where processes can't be run for real: nothing is
//! found, and what can't be left undone is an error.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Identity, Signal};

/// Variable with the marks of the attempts around a run.
pub const WITHIN_VARIABLE: &str = "HINDMOST_WITHIN";
/// Variable that names the run of a process.
pub const RUN_VARIABLE: &str = "HINDMOST_RUN";
/// Variable that names the attempt of a process.
pub const KEY_VARIABLE: &str = "HINDMOST_KEY";
/// Variable that names the folder of the run of a process.
pub const FOLDER_VARIABLE: &str = "HINDMOST_FROM";

/// The error for everything that can't be done here.
fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "running jobs takes Linux")
}

/// Would tell which run or attempt a process belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(());

impl Mark {
    /// The mark of every run.
    pub fn of_run(_: &str, _: &Path) -> Mark {
        Mark(())
    }
}

/// Would tell which attempt of which run a process belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The attempt.
    pub attempt: Mark,
    /// Its run.
    pub run: Mark,
}

impl Tag {
    /// The tag of every attempt.
    pub fn new(_: &str, _: &Path, _: &str) -> Tag {
        Tag { attempt: Mark(()), run: Mark(()) }
    }
}

/// Knows of no attempt around this process.
pub fn within() -> Option<String> {
    None
}

/// Would make this process adopt the orphans of its descendants.
///
/// # Errors
///
/// Always.
pub fn adopt_orphans() -> io::Result<()> {
    Err(unsupported())
}

/// The command as it is.
pub fn apart(program: &str) -> Command {
    Command::new(program)
}

/// There is no terminal to be kept.
pub fn keeps_terminal() -> bool {
    false
}

/// Would start a process.
///
/// # Errors
///
/// Always.
pub fn spawn(_: &mut Command, _: Tag) -> io::Result<Identity> {
    Err(unsupported())
}

/// No process can be started.
pub fn can_start_processes() -> bool {
    false
}

/// Does nothing.
pub fn adopt(_: &Identity, _: Tag) {}

/// Does nothing.
pub fn abandon(_: &Identity) {}

/// Nothing is proven.
pub fn is_proven(_: &Identity, _: Tag) -> bool {
    false
}

/// Finds none.
pub fn find_root(_: Tag, _: &[&str]) -> Option<Identity> {
    None
}

/// Would be a control group.
#[derive(Debug)]
pub struct Group(PathBuf);

impl Group {
    /// There are none.
    pub fn enter(_: Mark) -> Option<Group> {
        None
    }

    /// Where it would be.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// It was not there.
    pub fn was_there(&self) -> bool {
        false
    }
}

/// No path is one.
pub fn is_group_of(_: &Path, _: Mark) -> bool {
    false
}

/// Does nothing.
pub fn remove_group(_: &Path) {}

/// What has become of an attempt that was to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Something is left.
    Unfinished,
    /// Nothing is left.
    Nothing(Option<i32>),
    /// Something does not end.
    Stays(String),
}

/// Would end an attempt.
#[derive(Debug)]
pub struct Ending(Tag);

impl Ending {
    /// Nothing to end.
    pub fn new(_: Identity, tag: Tag, _: Vec<PathBuf>) -> Ending {
        Ending(tag)
    }

    /// Nothing is left.
    pub fn step(&mut self) -> Outcome {
        Outcome::Nothing(None)
    }

    /// Which attempt it is.
    pub fn tag(&self) -> Tag {
        self.0
    }
}

/// That a process does not end, for people.
pub fn does_not_end(pid: u32) -> String {
    format!("process {pid} does not end")
}

/// Does nothing.
pub fn kill_now(_: &Identity, _: Tag) {}

/// Would be processes of a run that are of no attempt which runs.
#[derive(Debug)]
pub struct Strays<'a> {
    /// The run.
    pub run: Mark,
    /// Attempts whose processes are left alone.
    pub kept: &'a HashSet<Mark>,
    /// Attempts that are known to be of the run.
    pub of_run: &'a HashSet<Mark>,
    /// Control groups of the run.
    pub groups: &'a [PathBuf],
}

impl Strays<'_> {
    /// There are none.
    pub fn end(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Would tell when processes end.
#[derive(Debug)]
pub struct Watcher(());

impl Watcher {
    /// Would start watching.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new() -> io::Result<Watcher> {
        Err(unsupported())
    }

    /// None is watched.
    pub fn count(&self) -> usize {
        0
    }

    /// Would watch a process.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn watch(&mut self, _: &Identity, _: u64) -> io::Result<()> {
        Err(unsupported())
    }

    /// Waits.
    pub fn wait(&mut self, most: Duration) -> Vec<u64> {
        std::thread::sleep(most);
        Vec::new()
    }
}

/// Would signal a process group.
///
/// # Errors
///
/// Always.
pub fn signal_group(_: u32, _: Signal) -> io::Result<bool> {
    Err(unsupported())
}

/// Finds none.
pub fn descendants(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Does nothing.
pub fn kill_tree(_: &Identity) {}

/// Does nothing.
pub fn stop_tree(_: &Identity) {}

/// Does nothing.
pub fn continue_tree(_: &Identity) {}

/// Doesn't know.
pub fn read_share(_: &Identity, _: &Path) -> Option<f64> {
    None
}

/// Doesn't know.
pub fn cpu_seconds(_: &Identity) -> Option<f64> {
    None
}

/// Doesn't know.
pub(crate) fn own_limit(_: &str) -> rustix::process::Rlimit {
    rustix::process::Rlimit { current: None, maximum: None }
}
