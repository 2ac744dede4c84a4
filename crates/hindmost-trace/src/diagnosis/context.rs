//! What is known about a whole application that explains durations: first waves, inputs, slow nodes, and nodes that were busy for a
//! time. First waves are kept apart wherever nodes and inputs are compared: they hold few of the tasks and most of the stragglers of
//! real Spark logs, and would accuse whichever node or input they meet.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::metrics::Skew;
use hindmost_math::statistics::quantile;
use rustc_hash::FxHashMap;

use super::neighbours::Neighbours;
use super::typical::Typical;
use crate::recording::{AttemptRow, PhaseRows, Recording};

/// Fewest winners of a first wave, or at a distance from their input, that show what is typical of them.
pub const FEWEST_ALIKE: usize = 3;
/// ln of the least slowness of tasks on a busy node.
pub const BUSY: f64 = 0.2;

/// Fewest tasks of a wave of a machine while it warms up.
const FEWEST_OF_WAVE: usize = 4;
/// ln by which the tasks of such a wave may be slower than those of the one before.
const AS_FAST: f64 = 0.1;
/// ln by which the tasks of the last of these waves must be faster than those of the first.
const FASTER: f64 = 0.3;
/// The wave of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// A later one.
    Later,
    /// The first of its executor in its phase, which has later ones.
    FirstOfPhase,
    /// The first of its executor in the application.
    FirstOfExecutor,
}

impl Wave {
    /// Number of waves.
    pub const COUNT: u32 = 3;

    /// Number of the wave.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// What is tested for slowness: nodes, or the executors of the only node.
#[derive(Clone)]
pub(super) struct Tested<'a> {
    /// Their numbers, by executor.
    numbers: Vec<u32>,
    names: Vec<&'a str>,
    are_executors: bool,
}

impl<'a> Tested<'a> {
    /// `machines` are the number of the machine of each executor, and the machines' names.
    pub(super) fn of(recording: &'a Recording, (machines, names): (&[u32], Vec<&'a str>)) -> Tested<'a> {
        let named: Option<Vec<&str>> = recording.executors.iter().map(|executor| executor.name.as_deref()).collect();
        match named.filter(|named| names.len() == 1 && named.len() > 1) {
            Some(names) => Tested { numbers: (0..).take(names.len()).collect(), names, are_executors: true },
            None => Tested { numbers: machines.to_vec(), names, are_executors: false },
        }
    }
}

/// The seconds that the first winners of executors took beyond what is typical of their phases.
#[derive(Clone, Default)]
pub(super) struct ColdExcess {
    /// The two largest of each executor.
    by_executor: FxHashMap<u32, [f64; 2]>,
    /// The executors with the largest ones, and these.
    most: [(u32, f64); 2],
}

impl ColdExcess {
    fn of(context: &Context<'_>) -> ColdExcess {
        let mut by_executor: FxHashMap<u32, [f64; 2]> = FxHashMap::default();
        for (at, number, row, _) in context.winners() {
            if let Some(typical) =
                context.typical[at].seconds.filter(|_| context.wave(at, number) == Wave::FirstOfExecutor)
            {
                let excess = (row.seconds() - typical).max(0.0);
                let most = by_executor.entry(row.executor).or_default();
                *most = [most[0].max(excess), most[1].max(most[0].min(excess))];
            }
        }
        let mut all: Vec<(u32, f64)> = by_executor.iter().map(|(executor, most)| (*executor, most[0])).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let most = [0, 1].map(|at| all.get(at).copied().unwrap_or_default());
        ColdExcess { by_executor, most }
    }
}

/// How durations grow with the input in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByInput {
    /// ln of the median bytes of the tasks that show the typical duration.
    pub typical: f64,
    /// The power of the bytes with which durations grow.
    pub power: f64,
}

