//! Jobs that could be started, by level, and within a level by what a copy demands: the index from
//! which a node picks the job that fits it best.
//!
//! Jobs of one level whose copies demand the same are alike to a node, so a pick looks at one of each
//! kind of demand and not at each job.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Node;
use hindmost_core::ids::JobId;
use hindmost_core::resources::{MAX_DIMENSIONS, Resources};

/// Copies of a phase's tasks that a job could start next, and where they stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Lower levels come first.
    pub level: u64,
    /// The phase of its job.
    pub phase: u32,
    /// What a copy demands.
    pub demand: Resources,
    /// Among jobs of one level and demand the one with the smallest penalty comes first, then by id.
    /// Not NaN, not negative.
    pub penalty: f64,
}

/// What comes first of the phases of one level that demand the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct First {
    /// Lower levels come first.
    pub level: u64,
    /// The number of the demand.
    pub number: usize,
    /// Its job's penalty.
    pub penalty: f64,
    /// The phase.
    pub phase: JobPhase,
}

/// A phase of a job that could start something.
pub type JobPhase = (JobId, u32);

/// Jobs of one level whose copies demand the same.
#[derive(Debug)]
struct Kind {
    /// The number of its demand.
    number: usize,
    demand: Resources,
    /// The same as numbers.
    amounts: [f64; MAX_DIMENSIONS],
    /// By penalty, as bits, and id; true if its job could start something of an earlier phase too.
    phases: BTreeSet<(u64, JobPhase, bool)>,
    /// The first of them.
    first: Option<(u64, JobPhase, bool)>,
}

impl Kind {
    fn of(number: usize, demand: Resources) -> Kind {
        Kind { number, demand, amounts: demand.0.map(|amount| amount as f64), phases: BTreeSet::new(), first: None }
    }
}

#[derive(Debug, Default)]
struct Level {
    /// By demand.
    kinds: Vec<Kind>,
    /// The least that any kind demands, dimension by dimension.
    least: Resources,
    /// What was best on nodes since the level last changed; the oldest is overwritten.
    remembered: RefCell<Remembered>,
}

/// Many nodes are alike, and looked at one after the other.
#[derive(Debug, Default)]
struct Remembered {
    best: Vec<(Alike, Option<JobPhase>)>,
    oldest: usize,
}

/// Free room and capacity of a node, in two dimensions.
type Alike = [u64; 4];

/// Nodes of so many kinds are remembered.
const REMEMBERED: usize = 8;

impl Remembered {
    fn get(&self, alike: &Alike) -> Option<&(Alike, Option<JobPhase>)> {
        self.best.iter().find(|(known, _)| known == alike)
    }

