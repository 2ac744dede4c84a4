//! What the durations of tasks depend on: a decomposition of the variance of their logarithms within phases.
//!
//! The sums of squares are taken one after the other: first waves (by phase), input (a slope for each phase), nodes (over all
//! phases), the time on a node (groups of eight tasks that started there one after the other), and the rest. From each sum the
//! part is taken away that chance alone would give it (its degrees of freedom times the mean square of what is left), so that
//! pure noise has no part of its own. Intervals are from a bootstrap of the groups of eight.

use hindmost_core::metrics::{Variance, VarianceShare};
use hindmost_math::bootstrap::resampled_indices;
use hindmost_math::statistics::quantile;
use rustc_hash::FxHashMap;

use super::context::{Context, log_bytes};
use super::typical::{LEAST, Typical};
use crate::recording::Recording;

/// Fewest winners of a phase that is used.
const FEWEST_OF_PHASE: usize = 8;
/// Fewest winners of all phases together.
const FEWEST: usize = 60;
/// Number of tasks in a group.
const GROUP: usize = 8;
/// Fewest tasks of a phase for which a slope is fitted.
const FEWEST_FOR_SLOPE: f64 = 10.0;
/// Fewest tasks per node, on average, that distinguish a node's part from the rest.
const LEAST_PER_NODE: usize = 2 * GROUP;
/// Number of resamples.
const RESAMPLES: u64 = 200;
/// The most groups that are used. If there are more, some are left out evenly.
const MOST_GROUPS: usize = 2500;
/// Purpose of the random numbers.
const PURPOSE: u64 = 0x7661_7269_616e_6365;

/// Where a winner ran and when it started, and its phase and its number there.
type Place = (u32, f64, u32, u32);

/// A winner.
#[derive(Clone, Copy, Debug)]
struct Task {
    phase: usize,
    machine: u32,
    is_cold: bool,
    /// ln of the duration.
    log: f64,
    bytes: Option<f64>,
}

/// Returns what durations depend on; `None` if there are too few tasks.
pub fn variance(recording: &Recording, typical: &[Typical], context: &Context<'_>) -> Option<Variance> {
    let winners = || {
        let used = context.winners().filter(|(phase, ..)| typical[*phase].winners >= FEWEST_OF_PHASE);
        used.filter_map(|(phase, number, row, _)| Some((context.node(row)?, row.start, phase as u32, number as u32)))
    };
    // Counted first, because there may be millions, for which a growing list would take twice the memory.
    let mut places = Vec::with_capacity(winners().count());
    places.extend(winners());
    if places.len() < FEWEST {
        return None;
    }
    let task = |&(machine, _, phase, number): &Place| {
        let (phase, number) = (phase as usize, number as usize);
        let row = &recording.phases[phase].rows[number];
        Task {
            phase,
            machine,
            is_cold: context.is_cold(phase, number),
            log: row.seconds().max(LEAST).ln(),
            bytes: log_bytes(row),
        }
    };
    let groups: Vec<Vec<Cell>> = groups(&mut places).into_iter().map(|group| cells(group.iter().map(task))).collect();
    drop(places);
    let is_known = knows_nodes(&groups);
    let mut decomposition = Decomposition::of(&groups, recording.phases.len(), is_known);
    let (total, shares) = decomposition.shares(&vec![1.0; groups.len()])?;
    let mut times = vec![0.0; groups.len()];
    let mut resampled: Vec<[f64; 5]> = Vec::with_capacity(RESAMPLES as usize);
    for number in 0..RESAMPLES {
        times.fill(0.0);
        resampled_indices(PURPOSE, number, groups.len()).for_each(|at| times[at] += 1.0);
        resampled.extend(decomposition.shares(&times).map(|(_, shares)| shares));
    }
    let share = |at: usize| {
        let mut all: Vec<f64> = resampled.iter().map(|shares| shares[at]).collect();
        let mut bound = |share: f64| quantile(&mut all, share).unwrap_or(shares[at]);
        let [low, high] = [bound(0.025), bound(0.975)];
        // A bootstrap of groups is biased a little; the interval holds the estimate at least.
        VarianceShare { share: shares[at], ci95: [low.min(shares[at]).max(0.0), high.max(shares[at])] }
    };
    let (input, rest) = (share(1), share(4));
    Some(Variance {
        tasks: groups.iter().flatten().map(|cell| cell.tasks as u64).sum(),
        total,
        first_wave: share(0),
        input,
        node: is_known.then(|| share(2)),
        node_time: is_known.then(|| share(3)),
        rest,
        task_itself: [input.share, (input.share + rest.share).min(1.0)],
    })
}

