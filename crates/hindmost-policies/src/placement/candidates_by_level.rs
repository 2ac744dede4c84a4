//! Index of the candidates by level, and within a level by the demand of a copy. `by_node` uses it to find the job that
//! fits a node best.
//!
//! Jobs of one level whose copies have the same demand fit a node equally well. So a choice checks one job for each
//! demand instead of every job.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Node;
use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::{ordered, unordered};
use hindmost_core::resources::{MAX_DIMENSIONS, Resources};

/// A phase of a job with copies to start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The level of the job; lower levels come first.
    pub level: u64,
    /// The number of the phase in its job.
    pub phase: u32,
    /// The demand of a copy.
    pub demand: Resources,
    /// Among candidates of one level and demand, the smallest penalty comes first; ties go to the smaller job id. Not
    /// NaN.
    pub penalty: f64,
}

/// The first candidate of one level and demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct First {
    /// The level of the candidate; lower levels come first.
    pub level: u64,
    /// The number that [`Levels`] gives to the candidate's demand.
    pub number: usize,
    /// The penalty of the candidate's job.
    pub penalty: f64,
    /// The candidate's phase.
    pub phase: JobPhase,
}

/// A job and the number of one of its phases.
pub type JobPhase = (JobId, u32);

/// The candidates of one level and demand.
#[derive(Debug)]
struct Kind {
    /// The number that [`Levels`] gives to the demand.
    number: usize,
    demand: Resources,
    /// The demand as floats, so that alignments need no conversion.
    amounts: [f64; MAX_DIMENSIONS],
    /// Penalty (as bits that sort as the numbers do) and phase of each candidate. The last field is true if an earlier phase of the
    /// same job is a candidate too; wherever the earlier phase fits, it comes first.
    phases: BTreeSet<(u64, JobPhase, bool)>,
    /// The first entry of `phases`.
    first: Option<(u64, JobPhase, bool)>,
}

impl Kind {
    fn of(number: usize, demand: Resources) -> Kind {
        Kind { number, demand, amounts: demand.0.map(|amount| amount as f64), phases: BTreeSet::new(), first: None }
    }
}

/// The candidates of one level.
#[derive(Debug, Default)]
struct Level {
    /// The candidates grouped by demand, sorted by demand.
    kinds: Vec<Kind>,
    /// The minimum of all demands, in each dimension.
    least: Resources,
    /// The best candidates found for nodes since the level last changed.
    cache: RefCell<BestCache>,
}

/// A cache of the best candidates for nodes. Often many nodes in the same state are checked one after the other. When the
/// cache is full, the oldest entry is overwritten.
#[derive(Debug, Default)]
struct BestCache {
    best: Vec<(NodeState, Option<JobPhase>)>,
    oldest: usize,
}

/// The free resources of a node in the first two dimensions, and its capacity in them.
type NodeState = [u64; 4];

/// Largest number of entries in a [`BestCache`].
const CACHED: usize = 8;

impl BestCache {
    fn get(&self, node: &NodeState) -> Option<&(NodeState, Option<JobPhase>)> {
        self.best.iter().find(|(known, _)| known == node)
    }

    fn add(&mut self, node: NodeState, best: Option<JobPhase>) {
        if self.best.len() < CACHED {
            self.best.push((node, best));
        } else {
            self.best[self.oldest] = (node, best);
            self.oldest = (self.oldest + 1) % CACHED;
        }
    }

    fn clear(&mut self) {
        self.best.clear();
        self.oldest = 0;
    }
}

impl Level {
    /// Returns the index of a demand in `kinds`; if it is not there, the index at which it must be inserted.
    fn place(&self, demand: &Resources) -> Result<usize, usize> {
        self.kinds.binary_search_by(|kind| kind.demand.0.cmp(&demand.0))
    }

    fn refresh_least(&mut self) {
        let mut demands = self.kinds.iter().map(|kind| kind.demand);
        let first = demands.next().unwrap_or_default();
        self.least = demands.fold(first, |least, demand| least.least(&demand));
    }
}

