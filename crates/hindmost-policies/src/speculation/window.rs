//! `window` looks ahead: at the start of each short window of time it detects stragglers and reserves, for the copies
//! that save both time and energy, the best of the slots that are free or come free within the window. Slots that are
//! not reserved go to pending tasks.
//!
//! Paper: Zhou, Phan, Ibrahim & He, "Energy-Efficient Speculative Execution using Advanced Reservation for Heterogeneous
//! Clusters", ICPP 2018, sections 5.1 (window-based reservation) and 5.2 (Algorithm 1, opportunistic rescheduling). The
//! formulas are in [`theory::skyline`](crate::theory::skyline).
//!
//! Algorithm, for each phase of a job:
//! - Windows follow each other. A window is as long as a share (`window`, w) of the phase's fastest task, but shorter than
//!   its mean task.
//! - At the start of a window, the stragglers are the running attempts whose progress rate is below a share (`slow`) of
//!   the phase's mean rate and whose remaining time is known. The longest remaining time (criticalness) is first.
//! - V are the slots that are free, or come free before the window ends by the expected ends of running attempts, in the
//!   order of the times at which they come free.
//! - A copy on a slot is expected to take as long as the last non-straggling task there, corrected for transfers. Each
//!   straggler gets the slot of V that the skyline scan keeps: Δt and ΔE must both be above zero, and a later slot must be
//!   strictly better in both. If none is left, another straggler may leave its slot (opportunistic rescheduling).
//! - A copy starts now on a slot that is free. Another slot is reserved until the end of the window: it takes what comes
//!   free on the node until the copy fits. Pending tasks get what is not reserved.
//!
//! A reservation ends with its window, and before that when its copy starts, its task finishes, its straggler has failed
//! or a copy would no longer save time and energy, or its node is lost. The kernel ends it too, whatever the policy does.
//!
//! Passes: `[Reserve(window, skyline), Originals(order)]`; with `originals_first=true` in the other order.
//!
//! Variants, which the paper does not have, show what brings the gain: `look_ahead=false,anytime=true` starts copies before
//! pending tasks on slots that are free, `originals_first=true` reserves only slots that no pending task takes,
//! `choice=first` takes the first slot that helps, `saves=time` ignores energy, and `exchanges=0` never reschedules.
//!
//! Readings:
//! - A task has at most two running attempts, because only an attempt that runs alone can be a straggler. A copy that is a
//!   straggler itself gets no copy while the original runs.
//! - "Job" is a phase of a job, because tasks of other phases have other durations.
//! - The paper does not say how stragglers are detected. Here, a progress rate is one over the attempt's duration, and the
//!   mean rate is that of all attempts of the phase whose duration is known, finished ones included. The default of `slow`
//!   is one half: at equal power and equal nodes, an attempt that runs faster than half the normal rate has never more
//!   than twice a copy's duration left, so that its copy saves no energy.
//! - If only the age is known, an attempt is a straggler once it has run for so long that its rate must be below the
//!   limit. Its remaining time is then the one that the progress model expects at its age.
//! - "Residual time longer than the copy" follows from Δt > 0 and is not tested again.
//! - The last non-straggling task of a node may be one of another phase. The copy is then expected to exceed the mean of
//!   its own phase by the same factor. On a node without such a task, it is expected to take the mean duration on a node
//!   of this speed.
//! - Slots that come free at the same time are visited by node id.
//! - The bandwidth B of the three cases of locality is a parameter. Without it, transfers are not distinguished.
//! - score¹ is built as printed, (ct_j − ct_i)/ct_j; `closeness=ratio` takes ct_i/ct_j, which is close in the usual sense.
//! - "Triggered only when k < i − 1" is read as: if at most k stragglers have positive scores, all of them are tried.
//! - The power of a slot is the power of its node with the task minus the power without it. If some node has no power
//!   model, a busy core counts as equal on all nodes, so that energies are in core-seconds.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod ends_by_time;
mod free_times;
mod history;
mod phases;
mod rounds;
mod search;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Phase};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::{Counts, Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use self::ends_by_time::End;
use self::free_times::FreeTimes;
use self::history::History;
use self::phases::PhaseState;
use super::is_only_copy;
use crate::theory::skyline::Closeness;

crate::parameters! {
    /// The parameters of `window`.
    pub struct WindowParameters {
        /// length of a window in durations of the phase's fastest task; it stays below the mean duration
        pub window: f64 = 0.2, in 0.001..=1.0;
        /// share of the phase's mean progress rate below which an attempt is a straggler
        pub slow: f64 = 0.5, in 0.001..=1.0;
        /// whether slots that come free within the window are reserved; if not, copies start on free slots only
        pub look_ahead: bool = true;
        /// which slot a copy gets: skyline (the one that the scan for saved time and energy keeps) or first (the first
        /// that saves both)
        pub choice: Choice = Choice::Skyline;
        /// stragglers that may have to leave their slot to one without; 0 means no rescheduling
        pub exchanges: u32 = 3, in 0..=1_000, unit "stragglers";
        /// what score 1 of rescheduling is: printed ((ct_j - ct_i)/ct_j) or ratio (ct_i/ct_j)
        pub closeness: Closeness = Closeness::Printed;
        /// bandwidth with which input is read from another node; unknown: transfers are not distinguished
        pub bandwidth: Option<f64> = None, word unknown, in 0.001.., unit "bytes/s";
        /// what a copy must save, and by what slots are compared: both (time and energy) or time
        pub saves: Saves = Saves::Both;
        /// whether the phase gets copies only while none of its tasks is pending, on slots that no pending task takes, as
        /// under hete_aware
        pub originals_first: bool = false;
        /// whether stragglers are also looked for whenever resources are free, not only when a window begins
        pub anytime: bool = false;
    }
}

/// What a copy must save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saves {
    /// Time and energy, as in the paper.
    Both,
    /// Time.
    Time,
}

