//! Generates logs of phases whose durations have a known distribution.

use hindmost_core::metrics::{Findings, PhaseFinding};
use hindmost_core::random::{Purpose, draw};
use hindmost_math::distribution::Distribution;
use hindmost_trace::analysis::{Analysis, Ended, EndedAttempt, PhaseKey};

pub const fn phase(phase: u32) -> PhaseKey {
    PhaseKey { application: 0, phase }
}

/// Returns an attempt that succeeded, from `start` to `end` in seconds.
pub fn succeeded(task: u32, start: f64, end: f64) -> EndedAttempt {
    EndedAttempt {
        task,
        node: None,
        start: Some(start),
        end: Some(end),
        bytes_read: None,
        speculative: false,
        repeated: false,
        ended: Ended::Succeeded,
    }
}

/// A cluster with nodes of different speed, and tasks with different inputs.
pub struct World {
    pub nodes: u32,
    pub durations: Distribution,
    /// How many times as long tasks take on each node.
    pub slowness: fn(u32) -> f64,
    /// Distribution of the bytes that tasks read, and the elasticity of durations with respect to them.
    pub bytes: Option<(Distribution, f64)>,
    pub seed: u64,
}

impl World {
    pub fn new(nodes: u32, durations: Distribution) -> World {
        World { nodes, durations, slowness: |_| 1.0, bytes: None, seed: 1 }
    }

    /// Returns the attempts of a phase with `tasks` tasks, assigned to the nodes in turn. Durations are multiplied by
    /// `scale`.
    pub fn attempts(&self, key: PhaseKey, tasks: u32, scale: f64) -> Vec<EndedAttempt> {
        let drawn = |purpose, task: u32| draw(self.seed, purpose, u64::from(key.phase), u64::from(task));
        let attempts = (0..tasks).map(|task| {
            let node = task % self.nodes;
            let bytes = self.bytes.as_ref().map(|(bytes, elasticity)| {
                let drawn = bytes.survival_quantile(drawn(Purpose::Parameter, task)).round();
                (drawn as u64, (drawn / bytes.mean()).powf(*elasticity))
            });
            let own = self.durations.survival_quantile(drawn(Purpose::Duration, task));
            let seconds = own * scale * (self.slowness)(node) * bytes.map_or(1.0, |(_, factor)| factor);
            let start = f64::from(task / self.nodes) * scale;
            let mut attempt = succeeded(task, start, start + (seconds * 1000.0).round() / 1000.0);
            attempt.node = Some(node);
            attempt.bytes_read = bytes.map(|(bytes, _)| bytes);
            attempt
        });
        attempts.collect()
    }

    /// Returns the findings of `phases` phases with `tasks` tasks each. The phases differ in their mean durations.
    pub fn findings(&self, phases: u32, tasks: u32) -> Findings {
        let mut analysis = Analysis::new();
        for number in 0..phases {
            for attempt in self.attempts(phase(number), tasks, f64::from(3u32.pow(number % 5))) {
                analysis.ended(phase(number), &attempt);
            }
            analysis.closed(phase(number));
        }
        analysis.findings(&|node| format!("h{node}"))
    }
}

/// Returns the findings of attempts of one phase, and the finding of that phase.
pub fn of_phase(attempts: &[EndedAttempt]) -> (Findings, PhaseFinding) {
    let mut analysis = Analysis::new();
    for attempt in attempts {
        analysis.ended(phase(0), attempt);
    }
    let findings = analysis.findings(&|node| format!("h{node}"));
    let only = findings.phases[0].clone();
    (findings, only)
}

pub fn log_normal(mean: f64, cv: f64) -> Distribution {
    Distribution::log_normal(mean, cv).unwrap()
}
