//! How much sooner a job ended because of its copies: an estimate from the recorded run.
//!
//! An attempt that lost to a copy of its task was stopped, so nobody knows how long it would have run. Its remaining time is
//! taken from its last measured progress or, without progress, drawn from the durations of the attempts of its phase: the
//! product-limit estimate of the durations beyond its age, in which the attempts that were stopped count as cut off. If no
//! attempt that finished ran that long, nothing is known, and the attempt counts as if it had ended when it was stopped: then
//! only a lower bound of the saved time is known. The same holds for an attempt whose progress had stalled: neither its earlier pace
//! nor attempts that went on show whether it would ever have ended.
//!
//! What this means for the job follows from two schedules in the order of the recorded run (`schedule`): one with all attempts
//! as recorded, and one without copies, in which the attempts that lost run on. Only the end of a phase shows in the
//! difference: most of the time that copies save, the tasks at the end would have waited anyway. The difference is computed for
//! several draws. In each of them the durations are weighted anew (the Bayesian bootstrap) and one longer duration is added, because
//! few durations prove little.

mod schedule;

use std::collections::BTreeMap;

use hindmost_math::random::{hash, unit};
use hindmost_math::statistics::{median_of_sorted, quantile};
use hindmost_math::survival::{Observed, Survival};
use serde::Serialize;

use crate::ids::{AttemptId, NodeId, TaskId};
use crate::record::{Change, Event, Record};
use crate::resources::{Dimensions, Resources};
use crate::time::Time;
use crate::timeline::{AttemptEnd, Timeline, TimelineRow};
use crate::workload::JobSpec;
use schedule::{InOrder, Schedule, Work};

/// Number of draws for small jobs.
const MOST_DRAWS: u64 = 200;
/// Number of draws for large jobs.
const LEAST_DRAWS: u64 = 10;
/// Number of attempts that are scheduled in all draws together, about.
const MOST_WORK: u64 = 300_000;
/// The schedule with all attempts must take as long as the run, up to this share of it and these seconds. Otherwise something
/// else than the attempts has held up the run, and nothing follows from the schedule.
const SHARE_OFF: f64 = 0.1;
const SECONDS_OFF: f64 = 0.2;
/// The estimate has no median if more attempts than this are expected to have run longer than any that finished.
const HIDDEN_FOR_MEDIAN: f64 = 0.5;
/// The estimate has no upper end if more attempts than this are expected to have run longer than any that finished. Whatever the
/// durations are distributed like, the end then lies above the saved time with a probability of about 90% or more.
const HIDDEN_FOR_HIGH: f64 = 0.1;
/// The remaining time that progress shows is right up to this factor: an early extrapolation is often off by a quarter. That is
/// a convention.
const PROGRESS_OFF: f64 = 1.5;
/// Lower and upper end of the interval.
const INTERVAL: [f64; 2] = [0.05, 0.95];
/// The seed of the draws.
const SEED: u64 = 0x5a7e_d000;

/// By how much a job ended sooner because of its copies, estimated from the run. Times in seconds of the job; negative where the
/// copies delayed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSaved {
    /// Lower end of the 90% interval, or a lower bound.
    pub low: f64,
    /// The median; `None` if too few attempts that finished ran as long as those that lost.
    pub median: Option<f64>,
    /// Upper end of the 90% interval; `None` if attempts that lost may have needed longer than any that finished.
    pub high: Option<f64>,
    /// Number of attempts that lost to a copy, so that their remaining time had to be estimated.
    pub beaten: u64,
    /// How many of these had shown by their progress when they would end.
    pub by_progress: u64,
    /// How many of these were estimated from the durations of the attempts of their phase.
    pub by_durations: u64,
    /// How many of these had run longer than any finished attempt of their phase or had stalled, so that nothing is known about
    /// their end.
    pub unknown: u64,
    /// How many of the `unknown` ones had reported no progress for much longer than their earlier pace let one expect.
    #[serde(default)]
    pub stalled: u64,
    /// By how much the job would have ended later if each attempt of which nothing is known had needed as long again as it had
    /// run; `None` if there are none.
    pub if_as_long_again: Option<f64>,
}

/// When an attempt would have finished, as its progress showed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredFinish {
    /// The time at which it would have finished at the same pace.
    pub at: Time,
    /// True if the attempt had stalled, so that it would have finished at that time at the earliest.
    pub stalled: bool,
}

