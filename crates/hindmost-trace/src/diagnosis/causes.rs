//! Why stragglers were slow. First waves are set aside before nodes and inputs are tested: they hold few of the tasks and most
//! of the stragglers of real Spark logs, and would accuse whichever node or input they meet.

use std::collections::BTreeMap;

use hindmost_core::metrics::{Cause, SlowNode, StragglerCause, StragglersByCause};
use hindmost_math::statistics::quantile;
use rustc_hash::FxHashMap;

use super::recording::{AttemptRow, PhaseRows, Recording, TaskTimes};
use super::typical::{Typical, first_ends};
use crate::analysis::PhaseKey;
use crate::analysis::nodes::Nodes;
use crate::analysis::regression::Regression;

/// Significance level of the test for slow nodes, over all nodes of an application together. It is low because tasks on one
/// node at one time have more in common than the test assumes.
const LEVEL: f64 = 0.001;
/// A slow node must be this slow in both halves of the time.
const BOTH_HALVES: f64 = 1.15;
/// Fewest tasks of a node in each half.
const FEWEST_IN_HALF: u64 = 3;
/// Level of the tests of whether durations depend on the input, over all phases of an application together.
const INPUT_LEVEL: f64 = 0.01;
/// The least share of the variance that the input must explain.
const INPUT_SHARE: f64 = 0.25;
/// The least power of the input with which durations must grow.
const INPUT_POWER: f64 = 0.1;
/// Fewest other tasks on a node at the time of a straggler that can show that the node was busy.
const FEWEST_BESIDE: usize = 3;
/// Fewest winners of a first wave, or at a distance from their input, that show what is typical of them.
const FEWEST_ALIKE: usize = 3;
/// ln of the least slowness of tasks on a busy node.
const BUSY: f64 = 0.2;

/// Number of tasks that show whether a node was busy at a time.
const GROUP: usize = 8;
/// How many times the standard error a busy node must differ.
const FAR: f64 = 3.0;
/// The most that a busy node is taken to slow its tasks down. Groups of tasks that differ by more differ in their work.
const MOST_BUSY: f64 = 4.0;

/// What is known about the whole application.
pub struct Context<'a> {
    recording: &'a Recording,
    typical: &'a [Typical],
    /// Numbers of the machines, by executor.
    machines: Vec<u32>,
    names: Vec<&'a str>,
    /// When the first attempt on each executor ended.
    warm_from: FxHashMap<u32, f64>,
    /// ln of how many times as long attempts in first waves take, in the middle; 0 if the log does not show it.
    first_wave: f64,
    /// Slow machines and their slowness.
    slow: BTreeMap<u32, f64>,
    /// For each phase, by how much durations grow with the input: ln of the typical input, and the power.
    inputs: Vec<Option<(f64, f64)>>,
    /// Winners of each machine that are not in first waves, by start: start, end, ln of their slowness.
    beside: FxHashMap<u32, Vec<(f64, f64, f64)>>,
    /// Standard deviation of ln of their slowness, from the middle of its distribution.
    spread: f64,
}

/// An attempt by which nodes are compared.
struct Observed {
    /// ln of its duration, without the part that its input explains.
    log: f64,
    machine: u32,
    start: f64,
}

/// Slow nodes of an application.
pub struct SlowNodes {
    /// Slow nodes, slowest first.
    pub slow: Vec<SlowNode>,
    /// Number of nodes that were tested.
    pub tested: u64,
}

impl<'a> Context<'a> {
    /// Learns from all attempts of an application. Returns the slow nodes too.
    pub fn of(recording: &'a Recording, typical: &'a [Typical]) -> (Context<'a>, SlowNodes) {
        let (machines, names) = machines(recording);
        let warm_from = first_ends(recording.phases.iter().flat_map(|phase| &phase.rows));
        let mut context = Context {
            recording,
            typical,
            machines,
            names,
            warm_from,
            first_wave: 0.0,
            slow: BTreeMap::new(),
            inputs: Vec::new(),
            beside: FxHashMap::default(),
            spread: 0.0,
        };
        context.first_wave = context.slowness_of_first_waves();
        context.inputs = context.inputs();
        let slow = context.slow_nodes();
        context.beside = context.beside();
        let mut distances: Vec<f64> = context.beside.values().flatten().map(|(.., slowness)| slowness.abs()).collect();
        // The median distance from the middle of a normal distribution is 0.6745 standard deviations.
        context.spread = quantile(&mut distances, 0.5).unwrap_or(0.0) / 0.6745;
        (context, slow)
    }

