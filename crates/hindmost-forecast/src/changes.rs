//! Recorded applications with something changed: their tasks, waits and executors. Also what an application has that could be changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use hindmost_core::metrics::{Spent, TimePart};
use hindmost_core::workload::{
    Durations, NodeHistory, Situated, SituatedAttempt, SituatedEnd, SituatedTask, WorkloadJob,
};
use hindmost_trace::replay::{PhaseLag, Presence};

use crate::recorded::RecordedApplication;

/// The most parts into which a task is divided.
const MOST_PARTS: usize = 32;
/// A phase must have a task that took this many seconds to be divided.
const LONG: f64 = 1.0;
/// The least share of the wall time in which phases have fewer tasks than slots, for which they are worth dividing.
const MATTERS: f64 = 0.02;
/// From this number of jobs of a single task on, they are taken for tasks that come one after another.
const IN_TURN: usize = 5;
/// A task whose input explains this many times the typical duration could be divided.
const MORE_INPUT: f64 = 2.0;

/// Number of slots of all executors, whether they were there at the same time or not.
pub(crate) fn all_slots(application: &RecordedApplication) -> u64 {
    slots_of(application).into_iter().map(u64::from).sum()
}

/// The slots of each executor.
pub(crate) fn slots_of(application: &RecordedApplication) -> Vec<u32> {
    application.executors.iter().map(|one| one.slots.max(1)).collect()
}

/// The most slots that there were at the same time.
pub(crate) fn most_slots(application: &RecordedApplication) -> u64 {
    let slots = slots_of(application);
    let executors = &application.world.recorded.executors;
    let present = fullest(executors, &slots);
    // Nodes past the executors of the log are there all the time.
    let of = |(at, slots): (usize, &u32)| if present.get(at) == Some(&false) { 0 } else { u64::from(*slots) };
    slots.iter().enumerate().map(of).sum()
}

/// Which executors were there when there were the most slots.
pub(crate) fn fullest(executors: &[Presence], slots: &[u32]) -> Vec<bool> {
    let at = |time: f64| -> Vec<bool> {
        let is_there = |one: &Presence| {
            one.registered.is_none_or(|registered| registered <= time)
                && one.removed.is_none_or(|removed| removed > time)
        };
        executors.iter().map(is_there).collect()
    };
    let count = |present: &[bool]| -> u64 {
        present.iter().zip(slots).filter(|(is_there, _)| **is_there).map(|(_, slots)| u64::from(*slots)).sum()
    };
    let mut best = at(0.0);
    for time in executors.iter().filter_map(|one| one.registered) {
        let present = at(time);
        if count(&present) > count(&best) {
            best = present;
        }
    }
    best
}

/// As many executors as there were at most at the same time, to the end. None of them is there before the first executor was: until
/// then, the application waited for its first container, and more of them would not have come sooner.
pub(crate) fn kept(executors: &[Presence], slots: &[u32]) -> Vec<Presence> {
    let never = Presence {
        added: Some(f64::INFINITY),
        registered: Some(f64::INFINITY),
        held_from: f64::INFINITY,
        ..Presence::default()
    };
    let held_from = executors.iter().map(|one| one.held_from).fold(f64::INFINITY, f64::min);
    let first = executors.iter().map(|one| one.registered.unwrap_or(0.0)).reduce(f64::min);
    let first = first.filter(|first| *first > 0.0);
    let there = Presence { added: first, registered: first, held_from, ..Presence::default() };
    let of = |is_there: bool| if is_there { there } else { never };
    fullest(executors, slots).into_iter().map(of).collect()
}

/// The executors, each of which is used from when it was added.
pub(crate) fn used_at_once(executors: &[Presence]) -> Vec<Presence> {
    executors.iter().map(|one| Presence { added: one.registered, ..*one }).collect()
}

pub(crate) fn situated(job: &WorkloadJob) -> impl Iterator<Item = &Situated> {
    job.durations.iter().filter_map(|durations| match durations {
        Durations::Situated(situated) => Some(&**situated),
        _ => None,
    })
}

/// True if the log says how many slots each node had.
pub(crate) fn are_slots_known(application: &RecordedApplication) -> bool {
    application.executors.iter().all(|one| one.slots_known)
}

