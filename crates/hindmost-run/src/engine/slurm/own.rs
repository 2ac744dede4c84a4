//! The engine's own folder in a run's folder: the sign of life, the files of checks, and a text by which the run's allocations are
//! found again. When the allocations have been given back, only this text stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::process::Mark;

/// Name of the folder.
const NAME: &str = "slurm";
/// Name of the file with a text that no other run's folder has, except a copy of this folder.
const ID: &str = "id";
/// Name of the file that exists once the run has ended: its allocations are to end too.
const ENDED: &str = "ended";

/// Name of the copy of the program in the run's folder.
const COPY: &str = "hindmost";

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
    if let Err(error) = fs::remove_file(own.join(ENDED))
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    fs::canonicalize(own)
}

/// Returns the comment of the run's allocations. It stays the same, also after they have been given back: a controller that is
/// killed may forget that. A copy of the run's folder has another one.
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

/// Notes that the run has ended, for the keepers of its allocations.
pub fn end(own: &Path) {
    let _ = fs::write(own.join(ENDED), "");
}

/// True if the run has ended, or its folder is gone.
pub fn has_ended(own: &Path) -> bool {
    let is_gone = || fs::symlink_metadata(own).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    fs::symlink_metadata(own.join(ENDED)).is_ok() || is_gone()
}

/// Copies the program into the folder, unless a copy is there, and returns the copy.
///
/// # Errors
/// If it can't be copied.
pub fn copy_program(program: &Path, own: &Path) -> io::Result<PathBuf> {
    let copy = own.join(COPY);
    let length = |file: &Path| fs::metadata(file).map(|found| found.len());
    if length(&copy).ok() != Some(length(program)?) {
        // A copy that runs can't be written to, and several processes may do this at a time.
        let written = own.join(format!("{COPY}-{}", super::new_nonce()));
        fs::copy(program, &written)?;
        fs::rename(&written, &copy)?;
    }
    Ok(copy)
}

/// Removes the copy of the program and the files of checks, after the allocations have been given back.
pub fn clear(own: &Path) {
    let Ok(entries) = fs::read_dir(own) else { return };
    for entry in entries.flatten().filter(|entry| ![ID, ENDED].iter().any(|name| entry.file_name() == *name)) {
        let _ = fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_ended_until_it_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let own = create(folder.path()).unwrap();
        assert!(!has_ended(&own));
        end(&own);
        assert!(has_ended(&own));
        create(folder.path()).unwrap();
        assert!(!has_ended(&own));
        fs::remove_dir(&own).unwrap();
        assert!(has_ended(&own));
    }

    #[test]
    fn the_comment_stays_and_a_copy_of_the_folder_has_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let own = create(folder.path()).unwrap();
        let first = comment(&own).unwrap();
        assert_eq!(comment(&create(folder.path()).unwrap()).unwrap(), first);
        let copy = tempfile::tempdir().unwrap();
        let copied = create(copy.path()).unwrap();
        fs::copy(own.join(ID), copied.join(ID)).unwrap();
        assert_ne!(comment(&copied).unwrap(), first);
        end(&own);
        let program = own.join("program");
        fs::write(&program, "x").unwrap();
        let copied = copy_program(&program, &own).unwrap();
        assert_eq!((copy_program(&program, &own).unwrap(), &*fs::read(&copied).unwrap()), (copied, &b"x"[..]));
        clear(&own);
        assert_eq!(fs::read_dir(&own).unwrap().count(), 2);
        assert_eq!(comment(&own).unwrap(), first);
    }
}
