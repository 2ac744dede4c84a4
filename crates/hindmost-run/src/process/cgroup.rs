//! A control group for each run, if this process may create one. Processes stay in the group in which they were started, so
//! a later Hindmost process finds all processes that an earlier one has left.
//!
//! The group is created below the group of this process (control groups version 2), and this process moves into it. Its
//! children start there at no cost, while moving each of them would take milliseconds. No controllers are needed. If no
//! group can be created, the other ways of finding processes suffice, and no message is printed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::mark::Mark;
use super::stat::Stat;

/// Number of tries to remove a group.
const TRIES: u32 = 20;
/// Time between two tries to remove a group.
const PAUSE: Duration = Duration::from_millis(1);

/// The control group that this process has moved into.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    /// Path of the group in which this process was before.
    home: PathBuf,
    /// True if the run's group existed before this process entered it.
    was_there: bool,
}

impl Group {
    /// Moves this process into the control group of a run, and creates the group if it does not exist. `None` if that is
    /// not possible.
    pub fn enter(run: Mark) -> Option<Group> {
        let home = own()?;
        let path = home.join(name(run));
        remove_empty(&home, &path);
        // Another Hindmost process may be removing the group at this moment, because it is empty.
        for _ in 0..3 {
            let was_there = match fs::create_dir(&path) {
                Ok(()) => false,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => true,
                Err(_) => return None,
            };
            if move_to(&path) {
                return Some(Group { path, home, was_there });
            }
        }
        let _ = fs::remove_dir(&path);
        None
    }

    /// Returns the path of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if an earlier process has created the group and may have left processes in it.
    pub fn was_there(&self) -> bool {
        self.was_there
    }
}

impl Drop for Group {
    /// Moves this process back, and removes the group if it is empty.
    fn drop(&mut self) {
        if move_to(&self.home) {
            remove(&self.path);
        }
    }
}

/// Returns the name of a run's control group.
fn name(run: Mark) -> String {
    format!("hindmost-{}", run.hex())
}

/// Moves this process with all its threads into a group. Returns false if that is not possible.
fn move_to(group: &Path) -> bool {
    fs::write(group.join("cgroup.procs"), "0").is_ok()
}

/// Removes a group and the groups below it, if they are empty.
pub fn remove(group: &Path) {
    for below in below(group) {
        remove(&below);
    }
    // A thread that is ending stays in its group for a moment.
    for _ in 0..TRIES {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => std::thread::sleep(PAUSE),
            _ => return,
        }
    }
}

/// Removes empty groups of runs below `home`, except `kept`. A Hindmost process that was killed leaves its group behind,
/// and nothing else removes the group if the run is never resumed.
fn remove_empty(home: &Path, kept: &Path) {
    let is_run = |group: &PathBuf| {
        let name = group.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix("hindmost-"));
        name.is_some_and(|mark| mark.len() == 16 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    for group in below(home).into_iter().filter(|group| is_run(group) && group != kept) {
        remove_empty(&group, kept);
        let _ = fs::remove_dir(&group);
    }
}

fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// True if a path, which comes from an untrusted file, can be the control group of this run.
pub fn is_of(path: &Path, run: Mark) -> bool {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let mounted = || mounts().iter().any(|mount| path.starts_with(&mount.at));
    plain && path.file_name() == Some(OsStr::new(&name(run))) && mounted()
}

/// Returns the running processes in some groups and the groups below them, except this process.
pub(super) fn members(groups: &[PathBuf]) -> Vec<Stat> {
    let mut found = Vec::new();
    let mut groups = groups.to_vec();
    while let Some(group) = groups.pop() {
        let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        let pids = listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != std::process::id());
        found.extend(pids.filter_map(|pid| Stat::read(pid).ok()).filter(|stat| !stat.has_ended()));
        groups.extend(below(&group));
    }
    found
}

/// A place where the control groups (version 2) are mounted.
struct Mount {
    /// Path of the mount point.
    at: PathBuf,
    /// Path of the group that is mounted there, from the topmost group.
    root: PathBuf,
}

fn mounts() -> Vec<Mount> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// Parses a line such as `36 35 98:0 /root /mounted/at rw,… optional … - cgroup2 source options`.
fn mount(line: &[u8]) -> Option<Mount> {
    mount_of(line, b"cgroup2", |_| true)
}

/// Parses such a line of a kind of file system, if its options are wanted.
fn mount_of(line: &[u8], wanted: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Option<Mount> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let kind = words.iter().position(|word| *word == b"-")? + 1;
    let path = |at: usize| words.get(at).map(|word| PathBuf::from(std::ffi::OsString::from_vec(unescaped(word))));
    if *words.get(kind)? == wanted && is_wanted(words.get(kind + 2)?) {
        Some(Mount { root: path(3)?, at: path(4)? })
    } else {
        None
    }
}

/// Decodes a path in which special characters are written in octal, such as a blank as `\040`.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::new(), word);
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\');
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { &others[3..] } else { others };
    }
    plain
}

/// Returns the path of the group of this process; `None` if it is unknown.
pub(super) fn own() -> Option<PathBuf> {
    own_in(|hierarchy| hierarchy == b"0:", &mounts())
}

/// Returns the path of the group of this process that counts memory in control groups of version 1; `None` if there is none.
pub(super) fn own_of_memory() -> Option<PathBuf> {
    let has_memory = |names: &[u8]| names.split(|byte| *byte == b',').any(|name| name == b"memory");
    let of_memory = |hierarchy: &[u8]| hierarchy.splitn(2, |byte| *byte == b':').nth(1).is_some_and(has_memory);
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let mounts: Vec<Mount> = lines.filter_map(|line| mount_of(line, b"cgroup", has_memory)).collect();
    own_in(of_memory, &mounts)
}

/// Returns the path of the group of this process in the hierarchy whose number and controllers, such as `0:`, are wanted.
fn own_in(is_wanted: impl Fn(&[u8]) -> bool, mounts: &[Mount]) -> Option<PathBuf> {
    let text = fs::read("/proc/self/cgroup").ok()?;
    let group = text.split(|byte| *byte == b'\n').find_map(|line| {
        let end = line.iter().enumerate().filter(|(_, byte)| **byte == b':').nth(1)?.0;
        is_wanted(&line[..end]).then(|| &line[end + 1..])
    })?;
    let group = Path::new(OsStr::from_bytes(group));
    // The path of a group outside this namespace begins with `/..`.
    if group.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    mounts.iter().find_map(|mount| Some(mount.at.join(group.strip_prefix(&mount.root).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_in_mountinfo() {
        let found = mount(br"38 31 0:38 /a\040b /sys/fs\134/cgroup rw,relatime shared:1 - cgroup2 cgroup2 rw").unwrap();
        assert_eq!((found.root, found.at), (PathBuf::from("/a b"), PathBuf::from(r"/sys/fs\/cgroup")));
        assert!(mount(b"30 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu").is_none());
        assert!(mount(b"").is_none() && mount(b"1 2 -").is_none());
    }

    #[test]
    fn only_groups_of_the_run_are_accepted() {
        let run = Mark::of_run("run", Path::new("/folder"));
        let Some(mount) = mounts().into_iter().next() else { return };
        assert!(is_of(&mount.at.join("some").join(name(run)), run));
        for wrong in [
            mount.at.join(name(Mark::of_run("run", Path::new("/other")))),
            mount.at.join("..").join(name(run)),
            Path::new("/tmp").join(name(run)),
            PathBuf::from(name(run)),
            mount.at.clone(),
        ] {
            assert!(!is_of(&wrong, run), "{}", wrong.display());
        }
    }
}
