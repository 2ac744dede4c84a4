//! Identifies a run's folder, so that a copy of it, or another folder at its path, is not mistaken for it.

use std::io;

use rustix::fs::StatxFlags;
use serde::{Deserialize, Serialize};

use super::folder::Folder;

/// Identifies a folder: copies of it, and later folders at its path, have other identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIdentity {
    device: u64,
    inode: u64,
    /// When the folder was created, in nanoseconds since 1970; `None` if the file system does not record it. Needed because
    /// file systems reuse inode numbers.
    born: Option<i64>,
}

impl FolderIdentity {
    pub(super) fn of(folder: &Folder) -> io::Result<FolderIdentity> {
        let found = folder.own_statx(StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let is_known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = is_known.then(|| found.stx_btime.tv_sec * 1_000_000_000 + i64::from(found.stx_btime.tv_nsec));
        let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
        Ok(FolderIdentity { device, inode: found.stx_ino, born })
    }
}

/// Identifies the machine's boot and the file system's mount. Under another boot or mount, data that was not synced may
/// have been lost with the cache, so it does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheIdentity {
    boot_id: String,
    mount: u64,
}

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8 or later): mount numbers that are never reused.
const UNIQUE_MOUNT: u32 = 0x4000;

impl CacheIdentity {
    pub(super) fn of(folder: &Folder) -> io::Result<CacheIdentity> {
        let wanted = StatxFlags::MNT_ID | StatxFlags::from_bits_retain(UNIQUE_MOUNT);
        let found = folder.own_statx(wanted)?;
        Ok(CacheIdentity { boot_id: crate::process::boot_id()?, mount: found.stx_mnt_id })
    }
}
