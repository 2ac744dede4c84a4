//! What is known about the progress of running attempts, and starts of copies that continue from it.

use hindmost_core::cluster::{Attempt, AttemptState, Cluster};
use hindmost_core::ids::TaskId;
use hindmost_core::policy::Round;
use hindmost_core::time::Time;

/// Returns the share of its task's work that an attempt has done, in [0, 1), counting what it did not have to repeat.
/// `None` while its progress is unknown.
pub(crate) fn progress_of(attempt: &Attempt, now: Time) -> Option<f64> {
    let finish = attempt.measured_finish()?;
    let whole = (finish - attempt.since()).seconds();
    let done = if whole > 0.0 { ((now - attempt.since()).seconds() / whole).min(1.0) } else { 1.0 };
    let progress = attempt.from_progress() + (1.0 - attempt.from_progress()) * done;
    // An attempt that is due now has not finished yet, and starts need a progress below 1.
    Some(progress.min(1.0 - 1e-9))
}

/// Returns the largest known progress of the running copies of a task; `None` if none is known.
pub(crate) fn task_progress(cluster: &Cluster, task: TaskId) -> Option<f64> {
    running(cluster, task).filter_map(|copy| progress_of(copy, cluster.now())).reduce(f64::max)
}

/// Returns the copies of a task that are starting or running, the newest first.
pub(crate) fn running(cluster: &Cluster, task: TaskId) -> impl Iterator<Item = &Attempt> + '_ {
    cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping)
}

/// Returns the running copies of a task, the one that is expected to finish first at the front. Copies whose finish is
/// unknown follow, the oldest first, because they have done less of their work than all others.
pub(crate) fn best_first(cluster: &Cluster, task: TaskId) -> Vec<&Attempt> {
    let mut copies: Vec<&Attempt> = running(cluster, task).collect();
    copies.sort_by_key(|copy| (copy.measured_finish().unwrap_or(Time::NEVER), copy.since(), copy.id()));
    copies
}

/// Starts a copy of a task that continues from `progress`, as near to the task's input as possible: on a node that runs no
/// other copy of it, or else on one that runs fewer than `per_node`. Returns false if no node is free, the order does not
/// permit the copy, or the task may not have another one.
pub(crate) fn start_copy_from(round: &mut Round<'_>, task: TaskId, progress: f64, per_node: u32) -> bool {
    if progress <= 0.0 && per_node == 1 {
        return round.start_copies(task, 1).started == 1;
    }
    let cluster = round.cluster();
    let Some(phase) = cluster.phase(task).filter(|phase| phase.may_be_copied()) else { return false };
    let demand = *phase.demand();
    if !round.may_start(task) {
        return false;
    }
    let cluster = round.cluster();
    let copies = cluster.nodes_with_copies(task);
    let nearest = |most: u32| {
        let allowed = |node| copies.copies_on(node) < most && !cluster.avoids(task, node);
        cluster.find_nearest_node(task, &demand, |node, _| allowed(node))
    };
    let node = nearest(1).or_else(|| if per_node > 1 { nearest(per_node) } else { None });
    node.is_some_and(|node| round.start_from(task, node, progress.max(0.0)))
}
