//! Going on with a run that was left: by Ctrl-C, by a failed task, or because Hindmost itself was killed.
//!
//! The journal is replayed: its events are told to a fresh policy, which decides the same again. Then
//! what the journal says is compared with what is there. Attempts that still run are adopted, those that
//! have ended meanwhile count, results in place outrank the journal, and the rest is killed and removed.

use std::collections::HashSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Phase};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::metrics::RunState;
use hindmost_core::record::{Change, Decision, Event, Record, StopReason};
use hindmost_core::time::Time;
use hindmost_core::verify::Verifier;

use super::{Driver, Kill, RunError, RunOptions, standing};
use crate::engine::NodeOffer;
use crate::store::{EndMarker, ResultState, Store, Whereabouts};

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
    let Some((header, records)) = super::journal::read(store)? else { return Ok(said()) };
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
        // Time has passed since; it never goes back, whatever the clock does.
        self.engine.resume_at(Time(self.store.job().age()).max(last + Time::TICK));
        match self.store.whereabouts() {
            Whereabouts::Same => {}
            Whereabouts::Moved => self.follower.message("the folder was moved: what was at work is started again"),
            Whereabouts::Remounted => self
                .follower
                .message("the machine or its file system was started again since: what was at work is started again"),
            Whereabouts::Copied => self
                .follower
                .message("the folder is a copy: it gets a new identity, and what runs in the original is left alone"),
        }
        for phase in &self.changed {
            self.follower
                .message(&format!("the command of phase {phase} has changed: attempts of the old one do not count"));
        }
        let failures = standing::failures(self.plan, &records);
        self.replay(records)?;
        self.reconcile()?;
        self.recall_failures(&failures);
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
        self.journal = super::LiveJournal::open(&self.store, Some(&self.header))?;
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

    /// Tasks that may not run twice have failed so often before: one that has failed too often ends the job at once.
    pub(super) fn recall_failures(&mut self, in_journal: &[(TaskId, u32)]) {
        let earlier = std::mem::take(&mut self.earlier_failures);
        for (task, count) in earlier.iter().chain(in_journal) {
            // What was counted just now, as it ended while nobody looked, is not in the journal that was read.
            for _ in 0..*count {
                self.count_failure(*task, "it failed before the run was resumed", String::new());
            }
        }
        let tasks: Vec<TaskId> = self.failures.keys().copied().filter(|task| self.is_given_up(*task)).collect();
        for task in tasks {
            if let Some(mut failed) = self.last_failure.remove(&task) {
                failed.reason += "; it may not run twice (idempotent = false), unless its phase gets more retries";
                self.failed_tasks.push(failed);
            }
            if self.shutdown.is_none() {
                self.shut_down(RunState::Failed);
            }
        }
        self.failed_tasks.sort_by_key(|failed| (failed.phase.clone(), failed.task));
    }

    /// Brings every living attempt of the journal in line with what is there.
    fn reconcile(&mut self) -> Result<(), RunError> {
        let mut living: Vec<(AttemptId, NodeId, AttemptState)> =
            self.cluster.living().map(|attempt| (attempt.id(), attempt.node(), attempt.state())).collect();
        living.sort_unstable_by_key(|(attempt, ..)| *attempt);
        self.find_heirs(&living);
        // Elsewhere nothing that was started before can go on. What had ended before the folder was moved counts.
        let here = self.store.whereabouts() == Whereabouts::Same;
        let trusted = here || self.store.whereabouts() == Whereabouts::Moved;
        let mut adopted = HashSet::new();
        for (attempt, node, _) in living.iter().filter(|_| here) {
            let there = self.store.has_attempt(*attempt).map_err(|error| self.unseen(error))?;
            if there && self.with_launch(*attempt, *node, |engine, launch| engine.adopt(launch)).unwrap_or(false) {
                self.enter(*attempt, *node);
                adopted.insert(*attempt);
            }
        }
        // What those have left that were not adopted must be gone before their ends count, and before its files are
        // removed.
        standing::kill_earlier(&self.store, self.engine, self.follower);
        let keep: Vec<AttemptId> = living.iter().filter(|_| trusted).map(|(attempt, ..)| *attempt).collect();
        let strays = self.store.remove_strays(&keep);
        let strays = strays.map_err(|error| self.unseen(error))?;
        for left in strays {
            self.follower.message(&format!("can't be removed and is left: {left}"));
        }
        self.find_results_in_place()?;
        self.finish_what_is_in_place(&living, &adopted)?;
        if trusted {
            self.end_what_ended(&living, &adopted)?;
        }
        let waiting: HashSet<AttemptId> = self.heirs.values().copied().collect();
        for (attempt, node, _) in living {
            // What happened to others a moment ago may have changed its state.
            let Some(found) = self.cluster.attempt(attempt) else { continue };
            let (state, replaces) = (found.state(), found.replaces().is_some());
            let waits = waiting.contains(&attempt) && replaces;
            let finished = self.cluster.task(attempt.task).is_none_or(hindmost_core::cluster::Task::is_finished);
            if adopted.contains(&attempt) {
                if state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt })?;
                }
                if state == AttemptState::Stopping || finished {
                    self.kill(attempt, Kill::Decided(StopReason::Lost));
                }
            } else if waits || self.live.contains_key(&attempt) || self.scarce.contains(&attempt) {
                // Its room is not free yet, or it was launched a moment ago.
            } else if state == AttemptState::Stopping || finished {
                self.enter(attempt, node);
                self.kill(attempt, Kill::Decided(StopReason::Lost));
                self.ended(vec![(attempt, None, None)])?;
            } else if state == AttemptState::Starting {
                // Decided and never started.
                self.launch(attempt)?;
            } else if self.has_changed(attempt) {
                self.broke(attempt, "is started afresh: its command has changed".to_owned(), false)?;
            } else {
                self.broke(attempt, "was lost while nobody looked after it".to_owned(), false)?;
            }
        }
        Ok(())
    }

    /// Finds results that were renamed into place and not yet recorded.
    fn find_results_in_place(&mut self) -> Result<(), RunError> {
        let Some(job) = self.cluster.job(super::JOB) else { return Ok(()) };
        let mut unfinished = Vec::new();
        for (phase, tasks) in (0..).zip(job.phases().iter().map(Phase::tasks)) {
            if !self.store.has_results(phase).map_err(|error| self.unseen(error))? {
                continue;
            }
            let open = (0..).zip(tasks).filter(|(_, task)| !task.is_finished());
            unfinished.extend(open.map(|(index, _)| TaskId { job: super::JOB, phase, index }));
        }
        for task in unfinished {
            match self.store.result_state(task).map_err(|error| self.unseen(error))? {
                ResultState::Stands => _ = self.in_place.insert(task),
                ResultState::Gone => {}
                ResultState::Changed(what) => {
                    let aside = self.store.set_aside(task);
                    let aside = aside.map_err(|error| RunError::Io { path: self.store.folder().into(), error })?;
                    let name = format!("{}/{}", self.plan.phases[task.phase as usize].name, task.index);
                    let aside = aside.unwrap_or_default();
                    self.follower.message(&format!(
                        "what was in the place of the result of {name} is not its result ({what}): it is in {aside} now"
                    ));
                }
            }
        }
        Ok(())
    }

    /// An attempt whose output is in place has finished; of several of a task the one that the manifest names.
    fn finish_what_is_in_place(
        &mut self,
        living: &[(AttemptId, NodeId, AttemptState)],
        adopted: &HashSet<AttemptId>,
    ) -> Result<(), RunError> {
        let mut tasks: Vec<TaskId> = self.in_place.iter().copied().collect();
        tasks.sort_unstable();
        for task in tasks {
            let of_task = || living.iter().filter(|(attempt, ..)| attempt.task == task && !adopted.contains(attempt));
            let winner = self.store.winner(task);
            let found = of_task().find(|(attempt, ..)| Some(*attempt) == winner).or_else(|| of_task().next());
            if let Some((attempt, node, state)) = found.copied() {
                if state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt })?;
                }
                self.enter(attempt, node);
                self.finish_with_result(attempt)?;
                self.launch_heir_of(attempt)?;
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
            let Some(since) = self.cluster.attempt(*attempt).map(Attempt::since) else { continue };
            let marker = self.store.end_marker(*attempt).map_err(|error| self.unseen(error))?;
            let marked = matches!(marker, EndMarker::Exit(_) | EndMarker::Moved);
            if marked && !adopted.contains(attempt) {
                ended.push((now - self.ended_ago(*attempt, since), *attempt, *node));
            }
        }
        ended.sort_unstable();
        for (_, attempt, node) in &ended {
            self.enter(*attempt, *node);
        }
        self.ended(ended.into_iter().map(|(at, attempt, _)| (attempt, None, Some(at))).collect())
    }

    /// What is in the run's folder can't be looked at: going on could lose it.
    fn unseen(&self, error: std::io::Error) -> RunError {
        RunError::Io { path: self.store.folder().into(), error }
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
