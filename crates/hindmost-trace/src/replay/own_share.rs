//! Which share of the durations belongs to the tasks themselves, by the copies that really ran and by the same tasks in other jobs.
//!
//! A log without either leaves it open: from 0 to 1, beyond what the input explains. A copy that ran while its original ran is
//! evidence. If the durations belong to the tasks, a copy takes as long as its original; otherwise it takes as long as any other
//! task. Where several jobs have the same phase, a task that took long in one of them is evidence, too: if its duration belongs to it, it
//! takes long in the other jobs as well ([`Repeats`]).

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::workload::{Situated, SituatedAttempt, SituatedEnd};

use hindmost_math::statistics::{at_least, median};
use rustc_hash::FxHashMap;

use crate::diagnosis::context::{Context, FEWEST_ALIKE, log_bytes};
use crate::diagnosis::inputs::shape;
use crate::diagnosis::typical::STRAGGLER;
use crate::recording::{InEveryJob, PhaseRows};

/// Probability that a copy beats its original by chance although the duration belongs to the task, or that such a task is fast in another
/// job.
const BY_CHANCE: f64 = 0.02;
/// The probability at most that a task is long in so many jobs by chance, if it counts as long by its own.
const OWN_BY_CHANCE: f64 = 0.01;
/// The most phases of other jobs with which a phase is compared, on each side of it.
const COMPARED: usize = 2;
/// Fewest other tasks on a node that show that it was as usual.
const FEWEST_BESIDE: f64 = 2.0;
/// The largest share of these that may take long.
const SLOW_BESIDE: f64 = 0.25;
/// Only tasks count whose excess is at least this share of the largest one: that is what copies could save.
const MATTERS: f64 = 0.1;
/// Half of the 95% quantile of χ² with one degree of freedom: the loss of log-likelihood at the ends of the interval.
const LOSS: f64 = 1.92;
/// Number of steps from 0 to 1 at which the likelihood is computed.
const STEPS: u32 = 20;

/// The share of the durations that belongs to the tasks, beyond what their input explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnShare {
    /// The least share that the log allows.
    pub least: f64,
    /// The largest share that the log allows.
    pub most: f64,
    /// Number of copies that are evidence.
    pub copies: u64,
    /// Number of long tasks of which other jobs show whether they are long there.
    pub repeats: u64,
    /// The likeliest share; `None` if the log says nothing about it.
    pub likeliest: Option<f64>,
}

impl Default for OwnShare {
    fn default() -> OwnShare {
        OwnShare { least: 0.0, most: 1.0, copies: 0, repeats: 0, likeliest: None }
    }
}

/// Fewest tasks whose inputs are known in two phases for these to be compared.
const FEWEST_INPUTS: usize = 10;
/// The least standard deviation of ln of the inputs of a phase that shows whether tasks are the same.
const INPUTS_DIFFER: f64 = 0.02;
/// The least correlation of ln of the inputs of the same tasks.
const SAME_INPUTS: f64 = 0.5;

/// Pairs of an original and a copy: the probabilities of what happened if the duration belongs to the task, and if it does not.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<(f64, f64)>);

/// A winner of a phase that several jobs may have.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// What identifies the task in every job.
    task: u64,
    machine: Option<u32>,
    is_cold: bool,
    /// ln of how many times as long it took as its input and what it met explain.
    log: f64,
    /// Seconds that it took longer for no reason that is known.
    excess: f64,
    /// ln of the bytes that it read, if any.
    bytes: Option<f64>,
}

/// What phases of the same work have in common: their name, and their number of tasks.
type Work = (String, u64);

/// The winners of phases of the same work, in the order of their jobs; by task.
#[derive(Debug, Default)]
pub(super) struct Repeats(BTreeMap<Work, Vec<Vec<Seen>>>);

/// What the jobs of a log show of the long tasks of each phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RepeatsByPhase(BTreeMap<Work, OfPhase>);

