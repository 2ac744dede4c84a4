//! A run whose results are all in place and whose journal is missing: nothing is left to run, and nothing shows how it ran.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hindmost_core::ids::TaskId;
use hindmost_core::journal::Header;
use hindmost_core::metrics::{RunState, RunSummary};
use hindmost_core::time::Time;
use hindmost_core::timeline::{Timeline, TimelineJob};

use super::jobs::IN_FOLDER;
use super::{Follower, RunError, RunOutcome, reports, what_counts};
use crate::job_file::Plan;
use crate::store::{Opened, Store};

/// Returns the outcome of a run without a journal, if every task of its job has its result; otherwise `None`. The outcome has no
/// attempts. The follower receives the results.
///
/// # Errors
/// If results can't be read.
pub(super) fn outcome(
    opened: &Opened,
    header: &Header,
    follower: &mut dyn Follower,
) -> Result<Option<RunOutcome>, RunError> {
    let Opened { store, plan, .. } = opened;
    let valid = what_counts::valid_results(plan, store, &BTreeSet::new())?;
    if (valid.len() as u64) < plan.tasks() {
        return Ok(None);
    }
    follower.message(
        "the run is already done: every task has its result, so nothing is left to run. Its journal is missing, so attempts and \
         times are not known",
    );
    if follower.wants_earlier() {
        for result in reports::earlier(plan, store, &valid, BTreeMap::new())? {
            follower.earlier(&result);
        }
    }
    Ok(Some(without_attempts(plan, store, &valid, header)?))
}

fn without_attempts(
    plan: &Plan,
    store: &Store,
    valid: &BTreeSet<TaskId>,
    header: &Header,
) -> Result<RunOutcome, RunError> {
    let mut spec = plan.job_spec();
    for task in valid.iter().filter(|task| task.job == IN_FOLDER) {
        spec.phases[task.phase as usize].finished.push(task.index);
    }
    let (arrival, finish) = (Time::ZERO, Some(Time::ZERO));
    let job = TimelineJob { spec: spec.into(), arrival, finish, abandoned: None };
    let timeline = Timeline { jobs: vec![job], withdrawn: plan.withdrawn(), ..Timeline::default() };
    let (policy, knowledge) = (header.policy.clone(), header.knowledge.to_string());
    let mut summary = RunSummary::of(&timeline, RunState::Done, Vec::new(), policy, knowledge)
        .ok_or_else(|| RunError::Input("the job is missing".to_owned()))?;
    summary.synced = store.is_synced();
    summary.shell = Some(plan.shells_in_words(&store.job().shell()));
    Ok(RunOutcome {
        plan: plan.clone(),
        summary,
        timeline,
        rounds: 0,
        deciding: Duration::ZERO,
        longest_decision: Duration::ZERO,
        pages: store.pages(),
        folder: store.folder().to_owned(),
    })
}