/// All candidates by level.
#[derive(Debug)]
pub struct Levels {
    /// Number of dimensions in use. All amounts in later dimensions are 0.
    dimensions: usize,
    /// True if every phase of a job may be chosen, and not only the first that fits.
    pub(crate) any_phase: bool,
    /// The levels that have candidates.
    by_number: BTreeMap<u64, Level>,
    /// A number for each demand. A demand keeps its number even if no candidate has it any more.
    numbers: FxHashMap<Resources, usize>,
    /// The candidates of each job, sorted by phase.
    places: BTreeMap<JobId, Vec<Candidate>>,
}

/// The weights of one node with which a demand's alignment is computed: Σ over dimensions of demand × weight.
#[derive(Clone, Copy, Debug)]
pub struct Alignment([f64; MAX_DIMENSIONS]);

impl Alignment {
    /// Returns the alignment of a demand, rounded so that rounding errors do not break ties (see [`without_rounding`]).
    pub fn of(&self, demand: &Resources) -> f64 {
        without_rounding(demand.0.iter().zip(&self.0).map(|(amount, weight)| *amount as f64 * weight).sum())
    }

    /// Returns the weights for the inner product of demand and free resources, both as shares of the node's capacity.
    /// Only the first `dimensions` count.
    pub fn normalised(node: &Node, dimensions: usize) -> Alignment {
        let mut weights = [0.0; MAX_DIMENSIONS];
        for (at, weight) in weights.iter_mut().enumerate().take(dimensions) {
            let capacity = node.capacity().0[at] as f64;
            if capacity > 0.0 {
                *weight = node.free().0[at] as f64 / (capacity * capacity);
            }
        }
        Alignment(weights)
    }

    /// Returns the weights for the inner product of demand and free resources as absolute amounts. `units` is the size
    /// of one unit of each dimension in the integers of [`Resources`].
    pub fn raw(node: &Node, units: &[f64; MAX_DIMENSIONS]) -> Alignment {
        let mut weights = [0.0; MAX_DIMENSIONS];
        for (at, weight) in weights.iter_mut().enumerate() {
            *weight = node.free().0[at] as f64 / (units[at] * units[at]);
        }
        Alignment(weights)
    }
}

/// Returns an inner product rounded to the first 36 of its 52 binary digits. Products that are equal in exact arithmetic
/// can differ in the last digits. Such differences must not break ties, because ties go to the smallest id.
pub fn without_rounding(product: f64) -> f64 {
    const LAST: u64 = 1 << 16;
    f64::from_bits(product.to_bits().wrapping_add(LAST / 2) & !(LAST - 1))
}

impl Default for Levels {
    fn default() -> Levels {
        Levels {
            dimensions: MAX_DIMENSIONS,
            any_phase: false,
            by_number: BTreeMap::new(),
            numbers: FxHashMap::default(),
            places: BTreeMap::new(),
        }
    }
}

impl Levels {
    /// Sets the number of dimensions that nodes and demands use.
    pub fn use_dimensions(&mut self, dimensions: usize) {
        self.dimensions = dimensions.min(MAX_DIMENSIONS);
    }

    /// Returns true if there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the candidate of a job's phase, if there is one.
    pub fn get(&self, (job, phase): JobPhase) -> Option<&Candidate> {
        self.places.get(&job)?.iter().find(|candidate| candidate.phase == phase)
    }

