//! From attempts to jobs whose durations are known as far as they were seen.

use hindmost_core::timeline::AttemptEnd;
use hindmost_core::workload::{Durations, JobSpec, ObservedCopy, PhaseSpec, WorkloadJob};

use super::collect::Collected;
use crate::replay::mean_and_sd;

/// What is seen of a phase's durations.
#[derive(Clone, Default)]
struct Observed {
    /// The copies of each task that count; as many tasks as were started.
    tasks: Vec<Vec<ObservedCopy>>,
    /// Durations of winners, seconds.
    known: Vec<f64>,
}

/// The jobs, and in `warnings` where durations had to be borrowed. `None` if no task has finished.
pub(super) fn jobs(collected: &Collected, warnings: &mut Vec<String>) -> Option<Vec<WorkloadJob>> {
    let jobs = &collected.timeline.jobs;
    let observed = observe(collected);
    let all = sorted(observed.iter().flatten().flat_map(|phase| &phase.known));
    if all.is_empty() {
        return None;
    }
    let mut workload = Vec::with_capacity(jobs.len());
    for (job, phases) in jobs.iter().zip(observed) {
        let of_job = sorted(phases.iter().flat_map(|phase| &phase.known));
        let (lent, lender) = if of_job.is_empty() { (&all, "all jobs") } else { (&of_job, "its job's other phases") };
        let mut spec = JobSpec { arrival: job.arrival, phases: Vec::new(), ..(*job.spec).clone() };
        let mut durations = Vec::new();
        // The number of each phase that is left.
        let mut numbers: Vec<Option<u32>> = Vec::new();
        for (phase, Observed { tasks, known }) in job.spec.phases.iter().zip(phases) {
            let to_do = phase.tasks_to_do();
            numbers.push((to_do > 0).then_some(spec.phases.len() as u32));
            if to_do == 0 {
                continue;
            }
            let mut known = sorted(&known);
            if known.is_empty() {
                known.clone_from(lent);
                warnings.push(format!(
                    "No task of phase {:?} of job {:?} has finished: its durations are drawn from those of {lender}.",
                    phase.name, spec.name
                ));
            }
            let (mean, sd) = mean_and_sd(&known);
            // Where a copy read its input from is part of how long it took, and the nodes may be others.
            let after = phase.after.iter().filter_map(|parent| numbers.get(*parent as usize).copied().flatten());
            spec.phases.push(PhaseSpec {
                after: after.collect(),
                tasks: to_do,
                mean,
                sd,
                tail: None,
                input: None,
                assumed: false,
                finished: Vec::new(),
                ..phase.clone()
            });
            durations.push(Durations::Observed { tasks: without_finished(tasks, &phase.finished), known });
        }
        if !spec.phases.is_empty() {
            workload.push(WorkloadJob { spec, durations });
        }
    }
    // As the journal has them already, unless its times are not those of one run.
    workload.sort_by_key(|job| job.spec.arrival);
    Some(workload)
}

/// The copies of each task that was not finished before the run. `finished` is ascending.
fn without_finished(tasks: Vec<Vec<ObservedCopy>>, finished: &[u32]) -> Vec<Vec<ObservedCopy>> {
    let left = (0..).zip(tasks).filter(|(index, _)| finished.binary_search(index).is_err());
    left.map(|(_, copies)| copies).collect()
}

/// What the attempts tell, by job and phase.
fn observe(collected: &Collected) -> Vec<Vec<Observed>> {
    let jobs = &collected.timeline.jobs;
    let mut all: Vec<Vec<Observed>> = jobs.iter().map(|job| vec![Observed::default(); job.spec.phases.len()]).collect();
    for row in &collected.timeline.rows {
        let task = row.attempt.task;
        let place = (task.job.0 as usize, task.phase as usize);
        let spec = jobs.get(place.0).and_then(|job| job.spec.phases.get(place.1));
        let Some(phase) = all.get_mut(place.0).and_then(|phases| phases.get_mut(place.1)) else { continue };
        // Attempts of tasks that the job does not have: the journal is not one that we wrote.
        if spec.is_none_or(|spec| task.index >= spec.tasks) {
            continue;
        }
        let at = task.index as usize;
        if phase.tasks.len() <= at {
            phase.tasks.resize_with(at + 1, Vec::new);
        }
        let copies = &mut phase.tasks[at];
        if !row.redundant {
            // The task begins anew: what ran before brought nothing.
            copies.clear();
        }
        let seconds = collected.seconds(row);
        if row.outcome == AttemptEnd::Won {
            phase.known.push(seconds);
        }
        copies.push(if collected.finished(row) { ObservedCopy::Took(seconds) } else { ObservedCopy::AtLeast(seconds) });
    }
    all
}

fn sorted<'a>(seconds: impl IntoIterator<Item = &'a f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = seconds.into_iter().copied().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
