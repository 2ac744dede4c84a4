//! Turns a recording into a world in which the same application can run again: durations that depend on what an attempt meets,
//! when tasks could start, which executors there were, and how long the jobs took.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hindmost_core::ids::NodeId;
use hindmost_core::time::Time;
use hindmost_core::workload::{
    Durations, NodeHistory, Situated, SituatedAttempt, SituatedEnd, SituatedTask, WorkloadJob, lasting, slowness,
};
use hindmost_math::statistics::quantile;
use rustc_hash::FxHashMap;

use super::gaps;
use super::losses::{Loss, Losses};
use super::node_speeds;
use super::own_share::{self, OwnShare, RepeatsByPhase};
use super::presence::{Presence, presence};
use crate::diagnosis::context::Context;
use crate::diagnosis::inputs::shape;
use crate::diagnosis::typical::{LEAST, Typical};
use crate::recording::Ended;
use crate::recording::{AttemptRow, PhaseRows, Recording};

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
    /// Number of tasks that are long in most jobs, by their own: their copies are long, too.
    pub long_in_most_jobs: u64,
    /// Number of attempts that failed and fail again in a replay.
    pub failures: u64,
    /// The largest input of a task that took long because of it; `None` if there is no such task.
    pub skewed: Option<SkewedInput>,
    /// For how long what starts attempts stood still while jobs ran, in seconds.
    pub stood_still: f64,
    /// What its jobs show of tasks that are long.
    pub(crate) repeats: RepeatsByPhase,
    /// The durations of the jobs' phases; `None` for a phase about which the log says too little.
    durations: Vec<Vec<Option<Arc<Situated>>>>,
    /// The same if the nodes are slow that may be; empty if no node may be slow, or one is proven to be.
    possible: Vec<Vec<Option<Arc<Situated>>>>,
    /// The same if only those nodes are slow that are proven to be; empty if that is no difference.
    proven: Vec<Vec<Option<Arc<Situated>>>>,
    /// The same if retries wait for slots only; empty if they do in `durations`.
    free: Vec<Vec<Option<Arc<Situated>>>>,
}

impl RecordedWorld {
    /// Gives the jobs of the log the durations that depend on what attempts meet.
    pub fn give_durations(&self, jobs: &mut [WorkloadJob]) {
        give(&self.durations, jobs);
    }

    /// Returns this world if each task can start as soon as the first one of its phase could, a retry at once, and both only wait
    /// for slots. `None` if that is no difference.
    pub fn with_free_starts(&self) -> Option<RecordedWorld> {
        let mut world = self.clone();
        if !world.free.is_empty() {
            world.durations = std::mem::take(&mut world.free);
        }
        let mut changed = false;
        for lag in world.jobs.iter_mut().flat_map(|job| &mut job.lags) {
            if let PhaseLag::Each(lags) = lag {
                changed = true;
                let first = lags.iter().copied().reduce(f64::min);
                *lag = PhaseLag::Together(first.unwrap_or(0.0));
            }
        }
        changed.then_some(world)
    }

    /// Returns the jobs with the durations that they have if the nodes are slow whose tasks took at least 1.5 times as long in the middle,
    /// although too few tasks ran there to prove it. `None` if there is no such node, or if a node is proven to be slow.
    pub fn with_possibly_slow_nodes(&self, jobs: &[WorkloadJob]) -> Option<Vec<WorkloadJob>> {
        let mut jobs = (!self.possible.is_empty()).then(|| jobs.to_vec())?;
        give(&self.possible, &mut jobs);
        Some(jobs)
    }

    /// Returns the jobs with the durations that they have if only those nodes are slow that are proven to be, so that what tasks
    /// took longer elsewhere may belong to them. `None` if the best estimates of the nodes' speeds are the same.
    pub fn with_proven_speeds_only(&self, jobs: &[WorkloadJob]) -> Option<Vec<WorkloadJob>> {
        let mut jobs = (!self.proven.is_empty()).then(|| jobs.to_vec())?;
        give(&self.proven, &mut jobs);
        Some(jobs)
    }
}

fn give(found: &[Vec<Option<Arc<Situated>>>], jobs: &mut [WorkloadJob]) {
    for (job, phases) in jobs.iter_mut().zip(found) {
        for (durations, situated) in job.durations.iter_mut().zip(phases) {
            if let Some(situated) = situated {
                *durations = Durations::Situated(situated.clone());
            }
        }
    }
}

