//! Which folder a run's folder is: a copy of it, or what was put in its place, is another one.

use std::io;

use rustix::fs::StatxFlags;
use serde::{Deserialize, Serialize};

use super::folder::Folder;

/// Tells a folder from every copy of it and from whatever has its path later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIdentity {
    device: u64,
    inode: u64,
    /// When it was made, nanoseconds since 1970, where the file system says so: numbers of folders are given again.
    born: Option<i64>,
}

impl FolderIdentity {
    pub(super) fn of(folder: &Folder) -> io::Result<FolderIdentity> {
        let found = folder.own_statx(StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let is_told = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = is_told.then(|| found.stx_btime.tv_sec * 1_000_000_000 + i64::from(found.stx_btime.tv_nsec));
        let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
        Ok(FolderIdentity { device, inode: found.stx_ino, born })
    }
}

/// Since when what was written and not synced can be lost: a start of the machine and a mount of the file system.
///
/// After another mount the cache of the file system may be gone without having been written, so nothing counts
/// that was not synced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheIdentity {
    boot_id: String,
    mount: u64,
}

/// `STATX_MNT_ID_UNIQUE`, since Linux 6.8: numbers of mounts that are never given again.
const UNIQUE_MOUNT: u32 = 0x4000;

impl CacheIdentity {
    pub(super) fn of(folder: &Folder) -> io::Result<CacheIdentity> {
        let wanted = StatxFlags::MNT_ID | StatxFlags::from_bits_retain(UNIQUE_MOUNT);
        let found = folder.own_statx(wanted)?;
        Ok(CacheIdentity { boot_id: crate::process::boot_id()?, mount: found.stx_mnt_id })
    }
}