crate::words!(Saves: Both = "both", Time = "time");

/// Which slot a copy gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The slot that the skyline scan keeps.
    Skyline,
    /// The first slot that saves time and energy.
    First,
}

crate::words!(Choice: Skyline = "skyline", First = "first");
crate::words!(Closeness: Printed = "printed", Ratio = "ratio");

/// A window is at least this share of the longest straggler's duration.
const LEAST_SHARE: f64 = 0.001;

type PhaseId = (JobId, u32);

/// How the pass works.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) window: f64,
    pub(super) slow: f64,
    pub(super) looks_ahead: bool,
    /// True if a phase gets copies only while none of its tasks is pending.
    pub(super) after_originals: bool,
    pub(super) choice: Choice,
    pub(super) exchanges: u32,
    pub(super) closeness: Closeness,
    pub(super) bandwidth: Option<f64>,
    pub(super) saves: Saves,
    pub(super) anytime: bool,
}

/// The pass that reserves slots for copies of stragglers and starts the copies.
pub struct ReserveSlots {
    settings: Settings,
    phases: FxHashMap<PhaseId, PhaseState>,
    /// The expected ends of running attempts, as far as they are known.
    ends: FxHashMap<AttemptId, (NodeId, Time, Time)>,
    history: History,
    free: FreeTimes,
    /// The phases whose next window is planned, by time.
    due: BTreeSet<(Time, PhaseId)>,
    /// The straggler and the node of each reservation.
    reserved: FxHashMap<TaskId, (AttemptId, NodeId)>,
    /// The tasks with reservations, by node.
    reserved_on: FxHashMap<NodeId, Vec<TaskId>>,
    /// The times at which reservations end. They may have ended before.
    until: BTreeSet<(Time, TaskId)>,
    /// Tasks whose reservations may be ready or useless.
    review: BTreeSet<TaskId>,
    /// Whether all nodes have a power model, and the number of nodes for which this is known.
    power: (usize, bool),
    /// Number of copies that were given a slot, and the slots that they could choose from, added up.
    chosen: (u64, u64),
}

/// Name of the count of copies that were given a slot.
pub const COPIES_PLACED: &str = "copies_placed";
/// Name of the count of slots that these copies could choose from, added up: slots that were free on the scanned nodes,
/// and slots that were expected to come free within the window.
pub const SLOTS_OFFERED: &str = "slots_offered";

