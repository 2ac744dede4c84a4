//! Plans in closed form, of jobs of which the unfinished phases follow one another and whose tasks are not due before the
//! running ones are over: most jobs, wherever jobs queue. They tell what placing every phase would tell, at a small part of
//! the cost.
//!
//! Forwards, what the running tasks of the first unfinished phase leave of the share is all taken by its pending ones at
//! once, and no other phase is in their way ([`First::over`]). Backwards, each phase has the share for itself and takes
//! full waves, and what is left for less than a wave comes before them.

use hindmost_core::cluster::{Job, Phase};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::dag::resource_profile::{Block, Moment, moments};
use crate::orders::effective_time::effective_time;

/// What a job is planned from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    pub job: &'a Job,
    pub now: Time,
    /// The job's share of all room.
    pub room: Resources,
    /// How long the tasks of each phase take: see [`durations_of`].
    pub durations: &'a [Moment],
    /// By phase, the sum of when living attempts were started, nanoseconds.
    pub started: &'a [u128],
}

impl Situation<'_> {
    /// How long the running tasks of a phase will hold their room: until an effective time after their mean start.
    pub fn runs_on(&self, at: usize) -> Moment {
        let alive = self.job.phases()[at].running_copies();
        if alive == 0 {
            return 0;
        }
        let over = mean_start(self.started[at], alive).saturating_add(self.durations[at]);
        over.saturating_sub(Moment::from(self.now.0)).clamp(0, self.durations[at])
    }
}

/// The effective time of each phase of a job.
pub(crate) fn durations_of(job: &Job) -> Vec<Moment> {
    job.phases().iter().map(|phase| moments(effective_time(phase))).collect()
}

/// What so many running tasks of a phase hold.
pub(crate) fn held(phase: &Phase, alive: u32) -> Resources {
    Resources(phase.demand().0.map(|units| units.saturating_mul(u64::from(alive))))
}

/// Nanoseconds from when a plan was made.
pub(crate) fn since(made: Time, time: Time) -> Moment {
    Moment::from(time.0) - Moment::from(made.0)
}

/// When something ends that does so in so long.
pub(crate) fn end_after(made: Time, completion: Moment) -> Time {
    let end = u64::try_from(completion).ok().and_then(|completion| completion.checked_add(made.0));
    Time(end.unwrap_or(u64::MAX))
}

/// The latest places of the tasks of a job's only open phase: full waves one after the other, and before them one of what
/// is left. Times are nanoseconds from when the plan was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InWaves {
    /// Its pending tasks when the plan was made, at least one.
    pub pending: u32,
    /// When the first of them begins.
    pub first: i64,
    duration: i64,
    /// Tasks of a full wave.
    width: u32,
    /// Full waves, at least one.
    waves: u32,
    /// Tasks of the wave before these, if there is one.
    rest: u32,
}

impl InWaves {
    /// The plan that is made now and when the job ends by it, if it can be of this kind.
    pub fn new(chain: &Chain, now: Time, promise: Option<Time>) -> Option<(InWaves, Time)> {
        let Chain { pending, alive, duration, .. } = *chain;
        let running = Moment::from(chain.over).saturating_sub(Moment::from(now.0)).clamp(0, Moment::from(duration));
        let first = First { pending, alive, duration: Moment::from(duration), running, wide: chain.wide };
        let end = end_after(now, first.over() + Moment::from(chain.later));
        let end = promise.map_or(end, |promise| end.min(promise));
        let begins = since(now, end) - first.in_full_waves() - Moment::from(chain.later);
        if running > 0 && begins < running {
            return None;
        }
        let width = u32::try_from(chain.wide).unwrap_or(u32::MAX).min(pending);
        let (waves, rest) = (pending / width, pending % width);
        Some((InWaves { pending, first: i64::try_from(begins).ok()?, duration, width, waves, rest }, end))
    }

    /// The places, of which the first may be none.
    pub fn blocks(&self) -> [Block; 2] {
        let (start, duration) = (Moment::from(self.first), Moment::from(self.duration));
        let rest = Block { start, width: u64::from(self.rest), waves: u64::from(self.rest > 0), duration };
        [rest, Block { start: rest.end(), width: u64::from(self.width), waves: u64::from(self.waves), duration }]
    }
}

/// A job of which the unfinished phases follow one another, as plans in waves see it. It goes on being right until an
/// attempt of the job starts or ends, its durations are learned or nodes come or go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chain {
    /// Shares of the cluster, from the smallest to the largest, of which it is certain that it is the same with all of them.
    shares: (f64, f64),
    /// When running tasks of the first phase are over, if there are any, nanoseconds.
    over: i64,
    /// How long its tasks take.
    duration: i64,
    /// How long the other phases take, each in the share for itself.
    later: i64,
    /// Tasks of the first phase that fit into the share.
    wide: u64,
    /// Its pending tasks, at least one.
    pending: u32,
    /// Its running tasks.
    alive: u32,
}

