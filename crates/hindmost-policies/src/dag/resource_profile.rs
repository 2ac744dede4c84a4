//! A profile of free resources over time: a virtual cluster in which orders that plan (`carbyne`, `graphene`) place the
//! phases of a job ahead of time.
//!
//! The tasks of a phase are alike, so they are placed as blocks: `width` tasks at once, in `waves` waves one after the
//! other. If the free resources do not change, a phase of n tasks of duration e, w of which fit at once, becomes ⌊n/w⌋
//! waves of w tasks and one wave of the remaining tasks, and takes ⌈n/w⌉·e. If the free resources change, each block is
//! as wide as possible at the earliest time at which a task fits. So the cost of a plan grows with the number of
//! phases, not with the number of tasks.

use hindmost_core::cluster::Job;
use hindmost_core::resources::Resources;

/// Nanoseconds from an origin that the planner chooses; may be negative. No sum of durations overflows.
pub(crate) type Moment = i128;

/// Converts a duration from seconds to nanoseconds. The result is at least one, so that no phase ends when it begins.
pub(crate) fn moments(seconds: f64) -> Moment {
    (seconds.clamp(0.0, 1e15) * 1e9).round().max(1.0) as Moment
}

/// Tasks of a phase that are placed together: `waves` waves of `width` tasks each, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The begin of the first wave.
    pub start: Moment,
    /// The number of tasks of a wave, which run at the same time.
    pub width: u64,
    /// The number of waves, at least one.
    pub waves: u64,
    /// The duration of a wave.
    pub duration: Moment,
}

impl Block {
    /// Returns the end of the last wave.
    pub fn end(&self) -> Moment {
        self.begin(self.waves)
    }

    /// Returns the time at which a wave begins; waves are counted from 0.
    pub fn begin(&self, wave: u64) -> Moment {
        self.start + Moment::from(wave) * self.duration
    }

    /// Returns the number of tasks that begin at `at` or before.
    pub fn begun(&self, at: Moment) -> u64 {
        if at < self.start {
            return 0;
        }
        let waves = (at - self.start) / self.duration + 1;
        self.width.saturating_mul(u64::try_from(waves).unwrap_or(u64::MAX).min(self.waves))
    }

    /// Returns the time at which the first wave after `after` begins; `None` if no wave begins later.
    pub fn next_begin(&self, after: Moment) -> Option<Moment> {
        let wave = if after < self.start { 0 } else { u64::try_from((after - self.start) / self.duration + 1).ok()? };
        (wave < self.waves).then(|| self.begin(wave))
    }

    /// Returns the block with time reversed.
    fn mirrored(&self) -> Block {
        Block { start: -self.end(), ..*self }
    }
}

/// Returns the time at which the first of these blocks begins; `None` without blocks.
pub(crate) fn first_start(blocks: &[Block]) -> Option<Moment> {
    blocks.iter().map(|block| block.start).min()
}

/// Returns the end of the last of these blocks; `None` without blocks.
pub(crate) fn last_end(blocks: &[Block]) -> Option<Moment> {
    blocks.iter().map(Block::end).max()
}

/// Maximum number of blocks of a phase. Once a phase has this many, its other tasks are placed after everything else.
/// This bounds the cost of a plan; the plan may be less compact.
const MOST_BLOCKS: usize = 16;

/// Free resources over time. Before the first and after the last of its times, everything is free.
#[derive(Clone, Debug)]
pub(crate) struct ResourceProfile {
    capacity: Resources,
    /// The times at which the free resources change, ascending.
    times: Vec<Moment>,
    /// The free resources from each time to the next.
    free: Vec<Resources>,
}

impl ResourceProfile {
    /// Creates a profile in which all of this capacity is free at all times.
    pub fn new(capacity: Resources) -> ResourceProfile {
        ResourceProfile { capacity, times: Vec::new(), free: Vec::new() }
    }

