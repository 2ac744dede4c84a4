//! Finds nodes on which nearly everything failed, although the same kinds of tasks did not fail elsewhere.
//!
//! A task counts once on each node on which it ran, and has failed there if no attempt of it succeeded there. Of each phase, the numbers of
//! tasks on the node and of failures are taken as they are: if failures did not depend on the node, those on the node would be drawn at
//! random among all, so that their number is hypergeometric. The sum over phases is tested (Fisher's exact test, stratified). Kinds of
//! tasks that always fail accuse no node, because only tasks of the same phase are compared. A node may also fail in one phase
//! only: then this phase is tested alone.

use std::collections::BTreeMap;

use hindmost_core::metrics::FailingNode;
use rustc_hash::FxHashMap;

use super::context::Context;
use crate::recording::{AttemptRow, Ended, PhaseRows};

/// Significance level of each of the two tests, over all nodes of an application together. It is low because failures of one time have
/// more in common than the test assumes.
const LEVEL: f64 = 0.001;
/// The least share of the tasks of a node that fail there.
const NEARLY_ALL: f64 = 0.8;
/// The share of the tasks elsewhere that fail is at most this part of that.
const ELSEWHERE: f64 = 0.5;
/// Fewest tasks that fail on a node.
const FEWEST: u64 = 4;
/// Fewest failures one after another: those at the same time may be a single event, such as the loss of an executor.
const FEWEST_IN_TURN: u32 = 2;
/// Tasks of a node for which the exact test takes too long; a bound on its p-value replaces it.
const MANY: u64 = 2000;

/// Tasks of a phase on a node, and on all nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Stratum {
    here: u64,
    failed_here: u64,
    all: u64,
    failed: u64,
}

/// Returns the nodes on which nearly everything failed, those with the most failures first.
pub(super) fn failing_nodes(context: &Context<'_>) -> Vec<FailingNode> {
    let phases = &context.recording.phases;
    let mut failed: FxHashMap<u32, u64> = FxHashMap::default();
    for row in phases.iter().flat_map(|phase| &phase.rows).filter(|row| row.ended == Ended::Failed) {
        *failed.entry(context.node(row).unwrap_or(u32::MAX)).or_default() += 1;
    }
    // In most logs, no node has enough failures.
    if !failed.iter().any(|(node, failed)| *node != u32::MAX && *failed >= FEWEST) {
        return Vec::new();
    }
    // The tasks of each node by phase, of phases that also ran elsewhere.
    let mut of_nodes: BTreeMap<u32, Vec<(usize, Stratum)>> = BTreeMap::new();
    for (at, phase) in phases.iter().enumerate() {
        for (node, stratum) in strata(context, phase) {
            of_nodes.entry(node).or_default().push((at, stratum));
        }
    }
    // What can be proven at all: a node of all phases together, or of one.
    let could = of_nodes.values().flatten().filter(|(_, one)| one.here >= FEWEST && one.failed >= FEWEST).count();
    let tests = (of_nodes.len(), could);
    let mut found: Vec<FailingNode> = of_nodes
        .iter()
        .filter(|(node, _)| failed.get(node).is_some_and(|failed| *failed >= FEWEST))
        .filter(|(node, _)| in_turn(context, **node) >= FEWEST_IN_TURN)
        .filter_map(|(node, own)| {
            let all: Vec<Stratum> = own.iter().map(|(_, stratum)| *stratum).collect();
            let of_one = |(at, stratum): &(usize, Stratum)| {
                let found = test(&[*stratum], tests.1)?;
                Some(FailingNode { phase: phases[*at].name.clone(), ..found })
            };
            let by_p = |a: &FailingNode, b: &FailingNode| a.p.total_cmp(&b.p);
            let found = test(&all, tests.0).or_else(|| own.iter().filter_map(of_one).min_by(by_p))?;
            Some(FailingNode { node: context.name(*node).to_owned(), ..found })
        })
        .collect();
    found.sort_by(|a, b| b.failed.cmp(&a.failed).then_with(|| a.node.cmp(&b.node)));
    found
}

/// Returns whether nothing outside stopped an attempt.
fn ended_itself(row: &AttemptRow) -> bool {
    matches!(row.ended, Ended::Succeeded | Ended::Failed)
}

