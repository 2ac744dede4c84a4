//! The best pair of task and node, of all nodes at once.
//!
//! For each demand the kinds of nodes (`alike.rs`) on which it fits are kept by how well it aligns with them, which
//! depends on no job. So a pick looks at one kind of nodes for each demand, not at each node; and a start, after which
//! its node is of another kind, changes one place for each demand.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;

use super::alike::Alike;
use super::{ByNode, Start};
use crate::placement::candidates_by_level::JobPhase;
use crate::placement::newly_startable::Fresh;
use hindmost_core::policy::Round;
use hindmost_core::policy::queue_place::{ordered, unordered};

/// How well a demand aligns with a kind of nodes; the first is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// Bits that sort as the alignment does.
    aligned: Reverse<u64>,
    kind: usize,
}

/// A pair of task and node; the greatest is the best, ties go to the first job, phase and node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    level: Reverse<u64>,
    /// Bits that sort as the score does.
    score: u64,
    phase: Reverse<JobPhase>,
    node: Reverse<NodeId>,
}

/// The kinds of nodes for one demand. That one has no node left is noticed when it comes first.
#[derive(Debug, Default)]
struct Places {
    sorted: BTreeSet<Place>,
    /// The first of them, if no other does equally well, as far as it is known.
    first: Option<Place>,
}

/// What a stage's pairs are found from.
struct Pairs {
    serving: (usize, usize),
    /// By the number of a demand.
    places: Vec<Places>,
    /// Nodes on which something was tried in vain, and what: they are like no others.
    odd: BTreeMap<NodeId, Vec<JobPhase>>,
}

impl ByNode {
    /// As `sweep`, pair by pair.
    pub(crate) fn sweep_by_pairs(&mut self, at: usize, round: &mut Round<'_>) {
        loop {
            self.alike.refresh(round.cluster());
            let mut fresh = Fresh::default();
            self.sweeps[at].take_fresh(&mut fresh);
            let grown = self.sweeps[at].grown.iter().filter_map(|node| self.alike.of(NodeId(node)));
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

    /// Starts what a stage has, of what is fresh on any node and of all on nodes of which the room has grown.
    fn serve_pairs(&mut self, serving: (usize, usize), grown: &BTreeSet<usize>, fresh: &Fresh, round: &mut Round<'_>) {
        let mut pairs = Pairs { serving, places: Vec::new(), odd: BTreeMap::new() };
        for (number, demand) in self.levels_of(serving).demands() {
            let place = |kind| self.place_on(demand, kind, round);
            let places: BTreeSet<Place> = if fresh.covers(demand) {
                self.alike.all().filter_map(place).collect()
            } else {
                grown.iter().copied().filter_map(place).collect()
            };
            pairs.set(number, places);
        }
        while let Some(Pair { phase: Reverse(phase), node: Reverse(id), .. }) = self.best_pair(&mut pairs, round) {
            match self.start_of(serving, phase, id, round) {
                Start::Made | Start::Withheld => {}
                Start::Nothing => pairs.odd.entry(id).or_default().push(phase),
            }
            let is_odd = pairs.odd.contains_key(&id);
            if is_odd {
                self.alike.changed(id);
            }
            let became = self.alike.put(id, round.cluster().node(id).filter(|_| !is_odd));
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

    /// Where a kind of nodes stands for a demand; `None` if it does not fit, or there is no such node.
    fn place_on(&self, demand: &Resources, kind: usize, round: &Round<'_>) -> Option<Place> {
        let found = self.alike.kind(kind);
        let first = found.first.filter(|_| demand.fits(&found.free))?;
        let node = round.cluster().node(first)?;
        let alignment = self.fit.alignment(node, round.cluster().dimensions().names().len());
        Some(Place { aligned: Reverse(ordered(alignment.of(demand))), kind })
    }

    /// The best pair of all.
    fn best_pair(&self, pairs: &mut Pairs, round: &Round<'_>) -> Option<Pair> {
        let weight = self.fit.penalty_weight();
        let levels = self.levels_of(pairs.serving);
        let mut best: Option<Pair> = None;
        for candidate in levels.firsts() {
            let Some(places) = pairs.places.get_mut(candidate.number) else { continue };
            let Some((aligned, node)) = places.best(&self.alike) else { continue };
            let score = ordered(aligned - weight * candidate.penalty);
            let (level, phase, node) = (Reverse(candidate.level), Reverse(candidate.phase), Reverse(node));
            best = best.max(Some(Pair { level, score, phase, node }));
        }
        for (id, passed) in &pairs.odd {
            best = best.max(self.pair_on(pairs.serving, *id, passed, round));
        }
        best
    }

    /// The best for one node.
    fn pair_on(&self, serving: (usize, usize), id: NodeId, passed: &[JobPhase], round: &Round<'_>) -> Option<Pair> {
        let node = round.cluster().node(id)?;
        let levels = self.levels_of(serving);
        let alignment = self.fit.alignment(node, round.cluster().dimensions().names().len());
        let weight = self.fit.penalty_weight();
        let mut level = None;
        loop {
            let next = levels.next_level(level, node.free())?;
            if let Some((score, phase)) = levels.best(next, node.free(), &alignment, weight, passed) {
                let (level, phase, node) = (Reverse(next), Reverse(phase), Reverse(id));
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
    /// How well the demand aligns with the nodes with which it does best now, and the first of them.
    fn best(&mut self, alike: &Alike) -> Option<(f64, NodeId)> {
        if let Some(Place { aligned: Reverse(aligned), kind }) = self.first
            && let Some(node) = alike.kind(kind).first
        {
            return Some((unordered(aligned), node));
        }
        loop {
            let best = *self.sorted.first()?;
            let Some(mut node) = alike.kind(best.kind).first else {
                self.sorted.remove(&best);
                continue;
            };
            let mut others = self.sorted.iter().skip(1).take_while(|other| other.aligned == best.aligned).peekable();
            self.first = Some(best).filter(|_| others.peek().is_none());
            for other in others {
                node = alike.kind(other.kind).first.map_or(node, |first| first.min(node));
            }
            return Some((unordered(best.aligned.0), node));
        }
    }
}
