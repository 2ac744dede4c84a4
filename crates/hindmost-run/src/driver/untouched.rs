//! Whether an attempt has changed files yet that its command names, but for those that it writes anew.
//!
//! The states of the files that the command's text names are noted before the attempt starts: what it reads, what it changes as `sed -i`,
//! `gzip`, `mv` and `>>` do, and what a program that nobody knows may change. If none differs while the attempt can do nothing, a
//! further one begins where this one began. A copy does not start either if one differs. What a command changes without naming it
//! is not seen here.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::engine::WrittenFile;
use crate::job_file::{PlannedPhase, place_of};

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
    /// True if the attempt can't have changed it.
    is_only_read: bool,
}

impl Watched {
    fn at(path: PathBuf) -> Watched {
        Watched { before: State::of(&path), path, by_position: false, is_only_read: false }
    }

    fn differs(&self) -> bool {
        self.before.is_none_or(|before| State::of(&self.path) != Some(before))
    }
}

/// The files that decide whether an attempt may be stopped so that its task starts again.
#[derive(Clone, Debug)]
pub(super) struct Untouched(Vec<Watched>);

impl Untouched {
    /// Notes the states of the files that the command of a task names; `None` if its text does not show them.
    pub(super) fn before(phase: &PlannedPhase, task: u32) -> Option<Untouched> {
        let named = phase.named_by(task)?;
        let folder = named.base.map_or_else(|| phase.directory.clone(), |base| phase.directory.join(base));
        // What is written into a pipe or a device is not taken back by writing it again.
        let is_file = |path: PathBuf| fs::metadata(path).map_or(true, |found| found.is_file() || found.is_dir());
        if !named.written_anew.iter().all(|written| is_file(folder.join(written))) {
            return None;
        }
        let names = |but: &str| {
            let others = named.files.iter().filter(|other| other.file != but).map(|other| other.file.clone());
            others.filter_map(|other| Path::new(&other).file_name().map(OsString::from)).collect::<Vec<_>>()
        };
        let mut watched = Vec::new();
        for into in named.written_anew.iter().map(|written| folder.join(written)).filter(|written| written.is_dir()) {
            watched.extend(names("").into_iter().map(|name| Watched::at(into.join(name))));
        }
        for file in &named.files {
            let path = folder.join(&file.file);
            let before = if file.by_state { State::of(&path) } else { None };
            if before.is_some_and(State::is_folder) && file.is_listed {
                // What is moved or copied into it has its name there, and what is written into it may be read with it.
                watched.extend(names(&file.file).into_iter().map(|name| Watched::at(path.join(name))));
                let anew = named.written_anew.iter().map(|written| folder.join(written));
                watched.extend(anew.filter(|written| is_within(written, &path)).map(Watched::at));
            }
            let (by_position, is_only_read) = (file.by_position, file.is_only_read);
            watched.push(Watched { path, before, by_position, is_only_read });
        }
        Some(Untouched(watched))
    }

    /// Returns a file that the attempt may have changed; `None` if it has certainly changed none, as it has `open` files and can do
    /// nothing now.
    pub(super) fn touched(&self, open: &[WrittenFile]) -> Option<&Path> {
        let is = |watched: &Watched, file: &WrittenFile| file.path.file_name() == watched.path.file_name();
        let adds_nothing = |watched: &Watched| open.iter().any(|file| is(watched, file) && file.added_nothing);
        let is_touched = |watched: &&Watched| watched.differs() && !(watched.by_position && adds_nothing(watched));
        self.0.iter().find(is_touched).map(|watched| &*watched.path)
    }

    /// Returns a file among `open` ones to which the attempt may have added, and that its command does not name.
    pub(super) fn unknown<'a>(&self, open: &'a [WrittenFile]) -> Option<&'a Path> {
        let is_named =
            |file: &WrittenFile| self.0.iter().any(|watched| file.path.file_name() == watched.path.file_name());
        let adds = open.iter().find(|file| !file.is_scratch && !file.is_replaced && !is_named(file));
        adds.map(|file| &*file.path)
    }

    /// Returns a file that the attempt may have changed, as it is no longer as it was before; `None` if there is none, as far as this can
    /// be known.
    pub(super) fn changed(&self) -> Option<&Path> {
        let may_be_changed = |watched: &&Watched| watched.before.is_some() && !watched.is_only_read;
        let changed = self.0.iter().filter(may_be_changed).find(|watched| watched.differs());
        changed.map(|watched| &*watched.path)
    }
}

