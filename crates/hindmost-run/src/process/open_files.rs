//! Files that the processes of an attempt have open for writing, and that another attempt of its task would have open too.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::common::WrittenFile;
use super::identity::Identity;
use super::stat::numbers_in;
use super::tree;

/// Folders in which programs create files with names of their own.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Clocks of file systems are behind by at most this: one tick of the system.
const MARGIN: Duration = Duration::from_millis(20);
/// The bits of a descriptor's flags that say whether a file is open for reading only, if they are 0 (`O_ACCMODE`).
const ACCESS_MODE: u32 = 0o3;

/// Returns the regular files that processes of an attempt's tree have open for writing, but for those below `own`, the attempt's folder.
pub fn written_files(root: &Identity, own: &Path, began: Option<SystemTime>) -> Vec<WrittenFile> {
    let mut found = Vec::new();
    for member in tree::of(root) {
        let folder = format!("/proc/{}", member.pid);
        for descriptor in numbers_in(&format!("{folder}/fd")) {
            let link = format!("{folder}/fd/{descriptor}");
            let Some(path) = fs::read_link(&link).ok().filter(|path| path.is_absolute() && !path.starts_with(own))
            else {
                continue;
            };
            if !is_open_for_writing(&format!("{folder}/fdinfo/{descriptor}")) {
                continue;
            }
            // A file server that does not answer must not block this process.
            let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::NLINK;
            let Ok(file) = statx(CWD, &link, AtFlags::STATX_DONT_SYNC, wanted) else { continue };
            // Nobody else can open a file without a name.
            if FileType::from_raw_mode(file.stx_mode.into()) == FileType::RegularFile && file.stx_nlink > 0 {
                let is_scratch = is_scratch(&path, began);
                found.push(WrittenFile {
                    path,
                    place: (file.stx_dev_major, file.stx_dev_minor, file.stx_ino),
                    is_scratch,
                });
            }
        }
    }
    found
}

fn is_open_for_writing(descriptor: &str) -> bool {
    let text = fs::read_to_string(descriptor).unwrap_or_default();
    let flags = text.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != 0)
}

/// True if a file is in a temporary folder of the system, and the entry there that leads to it was made after the attempt had begun.
fn is_scratch(path: &Path, began: Option<SystemTime>) -> bool {
    let folders = TEMPORARY.iter().map(PathBuf::from).chain([std::env::temp_dir()]);
    let mut entries = folders.filter_map(|folder| {
        let first = path.strip_prefix(&folder).ok()?.components().next()?;
        Some(folder.join(first))
    });
    entries.any(|entry| {
        let made =
            fs::symlink_metadata(&entry).ok().filter(|found| found.nlink() > 0).and_then(|found| found.created().ok());
        made.zip(began).is_some_and(|(made, began)| made + MARGIN >= began)
    })
}
