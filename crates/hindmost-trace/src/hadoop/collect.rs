//! Takes jobs in as they end: counts, tells the analysis, and keeps what a replay needs.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::causes::Causes;
use super::counters::Counters;
use super::facts::{HadoopFacts, Locality};
use super::hosts::{Host, Hosts};
use super::input::Source;
use super::job::{Attempt, Job, JobEnd, Place, Task, TaskKey, work_began};
use super::warnings::Issues;
use crate::analysis::{Analysis, Ended, EndedAttempt, PhaseFacts, PhaseKey};
use crate::record::Outcome;

/// What phases are called.
pub(super) const PHASES: [&str; 2] = ["map", "reduce"];

#[derive(Debug, Default)]
pub(super) struct Collector {
    pub hosts: Hosts,
    pub causes: Causes,
    pub issues: Issues,
    pub counts: Counts,
    facts: HadoopFacts,
    failures: BTreeMap<Option<u16>, u64>,
    kills: BTreeMap<Option<u16>, u64>,
    analysis: Option<Analysis>,
    kept: Option<Kept>,
    /// Ids of jobs, and the file in which they were.
    seen: FxHashMap<Box<str>, u32>,
}

/// Of maps and reduces. Times in milliseconds since 1970.
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

/// What a replay needs. Times in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub jobs: Vec<KeptJob>,
    /// Attempts that are not their task's plain winner.
    pub attempts: Vec<KeptAttempt>,
    /// When attempts ran where, and in how many bytes.
    pub intervals: Vec<(Host, i64, i64, Option<f64>)>,
}

#[derive(Debug)]
pub(super) struct KeptJob {
    pub name: String,
    pub submitted: i64,
    pub phases: [KeptPhase; 2],
}

#[derive(Debug, Default)]
pub(super) struct KeptPhase {
    /// Durations of the winners, by task.
    pub seconds: Vec<f64>,
    /// Bytes of a container.
    pub memory: Option<f64>,
}

#[derive(Debug)]
pub(super) struct KeptAttempt {
    pub application: u32,
    pub phase: u32,
    pub task: u32,
    pub number: u32,
    pub host: Option<Host>,
    pub start: Option<i64>,
    pub finish: Option<i64>,
    pub speculative: bool,
    pub outcome: Outcome,
}

/// A phase's tasks while the job is taken in.
struct Phase {
    number: u32,
    tasks: Vec<(u32, Task)>,
}

impl Collector {
    /// One that counts, and tells an analysis or keeps what a replay needs if asked to.
    pub(super) fn new(analyse: bool, keep: bool) -> Collector {
        Collector { analysis: analyse.then(Analysis::new), kept: keep.then(Kept::default), ..Collector::default() }
    }

