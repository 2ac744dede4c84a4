//! The command that the root process of an attempt executes.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use hindmost_core::ids::AttemptId;
use rustix::fs::{Mode, OFlags, openat};

use super::{END_MARKER, Launch, ROOT_NAME, end_line, key, simple};
use crate::process;

/// Returns the command that runs an attempt on every engine: a shell that runs the user's command in another shell and
/// then writes the end marker. The driver reads exit codes from the marker, because it can't wait for adopted processes
/// and some engines lose exit codes.
///
/// # Errors
/// If the end marker and log files can't be created in the attempt's folder.
pub fn wrapped(launch: &Launch<'_>) -> io::Result<Command> {
    // The marker is opened first, as standard input. So the shell writes it without a path, into the attempt's folder even
    // if that was moved. It is one short write; a marker without its newline is incomplete. An engine may add a fourth
    // argument: the limit on open files to restore for the command.
    // If the shell has a terminal, ignoring these signals makes reading it an error instead of stopping the command.
    const KEEPING_TERMINAL: &str = "trap '' TTIN TTOU; ";
    // The marker begins with "moved" if the attempt's folder is no longer at its path, because the command may have written
    // its output to another folder.
    // The wrapper's own descriptors are 8 and 9, because commands may have been given lower ones. Its standard error is closed to
    // the message that a shell prints when a signal has killed its child.
    const SCRIPT: &str = r#"exec 9>&0 8>&2 </dev/null 2>/dev/null; [ -z "$4" ] || ulimit -S -n "$4"
(exec SHELL "$1" 2>&8 8>&- 9>&-); code=$?
[ "$3/end" -ef /proc/self/fd/9 ] && word=exit || word=moved; printf '%s %d %s\n' "$word" "$code" "$2" >&9 || exit 97"#;
    // `/bin/sh` may drop variables with names that it can't have itself, such as functions that `bash` exports.
    let dropped = own_odd_variables().iter().chain(launch.environment.iter().filter(|(name, _)| is_odd(name)));
    let dropped: Vec<String> =
        dropped.filter_map(|(name, value)| Some(quoted(&format!("{}={}", name.to_str()?, value.to_str()?)))).collect();
    let restored = if dropped.is_empty() { String::new() } else { format!("/usr/bin/env {} ", dropped.join(" ")) };
    let shell: Vec<String> = launch.shell.iter().map(|word| quoted(word)).collect();
    let script = SCRIPT.replacen("SHELL", &format!("{restored}{}", shell.join(" ")), 1);
    let script = format!("{}{script}", if process::keeps_terminal() { KEEPING_TERMINAL } else { "" });
    let mut command = prepared("/bin/sh".as_ref(), launch)?;
    command
        .arg("-c")
        .arg(script)
        .arg(ROOT_NAME)
        .arg(launch.command)
        .arg(format!("{}/{}", launch.run.id, key(launch.attempt)))
        .arg(launch.folder)
        .stdin(file_in(launch, END_MARKER)?);
    Ok(command)
}

/// Returns a word in quotes for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// True if a shell can have no variable of this name.
fn is_odd(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.first().is_none_or(u8::is_ascii_digit)
        || name.iter().any(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
}

/// Returns the variables of this process that a shell can't have.
fn own_odd_variables() -> &'static [(OsString, OsString)] {
    static ODD: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();
    ODD.get_or_init(|| std::env::vars_os().filter(|(name, _)| !name.is_empty() && is_odd(name)).collect())
}

/// Returns the command that runs an attempt without a wrapper, and the attempt's end marker, which the engine has to write
/// once the command has ended. A command of plain words is executed without a shell (see `simple.rs`).
///
/// # Errors
/// If the end marker and log files can't be created in the attempt's folder.
pub fn unwrapped(launch: &Launch<'_>) -> io::Result<(Command, Marker)> {
    let marker = Marker {
        file: open_in(launch, END_MARKER)?,
        path: launch.folder.join(END_MARKER),
        run: launch.run.id.clone(),
        attempt: launch.attempt,
    };
    let command = if let Some((program, words)) = simple::words(launch) {
        let mut command = prepared(program.as_os_str(), launch)?;
        // Shells set this variable too. Some programs trust it more than the system.
        command.args(words).env("PWD", launch.directory);
        command
    } else {
        let (shell, options) = launch.shell.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = prepared(shell.as_ref(), launch)?;
        command.args(options).arg(launch.command);
        command
    };
    Ok((command, marker))
}

/// The end marker of an attempt without a wrapper.
#[derive(Debug)]
pub struct Marker {
    file: File,
    path: PathBuf,
    run: String,
    attempt: AttemptId,
}

impl Marker {
    /// Writes that the command has ended with this exit code. If writing fails, the attempt has no marker, as if the disk
    /// were full.
    pub fn write(mut self, code: i32) {
        let place = |found: std::fs::Metadata| (found.dev(), found.ino());
        let is_there = std::fs::metadata(&self.path).ok().map(place) == self.file.metadata().ok().map(place);
        let line = end_line(code, &self.run, self.attempt);
        // As the wrapper does: the command may have written its output to another folder.
        let line = if is_there { line } else { line.replacen("exit", "moved", 1) };
        let length = line.len() as u64;
        if self.file.write_all(line.as_bytes()).is_ok() && self.file.metadata().is_ok_and(|found| found.len() > length)
        {
            // An earlier attempt in this folder had a longer marker.
            let _ = self.file.set_len(length);
        }
    }
}

/// Returns a command that executes a program with an attempt's folder, environment, output and error, and without input.
fn prepared(program: &OsStr, launch: &Launch<'_>) -> io::Result<Command> {
    let mut command = process::apart(program);
    command
        .envs(process::within().map(|marks| (process::WITHIN_VARIABLE, marks)))
        .current_dir(launch.directory)
        // This process may itself run inside a task of another run. The input of that task must not reach this command.
        .env_remove("HINDMOST_INPUT")
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .stdin(OpenOptions::new().read(true).open("/dev/null")?)
        .stdout(file_in(launch, "stdout")?)
        .stderr(file_in(launch, "stderr")?);
    Ok(command)
}

/// Opens an empty file in an attempt's folder for writing.
fn file_in(launch: &Launch<'_>, name: &str) -> io::Result<File> {
    let file = open_in(launch, name)?;
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Opens a file in an attempt's folder for writing. It exists if the folder has been used before.
fn open_in(launch: &Launch<'_>, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(launch.handle, name, flags, Mode::from_raw_mode(0o644))?.into())
}