impl ReserveSlots {
    /// Creates the pass of `window`.
    pub fn new(parameters: WindowParameters) -> ReserveSlots {
        let WindowParameters { window, slow, look_ahead, choice, exchanges, closeness, bandwidth, .. } = parameters;
        ReserveSlots::with(Settings {
            window,
            slow,
            looks_ahead: look_ahead,
            after_originals: parameters.originals_first,
            choice,
            exchanges,
            closeness,
            bandwidth,
            saves: parameters.saves,
            anytime: parameters.anytime,
        })
    }

    pub(super) fn with(settings: Settings) -> ReserveSlots {
        ReserveSlots {
            settings,
            phases: FxHashMap::default(),
            ends: FxHashMap::default(),
            history: History::default(),
            free: FreeTimes::default(),
            due: BTreeSet::new(),
            reserved: FxHashMap::default(),
            reserved_on: FxHashMap::default(),
            until: BTreeSet::new(),
            review: BTreeSet::new(),
            power: (0, true),
            chosen: (0, 0),
        }
    }

    fn limit(&self, id: PhaseId, phase: &Phase) -> Option<f64> {
        self.phases.get(&id).and_then(|state| state.limit(self.settings.slow, phase))
    }

    /// Updates whether a node has free resources.
    fn refresh(&mut self, id: NodeId, cluster: &Cluster) {
        let Some(node) = cluster.node(id) else { return };
        self.free.refresh(id, self.history.relative(id, node), cluster);
    }

    /// Watches an attempt until its end or its age makes it a straggler.
    fn watch(&mut self, id: AttemptId, view: &mut View<'_>) {
        let Some(phase) = view.cluster.phase(id.task) else { return };
        let limit = self.limit(phase_of(id.task), phase).filter(|limit| limit.is_finite());
        let condition = limit.map_or(Condition::Revealed, |limit| Condition::RemainingOrElapsedAbove(0.0, limit));
        view.watch(id, condition);
    }

    fn started(&mut self, id: AttemptId, node: NodeId, view: &mut View<'_>) {
        let cluster = view.cluster;
        self.refresh(node, cluster);
        self.forget_reservation(id.task, cluster);
        let phase_id = phase_of(id.task);
        let now = cluster.now();
        let state = self.phases.entry(phase_id).or_insert_with(|| PhaseState::new(now));
        // The other copies of the task are no longer its only ones.
        if id.copy > 0 {
            for copy in cluster.copies(id.task).map(Attempt::id).filter(|copy| *copy != id) {
                if let Some((_, since, finish)) = self.ends.get(&copy) {
                    state.by_duration.remove(&(*finish - *since, copy));
                }
                state.aged.remove(&copy);
            }
        }
        self.watch(id, view);
        if self.settings.after_originals && view.cluster.phase(id.task).is_some_and(|phase| phase.pending() == 0) {
            self.plan(phase_id, view);
        }
    }

    /// Plans the next window of a phase if it may have stragglers.
    fn plan(&mut self, id: PhaseId, view: &mut View<'_>) {
        if let Some(at) = self.plan_at(id, view.cluster)
            && at > view.cluster.now()
        {
            view.wake(at);
        }
    }

    /// Plans the next window of a phase if it may have stragglers, and returns its start unless it was planned already.
    fn plan_at(&mut self, id: PhaseId, cluster: &Cluster) -> Option<Time> {
        let phase = cluster.phase(TaskId { job: id.0, phase: id.1, index: 0 })?;
        let state = self.phases.get(&id).filter(|state| state.due.is_none())?;
        let limit = state.limit(self.settings.slow, phase)?;
        self.lower_floor(id, limit, cluster);
        let state = self.phases.get_mut(&id)?;
        let waits = self.settings.after_originals && phase.pending() > 0;
        if waits || !phase.may_be_copied() || !state.has_stragglers(limit) {
            return None;
        }
        let at = state.next_window(state.window(self.settings.window, phase)?, cluster.now());
        state.due = Some(at);
        self.due.insert((at, id));
        Some(at)
    }