    /// True if an attempt was among the first of its executor, so that its duration shows that, too.
    pub fn is_cold(&self, phase: usize, row: usize) -> bool {
        let (typical, found) = (&self.typical[phase], &self.recording.phases[phase].rows[row]);
        if typical.is_later { typical.is_first[row] } else { self.warm_from[&found.executor] > found.start }
    }

    /// The machine of an attempt; `None` if unknown.
    pub fn machine(&self, row: &AttemptRow) -> Option<u32> {
        self.machines.get(row.executor as usize).copied()
    }

    /// ln of the part of an attempt's slowness that its input explains.
    pub fn by_input(&self, phase: usize, row: &AttemptRow) -> f64 {
        match (self.inputs[phase], log_bytes(row)) {
            (Some((typical, power)), Some(bytes)) => power * (bytes - typical),
            _ => 0.0,
        }
    }

    /// Winners with their phase, number in the phase and ln of their slowness.
    pub fn winners(&self) -> impl Iterator<Item = (usize, usize, &'a AttemptRow, f64)> {
        let phases = self.recording.phases.iter().zip(self.typical).enumerate();
        phases.flat_map(|(at, (phase, typical))| {
            let rows = phase.rows.iter().enumerate().filter(|(_, row)| row.wins);
            rows.filter_map(move |(number, row)| Some((at, number, row, slowness(row.seconds(), typical.seconds?))))
        })
    }

    fn slowness_of_first_waves(&self) -> f64 {
        let first = self
            .winners()
            .filter(|(phase, number, ..)| self.typical[*phase].is_later && self.typical[*phase].is_first[*number]);
        let mut all: Vec<f64> = first.map(|(.., slowness)| slowness).collect();
        if all.len() < FEWEST_ALIKE { 0.0 } else { quantile(&mut all, 0.5).unwrap_or(0.0).max(0.0) }
    }

    fn inputs(&self) -> Vec<Option<(f64, f64)>> {
        let fit = |(at, phase): (usize, &PhaseRows)| {
            let mut regression = Regression::default();
            let mut bytes = Vec::new();
            for (number, row) in phase.rows.iter().enumerate().filter(|(_, row)| row.wins) {
                let Some(log) = log_bytes(row).filter(|_| !self.is_cold(at, number)) else { continue };
                regression.push(log, row.seconds().max(super::typical::LEAST).ln());
                bytes.push(log);
            }
            let median = quantile(&mut bytes, 0.5)?;
            Some((regression.skew()?, median))
        };
        let fits: Vec<_> = self.recording.phases.iter().enumerate().map(fit).collect();
        let tested = fits.iter().flatten().count() as f64;
        let depends = |(skew, median): (hindmost_core::metrics::Skew, f64)| {
            let is_proven = skew.p * tested < INPUT_LEVEL && skew.r_squared >= INPUT_SHARE;
            (is_proven && skew.elasticity >= INPUT_POWER).then_some((median, skew.elasticity))
        };
        fits.into_iter().map(|fit| fit.and_then(depends)).collect()
    }

