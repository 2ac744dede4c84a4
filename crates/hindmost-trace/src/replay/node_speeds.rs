//! How slow each node was, as far as the log shows it: a shrunken estimate.
//!
//! A node is accused of being slow only with proof (`diagnosis/slow_nodes.rs`). A replay must say how long a copy takes on
//! each node, and there the best estimate is worth more than all or nothing. The median of a node's tasks, against the same phases
//! on other nodes, is drawn towards 1: the less the nodes differ beyond chance and the fewer tasks the node ran, the more.

use std::collections::BTreeMap;

use hindmost_math::statistics::{mean, median};
use rustc_hash::FxHashMap;

use crate::diagnosis::context::{Context, FEWEST_ALIKE};

/// ln of the least slowness that counts.
const LEAST: f64 = 0.05;
/// The median of normal values is this many times as uncertain as their mean.
const OF_MEDIAN: f64 = 1.25;
/// The median distance from the middle of a normal distribution, in standard deviations.
const MIDDLE: f64 = 0.6745;

/// Returns how many times as long tasks take on each machine, for those that differ.
pub(super) fn speeds(context: &Context<'_>) -> FxHashMap<u32, f64> {
    let mut by_phase: BTreeMap<usize, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    let first: Vec<f64> =
        (0..context.recording.phases.len()).map(|at| context.first_wave_of(at).unwrap_or(0.0).max(0.0)).collect();
    for (at, number, row, slowness) in context.winners() {
        let Some(machine) = context.machine(row) else { continue };
        let of_wave = if context.typical[at].is_first[number] { first[at] } else { 0.0 };
        let own = slowness - context.by_input(at, row) - of_wave;
        by_phase.entry(at).or_default().entry(machine).or_default().push(own);
    }
    let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for of_machines in by_phase.values() {
        let of_each = of_machines.iter().filter_map(|(machine, own)| Some((*machine, median(&mut own.clone())?)));
        let medians: Vec<(u32, f64)> = of_each.collect();
        for (machine, own) in of_machines {
            // Each other node counts as much, or the many tasks of fast nodes would be the usual ones.
            let others = medians.iter().filter(|(other, _)| other != machine);
            let mut others: Vec<f64> = others.map(|(_, median)| *median).collect();
            let Some(usual) = median(&mut others) else { continue };
            logs.entry(*machine).or_default().extend(own.iter().map(|log| log - usual));
        }
    }
    let middles: Vec<(u32, f64, f64)> = logs
        .iter()
        // Of fewer tasks, a long one by its own would be the middle.
        .filter(|(_, logs)| logs.len() >= FEWEST_ALIKE)
        .filter_map(|(machine, logs)| Some((*machine, median(&mut logs.clone())?, logs.len() as f64)))
        .collect();
    if middles.len() < 2 {
        return FxHashMap::default();
    }
    // A few tasks are nearer to their own middle than to that of all possible ones.
    let within = middles.iter().flat_map(|(machine, middle, count)| {
        let factor = (count / (count - 1.0)).sqrt();
        logs[machine].iter().map(move |log| factor * (log - middle).abs())
    });
    let spread = median(&mut within.collect::<Vec<f64>>()).unwrap_or(0.0) / MIDDLE;
    let error = |count: f64| (OF_MEDIAN * spread).powi(2) / count;
    let centre = median(&mut middles.iter().map(|(_, middle, _)| *middle).collect::<Vec<f64>>()).unwrap_or(0.0);
    let squares: Vec<f64> =
        middles.iter().map(|(_, middle, count)| (middle - centre).powi(2) - error(*count)).collect();
    let between = mean(&squares).unwrap_or(0.0).max(0.0);
    let shrunken = |(machine, middle, count): (u32, f64, f64)| {
        let log = if between > 0.0 { middle * between / (between + error(count)) } else { 0.0 };
        (log.abs() >= LEAST).then(|| (machine, log.exp()))
    };
    middles.into_iter().filter_map(shrunken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::typical::Typical;
    use crate::recording::Recording;
    use crate::testing::{executor, phase, recording, row};

    /// Four nodes of two slots, on the last of which tasks of about 1.5 s take `slowness` times as long.
    fn with_slow_node(slowness: f64) -> Recording {
        let mut free: Vec<(f64, u32)> = (0..8).map(|slot| (0.0, slot / 2)).collect();
        let of_task = |task: u32| {
            free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (start, node) = free[0];
            free[0].0 = start + (1.5 + 0.03 * f64::from(task * 7 % 11)) * if node == 3 { slowness } else { 1.0 };
            row(task, node, start, free[0].0)
        };
        let rows = (0..24).map(of_task).collect();
        recording(vec![phase(rows)], (0..4).map(|number| executor(&format!("h{number}"), 2)).collect())
    }

    fn speeds_of(recording: &Recording) -> FxHashMap<u32, f64> {
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        speeds(&Context::of(recording, &typical).0)
    }

    #[test]
    fn a_node_with_few_tasks_has_most_of_its_slowness() {
        let found = speeds_of(&with_slow_node(3.0));
        assert!((2.5..3.2).contains(&found[&3]), "{found:?}");
        assert!(found.iter().all(|(machine, by)| *machine == 3 || (by - 1.0).abs() < 0.1), "{found:?}");
    }

    #[test]
    fn a_node_with_a_single_long_task_is_not_slow() {
        let mut rows: Vec<_> =
            (0..24).map(|task| row(task, task % 3, f64::from(task), f64::from(task) + 1.0)).collect();
        rows.push(row(24, 3, 0.0, 9.0));
        let executors = (0..4).map(|number| executor(&format!("h{number}"), 1)).collect();
        let found = speeds_of(&recording(vec![phase(rows)], executors));
        assert!(!found.contains_key(&3), "{found:?}");
    }

    #[test]
    fn nodes_that_differ_by_chance_are_alike() {
        let found = speeds_of(&with_slow_node(1.0));
        assert!(found.values().all(|by| (by - 1.0).abs() < 0.08), "{found:?}");
    }
}