/// What jobs with the same phase show of its long tasks.
#[derive(Clone, Debug, Default, PartialEq)]
struct OfPhase {
    /// The largest excess of a long task, seconds; 0 if no other job has the phase.
    largest: f64,
    /// For each long task of which other jobs show something: its excess, and the probabilities of what they show, if its duration
    /// belongs to it and if it does not.
    shown: Vec<(f64, (f64, f64))>,
    /// What identifies the tasks that are long in so many jobs that chance hardly gives it.
    own: BTreeSet<u64>,
}

impl Repeats {
    /// Adds a phase, by its number in the recording.
    pub(super) fn add(&mut self, context: &Context<'_>, at: usize, situated: &Situated) {
        let phase = &context.recording.phases[at];
        let Some(name) = shape(phase) else { return };
        let rows = phase.rows.iter().enumerate().filter(|(_, row)| row.wins);
        let mut winners: Vec<(u32, usize)> = rows.map(|(number, row)| (row.task, number)).collect();
        winners.sort_unstable();
        winners.dedup_by_key(|(task, _)| *task);
        if winners.len() != situated.tasks.len() {
            return;
        }
        let seen = winners.into_iter().zip(&situated.tasks).filter_map(|((task, number), of_task)| {
            Some(Seen {
                task: phase.in_every_job(task)?,
                machine: context.machine(&phase.rows[number]),
                is_cold: context.is_cold(at, number),
                log: of_task.residual.max(f64::MIN_POSITIVE).ln(),
                excess: phase.rows[number].seconds() * (1.0 - 1.0 / of_task.residual.max(1.0)),
                bytes: log_bytes(&phase.rows[number]),
            })
        });
        let mut seen: Vec<Seen> = seen.collect();
        if seen.is_empty() {
            return;
        }
        seen.sort_by_key(|one| one.task);
        compare_first_waves(&mut seen);
        self.0.entry((name.to_owned(), size(phase))).or_default().push(seen);
    }

    /// Returns what other jobs show of the long tasks of each phase. First
    /// waves count only if they are enough to be compared with one another, because the same tasks are in them again and again.
    pub(super) fn by_phase(&self) -> RepeatsByPhase {
        let is_long = |seen: &&Seen| !seen.is_cold && seen.log > STRAGGLER.ln();
        let of = |(work, phases): (&Work, &Vec<Vec<Seen>>)| {
            let mut found = OfPhase::default();
            if phases.len() > 1 {
                let phases: Vec<Compared<'_>> = phases.iter().map(|seen| Compared::of(seen)).collect();
                for (at, phase) in phases.iter().enumerate() {
                    let near = near(&phases, at);
                    for long in phase.seen.iter().filter(is_long) {
                        found.largest = found.largest.max(long.excess);
                        let others = in_others(&phases, (at, &near), long);
                        found.shown.extend(others.shown().map(|shown| (long.excess, shown)));
                        found.own.extend(others.is_own().then_some(long.task));
                    }
                }
            }
            (work.clone(), found)
        };
        RepeatsByPhase(self.0.iter().map(of).collect())
    }
}

impl RepeatsByPhase {
    /// Returns what these show of the phases that `other` has.
    pub(super) fn of_phases_in(&self, other: &RepeatsByPhase) -> RepeatsByPhase {
        let shared = self.0.iter().filter(|(work, _)| other.0.contains_key(*work));
        RepeatsByPhase(shared.map(|(work, of_phase)| (work.clone(), of_phase.clone())).collect())
    }

    /// Returns the tasks of a phase that are long in so many jobs that it is their own.
    pub(super) fn own_of(&self, phase: &PhaseRows) -> Option<&BTreeSet<u64>> {
        let of_phase = self.0.get(&(shape(phase)?.to_owned(), size(phase)))?;
        Some(&of_phase.own).filter(|own| !own.is_empty())
    }

    /// Returns for each long task that matters the probabilities of what other jobs show: if its duration belongs to it, and if it
    /// does not.
    pub(super) fn evidence(&self) -> Vec<(f64, f64)> {
        let largest = self.0.values().map(|of_phase| of_phase.largest).fold(0.0, f64::max);
        let shown = self.0.values().flat_map(|of_phase| &of_phase.shown);
        shown.filter(|(excess, _)| *excess >= MATTERS * largest).map(|(_, shown)| *shown).collect()
    }
}

