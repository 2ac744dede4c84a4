//! Sends `SIGTERM` to the processes of an attempt, so that they can remove what they would leave behind.
//!
//! The whole tree is stopped first, so that no process escapes by starting another one just then. Each process gets `SIGTERM`, and then
//! all are continued. What they start from then on, such as the `rm` of a trap, gets no signal.

use super::identity::Identity;
use super::mark::Tag;
use super::stat::Stat;
use super::{Signal, membership, orphans, pidfd, roots, signal, tree};

/// Sends `SIGTERM` to all processes of an attempt. If the root process is only a wrapper of the command (`is_wrapper`), it is killed before: so it can't
/// report a success of the command that ends because of this.
pub fn terminate_tree(root: &Identity, tag: Tag, is_wrapper: bool) {
    let mut members = tree::of(root);
    orphans::remember(&members);
    if is_wrapper {
        let (wrapper, others): (Vec<Stat>, Vec<Stat>) = members.into_iter().partition(|member| member.pid == root.pid);
        for wrapper in &wrapper {
            pidfd::send(wrapper, Signal::Kill);
        }
        members = others;
    }
    let is_child = roots::get(root.pid).is_some_and(|known| known.is_child);
    if is_child {
        let left = orphans::sweep().into_iter().filter(|orphan| orphan.of == Some(tag.attempt));
        members.extend(left.filter_map(|orphan| Stat::read(orphan.pid).ok()));
    } else {
        members.extend(membership::scan(|membership| membership.is_of(tag.attempt)));
    }
    members.retain(|member| !is_wrapper || member.pid != root.pid);
    let members = signal::halt_forest(&members);
    orphans::remember(&members);
    for signal in [Signal::Terminate, Signal::Continue] {
        for member in &members {
            pidfd::send(member, signal);
        }
    }
}
