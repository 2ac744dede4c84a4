//! Plans in closed form, of jobs of which the unfinished phases follow one another and nothing is due for a while: most
//! jobs, wherever jobs queue. They tell what placing every phase would tell, at a small part of the cost.
//!
//! Forwards, what the running tasks of the first unfinished phase leave of the share is all taken by its pending ones at
//! once, and no other phase is in their way ([`First::over`]). Backwards, each phase has the share for itself and takes
//! full waves, as long as its places begin when the running tasks are over, or later.

use hindmost_core::cluster::{Job, Phase};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::dag::resource_profile::{Moment, moments};
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
        let alive = self.job.phases()[at].alive();
        if alive == 0 {
            return 0;
        }
        // Sums that fit into 64 bits, as most do, are divided much faster.
        let mean = match u64::try_from(self.started[at]) {
            Ok(sum) => u128::from(sum / u64::from(alive)),
            Err(_) => self.started[at] / u128::from(alive),
        };
        let age = u128::from(self.now.0).saturating_sub(mean);
        (self.durations[at] - Moment::try_from(age).unwrap_or(Moment::MAX)).max(0)
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

/// A job of which the unfinished phases follow one another, and no pending task is due for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PutOff {
    /// The phase that is open.
    pub phase: u32,
    /// Its pending tasks when the plan was made, at least one.
    pub pending: u32,
    /// Its running tasks then.
    pub alive: u32,
    /// How long they will run on, nanoseconds.
    pub running: u64,
    /// When the first pending task is due, from when the plan was made, nanoseconds: not before running ones are over, nor
    /// at once.
    pub first: u64,
    /// The job's share of all room.
    pub room: Resources,
}

impl PutOff {
    /// The plan and when the job ends by it, if it is of this kind.
    pub fn new(situation: &Situation<'_>, promise: Option<Time>) -> Option<(PutOff, Time)> {
        let Situation { job, now, room, durations, .. } = situation;
        let mut unfinished = job.phases().iter().enumerate().filter(|(_, phase)| !phase.is_finished());
        let (at, phase) = unfinished.next().filter(|(_, phase)| phase.is_open() && phase.pending() > 0)?;
        let (pending, alive) = (phase.pending(), phase.alive());
        let running = situation.runs_on(at);
        let first = First { pending, alive, duration: durations[at], running, wide: fitting(phase, room) };
        // What is placed backwards takes so long.
        let mut takes = first.in_full_waves();
        let mut completion = first.over();
        let mut before = at;
        for (at, phase) in unfinished {
            if phase.is_open() || phase.alive() > 0 || !job.spec().phases[at].after.contains(&(before as u32)) {
                return None;
            }
            let waves = full_waves(phase.pending(), fitting(phase, room), durations[at]);
            takes += waves;
            completion += waves;
            before = at;
        }
        let end = end_after(*now, completion);
        let end = promise.map_or(end, |promise| end.min(promise));
        let first = u64::try_from(since(*now, end) - takes).ok().filter(|first| *first > 0)?;
        let running = u64::try_from(running).ok().filter(|running| *running <= first)?;
        Some((PutOff { phase: at as u32, pending, alive, running, first, room: *room }, end))
    }
}

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
