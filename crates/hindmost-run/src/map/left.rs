//! What killed maps without `--out` have left: commands that still run, and temporary folders, which are removed.
//!
//! A folder belongs to a map if it has the name of one, belongs to this user, and holds the record and the lock of a run. The map
//! was killed if nobody holds this lock. Its folder is left if no process has its path in its environment either, and the record is
//! older than a day.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

use crate::process;
use crate::store::{INNER, JOB, LOCK};

/// What the names of temporary folders of maps begin with.
pub const TEMPORARY: &str = "hindmost-";
/// Age from which a folder that nobody uses is removed.
const LEFT_AFTER: Duration = Duration::from_hours(24);
/// Number of folders that one map removes at most, so that it begins soon.
const MOST_REMOVED: usize = 20;

/// Removes the folders that killed maps have left in `within`. Returns their number.
pub fn remove_left_folders(within: &Path) -> usize {
    remove_left(within, SystemTime::now())
}

/// Returns the processes that killed maps with a temporary folder in `within` have left running in the folder `place`.
pub fn left_running(within: &Path, place: &Path) -> Vec<u32> {
    let killed = folders_of_maps(within).filter_map(|folder| {
        killed(&folder)?;
        folder.canonicalize().ok()
    });
    let users = process::users_of(&killed.collect::<Vec<_>>());
    let is_here = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == place);
    let mut found: Vec<u32> = users.into_iter().map(|(_, pid)| pid).filter(is_here).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the folders that have names of temporary folders of maps.
fn folders_of_maps(within: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY)));
    named.map(|entry| entry.path())
}

/// Removes the folders that killed runs have left more than a day before `now`. Returns their number.
fn remove_left(within: &Path, now: SystemTime) -> usize {
    folders_of_maps(within).filter(|folder| remove_if_left(folder, now).is_some()).take(MOST_REMOVED).count()
}

/// Returns the lock of the folder of a killed run, which is held then, and when the run began; `None` if it is none, or if the run goes on.
fn killed(folder: &Path) -> Option<(File, SystemTime)> {
    let is_own = |path: &Path, is_folder: bool| {
        let found = fs::symlink_metadata(path).ok()?;
        let is_such = if is_folder { found.is_dir() && found.mode().trailing_zeros() >= 6 } else { found.is_file() };
        (is_such && found.uid() == rustix::process::geteuid().as_raw()).then_some(found)
    };
    // Only its user may open the folder, so nobody else can put something into it.
    is_own(folder, true)?;
    let inner = folder.join(INNER);
    let record = is_own(&inner.join(JOB), false)?;
    let lock = open(inner.join(LOCK), OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let lock = File::from(lock);
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some((lock, record.modified().ok()?))
}

/// Removes a folder if a killed run has left it. Returns `None` if it stays.
fn remove_if_left(folder: &Path, now: SystemTime) -> Option<()> {
    let (_lock, began) = killed(folder)?;
    if now.duration_since(began).ok()? < LEFT_AFTER {
        return None;
    }
    // A command that the killed run has started may still work there.
    if !process::in_use(&[folder.canonicalize().ok()?]).is_empty() {
        return None;
    }
    fs::remove_dir_all(folder).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::DirBuilderExt;

    use super::*;

    /// Makes a folder as a run has it.
    fn of_run(within: &Path, name: &str, mode: u32) {
        let folder = within.join(name);
        fs::DirBuilder::new().mode(mode).create(&folder).unwrap();
        fs::create_dir(folder.join(".hindmost")).unwrap();
        for file in ["job.json", "lock", "journal.jsonl"] {
            fs::write(folder.join(".hindmost").join(file), "{}").unwrap();
        }
    }

    #[test]
    fn only_old_folders_of_killed_runs_are_removed() {
        let within = tempfile::tempdir().unwrap();
        let path = within.path();
        for (name, mode) in [
            ("hindmost-left", 0o700),
            ("hindmost-used", 0o700),
            ("hindmost-open", 0o755),
            ("other", 0o700),
            ("target", 0o700),
        ] {
            of_run(path, name, mode);
        }
        fs::create_dir(path.join("hindmost-mine")).unwrap();
        fs::write(path.join("hindmost-mine/text"), "mine").unwrap();
        std::os::unix::fs::symlink(path.join("target"), path.join("hindmost-link")).unwrap();
        let used = File::options().write(true).open(path.join("hindmost-used/.hindmost/lock")).unwrap();
        flock(&used, FlockOperation::LockExclusive).unwrap();
        assert_eq!(remove_left(path, SystemTime::now()), 0, "they are new");
        let tomorrow = SystemTime::now() + LEFT_AFTER + Duration::from_mins(1);
        assert_eq!(remove_left(path, tomorrow), 1);
        assert!(!path.join("hindmost-left").exists());
        for stays in ["hindmost-used", "hindmost-open", "other", "target", "hindmost-mine/text", "hindmost-link"] {
            assert!(path.join(stays).exists(), "{stays}");
        }
    }
}
