//! Computes `carbyne`'s plans in closed form, for jobs whose unfinished phases follow one another and whose pending
//! tasks are not due before the running tasks have ended. Most queued jobs are of this kind. The results equal plans
//! that place every phase, but cost much less.
//!
//! When phases are placed forwards, the pending tasks of the first unfinished phase take all of the share that its
//! running tasks leave, because no other phase can run yet ([`First::over`]). When phases are placed backwards, each
//! phase has the whole share: it runs in full waves, and tasks that do not fill a wave run before these.

use hindmost_core::cluster::{Job, Phase};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::dag::resource_profile::{Block, Moment, moments};
use crate::orders::effective_time::effective_time;

/// The state of a job from which its plan is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    pub job: &'a Job,
    pub now: Time,
    /// The resources of the job's share.
    pub resources: Resources,
    /// The duration of a task of each phase, in nanoseconds, see [`durations_of`].
    pub durations: &'a [Moment],
    /// By phase, the sum of the start times of running attempts, in nanoseconds.
    pub started: &'a [u128],
}

impl Situation<'_> {
    /// Returns how long the running tasks of a phase will hold their resources, in nanoseconds. They are expected to
    /// end one effective time after their mean start.
    pub fn runs_on(&self, at: usize) -> Moment {
        let running_tasks = self.job.phases()[at].running_copies();
        if running_tasks == 0 {
            return 0;
        }
        let over = mean_start(self.started[at], running_tasks).saturating_add(self.durations[at]);
        over.saturating_sub(Moment::from(self.now.0)).clamp(0, self.durations[at])
    }
}

/// Returns the effective time of each phase of a job, in nanoseconds.
pub(crate) fn durations_of(job: &Job) -> Vec<Moment> {
    job.phases().iter().map(|phase| moments(effective_time(phase))).collect()
}

/// Returns the resources that `running_tasks` running tasks of a phase hold.
pub(crate) fn held(phase: &Phase, running_tasks: u32) -> Resources {
    Resources(phase.demand().0.map(|units| units.saturating_mul(u64::from(running_tasks))))
}

/// Returns the nanoseconds from `made` to `time`.
pub(crate) fn since(made: Time, time: Time) -> Moment {
    Moment::from(time.0) - Moment::from(made.0)
}

/// Returns the time `completion` nanoseconds after `made`; the largest time if it overflows.
pub(crate) fn end_after(made: Time, completion: Moment) -> Time {
    let end = u64::try_from(completion).ok().and_then(|completion| completion.checked_add(made.0));
    Time(end.unwrap_or(u64::MAX))
}

/// The latest starts of the tasks of a job's only open phase: full waves one after the other, and before them a wave of
/// the tasks that do not fill one. Times are nanoseconds from the time at which the plan was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InWaves {
    /// The number of the phase's pending tasks when the plan was made, at least one.
    pub pending: u32,
    /// The latest start of the first of these tasks.
    pub first: i64,
    /// The duration of a wave.
    duration: i64,
    /// Number of tasks in a full wave.
    width: u32,
    /// Number of full waves, at least one.
    waves: u32,
    /// Number of tasks in the wave before the full waves; 0 if there is no such wave.
    rest: u32,
}

