//! Computes how long jobs waited for the last tasks of their phases.

use std::collections::BTreeMap;

use hindmost_core::metrics::{JobFinding, Waiting};

use super::attempts::Tally;
use super::fold::{Folded, waiting};

/// The most jobs in the list of findings.
const LISTED: usize = 64;
/// The most jobs that are open at the same time. A job is open while further phases can be added to it.
const OPEN: usize = 1024;
/// The most disjoint intervals of a union that are kept. Up to twice as many are kept before they are merged.
const INTERVALS: usize = 512;

/// The length of a union of intervals that are added nearly in order, in bounded memory. If there are more than
/// `INTERVALS` disjoint intervals, the earliest are settled: only their total length is kept, and intervals that are
/// added later for the same time are ignored.
#[derive(Clone, Debug, Default)]
struct Union {
    /// Total length of the settled intervals.
    settled: f64,
    /// End of the last settled interval; `None` if no interval is settled.
    until: Option<f64>,
    intervals: Vec<(f64, f64)>,
}

impl Union {
    fn add(&mut self, from: f64, to: f64) {
        let from = self.until.map_or(from, |until| from.max(until));
        if from < to {
            self.intervals.push((from, to));
        }
        if self.intervals.len() > 2 * INTERVALS {
            self.merge();
            if self.intervals.len() > INTERVALS {
                for (from, to) in self.intervals.drain(..INTERVALS / 2) {
                    self.settled += to - from;
                    self.until = Some(to);
                }
            }
        }
    }

    fn merge(&mut self) {
        self.intervals.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.intervals.dedup_by(|later, earlier| {
            let overlaps = later.0 <= earlier.1;
            if overlaps {
                earlier.1 = earlier.1.max(later.1);
            }
            overlaps
        });
    }

    fn length(&mut self) -> f64 {
        self.merge();
        self.settled + self.intervals.iter().map(|(from, to)| to - from).sum::<f64>()
    }
}

#[derive(Clone, Debug, Default)]
struct Job {
    phases: u64,
    tasks: u64,
    start: Option<f64>,
    finish: Option<f64>,
    waits: Union,
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
        let finding = &folded.finding;
        self.now += 1;
        let job = self.open.entry((finding.application, finding.job.clone())).or_default();
        job.last_event = self.now;
        job.phases += 1;
        job.tasks += finding.tasks;
        job.losers += folded.tally.machine_time.losers;
        job.start = [job.start, finding.start].into_iter().flatten().min_by(f64::total_cmp);
        job.finish = [job.finish, finding.finish].into_iter().flatten().max_by(f64::total_cmp);
        if let Some((from, to)) = folded.wait {
            job.waits.add(from, to);
        }
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
        for ((application, name), mut job) in jobs {
            let seconds = job.waits.length();
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
        let mut union = Union::default();
        for (from, to) in [(5.0, 7.0), (1.0, 2.0), (6.0, 9.0), (2.0, 3.0), (8.0, 8.0), (20.0, 10.0)] {
            union.add(from, to);
        }
        assert_eq!(union.length(), 6.0);
    }

    #[test]
    fn many_ordered_intervals_take_bounded_memory() {
        let mut union = Union::default();
        for at in 0..100_000 {
            union.add(f64::from(at), f64::from(at) + 0.5);
            assert!(union.intervals.len() <= 2 * INTERVALS);
        }
        assert_eq!(union.length(), 50_000.0);
    }
}
