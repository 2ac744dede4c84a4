//! Whether nodes can be used: what Slurm says, and what a check of a silent node shows.
//!
//! A node is lost when Slurm says so, when its allocation ends, or when agents on it have not reported for a while and a check of
//! the node fails. It returns when Slurm says that it is up, the run has an allocation of it, and a check succeeds.

use std::time::{Duration, Instant};

use hindmost_core::ids::{AttemptId, NodeId};

use super::super::{Happened, NodeLoss};
use super::allocation::{self, Answer, Requested};
use super::commands::Allocation;
use super::observer::Seen;
use super::step::Fault;
use super::{Slurm, commands, reaper, step};

/// Time without a report after which a node is checked.
const SILENCE: Duration = Duration::from_secs(15);
/// Time between two checks of a node.
const CHECKS: Duration = Duration::from_secs(10);
/// Time between a failed check and the next one. A `slurmd` that is being restarted answers again by then.
const AGAIN: Duration = Duration::from_secs(4);
/// Number of failed checks in a row after which a node is lost.
const FAILURES: u32 = 2;
/// Time for which Slurm must not list an allocation before it counts as ended. A controller that was restarted may list none for a
/// moment; an allocation that has really ended stays listed with its state for some minutes.
const UNLISTED: Duration = Duration::from_secs(10);
/// Time between two tries to end an attempt whose agent may be dead.
const REAPS: Duration = Duration::from_secs(10);
/// Time between two requests for an allocation of a node.
const REQUESTS: Duration = Duration::from_secs(10);

impl Slurm {
    /// Applies what the observer and the checks have found.
    pub(super) fn observe(&mut self, happened: &mut Vec<Happened>) {
        for seen in self.observer.seen() {
            match seen {
                Seen::Cluster(snapshot) => {
                    self.snapshot = snapshot;
                    self.is_unanswered = false;
                    self.compare(happened);
                }
                Seen::Silent(why) => happened.push(Happened::Notice(format!(
                    "Slurm does not answer ({why}); running attempts continue, and its commands are tried again"
                ))),
                Seen::Answers => happened.push(Happened::Notice("Slurm answers again".to_owned())),
            }
        }
        let checks: Vec<_> = self.checks.1.try_iter().collect();
        for (at, begun, checked) in checks {
            if checked.is_ok() {
                self.places[at].answered = Some(begun);
            }
            self.checked(at, checked, happened);
        }
        self.check_silent();
        self.take_grants();
    }

    /// Ends allocations of this run that it does not use. A controller that was killed may have forgotten their end, or they were
    /// granted to an earlier process of the run.
    fn end_surplus(&mut self) {
        let held = |one: &&Allocation| one.comment == self.terms.comment && one.is_held();
        // The cancel of one whose node was lost may have been forgotten. It would hold the node for ever.
        let mut surplus: Vec<u32> = self.snapshot.allocations.iter().filter(held).map(|one| one.id).collect();
        // A controller that has forgotten an allocation may give its id to the next one.
        self.given_up.retain(|id| surplus.contains(id));
        // One that was granted just now, or after the snapshot, may not be known yet as that of a node.
        let is_stable = |place: &super::Place| place.requested.is_none() && place.since < self.snapshot.begun;
        if self.enclosing.is_some() || self.has_given_back || !self.has_gone_on() {
            return;
        }
        let are_stable = self.places.iter().all(is_stable);
        let is_used = |id: u32| self.places.iter().any(|place| place.job == Some(id));
        surplus.retain(|id| !is_used(*id) && (are_stable || self.given_up.contains(id)));
        if !surplus.is_empty() {
            let surplus: Vec<String> = surplus.iter().map(u32::to_string).collect();
            std::thread::spawn(move || commands::cancel(&surplus, None));
        }
    }

