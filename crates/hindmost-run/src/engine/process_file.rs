//! The file `process` in an attempt's folder names the process that runs the attempt, so that a resumed run can adopt it.
//!
//! Another user may have written the folder, so the file is not trusted: it only names the process to check first
//! ([`crate::process::is_proven`]).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use crate::process::Identity;

/// Name of the file.
pub const PROCESS_FILE: &str = "process";
/// Number of bytes of the file that are read at most: 16 KiB. Hindmost writes much less.
const LONGEST: u64 = 16_384;

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    process: Identity,
    /// Path of the run's control group, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<PathBuf>,
}

/// The file, opened for writing.
pub(super) struct ProcessFile(File);

impl ProcessFile {
    /// Creates the file in an attempt's folder; fails if it exists.
    pub fn create(folder: BorrowedFd<'_>) -> io::Result<ProcessFile> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(ProcessFile(openat(folder, PROCESS_FILE, flags, Mode::from_raw_mode(0o644))?.into()))
    }

    /// Writes the process and the run's control group.
    pub fn write(mut self, process: &Identity, group: Option<PathBuf>) -> io::Result<()> {
        self.0.write_all(&serde_json::to_vec(&Content { process: process.clone(), group })?)
    }

    /// Returns the process and control group that the file names; `None` if it does not exist or is not valid.
    pub fn read(folder: BorrowedFd<'_>) -> Option<(Option<Identity>, Option<PathBuf>)> {
        // Without NONBLOCK, opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = openat(folder, PROCESS_FILE, flags, Mode::empty()).ok()?.into();
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text).ok()?;
        let content: Content = serde_json::from_slice(&text).ok()?;
        Some((Some(content.process), content.group))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn identity() -> Identity {
        Identity { pid: 7, start_time: 8, boot_id: "9".to_owned() }
    }

    #[test]
    fn the_written_content_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        ProcessFile::create(handle.as_fd()).unwrap().write(&identity(), Some("/group".into())).unwrap();
        assert_eq!(ProcessFile::read(handle.as_fd()), Some((Some(identity()), Some("/group".into()))));
        assert!(ProcessFile::create(handle.as_fd()).is_err(), "the file exists already");
    }

    #[test]
    fn only_short_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let path = folder.path().join(PROCESS_FILE);
        assert_eq!(ProcessFile::read(handle.as_fd()), None);
        rustix::fs::mkfifoat(&handle, PROCESS_FILE, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(ProcessFile::read(handle.as_fd()), None);
        std::fs::remove_file(&path).unwrap();
        let text = serde_json::to_string(&identity()).unwrap();
        std::fs::write(folder.path().join("other"), &text).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert_eq!(ProcessFile::read(handle.as_fd()), None);
        assert!(ProcessFile::create(handle.as_fd()).is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, " ".repeat(20_000) + &text).unwrap();
        assert_eq!(ProcessFile::read(handle.as_fd()), None);
    }
}
