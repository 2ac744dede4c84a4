//! What jobs may hold, kept up to date as they come, go and change.
//!
//! Jobs are kept in their order in blocks with sums over each block, so that what a job may hold, and whether any of
//! many jobs may have a further copy, is found without going through all jobs before it.

use rustc_hash::FxHashMap;

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Place;

#[cfg(test)]
mod tests;

/// Slots that differ by less are the same.
pub(super) const ROUNDING: f64 = 1e-9;

/// Most jobs in a block; a block with more is divided.
const MOST_IN_BLOCK: usize = 64;

/// What an active job asks for, in slots, or in shares of the cluster where nodes have several resources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// V_i.
    pub wanted: f64,
    /// The largest of its copies that may start now.
    pub copy: f64,
    /// √α_i.
    pub downstream: f64,
    pub weight: f64,
    /// What its copies hold.
    pub held: f64,
    /// The smallest copy of its waiting tasks; infinite if none waits.
    pub next: f64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    claim: Claim,
    /// What it is given before all others where slots are short: its fair share less ε, in whole copies.
    base: f64,
}

impl Entry {
    /// What it wants beyond its base.
    fn more(&self) -> f64 {
        self.claim.wanted - self.base
    }

    /// True if none of its waiting tasks may start where it may hold so much.
    fn is_blocked(&self, given: f64) -> bool {
        self.claim.held + self.claim.next > given + ROUNDING
    }
}

/// Sums over some jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    wanted: f64,
    /// Of `wanted` by the weight of the work downstream.
    shared: f64,
    weights: f64,
    base: f64,
    more: f64,
    /// Jobs that are not blocked with their base alone.
    open: usize,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.wanted += other.wanted;
        self.shared += other.shared;
        self.weights += other.weights;
        self.base += other.base;
        self.more += other.more;
        self.open += other.open;
    }

    fn of(entry: &Entry) -> Sums {
        let Claim { wanted, downstream, weight, .. } = entry.claim;
        let open = usize::from(!entry.is_blocked(entry.base));
        Sums { wanted, shared: downstream * wanted, weights: weight, base: entry.base, more: entry.more(), open }
    }

    fn over(sums: impl Iterator<Item = Sums>) -> Sums {
        sums.fold(Sums::default(), |mut all, sums| {
            all.add(&sums);
            all
        })
    }
}

/// Some jobs that follow one another; never empty.
#[derive(Debug)]
struct Block {
    entries: Vec<Entry>,
    sums: Sums,
}

impl Block {
    fn of(entries: Vec<Entry>) -> Block {
        let sums = Sums::over(entries.iter().map(Sums::of));
        Block { entries, sums }
    }

    /// Sums are added up afresh rather than corrected, so that rounding does not pile up.
    fn refresh(&mut self) {
        self.sums = Sums::over(self.entries.iter().map(Sums::of));
    }
}

/// How slots are divided now.
#[derive(Clone, Copy, Debug)]
enum Division {
    /// There is enough for all: what is left beyond what all want, and the sum of the weights by which it is shared.
    Enough { left: f64, shared: f64 },
    /// There is not: what is left beyond all bases.
    Short { left: f64 },
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Allotment {
    epsilon: f64,
    blocks: Vec<Block>,
    places: FxHashMap<JobId, Place>,
    division: Division,
    fair: Fair,
}

/// Fair shares less ε.
#[derive(Clone, Copy, Debug)]
struct Fair {
    /// All slots, less ε, and the sum of all weights.
    slots: f64,
    weights: f64,
    /// Between these slots for a weight of 1 no job's base changes.
    limits: (f64, f64),
}

impl Fair {
    fn of_weight_one(&self) -> f64 {
        self.slots / self.weights
    }

    /// The fair share of a job in whole copies, as far as it wants it.
    fn base(&self, claim: &Claim) -> f64 {
        if claim.copy <= 0.0 {
            // It wants nothing.
            return 0.0;
        }
        (self.copies(claim) * claim.copy).min(claim.wanted)
    }

    fn copies(&self, claim: &Claim) -> f64 {
        (self.slots * claim.weight / self.weights / claim.copy + ROUNDING).floor()
    }

