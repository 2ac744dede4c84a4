//! What a live run learns while it goes on: how long the copies of a phase take, and which nodes are slow.
//!
//! Nobody tells a live run how long its tasks take. Winners' durations do, and before them what the
//! progress of running attempts foretells; earlier runs of the job, where they are given, come first.
//! What is learned becomes an event, so that policies see nothing that is not in the journal.
//!
//! Readings:
//! - Until enough copies have told (a tenth of the phase's tasks, at least two and at most five), durations are unknown and rules
//!   that compare them leave the phase alone. Then they are learned anew each time a quarter more have
//!   told.
//! - Policies get a Pareto distribution of the mean and spread that were seen, with a tail index of at
//!   most 3: stragglers are rare, and a few even tasks do not prove that there are none.
//! - A node is slow if of the last attempts on it (two at least, or one that goes at less than a third of its
//!   phase's pace for as long as the median copy takes) the median went through its work at
//!   less than two thirds of its phase's pace, and of that of the other nodes; otherwise its speed counts as 1: where all
//!   nodes are behind, the tasks are longer and no node is slow. One that has been slow
//!   is given another chance once nothing has been heard of it for ten medians, at least ten seconds.
//!
//! Invariant: an event is returned only if it says something else than the last one.

mod durations;
mod speeds;
#[cfg(test)]
mod tests;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::record::Event;

use durations::PhaseSamples;
use speeds::{NodeSamples, node_paces, relative_paces};

/// Age, in medians, below which a running attempt says nothing of its node.
const TELLING_AGE: f64 = 0.1;

/// An attempt, as it bears on what is learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) attempt: AttemptId,
    pub(super) node: NodeId,
    /// Seconds since its start.
    pub(super) age: f64,
    /// Share of its work that it has done, where it tells.
    pub(super) progress: Option<f64>,
    /// False if that foretells no duration: it stands still, or seems to have done all.
    pub(super) foretells: bool,
}

/// Learns durations and speeds. See the module's documentation.
pub(super) struct Learner {
    phases: Vec<PhaseSamples>,
    nodes: Vec<NodeSamples>,
    /// Share of the work after which progress foretells a duration.
    telling_share: f64,
    /// True if something was seen since [`Learner::take_due`] was last called.
    is_due: bool,
}

impl Learner {
    /// For a job on so many nodes; `history` holds the durations of earlier runs by phase, seconds.
    pub(super) fn new(nodes: usize, telling_share: f64, history: Vec<Vec<f64>>) -> Learner {
        let phases = history.into_iter().map(PhaseSamples::new).collect();
        Learner { phases, nodes: vec![NodeSamples::default(); nodes], telling_share, is_due: false }
    }

    /// Something was seen that may tell more.
    pub(super) fn look_again(&mut self) {
        self.is_due = true;
    }

    /// Returns whether something was seen since the last call.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Takes what an earlier process had learned from its journal.
    pub(super) fn recall(&mut self, event: &Event) {
        match event {
            Event::DurationsLearned { phase, median, progress, samples, .. } => {
                if let Some(known) = self.phases.get_mut(*phase as usize) {
                    known.recall(*median, *progress, *samples);
                }
            }
            Event::NodeSpeedLearned { node, speed } => {
                if let Some(known) = self.nodes.get_mut(node.0 as usize) {
                    known.speed = *speed;
                }
            }
            _ => {}
        }
    }

    fn phase(&mut self, phase: u32) -> &mut PhaseSamples {
        &mut self.phases[phase as usize]
    }

    /// Seconds that half of a phase's copies do not exceed, where that is known.
    pub(super) fn median(&self, phase: u32) -> Option<f64> {
        self.phases.get(phase as usize)?.median
    }

    /// Seconds after which half of a phase's attempts have told their first progress.
    pub(super) fn first_report(&self, phase: u32) -> Option<f64> {
        middle_of(&self.phases.get(phase as usize)?.first_reports)
    }

