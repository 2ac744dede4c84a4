//! When the pending tasks of a job must start at the latest for it to end no later than with all of its fair share:
//! what `carbyne` plans for a job. How phases are placed is told in [`carbyne`](super::carbyne).

use hindmost_core::cluster::{Cluster, Job, Phase};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::dag::put_off::{PutOff, Situation, end_after, held, since};
use crate::dag::resource_profile::{
    Block, Moment, Space, Stage, first_start, last_end, paths_from_begin, paths_to_end, stages,
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
    /// No task is due for a while; only then is it worth to place them.
    PutOff(PutOff),
}

#[derive(Debug)]
struct Placed {
    /// Tasks that were pending when the plan was made, by phase.
    pending: Vec<u32>,
    /// Their latest places, by phase, from the time at which the plan was made.
    latest: Vec<Vec<Block>>,
}

impl LatestStarts {
    /// Plans the unfinished phases of a job within its share: forwards for its completion, which becomes its promise unless
    /// it has an earlier one, and backwards from there for when tasks are due.
    pub fn new(situation: &Situation<'_>, promise: &mut Option<Time>) -> LatestStarts {
        match PutOff::new(situation, *promise) {
            Some((put_off, end)) => {
                *promise = Some(end);
                LatestStarts { made: situation.now, end, places: Places::PutOff(put_off) }
            }
            None => LatestStarts::placed(situation, promise),
        }
    }

    /// As [`LatestStarts::new`], with all places at once.
    fn placed(situation: &Situation<'_>, promise: &mut Option<Time>) -> LatestStarts {
        let Situation { job, now: made, room, .. } = *situation;
        let pending: Vec<u32> = job.phases().iter().map(Phase::pending).collect();
        let stages = stages(job, |at| effective_time(&job.phases()[at]), |at| u64::from(pending[at]));
        let mut space = Space::new(room);
        let mut running = vec![0; stages.len()];
        for (at, phase) in job.phases().iter().enumerate() {
            if !phase.is_finished() && phase.alive() > 0 {
                running[at] = situation.runs_on(at);
                space.take(0, running[at], &held(phase, phase.alive()));
            }
        }
        let completion = place_forwards(&stages, &mut space.clone(), &running);
        let end = end_after(made, completion);
        let end = promise.map_or(end, |promised| end.min(promised));
        *promise = Some(end);
        let latest = place_backwards(&stages, &mut space, since(made, end));
        LatestStarts { made, end, places: Places::Placed(Placed { pending, latest }) }
    }

    /// Finds the places of tasks that may be due now, where that was put off until now.
    pub fn place(&mut self, job: &Job, now: Time) {
        let Places::PutOff(put_off) = self.places else { return };
        if now.0.saturating_sub(self.made.0) < put_off.first {
            return;
        }
        let mut pending: Vec<u32> = job.phases().iter().map(Phase::pending).collect();
        let phase = put_off.phase as usize;
        pending[phase] = put_off.pending;
        let stages = stages(job, |at| effective_time(&job.phases()[at]), |at| u64::from(pending[at]));
        let mut space = Space::new(put_off.room);
        space.take(0, Moment::from(put_off.running), &held(&job.phases()[phase], put_off.alive));
        let latest = place_backwards(&stages, &mut space, since(self.made, self.end));
        self.places = Places::Placed(Placed { pending, latest });
    }

    /// Until when it is certain at a glance that no task is due.
    pub fn sleeps_until(&self, job: &Job, now: Time) -> Option<Time> {
        let Places::PutOff(put_off) = &self.places else { return None };
        let is_put_off = now.0.saturating_sub(self.made.0) < put_off.first && job.runnable() <= put_off.pending;
        is_put_off.then(|| self.made + Time(put_off.first))
    }

    /// Tasks of an open phase, of those pending, that must start now.
    pub fn due(&self, phase: usize, pending: u32, now: Time) -> u32 {
        let (due, planned): (u64, u32) = match &self.places {
            Places::Placed(placed) => {
                let since = since(self.made, now);
                (placed.latest[phase].iter().map(|block| block.begun(since)).sum(), placed.pending[phase])
            }
            Places::PutOff(put_off) => (0, put_off.pending),
        };
        let started = u64::from(planned.saturating_sub(pending));
        // Tasks that have lost their copies are pending beyond those that were: they are due.
        let again = pending.saturating_sub(planned);
        let due = due.saturating_sub(started) + u64::from(again);
        u32::try_from(due).unwrap_or(u32::MAX).min(pending)
    }

    /// When tasks of an open phase may become due, after now.
    pub fn next_due(&self, phase: usize, now: Time) -> Option<Time> {
        match &self.places {
            Places::Placed(placed) => {
                let since = since(self.made, now);
                let next = placed.latest[phase].iter().filter_map(|block| block.next_begin(since)).min()?;
                u64::try_from(next).ok().map(|next| self.made + Time(next))
            }
            Places::PutOff(put_off) => Some(self.made + Time(put_off.first)),
        }
    }
}

/// A share, 0 to 1, of all room of a cluster.
pub(crate) fn room_of(share: f64, cluster: &Cluster) -> Resources {
    Resources(cluster.total().0.map(|units| if units == 0 { 0 } else { rounded(share * units as f64) }))
}

