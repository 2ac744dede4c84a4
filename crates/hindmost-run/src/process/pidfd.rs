//! Descriptors of processes (pidfds), which never refer to another process with a reused pid.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

use super::Signal;
use super::stat::Stat;

/// Converts a pid to the system's type; `None` for 0, which means the calling process, and for numbers that are too large.
pub(super) fn system_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Opens a descriptor of the process with this pid and start time; `None` if it no longer exists.
///
/// The start time is read after opening: if the system had reused the pid before, the start time would differ.
pub(super) fn open(pid: u32, start_time: u64) -> io::Result<Option<OwnedFd>> {
    let Some(number) = system_pid(pid) else { return Ok(None) };
    let descriptor = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        // `INVAL` and `NOENT` mean that the number belongs to a thread now.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match Stat::read(pid) {
        Ok(stat) => Ok((stat.start_time == start_time).then_some(descriptor)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends a signal to one process, if it still exists.
pub(super) fn send(process: &Stat, signal: Signal) {
    // Errors are ignored: the process may have ended, or may run with another user's rights now.
    if let Ok(Some(descriptor)) = open(process.pid, process.start_time) {
        let _ = pidfd_send_signal(&descriptor, signal.into());
    }
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> rustix::process::Signal {
        match signal {
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        }
    }
}