    /// Makes sure that attempts of a phase that are longer than `limit` are among those that may be stragglers.
    fn lower_floor(&mut self, id: PhaseId, limit: f64, cluster: &Cluster) {
        let Some(state) = self.phases.get_mut(&id) else { return };
        for (duration, attempt) in state.move_floor(limit) {
            // Attempts that have ended or got another copy are dropped, as are those whose duration has changed.
            let is_known = self.ends.get(&attempt).is_some_and(|(_, since, finish)| *finish - *since == duration);
            if is_known && is_only_copy(attempt, cluster) && !self.reserved.contains_key(&attempt.task) {
                state.put(duration, attempt);
            }
        }
    }

    /// Removes the expected end of an attempt. Returns its duration, if it was known.
    fn forget_end(&mut self, id: AttemptId) -> Option<Time> {
        let (node, since, finish) = self.ends.remove(&id)?;
        if self.settings.looks_ahead {
            self.free.remove(&(finish, node, id));
        }
        if let Some(state) = self.phases.get_mut(&phase_of(id.task)) {
            state.by_duration.remove(&(finish - since, id));
        }
        Some(finish - since)
    }

    /// Records what was learned of an attempt: its expected end or that it has reached an age.
    fn learned(&mut self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        let before = self.forget_end(id);
        let Some(state) = self.phases.get_mut(&phase_of(id.task)).filter(|_| !phase.is_finished()) else { return };
        state.aged.remove(&id);
        if let Some(before) = before {
            state.subtract(before);
        }
        if self.reserved.contains_key(&id.task) {
            self.review.insert(id.task);
        }
        let elapsed = (cluster.now() - attempt.since()).seconds();
        let Some(finish) = attempt.measured_finish() else {
            if state.limit(self.settings.slow, phase).is_none_or(|limit| elapsed < limit) {
                return self.watch(id, view);
            }
            // A live driver reports each condition once, and its end may become known later.
            view.watch(id, Condition::Revealed);
            self.consider(id, cluster);
            return self.plan(phase_of(id.task), view);
        };
        let (node, since, finish) = (attempt.node(), attempt.since(), finish.max(attempt.since()));
        state.add(finish - since);
        let limit = state.limit(self.settings.slow, phase);
        let may_be_copied = cluster.is_only_copy(attempt) && attempt.state() != AttemptState::Stopping;
        if may_be_copied && !self.reserved.contains_key(&id.task) {
            state.put(finish - since, id);
        }
        let may_have_stragglers = |limit| state.has_stragglers(limit) || state.floor_is_above(limit);
        let plans = state.due.is_none() && limit.is_some_and(may_have_stragglers);
        self.ends.insert(id, (node, since, finish));
        if self.settings.looks_ahead {
            self.free.add((finish, node, id));
            if cluster.has_reservations(node) {
                self.reservations_changed(node, cluster);
            }
        }
        if plans {
            self.plan(phase_of(id.task), view);
        }
    }

    /// Adds an attempt to those that may be stragglers, if it is its task's only copy and has no reservation.
    fn consider(&mut self, id: AttemptId, cluster: &Cluster) {
        if !is_only_copy(id, cluster) || self.reserved.contains_key(&id.task) {
            return;
        }
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        if attempt.state() == AttemptState::Stopping {
            return;
        }
        let limit = self.limit(phase_of(id.task), phase);
        let Some(state) = self.phases.get_mut(&phase_of(id.task)) else { return };
        if let Some((_, since, finish)) = self.ends.get(&id) {
            state.put(*finish - *since, id);
        } else if limit.is_some_and(|limit| (cluster.now() - attempt.since()).seconds() >= limit) {
            state.aged.insert(id);
        }
    }

    fn ended(&mut self, id: AttemptId, event: &Event, view: &mut View<'_>) {
        let cluster = view.cluster;
        let known = self.forget_end(id);
        if let Some(state) = self.phases.get_mut(&phase_of(id.task)) {
            state.aged.remove(&id);
            if let Some(duration) = known {
                state.subtract(duration);
            }
        }
        let finished = matches!(event, Event::AttemptFinished { .. });
        if !finished && let Some(left) = cluster.copies(id.task).next().map(Attempt::id) {
            self.consider(left, cluster);
            if !self.ends.contains_key(&left) {
                self.watch(left, view);
            }
        }
        if self.reserved.contains_key(&id.task) {
            self.review.insert(id.task);
        }
    }

