//! Turns a recording into a world in which the same application can run again: durations that depend on what an attempt meets,
//! when tasks could start, which executors there were, and how long the jobs took.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::time::Time;
use hindmost_core::workload::{
    Durations, NodeHistory, Situated, SituatedAttempt, SituatedEnd, SituatedTask, WorkloadJob, lasting,
};
use hindmost_math::statistics::quantile;
use rustc_hash::FxHashMap;

use super::causes::Context;
use super::gaps;
use super::own_share::{self, OwnShare};
use super::recording::{AttemptRow, PhaseRows, Recording};
use super::typical::{LEAST, Typical};
use crate::analysis::Ended;

/// An attempt that failed within this many seconds of the removal of its executor was lost with it.
const LOST_WITH_EXECUTOR: f64 = 5.0;

/// Seconds that an executor may take from its registration to its first attempt.
const READY: f64 = 0.2;

/// Where a job of a replay comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    /// Ids of the engine's jobs that it joins.
    pub ids: Vec<u32>,
    /// Numbers of its phases in the recording.
    pub phases: Vec<u32>,
}

/// What a log shows of how an application ran, beyond the durations of its tasks. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedWorld {
    /// The jobs, in the order of their arrivals.
    pub jobs: Vec<RecordedJob>,
    /// How each executor came and left, in the order of the nodes.
    pub executors: Vec<Presence>,
    /// The share of the durations that belongs to the tasks, beyond what their input explains.
    pub own_share: OwnShare,
    /// Settings of the engine that the log states.
    pub settings: BTreeMap<String, String>,
    /// Number of attempts that failed and fail again in a replay.
    pub failures: u64,
    /// The durations of the jobs' phases; `None` for a phase about which the log says too little.
    durations: Vec<Vec<Option<Arc<Situated>>>>,
}

impl RecordedWorld {
    /// Gives the jobs of the log the durations that depend on what attempts meet.
    pub fn give_durations(&self, jobs: &mut [WorkloadJob]) {
        for (job, phases) in jobs.iter_mut().zip(&self.durations) {
            for (durations, situated) in job.durations.iter_mut().zip(phases) {
                if let Some(situated) = situated {
                    *durations = Durations::Situated(situated.clone());
                }
            }
        }
    }
}

/// How a job ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedJob {
    /// Seconds from its submission to its end.
    pub seconds: f64,
    /// Seconds from the end of its last task to its end.
    pub tail: f64,
    /// For each phase, the seconds for which its tasks could not start after the phases before it had ended.
    pub lags: Vec<PhaseLag>,
}

/// How long the tasks of a phase could not start, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseLag {
    /// All tasks.
    Together(f64),
    /// Each task, because the log does not say how many slots there were. So no task starts earlier than it did.
    Each(Vec<f64>),
}

/// When an executor was there, in seconds after the origin of the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Presence {
    /// When it was added, or first used if other slots were used again before; `None`: it was there from the beginning.
    pub added: Option<f64>,
    /// When it was added, whether it was used then or not; `None`: it was there from the beginning.
    pub registered: Option<f64>,
    /// When it was removed; `None`: it stayed.
    pub removed: Option<f64>,
    /// True if attempts were lost with it.
    pub lost: bool,
}

/// Builds the world of an application. `jobs` are in the order of
/// their arrivals, and `sources` in the same order; `origin` is the time from which they count, on the clock of the log.
pub(crate) fn world(recording: &Recording, origin: f64, jobs: &[WorkloadJob], sources: &[Source]) -> RecordedWorld {
    let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
    let (context, _) = Context::of(recording, &typical);
    let nodes = Arc::new(histories(recording, &context, origin));
    let by_number: FxHashMap<u32, usize> =
        recording.phases.iter().enumerate().map(|(at, phase)| (phase.phase, at)).collect();
    let gaps = gaps::gaps(recording, &typical);
    let busy = gaps::Busy::of(recording);
    let job_ends: FxHashMap<u32, f64> =
        recording.active_ids.iter().zip(&recording.active).filter_map(|(id, (_, end))| Some((*id, (*end)?))).collect();
    let mut world = RecordedWorld {
        executors: presence(recording, &typical, origin),
        settings: recording.settings.clone(),
        ..RecordedWorld::default()
    };
    let are_slots_known = recording.executors.iter().any(|executor| executor.slots.is_some());
    let mut pairs = own_share::Pairs::default();
    for (job, source) in jobs.iter().zip(sources) {
        let arrival = origin + job.spec.arrival.seconds();
        let mut ends = Vec::new();
        let mut found = RecordedJob::default();
        let mut durations = vec![None; job.spec.phases.len()];
        for (at, number) in source.phases.iter().enumerate() {
            let parents = job.spec.phases[at].after.iter().filter_map(|parent| ends.get(*parent as usize));
            let ready = parents.copied().fold(arrival, f64::max);
            let Some(&index) = by_number.get(number) else {
                ends.push(ready);
                found.lags.push(PhaseLag::Together(0.0));
                continue;
            };
            let phase = &recording.phases[index];
            found.lags.push(if are_slots_known {
                let first = phase.rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min);
                let submitted = phase.submitted.unwrap_or(ready).max(ready);
                PhaseLag::Together((busy.could_start(first, submitted) - ready).max(0.0))
            } else {
                PhaseLag::Each(first_starts(phase).map(|start| (start - ready).max(0.0)).collect())
            });
            ends.push(phase.winners().map(|row| row.end).fold(ready, f64::max));
            let (situated, copies) =
                situated(recording, &context, (index, &typical[index]), gaps[index], &nodes, origin);
            let tasks = &situated.tasks;
            if tasks.len() != job.spec.phases[at].tasks as usize {
                continue;
            }
            world.failures += tasks.iter().flat_map(|task| &task.attempts).filter(|one| is_failed(one)).count() as u64;
            pairs.add(&situated, &copies);
            durations[at] = Some(Arc::new(situated));
        }
        let last = ends.iter().copied().fold(arrival, f64::max);
        let ended = source.ids.iter().filter_map(|id| job_ends.get(id).copied()).fold(last, f64::max);
        (found.seconds, found.tail) = (ended - arrival, ended - last);
        world.jobs.push(found);
        world.durations.push(durations);
    }
    world.own_share = pairs.own_share();
    world
}

