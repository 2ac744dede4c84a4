//! The functions of this module on systems other than Linux, where jobs can't be run. They find no processes, and starting
//! or watching a process returns an error.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Identity, Outcome, Signal, Strays};

/// Returns the error that says that running jobs needs Linux.
fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "running jobs needs Linux")
}

/// The mark of a run or attempt, which identifies nothing on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(());

impl Mark {
    /// Returns the same mark for every run.
    pub fn of_run(_: &str, _: &Path) -> Mark {
        Mark(())
    }
}

/// The marks of an attempt and its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Mark of the attempt.
    pub attempt: Mark,
    /// Mark of the attempt's run.
    pub run: Mark,
}

impl Tag {
    /// Returns the same tag for every attempt.
    pub fn new(_: &str, _: &Path, _: &str) -> Tag {
        Tag { attempt: Mark(()), run: Mark(()) }
    }
}

/// Returns `None`, because no run can be started inside an attempt.
pub fn within() -> Option<String> {
    None
}

/// Returns an error, because orphans can't be adopted.
///
/// # Errors
///
/// Always.
pub fn adopt_orphans() -> io::Result<()> {
    Err(unsupported())
}

/// Returns a command without a process group of its own.
pub fn apart(program: &std::ffi::OsStr) -> Command {
    Command::new(program)
}

/// Returns false, because no attempt can be started that could use the terminal.
pub fn keeps_terminal() -> bool {
    false
}

/// Returns an error, because attempts can't be started.
///
/// # Errors
///
/// Always.
pub fn spawn(_: &mut Command, _: Tag) -> io::Result<Identity> {
    Err(unsupported())
}

/// Returns false, because attempts can't be started.
pub fn can_start_processes() -> bool {
    false
}

/// Returns `None`, because no attempt can be started.
pub fn exit_code(_: &Identity) -> Option<i32> {
    None
}

/// Does nothing, because no attempt can be adopted.
pub fn adopt(_: &Identity, _: Tag) {}

/// Does nothing, because no attempt runs.
pub fn abandon(_: &Identity) {}

/// Returns false, because no process belongs to an attempt.
pub fn is_proven(_: &Identity, _: Tag) -> bool {
    false
}

/// Returns `None`, because no attempt runs.
pub fn find_root(_: Tag, _: &[&str]) -> Option<Identity> {
    None
}

/// A control group, which can't be created on this system.
#[derive(Debug)]
pub struct Group(PathBuf);

impl Group {
    /// Returns `None`, because there are no control groups.
    pub fn enter(_: Mark) -> Option<Group> {
        None
    }

    /// Returns the path of the group.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns false, because the group did not exist before.
    pub fn was_there(&self) -> bool {
        false
    }
}

/// Returns false, because there are no control groups.
pub fn is_group_of(_: &Path, _: Mark) -> bool {
    false
}

/// Does nothing, because there are no control groups.
pub fn remove_group(_: &Path) {}

/// Does nothing, because no attempt runs.
pub fn terminate_tree(_: &Identity, _: Tag, _: bool) {}

/// Returns false, because no attempt runs.
pub fn terminate_shell(_: &Identity, _: Tag, _: bool) -> bool {
    false
}

/// The end of an attempt that has no processes.
#[derive(Debug)]
pub struct Ending(Tag);

impl Ending {
    /// Keeps only the tag of the attempt.
    pub fn new(_: Identity, tag: Tag, _: Vec<PathBuf>, _: Option<std::time::Instant>) -> Ending {
        Ending(tag)
    }

    /// Does nothing.
    pub fn hurry(&mut self) {}

    /// Returns [`Outcome::Nothing`], because no process of the attempt runs.
    pub fn step(&mut self) -> Outcome {
        Outcome::Nothing(None)
    }

    /// Returns the tag of the attempt.
    pub fn tag(&self) -> Tag {
        self.0
    }
}

/// Returns the message that a process does not end.
pub fn does_not_end(pid: u32) -> String {
    format!("process {pid} does not end")
}

/// Does nothing, because no attempt runs.
pub fn kill_now(_: &Identity, _: Tag) {}

impl Strays<'_> {
    /// Returns no messages, because no process belongs to a run.
    pub fn end(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A watcher of processes, which can't be created on this system.
#[derive(Debug)]
pub struct Watcher(());

impl Watcher {
    /// Returns an error, because processes can't be watched.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new() -> io::Result<Watcher> {
        Err(unsupported())
    }

    /// Returns 0, because no process is watched.
    pub fn count(&self) -> usize {
        0
    }

    /// Returns an error, because processes can't be watched.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn watch(&mut self, _: &Identity, _: u64) -> io::Result<()> {
        Err(unsupported())
    }

    /// Waits for the whole time `most`, because no process can end. Returns no tokens.
    pub fn wait(&mut self, most: Duration) -> Vec<u64> {
        std::thread::sleep(most);
        Vec::new()
    }
}

/// Returns an error, because process groups can't be signalled.
///
/// # Errors
///
/// Always.
pub fn signal_group(_: u32, _: Signal) -> io::Result<bool> {
    Err(unsupported())
}

/// Returns no processes, because descendants can't be found.
pub fn descendants(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Does nothing, because no attempt runs.
pub fn kill_tree(_: &Identity) {}

/// Does nothing, because no attempt runs.
pub fn stop_tree(_: &Identity) {}

/// Does nothing, because no attempt runs.
pub fn continue_tree(_: &Identity) {}

/// Returns `None`, because the share of a file that a process has read is unknown.
pub fn read_share(_: &Identity, _: &Path) -> Option<f64> {
    None
}

/// Returns nothing, because no process is known.
pub fn in_use(_: &[PathBuf]) -> std::collections::HashSet<PathBuf> {
    std::collections::HashSet::new()
}

/// Returns nothing, because the open files of a process are unknown.
pub fn written_files(_: &Identity, _: &[&Path], _: Option<std::time::SystemTime>) -> Vec<WrittenFile> {
    Vec::new()
}

/// Returns `None`, because the CPU time of a process is unknown.
pub fn cpu_seconds(_: &Identity) -> Option<f64> {
    None
}

/// Returns a limit without values, which stands for "unknown or unlimited".
pub(crate) fn own_limit(_: &str) -> rustix::process::Rlimit {
    rustix::process::Rlimit { current: None, maximum: None }
}