    /// Share of the work that half of a phase's attempts told first.
    pub(super) fn first_share(&self, phase: u32) -> Option<f64> {
        middle_of(&self.phases.get(phase as usize)?.first_shares)
    }

    /// True if a phase's commands read their input first and work then, so that reading is no progress.
    pub(super) fn reads_first(&self, phase: u32) -> bool {
        self.phases.get(phase as usize).is_some_and(|known| known.reads_first)
    }

    /// An attempt has told its first progress.
    pub(super) fn first_progress(&mut self, phase: u32, age: f64, share: f64) {
        self.phase(phase).first_progress(age, share);
        self.look_again();
    }

    /// What seemed to be the progress of a phase's attempts is none.
    pub(super) fn no_progress(&mut self, phase: u32) {
        self.phase(phase).no_progress();
        self.look_again();
    }

    /// An attempt tells nothing of its progress. That it still runs says something of its node, once its phase's other
    /// attempts would have ended.
    pub(super) fn silent(&mut self, phase: u32, age: f64) {
        self.is_due |= self.median(phase).is_some_and(|median| age > median);
    }

    /// A task has its winner.
    pub(super) fn won(&mut self, seen: &Observed) {
        let seconds = seen.age * self.speed(seen.node);
        self.phase(seen.attempt.task.phase).finished.push(seconds);
        self.ended(&Observed { progress: Some(1.0), ..*seen });
    }

    /// An attempt has ended, having done what it had.
    pub(super) fn ended(&mut self, seen: &Observed) {
        let paces = self.evidence(seen);
        if let Some(node) = self.nodes.get_mut(seen.node.0 as usize) {
            node.ended(paces);
        }
    }

    fn speed(&self, node: NodeId) -> f64 {
        self.nodes.get(node.0 as usize).map_or(1.0, |node| node.speed)
    }

    /// What an attempt says of its node: its paces, relative to its phase's median.
    fn evidence(&self, seen: &Observed) -> Vec<f64> {
        self.phases.get(seen.attempt.task.phase as usize).map(|phase| phase.evidence(seen)).unwrap_or_default()
    }

    /// What has been learned since the last time, as events.
    pub(super) fn learned(&mut self, cluster: &Cluster, job: JobId, running: &[Observed]) -> Vec<Event> {
        let mut events = Vec::new();
        for phase in 0..self.phases.len() as u32 {
            let foretold = self.foretold(phase, running);
            let unfinished = cluster.job(job).and_then(|job| job.phases().get(phase as usize));
            if let Some(unfinished) = unfinished.filter(|phase| !phase.is_finished()) {
                events.extend(self.phase(phase).learned(job, phase, unfinished.tasks().len(), &foretold));
            }
        }
        let paces = node_paces(&self.nodes, running.iter().map(|seen| (seen.node, self.evidence(seen))));
        let mut is_heard = vec![false; self.nodes.len()];
        for seen in running {
            is_heard[seen.node.0 as usize] = true;
        }
        let longest = self.phases.iter().filter_map(|phase| phase.median).fold(0.0, f64::max);
        for (at, pace) in relative_paces(&paces).into_iter().enumerate() {
            let speed = self.nodes[at].learned(pace, cluster.now(), is_heard[at], longest);
            events.extend(speed.map(|speed| Event::NodeSpeedLearned { node: NodeId(at as u32), speed }));
        }
        events
    }

    /// The durations that the progress of a phase's running attempts foretells, seconds on a node of speed 1.
    fn foretold(&self, phase: u32, running: &[Observed]) -> Vec<f64> {
        let of_phase = running.iter().filter(|seen| seen.attempt.task.phase == phase && seen.foretells);
        let foretold = of_phase.filter_map(|seen| {
            let progress = seen.progress.filter(|share| *share > 0.0 && *share >= self.telling_share)?;
            Some(seen.age / progress * self.speed(seen.node))
        });
        foretold.collect()
    }
}

/// The median of sorted values: of an even number the mean of the middle two.
fn middle_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    Some(f64::midpoint(values[(values.len() - 1) / 2], upper))
}

fn middle_of(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    middle_of_sorted(&values)
}