/// Returns the tasks of a phase on each of its nodes; nothing if it ran on one node only.
fn strata(context: &Context<'_>, phase: &PhaseRows) -> BTreeMap<u32, Stratum> {
    // Whether each task succeeded on each node.
    let mut tasks: FxHashMap<(u32, u32), bool> = FxHashMap::default();
    for row in phase.rows.iter().filter(|row| ended_itself(row)) {
        if let Some(node) = context.node(row) {
            *tasks.entry((row.task, node)).or_default() |= row.ended == Ended::Succeeded;
        }
    }
    let mut strata: BTreeMap<u32, Stratum> = BTreeMap::new();
    for ((_, node), succeeded) in &tasks {
        let stratum = strata.entry(*node).or_default();
        stratum.here += 1;
        stratum.failed_here += u64::from(!succeeded);
    }
    let failed = strata.values().map(|one| one.failed_here).sum();
    for one in strata.values_mut() {
        (one.all, one.failed) = (tasks.len() as u64, failed);
    }
    if strata.len() < 2 { BTreeMap::new() } else { strata }
}

/// Returns how many failures of a node came one after another.
fn in_turn(context: &Context<'_>, node: u32) -> u32 {
    let rows = context.recording.phases.iter().flat_map(|phase| &phase.rows);
    let mut failed: Vec<&AttemptRow> =
        rows.filter(|row| row.ended == Ended::Failed && context.node(row) == Some(node)).collect();
    failed.sort_by(|a, b| a.end.total_cmp(&b.end).then(a.start.total_cmp(&b.start)));
    let (mut count, mut last) = (0, f64::NEG_INFINITY);
    for row in failed {
        if row.start >= last {
            (count, last) = (count + 1, row.end);
        }
    }
    count
}

/// Returns what is found of a node, without its name, if so many are tested; `None` if its tasks do not fail much more than others.
fn test(strata: &[Stratum], tests: usize) -> Option<FailingNode> {
    let sum = |of: fn(&Stratum) -> u64| strata.iter().map(of).sum::<u64>();
    let (tasks, failed) = (sum(|one| one.here), sum(|one| one.failed_here));
    let (tasks_elsewhere, failed_elsewhere) = (sum(|one| one.all) - tasks, sum(|one| one.failed) - failed);
    let share = failed as f64 / tasks.max(1) as f64;
    let elsewhere = failed_elsewhere as f64 / tasks_elsewhere.max(1) as f64;
    if failed < FEWEST || tasks_elsewhere == 0 || share < NEARLY_ALL || elsewhere > ELSEWHERE * share {
        return None;
    }
    let p = if tasks <= MANY { exact(strata, failed) } else { bound(strata, tasks, share) };
    let p_corrected = (p * tests as f64).min(1.0);
    (p_corrected <= LEVEL).then(|| FailingNode {
        node: String::new(),
        phase: None,
        tasks,
        failed,
        tasks_elsewhere,
        failed_elsewhere,
        p,
        p_corrected,
    })
}

/// The probability that at least so many tasks fail on the node by chance.
fn exact(strata: &[Stratum], failed: u64) -> f64 {
    let mut sums = vec![1.0];
    for stratum in strata.iter().filter(|stratum| stratum.here > 0) {
        let own = hypergeometric(*stratum);
        let mut next = vec![0.0; sums.len() + own.len() - 1];
        for (a, p) in sums.iter().enumerate() {
            for (b, q) in own.iter().enumerate() {
                next[a + b] += p * q;
            }
        }
        sums = next;
    }
    sums.iter().skip(failed as usize).sum()
}

/// The probabilities of 0, 1, … failures among the tasks of the node.
fn hypergeometric(stratum: Stratum) -> Vec<f64> {
    let Stratum { here, all, failed, .. } = stratum;
    let mut logs = vec![0.0_f64; all as usize + 1];
    for n in 1..=all as usize {
        logs[n] = logs[n - 1] + (n as f64).ln();
    }
    let choose = |n: u64, k: u64| logs[n as usize] - logs[k as usize] - logs[(n - k) as usize];
    (0..=here.min(failed))
        .map(|k| {
            let is_possible = here - k <= all - failed;
            if is_possible {
                (choose(failed, k) + choose(all - failed, here - k) - choose(all, here)).exp()
            } else {
                0.0
            }
        })
        .collect()
}

/// A bound on the probability that at least this share of so many tasks fails by chance (Chernoff and Hoeffding).
fn bound(strata: &[Stratum], tasks: u64, share: f64) -> f64 {
    let expected: f64 =
        strata.iter().filter(|one| one.here > 0).map(|one| one.here as f64 * one.failed as f64 / one.all as f64).sum();
    let p = expected / tasks as f64;
    if share <= p {
        return 1.0;
    }
    let part = |x: f64, y: f64| if x > 0.0 { x * (x / y).ln() } else { 0.0 };
    (-(tasks as f64) * (part(share, p) + part(1.0 - share, 1.0 - p))).exp()
}