    /// Records how long an attempt that has finished took on its node.
    fn finished(&mut self, id: AttemptId, node: NodeId, seconds: f64, cluster: &Cluster) {
        let Some(phase) = cluster.phase(id.task) else { return };
        let Some(state) = self.phases.get_mut(&phase_of(id.task)) else { return };
        let limit = state.limit(self.settings.slow, phase);
        state.add(Time::from_seconds(seconds));
        if let Some(mean) = state.mean(phase).filter(|mean| *mean > 0.0 && mean.is_finite())
            && limit.is_none_or(|limit| seconds <= limit)
        {
            self.history.set((node, id.task), seconds, mean, self.settings.bandwidth, cluster);
        }
    }

    /// Forgets the reservations on a node that was lost or leaves.
    fn forget_reservations_on(&mut self, node: NodeId, cluster: &Cluster) {
        for task in self.reserved_on.get(&node).cloned().unwrap_or_default() {
            self.forget_reservation(task, cluster);
        }
        self.review.extend(self.reserved.keys());
        self.refresh(node, cluster);
    }

    fn node_lost(&mut self, node: NodeId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let mut lost: Vec<AttemptId> = self.ends.iter().filter(|(_, end)| end.0 == node).map(|(id, _)| *id).collect();
        lost.sort_unstable();
        for id in lost {
            let duration = self.forget_end(id);
            if let Some((state, duration)) = self.phases.get_mut(&phase_of(id.task)).zip(duration) {
                state.subtract(duration);
            }
        }
        for state in self.phases.values_mut() {
            state.aged.retain(|id| cluster.attempt(*id).is_some());
        }
        self.forget_reservations_on(node, cluster);
        // A task may have only one copy left.
        let mut left: Vec<AttemptId> = self.ends.keys().copied().collect();
        left.sort_unstable();
        for id in left {
            self.consider(id, cluster);
        }
        let mut phases: Vec<PhaseId> = self.phases.keys().copied().collect();
        phases.sort_unstable();
        for id in phases {
            self.plan(id, view);
        }
    }

    /// Updates the ends of a node after its reservations have changed.
    fn reservations_changed(&mut self, node: NodeId, cluster: &Cluster) {
        if !self.settings.looks_ahead {
            return;
        }
        let of = |attempt: &Attempt| Some((self.ends.get(&attempt.id())?.2, node, attempt.id()));
        let ends: Vec<End> = cluster.attempts_on(node).filter_map(of).collect();
        self.free.reserve(node, ends, cluster);
        self.refresh(node, cluster);
    }

    /// Forgets a reservation that has ended. Its straggler may get another one.
    fn forget_reservation(&mut self, task: TaskId, cluster: &Cluster) {
        let Some((straggler, node)) = self.reserved.remove(&task) else { return };
        if let Some(tasks) = self.reserved_on.get_mut(&node) {
            tasks.retain(|other| *other != task);
            if tasks.is_empty() {
                self.reserved_on.remove(&node);
            }
        }
        self.reservations_changed(node, cluster);
        self.consider(straggler, cluster);
    }

    /// Forgets the phases and reservations of a job that was abandoned.
    fn abandoned(&mut self, job: JobId, cluster: &Cluster) {
        self.phases.retain(|(other, _), _| *other != job);
        self.due.retain(|(_, (other, _))| *other != job);
        let mut reserved: Vec<TaskId> = self.reserved.keys().filter(|task| task.job == job).copied().collect();
        reserved.sort_unstable();
        for task in reserved {
            self.forget_reservation(task, cluster);
        }
    }

    /// Updates a node on which resources have come free. Its reservations may be ready.
    fn resources_freed(&mut self, node: NodeId, cluster: &Cluster) {
        match self.reserved_on.get(&node) {
            Some(tasks) => {
                self.review.extend(tasks);
                self.reservations_changed(node, cluster);
            }
            None => self.refresh(node, cluster),
        }
    }