/// Returns when each attempt would have finished, as its progress showed last.
pub fn measured_finishes<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<AttemptId, MeasuredFinish> {
    let mut finishes = BTreeMap::new();
    for record in records {
        let Change::Event(Event::WatchMet { attempt, expected_finish: Some(at), guessed, stalled, .. }) = record.change
        else {
            continue;
        };
        // An attempt that has reported too little for a pace may have stalled all the same.
        if stalled || !guessed {
            finishes.insert(attempt, MeasuredFinish { at, stalled });
        } else if finishes.get(&attempt).is_some_and(|known| known.stalled) {
            finishes.remove(&attempt);
        }
    }
    finishes
}

/// How long an attempt that lost would still have run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Remaining {
    /// This many seconds, by its progress.
    Measured(f64),
    /// As drawn from the durations of its phase.
    Drawn,
    /// Nothing is known, because its progress had stalled.
    Stalled,
    /// Nothing is known, because no attempt that finished ran so long.
    Unknown,
}

/// What a task would have run without copies.
#[derive(Clone, Debug, PartialEq)]
struct Alone {
    task: TaskId,
    /// The time of its attempts that were no copies, in seconds.
    ran: f64,
    /// The age of the last one when it was stopped for a copy, and how long it would have run on; `None` if it was not stopped.
    /// The age is 0 if it failed while a copy was running: then the task would have been tried again.
    lost: Option<(f64, Remaining)>,
    /// The probability with which it would have run longer than all attempts that finished, in [0, 1]: of m that ran longer than
    /// its age, the next one is the longest with a probability of 1/(m + 1).
    hidden: f64,
}

impl TimeSaved {
    /// Estimates by how much the first job of a timeline ended sooner because of its copies. `finishes` are the times at which
    /// attempts would have finished by their progress. `None` if no copy was started, if the job is unfinished or the run was
    /// paused, or if the recorded times do not follow from its attempts, for example because nodes were lost or other jobs
    /// used them.
    pub fn of(
        timeline: &Timeline,
        dimensions: &Dimensions,
        finishes: &BTreeMap<AttemptId, MeasuredFinish>,
    ) -> Option<TimeSaved> {
        let job = timeline.jobs.first()?;
        let took = (job.finish? - job.arrival).seconds();
        let is_alone = timeline.jobs.len() == 1 && timeline.pauses.is_empty();
        if !is_alone || !timeline.rows.iter().any(|row| row.redundant) {
            return None;
        }
        let demands = job.spec.phases.iter().map(|phase| dimensions.demand(&phase.demand).ok());
        let demands: Vec<Resources> = demands.collect::<Option<_>>()?;
        let mut by_task: BTreeMap<TaskId, Vec<&TimelineRow>> = BTreeMap::new();
        for row in &timeline.rows {
            by_task.entry(row.attempt.task).or_default().push(row);
        }
        let numbers: BTreeMap<TaskId, usize> = by_task.keys().copied().zip(0..).collect();
        let after = job.spec.phases.iter().map(|phase| phase.barriers().collect()).collect();
        let nodes = timeline.nodes.iter().map(|node| node.capacity).collect();
        let schedule = Schedule { after, waits_for: waits_for(&job.spec, &numbers), demands, nodes };
        let recorded = schedule.makespan(&recorded(timeline, &numbers, job.finish?), InOrder::All);
        if (recorded - took).abs() > SHARE_OFF * took + SECONDS_OFF {
            return None;
        }
        let durations = durations(timeline);
        let estimates: BTreeMap<u32, Survival> =
            durations.iter().map(|(phase, observed)| (*phase, Survival::of_sorted(observed))).collect();
        let mut tasks = Vec::new();
        for (task, rows) in &by_task {
            let of_phase = estimates.get(&task.phase).zip(durations.get(&task.phase).map(Vec::as_slice));
            tasks.push(alone(*task, rows, finishes, of_phase));
        }
        // In the order of the recorded run.
        tasks.sort_by_key(|alone| by_task[&alone.task][0].start);
        Some(estimate(&tasks, recorded, &schedule, &durations, &estimates))
    }
}

/// Returns the single tasks for which each task waits. `numbers` are the numbers of the tasks that ran.
fn waits_for(spec: &JobSpec, numbers: &BTreeMap<TaskId, usize>) -> Vec<Vec<usize>> {
    if spec.phases.iter().all(|phase| phase.edges.is_empty()) {
        return Vec::new();
    }
    let parents = |task: &TaskId| {
        let task = *task;
        let edges = spec.phases[task.phase as usize].edges.iter();
        let parents =
            edges.flat_map(|edges| edges.parents_of(task.index).into_iter().map(|index| (edges.parent, index)));
        parents.filter_map(|(phase, index)| numbers.get(&TaskId { phase, index, ..task }).copied()).collect()
    };
    numbers.keys().map(parents).collect()
}

