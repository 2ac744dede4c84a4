//! Makes the findings of a log agree with the diagnoses of its applications.
//!
//! Findings are gathered phase by phase while a log is read, with little memory. Diagnoses come later, from everything that happened in an
//! application: they set first waves aside, and compare nodes within waves. Where there are both, the stragglers of phases, their causes,
//! how durations grow with the input and the slow nodes are those of the diagnoses.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::metrics::{Diagnosis, Findings, SlowNode, Stragglers, StragglersOfPhase};

/// Takes the stragglers of each phase, their causes and the slow nodes over from the diagnoses of all applications of a log.
pub(crate) fn agree(findings: &mut Findings, diagnoses: &[Diagnosis]) {
    let mut phases: BTreeMap<(u32, u32), &StragglersOfPhase> = BTreeMap::new();
    let mut sum = Stragglers::default();
    let mut slow: BTreeMap<&str, &SlowNode> = BTreeMap::new();
    for diagnosis in diagnoses {
        for found in &diagnosis.by_phase {
            // The jobs of a run are applications in findings, and one application in the diagnosis.
            phases.insert((diagnosis.application + found.of_job, found.phase), found);
            add(&mut sum, &found.stragglers);
        }
        for node in &diagnosis.slow_nodes {
            let slowest = slow.entry(&*node.node).or_insert(node);
            if node.tasks > slowest.tasks {
                *slowest = node;
            }
        }
    }
    let diagnosed: BTreeSet<u32> = phases.keys().map(|(application, _)| *application).collect();
    for phase in findings.phases.iter_mut().filter(|phase| diagnosed.contains(&phase.application)) {
        let found = phases.get(&(phase.application, phase.phase));
        phase.stragglers = found.map_or_else(Stragglers::default, |found| found.stragglers);
        phase.skew = found.and_then(|found| found.skew);
    }
    // Of very many applications, only some are diagnosed.
    for phase in findings.phases.iter().filter(|phase| !diagnosed.contains(&phase.application)) {
        add(&mut sum, &phase.stragglers);
    }
    findings.stragglers = sum;
    findings.slow_nodes = slow.into_values().cloned().collect();
    findings.slow_nodes.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then_with(|| a.node.cmp(&b.node)));
    findings.nodes_tested = diagnoses.iter().map(|one| one.nodes_tested).max().unwrap_or(0);
    findings.nodes_tested = findings.nodes_tested.max(findings.slow_nodes.len() as u64);
}

fn add(sum: &mut Stragglers, more: &Stragglers) {
    sum.tasks += more.tasks;
    sum.excess_seconds += more.excess_seconds;
    sum.skew += more.skew;
    sum.slow_node += more.slow_node;
    sum.other += more.other;
    sum.unclassified += more.unclassified;
}
