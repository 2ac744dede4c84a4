//! What `window` and `hete_aware` do in a round: they end and review reservations, find stragglers when a window begins,
//! and start or reserve their copies.

use std::collections::BinaryHeap;
use std::fmt;

use hindmost_core::cluster::{AttemptState, Cluster, Reservation};
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::Round;
use hindmost_core::record::Decision;
use hindmost_core::time::Time;

use rustc_hash::FxHashMap;

use super::super::is_only_copy;
use super::search::{Known, Search, Slot, Straggler};
use super::{LEAST_SHARE, PhaseId, ReserveSlots, Settings, phase_of};
use crate::theory::skyline::{Gain, allocate};

impl ReserveSlots {
    /// Forgets the reservations whose time has come.
    pub(super) fn end_expired(&mut self, cluster: &Cluster) {
        while let Some((at, task)) = self.until.first().copied().filter(|(at, _)| *at <= cluster.now()) {
            self.until.remove(&(at, task));
            if cluster.reservation(task).is_some() || !self.reserved.contains_key(&task) {
                continue;
            }
            self.forget_reservation(task, cluster);
            // The window has ended, so the next one begins.
            if let Some(state) = self.phases.get_mut(&phase_of(task)).filter(|state| state.due.is_none()) {
                state.due = Some(cluster.now());
                self.due.insert((cluster.now(), phase_of(task)));
            }
        }
    }

    /// Starts the copy of a reservation that has its resources, or releases it if the copy can no longer help.
    pub(super) fn review_reservation(&mut self, task: TaskId, round: &mut Round<'_>) {
        let Some((attempt, node)) = self.reserved.get(&task).copied() else { return };
        let has_power = self.has_power(round.cluster());
        let cluster = round.cluster();
        let Some(reservation) = cluster.reservation(task) else { return self.forget_reservation(task, cluster) };
        let is_ready = Reservation::is_ready(reservation);
        let known = Known { cluster, history: &self.history, settings: &self.settings, has_power };
        let gain = self.straggler(attempt, &known, round).and_then(|(straggler, mean)| {
            let gain = known.gain(&straggler, &Slot { at: cluster.now(), node, after: None }, mean)?;
            let copy = known.copy_seconds(task, node, mean);
            gain.beats(Gain::NONE).then_some(Why { straggler, gain, copy, unit: known.unit() })
        });
        match gain {
            Some(why) if is_ready => {
                if round.may_start(task) && round.start(task, node) {
                    round.because(|| format!("its slot was reserved and is free now: {why}"));
                    // The record of the start ends the reservation here too.
                }
            }
            Some(_) => {}
            None => {
                if round.decide(Decision::Release { task }) {
                    round.because(|| "a new copy would no longer save time and energy".to_owned());
                }
                self.forget_reservation(task, round.cluster());
                let planned = self.plan_at(phase_of(task), round.cluster());
                if let Some(at) = planned.filter(|at| *at > round.cluster().now()) {
                    round.decide(Decision::Wake { at });
                }
            }
        }
    }

    /// Returns a straggler as the search sees it now, and the mean duration of its phase. `None` if it has ended, has got
    /// a sibling, or its remaining time is unknown.
    fn straggler(&self, id: AttemptId, known: &Known<'_>, round: &Round<'_>) -> Option<(Straggler, f64)> {
        let cluster = known.cluster;
        let attempt = cluster.attempt(id).filter(|attempt| attempt.state() != AttemptState::Stopping)?;
        if !is_only_copy(id, cluster) {
            return None;
        }
        let state = self.phases.get(&phase_of(id.task))?;
        let elapsed = (cluster.now() - attempt.since()).seconds();
        let remaining = match self.ends.get(&id) {
            Some((_, _, finish)) => (*finish - cluster.now()).seconds(),
            None => round.estimator.remaining(cluster, attempt)?,
        };
        let watts = known.watts_of_straggler(id, attempt.node(), elapsed + remaining);
        let rate = state.relative_rate(elapsed + remaining);
        Some((Straggler { attempt: id, elapsed, remaining, watts, rate }, state.mean(cluster.phase(id.task)?)?))
    }

