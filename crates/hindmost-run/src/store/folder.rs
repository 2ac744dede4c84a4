//! An open folder: its content is accessed relative to its handle, and links are not followed.
//!
//! A user who may write to a folder's parents can put links or other folders at any path. A handle stays with the folder
//! that was opened, even if it is moved. So no function here uses a path once the run's folder is open.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Statx, StatxFlags, linkat, mkdirat, openat, renameat,
    renameat_with, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;

/// Permissions of a run's internal folders: other users may read, not write.
const OWN_FOLDER: Mode = Mode::from_raw_mode(0o755);
/// Permissions of a run's internal files.
const OWN_FILE: Mode = Mode::from_raw_mode(0o644);
/// Flags that open only a folder, not a link to one.
const AS_FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// Why a folder or file can't be trusted: other users could change results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// The folder or file belongs to another user.
    OthersOwn,
    /// The group of the folder or file, or everybody, may write to it.
    OthersWrite,
    /// The path is a link that belongs to another user.
    NotPlain,
}

/// End of the name under which a file is written before it is renamed.
const PART: &str = ".part";

impl Folder {
    /// Opens a folder by its path. Links on the way to it are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder inside this folder.
    pub(crate) fn sub(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        Ok(Folder(openat(&self.0, name.as_ref(), AS_FOLDER, Mode::empty())?))
    }

    /// Opens a folder inside this folder, and creates it if it does not exist.
    pub(super) fn make_sub(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        match mkdirat(&self.0, name.as_ref(), OWN_FOLDER) {
            Ok(()) | Err(Errno::EXIST) => self.sub(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a folder with these permissions inside this folder; fails if the name exists.
    pub(super) fn make_new(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
        Ok(mkdirat(&self.0, name.as_ref(), Mode::from_raw_mode(mode))?)
    }

    /// Creates a link with this target; fails if the name exists.
    pub(super) fn make_link(&self, name: impl AsRef<OsStr>, target: &str) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name.as_ref())?)
    }

    /// Gives a file or link of this folder a second name in another one (a hard link); fails if the name exists.
    pub(super) fn make_name(&self, name: &str, to: &Folder, new: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(linkat(&self.0, name, &to.0, new.as_ref(), AtFlags::empty())?)
    }

    /// True if this name is a link with this target.
    pub(super) fn has_link(&self, name: impl AsRef<OsStr>, target: &str) -> bool {
        rustix::fs::readlinkat(&self.0, name.as_ref(), Vec::new())
            .is_ok_and(|found| found.to_bytes() == target.as_bytes())
    }

