//! Forecasts of what changes would have gained, over several seeds and over what the log leaves open.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_core::metrics::{Advice, Cause, Diagnosis, Recommended, WallTime};
use hindmost_core::workload::{SituatedEnd, SituatedTask, WorkloadJob};
use hindmost_math::statistics::mean;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_sim::driver::{Learns, RunResult, SimulationError};

use crate::candidates::{Candidate, Change, candidates};
use crate::changes::{
    all_slots, kept, most_slots, situated, slots_of, used_at_once, with_copies_anywhere, with_equal_nodes,
    with_even_inputs, with_more_tasks, with_moves, without_waits,
};
use crate::evidence::{evidence, share_of};
use crate::order;
use crate::recorded::RecordedApplication;
use crate::runs::{Effort, Known, Replay, held_seconds, mean_and_range, slot_seconds, time_of_jobs};
use crate::warnings::{ONE_HOST, copies_nothing, warnings, writes_directly};
use crate::world::Engine;

/// Seeds of each replay, for applications with at most so many tasks: a replay of a large one takes seconds, and there are dozens for each.
const SEEDS: [(u64, u64); 3] = [(20_000, 5), (60_000, 3), (u64::MAX, 2)];
/// The same, by the most events of a replay of the policy that ran: one that looks for stragglers each second has many while a task hangs.
const SEEDS_BY_EVENTS: [(u64, u64); 3] = [(500_000, 5), (1_500_000, 3), (u64::MAX, 2)];
/// The least gain, as a share of the wall time, for which a change is recommended.
const WORTH: f64 = 0.02;
/// A change whose gain may be less than this share of the wall time is not recommended.
const HARM: f64 = -0.01;
/// Causes of stragglers that their copies share.
const OF_THE_TASK: [Cause; 3] = [Cause::Input, Cause::Spill, Cause::TaskItself];
/// The largest share of the excess of stragglers for which such causes may account where copies are recommended.
const MOST_OF_TASKS: f64 = 0.9;
/// Why copies are not recommended there.
const OF_TASKS: &str = "nearly all of what stragglers took longer has causes that their copies share";
/// Seconds that a task costs in addition, if the log does not show it.
const OVERHEAD: f64 = 0.1;

