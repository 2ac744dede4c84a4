//! Descriptors that stand for processes: whoever holds one can't take another process for it.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

use super::Signal;
use super::stat::Stat;

/// The system's type for a pid; none for 0, which means "myself" to system calls, and for numbers
/// too great to be one.
pub(super) fn system_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// A descriptor of the process that had this pid at this start time; none if it is gone.
///
/// What is opened first and looked at afterwards is the same process: had the number been given to
/// another one by the time it was opened, the start time would differ.
pub(super) fn open(pid: u32, start_time: u64) -> io::Result<Option<OwnedFd>> {
    let Some(number) = system_pid(pid) else { return Ok(None) };
    let descriptor = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        // The latter two mean that a thread has the number now.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match Stat::read(pid) {
        Ok(stat) => Ok((stat.start_time == start_time).then_some(descriptor)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Signals this one process, if it is still there.
pub(super) fn send(process: &Stat, signal: Signal) {
    // Whatever goes wrong, there is nothing better to do: it may have ended, or belong to somebody
    // else by now (a program with another owner's rights).
    if let Ok(Some(descriptor)) = open(process.pid, process.start_time) {
        let _ = pidfd_send_signal(&descriptor, signal.into());
    }
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> rustix::process::Signal {
        match signal {
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        }
    }
}
