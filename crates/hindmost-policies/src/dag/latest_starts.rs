//! Computes when the pending tasks of a job must start at the latest so that the job ends no later than with all of its
//! fair share. This is `carbyne`'s plan of a job; [`carbyne`](super::carbyne) describes how phases are placed.

use hindmost_core::cluster::{Cluster, Phase};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::dag::in_waves::{Chain, InWaves, Situation, end_after, held, since};
use crate::dag::resource_profile::{
    Block, Moment, ResourceProfile, Stage, first_start, last_end, paths_from_begin, paths_to_end, stages,
};
use crate::orders::effective_time::effective_time;

/// A plan: the latest times at which a job's pending tasks may start.
#[derive(Debug)]
pub(crate) struct LatestStarts {
    /// The time at which the plan was made.
    made: Time,
    places: Places,
}

/// The latest places of pending tasks.
#[derive(Debug)]
enum Places {
    /// Computed in closed form; only for a job with one open phase.
    InWaves(InWaves),
    /// Computed by placing all phases.
    Placed(Placed),
}

#[derive(Debug)]
struct Placed {
    /// By phase, the number of pending tasks when the plan was made.
    pending: Vec<u32>,
    /// By phase, the latest places of these tasks. Times count from the time at which the plan was made.
    latest: Vec<Vec<Block>>,
}

impl LatestStarts {
    /// Plans the unfinished phases of a job within its share: first forwards, which gives the job's completion time,
    /// then backwards from that time, which gives the times at which tasks are due. The completion time becomes the
    /// job's promise unless the job already has an earlier one. If `chain` is given, the plan is computed in closed
    /// form where possible.
    pub fn new(situation: &Situation<'_>, chain: Option<&Chain>, promise: &mut Option<Time>) -> LatestStarts {
        let in_waves = chain.and_then(|chain| LatestStarts::in_waves(chain, situation.now, promise));
        in_waves.unwrap_or_else(|| LatestStarts::placed(situation, promise))
    }

    /// Returns a plan in closed form, for which the chain suffices; `None` if the job needs a plan that places all
    /// phases.
    pub fn in_waves(chain: &Chain, now: Time, promise: &mut Option<Time>) -> Option<LatestStarts> {
        let (in_waves, end) = InWaves::new(chain, now, *promise)?;
        *promise = Some(end);
        Some(LatestStarts { made: now, places: Places::InWaves(in_waves) })
    }

    /// Returns a plan in which all phases are placed.
    fn placed(situation: &Situation<'_>, promise: &mut Option<Time>) -> LatestStarts {
        let Situation { job, now: made, resources, .. } = *situation;
        let pending: Vec<u32> = job.phases().iter().map(Phase::pending).collect();
        let stages = stages(job, |at| effective_time(&job.phases()[at]), |at| u64::from(pending[at]));
        let mut profile = ResourceProfile::new(resources);
        let mut running = vec![0; stages.len()];
        for (at, phase) in job.phases().iter().enumerate() {
            if !phase.is_finished() && phase.running_copies() > 0 {
                running[at] = situation.runs_on(at);
                profile.take(0, running[at], &held(phase, phase.running_copies()));
            }
        }
        let completion = place_forwards(&stages, &mut profile.clone(), &running);
        let end = end_after(made, completion);
        let end = promise.map_or(end, |promised| end.min(promised));
        *promise = Some(end);
        let latest = place_backwards(&stages, &mut profile, since(made, end));
        LatestStarts { made, places: Places::Placed(Placed { pending, latest }) }
    }

    /// Returns a time until which no task becomes due unless a task loses its copies. `None` if a task is due now, or
    /// if the time is not known without a search.
    pub fn nothing_due_until(&self, now: Time) -> Option<Time> {
        let Places::InWaves(in_waves) = &self.places else { return None };
        let first = self.made + Time(u64::try_from(in_waves.first).ok()?);
        (now < first).then_some(first)
    }

