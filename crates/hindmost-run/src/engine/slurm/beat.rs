//! The file in an attempt's folder in which the agent reports every two seconds: which step it is, how much of the input has been
//! read, and whether everything that the attempt has started has ended.
//!
//! The driver creates the file and the agent writes it in place, always with the same length. So a shared file system that
//! remembers names for some time shows the new content to everyone who opens the file.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use hindmost_core::usage::Usage;
use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

/// Name of the file.
pub const BEAT: &str = "beat";
/// Name of the file that requests an attempt to stop.
pub const STOP: &str = "stop";
/// Content of that file if another attempt of the task succeeds or goes on ([`super::super::Engine::end_loser`]).
pub const LOSER: &[u8] = b"loser";
/// Length of the file in bytes.
const LENGTH: usize = 1024;
/// Largest number of bytes of a message.
const LONGEST: usize = 700;

/// What has become of an attempt, according to its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs.
    Running,
    /// Everything that it has started has ended.
    Ended,
    /// Its command was not started; holds the reason.
    NotBegun(String),
    /// It has ended, but a process does not end; holds a message about it.
    Stays(String),
}

/// A report of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// The number that the attempt's launch has and no other one.
    pub nonce: String,
    /// Ids of Slurm's allocation and step.
    pub job: u32,
    /// Id of the step within its allocation.
    pub step: u32,
    /// Number of the report. It grows with each one.
    pub count: u64,
    /// Seconds since the agent began, at the time of the report.
    #[serde(default)]
    pub ran: f64,
    /// Share of the input that the attempt has read, if it is known.
    pub share: Option<f64>,
    /// What the attempt has used, once it has ended. Agents of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True if the system has killed a process of the attempt for memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed_for_memory: bool,
    /// True once the agent has been sent a signal: by this run, by a user's `scancel`, or because the allocation ends.
    pub signalled: bool,
    /// What has become of the attempt.
    pub state: State,
}

impl Beat {
    /// Returns the first report of an agent.
    pub fn first(nonce: &str, job: u32, step: u32) -> Beat {
        let state = State::Running;
        let nonce = nonce.to_owned();
        Beat {
            nonce,
            job,
            step,
            count: 0,
            ran: 0.0,
            share: None,
            usage: None,
            killed_for_memory: false,
            signalled: false,
            state,
        }
    }

    /// Creates the file, which is empty at first.
    pub fn create(folder: BorrowedFd<'_>) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(folder, BEAT, flags, Mode::from_raw_mode(0o644)).map(drop).map_err(Into::into)
    }

    /// Writes the report.
    pub fn write(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        if text.len() >= LENGTH {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        text.resize(LENGTH - 1, b' ');
        text.push(b'\n');
        let file: File =
            openat(folder, BEAT, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?.into();
        file.write_all_at(&text, 0)
    }

    /// Reads the report of the launch with this nonce; `None` if there is none yet, or not a complete one.
    pub fn read(folder: BorrowedFd<'_>, nonce: &str) -> Option<Beat> {
        Beat::read_with_time(folder, nonce).map(|(beat, _)| beat)
    }

    /// Reads the report of the launch with this nonce, and the time at which it was written, by the clock of the file system.
    pub fn read_with_time(folder: BorrowedFd<'_>, nonce: &str) -> Option<(Beat, SystemTime)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = openat(folder, BEAT, flags, Mode::empty()).ok()?.into();
        let found = file.metadata().ok()?;
        if !found.is_file() {
            return None;
        }
        let mut text = Vec::new();
        file.take(LENGTH as u64).read_to_end(&mut text).ok()?;
        let beat: Beat = serde_json::from_slice(text.strip_suffix(b"\n")?).ok()?;
        (beat.nonce == nonce).then_some((beat, found.modified().ok()?))
    }

    /// True if the attempt has ended.
    pub fn is_last(&self) -> bool {
        self.state != State::Running
    }
}

/// Cuts a message so that it fits the file.
pub fn shortened(what: &str) -> String {
    let mut end = what.len().min(LONGEST);
    while !what.is_char_boundary(end) {
        end -= 1;
    }
    what[..end].replace(|letter: char| letter.is_control() || letter == '"' || letter == '\\', " ")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_report_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let mut beat = Beat { count: 3, share: Some(0.5), ..Beat::first("7", 1, 2) };
        assert!(beat.write(handle.as_fd()).is_err(), "only the driver creates the file");
        Beat::create(handle.as_fd()).unwrap();
        assert_eq!(Beat::read(handle.as_fd(), "7"), None);
        beat.write(handle.as_fd()).unwrap();
        assert_eq!(Beat::read(handle.as_fd(), "7").as_ref(), Some(&beat));
        assert!(!beat.is_last() && Beat::read(handle.as_fd(), "8").is_none());
        beat.state = State::Stays(shortened(&"ä\"\\\n".repeat(1000)));
        beat.write(handle.as_fd()).unwrap();
        assert!(Beat::read(handle.as_fd(), "7").unwrap().is_last());
    }
}