/// Returns the durations of the attempts of each phase in ascending order; those of attempts that were stopped or failed are cut
/// off.
fn durations(timeline: &Timeline) -> BTreeMap<u32, Vec<Observed>> {
    let mut durations: BTreeMap<u32, Vec<Observed>> = BTreeMap::new();
    for row in &timeline.rows {
        let (seconds, ended) = ((row.end - row.start).seconds(), row.outcome == AttemptEnd::Won);
        durations.entry(row.attempt.task.phase).or_default().push(Observed { seconds, ended, weight: 1.0 });
    }
    for observed in durations.values_mut() {
        observed.sort_unstable_by(|one, other| one.seconds.total_cmp(&other.seconds).then(other.ended.cmp(&one.ended)));
    }
    durations
}

/// Returns the attempts of a timeline as they were recorded, in the order of their starts. Those that are still being stopped
/// when the job finishes count until then. `numbers` are the numbers of the tasks.
fn recorded(timeline: &Timeline, numbers: &BTreeMap<TaskId, usize>, finish: Time) -> Vec<Work> {
    let mut begun = vec![None; numbers.len()];
    let work = timeline.rows.iter().map(|row| {
        let task = numbers[&row.attempt.task];
        let first = *begun[task].get_or_insert(row.start);
        Work {
            task,
            phase: row.attempt.task.phase,
            node: row.node,
            seconds: (row.end.min(finish) - row.start).seconds(),
            delay: (row.start - first).seconds(),
        }
    });
    work.collect()
}

/// Returns what a task would have run without copies. `durations` are those of its phase.
fn alone(
    task: TaskId,
    rows: &[&TimelineRow],
    finishes: &BTreeMap<AttemptId, MeasuredFinish>,
    of_phase: Option<(&Survival, &[Observed])>,
) -> Alone {
    let seconds = |row: &TimelineRow| (row.end - row.start).seconds();
    let own = || rows.iter().filter(|row| !row.redundant);
    let ran = own().map(|row| seconds(row)).sum();
    let has_winner = rows.iter().any(|row| row.outcome == AttemptEnd::Won);
    let Some(last) = own().next_back().filter(|row| has_winner && row.outcome != AttemptEnd::Won) else {
        return Alone { task, ran, lost: None, hidden: 0.0 };
    };
    let was_stopped = matches!(last.outcome, AttemptEnd::Lost | AttemptEnd::Replaced);
    let age = if was_stopped { seconds(last) } else { 0.0 };
    let finish = finishes.get(&last.attempt).filter(|finish| was_stopped && (finish.stalled || finish.at > last.end));
    let shown = of_phase.map_or(0.0, |(durations, _)| durations.known_share(age));
    let longer = of_phase.map_or(0, |(_, all)| all.iter().filter(|one| one.ended && one.seconds > age).count());
    let (remaining, hidden) = match finish {
        Some(MeasuredFinish { stalled: true, .. }) => (Remaining::Stalled, 1.0),
        Some(finish) => (Remaining::Measured((finish.at - last.end).seconds()), 0.0),
        None if shown > 0.0 => (Remaining::Drawn, (1.0 - shown).max(1.0 / (longer as f64 + 1.0))),
        None => (Remaining::Unknown, 1.0),
    };
    Alone { task, ran, lost: Some((age, remaining)), hidden }
}

