//! The finding of a phase that is complete.

use std::cmp::Ordering;

use hindmost_core::metrics::{PhaseFinding, Waiting};

use super::phase::{Phase, PhaseKey};
use super::tally::Tally;

/// A phase that is complete, and what is needed for the findings of its job. Most phases are not important enough for a finding of
/// their own, so that their durations are looked at only in the end.
#[derive(Debug)]
pub(super) struct Folded {
    /// Number of the application.
    pub application: u32,
    /// Number of the phase.
    number: u32,
    /// The phase. Its counts do not include attempts of later parts.
    pub phase: Phase,
    /// Counts of all attempts.
    pub tally: Tally,
    /// When the wait for the last 5% of the tasks began and ended, in seconds; `None` if no winner has known times.
    pub wait: Option<(f64, f64)>,
}

impl Folded {
    pub(super) fn of((application, number): PhaseKey, phase: Phase) -> Folded {
        Folded { application, number, tally: phase.tally, wait: phase.winners.wait(), phase }
    }

    /// When its last task was finished.
    pub(super) fn finish(&self) -> Option<f64> {
        self.wait.map(|(_, finish)| finish)
    }

    /// For how long it waited, in seconds.
    fn waited(&self) -> f64 {
        self.wait.map_or(0.0, |(from, to)| to - from)
    }

    /// Orders phases by importance: the longer wait first, then the larger machine time.
    pub(super) fn importance(&self, other: &Folded) -> Ordering {
        let key = |folded: &Folded| (folded.application, folded.number);
        let work = |folded: &Folded| folded.phase.tally.machine_time.total;
        other
            .waited()
            .total_cmp(&self.waited())
            .then(work(other).total_cmp(&work(self)))
            .then_with(|| key(self).cmp(&key(other)))
    }

    /// Returns the finding with the counts of all attempts.
    pub(super) fn into_finding(self) -> PhaseFinding {
        let finish = self.finish();
        let span = self.phase.start.zip(finish).map_or(0.0, |(start, finish)| finish - start);
        let waiting = waiting(self.waited(), span);
        let Folded { application, number, phase, tally, .. } = self;
        PhaseFinding {
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
            waiting,
            stragglers: phase.stragglers,
            skew: phase.skew,
            fit: phase.winners.fit(),
            name: phase.name,
            job: phase.job,
        }
    }
}

/// Returns a waiting time with its share of `span`. `seconds` and `span` are in seconds.
pub(super) fn waiting(seconds: f64, span: f64) -> Waiting {
    Waiting { seconds, share: (span > 0.0).then(|| (seconds / span).min(1.0)) }
}