/// Compares the tasks of a first wave with one another, if there are at least three, so that they count like others.
fn compare_first_waves(seen: &mut [Seen]) {
    let cold: Vec<&Seen> = seen.iter().filter(|seen| seen.is_cold).collect();
    let middle = median(&mut cold.iter().map(|seen| seen.log).collect::<Vec<f64>>());
    let Some(middle) = middle.filter(|_| cold.len() >= FEWEST_ALIKE) else { return };
    for seen in seen.iter_mut().filter(|seen| seen.is_cold) {
        (seen.is_cold, seen.log) = (false, seen.log - middle.max(0.0));
    }
}

/// The number of tasks that a phase has in every job.
fn size(phase: &PhaseRows) -> u64 {
    match &phase.in_every_job {
        InEveryJob::Numbers => phase.size(),
        InEveryJob::Names(names) => names.len() as u64,
    }
}

/// What the phases near one show of a task that took long in it.
#[derive(Clone, Copy, Debug, Default)]
struct InOthers {
    /// Number of phases that show something.
    count: u32,
    /// In how many of them the task takes long again, and whether one of them is before this one.
    again: u32,
    is_again_before: bool,
    /// Sum of the probabilities that it does if its duration does not belong to it.
    chances: f64,
}

impl InOthers {
    fn chance(&self) -> f64 {
        self.chances / f64::from(self.count.max(1))
    }

    /// The probabilities of this: if the duration belongs to the task, and if it does not. `None` if it shows nothing. The first
    /// phase in which a task takes long again and again shows nothing: it could have been any task.
    fn shown(&self) -> Option<(f64, f64)> {
        match (self.count, 2 * self.again > self.count) {
            (0, _) => None,
            (_, true) => self.is_again_before.then_some((1.0, self.chance())),
            (_, false) => Some((BY_CHANCE, 1.0 - self.chance())),
        }
    }

    /// True if chance hardly makes the task long again in so many phases.
    fn is_own(&self) -> bool {
        2 * self.again > self.count
            && at_least(u64::from(self.again), u64::from(self.count), self.chance().min(1.0)) <= OWN_BY_CHANCE
    }
}

/// The winners of a phase, and ln of how long those took that are not in its first wave, sorted: there may be a hundred thousand of
/// them, and thousands that are long.
struct Compared<'a> {
    seen: &'a [Seen],
    logs: Vec<f64>,
    by_machine: FxHashMap<u32, Vec<f64>>,
}

impl Compared<'_> {
    fn of(seen: &[Seen]) -> Compared<'_> {
        let warm = || seen.iter().filter(|seen| !seen.is_cold);
        let mut logs: Vec<f64> = warm().map(|seen| seen.log).collect();
        logs.sort_unstable_by(f64::total_cmp);
        let mut by_machine: FxHashMap<u32, Vec<f64>> = FxHashMap::default();
        for seen in warm() {
            if let Some(machine) = seen.machine {
                by_machine.entry(machine).or_default().push(seen.log);
            }
        }
        for logs in by_machine.values_mut() {
            logs.sort_unstable_by(f64::total_cmp);
        }
        Compared { seen, logs, by_machine }
    }

    /// Returns the probability that a task takes at least as long if its duration does not belong to it, and whether others show
    /// that its node was as usual. On a node where all others take long, it is the node.
    fn chance(&self, task: &Seen, long: f64) -> (f64, bool) {
        let own = usize::from(task.log >= long);
        // Those that take as long, and all, besides the task itself.
        let others = |logs: &[f64]| {
            let slow = logs.len() - logs.partition_point(|log| *log < long);
            (slow.saturating_sub(own) as f64, logs.len().saturating_sub(1) as f64)
        };
        let (slow, all) = others(&self.logs);
        let there = task.machine.and_then(|machine| self.by_machine.get(&machine));
        let (slow_there, all_there) = there.map_or((0.0, 0.0), |logs| others(logs));
        let there = if all_there > 0.0 { slow_there / all_there } else { 0.0 };
        (there.max((slow + 0.5) / (all + 1.0)), all_there >= FEWEST_BESIDE && there <= SLOW_BESIDE)
    }
}

