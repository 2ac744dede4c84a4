//! Counts and records the rows of an application once they are complete.

use hindmost_core::metrics::SlowNode;

use super::attempts::{Attempt, attempts, in_order};
use super::collect::Collector;
use super::held::{Application, Held};
use super::recording::Jobs;
use crate::diagnosis::proven_slow;
use crate::joined::Joined;
use crate::recorder::Replays;
use crate::recording::Ended;

impl Collector {
    pub(super) fn finish_part(&mut self, number: u32, application: &mut Application) {
        let is_first = application.parts == 0;
        application.parts += 1;
        let mut finished = std::mem::take(&mut application.finished);
        finished.resize(application.phases.len(), 0);
        self.counts.phases += finished.iter().filter(|tasks| **tasks == 0).count() as u64;
        let numbers = in_order(&mut application.rows, &mut finished);
        let attempts = attempts(&application.rows, &numbers, self.rules.retried_have_failed);
        self.issues.repeated += (application.rows.len() - attempts.len()) as u64;
        application.finished = finished;

        let jobs = (application.jobs.len() as u64).max(1);
        self.counts.jobs += jobs.saturating_sub(application.jobs_counted);
        application.jobs_counted = jobs;
        self.count(&attempts, numbers.len(), is_first);
        self.record((number, is_first), application, &attempts);
    }

    /// Records an application, or a part of it, for a diagnosis and for replays.
    fn record(&mut self, (number, is_first): (u32, bool), application: &Application, attempts: &[Attempt<'_>]) {
        if self.recorder.wanted.diagnoses {
            let recording = self.recording(number, application, attempts, Jobs::Together);
            self.recorder.gather(&recording);
            if is_first {
                self.recorder.diagnose_meanwhile(recording);
            } else if application.parts == 2 {
                let title = self.title(application).to_owned();
                self.issues.partly_diagnosed.add(|| title);
            }
        }
        if !self.recorder.wants_replays() {
            return;
        }
        // An application that ends in parts is too large to be held.
        let is_kept = is_first && matches!(self.recorder.wanted.replays, Replays::Longest(_)) && {
            let winners = attempts.iter().filter(|attempt| attempt.wins).count();
            self.recorder.keeps(seconds(attempts), winners as u64)
        };
        if !is_first {
            self.recorder.forget(number);
        }
        let joins = self.recorder.kept.joined.as_mut().is_some_and(|joined| joined.takes(is_first, attempts.len()));
        if !joins && !is_kept {
            return;
        }
        let recording = self.recording(number, application, attempts, Jobs::Apart);
        if is_kept {
            self.recorder.keep(recording.clone());
        }
        if let Some(joined) = self.recorder.kept.joined.as_mut().filter(|_| joins) {
            joined.add(recording);
        }
    }

    /// Returns the nodes that all jobs of a log together prove to be slow. None if it is not held as a whole, or has one job only.
    pub(super) fn slow_in_log(&self) -> Vec<SlowNode> {
        let is_whole = self.open.values().all(|one| one.parts == 0);
        if !self.recorder.wanted.diagnoses || !self.rules.same_in_every_job || !is_whole || self.open.len() < 2 {
            return Vec::new();
        }
        let mut numbered: Vec<(&u32, &Application)> = self.open.iter().collect();
        numbered.sort_unstable_by_key(|(number, _)| **number);
        let mut joined = Joined::default();
        for (number, application) in numbered {
            let mut rows = application.rows.clone();
            let numbers = in_order(&mut rows, &mut vec![0; application.phases.len()]);
            let attempts = attempts(&rows, &numbers, self.rules.retried_have_failed);
            joined.add(self.recording(*number, application, &attempts, Jobs::Apart));
        }
        joined.whole().map_or_else(Vec::new, proven_slow)
    }

    fn count(&mut self, attempts: &[Attempt<'_>], tasks: usize, is_first: bool) {
        // Whether an attempt of each task won, and the lowest number of one.
        let mut tasks = vec![(false, u16::MAX); tasks];
        for attempt in attempts {
            let counts = &mut self.counts;
            counts.attempts += 1;
            counts.speculative += u64::from(attempt.speculative);
            let row = attempt.row;
            let began = [row.submitted, row.start].into_iter().find(|at| !at.is_nan());
            counts.from = [counts.from, began].into_iter().flatten().reduce(f64::min);
            let end = Some(row.end).filter(|end| !end.is_nan());
            counts.to = [counts.to, end].into_iter().flatten().reduce(f64::max);
            let (won, first) = &mut tasks[row.task as usize];
            *won |= attempt.wins;
            *first = row.attempt.min(*first);
            self.issues.ran_again += u64::from(attempt.repeated);
            match attempt.ended {
                Ended::Succeeded => {}
                Ended::Failed => {
                    self.counts.failed += 1;
                    let cause = self.cause(row).to_owned();
                    self.failures.count(&cause);
                }
                Ended::Killed | Ended::Interrupted => {
                    self.counts.killed += 1;
                    let cause = self.cause(row).to_owned();
                    self.kills.count(&cause);
                }
            }
        }
        self.counts.tasks += tasks.len() as u64;
        self.issues.never_succeeded += tasks.iter().filter(|(won, _)| !won).count() as u64;
        if is_first {
            self.issues.without_first += without_first(tasks.into_iter().map(|(_, first)| first).collect());
        }
    }
}

/// Returns how many tasks lack their first attempts, from the lowest number of each; 0 stands for none. Where fewer tasks have the lowest of
/// all than there are numbers, these are no numbers of attempts, but names.
fn without_first(mut lowest: Vec<u16>) -> u64 {
    lowest.retain(|number| *number > 0);
    lowest.sort_unstable();
    let have_first = lowest.iter().take_while(|number| lowest.first() == Some(number)).count();
    let numbers = lowest.chunk_by(|a, b| a == b).count();
    if have_first < numbers { 0 } else { (lowest.len() - have_first) as u64 }
}

/// How long an application took, from the first submission or start to the last end, in seconds.
fn seconds(attempts: &[Attempt<'_>]) -> f64 {
    let times = || attempts.iter().filter_map(|attempt| Some((attempt.row, attempt.row.times()?)));
    let began = |(row, (start, _)): (&Held, (f64, f64))| if row.submitted <= start { row.submitted } else { start };
    let from = times().map(began).fold(f64::INFINITY, f64::min);
    times().map(|(_, (_, end))| end).fold(f64::NEG_INFINITY, f64::max).max(from) - from
}

#[cfg(test)]
mod tests {
    use super::without_first;

    #[test]
    fn tasks_without_their_first_attempts_are_counted() {
        assert_eq!(without_first(vec![1, 3, 1, 1, 2, 0]), 2);
        // Numbers that are unknown, or the same for all.
        assert_eq!((without_first(vec![0, 0]), without_first(vec![2, 2])), (0, 0));
        // Ids of attempts.
        assert_eq!(without_first(vec![4, 2, 9, 5]), 0);
    }
}