    /// Compares the nodes of the run with the snapshot.
    fn compare(&mut self, happened: &mut Vec<Happened>) {
        self.end_surplus();
        self.look_at_enclosing();
        for at in 0..self.places.len() {
            let is_listed = |id: u32| self.snapshot.allocations.iter().any(|one| one.id == id);
            let is_unlisted = self.places[at].job.is_some_and(|id| !is_listed(id));
            let place = &mut self.places[at];
            if self.snapshot.begun < place.since {
                continue;
            }
            let since = is_unlisted.then(|| place.unlisted_since.unwrap_or_else(Instant::now));
            place.unlisted_since = since;
            if since.is_some_and(|since| since.elapsed() < UNLISTED) {
                continue;
            }
            let place = &self.places[at];
            let node = self.snapshot.nodes.iter().find(|node| node.name == place.name);
            let allocation = self.allocation_of(place);
            let holds = allocation.is_some_and(|one| one.is_running() && !one.nodes.is_empty());
            let is_up = node.is_some_and(super::nodes::SlurmNode::is_up);
            let is_down = node.is_some_and(super::nodes::SlurmNode::is_down);
            let is_silent = node.is_some_and(super::nodes::SlurmNode::is_silent);
            match (place.is_up(), is_up && holds) {
                // Slurm may only have missed an answer, and it does not know the states of nodes after a restart.
                (true, false) if holds && !is_down && is_silent => self.check(at),
                (true, false) if holds && !is_down => {}
                (true, false) => {
                    let is_time_up = !is_down && allocation.is_some_and(Allocation::is_timed_out);
                    let why = match (node, allocation) {
                        (Some(node), _) if is_down => {
                            let reason = node.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                            format!("Slurm says {}{reason}", node.state)
                        }
                        (_, Some(one)) => format!("its allocation {} {}", one.id, one.end_in_words()),
                        _ => "its allocation has ended".to_owned(),
                    };
                    self.lose(at, NodeLoss { why: Some(why), is_time_up }, happened);
                }
                // Attempts that ran there when it was lost must have ended first.
                (true, true) => self.keep(at),
                (false, true) if self.running.values().all(|running| running.place != at) => self.check(at),
                (false, true) => self.reap_single(at),
                (false, false) if node.is_some_and(super::nodes::SlurmNode::is_usable) && !holds => self.request(at),
                _ => {}
            }
        }
    }

    /// Notes the end of the allocation in which this process runs. Its nodes can't return then.
    fn look_at_enclosing(&mut self) {
        let Some(id) = self.enclosing else { return };
        let found = self.snapshot.allocations.iter().find(|one| one.id == id);
        let how = match found {
            Some(one) if one.is_held() => {
                self.unlisted_since = None;
                return;
            }
            Some(one) => one.end_in_words(),
            None if self.unlisted_since.get_or_insert_with(Instant::now).elapsed() < UNLISTED => return,
            None => "has ended".to_owned(),
        };
        self.over.get_or_insert_with(|| format!("allocation {id}, in which this run takes place, {how}"));
    }

    /// Returns the allocation of a node as Slurm knows it. After a controller was killed, it may give the same id to an allocation
    /// of another node.
    fn allocation_of(&self, place: &super::Place) -> Option<&Allocation> {
        let is_its = |one: &&Allocation| {
            Some(one.id) == place.job && (self.enclosing.is_some() || one.nodes.is_empty() || one.nodes == place.name)
        };
        self.snapshot.allocations.iter().find(is_its)
    }

    /// Notes the loss of a node, and fences its attempts.
    fn lose(&mut self, at: usize, loss: NodeLoss, happened: &mut Vec<Happened>) {
        self.places[at].lose();
        for running in self.running.values().filter(|running| running.place == at) {
            // Its task may start again elsewhere.
            running.request_stop(true);
        }
        happened.push(Happened::NodeLost(NodeId(at as u32), loss));
    }

    /// Requests an allocation of a node whose allocation has ended.
    fn request(&mut self, at: usize) {
        let old = self.allocation_of(&self.places[at]).map(|one| one.id);
        let place = &mut self.places[at];
        if self.enclosing.is_some()
            || self.has_given_back
            || place.requested.is_some()
            || place.next_request > Instant::now()
        {
            return;
        }
        place.next_request = Instant::now() + REQUESTS;
        place.job = None;
        if let Some(old) = old {
            self.given_up.push(old);
            std::thread::spawn(move || commands::cancel(&[old.to_string()], None));
        }
        place.requested = allocation::request(&place.name, place.gpus.len() as u32, &self.terms).ok();
    }

    /// Notes the allocations that were granted.
    fn take_grants(&mut self) {
        for at in 0..self.places.len() {
            match self.places[at].requested.as_mut().map(Requested::answer) {
                Some(Answer::Granted(id)) => {
                    let place = &mut self.places[at];
                    (place.requested, place.job, place.kept) = (None, Some(id), Some(Instant::now()));
                    self.check(at);
                }
                Some(Answer::Refused(_)) => self.places[at].requested = None,
                Some(Answer::Waits) | None => {}
            }
        }
    }

    /// Checks nodes from whose agents no report has come for a while.
    fn check_silent(&mut self) {
        let failing = |at: &usize| self.places[*at].is_up() && self.places[*at].failures > 0;
        let mut silent: Vec<usize> = (0..self.places.len()).filter(failing).collect();
        for running in self.running.values() {
            let has_no_report = running.reported.elapsed() > SILENCE && running.doubt.is_none();
            if self.places[running.place].is_up() && (has_no_report || running.is_silent(SILENCE)) {
                silent.push(running.place);
            }
        }
        silent.sort_unstable();
        silent.dedup();
        for at in silent {
            self.check(at);
        }
    }

    /// Checks a node in a thread, unless it was checked just before.
    pub(super) fn check(&mut self, at: usize) {
        self.check_after(at, None);
    }

