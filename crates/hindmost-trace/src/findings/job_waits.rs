//! Computes how long jobs waited for the last tasks of their phases.

use std::collections::BTreeMap;

use hindmost_core::metrics::{JobFinding, Waiting};

use super::folded::{Folded, waiting};
use super::tally::Tally;

/// The most jobs in the list of findings.
const LISTED: usize = 64;
/// The most jobs that are open at the same time. A job is open while further phases can be added to it.
const OPEN: usize = 1024;
/// Returns the length of a union of intervals.
fn length(mut intervals: Vec<(f64, f64)>) -> f64 {
    intervals.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    intervals.dedup_by(|later, earlier| {
        let overlaps = later.0 <= earlier.1;
        if overlaps {
            earlier.1 = earlier.1.max(later.1);
        }
        overlaps
    });
    intervals.iter().fold(0.0, |sum, (from, to)| sum + (to - from))
}

#[derive(Clone, Debug, Default)]
struct Job {
    phases: u64,
    tasks: u64,
    start: Option<f64>,
    finish: Option<f64>,
    /// When its phases waited, from and to.
    waits: Vec<(f64, f64)>,
    losers: f64,
    last_event: u64,
}

type Key = (u32, Option<String>);

/// How long each job of a log waited.
#[derive(Debug, Default)]
pub(super) struct JobWaits {
    open: BTreeMap<Key, Job>,
    /// The jobs with the longest waits among those that are not open any more.
    settled: Vec<JobFinding>,
    count: u64,
    waited: f64,
    span: f64,
    now: u64,
}

impl JobWaits {
    /// Adds a phase that is over.
    pub(super) fn phase(&mut self, folded: &Folded) {
        let phase = &folded.phase;
        self.now += 1;
        let job = self.open.entry((folded.application, phase.job.clone())).or_default();
        job.last_event = self.now;
        job.phases += 1;
        job.tasks += phase.tally.tasks;
        job.losers += folded.tally.machine_time.losers;
        job.start = [job.start, phase.start].into_iter().flatten().min_by(f64::total_cmp);
        job.finish = [job.finish, folded.finish()].into_iter().flatten().max_by(f64::total_cmp);
        job.waits.extend(folded.wait.filter(|(from, to)| from < to));
        if self.open.len() > OPEN {
            self.settle_the_idle();
        }
    }

    /// Adds attempts that ended after their phase was over.
    pub(super) fn late(&mut self, application: u32, job: Option<&str>, late: &Tally) {
        if let Some(job) = self.open.get_mut(&(application, job.map(str::to_owned))) {
            job.tasks += late.tasks;
            job.losers += late.machine_time.losers;
        }
    }

    fn settle_the_idle(&mut self) {
        let mut last_events: Vec<u64> = self.open.values().map(|job| job.last_event).collect();
        let median = *last_events.select_nth_unstable(OPEN / 2).1;
        let (idle, open) = std::mem::take(&mut self.open).into_iter().partition(|(_, job)| job.last_event < median);
        self.open = open;
        self.settle(idle);
    }

    fn settle(&mut self, jobs: BTreeMap<Key, Job>) {
        for ((application, name), job) in jobs {
            let seconds = length(job.waits);
            let span = job.start.zip(job.finish).map_or(0.0, |(start, finish)| (finish - start).max(0.0));
            self.count += 1;
            self.waited += seconds;
            self.span += span;
            self.settled.push(JobFinding {
                application,
                job: name,
                phases: job.phases,
                tasks: job.tasks,
                span,
                waiting: waiting(seconds, span),
                losers_seconds: job.losers,
            });
        }
        let key = |job: &JobFinding| (job.application, job.job.clone());
        self.settled.sort_by(|a, b| {
            b.waiting
                .seconds
                .total_cmp(&a.waiting.seconds)
                .then(b.span.total_cmp(&a.span))
                .then_with(|| key(a).cmp(&key(b)))
        });
        self.settled.truncate(LISTED);
    }

    /// Returns the total wait, the list of the jobs with the longest waits, and the number of jobs that are not in this
    /// list.
    pub(super) fn findings(mut self) -> (Waiting, Vec<JobFinding>, u64) {
        let open = std::mem::take(&mut self.open);
        self.settle(open);
        let left_out = self.count - self.settled.len() as u64;
        (waiting(self.waited, self.span), self.settled, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_overlap_count_once() {
        let intervals = vec![(5.0, 7.0), (1.0, 2.0), (6.0, 9.0), (2.0, 3.0), (20.0, 21.0)];
        assert_eq!(length(intervals), 7.0);
    }
}
