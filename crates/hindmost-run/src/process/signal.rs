//! Stops, continues and kills whole trees of processes.
//!
//! A signal to a process group reaches all of its members at once, including children that they are just starting. So a
//! process can't escape a group's signal by forking. But a tree may consist of several groups. So the tree is listed and its
//! groups are stopped, again and again, until a listing finds no new process. Then no process can start another one, and
//! all are killed.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::kill_process_group;

use super::identity::Identity;
use super::pidfd::{self, system_pid};
use super::stat::{Stat, numbers_in};
use super::{Signal, orphans, roots, tree};

/// Number of times that a tree is listed at most while it is being stopped. A few are enough, unless processes start new groups
/// faster than they can be listed.
const ROUNDS: u32 = 64;

/// For how long [`hold_tree`] waits at most.
const HELD_WITHIN: Duration = Duration::from_secs(10);

/// Sends a signal to a process group. Returns false if the group does not exist. A group whose members have ended but have
/// not been reaped still exists.
///
/// # Errors
///
/// If this process may not signal any member, or the number can't be a group: 0 and 1 would mean this process's own group
/// and all processes.
pub fn signal_group(group: u32, signal: Signal) -> io::Result<bool> {
    let number = system_pid(group).filter(|_| group > 1);
    let number = number.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{group} can't be a process group to be signalled"))
    })?;
    match kill_process_group(number, signal.into()) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Kills an attempt's whole tree: the root's process group, and every descendant that has left this group. If the leader of
/// such a descendant's group belongs to the tree, kills that group too. Does not wait until the processes have ended;
/// [`super::Ending`] does.
///
/// If the root has ended already, kills the members of its group that are children of this process. [`super::Ending`] finds
/// processes that have left the group before.
pub fn kill_tree(root: &Identity) {
    kill(root);
}

/// Kills a tree, as [`kill_tree`] does, and returns its processes.
pub(super) fn kill(root: &Identity) -> Vec<Stat> {
    let members = halt(root);
    orphans::remember(&members);
    send(Some(root.pid), &members, Signal::Kill, &mut HashSet::new());
    members
}

/// Kills these processes with all their descendants, and returns all of them. `group` is a process group that belongs to
/// them although none of them leads it.
pub(super) fn kill_forest(processes: &[Stat], group: Option<u32>) -> Vec<Stat> {
    let mut stopped_groups = HashSet::new();
    if let Some(group) = group
        && signal_group(group, Signal::Stop).unwrap_or(false)
    {
        stopped_groups.insert(group);
    }
    let members = halt_all(group, || tree::below(processes), stopped_groups);
    orphans::remember(&members);
    send(group, &members, Signal::Kill, &mut HashSet::new());
    members
}

/// Stops these processes with all their descendants, and returns all of them as last seen.
pub(super) fn halt_forest(processes: &[Stat]) -> Vec<Stat> {
    halt_all(None, || tree::below(processes), HashSet::new())
}

/// Stops an attempt's whole tree, as [`kill_tree`] finds it.
pub fn stop_tree(root: &Identity) {
    halt(root);
}

/// Stops an attempt's whole tree and waits until no thread of it runs: a signal to stop takes effect only at the end of the system
/// call in which it meets a thread, and that call may open or truncate a file. Returns false if something still runs after ten seconds,
/// in a system call that can't be interrupted.
pub fn hold_tree(root: &Identity) -> bool {
    let begin = Instant::now();
    let members = halt(root);
    let is_held = |member: &Stat| {
        let threads = numbers_in(&format!("/proc/{}/task", member.pid));
        threads.into_iter().all(|thread| Stat::read(thread).map_or(true, |stat| stat.is_stopped() || stat.has_ended()))
    };
    while !members.iter().all(is_held) {
        if begin.elapsed() > HELD_WITHIN {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Continues an attempt's whole tree.
pub fn continue_tree(root: &Identity) {
    send(Some(root.pid), &tree::of(root), Signal::Continue, &mut HashSet::new());
}

/// Stops a tree and returns its processes as last seen, parents before their children.
fn halt(root: &Identity) -> Vec<Stat> {
    let mut stopped_groups = HashSet::new();
    // Usually all processes are in the root's group. Once it is stopped, it does not change before it is listed.
    if let Ok(Some(stat)) = root.stat()
        && stat.group == root.pid
        && signal_group(stat.group, Signal::Stop).unwrap_or(false)
    {
        stopped_groups.insert(stat.group);
    }
    halt_all(Some(root.pid), || tree::of(root), stopped_groups)
}

/// Stops all processes that `list` returns, until it returns no new one. `led` is a process group that belongs to them,
/// even if none of them leads it.
fn halt_all(led: Option<u32>, list: impl Fn() -> Vec<Stat>, mut stopped_groups: HashSet<u32>) -> Vec<Stat> {
    let mut members: Vec<Stat> = Vec::new();
    for round in 0..ROUNDS {
        let before: HashSet<_> = members.iter().map(Stat::key).collect();
        let mut listed = list();
        let now: HashSet<_> = listed.iter().map(Stat::key).collect();
        // A process that is stopped on its own may still fork or leave its group until it has actually stopped.
        let running = listed
            .iter()
            .any(|member| !member.is_stopped() && !member.has_ended() && !stopped_groups.contains(&member.group));
        // Processes that are not listed any more have ended, or their parents have.
        members.retain(|member| !now.contains(&member.key()));
        listed.append(&mut members);
        members = listed;
        if running {
            send(led, &members, Signal::Stop, &mut stopped_groups);
        }
        if now.is_subset(&before) {
            if !running {
                break;
            }
            // A process can't be stopped during an uninterruptible system call.
            std::thread::sleep(Duration::from_micros(50 * u64::from(round.min(20))));
        }
    }
    members
}

/// Sends a signal to the members of a tree, by groups if possible. `reached` are the groups that need no signal any more;
/// the function adds those that it signals. `led` is a group that belongs to the tree although its leader may not.
fn send(led: Option<u32>, members: &[Stat], signal: Signal, reached: &mut HashSet<u32>) {
    let pids: HashSet<u32> = members.iter().map(|member| member.pid).collect();
    // A group whose leader is outside the tree may have members outside the tree.
    let of_tree = |group: u32| (led == Some(group) || pids.contains(&group)) && group != roots::own().group;

    // If the end of a process leaves a stopped group without a parent in its session, the system continues that group.
    // So children are killed first, and the root's group last.
    let mut in_groups: Vec<&Stat> = Vec::new();
    for member in members.iter().rev() {
        if reached.contains(&member.group) || (signal == Signal::Stop && member.is_stopped()) {
            continue;
        }
        if of_tree(member.group) {
            in_groups.push(member);
        } else {
            pidfd::send(member, signal);
        }
    }
    in_groups.sort_by_key(|member| led == Some(member.group));
    for member in in_groups {
        // The system does not reuse a group's number while the group has a member.
        if !reached.contains(&member.group)
            && member.now().is_some_and(|now| now.group == member.group)
            && signal_group(member.group, signal).unwrap_or(false)
        {
            reached.insert(member.group);
        }
    }
    // Processes may have changed groups since they were listed. When stopping, the next listing finds them.
    if signal == Signal::Kill {
        for member in members.iter().filter(|member| of_tree(member.group) && !member.is_stopped()) {
            if member.now().is_some_and(|now| !now.has_ended() && !reached.contains(&now.group)) {
                pidfd::send(member, signal);
            }
        }
    }
}
