//! When the pending tasks of a job must start at the latest for it to end no later than with all of its fair share:
//! what `carbyne` plans for a job. How phases are placed is told in [`carbyne`](super::carbyne).

use hindmost_core::cluster::{Cluster, Job, Phase};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::dag::resource_profile::{
    Block, Moment, Space, Stage, first_start, last_end, moments, paths_from_begin, paths_to_end, stages,
};
use crate::orders::effective_time::effective_time;

/// The latest times at which a job's pending tasks may start.
#[derive(Debug)]
pub(crate) struct LatestStarts {
    made: Time,
    /// When the job is to end.
    end: Time,
    places: Places,
}

#[derive(Debug)]
enum Places {
    /// Each phase's tasks have their places.
    Placed(Placed),
    /// No task is due before the running ones are over; only then is it worth to place them.
    Blocked(Blocked),
}

#[derive(Debug)]
struct Placed {
    /// Tasks that were pending when the plan was made, by phase.
    pending: Vec<u32>,
    /// Their latest places, by phase, from the time at which the plan was made.
    latest: Vec<Vec<Block>>,
}

/// A job of which the unfinished phases follow one another, while running tasks of the first leave no room in its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocked {
    /// The phase with running tasks.
    phase: usize,
    /// Its pending tasks when the plan was made.
    pending: u32,
    /// Its running tasks then.
    alive: u32,
    /// How long they will run on; more than 0.
    until: Moment,
    /// The job's share of all room.
    room: Resources,
}

impl LatestStarts {
    /// Plans the unfinished phases of a job within its share of a cluster, 0 to 1: forwards for its completion, which
    /// becomes its promise unless it has an earlier one, and backwards from there for when tasks are due. `started` has, by
    /// phase, the sum of when living attempts were started, nanoseconds.
    pub fn new(job: &Job, cluster: &Cluster, share: f64, promise: &mut Option<Time>, started: &[u128]) -> LatestStarts {
        let made = cluster.now();
        let room = room_of(share, cluster);
        let (blocked, completion) = blocked(job, made, &room, started).unzip();
        let blocked = blocked.filter(|_| {
            let end = completion.and_then(|completion| end_after(made, completion));
            end.is_some_and(|end| promise.is_none_or(|promise| end <= promise))
        });
        if let (Some(blocked), Some(completion)) = (blocked, completion) {
            let end = clamped_end_after(made, completion);
            *promise = Some(end);
            return LatestStarts { made, end, places: Places::Blocked(blocked) };
        }
        let pending: Vec<u32> = job.phases().iter().map(Phase::pending).collect();
        let stages = stages(job, |at| effective_time(&job.phases()[at]), |at| u64::from(pending[at]));
        let mut space = Space::new(room);
        let mut running = vec![0; stages.len()];
        for (at, phase) in job.phases().iter().enumerate() {
            if !phase.is_finished() && phase.alive() > 0 {
                running[at] = runs_on(stages[at].duration, phase, started[at], made);
                space.take(0, running[at], &held(phase, phase.alive()));
            }
        }
        let completion = place_forwards(&stages, &mut space.clone(), &running);
        let end = clamped_end_after(made, completion);
        let end = promise.map_or(end, |promised| end.min(promised));
        *promise = Some(end);
        let latest = place_backwards(&stages, &mut space, since(made, end));
        LatestStarts { made, end, places: Places::Placed(Placed { pending, latest }) }
    }

    /// Finds the places of tasks that may be due now, where that was put off until now.
    pub fn place(&mut self, job: &Job, now: Time) {
        let Places::Blocked(blocked) = self.places else { return };
        if since(self.made, now) < blocked.until {
            return;
        }
        let mut pending: Vec<u32> = job.phases().iter().map(Phase::pending).collect();
        pending[blocked.phase] = blocked.pending;
        let stages = stages(job, |at| effective_time(&job.phases()[at]), |at| u64::from(pending[at]));
        let mut space = Space::new(blocked.room);
        space.take(0, blocked.until, &held(&job.phases()[blocked.phase], blocked.alive));
        let latest = place_backwards(&stages, &mut space, since(self.made, self.end));
        self.places = Places::Placed(Placed { pending, latest });
    }

    /// Tasks of an open phase, of those pending, that must start now.
    pub fn due(&self, phase: usize, pending: u32, now: Time) -> u32 {
        let (due, planned): (u64, u32) = match &self.places {
            Places::Placed(placed) => {
                let since = since(self.made, now);
                (placed.latest[phase].iter().map(|block| block.begun(since)).sum(), placed.pending[phase])
            }
            Places::Blocked(blocked) => (0, blocked.pending),
        };
        let started = u64::from(planned.saturating_sub(pending));
        // Tasks that have lost their copies are pending beyond those that were: they are due.
        let again = pending.saturating_sub(planned);
        let due = due.saturating_sub(started) + u64::from(again);
        u32::try_from(due).unwrap_or(u32::MAX).min(pending)
    }