/// Divides the tasks of each machine into groups that started one after the other. If there are too many groups, some are left out.
fn groups(places: &mut [Place]) -> Vec<&[Place]> {
    places.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    let all = || places.chunk_by(|a, b| a.0 == b.0).flat_map(|own| own.chunks(GROUP));
    let step = all().count().div_ceil(MOST_GROUPS).max(1);
    all().step_by(step).collect()
}

/// Sums over the tasks of a group that are of the same phase and wave, so that a resample need not visit each task.
#[derive(Clone, Copy, Debug)]
struct Cell {
    phase: usize,
    machine: u32,
    is_cold: bool,
    /// Number of tasks.
    tasks: f64,
    /// Sums of ln of the durations, and of its square.
    log: f64,
    square: f64,
    /// Number of tasks with an input.
    with_bytes: f64,
    /// Sums of ln of their inputs, of its square, of ln of their durations, and of the product.
    bytes: f64,
    bytes_square: f64,
    log_with_bytes: f64,
    product: f64,
}

/// Sums up the tasks of a group.
fn cells(tasks: impl Iterator<Item = Task>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for Task { phase, machine, is_cold, log, bytes } in tasks {
        let at = cells.iter().position(|cell| (cell.phase, cell.is_cold) == (phase, is_cold)).unwrap_or_else(|| {
            let sums = [0.0; 8];
            let [tasks, log, square, with_bytes, bytes, bytes_square, log_with_bytes, product] = sums;
            let of = Cell {
                phase,
                machine,
                is_cold,
                tasks,
                log,
                square,
                with_bytes,
                bytes,
                bytes_square,
                log_with_bytes,
                product,
            };
            cells.push(of);
            cells.len() - 1
        });
        let cell = &mut cells[at];
        cell.tasks += 1.0;
        cell.log += log;
        cell.square += log * log;
        if let Some(bytes) = bytes {
            cell.with_bytes += 1.0;
            cell.bytes += bytes;
            cell.bytes_square += bytes * bytes;
            cell.log_with_bytes += log;
            cell.product += bytes * log;
        }
    }
    cells
}

/// True if nodes have enough tasks to distinguish their part from the rest, and there are several.
fn knows_nodes(groups: &[Vec<Cell>]) -> bool {
    let mut tasks: FxHashMap<u32, f64> = FxHashMap::default();
    for cell in groups.iter().flatten() {
        *tasks.entry(cell.machine).or_default() += cell.tasks;
    }
    let all: f64 = tasks.values().sum();
    tasks.len() > 1 && all >= (LEAST_PER_NODE * tasks.len()) as f64
}

/// Sum and number of values.
type Mean = (f64, f64);

fn add(mean: &mut Mean, (sum, count): Mean) {
    mean.0 += sum;
    mean.1 += count;
}

fn of(mean: Mean) -> f64 {
    if mean.1 > 0.0 { mean.0 / mean.1 } else { 0.0 }
}

/// Sum over groups of the squared mean times the number of values, and the number of groups.
fn squares(means: impl Iterator<Item = Mean>) -> (f64, f64) {
    means
        .filter(|mean| mean.1 > 0.0)
        .fold((0.0, 0.0), |(sum, count), mean| (sum + mean.0 * mean.0 / mean.1, count + 1.0))
}

/// Sums over groups, each of which counts several times, and what they are made of.
struct Decomposition<'a> {
    groups: &'a [Vec<Cell>],
    /// Whether nodes and the time on them have a share.
    with_nodes: bool,
    /// ln of the durations, and of the inputs, by phase and wave.
    of_wave: Vec<Mean>,
    bytes: Vec<Mean>,
    /// By phase, for the slope of the input: the sum of squares, the sum of products, and the number of tasks.
    slopes: Vec<[f64; 3]>,
    /// By node, what its waves and inputs leave.
    of_node: Vec<Mean>,
}

