//! Removes folders of any content and depth, without leaving their file system.
//!
//! A folder is emptied through its handle. Folders at a depth of more than a few levels are first moved up into a
//! separate folder, so that neither paths nor the number of open files grow with the depth. Other file systems that are mounted
//! inside are not touched.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, StatxFlags, openat2};
use rustix::io::Errno;

use super::folder::Folder;

/// Depth at which folders are moved up instead of being entered.
const DEEPEST: usize = 4;
/// Permissions that let a folder's owner empty it.
const OPEN_TO_OWNER: Mode = Mode::RWXU;

/// A file or folder that could not be removed, and why.
#[derive(Debug)]
pub(super) struct Left {
    /// Name of the file or folder, without its path.
    pub name: OsString,
    pub error: io::Error,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name.to_string_lossy(), self.error)
    }
}

/// Removes a file, link or folder with its content from a folder.
///
/// # Errors
/// A text about the first file or folder that could not be removed.
pub(crate) fn remove_tree(parent: &Folder, name: &OsStr) -> Result<(), String> {
    Removal::new(parent).remove(parent, name).map_err(|left| left.to_string())
}

/// Removes files and folders of one run. `heap` is a folder on the same file system to which deeply nested folders are moved
/// before they are removed.
pub(super) struct Removal<'a> {
    heap: &'a Folder,
    /// Folders in the heap that are to be removed.
    waiting: Vec<OsString>,
    left: Option<Left>,
}

impl<'a> Removal<'a> {
    pub(super) fn new(heap: &'a Folder) -> Removal<'a> {
        Removal { heap, waiting: Vec::new(), left: None }
    }

    /// Removes a file, link or folder with its content.
    ///
    /// # Errors
    /// The first file or folder that could not be removed.
    pub(super) fn remove(mut self, parent: &Folder, name: &OsStr) -> Result<(), Left> {
        self.entry(parent, name, FileType::Unknown, 0);
        while let Some(moved) = self.waiting.pop() {
            let heap = self.heap;
            self.entry(heap, &moved, FileType::Directory, 0);
        }
        self.left.map_or(Ok(()), Err)
    }

    fn cannot(&mut self, name: &OsStr, error: impl Into<io::Error>) {
        self.left.get_or_insert(Left { name: name.to_owned(), error: error.into() });
    }

    fn entry(&mut self, parent: &Folder, name: &OsStr, kind: FileType, depth: usize) {
        if kind != FileType::Directory {
            match parent.remove_file(name) {
                Ok(()) | Err(Errno::NOENT) => return,
                // Some systems return EPERM for a folder.
                Err(Errno::ISDIR) => {}
                Err(Errno::PERM) if parent.has_folder(name) => {}
                Err(error) => return self.cannot(name, error),
            }
        }
        match parent.remove_empty(name) {
            Ok(()) | Err(Errno::NOENT) => return,
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
            Err(error) => return self.cannot(name, error),
        }
        if depth >= DEEPEST {
            return self.move_up(parent, name);
        }
        let folder = match enter(parent, name) {
            Ok(folder) => folder,
            Err(error) => return self.cannot(name, error),
        };
        // A file that a process adds while the folder is emptied is removed in the next turn.
        for _ in 0..3 {
            match folder.entries() {
                Ok(entries) => entries.iter().for_each(|(inner, kind)| self.entry(&folder, inner, *kind, depth + 1)),
                Err(error) => return self.cannot(name, error),
            }
            match parent.remove_empty(name) {
                Ok(()) | Err(Errno::NOENT) => return,
                Err(Errno::NOTEMPTY | Errno::EXIST) if self.left.is_none() => {}
                Err(error) => return self.cannot(name, error),
            }
        }
        self.cannot(name, Errno::NOTEMPTY);
    }

    fn move_up(&mut self, parent: &Folder, name: &OsStr) {
        // Several threads may remove folders with one heap.
        static MOVED: AtomicU64 = AtomicU64::new(0);
        let new = OsString::from(format!("{}-{}", std::process::id(), MOVED.fetch_add(1, Ordering::Relaxed)));
        match parent.rename_new(name, self.heap, &new) {
            Ok(()) => self.waiting.push(new),
            Err(error) => self.cannot(name, error),
        }
    }
}

/// Opens a folder in order to empty it, unless another file system is mounted there. Restores permissions that a command
/// has removed from its own folder.
fn enter(parent: &Folder, name: &OsStr) -> io::Result<Folder> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let mut may_change = true;
    loop {
        let opened = match openat2(parent, name, flags, Mode::empty(), within) {
            Ok(handle) => Ok(Folder::from(handle)),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => same_file_system(parent, name),
            Err(error) => Err(error.into()),
        };
        let unreadable = match &opened {
            Ok(folder) => !is_open_to_owner(folder),
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        };
        if unreadable && std::mem::take(&mut may_change) && parent.set_mode(name, OPEN_TO_OWNER).is_ok() {
            continue;
        }
        return opened;
    }
}

fn is_open_to_owner(folder: &Folder) -> bool {
    let mode = folder.own_statx(StatxFlags::MODE).map_or(0, |found| u32::from(found.stx_mode));
    mode & OPEN_TO_OWNER.bits() == OPEN_TO_OWNER.bits()
}

/// Does the same as [`enter`] on kernels without `openat2`.
fn same_file_system(parent: &Folder, name: &OsStr) -> io::Result<Folder> {
    let folder = parent.sub(name)?;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let (inner, outer) = (folder.own_statx(wanted)?, parent.own_statx(wanted)?);
    let place = |found: &rustix::fs::Statx| (found.stx_dev_major, found.stx_dev_minor, found.stx_mnt_id);
    if place(&inner) == place(&outer) { Ok(folder) } else { Err(Errno::XDEV.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(path: &std::path::Path) -> Result<(), Left> {
        let parent = Folder::open(path.parent().unwrap()).unwrap();
        let heap = parent.make_sub("heap").unwrap();
        let result = Removal::new(&heap).remove(&parent, path.file_name().unwrap());
        assert!(heap.is_empty(), "files are left in the heap");
        result
    }

    #[test]
    fn thousands_of_nested_folders_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("top");
        std::fs::create_dir(&top).unwrap();
        let mut inner = Folder::open(&top).unwrap();
        for _ in 0..20_000 {
            std::io::Write::write_all(&mut inner.new_file("file").unwrap(), b"x").unwrap();
            inner = inner.make_sub("d").unwrap();
        }
        drop(inner);
        removed(&top).unwrap();
        assert!(!top.exists());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("top");
        std::fs::create_dir(scratch.path().join("other")).unwrap();
        std::fs::write(scratch.path().join("other/file"), "kept").unwrap();
        std::fs::create_dir(&top).unwrap();
        std::os::unix::fs::symlink("../other", top.join("link")).unwrap();
        removed(&top).unwrap();
        std::os::unix::fs::symlink("other", &top).unwrap();
        removed(&top).unwrap();
        assert_eq!(std::fs::read_to_string(scratch.path().join("other/file")).unwrap(), "kept");
        assert!(!top.is_symlink());
    }

    #[test]
    fn folders_without_permissions_are_removed() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("top");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(top.join("a/b/file"), "x").unwrap();
        for name in ["a/b", "a", ""] {
            std::fs::set_permissions(top.join(name), std::fs::Permissions::from_mode(0o0)).unwrap();
        }
        removed(&top).unwrap();
        assert!(!top.exists());
    }
}
