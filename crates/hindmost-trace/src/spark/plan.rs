//! Finds the jobs of a replay, and which stages of each wait for which.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::application::Application;
use super::jobs::job_name;
use super::oddities::Oddities;
use super::queries::{self, Joined};
use super::stage::Stage;
use crate::recording::{PhaseRows, PlannedJob, PlannedPhase};

/// Returns the jobs of an application with a task that succeeded, in the order of the log. Counts what is left out. `rows` are the
/// attempts of its stages.
pub(super) fn jobs(application: &Application, rows: &[PhaseRows], oddities: &mut Oddities) -> Vec<PlannedJob> {
    let (stages, list) = (application.stages.held(), &application.jobs.list);
    let joined = queries::join(stages, list.len());
    // When the first of its tasks that succeeded started, for each stage that has one.
    let first_launch = |rows: &PhaseRows| rows.counted().values().map(|row| row.start).reduce(f64::min);
    let launches: FxHashMap<u32, f64> =
        rows.iter().filter_map(|rows| Some((rows.phase, first_launch(rows)?))).collect();
    let mut submissions: FxHashMap<u32, f64> = FxHashMap::default();
    // The stages that ran for each job. Jobs and stages are in ascending order.
    let mut phases: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (&id, stage) in stages {
        oddities.no_parents += u64::from(stage.ran && stage.parents.is_none());
        // A count of the stages that ran for no job is in the warnings already.
        let Some(job) = stage.owner else { continue };
        let Some(launch) = launches.get(&id) else {
            oddities.stages_without_success += 1;
            continue;
        };
        let at = list[job as usize].submitted.map_or(*launch, |at| at as f64 / 1000.0);
        let earliest = submissions.entry(job).or_insert(at);
        *earliest = at.min(*earliest);
        phases.entry(joined.first_of(job)).or_default().insert(id);
    }
    let mut all = Vec::new();
    for (index, job) in (0..).zip(list) {
        if joined.first_of(index) != index {
            continue;
        }
        let Some(ids) = phases.get(&index) else {
            oddities.jobs_without_success += 1;
            continue;
        };
        let members = joined.members(index);
        if members.len() > 1 {
            oddities.joined_jobs += members.len() as u64;
            oddities.joins += 1;
        }
        let numbers: Vec<u32> = members.iter().map(|&member| list[member as usize].id).collect();
        let order = in_order(ids, stages, &joined, oddities).into_iter();
        all.push(PlannedJob {
            name: job_name(&numbers, &job.description),
            ids: numbers,
            submitted: members.iter().filter_map(|member| submissions.get(member).copied()).reduce(f64::min),
            phases: order.map(|(phase, after)| PlannedPhase { phase, after }).collect(),
        });
    }
    all
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
