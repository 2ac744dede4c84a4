//! Room over time: a virtual cluster in which the phases of a job are placed ahead of time, for orders that
//! plan (`carbyne`, `graphene`).
//!
//! The tasks of a phase are alike, so they are placed as blocks: so many beside each other, so many waves of
//! them one after the other. A phase of n tasks of duration e, of which w fit at once into room that is free
//! all the time, becomes ⌊n/w⌋ waves of w tasks and one of the rest, and takes ⌈n/w⌉·e. Where less is free,
//! each block is as wide as it can be at the earliest time at which a task fits. A plan thus costs with the
//! number of phases, not with that of tasks.

use hindmost_core::cluster::Job;
use hindmost_core::resources::Resources;

/// Nanoseconds from a moment that the planner chooses; may be negative. Wide enough that no sum of
/// durations overflows.
pub(crate) type Moment = i128;

/// A duration in seconds as nanoseconds: at least one, so that a phase never ends when it begins.
pub(crate) fn moments(seconds: f64) -> Moment {
    (seconds.clamp(0.0, 1e15) * 1e9).round().max(1.0) as Moment
}

/// Tasks of a phase that are placed together: `waves` of `width` tasks each, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// When the first wave begins.
    pub start: Moment,
    /// Tasks beside each other.
    pub width: u64,
    /// Waves, at least one.
    pub waves: u64,
    /// How long each wave takes.
    pub duration: Moment,
}

impl Block {
    /// When the last wave ends.
    pub fn end(&self) -> Moment {
        self.begin(self.waves)
    }

    /// When the n-th wave, from 0, begins.
    pub fn begin(&self, wave: u64) -> Moment {
        self.start + Moment::from(wave) * self.duration
    }

    /// Tasks that begin at a moment or before.
    pub fn begun(&self, at: Moment) -> u64 {
        if at < self.start {
            return 0;
        }
        let waves = (at - self.start) / self.duration + 1;
        self.width.saturating_mul(u64::try_from(waves).unwrap_or(u64::MAX).min(self.waves))
    }

    /// When its first wave after a moment begins.
    pub fn next_begin(&self, after: Moment) -> Option<Moment> {
        let wave = if after < self.start { 0 } else { u64::try_from((after - self.start) / self.duration + 1).ok()? };
        (wave < self.waves).then(|| self.begin(wave))
    }

    /// The same block seen in a mirror that turns time around.
    fn mirrored(&self) -> Block {
        Block { start: -self.end(), ..*self }
    }
}

/// When the first of some blocks begins.
pub(crate) fn first_start(blocks: &[Block]) -> Option<Moment> {
    blocks.iter().map(|block| block.start).min()
}

/// When the last of some blocks ends.
pub(crate) fn last_end(blocks: &[Block]) -> Option<Moment> {
    blocks.iter().map(Block::end).max()
}

/// Most blocks that a phase is broken into before the rest of it is put behind everything else: bounds what
/// a plan costs, at the price of a plan that is less compact than it could be.
const MOST_BLOCKS: usize = 16;

/// Free room over time. Before the first and after the last of its times everything is free.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    capacity: Resources,
    times: Vec<Moment>,
    /// From each time to the next.
    free: Vec<Resources>,
}

impl Space {
    /// Of this capacity, with all of it free at all times.
    pub fn new(capacity: Resources) -> Space {
        Space { capacity, times: Vec::new(), free: Vec::new() }
    }

    /// When room is first taken, and until when; nothing if it never is.
    pub fn span(&self) -> Option<(Moment, Moment)> {
        Some((*self.times.first()?, *self.times.last()?))
    }

    /// Places tasks as early as they fit, none before a moment.
    pub fn place_early(&mut self, tasks: u64, duration: Moment, demand: &Resources, from: Moment) -> Vec<Block> {
        let demand = self.clamped(demand);
        let mut blocks = Vec::new();
        let (mut left, mut from) = (tasks, from);
        while left > 0 {
            if blocks.len() >= MOST_BLOCKS {
                from = from.max(self.times.last().copied().unwrap_or(from));
            }
            let (start, width, until) = self.earliest(duration, &demand, left, from);
            let most = left / width;
            let waves = until.map_or(most, |until| most.min(u64::try_from((until - start) / duration).unwrap_or(most)));
            let block = Block { start, width, waves: waves.max(1), duration };
            self.take(start, block.end(), &times(&demand, width));
            left -= block.width * block.waves;
            from = start;
            blocks.push(block);
        }
        blocks
    }

    /// Places tasks as late as they fit, all over by a moment.
    pub fn place_late(&mut self, tasks: u64, duration: Moment, demand: &Resources, until: Moment) -> Vec<Block> {
        self.turn();
        let blocks = self.place_early(tasks, duration, demand, -until);
        self.turn();
        blocks.iter().map(Block::mirrored).collect()
    }