    /// Returns how many of an open phase's `pending` tasks must start now.
    pub fn due(&self, phase: usize, pending: u32, now: Time) -> u32 {
        let since = since(self.made, now);
        let begun = |blocks: &[Block]| -> u64 { blocks.iter().map(|block| block.begun(since)).sum() };
        let (due, planned) = match &self.places {
            Places::InWaves(in_waves) => (begun(&in_waves.blocks()), in_waves.pending),
            Places::Placed(placed) => (begun(&placed.latest[phase]), placed.pending[phase]),
        };
        let started = u64::from(planned.saturating_sub(pending));
        // More tasks are pending than were planned if tasks have lost their copies. These tasks are due.
        let again = pending.saturating_sub(planned);
        let due = due.saturating_sub(started) + u64::from(again);
        u32::try_from(due).unwrap_or(u32::MAX).min(pending)
    }

    /// Returns the next time after `now` at which tasks of an open phase become due; `None` if there is none.
    pub fn next_due(&self, phase: usize, now: Time) -> Option<Time> {
        let since = since(self.made, now);
        let next = |blocks: &[Block]| blocks.iter().filter_map(|block| block.next_begin(since)).min();
        let next = match &self.places {
            Places::InWaves(in_waves) => next(&in_waves.blocks())?,
            Places::Placed(placed) => next(&placed.latest[phase])?,
        };
        u64::try_from(next).ok().map(|next| self.made + Time(next))
    }
}

/// Returns a share, 0 to 1, of all resources of a cluster.
pub(crate) fn resources_of_share(share: f64, cluster: &Cluster) -> Resources {
    Resources(cluster.total().0.map(|units| if units == 0 { 0 } else { rounded(share * units as f64) }))
}

/// Rounds to the nearest whole number. `f64::round` does the same, but is a function call on processors without a
/// rounding instruction.
fn rounded(number: f64) -> u64 {
    let whole = number as u64;
    if number - whole as f64 >= 0.5 { whole.saturating_add(1) } else { whole }
}

/// Places each stage as early as possible and returns the end of the stage that ends last. `running` has the end of
/// each stage's running tasks, 0 if there are none.
fn place_forwards(stages: &[Stage], profile: &mut ResourceProfile, running: &[Moment]) -> Moment {
    let paths = paths_to_end(stages);
    let mut order: Vec<usize> = (0..stages.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(paths[*at]), *at));
    let mut ends = running.to_vec();
    for at in order {
        let stage = &stages[at];
        let from = stage.parents.iter().map(|parent| ends[*parent]).max().unwrap_or(0);
        let blocks = profile.place_early(stage.tasks, stage.duration, &stage.demand, from);
        ends[at] = last_end(&blocks).map_or(ends[at].max(from), |end| end.max(ends[at]));
    }
    ends.into_iter().max().unwrap_or(0)
}

/// Places each stage as late as possible such that all stages end by `end`. Returns the places of each stage.
fn place_backwards(stages: &[Stage], profile: &mut ResourceProfile, end: Moment) -> Vec<Vec<Block>> {
    let paths = paths_from_begin(stages);
    let mut order: Vec<usize> = (0..stages.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(paths[*at]), *at));
    let mut starts = vec![end; stages.len()];
    let mut latest = vec![Vec::new(); stages.len()];
    for at in order {
        let stage = &stages[at];
        let until = stage.children.iter().map(|child| starts[*child]).min().unwrap_or(end);
        latest[at] = profile.place_late(stage.tasks, stage.duration, &stage.demand, until);
        starts[at] = first_start(&latest[at]).unwrap_or(until);
    }
    latest
}

