//! Whether an attempt has changed files yet that its command changes in another way than writing them anew, such as `sed -i`, `gzip`, `mv`,
//! a database or `>>`.
//!
//! The states of the files that the command names are noted before the attempt starts. If none differs while the attempt can do nothing, a
//! further one begins where this one began. What a command changes without naming it is not seen here, as it is not seen before copies.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::engine::WrittenFile;
use crate::job_file::PlannedPhase;

/// A file system's clock is behind by at most this: one tick of the system.
const TICK: Duration = Duration::from_millis(20);
/// The same for file systems that count in seconds, or in two.
const COARSE_TICK: Duration = Duration::from_secs(3);

/// What is noted of a path: of the link, if it is one, and of what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State([Entry; 2]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Missing,
    /// Device and inode. What is in it has states of its own.
    Folder(u64, u64),
    /// Device, inode, number of bytes, and when it changed last, in seconds and nanoseconds.
    File(u64, u64, u64, i64, i64),
    Link(u64, u64),
}

impl Entry {
    /// Returns the entry at a path; `None` if it could change without a difference here.
    fn of(found: std::io::Result<Metadata>) -> Option<Entry> {
        let found = match found {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Some(Entry::Missing),
            Err(_) => return None,
        };
        let (device, inode) = (found.dev(), found.ino());
        if found.is_dir() {
            return Some(Entry::Folder(device, inode));
        }
        if found.is_symlink() {
            return Some(Entry::Link(device, inode));
        }
        if !found.is_file() {
            return None;
        }
        let (seconds, nanoseconds) = (found.ctime(), found.ctime_nsec());
        // One that has just changed could change again within the same tick.
        let tick = if nanoseconds == 0 { COARSE_TICK } else { TICK };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(seconds).ok()?, nanoseconds as u32);
        let is_settled = SystemTime::now().duration_since(changed).is_ok_and(|since| since > tick);
        is_settled.then_some(Entry::File(device, inode, found.len(), seconds, nanoseconds))
    }
}

impl State {
    fn of(path: &Path) -> Option<State> {
        Some(State([Entry::of(fs::symlink_metadata(path))?, Entry::of(fs::metadata(path))?]))
    }

    fn is_folder(self) -> bool {
        matches!(self.0[1], Entry::Folder(..))
    }
}

/// One of the files that decide whether an attempt may be stopped.
#[derive(Clone, Debug)]
struct Watched {
    path: PathBuf,
    /// Its state before the attempt started; `None` if it says nothing.
    before: Option<State>,
    /// True if the position says whether the attempt has added something, while it has the file open to add to it.
    by_position: bool,
}

/// The files that decide whether an attempt may be stopped so that its task starts again.
#[derive(Clone, Debug)]
pub(super) struct Untouched(Vec<Watched>);

impl Untouched {
    /// Notes the states of the files that an attempt of a task will change; `None` if they are not known.
    pub(super) fn before(phase: &PlannedPhase, task: u32) -> Option<Untouched> {
        let files = phase.changed_by(task)?;
        let mut watched = Vec::new();
        for file in &files {
            let path = phase.directory.join(&file.file);
            let before = if file.by_state { State::of(&path) } else { None };
            if before.is_some_and(State::is_folder) {
                // What is moved or copied into it has its name there.
                let names = files.iter().filter_map(|other| Path::new(&other.file).file_name());
                let inside = names.map(|name| path.join(name));
                watched.extend(inside.map(|path| Watched { before: State::of(&path), path, by_position: false }));
            }
            watched.push(Watched { path, before, by_position: file.by_position });
        }
        Some(Untouched(watched))
    }

    /// The same for an attempt of which no states are known, as an earlier process has started it.
    pub(super) fn by_position_only(phase: &PlannedPhase, task: u32) -> Option<Untouched> {
        let files = phase.changed_by(task)?.into_iter();
        let of = |file: crate::job_file::Changed| Watched {
            path: phase.directory.join(&file.file),
            before: None,
            by_position: file.by_position,
        };
        Some(Untouched(files.map(of).collect()))
    }

    /// True if an attempt has changed nothing yet that has `open` files and can do nothing now.
    pub(super) fn is_so(&self, open: &[WrittenFile]) -> bool {
        let is = |watched: &Watched, file: &WrittenFile| file.path.file_name() == watched.path.file_name();
        let adds_nothing = |watched: &Watched| open.iter().any(|file| is(watched, file) && file.added_nothing);
        let is_untouched = |watched: &Watched| {
            watched.before.is_some_and(|before| State::of(&watched.path) == Some(before))
                || watched.by_position && adds_nothing(watched)
        };
        // Of any other file to which the attempt may add, nobody knows what it has done.
        let is_known =
            |file: &WrittenFile| file.is_scratch || file.is_replaced || self.0.iter().any(|watched| is(watched, file));
        self.0.iter().all(is_untouched) && open.iter().all(is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_file::Changed;

    fn watched(path: PathBuf) -> Untouched {
        let before = State::of(&path);
        Untouched(vec![Watched { path, before, by_position: false }])
    }

    /// A file that was made a while ago, as far as its system's clock is concerned.
    fn settled(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        std::thread::sleep(2 * TICK);
    }

    #[test]
    fn every_change_of_a_file_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let changes: [(&str, &dyn Fn()); 6] = [
            ("same size", &|| fs::write(&path, "b").unwrap()),
            ("removed", &|| fs::remove_file(&path).unwrap()),
            ("replaced", &|| {
                fs::write(folder.path().join("y"), "a").unwrap();
                fs::rename(folder.path().join("y"), &path).unwrap();
            }),
            ("linked", &|| fs::hard_link(&path, folder.path().join("z")).unwrap()),
            ("by a link", &|| {
                fs::rename(&path, folder.path().join("moved")).unwrap();
                std::os::unix::fs::symlink("moved", &path).unwrap();
            }),
            ("a folder", &|| {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
            }),
        ];
        for (what, change) in changes {
            settled(&path, "a");
            let untouched = watched(path.clone());
            assert!(untouched.is_so(&[]), "{what}");
            change();
            assert!(!untouched.is_so(&[]), "{what}");
        }
        let missing = watched(folder.path().join("none"));
        assert!(missing.is_so(&[]));
        fs::write(folder.path().join("none"), "").unwrap();
        assert!(!missing.is_so(&[]));
    }

    #[test]
    fn one_that_has_just_changed_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        // Under load the clock may have gone on meanwhile.
        let says_nothing = (0..100).any(|_| {
            fs::write(&path, "a").unwrap();
            !watched(path.clone()).is_so(&[])
        });
        assert!(says_nothing);
    }

    #[test]
    fn files_are_moved_into_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("done")).unwrap();
        settled(&folder.path().join("x"), "a");
        let job = "name = \"x\"\n[[phase]]\nname = \"a\"\ntasks = 1\ncommand = \"mv x done\"\n";
        let plan = crate::job_file::parse(job, Path::new("job.toml"), folder.path()).unwrap();
        let phase = &plan.phases[0];
        let files = phase.changed_by(0).unwrap();
        assert!(files.contains(&Changed { file: "done".to_owned(), by_state: true, by_position: false }));
        let untouched = Untouched::before(phase, 0).unwrap();
        // Another task's.
        fs::write(folder.path().join("done/y"), "").unwrap();
        assert!(untouched.is_so(&[]));
        fs::copy(folder.path().join("x"), folder.path().join("done/x")).unwrap();
        assert!(!untouched.is_so(&[]));
    }
}
