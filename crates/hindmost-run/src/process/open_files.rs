//! Files that the processes of an attempt have open for writing, and that another attempt of its task would have open too.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
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
/// The bits of a file that is open for writing only (`O_WRONLY`).
const WRITE_ONLY: u32 = 0o1;
/// The bit of a file whose writes go to its end (`O_APPEND`).
const APPEND: u32 = 0o2000;

/// Returns the regular files that processes of an attempt's tree have open for writing, but for those below `own`, the attempt's folders.
pub fn written_files(root: &Identity, own: &[&Path], began: Option<SystemTime>) -> Vec<WrittenFile> {
    let mut found = Vec::new();
    for member in tree::of(root) {
        let folder = format!("/proc/{}", member.pid);
        for descriptor in numbers_in(&format!("{folder}/fd")) {
            let link = format!("{folder}/fd/{descriptor}");
            let Some(path) = fs::read_link(&link)
                .ok()
                .filter(|path| path.is_absolute() && !own.iter().any(|own| path.starts_with(own)))
            else {
                continue;
            };
            let information = fs::read_to_string(format!("{folder}/fdinfo/{descriptor}")).unwrap_or_default();
            let flags = field(&information, "flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok()).unwrap_or(0);
            let is_at_begin = field(&information, "pos:") == Some("0");
            if flags & ACCESS_MODE == 0 {
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
                    is_replaced: flags & (ACCESS_MODE | APPEND) == WRITE_ONLY,
                    added_nothing: is_at_begin && flags & (ACCESS_MODE | APPEND) == WRITE_ONLY | APPEND,
                });
            }
        }
    }
    found
}

/// Returns those of these folders that are in use: a process that this user can see has the path in its environment, as the
/// commands of a run have, works below it, or has a file below it open. Their paths are absolute and without links.
pub fn in_use(folders: &[PathBuf]) -> HashSet<PathBuf> {
    users_of(folders).into_iter().map(|(folder, _)| folder).collect()
}

/// Returns the processes that use these folders as [`in_use`] says, each with its folder.
pub fn users_of(folders: &[PathBuf]) -> Vec<(PathBuf, u32)> {
    let mut used = Vec::new();
    if folders.is_empty() {
        return used;
    }
    for pid in numbers_in("/proc") {
        let process = format!("/proc/{pid}");
        let environment = fs::read(format!("{process}/environ")).unwrap_or_default();
        let is_named = |folder: &Path| {
            let path = folder.as_os_str().as_bytes();
            environment.windows(path.len()).any(|part| part == path)
        };
        // This process has the locks of folders open.
        let descriptors = if pid == std::process::id() { Vec::new() } else { numbers_in(&format!("{process}/fd")) };
        let links = descriptors.iter().map(|number| format!("{process}/fd/{number}"));
        let open: Vec<PathBuf> =
            links.chain([format!("{process}/cwd")]).filter_map(|link| fs::read_link(link).ok()).collect();
        let is_used = |folder: &&PathBuf| is_named(folder) || open.iter().any(|path| path.starts_with(folder));
        used.extend(folders.iter().filter(is_used).map(|folder| (folder.clone(), pid)));
    }
    used
}

/// Returns a value of `/proc/PID/fdinfo/N`.
fn field<'a>(information: &'a str, name: &str) -> Option<&'a str> {
    information.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
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
