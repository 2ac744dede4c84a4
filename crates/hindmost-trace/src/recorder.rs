//! Takes what a reader records of each application of a log, and keeps of it what a command wants: findings and diagnoses, recordings for
//! replays, or both.

use hindmost_core::metrics::{Diagnosis, Findings};

use crate::diagnosing::Diagnosing;
use crate::diagnosis::diagnose_with;
use crate::findings::Gathering;
use crate::joined::Joined;
use crate::recording::{RecordedRun, Recording};

/// The most diagnoses that are kept of a log that is read row by row.
const MOST_DIAGNOSES: usize = 5000;

/// What a command wants of a log, besides its counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Whether findings and diagnoses are wanted.
    pub diagnoses: bool,
    /// Whether the diagnoses say what durations depend on, and have the slots over time. That takes a quarter of the time of many small
    /// jobs, and half of the memory.
    pub details: bool,
    /// Which applications may be replayed.
    pub replays: Replays,
}

/// The applications of a log whose recordings are kept for replays.
#[derive(Clone, Copy, Debug, Default)]
pub enum Replays {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// Those that took longest.
    Longest(Longest),
}

/// Which of the applications that took longest may be replayed.
#[derive(Clone, Copy, Debug)]
pub struct Longest {
    /// How many.
    pub applications: usize,
    /// The most tasks of each.
    pub tasks: u64,
    /// The most tasks of all together; `None` for any number.
    pub together: Option<u64>,
    /// Whether a replay of an application can say anything, by its diagnosis.
    pub is_worth: fn(&Diagnosis) -> bool,
}

impl Wanted {
    /// Findings and diagnoses only.
    pub const DIAGNOSES: Wanted = Wanted { diagnoses: true, details: true, replays: Replays::None };
    /// Findings, and diagnoses without details.
    pub const BRIEF_DIAGNOSES: Wanted = Wanted { details: false, ..Wanted::DIAGNOSES };
    /// Replays of all applications only.
    pub const REPLAYS: Wanted = Wanted { diagnoses: false, details: true, replays: Replays::All };
}

/// What is kept of a log for replays.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Number of applications, kept or not.
    pub applications: usize,
    /// The recordings that are kept. If only those of the longest applications are, these come first while the log is read.
    pub recordings: Vec<Recording>,
    /// The machines in the order in which the log names them, if that matters for a replay.
    pub machines: Vec<String>,
    /// Warnings about what is left out of replays, or repaired for them.
    pub about: Vec<String>,
    /// The run of a journal.
    pub run: Option<RecordedRun>,
    /// All jobs of a log that is read row by row, together.
    pub joined: Option<Joined>,
}

/// Takes the recordings of the applications of a log.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub wanted: Wanted,
    gathering: Gathering,
    diagnoses: Vec<Diagnosis>,
    /// Diagnoses applications while more of the log is read.
    diagnosing: Diagnosing,
    /// Number of diagnoses that were dropped, because there are too many.
    pub undiagnosed: u64,
    pub kept: Kept,
}

impl Recorder {
    pub(crate) fn new(wanted: Wanted) -> Recorder {
        Recorder { wanted, diagnosing: Diagnosing::new(wanted.details), ..Recorder::default() }
    }

    /// Whether any application may be replayed.
    pub(crate) fn wants_replays(&self) -> bool {
        !matches!(self.wanted.replays, Replays::None)
    }

    /// Adds an application that is complete.
    pub(crate) fn add(&mut self, recording: Recording) {
        self.kept.applications += 1;
        let mut is_worth = true;
        if self.wanted.diagnoses {
            self.gathering.add(&recording);
            let diagnosis = diagnose_with(&recording, self.wanted.details);
            self.gathering.explain(&diagnosis);
            let jobs = recording.phases.iter().chain(&recording.without_times).map(|phase| phase.of_job);
            self.gathering.complete(recording.application, jobs);
            if let Replays::Longest(longest) = self.wanted.replays {
                is_worth = (longest.is_worth)(&diagnosis);
            }
            self.diagnoses.push(diagnosis);
        }
        if is_worth && self.keeps(seconds(&recording), tasks(&recording)) {
            self.keep(recording);
        }
    }

