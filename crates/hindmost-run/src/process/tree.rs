//! The processes of an attempt, found downwards from its root.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

use super::identity::{Identity, boot_id};
use super::roots;
use super::stat::{Stat, numbers_in};

/// Generations that are looked through upwards.
const DEEPEST: u32 = 10_000;

/// All living descendants of a process: its children, their children, and so on. It isn't among them.
pub fn descendants(pid: u32) -> Vec<u32> {
    let Ok(stat) = Stat::read(pid) else { return Vec::new() };
    let mut members = vec![stat];
    Children::look().add_descendants(&mut members);
    members.iter().skip(1).map(|member| member.pid).collect()
}

/// The living processes of the tree under `root`: itself first, then those below in the order in
/// which they were found. If it has ended but hasn't been reaped, it is there as well, since its
/// group is surely its own as long as it is.
///
/// Orphans of the tree are included if they are children of ours by now and are still in the root's
/// group, which keeps its number as long as somebody is in it.
pub(super) fn of(root: &Identity) -> Vec<Stat> {
    list(&Children::look(), root)
}

/// These processes, as far as they live, and all that are below them.
pub(super) fn below(processes: &[Stat]) -> Vec<Stat> {
    let mut members: Vec<Stat> = processes.iter().filter_map(Stat::now).filter(|now| !now.has_ended()).collect();
    Children::look().add_descendants(&mut members);
    members
}

/// As [`of`], with children found in a given way.
pub(super) fn list(children: &Children, root: &Identity) -> Vec<Stat> {
    let mut members = Vec::new();
    if root.pid <= 1 || root.pid == std::process::id() || boot_id().ok().as_ref() != Some(&root.boot_id) {
        return members;
    }
    match Stat::read(root.pid) {
        Ok(stat) if stat.start_time == root.start_time => members.push(stat),
        // Another process could get the number only when the last of the group had ended.
        Ok(_) => return members,
        Err(_) => {}
    }
    if roots::adopts_orphans() {
        // Most children are other attempts' roots, each in a group of its own: not worth a look.
        for pid in roots::without_roots(children.ours()) {
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

/// Whether a process is below this one.
pub(super) fn descends_from_us(process: &Stat) -> bool {
    let mut parent = process.parent;
    // A pid that is given again while we look might lead round in circles.
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

/// The children of this process, all of its threads, whether or not they have ended.
pub(super) fn our_children() -> Vec<u32> {
    Children::look().ours()
}

/// A way to find children.
pub(super) enum Children {
    /// The kernel tells each thread's (since 3.5, if built with `CONFIG_PROC_CHILDREN`, as is usual).
    Told,
    /// All processes, looked through once, by parent.
    Scanned(HashMap<u32, Vec<Stat>>),
}

impl Children {
    /// The best way there is on this machine.
    pub fn look() -> Children {
        static TOLD: OnceLock<bool> = OnceLock::new();
        if *TOLD.get_or_init(|| std::fs::exists("/proc/thread-self/children").unwrap_or(false)) {
            Children::Told
        } else {
            Children::scan()
        }
    }

    /// Looks through all processes.
    pub fn scan() -> Children {
        let mut by_parent: HashMap<u32, Vec<Stat>> = HashMap::new();
        for stat in numbers_in("/proc").into_iter().filter_map(|pid| Stat::read(pid).ok()) {
            by_parent.entry(stat.parent).or_default().push(stat);
        }
        Children::Scanned(by_parent)
    }

    /// Those of this process.
    fn ours(&self) -> Vec<u32> {
        let pid = std::process::id();
        match self {
            Children::Told => numbers_in("/proc/self/task").into_iter().flat_map(|thread| told(pid, thread)).collect(),
            Children::Scanned(by_parent) => by_parent.get(&pid).into_iter().flatten().map(|stat| stat.pid).collect(),
        }
    }

    /// The living children of a process. Those that lose it meanwhile may be missed.
    fn of(&self, parent: &Stat) -> Vec<Stat> {
        if parent.has_ended() {
            return Vec::new();
        }
        match self {
            Children::Told => {
                // Most processes have one thread: no need to ask for its number.
                let threads = if parent.threads == 1 {
                    vec![parent.pid]
                } else {
                    numbers_in(&format!("/proc/{}/task", parent.pid))
                };
                let pids = threads.into_iter().flat_map(|thread| told(parent.pid, thread));
                // A number may have been given to another process since it was told, and that one has
                // another parent.
                pids.filter_map(|pid| Stat::read(pid).ok())
                    .filter(|stat| stat.parent == parent.pid && !stat.has_ended())
                    .collect()
            }
            Children::Scanned(by_parent) => {
                by_parent.get(&parent.pid).into_iter().flatten().filter(|stat| !stat.has_ended()).cloned().collect()
            }
        }
    }

    /// Adds all that are below the members, but never this process or what is below it.
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

/// The children of a thread as the kernel tells them; none if it has gone.
fn told(pid: u32, thread: u32) -> Vec<u32> {
    let mut text = Vec::new();
    let Ok(mut file) = File::open(format!("/proc/{pid}/task/{thread}/children")) else { return Vec::new() };
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = file.read(&mut buffer) {
        text.extend_from_slice(&buffer[..length]);
    }
    let words = text.split(|byte| *byte == b' ');
    words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok()).collect()
}
