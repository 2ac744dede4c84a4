//! Where attempts' processes run: in a process group of their own and, if this process has a controlling
//! terminal, in a session without one.
//!
//! A command that reads the terminal from the background would be halted for ever by `SIGTTIN`; without a
//! terminal it can't open `/dev/tty` and fails at once. Neither can it change the terminal's settings, which
//! it could if it only ignored the signals. The standard library can't start a process in a new session
//! yet (`CommandExt::setsid` is unstable), so the program `setsid` does it. That costs about half a
//! millisecond, and is left out where this process has no terminal, as in batch jobs and services.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::io::Errno;

use super::roots;

/// A command that runs a program in a process group of its own, and without our terminal.
pub fn apart(program: &str) -> Command {
    let Some(setsid) = program_setsid() else {
        let mut command = Command::new(program);
        command.process_group(0);
        return command;
    };
    // It leads no group before, or else it would have to fork to start a session.
    let mut command = Command::new(setsid);
    command.arg(program);
    command
}

/// Whether processes can be started now. False if the system says that there are too many, or that it has
/// no memory for another one.
pub fn can_start_processes() -> bool {
    let mut command = apart("/bin/sh");
    command.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(_) => true,
        Err(error) => {
            ![Errno::AGAIN, Errno::NOMEM].into_iter().any(|scarce| Errno::from_io_error(&error) == Some(scarce))
        }
    }
}

/// Whether processes of [`apart`] can still open our terminal, because there is no `setsid`.
pub fn keeps_terminal() -> bool {
    roots::own().terminal != 0 && program_setsid().is_none()
}

/// The program that starts another one in a new session, if one is needed and there.
fn program_setsid() -> Option<&'static str> {
    static FOUND: OnceLock<Option<&str>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let places = ["/usr/bin/setsid", "/bin/setsid", "/run/current-system/sw/bin/setsid"];
        let found = places.into_iter().find(|place| Path::new(place).exists());
        found.filter(|_| roots::own().terminal != 0)
    })
}
