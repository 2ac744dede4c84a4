//! Counts the tasks and attempts of finished jobs, and records the jobs.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::configuration;
use super::counters::Counters;
use super::hosts::Hosts;
use super::issues::{Issues, Source};
use super::job::{Job, JobEnd, Place};
use super::phases::{self, Phase};
use super::recording;
use crate::reading::causes::{Causes, NOT_SAID};
use crate::recorder::Recorder;
use crate::recording::Ended;
use crate::summary::{HadoopFacts, Locality};

#[derive(Debug, Default)]
pub(super) struct Collector {
    pub hosts: Hosts,
    pub issues: Issues,
    pub counts: Counts,
    facts: HadoopFacts,
    failures: Causes,
    kills: Causes,
    /// Takes the recordings of the jobs.
    pub recorder: Recorder,
    /// By job id, the number of the first file that holds the job.
    seen: FxHashMap<Box<str>, u32>,
}

/// Counts of maps and reduces. Times are in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub jobs: u64,
    pub phases: u64,
    pub tasks: u64,
    pub attempts: u64,
    pub speculative: u64,
    pub failed: u64,
    pub killed: u64,
    pub from: Option<i64>,
    pub to: Option<i64>,
}

impl Collector {
    /// Adds a job. It has ended, or the log has no more records of it.
    pub(super) fn take(&mut self, mut job: Job, source: &Source) {
        if let Some(id) = &job.id {
            match self.seen.entry(id.clone()) {
                // Within one file an id may occur again, because some tools change ids when they shorten traces.
                Entry::Occupied(first) if *first.get() != source.file => {
                    self.issues.twice += 1;
                    return;
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => {
                    free.insert(source.file);
                }
            }
        }
        self.configure(&mut job, source);
        let application = self.counts.jobs as u32;
        self.counts.jobs += 1;
        self.about(&job);
        let (phases, others) = phases::split(&mut job);
        for ended in others {
            self.other(ended);
        }
        let maps_ended = phases[0].tasks.iter().filter_map(|(_, task)| task.attempts[task.winner()?].finish).max();
        let succeeded: [u64; 2] = [0, 1].map(|p: usize| self.count(&phases[p], &job));
        for (phase, succeeded) in phases.iter().zip(succeeded) {
            let at = phase.number as usize;
            let said = match (job.succeeded[at], job.end) {
                (Some(said), _) => u64::from(said).saturating_sub(succeeded),
                (None, Some(JobEnd::Succeeded)) => {
                    u64::from(job.total[at].unwrap_or(0)).saturating_sub(phase.tasks.len() as u64)
                }
                _ => 0,
            };
            self.issues.missing += said;
        }
        self.recorder.add(recording::of(application, &job, &phases, maps_ended, &self.hosts));
    }

    /// Gives a job the settings of its configuration, if it is beside the log.
    fn configure(&mut self, job: &mut Job, source: &Source) {
        let history = source.path.as_deref();
        let Some(path) = history.and_then(|history| configuration::beside(history, job.id.as_deref())) else { return };
        match configuration::read(&path) {
            Ok(settings) => job.settings = settings,
            Err(why) => self.issues.configuration(&path, &why),
        }
    }

    /// Counts how the job ended, its times, its counters, and attempts that the log does not name.
    fn about(&mut self, job: &Job) {
        let ends = &mut self.facts.jobs;
        match job.end {
            Some(JobEnd::Succeeded) => ends.succeeded += 1,
            Some(JobEnd::Failed) => ends.failed += 1,
            Some(JobEnd::Killed) => ends.killed += 1,
            None => ends.unfinished += 1,
        }
        let counts = &mut self.counts;
        let from = job.submitted.or(job.span.map(|(from, _)| from));
        counts.from = [counts.from, from].into_iter().flatten().min();
        let to = job.finished.or(job.span.map(|(_, to)| to));
        counts.to = counts.to.max(to);
        job.counters.as_ref().unwrap_or(&job.summed).add_to(&mut self.facts.counters);
        self.issues.repeated += job.repeated;
        for &(kind, ended) in &job.unidentified {
            if kind.phase().is_some() {
                self.issues.unidentified += 1;
                self.ended(ended, None);
            } else {
                self.other(ended);
            }
        }
    }

    fn other(&mut self, ended: Ended) {
        let others = &mut self.facts.setup_and_cleanup;
        others.attempts += 1;
        match ended {
            Ended::Succeeded => {}
            Ended::Failed => others.failed += 1,
            Ended::Killed | Ended::Interrupted => others.killed += 1,
        }
    }

    fn ended(&mut self, ended: Ended, cause: Option<&str>) {
        let cause = cause.unwrap_or(NOT_SAID);
        self.counts.attempts += 1;
        match ended {
            Ended::Succeeded => {}
            Ended::Failed => {
                self.counts.failed += 1;
                self.failures.count(cause);
            }
            Ended::Killed | Ended::Interrupted => {
                self.counts.killed += 1;
                self.kills.count(cause);
            }
        }
    }

    /// Counts the attempts of a phase; returns the number of its tasks that succeeded.
    fn count(&mut self, phase: &Phase, job: &Job) -> u64 {
        self.counts.phases += u64::from(!phase.tasks.is_empty());
        let mut succeeded = 0;
        let mut places = Locality::default();
        for (_, task) in &phase.tasks {
            let winner = task.winner();
            let mut any_ended = false;
            for (index, attempt) in task.attempts.iter().enumerate() {
                if let Some(host) = attempt.host {
                    self.hosts.ran(host);
                }
                let Some(ended) = attempt.ended else {
                    self.issues.unended += 1;
                    continue;
                };
                any_ended = true;
                self.ended(ended, attempt.cause.as_deref());
                let speculative = attempt.marked == Some(true);
                self.counts.speculative += u64::from(speculative);
                self.facts.speculative_winners += u64::from(speculative && winner == Some(index));
                self.facts.killed_losers += u64::from(ended == Ended::Killed && winner.is_some());
                self.facts.outputs_lost += u64::from(attempt.output_lost);
                self.issues.without_start += u64::from(attempt.start.is_none());
                match task.place(attempt, &self.hosts) {
                    Some(Place::Node) => places.data_local += 1,
                    Some(Place::Rack) => places.rack_local += 1,
                    Some(Place::Off) => places.off_switch += 1,
                    None => places.unknown += 1,
                }
            }
            let winner = winner.map(|index| &task.attempts[index]);
            let never_started = task.attempts.is_empty();
            self.counts.tasks += u64::from(any_ended || never_started);
            self.facts.tasks_without_attempt += u64::from(never_started);
            succeeded += u64::from(winner.is_some());
            if any_ended && winner.is_none() {
                self.issues.never_succeeded += 1;
            }
            self.issues.untimed += u64::from(winner.is_some_and(|winner| phases::duration(winner, None).is_none()));
            if phase.number == 0 && any_ended {
                let splits = &mut self.facts.splits;
                splits.maps += 1;
                splits.located += u64::from(!task.splits.is_empty());
                splits.locations += task.splits.len() as u64;
                let bytes = winner.and_then(|winner| winner.bytes_read).unwrap_or(0);
                splits.bytes_read = splits.bytes_read.saturating_add(bytes);
                splits.largest = splits.largest.max(bytes);
            }
        }
        if phase.number == 0 {
            self.located(places, job);
        }
        self.facts.winners += succeeded;
        succeeded
    }

    /// Counts how close to their input the job's maps ran. If this is unknown for all maps, uses the job's counters.
    fn located(&mut self, mut places: Locality, job: &Job) {
        let counted = job.counters.as_ref().map(Counters::local_maps).unwrap_or_default();
        let known = places.data_local + places.rack_local + places.off_switch > 0;
        if !known && counted.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) <= places.unknown {
            let [data_local, rack_local, off_switch] = counted;
            let unknown = places.unknown - data_local - rack_local - off_switch;
            places = Locality { data_local, rack_local, off_switch, unknown };
        }
        let sums = &mut self.facts.locality;
        sums.data_local += places.data_local;
        sums.rack_local += places.rack_local;
        sums.off_switch += places.off_switch;
        sums.unknown += places.unknown;
    }

    /// Returns the counts that only Hadoop logs have.
    pub(super) fn facts(&self) -> HadoopFacts {
        let mut facts = self.facts.clone();
        facts.failures = self.failures.counts().clone();
        facts.kills = self.kills.counts().clone();
        facts
    }
}
