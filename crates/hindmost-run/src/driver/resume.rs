//! Resumes a run of one job after Ctrl-C, after a failed task, or after Hindmost was killed. A run of several jobs begins again
//! (`several.rs`).
//!
//! The driver replays the journal: a new policy receives the same events and makes the same decisions. Then the driver
//! compares the journal with the run's folder and the processes. It adopts attempts that still run, and handles attempts
//! that ended while no Hindmost ran. Results in place outrank the journal. Everything else is killed and removed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use hindmost_core::cluster::{Attempt, AttemptState, Phase};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::metrics::RunState;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::feature_of;
use hindmost_core::time::Time;
use hindmost_core::verify::Verifier;
use hindmost_core::workload::DemandByName;

use super::attempts::Kill;
use super::jobs::ONLY;
use super::journal::LiveJournal;
use super::permanent::FailedBefore;
use super::recheck::{self, cut_short_by};
use super::what_counts::{self, TaskFailures, Why};
use super::{Driver, RunError, RunOptions};
use crate::engine::NodeOffer;
use crate::job_file::printable;
use crate::store::{EndMarker, ReadChange, Reads, Store, Whereabouts};

/// Returns the header of the journal to resume.
///
/// # Errors
/// If the options name another policy or progress model than the header.
pub(super) fn check_header(header: &Header, options: &RunOptions) -> Result<Header, RunError> {
    if let Some(policy) = &options.policy
        && policy.to_string() != header.policy
    {
        return Err(RunError::Input(format!(
            "this run was begun with policy {} and can only be resumed with it: leave --policy out, or run the job with \
                         {policy} in a new folder (--out DIR)",
            header.policy
        )));
    }
    if let Some(knowledge) = options.knowledge
        && knowledge != header.knowledge
    {
        return Err(RunError::Input(format!(
            "this run was begun with knowledge {} and can only be resumed with it: leave --knowledge out, or run the job \
                         with {knowledge} in a new folder (--out DIR)",
            header.knowledge
        )));
    }
    Ok(header.clone())
}

/// Checks that the engine offers the nodes with which the run was begun.
pub(super) fn check_nodes(records: &[Record], nodes: &[NodeOffer]) -> Result<(), RunError> {
    // A run that was killed before its job arrived begins again, so it may begin on any nodes.
    if !what_counts::has_job(records) {
        return Ok(());
    }
    let (mut recorded, mut speeds) = (Vec::new(), Vec::new());
    for record in records {
        if let Change::Event(Event::NodeJoined { name, speed, .. }) = &record.change {
            recorded.push(name.to_string());
            speeds.push(*speed);
        }
    }
    let offered: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    if recorded == offered {
        return match nodes.iter().zip(speeds).find(|(node, begun)| node.speed != *begun) {
            None => Ok(()),
            Some((node, begun)) => Err(RunError::Input(format!(
                "this run was begun with speed {begun} of node {} and can't be resumed with speed {}: leave --nodes and \
                 --node-speed out",
                node.name, node.speed
            ))),
        };
    }
    Err(RunError::Input(format!(
        "this run was begun on nodes {} and can't be resumed on {}: leave --nodes out",
        recorded.join(", "),
        offered.join(", ")
    )))
}

/// Returns the nodes with which the run in a folder was begun; `None` if they are not recorded.
///
/// # Errors
/// If its journal can't be read.
pub fn recorded_nodes(store: &Store) -> Result<Option<Vec<NodeOffer>>, RunError> {
    // A run that was killed before it wrote its journal has its nodes in the job's record.
    let recorded = || store.job().begun_with.as_ref().map(|begun| begun.nodes.clone());
    let Some((header, records)) = super::journal::read(store)? else { return Ok(recorded()) };
    let mut nodes = Vec::new();
    for record in records {
        match record.change {
            Change::Event(Event::NodeJoined { name, capacity, speed, .. }) => {
                let (features, capacity): (DemandByName, DemandByName) =
                    header.dimensions.by_name(&capacity).into_iter().partition(|(name, _)| feature_of(name).is_some());
                let features = features.keys().filter_map(|name| feature_of(name)).map(str::to_owned);
                let mut node = NodeOffer { speed, ..NodeOffer::new(name.to_string(), capacity) };
                node.features = features.collect();
                nodes.push(node);
            }
            Change::Event(Event::JobArrived { .. }) => {
                // The journal has only those features that phases require.
                let with_features = recorded().unwrap_or_default();
                for node in &mut nodes {
                    if let Some(known) = with_features.iter().find(|known| known.name == node.name) {
                        node.features.clone_from(&known.features);
                    }
                }
                return Ok(Some(nodes));
            }
            _ => {}
        }
    }
    Ok(recorded())
}