    /// Returns true if all nodes have a power model.
    fn has_power(&mut self, cluster: &Cluster) -> bool {
        let new = cluster.nodes_after(self.power.0);
        self.power = (cluster.joined_nodes(), self.power.1 && new.iter().all(|node| node.power().is_some()));
        self.power.1
    }
}

fn phase_of(task: TaskId) -> PhaseId {
    (task.job, task.phase)
}

impl Pass for ReserveSlots {
    fn counts(&self, counts: &mut Counts) {
        let (copies, slots) = self.chosen;
        counts.insert(COPIES_PLACED, copies);
        counts.insert(SLOTS_OFFERED, slots);
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, node, .. }) => self.started(*attempt, *node, view),
            Seen::Decision(Decision::Stop { attempt, .. }) => {
                if let Some(state) = self.phases.get_mut(&phase_of(attempt.task)) {
                    state.aged.remove(attempt);
                    if let Some((_, since, finish)) = self.ends.get(attempt) {
                        state.by_duration.remove(&(*finish - *since, *attempt));
                    }
                }
            }
            Seen::Decision(Decision::Abandon { job }) => self.abandoned(*job, view.cluster),
            Seen::Decision(_) => {}
            Seen::Event(event, applied) => {
                match event {
                    Event::WatchMet { attempt, .. } => self.learned(*attempt, view),
                    Event::AttemptFinished { attempt }
                    | Event::AttemptFailed { attempt, .. }
                    | Event::AttemptStopped { attempt } => {
                        if applied.ended_on.is_some() {
                            self.ended(*attempt, event, view);
                        }
                        let finished = matches!(event, Event::AttemptFinished { .. });
                        if let Some((node, since)) = applied.released.filter(|_| finished) {
                            self.finished(*attempt, node, (view.cluster.now() - since).seconds(), view.cluster);
                        }
                        if applied.won {
                            self.forget_reservation(attempt.task, view.cluster);
                        }
                        if applied.phase_finished {
                            let state = self.phases.remove(&phase_of(attempt.task));
                            if let Some(at) = state.and_then(|state| state.due) {
                                self.due.remove(&(at, phase_of(attempt.task)));
                            }
                        }
                        self.plan(phase_of(attempt.task), view);
                    }
                    Event::NoMoreCopies { task, .. }
                    | Event::TaskWithheld { task, .. }
                    | Event::TaskReturned { task }
                    | Event::TaskGivenUp { task } => {
                        self.plan(phase_of(*task), view);
                    }
                    Event::NodeLost { node, .. } => self.node_lost(*node, view),
                    Event::NodeLeaving { node } => self.forget_reservations_on(*node, view.cluster),
                    Event::NodeJoined { node, .. } | Event::NodeSpeedLearned { node, .. } => {
                        if let Some(found) = view.cluster.node(*node) {
                            self.history.add_node(found);
                        }
                        self.refresh(*node, view.cluster);
                    }
                    Event::NodeReturned { node } => self.refresh(*node, view.cluster),
                    Event::DurationsLearned { job, phase, .. } => {
                        let unknown = view
                            .cluster
                            .running()
                            .map(Attempt::id)
                            .filter(|id| phase_of(id.task) == (*job, *phase) && !self.ends.contains_key(id));
                        let mut unknown: Vec<AttemptId> = unknown.collect();
                        unknown.sort_unstable();
                        for id in unknown {
                            self.watch(id, view);
                        }
                    }
                    _ => {}
                }
                if let Some(node) = applied.ended_on {
                    self.resources_freed(node, view.cluster);
                }
            }
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.end_expired(round.cluster());
        for task in std::mem::take(&mut self.review) {
            self.review_reservation(task, round);
        }
        let now = round.cluster().now();
        while let Some((at, id)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, id));
            if let Some(state) = self.phases.get_mut(&id) {
                state.due = None;
                self.begin_window(id, round);
            }
        }
        if self.settings.anytime {
            self.use_free_slots(round);
        }
    }
}
