//! The engine's own folder in a run's folder: the sign of life, the files of checks, and a text by which the run's allocations are
//! found again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::process::Mark;

/// Name of the folder.
const NAME: &str = "slurm";
/// Name of the file with a text that no other run's folder has, except a copy of this folder.
const ID: &str = "id";

/// Creates the engine's own folder in `folder`, unless it exists, and returns it.
///
/// # Errors
/// If it can't be created.
pub fn create(folder: &Path) -> io::Result<PathBuf> {
    let own = folder.join(NAME);
    match fs::create_dir(&own) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && own.is_dir() => {}
        created => created?,
    }
    fs::canonicalize(own)
}

/// Returns the comment of the run's allocations. It stays the same until they have been given back, and a copy of the run's folder
/// has another one.
///
/// # Errors
/// If the id can't be read or written.
pub fn comment(own: &Path) -> io::Result<String> {
    let file = own.join(ID);
    let is_valid = |id: &str| id.len() == 16 && id.chars().all(|digit| digit.is_ascii_hexdigit());
    let id = match fs::read_to_string(&file) {
        Ok(id) if is_valid(id.trim()) => id.trim().to_owned(),
        _ => {
            let id = super::new_nonce();
            let written = own.join("id.new");
            fs::write(&written, &id)?;
            fs::rename(&written, &file)?;
            id
        }
    };
    Ok(format!("hindmost {}", Mark::of_run(&id, own).hex()))
}

/// Removes the engine's own folder, after the allocations have been given back.
pub fn remove(own: &Path) {
    // Another thread may be writing its sign of life.
    if own.file_name().is_some_and(|name| name == NAME) && fs::remove_dir_all(own).is_err() {
        let _ = fs::remove_dir_all(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_stays_until_the_folder_is_removed_and_a_copy_has_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let own = create(folder.path()).unwrap();
        let first = comment(&own).unwrap();
        assert_eq!(comment(&create(folder.path()).unwrap()).unwrap(), first);
        let copy = tempfile::tempdir().unwrap();
        let copied = create(copy.path()).unwrap();
        fs::copy(own.join(ID), copied.join(ID)).unwrap();
        assert_ne!(comment(&copied).unwrap(), first);
        remove(&own);
        assert!(!own.exists());
        assert_ne!(comment(&create(folder.path()).unwrap()).unwrap(), first);
    }
}