impl InWaves {
    /// Returns a plan made at `now`, and the job's end according to the plan. `None` if tasks would be due before the
    /// running tasks have ended; such a job needs a plan that places every phase.
    pub fn new(chain: &Chain, now: Time, promise: Option<Time>) -> Option<(InWaves, Time)> {
        let Chain { pending, running_tasks, duration, .. } = *chain;
        let running = Moment::from(chain.over).saturating_sub(Moment::from(now.0)).clamp(0, Moment::from(duration));
        let first = First { pending, running_tasks, duration: Moment::from(duration), running, wide: chain.wide };
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

    /// Returns the plan as blocks. The first block has no waves if all tasks are in full waves.
    pub fn blocks(&self) -> [Block; 2] {
        let (start, duration) = (Moment::from(self.first), Moment::from(self.duration));
        let rest = Block { start, width: u64::from(self.rest), waves: u64::from(self.rest > 0), duration };
        [rest, Block { start: rest.end(), width: u64::from(self.width), waves: u64::from(self.waves), duration }]
    }
}

/// The input of a plan in waves: a job whose unfinished phases follow one another. It stays valid until an attempt of
/// the job starts or ends, its durations are learned, or nodes join or leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chain {
    /// The smallest and the largest share of the cluster for which the other fields are certainly the same.
    shares: (f64, f64),
    /// The expected end of the running tasks of the first phase, in nanoseconds; 0 if no task is running.
    over: i64,
    /// The duration of a task of the first phase, in nanoseconds.
    duration: i64,
    /// The sum of the durations of all other phases, each alone in the share, in nanoseconds.
    later: i64,
    /// Number of tasks of the first phase that fit into the share.
    wide: u64,
    /// Number of pending tasks of the first phase, at least one.
    pending: u32,
    /// Number of running tasks of the first phase.
    running_tasks: u32,
}

impl Chain {
    /// Returns the chain of a job with this share of the cluster; `None` if its unfinished phases do not follow one
    /// another or none of its tasks is pending in an open phase.
    pub fn new(situation: &Situation<'_>, share: f64) -> Option<Chain> {
        let Situation { job, resources, durations, started, .. } = situation;
        let mut unfinished = job.phases().iter().enumerate().filter(|(_, phase)| !phase.is_finished());
        let (at, phase) = unfinished.next().filter(|(_, phase)| phase.is_open() && phase.pending() > 0)?;
        let (pending, running_tasks, wide) = (phase.pending(), phase.running_copies(), fitting(phase, resources));
        let over =
            if running_tasks > 0 { mean_start(started[at], running_tasks).saturating_add(durations[at]) } else { 0 };
        let mut later = 0;
        let mut shares = alike(share, phase, resources);
        let mut before = at;
        for (at, phase) in unfinished {
            if phase.is_open() || phase.running_copies() > 0 || !job.spec().phases[at].after.contains(&(before as u32))
            {
                return None;
            }
            later += full_waves(phase.pending(), fitting(phase, resources), durations[at]);
            let (least, most) = alike(share, phase, resources);
            shares = (shares.0.max(least), shares.1.min(most));
            before = at;
        }
        let (over, later) = (i64::try_from(over).ok()?, i64::try_from(later).ok()?);
        let duration = i64::try_from(durations[at]).ok()?;
        Some(Chain { shares, over, duration, later, wide, pending, running_tasks })
    }

    /// Returns true if the chain is certainly the same with this share.
    pub fn is_with(&self, share: f64) -> bool {
        self.shares.0 <= share && share <= self.shares.1
    }
}

/// Returns the mean start time of `running_tasks` running tasks, in nanoseconds. `started` is the sum of their start
/// times.
fn mean_start(started: u128, running_tasks: u32) -> Moment {
    // Division is much faster for sums of 64 bits, and most sums fit.
    match u64::try_from(started) {
        Ok(sum) => Moment::from(sum / u64::from(running_tasks)),
        Err(_) => Moment::try_from(started / u128::from(running_tasks)).unwrap_or(Moment::MAX / 2),
    }
}

