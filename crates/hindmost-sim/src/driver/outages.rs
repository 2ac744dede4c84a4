//! Outages: nodes that are lost and return.

use hindmost_core::ids::NodeId;
use hindmost_core::record::Event;
use hindmost_core::session::Stepped;
use hindmost_core::time::Time;

use super::outage_times::{Outage, merged};
use super::{Driver, SimulationError};
use crate::agenda::{Agenda, Due};
use crate::output::{AttemptResult, Outcome};

/// Schedules outages.
pub(super) fn schedule(outages: &[Outage], agenda: &mut Agenda) {
    for outage in merged(outages) {
        agenda.push(outage.from, Due::Lose(outage.node));
        if outage.until < Time::NEVER {
            agenda.push(outage.until, Due::Return(outage.node));
        }
    }
}

impl Driver<'_> {
    /// Begins an outage: every attempt on the node ends.
    pub(super) fn lose(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        let running = self.session.cluster().attempts_on(node);
        let mut lost: Vec<_> = running.map(|attempt| (attempt.id(), attempt.since(), attempt.is_relaunch())).collect();
        lost.sort_unstable();
        // Read before the step, because a job may not exist after it.
        let mut described = Vec::with_capacity(lost.len());
        for (id, ..) in &lost {
            described.push((self.shares_of(*id), self.output_spec(*id), self.energy_ends(*id, at)));
        }
        let node_name = self.setup.nodes[node.0 as usize].name.as_str();
        if let Some(rates) = &mut self.rates {
            rates.lose(node);
        }
        let Stepped { retired, .. } = self.step(at, &Event::NodeLost { node, time_is_up: false })?;
        self.result.lost_attempts += lost.len() as u64;
        let outcome = Outcome::NodeLost;
        for ((attempt, start, is_relaunch), (shares, spec, ended)) in lost.into_iter().zip(described) {
            self.withhold_again(attempt, at)?;
            self.reading.ended(attempt, false);
            self.busy.add(&shares, start, at);
            let energy = self.energy_of(ended, outcome);
            if let Some(job) = spec.as_deref() {
                let end = at;
                let result = AttemptResult { attempt, job, node, node_name, start, end, outcome, is_relaunch, energy };
                self.recorder.output.attempt(&result)?;
            }
        }
        self.node_is_up(node, at, false);
        retired.into_iter().try_for_each(|job| self.leave(&job, at))
    }
}
