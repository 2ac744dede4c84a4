//! Attempts run in their own process group and, if this process has a controlling terminal, in a session without one.
//!
//! `SIGTTIN` would stop for ever a background command that reads the terminal. Without a terminal the command can't open
//! `/dev/tty` and fails immediately. It also can't change the terminal's settings, which it could if it only ignored the
//! signals. The standard library can't start a process in a new session yet (`CommandExt::setsid` is unstable), so the
//! program `setsid` does. This costs about 0.5 ms, and is skipped if this process has no terminal, as in batch jobs and
//! services.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::io::Errno;

use super::roots;

/// Returns a command that runs a program in its own process group and without the terminal of this process.
pub fn apart(program: &OsStr) -> Command {
    let Some(setsid) = program_setsid() else {
        let mut command = Command::new(program);
        command.process_group(0);
        return command;
    };
    // `setsid` must not lead a process group, because a leader would have to fork to start a session.
    let mut command = Command::new(setsid);
    command.arg(program);
    command
}

/// True if processes can be started now; false if the system reports too many processes or too little memory.
pub fn can_start_processes() -> bool {
    let mut command = apart("/bin/sh".as_ref());
    command.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(_) => true,
        Err(error) => {
            ![Errno::AGAIN, Errno::NOMEM].into_iter().any(|scarce| Errno::from_io_error(&error) == Some(scarce))
        }
    }
}

/// True if processes of [`apart`] can still open the terminal of this process, because there is no `setsid`.
pub fn keeps_terminal() -> bool {
    roots::own().terminal != 0 && program_setsid().is_none()
}

/// Returns the path of `setsid`, if it is needed and installed.
fn program_setsid() -> Option<&'static str> {
    static FOUND: OnceLock<Option<&str>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let places = ["/usr/bin/setsid", "/bin/setsid", "/run/current-system/sw/bin/setsid"];
        let found = places.into_iter().find(|place| Path::new(place).exists());
        found.filter(|_| roots::own().terminal != 0)
    })
}