/// Returns the smallest and the largest share into which, in each dimension, as many tasks of a phase fit as into
/// `share`, whose resources are `resources`. The range is slightly narrower than the true one.
fn alike(share: f64, phase: &Phase, resources: &Resources) -> (f64, f64) {
    let mut shares = (share, f64::INFINITY);
    let mut least = 0.0f64;
    for (need, have) in phase.demand().0.iter().zip(&resources.0).filter(|(need, _)| **need > 0) {
        let (fitting, each) = ((have / need) as f64, *need as f64);
        // The function `fitting` counts one task if none fits, and ignores dimensions in which the share has nothing.
        // So the range begins at this share if no task fits, and is empty if the share has nothing.
        least = least.max(if fitting > 0.0 { fitting * each / *have as f64 } else { 1.0 });
        // The amounts of a share are rounded: by half a unit at this share, and by up to one unit at the end of the
        // range.
        let most = if *have > 0 { ((fitting + 1.0) * each - 2.0) / *have as f64 } else { 0.0 };
        shares.1 = shares.1.min(share * most * (1.0 - MARGIN));
    }
    shares.0 = share * least * (1.0 + MARGIN);
    shares
}

/// Relative margin, larger than the rounding error of shares.
const MARGIN: f64 = 1e-9;

/// Returns the duration of `tasks` tasks in waves of `fitting` tasks each.
fn full_waves(tasks: u32, fitting: u64, duration: Moment) -> Moment {
    Moment::from(u64::from(tasks).div_ceil(fitting)) * duration
}

/// Returns how many tasks of a phase fit into a share at once; at least one, because a task that is too large is placed
/// alone.
fn fitting(phase: &Phase, resources: &Resources) -> u64 {
    let needed = phase.demand().0.iter().zip(&resources.0).filter(|(need, have)| **need > 0 && **have > 0);
    needed.map(|(need, have)| (have / need).max(1)).min().unwrap_or(u64::MAX)
}

/// The first unfinished phase of a job within its share.
#[derive(Clone, Copy, Debug)]
struct First {
    pending: u32,
    running_tasks: u32,
    duration: Moment,
    /// The remaining time of the running tasks, at most `duration`.
    running: Moment,
    /// Number of tasks that fit into the share at once.
    wide: u64,
}

impl First {
    fn in_full_waves(&self) -> Moment {
        full_waves(self.pending, self.wide, self.duration)
    }

    /// Returns the end of the phase if its pending tasks are placed as early as possible.
    fn over(&self) -> Moment {
        let First { duration, running, .. } = *self;
        let (pending, running_tasks) = (u64::from(self.pending), u64::from(self.running_tasks));
        // Number of tasks that fit beside the running tasks.
        let free = self.wide.saturating_sub(running_tasks);
        if running == 0 || free == 0 {
            return running + self.in_full_waves();
        }
        if pending <= free {
            return duration.max(running);
        }
        // Full waves of `free` tasks run beside the running tasks. Tasks that do not fill such a wave run after the
        // running tasks, in waves of `running_tasks` tasks. Tasks that do not fill such a wave either start as soon as
        // the waves of one of both kinds have ended.
        let (waves, left) = (pending / free, pending % free);
        let first = Moment::from(waves) * duration;
        if left == 0 {
            return first;
        }
        if left <= running_tasks || (waves == 1 && running == duration) {
            return first.max(running + duration);
        }
        let second = running + Moment::from(left / running_tasks) * duration;
        let both = first.max(second);
        if left.is_multiple_of(running_tasks) { both } else { both.max(first.min(second) + duration) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dag::latest_starts::{resources_of_share, tests::chain};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(4000, 40000)))]

        /// A chain is the same for all shares in its range.
        #[test]
        fn a_chain_is_the_same_within_its_range_of_shares(
            (cpus, memory, tasks) in (0..9u32, 0..9u32, 1..50u32),
            share in 0.0..0.02f64,
            factors in proptest::collection::vec(0.5..2.0f64, 1..20),
        ) {
            let cluster = chain(&[(tasks, 1, cpus, memory), (tasks, 1, memory, cpus)]);
            let job = cluster.jobs().next().unwrap();
            let (durations, started) = (durations_of(job), [0; 2]);
            let with = |share: f64| {
                let resources = resources_of_share(share, &cluster);
                Chain::new(&Situation { job, now: Time::ZERO, resources, durations: &durations, started: &started }, share)
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
