//! Folders for temporary files of attempts: each attempt has one of its own, which is removed with all that is in it once the attempt has
//! ended.
//!
//! They are in one folder of each process of Hindmost, on the machine on which the attempts run. The process holds its lock. What a
//! process that was killed has left is removed by the next one that uses the same place, unless an attempt that has outlived it still uses
//! it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

use super::{Launch, key};
use crate::process;
use crate::store::{Folder, remove_tree};

/// What the names of folders of processes begin with.
const PREFIX: &str = "hindmost-tmp-";
/// Number of left folders that one process removes at most, so that it begins soon.
const MOST_REMOVED: usize = 20;
/// Number of folders that a process makes at most until one is its own.
const TRIES: usize = 5;
/// The variable that names the place of temporary files, and that names the attempt's own folder to its command.
const TMPDIR: &str = "TMPDIR";

/// The folder of this process at one place, locked.
struct Own {
    folder: PathBuf,
    _lock: File,
}

/// The folders of this process.
#[derive(Default)]
pub(super) struct Scratch {
    /// Those of the process, by the place in which they are; `None` if a place can't be used.
    of_process: BTreeMap<PathBuf, Option<Own>>,
    /// Threads that remove folders of attempts. A folder may hold so much that the run should not wait for it.
    removals: Vec<JoinHandle<Option<String>>>,
}

impl Scratch {
    /// Makes the folder of an attempt. If its place can't be used, it is in the attempt's own folder.
    ///
    /// # Errors
    /// If it can't be made there either.
    pub fn make(&mut self, launch: &Launch<'_>) -> io::Result<PathBuf> {
        let place = place_of(launch);
        let own = self.of_process.entry(place).or_insert_with_key(|place| Own::make(place).ok());
        let made = own.as_ref().and_then(|own| {
            let folder = own.folder.join(key(launch.attempt));
            make_private(&folder).ok().map(|()| folder)
        });
        made.map_or_else(
            || {
                let folder = launch.folder.join("tmp");
                make_private(&folder).map(|()| folder)
            },
            Ok,
        )
    }

    /// Removes the folder of an attempt that has ended.
    pub fn remove(&mut self, folder: PathBuf) {
        if fs::remove_dir(&folder).is_err() {
            // A folder in that of the attempt has to go before the attempt's end is reported.
            let is_of_process = self.of_process.values().flatten().any(|own| folder.starts_with(&own.folder));
            if is_of_process {
                self.removals.push(std::thread::spawn(move || remove(&folder)));
            } else {
                remove(&folder);
            }
        }
    }

    /// Returns texts about folders that could not be removed.
    pub fn left(&mut self) -> Vec<String> {
        let ended = self.removals.extract_if(.., |removal| removal.is_finished());
        ended.filter_map(|removal| removal.join().ok().flatten()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for removal in self.removals.drain(..) {
            let _ = removal.join();
        }
    }
}

/// Removes a folder. Returns a text about it if it can't be removed.
fn remove(folder: &Path) -> Option<String> {
    let (parent, name) = (folder.parent()?, folder.file_name()?);
    let left = Folder::open(parent).map_err(|error| error.to_string()).and_then(|parent| remove_tree(&parent, name));
    left.err()
        .filter(|_| folder.exists())
        .map(|why| format!("the scratch folder {} can't be removed: {why}", folder.display()))
}

/// Returns where the folder of an attempt is made: where the launch says, or where the variable of the command or of this process does.
fn place_of(launch: &Launch<'_>) -> PathBuf {
    let of_command = launch.environment.iter().rev().find(|(name, value)| name == TMPDIR && !value.is_empty());
    let of_command = of_command.map(|(_, value)| launch.directory.join(value));
    launch.tmpdir.map(Path::to_owned).or(of_command).unwrap_or_else(temporary_place)
}

/// Returns where this process makes temporary files: where the variable `TMPDIR` says, else in `/tmp`.
pub fn temporary_place() -> PathBuf {
    let place = std::env::temp_dir();
    if place.as_os_str().is_empty() { PathBuf::from("/tmp") } else { place }
}

/// Returns the variables that name its folder to an attempt.
pub(super) fn variables(folder: &Path) -> [(OsString, OsString); 2] {
    [TMPDIR, "HINDMOST_TMP"].map(|name| (name.into(), folder.into()))
}

fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

impl Own {
    /// Makes the folder of this process, after it has removed those that others have left.
    fn make(place: &Path) -> io::Result<Own> {
        remove_left(place);
        let place = place.canonicalize()?;
        let private = fs::Permissions::from_mode(0o700);
        for _ in 0..TRIES {
            let made = tempfile::Builder::new()
                .prefix(PREFIX)
                .rand_bytes(8)
                .permissions(private.clone())
                .tempdir_in(&place)?;
            // Another process may have found the folder before its lock was held, and removes it as a left one.
            if let Some(lock) = locked(made.path()).filter(|lock| is_at(lock, made.path())) {
                return Ok(Own { folder: made.keep(), _lock: lock });
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// Opens a folder and locks it; `None` if it can't be opened, or another process holds the lock.
fn locked(folder: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = File::from(open(folder, flags, Mode::empty()).ok()?);
    flock(&handle, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(handle)
}

/// True if an open folder is at this path.
fn is_at(handle: &File, path: &Path) -> bool {
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    handle.metadata().ok().map(place) == fs::symlink_metadata(path).ok().map(place)
}

impl Drop for Own {
    fn drop(&mut self) {
        // What is still in use stays, and is removed by a later process.
        let _ = fs::remove_dir(&self.folder);
        // Attempts that this process has adopted have theirs in the folder of an earlier one.
        if let Some(place) = self.folder.parent() {
            remove_left(place);
        }
    }
}

/// Removes the folders of processes that have ended, unless something uses them.
fn remove_left(place: &Path) {
    let Ok(place) = place.canonicalize() else { return };
    let entries = fs::read_dir(&place).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()));
    // Their locks are held until the end, so that no other process removes them at the same time.
    let left: Vec<(PathBuf, File)> =
        named.filter_map(|entry| Some((entry.path(), left_lock(&entry.path())?))).take(MOST_REMOVED).collect();
    let folders: Vec<PathBuf> = left.iter().map(|(folder, _)| folder.clone()).collect();
    let used = process::in_use(&folders);
    for name in folders.iter().filter(|folder| !used.contains(*folder)).filter_map(|folder| folder.file_name()) {
        if let Ok(place) = Folder::open(&place) {
            let _ = remove_tree(&place, name);
        }
    }
}

/// Returns the folder of a process that has ended, locked; `None` if the process has not ended, or if the folder is none of this user's.
fn left_lock(folder: &Path) -> Option<File> {
    // Nobody else can have put something into a private folder.
    let found = fs::symlink_metadata(folder).ok()?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700;
    if is_own { locked(folder) } else { None }
}
