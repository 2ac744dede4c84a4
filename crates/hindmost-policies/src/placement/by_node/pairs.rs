//! Chooses the best pair of task and node among all nodes.
//!
//! For each demand, the kinds of nodes (`node_kinds.rs`) on which it fits are sorted by their alignment with the
//! demand. The alignment does not depend on the job. So each choice checks one kind of nodes for each demand instead of
//! every node. Starting a copy changes the free resources of one node, and thus its kind. This adds at most one entry
//! for each demand.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;

use super::node_kinds::{NodeKinds, Turn};
use super::{ByNode, Start};
use crate::placement::candidates_by_level::JobPhase;
use crate::placement::newly_startable::Fresh;
use hindmost_core::policy::Round;
use hindmost_core::policy::queue_place::{ordered, unordered};

/// A kind of nodes with the alignment of a demand. The smallest place has the highest alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The alignment, as an integer that sorts as the float does.
    aligned: Reverse<u64>,
    kind: usize,
}

/// A pair of task and node. The greatest pair is the best; ties go to the first job and phase, and then to the node that
/// the cluster's placement prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    level: Reverse<u64>,
    /// The score, as an integer that sorts as the float does.
    score: u64,
    phase: Reverse<JobPhase>,
    node: Reverse<Turn>,
}

/// The kinds of nodes on which one demand fits. A kind that has lost all its nodes is removed only when it comes first.
#[derive(Debug, Default)]
struct Places {
    sorted: BTreeSet<Place>,
    /// The best place, if no other place has the same alignment; `None` if another has it or that is not known.
    first: Option<Place>,
}

/// The possible pairs of one stage.
struct Pairs {
    /// The index of the sweep, and the index of the stage in the sweep.
    serving: (usize, usize),
    /// The kinds of nodes for each demand, by the demand's number in [`Levels`](super::Levels).
    places: Vec<Places>,
    /// Nodes on which a phase was chosen but could not start a task, with these phases. They have no kind and are
    /// checked one by one.
    odd: BTreeMap<NodeId, Vec<JobPhase>>,
}

impl ByNode {
    /// As `sweep`, but each start is that of the best pair of task and node in the cluster.
    pub(crate) fn sweep_by_pairs(&mut self, at: usize, round: &mut Round<'_>) {
        self.node_kinds.begin_turns(round.cluster());
        loop {
            self.node_kinds.refresh(round.cluster());
            let mut fresh = Fresh::default();
            self.sweeps[at].take_fresh(&mut fresh);
            let grown = self.sweeps[at].grown.iter().filter_map(|node| self.node_kinds.of(NodeId(node)));
            let grown: BTreeSet<usize> = grown.collect();
            self.sweeps[at].grown.clear();
            if grown.is_empty() && fresh.is_empty() {
                return;
            }
            for serving in 0..self.sweeps[at].servings.len() {
                self.serve_pairs((at, serving), &grown, &fresh, round);
            }
        }
    }

    /// Starts the tasks of a stage: newly startable ones (`fresh`) on any node, all others on nodes of a kind in
    /// `grown`.
    fn serve_pairs(&mut self, serving: (usize, usize), grown: &BTreeSet<usize>, fresh: &Fresh, round: &mut Round<'_>) {
        let mut pairs = Pairs { serving, places: Vec::new(), odd: BTreeMap::new() };
        for (number, demand) in self.levels_of(serving).demands() {
            let place = |kind| self.place_on(demand, kind, round);
            let places: BTreeSet<Place> = if fresh.covers(demand) {
                self.node_kinds.all().filter_map(place).collect()
            } else {
                grown.iter().copied().filter_map(place).collect()
            };
            pairs.set(number, places);
        }
        while let Some(Pair { phase: Reverse(phase), node: Reverse(turn), .. }) = self.best_pair(&mut pairs, round) {
            let id = turn.node;
            match self.start_of(serving, phase, id, round) {
                Start::Made | Start::Withheld => {}
                Start::Nothing => pairs.odd.entry(id).or_default().push(phase),
            }
            let is_odd = pairs.odd.contains_key(&id);
            if is_odd {
                self.node_kinds.changed(id);
            }
            let became = self.node_kinds.put(id, round.cluster().node(id).filter(|_| !is_odd), round.cluster());
            if let Some(kind) = became {
                for (number, demand) in self.levels_of(serving).demands() {
                    if let Some(place) = self.place_on(demand, kind, round) {
                        pairs.add(number, place);
                    }
                }
            }
        }
    }