impl Driver<'_> {
    /// Replays the journal, and finds out what has become of the attempts that ran at its end. `changed` names the phases
    /// whose commands have changed. `earlier_failures` are the failures that this journal does not hold.
    pub(super) fn resume(
        &mut self,
        records: Vec<Record>,
        changed: &[String],
        earlier_failures: &[TaskFailures],
    ) -> Result<(), RunError> {
        let last = records.last().map_or(Time::ZERO, |record| record.at);
        if !what_counts::has_job(&records) {
            // The run was killed before its job arrived: the journal starts again.
            self.recorder.journal = LiveJournal::open(&self.jobs[ONLY].store, Some(&self.header))?;
            return self.begin(&[earlier_failures.to_vec()]);
        }
        // The run's clock continues from its beginning, and never goes back even if someone has set the machine's clock.
        self.engine.resume_at(Time(self.jobs[ONLY].store.job().age()).max(last + Time::TICK));
        match self.jobs[ONLY].store.whereabouts() {
            Whereabouts::Same => {}
            Whereabouts::Moved => {
                self.follower.message("the run's folder was moved: attempts that were running start again");
            }
            Whereabouts::Remounted => self.follower.message(
                "the machine was rebooted or the file system remounted: attempts that were running start again",
            ),
            Whereabouts::Copied => self.follower.message(
                "the run's folder is a copy: the run gets a new identity, and attempts of the original run continue",
            ),
        }
        for phase in changed {
            self.follower.message(&format!(
                "the command of phase {phase} has changed: attempts of the old command do not count"
            ));
        }
        let resumed = self.engine.now();
        let job = &mut self.jobs[ONLY];
        let failures = what_counts::failures(&job.plan, &records);
        let failed = FailedBefore::of(&job.plan, &job.store, &records);
        failed.remember(job);
        self.lost.recall(&records);
        self.report_earlier(&what_counts::finished(&records), what_counts::winners(&records))?;
        self.replay(records, failed.given_up.len())?;
        self.resume_profiles();
        let last_end = self.reconcile(changed, &failed)?;
        if let Some(last_end) = last_end.filter(|_| self.jobs[ONLY].shutdown.is_open()) {
            self.jobs[ONLY].store.add_pause(last.max(last_end), resumed)?;
        }
        self.take_up_failed(ONLY, &failed)?;
        self.give_up_withdrawn(ONLY)?;
        self.recall_failures(ONLY, &[earlier_failures, &failures].concat())?;
        let nodes = (0..).map(NodeId).zip(self.session.cluster().nodes());
        let down: Vec<NodeId> = nodes.filter(|(_, node)| !node.is_up()).map(|(id, _)| id).collect();
        for node in down {
            self.happen(&Event::NodeReturned { node })?;
        }
        self.is_due = true;
        let now = self.engine.now();
        self.prepare(now)
    }

    /// Replays the journal, according to which `given_up` tasks have failed as their phases allow.
    fn replay(&mut self, records: Vec<Record>, given_up: usize) -> Result<(), RunError> {
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
        let abandons = |change: &Change| matches!(change, Change::Decision(Decision::Abandon { .. }));
        let mut is_abandoned = records.iter().any(|record| abandons(&record.change));
        let mut verifier = Verifier::new(&mut self.session, true).allowing_two_winners();
        for record in records {
            verifier.check(record).map_err(|difference| {
                RunError::Input(format!(
                    "this run can't be resumed: replaying its journal gives other decisions, perhaps because another \
                                         version of Hindmost wrote it ({difference}); resume it with that version, or run the job in a \
                                         new folder (--out DIR)"
                ))
            })?;
        }
        let due = verifier.into_due();
        // The earlier process made these decisions and died before it wrote them.
        let at = self.session.cluster().now();
        for decision in due {
            self.recorder.journal.decision(at, &decision)?;
            is_abandoned |= matches!(decision, Decision::Abandon { .. });
            self.watches.decision(&decision);
            self.deadlines.decision(&decision);
        }
        self.recorder.journal.sync()?;
        let cluster = self.session.cluster();
        self.watches.retain(|attempt| cluster.attempt(attempt).is_some());
        if is_abandoned {
            self.jobs[ONLY].shutdown.begin(RunState::Abandoned);
            self.follower.message("the policy has abandoned the job, so nothing is left to run");
            return Ok(());
        }
        // A job is finished once all its tasks are, even if copies of tasks still run.
        if cluster.job(ONLY).is_none_or(|job| job.finished().is_some()) {
            self.jobs[ONLY].shutdown.job_done();
            self.follower.message(&match given_up {
                0 => "the run is already done: every task has its result, so nothing is left to run".to_owned(),
                _ => "the run is already done: every task has its result or has failed as the job allows, so nothing is left to \
                      run"
                .to_owned(),
            });
        }
        Ok(())
    }

    /// Compares every attempt that runs according to the journal with its folder and process, and updates its state.
    /// Returns the time at which the last of these attempts ended while no Hindmost ran, zero if none did; `None` if
    /// some attempt still runs.
    fn reconcile(&mut self, changed: &[String], before: &FailedBefore) -> Result<Option<Time>, RunError> {
        let mut unended: Vec<(AttemptId, NodeId, AttemptState)> =
            self.session.cluster().running().map(|attempt| (attempt.id(), attempt.node(), attempt.state())).collect();
        unended.sort_unstable_by_key(|(attempt, ..)| *attempt);
        for (attempt, ..) in unended.iter().filter(|(.., state)| *state == AttemptState::Stopping) {
            self.find_replacement(*attempt);
        }
        // In a folder that was moved, copied or remounted no attempt can continue. In a moved folder, attempts that ended
        // before the move still count.
        let here = self.jobs[ONLY].store.whereabouts() == Whereabouts::Same;
        let trusted = here || self.jobs[ONLY].store.whereabouts() == Whereabouts::Moved;
        let mut adopted = HashSet::new();
        for (attempt, node, _) in unended.iter().filter(|_| here) {
            let from = self.attempt(*attempt).map_or(0.0, Attempt::from_progress);
            let there = self.jobs[ONLY].store.has_attempt(*attempt).map_err(|error| self.unreadable(error))?;
            let reads = self.earlier_reads(*attempt);
            if there
                && self.changed_since(*attempt).is_none()
                && self.with_launch(*attempt, (*node, from), |engine, launch| engine.adopt(launch)).unwrap_or(false)
            {
                self.enter(*attempt, *node, from, reads, true);
                adopted.insert(*attempt);
            }
        }
        let awaited = if here { self.await_ends(before, &unended, &adopted)? } else { Vec::new() };
        // Processes of other attempts that were not adopted must have ended before these attempts are recorded as ended and
        // their files are removed.
        recheck::kill_earlier(&self.jobs[ONLY].store, self.engine, self.follower);
        let keep = unended.iter().filter(|_| trusted).map(|(attempt, ..)| *attempt);
        let keep: Vec<AttemptId> = keep.chain(awaited).collect();
        let strays = self.jobs[ONLY].store.remove_strays(&keep);
        let strays = strays.map_err(|error| self.unreadable(error))?;
        for left in strays {
            self.follower.message(&format!("files of an earlier attempt can't be removed and are left: {left}"));
        }
        self.find_results_in_place()?;
        self.finish_what_is_in_place(&unended, &adopted)?;
        let (last_end, mut cut_short) =
            if trusted { self.end_what_ended(&unended, &adopted)? } else { (Time::ZERO, BTreeMap::new()) };
        let is_replacement = |(attempt, ..): &&(AttemptId, NodeId, AttemptState)| self.waiting.is_replacement(*attempt);
        let replacements: HashSet<AttemptId> =
            unended.iter().filter(is_replacement).map(|(attempt, ..)| *attempt).collect();
        for (attempt, node, _) in unended {
            // Events of other attempts in this loop may have changed its state.
            let Some(found) = self.attempt(attempt) else { continue };
            let state = found.state();
            let waits = found.replaces().is_some() && replacements.contains(&attempt);
            let is_unwanted = state == AttemptState::Stopping || self.is_finished(attempt.task);
            if adopted.contains(&attempt) {
                if state == AttemptState::Starting {
                    self.happen(&Event::AttemptRunning { attempt, waited: None })?;
                }
                if is_unwanted && !self.is_finished(attempt.task) && self.is_looked_at_before_restarts(attempt.task) {
                    self.stop_for_restart(attempt, None);
                } else if is_unwanted {
                    self.kill(attempt, Kill::Decided);
                }
            } else if waits
                || self.attempts.contains(attempt) && !self.lost.is_awaited(attempt)
                || self.waiting.waits(attempt)
            {
                // Nothing to do: the attempt that this one replaces has not ended yet, or this loop has just started this one.
            } else if is_unwanted {
                self.enter(attempt, node, 0.0, Reads::default(), true);
                // An attempt that has not been stopped, because it may have changed a file, counts as it has ended.
                if self.is_finished(attempt.task) || !self.restarts_until_it_changes(attempt.task) {
                    self.kill(attempt, Kill::Decided);
                }
                self.ended(vec![(attempt, None, None)])?;
            } else if let Some(change) = self.changed_since(attempt) {
                // Also if it was killed before it recorded that the attempt runs.
                let what = match &change {
                    ReadChange::Input(_) => Cow::Borrowed("its input"),
                    ReadChange::Used(path, _) => path.to_string_lossy(),
                    ReadChange::Row(_) => Cow::Borrowed("its row of the table"),
                };
                let why = format!("{} has changed since it started, so it does not count", printable(&what));
                self.record_failure(attempt, why, false)?;
            } else if state == AttemptState::Starting && !self.lost.is_awaited(attempt) {
                // The earlier process decided to start this attempt and died before it recorded that it did so.
                self.launch(attempt)?;
            } else if changed.contains(&self.jobs[ONLY].phase(attempt.task).name) {
                self.record_failure(attempt, "stopped, because its command has changed".to_owned(), false)?;
            } else {
                let why = cut_short.remove(&attempt).map(|why| format!(": {why}")).unwrap_or_default();
                self.record_failure(attempt, format!("lost while Hindmost was not running{why}"), false)?;
            }
            if self.lost.is_awaited(attempt) && self.is_pending(attempt.task) {
                self.withhold_awaiting(attempt, node)?;
            }
        }
        Ok(adopted.is_empty().then_some(last_end))
    }

    /// Lets the engine take over attempts of tasks that may not run twice, that can't be adopted and that may still run. Their tasks wait
    /// for their ends. Returns these attempts.
    fn await_ends(
        &mut self,
        before: &FailedBefore,
        unended: &[(AttemptId, NodeId, AttemptState)],
        adopted: &HashSet<AttemptId>,
    ) -> Result<Vec<AttemptId>, RunError> {
        let earlier = before
            .awaiting
            .iter()
            .map(|(task, attempt)| (AttemptId { task: self.jobs[ONLY].own(*task), copy: attempt.copy }, attempt.node));
        let unended = unended.iter().filter(|(attempt, ..)| !adopted.contains(attempt));
        let candidates: Vec<(AttemptId, NodeId)> =
            earlier.chain(unended.map(|(attempt, node, _)| (*attempt, *node))).collect();
        let mut awaited = Vec::new();
        for (attempt, node) in candidates {
            let job = &self.jobs[ONLY];
            if job.phase(attempt.task).idempotent
                || !job.store.has_attempt(attempt).map_err(|error| self.unreadable(error))?
                || job.store.end_marker(attempt).map_err(|error| self.unreadable(error))? != EndMarker::Missing
            {
                continue;
            }
            if self.with_launch(attempt, (node, 0.0), |engine, launch| engine.await_end(launch)).unwrap_or(false) {
                self.await_end_of(attempt, node);
                awaited.push(attempt);
            }
        }
        Ok(awaited)
    }

    /// Finds results that are in place and whose attempts' ends are not recorded.
    fn find_results_in_place(&mut self) -> Result<(), RunError> {
        let Some(job) = self.session.cluster().job(ONLY) else { return Ok(()) };
        let mut unfinished = Vec::new();
        for (phase, tasks) in (0..).zip(job.phases().iter().map(Phase::tasks)) {
            if !self.jobs[ONLY].store.has_results(phase).map_err(|error| self.unreadable(error))? {
                continue;
            }
            let open = (0..).zip(tasks).filter(|(_, task)| !task.is_finished());
            unfinished.extend(open.map(|(index, _)| TaskId { job: ONLY, phase, index }));
        }
        for task in unfinished {
            let job = &mut self.jobs[ONLY];
            let why = what_counts::why_broken(&job.plan, &job.store, task)?;
            let what = match &why {
                Some(Why::Changed(what)) => Some(what.clone()),
                Some(Why::Read(change)) => Some(change.to_string()),
                Some(Why::Command) => Some("another command made it".to_owned()),
                _ => None,
            };
            match (why, what) {
                (None, _) => _ = job.in_place.insert(task),
                (_, Some(what)) => {
                    let aside = job.store.set_aside(task);
                    let aside = aside.map_err(|error| RunError::Io { path: job.store.folder().into(), error })?;
                    let name = job.name(task);
                    let aside = aside.unwrap_or_default();
                    self.follower.message(&format!(
                        "what was in the place of the result of {name} is not its result ({what}); it has been moved to {aside}"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Records the finish of attempts whose output is in place. If a task has several attempts, the manifest names the
    /// winner.
    fn finish_what_is_in_place(
        &mut self,
        unended: &[(AttemptId, NodeId, AttemptState)],
        adopted: &HashSet<AttemptId>,
    ) -> Result<(), RunError> {
        let now = self.engine.now();
        let mut tasks: Vec<TaskId> = self.jobs[ONLY].in_place.iter().copied().collect();
        tasks.sort_unstable();
        for task in tasks {
            let of_task = || unended.iter().filter(|(attempt, ..)| attempt.task == task && !adopted.contains(attempt));
            let winner = self.jobs[ONLY].store.winner(task);
            let found = of_task().find(|(attempt, ..)| Some(*attempt) == winner).or_else(|| of_task().next());
            if let Some((attempt, node, state)) = found.copied() {
                // The earlier process has moved the output into place and was killed before it recorded the end.
                let began = self
                    .attempt(attempt)
                    .map(|found| if state == AttemptState::Starting { found.since() } else { found.began(now) });
                let seconds = self.jobs[ONLY].store.seconds_of_result(task, Some(attempt.copy));
                let end = began.zip(seconds).map(|(began, seconds)| began + Time::from_seconds(seconds));
                self.was_at = end.filter(|end| *end < now);
                let finished = self.finish_in_place(attempt, node, state);
                self.was_at = None;
                finished?;
                self.launch_replacement_of(attempt)?;
            }
        }
        Ok(())
    }

    /// Records the finish of an attempt whose output is in place.
    fn finish_in_place(&mut self, attempt: AttemptId, node: NodeId, state: AttemptState) -> Result<(), RunError> {
        if state == AttemptState::Starting {
            self.happen(&Event::AttemptRunning { attempt, waited: None })?;
        }
        self.enter(attempt, node, 0.0, Reads::default(), true);
        self.finish_with_result(attempt)
    }

    /// Records the ends of attempts that ended while no Hindmost ran, at the times of their end markers and in that order.
    /// Returns the last of these times, zero if there are none, and the attempts that are lost although they have end markers, because
    /// their commands are not to blame for their ends; with the reasons.
    fn end_what_ended(
        &mut self,
        unended: &[(AttemptId, NodeId, AttemptState)],
        adopted: &HashSet<AttemptId>,
    ) -> Result<(Time, BTreeMap<AttemptId, String>), RunError> {
        let now = self.engine.now();
        let (mut ended, mut cut_short, mut last) = (Vec::new(), BTreeMap::new(), Time::ZERO);
        for (attempt, node, _) in unended {
            let Some(since) = self.attempt(*attempt).map(Attempt::since) else { continue };
            let marker = self.jobs[ONLY].store.end_marker(*attempt).map_err(|error| self.unreadable(error))?;
            let marked = matches!(marker, EndMarker::Exit(_) | EndMarker::Moved);
            if marked && self.changed_since(*attempt).is_none() && !adopted.contains(attempt) {
                let at = now - self.ended_ago(*attempt, since);
                last = last.max(at);
                match cut_short_by(&self.jobs[ONLY].store, self.engine, *attempt, marker) {
                    Some(why) => _ = cut_short.insert(*attempt, why),
                    None => ended.push((at, *attempt, *node)),
                }
            }
        }
        ended.sort_unstable();
        for (_, attempt, node) in &ended {
            let reads = self.earlier_reads(*attempt);
            self.enter(*attempt, *node, 0.0, reads, true);
        }
        self.ended(ended.into_iter().map(|(at, attempt, _)| (attempt, None, Some(at))).collect())?;
        Ok((last, cut_short))
    }

    /// Turns a read error into the run's error. The run must end, because continuing could lose results.
    fn unreadable(&self, error: std::io::Error) -> RunError {
        RunError::Io { path: self.jobs[ONLY].store.folder().into(), error }
    }
}
