//! Finds nodes that were slow all the time.
//!
//! Attempts are only compared with attempts of the same phase, in the same wave and as far away from their input, on other nodes.
//! The first attempts of a node in a phase share its cold caches, so together they are one observation.
//!
//! Two tests complement each other. The one of `trace info` compares ranks, so one straggler never makes a node slow, but a node that
//! runs little besides its first waves can't be proven slow by ranks among a few nodes. The other one compares, over phases and waves,
//! the nodes' medians with the spread of those of the other nodes. Durations have long tails, of which this spread shows little: so the
//! second test must also succeed without the phase and wave that speak most for it, and the ranks must agree.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::metrics::{PerhapsSlow, SlowNode, Untested};
use hindmost_math::fit::{student_quantile, student_two_sided};
use hindmost_math::numeric::normal_survival;
use hindmost_math::statistics::{mean, median};
use rustc_hash::FxHashMap;

use super::context::{Context, Wave};
use super::rank_sums::Nodes;
use super::typical::{LEAST, Typical};
use crate::recording::{AttemptRow, Ended, PhaseRows, Recording};

/// Significance level of each of the two tests for slow nodes, over all nodes of an application together. It is low because tasks on one
/// node at one time have more in common than the test assumes, and because there are many applications.
const LEVEL: f64 = 0.0001;
/// The same for the second test without the stratum that speaks most for it.
const LEVEL_WITHOUT_ONE: f64 = 0.001;
/// The largest p-value of ranks, of one node, with which the second test counts.
const RANKS_AGREE: f64 = 0.005;
/// The largest p-value of ranks, over all nodes together, with which the slowness of a node that can't be tested is named.
const REMARKABLE: f64 = 0.1;
/// The same if each task counts, also of those that share the cold caches of their node.
const REMARKABLE_BY_TASKS: f64 = 0.001;
/// A node that can't be tested must be this slow to be named.
const REMARKABLE_RATIO: f64 = 1.5;
/// The most nodes that can't be tested whose slowness is given.
const LISTED: usize = 8;
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
    node: u32,
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
    /// Nodes that ran too few tasks for a test.
    pub untested: Untested,
    /// Those of them whose tasks took remarkably longer than those of other nodes.
    pub perhaps: BTreeSet<u32>,
}

