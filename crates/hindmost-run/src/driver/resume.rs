//! Going on with a run that was left: by Ctrl-C, by a failed task, or because Hindmost itself was killed.
//!
//! The journal is replayed: its events are told to a fresh policy, which decides the same again. Then
//! what the journal says is compared with what is there. Attempts that still run are adopted, those that
//! have ended meanwhile count, results in place outrank the journal, and the rest is killed and removed.

use std::collections::HashSet;

use hindmost_core::cluster::{Attempt, AttemptState, Phase};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::time::Time;
use hindmost_core::verify::Verifier;

use super::attempts::Kill;
use super::journal::LiveJournal;
use super::standing::{self, TaskFailures};
use super::{Driver, RunError, RunOptions};
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

impl Driver<'_> {
    /// Replays the journal, and finds out what has become of what it left running. `changed` names the phases whose
    /// commands are others now; `earlier_failures` are from before this journal.
    pub(super) fn resume(
        &mut self,
        records: Vec<Record>,
        changed: &[String],
        earlier_failures: &[TaskFailures],
    ) -> Result<(), RunError> {
        let last = records.last().map_or(Time::ZERO, |record| record.at);
        let job = records.iter().any(|record| matches!(record.change, Change::Event(Event::JobArrived { .. })));
        if !job {
            // Killed before it had begun: the journal begins anew.
            self.recorder.journal = LiveJournal::open(&self.store, Some(&self.header))?;
            return self.begin(earlier_failures);
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
        for phase in changed {
            self.follower
                .message(&format!("the command of phase {phase} has changed: attempts of the old one do not count"));
        }
        let failures = standing::failures(self.plan, &records);
        self.replay(records)?;
        self.reconcile(changed)?;
        self.recall_failures(&[earlier_failures, &failures].concat());
        let nodes = (0..).map(NodeId).zip(self.session.cluster().nodes());
        let down: Vec<NodeId> = nodes.filter(|(_, node)| !node.is_up()).map(|(id, _)| id).collect();
        for node in down {
            self.happen(&Event::NodeReturned { node })?;
        }
        self.is_due = true;
        let now = self.engine.now();
        self.prepare(now)
    }

    fn replay(&mut self, records: Vec<Record>) -> Result<(), RunError> {
        for record in &records {
            match &record.change {
                Change::Event(event) => {
                    self.learner.recall(event);
                    self.watches.event(event);
                }
                Change::Decision(decision) => {
                    self.watches.decision(decision);
                    self.deadlines.decision(decision);
                }
            }
        }
        let mut verifier = Verifier::new(&mut self.session).allowing_two_winners();
        for record in records {
            verifier.check(record).map_err(|difference| {
                RunError::Input(format!(
                    "this run can't be resumed: its journal does not give the same decisions again, perhaps because \
                     another version of Hindmost wrote it ({difference})"
                ))
            })?;
        }
        let due = verifier.into_due();
        // Decided before the end came, and not written any more.
        let at = self.session.cluster().now();
        for decision in due {
            self.recorder.journal.decision(at, &decision)?;
            self.watches.decision(&decision);
            self.deadlines.decision(&decision);
        }
        self.recorder.journal.sync()?;
        let cluster = self.session.cluster();
        self.watches.retain(|attempt| cluster.attempt(attempt).is_some());
        // The job is over once its last task is, though copies of it may still run.
        if cluster.job(super::JOB).is_none_or(|job| job.finished().is_some()) {
            self.shutdown.job_done();
        }
        Ok(())
    }

    /// Brings every living attempt of the journal in line with what is there.
    fn reconcile(&mut self, changed: &[String]) -> Result<(), RunError> {
        let mut living: Vec<(AttemptId, NodeId, AttemptState)> =
            self.session.cluster().running().map(|attempt| (attempt.id(), attempt.node(), attempt.state())).collect();
        living.sort_unstable_by_key(|(attempt, ..)| *attempt);
        for (attempt, ..) in living.iter().filter(|(.., state)| *state == AttemptState::Stopping) {
            self.find_replacement(*attempt);
        }
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
        let is_replacement = |(attempt, ..): &&(AttemptId, NodeId, AttemptState)| self.waiting.is_replacement(*attempt);
        let replacements: HashSet<AttemptId> =
            living.iter().filter(is_replacement).map(|(attempt, ..)| *attempt).collect();
        for (attempt, node, _) in living {
            // What happened to others a moment ago may have changed its state.
            let Some(found) = self.attempt(attempt) else { continue };
            let state = found.state();
            let waits = found.replaces().is_some() && replacements.contains(&attempt);
            let is_unwanted = state == AttemptState::Stopping || self.is_finished(attempt.task);
            if adopted.contains(&attempt) {
                if state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt })?;
                }
                if is_unwanted {
                    self.kill(attempt, Kill::Decided);
                }
            } else if waits || self.attempts.contains(attempt) || self.waiting.waits(attempt) {
                // What it replaces has not ended yet, or it was launched a moment ago.
            } else if is_unwanted {
                self.enter(attempt, node);
                self.kill(attempt, Kill::Decided);
                self.ended(vec![(attempt, None, None)])?;
            } else if state == AttemptState::Starting {
                // Decided and never started.
                self.launch(attempt)?;
            } else if changed.contains(&self.plan.phases[attempt.task.phase as usize].name) {
                self.broke(attempt, "is relaunched, because its command has changed".to_owned(), false)?;
            } else {
                self.broke(attempt, "was lost while hindmost was not running".to_owned(), false)?;
            }
        }
        Ok(())
    }

    /// Finds results that were renamed into place and not yet recorded.
    fn find_results_in_place(&mut self) -> Result<(), RunError> {
        let Some(job) = self.session.cluster().job(super::JOB) else { return Ok(()) };
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
                self.launch_replacement_of(attempt)?;
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
            let Some(since) = self.attempt(*attempt).map(Attempt::since) else { continue };
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
}