/// The place of a phase's wave.
fn wave(cell: &Cell) -> usize {
    2 * cell.phase + usize::from(cell.is_cold)
}

impl<'a> Decomposition<'a> {
    fn of(groups: &'a [Vec<Cell>], phases: usize, with_nodes: bool) -> Decomposition<'a> {
        let machines = groups.iter().flatten().map(|cell| cell.machine as usize + 1).max().unwrap_or(0);
        Decomposition {
            groups,
            with_nodes,
            of_wave: vec![(0.0, 0.0); 2 * phases],
            bytes: vec![(0.0, 0.0); 2 * phases],
            slopes: vec![[0.0; 3]; phases],
            of_node: vec![(0.0, 0.0); machines],
        }
    }

    /// Returns the variance within phases, and the shares of first waves, input, node, time on the node, and the rest, where each group
    /// counts so many times. `None` if durations do not vary.
    fn shares(&mut self, times: &[f64]) -> Option<(f64, [f64; 5])> {
        let groups = || self.groups.iter().zip(times).filter(|(_, times)| **times > 0.0);
        let cells = || groups().flat_map(|(group, times)| group.iter().map(move |cell| (cell, *times)));
        let (of_wave, bytes) = (&mut self.of_wave, &mut self.bytes);
        of_wave.fill((0.0, 0.0));
        bytes.fill((0.0, 0.0));
        let (mut raw, mut count, mut with_bytes) = (0.0, 0.0, 0.0);
        for (cell, times) in cells() {
            add(&mut of_wave[wave(cell)], (times * cell.log, times * cell.tasks));
            add(&mut bytes[wave(cell)], (times * cell.bytes, times * cell.with_bytes));
            raw += times * cell.square;
            count += times * cell.tasks;
            with_bytes += cell.with_bytes;
        }
        let of_phase = of_wave.chunks(2).map(|waves| (waves[0].0 + waves[1].0, waves[0].1 + waves[1].1));
        let ((phase_squares, phase_count), (wave_squares, wave_count)) =
            (squares(of_phase), squares(of_wave.iter().copied()));
        let total = raw - phase_squares;
        if count <= phase_count + 1.0 || total <= 1e-9 * count {
            return None;
        }

        // Slopes of the input, within first waves and later waves.
        self.slopes.fill([0.0; 3]);
        for (cell, times) in cells().filter(|(cell, _)| with_bytes > 0.0 && cell.with_bytes > 0.0) {
            let (log, x) = (of(of_wave[wave(cell)]), of(bytes[wave(cell)]));
            let squares = cell.bytes_square - 2.0 * x * cell.bytes + cell.with_bytes * x * x;
            let products = cell.product - log * cell.bytes - x * cell.log_with_bytes + cell.with_bytes * x * log;
            let sums = &mut self.slopes[cell.phase];
            *sums = [sums[0] + times * squares, sums[1] + times * products, sums[2] + times * cell.with_bytes];
        }
        let is_fitted = |sums: &[f64; 3]| sums[2] >= FEWEST_FOR_SLOPE && sums[0] > 1e-6 * sums[2] && sums[1] > 0.0;
        let slope = |sums: &[f64; 3]| is_fitted(sums).then(|| sums[1] / sums[0]);
        let input_squares: f64 = self.slopes.iter().filter_map(|sums| Some(slope(sums)? * sums[1])).sum();
        let input_count = self.slopes.iter().filter(|sums| is_fitted(sums)).count() as f64;

        // Nodes, and groups on a node.
        let (mut nodes, mut on_node) = ((0.0, 0.0), (0.0, 0.0));
        if self.with_nodes {
            self.of_node.fill((0.0, 0.0));
            let (mut group_squares, mut group_count) = (0.0, 0.0);
            for (group, times) in groups() {
                let mut of_group = (0.0, 0.0);
                for cell in group {
                    let input = || cell.bytes - cell.with_bytes * of(bytes[wave(cell)]);
                    let by_input = slope(&self.slopes[cell.phase]).map_or(0.0, |slope| slope * input());
                    let left = cell.log - cell.tasks * of(of_wave[wave(cell)]) - by_input;
                    add(&mut self.of_node[cell.machine as usize], (times * left, times * cell.tasks));
                    add(&mut of_group, (left, cell.tasks));
                }
                group_squares += times * squares([of_group].into_iter()).0;
                group_count += times;
            }
            let (node_squares, node_count) = squares(self.of_node.iter().copied());
            nodes = (node_squares, (node_count - 1.0).max(0.0));
            on_node = (group_squares - node_squares, group_count - node_count);
        }
        let waves = (wave_squares - phase_squares, wave_count - phase_count);
        let parts = [waves, (input_squares, input_count), nodes, on_node];
        let explained: (f64, f64) = parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        let free = count - phase_count - explained.1;
        let noise = if free > 0.0 { ((total - explained.0) / free).max(0.0) } else { 0.0 };
        let shares: Vec<f64> =
            parts.iter().map(|(squares, free)| ((squares - free * noise) / total).clamp(0.0, 1.0) + 0.0).collect();
        let rest = (1.0 - shares.iter().sum::<f64>()).clamp(0.0, 1.0);
        Some((total / (count - phase_count), [shares[0], shares[1], shares[2], shares[3], rest]))
    }
}

#[cfg(test)]
mod tests {
    use hindmost_math::random::mix;