    /// Finds the nodes that were slow in both halves of the time for which the log shows them.
    fn slow_nodes(&mut self) -> SlowNodes {
        let observed: Vec<Vec<Observed>> = (0..self.recording.phases.len()).map(|at| self.observed(at)).collect();
        let nodes = |keep: &dyn Fn(&Observed) -> bool| {
            let mut nodes = Nodes::default();
            for (at, observed) in observed.iter().enumerate() {
                let key = PhaseKey { application: self.recording.application, phase: at as u32 };
                let kept = observed.iter().filter(|one| keep(one));
                nodes.phase(key, kept.map(|one| (one.log, one.machine)).collect());
            }
            nodes
        };
        let all = nodes(&|_| true);
        let mut slow = all.slow_at(LEVEL);
        slow.retain(|(node, _)| {
            let mut starts: Vec<f64> =
                observed.iter().flatten().filter(|one| one.machine == *node).map(|one| one.start).collect();
            let Some(middle) = quantile(&mut starts, 0.5) else { return false };
            let is_slow_in = |is_early: bool| {
                let half = nodes(&|one| one.machine != *node || (one.start < middle) == is_early);
                half.ratio_of(*node, FEWEST_IN_HALF).is_some_and(|by| by >= BOTH_HALVES)
            };
            is_slow_in(true) && is_slow_in(false)
        });
        for (node, found) in &mut slow {
            self.names[*node as usize].clone_into(&mut found.node);
            self.slow.insert(*node, found.ratio);
        }
        SlowNodes { slow: slow.into_iter().map(|(_, found)| found).collect(), tested: all.tested() }
    }

    /// The attempts of a phase by which nodes are compared.
    fn observed(&self, at: usize) -> Vec<Observed> {
        let phase = &self.recording.phases[at];
        let rows = phase.rows.iter().enumerate();
        // A loser that a copy has overtaken took at least as long as it ran.
        rows.filter(|(number, row)| (row.wins || is_overtaken(phase, row)) && !self.is_cold(at, *number))
            .filter_map(|(_, row)| {
                let log = row.seconds().max(super::typical::LEAST).ln() - self.by_input(at, row);
                Some(Observed { log, machine: self.machine(row)?, start: row.start })
            })
            .collect()
    }

