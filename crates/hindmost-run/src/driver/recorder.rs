//! What happens and what is decided, written to the journal as it comes; and what deciding costs.
//!
//! Invariant: no decision is among those to be carried out that is not written.

use std::time::{Duration, Instant};

use hindmost_core::cluster::Applied;
use hindmost_core::record::{Decision, Event};
use hindmost_core::session::{Decided, Session, Sink};
use hindmost_core::time::Time;
use rustc_hash::FxHashSet;

use super::RunError;
use super::journal::LiveJournal;

/// So many refused decisions are reported.
const MOST_REFUSED: usize = 10;

/// The sink of a live run's steps.
pub(super) struct Recorder {
    pub(super) journal: LiveJournal,
    /// Decisions that are written and not yet carried out.
    pub(super) actions: Vec<Decision>,
    /// Why decisions were refused, as it was reported: once each.
    refused: FxHashSet<String>,
    /// What of it is to be reported.
    unreported: Vec<String>,
    /// Rounds of decisions.
    pub(super) rounds: u64,
    /// Time that the policy took to observe and decide, and the longest of it in one step.
    pub(super) deciding: Duration,
    pub(super) longest: Duration,
    /// When the policy was given the current event.
    begun: Instant,
}

impl Recorder {
    pub(super) fn new(journal: LiveJournal) -> Recorder {
        Recorder {
            journal,
            actions: Vec::new(),
            refused: FxHashSet::default(),
            unreported: Vec::new(),
            rounds: 0,
            deciding: Duration::ZERO,
            longest: Duration::ZERO,
            begun: Instant::now(),
        }
    }

    /// Returns why decisions were refused since the last call. Nothing has changed by these, so the run goes on. Each
    /// reason is returned once, and only the first few.
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
        self.actions.append(decided.decisions);
        Ok(())
    }
}