    /// Returns all candidates, sorted by job and phase.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Candidate)> {
        self.places.iter().flat_map(|(job, candidates)| candidates.iter().map(|candidate| (*job, candidate)))
    }

    /// Returns true if all candidates have the same level and demand.
    pub fn are_equal(&self) -> bool {
        self.by_number.len() == 1 && self.by_number.values().all(|level| level.kinds.len() == 1)
    }

    /// Returns the minimum of the candidates' demands in each dimension; `None` if there is no candidate.
    pub fn least(&self) -> Option<Resources> {
        self.by_number.values().map(|level| level.least).reduce(|least, other| least.least(&other))
    }

    /// Sets the candidates of a job, sorted by phase, at most one for each phase. Calls `fresh` with the demand of each
    /// candidate that the job did not have before.
    pub fn set(&mut self, job: JobId, candidates: &[Candidate], mut fresh: impl FnMut(Resources)) {
        let before = self.places.remove(&job).unwrap_or_default();
        if before == candidates {
            if !before.is_empty() {
                self.places.insert(job, before);
            }
            return;
        }
        for (at, candidate) in before.iter().enumerate() {
            self.take_out(candidate, (ordered(candidate.penalty), (job, candidate.phase), at > 0 && !self.any_phase));
        }
        for (at, candidate) in candidates.iter().enumerate() {
            let level = self.by_number.entry(candidate.level).or_default();
            level.cache.get_mut().clear();
            let place = level.place(&candidate.demand).unwrap_or_else(|place| {
                let next = self.numbers.len();
                let number = *self.numbers.entry(candidate.demand).or_insert(next);
                level.kinds.insert(place, Kind::of(number, candidate.demand));
                level.refresh_least();
                place
            });
            let kind = &mut level.kinds[place];
            kind.phases.insert((ordered(candidate.penalty), (job, candidate.phase), at > 0 && !self.any_phase));
            kind.first = kind.phases.first().copied();
            let same = |known: &Candidate| (known.phase, known.demand) == (candidate.phase, candidate.demand);
            if !before.iter().any(same) {
                fresh(candidate.demand);
            }
        }
        if !candidates.is_empty() {
            self.places.insert(job, candidates.to_vec());
        }
    }

    /// Removes the candidate of a phase. The next call of [`Levels::set`] for the job may add it again.
    pub fn remove(&mut self, (job, phase): JobPhase) {
        let mut left = self.places.get(&job).cloned().unwrap_or_default();
        left.retain(|candidate| candidate.phase != phase);
        self.set(job, &left, |_| {});
    }

    /// Removes a candidate from its level. `entry` is the candidate's entry in [`Kind::phases`].
    fn take_out(&mut self, candidate: &Candidate, entry: (u64, JobPhase, bool)) {
        let Some(level) = self.by_number.get_mut(&candidate.level) else { return };
        level.cache.get_mut().clear();
        let Ok(at) = level.place(&candidate.demand) else { return };
        let kind = &mut level.kinds[at];
        kind.phases.remove(&entry);
        kind.first = kind.phases.first().copied();
        if kind.phases.is_empty() {
            level.kinds.remove(at);
            if level.kinds.is_empty() {
                self.by_number.remove(&candidate.level);
            } else {
                level.refresh_least();
            }
        }
    }

    /// Returns the demands of all candidates with their numbers. A demand is returned once for each level that has it.
    pub fn demands(&self) -> impl Iterator<Item = (usize, &Resources)> {
        self.by_number.values().flat_map(|level| &level.kinds).map(|kind| (kind.number, &kind.demand))
    }

    /// Returns the first candidate of each level and demand.
    pub fn firsts(&self) -> impl Iterator<Item = First> + '_ {
        let kinds = self.by_number.iter().flat_map(|(level, found)| found.kinds.iter().map(|kind| (*level, kind)));
        kinds.filter_map(|(level, kind)| {
            let (penalty, phase, _) = kind.first?;
            Some(First { level, number: kind.number, penalty: unordered(penalty), phase })
        })
    }

    /// Returns the first level after the given one with candidates that may fit into the free resources.
    pub fn next_level(&self, after: Option<u64>, free: &Resources) -> Option<u64> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut levels = self.by_number.range((from, Bound::Unbounded));
        levels.find(|(_, level)| level.least.fits(free)).map(|(level, _)| *level)
    }

    /// Returns the phase that [`Levels::best`] returns for a node and a penalty weight of 0. Caches results.
    pub fn best_on(
        &self,
        level: u64,
        node: &Node,
        alignment: impl Fn() -> Alignment,
        passed: &[JobPhase],
    ) -> Option<JobPhase> {
        let best = || self.best(level, node.free(), &alignment(), 0.0, passed).map(|(_, phase)| phase);
        if self.dimensions > 2 || !passed.is_empty() {
            return best();
        }
        let (free, capacity) = (&node.free().0, &node.capacity().0);
        let state = [free[0], free[1], capacity[0], capacity[1]];
        let cache = &self.by_number.get(&level)?.cache;
        if let Some((_, known)) = cache.borrow().get(&state) {
            return *known;
        }
        let found = best();
        cache.borrow_mut().add(state, found);
        found
    }

    /// Returns the phase of a level with the highest score among those whose copies fit into the free resources, with
    /// its score. The score is the alignment − `weight` × penalty, where `weight` is at least 0; ties go to the smaller
    /// id. Only the first phase of a job that fits is considered (see `any_phase`), and phases in `passed` are skipped.
    pub fn best(
        &self,
        level: u64,
        free: &Resources,
        alignment: &Alignment,
        weight: f64,
        passed: &[JobPhase],
    ) -> Option<(f64, JobPhase)> {
        let kinds = &self.by_number.get(&level)?.kinds;
        // Loops over one or two dimensions, the most common numbers, are unrolled.
        match self.dimensions {
            1 => self.best_of::<1>(kinds, free, alignment, weight, passed),
            2 => self.best_of::<2>(kinds, free, alignment, weight, passed),
            _ => self.best_of::<MAX_DIMENSIONS>(kinds, free, alignment, weight, passed),
        }
    }

    fn best_of<const WIDTH: usize>(
        &self,
        kinds: &[Kind],
        free: &Resources,
        alignment: &Alignment,
        weight: f64,
        passed: &[JobPhase],
    ) -> Option<(f64, JobPhase)> {
        let mut best: Option<JobPhase> = None;
        let mut highest = f64::NEG_INFINITY;
        // The kinds are sorted by demand, with the first dimension first.
        for kind in kinds.iter().take_while(|kind| kind.demand.0[0] <= free.0[0]) {
            if !(0..WIDTH).all(|at| kind.demand.0[at] <= free.0[at]) {
                continue;
            }
            let aligned: f64 = (0..WIDTH).map(|at| kind.amounts[at] * alignment.0[at]).sum();
            // A penalty of at least 0 can only lower the score. The factor covers rounding errors.
            let may_gain = || weight > 0.0 && kind.first.is_some_and(|(penalty, ..)| unordered(penalty) < 0.0);
            if aligned * (1.0 + 1e-9) < highest && !may_gain() {
                continue;
            }
            let (penalty, phase) = match kind.first {
                Some((penalty, phase, false)) if passed.is_empty() => (penalty, phase),
                _ => match self.first_eligible(kind, free, passed) {
                    Some(eligible) => eligible,
                    None => continue,
                },
            };
            let score = without_rounding(aligned) - weight * unordered(penalty);
            if score > highest || (score >= highest && best.is_none_or(|first| phase < first)) {
                highest = score;
                best = Some(phase);
            }
        }
        best.map(|phase| (highest, phase))
    }

    /// Returns the first phase of a kind that is not in `passed` and is the first phase of its job that fits.
    fn first_eligible(&self, kind: &Kind, free: &Resources, passed: &[JobPhase]) -> Option<(u64, JobPhase)> {
        let mut phases = kind.phases.iter();
        let eligible = phases
            .find(|(_, phase, later)| !(passed.contains(phase) || *later && self.has_earlier(*phase, free, passed)));
        eligible.map(|(penalty, phase, _)| (*penalty, *phase))
    }

    /// Returns true if an earlier phase of the job fits too and is not in `passed`.
    fn has_earlier(&self, (job, phase): JobPhase, free: &Resources, passed: &[JobPhase]) -> bool {
        let candidates = self.places.get(&job).into_iter().flatten();
        let mut earlier = candidates.take_while(|candidate| candidate.phase < phase);
        earlier.any(|candidate| candidate.demand.fits(free) && !passed.contains(&(job, candidate.phase)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::testing::amount;

    fn candidate(level: u64, cpus: u64, memory: u64) -> Candidate {
        Candidate { level, phase: 0, demand: amount(cpus, memory), penalty: 0.0 }
    }

    /// Sets a job's candidates and returns how many of them are new.
    fn set(levels: &mut Levels, job: u32, candidates: &[Candidate]) -> usize {
        let mut new = 0;
        levels.set(JobId(job), candidates, |_| new += 1);
        new
    }

    #[test]
    fn the_best_candidate_of_a_level_is_chosen() {
        let mut levels = Levels::default();
        assert_eq!(set(&mut levels, 0, &[candidate(2, 1, 1)]), 1);
        assert_eq!(set(&mut levels, 1, &[candidate(1, 4, 1)]), 1);
        assert_eq!(set(&mut levels, 2, &[candidate(1, 1, 4)]), 1);
        assert_eq!(set(&mut levels, 3, &[candidate(1, 1, 4)]), 1);
        assert_eq!(set(&mut levels, 3, &[candidate(3, 1, 4)]), 0, "another level with the same demand is not new");
        let memory_counts = Alignment([0.1, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let best = |levels: &Levels, level, free: &Resources, passed: &[JobPhase]| {
            levels.best(level, free, &memory_counts, 0.0, passed).map(|(_, (job, _))| job.0)
        };
        let free = amount(4, 4);
        assert_eq!(levels.next_level(None, &free), Some(1));
        assert_eq!(best(&levels, 1, &free, &[]), Some(2));
        assert_eq!(best(&levels, 1, &free, &[(JobId(2), 0)]), Some(1));
        assert_eq!(best(&levels, 1, &amount(4, 3), &[]), Some(1));
        // The demands of level 1 are (4, 1) and (1, 4). Their minimum (1, 1) fits into (1, 1), but neither demand does.
        assert_eq!(levels.next_level(None, &amount(1, 1)), Some(1));
        assert_eq!(best(&levels, 1, &amount(1, 1), &[]), None);
        assert_eq!(levels.next_level(Some(1), &amount(1, 1)), Some(2));
        for job in 0..4 {
            assert_eq!(set(&mut levels, job, &[]), 0);
        }
        assert!(levels.is_empty() && levels.least().is_none() && levels.next_level(None, &free).is_none());
    }

    #[test]
    fn equal_scores_go_to_the_smallest_id() {
        let mut levels = Levels::default();
        for (job, cpus, memory, penalty) in [(7, 1, 2, 0.5), (5, 2, 1, 0.5), (6, 2, 1, 0.1)] {
            set(&mut levels, job, &[Candidate { penalty, ..candidate(0, cpus, memory) }]);
        }
        let even = Alignment([1.0; MAX_DIMENSIONS]);
        let best = |weight: f64| levels.best(0, &amount(9, 9), &even, weight, &[]).map(|(_, (job, _))| job.0);
        // Job 6 comes before job 5, which has the same demand and a larger penalty. Jobs 6 and 7 have the same alignment.
        assert_eq!(best(0.0), Some(6));
        assert_eq!(best(1.0), Some(6));
    }

    #[test]
    fn the_first_phase_of_a_job_that_fits_is_chosen() {
        let mut levels = Levels::default();
        let later = Candidate { phase: 2, ..candidate(0, 3, 3) };
        assert_eq!(set(&mut levels, 0, &[candidate(0, 1, 4), later]), 2);
        let even = Alignment([1.0; MAX_DIMENSIONS]);
        let best = |free: Resources, passed: &[JobPhase]| {
            levels.best(0, &free, &even, 0.0, passed).map(|(_, (_, phase))| phase)
        };
        // Phase 2 has the higher alignment, but phase 0 is chosen wherever it fits.
        assert_eq!(best(amount(4, 4), &[]), Some(0));
        assert_eq!(best(amount(4, 3), &[]), Some(2));
        assert_eq!(best(amount(4, 4), &[(JobId(0), 0)]), Some(2));
        assert_eq!(best(amount(2, 3), &[]), None);
    }
}
