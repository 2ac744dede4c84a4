//! Finds nodes that were slow all the time.
//!
//! Attempts are only compared with attempts of the same phase, in the same wave and as far away from their input, on other nodes.
//! The first attempts of a node in a phase share its cold caches, so together they are one observation.
//!
//! Two tests complement each other. The one of `trace info` compares ranks, so one straggler never makes a node slow, but a node that
//! runs little besides its first waves can't be proven slow by ranks among a few nodes. The other one compares, over phases and waves,
//! the nodes' medians with the spread of those of the other nodes.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::metrics::SlowNode;
use hindmost_math::fit::{student_quantile, student_two_sided};
use hindmost_math::statistics::{mean, median};

use super::causes::{Context, Wave};
use super::recording::{AttemptRow, PhaseRows};
use super::typical::LEAST;
use crate::analysis::nodes::Nodes;
use crate::analysis::{Ended, PhaseKey};

/// Significance level of each of the two tests for slow nodes, over all nodes of an application together. It is low because tasks on one
/// node at one time have more in common than the test assumes.
const LEVEL: f64 = 0.001;
/// A slow node must be this slow in both halves of the time.
const BOTH_HALVES: f64 = 1.15;
/// Fewest observations of a node in each half.
const FEWEST_IN_HALF: u64 = 2;
/// Fewest nodes that show the spread of medians.
const FEWEST_NODES: usize = 3;
/// A slow node must be this slow by the test of medians, as by the test of ranks.
const LEAST_RATIO: f64 = 1.2;
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
    tasks: u32,
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
    let (mut slow, mut tested) = nodes(&|_| true).provably_slow(LEVEL);
    let (by_medians, compared_by_medians) = slow_by_medians(&strata);
    tested = tested.max(compared_by_medians);
    slow.extend(
        by_medians.into_iter().filter(|(node, _)| slow.iter().all(|(found, _)| found != node)).collect::<Vec<_>>(),
    );
    slow.sort_by(|a, b| b.1.ratio.total_cmp(&a.1.ratio).then(a.0.cmp(&b.0)));
    slow.retain(|(node, _)| {
        let own = strata.iter().flatten().filter(|one| one.machine == *node);
        let mut starts: Vec<f64> = own.map(|one| one.start).collect();
        let Some(middle) = median(&mut starts) else { return false };
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

/// Finds nodes whose medians are far above those of other nodes, by a t-test over phases and waves. Also returns how many nodes were
/// compared.
fn slow_by_medians(strata: &[Vec<Observed>]) -> (Vec<(u32, SlowNode)>, u64) {
    // ln of the slowness of the nodes in each stratum, relative to the median of all nodes.
    let mut medians: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut used = 0_u32;
    for observed in strata {
        let mut of_nodes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for one in observed {
            of_nodes.entry(one.machine).or_default().push(one.log);
        }
        let own: Vec<(u32, f64)> =
            of_nodes.into_iter().filter_map(|(node, mut logs)| Some((node, median(&mut logs)?))).collect();
        let middle = median(&mut own.iter().map(|(_, log)| *log).collect::<Vec<f64>>());
        if let Some(middle) = middle.filter(|_| own.len() >= FEWEST_NODES) {
            used += 1;
            for (node, log) in own {
                medians.entry(node).or_default().push(log - middle);
            }
        }
    }
    let all: usize = medians.values().map(Vec::len).sum();
    let squares: f64 = medians.values().flatten().map(|log| log * log).sum();
    medians.retain(|_, own| own.len() as u64 >= 2 * FEWEST_IN_HALF);
    let count = medians.len() as f64;
    let of = |(node, own): (&u32, &Vec<f64>)| {
        let degrees = (all - own.len()) as f64 - f64::from(used);
        let others = squares - own.iter().map(|log| log * log).sum::<f64>();
        let (by, error) = (mean(own)?, (others / degrees / own.len() as f64).sqrt());
        if degrees < 1.0 || by < LEAST_RATIO.ln() {
            return None;
        }
        let p = student_two_sided(by / error, degrees) / 2.0;
        let half = student_quantile(0.975, degrees) * error;
        let found = SlowNode {
            node: String::new(),
            tasks: 0,
            phases: 0,
            ratio: by.exp(),
            ratio_ci95: [(by - half).exp(), (by + half).exp()],
            p,
            p_corrected: (p * count).min(1.0),
            stragglers: 0,
        };
        (found.p_corrected <= LEVEL).then_some((*node, found))
    };
    (medians.iter().filter_map(of).collect(), medians.len() as u64)
}

/// Returns how many tasks of a node, in how many phases, were compared with those of other nodes.
fn compared(strata: &[Vec<Observed>], node: u32) -> (u64, u64) {
    let (mut tasks, mut phases) = (0, BTreeSet::new());
    for (number, observed) in strata.iter().enumerate() {
        if observed.iter().any(|one| one.machine != node) {
            let own: u64 = observed.iter().filter(|one| one.machine == node).map(|one| u64::from(one.tasks)).sum();
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
        if let Some(log) = median(&mut logs) {
            strata[kind].push(Observed { log, machine, start, tasks: rows.len() as u32 });
        }
    }
    strata
}

/// True if a copy has overtaken an attempt, which was killed then.
fn is_overtaken(phase: &PhaseRows, row: &AttemptRow) -> bool {
    let by = |other: &AttemptRow| other.wins && other.task == row.task && other.speculative && other.start > row.start;
    !row.wins && !row.speculative && row.ended != Ended::Failed && phase.rows.iter().any(by)
}