/// The input of a task that took long because of it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkewedInput {
    /// What it read.
    pub most: f64,
    /// The median of its phase.
    pub median: f64,
    /// True if it read more from files than from shuffles, which adaptive execution does not divide.
    pub of_files: bool,
}

/// How a job ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedJob {
    /// Seconds from its submission to its end, or to the end of its last task if only work ran after that which had succeeded.
    pub seconds: f64,
    /// Seconds from the end of its last task to its end.
    pub tail: f64,
    /// Seconds after that in which only work ran again that had succeeded. A replay runs each task once, so they are in neither time.
    pub again: f64,
    /// For each phase, the seconds for which its tasks could not start after the phases before it had ended.
    pub lags: Vec<PhaseLag>,
}

/// How long the tasks of a phase could not start, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseLag {
    /// All tasks.
    Together(f64),
    /// Each task, because the log does not say how many slots there were, or because executors were lost, and the engine decided which
    /// tasks the others ran first. So no task starts earlier than it did.
    Each(Vec<f64>),
    /// Something else than slots held tasks back, such as the wait for slots near their input.
    HeldBack {
        /// How long no task could start.
        together: f64,
        /// Each task: none starts earlier than it did.
        each: Vec<f64>,
    },
}

/// Builds the world of an application. `jobs` are in the order of their arrivals, and `sources` in the same order; `origin` is the
/// time from which they count, on the clock of the log. `with_possible` is true if nodes that may be slow matter. `in_log` is what
/// all jobs of the log show of tasks that are long, if it has more than this recording.
pub(crate) fn world(
    recording: &Recording,
    origin: f64,
    (jobs, sources): (&[WorkloadJob], &[Source]),
    (with_possible, in_log): (bool, Option<&RepeatsByPhase>),
) -> RecordedWorld {
    let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
    let (context, _) = Context::of(recording, &typical);
    let losses = Losses::of(recording);
    let executors = presence(recording, &typical, &losses, origin);
    // Where nodes that may be slow matter, there are two worlds: with them and without.
    let speeds = if with_possible { FxHashMap::default() } else { node_speeds::speeds(&context) };
    let nodes = Arc::new(histories(&executors, (&context, &speeds), origin));
    let possible = if with_possible { context.with_possibly_slow() } else { None };
    let possible = possible.map(|context| (Arc::new(histories(&executors, (&context, &speeds), origin)), context));
    let unproven = FxHashMap::default();
    let proven = (!speeds.is_empty()).then(|| Arc::new(histories(&executors, (&context, &unproven), origin)));
    let by_number: FxHashMap<u32, usize> =
        recording.phases.iter().enumerate().map(|(at, phase)| (phase.phase, at)).collect();
    let mut gaps = gaps::gaps(recording, &typical);
    let present = |one: &Presence| {
        (origin + one.added.unwrap_or(f64::NEG_INFINITY), origin + one.removed.unwrap_or(f64::INFINITY))
    };
    let held_back = gaps::held_back(recording, &executors.iter().map(present).collect::<Vec<_>>());
    let busy = gaps::Busy::of(recording);
    let job_ends: FxHashMap<u32, f64> =
        recording.active_ids.iter().zip(&recording.active).filter_map(|(id, (_, end))| Some((*id, (*end)?))).collect();
    let mut world = RecordedWorld {
        executors,
        settings: recording.settings.clone(),
        stood_still: recording.stood_still,
        ..RecordedWorld::default()
    };
    let are_slots_known = recording.executors.iter().any(|executor| executor.slots.is_some());
    let (mut pairs, mut repeats) = (own_share::Pairs::default(), own_share::Repeats::default());
    for (job, source) in jobs.iter().zip(sources) {
        let arrival = origin + job.spec.arrival.seconds();
        let mut ends = Vec::new();
        let mut last_repeat = f64::NEG_INFINITY;
        let mut found = RecordedJob::default();
        let mut durations = vec![None; job.spec.phases.len()];
        let mut if_slow = vec![None; job.spec.phases.len()];
        let mut if_proven = vec![None; job.spec.phases.len()];
        let mut if_free = vec![None; job.spec.phases.len()];
        for (at, number) in source.phases.iter().enumerate() {
            let parents = job.spec.phases[at].after.iter().filter_map(|parent| ends.get(*parent as usize));
            let ready = parents.copied().fold(arrival, f64::max);
            let Some(&index) = by_number.get(number) else {
                ends.push(ready);
                found.lags.push(PhaseLag::Together(0.0));
                continue;
            };
            let phase = &recording.phases[index];
            let ran_again = phase.rows.iter().filter(|row| row.repeated);
            last_repeat = ran_again.map(|row| row.end).fold(last_repeat, f64::max);
            let each = || first_starts(phase).map(|start| (start - ready).max(0.0)).collect();
            found.lags.push(if are_slots_known {
                let first = phase.rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min);
                let submitted = phase.submitted.unwrap_or(ready).max(ready);
                let together = (busy.could_start(first, submitted) - ready).max(0.0);
                // Where each task has a time of its own, the gaps are in these times.
                if losses.with_executors_of(index) {
                    gaps[index] = 0.0;
                    PhaseLag::Each(each())
                } else if held_back[index] {
                    gaps[index] = 0.0;
                    PhaseLag::HeldBack { together, each: each() }
                } else {
                    PhaseLag::Together(together)
                }
            } else {
                PhaseLag::Each(each())
            });
            ends.push(phase.winners().map(|row| row.end).fold(ready, f64::max));
            // Where each task has a time of its own, so have retries.
            let waits = if are_slots_known { Retries::ForSlots(&busy) } else { Retries::AsRecorded };
            let found_with = |context, nodes, waits| {
                let (of_phase, of_slots) = ((phase, index, &typical[index]), (gaps[index], &losses, waits));
                situated(context, of_phase, of_slots, nodes, (origin, ready))
            };
            let (situated, copies) = found_with(&context, &nodes, waits);
            let tasks = &situated.tasks;
            if tasks.len() != job.spec.phases[at].tasks as usize {
                continue;
            }
            world.failures += tasks.iter().flat_map(|task| &task.attempts).filter(|one| is_failed(one)).count() as u64;
            pairs.add(&situated, &copies);
            repeats.add(&context, index, &situated);
            let largest = world.skewed.map_or(0.0, |found| found.most);
            world.skewed = skewed(&context, index).filter(|found| found.most > largest).or(world.skewed);
            durations[at] = Some(Arc::new(situated));
            if_slow[at] = possible.as_ref().map(|(nodes, context)| Arc::new(found_with(context, nodes, waits).0));
            if_proven[at] = proven.as_ref().map(|nodes| Arc::new(found_with(&context, nodes, waits).0));
            if !are_slots_known {
                if_free[at] = Some(Arc::new(found_with(&context, &nodes, Retries::ForSlots(&busy)).0));
            }
        }
        let last = ends.iter().copied().fold(arrival, f64::max);
        let ended = source.ids.iter().filter_map(|id| job_ends.get(id).copied()).fold(last, f64::max);
        let (ended, again) = if last_repeat >= ended { (last, ended - last) } else { (ended, 0.0) };
        (found.seconds, found.tail, found.again) = (ended - arrival, ended - last, again);
        world.jobs.push(found);
        world.durations.push(durations);
        if possible.is_some() {
            world.possible.push(if_slow);
        }
        if proven.is_some() {
            world.proven.push(if_proven);
        }
        if !are_slots_known {
            world.free.push(if_free);
        }
    }
    world.repeats = repeats.by_phase();
    let shown = in_log.map(|in_log| in_log.of_phases_in(&world.repeats));
    let shown = shown.as_ref().unwrap_or(&world.repeats);
    world.own_share = pairs.own_share(&shown.evidence());
    let own: FxHashMap<u32, BTreeSet<usize>> = recording
        .phases
        .iter()
        .map(|phase| (phase.phase, own_tasks(phase, shown.own_of(phase))))
        .filter(|(_, own)| !own.is_empty())
        .collect();
    world.long_in_most_jobs = own_of_all(recording, shown).len() as u64;
    for all in [&mut world.durations, &mut world.possible, &mut world.proven, &mut world.free] {
        for (of_job, source) in all.iter_mut().zip(sources) {
            for (situated, phase) in of_job.iter_mut().zip(&source.phases) {
                if let (Some(situated), Some(tasks)) = (situated, own.get(phase)) {
                    keep_own(Arc::make_mut(situated), tasks);
                }
            }
        }
    }
    world
}

