//! What clients and a run say to each other: lines of JSON.

use std::io::{self, BufRead, Write};

use hindmost_core::metrics::RunState;
use serde::{Deserialize, Serialize};

/// Longest request, in bytes: 64 KiB.
pub(super) const LONGEST_REQUEST: u64 = 64 << 10;
/// Longest reply, in bytes: 64 MiB. A summary may name many failed tasks.
pub(super) const LONGEST_REPLY: u64 = 64 << 20;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Run a job.
    Submit {
        /// Absolute path of the job file.
        file: String,
        /// Name of the job in the run; `None` for the name in the job file.
        #[serde(default)]
        name: Option<String>,
        /// Whether a job of this name that has ended before it was done continues. Its results stay.
        #[serde(default)]
        resume: bool,
        /// Whether the client waits for the end of the job.
        #[serde(default)]
        wait: bool,
    },
    /// Accept no more jobs: the run ends once its jobs have ended.
    Close {},
}

/// What the run replies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The job runs as soon as the policy decides so.
    Accepted {
        /// Name of the job in the run.
        job: String,
        /// Absolute path of the folder for its results.
        folder: String,
        /// Number of its tasks.
        tasks: u64,
        /// What the user should know, such as a policy of the job file that is not used.
        notes: Vec<String>,
    },
    /// The job has ended. Only clients that wait receive this.
    Ended {
        /// How it ended.
        state: RunState,
        /// Its summary, as in `summary.json`.
        summary: serde_json::Value,
    },
    /// No more jobs are accepted.
    Closed {
        /// Number of jobs that have not ended.
        open: u64,
    },
    /// The request is not carried out.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}

/// Writes one message as a line.
pub(super) fn write_line(mut writer: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

/// Reads one message of at most `longest` bytes; `None` at the end.
///
/// # Errors
/// If it can't be read, is too long or is no such message.
pub(super) fn read_line<T: for<'a> Deserialize<'a>>(reader: impl BufRead, longest: u64) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    reader.take(longest + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if line.len() as u64 > longest {
        return Err(invalid(format!("a message has at most {longest} bytes")));
    }
    if line.last() != Some(&b'\n') {
        return Err(invalid("a message ends with a line feed".to_owned()));
    }
    serde_json::from_slice(&line).map(Some).map_err(|error| invalid(format!("this is no message: {error}")))
}
