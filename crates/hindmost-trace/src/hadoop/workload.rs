//! Builds jobs, nodes and attempts for a replay.

use rustc_hash::FxHashMap;

use hindmost_core::workload::{DemandByName, WorkloadJob};

use super::collect::Collector;
use super::configuration::Settings;
use super::hosts::Host;
use super::kept::{Kept, KeptJob};
use super::phases::PHASES;
use crate::diagnosis::recording::{Executor, UNKNOWN};
use crate::diagnosis::{RecordedWorld, Recording, Source, world};
use crate::recorded::{RecordedAttempt, RecordedNode};
use crate::replay::{self, since};

/// Jobs, nodes and attempts. Times are counted from `origin`.
pub(super) struct Workload {
    /// The trace's origin, in milliseconds since 1970.
    pub origin: i64,
    pub jobs: Vec<WorkloadJob>,
    pub nodes: Vec<RecordedNode>,
    /// The most bytes that the containers on each node used at the same time; `None` if unknown.
    pub memory: Vec<Option<f64>>,
    pub attempts: Vec<RecordedAttempt>,
    /// How the jobs ran.
    pub world: RecordedWorld,
}

pub(super) fn assemble(collector: &mut Collector) -> Workload {
    let Kept { jobs, recordings, attempts, intervals } = collector.take_kept();
    let origin = jobs.iter().map(|job| job.submitted).min().or(collector.counts.from).unwrap_or(0);

    let mut busiest = busiest(intervals);
    let mut numbers: FxHashMap<Host, u32> = FxHashMap::default();
    let mut nodes = Vec::new();
    let mut memory = Vec::new();
    for host in collector.hosts.that_ran() {
        numbers.insert(host, nodes.len() as u32);
        let (slots, bytes) = busiest.remove(&host).unwrap_or_default();
        let name = collector.hosts.name(host).to_owned();
        nodes.push(RecordedNode {
            host: name.clone(),
            name,
            slots: slots.max(1),
            slots_known: false,
            added: None,
            removed: None,
        });
        memory.push((bytes > 0.0).then_some(bytes));
    }

    let (recording, sources) = merged(recordings, &nodes);
    let mut jobs: Vec<(WorkloadJob, Source)> =
        jobs.into_iter().map(|job| workload_job(job, origin)).zip(sources).collect();
    jobs.sort_by_key(|(job, _)| job.spec.arrival);
    let (jobs, sources): (Vec<WorkloadJob>, Vec<Source>) = jobs.into_iter().unzip();
    let world = world(&recording, origin as f64 / 1000.0, (&jobs, &sources), (false, None));
    let mut attempts: Vec<RecordedAttempt> = attempts
        .into_iter()
        .map(|attempt| RecordedAttempt {
            application: attempt.application,
            stage: attempt.phase,
            stage_attempt: 0,
            task: attempt.task,
            attempt: attempt.number,
            node: attempt.host.and_then(|host| numbers.get(&host).copied()),
            launch: since(origin, attempt.start),
            finish: since(origin, attempt.finish),
            speculative: attempt.speculative,
            outcome: attempt.outcome,
        })
        .collect();
    replay::sort_by_launch(&mut attempts);
    Workload { origin, jobs, nodes, memory, attempts, world }
}

/// Joins the recordings of jobs, whose executors are the given nodes. Also returns where each job is in it.
fn merged(recordings: Vec<Recording>, nodes: &[RecordedNode]) -> (Recording, Vec<Source>) {
    let numbers: FxHashMap<&str, u32> = nodes.iter().map(|node| &*node.name).zip(0..).collect();
    let executor = |node: &RecordedNode| Executor { host: node.host.clone(), ..Executor::default() };
    let mut all = Recording { executors: nodes.iter().map(executor).collect(), ..Recording::default() };
    let mut sources = Vec::with_capacity(recordings.len());
    all.settings = common_settings(&recordings);
    for (id, recording) in (0..).zip(recordings) {
        all.active.push((recording.from.unwrap_or(f64::NAN), recording.to));
        all.active_ids.push(id);
        let of_executor: Vec<u32> = recording
            .executors
            .iter()
            .map(|executor| numbers.get(&*executor.host).copied().unwrap_or(UNKNOWN))
            .collect();
        let mut source = Source { ids: vec![id], phases: Vec::new() };
        let mut phases = recording.phases;
        phases.sort_by_key(|phase| phase.phase);
        for mut phase in phases {
            // A replay leaves out phases without a task that succeeded.
            if phase.winners().next().is_none() {
                continue;
            }
            phase.phase += PHASES.len() as u32 * id;
            source.phases.push(phase.phase);
            for row in &mut phase.rows {
                row.executor = of_executor.get(row.executor as usize).copied().unwrap_or(UNKNOWN);
            }
            all.phases.push(phase);
        }
        sources.push(source);
    }
    (all, sources)
}

/// Returns the settings that all jobs have with the same value.
fn common_settings(recordings: &[Recording]) -> Settings {
    let Some((first, others)) = recordings.split_first() else { return Settings::new() };
    let mut common = first.settings.clone();
    common.retain(|name, value| others.iter().all(|one| one.settings.get(name) == Some(value)));
    common
}

fn workload_job(job: KeptJob, origin: i64) -> WorkloadJob {
    let mut found = replay::job(job.name, job.submitted - origin);
    for (name, phase) in PHASES.iter().zip(job.phases) {
        if phase.seconds.is_empty() {
            continue;
        }
        let mut demand = DemandByName::from([("cpus".to_owned(), 1.0)]);
        if let Some(bytes) = phase.memory {
            demand.insert("memory".to_owned(), bytes);
        }
        // Reduces wait for the maps, if there are any.
        let after = (0..found.spec.phases.len() as u32).collect();
        replay::add_phase(&mut found, name, after, demand, phase.seconds);
    }
    found
}

/// Returns for each machine the most attempts that ran at the same time, and the most bytes that their containers
/// used.
fn busiest(intervals: Vec<(Host, i64, i64, Option<f64>)>) -> FxHashMap<Host, (u32, f64)> {
    let mut changes: Vec<(Host, i64, i32, f64)> = Vec::with_capacity(2 * intervals.len());
    for (host, start, finish, memory) in intervals {
        let bytes = memory.unwrap_or(0.0);
        changes.push((host, start, 1, bytes));
        changes.push((host, finish, -1, -bytes));
    }
    // At the same instant, ends count before starts.
    changes.sort_by_key(|&(host, at, change, _)| (host, at, change));
    let mut busiest: FxHashMap<Host, (u32, f64)> = FxHashMap::default();
    let (mut current, mut running, mut bytes) = (Host::MAX, 0, 0.0);
    for (host, _, change, more) in changes {
        if host != current {
            (current, running, bytes) = (host, 0, 0.0);
        }
        running += change;
        bytes += more;
        let most = busiest.entry(host).or_default();
        most.0 = most.0.max(u32::try_from(running).unwrap_or(0));
        most.1 = most.1.max(bytes);
    }
    busiest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_simultaneous_attempts_of_a_machine_are_found() {
        let gigabytes = |n: f64| Some(n * 1e9);
        let found = busiest(vec![
            (0, 10, 20, gigabytes(1.0)),
            (0, 12, 30, gigabytes(2.0)),
            (0, 20, 40, gigabytes(4.0)),
            (1, 10, 40, None),
        ]);
        assert_eq!(found[&0], (2, 6e9));
        assert_eq!(found[&1], (1, 0.0));
    }
}
