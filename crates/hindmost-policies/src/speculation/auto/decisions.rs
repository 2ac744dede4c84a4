//! What `auto` does in a round: it stops copies, starts them, and starts attempts again.

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase};
use hindmost_core::ids::{NodeId, TaskId};
use hindmost_core::policy::Round;
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::record::{Decision, StopReason};
use hindmost_core::time::Time;

use super::look::{self, Seen};
use super::queue::{Bound, Keyed, crowd_key, offer_key};
use super::worth::Offer;
use super::{Auto, PhaseId};
use crate::speculation::kinds::kind;

/// A copy that would better start after some time is considered again after this share of the time.
const SOONER: f64 = 0.5;
/// Number of offers that are compared at a time.
const COMPARED: usize = 8;

/// A copy that pays now.
struct Offered {
    offer: Offer,
    price: f64,
    waiting: usize,
    node: NodeId,
}

/// The answer to whether a copy pays now.
enum Judgement {
    Pays(Offered),
    DoesNotPay,
    /// No node has space for it.
    NoNode,
}

impl Auto {
    /// Stops copies that are not worth their slots.
    pub(super) fn stop(&mut self, round: &mut Round<'_>) {
        let (waiting, knowledge) = (round.queued_jobs(), round.estimator.knowledge());
        let limit = crowd_key(waiting as f64);
        let mut has_stopped = false;
        while let Some(task) = self.queue.next_unknown_crowd().or_else(|| self.queue.next_crowded(limit)) {
            let phase_id = (task.job, task.phase);
            let cluster = round.cluster();
            let Some(group) = self.groups.get_mut(&phase_id) else { continue };
            let Some(seen) = group.tasks.get_mut(&task.index) else { continue };
            let is_open = match seen.crowded {
                Bound::Unknown => true,
                Bound::At(key) => key < limit,
                Bound::None => false,
            };
            self.queue.crowd(task, seen, Bound::None);
            if !is_open {
                continue;
            }
            let sight = self.lessons.sight(phase_id, group, knowledge, cluster);
            let judged = sight.and_then(|mut sight| group.crowded(task, &mut sight));
            let price = self.parameters.price(waiting, group.share);
            let stops = judged.filter(|(_, value)| value.at(price) < 0.0);
            if let Some((_, value)) = stops.filter(|(attempt, _)| {
                round.decide(Decision::Stop { attempt: *attempt, reason: StopReason::Overtaken })
            }) {
                round.because(|| {
                    format!(
                        "it is expected to save {:.3} of a mean duration and to use {:.3} at a price of {price:.3}: another copy of the \
                         task does as well",
                        value.gain, -value.slots
                    )
                });
                has_stopped = true;
                self.look_at(task, knowledge, round.cluster());
                continue;
            }
            // Judged again once more jobs wait than its copies are worth.
            let bound = match judged {
                Some((_, value)) if stops.is_none() => {
                    Bound::At(crowd_key(self.parameters.waiting_at(value.limit(), group.share)).max(limit))
                }
                None if waiting == 0 => Bound::At(limit),
                _ => Bound::None,
            };
            if let Some(seen) = group.tasks.get_mut(&task.index) {
                self.queue.crowd(task, seen, bound);
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
        let mut stuck = Stuck::default();
        // Their order is of no importance if there is space for all.
        while round.cluster().open_nodes() > 0
            && let Some(task) = self.queue.next_unknown_offer()
        {
            if self.seen(task).is_none_or(|seen| seen.offered != Bound::Unknown) {
                continue;
            }
            let has_space = round.cluster().open_nodes() > self.queue.offers();
            match self.judge(task, &mut stuck, round) {
                Judgement::Pays(offer) if has_space => {
                    self.start(task, &offer, round);
                }
                Judgement::Pays(_) | Judgement::DoesNotPay => {}
                Judgement::NoNode => self.offer_at(task, Bound::At(offer_key(f64::INFINITY))),
            }
        }
        // The offers up to here have been compared, and these are to be compared again because copies have started since.
        let mut passed: Option<Keyed> = None;
        let mut again: Vec<TaskId> = Vec::new();
        while round.cluster().open_nodes() > 0 {
            let limit = offer_key(round.queued_jobs() as f64);
            let mut tried = std::mem::take(&mut again);
            for offer in self.queue.offers_to(limit, passed).take(COMPARED.saturating_sub(tried.len())) {
                passed = Some(*offer);
                tried.push(offer.1);
            }
            if tried.is_empty() {
                return;
            }
            let mut best: Vec<(f64, TaskId, Offered)> = Vec::new();
            for task in tried {
                if let Judgement::Pays(offer) = self.judge(task, &mut stuck, round) {
                    best.push((offer.offer.value.at(offer.price) / offer.offer.uses.max(1e-9), task, offer));
                }
            }
            best.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            // What is started changes what the others of its job are worth.
            let mut served: BTreeSet<PhaseId> = BTreeSet::new();
            for (_, task, offer) in best {
                let phase_id = (task.job, task.phase);
                if served.contains(&phase_id) {
                    again.push(task);
                } else if self.start(task, &offer, round) {
                    served.insert(phase_id);
                    again.push(task);
                }
            }
        }
    }

    fn seen(&self, task: TaskId) -> Option<&Seen> {
        Some(self.groups.get(&(task.job, task.phase))?.tasks.get(&task.index)?)
    }

    fn offer_at(&mut self, task: TaskId, bound: Bound) {
        let group = self.groups.get_mut(&(task.job, task.phase));
        if let Some(seen) = group.and_then(|group| group.tasks.get_mut(&task.index)) {
            self.queue.offer(task, seen, bound);
        }
    }

    /// Makes sure that a task is looked at by then.
    fn be_due_by(&mut self, task: TaskId, at: Time) {
        let group = self.groups.get_mut(&(task.job, task.phase));
        if let Some(seen) = group.and_then(|group| group.tasks.get_mut(&task.index)) {
            let at = seen.due.min(at);
            self.queue.be_due(task, seen, at);
        }
    }

    /// Computes whether another copy of a task pays now, and notes up to when it does.
    fn judge(&mut self, task: TaskId, stuck: &mut Stuck, round: &mut Round<'_>) -> Judgement {
        let waiting = round.queued_jobs();
        let (id, cluster) = ((task.job, task.phase), round.cluster());
        let Some((group, phase)) = self.groups.get_mut(&id).zip(cluster.phase(task)) else {
            return Judgement::DoesNotPay;
        };
        if stuck.contains(phase.demand()) {
            return Judgement::NoNode;
        }
        let Some(node) = node_for(task, cluster) else {
            if !cluster.fits_somewhere(phase.demand()) {
                stuck.add(phase.demand());
            }
            return Judgement::NoNode;
        };
        let price = self.parameters.price(waiting, group.share);
        let sight = self.lessons.sight(id, group, round.estimator.knowledge(), cluster);
        let offer = sight.and_then(|mut sight| group.offer(task, node, price, &mut sight));
        let pays = offer.is_some_and(|offer| offer.prices.contain(price));
        // An offer that does not pay now, but would with fewer or with more waiting jobs.
        let key = offer
            .filter(|offer| !offer.prices.is_empty())
            .map(|offer| offer_key(self.parameters.waiting_at(offer.prices.below, group.share)))
            .filter(|key| pays || *key >= offer_key(waiting as f64));
        let again = offer.and_then(|offer| offer.later).map(|later| SOONER * later * phase.mean());
        self.offer_at(task, key.map_or(Bound::None, Bound::At));
        if let Some(after) = again {
            let at = cluster.now() + Time::from_seconds(after);
            self.be_due_by(task, at);
        }
        match offer {
            Some(offer) if pays => Judgement::Pays(Offered { offer, price, waiting, node }),
            _ => Judgement::DoesNotPay,
        }
    }

    /// Starts a copy that pays.
    fn start(&mut self, task: TaskId, offered: &Offered, round: &mut Round<'_>) -> bool {
        let Offered { offer, price, waiting, .. } = *offered;
        // Other copies may have taken the node since.
        let has_space = |node: NodeId, cluster: &Cluster| {
            cluster.node(node).zip(cluster.phase(task)).is_some_and(|(node, phase)| phase.demand().fits(node.free()))
        };
        let node =
            if has_space(offered.node, round.cluster()) { Some(offered.node) } else { node_for(task, round.cluster()) };
        if !node.is_some_and(|node| round.may_start(task) && round.start(task, node)) {
            return false;
        }
        let kind = kind(task.job, task.phase, round.cluster()).unwrap_or_default();
        let mean = round.cluster().phase(task).map_or(0.0, Phase::mean);
        let (shares, predictions) = (&mut self.lessons.shares, &self.lessons.predictions);
        round.because(|| {
            let (saves, uses) = (offer.value.gain * mean, offer.uses * mean);
            let jobs = if waiting == 1 { "1 job waits".to_owned() } else { format!("{waiting} jobs wait") };
            format!(
                "a copy is expected to save {saves:.2} s of its job and to use {uses:.2} s of a slot, each of which costs \
                 {price:.3} s while {jobs}; {}{}",
                shares.in_words(kind),
                predictions.in_words(kind).map_or_else(String::new, |words| format!("; {words}"))
            )
        });
        self.look_at(task, round.estimator.knowledge(), round.cluster());
        // It is worth its slot at least as long as no more jobs wait.
        let group = self.groups.get_mut(&(task.job, task.phase));
        if let Some(seen) = group.and_then(|group| group.tasks.get_mut(&task.index)) {
            self.queue.crowd(task, seen, Bound::At(crowd_key(waiting as f64)));
        }
        true
    }

    /// Starts attempts again that are too old, if no slot is free for a copy.
    pub(super) fn start_again(&mut self, round: &mut Round<'_>) {
        if self.queue.old.is_empty() || round.cluster().dimensions().is_one_slot() && round.cluster().open_nodes() > 0 {
            return;
        }
        for task in std::mem::take(&mut self.queue.old) {
            let cluster = round.cluster();
            let Some((group, phase)) = self.groups.get_mut(&(task.job, task.phase)).zip(cluster.phase(task)) else {
                continue;
            };
            if cluster.fits_somewhere(phase.demand()) {
                self.queue.old.insert(task);
                continue;
            }
            // A copy that waits for the resources of another one is new already.
            let is_unknown =
                look::running(task, cluster).all(|copy| copy.measured_finish().is_none() && copy.replaces().is_none());
            let oldest = look::running(task, cluster).min_by_key(|copy| copy.since()).map(Attempt::id);
            let price = self.parameters.price(round.cluster_and_orders().1.jobs(), group.share);
            let sight = self.lessons.sight((task.job, task.phase), group, round.estimator.knowledge(), cluster);
            let Some(mut sight) = sight else { continue };
            let Some((value, copy)) = group.restart(task, price, &mut sight) else { continue };
            // By the mean time, a chain of attempts that start again is never worse, wherever progress shows what remains.
            let by_value = sight.scale.known_from >= 1.0;
            // A copy gets the next free slot, if others are in use.
            let copy = copy.filter(|_| cluster.running_attempts() > 1);
            let beside = copy.map_or(0.0, |copy| copy.at(price).max(0.0));
            let pays = !by_value || look::running(task, cluster).count() == 1 && value.at(price) > beside;
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