/// Returns the name of the phase that would gain most from more tasks: the one whose tasks are longest of those with fewer tasks than
/// there are slots. `None` if there is none, if other phases filled the slots, or if the work came in jobs of one task, one after
/// another, which have nothing to divide that the program did not divide itself.
pub(crate) fn phase_with_few_tasks<'a>(application: &'a RecordedApplication, parts: &[TimePart]) -> Option<&'a str> {
    let slots = most_slots(application) as usize;
    let few = parts.iter().find(|part| part.what == Spent::FewTasks && part.share >= MATTERS)?;
    let is_of_one_task = |job: &&WorkloadJob| job.spec.phases.iter().map(|phase| phase.tasks).sum::<u32>() == 1;
    let are_in_turn = application.jobs.iter().filter(is_of_one_task).count() >= IN_TURN;
    if are_in_turn && few.single_tasks.is_some_and(|single| single.seconds >= 0.5 * few.seconds) {
        return None;
    }
    let phases = application.jobs.iter().flat_map(|job| job.spec.phases.iter().zip(&job.durations));
    let few = phases.filter_map(|(spec, durations)| match durations {
        Durations::Situated(phase) if phase.tasks.len() < slots && phase.typical >= LONG => {
            Some((&*spec.name, phase.typical))
        }
        _ => None,
    });
    few.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
}

/// True if slots were free for a while between tasks, or while something else than slots held tasks back, or executors were not used
/// although tasks waited. Where the driver stood still, slots were free because of that.
pub(crate) fn waits(application: &RecordedApplication) -> bool {
    if application.world.recorded.stood_still > 0.0 {
        return false;
    }
    let is_unused = |one: &Presence| one.added.unwrap_or(0.0) > one.registered.unwrap_or(0.0) + LONG;
    let lags = application.world.recorded.jobs.iter().flat_map(|job| &job.lags);
    if lags.into_iter().any(|lag| matches!(lag, PhaseLag::HeldBack { .. })) {
        return true;
    }
    application.jobs.iter().flat_map(situated).any(|phase| phase.gap >= 0.1 * phase.typical && phase.gap >= 0.05)
        || application.world.recorded.executors.iter().any(is_unused)
}

/// True if some tasks took long because of their input.
pub(crate) fn are_inputs_uneven(application: &RecordedApplication) -> bool {
    let mut tasks = application.jobs.iter().flat_map(situated).filter(|phase| phase.typical >= LONG / 10.0);
    tasks.any(|phase| phase.tasks.iter().any(|task| by_input(task) >= MORE_INPUT))
}

/// How many times the typical duration the input of a task explains.
fn by_input(task: &SituatedTask) -> f64 {
    task.input / task.garbage
}

/// Returns the jobs with the same input for all tasks of a phase: the mean.
pub(crate) fn with_even_inputs(jobs: &[WorkloadJob]) -> Vec<WorkloadJob> {
    changed(jobs, |phase| {
        let count = phase.tasks.len();
        if count == 0 || phase.tasks.iter().all(|task| by_input(task) < MORE_INPUT) {
            return None;
        }
        let mean = phase.tasks.iter().map(by_input).sum::<f64>() / count as f64;
        let even = |task: &SituatedTask| SituatedTask {
            attempts: task
                .attempts
                .iter()
                .map(|one| SituatedAttempt { seconds: one.seconds * mean / by_input(task), ..*one })
                .collect(),
            input: mean * task.garbage,
            garbage: task.garbage,
            residual: task.residual,
        };
        Some(Situated { tasks: phase.tasks.iter().map(even).collect(), ..phase.clone() })
    })
}

/// Returns the jobs with attempts that take longer on slower nodes than their own; `None` if no node was slow all the time.
pub(crate) fn with_moves(jobs: &[WorkloadJob]) -> Option<Vec<WorkloadJob>> {
    let has_slow_node = |phase: &Situated| phase.nodes.iter().any(|node| node.slowness.is_some());
    let is_known = jobs.iter().flat_map(situated).any(has_slow_node);
    is_known.then(|| changed(jobs, |phase| Some(Situated { moves: true, ..phase.clone() })))
}

/// The executors on nodes that were slow all the time.
pub(crate) fn slow_executors(jobs: &[WorkloadJob]) -> BTreeSet<usize> {
    let nodes = jobs.iter().flat_map(situated).flat_map(|phase| phase.nodes.iter().enumerate());
    nodes.filter(|(_, node)| node.slowness.is_some_and(|slowness| slowness > 1.0)).map(|(at, _)| at).collect()
}

/// Returns the jobs as if slow nodes had been as fast as the others.
pub(crate) fn with_equal_nodes(jobs: &[WorkloadJob]) -> Vec<WorkloadJob> {
    changed(jobs, |phase| {
        let mut phase = phase.clone();
        for one in phase.tasks.iter_mut().flat_map(|task| &mut task.attempts).filter(|one| one.slowness > 1.0) {
            *one = SituatedAttempt {
                seconds: one.seconds / one.slowness,
                met: one.met / one.slowness,
                slowness: 1.0,
                ..*one
            };
        }
        let nodes = phase
            .nodes
            .iter()
            .map(|node| NodeHistory { slowness: node.slowness.filter(|slowness| *slowness <= 1.0), ..node.clone() });
        phase.nodes = Arc::new(nodes.collect());
        Some(phase)
    })
}

