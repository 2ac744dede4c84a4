//! Finds the processes of an attempt downwards from its root.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

use super::identity::{Identity, boot_id};
use super::roots;
use super::stat::{Stat, numbers_in};

/// Number of ancestors of a process that are checked at most.
const DEEPEST: u32 = 10_000;

/// Returns all running descendants of a process, without the process itself.
pub fn descendants(pid: u32) -> Vec<u32> {
    let Ok(stat) = Stat::read(pid) else { return Vec::new() };
    let mut members = vec![stat];
    Children::look().add_descendants(&mut members);
    members.iter().skip(1).map(|member| member.pid).collect()
}

/// Returns the running processes of the tree under `root`: the root first, then its descendants in the order in which they
/// were found. A root that has ended but has not been reaped is included, because its process group still belongs to it.
///
/// Orphans of the tree are included if they are children of this process now and still in the root's group. The system does
/// not reuse the number of a group that has a member.
pub(super) fn of(root: &Identity) -> Vec<Stat> {
    list(&Children::look(), root)
}

/// Returns those of these processes that are running, and all their descendants.
pub(super) fn below(processes: &[Stat]) -> Vec<Stat> {
    let mut members: Vec<Stat> = processes.iter().filter_map(Stat::now).filter(|now| !now.has_ended()).collect();
    Children::look().add_descendants(&mut members);
    members
}

/// Returns the same processes as [`of`], with a given way to find children.
pub(super) fn list(children: &Children, root: &Identity) -> Vec<Stat> {
    let mut members = Vec::new();
    if root.pid <= 1 || root.pid == std::process::id() || boot_id().ok().as_ref() != Some(&root.boot_id) {
        return members;
    }
    match Stat::read(root.pid) {
        Ok(stat) if stat.start_time == root.start_time => members.push(stat),
        // The pid has been reused, so the last process of the group has ended.
        Ok(_) => return members,
        Err(_) => {}
    }
    if roots::adopts_orphans() {
        // Most children are roots of other attempts, each in its own group, and need no check.
        for pid in roots::without_roots(children.of_this_process()) {
            if let Ok(stat) = Stat::read(pid)
                && stat.group == root.pid
                && stat.pid != root.pid
                && !stat.has_ended()
            {
                members.push(stat);
            }
        }
    }
    children.add_descendants(&mut members);
    members
}

/// True if a process is a descendant of this one.
pub(super) fn descends_from_us(process: &Stat) -> bool {
    let mut parent = process.parent;
    // Pids that are reused during the search might form a circle.
    for _ in 0..DEEPEST {
        if parent == std::process::id() {
            return true;
        }
        match Stat::read(parent) {
            Ok(stat) if parent > 1 => parent = stat.parent,
            _ => return false,
        }
    }
    false
}

/// Returns the children of all threads of this process, including those that have ended.
pub(super) fn our_children() -> Vec<u32> {
    Children::look().of_this_process()
}

/// A way to find the children of processes.
pub(super) enum Children {
    /// The kernel lists each thread's children (since 3.5, if built with `CONFIG_PROC_CHILDREN`, as is usual).
    Listed,
    /// All processes of the machine, listed once, by parent.
    Scanned(HashMap<u32, Vec<Stat>>),
}

impl Children {
    /// Returns the fastest way that this machine supports.
    pub fn look() -> Children {
        static LISTED: OnceLock<bool> = OnceLock::new();
        if *LISTED.get_or_init(|| std::fs::exists("/proc/thread-self/children").unwrap_or(false)) {
            Children::Listed
        } else {
            Children::scan()
        }
    }

    /// Lists all processes of the machine.
    pub fn scan() -> Children {
        let mut by_parent: HashMap<u32, Vec<Stat>> = HashMap::new();
        for stat in numbers_in("/proc").into_iter().filter_map(|pid| Stat::read(pid).ok()) {
            by_parent.entry(stat.parent).or_default().push(stat);
        }
        Children::Scanned(by_parent)
    }

    /// Returns the children of this process.
    fn of_this_process(&self) -> Vec<u32> {
        let pid = std::process::id();
        match self {
            Children::Listed => {
                numbers_in("/proc/self/task").into_iter().flat_map(|thread| listed(pid, thread)).collect()
            }
            Children::Scanned(by_parent) => by_parent.get(&pid).into_iter().flatten().map(|stat| stat.pid).collect(),
        }
    }

    /// Returns the running children of a process. Children whose parent ends during the search may be
    /// missed.
    fn of(&self, parent: &Stat) -> Vec<Stat> {
        if parent.has_ended() {
            return Vec::new();
        }
        match self {
            Children::Listed => {
                // Most processes have one thread, whose number is the pid.
                let threads = if parent.threads == 1 {
                    vec![parent.pid]
                } else {
                    numbers_in(&format!("/proc/{}/task", parent.pid))
                };
                let pids = threads.into_iter().flat_map(|thread| listed(parent.pid, thread));
                // The system may have reused a pid since it was listed. The new process has another parent.
                pids.filter_map(|pid| Stat::read(pid).ok())
                    .filter(|stat| stat.parent == parent.pid && !stat.has_ended())
                    .collect()
            }
            Children::Scanned(by_parent) => {
                by_parent.get(&parent.pid).into_iter().flatten().filter(|stat| !stat.has_ended()).cloned().collect()
            }
        }
    }

    /// Adds all descendants of the members, but never this process or its descendants.
    fn add_descendants(&self, members: &mut Vec<Stat>) {
        let mut seen: HashSet<u32> = members.iter().map(|member| member.pid).collect();
        seen.insert(std::process::id());
        let mut next = 0;
        while let Some(parent) = members.get(next) {
            let found = self.of(parent);
            members.extend(found.into_iter().filter(|child| seen.insert(child.pid)));
            next += 1;
        }
    }
}

/// Returns the children of a thread as the kernel lists them; empty if the thread does not exist.
fn listed(pid: u32, thread: u32) -> Vec<u32> {
    let mut text = Vec::new();
    let Ok(mut file) = File::open(format!("/proc/{pid}/task/{thread}/children")) else { return Vec::new() };
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = file.read(&mut buffer) {
        text.extend_from_slice(&buffer[..length]);
    }
    let words = text.split(|byte| *byte == b' ');
    words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok()).collect()
}