/// Returns the phases near one whose tasks may be the same ones.
fn near(phases: &[Compared<'_>], at: usize) -> Vec<usize> {
    let near = at.saturating_sub(COMPARED)..(at + COMPARED + 1).min(phases.len());
    near.filter(|other| *other != at && !have_other_inputs(phases[at].seen, phases[*other].seen)).collect()
}

/// Returns whether tasks of the same name or number read other data in two phases, as in a loop over days: where inputs differ within the
/// phases, those of one have little to do with those of the other. Both are sorted by task.
fn have_other_inputs(one: &[Seen], other: &[Seen]) -> bool {
    let bytes = |seen: &Seen| {
        let place = other.binary_search_by_key(&seen.task, |other| other.task).ok()?;
        Some((seen.bytes?, other[place].bytes?))
    };
    let pairs: Vec<(f64, f64)> = one.iter().filter_map(bytes).collect();
    if pairs.len() < FEWEST_INPUTS {
        return false;
    }
    let count = pairs.len() as f64;
    let means = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0 / count, sum.1 + pair.1 / count));
    let apart = pairs.iter().map(|pair| (pair.0 - means.0, pair.1 - means.1));
    let (first, second, both) = apart.fold((0.0, 0.0, 0.0), |(first, second, both), (one, other)| {
        (first + one * one / count, second + other * other / count, both + one * other / count)
    });
    let do_differ = first.min(second) > INPUTS_DIFFER * INPUTS_DIFFER;
    do_differ && both < SAME_INPUTS * (first * second).sqrt()
}

