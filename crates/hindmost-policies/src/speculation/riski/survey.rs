//! The straggler of a phase, and when the other tasks are expected to finish.

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Phase};
use hindmost_core::estimator::{Estimator, Knowledge, Pace};
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_math::outcomes::Outcomes;

use super::PhaseId;
use super::running_tasks::RunningTasks;

/// The tasks of a phase that run, as a straggler's backup is concerned.
pub(super) struct Survey {
    /// The straggler: its only copy, and the range of its remaining time, seconds.
    pub(super) straggler: Option<(AttemptId, Outcomes)>,
    /// Time until the last of the other tasks is expected to finish, seconds.
    pub(super) last: f64,
    /// True if the remaining time of some attempt is known from its age only.
    pub(super) by_age: bool,
    /// Time until another attempt is old enough to be the straggler, seconds; infinite if there is none.
    pub(super) until_overdue: f64,
}

/// What limits which task can be the straggler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Largest number of backups of a task.
    pub(super) backups: u32,
    /// Age from which on a task can be the straggler, seconds; 0: any age.
    pub(super) old_enough: f64,
}

/// Ages that are this near, in seconds, are equal.
const ROUNDING: f64 = 1e-6;

/// Finds the straggler of a phase, and the last expected finish of the other tasks.
pub(super) fn survey(
    tasks: &RunningTasks,
    (job, phase): PhaseId,
    Limits { backups, old_enough }: Limits,
    cluster: &Cluster,
    estimator: &dyn Estimator,
) -> Survey {
    let mut found = Survey { straggler: None, last: 0.0, by_age: false, until_overdue: f64::INFINITY };
    let (mut latest, mut straggler) = (f64::NEG_INFINITY, None);
    let now = cluster.now();
    let may_be_copied = cluster.phase(TaskId { job, phase, index: 0 }).is_some_and(Phase::may_be_copied);
    let is_hidden = matches!(estimator.knowledge(), Knowledge::Age | Knowledge::History);
    let known_latest = tasks.latest_finish().filter(|_| !is_hidden).map(|finish| (finish.max(now) - now).seconds());
    for running in tasks.iter() {
        let task = TaskId { job, phase, index: running.index };
        let (mut expected, mut only) = (f64::INFINITY, None);
        if let Some((copy, finish)) = running.known().filter(|_| !is_hidden) {
            expected = (finish.max(now) - now).seconds();
            only = (may_be_copied && copy < backups).then_some((AttemptId { task, copy }, None));
        } else {
            for copy in cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping) {
                let is_only = cluster.task(task).is_some_and(|task| task.running_copies() == 1);
                let may_have_backup = is_only && may_be_copied && copy.id().copy < backups;
                // As `remaining_range` says, which would allocate the range.
                if let Some(finish) = copy.expected_finish().filter(|_| !is_hidden) {
                    expected = expected.min((finish.max(now) - now).seconds());
                    only = may_have_backup.then_some((copy.id(), None));
                    continue;
                }
                let known = estimator.remaining_mean(cluster, copy);
                found.by_age |= known.is_some();
                let is_unknown = known.is_none();
                let mean = known.unwrap_or_else(|| by_age(cluster, copy));
                expected = expected.min(mean);
                only = known.filter(|_| may_have_backup).map(|_| (copy.id(), Some(copy)));
                // A task whose remaining time is not known is no straggler. If it is expected to end after those whose
                // remaining time is known, there is none.
                let is_last = is_unknown && is_only && known_latest.is_some_and(|known| mean >= known);
                if is_last && old_enough <= 0.0 {
                    return Survey { straggler: None, ..found };
                }
            }
        }
        if expected.is_infinite() {
            continue;
        }
        let age = |id: AttemptId| cluster.attempt(id).map_or(0.0, |copy| (now - copy.since()).seconds());
        if let Some((id, _)) = only.as_ref().filter(|(id, _)| old_enough > 0.0 && age(*id) + ROUNDING < old_enough) {
            found.until_overdue = found.until_overdue.min(old_enough - age(*id));
            only = None;
        }
        // A straggler must be helped by a backup, so a task that may have none only counts in L.
        if let Some(only) = only.filter(|_| expected > latest) {
            if straggler.replace(only).is_some() {
                found.last = found.last.max(latest);
            }
            latest = expected;
        } else {
            found.last = found.last.max(expected);
        }
    }
    // Only the straggler's range is needed, which takes far longer to make than its mean.
    let range = |copy: Option<&Attempt>| copy.and_then(|copy| estimator.remaining_range(cluster, copy));
    found.straggler = straggler.map(|(id, copy)| (id, range(copy).unwrap_or_else(|| Outcomes::certain(latest))));
    found
}

/// Returns the expected remaining time of an attempt at its age, seconds, by the distribution of its phase.
fn by_age(cluster: &Cluster, attempt: &Attempt) -> f64 {
    let Some(phase) = cluster.phase(attempt.id().task) else { return 0.0 };
    let pace = Pace::of(cluster, attempt);
    let age = pace.age((cluster.now() - attempt.since()).seconds());
    pace.seconds(phase.durations().mean_residual(age))
}
