//! Lists the content of a result: names, sizes and times, and checksums on request.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{FileType, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::folder::Folder;
use crate::escape::{escaped, unescaped};

/// A result with more entries than this is recorded as one checksum over all of them.
const MOST_ENTRIES: usize = 1000;
/// End of the difference of a file that differs only in its time.
pub(crate) const WRITTEN_AGAIN: &str = "was written again";
/// Depth up to which folders are listed.
const DEEPEST: usize = 100;

/// The kind of an entry in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, socket or device.
    Other,
}

/// A file, folder or link in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Path of the entry from the result's folder. Bytes that are not text, and `%`, are written as `%` and two hexadecimal
    /// digits.
    pub name: String,
    pub kind: Kind,
    /// Size of a file, or of a link's target, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size: u64,
    /// Time at which a file's content changed last, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
    /// XXH3 checksum (128 bits) of a file's content or a link's target. Absent if not requested or not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Folder => "folder",
            Kind::Link => "link",
            Kind::Other => "pipe, socket or device",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The content of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listing {
    /// Entries of the result, sorted by name; empty if there are too many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
    /// The number of entries and a checksum over all of them, if there are too many to list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<(u64, String)>,
}

impl Listing {
    /// Lists the content of a folder. `with_checksums` reads all files.
    ///
    /// # Errors
    /// If something can't be read for another reason than its permissions.
    pub(super) fn of(folder: &Folder, with_checksums: bool) -> io::Result<Listing> {
        let mut entries = list(folder, with_checksums)?;
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        if entries.len() <= MOST_ENTRIES {
            return Ok(Listing { entries, digest: None });
        }
        let mut digest = Xxh3::new();
        for entry in &entries {
            let line = serde_json::to_vec(entry).map_err(io::Error::other)?;
            digest.update(&line);
            digest.update(b"\n");
        }
        Ok(Listing {
            digest: Some((entries.len() as u64, format!("{:032x}", digest.digest128()))),
            entries: Vec::new(),
        })
    }

    /// True if checksums were recorded for the files of the result.
    pub(super) fn has_checksums(&self) -> bool {
        self.entries.iter().any(|entry| entry.kind == Kind::File && entry.checksum.is_some())
    }

    /// True if files of the result are listed without checksums.
    pub(super) fn lacks_checksums(&self) -> bool {
        !self.has_checksums() && self.entries.iter().any(|entry| entry.kind == Kind::File)
    }

    /// Returns the first difference between this recorded listing and the current one, as a text; `None` if they are
    /// equal. A file that differs only in its time is equal if its checksum, which `checksum` returns by name, is equal.
    pub(super) fn difference(&self, now: &Listing, checksum: impl Fn(&str) -> Option<String>) -> Option<String> {
        if self.digest.is_some() || now.digest.is_some() {
            return (self.digest != now.digest).then(|| "its files differ".to_owned());
        }
        let mut there = now.entries.iter().peekable();
        for was in &self.entries {
            if let Some(extra) = there.next_if(|entry| entry.name < was.name) {
                return Some(format!("{} was added", extra.name));
            }
            let Some(is) = there.next_if(|entry| entry.name == was.name) else {
                return Some(format!("{} is missing", was.name));
            };
            if was.kind != is.kind {
                return Some(format!("{} is no longer a {}", was.name, was.kind.name()));
            }
            if was.size != is.size {
                return Some(format!("{} has {} bytes instead of {}", was.name, is.size, was.size));
            }
            let same_content = match (&was.checksum, &is.checksum) {
                (Some(was), Some(is)) => Some(was == is),
                // Copied files often have new times. If the times differ and a checksum is recorded, the content decides.
                (Some(known), None) if was.modified != is.modified => Some(checksum(&was.name).as_ref() == Some(known)),
                _ => None,
            };
            match same_content {
                Some(false) => return Some(format!("{} has other content", was.name)),
                None if was.modified != is.modified => return Some(format!("{} {WRITTEN_AGAIN}", was.name)),
                Some(true) | None => {}
            }
        }
        there.next().map(|extra| format!("{} was added", extra.name))
    }
}