/// Estimates the saved time from what each task would have run without copies. `recorded` is the time of the schedule with all
/// attempts, and `estimates` follow from the durations of each phase as they are.
fn estimate(
    tasks: &[Alone],
    recorded: f64,
    schedule: &Schedule,
    durations: &BTreeMap<u32, Vec<Observed>>,
    estimates: &BTreeMap<u32, Survival>,
) -> TimeSaved {
    let lost = |kind: fn(&Remaining) -> bool| {
        tasks.iter().filter_map(|alone| alone.lost).filter(|(_, remaining)| kind(remaining)).count() as u64
    };
    let beaten = lost(|_| true);
    let by_durations = lost(|remaining| *remaining == Remaining::Drawn);
    let stalled = lost(|remaining| *remaining == Remaining::Stalled);
    let unknown = stalled + lost(|remaining| *remaining == Remaining::Unknown);
    let makespan = |remaining: &dyn Fn(&Alone) -> f64| {
        let work = tasks.iter().enumerate().map(|(task, alone)| Work {
            task,
            phase: alone.task.phase,
            node: NodeId(0),
            seconds: alone.ran + remaining(alone),
            delay: 0.0,
        });
        schedule.makespan(&work.collect::<Vec<_>>(), InOrder::OfPhase) - recorded
    };
    let scheduled = durations.values().map(|observed| observed.len() as u64).sum::<u64>().max(1);
    // Without draws, all schedules are equal.
    let draws = if beaten == unknown { 1 } else { (MOST_WORK / scheduled).clamp(LEAST_DRAWS, MOST_DRAWS) };
    let hidden: f64 = tasks.iter().map(|alone| alone.hidden).sum();
    let has_median = hidden <= HIDDEN_FOR_MEDIAN;
    let mut saved: Vec<f64> = (0..draws)
        .map(|draw| {
            // Progress is wrong in the same way for all attempts of a job.
            let off = PROGRESS_OFF.powf(2.0 * unit(hash(SEED ^ 2, 0, 0, draw)) - 1.0);
            let estimates = reweighted(durations, draw, has_median);
            makespan(&|alone| match alone.lost {
                Some((_, Remaining::Measured(seconds))) => seconds * off,
                Some((age, Remaining::Drawn)) => {
                    let share = unit(hash(SEED, u64::from(alone.task.phase), u64::from(alone.task.index), draw));
                    let of_phase = estimates.get(&alone.task.phase);
                    of_phase.and_then(|durations| durations.remaining_between(age, share)).unwrap_or(0.0)
                }
                Some((_, Remaining::Stalled | Remaining::Unknown)) | None => 0.0,
            })
        })
        .collect();
    let [low, median, high] = [INTERVAL[0], 0.5, INTERVAL[1]].map(|share| quantile(&mut saved, share).unwrap_or(0.0));
    let again = |alone: &Alone| match alone.lost {
        Some((_, Remaining::Measured(seconds))) => seconds,
        Some((age, Remaining::Drawn)) => estimates[&alone.task.phase].remaining(age, 0.5).unwrap_or(0.0),
        Some((age, Remaining::Stalled | Remaining::Unknown)) => age,
        None => 0.0,
    };
    TimeSaved {
        low,
        median: has_median.then_some(median),
        high: (hidden <= HIDDEN_FOR_HIGH).then_some(high),
        beaten,
        by_progress: lost(|remaining| matches!(remaining, Remaining::Measured(_))),
        by_durations,
        unknown,
        stalled,
        if_as_long_again: (unknown > 0).then(|| makespan(&again)),
    }
}

/// Returns the estimates of each phase's durations with weights that differ between draws: each duration has an exponentially
/// distributed one. If `extends` is true, one more duration counts that is longer than all others ([`longer`]).
fn reweighted(durations: &BTreeMap<u32, Vec<Observed>>, draw: u64, extends: bool) -> BTreeMap<u32, Survival> {
    let of_phase = durations.iter().map(|(phase, observed)| {
        let exponential = |at: usize| -unit(hash(SEED ^ 1, u64::from(*phase), at as u64, draw)).ln();
        let one_more = if extends { longer(observed, exponential(observed.len())) } else { None };
        let all =
            observed.iter().copied().chain(one_more.map(|seconds| Observed { seconds, ended: true, weight: 1.0 }));
        let weighted = all.enumerate().map(|(at, one)| Observed { weight: exponential(at + 1), ..one });
        (*phase, Survival::of_sorted(&weighted.collect::<Vec<_>>()))
    });
    of_phase.collect()
}

/// Returns a duration that is longer than all observed ones, because another attempt may be: of m durations, the next one is
/// the longest with a probability of 1/(m + 1). It exceeds the longest one by `excess` times half of what this one exceeds the
/// median by. That is a convention; nothing was observed there. `None` if no attempt ended.
fn longer(sorted: &[Observed], excess: f64) -> Option<f64> {
    let ended: Vec<f64> = sorted.iter().filter(|one| one.ended).map(|one| one.seconds).collect();
    let spread = ended.last()? - median_of_sorted(&ended)?;
    Some(sorted.last()?.seconds + excess * 0.5 * spread)
}

#[cfg(test)]
mod tests;