    /// Detects the stragglers of a phase and gives them slots.
    pub(super) fn begin_window(&mut self, id: PhaseId, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let Some(phase) = round.cluster().phase(TaskId { job: id.0, phase: id.1, index: 0 }) else { return };
        let (demand, is_pending) = (*phase.demand(), phase.pending() > 0);
        let Some((length, mean)) = self.phases.get(&id).and_then(|state| {
            Some((state.window(self.settings.window, phase)?, state.mean(phase).filter(|mean| *mean > 0.0)?))
        }) else {
            return;
        };
        if let Some(state) = self.phases.get_mut(&id) {
            state.began = now;
        }
        if self.settings.after_originals && is_pending {
            return;
        }
        let stragglers = self.detect(id, mean, round);
        let durations = stragglers.iter().map(|one| one.elapsed + one.remaining).filter(|seconds| seconds.is_finite());
        let until = now + length.max(Time::from_seconds(LEAST_SHARE * durations.fold(0.0, f64::max)));
        let reserved = self.until.len();
        if !stragglers.is_empty() {
            for (straggler, slot, gain) in self.find_slots(&stragglers, (demand, mean, until), round) {
                self.serve(&straggler, slot, gain, (mean, until), round);
            }
        }
        // The stragglers that remain are tested again when the next window begins.
        if let Some(at) = self.plan_next(id, until, round.cluster())
            && self.until.len() == reserved
        {
            // Otherwise the end of the reservation brings a round at that time.
            round.decide(Decision::Wake { at });
        }
    }

