//! Going on with a run that was left: by Ctrl-C, by a failed task, or because Hindmost itself was killed.
//!
//! The journal is replayed: its events are told to a fresh policy, which decides the same again. Then
//! what the journal says is compared with what is there. Attempts that still run are adopted, those that
//! have ended meanwhile count, results in place outrank the journal, and the rest is killed and removed.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use hindmost_core::cluster::{AttemptState, Cluster};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::journal::Header;
use hindmost_core::record::{Change, Decision, Event, Record, StopReason};
use hindmost_core::time::Time;
use hindmost_core::verify::Verifier;

use super::{Driver, Kill, RunError, RunOptions};
use crate::engine::NodeOffer;
use crate::store::{EndMarker, Store};

/// The header of a journal to go on with, if it was begun as is now asked for.
pub(super) fn check_header(header: &Header, options: &RunOptions) -> Result<Header, RunError> {
    if let Some(policy) = &options.policy
        && policy.to_string() != header.policy
    {
        return Err(RunError::Input(format!(
            "this run was begun with policy {} and goes on with it; --out starts one with {policy} elsewhere",
            header.policy
        )));
    }
    if let Some(knowledge) = options.knowledge
        && knowledge != header.knowledge
    {
        return Err(RunError::Input(format!(
            "this run was begun with knowledge {} and goes on with it; --out starts one with {knowledge} elsewhere",
            header.knowledge
        )));
    }
    Ok(header.clone())
}

/// The nodes that the engine offers must be those with which the run was begun.
pub(super) fn check_nodes(records: &[Record], offered: &[String]) -> Result<(), RunError> {
    let mut recorded = Vec::new();
    for record in records {
        if let Change::Event(Event::NodeJoined { name, .. }) = &record.change {
            recorded.push(name.to_string());
        }
    }
    // Killed while nodes still joined: it begins anew.
    let begun = records.iter().any(|record| matches!(record.change, Change::Event(Event::JobArrived { .. })));
    if !begun || recorded == offered {
        return Ok(());
    }
    Err(RunError::Input(format!(
        "this run was begun on nodes {}, and can't go on on {}: leave --nodes out",
        recorded.join(", "),
        offered.join(", ")
    )))
}

/// The nodes with which the run in a folder was begun, if it has one.
///
/// # Errors
/// If its journal can't be read.
pub fn recorded_nodes(store: &Store) -> Result<Option<Vec<NodeOffer>>, RunError> {
    // A run that was killed before it wrote its journal was begun with what its folder says.
    let said = || store.job().begun_with.as_ref().map(|begun| begun.nodes.clone());
    if !store.journal().exists() {
        return Ok(said());
    }
    let Some((header, records)) = super::journal::read(&store.journal())? else { return Ok(said()) };
    let mut nodes = Vec::new();
    for record in records {
        match record.change {
            Change::Event(Event::NodeJoined { name, capacity, .. }) => {
                nodes.push(NodeOffer { name: name.to_string(), capacity: header.dimensions.by_name(&capacity) });
            }
            Change::Event(Event::JobArrived { .. }) => return Ok(Some(nodes)),
            _ => {}
        }
    }
    Ok(said())
}

/// Only a simulation can know everything, or draw what it sees.
pub(crate) fn check_knowledge(knowledge: Knowledge) -> Result<(), RunError> {
    match knowledge {
        Knowledge::Oracle | Knowledge::ProgressUniform => Err(RunError::Input(format!(
            "knowledge {knowledge} is for simulations only: give progress(S), age or history"
        ))),
        Knowledge::Progress(_) | Knowledge::Age | Knowledge::History => Ok(()),
    }
}