/// Forecasts what changes would have gained in an application with this diagnosis. Replays use at most so many threads.
///
/// # Errors
/// If a replay is stopped, or cannot be run.
pub fn advice(
    log: &str,
    application: &RecordedApplication,
    diagnosis: &Diagnosis,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Advice, SimulationError> {
    let Some(wall_time) = &diagnosis.wall_time else { return Ok(Advice::default()) };
    let known = Known::default();
    let once = Effort { known: &known, seeds: 1, threads, stop };
    let is_live = application.world.engine == Engine::Hindmost;
    let jobs = Arc::new(if is_live { with_copies_anywhere(&application.jobs) } else { application.jobs.clone() });
    let moving = if is_live { Moving::of(application) } else { None };
    // The policy that ran has learned what there was to learn.
    let learns = if is_live { Learns::DurationsAndSpeeds } else { Learns::Nothing };
    let as_it_ran = |order: &str, share, jobs: &Arc<Vec<WorkloadJob>>| Replay {
        application,
        jobs: jobs.clone(),
        policy: application.world.policy.clone(),
        order: order.to_owned(),
        executors: &application.world.recorded.executors,
        share,
        are_held_back: true,
        learns,
    };
    let order = order::settled(&application.world, &jobs, |order| {
        let runs = as_it_ran(order, application.world.likely_share(), &jobs).run(once)?;
        Ok::<_, SimulationError>(Some(application.world.against(log, &runs)))
    })?;
    let as_it_ran = |share, jobs: &Arc<Vec<WorkloadJob>>| as_it_ran(&order, share, jobs);
    let first = as_it_ran(application.world.likely_share(), &jobs).run(once)?;
    let how = Effort { seeds: seeds_for(&application.jobs, first.first().map_or(0, |run| run.events)), ..once };
    let calibration = application.world.against(log, &as_it_ran(application.world.likely_share(), &jobs).run(how)?);
    let mut found = Advice { warnings: warnings(application), seeds: how.seeds, ..Advice::default() };
    if !calibration.calibrated || wall_time.seconds <= 0.0 {
        found.calibration = Some(calibration);
        return Ok(found);
    }
    let base = |(share, jobs): (f64, &Arc<Vec<WorkloadJob>>)| {
        let moved = moving.as_ref().map(|moving| as_it_ran(share, &moving.jobs));
        let moved = moved.map(|replay| replay.run(how)).transpose()?.unwrap_or_default();
        Ok(Base { share, jobs: jobs.clone(), as_recorded: as_it_ran(share, jobs).run(how)?, moved })
    };
    let shares = application.world.shares();
    let mut bases: Vec<(f64, &Arc<Vec<WorkloadJob>>)> = shares.iter().map(|share| (*share, &jobs)).collect();
    // What a node seems to be slow may be what its tasks take.
    let proven = application.world.recorded.with_proven_speeds_only(&application.jobs).map(Arc::new);
    bases.extend(shares.last().copied().zip(proven.as_ref()));
    let base: Vec<Base> = bases.into_iter().map(base).collect::<Result<_, SimulationError>>()?;
    let worlds = Worlds { order: &order, moving: moving.as_ref(), base: &base, is_live };
    let direct = writes_directly(&application.world.recorded.settings);
    let replaced = replaced_by_copies(&jobs);
    let without_copies = || {
        format!(
            "What the run would have taken without copies is not known: copies replaced {replaced} {}, and the log does not show how long \
             {} would have taken.",
            if replaced == 1 { "attempt" } else { "attempts" },
            if replaced == 1 { "it" } else { "they" },
        )
    };
    // Such logs do not say what started the copies.
    if replaced > 0 && matches!(application.world.engine, Engine::Other(_)) {
        found.not_offered.push(without_copies());
    }
    for candidate in candidates(application, &wall_time.parts) {
        if replaced > 0 && matches!(&candidate.change, Change::Policy(policy) if policy.system == "none") {
            found.not_offered.push(without_copies());
            continue;
        }
        let is_of_engine = |policy: &PolicySpec| policy.system == "spark" || !candidate.settings.is_empty();
        let is_copies = matches!(&candidate.change, Change::Policy(policy) if is_of_engine(policy));
        if is_copies && copies_nothing(application) {
            if found.not_offered.iter().all(|text| text != ONE_HOST) {
                found.not_offered.push(ONE_HOST.to_owned());
            }
            continue;
        }
        let mut forecast = of_candidate(application, &worlds, &candidate, (wall_time, how))?;
        let is_more_copies = matches!(&candidate.change, Change::Policy(policy) if policy.system != "none");
        if let Some(setting) = direct.filter(|_| is_more_copies) {
            // Without a setting it is only listed.
            forecast.settings.clear();
            forecast.condition =
                Some(format!("tasks write their output directly ({setting}), so copies can corrupt it"));
        }
        found.tried.push(forecast);
    }
    found.tried.sort_by(|a, b| b.gain_share.total_cmp(&a.gain_share));
    found.calibration = Some(calibration);
    found.evidence = evidence(application, &diagnosis.stragglers, &found.tried);
    let belong_to_tasks = share_of(&diagnosis.stragglers, &OF_THE_TASK);
    let may_copies_help = belong_to_tasks.is_none_or(|share| share <= MOST_OF_TASKS);
    if !may_copies_help {
        for one in found.tried.iter_mut().filter(|one| starts_copies(one)) {
            one.condition.get_or_insert_with(|| OF_TASKS.to_owned());
        }
    }
    recommend(&mut found, may_copies_help);
    Ok(found)
}

fn is_worth(one: &Recommended) -> bool {
    one.gain_share >= WORTH && one.gain_share_range[0] >= HARM
}

fn starts_copies(one: &Recommended) -> bool {
    one.is_about_copies && one.policy.as_deref() != Some("none")
}

/// Marks the changes that are recommended: those that are worth it and do no harm, and of those about copies the one that gains most. A
/// policy that the engine does not have is only listed, and so are all about copies unless these may help against the stragglers.
fn recommend(advice: &mut Advice, may_copies_help: bool) {
    let mut has_copies = false;
    for one in &mut advice.tried {
        let can_be_set = !one.settings.is_empty() || !one.is_about_copies;
        let can_help = !starts_copies(one) || may_copies_help;
        let is_first = !one.is_about_copies || !has_copies;
        one.recommended = is_worth(one) && can_be_set && can_help && is_first;
        has_copies |= one.recommended && one.is_about_copies;
    }
}

/// Number of seeds for an application with these jobs.
fn seeds_for(jobs: &[WorkloadJob], events: u64) -> u64 {
    let tasks: u64 = jobs.iter().flat_map(|job| &job.spec.phases).map(|phase| u64::from(phase.tasks)).sum();
    let seeds =
        |limits: &[(u64, u64)], size| limits.iter().find(|(most, _)| size <= *most).map_or(1, |(_, seeds)| *seeds);
    seeds(&SEEDS, tasks).min(seeds(&SEEDS_BY_EVENTS, events))
}

/// Number of tasks that a copy finished whose original was stopped then.
fn replaced_by_copies(jobs: &[WorkloadJob]) -> usize {
    let is_replaced = |task: &&SituatedTask| {
        let first = task.attempts.iter().position(|one| one.ended == SituatedEnd::Finished);
        first.is_some_and(|first| task.attempts[..first].iter().any(|one| one.ended == SituatedEnd::Stopped))
    };
    jobs.iter().flat_map(situated).flat_map(|phase| &phase.tasks).filter(is_replaced).count()
}

/// Jobs whose attempts take longer on slower nodes than their own.
struct Moving {
    jobs: Arc<Vec<WorkloadJob>>,
    /// Whether the log proves that a node was slow all the time.
    is_proven: bool,
}

impl Moving {
    /// `None` if no node was slow, or may have been.
    fn of(application: &RecordedApplication) -> Option<Moving> {
        let proven = with_moves(&application.jobs).map(|jobs| (jobs, true));
        let possible = || application.world.recorded.with_possibly_slow_nodes(&application.jobs);
        let (jobs, is_proven) = proven.or_else(|| Some((with_moves(&possible()?)?, false)))?;
        Some(Moving { jobs: Arc::new(jobs), is_proven })
    }
}

/// Replays of the policy that ran, one for each seed.
struct Base {
    /// The share of the durations that belongs to the tasks.
    share: f64,
    /// The jobs, with what the nodes are taken to be.
    jobs: Arc<Vec<WorkloadJob>>,
    /// Attempts take what they took, wherever they run.
    as_recorded: Vec<RunResult>,
    /// Attempts take longer on slower nodes; empty if no node is slower.
    moved: Vec<RunResult>,
}

/// What changes are compared with.
struct Worlds<'a> {
    /// The order of jobs, for policies without an order of their own.
    order: &'a str,
    moving: Option<&'a Moving>,
    base: &'a [Base],
    /// Whether Hindmost ran the log.
    is_live: bool,
}

