//! The jobs of the simulations on which claims rest.

use std::sync::Arc;

use crate::data::{ClaimSpec, PaperError, ReadingSpec};
use crate::evaluate::{Evaluator, RunOfPart, SweepPlace};
use crate::metric::JobRow;
use crate::runs::RunId;

/// The jobs of one simulation.
#[derive(Clone, Debug)]
pub struct JobsOfRun {
    /// Name of the world.
    pub world: String,
    /// Name of the reading.
    pub reading: String,
    /// The policy as it is written on the command line.
    pub policy: String,
    /// The place of the sweep; `None`: the simulation is not part of a sweep.
    pub place: Option<SweepPlace>,
    /// The seed.
    pub seed: u64,
    /// The jobs in the order of arrival.
    pub jobs: Arc<Vec<JobRow>>,
}

/// Returns the worlds and policies that claims name, without sweeps.
pub fn labels_of_claims<'p>(claims: &[&'p ClaimSpec]) -> Vec<(&'p str, &'p str)> {
    let mut who: Vec<(&'p str, &'p str)> = Vec::new();
    for part in claims.iter().flat_map(|claim| &claim.part) {
        let labels = [(&part.policy, &part.world), (&part.against, &part.world), (&part.against, &part.against_world)];
        for (label, world) in labels {
            if let (Some(label), Some(world)) = (label.as_deref(), world.as_deref())
                && !label.contains(':')
                && !who.contains(&(world, label))
            {
                who.push((world, label));
            }
        }
    }
    who
}

/// Returns the jobs of the simulations of `claims` under each of `readings`; those of sweeps only if `with_sweeps`. In the
/// first pass of [`Runs`](crate::runs::Runs) the simulations are requested, and the list is empty.
///
/// # Errors
/// If a run is not valid.
pub fn jobs<'p>(
    evaluator: &mut Evaluator<'p, '_>,
    claims: &[&'p ClaimSpec],
    readings: &[&'p ReadingSpec],
    with_sweeps: bool,
) -> Result<Vec<JobsOfRun>, PaperError> {
    let labels = labels_of_claims(claims);
    let mut all = Vec::new();
    for reading in readings {
        for (name, label) in &labels {
            let Some(world) = evaluator.paper.world(name) else { continue };
            let id = evaluator.run_of(world, label, reading, None)?;
            add(evaluator, (name, reading, None, id), &mut all);
        }
        // Several claims may be about one place of a sweep.
        let mut known: Vec<RunOfPart> = Vec::new();
        for part in claims.iter().flat_map(|claim| &claim.part).filter(|_| with_sweeps) {
            for run in evaluator.sweep_runs(part, reading)? {
                if !known.contains(&run) {
                    add(evaluator, (&run.world, reading, Some(run.place.clone()), run.id), &mut all);
                    known.push(run);
                }
            }
        }
    }
    Ok(all)
}

/// Adds the jobs of a run, one entry for each seed.
fn add(
    evaluator: &mut Evaluator<'_, '_>,
    (world, reading, place, id): (&str, &ReadingSpec, Option<SweepPlace>, RunId),
    all: &mut Vec<JobsOfRun>,
) {
    let rows = evaluator.runs.rows(id, false);
    let seeds = evaluator.runs.seeds_of(id).to_vec();
    let policy = evaluator.runs.policy_of(id);
    all.extend(rows.into_iter().zip(seeds).map(|(jobs, seed)| JobsOfRun {
        world: world.to_owned(),
        reading: reading.name.clone(),
        policy: policy.clone(),
        place: place.clone(),
        seed,
        jobs,
    }));
}