/// What is known about the whole application.
#[derive(Clone)]
pub struct Context<'a> {
    /// The application.
    pub recording: &'a Recording,
    /// What is typical of its phases.
    pub typical: &'a [Typical],
    /// Numbers of the machines, by executor.
    pub(super) machines: Vec<u32>,
    /// What is tested for slowness.
    pub(super) tested: Tested<'a>,
    /// When the first attempt on each executor ended, and last the same where the executor is not known.
    pub(super) warm_from: Vec<f64>,
    /// ln of the slowness of each winner, by phase.
    pub(super) slowness: Vec<Vec<f64>>,
    /// ln of how many times as long attempts in first waves take, in the middle; 0 if the log does not show it.
    pub first_wave: f64,
    /// Slow nodes and their slowness.
    pub(super) slow: BTreeMap<u32, f64>,
    /// Nodes whose tasks took remarkably longer, although too few ran there to prove that they are slow.
    pub(super) perhaps_slow: BTreeSet<u32>,
    /// For each phase, how durations grow with the input.
    pub(super) inputs: Vec<Option<ByInput>>,
    /// For each phase, the fit of durations to inputs.
    pub(super) fits: Vec<Option<Skew>>,
    /// For each phase, whether it has winners after first waves.
    pub(super) has_later: Vec<bool>,
    /// For each phase, how many winners in first waves show how many times as long they take, and ln of this.
    pub(super) first_waves: Vec<Option<(usize, f64)>>,
    /// The winners that are not in first waves, once they are needed.
    pub(super) neighbours: OnceCell<Neighbours>,
    /// What the first winners of executors took beyond what is typical, once it is needed.
    pub(super) cold: OnceCell<ColdExcess>,
    /// Until when the tasks of each machine got faster from wave to wave, from its first one on, once it is needed.
    pub(super) warming: OnceCell<FxHashMap<u32, f64>>,
}

impl<'a> Context<'a> {
    /// True if an attempt was among the first of its executor, so that its duration shows that, too.
    pub fn is_cold(&self, phase: usize, row: usize) -> bool {
        let (typical, found) = (&self.typical[phase], &self.recording.phases[phase].rows[row]);
        if typical.is_later { typical.is_first[row] } else { self.is_executor_cold(found) }
    }

    /// True if an attempt started before the first one on its executor had ended.
    fn is_executor_cold(&self, row: &AttemptRow) -> bool {
        self.warm_from[(row.executor as usize).min(self.warm_from.len() - 1)] > row.start
    }

    /// The wave of an attempt.
    pub fn wave(&self, phase: usize, row: usize) -> Wave {
        let found = &self.recording.phases[phase].rows[row];
        if self.is_executor_cold(found) {
            Wave::FirstOfExecutor
        } else if self.typical[phase].is_first[row] && self.has_later[phase] {
            Wave::FirstOfPhase
        } else {
            Wave::Later
        }
    }

    /// The machine of an attempt; `None` if unknown.
    pub fn machine(&self, row: &AttemptRow) -> Option<u32> {
        self.machines.get(row.executor as usize).copied()
    }

    /// The machine of an executor; `None` if unknown.
    pub fn machine_of(&self, executor: u32) -> Option<u32> {
        self.machines.get(executor as usize).copied()
    }

    /// How many times as long attempts take on the node of an attempt, if it was slow all the time.
    pub fn slowness_of_node(&self, row: &AttemptRow) -> Option<f64> {
        self.slowness_of_executor(row.executor)
    }

    /// True if the node of an attempt may have been slow all the time, although too few tasks ran there to prove it.
    pub fn is_perhaps_slow(&self, row: &AttemptRow) -> bool {
        self.node(row).is_some_and(|node| self.perhaps_slow.contains(&node))
    }

    /// How many times as long attempts take on the node of an executor, if it was slow all the time.
    pub fn slowness_of_executor(&self, executor: u32) -> Option<f64> {
        self.tested.numbers.get(executor as usize).and_then(|node| self.slow.get(node)).copied()
    }

    /// The node of an attempt: what is tested for slowness. That is its machine, or its executor if all executors are on one machine.
    pub fn node(&self, row: &AttemptRow) -> Option<u32> {
        self.tested.numbers.get(row.executor as usize).copied()
    }

    /// The name of a node.
    pub fn name(&self, node: u32) -> &str {
        self.tested.names.get(node as usize).map_or("", |name| name)
    }

    /// Whether executors are tested for slowness, because they are all on one machine.
    pub fn are_executors_tested(&self) -> bool {
        self.tested.are_executors
    }

