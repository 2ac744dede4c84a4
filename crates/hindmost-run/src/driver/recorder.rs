//! Writes events and decisions to the journal, and measures how long the policy takes to decide.
//!
//! Invariant: every decision that waits to be carried out is written to the journal.

use std::time::{Duration, Instant};

use hindmost_core::cluster::Applied;
use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Decision, Event};
use hindmost_core::session::{Decided, Session, Sink};
use hindmost_core::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::RunError;
use super::journal::LiveJournal;

/// Number of different reasons for refused decisions that are reported in a run.
const MOST_REFUSED: usize = 10;

/// Receives the events and decisions of a live run from its session.
pub(super) struct Recorder {
    pub(super) journal: LiveJournal,
    /// Decisions that are written and not yet carried out.
    pub(super) actions: Vec<Decision>,
    /// Reasons for starts and stops of attempts that are not yet carried out.
    reasons: FxHashMap<AttemptId, String>,
    /// Reasons for which decisions were refused, each once.
    refused: FxHashSet<String>,
    /// Reasons in `refused` that have not been reported yet.
    unreported: Vec<String>,
    /// Number of decision rounds.
    pub(super) rounds: u64,
    /// Total time that the policy took to observe events and to decide.
    pub(super) deciding: Duration,
    /// Longest time that the policy took for one event.
    pub(super) longest: Duration,
    /// When the policy received the current event.
    begun: Instant,
}

impl Recorder {
    pub(super) fn new(journal: LiveJournal) -> Recorder {
        Recorder {
            journal,
            actions: Vec::new(),
            reasons: FxHashMap::default(),
            refused: FxHashSet::default(),
            unreported: Vec::new(),
            rounds: 0,
            deciding: Duration::ZERO,
            longest: Duration::ZERO,
            begun: Instant::now(),
        }
    }

    /// Returns the policy's reason for starting or stopping an attempt, once.
    pub(super) fn take_reason(&mut self, attempt: AttemptId) -> Option<String> {
        self.reasons.remove(&attempt)
    }

    /// Returns why decisions were refused since the last call. A refused decision changes nothing, so the run continues.
    /// Returns each reason once, and at most ten reasons in a run.
    pub(super) fn take_refused(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unreported)
    }
}

impl Sink for Recorder {
    type Error = RunError;

    fn applied(&mut self, at: Time, event: &Event, _applied: Applied, _state: &Session) -> Result<(), RunError> {
        self.journal.event(at, event)?;
        self.rounds += u64::from(*event == Event::Round);
        self.begun = Instant::now();
        Ok(())
    }

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RunError> {
        let took = self.begun.elapsed();
        self.deciding += took;
        self.longest = self.longest.max(took);
        for refused in decided.refused {
            let why = refused.error.to_string();
            if self.refused.len() < MOST_REFUSED && self.refused.insert(why.clone()) {
                self.unreported.push(why);
            }
        }
        for decision in &*decided.decisions {
            self.journal.decision(decided.at, decision)?;
        }
        for (at, why) in decided.reasons {
            if let Some(Decision::Start { attempt, .. } | Decision::Stop { attempt, .. }) = decided.decisions.get(at) {
                self.reasons.insert(*attempt, why);
            }
        }
        self.actions.append(decided.decisions);
        Ok(())
    }
}
