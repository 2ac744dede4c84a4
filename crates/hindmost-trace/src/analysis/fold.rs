//! Computes the findings of a phase that has ended.

use std::cmp::Ordering;

use hindmost_core::metrics::{PhaseFinding, Skew, Stragglers, Waiting};
use hindmost_math::statistics::median as median_of;

use super::attempts::Tally;
use super::nodes::{Blame, Nodes};
use super::phase::Phase;
use super::winners::Winner;
use super::{PhaseFacts, PhaseKey};

/// A task that took more than this many times the median is a straggler.
const STRAGGLER: f64 = 1.5;

/// The finding of a phase that is over, and the data that are needed to complete it.
#[derive(Debug)]
pub(super) struct Folded {
    /// The phase's finding. Its stragglers do not yet include those in `blame`, and its counts do not include attempts
    /// that ended after the folding.
    pub finding: PhaseFinding,
    /// Counts of all attempts, including those that ended after the folding.
    pub tally: Tally,
    /// Stragglers whose cause depends on which nodes turn out to be slow.
    pub blame: Blame,
    /// When the wait for the last 5% of the tasks began and ended, in seconds; `None` if no winner has known times.
    pub wait: Option<(f64, f64)>,
}

impl Folded {
    pub(super) fn of(key: PhaseKey, facts: PhaseFacts, mut phase: Phase, nodes: &mut Nodes) -> Folded {
        let wait = phase.winners.wait();
        let finish = wait.map(|(_, finish)| finish);
        let skew = phase.regression.skew();
        let elasticity = skew.filter(|skew| skew.explains).map(|skew: Skew| skew.elasticity);
        let durations = phase.winners.durations();
        let (stragglers, blame) = classify(&mut phase, durations.p50, elasticity);
        nodes.phase(key, observations(&mut phase, elasticity));
        let span = phase.start.zip(finish).map_or(0.0, |(start, finish)| finish - start);
        Folded {
            finding: PhaseFinding {
                application: key.application,
                phase: key.phase,
                name: facts.name,
                job: facts.job,
                tasks: phase.tally.tasks,
                tasks_stated: facts.tasks,
                attempts: phase.tally.attempts,
                speculation: phase.tally.speculation,
                machine_time: phase.tally.machine_time,
                start: phase.start,
                finish,
                durations,
                waiting: waiting(wait.map_or(0.0, |(from, to)| to - from), span),
                stragglers,
                skew,
                fit: phase.winners.fit(),
            },
            tally: phase.tally,
            blame,
            wait,
        }
    }

    /// Orders phases by importance: the longer wait first, then the larger machine time.
    pub(super) fn importance(&self, other: &Folded) -> Ordering {
        let key = |folded: &Folded| (folded.finding.application, folded.finding.phase);
        let waited = |folded: &Folded| folded.finding.waiting.seconds;
        // Uses the machine time at the folding, so that late attempts do not change which phases are kept.
        let work = |folded: &Folded| folded.finding.machine_time.total;
        waited(other)
            .total_cmp(&waited(self))
            .then(work(other).total_cmp(&work(self)))
            .then_with(|| key(self).cmp(&key(other)))
    }

    /// Returns the complete finding. `ratio_of` returns the slowness of a slow node, and `None` for other nodes.
    pub(super) fn into_finding(self, ratio_of: &dyn Fn(u32) -> Option<f64>) -> PhaseFinding {
        let mut finding = self.finding;
        self.blame.assign(&mut finding.stragglers, ratio_of);
        finding.tasks = self.tally.tasks;
        finding.attempts = self.tally.attempts;
        finding.speculation = self.tally.speculation;
        finding.machine_time = self.tally.machine_time;
        finding
    }
}

/// Returns a waiting time with its share of `span`. `seconds` and `span` are in seconds.
pub(super) fn waiting(seconds: f64, span: f64) -> Waiting {
    Waiting { seconds, share: (span > 0.0).then(|| (seconds / span).min(1.0)) }
}

/// Returns ln of the bytes that a winner read; `None` if it read none.
fn log_bytes(winner: &Winner) -> Option<f64> {
    winner.bytes.filter(|bytes| *bytes > 0).map(|bytes| (bytes as f64).ln())
}

/// Classifies stragglers by cause. Stragglers that a slow node may explain are returned as [`Blame`], because the slow
/// nodes are known only at the end.
fn classify(phase: &mut Phase, median: Option<f64>, elasticity: Option<f64>) -> (Stragglers, Blame) {
    let (mut stragglers, mut blame) = (Stragglers::default(), Blame::default());
    let Some(median) = median else { return (stragglers, blame) };
    // A median of 0 is a duration below the clock's resolution; half the resolution is used instead.
    let typical = median.max(phase.winners.resolution() / 2.0);
    let (count, known) = phase.winners.longer(STRAGGLER * typical);
    let mut bytes: Vec<f64> = phase.winners.sample().iter().filter_map(log_bytes).collect();
    let typical_bytes = median_of(&mut bytes);
    stragglers.tasks = count;
    stragglers.unclassified = count - known.len() as u64;
    for winner in &known {
        stragglers.excess_seconds += winner.seconds - median;
        let excess = (winner.seconds / typical).ln();
        let explained = match (elasticity, log_bytes(winner), typical_bytes) {
            (Some(elasticity), Some(bytes), Some(typical)) => (elasticity * (bytes - typical)).max(0.0),
            _ => 0.0,
        };
        if explained >= excess / 2.0 {
            stragglers.skew += 1;
        } else if let Some(node) = winner.node {
            blame.push(node, (excess - explained) / 2.0);
        } else {
            stragglers.other += 1;
        }
    }
    (stragglers, blame)
}

/// Returns, for each sampled task, ln of its duration minus the part that its input explains, and its node. If a
/// speculative copy won the task, the duration and the node of the original are used; if these are unknown, the task is
/// left out.
fn observations(phase: &mut Phase, elasticity: Option<f64>) -> Vec<(f64, u32)> {
    let tick = phase.winners.resolution();
    let overtaken = std::mem::take(&mut phase.overtaken);
    let observed = phase.winners.sample().iter().filter_map(|winner| {
        let (node, seconds) =
            if winner.speculative { *overtaken.get(&winner.task)? } else { (winner.node, winner.seconds) };
        let log = seconds.max(tick / 2.0).ln();
        Some((log - elasticity.map_or(Some(0.0), |elasticity| Some(elasticity * log_bytes(winner)?))?, node?))
    });
    observed.collect()
}