/// Returns what the phases near one show of a task that took long in it.
fn in_others(phases: &[Compared<'_>], (at, near): (usize, &[usize]), long: &Seen) -> InOthers {
    let mut found = InOthers::default();
    for (other, phase) in near.iter().map(|other| (*other, &phases[*other])) {
        let Ok(place) = phase.seen.binary_search_by_key(&long.task, |seen| seen.task) else { continue };
        let task = &phase.seen[place];
        if task.is_cold {
            continue;
        }
        // More than half as long, as a factor.
        let half = long.log / 2.0;
        let is_again = task.log >= half;
        let (chance, is_known) = phase.chance(task, half);
        if is_again && task.machine == long.machine && !is_known {
            // It may be the node.
            continue;
        }
        found.count += 1;
        if is_again {
            found.again += 1;
            found.is_again_before |= other < at;
        }
        found.chances += chance;
    }
    found
}

impl Pairs {
    /// Adds the copies of a phase: the places of a task, an original and a copy of it.
    pub(super) fn add(&mut self, phase: &Situated, copies: &[(usize, usize, usize)]) {
        for (task, original, copy) in copies {
            let attempts = &phase.tasks[*task].attempts;
            let (Some(original), Some(copy)) = (attempts.get(*original), attempts.get(*copy)) else { continue };
            let (Some(pair), true) = (pair(phase, *task, original, copy), phase.tasks.len() > 1) else { continue };
            self.0.push(pair);
        }
    }

    /// Returns the shares whose likelihood is not much less than that of the likeliest, also by what `repeats` show.
    pub(super) fn own_share(&self, repeats: &[(f64, f64)]) -> OwnShare {
        let likelihood = |step: u32| {
            let share = f64::from(step) / f64::from(STEPS);
            self.0
                .iter()
                .chain(repeats)
                .map(|(own, other)| (share * own + (1.0 - share) * other).max(1e-9).ln())
                .sum::<f64>()
        };
        let all: Vec<f64> = (0..=STEPS).map(likelihood).collect();
        let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_likely = |step: &u32| all[*step as usize] >= best - LOSS;
        let share = |step: Option<u32>, default: f64| step.map_or(default, |step| f64::from(step) / f64::from(STEPS));
        let least = share((0..=STEPS).find(is_likely), 0.0);
        let most = share((0..=STEPS).rev().find(is_likely), 1.0);
        let likeliest = (0..=STEPS).find(|step| all[*step as usize] >= best).map(|step| share(Some(step), 0.0));
        OwnShare {
            least,
            most,
            copies: self.0.len() as u64,
            repeats: repeats.len() as u64,
            likeliest: likeliest.filter(|_| least > 0.0 || most < 1.0),
        }
    }
}

/// Returns the probabilities of what a copy showed: if the duration belongs to the task, and if it does not. `None` if neither
/// attempt ended by finishing.
fn pair(phase: &Situated, task: usize, original: &SituatedAttempt, copy: &SituatedAttempt) -> Option<(f64, f64)> {
    let others = phase.tasks.iter().enumerate().filter(|(other, _)| *other != task);
    let scale = phase.typical * phase.tasks[task].input * copy.met;
    let durations: Vec<f64> = others.map(|(_, other)| scale * other.residual).collect();
    let share = |is: &dyn Fn(f64) -> bool| {
        let count = durations.iter().filter(|seconds| is(**seconds)).count() as f64;
        (count + 0.5) / (durations.len() as f64 + 1.0)
    };
    // How long the copy takes if it takes as long as its original did, or at least that long.
    let own = original.seconds * copy.met / original.met;
    match (original.ended, copy.ended) {
        (SituatedEnd::Finished, SituatedEnd::Stopped) => {
            let ran = copy.seconds;
            Some((if own > ran { 1.0 } else { BY_CHANCE }, share(&|seconds| seconds > ran)))
        }
        (SituatedEnd::Stopped, SituatedEnd::Finished) => {
            let took = copy.seconds;
            Some((if own > took { BY_CHANCE } else { 1.0 }, share(&|seconds| seconds < own)))
        }
        (SituatedEnd::Finished, SituatedEnd::Finished) => {
            // Within a fifth of each other, or not.
            let alike = |seconds: f64| (seconds / copy.seconds).ln().abs() < 0.2;
            let is_alike = alike(own);
            let own = if is_alike { 1.0 } else { BY_CHANCE };
            Some((own, if is_alike { share(&alike) } else { 1.0 - share(&alike) }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hindmost_core::workload::SituatedTask;

    use super::super::workload::workload;
    use super::*;
    use crate::recording::AttemptRow;
    use crate::testing::{executor, phase as rows_of, recording, row};

    fn attempt(seconds: f64, ended: SituatedEnd) -> SituatedAttempt {
        SituatedAttempt { seconds, ended, met: 1.0, slowness: 1.0, again_after: 0.0 }
    }

    /// A task of 30 s with the given attempts among `others` tasks of 1 s.
    fn phase(others: usize, attempts: Vec<SituatedAttempt>) -> Situated {
        let one = |attempts, residual| SituatedTask { attempts, input: 1.0, garbage: 1.0, residual };
        let mut tasks = vec![one(attempts, 30.0)];
        tasks.extend((0..others).map(|_| one(vec![attempt(1.0, SituatedEnd::Finished)], 1.0)));
        Situated { tasks, typical: 1.0, first_wave: 1.0, gap: 0.0, moves: false, nodes: Arc::default() }
    }

    fn share(phase: &Situated, pairs: usize) -> OwnShare {
        let mut all = Pairs::default();
        (0..pairs).for_each(|_| all.add(phase, &[(0, 0, 1)]));
        all.own_share(&[])
    }

    #[test]
    fn without_copies_the_share_is_open() {
        assert_eq!(Pairs::default().own_share(&[]), OwnShare::default());
    }

    #[test]
    fn copies_that_win_show_that_durations_are_not_the_tasks_own() {
        // The original is stopped after 30 s, when its copy has taken 1 s, as other tasks do. ln L at the share w is 5·ln(0.02·w +
        // (1 − w)·(99.5/100)), and is 1.92 below its maximum at w = 0.32.
        let phase = phase(99, vec![attempt(30.0, SituatedEnd::Stopped), attempt(1.0, SituatedEnd::Finished)]);
        let found = share(&phase, 5);
        assert_eq!((found.least, found.copies), (0.0, 5));
        assert!((found.most - 0.3).abs() < 0.051, "{found:?}");
    }

    #[test]
    fn copies_that_lose_after_long_show_that_durations_are_the_tasks_own() {
        // The copy has run for 20 s when the original ends after 30 s; no other task takes 20 s.
        let phase = phase(99, vec![attempt(30.0, SituatedEnd::Finished), attempt(20.0, SituatedEnd::Stopped)]);
        let found = share(&phase, 5);
        assert_eq!((found.most, found.copies), (1.0, 5));
        assert!((found.least - 0.7).abs() < 0.051, "{found:?}");
        // A copy that was stopped at once shows nothing.
        let short = phase_of_short_copy();
        assert_eq!(share(&short, 5), OwnShare { copies: 5, ..OwnShare::default() });
    }

    fn phase_of_short_copy() -> Situated {
        phase(99, vec![attempt(30.0, SituatedEnd::Finished), attempt(0.1, SituatedEnd::Stopped)])
    }

    /// Three jobs of a phase of 24 tasks on four nodes of two slots each; the first wave takes 1.5 s, later tasks take 0.5 s. In each, the
    /// task that `long` names takes 8 s.
    fn jobs(long: [u32; 3], change: impl Fn(&mut AttemptRow)) -> OwnShare {
        let of_job = |number: u32| {
            let begin = 20.0 * f64::from(number);
            let of = |task: u32| {
                let start = begin + if task < 8 { 0.0 } else { 1.0 + 0.5 * f64::from(task / 8) };
                let usual = if task < 8 { 1.5 } else { 0.5 };
                let seconds = if task == long[number as usize] { 8.0 } else { usual + 0.002 * f64::from(task % 5) };
                let mut row = row(task, (task + number) % 4, start, start + seconds);
                change(&mut row);
                row
            };
            let name = Some(format!("stage {number}: count"));
            PhaseRows { phase: number, of_job: number, name, ..rows_of((0..24).map(of).collect()) }
        };
        let mut recording =
            recording((0..3).map(of_job).collect(), (0..4).map(|number| executor(&format!("h{number}"), 2)).collect());
        recording.active = (0..3).map(|number| (20.0 * f64::from(number), None)).collect();
        recording.active_ids = vec![0, 1, 2];
        workload(recording).unwrap().world.unwrap().own_share
    }

    #[test]
    fn tasks_that_read_other_data_in_each_job_are_not_the_same() {
        let read = |of_job: bool| {
            move |row: &mut AttemptRow| {
                let job = if of_job { (row.start / 20.0) as u32 } else { 0 };
                row.bytes_read = Some(1_000_000 * (10 + u64::from(((4 + 6 * job) * row.task + 11 * job) % 17)));
            }
        };
        let same = jobs([20, 21, 22], read(false));
        assert!(same.likeliest == Some(0.0) && same.repeats > 0, "{same:?}");
        let other = jobs([20, 21, 22], read(true));
        assert_eq!((other.likeliest, other.repeats, other.least, other.most), (None, 0, 0.0, 1.0));
    }

    #[test]
    fn a_task_that_is_long_in_every_job_is_long_by_its_own() {
        let found = jobs([22; 3], |_| ());
        assert_eq!((found.likeliest, found.most, found.repeats), (Some(1.0), 1.0, 2));
        assert!(found.least > 0.3, "{found:?}");
    }

    #[test]
    fn a_task_of_the_first_wave_is_compared_with_others_of_it() {
        let found = jobs([3; 3], |_| ());
        assert!(found.likeliest == Some(1.0) && found.repeats >= 2 && found.least > 0.3, "{found:?}");
        let found = jobs([1, 3, 6], |_| ());
        assert_eq!((found.likeliest, found.least), (Some(0.0), 0.0));
    }

    #[test]
    fn other_tasks_in_each_job_are_long_by_chance() {
        let found = jobs([10, 17, 22], |_| ());
        assert_eq!((found.likeliest, found.least, found.repeats), (Some(0.0), 0.0, 3));
        assert!(found.most < 0.5, "{found:?}");
    }

    #[test]
    fn tasks_of_a_slow_node_show_nothing() {
        // Tasks 3, 7, 11, … run on node 3 in every job, where all tasks take long. Too few run there to prove that it is slow.
        let of_node = |row: &mut AttemptRow| {
            row.executor = row.task % 4;
            if row.executor == 3 && row.task >= 8 {
                row.end = row.start + 3.0 * row.seconds();
            }
        };
        assert_eq!(jobs([99; 3], of_node).likeliest, None);
    }
}
