//! What is done to single files and folders, with an eye to what may be in their place.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, OFlags, RenameFlags};

/// The last `most` bytes of a file that a command may have replaced by anything. Only regular files are
/// read: a pipe would keep its reader waiting for somebody to write.
///
/// # Errors
/// If there is none, or it can't be read.
pub(super) fn read_end(path: &Path, most: u64) -> io::Result<(Vec<u8>, fs::Metadata)> {
    let mut file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    file.seek(SeekFrom::Start(found.len().saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, found))
}

/// Renames a folder to where nothing is yet.
///
/// # Errors
/// If something is there, or the rename fails.
pub(super) fn rename_anew(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system knows renames that don't replace; the lock keeps others away.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        Err(rustix::io::Errno::ACCESS) => rename_unwritable(from, to),
        other => other.map_err(io::Error::from),
    }
}

/// Renames a folder that its owner may not write: moving it changes its own entry for its parent.
fn rename_unwritable(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let before = fs::metadata(from)?.permissions();
    fs::set_permissions(from, fs::Permissions::from_mode(before.mode() | 0o700))?;
    let renamed = rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from);
    let at = if renamed.is_ok() { to } else { from };
    fs::set_permissions(at, before)?;
    renamed
}

/// Writes a file beside its place and renames it, so that it is never half there.
pub(super) fn write_beside(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("part");
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// Removes a folder with all that is in it. A dying process may still be making a file in it: a few tries.
pub(super) fn remove_all(folder: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if tries >= 20 => return Err(error),
            Err(_) => {
                tries += 1;
                make_removable(folder);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Ok(()) => return Ok(()),
        }
    }
}

/// A command may have taken its own folders' permission to be changed.
fn make_removable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path());
        }
    }
}