/// Lists everything below a folder. Opens one folder at a time, from the top, so that few files are open at any depth.
fn list(top: &Folder, with_checksums: bool) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut waiting: Vec<Vec<OsString>> = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let opened = match open_below(top, &path) {
            Ok(opened) => opened,
            // A folder that its owner may not read is listed without its content.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(error),
        };
        let folder = opened.as_ref().unwrap_or(top);
        let before: String = path.iter().map(|part| escaped(part) + "/").collect();
        for (name, _) in folder.entries()? {
            let Some(entry) = entry_of(folder, &name, &before, with_checksums)? else { continue };
            if entry.kind == Kind::Folder && path.len() < DEEPEST {
                waiting.push(path.iter().chain([&name]).cloned().collect());
            }
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// Opens the folder at a path below `top`; `None` stands for `top` itself.
fn open_below(top: &Folder, path: &[OsString]) -> io::Result<Option<Folder>> {
    let mut opened: Option<Folder> = None;
    for part in path {
        opened = Some(opened.as_ref().unwrap_or(top).sub(part)?);
    }
    Ok(opened)
}

/// Returns the entry of a name in a folder; `None` if it has been removed. `before` is the folder's path in the result,
/// ending with `/`, or empty.
fn entry_of(folder: &Folder, name: &OsStr, before: &str, with_checksums: bool) -> io::Result<Option<Entry>> {
    let found = match folder.statx(name, StatxFlags::BASIC_STATS) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let entry =
        |kind| Entry { name: before.to_owned() + &escaped(name), kind, size: 0, modified: None, checksum: None };
    Ok(Some(match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::RegularFile => {
            let modified = found.stx_mtime.tv_sec * 1_000_000_000 + i64::from(found.stx_mtime.tv_nsec);
            let checksum = if with_checksums { checksum_of(folder, name)? } else { None };
            Entry { size: found.stx_size, modified: Some(modified), checksum, ..entry(Kind::File) }
        }
        FileType::Directory => entry(Kind::Folder),
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
            let mut digest = Xxh3::new();
            digest.update(target.to_bytes());
            let checksum = Some(format!("{:032x}", digest.digest128()));
            Entry { size: target.to_bytes().len() as u64, checksum, ..entry(Kind::Link) }
        }
        _ => entry(Kind::Other),
    }))
}

/// Returns the checksum of a file's content; `None` if the file may not be read.
pub(super) fn checksum_of(folder: &Folder, name: &OsStr) -> io::Result<Option<String>> {
    match folder.file(name) {
        Ok(file) => checksum_of_content(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the checksum of everything that can be read from a file.
pub(super) fn checksum_of_content(mut file: impl Read) -> io::Result<String> {
    let mut digest = Xxh3::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:032x}", digest.digest128())),
            Ok(length) => digest.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the checksum of a file in a result. `name` is its name in the listing.
pub(super) fn checksum_at(result: &Folder, name: &str) -> Option<String> {
    let mut path: Vec<OsString> = name.split('/').map(|part| OsString::from_vec(unescaped(part))).collect();
    let last = path.pop()?;
    let folder = open_below(result, &path).ok()?;
    checksum_of(folder.as_ref().unwrap_or(result), &last).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &std::path::Path, with_checksums: bool) -> (Folder, Listing) {
        let folder = Folder::open(path).unwrap();
        let listing = Listing::of(&folder, with_checksums).unwrap();
        (folder, listing)
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let path = tempfile::tempdir().unwrap();
        let at = |name: &str| path.path().join(name);
        std::fs::create_dir(at("inner")).unwrap();
        std::fs::write(at("inner/one"), "one").unwrap();
        std::fs::write(at("two"), "two").unwrap();
        std::os::unix::fs::symlink("two", at("link")).unwrap();
        let (_, before) = listed(path.path(), true);
        let found = |with_checksums| {
            let (folder, now) = listed(path.path(), with_checksums);
            before.difference(&now, |name| checksum_at(&folder, name))
        };
        assert_eq!(found(false), None);
        std::fs::write(at("three"), "").unwrap();
        assert_eq!(found(false).unwrap(), "three was added");
        std::fs::remove_file(at("three")).unwrap();
        std::fs::write(at("inner/one"), "one, longer").unwrap();
        assert_eq!(found(false).unwrap(), "inner/one has 11 bytes instead of 3");
        // With equal size and time only the checksum differs.
        let time = std::fs::metadata(at("two")).unwrap().modified().unwrap();
        std::fs::write(at("inner/one"), "one").unwrap();
        assert_eq!(found(false), None, "another time but equal content");
        std::fs::write(at("two"), "owt").unwrap();
        assert_eq!(found(false).unwrap(), "two has other content");
        std::fs::File::options().write(true).open(at("two")).unwrap().set_modified(time).unwrap();
        assert_eq!(found(false), None);
        assert_eq!(found(true).unwrap(), "two has other content");
        std::fs::remove_file(at("two")).unwrap();
        assert_eq!(found(false).unwrap(), "two is missing");
        std::fs::create_dir(at("two")).unwrap();
        assert_eq!(found(false).unwrap(), "two is no longer a file");
        std::fs::remove_file(at("link")).unwrap();
        std::os::unix::fs::symlink("one", at("link")).unwrap();
        assert_eq!(found(false).unwrap(), "link has other content");
    }

    #[test]
    fn results_of_many_files_have_short_listings() {
        let path = tempfile::tempdir().unwrap();
        for number in 0..=MOST_ENTRIES {
            std::fs::write(path.path().join(number.to_string()), "x").unwrap();
        }
        let (_, before) = listed(path.path(), false);
        assert!(serde_json::to_string(&before).unwrap().len() < 100);
        let (_, same) = listed(path.path(), false);
        assert_eq!(before.difference(&same, |_| None), None);
        std::fs::write(path.path().join("7"), "xy").unwrap();
        let (_, now) = listed(path.path(), false);
        assert!(before.difference(&now, |_| None).is_some());
    }
}
