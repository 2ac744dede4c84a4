//! The state of a task's input file, by which a resumed run notices that the file has changed since the task used it.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::listing::checksum_of_content;

/// The state of an input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputState {
    /// Size in bytes.
    pub size: u64,
    /// Time at which the content changed last, in nanoseconds since 1970.
    pub modified: i64,
    /// XXH3 checksum (128 bits) of the content, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl InputState {
    /// Returns the present state of a file, without its checksum.
    ///
    /// # Errors
    /// If the file does not exist or can't be examined.
    pub fn of(path: &Path) -> io::Result<InputState> {
        InputState::of_found(&fs::metadata(path)?)
    }

    /// Returns the present state of an open file, without its checksum.
    pub(super) fn of_open(file: &File) -> io::Result<InputState> {
        InputState::of_found(&file.metadata()?)
    }

    fn of_found(found: &fs::Metadata) -> io::Result<InputState> {
        let modified = match found.modified()?.duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i64,
            Err(before) => -(before.duration().as_nanos() as i64),
        };
        Ok(InputState { size: found.len(), modified, checksum: None })
    }

    /// Returns the present state of what may be a file; `None` if it is none, or can't be examined.
    pub fn of_file(path: &Path) -> Option<InputState> {
        if path.is_file() { InputState::of(path).ok() } else { None }
    }

    /// Adds the checksum of the present content, if the file can be read and is still in this state.
    #[must_use]
    pub fn with_checksum(mut self, path: &Path) -> InputState {
        let is_same = InputState::of(path).is_ok_and(|now| (now.size, now.modified) == (self.size, self.modified));
        if is_same {
            self.checksum = File::open(path).and_then(checksum_of_content).ok();
        }
        self
    }

    /// Adds the checksum of the content of an open file.
    pub(super) fn with_checksum_of(mut self, file: &File) -> InputState {
        self.checksum = file.try_clone().and_then(checksum_of_content).ok();
        self
    }

    /// Returns how the file differs from this recorded state, as a text; `None` if it does not differ, or can't be examined. If a
    /// checksum is recorded, the content decides where the times differ, and with `reads_content` always.
    pub fn difference(&self, path: &Path, reads_content: bool) -> Option<String> {
        let now = InputState::of(path).ok()?;
        if now.size != self.size {
            return Some(format!("it has {} bytes instead of {}", now.size, self.size));
        }
        let other_time = now.modified != self.modified;
        match &self.checksum {
            Some(known) if other_time || reads_content => {
                let content = File::open(path).and_then(checksum_of_content).ok()?;
                (content != *known).then(|| "it has other content".to_owned())
            }
            _ => other_time.then(|| "it was written again".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_contents_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        fs::write(&path, "one").unwrap();
        let plain = InputState::of(&path).unwrap();
        let exact = plain.clone().with_checksum(&path);
        assert!(plain.checksum.is_none() && exact.checksum.is_some());
        assert_eq!((plain.difference(&path, true), exact.difference(&path, true)), (None, None));
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        // Other content of equal size and time is only found by its checksum.
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert_eq!((plain.difference(&path, true), exact.difference(&path, false)), (None, None));
        assert_eq!(exact.difference(&path, true).unwrap(), "it has other content");
        // Another time alone is no change if the checksum is known.
        fs::write(&path, "one").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_eq!(plain.difference(&path, false).unwrap(), "it was written again");
        assert_eq!(exact.difference(&path, false), None);
        assert_eq!(plain.with_checksum(&path).checksum, None, "the file is no longer in this state");
        fs::write(&path, "three").unwrap();
        assert_eq!(exact.difference(&path, false).unwrap(), "it has 5 bytes instead of 3");
        fs::remove_file(&path).unwrap();
        assert_eq!(exact.difference(&path, true), None);
    }
}
