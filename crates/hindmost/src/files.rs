//! Writes result files. A file is written under a temporary name and then renamed, so that no file is ever incomplete.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Writes a file. On an error, an earlier file of this name stays.
pub fn write(path: &Path, content: &str) -> Outcome {
    let name = path.file_name().map_or_else(|| "result".into(), |name| name.to_string_lossy().into_owned());
    let temporary = path.with_file_name(format!("{name}.part"));
    // `create_new` fails if the file exists, so a symbolic link of this name is not followed.
    let _ = fs::remove_file(&temporary);
    let written = fs::File::create_new(&temporary)
        .and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Failure::work(format!("cannot write {}: {error}", path.display()))
    })
}

/// Creates the folder of `--out`. A folder that exists must be empty, so that the results of two runs are never mixed.
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

/// Creates a folder for results and its parent folders.
pub fn folder(path: &Path) -> Outcome {
    fs::create_dir_all(path)
        .map_err(|error| Failure::input(format!("--out {}: cannot create this folder: {error}", path.display())))
}