    /// Returns the first and the last time at which resources are taken; `None` if none are.
    pub fn span(&self) -> Option<(Moment, Moment)> {
        Some((*self.times.first()?, *self.times.last()?))
    }

    /// Places tasks as early as they fit, none before `from`.
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

    /// Places tasks as late as they fit; all end at `until` or before.
    pub fn place_late(&mut self, tasks: u64, duration: Moment, demand: &Resources, until: Moment) -> Vec<Block> {
        self.reverse_time();
        let blocks = self.place_early(tasks, duration, demand, -until);
        self.reverse_time();
        blocks.iter().map(Block::mirrored).collect()
    }

    /// Takes an amount of resources from `from` to `until`. Where less is free, takes all that is free.
    pub fn take(&mut self, from: Moment, until: Moment, amount: &Resources) {
        if from >= until {
            return;
        }
        let first = self.split(from);
        let last = self.split(until);
        for free in &mut self.free[first..last] {
            *free = free.minus(amount);
        }
    }

    /// Returns the amount that a task takes here: at most the whole capacity, so that a task that is too large is
    /// placed alone.
    fn clamped(&self, demand: &Resources) -> Resources {
        let mut clamped = *demand;
        for (need, have) in clamped.0.iter_mut().zip(&self.capacity.0) {
            *need = (*need).min(*have);
        }
        clamped
    }

    /// Returns the earliest time, not before `from`, at which at least one task fits for its whole duration; how many
    /// tasks fit at that time, at most `most`; and the time until which this many fit (`None`: for ever).
    fn earliest(&self, duration: Moment, demand: &Resources, most: u64, from: Moment) -> (Moment, u64, Option<Moment>) {
        let mut start = from;
        // The interval between two times in which the start lies. Interval 0 is before the first time.
        let mut at = self.times.partition_point(|time| *time <= start);
        'starts: loop {
            let mut width = self.fitting(at, demand, most);
            let mut ends = at;
            loop {
                if width == 0 {
                    // Nothing fits before the end of this interval.
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
            // `width` tasks fit for one wave. Find out for how long they fit.
            while self.times.get(ends).is_some() && self.fitting(ends + 1, demand, most) >= width {
                ends += 1;
            }
            return (start, width, self.times.get(ends).copied());
        }
    }

    /// Returns how many tasks, at most `most`, fit into the interval that begins after the first `after` times.
    fn fitting(&self, after: usize, demand: &Resources, most: u64) -> u64 {
        let between = after.checked_sub(1).and_then(|at| self.free.get(at)).unwrap_or(&self.capacity);
        between.times(demand).min(most)
    }

    /// Makes `moment` one of the times and returns its index.
    fn split(&mut self, moment: Moment) -> usize {
        let at = self.times.partition_point(|time| *time < moment);
        if self.times.get(at) == Some(&moment) {
            return at;
        }
        if !self.times.is_empty() {
            let before = at.checked_sub(1).and_then(|at| self.free.get(at)).copied().unwrap_or(self.capacity);
            // Outside of all times everything is free.
            self.free.insert(at.min(self.free.len()), before);
        }
        self.times.insert(at, moment);
        at
    }

    /// Reverses the profile in time: each time t becomes −t.
    fn reverse_time(&mut self) {
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

/// A phase in a plan.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// The number of tasks to place.
    pub tasks: u64,
    /// The duration of a task.
    pub duration: Moment,
    /// The demand of a task.
    pub demand: Resources,
    /// The stages that must end before this one begins. Each has a smaller index.
    pub parents: Vec<usize>,
    /// The stages that wait for this one.
    pub children: Vec<usize>,
}

/// Returns a job's phases as stages with the same indices. `seconds` returns the duration of a task and `tasks` the
/// number of tasks of the phase with a given index. Phases that were finished before the job arrived take no time and
/// have no parents and children.
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

/// Returns the longest path from each stage, itself included, to the end of the job.
pub(crate) fn paths_to_end(stages: &[Stage]) -> Vec<Moment> {
    let mut paths = vec![0; stages.len()];
    for (at, stage) in stages.iter().enumerate().rev() {
        paths[at] = stage.duration + stage.children.iter().map(|child| paths[*child]).max().unwrap_or(0);
    }
    paths
}

/// Returns the longest path from the job's beginning to each stage, itself included.
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
        let mut profile = ResourceProfile::new(slots(4));
        let blocks = profile.place_early(10, 5, &Resources::ONE_SLOT, 3);
        assert_eq!(blocks, [block(3, 4, 2, 5), block(13, 2, 1, 5)]);
        assert_eq!(profile.span(), Some((3, 18)));
        // Two slots are free beside the last wave. Before 13, none are free for long enough.
        assert_eq!(profile.place_early(2, 7, &Resources::ONE_SLOT, 0), [block(13, 2, 1, 7)]);
        assert_eq!(profile.place_early(4, 3, &Resources::ONE_SLOT, 0), [block(0, 4, 1, 3)]);
    }