    fn beside(&self) -> FxHashMap<u32, Vec<(f64, f64, f64)>> {
        let mut beside: FxHashMap<u32, Vec<(f64, f64, f64)>> = FxHashMap::default();
        for (phase, _, row, slowness) in self.winners().filter(|(phase, number, ..)| !self.is_cold(*phase, *number)) {
            let Some(machine) = self.machine(row) else { continue };
            let own = slowness - self.by_input(phase, row);
            beside.entry(machine).or_default().push((row.start, row.end, own));
        }
        for rows in beside.values_mut() {
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        beside
    }

    /// How slow the node of an executor was: how many times as long attempts took there all the time, if it was a slow node, and when
    /// it was busy, and by how much then. Tasks are looked at in groups of eight that started there one after the other. A group
    /// shows a busy node if its median is far above what chance gives.
    pub fn history(&self, executor: u32) -> (Option<f64>, Vec<(f64, f64, f64)>) {
        let Some(machine) = self.machines.get(executor as usize) else { return (None, Vec::new()) };
        let slowness = self.slow.get(machine).copied();
        let Some(rows) = self.beside.get(machine) else { return (slowness, Vec::new()) };
        let usual = slowness.map_or(0.0, f64::ln);
        let busy = rows.chunks(GROUP).filter(|group| group.len() == GROUP).filter_map(|group| {
            let mut own: Vec<f64> = group.iter().map(|(.., slowness)| slowness - usual).collect();
            let median = quantile(&mut own, 0.5)?;
            // The standard error of the median of normal values with the spread of all tasks.
            let by_chance = 1.25 * self.spread / (GROUP as f64).sqrt();
            let is_busy = median >= FAR * by_chance.max(BUSY / 2.0);
            is_busy.then(|| (group[0].0, group[GROUP - 1].0, median.exp().min(MOST_BUSY)))
        });
        (slowness, busy.collect())
    }

    /// ln of the slowness of the other tasks that ran on the node of an attempt, mostly at its time; `None` if too few did.
    fn busy(&self, row: &AttemptRow) -> Option<f64> {
        let rows = self.beside.get(&self.machine(row)?)?;
        let until = rows.partition_point(|(start, ..)| *start < row.end);
        let mut at_its_time: Vec<f64> = rows[..until]
            .iter()
            .filter(|(start, end, _)| (*start, *end) != (row.start, row.end))
            .filter(|(start, end, _)| end.min(row.end) - start.max(row.start) > 0.5 * (end - start))
            .map(|(.., slowness)| *slowness)
            .collect();
        (at_its_time.len() >= FEWEST_BESIDE).then(|| quantile(&mut at_its_time, 0.5))?
    }

    /// Returns the stragglers by cause.
    pub fn stragglers(&self) -> StragglersByCause {
        let mut sum = StragglersByCause::default();
        let mut causes: BTreeMap<Cause, (u64, f64)> = BTreeMap::new();
        for (at, (phase, typical)) in self.recording.phases.iter().zip(self.typical).enumerate() {
            let Some(seconds) = typical.seconds else { continue };
            let stragglers = stragglers(phase, typical);
            if stragglers.is_empty() {
                continue;
            }
            let usual = Usual::of(phase);
            for (number, took) in stragglers {
                let excess = took - seconds;
                let (tasks, all) = causes.entry(self.cause(at, number, (took, seconds), &usual)).or_default();
                (*tasks, *all) = (*tasks + 1, *all + excess);
                sum.tasks += 1;
                sum.excess_seconds += excess;
            }
        }
        sum.causes = causes
            .into_iter()
            .map(|(cause, (tasks, excess_seconds))| StragglerCause { cause, tasks, excess_seconds })
            .collect();
        sum.causes.sort_by(|a, b| b.excess_seconds.total_cmp(&a.excess_seconds).then(a.cause.cmp(&b.cause)));
        sum
    }

    fn cause(&self, at: usize, number: usize, (took, typical): (f64, f64), usual: &Usual) -> Cause {
        let row = &self.recording.phases[at].rows[number];
        let (excess, log) = (took - typical, slowness(took, typical));
        let half = |seconds: f32, usual: f32| f64::from(seconds - usual) >= excess / 2.0;
        let explains = |log_part: f64| log_part >= log / 2.0;
        if self.is_cold(at, number) && explains(self.first_wave_of(at).unwrap_or(self.first_wave)) {
            return Cause::FirstWave;
        }
        let (own, usual_times) = (&row.spent, &usual.times);
        if half(own.garbage_collection, usual_times.garbage_collection) {
            return Cause::GarbageCollection;
        }
        if half(own.fetch_wait, usual_times.fetch_wait) {
            return Cause::FetchWait;
        }
        if half(own.deserialization, usual_times.deserialization) {
            // Loading classes is part of it.
            return if self.is_cold(at, number) { Cause::FirstWave } else { Cause::Deserialization };
        }
        if half(own.delay, usual_times.delay) {
            return Cause::Delay;
        }
        let by_input = self.by_input(at, row).max(0.0);
        if explains(by_input) {
            return Cause::Input;
        }
        if own.spilled > 0.0 && own.spilled > 2.0 * usual_times.spilled {
            return Cause::Spill;
        }
        let machine = self.machine(row);
        if machine.and_then(|machine| self.slow.get(&machine)).is_some_and(|ratio| explains(by_input + ratio.ln())) {
            return Cause::SlowNode;
        }
        if self.busy(row).is_some_and(|busy| busy >= BUSY && explains(by_input + busy)) {
            return Cause::BusyNode;
        }
        if usual.by_distance(own.distance).is_some_and(explains) {
            return Cause::Locality;
        }
        Cause::Unexplained
    }

    /// ln of how many times as long the first waves of a phase take; `None` if too few tasks show it.
    pub fn first_wave_of(&self, at: usize) -> Option<f64> {
        let (phase, typical) = (&self.recording.phases[at], &self.typical[at]);
        let seconds = typical.seconds.filter(|_| typical.is_later)?;
        let first = phase.rows.iter().zip(&typical.is_first).filter(|(row, first)| row.wins && **first);
        let mut all: Vec<f64> = first.map(|(row, _)| slowness(row.seconds(), seconds)).collect();
        if all.len() < FEWEST_ALIKE { None } else { quantile(&mut all, 0.5) }
    }
}

/// Returns the stragglers of a phase: the number of the attempt that was slow, and how long the task took. If a copy has won, that
/// is the time from the start of the original, which is the slow one.
fn stragglers(phase: &PhaseRows, typical: &Typical) -> Vec<(usize, f64)> {
    let Some(limit) = typical.limit() else { return Vec::new() };
    let overtaken: FxHashMap<u32, usize> = phase
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.wins && !row.speculative && row.ended != crate::analysis::Ended::Failed)
        .map(|(at, row)| (row.task, at))
        .collect();
    let of = |(at, row): (usize, &AttemptRow)| match overtaken.get(&row.task).filter(|_| row.speculative) {
        Some(original) if phase.rows[*original].start <= row.start => {
            (*original, row.end - phase.rows[*original].start)
        }
        _ => (at, row.seconds()),
    };
    let winners = phase.rows.iter().enumerate().filter(|(_, row)| row.wins);
    winners.map(of).filter(|(_, took)| *took > limit).collect()
}