impl Chain {
    /// The job with this share of the cluster, if its phases are such.
    pub fn new(situation: &Situation<'_>, share: f64) -> Option<Chain> {
        let Situation { job, room, durations, started, .. } = situation;
        let mut unfinished = job.phases().iter().enumerate().filter(|(_, phase)| !phase.is_finished());
        let (at, phase) = unfinished.next().filter(|(_, phase)| phase.is_open() && phase.pending() > 0)?;
        let (pending, alive, wide) = (phase.pending(), phase.running_copies(), fitting(phase, room));
        let over = if alive > 0 { mean_start(started[at], alive).saturating_add(durations[at]) } else { 0 };
        let mut later = 0;
        let mut shares = alike(share, phase, room);
        let mut before = at;
        for (at, phase) in unfinished {
            if phase.is_open() || phase.running_copies() > 0 || !job.spec().phases[at].after.contains(&(before as u32))
            {
                return None;
            }
            later += full_waves(phase.pending(), fitting(phase, room), durations[at]);
            let (least, most) = alike(share, phase, room);
            shares = (shares.0.max(least), shares.1.min(most));
            before = at;
        }
        let (over, later) = (i64::try_from(over).ok()?, i64::try_from(later).ok()?);
        let duration = i64::try_from(durations[at]).ok()?;
        Some(Chain { shares, over, duration, later, wide, pending, alive })
    }

    /// True if it is certain to be the same with this share.
    pub fn is_with(&self, share: f64) -> bool {
        self.shares.0 <= share && share <= self.shares.1
    }
}

/// When running tasks of a phase were started on average; `started` is the sum of when they were.
fn mean_start(started: u128, alive: u32) -> Moment {
    // Sums that fit into 64 bits, as most do, are divided much faster.
    match u64::try_from(started) {
        Ok(sum) => Moment::from(sum / u64::from(alive)),
        Err(_) => Moment::try_from(started / u128::from(alive)).unwrap_or(Moment::MAX / 2),
    }
}

/// Shares between which as many tasks of a phase fit into each dimension as into the room that is this share; of a few at
/// the ends it is not certain.
fn alike(share: f64, phase: &Phase, room: &Resources) -> (f64, f64) {
    let mut shares = (share, f64::INFINITY);
    let mut least = 0.0f64;
    for (need, have) in phase.demand().0.iter().zip(&room.0).filter(|(need, _)| **need > 0) {
        let (fitting, each) = ((have / need) as f64, *need as f64);
        // What is too large for all room has it alone. With none at all, or a little more, it is another matter.
        least = least.max(if fitting > 0.0 { fitting * each / *have as f64 } else { 1.0 });
        // Room is rounded: by half a unit here and up to a whole one at the other end.
        let most = if *have > 0 { ((fitting + 1.0) * each - 2.0) / *have as f64 } else { 0.0 };
        shares.1 = shares.1.min(share * most * (1.0 - MARGIN));
    }
    shares.0 = share * least * (1.0 + MARGIN);
    shares
}

/// Of shares: more than what is lost where they are computed.
const MARGIN: f64 = 1e-9;

/// How long so many tasks take, as many beside each other as fit.
fn full_waves(tasks: u32, fitting: u64, duration: Moment) -> Moment {
    Moment::from(u64::from(tasks).div_ceil(fitting)) * duration
}

/// How many tasks of a phase, at least one, fit into a share beside each other; one that is too large for it has it alone.
fn fitting(phase: &Phase, room: &Resources) -> u64 {
    let needed = phase.demand().0.iter().zip(&room.0).filter(|(need, have)| **need > 0 && **have > 0);
    needed.map(|(need, have)| (have / need).max(1)).min().unwrap_or(u64::MAX)
}

/// The first unfinished phase of a job within its share.
#[derive(Clone, Copy, Debug)]
struct First {
    pending: u32,
    alive: u32,
    duration: Moment,
    /// How long running tasks run on, at most a duration.
    running: Moment,
    /// Tasks that fit into the share.
    wide: u64,
}

impl First {
    fn in_full_waves(&self) -> Moment {
        full_waves(self.pending, self.wide, self.duration)
    }

    /// When pending tasks that are placed as early as possible, and running ones, are over.
    fn over(&self) -> Moment {
        let First { duration, running, .. } = *self;
        let (pending, alive) = (u64::from(self.pending), u64::from(self.alive));
        // Beside the running ones.
        let free = self.wide.saturating_sub(alive);
        if running == 0 || free == 0 {
            return running + self.in_full_waves();
        }
        if pending <= free {
            return duration.max(running);
        }
        // As many as fit beside the running ones, wave after wave. All that are left but less than a wave go to where
        // the running ones are: first as many as those, and the rest when one of both blocks is over.
        let (waves, left) = (pending / free, pending % free);
        let first = Moment::from(waves) * duration;
        if left == 0 {
            return first;
        }
        if left <= alive || (waves == 1 && running == duration) {
            return first.max(running + duration);
        }
        let second = running + Moment::from(left / alive) * duration;
        let both = first.max(second);
        if left.is_multiple_of(alive) { both } else { both.max(first.min(second) + duration) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dag::latest_starts::{room_of, tests::chain};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// What is certain of other shares is so.
        #[test]
        fn as_many_fit_into_shares_that_are_alike(
            (cpus, memory, tasks) in (0..9u32, 0..9u32, 1..50u32),
            share in 0.0..0.02f64,
            factors in proptest::collection::vec(0.5..2.0f64, 1..20),
        ) {
            let cluster = chain(&[(tasks, 1, cpus, memory), (tasks, 1, memory, cpus)]);
            let job = cluster.jobs().next().unwrap();
            let (durations, started) = (durations_of(job), [0; 2]);
            let with = |share: f64| {
                let room = room_of(share, &cluster);
                Chain::new(&Situation { job, now: Time::ZERO, room, durations: &durations, started: &started }, share)
            };
            let found = with(share).unwrap();
            let ends = [found.shares.0, found.shares.1].into_iter().filter(|end| end.is_finite());
            for other in factors.into_iter().map(|factor| factor * share).chain(ends) {
                if found.is_with(other) {
                    prop_assert_eq!(with(other).unwrap(), Chain { shares: with(other).unwrap().shares, ..found });
                }
            }
        }
    }
}