    /// Attempts that are not in the durations, waits and tails of their phases.
    pub(crate) fn late(&self) -> u64 {
        self.gathering.late()
    }

    /// Adds a part of an application to the findings.
    pub(crate) fn gather(&mut self, recording: &Recording) {
        self.gathering.add(recording);
    }

    /// Diagnoses an application that was added to the findings, now or while more of the log is read.
    pub(crate) fn diagnose_meanwhile(&mut self, recording: Recording) {
        let found = self.diagnosing.add(recording);
        self.take(found);
    }

    /// Whether an application that took so long and has so many tasks is kept for a replay.
    pub(crate) fn keeps(&self, took: f64, of_tasks: u64) -> bool {
        match self.wanted.replays {
            Replays::None => false,
            Replays::All => true,
            Replays::Longest(longest) => {
                let is_longer = |last: &Recording| took > seconds(last);
                of_tasks <= longest.tasks
                    && (self.kept.recordings.len() < longest.applications
                        || self.kept.recordings.last().is_some_and(is_longer))
            }
        }
    }

    /// Keeps an application for a replay.
    pub(crate) fn keep(&mut self, recording: Recording) {
        let Replays::Longest(longest) = self.wanted.replays else {
            self.kept.recordings.push(recording);
            return;
        };
        let took = seconds(&recording);
        let place = self.kept.recordings.partition_point(|one| seconds(one) >= took);
        self.kept.recordings.insert(place, recording);
        self.kept.recordings.truncate(longest.applications);
        let mut sum = 0;
        // Of a log that is read row by row it is not known yet whether replays are worth while.
        if let Some(together) = longest.together.filter(|_| !self.diagnosing.is_used()) {
            self.kept.recordings.retain(|one| {
                sum += tasks(one);
                sum <= together
            });
        }
    }

    /// Drops the recording of an application, which turned out to be incomplete.
    pub(crate) fn forget(&mut self, application: u32) {
        self.kept.recordings.retain(|one| one.application != application);
    }

    /// Takes diagnoses that were found meanwhile.
    fn take(&mut self, found: Vec<Diagnosis>) {
        for one in &found {
            self.gathering.explain(one);
        }
        self.diagnoses.extend(found);
        if self.diagnoses.len() >= MOST_DIAGNOSES + MOST_DIAGNOSES / 10 {
            self.drop_diagnoses();
        }
    }

    /// Keeps the longest diagnoses.
    fn drop_diagnoses(&mut self) {
        if self.diagnoses.len() <= MOST_DIAGNOSES {
            return;
        }
        let wall = |one: &Diagnosis| one.wall_time.as_ref().map_or(0.0, |time| time.seconds);
        self.diagnoses.sort_by(|a, b| wall(b).total_cmp(&wall(a)).then(a.application.cmp(&b.application)));
        for one in self.diagnoses.drain(MOST_DIAGNOSES..) {
            self.gathering.dropped(&one);
            self.undiagnosed += 1;
        }
    }

    /// Waits for the diagnoses that are still to be found.
    pub(crate) fn finish(&mut self) {
        if self.diagnosing.is_used() {
            let found = self.diagnosing.end();
            self.take(found);
            self.drop_diagnoses();
            self.diagnoses.sort_by_key(|one| one.application);
        }
    }

    /// Returns the findings, the diagnoses and what is kept for replays, in the order of the applications.
    pub(crate) fn into_parts(mut self) -> (Findings, Vec<Diagnosis>, Kept) {
        self.kept.recordings.sort_by_key(|one| one.application);
        (self.gathering.findings(&self.diagnoses), self.diagnoses, self.kept)
    }
}

/// Wall time of an application, in seconds.
pub(crate) fn seconds(recording: &Recording) -> f64 {
    recording.span().map_or(0.0, |(from, to)| to - from)
}

/// Number of tasks of an application that finished.
fn tasks(recording: &Recording) -> u64 {
    recording.phases.iter().map(|phase| phase.winners().count() as u64).sum()
}
