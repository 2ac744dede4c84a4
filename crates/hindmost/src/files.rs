//! Files of results: written beside their place and renamed, so that none is ever half there.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Writes a file, or leaves what was there.
pub fn write(path: &Path, content: &str) -> Outcome {
    let name = path.file_name().map_or_else(|| "result".into(), |name| name.to_string_lossy().into_owned());
    let beside = path.with_file_name(format!("{name}.part"));
    let written = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::work(format!("{}: {error}", path.display()))
    })
}

/// Makes a folder for results.
pub fn folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| Failure::input(format!("--out {}: {error}", path.display())))
}
