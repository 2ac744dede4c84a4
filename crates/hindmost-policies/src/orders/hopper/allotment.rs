//! Allotments of slots to jobs, updated as jobs arrive, change and finish.
//!
//! Jobs are kept in the order of the queue, in blocks. The sums over each block give a job's allotment without a pass
//! over all jobs before it, and show whether any job of a block may start another copy.

use rustc_hash::FxHashMap;

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Place;

#[cfg(test)]
mod tests;

/// Numbers of slots that differ by less than this count as equal.
pub(super) const ROUNDING: f64 = 1e-9;

/// Largest number of jobs in a block. A larger block is divided.
const MAX_IN_BLOCK: usize = 64;

/// The claim of an active job, in slots, or in shares of the cluster if nodes have several resources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// The virtual size V_i, in general not a whole number of copies.
    pub wanted: f64,
    /// The slots of the largest copy among the phases that may run now.
    pub copy: f64,
    /// √α_i, the weight of the work in waiting phases.
    pub downstream: f64,
    pub weight: f64,
    /// The slots that the job's copies hold.
    pub held: f64,
    /// The slots of the smallest copy of a pending task; infinity if no task is pending.
    pub next: f64,
}

impl Claim {
    /// Returns true if the job may start a copy of `slots` slots with an allotment of `given` slots. A job that is
    /// given its virtual size may start copies while it holds less than that. A smaller allotment is rounded to the
    /// nearest whole copy, half a copy down. A larger one is rounded down.
    fn allows(&self, slots: f64, given: f64) -> bool {
        if self.held + slots <= given + ROUNDING {
            return true;
        }
        if given >= self.wanted - ROUNDING {
            return slots.is_finite() && self.held < self.wanted - ROUNDING;
        }
        self.held + slots / 2.0 < given - ROUNDING
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    claim: Claim,
    /// The slots that the job gets before all others when slots are short: its fair share minus ε, in whole copies.
    base: f64,
}

impl Entry {
    /// Returns the slots that the job wants beyond its base.
    fn more(&self) -> f64 {
        self.claim.wanted - self.base
    }

    /// Returns true if none of the job's pending tasks may start with an allotment of `given` slots.
    fn is_blocked(&self, given: f64) -> bool {
        !self.claim.allows(self.claim.next, given)
    }
}

/// Sums over a set of jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    wanted: f64,
    /// The sum of `downstream` × `wanted`.
    shared: f64,
    weights: f64,
    base: f64,
    more: f64,
    /// Number of jobs that can start a task with only their base.
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

/// Jobs that follow one another in the queue, with sums over them. A block is never empty.
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

    /// Recomputes the sums from the entries. Adding differences instead would accumulate rounding errors.
    fn refresh(&mut self) {
        self.sums = Sums::over(self.entries.iter().map(Sums::of));
    }
}

/// The division of the slots among the jobs.
#[derive(Clone, Copy, Debug)]
enum Division {
    /// There are enough slots for all jobs. `left` slots remain beyond all virtual sizes; they are shared by weights
    /// whose sum is `shared`.
    Enough { left: f64, shared: f64 },
    /// There are not enough slots. `left` slots remain beyond all bases.
    Short { left: f64 },
}

/// The allotments of all active jobs.
#[derive(Debug)]
pub(super) struct Allotment {
    epsilon: f64,
    blocks: Vec<Block>,
    places: FxHashMap<JobId, Place>,
    division: Division,
    fair: Fair,
}

/// The fair shares of jobs, reduced by ε.
#[derive(Clone, Copy, Debug)]
struct Fair {
    /// The number of all slots, times 1 − ε.
    slots: f64,
    /// The sum of the weights of all jobs.
    weights: f64,
    /// As long as the share for a weight of 1 stays between these limits, no job's base changes.
    limits: (f64, f64),
}

impl Fair {
    fn of_weight_one(&self) -> f64 {
        self.slots / self.weights
    }

    /// Returns the fair share of a job in slots, rounded down to whole copies and at most its virtual size.
    fn base(&self, claim: &Claim) -> f64 {
        if claim.copy <= 0.0 {
            return 0.0;
        }
        (self.copies(claim) * claim.copy).min(claim.wanted)
    }

    fn copies(&self, claim: &Claim) -> f64 {
        (self.slots * claim.weight / self.weights / claim.copy + ROUNDING).floor()
    }

    /// Narrows the limits so that the base of this job does not change between them.
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

/// Limits between which all shares are.
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Relative error that rounding may cause in a fair share.
const MARGIN: f64 = 1e-12;

impl Allotment {
    /// Creates an index without jobs and slots. `epsilon` is ε, the part of its fair share that a job may lack.
    pub fn new(epsilon: f64) -> Allotment {
        Allotment {
            epsilon,
            blocks: Vec::new(),
            places: FxHashMap::default(),
            division: Division::Enough { left: 0.0, shared: 0.0 },
            fair: Fair { slots: 0.0, weights: 1.0, limits: ANY },
        }
    }