    /// Takes in a job that has ended, or of which the log holds no more.
    pub(super) fn take(&mut self, mut job: Job, source: &Source) {
        if let Some(id) = &job.id {
            match self.seen.entry(id.clone()) {
                // In one file, as tools fold traces, an id may come again.
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
        let application = self.counts.jobs as u32;
        self.counts.jobs += 1;
        self.about(&job);
        let phases = self.split(&mut job);
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
        self.analyse(application, &job, &phases, maps_ended);
        self.keep(application, &job, &phases, maps_ended);
    }

    /// Notes what is of the job as a whole.
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
        for &(kind, ended) in &job.nameless {
            if kind.phase().is_some() {
                self.issues.nameless += 1;
                self.ended(ended, None);
            } else {
                self.other(ended);
            }
        }
    }

    /// Takes the job's tasks apart into maps and reduces, by index, their copies found. Others are counted.
    fn split(&mut self, job: &mut Job) -> [Phase; 2] {
        let mut phases = [0, 1].map(|number| Phase { number, tasks: Vec::new() });
        let mut tasks: Vec<(TaskKey, Task)> = std::mem::take(&mut job.tasks).into_iter().collect();
        tasks.sort_unstable_by_key(|(key, _)| *key);
        for (key, mut task) in tasks {
            let Some(at) = key.kind.phase() else {
                for ended in task.attempts.iter().filter_map(|attempt| attempt.ended) {
                    self.other(ended);
                }
                continue;
            };
            task.find_copies();
            phases[at].tasks.push((key.index, task));
        }
        for phase in &mut phases {
            // Numbers far beyond those of the tasks are no indices to count by.
            let highest = phase.tasks.iter().map(|(index, _)| *index as usize).max();
            if highest.is_some_and(|highest| highest > 1024 + 4 * phase.tasks.len()) {
                for (number, (index, _)) in (0..).zip(&mut phase.tasks) {
                    *index = number;
                }
            }
        }
        phases
    }

    fn other(&mut self, ended: Ended) {
        let others = &mut self.facts.setup_and_cleanup;
        others.attempts += 1;
        match ended {
            Ended::Succeeded => {}
            Ended::Failed => others.failed += 1,
            Ended::Killed => others.killed += 1,
        }
    }

    fn ended(&mut self, ended: Ended, cause: Option<u16>) {
        self.counts.attempts += 1;
        match ended {
            Ended::Succeeded => {}
            Ended::Failed => {
                self.counts.failed += 1;
                *self.failures.entry(cause).or_insert(0) += 1;
            }
            Ended::Killed => {
                self.counts.killed += 1;
                *self.kills.entry(cause).or_insert(0) += 1;
            }
        }
    }

    /// Counts a phase's attempts and gives the number of its tasks that succeeded.
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
                self.ended(ended, attempt.cause);
                let speculative = attempt.marked == Some(true);
                self.counts.speculative += u64::from(speculative);
                self.facts.speculative_winners += u64::from(speculative && winner == Some(index));
                self.facts.killed_losers += u64::from(ended == Ended::Killed && winner.is_some());
                self.facts.outputs_lost += u64::from(attempt.output_lost);
                self.issues.startless += u64::from(attempt.start.is_none());
                match task.place(attempt, &self.hosts) {
                    Some(Place::Node) => places.data_local += 1,
                    Some(Place::Rack) => places.rack_local += 1,
                    Some(Place::Off) => places.off_switch += 1,
                    None => places.unknown += 1,
                }
            }
            let winner = winner.map(|index| &task.attempts[index]);
            self.counts.tasks += u64::from(any_ended);
            succeeded += u64::from(winner.is_some());
            if any_ended && winner.is_none() {
                self.issues.never_succeeded += 1;
            }
            self.issues.untimed += u64::from(winner.is_some_and(|winner| duration(winner, None).is_none()));
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