/// Returns when the first attempt of each task started that has a winner, in the order of their numbers.
fn first_starts(phase: &PhaseRows) -> impl Iterator<Item = f64> + use<> {
    let mut starts: BTreeMap<u32, (f64, bool)> = BTreeMap::new();
    for row in &phase.rows {
        let (start, wins) = starts.entry(row.task).or_insert((row.start, false));
        *start = start.min(row.start);
        *wins |= row.wins;
    }
    starts.into_values().filter(|(_, wins)| *wins).map(|(start, _)| start)
}

fn is_failed(attempt: &SituatedAttempt) -> bool {
    attempt.ended == SituatedEnd::Failed
}

/// Returns when each executor was there. Those that were removed after the last attempt stayed. An executor that got no attempt
/// while slots elsewhere were used again could not be used yet.
fn presence(recording: &Recording, typical: &[Typical], origin: f64) -> Vec<Presence> {
    let starts = Starts::of(recording, typical);
    let last = recording.phases.iter().flat_map(|phase| &phase.rows).map(|row| row.end).fold(f64::MIN, f64::max);
    let lost = |number: usize, removed: f64| {
        let rows = recording.phases.iter().flat_map(|phase| &phase.rows);
        rows.into_iter().any(|row| row.executor as usize == number && is_lost(row, removed))
    };
    let of = |(number, executor): (usize, &super::recording::Executor)| {
        let removed = executor.removed.filter(|removed| *removed < last);
        let usable = starts.usable_from(number as u32, executor.added);
        Presence {
            added: usable.map(|added| added - origin).filter(|added| *added > 0.0),
            registered: executor.added.map(|added| added - origin).filter(|added| *added > 0.0),
            removed: removed.map(|removed| removed - origin),
            lost: removed.is_some_and(|removed| lost(number, removed)),
        }
    };
    recording.executors.iter().enumerate().map(of).collect()
}

/// When attempts started.
struct Starts {
    /// The first start on each executor.
    first: FxHashMap<u32, f64>,
    /// Starts of attempts that are in no first wave, ascending: tasks waited for these slots.
    later: Vec<f64>,
}

impl Starts {
    fn of(recording: &Recording, typical: &[Typical]) -> Starts {
        let mut starts = Starts { first: FxHashMap::default(), later: Vec::new() };
        for (phase, typical) in recording.phases.iter().zip(typical) {
            for (row, is_first) in phase.rows.iter().zip(&typical.is_first) {
                let first = starts.first.entry(row.executor).or_insert(row.start);
                *first = first.min(row.start);
                if !is_first {
                    starts.later.push(row.start);
                }
            }
        }
        starts.later.sort_by(f64::total_cmp);
        starts
    }

    /// Returns when an executor could be used that was added at this time; `None` if from the beginning.
    fn usable_from(&self, executor: u32, added: Option<f64>) -> Option<f64> {
        let first = self.first.get(&executor).copied().unwrap_or(f64::INFINITY);
        let from = added.unwrap_or(f64::NEG_INFINITY) + READY;
        let waited = self.later.get(self.later.partition_point(|start| *start <= from));
        if waited.is_some_and(|start| *start < first - READY) { Some(first) } else { added }
    }
}

/// True if an attempt was lost with its executor, which was removed at this time.
fn is_lost(row: &AttemptRow, removed: f64) -> bool {
    row.ended == Ended::Failed && (row.end - removed).abs() < LOST_WITH_EXECUTOR
}

