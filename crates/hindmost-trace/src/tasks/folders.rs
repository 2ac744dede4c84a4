//! Logs of attempts that are folders: each file is a part, such as the archive of one job.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::format::LOOKED_AT;
use crate::reading::compression::Plain;

/// So many files at the beginning of a folder must all be parts.
const LOOKED_AT_FILES: usize = 20;
/// How deep the files of a log may lie in its folder.
const DEEPEST: usize = 8;

/// The files of a log, in the order of their names.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub paths: Vec<PathBuf>,
    /// Other files in the folder.
    pub left_out: u64,
}

impl Files {
    /// Returns the size of all files, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.paths.iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum()
    }

    /// Returns the content of all files, decompressed, with a line feed after each.
    pub(crate) fn joined(self) -> impl Read {
        Joined { rest: self.paths.into_iter(), open: None }
    }
}

/// Finds the files of a log in a folder, at any depth; `None` if the folder is no such log. `is_part` says whether a file with this
/// beginning is one of them.
pub(crate) fn find(folder: &Path, is_part: fn(&[u8]) -> bool) -> Option<Files> {
    let mut files = Files::default();
    let is_log = folder.is_dir() && walk(folder, is_part, DEEPEST, &mut files);
    (is_log && !files.paths.is_empty()).then_some(files)
}

/// Adds the files of a folder; returns false if it is no such log.
fn walk(folder: &Path, is_part: fn(&[u8]) -> bool, deepest: usize, files: &mut Files) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.retain(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')));
    entries.sort();
    for path in entries {
        if path.is_dir() {
            // Links may lead back to a folder above.
            if deepest > 0 && !path.is_symlink() && !walk(&path, is_part, deepest - 1, files) {
                return false;
            }
        } else if beginning(&path).is_ok_and(|beginning| is_part(&beginning)) {
            files.paths.push(path);
        } else if files.paths.len() < LOOKED_AT_FILES {
            return false;
        } else {
            files.left_out += 1;
        }
    }
    true
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    if path.is_file() {
        Plain::new(File::open(path)?)?.take(LOOKED_AT as u64).read_to_end(&mut beginning)?;
    }
    Ok(beginning)
}

/// Reads files one after the other.
struct Joined {
    rest: std::vec::IntoIter<PathBuf>,
    open: Option<Plain<'static>>,
}

impl Read for Joined {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(open) = &mut self.open {
                let read = open.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.open = None;
                buffer[0] = b'\n';
                return Ok(1);
            }
            let Some(path) = self.rest.next() else { return Ok(0) };
            self.open = Some(Plain::new(File::open(path)?)?);
        }
    }
}