/// Whether a task is in `own`, or is long in so many other jobs of the log that it is its own.
fn is_own(phase: &PhaseRows, own: Option<&BTreeSet<u64>>, task: u32) -> bool {
    phase.long_in_others.get(&task).is_some_and(|found| found.is_no_chance)
        || own.is_some_and(|own| phase.in_every_job(task).is_some_and(|task| own.contains(&task)))
}

/// Returns the places of the tasks with a winner that are long by their own.
fn own_tasks(phase: &PhaseRows, own: Option<&BTreeSet<u64>>) -> BTreeSet<usize> {
    if own.is_none() && phase.long_in_others.is_empty() {
        return BTreeSet::new();
    }
    let tasks: BTreeSet<u32> = phase.winners().map(|row| row.task).collect();
    tasks.into_iter().enumerate().filter(|(_, task)| is_own(phase, own, *task)).map(|(at, _)| at).collect()
}

/// Returns the tasks of a recording that are long by their own, each once, whatever the number of its jobs.
fn own_of_all(recording: &Recording, shown: &RepeatsByPhase) -> BTreeSet<(Option<String>, u64)> {
    let of_phase = |phase| {
        let own = shown.own_of(phase);
        let has_some = own.is_some() || !phase.long_in_others.is_empty();
        let tasks = phase.winners().map(|row| row.task).filter(|task| has_some && is_own(phase, own, *task));
        let everywhere = |task: u32| {
            let in_others = phase.long_in_others.get(&task).map(|found| found.task);
            phase.in_every_job(task).or(in_others).map(|name| (shape(phase).map(str::to_owned), name))
        };
        tasks.filter_map(everywhere).collect::<Vec<_>>()
    };
    recording.phases.iter().flat_map(of_phase).collect()
}