#[cfg(test)]
mod tests {
    use super::super::diagnose;
    use super::*;
    use crate::testing::{executor, phase, recording, row};

    /// Two phases of tasks of 1 s; those of the first phase with `fails` fail.
    fn found(nodes: u32, fails: impl Fn(u32) -> bool) -> Vec<(String, u64, u64)> {
        let of = |task: u32| {
            let start = f64::from(task / nodes);
            let mut one = row(task, task % nodes, start, start + 1.0);
            if fails(task) {
                (one.wins, one.ended) = (false, Ended::Failed);
            }
            one
        };
        let names = ["a", "b", "c", "d"];
        let executors = (0..nodes).map(|at| executor(names[at as usize], 1)).collect();
        let found = diagnose(&recording(vec![phase((0..40).map(of).collect())], executors)).failing_nodes;
        found.into_iter().map(|one| (one.node, one.failed, one.tasks)).collect()
    }

    #[test]
    fn a_node_on_which_everything_fails_is_named() {
        assert_eq!(found(4, |task| task % 4 == 2), [("c".to_owned(), 10, 10)]);
        assert_eq!(found(4, |task| task % 4 == 2 && task != 2), [("c".to_owned(), 9, 10)], "nearly everything");
        assert_eq!(found(4, |_| true), [], "everything fails everywhere");
        assert_eq!(found(4, |task| task % 3 == 0), [], "failures everywhere");
        assert_eq!(found(4, |task| task == 2), []);
        assert_eq!(found(1, |_| true), [], "there is no other node");
    }

    #[test]
    fn a_node_may_fail_in_one_phase_only() {
        // In the second phase all tasks on b fail; in the first one none does.
        let of = |failing: bool| {
            let rows = (0..20).map(|task| {
                let start = f64::from(task / 2) + if failing { 10.0 } else { 0.0 };
                let mut one = row(task, task % 2, start, start + 1.0);
                if failing && task % 2 == 1 {
                    (one.wins, one.ended) = (false, Ended::Failed);
                }
                one
            });
            phase(rows.collect())
        };
        let second = PhaseRows { name: Some("second".to_owned()), ..of(true) };
        let executors = vec![executor("a", 1), executor("b", 1)];
        let found = diagnose(&recording(vec![of(false), second], executors)).failing_nodes;
        let found: Vec<_> = found.iter().map(|one| (&*one.node, one.phase.as_deref(), one.failed, one.tasks)).collect();
        assert_eq!(found, [("b", Some("second"), 10, 10)]);
    }

    #[test]
    fn p_values_are_those_of_fishers_exact_test() {
        // All 6 tasks of a node fail, and none of 14 elsewhere: 1 of C(20, 6) = 38,760 draws.
        let all = [Stratum { here: 6, failed_here: 6, all: 20, failed: 6 }];
        assert!((exact(&all, 6) * 38_760.0 - 1.0).abs() < 1e-9);
        assert!(bound(&all, 6, 1.0) >= exact(&all, 6));
        // 5 of 6, and 1 of 14: (C(6,5)·C(14,1) + 1) / 38,760.
        let most = [Stratum { here: 6, failed_here: 5, all: 20, failed: 6 }];
        assert!((exact(&most, 5) * 38_760.0 - 85.0).abs() < 1e-6);
        // In two phases of four tasks each, of which two are on the node: both draws of 1 in C(4, 2) = 6.
        let two = [Stratum { here: 2, failed_here: 2, all: 4, failed: 2 }; 2];
        assert!((exact(&two, 4) * 36.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_kind_of_tasks_that_always_fails_accuses_no_node() {
        // The first phase fails, on one node only; the second one runs on both.
        let failing = (0..8).map(|at| {
            let mut one = row(at, 0, f64::from(at), f64::from(at) + 1.0);
            (one.wins, one.ended) = (false, Ended::Failed);
            one
        });
        let others = (0..8).map(|at| row(at, at % 2, 10.0 + f64::from(at), 11.0 + f64::from(at)));
        let executors = vec![executor("a", 1), executor("b", 1)];
        let one = recording(vec![phase(failing.collect()), phase(others.collect())], executors);
        assert_eq!(diagnose(&one).failing_nodes, []);
    }
}
