//! Opens the folder of a job and runs it there.

use std::path::Path;

use hindmost_run::driver::{self, Follower, RunError, RunOptions, RunOutcome};
use hindmost_run::job_file::Plan;
use hindmost_run::store::{BegunWith, Opened, Opening, Store, StoreError};

use crate::engines::{Chosen, Purpose};
use crate::failure::{Failure, Outcome};
use crate::stop;

/// Runs a checked job in a folder, and writes its report there. A resumed run uses the nodes with which it began, unless
/// `given`: the user has named nodes.
pub fn run_plan(
    plan: &Plan,
    options: &RunOptions,
    out: &Path,
    opening: Opening,
    engine: Chosen,
    follower: &mut dyn Follower,
) -> Outcome<RunOutcome> {
    let resumes = opening.resume;
    let opened = open(plan, options, out, opening, &engine)?;
    let outcome = execute(opened, options, resumes, engine, follower)?;
    crate::commands::report::of_run(options, out, &outcome);
    Ok(outcome)
}

/// Opens the folder of a checked job that is to run on this engine.
pub fn open(plan: &Plan, options: &RunOptions, out: &Path, mut opening: Opening, engine: &Chosen) -> Outcome<Opened> {
    // The job is checked before its folder is created, so that a wrong option leaves no folder.
    if !opening.resume {
        driver::check(plan, options, &engine.nodes)?;
    }
    opening.begun_with = Some(begins_with(options, engine));
    Ok(Store::open(out, plan, &opening).map_err(RunError::from)?)
}

/// Returns what the folder of a run keeps of its options and its engine.
pub(super) fn begins_with(options: &RunOptions, engine: &Chosen) -> BegunWith {
    let (name, slurm_args) = engine.recorded();
    BegunWith {
        policy: options.policy.as_ref().map(ToString::to_string),
        knowledge: options.knowledge,
        nodes: engine.nodes.clone(),
        engine: name,
        slurm_args,
    }
}

/// Runs a job in its opened folder. `resumes` says whether the folder's run is to be resumed. It then uses the nodes with which
/// it began, unless the user has named nodes.
pub fn execute(
    opened: Opened,
    options: &RunOptions,
    resumes: bool,
    mut engine: Chosen,
    follower: &mut dyn Follower,
) -> Outcome<RunOutcome> {
    let presses = stop::presses();
    if resumes && !opened.begun {
        let out = opened.store.folder().display();
        follower.message(&nothing_to_resume(&opened, out));
    }
    if resumes {
        take_recorded_nodes(&mut engine, &opened.store)?;
    }
    let purpose =
        Purpose { name: opened.plan.name.clone(), wants_gpus: opened.plan.demands_gpus(), is_done: opened.was_done() };
    let mut engine = engine.open(&purpose, &opened.store, presses, &mut |line| follower.message(line))?;
    let outcome = driver::run(options, opened, engine.engine(), presses, follower);
    if let Some(left) = engine.close() {
        follower.message(&left);
    }
    Ok(outcome?)
}

/// Lets a resumed run use the nodes with which it began, unless the user has named nodes.
pub(super) fn take_recorded_nodes(engine: &mut Chosen, store: &Store) -> Outcome {
    if !engine.given
        && let Some(nodes) = driver::recorded_nodes(store)?
    {
        engine.take_recorded(nodes)?;
    }
    Ok(())
}

/// Returns a message about a folder that has no run to resume, or a run without a journal.
pub fn nothing_to_resume(opened: &Opened, out: impl std::fmt::Display) -> String {
    if opened.lacks_journal() {
        return format!("the run in {out} has no journal, so only its results that are in place and valid count");
    }
    format!("there is no run to resume in {out}: a new run begins")
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Store(StoreError::Displaced(_))
            | RunError::Journal { .. }
            | RunError::Io { .. }
            | RunError::NotDurable { .. }
            | RunError::Record(_)
            | RunError::Stuck => Failure::work(error),
            RunError::Input(_) | RunError::Store(_) | RunError::Policy(_) | RunError::Resource(_) => {
                Failure::input(error)
            }
        }
    }
}