/// Returns the jobs with copies that may run on any node, also on the slow one of their original: what Hindmost's own policies do.
pub(crate) fn with_copies_anywhere(jobs: &[WorkloadJob]) -> Vec<WorkloadJob> {
    changed(jobs, |phase| {
        let mut phase = phase.clone();
        phase.tasks.iter_mut().flat_map(|task| &mut task.attempts).for_each(|one| one.slowness = 1.0);
        Some(phase)
    })
}

/// Returns the jobs without gaps between the tasks on a slot.
pub(crate) fn without_waits(jobs: &[WorkloadJob]) -> Vec<WorkloadJob> {
    changed(jobs, |phase| Some(Situated { gap: 0.0, ..phase.clone() }))
}

/// Returns the jobs with the tasks of phases that have fewer tasks than there are slots divided into as many parts as there are slots
/// for. Each part takes its share of the time, and `overhead` seconds.
pub(crate) fn with_more_tasks(jobs: &[WorkloadJob], slots: usize, overhead: f64) -> Vec<WorkloadJob> {
    let divided = |phase: &Situated| {
        let count = phase.tasks.len();
        let parts = slots.checked_div(count).map_or(1, |parts| parts.min(MOST_PARTS));
        if parts < 2 || phase.typical < LONG {
            return None;
        }
        let part = |task: &SituatedTask| {
            let seconds = |attempt: &SituatedAttempt| SituatedAttempt {
                seconds: attempt.seconds / parts as f64
                    + if attempt.ended == SituatedEnd::Finished { overhead } else { 0.0 },
                ..*attempt
            };
            let one = SituatedTask { attempts: task.attempts.iter().map(seconds).collect(), ..task.clone() };
            std::iter::repeat_n(one, parts)
        };
        let tasks = phase.tasks.iter().flat_map(part).collect();
        Some(Situated { tasks, typical: phase.typical / parts as f64 + overhead, ..phase.clone() })
    };
    changed(jobs, divided)
}

/// Returns jobs with changed phases; a phase for which `change` returns `None` stays as it is.
fn changed(jobs: &[WorkloadJob], change: impl Fn(&Situated) -> Option<Situated>) -> Vec<WorkloadJob> {
    let mut jobs = jobs.to_vec();
    for job in &mut jobs {
        for (spec, durations) in job.spec.phases.iter_mut().zip(&mut job.durations) {
            let Durations::Situated(situated) = durations else { continue };
            let Some(changed) = change(situated) else { continue };
            let scale = f64::from(spec.tasks) / changed.tasks.len().max(1) as f64;
            spec.tasks = changed.tasks.len() as u32;
            (spec.mean, spec.sd) = (spec.mean * scale, spec.sd.map(|sd| sd * scale));
            *durations = Durations::Situated(Arc::new(changed));
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(registered: f64, removed: f64) -> Presence {
        Presence {
            added: Some(registered),
            registered: Some(registered),
            removed: Some(removed),
            lost: false,
            held_from: registered,
            held_to: Some(removed),
        }
    }

    #[test]
    fn executors_that_replaced_one_another_do_not_count_twice() {
        // Two at a time: the third comes when the first has left.
        let executors = [presence(0.0, 10.0), presence(0.0, 30.0), presence(12.0, 40.0)];
        assert_eq!(fullest(&executors, &[2, 2, 2]), [true, true, false]);
        // The larger one counts if only one can.
        assert_eq!(fullest(&executors, &[1, 2, 4]), [false, true, true]);
        let kept = kept(&executors, &[1, 2, 4]);
        assert_eq!(kept[1..], [Presence::default(); 2]);
        assert_eq!(kept[0].added, Some(f64::INFINITY));
    }

    #[test]
    fn kept_executors_are_not_there_before_the_first_one() {
        let executors = [presence(2.5, 10.0), presence(4.0, 30.0)];
        let kept = kept(&executors, &[2, 2]);
        assert!(kept.iter().all(|one| (one.added, one.registered, one.removed) == (Some(2.5), Some(2.5), None)));
        assert!(kept.iter().all(|one| (one.held_from, one.held_to) == (2.5, None)));
    }

    #[test]
    fn executors_are_used_from_when_they_are_added() {
        let waiting = Presence { added: Some(f64::INFINITY), registered: Some(3.0), ..Presence::default() };
        assert_eq!(used_at_once(&[waiting])[0].added, Some(3.0));
    }
}
