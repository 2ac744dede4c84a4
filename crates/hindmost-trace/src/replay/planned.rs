//! Jobs of logs that say which phases wait for each other: those of Spark and Hadoop.

use hindmost_core::workload::{DemandByName, WorkloadJob};
use rustc_hash::FxHashMap;

use super::jobs;
use super::nodes::RecordedNode;
use super::replayed::Replay;
use super::world::{Source, world};
use crate::recording::{Executor, NAMED, PhaseRows, PlannedJob, Recording, UNKNOWN};

/// Returns the jobs of applications of Spark. Those of several can't be replayed together as they ran: they had executors of their own.
pub(super) fn of_spark(recordings: &[Recording], are_several: bool) -> Replay {
    let origin = origin(recordings);
    let (mut jobs, mut nodes) = (Vec::new(), Vec::new());
    for recording in recordings {
        let prefix = if are_several { &*recording.prefix } else { "" };
        let phases = by_number(recording);
        let job = |plan| planned_job(plan, &phases, (origin, prefix), &DemandByName::new());
        jobs.extend(recording.plan.iter().map(job));
        nodes.extend(recording.executors.iter().map(|executor| node(executor, origin, prefix)));
    }
    let (jobs, sources) = by_arrival(jobs);
    let world = match recordings {
        [only] if !are_several => Some(world(only, origin, (&jobs, &sources), (false, None))),
        _ => None,
    };
    Replay { origin, jobs, nodes, world, had_copies: recordings.iter().any(had_copies) }
}

/// Returns the jobs of Hadoop, which shared these machines.
pub(super) fn of_hadoop(recordings: Vec<Recording>, machines: &[String]) -> Replay {
    let origin = origin(&recordings);
    let nodes = machines_as_nodes(&recordings, machines);
    let merged = merged(recordings, &nodes);
    let phases = by_number(&merged);
    let one_cpu = DemandByName::from([("cpus".to_owned(), 1.0)]);
    let jobs = merged.plan.iter().map(|plan| planned_job(plan, &phases, (origin, ""), &one_cpu)).collect();
    let (jobs, sources) = by_arrival(jobs);
    let world = world(&merged, origin, (&jobs, &sources), (false, None));
    Replay { origin, jobs, nodes, world: Some(world), had_copies: had_copies(&merged) }
}

fn had_copies(recording: &Recording) -> bool {
    recording.phases.iter().flat_map(|phase| &phase.rows).any(|row| row.speculative)
}

/// Returns when the first job was submitted; without any such time, when the first application began.
fn origin(recordings: &[Recording]) -> f64 {
    let submitted = recordings.iter().flat_map(|one| &one.plan).filter_map(|plan| plan.submitted).reduce(f64::min);
    let began = || recordings.iter().filter_map(|one| one.from).reduce(f64::min);
    submitted.or_else(began).unwrap_or(0.0)
}

fn by_number(recording: &Recording) -> FxHashMap<u32, &PhaseRows> {
    recording.phases.iter().map(|phase| (phase.phase, phase)).collect()
}

/// Sorts jobs by arrival. The sort is stable, so jobs that arrive together keep their order.
fn by_arrival(mut all: Vec<(WorkloadJob, Source)>) -> (Vec<WorkloadJob>, Vec<Source>) {
    all.sort_by_key(|(job, _)| job.spec.arrival);
    all.into_iter().unzip()
}

/// Returns the whole milliseconds from one time to another. Such logs have no finer times.
fn milliseconds(from: f64, to: f64) -> i64 {
    ((to - from) * 1000.0).round() as i64
}

fn planned_job(
    plan: &PlannedJob,
    phases: &FxHashMap<u32, &PhaseRows>,
    (origin, prefix): (f64, &str),
    demand: &DemandByName,
) -> (WorkloadJob, Source) {
    let arrival = plan.submitted.map_or(0, |submitted| milliseconds(origin, submitted));
    let mut job = jobs::job(format!("{prefix}{}", plan.name), arrival);
    let mut source = Source { ids: plan.ids.clone(), phases: Vec::new() };
    for planned in &plan.phases {
        let Some(phase) = phases.get(&planned.phase) else { continue };
        let counted = phase.counted();
        // The resolution of such a clock is a millisecond.
        let seconds = counted.values().map(|row| milliseconds(row.start, row.end).max(1) as f64 / 1000.0).collect();
        let name = phase.name.as_deref().unwrap_or_default();
        source.phases.push(planned.phase);
        jobs::add_phase(&mut job, name, planned.after.clone(), demand.clone(), seconds);
    }
    (job, source)
}

