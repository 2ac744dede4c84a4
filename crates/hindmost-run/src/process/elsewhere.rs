//! The same functions on systems other than Linux, where processes can't be run for real: nothing is
//! found, and what can't be left undone is an error.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::{Identity, Signal};

/// The error for everything that can't be done here.
fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "running jobs takes Linux")
}

/// Would make this process adopt the orphans of its descendants.
///
/// # Errors
///
/// Always.
pub fn adopt_orphans() -> io::Result<()> {
    Err(unsupported())
}

/// Would start a process.
///
/// # Errors
///
/// Always.
pub fn spawn(_: &mut std::process::Command) -> io::Result<Identity> {
    Err(unsupported())
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
    pub fn new(_: impl Fn(u64) + Send + 'static) -> io::Result<Watcher> {
        Err(unsupported())
    }

    /// Would watch a process.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn watch(&self, _: &Identity, _: u64) -> io::Result<()> {
        Err(unsupported())
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

/// Finds none.
pub fn find_by_environment(_: &str, _: &str, _: &str) -> Vec<(Identity, Option<OsString>)> {
    Vec::new()
}

/// Finds none.
pub fn adopted_orphans(_: &str, _: &str, _: &str) -> Vec<(Identity, Option<OsString>)> {
    Vec::new()
}

/// Doesn't know.
pub fn read_share(_: &Identity, _: &Path) -> Option<f64> {
    None
}

/// Doesn't know.
pub fn cpu_seconds(_: &Identity) -> Option<f64> {
    None
}
