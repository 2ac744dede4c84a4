//! Turns the rows of an application into a recording.

use hindmost_math::statistics::median;
use rustc_hash::FxHashMap;

use super::active::active;
use super::attempts::{Attempt, name_of};
use super::collect::Collector;
use super::held::{Application, NO_NODE};
use crate::recording::{AttemptRow, Ended, Executor, InEveryJob, PhaseRows, Recording, TaskTimes, UNKNOWN};

/// How a recording has the jobs within an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jobs {
    /// A phase has the tasks of all jobs, which are compared with each other.
    Together,
    /// Each job has phases of its own.
    Apart,
}

/// A phase while its rows are added.
#[derive(Default)]
struct Open {
    phase: PhaseRows,
    slots: Vec<f64>,
    /// Tasks and hashes of their names.
    names: Vec<(u32, u64)>,
    /// Tasks, and when their attempts could start.
    ready: Vec<(u32, f64)>,
}

impl Open {
    fn end(mut self) -> PhaseRows {
        self.phase.slots = median(&mut self.slots).map_or(0, |slots| slots.ceil() as u32);
        // The first attempt of each task counts, if it could not start with the phase.
        self.ready.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.ready.dedup_by_key(|(task, _)| *task);
        self.ready.retain(|(_, ready)| self.phase.submitted.is_some_and(|submitted| *ready > submitted));
        self.phase.ready = self.ready;
        self.names.sort_unstable();
        self.names.dedup();
        self.phase.in_every_job = InEveryJob::Names(self.names);
        self.phase
    }
}

impl Collector {
    /// Returns the rows of an application as a recording.
    pub(super) fn recording(
        &self,
        number: u32,
        application: &Application,
        attempts: &[Attempt<'_>],
        have: Jobs,
    ) -> Recording {
        let title = self.title(application);
        let mut recording =
            Recording { application: number, name: Some(title.to_owned()), jobs: 1, ..Recording::default() };
        let mut executors: FxHashMap<u32, u32> = FxHashMap::default();
        // When jobs began and ended, and the phases of each, in the order of their first attempts to end.
        let mut jobs: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
        let mut places: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut phases: Vec<Open> = Vec::new();
        let new_phase = |of_job: u32, phase: u32| {
            let within = if have == Jobs::Apart { application.jobs.get(of_job) } else { "" };
            let job = Some(if within.is_empty() { title } else { within }.to_owned());
            let work = application.works.get(phase as usize).filter(|work| !work.is_empty()).map(ToString::to_string);
            let name = name_of(application, phase);
            let key = (application.name.to_string(), name.clone().unwrap_or_default());
            let waits_for = self.waits_for.get(&key).cloned();
            PhaseRows { phase, name, work, job, of_job, waits_for, ..PhaseRows::default() }
        };
        let mut without_times: FxHashMap<(u32, u32), Vec<AttemptRow>> = FxHashMap::default();
        for attempt in attempts {
            let row = attempt.row;
            let mut recorded = AttemptRow {
                task: attempt.task,
                executor: UNKNOWN,
                start: row.start,
                end: row.end,
                bytes_read: row.bytes(),
                spent: TaskTimes::default(),
                ended: attempt.ended,
                wins: attempt.wins,
                speculative: attempt.speculative,
                repeated: attempt.repeated,
                is_unmatched: false,
            };
            let of_job = if have == Jobs::Apart { row.job } else { 0 };
            let Some((start, end)) = row.times() else {
                without_times.entry((of_job, row.phase)).or_default().push(recorded);
                continue;
            };
            if row.node != NO_NODE {
                recorded.executor = *executors.entry(row.node).or_insert_with(|| {
                    let host = self.nodes.get(row.node).to_owned();
                    recording.executors.push(Executor { host, ..Executor::default() });
                    recording.executors.len() as u32 - 1
                });
            }
            let submitted = Some(row.submitted).filter(|at| *at <= start);
            let began = submitted.unwrap_or(start);
            recording.from = Some(recording.from.map_or(began, |from: f64| from.min(began)));
            recording.to = Some(recording.to.map_or(end, |to: f64| to.max(end)));
            let job = jobs.entry(row.job).or_insert((began, end));
            *job = (job.0.min(began), job.1.max(end));
            if attempt.ended == Ended::Failed {
                recording.failed(self.cause(row), end - start);
            }
            let place = *places.entry((of_job, row.phase)).or_insert_with(|| {
                phases.push(Open { phase: new_phase(of_job, row.phase), ..Open::default() });
                phases.len() - 1
            });
            let Open { phase, slots, names, ready } = &mut phases[place];
            ready.extend(submitted.map(|at| (attempt.task, at)));
            slots.push(f64::from(row.slots));
            if row.in_every_job != 0 && row.is_work_named {
                names.push((attempt.task, row.in_every_job));
            }
            if let Some(found) = self.long_tasks.in_most_others(row) {
                phase.long_in_others.insert(attempt.task, found);
            }
            phase.submitted = [phase.submitted, submitted].into_iter().flatten().reduce(f64::min);
            phase.rows.push(recorded);
        }
        recording.phases = phases.into_iter().map(Open::end).collect();
        let mut without_times: Vec<_> = without_times.into_iter().collect();
        without_times.sort_unstable_by_key(|(key, _)| *key);
        for ((of_job, number), rows) in without_times {
            match places.get(&(of_job, number)) {
                Some(place) => recording.phases[*place].without_times = rows,
                None => recording.without_times.push(PhaseRows { without_times: rows, ..new_phase(of_job, number) }),
            }
        }
        recording.slow_in_log.clone_from(&self.slow_nodes);
        recording.slots_left = self.shared.left_for(number, application);
        if have == Jobs::Together {
            recording.active = active(self.rules, attempts);
        }
        if self.rules.jobs_within {
            recording.jobs = jobs.len() as u64;
        }
        if self.rules.jobs_within && have == Jobs::Apart {
            let mut active: Vec<(u32, (f64, f64))> = jobs.into_iter().collect();
            active.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then(a.0.cmp(&b.0)));
            recording.active = active.iter().map(|(_, (from, to))| (*from, Some(*to))).collect();
            recording.active_ids = active.iter().map(|(job, _)| *job).collect();
        }
        recording
    }
}
