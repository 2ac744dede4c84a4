//! What was set aside in the folder of a run: how much space it takes, and its removal.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::folder::Folder;
use super::opening::{at, check_files, lock_of, open_root, opened_own};
use super::removal::remove_tree;
use super::{ASIDE, INNER};

/// The folder of a run that nobody else uses meanwhile, and what was set aside in it.
pub struct Aside {
    /// `None` if nothing was ever set aside.
    folder: Option<Folder>,
    path: PathBuf,
    _lock: File,
}

/// A file or folder that was in the place of a result and does not count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its name in the folder of what was set aside: phase, number of the task, and a number, such as `trim.3.1`.
    pub name: String,
    /// Sum of the sizes of its files, bytes.
    pub bytes: u64,
}

impl Aside {
    /// Opens and locks the folder of a run. With `trust`, also if other users own it or may write to it.
    ///
    /// # Errors
    /// If it is not the folder of a run, is in use, can't be read, or if other users can change its content.
    pub fn open(folder: &Path, trust: bool) -> Result<Aside, StoreError> {
        let path = fs::canonicalize(folder).map_err(at(folder))?;
        let root = open_root(&path, trust)?;
        let inner_path = path.join(INNER);
        let Some(inner) = opened_own(&root, &path, INNER, trust)? else { return Err(StoreError::NoRun(path)) };
        let lock = lock_of(&inner, &path)?;
        check_files(&inner, &inner_path, trust)?;
        let folder = opened_own(&inner, &inner_path, ASIDE, trust)?;
        Ok(Aside { folder, path: inner_path.join(ASIDE), _lock: lock })
    }

    /// Returns what was set aside, by name.
    ///
    /// # Errors
    /// If the folder can't be read.
    pub fn all(&self) -> Result<Vec<SetAside>, StoreError> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let entries = folder.entries().map_err(at(&self.path))?;
        let of = |name: std::ffi::OsString| {
            let bytes = size_of(&self.path.join(&name));
            SetAside { name: name.to_string_lossy().into_owned(), bytes }
        };
        let mut all: Vec<SetAside> = entries.into_iter().map(|(name, _)| of(name)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Removes one of [`Aside::all`].
    ///
    /// # Errors
    /// A text about the first file or folder that could not be removed.
    pub fn remove(&self, aside: &SetAside) -> Result<(), String> {
        match &self.folder {
            Some(folder) => remove_tree(folder, aside.name.as_ref()),
            None => Ok(()),
        }
    }
}

/// Returns the sum of the sizes of the files in a folder, or of a file. Links are not followed, and what can't be read counts 0.
fn size_of(path: &Path) -> u64 {
    let (mut sum, mut folders) = (0, vec![path.to_owned()]);
    while let Some(path) = folders.pop() {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {
                let entries = fs::read_dir(&path).into_iter().flatten();
                folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            }
            Ok(found) => sum += found.len(),
            Err(_) => {}
        }
    }
    sum
}
