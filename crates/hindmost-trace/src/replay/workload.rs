//! Turns a recording into jobs and nodes that can run again, for formats that don't say what tasks waited for: journals, and
//! logs of which each row is an attempt.

use std::collections::BTreeMap;

use hindmost_core::workload::{DemandByName, WorkloadJob};
use rustc_hash::FxHashMap;

use super::jobs;
use super::nodes::RecordedNode;
use super::own_share::RepeatsByPhase;
use super::replayed::Replay;
use super::world::{Source, world};
use crate::recording::{Executor, PhaseRows, Recording, UNKNOWN};

/// Name of the machines on which attempts ran whose node the log does not name.
pub(super) const UNNAMED: &str = "machine";

/// Returns the jobs of a recording, each with those of its phases that have a task that succeeded. A phase waits for the phases of
/// its job that had ended when it began. `None` if no task succeeded.
pub(super) fn workload(recording: Recording) -> Option<Replay> {
    workload_in_log(recording, None)
}

/// Does the same for a recording of a log of which all jobs together show what is in `in_log`.
pub(super) fn workload_in_log(recording: Recording, in_log: Option<&RepeatsByPhase>) -> Option<Replay> {
    let Arranged { recording, origin, jobs, sources } = Arranged::of(recording)?;
    // Only Hindmost, whose journals state the slots, keeps tasks from slow nodes.
    let with_possible = recording.executors.iter().any(|executor| executor.slots.is_some());
    let world = world(&recording, origin, (&jobs, &sources), (with_possible, in_log));
    Some(Replay { origin, nodes: nodes(&recording), jobs, world: Some(world), had_copies: had_copies(&recording) })
}

/// Does the same without a world, for a log that is too large for one.
pub(super) fn workload_without_world(recording: Recording) -> Option<Replay> {
    let Arranged { recording, origin, jobs, .. } = Arranged::of(recording)?;
    Some(Replay { origin, nodes: nodes(&recording), jobs, world: None, had_copies: had_copies(&recording) })
}

fn had_copies(recording: &Recording) -> bool {
    recording.phases.iter().flat_map(|phase| &phase.rows).any(|row| row.speculative)
}

/// The jobs of a recording, by arrival.
struct Arranged {
    /// The recording, in which no attempt starts before its job arrived.
    recording: Recording,
    /// When the first job arrived, on the log's clock.
    origin: f64,
    jobs: Vec<WorkloadJob>,
    /// Where the jobs come from, in the same order.
    sources: Vec<Source>,
}

impl Arranged {
    fn of(mut recording: Recording) -> Option<Arranged> {
        for (number, phase) in (0..).zip(&mut recording.phases) {
            phase.phase = number;
        }
        let mut phases_of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, phase) in recording.phases.iter().enumerate() {
            if phase.winners().next().is_some() {
                phases_of.entry(phase.of_job).or_default().push(at);
            }
        }
        let arrivals: Vec<f64> = phases_of.iter().map(|(job, phases)| arrival(&recording, *job, phases)).collect();
        // The clocks of hosts differ, but no attempt started before its job arrived. It took as long as its host says.
        for ((_, phases), arrival) in phases_of.iter().zip(&arrivals) {
            for at in phases {
                for row in recording.phases[*at].rows.iter_mut().filter(|row| row.start < *arrival) {
                    row.end += arrival - row.start;
                    row.start = *arrival;
                }
            }
        }
        let origin = arrivals.iter().copied().reduce(f64::min)?;
        let mut jobs: Vec<(WorkloadJob, Source)> = phases_of
            .iter()
            .zip(&arrivals)
            .map(|((job, phases), arrival)| of_job(&recording, (*job, phases), arrival - origin))
            .collect();
        // The sort is stable, so jobs that arrive together keep their order.
        jobs.sort_by_key(|(job, _)| job.spec.arrival);
        let (jobs, sources): (Vec<WorkloadJob>, Vec<Source>) = jobs.into_iter().unzip();
        Some(Arranged { recording, origin, jobs, sources })
    }
}

