//! Builds jobs, phases, nodes and attempts for a replay.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::workload::{DemandByName, WorkloadJob};
use rustc_hash::{FxHashMap, FxHashSet};

use super::application::{Application, Loser};
use super::jobs::job_name;
use super::oddities::Oddities;
use super::queries::{self, Joined};
use super::recorder::phase_name;
use super::stage::Stage;
use super::stages::Stages;
use super::task_end::End;
use crate::diagnosis::Source;
use crate::recorded::{Outcome, RecordedAttempt, RecordedNode};
use crate::replay::{self, since};

/// Jobs, nodes and attempts. Times are counted from `origin`.
pub(super) struct Workload {
    /// The trace's origin, in milliseconds since 1970.
    pub origin: i64,
    pub jobs: Vec<WorkloadJob>,
    pub nodes: Vec<RecordedNode>,
    pub attempts: Vec<RecordedAttempt>,
    /// Where the jobs come from, in the order of `jobs`.
    pub sources: Vec<Source>,
}

/// Builds the workload, and adds warnings about what was left out.
pub(super) fn assemble(applications: Vec<Application>, warnings: &mut Vec<String>) -> Workload {
    let several = applications.len() > 1;
    let submissions: Vec<_> = applications.iter().map(submissions).collect();
    let submitted = submissions.iter().flat_map(|of_jobs| of_jobs.values().copied()).min();
    let any = || applications.iter().filter_map(Application::from).min();
    let origin = submitted.or_else(any).unwrap_or(0);
    let mut workload =
        Workload { origin, jobs: Vec::new(), nodes: Vec::new(), attempts: Vec::new(), sources: Vec::new() };
    let mut jobs_and_sources = Vec::new();
    let mut oddities = Oddities::default();
    for (index, (mut application, submissions)) in applications.into_iter().zip(submissions).enumerate() {
        let prefix = application.prefix(index as u32, several);
        let first_node = workload.nodes.len() as u32;
        attempts(&application, index as u32, first_node, origin, &mut workload.attempts);
        let executors = std::mem::take(&mut application.executors);
        workload.nodes.extend(executors.into_nodes(origin, &prefix, &mut oddities));
        jobs(application, &submissions, origin, &prefix, &mut jobs_and_sources, &mut oddities);
    }
    jobs_and_sources.sort_by_key(|(job, _): &(WorkloadJob, Source)| job.spec.arrival);
    (workload.jobs, workload.sources) = jobs_and_sources.into_iter().unzip();
    oddities.add_warnings(warnings);
    workload
}

/// Returns when jobs were submitted, by index. For a job without a submission time, this is when the first of its
/// successful attempts started. Jobs without a successful attempt are left out.
fn submissions(application: &Application) -> FxHashMap<u32, i64> {
    let mut submissions = FxHashMap::default();
    for (_, stage) in application.stages.iter() {
        let Some(job) = stage.owner else { continue };
        let launches = || stage.winners.in_order().map(|(_, winner)| winner.launch);
        let at = match application.jobs.list[job as usize].submitted {
            Some(at) => launches().next().map(|_| at),
            None => launches().min(),
        };
        if let Some(at) = at {
            let earliest = submissions.entry(job).or_insert(at);
            *earliest = at.min(*earliest);
        }
    }
    submissions
}

/// Adds the attempts that did not win, and the speculative attempts that won, by start time.
fn attempts(application: &Application, number: u32, first_node: u32, origin: i64, all: &mut Vec<RecordedAttempt>) {
    let record = |attempt: &Loser, outcome: Outcome| RecordedAttempt {
        application: number,
        stage: attempt.stage,
        stage_attempt: attempt.stage_attempt,
        task: attempt.task,
        attempt: attempt.attempt,
        node: attempt.executor.map(|executor| first_node + executor),
        launch: since(origin, attempt.launch),
        finish: since(origin, attempt.finish),
        speculative: attempt.speculative,
        outcome,
    };
    let first = all.len();

    for (id, stage) in application.stages.iter() {
        for (task, winner) in stage.winners.in_order().filter(|(_, winner)| winner.speculative) {
            all.push(record(&Loser::from_winner(id, task, winner), Outcome::Won));
        }
    }
    for loser in &application.losers {
        let stage = application.stages.get(loser.stage);
        let winner = stage.filter(|_| !loser.unmatched).and_then(|stage| stage.winners.get(loser.task));
        let outcome = match (loser.end, winner) {
            (End::Failed, _) => Outcome::Failed,
            (End::Killed, None) => Outcome::Killed,
            (End::Success, Some(winner)) if loser.launch >= Some(winner.finish) => Outcome::Repeated,
            (End::Success, None) => Outcome::Repeated,
            _ => Outcome::Lost,
        };
        all.push(record(loser, outcome));
    }
    replay::sort_by_launch(&mut all[first..]);
}