/// True if a path leads into a folder, whatever names and links it uses.
fn is_within(path: &Path, folder: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| place_of(path).starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(path: PathBuf) -> Untouched {
        Untouched(vec![Watched::at(path)])
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
            assert_eq!(untouched.touched(&[]), None, "{what}");
            change();
            assert!(untouched.touched(&[]).is_some() && untouched.changed().is_some(), "{what}");
        }
        let missing = watched(folder.path().join("none"));
        assert_eq!(missing.touched(&[]), None);
        fs::write(folder.path().join("none"), "").unwrap();
        assert!(missing.touched(&[]).is_some());
    }

    #[test]
    fn one_that_has_just_changed_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        // Under load the clock may have gone on meanwhile.
        let says_nothing = (0..100).any(|_| {
            fs::write(&path, "a").unwrap();
            watched(path.clone()).touched(&[]).is_some()
        });
        assert!(says_nothing);
    }

    /// The phase of a job with this command, in this folder.
    fn phase(folder: &Path, command: &str) -> PlannedPhase {
        let job = format!("name = \"x\"\n[[phase]]\nname = \"a\"\ntasks = 1\ncommand = \"\"\"{command}\"\"\"\n");
        let plan = crate::job_file::parse(&job, Path::new("job.toml"), folder).unwrap();
        plan.phases.into_iter().next().unwrap()
    }

    #[test]
    fn what_a_command_reads_or_changes_under_another_name_is_seen() {
        for (command, made) in [
            ("mv x done", "done/x"),
            ("sed s/a/b/ x > t/x && mv t/x .", "x"),
            ("sed s/a/b/ ../x > x && cp x ..", "../x"),
            ("n=5; cat ./t/../c; echo $HINDMOST_TASK > c", "c"),
            ("cat link; echo 1 > c", "c"),
            ("cat done/link; echo 1 > c", "c"),
            ("grep -r a done > done/c", "done/c"),
            ("./unknown x > c", "x"),
            ("sort --in=x > c", "x"),
            ("sort -fx > c", "x"),
            ("cd t && cat ../x > ../c; mv ../c ../x", "x"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            fs::create_dir(path("done")).unwrap();
            fs::create_dir(path("t")).unwrap();
            std::os::unix::fs::symlink("c", path("link")).unwrap();
            std::os::unix::fs::symlink("../c", path("done/link")).unwrap();
            settled(&path("x"), "a");
            let phase = phase(folder.path(), command);
            let Some(untouched) = Untouched::before(&phase, 0) else {
                // A command may leave the folder of its job.
                assert!(command.contains(".."), "{command}");
                continue;
            };
            // Another task's.
            fs::write(path("done/y"), "").unwrap();
            assert_eq!(untouched.touched(&[]), None, "{command}");
            fs::write(path(made), "changed").unwrap();
            assert!(untouched.touched(&[]).is_some(), "{command}");
        }
    }

    #[test]
    fn what_is_written_into_a_pipe_is_not_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("p")).status();
        assert!(made.is_ok_and(|status| status.success()));
        assert!(Untouched::before(&phase(folder.path(), "echo 1 > p"), 0).is_none());
        assert!(Untouched::before(&phase(folder.path(), "echo 1 > q"), 0).is_some());
    }

    #[test]
    fn what_a_command_writes_anew_may_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        settled(&folder.path().join("x"), "a");
        for command in ["sort x > c", "sort x | tee c > /dev/null", "sort -o c x", "mkdir -p . && sort x > c && mv c d"]
        {
            let untouched = Untouched::before(&phase(folder.path(), command), 0).unwrap();
            fs::write(folder.path().join("c"), command).unwrap();
            assert_eq!(untouched.touched(&[]), None, "{command}");
            std::thread::sleep(2 * TICK);
        }
    }
}
