//! All jobs of a log that is read row by row, as one recording.

use rustc_hash::FxHashMap;

use crate::recording::{Executor, Recording, UNKNOWN};

/// The most attempts of a log that is replayed as it ran.
const MOST_ATTEMPTS: usize = 1 << 19;

/// All jobs of a log as one recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    recording: Recording,
    /// The number of each machine.
    executors: FxHashMap<String, u32>,
    /// Number of jobs.
    jobs: u32,
    /// Number of attempts.
    attempts: usize,
    /// True if the log has more attempts than a replay of it as it ran can have, or jobs in parts.
    is_too_large: bool,
    /// Whether the jobs of a log that is too large are kept.
    keeps_all: bool,
}

impl Joined {
    /// Returns an empty recording. Unless it `keeps_all`, it keeps nothing of a log that is too large.
    pub(crate) fn new(keeps_all: bool) -> Joined {
        Joined { keeps_all, ..Joined::default() }
    }

    /// Returns whether the next application is to be added, of which this is the first part or not.
    pub(crate) fn takes(&mut self, is_first: bool, attempts: usize) -> bool {
        if !is_first || self.attempts + attempts > MOST_ATTEMPTS {
            self.is_too_large();
        }
        self.keeps_all || !self.is_too_large
    }

    /// Notes that the log is too large.
    pub(crate) fn is_too_large(&mut self) {
        if self.keeps_all {
            self.is_too_large = true;
        } else {
            *self = Joined { is_too_large: true, ..Joined::default() };
        }
    }

    /// Adds an application, whose jobs are apart.
    pub(crate) fn add(&mut self, one: Recording) {
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

    /// Returns the recording of all jobs that are kept.
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Returns the recording of all jobs; `None` if the log is too large.
    pub(crate) fn whole(&self) -> Option<&Recording> {
        (!self.is_too_large).then_some(&self.recording)
    }

    /// Returns the recording of all jobs that are kept, and whether the log is too large to be replayed as it ran.
    pub(crate) fn into_recording(self) -> (Recording, bool) {
        (self.recording, self.is_too_large)
    }
}
