//! Forecasts of what changes would have gained, over several seeds and over what the log leaves open.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_core::metrics::{Advice, Recommended, WallTime};
use hindmost_core::workload::WorkloadJob;
use hindmost_math::statistics::mean;
use hindmost_sim::driver::{RunResult, SimulationError};

use crate::candidates::{Candidate, Change, candidates};
use crate::changes::{
    all_slots, kept, most_slots, slots_of, used_at_once, with_even_inputs, with_more_tasks, without_waits,
};
use crate::recorded::RecordedApplication;
use crate::runs::{Replay, held_seconds, mean_and_range, slot_seconds, time_of_jobs};
use crate::warnings::{copies_nothing, warnings, writes_directly};

/// Seeds of each replay.
const SEEDS: u64 = 5;
/// The least gain, as a share of the wall time, for which a change is recommended.
const WORTH: f64 = 0.02;
/// A change whose gain may be less than this share of the wall time is not recommended.
const HARM: f64 = -0.01;
/// Seconds that a task costs in addition, if the log does not show it.
const OVERHEAD: f64 = 0.1;

/// Forecasts what changes would have gained in an application that took this wall time.
///
/// # Errors
/// If a replay is stopped, or cannot be run.
pub fn advice(
    log: &str,
    application: &RecordedApplication,
    wall_time: &WallTime,
    stop: &AtomicBool,
) -> Result<Advice, SimulationError> {
    let jobs = Arc::new(application.jobs.clone());
    let as_it_ran = |share| Replay {
        application,
        jobs: jobs.clone(),
        policy: application.world.policy.clone(),
        executors: &application.world.recorded.executors,
        share,
        are_held_back: true,
    };
    let calibration = application.world.against(log, &as_it_ran(application.world.middle_share()).run(SEEDS, stop)?);
    let mut found = Advice { warnings: warnings(application), ..Advice::default() };
    if !calibration.calibrated || wall_time.seconds <= 0.0 {
        found.calibration = Some(calibration);
        return Ok(found);
    }
    let base: Vec<(f64, Vec<RunResult>)> = application
        .world
        .shares()
        .into_iter()
        .map(|share| Ok((share, as_it_ran(share).run(SEEDS, stop)?)))
        .collect::<Result<_, SimulationError>>()?;
    let direct = writes_directly(&application.world.recorded.settings);
    for candidate in candidates(application) {
        let is_copies = matches!(candidate.change, Change::Policy(_)) && !candidate.settings.is_empty();
        if is_copies && copies_nothing(application) {
            continue;
        }
        let mut forecast = of_candidate(application, &jobs, &candidate, &base, (wall_time, stop))?;
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
    recommend(&mut found);
    Ok(found)
}

/// Marks the changes that are recommended: those that are worth it and do no harm, and of those about copies the one that gains most. A
/// policy that the engine does not have is only listed.
fn recommend(advice: &mut Advice) {
    let mut has_copies = false;
    for one in &mut advice.tried {
        let is_worth = one.gain_share >= WORTH && one.gain_share_range[0] >= HARM;
        let can_be_set = !one.settings.is_empty() || !one.is_about_copies;
        one.recommended = is_worth && can_be_set && !(one.is_about_copies && has_copies);
        has_copies |= one.recommended && one.is_about_copies;
    }
}

fn of_candidate(
    application: &RecordedApplication,
    jobs: &Arc<Vec<WorkloadJob>>,
    candidate: &Candidate,
    base: &[(f64, Vec<RunResult>)],
    (wall_time, stop): (&WallTime, &AtomicBool),
) -> Result<Recommended, SimulationError> {
    let are_in_turn = are_in_turn(application);
    let (slots, each) = (all_slots(application), slots_of(application));
    let recorded = &application.world.recorded.executors;
    let (mut changed, mut policy, mut executors) = (jobs.clone(), application.world.policy.clone(), recorded.clone());
    match &candidate.change {
        Change::Policy(other) => policy = other.clone(),
        Change::MoreTasks => changed = Arc::new(with_more_tasks(jobs, most_slots(application) as usize, OVERHEAD)),
        Change::EvenInputs => changed = Arc::new(with_even_inputs(jobs)),
        Change::Executors => executors = kept(recorded, &each),
        Change::NoWaits => {
            changed = Arc::new(without_waits(jobs));
            executors = used_at_once(recorded);
        }
    }
    let is_about_executors = matches!(candidate.change, Change::Executors);
    let (mut gains, mut costs) = (Vec::new(), Vec::new());
    for (share, base) in base {
        let replay = Replay {
            application,
            jobs: changed.clone(),
            policy: policy.clone(),
            executors: &executors,
            share: *share,
            are_held_back: !matches!(candidate.change, Change::NoWaits),
        };
        for (before, after) in base.iter().zip(&replay.run(SEEDS, stop)?) {
            gains.push(time_of_jobs(before, jobs, are_in_turn) - time_of_jobs(after, &changed, are_in_turn));
            costs.push(if is_about_executors {
                let idle = wall_time.no_job.after_last;
                held_seconds(after, &changed, &each, (&executors, idle))
                    - held_seconds(before, jobs, &each, (recorded, idle))
            } else {
                slot_seconds(after, slots) - slot_seconds(before, slots)
            });
        }
    }
    let (all, [least, most]) = mean_and_range(&gains);
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
    fn the_gain_lies_in_its_range() {
        assert_eq!(of_bound(true, 4.0, [3.0, 5.0]), (2.0, 0.0));
        // What loses time in all replays.
        assert_eq!(of_bound(true, -2.2, [-2.2, -2.2]), (-2.2, -2.2));
        assert_eq!(of_bound(false, 4.0, [3.0, 5.0]), (4.0, 3.0));
    }
}
