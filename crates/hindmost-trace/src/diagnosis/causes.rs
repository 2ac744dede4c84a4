//! Finds out what explains durations in a whole application: first waves, inputs, slow nodes and busy times, one after the other.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use hindmost_math::statistics::quantile;
use hindmost_math::without::quantile_without;

use super::context::{Context, FEWEST_ALIKE, Tested, has_later, machines, slowness_of};
use super::inputs::inputs;
use super::slow_nodes::{SlowNodes, slow_nodes_also_of_log};
use super::typical::{Typical, first_ends};
use crate::recording::Recording;

/// How many times as long the tasks of a node must have taken in the middle for it to be slow perhaps. Live runs count nodes as slow from
/// there on.
const MAY_BE_SLOW: f64 = 1.5;

impl<'a> Context<'a> {
    /// Learns from all attempts of an application. Returns the slow nodes too.
    pub fn of(recording: &'a Recording, typical: &'a [Typical]) -> (Context<'a>, SlowNodes) {
        let (mut context, slow) = Context::with_nodes(recording, typical);
        context.perhaps_slow.clone_from(&slow.perhaps);
        context.first_waves = context.first_waves();
        context.first_wave = context.slowness_of_first_waves();
        (context, slow)
    }

    /// Learns which inputs and nodes explain durations. Returns the slow nodes too.
    pub(super) fn with_nodes(recording: &'a Recording, typical: &'a [Typical]) -> (Context<'a>, SlowNodes) {
        let (machines, names) = machines(recording);
        let mut context = Context {
            recording,
            typical,
            tested: Tested::of(recording, (&machines, names)),
            machines,
            warm_from: first_ends(recording.phases.iter().flat_map(|phase| &phase.rows), recording.executors.len()),
            slowness: recording.phases.iter().zip(typical).map(slowness_of).collect(),
            first_wave: 0.0,
            slow: BTreeMap::new(),
            perhaps_slow: BTreeSet::new(),
            inputs: vec![None; recording.phases.len()],
            fits: Vec::new(),
            has_later: recording.phases.iter().zip(typical).map(has_later).collect(),
            first_waves: Vec::new(),
            neighbours: OnceCell::new(),
            cold: OnceCell::new(),
            warming: OnceCell::new(),
        };
        (context.inputs, context.fits) = inputs(&context);
        let mut slow;
        (slow, context.slow) = slow_nodes_also_of_log(&context);
        if !context.slow.is_empty() {
            // Without what slow nodes explain, inputs can be seen better, and then nodes.
            (context.inputs, context.fits) = inputs(&context);
            (slow, context.slow) = slow_nodes_also_of_log(&context);
        }
        (context, slow)
    }

    /// Returns this context under the assumption that the nodes are slow that may be: those whose tasks took in the middle at least
    /// [`MAY_BE_SLOW`] times as long as others, although too few tasks ran there to prove it. `None` if a node is proven to be slow, or if
    /// there is no such node.
    pub fn with_possibly_slow(&self) -> Option<Context<'a>> {
        if !self.slow.is_empty() {
            return None;
        }
        let mut by_phase: BTreeMap<usize, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        for (at, _, row, slowness) in self.winners() {
            let Some(node) = self.node(row) else { continue };
            by_phase.entry(at).or_default().entry(node).or_default().push(slowness - self.by_input(at, row));
        }
        // ln of how many times as long the tasks of each machine took, once for each task.
        let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for of_machines in by_phase.values_mut() {
            let mut all: Vec<f64> = of_machines.values().flatten().copied().collect();
            all.sort_unstable_by(f64::total_cmp);
            for (machine, own) in of_machines {
                own.sort_unstable_by(f64::total_cmp);
                let Some(usual) = quantile_without(&all, own, 0.5) else { continue };
                ratios.entry(*machine).or_default().extend(own.iter().map(|log| log - usual));
            }
        }
        ratios.retain(|_, logs| logs.len() >= FEWEST_ALIKE);
        let middle = |(machine, mut logs): (u32, Vec<f64>)| Some((machine, quantile(&mut logs, 0.5)?.exp()));
        let slow: BTreeMap<u32, f64> =
            ratios.into_iter().filter_map(middle).filter(|(_, ratio)| *ratio >= MAY_BE_SLOW).collect();
        (!slow.is_empty()).then(|| {
            // What first waves took does not depend on it.
            let mut found = Context { slow, neighbours: OnceCell::new(), ..self.clone() };
            found.first_waves = found.first_waves();
            found
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::diagnose;
    use crate::testing::{executor, phase, recording, row};

    #[test]
    fn a_slow_node_and_chance_are_no_excess_of_first_waves() {
        // Eight nodes of two slots, one of them three times as slow; durations between 0.8 and 1.2 s, whatever the wave.
        let mut rows = Vec::new();
        for number in 0..8 {
            for at in 0..20 {
                let seconds = (0.8 + 0.1 * f64::from((7 * at + 3 * number) % 5)) * if number == 3 { 3.0 } else { 1.0 };
                let start = 4.0 * f64::from(at / 2);
                rows.push(row(20 * number + at, number, start, start + seconds));
            }
        }
        let executors = (0..8).map(|number| executor(&format!("h{number}"), 2)).collect();
        let found = diagnose(&recording(vec![phase(rows)], executors));
        let shares = found.wall_time.iter().flat_map(|time| &time.parts).filter_map(|part| part.first_wave_share);
        assert_eq!(found.slow_nodes.len(), 1);
        assert!(shares.clone().all(|share| share < 0.01), "{:?}", shares.collect::<Vec<f64>>());
    }
}
