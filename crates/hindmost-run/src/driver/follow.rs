//! What whoever watches a run is told while it goes on.

use std::time::Duration;

use hindmost_core::metrics::PhaseProgress;
use hindmost_core::time::Time;

use super::{Driver, JOB};

/// Is told how a run goes.
pub trait Follower {
    /// How far its phases have got.
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration);

    /// How many attempts run on each node.
    fn nodes(&mut self, _running: &[(String, u64)]) {}

    /// Something worth a line: a failure, a node that is lost.
    fn message(&mut self, line: &str);
}

/// Follows nothing.
pub struct Unfollowed;

impl Follower for Unfollowed {
    fn phases(&mut self, _phases: &[PhaseProgress], _elapsed: Duration) {}

    fn message(&mut self, _line: &str) {}
}

/// What is counted of a phase while it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) copies_started: u64,
    pub(super) copies_won: u64,
    pub(super) killed: u64,
    pub(super) failed: u64,
}

/// Time between two looks, seconds.
const LOOK: f64 = 0.1;

impl Driver<'_> {
    pub(super) fn follow(&mut self) {
        let now = self.engine.now();
        if now >= self.followed + Time::from_seconds(LOOK) {
            self.followed = now;
            self.follow_now();
        }
    }

    pub(super) fn follow_now(&mut self) {
        let mut done = vec![0.0; self.plan.phases.len()];
        for (attempt, live) in &self.live {
            let newest = self.cluster.copies(attempt.task).next().is_some_and(|copy| copy.id() == *attempt);
            if let Some(share) = done.get_mut(attempt.task.phase as usize).filter(|_| newest) {
                *share += live.progress.share;
            }
        }
        let job = self.cluster.job(JOB);
        let phases: Vec<PhaseProgress> = (0..self.plan.phases.len())
            .map(|at| {
                let (planned, counts) = (&self.plan.phases[at], &self.counts[at]);
                let tasks = u64::from(planned.tasks);
                // A job that is gone has finished.
                let phase = job.and_then(|job| job.phases().get(at));
                let (finished, started, alive) = phase.map_or((tasks, 0, 0), |phase| {
                    let unfinished = u64::from(phase.unfinished());
                    (tasks - unfinished, unfinished - u64::from(phase.pending()), u64::from(phase.alive()))
                });
                PhaseProgress {
                    name: planned.name.clone(),
                    tasks,
                    finished,
                    running: started,
                    copies: alive.saturating_sub(started),
                    copies_started: counts.copies_started,
                    copies_won: counts.copies_won,
                    killed: counts.killed,
                    failed: counts.failed,
                    progress: ((finished as f64 + done[at]) / tasks as f64).min(1.0),
                    waiting: phase.is_some_and(|phase| !phase.is_open()),
                }
            })
            .collect();
        let nodes = self.cluster.nodes().iter().map(|node| (node.name().to_string(), node.attempts() as u64));
        self.follower.nodes(&nodes.collect::<Vec<_>>());
        self.follower.phases(&phases, Duration::from_nanos(self.engine.now().0));
    }
}