    #[test]
    fn late_placement_ends_with_full_waves() {
        let mut profile = ResourceProfile::new(slots(4));
        let blocks = profile.place_late(10, 5, &Resources::ONE_SLOT, 20);
        // Two full waves end at 20; the two remaining tasks run before them.
        assert_eq!(blocks, [block(10, 4, 2, 5), block(5, 2, 1, 5)]);
        assert_eq!((first_start(&blocks), last_end(&blocks)), (Some(5), Some(20)));
        let begun: Vec<u64> =
            [4, 5, 9, 10, 15, 99].iter().map(|at| blocks.iter().map(|block| block.begun(*at)).sum()).collect();
        assert_eq!(begun, [0, 2, 2, 6, 10, 10]);
    }

    #[test]
    fn a_task_that_is_too_large_is_placed_alone() {
        let mut profile = ResourceProfile::new(slots(2));
        assert_eq!(profile.place_early(3, 5, &slots(3), 0), [block(0, 1, 3, 5)]);
        assert_eq!(profile.place_early(1, 5, &Resources::ONE_SLOT, 0), [block(15, 1, 1, 5)]);
        // Tasks without a demand need no waves.
        assert_eq!(profile.place_early(9, 5, &Resources::NONE, 0), [block(0, 9, 1, 5)]);
    }

    #[test]
    fn taking_more_than_is_free_takes_all() {
        let mut profile = ResourceProfile::new(slots(2));
        profile.take(0, 10, &slots(5));
        assert_eq!(profile.place_early(1, 5, &Resources::ONE_SLOT, 0), [block(10, 1, 1, 5)]);
    }

    proptest! {
        /// Every task has a place, no task begins too early or ends too late, and the capacity is never exceeded.
        #[test]
        fn all_tasks_are_placed_within_the_capacity(
            capacity in (1..9u64, 1..9u64),
            groups in proptest::collection::vec((1..30u64, 1..20i128, 1..6u64, 0..6u64, -30..30i128, any::<bool>()), 1..12),
        ) {
            let amount = |cpus: u64, memory: u64| {
                let mut amount = Resources::NONE;
                (amount.0[0], amount.0[1]) = (cpus, memory);
                amount
            };
            let capacity = amount(capacity.0, capacity.1);
            let mut profile = ResourceProfile::new(capacity);
            let mut placed = Vec::new();
            for (tasks, duration, cpus, memory, edge, early) in groups {
                let demand = amount(cpus, memory);
                let blocks = if early {
                    profile.place_early(tasks, duration, &demand, edge)
                } else {
                    profile.place_late(tasks, duration, &demand, edge)
                };
                prop_assert_eq!(blocks.iter().map(|block| block.width * block.waves).sum::<u64>(), tasks);
                prop_assert!(!early || first_start(&blocks).unwrap() >= edge);
                prop_assert!(early || last_end(&blocks).unwrap() <= edge);
                let clamped = profile.clamped(&demand);
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