/// Finds the nodes that were slow in both halves of the time for which the log shows them. Also returns the slowness of each.
pub fn slow_nodes(context: &Context<'_>) -> (SlowNodes, BTreeMap<u32, f64>) {
    let recording = context.recording;
    let strata: Vec<Vec<Observed>> = (0..recording.phases.len()).flat_map(|at| observed(context, at, false)).collect();
    let nodes = |keep: &dyn Fn(&Observed) -> bool, wanted: &dyn Fn(u32) -> bool| {
        let kept = strata.iter().enumerate().map(|(number, observed)| {
            let kept = observed.iter().filter(|one| keep(one));
            (key(recording, number), kept.map(|one| (one.log, one.node)).collect())
        });
        Nodes::of(kept, wanted)
    };
    let all = nodes(&|_| true, &|_| true);
    let (mut slow, tested) = all.provably_slow(LEVEL);
    let (by_medians, compared_by_medians) = slow_by_medians(&strata);
    let tested: BTreeSet<u32> = tested.into_iter().chain(compared_by_medians).collect();
    let is_new = |node: u32| slow.iter().all(|(found, _)| *found != node);
    let is_backed = |node: u32| all.p_within(node, RANKS_AGREE).is_some();
    let more: Vec<(u32, SlowNode)> =
        by_medians.into_iter().filter(|(node, _)| is_new(*node) && is_backed(*node)).collect();
    slow.extend(more);
    slow.sort_by(|a, b| b.1.ratio.total_cmp(&a.1.ratio).then(a.0.cmp(&b.0)));
    let mut begins: FxHashMap<u32, f64> = FxHashMap::default();
    for one in strata.iter().flatten().filter(|_| !slow.is_empty()) {
        let begin = begins.entry(one.node).or_insert(one.start);
        *begin = begin.min(one.start);
    }
    // Any other one that took long may be slow.
    let significant: BTreeSet<u32> = slow.iter().map(|(node, _)| *node).collect();
    // Slow in one half of its time, where too few tasks show the other one.
    let mut half_shown = BTreeSet::new();
    slow.retain(|(node, _)| {
        let own = strata.iter().flatten().filter(|one| one.node == *node);
        let mut starts: Vec<f64> = own.map(|one| one.start).collect();
        starts.sort_by(f64::total_cmp);
        let Some(middle) = starts.get(starts.len() / 2).copied() else { return false };
        // Many tasks may start together.
        let is_first_early = starts[0] == middle;
        let is_early = |start: f64| start < middle || is_first_early && start <= middle;
        let in_halves = [true, false].map(|early| {
            let half = nodes(&|one| one.node != *node || is_early(one.start) == early, &|one| one == *node);
            half.ratio_of(*node, FEWEST_IN_HALF)
        });
        // Tasks may get longer with time, as those of a list sorted by size: so what ran elsewhere at the same time counts.
        let then = compared_near(&strata, *node, |one| one.start);
        let is_slow_then = |early: bool| {
            let mut half: Vec<f64> =
                then.iter().filter(|(start, _)| is_early(*start) == early).map(|(_, by)| *by).collect();
            median(&mut half).is_none_or(|by| by >= BOTH_HALVES.ln())
        };
        // One that joins late may take several waves to get warm, when others are: so what ran elsewhere at the same age counts, too.
        let by_age = compared_near(&strata, *node, |one| one.start - begins[&one.node]);
        let mut at_age: Vec<f64> = by_age.iter().map(|(_, by)| *by).collect();
        if median(&mut at_age).is_some_and(|by| by < BOTH_HALVES.ln()) {
            return false;
        }
        let mut last: Vec<f64> = then[then.len() - then.len() / 3..].iter().map(|(_, by)| *by).collect();
        let is_slow_at_last = median(&mut last).is_none_or(|by| by >= BOTH_HALVES.ln());
        if then.is_empty() || !is_slow_at_last || ![true, false].into_iter().all(is_slow_then) {
            return false;
        }
        let is_slow = |by: &Option<f64>| by.is_none_or(|by| by >= BOTH_HALVES);
        if in_halves.iter().all(is_slow) && in_halves.iter().any(Option::is_none) {
            half_shown.insert(*node);
        }
        in_halves.iter().all(|by| by.is_some_and(|by| by >= BOTH_HALVES))
    });
    let tested: BTreeSet<u32> = tested.difference(&half_shown).copied().collect();
    let mut ratios = BTreeMap::new();
    for (node, found) in &mut slow {
        context.name(*node).clone_into(&mut found.node);
        (found.tasks, found.phases) = compared(&strata, *node);
        ratios.insert(*node, found.ratio);
    }
    let shown = significant.difference(&half_shown).copied().collect();
    let (untested, perhaps) = untested(context, &strata, &all, (&tested, &shown));
    let slow = slow.into_iter().map(|(_, found)| found).collect();
    (SlowNodes { slow, tested: tested.len() as u64, untested, perhaps }, ratios)
}

/// Does the same, and adds the nodes that all jobs of the log together prove to be slow, and on which tasks ran.
pub fn slow_nodes_also_of_log(context: &Context<'_>) -> (SlowNodes, BTreeMap<u32, f64>) {
    let (mut found, mut ratios) = slow_nodes(context);
    if context.recording.slow_in_log.is_empty() {
        return (found, ratios);
    }
    let rows = context.recording.phases.iter().flat_map(|phase| &phase.rows);
    let used: BTreeSet<u32> = rows.filter_map(|row| context.node(row)).collect();
    for slow in &context.recording.slow_in_log {
        let node = used.iter().copied().find(|node| context.name(*node) == slow.node);
        let Some(node) = node.filter(|node| !ratios.contains_key(node)) else { continue };
        ratios.insert(node, slow.ratio);
        found.slow.push(slow.clone());
        found.perhaps.remove(&node);
        found.untested.perhaps_slow.retain(|one| one.node != slow.node);
        // It is tested by the log, even if this job has too few of its tasks.
        if found.untested.names.contains(&slow.node) {
            found.untested.names.retain(|name| *name != slow.node);
            found.untested.nodes -= 1;
            found.tested += 1;
        }
    }
    found.slow.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then_with(|| a.node.cmp(&b.node)));
    (found, ratios)
}