/// Returns when a job arrived: its recorded arrival, or else when its first task was submitted or started. Attempts may seem to
/// start before the arrival if the clocks of hosts differ.
fn arrival(recording: &Recording, job: u32, phases: &[usize]) -> f64 {
    let times =
        |phase: &PhaseRows| phase.rows.iter().map(|row| row.start).chain(phase.submitted).fold(f64::INFINITY, f64::min);
    let first = phases.iter().map(|at| times(&recording.phases[*at])).fold(f64::INFINITY, f64::min);
    let known = recording.active_ids.iter().position(|id| *id == job).and_then(|at| recording.active.get(at));
    known.map(|(begin, _)| *begin).filter(|begin| begin.is_finite()).unwrap_or(first)
}

fn of_job(recording: &Recording, (number, phases): (u32, &[usize]), arrival: f64) -> (WorkloadJob, Source) {
    let mut phases: Vec<&PhaseRows> = phases.iter().map(|at| &recording.phases[*at]).collect();
    let span = |phase: &PhaseRows| {
        let start = phase.winners().map(|row| row.start).fold(f64::INFINITY, f64::min);
        (start, phase.winners().map(|row| row.end).fold(f64::NEG_INFINITY, f64::max))
    };
    phases.sort_by(|a, b| {
        let (a, b) = (span(a), span(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let spans: Vec<(f64, f64)> = phases.iter().map(|phase| span(phase)).collect();
    let name = phases[0].job.clone().or_else(|| recording.name.clone()).unwrap_or_default();
    let mut job = jobs::job(name, (arrival * 1000.0).floor() as i64);
    for (at, phase) in phases.iter().enumerate() {
        let after = match &phase.waits_for {
            Some(names) => {
                let is_named = |other: &&PhaseRows| other.name.as_ref().is_some_and(|name| names.contains(name));
                (0..).zip(&phases[..at]).filter(|(_, other)| is_named(other)).map(|(position, _)| position).collect()
            }
            None => jobs::phases_before(&spans[..at], spans[at].0),
        };
        let seconds: BTreeMap<u32, f64> = phase.winners().map(|row| (row.task, row.seconds())).collect();
        let name = phase.name.clone().unwrap_or_else(|| format!("phase-{}", phase.phase + 1));
        let demand = DemandByName::from([("cpus".to_owned(), f64::from(phase.slots_of_a_task()))]);
        jobs::add_phase(&mut job, &name, after, demand, seconds.into_values().collect());
    }
    (job, Source { ids: vec![number], phases: phases.iter().map(|phase| phase.phase).collect() })
}

/// Returns the executors as nodes, and a node for attempts whose executor is not known. Those whose slots the log does not state have as
/// many as attempts used at the same time.
fn nodes(recording: &Recording) -> Vec<RecordedNode> {
    let used = used_at_once(recording);
    let node = |(number, executor): (u32, &Executor)| {
        let slots = executor.slots.unwrap_or(0).max(used.get(&number).copied().unwrap_or(0)).max(1);
        RecordedNode {
            name: executor.host.clone(),
            host: executor.host.clone(),
            slots,
            slots_known: executor.slots.is_some(),
            added: None,
            removed: None,
        }
    };
    let unknown = used.get(&UNKNOWN).map(|slots| RecordedNode::unnamed(UNNAMED, *slots));
    (0..).zip(&recording.executors).map(node).chain(unknown).collect()
}

/// Returns the most slots that attempts used at the same time on each executor that has any.
fn used_at_once(recording: &Recording) -> FxHashMap<u32, u32> {
    let mut changes: Vec<(u32, f64, i64)> = Vec::new();
    for phase in &recording.phases {
        let slots = i64::from(phase.slots_of_a_task());
        changes.extend(phase.rows.iter().map(|row| (row.executor, row.start, slots)));
        changes.extend(phase.rows.iter().map(|row| (row.executor, row.end, -slots)));
    }
    // At the same instant, ends count before starts. So an attempt without a duration is never seen, but it has its slots.
    changes.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut most = FxHashMap::default();
    let (mut current, mut running) = (None, 0);
    for (executor, _, change) in changes {
        if current != Some(executor) {
            (current, running) = (Some(executor), 0);
        }
        running += change;
        let of_executor: &mut u32 = most.entry(executor).or_default();
        *of_executor = u32::try_from(running.max(change)).unwrap_or(0).max(*of_executor);
    }
    most
}

#[cfg(test)]
mod tests {
    use hindmost_core::workload::{Durations, Situated};

    use super::*;
    use crate::testing::{executor, phase, recording, row};

    #[test]
    fn phases_wait_for_those_that_had_ended() {
        let first = phase(vec![row(0, 0, 10.0, 12.0), row(1, 0, 10.0, 14.0)]);
        let second = phase(vec![row(0, 0, 14.5, 16.0)]);
        let found = workload(recording(vec![second, first], vec![executor("h", 2)])).unwrap();
        let [job] = &found.jobs[..] else { panic!("{} jobs", found.jobs.len()) };
        let shapes: Vec<(u32, &[u32], f64)> =
            job.spec.phases.iter().map(|phase| (phase.tasks, &phase.after[..], phase.mean)).collect();
        assert_eq!(shapes, [(2, &[][..], 3.0), (1, &[0][..], 1.5)]);
        assert_eq!(
            (found.world.as_ref().unwrap().jobs[0].seconds, found.world.as_ref().unwrap().jobs[0].tail),
            (6.0, 0.0)
        );
        assert_eq!((&*found.nodes[0].name, found.nodes[0].slots, found.nodes[0].slots_known), ("h", 2, true));
    }

    #[test]
    fn attempts_without_a_node_run_on_a_machine_of_their_own() {
        let rows = (0..4).map(|task| row(task, UNKNOWN, f64::from(task / 3), 2.0)).collect();
        let found = workload(recording(vec![phase(rows)], Vec::new())).unwrap();
        assert_eq!((found.nodes.len(), found.nodes[0].slots, found.nodes[0].slots_known), (1, 4, false));
        assert!(workload(recording(Vec::new(), Vec::new())).is_none());
    }

    #[test]
    fn attempts_without_a_duration_have_a_slot() {
        let rows = (0..4).map(|task| row(task, UNKNOWN, f64::from(task), f64::from(task))).collect();
        let found = workload(recording(vec![phase(rows)], Vec::new())).unwrap();
        assert_eq!((found.nodes.len(), found.nodes[0].slots), (1, 1));
    }

    #[test]
    fn tasks_use_the_slots_of_their_phase() {
        let rows = (0..3).map(|task| row(task, 0, f64::from(task / 2), f64::from(task / 2) + 1.0)).collect();
        let found =
            workload(recording(vec![PhaseRows { slots: 4, ..phase(rows) }], vec![Executor::default()])).unwrap();
        assert_eq!((found.nodes.len(), found.nodes[0].slots), (1, 8));
        assert_eq!(found.jobs[0].spec.phases[0].demand["cpus"], 4.0);
    }

    #[test]
    fn jobs_have_their_own_phases_and_arrivals() {
        let of_job = |job: u32, start: f64| PhaseRows { of_job: job, ..phase(vec![row(0, 0, start, start + 1.0)]) };
        let mut recording = recording(vec![of_job(1, 5.0), of_job(0, 2.0)], vec![executor("h", 1)]);
        (recording.active, recording.active_ids) = (vec![(1.0, Some(3.5)), (4.0, Some(6.0))], vec![0, 1]);
        let found = workload(recording).unwrap();
        let arrivals: Vec<f64> = found.jobs.iter().map(|job| job.spec.arrival.seconds()).collect();
        assert_eq!(arrivals, [0.0, 3.0]);
        let times: Vec<(f64, f64)> =
            found.world.as_ref().unwrap().jobs.iter().map(|job| (job.seconds, job.tail)).collect();
        assert_eq!(times, [(2.5, 0.5), (2.0, 0.0)]);
    }

    #[test]
    fn repeats_after_the_last_task_are_not_in_recorded_times() {
        let mut rows = vec![row(0, 0, 0.0, 1.0), row(1, 0, 1.0, 2.0), row(0, 0, 8.0, 9.0)];
        (rows[2].wins, rows[2].repeated) = (false, true);
        let of_end = |end: f64| {
            let mut recording = recording(vec![phase(rows.clone())], vec![executor("h", 1)]);
            (recording.active, recording.active_ids) = (vec![(0.0, Some(end))], vec![0]);
            let job = workload(recording).unwrap().world.unwrap().jobs[0].clone();
            (job.seconds, job.tail, job.again)
        };
        assert_eq!(of_end(9.0), (2.0, 0.0, 7.0));
        // The log says that the job went on.
        assert_eq!(of_end(12.0), (12.0, 10.0, 0.0));
    }

    /// The first phase of a run on two nodes of four slots: tasks of about 1.5 s, which take `slowness` times as long on the second node.
    fn on_two_nodes(tasks: u32, slowness: f64) -> Replay {
        let mut free: Vec<(f64, u32)> = (0..8).map(|slot| (0.0, slot / 4)).collect();
        let of_task = |task| {
            free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (start, node) = free[0];
            free[0].0 = start + (1.5 + 0.01 * f64::from(task * 7 % 11)) * if node == 1 { slowness } else { 1.0 };
            row(task, node, start, free[0].0)
        };
        let rows = (0..tasks).map(of_task).collect();
        workload(recording(vec![phase(rows)], vec![executor("n1", 4), executor("n2", 4)])).unwrap()
    }

    fn situated(jobs: &[WorkloadJob]) -> &Situated {
        match &jobs[0].durations[0] {
            Durations::Situated(situated) => situated,
            other => panic!("situated, not {other:?}"),
        }
    }

    #[test]
    fn a_node_may_be_slow_although_too_little_proves_it() {
        let found = on_two_nodes(28, 4.0);
        let possible = found.world.as_ref().unwrap().with_possibly_slow_nodes(&found.jobs).unwrap();
        let phase = situated(&possible);
        let slowness: Vec<Option<f64>> = phase.nodes.iter().map(|node| node.slowness).collect();
        assert!(slowness[0].is_none() && slowness[1].is_some_and(|by| (by - 4.0).abs() < 0.2), "{slowness:?}");
        // The first attempts on the slow node don't make first waves slow, and all tasks are alike.
        assert!(phase.first_wave < 1.05 && (phase.typical - 1.5).abs() < 0.1, "{phase:?}");
        assert!(phase.tasks.iter().all(|task| (task.residual - 1.0).abs() < 0.1), "{phase:?}");
        // Nodes that are alike.
        let found = on_two_nodes(28, 1.0);
        assert_eq!(found.world.as_ref().unwrap().with_possibly_slow_nodes(&found.jobs), None);
    }

    #[test]
    fn a_node_that_is_proven_to_be_slow_is_slow_in_any_case() {
        let found = on_two_nodes(200, 4.0);
        assert_eq!(found.world.as_ref().unwrap().with_possibly_slow_nodes(&found.jobs), None);
        let mut jobs = found.jobs.clone();
        found.world.as_ref().unwrap().give_durations(&mut jobs);
        let phase = situated(&jobs);
        assert!(phase.nodes[1].slowness.is_some_and(|by| (by - 4.0).abs() < 0.2), "{:?}", phase.nodes);
        let on_slow_node = phase.tasks.iter().flat_map(|task| &task.attempts).filter(|one| one.slowness > 1.0).count();
        assert!((30..50).contains(&on_slow_node), "{on_slow_node}");
    }
}