    /// Checks a node in a thread, unless it was checked just before. A check that began before the time `after`, or that has succeeded
    /// although it began before, does not count.
    pub(super) fn check_after(&mut self, at: usize, after: Option<Instant>) {
        let name = self.check_name();
        let place = &mut self.places[at];
        let pause = if place.failures > 0 { AGAIN } else { CHECKS };
        let counts = |checked: &Instant| after.is_none_or(|after| *checked > after);
        let was_checked =
            place.checked.filter(counts).is_some_and(|checked| checked.elapsed() < pause && checked > place.since);
        let Some(job) = place.job.filter(|_| !place.is_being_checked && !was_checked) else { return };
        let begun = Instant::now();
        (place.is_being_checked, place.checked) = (true, Some(begun));
        let (node, program, folder) = (place.name.clone(), self.program.clone(), self.folder.clone());
        let result = self.checks.0.clone();
        std::thread::spawn(move || {
            let _ = result.send((at, begun, step::check(job, &node, &name, &program, &folder)));
        });
    }

    /// Handles the result of a check.
    fn checked(&mut self, at: usize, checked: Result<(), Fault>, happened: &mut Vec<Happened>) {
        let is_used = self.running.values().any(|running| running.place == at);
        let place = &mut self.places[at];
        place.is_being_checked = false;
        match checked {
            Ok(()) if !place.is_up() && place.job.is_some() && !is_used => {
                if let Some(job) = place.job {
                    place.grant(job);
                }
                self.keep(at);
                happened.push(Happened::NodeReturned(NodeId(at as u32)));
            }
            Ok(()) => {
                place.failures = 0;
                self.reap_silent(at);
            }
            // While the controller does not answer, a check says nothing about the node.
            Err(Fault::Unclear(_)) => {}
            Err(fault) if place.is_up() && self.snapshot.begun.elapsed() < SILENCE => {
                place.failures += 1;
                // The pause counts from the end of a check, which may take long.
                place.checked = Some(Instant::now());
                if place.failures >= FAILURES {
                    self.lose(at, NodeLoss { why: Some(fault.to_string()), is_time_up: false }, happened);
                }
            }
            Err(_) => {}
        }
    }

    /// Ends attempts on a node that answers although their agents are silent, if these turn out to be dead.
    fn reap_silent(&mut self, at: usize) {
        let of_node = self.running.iter_mut().filter(|(_, running)| running.place == at);
        let silent = of_node.filter_map(|(attempt, running)| {
            running.read_beat();
            running.is_silent(SILENCE).then_some(*attempt)
        });
        let silent: Vec<AttemptId> = silent.collect();
        for attempt in silent {
            self.reap(attempt, reaper::IF_DEAD);
        }
    }

    /// Ends attempts of tasks that may not run twice on a lost node on which steps can be started again, so that they have surely ended.
    fn reap_single(&mut self, at: usize) {
        let is_wanted = |running: &super::Running| running.place == at && running.is_single && running.killed.is_some();
        let wanted: Vec<AttemptId> =
            self.running.iter().filter(|(_, running)| is_wanted(running)).map(|(attempt, _)| *attempt).collect();
        for attempt in wanted {
            self.reap_in_step(attempt, reaper::ANYWAY);
        }
    }

    /// Lets a step of its own end an attempt on its node and report the end, unless the node is lost or that was tried just before.
    pub(super) fn reap(&mut self, attempt: AttemptId, what: &'static str) {
        if self.running.get(&attempt).is_some_and(|running| self.places[running.place].is_up()) {
            self.reap_in_step(attempt, what);
        }
    }

    fn reap_in_step(&mut self, attempt: AttemptId, what: &'static str) {
        let name = self.check_name();
        let Some(running) = self.running.get_mut(&attempt) else { return };
        let place = &self.places[running.place];
        let Some(job) = place.job else { return };
        if running.reaped.is_some_and(|at| at.elapsed() < REAPS) {
            return;
        }
        running.reaped = Some(Instant::now());
        let (node, program) = (place.name.clone(), self.program.clone());
        let (folder, nonce) = (running.path.clone(), running.nonce.clone());
        // If it fails, it is tried again.
        std::thread::spawn(move || step::reap((job, &node, &name), &program, what, &folder, &nonce));
    }

    /// Reports the nodes that have no allocation yet as lost. Called once, when the engine has been opened.
    pub(super) fn report_missing(&mut self) {
        for (at, place) in self.places.iter().enumerate().filter(|(_, place)| !place.is_up()) {
            let why = match (&place.requested, place.job) {
                (Some(_), _) => Some("Slurm has not granted it yet"),
                (None, Some(_)) => Some("it can't be used yet"),
                // It was not requested, because nothing is left to run, or the user has been notified why Slurm does not grant it.
                (None, None) => None,
            };
            let loss = NodeLoss { why: why.map(str::to_owned), is_time_up: false };
            self.pending.push(Happened::NodeLost(NodeId(at as u32), loss));
        }
    }
}
