//! Which process is meant: a pid alone doesn't say, as pids are given again.

use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::stat::Stat;

/// A process, told apart from later ones with the same pid.
///
/// It can be written down and read again by a later run: after a reboot, no process has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its number among the processes of now.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did.
    pub start_time: u64,
    /// Which start of the machine that was.
    pub boot_id: String,
}

impl Identity {
    /// The process that has this pid now, even if it has ended and only waits to be reaped.
    ///
    /// # Errors
    ///
    /// If there is none, or `/proc` can't be read.
    pub fn of(pid: u32) -> io::Result<Identity> {
        Stat::read(pid)?.identity()
    }

    /// Whether it still runs, or is halted. A process that has ended and only waits to be reaped
    /// doesn't.
    pub fn is_alive(&self) -> bool {
        self.stat().is_ok_and(|stat| stat.is_some_and(|stat| !stat.has_ended()))
    }

    /// What `/proc` tells about it; none once it is gone, or if another process has its pid.
    pub(super) fn stat(&self) -> io::Result<Option<Stat>> {
        if self.boot_id != boot_id()? {
            return Ok(None);
        }
        match Stat::read(self.pid) {
            Ok(stat) => Ok((stat.start_time == self.start_time).then_some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Stat {
    /// What tells this process from every other one.
    pub(super) fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { pid: self.pid, start_time: self.start_time, boot_id: boot_id()? })
    }
}

/// Tells this start of the machine from every other one.
///
/// # Errors
///
/// If `/proc` can't be read.
pub fn boot_id() -> io::Result<String> {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    if let Some(known) = BOOT_ID.get() {
        return Ok(known.clone());
    }
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BOOT_ID.get_or_init(|| read.trim().to_owned()).clone())
}