    /// Takes room from one moment to another; where less is free, all of it.
    pub fn take(&mut self, from: Moment, until: Moment, room: &Resources) {
        if from >= until {
            return;
        }
        let first = self.split(from);
        let last = self.split(until);
        for free in &mut self.free[first..last] {
            *free = free.minus(room);
        }
    }

    /// What a task takes of this space: one that is too large for it takes it all, alone.
    fn clamped(&self, demand: &Resources) -> Resources {
        let mut clamped = *demand;
        for (need, have) in clamped.0.iter_mut().zip(&self.capacity.0) {
            *need = (*need).min(*have);
        }
        clamped
    }

    /// The earliest moment, not before `from`, at which at least one task fits for its whole duration; how
    /// many do, at most `most`; and until when so much stays free (nothing: for ever).
    fn earliest(&self, duration: Moment, demand: &Resources, most: u64, from: Moment) -> (Moment, u64, Option<Moment>) {
        let mut start = from;
        // The room between two times in which the start lies: 0 is before the first.
        let mut at = self.times.partition_point(|time| *time <= start);
        'starts: loop {
            let mut width = self.fitting(at, demand, most);
            let mut ends = at;
            loop {
                if width == 0 {
                    // Nothing fits before this room is over.
                    let Some(next) = self.times.get(ends) else { return (start, 1, None) };
                    (start, at) = (*next, ends + 1);
                    continue 'starts;
                }
                let Some(end) = self.times.get(ends) else { break };
                if *end >= start + duration {
                    break;
                }
                ends += 1;
                width = width.min(self.fitting(ends, demand, most));
            }
            // So many fit for one wave; they may fit for longer.
            while self.times.get(ends).is_some() && self.fitting(ends + 1, demand, most) >= width {
                ends += 1;
            }
            return (start, width, self.times.get(ends).copied());
        }
    }

    /// How many tasks, at most `most`, fit into the room after so many times.
    fn fitting(&self, after: usize, demand: &Resources, most: u64) -> u64 {
        let between = after.checked_sub(1).and_then(|at| self.free.get(at)).unwrap_or(&self.capacity);
        between.times(demand).min(most)
    }

    /// Makes a moment one of the times, and tells which.
    fn split(&mut self, moment: Moment) -> usize {
        let at = self.times.partition_point(|time| *time < moment);
        if self.times.get(at) == Some(&moment) {
            return at;
        }
        if !self.times.is_empty() {
            let before = at.checked_sub(1).and_then(|at| self.free.get(at)).copied().unwrap_or(self.capacity);
            // Before the first and after the last time everything is free.
            self.free.insert(at.min(self.free.len()), before);
        }
        self.times.insert(at, moment);
        at
    }

    fn turn(&mut self) {
        self.times.reverse();
        for time in &mut self.times {
            *time = -*time;
        }
        self.free.reverse();
    }
}

fn times(demand: &Resources, count: u64) -> Resources {
    Resources(demand.0.map(|units| units.saturating_mul(count)))
}

/// A phase as planners see it.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// Tasks to be placed.
    pub tasks: u64,
    /// How long each takes.
    pub duration: Moment,
    /// What each needs.
    pub demand: Resources,
    /// Stages that must be over first; each has a smaller number.
    pub parents: Vec<usize>,
    /// Stages that wait for it.
    pub children: Vec<usize>,
}

/// A job's phases with so many tasks each, numbered as in the job. Phases that were finished before the job arrived
/// take no time and stand alone: none waits for them, and they wait for none.
pub(crate) fn stages(job: &Job, seconds: impl Fn(usize) -> f64, tasks: impl Fn(usize) -> u64) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::with_capacity(job.phases().len());
    for (at, (phase, spec)) in job.phases().iter().zip(&job.spec().phases).enumerate() {
        let waits_for = |parent: &usize| phase.to_do() > 0 && job.phases()[*parent].to_do() > 0;
        let mut parents: Vec<usize> = spec.after.iter().map(|parent| *parent as usize).filter(waits_for).collect();
        parents.sort_unstable();
        parents.dedup();
        for parent in &parents {
            stages[*parent].children.push(at);
        }
        stages.push(Stage {
            tasks: tasks(at),
            duration: moments(if phase.to_do() > 0 { seconds(at) } else { 0.0 }),
            demand: *phase.demand(),
            parents,
            children: Vec::new(),
        });
    }
    stages
}

/// Each stage's longest path, itself included, to the end of the job.
pub(crate) fn paths_to_end(stages: &[Stage]) -> Vec<Moment> {
    let mut paths = vec![0; stages.len()];
    for (at, stage) in stages.iter().enumerate().rev() {
        paths[at] = stage.duration + stage.children.iter().map(|child| paths[*child]).max().unwrap_or(0);
    }
    paths
}

