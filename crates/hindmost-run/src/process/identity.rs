//! Identifies a process. A pid is not enough, because the system reuses pids.

use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::stat::Stat;

/// Identifies a process, and distinguishes it from later processes with the same pid.
///
/// It can be stored and used by a later Hindmost process. After a reboot no process has the same identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Id of the process (pid).
    pub pid: u32,
    /// Start of the process, in clock ticks since the boot.
    pub start_time: u64,
    /// Id of the machine's boot during which the process started.
    pub boot_id: String,
}

impl Identity {
    /// Returns the identity of the process that has this pid now, even if it has ended and has not been reaped.
    ///
    /// # Errors
    ///
    /// If there is no such process, or `/proc` can't be read.
    pub fn of(pid: u32) -> io::Result<Identity> {
        Stat::read(pid)?.identity()
    }

    /// True if the process is running or stopped; false if it has ended, even if it has not been reaped.
    pub fn is_running(&self) -> bool {
        self.stat().is_ok_and(|stat| stat.is_some_and(|stat| !stat.has_ended()))
    }

    /// Returns the state of the process in `/proc`; `None` if it does not exist or another process has its pid.
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
    /// Returns the identity of this process.
    pub(super) fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { pid: self.pid, start_time: self.start_time, boot_id: boot_id()? })
    }
}

/// Returns the id of the machine's current boot.
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