    /// Narrows the limits to those between which the base of a job stays what it is.
    fn narrow(&mut self, claim: &Claim) {
        if claim.copy <= 0.0 {
            return;
        }
        let copies = self.copies(claim);
        let needed = (claim.wanted / claim.copy).ceil();
        let at = |copies: f64| (copies - ROUNDING) * claim.copy / claim.weight;
        let (from, to) = &mut self.limits;
        *from = from.max(at(copies.min(needed)) * (1.0 + MARGIN));
        if copies < needed {
            *to = to.min(at(copies + 1.0) * (1.0 - MARGIN));
        }
    }
}

const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// What rounding may change of a fair share, as a part of it.
const MARGIN: f64 = 1e-12;

impl Allotment {
    /// Without jobs and slots; ε is the part of its fair share that a job may be short of.
    pub fn new(epsilon: f64) -> Allotment {
        Allotment {
            epsilon,
            blocks: Vec::new(),
            places: FxHashMap::default(),
            division: Division::Enough { left: 0.0, shared: 0.0 },
            fair: Fair { slots: 0.0, weights: 1.0, limits: ANY },
        }
    }

    /// The block in which a place is or would be.
    fn block_of(&self, place: Place) -> usize {
        self.blocks.partition_point(|block| block.entries[0].place <= place).saturating_sub(1)
    }

    fn find(&self, place: Place) -> (usize, Result<usize, usize>) {
        let block = self.block_of(place);
        let at = self.blocks.get(block).map(|block| block.entries.binary_search_by(|entry| entry.place.cmp(&place)));
        (block, at.unwrap_or(Err(0)))
    }

    /// A job comes, or asks for something else. Call [`Allotment::share_out`] afterwards.
    pub fn set(&mut self, place: Place, claim: Claim) {
        self.fair.narrow(&claim);
        let entry = Entry { place, claim, base: self.fair.base(&claim) };
        if self.places.get(&place.job()) == Some(&place)
            && let (block, Ok(at)) = self.find(place)
        {
            self.blocks[block].entries[at] = entry;
            self.blocks[block].refresh();
            return;
        }
        self.remove(place.job());
        self.places.insert(place.job(), place);
        if self.blocks.is_empty() {
            self.blocks.push(Block::of(vec![entry]));
            return;
        }
        let (at, Ok(within) | Err(within)) = self.find(place);
        let block = &mut self.blocks[at];
        block.entries.insert(within, entry);
        let rest = (block.entries.len() > MOST_IN_BLOCK).then(|| block.entries.split_off(MOST_IN_BLOCK / 2));
        block.refresh();
        if let Some(rest) = rest {
            self.blocks.insert(at + 1, Block::of(rest));
        }
    }

    /// A job has gone. Call [`Allotment::share_out`] afterwards.
    pub fn remove(&mut self, job: JobId) {
        let Some(place) = self.places.remove(&job) else { return };
        let (block, Ok(at)) = self.find(place) else { return };
        self.blocks[block].entries.remove(at);
        if self.blocks[block].entries.is_empty() {
            self.blocks.remove(block);
        } else {
            self.blocks[block].refresh();
        }
    }

    /// What a job's copies hold has changed, or the smallest copy of its waiting tasks.
    pub fn set_held(&mut self, job: JobId, held: f64, next: f64) {
        let Some(place) = self.places.get(&job).copied() else { return };
        let (block, Ok(at)) = self.find(place) else { return };
        let Block { entries, sums } = &mut self.blocks[block];
        let entry = &mut entries[at];
        let before = usize::from(!entry.is_blocked(entry.base));
        (entry.claim.held, entry.claim.next) = (held, next);
        sums.open = sums.open - before + usize::from(!entry.is_blocked(entry.base));
    }

    /// Divides so many slots among the jobs.
    pub fn share_out(&mut self, slots: f64) {
        let sums = Sums::over(self.blocks.iter().map(|block| block.sums));
        let left = slots - sums.wanted;
        if left >= -ROUNDING {
            self.division = Division::Enough { left: left.max(0.0), shared: sums.shared };
            return;
        }
        self.fair = Fair { slots: (1.0 - self.epsilon) * slots, weights: sums.weights, limits: self.fair.limits };
        let (from, to) = self.fair.limits;
        let of_one = self.fair.of_weight_one();
        let bases = if from < of_one && of_one < to { sums.base } else { self.refresh_bases() };
        self.division = Division::Short { left: slots - bases };
    }