/// Returns the nodes that a recording proves to be slow.
pub(crate) fn proven_slow(recording: &Recording) -> Vec<SlowNode> {
    let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
    Context::with_nodes(recording, &typical).1.slow
}

/// Returns the nodes with attempts that were not tested, and those whose tasks took remarkably longer than those of other nodes although
/// that was not `shown` of them.
fn untested(
    context: &Context<'_>,
    strata: &[Vec<Observed>],
    all: &Nodes,
    (tested, shown): (&BTreeSet<u32>, &BTreeSet<u32>),
) -> (Untested, BTreeSet<u32>) {
    let recording = context.recording;
    let ran: BTreeSet<u32> =
        recording.phases.iter().flat_map(|phase| &phase.rows).filter_map(|row| context.node(row)).collect();
    let untested: Vec<u32> = ran.difference(tested).copied().collect();
    if ran.len() < 2 || ran.is_subset(shown) {
        return (Untested::default(), BTreeSet::new());
    }
    let ratio_of = |node: &u32| Some((*node, all.ratio_of(*node, 1).filter(|ratio| *ratio >= REMARKABLE_RATIO)?));
    let long: FxHashMap<u32, f64> = ran.difference(shown).filter_map(ratio_of).collect();
    // Only needed where a node took long.
    let by_tasks = OnceCell::new();
    let by_tasks = || {
        by_tasks.get_or_init(|| {
            let each = (0..recording.phases.len()).flat_map(|at| observed(context, at, true));
            let each = each.enumerate().map(|(number, observed)| {
                (key(recording, number), observed.into_iter().map(|one| (one.log, one.node)).collect())
            });
            Nodes::of(each, |node| long.contains_key(&node))
        })
    };
    let of = |node: &u32| {
        let ratio = *long.get(node)?;
        let is_at_most = |nodes: &Nodes, level: f64| nodes.p_within(*node, level / ran.len() as f64).is_some();
        let is_remarkable = is_at_most(all, REMARKABLE) || is_at_most(by_tasks(), REMARKABLE_BY_TASKS);
        let name = context.name(*node).to_owned();
        is_remarkable.then(|| (*node, PerhapsSlow { node: name, tasks: compared(strata, *node).0, ratio }))
    };
    let found: Vec<(u32, PerhapsSlow)> = ran.difference(shown).filter_map(of).collect();
    let (perhaps, mut perhaps_slow): (BTreeSet<u32>, Vec<PerhapsSlow>) = found.into_iter().unzip();
    perhaps_slow.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then_with(|| a.node.cmp(&b.node)));
    perhaps_slow.truncate(LISTED);
    let names = untested.iter().take(LISTED).map(|node| context.name(*node).to_owned()).collect();
    (Untested { nodes: untested.len() as u64, names, perhaps_slow }, perhaps)
}

/// Returns a number of a stratum that no other application has.
fn key(recording: &Recording, number: usize) -> u64 {
    u64::from(recording.application) << 32 | number as u64
}