/// True if a copy has overtaken an attempt, which was killed then.
fn is_overtaken(phase: &PhaseRows, row: &AttemptRow) -> bool {
    let by = |other: &AttemptRow| other.wins && other.task == row.task && other.speculative && other.start > row.start;
    !row.wins && !row.speculative && row.ended != crate::analysis::Ended::Failed && phase.rows.iter().any(by)
}

fn slowness(seconds: f64, typical: f64) -> f64 {
    (seconds.max(super::typical::LEAST) / typical).ln()
}

/// ln of the bytes that an attempt read; `None` if it read none.
pub fn log_bytes(row: &AttemptRow) -> Option<f64> {
    row.bytes_read.filter(|bytes| *bytes > 0).map(|bytes| (bytes as f64).ln())
}

/// Returns the number of the machine of each executor, and the machines' names.
fn machines(recording: &Recording) -> (Vec<u32>, Vec<&str>) {
    let (mut numbers, mut names) = (FxHashMap::default(), Vec::new());
    let of = recording.executors.iter().map(|executor| {
        *numbers.entry(&*executor.host).or_insert_with(|| {
            names.push(&*executor.host);
            names.len() as u32 - 1
        })
    });
    (of.collect(), names)
}

/// What is usual of the winners of a phase.
struct Usual {
    times: TaskTimes,
    /// Number of winners at each distance from their input, and ln of their median duration.
    distances: [(usize, f64); 4],
}

impl Usual {
    fn of(phase: &PhaseRows) -> Usual {
        let median = |of: &dyn Fn(&TaskTimes) -> f32| {
            let mut all: Vec<f64> = phase.winners().map(|row| f64::from(of(&row.spent))).collect();
            quantile(&mut all, 0.5).unwrap_or(0.0) as f32
        };
        let at = |distance: u8| {
            let of = phase.winners().filter(|row| row.spent.distance == distance);
            let mut all: Vec<f64> = of.map(|row| row.seconds().max(super::typical::LEAST).ln()).collect();
            (all.len(), quantile(&mut all, 0.5).unwrap_or(0.0))
        };
        Usual {
            times: TaskTimes {
                garbage_collection: median(&|times| times.garbage_collection),
                deserialization: median(&|times| times.deserialization),
                fetch_wait: median(&|times| times.fetch_wait),
                delay: median(&|times| times.delay),
                spilled: median(&|times| times.spilled),
                distance: 0,
            },
            distances: [at(0), at(1), at(2), at(3)],
        }
    }

    /// ln of how many times as long tasks at this distance from their input take as nearer ones; `None` if too few are known.
    fn by_distance(&self, distance: u8) -> Option<f64> {
        let (count, here) = *self.distances.get(usize::from(distance))?;
        let nearer = self.distances[..usize::from(distance)].iter().rev().find(|(count, _)| *count >= FEWEST_ALIKE)?;
        (count >= FEWEST_ALIKE).then_some(here - nearer.1)
    }
}