    fn levels_of(&self, (sweep, at): (usize, usize)) -> &super::Levels {
        &self.sweeps[sweep].servings[at].levels
    }

    /// Returns the place of a kind of nodes for a demand; `None` if the demand does not fit, or the kind has no node.
    fn place_on(&self, demand: &Resources, kind: usize, round: &Round<'_>) -> Option<Place> {
        let found = self.node_kinds.kind(kind);
        let first = found.first.filter(|_| demand.fits(&found.free))?;
        let node = round.cluster().node(first.node)?;
        let alignment = self.fit.alignment(node, round.cluster().dimensions().names().len());
        Some(Place { aligned: Reverse(ordered(alignment.of(demand))), kind })
    }

    /// Returns the best pair of the stage; `None` if no copy can start.
    fn best_pair(&self, pairs: &mut Pairs, round: &Round<'_>) -> Option<Pair> {
        let weight = self.fit.penalty_weight();
        let levels = self.levels_of(pairs.serving);
        let mut best: Option<Pair> = None;
        for candidate in levels.firsts() {
            let Some(places) = pairs.places.get_mut(candidate.number) else { continue };
            let Some((aligned, node)) = places.best(&self.node_kinds) else { continue };
            let score = ordered(aligned - weight * candidate.penalty);
            let (level, phase, node) = (Reverse(candidate.level), Reverse(candidate.phase), Reverse(node));
            best = best.max(Some(Pair { level, score, phase, node }));
        }
        for (id, passed) in &pairs.odd {
            best = best.max(self.pair_on(pairs.serving, *id, passed, round));
        }
        best
    }

    /// Returns the best pair with this node, without the phases in `passed`.
    fn pair_on(&self, serving: (usize, usize), id: NodeId, passed: &[JobPhase], round: &Round<'_>) -> Option<Pair> {
        let node = round.cluster().node(id)?;
        let turn = self.node_kinds.turn_of(id, round.cluster());
        let levels = self.levels_of(serving);
        let alignment = self.fit.alignment(node, round.cluster().dimensions().names().len());
        let weight = self.fit.penalty_weight();
        let mut level = None;
        loop {
            let next = levels.next_level(level, node.free())?;
            if let Some((score, phase)) = levels.best(next, node.free(), &alignment, weight, passed) {
                let (level, phase, node) = (Reverse(next), Reverse(phase), Reverse(turn));
                return Some(Pair { level, score: ordered(score), phase, node });
            }
            level = Some(next);
        }
    }
}

impl Pairs {
    fn set(&mut self, number: usize, sorted: BTreeSet<Place>) {
        if number >= self.places.len() {
            self.places.resize_with(number + 1, Places::default);
        }
        self.places[number] = Places { sorted, first: None };
    }

    fn add(&mut self, number: usize, place: Place) {
        if let Some(places) = self.places.get_mut(number) {
            places.sorted.insert(place);
            places.first = places.first.filter(|first| first.aligned < place.aligned);
        }
    }
}

impl Places {
    /// Returns the highest alignment of the demand with any node, and the preferred one of the nodes that have it.
    fn best(&mut self, kinds: &NodeKinds) -> Option<(f64, Turn)> {
        if let Some(Place { aligned: Reverse(aligned), kind }) = self.first
            && let Some(first) = kinds.kind(kind).first
        {
            return Some((unordered(aligned), first));
        }
        loop {
            let best = *self.sorted.first()?;
            let Some(mut first) = kinds.kind(best.kind).first else {
                self.sorted.remove(&best);
                continue;
            };
            let mut others = self.sorted.iter().skip(1).take_while(|other| other.aligned == best.aligned).peekable();
            self.first = Some(best).filter(|_| others.peek().is_none());
            for other in others {
                first = kinds.kind(other.kind).first.map_or(first, |turn| turn.min(first));
            }
            return Some((unordered(best.aligned.0), first));
        }
    }
}
