//! What `auto` does in a round: it stops copies, starts them, and starts attempts again.

use std::collections::BTreeSet;
use std::ops::Bound;

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::policy::Round;
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::record::{Decision, StopReason};

use super::look::{self, known_from};
use super::worth::Offer;
use super::{Auto, PhaseId, key};
use crate::speculation::kinds::kind;

/// Number of offers that are compared at a time.
const COMPARED: usize = 8;

impl Auto {
    /// Stops copies that are not worth their slots.
    pub(super) fn stop(&mut self, round: &mut Round<'_>) {
        let waiting = round.queued_jobs();
        let limit = key(waiting as f64, false);
        let mut has_stopped = false;
        let over: Vec<(u64, TaskId)> =
            self.crowded.range(..(limit, TaskId { job: JobId(0), phase: 0, index: 0 })).copied().collect();
        for (key, task) in over {
            let phase_id = (task.job, task.phase);
            let cluster = round.cluster();
            let judged = self.groups.get(&phase_id).zip(cluster.phase(task)).and_then(|(group, phase)| {
                let mut sight = self.lessons.sight(phase_id, phase, round.estimator.knowledge(), cluster);
                Some((group.crowded(task, &mut sight)?, group.share))
            });
            self.crowded.remove(&(key, task));
            if let Some(group) = self.groups.get_mut(&phase_id) {
                group.crowded.remove(&task.index);
            }
            let Some(((attempt, value), share)) = judged else { continue };
            let price = self.parameters.price(waiting, share);
            if value.at(price) >= 0.0 {
                continue;
            }
            if round.decide(Decision::Stop { attempt, reason: StopReason::Overtaken }) {
                round.because(|| {
                    format!(
                        "it is expected to save {:.3} of a mean duration and to use {:.3} at a price of {price:.3}: another copy of the \
                         task does as well",
                        value.gain, -value.slots
                    )
                });
                self.change(task);
                has_stopped = true;
            }
        }
        if has_stopped {
            // The next round uses what comes free.
            let at = round.cluster().now();
            round.decide(Decision::Wake { at });
        }
    }