    /// Returns the block that contains a place, or would contain it.
    fn block_of(&self, place: Place) -> usize {
        self.blocks.partition_point(|block| block.entries[0].place <= place).saturating_sub(1)
    }

    fn find(&self, place: Place) -> (usize, Result<usize, usize>) {
        let block = self.block_of(place);
        let at = self.blocks.get(block).map(|block| block.entries.binary_search_by(|entry| entry.place.cmp(&place)));
        (block, at.unwrap_or(Err(0)))
    }

    /// Adds a job, or changes its place or claim. Call [`Allotment::share_out`] afterwards.
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
        let rest = (block.entries.len() > MAX_IN_BLOCK).then(|| block.entries.split_off(MAX_IN_BLOCK / 2));
        block.refresh();
        if let Some(rest) = rest {
            self.blocks.insert(at + 1, Block::of(rest));
        }
    }

    /// Removes a job. Call [`Allotment::share_out`] afterwards.
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

    /// Updates [`Claim::held`] and [`Claim::next`] of a job.
    pub fn set_held(&mut self, job: JobId, held: f64, next: f64) {
        let Some(place) = self.places.get(&job).copied() else { return };
        let (block, Ok(at)) = self.find(place) else { return };
        let Block { entries, sums } = &mut self.blocks[block];
        let entry = &mut entries[at];
        let before = usize::from(!entry.is_blocked(entry.base));
        (entry.claim.held, entry.claim.next) = (held, next);
        sums.open = sums.open - before + usize::from(!entry.is_blocked(entry.base));
    }

    /// Divides this number of slots between the jobs.
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

    /// Recomputes the bases of all jobs and returns their sum.
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

    /// Returns the allotment of a job. `before` is the number of slots that the jobs before it want beyond their bases.
    fn given(&self, entry: &Entry, before: f64) -> f64 {
        match self.division {
            Division::Enough { left, shared } => {
                let part = if shared > 0.0 { entry.claim.downstream * entry.claim.wanted / shared } else { 0.0 };
                entry.claim.wanted + left * part
            }
            Division::Short { left } => entry.base + entry.more().min(left - before).max(0.0),
        }
    }

    /// Returns the slots that the jobs before an entry want beyond their bases.
    fn more_before(&self, block: usize, at: usize) -> f64 {
        let blocks = self.blocks[..block].iter().map(|block| block.sums.more);
        let entries = self.blocks[block].entries[..at].iter().map(Entry::more);
        blocks.chain(entries).sum()
    }

    /// Returns a job's allotment and its claim.
    fn given_and_claim(&self, job: JobId) -> Option<(f64, &Claim)> {
        let (block, Ok(at)) = self.find(*self.places.get(&job)?) else { return None };
        let entry = &self.blocks[block].entries[at];
        let before = match self.division {
            Division::Enough { .. } => 0.0,
            Division::Short { .. } => self.more_before(block, at),
        };
        Some((self.given(entry, before), &entry.claim))
    }

    /// Returns true if a job may start a copy of this many slots.
    pub fn permits(&self, job: JobId, slots: f64) -> bool {
        self.given_and_claim(job).is_some_and(|(given, claim)| claim.allows(slots, given))
    }

    /// Returns the slots that a job gets beyond its virtual size, divided by its virtual size and its
    /// [`Claim::downstream`]. The ratio is the same for all jobs. It is 0 if slots are short.
    pub fn slack(&self) -> f64 {
        match self.division {
            Division::Enough { left, shared } if shared > 0.0 => left / shared,
            _ => 0.0,
        }
    }

    /// Returns a bound: while [`Allotment::slack`] is below it, a job certainly may not start a copy of `slots` slots.
    pub fn slack_needed(&self, job: JobId, slots: f64) -> f64 {
        let Some((block, Ok(at))) = self.places.get(&job).map(|place| self.find(*place)) else {
            return f64::NEG_INFINITY;
        };
        let claim = &self.blocks[block].entries[at].claim;
        let beyond = claim.held + slots - claim.wanted - 2.0 * ROUNDING;
        // A job that holds less than its virtual size needs no slack.
        if beyond > 0.0 && claim.held >= claim.wanted - ROUNDING {
            beyond / (claim.downstream * claim.wanted) * (1.0 - MARGIN)
        } else {
            f64::NEG_INFINITY
        }
    }

    /// Returns the place up to which no job can start a task, counted from `place`. `None` if the first job from
    /// `place` on can start a task, or if there are enough slots for all jobs.
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
    /// Returns a job's allotment.
    pub fn given_to(&self, job: JobId) -> Option<f64> {
        self.given_and_claim(job).map(|(given, _)| given)
    }
}
