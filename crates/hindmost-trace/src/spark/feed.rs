//! Passes attempts to an analysis and to a recorder as they end.

use rustc_hash::FxHashMap;

use super::reasons::of_failure;
use super::recorder::Recorder;
use super::stage::{Found, Stage};
use super::task_end::{End, Metrics, TaskEnd, TaskInfo};
use crate::analysis::{Analysis, Ended, EndedAttempt, Findings, PhaseFacts, PhaseKey};
use crate::reading::causes::shortened;

/// The largest number of characters of a stage's name.
const LONGEST: usize = 120;

/// The analysis, and the numbers of its machines.
#[derive(Debug, Default)]
pub(super) struct Feed {
    analysis: Analysis,
    machines: FxHashMap<Box<str>, u32>,
    /// Records everything for a diagnosis.
    pub recorder: Recorder,
    /// Number of the current application.
    application: u32,
    /// Prefix of the names of the current application's jobs.
    prefix: String,
    #[cfg(test)]
    pub reported: Vec<Reported>,
}

/// What the analysis received; for tests.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reported {
    Phase(PhaseKey, PhaseFacts),
    Ended(PhaseKey, EndedAttempt),
    Closed(PhaseKey),
}

impl Feed {
    pub(super) fn new(recorder: Recorder) -> Feed {
        Feed { recorder, ..Feed::default() }
    }

    /// Begins another application.
    pub(super) fn application(&mut self, number: u32, prefix: String) {
        self.application = number;
        self.prefix = prefix;
    }

    fn key(&self, stage: u32) -> PhaseKey {
        PhaseKey { application: self.application, phase: stage }
    }

    /// Passes the facts about a stage to the analysis, unless that has happened before.
    pub(super) fn introduce(&mut self, id: u32, stage: &mut Stage) {
        if stage.introduced {
            return;
        }
        stage.introduced = true;
        let facts = PhaseFacts {
            name: Some(phase_name(id, stage.name.as_deref())),
            job: stage.job_name.as_ref().map(|name| format!("{}{name}", self.prefix)),
            tasks: stage.size,
        };
        #[cfg(test)]
        self.reported.push(Reported::Phase(self.key(id), facts.clone()));
        self.recorder.introduce(id, &facts);
        self.analysis.phase(self.key(id), facts);
    }

    pub(super) fn ended<M: Metrics>(
        &mut self,
        (stage, task): (u32, u32),
        event: &TaskEnd<'_, M>,
        info: &TaskInfo<'_>,
        executor: Option<u32>,
        (end, found): (End, Found),
    ) {
        let seconds = |milliseconds: i64| milliseconds as f64 / 1000.0;
        let attempt = EndedAttempt {
            task,
            node: self.machine(info.host.get()),
            start: info.launch.instant().map(seconds),
            end: info.finish.instant().map(seconds),
            bytes_read: event.metrics.bytes_read(),
            speculative: info.speculative.0,
            repeated: found.repeated,
            ended: match end {
                End::Success => Ended::Succeeded,
                End::Failed => Ended::Failed,
                End::Killed => Ended::Killed,
            },
        };
        #[cfg(test)]
        self.reported.push(Reported::Ended(self.key(stage), attempt));
        self.recorder.ended(stage, &attempt, executor, event.metrics.times(info), found.wins);
        if attempt.ended == Ended::Failed {
            self.recorder.failed(&of_failure(event.reason.as_ref()), &attempt);
        }
        self.analysis.ended_as(self.key(stage), &attempt, Some(found.wins));
    }

    /// Returns a machine's number by its host. All executors of a host are one machine.
    fn machine(&mut self, host: Option<&str>) -> Option<u32> {
        let host = host.filter(|host| !host.is_empty())?;
        if let Some(&machine) = self.machines.get(host) {
            return Some(machine);
        }
        let machine = self.machines.len() as u32;
        self.machines.insert(host.into(), machine);
        Some(machine)
    }

    /// Closes a stage in the analysis, unless it is closed already.
    pub(super) fn close(&mut self, id: u32, stage: &mut Stage) {
        if !stage.closed {
            self.introduce(id, stage);
            stage.closed = true;
            self.close_all(&[id]);
        }
    }

    /// Closes stages in the analysis.
    pub(super) fn close_all(&mut self, ids: &[u32]) {
        for &id in ids {
            #[cfg(test)]
            self.reported.push(Reported::Closed(self.key(id)));
            self.analysis.closed(self.key(id));
        }
    }

    /// Returns the findings, and the recorder.
    pub(super) fn findings(self) -> (Findings, Recorder) {
        let mut names = vec![""; self.machines.len()];
        for (name, &machine) in &self.machines {
            names[machine as usize] = name;
        }
        let name = |machine: u32| names.get(machine as usize).copied().unwrap_or_default().to_owned();
        (self.analysis.findings(&name), self.recorder)
    }
}

/// Returns the name of a stage as a phase.
pub(super) fn phase_name(id: u32, name: Option<&str>) -> String {
    match name.map(|name| shortened(name, LONGEST)).filter(|name| !name.is_empty()) {
        Some(name) => format!("stage {id}: {name}"),
        None => format!("stage {id}"),
    }
}