    /// Starts the copies that pay, those with the largest value for each slot-second first.
    pub(super) fn copy(&mut self, round: &mut Round<'_>) {
        // The offers up to here have been compared, and these are to be compared again because copies have started since.
        let mut passed: Option<(u64, TaskId)> = None;
        let mut again: Vec<(u64, TaskId)> = Vec::new();
        let mut stuck = Stuck::default();
        while round.cluster().open_nodes() > 0 {
            let waiting = round.queued_jobs();
            let limit = key(waiting as f64, true);
            let cluster = round.cluster();
            let mut tried = std::mem::take(&mut again);
            tried.retain(|offer| offer.0 < limit && self.offers.contains(offer));
            let from = passed.map_or(Bound::Unbounded, Bound::Excluded);
            // Their order is of no importance if there is space for all.
            let compared = if cluster.open_nodes() >= self.offers.len() { 1 } else { COMPARED };
            let next = self.offers.range((from, Bound::Unbounded)).take_while(|(key, _)| *key < limit);
            for offer in next.take(compared.saturating_sub(tried.len())) {
                passed = Some(*offer);
                tried.push(*offer);
            }
            if tried.is_empty() {
                return;
            }
            let mut best: Vec<(f64, u64, TaskId, (Offer, f64))> = Vec::new();
            let mut worthless: Vec<(u64, TaskId, Option<f64>)> = Vec::new();
            for (key, task) in &tried {
                let Some((group, phase)) = self.groups.get(&(task.job, task.phase)).zip(cluster.phase(*task)) else {
                    worthless.push((*key, *task, None));
                    continue;
                };
                let node = if stuck.contains(phase.demand()) { None } else { node_for(*task, cluster) };
                let Some(node) = node else {
                    if !stuck.contains(phase.demand()) && !cluster.fits_somewhere(phase.demand()) {
                        stuck.add(phase.demand());
                    }
                    continue;
                };
                let phase_id = (task.job, task.phase);
                let mut sight = self.lessons.sight(phase_id, phase, round.estimator.knowledge(), cluster);
                let offer = group.offer(*task, node, &mut sight);
                let price = self.parameters.price(waiting, group.share);
                match offer {
                    Some(offer) if offer.prices.contain(price) => {
                        best.push((offer.value.at(price) / offer.uses.max(1e-9), *key, *task, (offer, price)));
                    }
                    Some(offer) if !offer.prices.is_empty() => worthless.push((*key, *task, Some(offer.prices.below))),
                    _ => worthless.push((*key, *task, None)),
                }
            }
            for (key, task, below) in worthless {
                self.offer_again(key, task, below, waiting);
            }
            best.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.2.cmp(&other.2)));
            // What is started changes what the others of its job are worth.
            let mut served: BTreeSet<PhaseId> = BTreeSet::new();
            for (_, key, task, (offer, price)) in best {
                let phase_id = (task.job, task.phase);
                if served.contains(&phase_id) {
                    again.push((key, task));
                    continue;
                }
                let node = node_for(task, round.cluster()).filter(|_| round.may_start(task));
                if !node.is_some_and(|node| round.start(task, node)) {
                    continue;
                }
                served.insert(phase_id);
                let kind = kind(task.job, task.phase, round.cluster()).unwrap_or_default();
                let mean = round.cluster().phase(task).map_or(0.0, Phase::mean);
                let shares = &mut self.lessons.shares;
                round.because(|| {
                    let (saves, uses) = (offer.value.gain * mean, offer.uses * mean);
                    let jobs = if waiting == 1 { "1 job waits".to_owned() } else { format!("{waiting} jobs wait") };
                    format!(
                        "a copy is expected to save {saves:.2} s of its job and to use {uses:.2} s of a slot, each of which costs \
                         {price:.3} s while {jobs}; {}",
                        shares.in_words(kind)
                    )
                });
                let knowledge = round.estimator.knowledge();
                self.look_at(task, knowledge, round.cluster());
                let offered = self.groups.get(&phase_id).and_then(|group| group.offered.get(&task.index));
                again.extend(offered.map(|key| (*key, task)));
            }
        }
    }

    /// Starts attempts again that are too old, if no slot is free for a copy.
    pub(super) fn start_again(&mut self, round: &mut Round<'_>) {
        if self.old.is_empty() || round.cluster().dimensions().is_one_slot() && round.cluster().open_nodes() > 0 {
            return;
        }
        for task in std::mem::take(&mut self.old) {
            let cluster = round.cluster();
            let Some((group, phase)) = self.groups.get(&(task.job, task.phase)).zip(cluster.phase(task)) else {
                continue;
            };
            if cluster.fits_somewhere(phase.demand()) {
                self.old.insert(task);
                continue;
            }
            // A copy that waits for the resources of another one is new already.
            let is_unknown =
                look::running(task, cluster).all(|copy| copy.measured_finish().is_none() && copy.replaces().is_none());
            let oldest = look::running(task, cluster).min_by_key(|copy| copy.since()).map(Attempt::id);
            let by_age = known_from(round.estimator.knowledge(), phase) >= 1.0;
            let price = self.parameters.price(round.cluster_and_orders().1.jobs(), group.share);
            let mut sight = self.lessons.sight((task.job, task.phase), phase, round.estimator.knowledge(), cluster);
            let Some(value) = group.restart(task, &mut sight) else { continue };
            let pays = !by_age || look::running(task, cluster).count() == 1 && value.at(price) > 0.0;
            let Some(oldest) = oldest.filter(|_| is_unknown && pays && sight.is_old(task)) else { continue };
            if round.may_start(task) && round.replace(oldest) {
                round.because(|| {
                    "it is older than most attempts become, and a fresh one is expected to end sooner".to_owned()
                });
                self.change(task);
            }
        }
    }
}

/// Returns the fastest node with free resources on which a copy of a task may start.
fn node_for(task: TaskId, cluster: &Cluster) -> Option<NodeId> {
    let elsewhere = |node: NodeId, _: &Node| cluster.may_copy_on(task, node) && !cluster.avoids(task, node);
    cluster.find_fastest_node(cluster.phase(task)?.demand(), elsewhere)
}
