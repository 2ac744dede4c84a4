//! Generates recordings of phases whose durations have a known distribution.

use hindmost_core::metrics::{Findings, PhaseFinding};
use hindmost_core::random::{Purpose, draw};
use hindmost_math::distribution::Distribution;

use crate::recorder::{Recorder, Wanted};
use crate::recording::{AttemptRow, Ended, Executor, PhaseRows, Recording, UNKNOWN};
use crate::testing::{self, row};

/// Returns an attempt that succeeded, from `start` to `end` in seconds.
pub fn succeeded(task: u32, start: f64, end: f64) -> AttemptRow {
    row(task, UNKNOWN, start, end)
}

/// Returns a phase with these attempts, of which the first success of each task wins.
pub fn phase(number: u32, mut rows: Vec<AttemptRow>) -> PhaseRows {
    let mut won = std::collections::BTreeSet::new();
    for row in &mut rows {
        row.wins = row.ended == Ended::Succeeded && !row.repeated && won.insert(row.task);
    }
    let without_times = rows.extract_if(.., |row| !row.has_times()).collect();
    PhaseRows { phase: number, without_times, ..testing::phase(rows) }
}

/// Returns an application of these phases.
pub fn recording(application: u32, phases: Vec<PhaseRows>) -> Recording {
    let rows = phases.iter().flat_map(|phase| &phase.rows).filter(|row| row.executor != UNKNOWN);
    let nodes = rows.map(|row| row.executor + 1).max().unwrap_or(0);
    let executors = (0..nodes).map(|node| Executor { host: format!("h{node}"), ..Executor::default() });
    let executors = executors.collect();
    let (phases, without_times) = phases.into_iter().partition(|phase: &PhaseRows| !phase.rows.is_empty());
    Recording { application, without_times, ..testing::recording(phases, executors) }
}

/// Returns the findings of applications.
pub fn findings(recordings: &[Recording]) -> Findings {
    let mut recorder = Recorder::new(Wanted::DIAGNOSES);
    recordings.iter().cloned().for_each(|recording| recorder.add(recording));
    recorder.into_parts().0
}

/// Returns the findings of attempts of one phase, and the finding of that phase.
pub fn of_phase(attempts: &[AttemptRow]) -> (Findings, PhaseFinding) {
    let findings = findings(&[recording(0, vec![phase(0, attempts.to_vec())])]);
    let only = findings.phases[0].clone();
    (findings, only)
}

/// A cluster with nodes of different speed.
pub struct World {
    pub nodes: u32,
    pub durations: Distribution,
    /// How many times as long tasks take on each node.
    pub slowness: fn(u32) -> f64,
    pub seed: u64,
}

impl World {
    pub fn new(nodes: u32, durations: Distribution) -> World {
        World { nodes, durations, slowness: |_| 1.0, seed: 1 }
    }

    /// Returns the attempts of a phase with `tasks` tasks, each of which goes to the node that is free first.
    pub fn attempts(&self, number: u32, tasks: u32) -> Vec<AttemptRow> {
        let mut free = vec![0.0_f64; self.nodes as usize];
        let attempts = (0..tasks).map(|task| {
            let node = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
            let drawn = draw(self.seed, Purpose::Duration, u64::from(number), u64::from(task));
            let seconds = self.durations.survival_quantile(drawn) * (self.slowness)(node as u32);
            let start = free[node];
            free[node] = start + (seconds * 1000.0).round() / 1000.0;
            AttemptRow { executor: node as u32, ..succeeded(task, start, free[node]) }
        });
        attempts.collect()
    }
}

pub fn log_normal(mean: f64, cv: f64) -> Distribution {
    Distribution::log_normal(mean, cv).unwrap()
}