/// Finds nodes whose medians are far above those of other nodes, by a t-test over phases and waves. Also returns the nodes that were
/// compared.
fn slow_by_medians(strata: &[Vec<Observed>]) -> (Vec<(u32, SlowNode)>, Vec<u32>) {
    // ln of the slowness of the nodes in each stratum, relative to the median of all nodes.
    let mut medians: Vec<(u32, f64)> = Vec::new();
    let mut used = 0_u32;
    for observed in strata {
        let mut logs: Vec<(u32, f64)> = observed.iter().map(|one| (one.node, one.log)).collect();
        logs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let middle = |own: &[(u32, f64)]| f64::midpoint(own[(own.len() - 1) / 2].1, own[own.len() / 2].1);
        let own: Vec<(u32, f64)> = logs.chunk_by(|a, b| a.0 == b.0).map(|own| (own[0].0, middle(own))).collect();
        let of_all = median(&mut own.iter().map(|(_, log)| *log).collect::<Vec<f64>>());
        if let Some(of_all) = of_all.filter(|_| own.len() >= FEWEST_NODES) {
            used += 1;
            medians.extend(own.into_iter().map(|(node, log)| (node, log - of_all)));
        }
    }
    medians.sort_by_key(|(node, _)| *node);
    let all = medians.len();
    let squares: f64 = medians.iter().map(|(_, log)| log * log).sum();
    let compared: Vec<&[(u32, f64)]> =
        medians.chunk_by(|a, b| a.0 == b.0).filter(|own| own.len() as u64 >= 2 * FEWEST_IN_HALF).collect();
    let count = compared.len() as f64;
    let of = |of_node: &&[(u32, f64)]| {
        let node = of_node[0].0;
        let own: Vec<f64> = of_node.iter().map(|(_, log)| *log).collect();
        let degrees = (all - own.len()) as f64 - f64::from(used);
        let others = squares - own.iter().map(|log| log * log).sum::<f64>();
        // The mean, its standard error, and the p-value.
        let test = |own: &[f64]| {
            let (by, error) = (mean(own)?, (others / degrees / own.len() as f64).sqrt());
            let is_slow = degrees >= 1.0 && by >= LEAST_RATIO.ln();
            // Student's distribution has the longer tail, so a normal one shows soon what is too likely.
            let may_be_slow = is_slow && normal_survival(by / error) * count <= LEVEL_WITHOUT_ONE;
            may_be_slow.then(|| (by, error, student_two_sided(by / error, degrees) / 2.0))
        };
        let (by, error, p) = test(&own)?;
        let mut sorted = own.clone();
        sorted.sort_by(f64::total_cmp);
        let (.., p_without_one) = test(&sorted[..sorted.len() - 1])?;
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
        let is_proven = found.p_corrected <= LEVEL && p_without_one * count <= LEVEL_WITHOUT_ONE;
        is_proven.then_some((node, found))
    };
    (compared.iter().filter_map(of).collect(), compared.iter().map(|own| own[0].0).collect())
}