    /// Begins a window of each phase that may have stragglers, as long as resources are free.
    pub(super) fn use_free_slots(&mut self, round: &mut Round<'_>) {
        if round.cluster().open_nodes() == 0 {
            return;
        }
        let mut ids: Vec<PhaseId> = self.phases.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some(limit) = round
                .cluster()
                .phase(TaskId { job: id.0, phase: id.1, index: 0 })
                .and_then(|phase| self.limit(id, phase))
            else {
                continue;
            };
            if round.cluster().open_nodes() == 0 {
                return;
            }
            if self.phases.get(&id).is_some_and(|state| state.has_stragglers(limit) || state.floor_is_above(limit)) {
                self.begin_window(id, round);
            }
        }
    }

    /// Plans the window that follows the one that has just begun, if stragglers remain or slots are reserved.
    fn plan_next(&mut self, id: PhaseId, at: Time, cluster: &Cluster) -> Option<Time> {
        let phase = cluster.phase(TaskId { job: id.0, phase: id.1, index: 0 })?;
        let limit = self.limit(id, phase)?;
        let state = self.phases.get_mut(&id).filter(|state| state.due.is_none() && state.has_stragglers(limit))?;
        state.due = Some(at);
        self.due.insert((at, id));
        Some(at)
    }

    /// Returns the stragglers of a phase that may get copies, the most critical first. Forgets attempts whose copies can't
    /// save time and energy on any slot.
    fn detect(&mut self, id: PhaseId, mean: f64, round: &mut Round<'_>) -> Vec<Straggler> {
        let has_power = self.has_power(round.cluster());
        let cluster = round.cluster();
        let Some(phase) = cluster.phase(TaskId { job: id.0, phase: id.1, index: 0 }) else { return Vec::new() };
        let Some(limit) = self.limit(id, phase) else { return Vec::new() };
        self.lower_floor(id, limit, cluster);
        let Some(state) = self.phases.get(&id) else { return Vec::new() };
        let slow = state.by_duration.iter().rev().take_while(|(duration, _)| duration.seconds() > limit);
        let attempts: Vec<AttemptId> = slow.map(|(_, id)| *id).chain(state.aged.iter().copied()).collect();
        let known = Known { cluster, history: &self.history, settings: &self.settings, has_power };
        let least = self.history.least_seconds(mean);
        let (mut found, mut hopeless) = (Vec::new(), Vec::new());
        for attempt in attempts {
            let Some((straggler, _)) = self.straggler(attempt, &known, round) else {
                hopeless.push(attempt);
                continue;
            };
            if known.bound(&straggler, least, 0.0).beats(Gain::NONE) {
                found.push(straggler);
            } else if self.ends.contains_key(&attempt) {
                // The remaining time of an attempt with a known end only gets shorter.
                hopeless.push(attempt);
            }
        }
        if let Some(state) = self.phases.get_mut(&id) {
            for attempt in hopeless {
                if let Some((_, since, finish)) = self.ends.get(&attempt) {
                    state.by_duration.remove(&(*finish - *since, attempt));
                }
                state.aged.remove(&attempt);
            }
        }
        found.retain(|straggler| round.may_start(straggler.attempt.task));
        found.sort_unstable_by(|one, other| {
            other.remaining.total_cmp(&one.remaining).then(one.attempt.cmp(&other.attempt))
        });
        found
    }

    /// Returns the stragglers that get a slot, with their slots and gains.
    fn find_slots(
        &mut self,
        stragglers: &[Straggler],
        (demand, mean, until): (hindmost_core::resources::Resources, f64, Time),
        round: &Round<'_>,
    ) -> Vec<(Straggler, Slot, Gain)> {
        let has_power = self.has_power(round.cluster());
        let cluster = round.cluster();
        let Settings { looks_ahead, exchanges, closeness, bandwidth, .. } = self.settings;
        let mut search = Search {
            known: Known { cluster, history: &self.history, settings: &self.settings, has_power },
            free: &self.free,
            stragglers,
            demand,
            mean,
            least: self.history.least_seconds(mean),
            until: if looks_ahead { until } else { cluster.now() },
            now: self.free.fitting_now(&demand, cluster),
            by_speed: Vec::new(),
            slower: BinaryHeap::new(),
            claimed: FxHashMap::default(),
        };
        search.sort_by_speed(stragglers[0].attempt.task);
        // Stragglers of one phase gain different amounts on one slot only by their power and by where their input is. The
        // one that is more critical gains more otherwise, so that no exchange is possible.
        let exchanges = if bandwidth.is_none() && !has_power { 0 } else { exchanges as usize };
        let criticalness: Vec<f64> = stragglers.iter().map(|straggler| straggler.remaining).collect();
        let found = allocate(&criticalness, exchanges, closeness, &mut search);
        let (offered_now, until) = (search.offered_now(), search.until);
        let any = found.iter().any(Option::is_some);
        let offered = if any { offered_now + self.free.count_between(cluster.now(), until) } else { 0 };
        let found = stragglers.iter().zip(found);
        let found: Vec<_> =
            found.filter_map(|(straggler, found)| found.map(|(slot, gain)| (*straggler, slot, gain))).collect();
        let copies = found.len() as u64;
        self.chosen = (self.chosen.0 + copies, self.chosen.1 + copies * offered);
        found
    }

    /// Starts a straggler's copy on its slot, or reserves the slot.
    fn serve(
        &mut self,
        straggler: &Straggler,
        slot: Slot,
        gain: Gain,
        (mean, until): (f64, Time),
        round: &mut Round<'_>,
    ) {
        let task = straggler.attempt.task;
        if !round.may_start(task) {
            return;
        }
        let has_power = self.has_power(round.cluster());
        let known = Known { cluster: round.cluster(), history: &self.history, settings: &self.settings, has_power };
        let copy = known.copy_seconds(task, slot.node, mean);
        let why = Why { straggler: *straggler, gain, copy, unit: known.unit() };
        if slot.after.is_none() {
            if round.start(task, slot.node) {
                round.because(|| why.to_string());
            }
            return;
        }
        if !round.reserve(task, slot.node, until) {
            return;
        }
        round.because(|| {
            let at = slot.at.seconds();
            format!(
                "a slot there is expected to come free at {at:.2} s, for a copy of attempt {}: {why}",
                straggler.attempt.copy
            )
        });
        self.reserved.insert(task, (straggler.attempt, slot.node));
        self.reserved_on.entry(slot.node).or_default().push(task);
        self.until.insert((until, task));
        if let Some(state) = self.phases.get_mut(&phase_of(task)) {
            state.aged.remove(&straggler.attempt);
            if let Some((_, since, finish)) = self.ends.get(&straggler.attempt) {
                state.by_duration.remove(&(*finish - *since, straggler.attempt));
            }
        }
        self.reservations_changed(slot.node, round.cluster());
    }
}

/// Why a straggler gets a copy.
struct Why {
    straggler: Straggler,
    gain: Gain,
    /// Expected duration of the copy, seconds.
    copy: f64,
    /// Unit of the energy; `None` if copies need not save energy.
    unit: Option<&'static str>,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Straggler { attempt, remaining, rate, .. } = self.straggler;
        let (Gain { time, energy }, copy) = (self.gain, self.copy);
        write!(f, "attempt {} runs", attempt.copy)?;
        if let Some(rate) = rate {
            write!(f, " at {rate:.2} times the mean rate of its phase")?;
        }
        write!(
            f,
            " and has {remaining:.2} s left; a copy is expected to take {copy:.2} s there, and to save {time:.2} s"
        )?;
        match self.unit {
            Some(unit) => write!(f, " and {energy:.2} {unit}"),
            None => Ok(()),
        }
    }
}