    /// How the durations of a phase fit its inputs, with a mean for each wave; `None` if too few tasks show it.
    pub fn fit(&self, phase: usize) -> Option<Skew> {
        self.fits[phase]
    }

    /// ln of the part of an attempt's slowness that its input explains.
    pub fn by_input(&self, phase: usize, row: &AttemptRow) -> f64 {
        match (self.inputs[phase], log_bytes(row)) {
            (Some(found), Some(bytes)) => found.power * (bytes - found.typical),
            _ => 0.0,
        }
    }

    /// Winners with their phase, number in the phase and ln of their slowness.
    pub fn winners(&self) -> impl Iterator<Item = (usize, usize, &'a AttemptRow, f64)> {
        let phases = self.recording.phases.iter().zip(&self.slowness).enumerate();
        phases.flat_map(|(at, (phase, slowness))| {
            let rows = phase.rows.iter().zip(slowness).enumerate().filter(|(_, (row, _))| row.wins);
            rows.map(move |(number, (row, slowness))| (at, number, row, *slowness))
        })
    }

    /// The seconds that an attempt took longer because it was in a first wave, where `first` is ln of how many times as long these take:
    /// not what it took longer by chance, or on a slow node. 0 if first waves of its phase hardly take longer.
    pub fn excess_of_first_wave(&self, at: usize, number: usize, first: f64) -> f64 {
        let (row, typical) = (&self.recording.phases[at].rows[number], &self.typical[at]);
        let Some(usual) = typical.seconds.filter(|_| typical.is_later && typical.is_first[number]) else { return 0.0 };
        if first < BUSY {
            return 0.0;
        }
        let seconds = row.seconds() / self.slowness_of_node(row).unwrap_or(1.0);
        (seconds * (1.0 - (-first).exp())).min(seconds - usual).max(0.0)
    }

    /// The most seconds that other first attempts of executors took beyond what is typical of their phases, whatever the phases, where one
    /// of this executor took so many; `None` if fewer than three other executors show it.
    pub fn most_of_other_cold(&self, executor: u32, excess: f64) -> Option<f64> {
        let ColdExcess { by_executor, most } = self.cold.get_or_init(|| ColdExcess::of(self));
        let own = by_executor.get(&executor);
        if by_executor.len() - usize::from(own.is_some()) < FEWEST_ALIKE {
            return None;
        }
        let elsewhere = most[usize::from(most[0].0 == executor)].1;
        let here = own.map_or(0.0, |own| own[usize::from(own[0] <= excess)]);
        Some(elsewhere.max(here))
    }

    pub(super) fn slowness_of_first_waves(&self) -> f64 {
        let first = self
            .winners()
            .filter(|(phase, number, ..)| self.typical[*phase].is_later && self.typical[*phase].is_first[*number]);
        let mut all: Vec<f64> = first.map(|(at, _, row, slowness)| slowness - self.by_input(at, row)).collect();
        if all.len() < FEWEST_ALIKE { 0.0 } else { quantile(&mut all, 0.5).unwrap_or(0.0).max(0.0) }
    }

    /// True if an attempt started while the tasks on its machine still got faster from wave to wave, from its first one on.
    pub fn is_warming(&self, row: &AttemptRow) -> bool {
        let warming = self.warming.get_or_init(|| self.warming());
        self.machine(row).and_then(|machine| warming.get(&machine)).is_some_and(|until| row.start < *until)
    }

    fn warming(&self) -> FxHashMap<u32, f64> {
        let mut rows: FxHashMap<u32, Vec<(f64, f64, f64)>> = FxHashMap::default();
        for (phase, _, row, slowness) in self.winners() {
            let Some(machine) = self.machine(row) else { continue };
            rows.entry(machine).or_default().push((row.start, row.end, slowness - self.by_input(phase, row)));
        }
        rows.into_iter().filter_map(|(machine, mut rows)| Some((machine, warm_from(&mut rows)?))).collect()
    }

    /// ln of how many times as long the first waves of a phase take, apart from what their input explains; `None` if too few tasks show it.
    pub fn first_wave_of(&self, at: usize) -> Option<f64> {
        self.first_waves[at].filter(|(tasks, _)| *tasks >= FEWEST_ALIKE).map(|(_, first)| first)
    }

