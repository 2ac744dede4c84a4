//! Halting, continuing and killing whole trees of processes.
//!
//! A signal to a process group reaches all of its members at once, and children that they are just
//! starting as well, so nobody gets out of a group by forking. A tree may be more than a group, though.
//! It is therefore halted first, group by group as they are found, until a listing finds nobody new;
//! then nobody is left who could start another one, and all that were found are killed.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::kill_process_group;

use super::identity::Identity;
use super::pidfd::{self, system_pid};
use super::stat::Stat;
use super::{Signal, orphans, roots, tree};

/// How often a tree is listed at most while it is being halted. A handful is enough unless somebody
/// starts groups of their own faster than they can be listed.
const ROUNDS: u32 = 64;

/// Signals a process group. `false` if there is no such group. One of which all members have ended,
/// but haven't been reaped, still counts as a group.
///
/// # Errors
///
/// If none of its members may be signalled by us, or the number can't be a group: 0 and 1 would mean
/// our own group and everybody.
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

/// Kills an attempt's whole tree: the root's process group, and every descendant that has left it,
/// with its group if the group's leader is of the tree. Doesn't wait until they have ended: [`super::Ending`]
/// does.
///
/// The root may have ended already: those left of its group are killed if they are children of ours by
/// now. What had left the group before is found by [`super::Ending`].
pub fn kill_tree(root: &Identity) {
    kill(root);
}

/// Kills a tree, as [`kill_tree`] does, and returns who was found in it.
pub(super) fn kill(root: &Identity) -> Vec<Stat> {
    let members = halt(root);
    orphans::remember(&members);
    send(Some(root.pid), &members, Signal::Kill, &mut HashSet::new());
    members
}

/// Kills these processes with all that is below them, and returns who was found. `group` is one that is theirs
/// although they don't lead it.
pub(super) fn kill_forest(processes: &[Stat], group: Option<u32>) -> Vec<Stat> {
    let mut halted_groups = HashSet::new();
    if let Some(group) = group
        && signal_group(group, Signal::Stop).unwrap_or(false)
    {
        halted_groups.insert(group);
    }
    let members = halt_all(group, || tree::below(processes), halted_groups);
    orphans::remember(&members);
    send(group, &members, Signal::Kill, &mut HashSet::new());
    members
}

/// Halts an attempt's whole tree, as [`kill_tree`] finds it.
pub fn stop_tree(root: &Identity) {
    halt(root);
}

/// Lets an attempt's whole tree run again.
pub fn continue_tree(root: &Identity) {
    send(Some(root.pid), &tree::of(root), Signal::Continue, &mut HashSet::new());
}

/// Halts the tree, and tells everyone that was found in it: parents before their children, as last seen.
fn halt(root: &Identity) -> Vec<Stat> {
    let mut halted_groups = HashSet::new();
    // Usually everyone is in the root's group, which has thus stopped changing before it is listed.
    if let Ok(Some(stat)) = root.stat()
        && stat.group == root.pid
        && signal_group(stat.group, Signal::Stop).unwrap_or(false)
    {
        halted_groups.insert(stat.group);
    }
    halt_all(Some(root.pid), || tree::of(root), halted_groups)
}

/// Halts all that `list` gives, until it gives nobody new. `led` is a group that is theirs.
fn halt_all(led: Option<u32>, list: impl Fn() -> Vec<Stat>, mut halted_groups: HashSet<u32>) -> Vec<Stat> {
    let mut members: Vec<Stat> = Vec::new();
    for round in 0..ROUNDS {
        let before: HashSet<_> = members.iter().map(Stat::key).collect();
        let mut listed = list();
        let now: HashSet<_> = listed.iter().map(Stat::key).collect();
        // One that is halted alone may be about to fork, or to leave its group, until it has in fact come
        // to a halt.
        let running = listed
            .iter()
            .any(|member| !member.is_halted() && !member.has_ended() && !halted_groups.contains(&member.group));
        // Those not listed any more have ended, or their parents have.
        members.retain(|member| !now.contains(&member.key()));
        listed.append(&mut members);
        members = listed;
        if running {
            send(led, &members, Signal::Stop, &mut halted_groups);
        }
        if now.is_subset(&before) {
            if !running {
                break;
            }
            // It can't be halted while the system does something for it that can't be interrupted.
            std::thread::sleep(Duration::from_micros(50 * u64::from(round.min(20))));
        }
    }
    members
}

/// Signals the members of a tree, by groups where possible. `reached` are the groups that need no signal
/// any more; it grows by those that get it. `led` is a group that is theirs, led from above.
fn send(led: Option<u32>, members: &[Stat], signal: Signal, reached: &mut HashSet<u32>) {
    let pids: HashSet<u32> = members.iter().map(|member| member.pid).collect();
    // A group led from outside the tree may have members that are none of our business.
    let of_tree = |group: u32| (led == Some(group) || pids.contains(&group)) && group != roots::own().group;

    // When a process ends and thereby leaves a halted group without a parent in its session, the system
    // continues that group. So children come first, and the root's group is the last to be killed.
    let mut in_groups: Vec<&Stat> = Vec::new();
    for member in members.iter().rev() {
        if reached.contains(&member.group) || (signal == Signal::Stop && member.is_halted()) {
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
        // As long as one of its members is there, the group's number can't have been given to another.
        if !reached.contains(&member.group)
            && member.now().is_some_and(|now| now.group == member.group)
            && signal_group(member.group, signal).unwrap_or(false)
        {
            reached.insert(member.group);
        }
    }
    // Those that may have changed groups since they were listed. To be halted, they will be listed again.
    if signal == Signal::Kill {
        for member in members.iter().filter(|member| of_tree(member.group) && !member.is_halted()) {
            if member.now().is_some_and(|now| !now.has_ended() && !reached.contains(&now.group)) {
                pidfd::send(member, signal);
            }
        }
    }
}
