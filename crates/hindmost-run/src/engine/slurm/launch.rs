//! The description of a launch: a file in the attempt's folder from which the agent on the node knows what to run.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::time::SystemTime;

use hindmost_core::ids::AttemptId;
use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

/// Name of the file.
const NAME: &str = "launch";
/// Largest size of the file: 16 MiB, far above the longest command line.
const LONGEST: u64 = 16 << 20;

/// A launch as its agent needs it. Its fields are those of [`Launch`](crate::engine::Launch).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// A number that no other launch has, so that a step that starts late does not run an attempt that was started again.
    pub nonce: String,
    /// Id of the attempt.
    pub attempt: AttemptId,
    /// Id of the run.
    pub run: String,
    /// Folder of the run.
    pub run_folder: OsString,
    /// Name of the node.
    pub node: String,
    /// The shell with its options.
    pub shell: Vec<String>,
    /// The command.
    pub command: OsString,
    /// Folder in which the command runs.
    pub directory: OsString,
    /// Environment variables.
    pub environment: Vec<(OsString, OsString)>,
    /// The input file.
    pub input: Option<OsString>,
    /// Factor by which fault injection slows the attempt down.
    pub slowed: f64,
    /// When the `slurmd` of the node was started, as Slurm prints it, if that was known.
    #[serde(default)]
    pub slurmd: Option<String>,
    /// Folder in which the attempt's folder for temporary files is made.
    #[serde(default)]
    pub tmpdir: Option<OsString>,
    /// True if the command is a shell script that handles `SIGTERM` and ends then.
    #[serde(default)]
    pub cleans_up: bool,
    /// How long the processes of the attempt may take to end after they got `SIGTERM`, in seconds.
    #[serde(default)]
    pub kill_after: f64,
    /// Positions of the attempt's GPUs among those of the node, if it demands any.
    pub gpus: Option<Vec<usize>>,
}

impl Description {
    /// Writes the file; fails if it exists.
    pub fn write(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The environment may hold secrets.
        let mut file: File = openat(folder, NAME, flags, Mode::from_raw_mode(0o600))?.into();
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// Returns when the file was written, by the clock of the file system; `None` if that is unknown.
    pub fn written(folder: BorrowedFd<'_>) -> Option<SystemTime> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = openat(folder, NAME, flags, Mode::empty()).ok()?.into();
        file.metadata().ok()?.modified().ok()
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If it does not exist or is not valid.
    pub fn read(folder: BorrowedFd<'_>) -> io::Result<Description> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = openat(folder, NAME, flags, Mode::empty())?.into();
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStringExt;

    use hindmost_core::ids::{JobId, TaskId};

    use super::*;

    #[test]
    fn a_description_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n']);
        let description = Description {
            nonce: "1".to_owned(),
            attempt: AttemptId { task: TaskId { job: JobId(0), phase: 1, index: 2 }, copy: 3 },
            run: "run".to_owned(),
            run_folder: odd.clone(),
            node: "n1".to_owned(),
            shell: vec!["sh".to_owned(), "-c".to_owned()],
            command: odd.clone(),
            directory: "/".into(),
            environment: vec![("A".into(), odd.clone())],
            input: Some(odd),
            slowed: 2.0,
            slurmd: Some("2026-11-24T05:04:36".to_owned()),
            tmpdir: Some("/tmp".into()),
            cleans_up: true,
            kill_after: 5.0,
            gpus: Some(vec![0, 2]),
        };
        assert!(Description::read(handle.as_fd()).is_err());
        description.write(handle.as_fd()).unwrap();
        assert_eq!(Description::read(handle.as_fd()).unwrap(), description);
        assert!(description.write(handle.as_fd()).is_err(), "a launch is never written twice");
    }
}