    /// Computes all jobs' bases anew; their sum.
    fn refresh_bases(&mut self) -> f64 {
        self.fair.limits = ANY;
        for block in &mut self.blocks {
            for entry in &mut block.entries {
                self.fair.narrow(&entry.claim);
                entry.base = self.fair.base(&entry.claim);
            }
            block.refresh();
        }
        self.blocks.iter().map(|block| block.sums.base).sum()
    }

    /// What an entry is given where so much more was given to those before it than their bases.
    fn given(&self, entry: &Entry, before: f64) -> f64 {
        match self.division {
            Division::Enough { left, shared } => {
                let part = if shared > 0.0 { entry.claim.downstream * entry.claim.wanted / shared } else { 0.0 };
                entry.claim.wanted + left * part
            }
            Division::Short { left } => entry.base + entry.more().min(left - before).max(0.0),
        }
    }

    /// What those before an entry want beyond their bases.
    fn more_before(&self, block: usize, at: usize) -> f64 {
        let blocks = self.blocks[..block].iter().map(|block| block.sums.more);
        let entries = self.blocks[block].entries[..at].iter().map(Entry::more);
        blocks.chain(entries).sum()
    }

    /// What a job may hold and what it holds.
    fn given_and_held(&self, job: JobId) -> Option<(f64, f64)> {
        let (block, Ok(at)) = self.find(*self.places.get(&job)?) else { return None };
        let entry = &self.blocks[block].entries[at];
        let before = match self.division {
            Division::Enough { .. } => 0.0,
            Division::Short { .. } => self.more_before(block, at),
        };
        Some((self.given(entry, before), entry.claim.held))
    }

    /// True if a job may hold so many slots beyond what it holds.
    pub fn permits(&self, job: JobId, slots: f64) -> bool {
        self.given_and_held(job).is_some_and(|(given, held)| held + slots <= given + ROUNDING)
    }

    /// What each job gets beyond what it wants, as a part of what it wants; with work downstream, that times
    /// [`Claim::downstream`].
    pub fn slack(&self) -> f64 {
        match self.division {
            Division::Enough { left, shared } if shared > 0.0 => left / shared,
            _ => 0.0,
        }
    }

    /// The slack below which a job may certainly not hold so many slots beyond what it holds.
    pub fn slack_needed(&self, job: JobId, slots: f64) -> f64 {
        let Some((block, Ok(at))) = self.places.get(&job).map(|place| self.find(*place)) else {
            return f64::NEG_INFINITY;
        };
        let claim = &self.blocks[block].entries[at].claim;
        let beyond = claim.held + slots - claim.wanted - 2.0 * ROUNDING;
        // Without anything beyond it needs none.
        if beyond > 0.0 { beyond / (claim.downstream * claim.wanted) * (1.0 - MARGIN) } else { f64::NEG_INFINITY }
    }

    /// The last of the jobs from a place on that follow one another and can start nothing; `None` if the first of them
    /// can, or slots are enough for all.
    pub fn blocked_until(&self, place: Place) -> Option<Place> {
        let Division::Short { left } = self.division else { return None };
        let (block, Ok(from) | Err(from)) = self.find(place);
        let mut from = from;
        let mut last = None;
        let mut before = if block < self.blocks.len() { self.more_before(block, from) } else { 0.0 };
        for block in &self.blocks[block..] {
            if from > 0 || before < left || block.sums.open > 0 {
                for entry in &block.entries[from..] {
                    if !entry.is_blocked(self.given(entry, before)) {
                        return last;
                    }
                    before += entry.more();
                    last = Some(entry.place);
                }
            } else {
                last = block.entries.last().map(|entry| entry.place);
            }
            from = 0;
        }
        last
    }
}

#[cfg(test)]
impl Allotment {
    /// What a job may hold.
    pub fn given_to(&self, job: JobId) -> Option<f64> {
        self.given_and_held(job).map(|(given, _)| given)
    }
}
