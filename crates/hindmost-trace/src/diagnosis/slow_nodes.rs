//! Finds nodes that were slow all the time.
//!
//! Attempts are only compared with attempts of the same phase, in the same wave and as far away from their input, on other nodes.
//! The first attempts of a node in a phase share its cold caches, so together they are one observation.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::metrics::SlowNode;
use hindmost_math::statistics::quantile;

use super::causes::{Context, Wave};
use super::recording::{AttemptRow, PhaseRows};
use super::typical::LEAST;
use crate::analysis::nodes::Nodes;
use crate::analysis::{Ended, PhaseKey};

/// Significance level of the test for slow nodes, over all nodes of an application together. It is low because tasks on one
/// node at one time have more in common than the test assumes.
const LEVEL: f64 = 0.001;
/// A slow node must be this slow in both halves of the time.
const BOTH_HALVES: f64 = 1.15;
/// Fewest observations of a node in each half.
const FEWEST_IN_HALF: u64 = 3;
/// Number of kinds of attempts in a phase: waves times distances from the input.
const KINDS: u32 = Wave::COUNT * DISTANCES;
/// Number of distances from the input.
const DISTANCES: u32 = 4;

/// An observation by which nodes are compared.
struct Observed {
    /// ln of the duration, without the part that its input explains.
    log: f64,
    machine: u32,
    start: f64,
    /// Number of attempts.
    tasks: u64,
}

/// Slow nodes of an application.
pub struct SlowNodes {
    /// Slow nodes, slowest first.
    pub slow: Vec<SlowNode>,
    /// Number of nodes that were tested.
    pub tested: u64,
}

/// Finds the nodes that were slow in both halves of the time for which the log shows them. Also returns the slowness of each.
pub fn slow_nodes(context: &Context<'_>) -> (SlowNodes, BTreeMap<u32, f64>) {
    let recording = context.recording;
    let strata: Vec<Vec<Observed>> = (0..recording.phases.len()).flat_map(|at| strata(context, at)).collect();
    let nodes = |keep: &dyn Fn(&Observed) -> bool| {
        let mut nodes = Nodes::default();
        for (number, observed) in strata.iter().enumerate() {
            let key = PhaseKey { application: recording.application, phase: number as u32 };
            let kept = observed.iter().filter(|one| keep(one));
            nodes.phase(key, kept.map(|one| (one.log, one.machine)).collect());
        }
        nodes
    };
    let (mut slow, tested) = nodes(&|_| true).provably_slow(LEVEL);
    slow.retain(|(node, _)| {
        let own = strata.iter().flatten().filter(|one| one.machine == *node);
        let mut starts: Vec<f64> = own.map(|one| one.start).collect();
        let Some(middle) = quantile(&mut starts, 0.5) else { return false };
        let is_slow_in = |is_early: bool| {
            let half = nodes(&|one| one.machine != *node || (one.start < middle) == is_early);
            half.ratio_of(*node, FEWEST_IN_HALF).is_some_and(|by| by >= BOTH_HALVES)
        };
        is_slow_in(true) && is_slow_in(false)
    });
    let mut ratios = BTreeMap::new();
    for (node, found) in &mut slow {
        context.names[*node as usize].clone_into(&mut found.node);
        (found.tasks, found.phases) = compared(&strata, *node);
        ratios.insert(*node, found.ratio);
    }
    (SlowNodes { slow: slow.into_iter().map(|(_, found)| found).collect(), tested }, ratios)
}

/// Returns how many tasks of a node, in how many phases, were compared with those of other nodes.
fn compared(strata: &[Vec<Observed>], node: u32) -> (u64, u64) {
    let (mut tasks, mut phases) = (0, BTreeSet::new());
    for (number, observed) in strata.iter().enumerate() {
        if observed.iter().any(|one| one.machine != node) {
            let own: u64 = observed.iter().filter(|one| one.machine == node).map(|one| one.tasks).sum();
            tasks += own;
            phases.extend((own > 0).then_some(number / KINDS as usize));
        }
    }
    (tasks, phases.len() as u64)
}

/// The observations of a phase that may be compared with each other, by kind.
fn strata(context: &Context<'_>, at: usize) -> Vec<Vec<Observed>> {
    let phase = &context.recording.phases[at];
    let mut strata: Vec<Vec<Observed>> = (0..KINDS).map(|_| Vec::new()).collect();
    let mut together: BTreeMap<(usize, u32), Vec<(f64, f64)>> = BTreeMap::new();
    let rows = phase.rows.iter().enumerate();
    // A loser that a copy has overtaken took at least as long as it ran.
    for (number, row) in rows.filter(|(_, row)| row.wins || is_overtaken(phase, row)) {
        let Some(machine) = context.machine(row) else { continue };
        let log = row.seconds().max(LEAST).ln() - context.by_input(at, row);
        let distance = u32::from(row.spent.distance).min(DISTANCES - 1);
        let kind = (context.wave(at, number).number() * DISTANCES + distance) as usize;
        if context.is_cold(at, number) {
            together.entry((kind, machine)).or_default().push((log, row.start));
        } else {
            strata[kind].push(Observed { log, machine, start: row.start, tasks: 1 });
        }
    }
    for ((kind, machine), rows) in together {
        let mut logs: Vec<f64> = rows.iter().map(|(log, _)| *log).collect();
        let start = rows.iter().map(|(_, start)| *start).fold(f64::INFINITY, f64::min);
        if let Some(log) = quantile(&mut logs, 0.5) {
            strata[kind].push(Observed { log, machine, start, tasks: rows.len() as u64 });
        }
    }
    strata
}

/// True if a copy has overtaken an attempt, which was killed then.
fn is_overtaken(phase: &PhaseRows, row: &AttemptRow) -> bool {
    let by = |other: &AttemptRow| other.wins && other.task == row.task && other.speculative && other.start > row.start;
    !row.wins && !row.speculative && row.ended != Ended::Failed && phase.rows.iter().any(by)
}