/// Gives all copies of tasks what these took longer for no other reason: it is their own.
fn keep_own(phase: &mut Situated, tasks: &BTreeSet<usize>) {
    for at in tasks {
        let Some(task) = phase.tasks.get_mut(*at).filter(|task| task.residual > 1.0) else { continue };
        // Inputs of equal size would not shorten it, as they do not shorten what garbage takes.
        task.input *= task.residual;
        task.garbage *= task.residual;
        task.residual = 1.0;
    }
}

/// Returns the largest input of a phase, if it explains why its task took longer.
fn skewed(context: &Context<'_>, at: usize) -> Option<SkewedInput> {
    let phase = &context.recording.phases[at];
    let most = phase.winners().max_by_key(|row| row.bytes_read)?;
    if context.by_input(at, most) <= 0.0 {
        return None;
    }
    let mut all: Vec<f64> = phase.winners().map(|row| row.bytes_read.unwrap_or(0) as f64).collect();
    Some(SkewedInput {
        most: most.bytes_read? as f64,
        median: quantile(&mut all, 0.5)?,
        of_files: most.spent.reads_files,
    })
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
    matches!(attempt.ended, SituatedEnd::Failed | SituatedEnd::Lost(_))
}

/// Returns how many times as long an attempt took because of garbage that it made: if collecting it beyond what is usual of the phase
/// is at least half of what the attempt took beyond the typical time, all of that. A copy makes the garbage, too: real copies of such
/// tasks rarely won.
fn by_garbage(row: &AttemptRow, typical: f64, usual: f64) -> f64 {
    let (excess, collection) = (row.seconds() - typical, f64::from(row.spent.garbage_collection) - usual);
    if excess > 0.0 && collection >= 0.5 * excess { row.seconds() / typical } else { 1.0 }
}