    /// Creates a file for writing; fails if the name exists.
    pub(super) fn new_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name.as_ref(), flags, OWN_FILE)?.into())
    }

    /// Opens a regular file for reading. Other kinds are refused: a pipe, for example, would block its reader.
    pub(crate) fn file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.regular(name, OFlags::RDONLY)
    }

    /// Opens a file for reading and writing, and creates it if it does not exist. A file with a second name is refused,
    /// because it may be somebody else's.
    pub(crate) fn own_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let file = self.regular(name, OFlags::RDWR | OFlags::CREATE)?;
        let found = file.metadata()?;
        if std::os::unix::fs::MetadataExt::nlink(&found) != 1 {
            return Err(io::Error::other("it has a second name (a hard link), so it may be somebody else's file"));
        }
        Ok(file)
    }

    fn regular(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file: File = openat(&self.0, name.as_ref(), flags, OWN_FILE).map_err(no_link)?.into();
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    }

    /// Returns the text of a file, up to `most` bytes of it.
    pub(super) fn read(&self, name: impl AsRef<OsStr>, most: u64) -> io::Result<String> {
        let mut text = String::new();
        self.file(name)?.take(most).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Returns the last `most` bytes of a file, and its metadata.
    pub(super) fn read_end(&self, name: impl AsRef<OsStr>, most: u64) -> io::Result<(Vec<u8>, std::fs::Metadata)> {
        let mut file = self.file(name)?;
        let found = file.metadata()?;
        file.seek(SeekFrom::Start(found.len().saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok((bytes, found))
    }

    /// Replaces a file by one with this content in one step: it is never incomplete, and links are not followed. Fails if
    /// the name is a folder.
    pub(crate) fn replace(&self, name: &str, content: &[u8], sync: bool) -> io::Result<()> {
        let beside = format!("{name}{PART}");
        match unlinkat(&self.0, beside.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut file = self.new_file(&beside)?;
        let written = file.write_all(content).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
        let placed = written.and_then(|()| Ok(renameat(&self.0, beside.as_str(), &self.0, name)?));
        if placed.is_err() {
            let _ = unlinkat(&self.0, beside.as_str(), AtFlags::empty());
        }
        placed?;
        if sync { self.sync() } else { Ok(()) }
    }

    /// Removes what [`replace`](Self::replace) has left of files with names that `is_known` knows, because its process was killed or
    /// could not remove it. What can't be removed stays.
    pub(super) fn remove_parts(&self, is_known: impl Fn(&str) -> bool) {
        for (name, kind) in self.entries().unwrap_or_default() {
            let is_part = name.to_str().and_then(|name| name.strip_suffix(PART)).is_some_and(&is_known);
            if is_part && kind == FileType::RegularFile {
                let _ = unlinkat(&self.0, name, AtFlags::empty());
            }
        }
    }

    /// Moves a file or folder to a name that must not exist.
    pub(super) fn rename_new(&self, name: impl AsRef<OsStr>, to: &Folder, new: impl AsRef<OsStr>) -> io::Result<()> {
        let (name, new) = (name.as_ref(), new.as_ref());
        match renameat_with(&self.0, name, &to.0, new, RenameFlags::NOREPLACE) {
            // Some file systems can't rename without replacing. No other run can create the name between check and rename,
            // because this run holds the lock.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                if to.kind(new)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(renameat(&self.0, name, &to.0, new)?)
            }
            Err(Errno::ACCESS) => self.rename_unwritable(name, to, new),
            other => Ok(other?),
        }
    }

    /// Moves a folder that its owner may not write. Moving changes the folder's own entry for its parent, so its owner gets
    /// the permission for a moment.
    fn rename_unwritable(&self, name: &OsStr, to: &Folder, new: &OsStr) -> io::Result<()> {
        let found = self.statx(name, StatxFlags::TYPE | StatxFlags::MODE)?;
        if FileType::from_raw_mode(found.stx_mode.into()) != FileType::Directory {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let before = Mode::from_raw_mode(u32::from(found.stx_mode) & 0o7777);
        self.set_mode(name, before | Mode::RWXU)?;
        let renamed = renameat_with(&self.0, name, &to.0, new, RenameFlags::NOREPLACE);
        let restored = if renamed.is_ok() { to.set_mode(new, before) } else { self.set_mode(name, before) };
        renamed?;
        restored
    }

    /// Moves a file or folder, and replaces what has the new name.
    pub(super) fn rename_over(&self, name: impl AsRef<OsStr>, to: &Folder, new: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.0, name.as_ref(), &to.0, new.as_ref())?)
    }

    /// Sets the permissions of a folder or file that is not a link.
    pub(super) fn set_mode(&self, name: &OsStr, mode: Mode) -> io::Result<()> {
        // The system call follows links, so the file is opened first, as a path only.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.0, name, flags, Mode::empty())?;
        let at = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&opened));
        Ok(rustix::fs::chmod(at, mode)?)
    }

    /// Returns the kind of file with this name, without following links; `None` if it does not exist.
    pub(super) fn kind(&self, name: impl AsRef<OsStr>) -> io::Result<Option<FileType>> {
        match self.statx(name, StatxFlags::TYPE) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.stx_mode.into()))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// True if this name is a regular file, not a link to one.
    pub(crate) fn has_file(&self, name: impl AsRef<OsStr>) -> bool {
        self.kind(name).is_ok_and(|kind| kind == Some(FileType::RegularFile))
    }

    /// True if this name is a folder, not a link to one.
    pub(super) fn has_folder(&self, name: impl AsRef<OsStr>) -> bool {
        self.kind(name).is_ok_and(|kind| kind == Some(FileType::Directory))
    }

    pub(super) fn statx(&self, name: impl AsRef<OsStr>, wanted: StatxFlags) -> rustix::io::Result<Statx> {
        statx(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW, wanted)
    }

    /// Returns the metadata of this folder itself.
    pub(super) fn own_statx(&self, wanted: StatxFlags) -> rustix::io::Result<Statx> {
        statx(&self.0, "", AtFlags::EMPTY_PATH, wanted)
    }

    /// Returns the names in the folder in arbitrary order, with their kinds if the file system lists them.
    pub(super) fn entries(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                entries.push((OsStr::from_bytes(name).to_owned(), entry.file_type()));
            }
        }
        Ok(entries)
    }

    /// True if the folder can be read and is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.entries().is_ok_and(|entries| entries.is_empty())
    }

    /// Removes a file or link.
    pub(super) fn remove_file(&self, name: impl AsRef<OsStr>) -> rustix::io::Result<()> {
        unlinkat(&self.0, name.as_ref(), AtFlags::empty())
    }

    /// Removes an empty folder.
    pub(super) fn remove_empty(&self, name: impl AsRef<OsStr>) -> rustix::io::Result<()> {
        unlinkat(&self.0, name.as_ref(), AtFlags::REMOVEDIR)
    }

    /// Syncs the folder's entries, so that files that were created, moved or removed in it stay so after a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// Syncs the whole file system of the folder, so that everything written to it survives a power cut.
    pub(super) fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.0)?)
    }

    /// Returns the free space of the file system in bytes, for processes without privileges; 0 if no more files can be created.
    pub(super) fn free_space(&self) -> io::Result<u64> {
        self.space().map(|[free, _]| free)
    }

    /// Returns the free bytes, as [`Folder::free_space`] does, and the size of the file system.
    pub(super) fn space(&self) -> io::Result<[u64; 2]> {
        let found = rustix::fs::fstatvfs(&self.0)?;
        // Some file systems have no fixed number of files.
        let may_create = found.f_files == 0 || found.f_favail > 0;
        let free = if may_create { found.f_bavail.saturating_mul(found.f_frsize) } else { 0 };
        Ok([free, found.f_blocks.saturating_mul(found.f_frsize)])
    }

    /// Returns why other users could change the folder's content; `None` if they can't.
    pub(super) fn distrust(&self) -> io::Result<Option<Distrust>> {
        Ok(distrust(&self.own_statx(StatxFlags::BASIC_STATS)?))
    }
}

impl From<OwnedFd> for Folder {
    fn from(handle: OwnedFd) -> Folder {
        Folder(handle)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns why other users could change a file or a folder's content; `None` if they can't.
pub(super) fn distrust(found: &Statx) -> Option<Distrust> {
    if found.stx_uid != rustix::process::geteuid().as_raw() {
        return Some(Distrust::OthersOwn);
    }
    (found.stx_mode & 0o022 != 0).then_some(Distrust::OthersWrite)
}

/// Replaces the system's error for a link that is not followed, because its text mentions loops of links.
fn no_link(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::other("it is a symbolic link, which is not followed here"),
        other => other.into(),
    }
}
