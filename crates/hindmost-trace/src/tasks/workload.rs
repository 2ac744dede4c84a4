//! Builds jobs, nodes and attempts for a replay.

use hindmost_core::workload::{DemandByName, WorkloadJob};
use rustc_hash::FxHashMap;

use super::collect::{Collector, NO_NODE};
use super::kept::{Interval, Kept, KeptJob, KeptPhase};
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::replay;

/// Name of the machines on which attempts ran whose node the log does not name.
const UNNAMED: &str = "machine";

/// Jobs, nodes and attempts of a log for a replay. Times are in seconds from the submission of the first job.
#[derive(Clone, Debug, Default)]
pub(super) struct Workload {
    pub origin: f64,
    pub jobs: Vec<WorkloadJob>,
    pub nodes: Vec<RecordedNode>,
    pub attempts: Vec<RecordedAttempt>,
    /// Slots of machines that the log does not name.
    pub unnamed: u32,
}

pub(super) fn assemble(collector: &mut Collector) -> Workload {
    let Kept { jobs, attempts, intervals } = collector.kept.take().unwrap_or_default();
    let mut jobs: Vec<((u32, u32, u32), KeptJob)> = jobs.into_iter().collect();
    jobs.sort_by_key(|(key, _)| *key);
    let demands = demands(&jobs);
    let (nodes, numbers, unnamed) = nodes(collector, intervals, &demands);
    let earliest = jobs.iter().filter_map(|(_, job)| job.submitted).reduce(f64::min);
    let origin = earliest.unwrap_or(0.0);
    let mut replayed: Vec<WorkloadJob> = jobs
        .into_iter()
        .filter_map(|((application, ..), job)| workload_job(application, job, origin, &demands))
        .collect();
    replayed.sort_by_key(|job| job.spec.arrival);
    let mut attempts: Vec<RecordedAttempt> = attempts
        .into_iter()
        .map(|attempt| RecordedAttempt {
            application: attempt.application,
            stage: attempt.phase,
            stage_attempt: 0,
            task: attempt.task,
            attempt: attempt.number,
            node: attempt.node.and_then(|node| numbers.get(&node).copied()),
            launch: attempt.start.map(|at| at - origin),
            finish: attempt.end.map(|at| at - origin),
            speculative: attempt.speculative,
            outcome: attempt.outcome,
        })
        .collect();
    replay::sort_by_launch(&mut attempts);
    Workload { origin, jobs: replayed, nodes, attempts, unnamed }
}

/// Slots of a task of each phase: the median over its tasks.
type Demands = FxHashMap<(u32, u32), u32>;

fn demands(jobs: &[((u32, u32, u32), KeptJob)]) -> Demands {
    let mut all: FxHashMap<(u32, u32), Vec<f32>> = FxHashMap::default();
    for ((application, ..), job) in jobs {
        for phase in &job.phases {
            all.entry((*application, phase.number)).or_default().extend(&phase.slots);
        }
    }
    let median = |mut slots: Vec<f32>| {
        slots.sort_unstable_by(f32::total_cmp);
        slots.get(slots.len() / 2).map_or(1, |slots| slots.ceil() as u32)
    };
    all.into_iter().map(|(key, slots)| (key, median(slots).max(1))).collect()
}

/// Returns the nodes on which attempts ran, and the number of each. A node has the most slots that attempts used on it at
/// the same time. Attempts whose node the log does not name ran on machines with one slot each.
fn nodes(
    collector: &Collector,
    intervals: Vec<Interval>,
    demands: &Demands,
) -> (Vec<RecordedNode>, FxHashMap<u32, u32>, u32) {
    let mut changes: Vec<(u32, f64, i64)> = Vec::with_capacity(2 * intervals.len());
    for Interval { node, start, end, application, phase } in intervals {
        let slots = i64::from(demands.get(&(application, phase)).copied().unwrap_or(1));
        changes.push((node, start, slots));
        changes.push((node, end, -slots));
    }
    // At the same instant, ends count before starts. An attempt without a duration has its slots all the same.
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut nodes: Vec<RecordedNode> = Vec::new();
    let mut numbers = FxHashMap::default();
    let (mut running, mut unnamed) = (0, 0);
    let (mut named, mut slots_of_named) = (None, 0);
    for (node, _, change) in changes {
        if node == NO_NODE {
            if named.is_some() {
                (running, named) = (0, None);
            }
            running += change;
            unnamed = unnamed.max(u32::try_from(running.max(change)).unwrap_or(0));
            continue;
        }
        if named != Some(node) {
            (running, named, slots_of_named) = (0, Some(node), 0);
            let name = collector.nodes.get(node).to_owned();
            numbers.insert(node, nodes.len() as u32);
            let host = name.clone();
            nodes.push(RecordedNode { name, host, slots: 1, slots_known: false, added: None, removed: None });
        }
        running += change;
        slots_of_named = slots_of_named.max(u32::try_from(running.max(change)).unwrap_or(0));
        if let Some(node) = nodes.last_mut() {
            node.slots = slots_of_named.max(1);
        }
    }
    let largest = demands.values().copied().max().unwrap_or(1);
    // A task with several slots needs one machine that has them.
    let each = if nodes.is_empty() { largest } else { 1 };
    for _ in 0..unnamed.div_ceil(each) {
        nodes.push(RecordedNode {
            name: UNNAMED.to_owned(),
            host: String::new(),
            slots: each,
            slots_known: false,
            added: None,
            removed: None,
        });
    }
    (nodes, numbers, unnamed)
}

fn workload_job(application: u32, job: KeptJob, origin: f64, demands: &Demands) -> Option<WorkloadJob> {
    let arrival = ((job.submitted? - origin) * 1000.0).round() as i64;
    let mut phases: Vec<KeptPhase> = job.phases.into_iter().filter(|phase| !phase.seconds.is_empty()).collect();
    if phases.is_empty() {
        return None;
    }
    phases.sort_by(|a, b| a.span.0.total_cmp(&b.span.0).then(a.span.1.total_cmp(&b.span.1)));
    let mut found = replay::job(job.name, arrival);
    let spans: Vec<(f64, f64)> = phases.iter().map(|phase| phase.span).collect();
    for (at, phase) in phases.iter_mut().enumerate() {
        let after = replay::phases_before(&spans[..at], spans[at].0);
        let slots = demands.get(&(application, phase.number)).copied().unwrap_or(1);
        let demand = DemandByName::from([("cpus".to_owned(), f64::from(slots))]);
        let seconds = std::mem::take(&mut phase.seconds);
        let name = phase.name.clone();
        replay::add_phase(&mut found, &name, after, demand, seconds);
    }
    Some(found)
}
