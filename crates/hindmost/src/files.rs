//! Files of results: written beside their place and renamed, so that none is ever half there.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Writes a file, or leaves what was there.
pub fn write(path: &Path, content: &str) -> Outcome {
    let name = path.file_name().map_or_else(|| "result".into(), |name| name.to_string_lossy().into_owned());
    let beside = path.with_file_name(format!("{name}.part"));
    // Made anew, so that a link that somebody has put there is not followed.
    let _ = fs::remove_file(&beside);
    let written = fs::File::create_new(&beside)
        .and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::work(format!("{}: {error}", path.display()))
    })
}

/// Makes a folder for results, or takes one that is empty: results of two runs are never mixed.
pub fn new_folder(path: &Path) -> Outcome {
    if path.is_file() {
        return Err(Failure::input(format!("--out {}: this is a file, not a folder", path.display())));
    }
    folder(path)?;
    let mut entries =
        fs::read_dir(path).map_err(|error| Failure::input(format!("--out {}: {error}", path.display())))?;
    if entries.next().is_some() {
        return Err(Failure::input(format!(
            "--out {}: there are files in this folder already; give a new or an empty one",
            path.display()
        )));
    }
    Ok(())
}

/// Removes what a run has left in a folder that was empty when it began.
pub fn empty(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let entry = entry.path();
        let _ = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
    }
}

/// Makes a folder for results.
pub fn folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| Failure::input(format!("--out {}: {error}", path.display())))
}
