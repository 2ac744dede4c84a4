//! Measures what an attempt's processes have done and used: the share of the input that they have read, their CPU time and memory, and
//! what they have read and written.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

use super::identity::Identity;
use super::stat::{TICKS_PER_SECOND, numbers_in};
use super::tree;

/// Returns the share of a file that the processes of an attempt's tree have read, in [0, 1]: the furthest position of any
/// descriptor that is open for reading.
///
/// `None` if no process has the file open, or if it is empty or not a regular file. If a process maps the file into memory,
/// or gives a position with each read, the position stays at the beginning.
pub fn read_share(root: &Identity, file: &Path) -> Option<f64> {
    let wanted = statx(CWD, file, AtFlags::empty(), StatxFlags::BASIC_STATS).ok()?;
    if FileType::from_raw_mode(wanted.stx_mode.into()) != FileType::RegularFile || wanted.stx_size == 0 {
        return None;
    }
    let members = tree::of(root);
    let positions = members.iter().filter_map(|member| furthest(member.pid, &wanted));
    let position = positions.max()?;
    Some((position as f64 / wanted.stx_size as f64).min(1.0))
}

/// Returns the furthest position of the process's descriptors that read the file.
fn furthest(pid: u32, wanted: &Statx) -> Option<u64> {
    let descriptors = numbers_in(&format!("/proc/{pid}/fd")).into_iter();
    descriptors.filter(|descriptor| is_of(pid, *descriptor, wanted)).filter_map(|found| position(pid, found)).max()
}

/// True if the descriptor refers to the wanted file. Does not query file servers, because a server that does not answer would
/// block this process.
fn is_of(pid: u32, descriptor: u32, wanted: &Statx) -> bool {
    let path = format!("/proc/{pid}/fd/{descriptor}");
    statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE | StatxFlags::INO).is_ok_and(|found| {
        (found.stx_ino, found.stx_dev_major, found.stx_dev_minor)
            == (wanted.stx_ino, wanted.stx_dev_major, wanted.stx_dev_minor)
    })
}

/// Returns the position of a descriptor; `None` if it is open for writing only.
fn position(pid: u32, descriptor: u32) -> Option<u64> {
    /// The bits of the flags that say whether a file is open for reading or writing (`O_ACCMODE`).
    const ACCESS_MODE: u32 = 0o3;
    /// The value of these bits for a file that is open for writing only (`O_WRONLY`).
    const WRITES_ONLY: u32 = 0o1;
    let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let value = |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
    let flags = u32::from_str_radix(value("flags:")?, 8).ok()?;
    if flags & ACCESS_MODE == WRITES_ONLY {
        return None;
    }
    value("pos:")?.parse().ok()
}

/// Returns the CPU time of the tree's running processes in seconds, in user and kernel mode; `None` if no process runs. The
/// time of processes that have ended does not count.
pub fn cpu_seconds(root: &Identity) -> Option<f64> {
    let members = tree::of(root);
    let mut running = members.iter().filter(|member| !member.has_ended()).peekable();
    running.peek()?;
    Some(running.map(|member| member.cpu_ticks as f64).sum::<f64>() / TICKS_PER_SECOND)
}

/// Returns how many bytes a process, and its descendants that were waited for, have read from and written to storage. It may have ended, but
/// may not have been reaped. `None` if the system does not say.
pub(super) fn storage_bytes(pid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    Some((number(&text, "read_bytes:")?, number(&text, "write_bytes:")?))
}

/// Returns the number after a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns a value of `/proc/PID/status` or `/proc/PID/smaps_rollup` in bytes. They are in kB.
fn bytes(text: &str, name: &str) -> Option<u64> {
    number(text, name).map(|kilobytes| kilobytes * 1024)
}

/// Returns the peak memory of an ended attempt's largest process from what the system says; `None` if that may be the memory of this
/// process: until a child executes its program it has the memory of its parent, and the system counts that too.
pub(super) fn own_peak(peak: u64) -> Option<u64> {
    /// The peak memory of this process when it was last looked at. It only grows.
    static OF_THIS: AtomicU64 = AtomicU64::new(0);
    if peak <= OF_THIS.load(Ordering::Relaxed) {
        return None;
    }
    let of_this = bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")?;
    OF_THIS.store(of_this, Ordering::Relaxed);
    (peak > of_this).then_some(peak)
}

/// The memory of an attempt's running processes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What all of them have now.
    pub now: u64,
    /// The largest amount that one of them has ever had.
    pub peak: u64,
}

/// Returns the memory of the processes of an attempt's tree; `None` if none runs.
///
/// Memory that several processes share counts once: where more than one process matters, each counts with its proportional share.
pub fn memory(root: &Identity) -> Option<Memory> {
    let members = tree::of(root);
    let status = |member: &super::stat::Stat| {
        let text = std::fs::read_to_string(format!("/proc/{}/status", member.pid)).ok()?;
        Some((member.pid, bytes(&text, "VmHWM:")?, bytes(&text, "VmRSS:")?))
    };
    let sizes: Vec<(u32, u64, u64)> = members.iter().filter(|member| !member.has_ended()).filter_map(status).collect();
    let peak = sizes.iter().map(|(_, peak, _)| *peak).max()?;
    let largest = sizes.iter().map(|(_, _, now)| *now).max()?;
    let sum: u64 = sizes.iter().map(|(_, _, now)| *now).sum();
    // Looking at all pages of a process takes long if it has many.
    if sum - largest <= largest / 10 {
        return Some(Memory { now: largest, peak });
    }
    let share = |pid: u32| bytes(&std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?, "Pss:");
    let shares: Option<Vec<u64>> = sizes.iter().map(|(pid, ..)| share(*pid)).collect();
    // One of them may have ended meanwhile.
    Some(Memory { now: shares.map_or(largest, |shares| shares.iter().sum()), peak })
}