/// Each stage's longest path, itself included, from the job's beginning.
pub(crate) fn paths_from_begin(stages: &[Stage]) -> Vec<Moment> {
    let mut paths = vec![0; stages.len()];
    for (at, stage) in stages.iter().enumerate() {
        paths[at] = stage.duration + stage.parents.iter().map(|parent| paths[*parent]).max().unwrap_or(0);
    }
    paths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(count: u64) -> Resources {
        times(&Resources::ONE_SLOT, count)
    }

    fn block(start: Moment, width: u64, waves: u64, duration: Moment) -> Block {
        Block { start, width, waves, duration }
    }

    #[test]
    fn a_phase_alone_runs_in_waves() {
        let mut space = Space::new(slots(4));
        let blocks = space.place_early(10, 5, &Resources::ONE_SLOT, 3);
        assert_eq!(blocks, [block(3, 4, 2, 5), block(13, 2, 1, 5)]);
        assert_eq!(space.span(), Some((3, 18)));
        // Beside the last wave two are free, but not for long enough before 13.
        assert_eq!(space.place_early(2, 7, &Resources::ONE_SLOT, 0), [block(13, 2, 1, 7)]);
        assert_eq!(space.place_early(4, 3, &Resources::ONE_SLOT, 0), [block(0, 4, 1, 3)]);
    }

    #[test]
    fn late_is_early_in_a_mirror() {
        let mut space = Space::new(slots(4));
        let blocks = space.place_late(10, 5, &Resources::ONE_SLOT, 20);
        // Two full waves end at 20; the rest comes first.
        assert_eq!(blocks, [block(10, 4, 2, 5), block(5, 2, 1, 5)]);
        assert_eq!((first_start(&blocks), last_end(&blocks)), (Some(5), Some(20)));
        let begun: Vec<u64> =
            [4, 5, 9, 10, 15, 99].iter().map(|at| blocks.iter().map(|block| block.begun(*at)).sum()).collect();
        assert_eq!(begun, [0, 2, 2, 6, 10, 10]);
    }

    #[test]
    fn what_is_too_large_has_the_space_alone() {
        let mut space = Space::new(slots(2));
        assert_eq!(space.place_early(3, 5, &slots(3), 0), [block(0, 1, 3, 5)]);
        assert_eq!(space.place_early(1, 5, &Resources::ONE_SLOT, 0), [block(15, 1, 1, 5)]);
        // What needs nothing needs no waves.
        assert_eq!(space.place_early(9, 5, &Resources::NONE, 0), [block(0, 9, 1, 5)]);
    }

    #[test]
    fn more_may_be_taken_than_there_is() {
        let mut space = Space::new(slots(2));
        space.take(0, 10, &slots(5));
        assert_eq!(space.place_early(1, 5, &Resources::ONE_SLOT, 0), [block(10, 1, 1, 5)]);
    }

    proptest! {
        /// Every task has its place, none too early or too late, and at no time more is taken than there is.
        #[test]
        fn books_balance(
            capacity in (1..9u64, 1..9u64),
            groups in proptest::collection::vec((1..30u64, 1..20i128, 1..6u64, 0..6u64, -30..30i128, any::<bool>()), 1..12),
        ) {
            let amount = |cpus: u64, memory: u64| {
                let mut amount = Resources::NONE;
                (amount.0[0], amount.0[1]) = (cpus, memory);
                amount
            };
            let capacity = amount(capacity.0, capacity.1);
            let mut space = Space::new(capacity);
            let mut placed = Vec::new();
            for (tasks, duration, cpus, memory, edge, early) in groups {
                let demand = amount(cpus, memory);
                let blocks = if early {
                    space.place_early(tasks, duration, &demand, edge)
                } else {
                    space.place_late(tasks, duration, &demand, edge)
                };
                prop_assert_eq!(blocks.iter().map(|block| block.width * block.waves).sum::<u64>(), tasks);
                prop_assert!(!early || first_start(&blocks).unwrap() >= edge);
                prop_assert!(early || last_end(&blocks).unwrap() <= edge);
                let clamped = space.clamped(&demand);
                placed.extend(blocks.into_iter().map(|block| (block, clamped)));
            }
            let moments: Vec<Moment> = placed.iter().map(|(block, _)| block.start).collect();
            for at in moments {
                let now = placed.iter().filter(|(block, _)| block.start <= at && at < block.end());
                let used = now.fold(Resources::NONE, |sum, (block, demand)| sum.plus(&times(demand, block.width)));
                prop_assert!(used.fits(&capacity), "{used:?} at {at}");
            }
        }
    }
}