    fn add(&mut self, alike: Alike, best: Option<JobPhase>) {
        if self.best.len() < REMEMBERED {
            self.best.push((alike, best));
        } else {
            self.best[self.oldest] = (alike, best);
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    fn clear(&mut self) {
        self.best.clear();
        self.oldest = 0;
    }
}

impl Level {
    fn place(&self, demand: &Resources) -> Result<usize, usize> {
        self.kinds.binary_search_by(|kind| kind.demand.0.cmp(&demand.0))
    }

    fn refresh_least(&mut self) {
        let mut demands = self.kinds.iter().map(|kind| kind.demand);
        let first = demands.next().unwrap_or_default();
        self.least = demands.fold(first, |least, demand| least.least(&demand));
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Levels {
    /// Dimensions in use: those after them are nothing everywhere.
    dimensions: usize,
    /// Every phase of a job is meant, not only the first that fits.
    pub(crate) any_phase: bool,
    by_number: BTreeMap<u64, Level>,
    /// The numbers of demands: of each that is waiting, and of some that were.
    numbers: FxHashMap<Resources, usize>,
    /// By phase.
    places: BTreeMap<JobId, Vec<Candidate>>,
}

/// How well copies of a demand would fit the free room of one node: Σ over dimensions of demand × weight.
#[derive(Clone, Copy, Debug)]
pub struct Alignment([f64; MAX_DIMENSIONS]);

impl Alignment {
    /// Of a demand, up to rounding.
    pub fn of(&self, demand: &Resources) -> f64 {
        without_rounding(demand.0.iter().zip(&self.0).map(|(amount, weight)| *amount as f64 * weight).sum())
    }

    /// The inner product of demand and free room, each taken as a share of the node's capacity, of which only
    /// the first `dimensions` count.
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

    /// The inner product of demand and free room in the units given, so many small units of each
    /// dimension to one.
    pub fn raw(node: &Node, units: &[f64; MAX_DIMENSIONS]) -> Alignment {
        let mut weights = [0.0; MAX_DIMENSIONS];
        for (at, weight) in weights.iter_mut().enumerate() {
            *weight = node.free().0[at] as f64 / (units[at] * units[at]);
        }
        Alignment(weights)
    }
}

/// An inner product without its last 16 of 52 digits: what is equal is computed in different ways for
/// different demands, and rounding must not decide what ids should.
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
    /// Only so many dimensions are in use, on every node and by every demand.
    pub fn use_dimensions(&mut self, dimensions: usize) {
        self.dimensions = dimensions.min(MAX_DIMENSIONS);
    }

    /// True if no job could be started.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What a job could start of a phase, if anything.
    pub fn get(&self, (job, phase): JobPhase) -> Option<&Candidate> {
        self.places.get(&job)?.iter().find(|candidate| candidate.phase == phase)
    }

    /// All that could be started, by job and phase.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Candidate)> {
        self.places.iter().flat_map(|(job, candidates)| candidates.iter().map(|candidate| (*job, candidate)))
    }

    /// True if all that could be started is of one level and demands the same.
    pub fn are_alike(&self) -> bool {
        self.by_number.len() == 1 && self.by_number.values().all(|level| level.kinds.len() == 1)
    }

    /// The least that any copy demands, dimension by dimension.
    pub fn least(&self) -> Option<Resources> {
        self.by_number.values().map(|level| level.least).reduce(|least, other| least.least(&other))
    }

    /// From now on a job could start this, by phase, each at most once. Tells the demands of what it could not
    /// start before.
    pub fn set(&mut self, job: JobId, candidates: &[Candidate], mut fresh: impl FnMut(Resources)) {
        let before = self.places.remove(&job).unwrap_or_default();
        if before == candidates {
            if !before.is_empty() {
                self.places.insert(job, before);
            }
            return;
        }
        for (at, candidate) in before.iter().enumerate() {
            self.take_out(candidate, (candidate.penalty.to_bits(), (job, candidate.phase), at > 0 && !self.any_phase));
        }
        for (at, candidate) in candidates.iter().enumerate() {
            let level = self.by_number.entry(candidate.level).or_default();
            level.remembered.get_mut().clear();
            let place = level.place(&candidate.demand).unwrap_or_else(|place| {
                let next = self.numbers.len();
                let number = *self.numbers.entry(candidate.demand).or_insert(next);
                level.kinds.insert(place, Kind::of(number, candidate.demand));
                level.refresh_least();
                place
            });
            let kind = &mut level.kinds[place];
            kind.phases.insert((candidate.penalty.to_bits(), (job, candidate.phase), at > 0 && !self.any_phase));
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

    /// Takes a phase out until its job is [set](Levels::set) again.
    pub fn remove(&mut self, (job, phase): JobPhase) {
        let mut left = self.places.get(&job).cloned().unwrap_or_default();
        left.retain(|candidate| candidate.phase != phase);
        self.set(job, &left, |_| {});
    }

    fn take_out(&mut self, candidate: &Candidate, entry: (u64, JobPhase, bool)) {
        let Some(level) = self.by_number.get_mut(&candidate.level) else { return };
        level.remembered.get_mut().clear();
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

    /// The demands of what could be started, each with its number, and each once for every level that has it.
    pub fn demands(&self) -> impl Iterator<Item = (usize, &Resources)> {
        self.by_number.values().flat_map(|level| &level.kinds).map(|kind| (kind.number, &kind.demand))
    }

    /// What comes first of each level and demand.
    pub fn firsts(&self) -> impl Iterator<Item = First> + '_ {
        let kinds = self.by_number.iter().flat_map(|(level, found)| found.kinds.iter().map(|kind| (*level, kind)));
        kinds.filter_map(|(level, kind)| {
            let (penalty, phase, _) = kind.first?;
            Some(First { level, number: kind.number, penalty: f64::from_bits(penalty), phase })
        })
    }

    /// The first level after the given one of which something may fit into the free room.
    pub fn next_level(&self, after: Option<u64>, free: &Resources) -> Option<u64> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut levels = self.by_number.range((from, Bound::Unbounded));
        levels.find(|(_, level)| level.least.fits(free)).map(|(level, _)| *level)
    }

    /// As [`Levels::best`] on a node without penalties, and without the score.
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
        let alike = [free[0], free[1], capacity[0], capacity[1]];
        let remembered = &self.by_number.get(&level)?.remembered;
        if let Some((_, known)) = remembered.borrow().get(&alike) {
            return *known;
        }
        let found = best();
        remembered.borrow_mut().add(alike, found);
        found
    }

    /// Of a level's phases whose copies fit into the free room, the one with the highest score, alignment less
    /// `weight`, which is not negative, × penalty, the first of those by id, and its score. Of a job only the first phase that fits is meant; those in
    /// `passed` are left out.
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
        // They are sorted by demand, by its first dimension first.
        for kind in kinds.iter().take_while(|kind| kind.demand.0[0] <= free.0[0]) {
            if !(0..WIDTH).all(|at| kind.demand.0[at] <= free.0[at]) {
                continue;
            }
            let aligned: f64 = (0..WIDTH).map(|at| kind.amounts[at] * alignment.0[at]).sum();
            // A penalty only lowers the score, and rounding changes less than that.
            if aligned * (1.0 + 1e-9) < highest {
                continue;
            }
            let (penalty, phase) = match kind.first {
                Some((penalty, phase, false)) if passed.is_empty() => (penalty, phase),
                _ => match self.first_meant(kind, free, passed) {
                    Some(meant) => meant,
                    None => continue,
                },
            };
            let score = without_rounding(aligned) - weight * f64::from_bits(penalty);
            if score > highest || (score >= highest && best.is_none_or(|first| phase < first)) {
                highest = score;
                best = Some(phase);
            }
        }
        best.map(|phase| (highest, phase))
    }

    /// The first phase of a kind that has not been passed over and is the first of its job that fits.
    fn first_meant(&self, kind: &Kind, free: &Resources, passed: &[JobPhase]) -> Option<(u64, JobPhase)> {
        let mut phases = kind.phases.iter();
        let meant = phases
            .find(|(_, phase, later)| !(passed.contains(phase) || *later && self.has_earlier(*phase, free, passed)));
        meant.map(|(penalty, phase, _)| (*penalty, *phase))
    }

    /// True if an earlier phase of the job fits as well.
    fn has_earlier(&self, (job, phase): JobPhase, free: &Resources, passed: &[JobPhase]) -> bool {
        let candidates = self.places.get(&job).into_iter().flatten();
        let mut earlier = candidates.take_while(|candidate| candidate.phase < phase);
        earlier.any(|candidate| candidate.demand.fits(free) && !passed.contains(&(job, candidate.phase)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(cpus: u64, memory: u64) -> Resources {
        let mut room = Resources::NONE;
        (room.0[0], room.0[1]) = (cpus, memory);
        room
    }

    fn candidate(level: u64, cpus: u64, memory: u64) -> Candidate {
        Candidate { level, phase: 0, demand: room(cpus, memory), penalty: 0.0 }
    }

    /// Sets what a job could start; how many demands are told to be fresh.
    fn set(levels: &mut Levels, job: u32, candidates: &[Candidate]) -> usize {
        let mut told = 0;
        levels.set(JobId(job), candidates, |_| told += 1);
        told
    }

    #[test]
    fn the_best_of_the_first_level_that_fits() {
        let mut levels = Levels::default();
        assert_eq!(set(&mut levels, 0, &[candidate(2, 1, 1)]), 1);
        assert_eq!(set(&mut levels, 1, &[candidate(1, 4, 1)]), 1);
        assert_eq!(set(&mut levels, 2, &[candidate(1, 1, 4)]), 1);
        assert_eq!(set(&mut levels, 3, &[candidate(1, 1, 4)]), 1);
        assert_eq!(set(&mut levels, 3, &[candidate(3, 1, 4)]), 0, "the same demand in another level is nothing new");
        let memory_counts = Alignment([0.1, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let best = |levels: &Levels, level, free: &Resources, passed: &[JobPhase]| {
            levels.best(level, free, &memory_counts, 0.0, passed).map(|(_, (job, _))| job.0)
        };
        let free = room(4, 4);
        assert_eq!(levels.next_level(None, &free), Some(1));
        assert_eq!(best(&levels, 1, &free, &[]), Some(2));
        assert_eq!(best(&levels, 1, &free, &[(JobId(2), 0)]), Some(1));
        assert_eq!(best(&levels, 1, &room(4, 3), &[]), Some(1));
        // The least of level 1 is (1, 1), though neither of its kinds fits there.
        assert_eq!(levels.next_level(None, &room(1, 1)), Some(1));
        assert_eq!(best(&levels, 1, &room(1, 1), &[]), None);
        assert_eq!(levels.next_level(Some(1), &room(1, 1)), Some(2));
        for job in 0..4 {
            assert_eq!(set(&mut levels, job, &[]), 0);
        }
        assert!(levels.is_empty() && levels.least().is_none() && levels.next_level(None, &free).is_none());
    }

    #[test]
    fn among_equal_scores_the_first_by_id() {
        let mut levels = Levels::default();
        for (job, cpus, memory, penalty) in [(7, 1, 2, 0.5), (5, 2, 1, 0.5), (6, 2, 1, 0.1)] {
            set(&mut levels, job, &[Candidate { penalty, ..candidate(0, cpus, memory) }]);
        }
        let even = Alignment([1.0; MAX_DIMENSIONS]);
        let best = |weight: f64| levels.best(0, &room(9, 9), &even, weight, &[]).map(|(_, (job, _))| job.0);
        // Job 6 stands for its kind, being of the smallest penalty; by alignment alone it ties with job 7.
        assert_eq!(best(0.0), Some(6));
        assert_eq!(best(1.0), Some(6));
    }

    #[test]
    fn of_a_job_the_first_phase_that_fits() {
        let mut levels = Levels::default();
        let later = Candidate { phase: 2, ..candidate(0, 3, 3) };
        assert_eq!(set(&mut levels, 0, &[candidate(0, 1, 4), later]), 2);
        let even = Alignment([1.0; MAX_DIMENSIONS]);
        let best = |free: Resources, passed: &[JobPhase]| {
            levels.best(0, &free, &even, 0.0, passed).map(|(_, (_, phase))| phase)
        };
        // Phase 2 aligns better, but phase 0 comes first where it fits.
        assert_eq!(best(room(4, 4), &[]), Some(0));
        assert_eq!(best(room(4, 3), &[]), Some(2));
        assert_eq!(best(room(4, 4), &[(JobId(0), 0)]), Some(2));
        assert_eq!(best(room(2, 3), &[]), None);
    }
}