/// Returns whether a policy learns durations and speeds of nodes, and keeps tasks from nodes that it finds slow.
fn avoids_slow_nodes(policy: &PolicySpec) -> bool {
    matches!(policy.system.as_str(), "auto" | "pace")
}

type Jobs<'a> = &'a Arc<Vec<WorkloadJob>>;

fn of_candidate(
    application: &RecordedApplication,
    worlds: &Worlds<'_>,
    candidate: &Candidate,
    (wall_time, how): (&WallTime, Effort<'_>),
) -> Result<Recommended, SimulationError> {
    let are_in_turn = are_in_turn(application);
    let (slots, each) = (all_slots(application), slots_of(application));
    let recorded = &application.world.recorded.executors;
    let (mut policy, mut executors) = (application.world.policy.clone(), recorded.clone());
    match &candidate.change {
        Change::Policy(other) => policy = other.clone(),
        Change::MoreTasks | Change::EvenInputs | Change::EqualNodes => {}
        Change::Executors => executors = kept(recorded, &each),
        Change::NoWaits => executors = used_at_once(recorded),
    }
    let changed = |jobs: &Arc<Vec<WorkloadJob>>| match &candidate.change {
        Change::Policy(_) | Change::Executors => jobs.clone(),
        Change::MoreTasks => Arc::new(with_more_tasks(jobs, most_slots(application) as usize, OVERHEAD)),
        Change::EvenInputs => Arc::new(with_even_inputs(jobs)),
        Change::EqualNodes => Arc::new(with_equal_nodes(jobs)),
        Change::NoWaits => Arc::new(without_waits(jobs)),
    };
    let is_about_executors = matches!(candidate.change, Change::Executors);
    // Only the choice of nodes makes it matter on which node an attempt runs.
    let chooses_otherwise = avoids_slow_nodes(&policy) != avoids_slow_nodes(&application.world.policy);
    let moving = worlds.moving.filter(|_| chooses_otherwise);
    // Where attempts take what they took on any node, another policy must not learn from the nodes: what it learned there would keep
    // tasks from a node without making them faster.
    let learns = match (worlds.is_live, policy == application.world.policy) {
        // In a live run it would not know the durations before tasks have finished, whatever engine ran the log.
        (false, _) if avoids_slow_nodes(&policy) => Learns::Durations,
        (false, _) => Learns::Nothing,
        (true, true) => Learns::DurationsAndSpeeds,
        (true, false) => Learns::Durations,
    };
    let (mut gains, mut costs) = (GainsByShare::default(), Vec::new());
    // For each of the jobs what the change makes of them.
    let mut changes: Vec<(Jobs<'_>, Arc<Vec<WorkloadJob>>)> = Vec::new();
    for Base { share, jobs, as_recorded, moved } in worlds.base {
        let before = changes.iter().find(|(of, _)| Arc::ptr_eq(of, jobs)).map(|(_, changed)| changed.clone());
        let changed = before.unwrap_or_else(|| changed(jobs));
        changes.push((jobs, changed.clone()));
        let is_likely = application.world.is_likely(*share);
        let replay = |jobs: &Arc<Vec<WorkloadJob>>, learns| Replay {
            application,
            jobs: jobs.clone(),
            policy: policy.clone(),
            order: worlds.order.to_owned(),
            executors: &executors,
            share: *share,
            are_held_back: !matches!(candidate.change, Change::NoWaits),
            learns,
        };
        let time = |run: &RunResult| time_of_jobs(run, &changed, are_in_turn);
        let before: Vec<f64> = as_recorded.iter().map(|run| time_of_jobs(run, jobs, are_in_turn)).collect();
        let mut cost = |before: &RunResult, after: &RunResult| {
            costs.push(if is_about_executors {
                let idle = wall_time.no_job.after_last;
                held_seconds(after, &changed, &each, (&executors, idle))
                    - held_seconds(before, jobs, &each, (recorded, idle))
            } else {
                slot_seconds(after, slots) - slot_seconds(before, slots)
            });
        };
        if let Some(moving) = moving {
            let after = replay(&moving.jobs, Learns::DurationsAndSpeeds).run(how)?;
            for ((before, moved), after) in before.iter().zip(moved).zip(&after) {
                let gains = gains.at(is_likely);
                // Against the same policy where attempts take longer on slower nodes, and against the times of the log: what differs
                // between the two is only due to the nodes on which a replay places tasks.
                // The replays may take much longer or shorter than the log, so it is the share of their time that counts.
                gains.moved.push((1.0 - time(after) / time(moved).max(f64::MIN_POSITIVE)) * before);
                gains.crossed.push(before - time(after));
                cost(moved, after);
            }
        }
        if moving.is_none_or(|moving| !moving.is_proven) {
            let after = replay(&changed, learns).run(how)?;
            for ((before, run), after) in before.iter().zip(as_recorded).zip(&after) {
                gains.at(is_likely).as_recorded.push(before - time(after));
                cost(run, after);
            }
        }
    }
    let (all, [least, most]) = gains.mean_and_range();
    // The whole gain is what the change gives at best.
    let is_bound = candidate.condition.is_some();
    let (gain, least) = of_bound(is_bound, all, [least, most]);
    Ok(Recommended {
        title: candidate.title.clone(),
        settings: candidate.settings.clone(),
        policy: matches!(candidate.change, Change::Policy(_)).then(|| policy.to_string()),
        is_about_copies: matches!(candidate.change, Change::Policy(_)),
        condition: candidate.condition.map(str::to_owned),
        is_bound,
        recommended: false,
        gain_seconds: gain,
        gain_seconds_range: [least, most],
        gain_share: gain / wall_time.seconds,
        gain_share_range: [least / wall_time.seconds, most / wall_time.seconds],
        extra_core_hours: mean(&costs).unwrap_or(0.0) / 3600.0,
    })
}

/// What a change gains in each replay, in seconds.
#[derive(Default)]
struct Gains {
    /// Where attempts take what they took, wherever they run.
    as_recorded: Vec<f64>,
    /// Where attempts take longer on slower nodes.
    moved: Vec<f64>,
    /// Where the change is replayed with attempts that take longer on slower nodes, and the policy that ran without.
    crossed: Vec<f64>,
}

impl Gains {
    fn each(&self) -> [&Vec<f64>; 3] {
        [&self.as_recorded, &self.moved, &self.crossed]
    }

    /// Returns the least of the mean gains. So what is gained in some of these worlds only is no gain.
    fn least_mean(&self) -> f64 {
        let worlds = self.each().into_iter().filter(|gains| !gains.is_empty());
        worlds.map(|gains| mean_and_range(gains).0).reduce(f64::min).unwrap_or(0.0)
    }
}

/// The gains by how likely the share is of the durations that belongs to the tasks.
#[derive(Default)]
struct GainsByShare {
    /// At the likeliest share; at all shares if the log says nothing about them.
    likely: Gains,
    /// At the other shares that the log allows.
    possible: Gains,
}

impl GainsByShare {
    fn at(&mut self, is_likely: bool) -> &mut Gains {
        if is_likely { &mut self.likely } else { &mut self.possible }
    }

    /// Returns the mean gain at the likely shares, and the range of the gains at all shares.
    fn mean_and_range(&self) -> (f64, [f64; 2]) {
        let all: Vec<f64> = self.likely.each().into_iter().chain(self.possible.each()).flatten().copied().collect();
        (self.likely.least_mean(), mean_and_range(&all).1)
    }
}

/// Returns the gain and its least value. Of a bound, the gain is anything between nothing and the mean, if that is no loss.
fn of_bound(is_bound: bool, mean: f64, [least, most]: [f64; 2]) -> (f64, f64) {
    if !is_bound {
        return (mean, least);
    }
    let least = least.min(0.0);
    ((mean / 2.0).clamp(least, most.max(least)), least)
}

/// True if no job of the log was submitted before the one before it had ended.
fn are_in_turn(application: &RecordedApplication) -> bool {
    let recorded = &application.world.recorded.jobs;
    let times = application.jobs.iter().zip(recorded).map(|(job, recorded)| {
        let arrival = job.spec.arrival.seconds();
        (arrival, arrival + recorded.seconds)
    });
    let times: Vec<(f64, f64)> = times.collect();
    // A millisecond is the resolution of logs.
    times.windows(2).all(|two| two[1].0 >= two[0].1 - 0.002)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_a_copy_finished_are_counted() {
        use SituatedEnd::{Failed, Finished, Stopped};
        use hindmost_core::workload::{Durations, Situated, SituatedAttempt};

        let task = |ends: &[SituatedEnd]| {
            let attempt = |ended| SituatedAttempt { seconds: 1.0, ended, met: 1.0, slowness: 1.0, again_after: 0.0 };
            let attempts = ends.iter().copied().map(attempt).collect();
            SituatedTask { attempts, input: 1.0, garbage: 1.0, residual: 1.0 }
        };
        let tasks =
            vec![task(&[Stopped, Finished]), task(&[Finished, Stopped]), task(&[Failed, Finished]), task(&[Finished])];
        let situated = Situated { tasks, typical: 1.0, first_wave: 1.0, gap: 0.0, moves: false, nodes: Arc::default() };
        let spec = hindmost_core::workload::JobSpec {
            name: "job".into(),
            arrival: hindmost_core::time::Time::ZERO,
            deadline: None,
            weight: 1.0,
            queue: None,
            phases: Vec::new(),
        };
        let jobs = [WorkloadJob { spec, durations: vec![Durations::Situated(Arc::new(situated))] }];
        assert_eq!(replaced_by_copies(&jobs), 1);
    }

    #[test]
    fn the_gain_lies_in_its_range() {
        assert_eq!(of_bound(true, 4.0, [3.0, 5.0]), (2.0, 0.0));
        // What loses time in all replays.
        assert_eq!(of_bound(true, -2.2, [-2.2, -2.2]), (-2.2, -2.2));
        assert_eq!(of_bound(false, 4.0, [3.0, 5.0]), (4.0, 3.0));
    }

    #[test]
    fn what_only_some_worlds_gain_is_no_gain() {
        // 20% where attempts move, but nothing against the times of the log.
        let of = |likely: Gains, possible: Gains| GainsByShare { likely, possible }.mean_and_range();
        let gains = Gains { as_recorded: Vec::new(), moved: vec![20.0, 22.0], crossed: vec![-1.0, 1.0] };
        assert_eq!(of(gains, Gains::default()), (0.0, [-1.0, 22.0]));
        let of_times = |seconds: [f64; 2]| Gains { as_recorded: seconds.to_vec(), ..Gains::default() };
        assert_eq!(of(of_times([3.0, 5.0]), Gains::default()), (4.0, [3.0, 5.0]));
        // The gain is that at the likeliest share, the range that of all shares.
        assert_eq!(of(of_times([3.0, 5.0]), of_times([0.0, 9.0])), (4.0, [0.0, 9.0]));
    }
}