    use super::*;

    /// A number between −0.5 and 0.5 that only depends on `at` and `purpose`.
    fn noise(at: usize, purpose: u64) -> f64 {
        (mix(mix(at as u64 + 1) ^ mix(purpose)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    fn shares(log: impl Fn(usize, u32, usize, bool) -> f64, bytes: impl Fn(usize) -> Option<f64>) -> [f64; 5] {
        // Three phases; in each, 160 tasks on each of 8 machines; the first 8 tasks of each machine are cold.
        let (mut tasks, mut places) = (Vec::new(), Vec::new());
        for at in 0..3 * 8 * 160 {
            let (phase, machine, turn) = (at / 1280, (at / 160 % 8) as u32, at % 160);
            let is_cold = turn < 8;
            places.push((machine, (phase * 160 + turn) as f64, 0, at as u32));
            tasks.push(Task { phase, machine, is_cold, log: log(at, machine, turn / 8, is_cold), bytes: bytes(at) });
        }
        let of = |group: &[Place]| cells(group.iter().map(|place| tasks[place.3 as usize]));
        let groups: Vec<Vec<Cell>> = groups(&mut places).into_iter().map(of).collect();
        Decomposition::of(&groups, 3, true).shares(&vec![1.0; groups.len()]).unwrap().1
    }

    fn is_near(shares: [f64; 5], expected: [f64; 5]) {
        for (share, expected) in shares.into_iter().zip(expected) {
            assert!((share - expected).abs() < 0.04, "{shares:?}, expected {expected}");
        }
    }

    #[test]
    fn pure_noise_belongs_to_the_rest() {
        is_near(shares(|at, _, _, _| noise(at, 1), |at| Some(noise(at, 2))), [0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn each_part_is_found() {
        // Uniform noise of variance 1/12 each, so that two parts have half each.
        let node = shares(|at, machine, _, _| noise(at, 1) + noise(machine as usize, 7) * 1.2, |_| None);
        assert!(node[2] > 0.3 && node[3] < 0.05, "{node:?}");
        let time = shares(|at, machine, turn, _| noise(at, 1) + noise(turn * 8 + machine as usize, 3), |_| None);
        assert!((time[3] - 0.5).abs() < 0.1, "{time:?}");
        is_near(shares(|at, _, _, _| noise(at, 1) + noise(at, 2), |at| Some(noise(at, 2))), [0.0, 0.5, 0.0, 0.0, 0.5]);
        // 1 in 20 tasks is cold and takes e times as long: a variance of 0.05 · 0.95 = 0.0475 beside 1/12.
        let cold = shares(|at, _, _, cold| noise(at, 1) + f64::from(u8::from(cold)), |_| None);
        is_near(cold, [0.0475 / (0.0475 + 1.0 / 12.0), 0.0, 0.0, 0.0, (1.0 / 12.0) / (0.0475 + 1.0 / 12.0)]);
    }
}