/// Returns how slow each executor was, and when, and when it was lost. Without proof that a machine was slow, it is as slow as
/// `speeds` says.
fn histories(
    executors: &[Presence],
    (context, speeds): (&Context<'_>, &FxHashMap<u32, f64>),
    origin: f64,
) -> Vec<NodeHistory> {
    let of = |(number, presence): (u32, &Presence)| {
        let busy = context.busy_times(number);
        let slowness =
            context.slowness_of_executor(number).or_else(|| speeds.get(&context.machine_of(number)?).copied());
        let time = |at: f64| Time::from_seconds((at - origin).max(0.0));
        NodeHistory {
            slowness,
            busy: busy.into_iter().map(|(from, to, by)| (time(from), time(to), by)).collect(),
            lost: presence.removed.filter(|_| presence.lost).map(|at| Time::from_seconds(at.max(0.0))),
        }
    };
    (0..).zip(executors).map(of).collect()
}

/// What retries of failed tasks wait for in a replay.
#[derive(Clone, Copy)]
enum Retries<'a> {
    /// For slots: they start at once if these were not all in use.
    ForSlots(&'a gaps::Busy),
    /// For whatever they waited in the log, for as long.
    AsRecorded,
}

/// Returns the durations of a phase, for the tasks that have a winner, in the order of their numbers. Also returns the places of a
/// task, of an original and of a copy that was started while it ran.
fn situated(
    context: &Context<'_>,
    (phase, at, typical): (&PhaseRows, usize, &Typical),
    (gap, losses, waits): (f64, &Losses, Retries<'_>),
    nodes: &Arc<Vec<NodeHistory>>,
    (origin, ready): (f64, f64),
) -> (Situated, Vec<(usize, usize, usize)>) {
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
    // When the latest attempt of each task ended, and whether it was lost.
    let mut ends: FxHashMap<u32, (f64, bool)> = FxHashMap::default();
    let mut rows: Vec<(usize, &AttemptRow, bool)> = phase
        .rows
        .iter()
        .enumerate()
        .zip(&typical.is_first)
        .map(|((number, row), first)| (number, row, *first))
        .collect();
    rows.sort_by(|(_, a, _), (_, b, _)| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)));
    for (number, row, is_first) in rows {
        let Some(task) = tasks.get_mut(&row.task) else { continue };
        // What ran again because an output was lost is no part of the phase's first run.
        if row.repeated {
            continue;
        }
        let loss = losses.get(at, number);
        let mut seconds = loss.map_or(row.seconds(), |loss| loss.seconds);
        let end = (row.start + seconds).max(ready);
        let ended = match (loss, row.ended) {
            (Some(Loss { executor: Some(executor), .. }), _) => SituatedEnd::Lost(NodeId(executor)),
            (Some(_), _) | (None, Ended::Failed | Ended::Interrupted) => SituatedEnd::Failed,
            (None, Ended::Succeeded) => SituatedEnd::Finished,
            (None, Ended::Killed) => SituatedEnd::Stopped,
        };
        if matches!(ended, SituatedEnd::Failed | SituatedEnd::Lost(_)) {
            // Reduces may fail before the maps have ended. A replay starts them after that, so this took no time of the phase.
            seconds = (end - row.start.max(ready)).max(LEAST);
        }
        if !row.speculative
            && let Some(before) = task.attempts.last_mut().filter(|before| is_failed(before))
            && let Some((before_end, is_lost)) = ends.get(&row.task)
        {
            // A task that was lost waited for other executors; a task that failed waited for slots, which a replay has, too.
            let from = match waits {
                Retries::ForSlots(slots) if !is_lost => slots.could_start(row.start, *before_end),
                _ => row.start,
            };
            before.again_after = (from - before_end).max(0.0);
        }
        ends.insert(row.task, (end, loss.is_some()));
        if row.speculative {
            // The latest attempt that was not a copy.
            copies.extend(originals.get(&row.task).map(|original| (row.task, *original, task.attempts.len())));
        } else if loss.is_none() && row.ended != Ended::Failed {
            originals.insert(row.task, task.attempts.len());
        }
        let (met, slowness) = (met(row, is_first), slowness(node(row)));
        task.attempts.push(SituatedAttempt { seconds, ended, met, slowness, again_after: 0.0 });
    }
    let places: FxHashMap<u32, usize> = tasks.keys().enumerate().map(|(at, task)| (*task, at)).collect();
    let copies = copies.into_iter().map(|(task, original, copy)| (places[&task], original, copy)).collect();
    let tasks = tasks.into_values().collect();
    (Situated { tasks, typical: typical_seconds, first_wave, gap, moves: false, nodes: nodes.clone() }, copies)
}