/// Returns by how much, in ln, each observation of a node exceeds the median of those of the same kind that started elsewhere at about the
/// same time, as `when` gives it, after its start. Those of first waves count only where the others of their kind started then.
fn compared_near(strata: &[Vec<Observed>], node: u32, when: impl Fn(&Observed) -> f64) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for observed in strata {
        let mut others: Vec<(f64, f64)> =
            observed.iter().filter(|one| one.node != node).map(|one| (when(one), one.log)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Within the time that a task usually takes, each slot starts one.
        let Some(usual) = median(&mut others.iter().map(|(_, log)| *log).collect::<Vec<f64>>()) else { continue };
        for one in observed.iter().filter(|one| one.node == node) {
            let from = others.partition_point(|(other, _)| *other < when(one) - usual.exp());
            let until = others.partition_point(|(other, _)| *other <= when(one) + usual.exp());
            let then = median(&mut others[from..until].iter().map(|(_, log)| *log).collect::<Vec<f64>>());
            found.extend(then.map(|then| (one.start, one.log - then)));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    found
}

/// Returns how many tasks of a node, in how many phases, were compared with those of other nodes.
fn compared(strata: &[Vec<Observed>], node: u32) -> (u64, u64) {
    let (mut tasks, mut phases) = (0, BTreeSet::new());
    for (number, observed) in strata.iter().enumerate() {
        if observed.iter().any(|one| one.node != node) {
            let own: u64 = observed.iter().filter(|one| one.node == node).map(|one| u64::from(one.tasks)).sum();
            tasks += own;
            phases.extend((own > 0).then_some(number / KINDS as usize));
        }
    }
    (tasks, phases.len() as u64)
}

/// The observations of a phase that may be compared with each other, by kind. Unless `each` task counts, first attempts on a node are one
/// observation together.
fn observed(context: &Context<'_>, at: usize, each: bool) -> Vec<Vec<Observed>> {
    let phase = &context.recording.phases[at];
    let mut strata: Vec<Vec<Observed>> = (0..KINDS).map(|_| Vec::new()).collect();
    // The kind, the node, ln of the duration and the start of those that are one observation with others.
    let mut together: Vec<(usize, u32, f64, f64)> = Vec::new();
    let stopped = Stopped::of(phase, context.typical[at].limit());
    for (number, row) in phase.rows.iter().enumerate() {
        let seconds = if row.wins { Some(row.seconds()) } else { stopped.seconds(row) };
        let Some(seconds) = seconds else { continue };
        let Some(node) = context.node(row) else { continue };
        let log = seconds.max(LEAST).ln() - context.by_input(at, row);
        let distance = u32::from(row.spent.distance).min(DISTANCES - 1);
        let kind = (context.wave(at, number).number() * DISTANCES + distance) as usize;
        if !each && context.is_cold(at, number) && !context.recording.are_processes_separate {
            together.push((kind, node, log, row.start));
        } else {
            strata[kind].push(Observed { log, node, start: row.start, tasks: 1 });
        }
    }
    together.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    for own in together.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (kind, node, ..) = own[0];
        let log = f64::midpoint(own[(own.len() - 1) / 2].2, own[own.len() / 2].2);
        let start = own.iter().map(|(.., start)| *start).fold(f64::INFINITY, f64::min);
        strata[kind].push(Observed { log, node, start, tasks: own.len() as u32 });
    }
    strata
}

/// Attempts that were stopped because another one of their task won. They would have taken longer than they ran.
struct Stopped {
    /// Winners by task: start, end, and whether they are copies.
    winners: FxHashMap<u32, (f64, f64, bool)>,
    /// The duration beyond which an attempt of the phase is a straggler.
    limit: Option<f64>,
}

impl Stopped {
    fn of(phase: &PhaseRows, limit: Option<f64>) -> Stopped {
        let has_losers = phase.rows.iter().any(|row| !row.wins);
        let winners = phase.winners().filter(|_| has_losers);
        Stopped { winners: winners.map(|row| (row.task, (row.start, row.end, row.speculative))).collect(), limit }
    }

    /// Returns how long an attempt ran that did not win, if this shows how slow its node is: if a copy has overtaken it, or if it
    /// already ran for longer than is usual.
    fn seconds(&self, row: &AttemptRow) -> Option<f64> {
        let (start, end, is_copy) = *self.winners.get(&row.task)?;
        let is_stopped = row.ended == Ended::Killed || row.ended == Ended::Succeeded;
        // Some engines log the end of a loser when it has cleaned up.
        let seconds = row.end.min(end) - row.start;
        let is_overtaken = is_copy && start > row.start && !row.speculative && row.ended != Ended::Failed;
        let is_long = is_stopped && self.limit.is_some_and(|limit| seconds > limit);
        (is_overtaken || is_long).then_some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::diagnose;
    use super::*;
    use crate::recording::{Executor, Recording};
    use crate::testing::{executor, phase, recording, row};

    /// Three nodes of four slots. Each of the `on_slow` originals of node 1 runs for 4 s until a copy elsewhere wins; all else takes 1 s.
    fn with_stopped(on_slow: u32) -> Recording {
        let mut rows = Vec::new();
        for task in 0..on_slow {
            let start = 5.0 * f64::from(task / 4) + 0.01 * f64::from(task % 4);
            let stopped = AttemptRow { wins: false, ended: Ended::Killed, ..row(task, 1, start, start + 4.0) };
            rows.push(stopped);
            rows.push(AttemptRow { speculative: true, ..row(task, 0, start + 3.0, start + 4.0) });
        }
        for task in 0..50 {
            let start = 1.2 * f64::from(task / 8) + 0.01 * f64::from(task % 8);
            rows.push(row(on_slow + task, 2 * (task % 2), start, start + 1.0 + 0.01 * f64::from(task * 7 % 10)));
        }
        rows.sort_by(|a, b| a.end.total_cmp(&b.end));
        let mut one = recording(vec![phase(rows)], (1..4).map(|number| executor(&format!("n{number}"), 4)).collect());
        one.are_processes_separate = true;
        one
    }

    #[test]
    fn attempts_that_were_stopped_prove_that_their_node_was_slow() {
        let found = diagnose(&with_stopped(6));
        let [slow] = &found.slow_nodes[..] else { panic!("{:?}", found.slow_nodes) };
        assert_eq!((&*slow.node, slow.tasks, slow.stragglers, found.nodes_tested), ("n2", 6, 6, 3));
        assert!(slow.ratio > 3.0 && slow.p_corrected < LEVEL, "{slow:?}");
        let causes: Vec<_> = found.stragglers.causes.iter().map(|found| (found.cause, found.tasks)).collect();
        assert_eq!(causes, [(hindmost_core::metrics::Cause::SlowNode, 6)]);
    }

    #[test]
    fn a_slow_node_of_one_wave_is_named_and_not_called_busy() {
        // Ten nodes of eight slots run phases of one wave; tasks on node 3 take four times as long.
        let waves = |count: u32| {
            let of_wave = |wave: u32| {
                let start = 50.0 * f64::from(wave);
                let seconds =
                    |task: u32| (9.0 + 0.2 * f64::from(task * 7 % 11)) * if task % 10 == 3 { 4.0 } else { 1.0 };
                phase((0..80).map(|task| row(task, task % 10, start, start + seconds(task))).collect())
            };
            let executors = (0..10).map(|number| executor(&format!("n{number}"), 8)).collect();
            diagnose(&recording((0..count).map(of_wave).collect(), executors))
        };
        for count in [1, 2] {
            let found = waves(count);
            let [slow] = &found.nodes_untested.perhaps_slow[..] else { panic!("{:?}", found.nodes_untested) };
            assert!(slow.node == "n3" && (slow.ratio - 4.0).abs() < 0.5, "{slow:?}");
            let causes: Vec<_> = found.stragglers.causes.iter().map(|one| (one.cause, one.tasks)).collect();
            assert_eq!(causes, [(hindmost_core::metrics::Cause::Unexplained, 8 * u64::from(count))]);
        }
        assert_eq!(waves(5).slow_nodes.len(), 1);
    }

    #[test]
    fn attempts_that_were_stopped_early_prove_nothing() {
        let mut one = with_stopped(6);
        for row in one.phases[0].rows.iter_mut().filter(|row| row.executor == 1) {
            row.end = row.start + 0.5;
        }
        for row in one.phases[0].rows.iter_mut().filter(|row| row.speculative) {
            row.end = row.start + 0.2;
        }
        assert_eq!(diagnose(&one).slow_nodes, []);
    }

    /// Executors of two slots on one host, the second of which takes `times` as long, in three stages.
    fn on_one_host(executors: u32, times: f64) -> Recording {
        let (mut phases, mut began) = (Vec::new(), 0.0_f64);
        for _ in 0..3 {
            let mut free: Vec<(f64, u32)> = (0..2 * executors).map(|slot| (began, slot / 2)).collect();
            let of = |task: u32| {
                free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let (start, number) = free[0];
                let seconds = (1.0 + 0.01 * f64::from(task * 7 % 11)) * if number == 1 { times } else { 1.0 };
                free[0].0 = start + seconds;
                row(task, number, start, start + seconds)
            };
            let mut rows: Vec<AttemptRow> = (0..24).map(of).collect();
            rows.sort_by(|a, b| a.end.total_cmp(&b.end));
            began = rows.last().map_or(began, |row| row.end);
            phases.push(phase(rows));
        }
        let of = |number| Executor { name: Some(format!("executor {number}")), ..executor("h", 2) };
        recording(phases, (0..executors).map(of).collect())
    }

    #[test]
    fn executors_of_one_host_are_compared() {
        for executors in [2, 3] {
            let found = diagnose(&on_one_host(executors, 3.0));
            let slow: Vec<&str> = found.slow_nodes.iter().map(|node| &*node.node).collect();
            assert_eq!((slow, found.are_executors_tested), (vec!["executor 1"], true), "{executors}");
            let alike = diagnose(&on_one_host(executors, 1.0));
            assert_eq!((alike.slow_nodes, alike.are_executors_tested), (vec![], true));
        }
        let mut one = on_one_host(3, 3.0);
        one.executors[2].host = "g".to_owned();
        assert!(!diagnose(&one).are_executors_tested, "there are two hosts");
    }

    #[test]
    fn a_node_with_too_few_tasks_is_named() {
        // In the last of three stages, two tasks of node 3 take three times as long.
        let mut one = on_one_host(3, 1.0);
        for (number, executor) in one.executors.iter_mut().enumerate() {
            executor.host = format!("h{number}");
        }
        one.executors.push(executor("h3", 2));
        let begin = one.phases[2].rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min);
        one.phases[2].rows.extend([row(24, 3, begin, begin + 3.0), row(25, 3, begin + 3.0, begin + 6.0)]);
        let found = diagnose(&one);
        assert_eq!((found.slow_nodes.len(), found.nodes_tested), (0, 3));
        assert_eq!((found.nodes_untested.nodes, &found.nodes_untested.names[..]), (1, &["h3".to_owned()][..]));
    }

    /// Six nodes of two slots, of which the last one joins after 120 s, and 300 tasks that start in order; `seconds` returns how
    /// long one takes there.
    fn with_late_node(seconds: impl Fn(u32, u32) -> f64) -> Recording {
        let mut free: Vec<(f64, u32)> = (0..12).map(|slot| (if slot >= 10 { 120.0 } else { 0.0 }, slot / 2)).collect();
        let of_task = |task: u32| {
            free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (start, node) = free[0];
            free[0].0 = start + seconds(task, node);
            row(task, node, start, free[0].0)
        };
        let rows = (0..300).map(of_task).collect();
        recording(vec![phase(rows)], (0..6).map(|number| executor(&format!("h{number}"), 2)).collect())
    }

    #[test]
    fn a_node_that_joins_when_tasks_are_long_is_not_slow() {
        // From 5 s to 30 s.
        let grows = |task: u32| 5.0 * (1.0 + f64::from(task) / 60.0);
        assert!(diagnose(&with_late_node(|task, _| grows(task))).slow_nodes.is_empty());
        // The tasks of several that join together, of executors that are cold, are not all alike.
        let at_random = |task: u32| 1.0 + 0.3 * (f64::from(task * 37 % 101) / 101.0 - 0.5);
        assert!(diagnose(&with_late_node(|task, _| at_random(task) * grows(task))).slow_nodes.is_empty());
        let slow = diagnose(&with_late_node(|task, node| if node == 5 { 2.0 } else { 1.0 } * grows(task))).slow_nodes;
        assert_eq!(slow.iter().map(|found| &*found.node).collect::<Vec<_>>(), ["h5"]);
    }

    #[test]
    fn a_node_that_joins_late_and_warms_up_is_not_slow() {
        // Each node takes twice as long at first, and gets warm within 20 s or so.
        let begins = |node: u32| if node == 5 { 120.0 } else { 0.0 };
        let free: Vec<(f64, u32)> = (0..12).map(|slot| (begins(slot / 2), slot / 2)).collect();
        let rows = |slow: f64, free: &mut Vec<(f64, u32)>| -> Vec<AttemptRow> {
            let of_task = |task: u32| {
                free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let (start, node) = free[0];
                let cold = 1.0 + (-(start - begins(node)) / 20.0).exp();
                let seconds =
                    4.0 * cold * (1.0 + 0.1 * f64::from(task * 37 % 11) / 11.0) * if node == 5 { slow } else { 1.0 };
                free[0].0 = start + seconds;
                row(task, node, start, free[0].0)
            };
            (0..420).map(of_task).collect()
        };
        let diagnosed = |slow: f64| {
            let rows = rows(slow, &mut free.clone());
            diagnose(&recording(vec![phase(rows)], (0..6).map(|number| executor(&format!("h{number}"), 2)).collect()))
        };
        assert_eq!(diagnosed(1.0).slow_nodes, []);
        assert_eq!(diagnosed(2.0).slow_nodes.len(), 1);
    }
}
