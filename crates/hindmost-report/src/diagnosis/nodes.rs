//! What is said of nodes: on which nearly everything failed, which were slow, and which could not be tested.

use hindmost_core::metrics::Diagnosis;

use super::{ELLIPSIS, NODES, PHASE_WIDTH};
use crate::text::{counted, escaped, grouped, name};

/// Largest number of nodes that could not be tested and are named.
const MOST_UNTESTED: usize = 3;

/// Names the nodes on which nearly everything failed.
pub(crate) fn failing_nodes(diagnosis: &Diagnosis) -> Option<String> {
    let mut said: Vec<String> = diagnosis
        .failing_nodes
        .iter()
        .take(NODES)
        .map(|node| {
            let phase = node.phase.as_ref().map(|phase| format!(" of {}", name(phase, PHASE_WIDTH, ELLIPSIS)));
            format!(
                "{} ({} of {}{} failed there, and {} of {} of the same kind elsewhere)",
                escaped(&node.node),
                grouped(node.failed),
                counted(node.tasks, "task"),
                phase.unwrap_or_default(),
                grouped(node.failed_elsewhere),
                grouped(node.tasks_elsewhere)
            )
        })
        .collect();
    let more = diagnosis.failing_nodes.len() - said.len();
    if more > 0 {
        said.push(format!("{more} more"));
    }
    let what = if diagnosis.are_executors_tested { "executor" } else { "node" };
    (!said.is_empty()).then(|| {
        format!(
            "Nearly everything failed on {}. Chance hardly explains that: repair the {what} or leave it out before anything else.",
            said.join(", ")
        )
    })
}

/// Names the nodes that were slow all the time, or says that none of those tested was.
pub(crate) fn nodes(diagnosis: &Diagnosis) -> Option<String> {
    let what = if diagnosis.are_executors_tested { "executor" } else { "node" };
    let slow: Vec<String> = diagnosis
        .slow_nodes
        .iter()
        .take(NODES)
        .map(|node| {
            let [low, high] = node.ratio_ci95;
            format!("{} ({:.2} times as long, 95% interval {low:.2} to {high:.2})", escaped(&node.node), node.ratio)
        })
        .collect();
    let mut said = match (slow.len(), diagnosis.nodes_tested) {
        (0, 0) => Vec::new(),
        (0, _) if !diagnosis.nodes_untested.perhaps_slow.is_empty() => Vec::new(),
        (0, tested) => vec![format!("None of {} was slow all the time.", counted(tested, &format!("tested {what}")))],
        _ => vec![format!("Slow all the time: {}.", slow.join(", "))],
    };
    if slow.len() == 1 && diagnosis.nodes_tested == 2 && diagnosis.nodes_untested.nodes == 0 {
        said.push(format!("There was one other {what}, so the log does not show which of the two is usual."));
    }
    said.extend(untested(diagnosis, what));
    (!said.is_empty()).then(|| said.join(" "))
}

/// Nodes on which too few tasks ran for a test: named where others were tested, or where their tasks took much longer.
fn untested(diagnosis: &Diagnosis, what: &str) -> Option<String> {
    let untested = &diagnosis.nodes_untested;
    let perhaps = untested.perhaps_slow.iter().map(|node| {
        let tasks = counted(node.tasks, "task");
        format!("{} ({tasks}, {:.2} times as long in the middle)", escaped(&node.node), node.ratio)
    });
    let perhaps: Vec<String> = perhaps.collect();
    if !perhaps.is_empty() {
        return Some(format!(
            "Tasks took longer on {}, but too few ran there beside others, after first waves, to prove that it was slow.",
            perhaps.join(", ")
        ));
    }
    if diagnosis.nodes_tested == 0 || untested.nodes == 0 {
        return None;
    }
    let names: Vec<String> = untested.names.iter().map(|name| escaped(name)).collect();
    let named =
        if untested.nodes as usize <= MOST_UNTESTED { format!(": {}", names.join(", ")) } else { String::new() };
    Some(format!(
        "{} could not be tested, because too few tasks ran there beside others after first waves{named}.",
        counted(untested.nodes, &format!("other {what}"))
    ))
}