impl Driver<'_> {
    /// Replays the journal, and finds out what has become of what it left running.
    pub(super) fn resume(&mut self, records: Vec<Record>) -> Result<(), RunError> {
        let last = records.last().map_or(Time::ZERO, |record| record.at);
        let job = records.iter().any(|record| matches!(record.change, Change::Event(Event::JobArrived { .. })));
        if !job {
            // Killed before it had begun: the journal begins anew.
            return self.begin_anew();
        }
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        // Time has passed since; it never goes back, whatever the wall clock does.
        self.engine.resume_at(Time(wall.saturating_sub(self.store.job().began)).max(last + Time::TICK));
        for phase in &self.changed {
            self.follower.message(&format!("{phase} does something else than before: results that it has are kept"));
        }
        self.replay(records)?;
        self.reconcile()?;
        let down: Vec<NodeId> = (0..self.cluster.nodes().len() as u32)
            .map(NodeId)
            .filter(|node| self.cluster.node(*node).is_some_and(|node| !node.is_up()))
            .collect();
        for node in down {
            self.happen(&Event::NodeReturned { node })?;
        }
        self.due = true;
        let now = self.engine.now();
        self.prepare(now)
    }

    fn begin_anew(&mut self) -> Result<(), RunError> {
        self.journal = super::LiveJournal::open(&self.store.journal(), Some(&self.header))?;
        self.begin()
    }

    fn replay(&mut self, records: Vec<Record>) -> Result<(), RunError> {
        for record in &records {
            match &record.change {
                Change::Event(event) => {
                    self.learner.recall(event);
                    if let Event::WatchMet { attempt, expected_finish } = event {
                        self.conditions.remove(attempt);
                        self.told.extend(expected_finish.map(|finish| (*attempt, finish)));
                    }
                }
                Change::Decision(Decision::Watch { attempt, condition }) => {
                    self.add_condition(*attempt, *condition);
                }
                Change::Decision(Decision::Wake { at }) => {
                    self.deadlines.push(*at, super::Deadline::Wake);
                }
                Change::Decision(_) => {}
            }
        }
        let empty = Cluster::new(self.header.dimensions.clone()).with_placement(self.header.placement);
        let mut verifier = Verifier::new(empty, &mut self.policy, &*self.estimator).allowing_two_winners();
        for record in records {
            verifier.check(record).map_err(|difference| {
                RunError::Input(format!(
                    "this run can't be resumed: its journal does not give the same decisions again, perhaps because \
                     another version of Hindmost wrote it ({difference})"
                ))
            })?;
        }
        let (cluster, due) = verifier.into_state();
        self.cluster = cluster;
        // Decided before the end came, and not written any more.
        let at = self.cluster.now();
        for decision in due {
            self.journal.decision(at, &decision)?;
            if let Decision::Watch { attempt, condition } = decision {
                self.add_condition(attempt, condition);
            } else if let Decision::Wake { at } = decision {
                self.deadlines.push(at, super::Deadline::Wake);
            }
        }
        self.journal.sync()?;
        // The job is over once its last task is, though copies of it may still be at work.
        self.finished = self.cluster.job(super::JOB).is_none_or(|job| job.finished().is_some());
        Ok(())
    }

    /// Brings every living attempt of the journal in line with what is there.
    fn reconcile(&mut self) -> Result<(), RunError> {
        let mut living: Vec<(AttemptId, NodeId, AttemptState)> =
            self.cluster.living().map(|attempt| (attempt.id(), attempt.node(), attempt.state())).collect();
        living.sort_unstable_by_key(|(attempt, ..)| *attempt);
        let keep: HashSet<_> = living.iter().map(|(attempt, ..)| self.store.attempt(*attempt)).collect();
        let strays = self.store.remove_strays(|folder| keep.contains(folder));
        strays.map_err(|error| RunError::Io { path: self.store.folder().into(), error })?;
        self.find_heirs(&living);
        let mut adopted = HashSet::new();
        for (attempt, node, _) in &living {
            let there = self.store.attempt(*attempt).exists() && !self.has_changed(*attempt);
            if there && self.with_launch(*attempt, *node, |engine, launch| engine.adopt(launch)) == Some(true) {
                self.enter(*attempt, *node);
                adopted.insert(*attempt);
            }
        }
        // What those have left that were not adopted must be gone before their ends count.
        self.engine.kill_strays();
        self.end_what_ended(&living, &adopted)?;
        let waiting: HashSet<AttemptId> = self.heirs.values().copied().collect();
        for (attempt, node, state) in living {
            let Some(found) = self.cluster.attempt(attempt) else { continue };
            let waits = waiting.contains(&attempt) && found.replaces().is_some();
            if adopted.contains(&attempt) {
                if state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt })?;
                }
                let finished = self.cluster.task(attempt.task).is_none_or(hindmost_core::cluster::Task::is_finished);
                if state == AttemptState::Stopping || finished {
                    self.kill(attempt, Kill::Decided(StopReason::Lost));
                }
            } else if waits || self.live.contains_key(&attempt) {
                // Its room is not free yet, or it was launched a moment ago.
            } else if state == AttemptState::Starting {
                // Decided and never started.
                self.launch(attempt)?;
            } else if state == AttemptState::Stopping {
                self.enter(attempt, node);
                self.kill(attempt, Kill::Decided(StopReason::Lost));
                self.ended(attempt)?;
            } else if self.store.has_result(attempt.task) {
                // Its result is in place, and the rest of it was being removed.
                self.enter(attempt, node);
                self.finish_with_result(attempt)?;
            } else if self.has_changed(attempt) {
                self.broke(attempt, "is started afresh: its command has changed".to_owned(), false)?;
            } else {
                self.broke(attempt, "was lost while nobody looked after it".to_owned(), false)?;
            }
        }
        Ok(())
    }

    /// What ended while nobody looked did so when its marker was written, and in that order.
    fn end_what_ended(
        &mut self,
        living: &[(AttemptId, NodeId, AttemptState)],
        adopted: &HashSet<AttemptId>,
    ) -> Result<(), RunError> {
        let now = self.engine.now();
        let mut ended = Vec::new();
        for (attempt, node, _) in living {
            let marked = self.store.attempt(*attempt).exists() && self.store.end_marker(*attempt) != EndMarker::Missing;
            let counts = !self.has_changed(*attempt) || self.store.has_result(attempt.task);
            if marked && counts && !adopted.contains(attempt) {
                let ago = self.store.ended_ago(*attempt).unwrap_or_default();
                ended.push((now - Time(ago.as_nanos() as u64), *attempt, *node));
            }
        }
        ended.sort_unstable();
        for (at, attempt, node) in ended {
            self.enter(attempt, node);
            self.was_at = Some(at);
            let result = self.ended(attempt);
            self.was_at = None;
            result?;
        }
        Ok(())
    }

    /// True if an attempt did something else than its phase's command does now.
    fn has_changed(&self, attempt: AttemptId) -> bool {
        let phase = self.plan.phases.get(attempt.task.phase as usize);
        phase.is_some_and(|phase| self.changed.contains(&phase.name))
    }

    /// Attempts that wait for the room of one that is being stopped.
    fn find_heirs(&mut self, living: &[(AttemptId, NodeId, AttemptState)]) {
        for (attempt, _, state) in living {
            if *state != AttemptState::Stopping {
                continue;
            }
            let heir = self.cluster.copies(attempt.task).find(|copy| copy.replaces() == Some(*attempt));
            if let Some(heir) = heir {
                self.heirs.insert(*attempt, heir.id());
            }
        }
    }
}
