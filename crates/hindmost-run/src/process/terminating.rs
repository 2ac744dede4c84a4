//! Sends `SIGTERM` to the processes of an attempt, so that they can remove what they would leave behind.
//!
//! The whole tree is stopped first, so that no process escapes by starting another one just then. Each process gets `SIGTERM`, and then
//! all are continued. What they start from then on, such as the `rm` of a trap, gets no signal.

use super::identity::Identity;
use super::mark::Tag;
use super::stat::Stat;
use super::{Signal, membership, orphans, pidfd, roots, signal, tree};

/// Sends `SIGTERM` to all processes of an attempt. If the root process is only a wrapper of the command (`is_wrapper`), it is
/// killed before: so it can't report a success of the command that ends because of this.
pub fn terminate_tree(root: &Identity, tag: Tag, is_wrapper: bool) {
    let mut members = members(root, tag);
    if is_wrapper {
        let (wrapper, others): (Vec<Stat>, Vec<Stat>) = members.into_iter().partition(|member| member.pid == root.pid);
        for wrapper in &wrapper {
            pidfd::send(wrapper, Signal::Kill);
        }
        members = others;
    }
    let members = signal::halt_forest(&members);
    orphans::remember(&members);
    for signal in [Signal::Terminate, Signal::Continue] {
        for member in &members {
            pidfd::send(member, signal);
        }
    }
}

/// Sends `SIGTERM` to the shell that runs the command of an attempt, and kills all its other processes. Returns false, and does
/// nothing, if the shell does not handle the signal.
pub fn terminate_shell(root: &Identity, tag: Tag, is_wrapper: bool) -> bool {
    let members = signal::halt_forest(&members(root, tag));
    orphans::remember(&members);
    let is_shell = |member: &&Stat| if is_wrapper { member.parent == root.pid } else { member.pid == root.pid };
    let Some(shell) = members.iter().find(is_shell).filter(|shell| handles_termination(shell)) else { return false };
    for member in members.iter().filter(|member| member.pid != shell.pid) {
        pidfd::send(member, Signal::Kill);
    }
    for signal in [Signal::Terminate, Signal::Continue] {
        pidfd::send(shell, signal);
    }
    true
}

/// Returns the processes of an attempt that are known.
fn members(root: &Identity, tag: Tag) -> Vec<Stat> {
    let mut members = tree::of(root);
    orphans::remember(&members);
    if roots::get(root.pid).is_some_and(|known| known.is_child) {
        let left = orphans::sweep().into_iter().filter(|orphan| orphan.of == Some(tag.attempt));
        members.extend(left.filter_map(|orphan| Stat::read(orphan.pid).ok()));
    } else {
        members.extend(membership::scan(|membership| membership.is_of(tag.attempt)));
    }
    members
}

/// True if a process has a handler for `SIGTERM`.
fn handles_termination(process: &Stat) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).unwrap_or_default();
    let caught = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    // Bit 0 stands for signal 1.
    caught.is_some_and(|caught| caught >> (rustix::process::Signal::TERM.as_raw() - 1) & 1 == 1)
}
