//! Turns rows into recordings: one for each application, or one of all jobs of a log together.

use hindmost_math::statistics::median;
use rustc_hash::FxHashMap;

use super::collect::{Application, Collector, MOST_HELD, NO_NODE};
use super::finish::{Attempt, name_of};
use crate::diagnosis::recording::{AttemptRow, Executor, InEveryJob, PhaseRows, TaskTimes, UNKNOWN};
use crate::diagnosis::{Ended, Recording};

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
            PhaseRows { phase, name: name_of(application, phase), work, job, of_job, ..PhaseRows::default() }
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
                repeated: false,
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
        if self.rules.jobs_within {
            recording.jobs = jobs.len() as u64;
            let mut active: Vec<(u32, (f64, f64))> = jobs.into_iter().collect();
            active.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then(a.0.cmp(&b.0)));
            recording.active = active.iter().map(|(_, (from, to))| (*from, Some(*to))).collect();
            if have == Jobs::Apart {
                recording.active_ids = active.iter().map(|(job, _)| *job).collect();
            }
        }
        recording
    }
}

/// All jobs of a log as one recording, unless it is too large.
#[derive(Debug, Default)]
pub(super) struct Joined {
    recording: Recording,
    /// The number of each machine.
    executors: FxHashMap<String, u32>,
    /// Number of jobs.
    jobs: u32,
    /// Number of attempts.
    attempts: usize,
    /// True if anything is left out.
    is_partial: bool,
}

impl Joined {
    /// Returns whether anything is left out.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns whether the next application can be added, of which this is the first part or not.
    pub(super) fn takes(&self, is_first: bool, attempts: usize) -> bool {
        !self.is_partial && is_first && self.attempts + attempts <= MOST_HELD
    }

    /// Adds an application, whose jobs are apart; without one, the log is too large.
    pub(super) fn add(&mut self, recording: Option<Recording>) {
        let Some(one) = recording else {
            *self = Joined { is_partial: true, ..Joined::default() };
            return;
        };
        let numbers: Vec<u32> = one.executors.into_iter().map(|executor| self.executor(executor)).collect();
        let all = &mut self.recording;
        let active = if one.active_ids.is_empty() {
            vec![(0, (one.from.unwrap_or(f64::INFINITY), one.to))]
        } else {
            one.active_ids.into_iter().zip(one.active).collect()
        };
        for mut phase in one.phases {
            phase.of_job += self.jobs;
            for row in phase.rows.iter_mut().filter(|row| row.executor != UNKNOWN) {
                row.executor = numbers[row.executor as usize];
            }
            self.attempts += phase.rows.len();
            all.phases.push(phase);
        }
        let next = active.iter().map(|(job, _)| job + 1).max().unwrap_or(0);
        all.active_ids.extend(active.iter().map(|(job, _)| job + self.jobs));
        all.active.extend(active.into_iter().map(|(_, times)| times));
        all.from = [all.from, one.from].into_iter().flatten().reduce(f64::min);
        all.to = [all.to, one.to].into_iter().flatten().reduce(f64::max);
        self.jobs += next;
        all.jobs = u64::from(self.jobs);
    }

    fn executor(&mut self, executor: Executor) -> u32 {
        let next = self.recording.executors.len() as u32;
        let number = *self.executors.entry(executor.host.clone()).or_insert(next);
        if number == next {
            self.recording.executors.push(executor);
        }
        number
    }

    /// Returns the recording of all jobs; `None` if anything is left out.
    pub(super) fn whole(self) -> Option<Recording> {
        (!self.is_partial).then_some(self.recording)
    }
}