/// Returns how many times as long an attempt took because of garbage that it made: if collecting it beyond what is usual of the phase
/// is at least half of what the attempt took beyond the typical time, all of that. A copy makes the garbage, too: real copies of such
/// tasks rarely won.
fn by_garbage(row: &AttemptRow, typical: f64, usual: f64) -> f64 {
    let (excess, collection) = (row.seconds() - typical, f64::from(row.spent.garbage_collection) - usual);
    if excess > 0.0 && collection >= 0.5 * excess { row.seconds() / typical } else { 1.0 }
}

/// Returns how slow each executor was, and when.
fn histories(recording: &Recording, context: &Context<'_>, origin: f64) -> Vec<NodeHistory> {
    let of = |number: usize| {
        let (slowness, busy) = context.history(number as u32);
        let time = |at: f64| Time::from_seconds((at - origin).max(0.0));
        NodeHistory { slowness, busy: busy.into_iter().map(|(from, to, by)| (time(from), time(to), by)).collect() }
    };
    (0..recording.executors.len()).map(of).collect()
}

/// Returns the durations of a phase, for the tasks that have a winner, in the order of their numbers. Also returns the places of a
/// task, of an original and of a copy that was started while it ran.
fn situated(
    recording: &Recording,
    context: &Context<'_>,
    (at, typical): (usize, &Typical),
    gap: f64,
    nodes: &Arc<Vec<NodeHistory>>,
    origin: f64,
) -> (Situated, Vec<(usize, usize, usize)>) {
    let phase = &recording.phases[at];
    let first_wave = context.first_wave_of(at).unwrap_or(0.0).exp().max(1.0);
    let node = |row: &AttemptRow| nodes.get(row.executor as usize);
    let met = |row: &AttemptRow, is_first: bool| lasting(node(row), is_first.then_some(first_wave));
    let busy = |row: &AttemptRow| {
        node(row).map_or(1.0, |node| node.busy_at(Time::from_seconds((row.start - origin).max(0.0))))
    };
    let mut collections: Vec<f64> = phase.winners().map(|row| f64::from(row.spent.garbage_collection)).collect();
    let usual_collection = quantile(&mut collections, 0.5).unwrap_or(0.0);
    let mut tasks: BTreeMap<u32, SituatedTask> = BTreeMap::new();
    let mut residuals = Vec::new();
    for (row, is_first) in phase.rows.iter().zip(&typical.is_first).filter(|(row, _)| row.wins) {
        let garbage = by_garbage(row, typical.seconds.unwrap_or(LEAST), usual_collection);
        let input = context.by_input(at, row).exp() * garbage;
        let residual = row.seconds().max(LEAST) / (met(row, *is_first) * busy(row) * input);
        residuals.push(residual);
        tasks.insert(row.task, SituatedTask { attempts: Vec::new(), input, garbage, residual });
    }
    let typical_seconds = quantile(&mut residuals, 0.5).unwrap_or(LEAST);
    for task in tasks.values_mut() {
        task.residual /= typical_seconds;
    }
    let (mut originals, mut copies) = (FxHashMap::default(), Vec::new());
    let removed = |row: &AttemptRow| recording.executors.get(row.executor as usize).and_then(|one| one.removed);
    let mut rows: Vec<(&AttemptRow, bool)> = phase.rows.iter().zip(typical.is_first.iter().copied()).collect();
    rows.sort_by(|a, b| a.0.start.total_cmp(&b.0.start).then(a.0.end.total_cmp(&b.0.end)));
    for (row, is_first) in rows {
        let Some(task) = tasks.get_mut(&row.task) else { continue };
        // What ran again because an output was lost is no part of the phase's first run, and a replay loses nodes itself.
        if row.repeated || removed(row).is_some_and(|removed| is_lost(row, removed)) {
            continue;
        }
        let ended = match row.ended {
            Ended::Succeeded => SituatedEnd::Finished,
            Ended::Killed => SituatedEnd::Stopped,
            Ended::Failed | Ended::Interrupted => SituatedEnd::Failed,
        };
        if row.speculative {
            // The latest attempt that was not a copy.
            copies.extend(originals.get(&row.task).map(|original| (row.task, *original, task.attempts.len())));
        } else if row.ended != Ended::Failed {
            originals.insert(row.task, task.attempts.len());
        }
        task.attempts.push(SituatedAttempt { seconds: row.seconds(), ended, met: met(row, is_first) });
    }
    let places: FxHashMap<u32, usize> = tasks.keys().enumerate().map(|(at, task)| (*task, at)).collect();
    let copies = copies.into_iter().map(|(task, original, copy)| (places[&task], original, copy)).collect();
    let tasks = tasks.into_values().collect();
    (Situated { tasks, typical: typical_seconds, first_wave, gap, nodes: nodes.clone() }, copies)
}