/// Returns an executor of Spark as a node.
fn node(executor: &Executor, origin: f64, prefix: &str) -> RecordedNode {
    let id = executor.name.as_deref().map_or(&*executor.host, |name| name.strip_prefix(NAMED).unwrap_or(name));
    let host = executor.name.as_ref().map_or("", |_| &*executor.host);
    let since = |at: f64| milliseconds(origin, at) as f64 / 1000.0;
    RecordedNode {
        name: format!("{prefix}{id}"),
        host: host.to_owned(),
        slots: executor.slots.unwrap_or(executor.most_at_once),
        slots_known: executor.slots.is_some(),
        added: executor.added.map(since),
        removed: executor.removed.map(since),
    }
}

/// Returns machines as nodes with as many slots as the most attempts that ran there at the same time.
fn machines_as_nodes(recordings: &[Recording], machines: &[String]) -> Vec<RecordedNode> {
    let numbers: FxHashMap<&str, usize> = machines.iter().map(String::as_str).zip(0..).collect();
    let mut changes: Vec<(usize, f64, i32)> = Vec::new();
    for recording in recordings {
        let machine = |executor: u32| {
            let executor = recording.executors.get(executor as usize)?;
            numbers.get(&*executor.host).copied()
        };
        for phase in &recording.phases {
            let rows = phase.rows.iter().map(|row| (row.executor, row.start, row.end));
            for (executor, start, end) in rows.chain(phase.before_work.iter().copied()) {
                let Some(machine) = machine(executor) else { continue };
                changes.extend([(machine, start, 1), (machine, end, -1)]);
            }
        }
    }
    // At the same instant, ends count before starts.
    changes.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let node =
        |name: &String| RecordedNode { name: name.clone(), host: name.clone(), ..RecordedNode::unnamed(name, 1) };
    let mut nodes: Vec<RecordedNode> = machines.iter().map(node).collect();
    let (mut current, mut running) = (0, 0);
    for (machine, _, change) in changes {
        if machine != current {
            (current, running) = (machine, 0);
        }
        running += change;
        nodes[machine].slots = nodes[machine].slots.max(u32::try_from(running).unwrap_or(0));
    }
    nodes
}

/// Joins the recordings of jobs that can be replayed, on these nodes. Their phases get numbers of their own.
fn merged(mut recordings: Vec<Recording>, nodes: &[RecordedNode]) -> Recording {
    recordings.retain(|recording| !recording.plan.is_empty());
    let numbers: FxHashMap<&str, u32> = nodes.iter().map(|node| &*node.name).zip(0..).collect();
    let executor = |node: &RecordedNode| Executor { host: node.host.clone(), ..Executor::default() };
    let mut all = Recording { executors: nodes.iter().map(executor).collect(), ..Recording::default() };
    all.settings = recordings.first().map(|first| first.settings.clone()).unwrap_or_default();
    let mut next = 0;
    for (id, recording) in (0..).zip(recordings) {
        all.settings.retain(|name, value| recording.settings.get(name) == Some(value));
        all.active.push((recording.from.unwrap_or(f64::NAN), recording.to));
        all.active_ids.push(id);
        let of_executor: Vec<u32> = recording
            .executors
            .iter()
            .map(|executor| numbers.get(&*executor.host).copied().unwrap_or(UNKNOWN))
            .collect();
        let first = next;
        let mut phases = recording.phases;
        phases.retain(|phase| phase.winners().next().is_some());
        phases.sort_by_key(|phase| phase.phase);
        for mut phase in phases {
            phase.phase += first;
            next = next.max(phase.phase + 1);
            for row in &mut phase.rows {
                row.executor = of_executor.get(row.executor as usize).copied().unwrap_or(UNKNOWN);
            }
            all.phases.push(phase);
        }
        for mut plan in recording.plan {
            plan.ids = vec![id];
            plan.phases.iter_mut().for_each(|planned| planned.phase += first);
            all.plan.push(plan);
        }
    }
    all
}