    /// The same as far as the log shows it: of the application if too few tasks of the phase show it, or else of those few.
    pub fn probable_first_wave_of(&self, at: usize) -> f64 {
        let of_application = || Some(self.first_wave).filter(|first| *first > 0.0);
        let of_few = || self.first_waves[at].map(|(_, first)| first);
        self.first_wave_of(at).or_else(of_application).or_else(of_few).unwrap_or(0.0)
    }

    pub(super) fn first_waves(&self) -> Vec<Option<(usize, f64)>> {
        let of = |(at, (phase, typical)): (usize, (&PhaseRows, &Typical))| {
            let seconds = typical.seconds.filter(|_| typical.is_later)?;
            let first = phase.rows.iter().zip(&typical.is_first).filter(|(row, first)| row.wins && **first);
            let own = |row: &AttemptRow| {
                let seconds_elsewhere = row.seconds() / self.slowness_of_node(row).unwrap_or(1.0);
                slowness(seconds_elsewhere, seconds) - self.by_input(at, row)
            };
            let mut all: Vec<f64> = first.map(|(row, _)| own(row)).collect();
            Some((all.len(), quantile(&mut all, 0.5)?))
        };
        self.recording.phases.iter().zip(self.typical).enumerate().map(of).collect()
    }
}

/// Returns when a machine was warm, of whose winners start, end and ln of the slowness are given; `None` if its tasks did not get faster
/// from wave to wave until they were as usual.
fn warm_from(rows: &mut [(f64, f64, f64)]) -> Option<f64> {
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut first, mut before) = (None, f64::INFINITY);
    let mut rest = &*rows;
    while !rest.is_empty() {
        // A wave is what starts before the first task of it has ended.
        let mut end = f64::INFINITY;
        let in_wave = |(at, (start, ends, _)): (usize, &(f64, f64, f64))| {
            let is_in = at < FEWEST_OF_WAVE || *start < end;
            end = end.min(*ends);
            is_in
        };
        let count = rest.iter().enumerate().map(in_wave).take_while(|is_in| *is_in).count();
        let (wave, others) = rest.split_at(count);
        let slowness = quantile(&mut wave.iter().map(|(.., slowness)| *slowness).collect::<Vec<f64>>(), 0.5)?;
        if slowness < BUSY {
            return first.filter(|first| first - before >= FASTER).map(|_| wave[0].0);
        }
        if slowness > before + AS_FAST {
            return None;
        }
        first = first.or(Some(slowness));
        (before, rest) = (slowness, others);
    }
    None
}

/// True if a phase has winners after first waves.
pub(super) fn has_later((phase, typical): (&PhaseRows, &Typical)) -> bool {
    phase.rows.iter().zip(&typical.is_first).any(|(row, is_first)| row.wins && !is_first)
}

/// ln of how many times as long as is typical an attempt took.
pub fn slowness(seconds: f64, typical: f64) -> f64 {
    (seconds.max(super::typical::LEAST) / typical).ln()
}

/// The same of each winner of a phase; NaN for other attempts.
pub(super) fn slowness_of((phase, typical): (&PhaseRows, &Typical)) -> Vec<f64> {
    let of = |row: &AttemptRow| typical.seconds.filter(|_| row.wins).map(|typical| slowness(row.seconds(), typical));
    phase.rows.iter().map(|row| of(row).unwrap_or(f64::NAN)).collect()
}

/// ln of the bytes that an attempt read; `None` if it read none.
pub fn log_bytes(row: &AttemptRow) -> Option<f64> {
    row.bytes_read.filter(|bytes| *bytes > 0).map(|bytes| (bytes as f64).ln())
}

/// Returns the number of the machine of each executor, and the machines' names.
pub(super) fn machines(recording: &Recording) -> (Vec<u32>, Vec<&str>) {
    let (mut numbers, mut names) = (FxHashMap::default(), Vec::new());
    let of = recording.executors.iter().map(|executor| {
        *numbers.entry(&*executor.host).or_insert_with(|| {
            names.push(&*executor.host);
            names.len() as u32 - 1
        })
    });
    (of.collect(), names)
}
