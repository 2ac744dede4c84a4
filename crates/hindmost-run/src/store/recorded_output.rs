//! An output file as the manifest records it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::input::InputState;
use crate::escape::unescaped;

/// An output file, as the manifest records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutputFile {
    /// Absolute path. Bytes that are no text are escaped.
    pub(super) path: String,
    #[serde(flatten)]
    pub(super) state: InputState,
}

impl OutputFile {
    pub fn path(&self) -> PathBuf {
        OsString::from_vec(unescaped(&self.path)).into()
    }

    /// True if the file at this path is in the recorded state.
    pub fn is_at(&self, path: &Path) -> bool {
        self.path() == path && self.difference(false).is_none()
    }

    /// Returns how the file at its path differs from the recorded one, as a text; `None` if it does not.
    pub fn difference(&self, reads_content: bool) -> Option<String> {
        let path = self.path();
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        let is_compared = !reads_content || self.state.checksum.is_none() || File::open(&path).is_ok();
        let how = match (is_file, is_compared) {
            (false, _) => "it is missing".to_owned(),
            (true, false) => "it can't be read".to_owned(),
            (true, true) => self.state.difference(&path, reads_content)?,
        };
        Some(format!("{}: {how}", path.display()))
    }
}