fn jobs(
    application: Application,
    submissions: &FxHashMap<u32, i64>,
    origin: i64,
    prefix: &str,
    all: &mut Vec<(WorkloadJob, Source)>,
    oddities: &mut Oddities,
) {
    let Application { stages, jobs, .. } = application;
    let mut stages = Stages::into_held(stages);
    let joined = queries::join(&stages, jobs.list.len());
    // The stages that ran for each job. Jobs and stages are in ascending order.
    let mut phases: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (&id, stage) in &stages {
        match stage.owner {
            _ if !stage.ran => {}
            // A count of these stages is in the warnings already.
            None => {}
            Some(_) if stage.winners.in_order().next().is_none() => oddities.stages_without_success += 1,
            Some(job) => {
                phases.entry(joined.first_of(job)).or_default().insert(id);
            }
        }
        oddities.no_parents += u64::from(stage.ran && stage.parents.is_none());
    }
    for (index, job) in jobs.list.iter().enumerate() {
        let index = index as u32;
        if joined.first_of(index) != index {
            continue;
        }
        let Some(ids) = phases.get(&index) else {
            oddities.jobs_without_success += 1;
            continue;
        };
        let order = in_order(ids, &stages, &joined, oddities);
        let members = joined.members(index);
        let submitted = members.iter().filter_map(|member| submissions.get(member)).min();
        let submitted = submitted.copied().unwrap_or(origin);
        if members.len() > 1 {
            oddities.joined_jobs += members.len() as u64;
            oddities.joins += 1;
        }
        let numbers: Vec<u32> = members.iter().map(|&member| jobs.list[member as usize].id).collect();
        let name = job_name(&numbers, &job.description);
        let mut found = replay::job(format!("{prefix}{name}"), submitted - origin);
        let mut source = Source { ids: numbers, phases: Vec::new() };
        for (id, after) in order {
            let Some(stage) = stages.get_mut(&id) else {
                continue;
            };
            let winners = std::mem::take(&mut stage.winners);
            let seconds = winners.in_order().map(|(_, winner)| winner.duration()).collect();
            let name = phase_name(id, stage.name.as_deref());
            source.phases.push(id);
            replay::add_phase(&mut found, &name, after, DemandByName::new(), seconds);
        }
        all.push((found, source));
    }
}

/// Returns stages in an order with parents before children, otherwise by id. Each stage has the positions of the stages
/// that it waits for. In a cycle of stages that wait for each other, the stage with the lowest id comes first.
fn in_order(
    ids: &BTreeSet<u32>,
    stages: &FxHashMap<u32, Stage>,
    joined: &Joined,
    oddities: &mut Oddities,
) -> Vec<(u32, Vec<u32>)> {
    let parents = |id| (id, parents(id, ids, stages, joined));
    let mut waiting: BTreeMap<u32, BTreeSet<u32>> = ids.iter().map(|&id| parents(id)).collect();
    let mut children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (&id, parents) in &waiting {
        for &parent in parents {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut open: FxHashMap<u32, usize> = waiting.iter().map(|(&id, parents)| (id, parents.len())).collect();
    let mut ready: BTreeSet<u32> = open.iter().filter(|&(_, &count)| count == 0).map(|(&id, _)| id).collect();
    let mut positions: FxHashMap<u32, u32> = FxHashMap::default();
    let mut order = Vec::with_capacity(ids.len());
    while let Some((&first, _)) = waiting.first_key_value() {
        let id = ready.pop_first().unwrap_or_else(|| {
            oddities.circles += 1;
            first
        });
        let Some(parents) = waiting.remove(&id) else {
            continue;
        };
        let after = parents.iter().filter_map(|parent| positions.get(parent).copied());
        let mut after: Vec<u32> = after.collect();
        after.sort_unstable();
        positions.insert(id, order.len() as u32);
        order.push((id, after));
        for &child in children.get(&id).into_iter().flatten() {
            if let Some(count) = open.get_mut(&child) {
                *count -= 1;
                if *count == 0 && waiting.contains_key(&child) {
                    ready.insert(child);
                }
            }
        }
    }
    order
}

/// Returns the stages of the job that a stage waits for: its parents, the stages that ran instead of skipped parents,
/// and the parents of stages that do not belong to the job (skipped, or run for another job).
fn parents(id: u32, ids: &BTreeSet<u32>, stages: &FxHashMap<u32, Stage>, joined: &Joined) -> BTreeSet<u32> {
    // Parents have smaller ids than their children, so stages with ids below the job's smallest id are irrelevant.
    let least = ids.first().copied().unwrap_or(0);
    let mut found = BTreeSet::new();
    let mut visited = FxHashSet::from_iter([id]);
    let mut next = vec![id];
    while let Some(at) = next.pop() {
        for &parent in stages.get(&at).and_then(|stage| stage.parents.as_ref()).into_iter().flatten() {
            if parent < least || !visited.insert(parent) {
                continue;
            }
            let ran_as = joined.ran_as(parent);
            if ids.contains(&parent) {
                found.insert(parent);
            } else if let Some(other) = ran_as.filter(|&other| other != id && ids.contains(&other)) {
                found.insert(other);
            } else {
                next.push(parent);
            }
        }
    }
    found
}
