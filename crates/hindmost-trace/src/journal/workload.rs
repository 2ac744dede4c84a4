//! Builds jobs for a replay from the attempts of a journal. An attempt that did not finish gives a lower bound of its
//! duration.

use hindmost_core::timeline::AttemptEnd;
use hindmost_core::workload::{Durations, JobSpec, ObservedCopy, PhaseSpec, WorkloadJob};

use super::collect::Collected;
use crate::replay::mean_and_sd;

/// Observed durations of a phase.
#[derive(Clone, Default)]
struct Observed {
    /// Observed copies of each task, by task, without the attempts that a replay ignores. Has entries up to the last
    /// task that was started.
    tasks: Vec<Vec<ObservedCopy>>,
    /// Durations of winners, in seconds.
    known: Vec<f64>,
}

/// Returns the jobs, and adds a warning for each phase that uses the durations of other phases because none of its
/// tasks has finished. `None` if no task of the journal has finished.
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
        let (fallback, source) =
            if of_job.is_empty() { (&all, "all jobs") } else { (&of_job, "its job's other phases") };
        let mut spec = JobSpec { arrival: job.arrival, phases: Vec::new(), ..(*job.spec).clone() };
        let mut durations = Vec::new();
        // The new index of each phase; `None` if the phase is removed.
        let mut numbers: Vec<Option<u32>> = Vec::new();
        for (phase, Observed { tasks, known }) in job.spec.phases.iter().zip(phases) {
            let to_do = phase.tasks_to_do();
            numbers.push((to_do > 0).then_some(spec.phases.len() as u32));
            if to_do == 0 {
                continue;
            }
            let mut known = sorted(&known);
            if known.is_empty() {
                known.clone_from(fallback);
                warnings.push(format!(
                    "No task of phase {:?} of job {:?} has finished, so the phase's durations are drawn from the durations of {source}.",
                    phase.name, spec.name
                ));
            }
            let (mean, sd) = mean_and_sd(&known);
            // The time for reading the input is part of the duration, and a replay may have other nodes, so `input`
            // is dropped.
            let number = |parent: u32| numbers.get(parent as usize).copied().flatten();
            let after = phase.after.iter().filter_map(|parent| number(*parent));
            let edges = phase.edges.iter().filter_map(|edges| {
                let parent = &job.spec.phases[edges.parent as usize];
                let finished = (&parent.finished[..], &phase.finished[..]);
                Some(edges.without_finished(number(edges.parent)?, finished, (parent.tasks, phase.tasks)))
            });
            spec.phases.push(PhaseSpec {
                after: after.collect(),
                edges: edges.collect(),
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
    // Jobs in a journal are already in the order of their arrival, unless the journal mixes several runs.
    workload.sort_by_key(|job| job.spec.arrival);
    Some(workload)
}

/// Returns the copies of each task that was not finished before the run. `finished` is ascending.
fn without_finished(tasks: Vec<Vec<ObservedCopy>>, finished: &[u32]) -> Vec<Vec<ObservedCopy>> {
    let left = (0..).zip(tasks).filter(|(index, _)| finished.binary_search(index).is_err());
    left.map(|(_, copies)| copies).collect()
}

/// Returns the observed durations by job and phase.
fn observe(collected: &Collected) -> Vec<Vec<Observed>> {
    let jobs = &collected.timeline.jobs;
    let mut all: Vec<Vec<Observed>> = jobs.iter().map(|job| vec![Observed::default(); job.spec.phases.len()]).collect();
    for row in &collected.timeline.rows {
        let task = row.attempt.task;
        let place = (task.job.0 as usize, task.phase as usize);
        let spec = jobs.get(place.0).and_then(|job| job.spec.phases.get(place.1));
        let Some(phase) = all.get_mut(place.0).and_then(|phases| phases.get_mut(place.1)) else { continue };
        // The job has no such task. Hindmost does not write such journals.
        if spec.is_none_or(|spec| task.index >= spec.tasks) {
            continue;
        }
        let at = task.index as usize;
        if phase.tasks.len() <= at {
            phase.tasks.resize_with(at + 1, Vec::new);
        }
        let copies = &mut phase.tasks[at];
        if !row.redundant {
            // The attempt was started while no copy of the task was running, so earlier attempts do not count.
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
