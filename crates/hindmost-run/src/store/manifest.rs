//! The manifest: what each task's result contained when it was committed.
//!
//! It has one line for each successful attempt, written before the attempt's folder is renamed into place, so every result
//! has a line. A result is valid if it equals one of its task's lines, because each line describes a complete result.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use hindmost_core::ids::TaskId;
use serde::{Deserialize, Serialize};

use super::appended::Appended;
use super::folder::Folder;
use super::input::InputState;
use super::listing::Listing;
use super::reads::{FileStates, name_of};
use super::recorded_output::OutputFile;

/// Name of the manifest's file.
pub(super) const MANIFEST: &str = "manifest.jsonl";

/// A line of the manifest: the output of one attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub phase: u32,
    pub task: u32,
    pub attempt: u32,
    /// Id of the run to which the attempt belongs.
    pub run: String,
    /// Digest of the attempt's command ([`PlannedPhase::digest`](crate::job_file::PlannedPhase::digest)).
    pub command: String,
    /// Inode of the output folder. It shows which of two attempts with equal outputs made the result.
    pub inode: u64,
    /// State of the task's input file when the attempt began to use it; absent if the task has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputState>,
    /// Names the states of the other files that the task uses ([`Used`]); absent if it uses none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<String>,
    /// Values of the task's row of the table, by column; absent if the phase has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub row: BTreeMap<String, String>,
    /// True if the output was empty. Then a link to the run's empty folder is the result, because a folder of its own would
    /// take 4 kB on most file systems.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Number of bytes that the command wrote to standard output and error; absent if it wrote nothing, and in lines of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub written: [u64; 2],
    /// How long the attempt ran, in seconds; absent if it is not known, and in lines of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The file that standard output became, outside the run's folder; absent if it is a log of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputFile>,
    #[serde(flatten)]
    pub listing: Listing,
}

/// Another kind of line: the states of files that tasks use. It comes before the lines that refer to it, because many tasks use
/// the same files.
#[derive(Debug, Serialize, Deserialize)]
struct Used {
    /// The name by which lines refer to it.
    used_files: String,
    files: FileStates,
}

fn is_nothing(written: &[u64; 2]) -> bool {
    *written == [0, 0]
}

/// The open manifest of a run.
pub(super) struct Manifest {
    file: Appended,
    /// All lines, by phase and task.
    lines: HashMap<(u32, u32), Vec<Line>>,
    /// States of used files, by name.
    used: HashMap<String, FileStates>,
}

impl Manifest {
    /// Opens the manifest in a folder, or creates it. Removes an incomplete last line.
    pub(super) fn open(folder: &Folder) -> io::Result<Manifest> {
        let mut file = folder.own_file(MANIFEST)?;
        let mut lines: HashMap<(u32, u32), Vec<Line>> = HashMap::new();
        let mut reader = BufReader::new(&file);
        let mut used = HashMap::new();
        let (mut length, mut text) = (0, Vec::new());
        loop {
            text.clear();
            let read = reader.read_until(b'\n', &mut text)?;
            if read == 0 || text.last() != Some(&b'\n') {
                break;
            }
            length += read as u64;
            // After a power cut a line may contain anything, so lines that are not valid are skipped. A task whose result has
            // no valid line runs again.
            if let Ok(line) = serde_json::from_slice::<Line>(&text) {
                lines.entry((line.phase, line.task)).or_default().push(line);
            } else if let Ok(Used { used_files, files }) = serde_json::from_slice(&text) {
                used.insert(used_files, files);
            }
        }
        drop(reader);
        // An unchanged file keeps its time.
        if file.metadata()?.len() != length {
            file.set_len(length)?;
        }
        file.seek(SeekFrom::Start(length))?;
        Ok(Manifest { file: Appended::new(file), lines, used })
    }

    /// Adds the line of an attempt's output before it is committed.
    pub(super) fn add(&mut self, line: Line) -> io::Result<()> {
        serde_json::to_writer(self.file.waiting(), &line).map_err(io::Error::other)?;
        self.file.waiting().push(b'\n');
        self.lines.entry((line.phase, line.task)).or_default().push(line);
        Ok(())
    }

    /// Adds the states of used files, unless they are there, and returns the name by which lines refer to them; `None` if there are
    /// none.
    pub(super) fn add_used(&mut self, files: FileStates) -> io::Result<Option<String>> {
        if files.is_empty() {
            return Ok(None);
        }
        let name = name_of(&files);
        if !self.used.contains_key(&name) {
            let line = Used { used_files: name.clone(), files };
            serde_json::to_writer(self.file.waiting(), &line).map_err(io::Error::other)?;
            self.file.waiting().push(b'\n');
            self.used.insert(line.used_files, line.files);
        }
        Ok(Some(name))
    }

    /// Returns the states of the files that were used for a result; `None` if it names none.
    pub(super) fn used_by(&self, line: &Line) -> Option<&FileStates> {
        self.used.get(line.used.as_ref()?)
    }

    /// Writes the added lines to the file, without syncing it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Returns all lines, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Line> {
        self.lines.values().flatten()
    }

    /// Returns the lines of a task, the latest first.
    pub(super) fn of(&self, task: TaskId) -> impl Iterator<Item = &Line> {
        self.lines.get(&(task.phase, task.index)).into_iter().flatten().rev()
    }
}
