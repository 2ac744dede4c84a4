//! Files of results: written under a temporary name and renamed, so that no file is ever incomplete.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Writes a file. On an error the previous file stays.
pub fn write(path: &Path, content: &str) -> Outcome {
    let name = path.file_name().map_or_else(|| "result".into(), |name| name.to_string_lossy().into_owned());
    let beside = path.with_file_name(format!("{name}.part"));
    // `create_new` fails where the file exists, so that a symbolic link there is not followed.
    let _ = fs::remove_file(&beside);
    let written = fs::File::create_new(&beside)
        .and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::work(format!("cannot write {}: {error}", path.display()))
    })
}

/// Creates a folder for results, or accepts an empty one. The results of two runs are never mixed.
pub fn new_folder(path: &Path) -> Outcome {
    if path.is_file() {
        return Err(Failure::input(format!("--out {}: this is a file; give a new or an empty folder", path.display())));
    }
    folder(path)?;
    let mut entries = fs::read_dir(path)
        .map_err(|error| Failure::input(format!("--out {}: cannot read it: {error}", path.display())))?;
    if entries.next().is_some() {
        return Err(Failure::input(format!(
            "--out {}: this folder is not empty; give a new or an empty one",
            path.display()
        )));
    }
    Ok(())
}

/// Removes everything that a run left in a folder that was empty when the run began.
pub fn empty(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let entry = entry.path();
        let _ = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
    }
}

/// Creates a folder for results, with its parents.
pub fn folder(path: &Path) -> Outcome {
    fs::create_dir_all(path)
        .map_err(|error| Failure::input(format!("--out {}: cannot create this folder: {error}", path.display())))
}