    /// When tasks of an open phase may become due, after now.
    pub fn next_due(&self, phase: usize, now: Time) -> Option<Time> {
        let next = match &self.places {
            Places::Placed(placed) => {
                let since = since(self.made, now);
                placed.latest[phase].iter().filter_map(|block| block.next_begin(since)).min()?
            }
            Places::Blocked(blocked) => blocked.until,
        };
        u64::try_from(next).ok().map(|next| self.made + Time(next))
    }
}

fn since(made: Time, time: Time) -> Moment {
    Moment::from(time.0) - Moment::from(made.0)
}

fn end_after(made: Time, completion: Moment) -> Option<Time> {
    u64::try_from(completion).ok()?.checked_add(made.0).map(Time)
}

fn clamped_end_after(made: Time, completion: Moment) -> Time {
    end_after(made, completion).unwrap_or(Time(u64::MAX))
}

/// A share of all room of a cluster.
fn room_of(share: f64, cluster: &Cluster) -> Resources {
    Resources(cluster.total().0.map(|units| (share * units as f64).round() as u64))
}

/// What so many running tasks of a phase hold.
fn held(phase: &Phase, alive: u32) -> Resources {
    Resources(phase.demand().0.map(|units| units.saturating_mul(u64::from(alive))))
}

/// How long the running tasks of a phase, at least one, will hold their room: until an effective time after their mean
/// start.
fn runs_on(duration: Moment, phase: &Phase, started: u128, now: Time) -> Moment {
    let mean = started / u128::from(phase.alive());
    let age = u128::from(now.0).saturating_sub(mean);
    (duration - Moment::try_from(age).unwrap_or(Moment::MAX)).max(0)
}

/// If running tasks of the only open phase leave no room in the share, and each other unfinished phase waits for the one
/// before it: what is to be known of it, and in how long the job will end. Then tasks placed forwards are not in each
/// other's way, and backwards they have the same places: the first begins when the running ones are over.
fn blocked(job: &Job, now: Time, room: &Resources, started: &[u128]) -> Option<(Blocked, Moment)> {
    let mut unfinished = job.phases().iter().enumerate().filter(|(_, phase)| !phase.is_finished());
    let (at, phase) = unfinished.next().filter(|(_, phase)| phase.is_open() && phase.alive() > 0)?;
    let duration = moments(effective_time(phase));
    let until = runs_on(duration, phase, started[at], now);
    let clamped = |demand: &Resources| demand.least(room);
    if until == 0 || room.minus(&held(phase, phase.alive())).times(&clamped(phase.demand())) > 0 {
        return None;
    }
    let waves = |phase: &Phase| {
        let pending = u64::from(phase.pending());
        pending.div_ceil(room.times(&clamped(phase.demand())).clamp(1, pending.max(1)))
    };
    let mut completion = until + Moment::from(waves(phase)) * duration;
    let mut before = at;
    for (at, phase) in unfinished {
        if phase.is_open() || phase.alive() > 0 || !job.spec().phases[at].after.contains(&(before as u32)) {
            return None;
        }
        completion += Moment::from(waves(phase)) * moments(effective_time(phase));
        before = at;
    }
    Some((Blocked { phase: at, pending: phase.pending(), alive: phase.alive(), until, room: *room }, completion))
}

/// Places each stage as early as it can be; when all are over.
fn place_forwards(stages: &[Stage], space: &mut Space, running: &[Moment]) -> Moment {
    let paths = paths_to_end(stages);
    let mut order: Vec<usize> = (0..stages.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(paths[*at]), *at));
    let mut ends = running.to_vec();
    for at in order {
        let stage = &stages[at];
        let from = stage.parents.iter().map(|parent| ends[*parent]).max().unwrap_or(0);
        let blocks = space.place_early(stage.tasks, stage.duration, &stage.demand, from);
        ends[at] = last_end(&blocks).map_or(ends[at].max(from), |end| end.max(ends[at]));
    }
    ends.into_iter().max().unwrap_or(0)
}

/// Places each stage as late as it can be for all to be over at a time.
fn place_backwards(stages: &[Stage], space: &mut Space, end: Moment) -> Vec<Vec<Block>> {
    let paths = paths_from_begin(stages);
    let mut order: Vec<usize> = (0..stages.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(paths[*at]), *at));
    let mut starts = vec![end; stages.len()];
    let mut latest = vec![Vec::new(); stages.len()];
    for at in order {
        let stage = &stages[at];
        let until = stage.children.iter().map(|child| starts[*child]).min().unwrap_or(end);
        latest[at] = space.place_late(stage.tasks, stage.duration, &stage.demand, until);
        starts[at] = first_start(&latest[at]).unwrap_or(until);
    }
    latest
}