/// As `f64::round`, which is a call where processors are not known to have it.
fn rounded(number: f64) -> u64 {
    let whole = number as u64;
    if number - whole as f64 >= 0.5 { whole.saturating_add(1) } else { whole }
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

#[cfg(test)]
mod tests {
    use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
    use hindmost_core::record::{Decision, Event};
    use hindmost_core::resources::{CPUS, Dimensions, MEMORY};
    use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};
    use proptest::prelude::*;

    use super::*;
    use crate::dag::put_off::durations_of;

    /// A phase's tasks, their duration, cpus and memory.
    type Drawn = (u32, u32, u32, u32);

    fn amounts(cpus: u32, memory: u32) -> DemandByName {
        [(CPUS, cpus), (MEMORY, memory)].map(|(name, amount)| (name.to_owned(), f64::from(amount))).into()
    }

    /// A job of phases that follow one another, on one large node.
    fn chain(phases: &[Drawn]) -> Cluster {
        let phase = |(at, (tasks, mean, cpus, memory)): (u32, &Drawn)| PhaseSpec {
            name: format!("p{at}").into(),
            after: (0..at).skip(at.saturating_sub(1) as usize).collect(),
            tasks: *tasks,
            demand: amounts(*cpus, *memory),
            mean: f64::from(*mean),
            sd: None,
            tail: None,
            input: None,
            assumed: false,
            never_copied: false,
            finished: Vec::new(),
        };
        let phases = (0..).zip(phases).map(phase).collect();
        let spec = JobSpec { name: "j".into(), arrival: Time::ZERO, deadline: None, weight: 1.0, queue: None, phases };
        let capacity = amounts(1000, 1000);
        let mut cluster = Cluster::new(Dimensions::of([&capacity]).unwrap());
        let capacity = cluster.dimensions().amounts(&capacity).unwrap();
        let joined = Event::NodeJoined { node: NodeId(0), name: "n".into(), capacity, speed: 1.0, rack: None };
        cluster.apply_event(Time::ZERO, &joined).unwrap();
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: spec.into() }).unwrap();
        cluster
    }

    /// Starts the next task of a phase; false if there is none.
    fn start(cluster: &mut Cluster, phase: u32, at: Time) -> Option<AttemptId> {
        let task = cluster.job(JobId(0))?.next_runnable(|open| open == phase, |_: TaskId| true)?;
        let attempt = cluster.next_copy(task)?;
        cluster.apply_decision(at, &Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 }).unwrap();
        Some(attempt)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// A plan in closed form says the same as one that has placed every phase, whenever it is asked, whatever was
        /// started since, and promises the same.
        #[test]
        fn what_is_put_off_is_as_if_it_were_placed(
            phases in proptest::collection::vec((1..40u32, 1..9u32, 0..5u32, 0..5u32), 1..4),
            done in 0..40u32,
            times in proptest::collection::vec(0..8u64, 0..9),
            wait in 0..9u64,
            room in (0..24u64, 0..24u64),
            promise in proptest::option::of(0..60u64),
            later in proptest::collection::vec((0..60u64, any::<bool>()), 0..9),
        ) {
            let seconds = |seconds: u64| Time::from_seconds(seconds as f64 / 2.0);
            let mut cluster = chain(&phases);
            for _ in 0..done.min(phases[0].0 - 1) {
                let attempt = start(&mut cluster, 0, Time::ZERO).unwrap();
                cluster.apply_event(Time::ZERO, &Event::AttemptFinished { attempt }).unwrap();
            }
            let (mut now, mut started) = (Time::ZERO, vec![0; phases.len()]);
            for time in times {
                now = now.max(seconds(time));
                if start(&mut cluster, 0, now).is_some() {
                    started[0] += u128::from(now.0);
                }
            }
            now = now + seconds(wait);
            cluster.apply_event(now, &Event::Round).unwrap();
            let mut share = Resources::NONE;
            (share.0[0], share.0[1]) = (room.0 * 900, room.1 << 30);
            let job = cluster.job(JobId(0)).unwrap();
            let durations = durations_of(job);
            let situation = Situation { job, now, room: share, durations: &durations, started: &started };
            let mut promises = [promise.map(seconds); 2];
            let mut plan = LatestStarts::new(&situation, &mut promises[0]);
            let placed = LatestStarts::placed(&situation, &mut promises[1]);
            prop_assert_eq!(promises[0], promises[1]);
            for (time, starts) in later {
                now = now.max(seconds(time));
                if starts {
                    start(&mut cluster, 0, now);
                }
                let job = cluster.job(JobId(0)).unwrap();
                let pending = job.phases()[0].pending();
                if let Some(until) = plan.sleeps_until(job, now) {
                    prop_assert_eq!((placed.due(0, pending, now), placed.next_due(0, now)), (0, Some(until)));
                }
                plan.place(job, now);
                prop_assert_eq!(plan.due(0, pending, now), placed.due(0, pending, now));
                prop_assert_eq!(plan.next_due(0, now), placed.next_due(0, now));
            }
        }
    }
}
