//! Folders of attempts that have ended are used again for later attempts.
//!
//! Creating and removing the six files and folders of an attempt takes longer than a short task, because some file systems
//! (ext4) do not reuse the place of a removed file for some seconds and search past it. Instead, a folder that the command has
//! left as it was, except for what it has written to its outputs, gets the name of the next attempt.

use std::ffi::OsString;
use std::os::unix::fs::FileExt;

use hindmost_core::ids::AttemptId;
use rustix::fs::{FileType, StatxFlags};

use super::removal::Removal;
use super::{Folder, OUT, READS, Store};
use crate::engine::END_MARKER;

/// Names of what stays in a folder that is used again; the files are emptied.
const FILES: [&str; 3] = [END_MARKER, "stdout", "stderr"];
/// Names of files that are removed from a folder that is used again.
const NOTES: [&str; 3] = ["process", READS, "progress"];
/// Number of folders that are kept at most. As many are needed as attempts run at a time.
const MOST: usize = 256;

/// Folders of attempts that have ended, by name. Their end markers are not valid, so that they count for nothing if this
/// process ends.
#[derive(Debug, Default)]
pub(super) struct Spares {
    names: Vec<String>,
    /// Access rights and owners of a new attempt's folder and output folder.
    new: Option<[(u16, u32); 2]>,
}

impl Spares {
    /// Notes the state of a new attempt's folder, with which folders are compared before they are used again.
    pub fn note_new(&mut self, folder: &Folder) {
        if self.new.is_none() {
            self.new = state(folder, None).zip(state(folder, Some(OUT))).map(|(own, out)| [own, out]);
        }
    }

    /// Keeps the folder of an attempt for a later one. Returns false if it must be removed, because it is not as it was when
    /// the attempt began.
    fn keep(&mut self, attempts: &Folder, name: &str) -> bool {
        let Some(new) = self.new.filter(|_| self.names.len() < MOST) else { return false };
        let kept = attempts.sub(name).is_ok_and(|folder| clear(&folder, new).is_some());
        if kept {
            self.names.push(name.to_owned());
        }
        kept
    }

    /// Gives a spare folder this name. Returns false if there is none.
    pub fn give(&mut self, attempts: &Folder, name: &str) -> bool {
        self.names.pop().is_some_and(|spare| attempts.rename_new(&spare, attempts, name).is_ok())
    }
}

impl Store {
    /// Removes the folder of an attempt whose output has become a result and of which no process runs, or keeps the folder for a
    /// later attempt. Keeps its logs. Returns a text about what could not be removed; `None` if nothing is left.
    pub fn release_attempt(&mut self, attempt: AttemptId) -> Option<String> {
        let name = self.attempt_name(attempt);
        if let Err(error) = self.keep_logs(attempt, &name) {
            return Some(self.without_logs(attempt, &error));
        }
        let kept = self.spares.keep(&self.attempts, &name);
        if kept { None } else { self.remove_attempt(attempt, false) }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for name in &self.spares.names {
            // What remains is removed when the run is resumed.
            let _ = Removal::new(&self.attempts).remove(&self.attempts, name.as_ref());
        }
    }
}

/// Returns the access rights and the owner of a folder, or of an entry in it that is a folder.
fn state(folder: &Folder, name: Option<&str>) -> Option<(u16, u32)> {
    let wanted = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::UID;
    let found = name.map_or_else(|| folder.own_statx(wanted), |name| folder.statx(name, wanted)).ok()?;
    let is_folder = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
    is_folder.then_some((found.stx_mode & 0o7777, found.stx_uid))
}

/// Clears a folder, so that it is as it was when its attempt began; `None` if this is not possible. `new` is the state of a new
/// folder and of the output folder in it.
fn clear(folder: &Folder, new: [(u16, u32); 2]) -> Option<()> {
    let entries = folder.entries().ok()?;
    let is_known = |name: &OsString| FILES.iter().chain(&NOTES).any(|known| name == *known) || name == OUT;
    if !entries.iter().all(|(name, _)| is_known(name)) || state(folder, None)? != new[0] {
        return None;
    }
    for (name, _) in &entries {
        if name == OUT {
            if state(folder, Some(OUT))? != new[1] || !folder.sub(OUT).ok()?.is_empty() {
                return None;
            }
            continue;
        }
        // The command may have put something else there, linked the file to another place or changed its access rights.
        let wanted = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::NLINK | StatxFlags::UID;
        let found = folder.statx(name, wanted).ok()?;
        let is_file = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
        let rights = found.stx_mode & 0o7777;
        if !is_file
            || found.stx_nlink != 1
            || rights & !0o644 != 0
            || rights & 0o600 != 0o600
            || found.stx_uid != new[0].1
        {
            return None;
        }
    }
    // The result was moved out of the folder.
    if !folder.has_folder(OUT) {
        folder.make_new(OUT, 0o777).ok()?;
    }
    for (name, _) in &entries {
        if NOTES.iter().any(|note| name == *note) {
            folder.remove_file(name).ok()?;
        } else if name == END_MARKER {
            // Emptying the file would make some file systems write it to the disk each time.
            folder.own_file(name).ok()?.write_all_at(b"-", 0).ok()?;
        }
    }
    Some(())
}