    /// Adds where the job's maps ran; where the log tells it of none, what the job itself has counted.
    fn located(&mut self, mut places: Locality, job: &Job) {
        let counted = job.counters.as_ref().map(Counters::local_maps).unwrap_or_default();
        let told = places.data_local + places.rack_local + places.off_switch > 0;
        if !told && counted.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) <= places.unknown {
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

    /// Tells the analysis of the job's attempts, in the order in which they ended.
    fn analyse(&mut self, application: u32, job: &Job, phases: &[Phase; 2], maps_ended: Option<i64>) {
        let Some(analysis) = &mut self.analysis else {
            return;
        };
        let seconds = |at: i64| at as f64 / 1000.0;
        let mut all: Vec<(&Phase, u32, &Attempt)> = Vec::new();
        for phase in phases.iter().filter(|phase| !phase.tasks.is_empty()) {
            let facts = PhaseFacts {
                name: Some(PHASES[phase.number as usize].to_owned()),
                job: Some(name(job, application)),
                tasks: Some(job.total[phase.number as usize].unwrap_or(phase.tasks.len() as u32)),
            };
            analysis.phase(PhaseKey { application, phase: phase.number }, facts);
            for (index, task) in &phase.tasks {
                all.extend(task.attempts.iter().filter(|a| a.ended.is_some()).map(|attempt| (phase, *index, attempt)));
            }
        }
        all.sort_by_key(|(_, _, attempt)| attempt.finish.or(attempt.start));
        for (phase, task, attempt) in all {
            let Some(ended) = attempt.ended else { continue };
            let start = match (phase.number, attempt.start, attempt.finish) {
                (1, Some(start), Some(finish)) => Some(work_began(start, finish, maps_ended)),
                (_, start, _) => start,
            };
            let told = EndedAttempt {
                task,
                node: attempt.host,
                start: start.map(seconds),
                end: attempt.finish.map(seconds),
                bytes_read: attempt.bytes_read,
                speculative: attempt.marked == Some(true),
                // An attempt whose output was lost counts as failed: the next one wins.
                repeated: false,
                ended,
            };
            analysis.ended(PhaseKey { application, phase: phase.number }, &told);
        }
        for phase in phases.iter().filter(|phase| !phase.tasks.is_empty()) {
            analysis.closed(PhaseKey { application, phase: phase.number });
        }
    }

    /// Keeps what a replay needs.
    fn keep(&mut self, application: u32, job: &Job, phases: &[Phase; 2], maps_ended: Option<i64>) {
        let Some(kept) = &mut self.kept else {
            return;
        };
        let mut of_job = KeptJob {
            name: name(job, application),
            submitted: 0,
            phases: [KeptPhase::default(), KeptPhase::default()],
        };
        let mut earliest: Option<i64> = None;
        for (phase, of_phase) in phases.iter().zip(&mut of_job.phases) {
            of_phase.memory = job.memory[phase.number as usize];
            let maps_ended = maps_ended.filter(|_| phase.number == 1);
            for (task, attempts) in &phase.tasks {
                let winner = attempts.winner();
                for (index, attempt) in attempts.attempts.iter().enumerate() {
                    let Some(ended) = attempt.ended else { continue };
                    if let (Some(host), Some(start), Some(finish)) = (attempt.host, attempt.start, attempt.finish) {
                        kept.intervals.push((host, start, finish.max(start), of_phase.memory));
                    }
                    let won = winner == Some(index);
                    if won && let Some(seconds) = duration(attempt, maps_ended) {
                        of_phase.seconds.push(seconds);
                        earliest = [earliest, attempt.start].into_iter().flatten().min();
                    }
                    let speculative = attempt.marked == Some(true);
                    if won && !speculative {
                        continue;
                    }
                    let winner_finish = winner.and_then(|winner| attempts.attempts[winner].finish);
                    let outcome = match (ended, winner) {
                        (Ended::Failed, _) => Outcome::Failed,
                        (Ended::Killed, None) => Outcome::Killed,
                        (Ended::Succeeded, _) if won => Outcome::Won,
                        (Ended::Succeeded, _) if winner_finish.is_some() && attempt.start >= winner_finish => {
                            Outcome::Repeated
                        }
                        _ => Outcome::Lost,
                    };
                    kept.attempts.push(KeptAttempt {
                        application,
                        phase: phase.number,
                        task: *task,
                        number: attempt.number,
                        host: attempt.host,
                        start: attempt.start,
                        finish: attempt.finish,
                        speculative,
                        outcome,
                    });
                }
            }
        }
        if let Some(submitted) = job.submitted.or(earliest).filter(|_| earliest.is_some()) {
            of_job.submitted = submitted;
            kept.jobs.push(of_job);
        }
    }

    /// What was found, once all is read.
    pub(super) fn facts(&self) -> HadoopFacts {
        let mut facts = self.facts.clone();
        let named = |counts: &BTreeMap<Option<u16>, u64>| {
            counts.iter().map(|(&cause, &count)| (self.causes.name(cause).to_owned(), count)).collect()
        };
        facts.failures = named(&self.failures);
        facts.kills = named(&self.kills);
        facts
    }

    pub(super) fn take_analysis(&mut self) -> Option<Analysis> {
        self.analysis.take()
    }

    pub(super) fn take_kept(&mut self) -> Kept {
        self.kept.take().unwrap_or_default()
    }
}

/// The job's id and name, for people.
fn name(job: &Job, number: u32) -> String {
    match (&job.id, &job.name) {
        (Some(id), Some(name)) => format!("{id} {name}"),
        (Some(id), None) => id.to_string(),
        (None, Some(name)) => format!("job {} {name}", number + 1),
        (None, None) => format!("job {}", number + 1),
    }
}

/// Seconds that an attempt worked, at least a millisecond; of a reduce, from the end of the last map.
fn duration(attempt: &Attempt, maps_ended: Option<i64>) -> Option<f64> {
    let (start, finish) = (attempt.start?, attempt.finish?);
    Some((finish - work_began(start, finish, maps_ended)).max(1) as f64 / 1000.0)
}