#[cfg(test)]
pub(crate) mod tests {
    use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
    use hindmost_core::record::{Decision, Event};
    use hindmost_core::resources::{CPUS, Dimensions, MEMORY};
    use hindmost_core::testing::add_nodes;
    use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};
    use proptest::prelude::*;

    use super::*;
    use crate::dag::in_waves::durations_of;

    /// A phase: its number of tasks, and a task's duration in seconds, cpus and memory.
    pub type Drawn = (u32, u32, u32, u32);

    fn amounts(cpus: u32, memory: u32) -> DemandByName {
        [(CPUS, cpus), (MEMORY, memory)].map(|(name, amount)| (name.to_owned(), f64::from(amount))).into()
    }

    /// Returns a cluster of one large node with a job whose phases follow one another.
    pub fn chain(phases: &[Drawn]) -> Cluster {
        let phase = |(at, (tasks, mean, cpus, memory)): (u32, &Drawn)| PhaseSpec {
            after: (0..at).skip(at.saturating_sub(1) as usize).collect(),
            demand: amounts(*cpus, *memory),
            ..PhaseSpec::new(format!("p{at}"), *tasks, f64::from(*mean))
        };
        let phases = (0..).zip(phases).map(phase).collect();
        let spec = JobSpec::new("j", phases);
        let capacity = amounts(1000, 1000);
        let mut cluster = Cluster::new(Dimensions::of([&capacity]).unwrap());
        let capacity = cluster.dimensions().amounts(&capacity).unwrap();
        add_nodes(&mut cluster, [capacity]);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: spec.into() }).unwrap();
        cluster
    }

    /// Starts the next task of a phase; `None` if there is none.
    fn start(cluster: &mut Cluster, phase: u32, at: Time) -> Option<AttemptId> {
        let task = cluster.job(JobId(0))?.next_runnable(|open| open == phase, |_: TaskId| true)?;
        let attempt = cluster.next_copy(task)?;
        cluster.apply_decision(at, &Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 }).unwrap();
        Some(attempt)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(4000, 40000)))]

        /// A plan in closed form promises the same completion time as a plan that places every phase, and has the same
        /// due tasks at all times, whatever tasks have started since.
        #[test]
        fn plans_in_waves_equal_plans_with_all_phases_placed(
            phases in proptest::collection::vec((1..40u32, 1..9u32, 0..5u32, 0..5u32), 1..4),
            done in 0..40u32,
            times in proptest::collection::vec(0..8u64, 0..9),
            wait in 0..9u64,
            resources in (0..24u64, 0..24u64),
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
            now += seconds(wait);
            cluster.apply_event(now, &Event::Round).unwrap();
            let mut share = Resources::NONE;
            (share.0[0], share.0[1]) = (resources.0 * 900, resources.1 << 30);
            let job = cluster.job(JobId(0)).unwrap();
            let durations = durations_of(job);
            let situation = Situation { job, now, resources: share, durations: &durations, started: &started };
            let planned = job.phases()[0].pending();
            let mut promises = [promise.map(seconds); 2];
            let portion = f64::from(900 * resources.0 as u32) / 1e6;
            let chain = Chain::new(&situation, portion);
            prop_assert!(chain.is_some() || cluster.job(JobId(0)).unwrap().runnable() == 0);
            let plan = LatestStarts::new(&situation, chain.as_ref(), &mut promises[0]);
            let placed = LatestStarts::placed(&situation, &mut promises[1]);
            prop_assert_eq!(promises[0], promises[1]);
            for (time, starts) in later {
                now = now.max(seconds(time));
                if starts {
                    start(&mut cluster, 0, now);
                }
                let job = cluster.job(JobId(0)).unwrap();
                let pending = job.phases()[0].pending();
                if let Some(until) = plan.nothing_due_until(now).filter(|_| pending <= planned) {
                    prop_assert_eq!((placed.due(0, pending, now), placed.next_due(0, now)), (0, Some(until)));
                }
                prop_assert_eq!(plan.due(0, pending, now), placed.due(0, pending, now));
                prop_assert_eq!(plan.next_due(0, now), placed.next_due(0, now));
            }
        }
    }
}
