//! What an attempt reads, by which a resumed run notices that it has changed since: the input file of its task, other files that it
//! uses, and its row of a table.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::input::InputState;
use crate::escape::escaped;
use crate::job_file::{TaskReads, printable};

/// The states of files, by their paths.
pub(super) type FileStates = BTreeMap<String, InputState>;

/// What an attempt reads, as it was when the attempt began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    /// State of the task's input file; absent if it has none, or if that can't be examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputState>,
    /// States of the files that the task uses besides.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) used: FileStates,
    /// Values of the task's row, by column; empty if its phase has no table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) row: BTreeMap<String, String>,
}

/// How something has changed that an attempt has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadChange {
    /// The input file of the task has changed; holds the difference.
    Input(String),
    /// A file that it uses has changed; holds its path and the difference.
    Used(PathBuf, String),
    /// Its row of the table has changed; holds the difference.
    Row(String),
}

impl fmt::Display for ReadChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadChange::Input(how) => write!(f, "its input has changed: {how}"),
            ReadChange::Used(path, how) => write!(f, "{} has changed: {how}", printable(&path.to_string_lossy())),
            ReadChange::Row(how) => write!(f, "its row of the table has changed: {how}"),
        }
    }
}

impl Reads {
    /// Returns the present state of what a task reads, without checksums.
    pub fn of(task: &TaskReads<'_>) -> Reads {
        let used = task.used.iter().filter_map(|path| Some((key(path), InputState::of(path).ok()?)));
        Reads {
            input: task.input.as_ref().and_then(|path| InputState::of(path).ok()),
            used: used.collect(),
            row: task.row.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        }
    }

    /// True if the attempt reads nothing that is watched.
    pub fn is_empty(&self) -> bool {
        *self == Reads::default()
    }

    /// Returns what of a task differs from this by sizes and times; `None` if nothing does.
    pub fn difference(&self, task: &TaskReads<'_>) -> Option<ReadChange> {
        let used = Some(&self.used).filter(|used| !used.is_empty());
        difference((self.input.as_ref(), used, &self.row), task, |state, path| state.difference(path, false))
    }
}

/// Returns a path as text.
fn key(path: &Path) -> String {
    escaped(path.as_os_str())
}

/// Returns what of a task differs from what was recorded: its input, the files that it uses, and its row. `compare` compares a file with
/// its recorded state. Columns that are new do not count, because the attempt has not known them.
pub(super) fn difference(
    (input, used, row): (Option<&InputState>, Option<&FileStates>, &BTreeMap<String, String>),
    task: &TaskReads<'_>,
    compare: impl Fn(&InputState, &Path) -> Option<String>,
) -> Option<ReadChange> {
    // A phase that has a table no more has other tasks.
    for (name, before) in row.iter().filter(|_| !task.row.is_empty()) {
        let shown = |value: &str| format!("{:?}", printable(value));
        match task.row.iter().find(|(now, _)| now == name) {
            None => return Some(ReadChange::Row(format!("the column {name} is gone"))),
            Some((_, now)) if now != before => {
                return Some(ReadChange::Row(format!("{name} is {} instead of {}", shown(now), shown(before))));
            }
            Some(_) => {}
        }
    }
    if let (Some(state), Some(path)) = (input, &task.input)
        && let Some(how) = compare(state, path)
    {
        return Some(ReadChange::Input(how));
    }
    let used = used?;
    for path in &task.used {
        let how = match used.get(&key(path)) {
            Some(state) => compare(state, path),
            None => Some("it is new".to_owned()),
        };
        if let Some(how) = how {
            return Some(ReadChange::Used((*path).to_owned(), how));
        }
    }
    // A file that is there was left out of the job file: it is not used any more.
    let now: Vec<String> = task.used.iter().map(|path| key(path)).collect();
    let path = |text: &String| {
        use std::os::unix::ffi::OsStringExt;
        PathBuf::from(std::ffi::OsString::from_vec(crate::escape::unescaped(text)))
    };
    let gone = used.keys().filter(|text| !now.contains(text)).map(path).find(|path| !path.exists());
    gone.map(|path| ReadChange::Used(path, "it is gone".to_owned()))
}

/// Checksums of files that many tasks use, each calculated once for a state of its file.
#[derive(Debug, Default)]
pub(super) struct Checksums(RefCell<HashMap<PathBuf, InputState>>);

impl Checksums {
    /// Returns a state with the checksum of the content, if the file is still in this state.
    pub(super) fn add_to(&self, state: InputState, path: &Path) -> InputState {
        if state.checksum.is_some() {
            return state;
        }
        let is_same = |known: &&InputState| (known.size, known.modified) == (state.size, state.modified);
        if let Some(known) = self.0.borrow().get(path).filter(is_same) {
            return known.clone();
        }
        let state = state.with_checksum(path);
        if state.checksum.is_some() {
            self.0.borrow_mut().insert(path.to_owned(), state.clone());
        }
        state
    }

    /// Returns how a file differs from its recorded state, as [`InputState::difference`] does.
    pub(super) fn difference(&self, state: &InputState, path: &Path, reads_content: bool) -> Option<String> {
        let now = InputState::of(path).ok();
        let other_time = now.as_ref().is_some_and(|now| now.size == state.size && now.modified != state.modified);
        match (&state.checksum, now) {
            (Some(known), Some(now)) if now.size == state.size && (other_time || reads_content) => {
                let content = self.add_to(now, path).checksum?;
                (content != *known).then(|| "it has other content".to_owned())
            }
            (_, Some(_)) => state.difference(path, reads_content),
            (_, None) => None,
        }
    }
}

/// Returns the name by which lines of the manifest refer to the states of used files.
pub(super) fn name_of(states: &FileStates) -> String {
    let text = serde_json::to_vec(states).unwrap_or_default();
    format!("{:032x}", xxh3_128(&text))
}
