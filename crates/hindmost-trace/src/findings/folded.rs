//! The finding of a phase that is complete.

use std::cmp::Ordering;

use hindmost_core::metrics::{PhaseFinding, Waiting};

use super::phase::{Phase, PhaseKey};
use super::tally::Tally;

/// The finding of a phase that is complete, and what is needed for those of its job.
#[derive(Debug)]
pub(super) struct Folded {
    /// The phase's finding. Its counts do not include attempts of later parts.
    pub finding: PhaseFinding,
    /// Counts of all attempts.
    pub tally: Tally,
    /// When the wait for the last 5% of the tasks began and ended, in seconds; `None` if no winner has known times.
    pub wait: Option<(f64, f64)>,
}

impl Folded {
    pub(super) fn of((application, number): PhaseKey, phase: Phase) -> Folded {
        let wait = phase.winners.wait();
        let finish = wait.map(|(_, finish)| finish);
        let span = phase.start.zip(finish).map_or(0.0, |(start, finish)| finish - start);
        let tally = phase.tally;
        Folded {
            finding: PhaseFinding {
                application,
                phase: number,
                tasks: tally.tasks,
                tasks_stated: phase.tasks,
                attempts: tally.attempts,
                speculation: tally.speculation,
                machine_time: tally.machine_time,
                start: phase.start,
                finish,
                durations: phase.winners.durations(),
                waiting: waiting(wait.map_or(0.0, |(from, to)| to - from), span),
                stragglers: phase.stragglers,
                skew: phase.skew,
                fit: phase.winners.fit(),
                name: phase.name,
                job: phase.job,
            },
            tally,
            wait,
        }
    }

    /// Orders phases by importance: the longer wait first, then the larger machine time.
    pub(super) fn importance(&self, other: &Folded) -> Ordering {
        let key = |folded: &Folded| (folded.finding.application, folded.finding.phase);
        let waited = |folded: &Folded| folded.finding.waiting.seconds;
        let work = |folded: &Folded| folded.finding.machine_time.total;
        waited(other)
            .total_cmp(&waited(self))
            .then(work(other).total_cmp(&work(self)))
            .then_with(|| key(self).cmp(&key(other)))
    }

    /// Returns the finding with the counts of all attempts.
    pub(super) fn into_finding(self) -> PhaseFinding {
        let Tally { tasks, attempts, speculation, machine_time } = self.tally;
        PhaseFinding { tasks, attempts, speculation, machine_time, ..self.finding }
    }
}

/// Returns a waiting time with its share of `span`. `seconds` and `span` are in seconds.
pub(super) fn waiting(seconds: f64, span: f64) -> Waiting {
    Waiting { seconds, share: (span > 0.0).then(|| (seconds / span).min(1.0)) }
}
