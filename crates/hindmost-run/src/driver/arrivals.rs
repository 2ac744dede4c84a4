//! Jobs that arrive in a run: with their results that are valid, and what is known of their tasks.

use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::JobId;
use hindmost_core::learning::Learner;
use hindmost_core::record::Event;
use hindmost_core::workload::JobSpec;

use super::jobs::LiveJob;
use super::profiles::RunProfiles;
use super::{Driver, RunError, RunOptions, what_counts};
use crate::job_file::Plan;
use crate::store::{GivenUp, Opened, Store};

/// Returns a job as policies see it, with its tasks that have valid results, and its tasks that stay failed.
///
/// # Errors
/// If all of its tasks have results, so that it can't arrive.
pub(super) fn arrival(plan: &Plan, store: &Store) -> Result<Arrival, RunError> {
    let given_up = what_counts::given_up(plan, store, &[], &[]);
    let valid = what_counts::valid_results(plan, store, &given_up)?;
    if valid.len() as u64 == plan.tasks() {
        return Err(RunError::Input(format!(
            "{} has every result of job {:?} and no journal, so there is nothing to run; remove the folder to run \
                             the job again",
            store.folder().display(),
            plan.name
        )));
    }
    let mut spec = plan.job_spec();
    for task in &valid {
        spec.phases[task.phase as usize].finished.push(task.index);
    }
    for (phase, planned) in spec.phases.iter_mut().zip(&plan.phases) {
        phase.input = planned.input();
    }
    let stays_failed = |task: &&GivenUp| given_up.contains(&task.id()) && !valid.contains(&task.id());
    // Tasks that are left out follow from the others.
    let left_out = plan.left_out(&given_up);
    let failed = store.job().given_up.iter().filter(stays_failed);
    let given_up = failed.filter(|task| !left_out.contains(&task.id())).cloned().collect();
    Ok(Arrival { spec, given_up })
}

/// A job that is about to arrive.
pub(super) struct Arrival {
    pub(super) spec: JobSpec,
    /// Tasks that had failed as their phases allow, and stay so.
    given_up: Vec<GivenUp>,
}

/// Creates the state of a job with this number, and gives the learner the durations of its tasks in earlier runs.
pub(super) fn live_job(
    id: JobId,
    opened: Opened,
    options: &RunOptions,
    knowledge: Knowledge,
    learner: &mut Learner,
) -> Result<LiveJob, RunError> {
    let Opened { store, plan, .. } = opened;
    let profiles = RunProfiles::read(&plan, options, knowledge)?;
    learner.add_job(plan.phases.iter().map(|phase| match options.history.get(&phase.name) {
        Some(durations) => durations.clone(),
        None => profiles.durations(&plan.name, &phase.name),
    }));
    Ok(LiveJob::new(id, Arc::new(plan), store, profiles))
}

impl Driver<'_> {
    /// Lets a job arrive. `earlier_failures` are those of its tasks that may not run twice.
    pub(super) fn arrive(
        &mut self,
        job: JobId,
        Arrival { spec, given_up }: Arrival,
        earlier_failures: &[what_counts::TaskFailures],
    ) -> Result<(), RunError> {
        self.recall_profiles(job, &spec)?;
        self.happen(&Event::JobArrived { job, spec: spec.into() })?;
        self.say_copies_left_out(job);
        for task in &given_up {
            self.recall_given_up(job, task)?;
        }
        self.recall_failures(job, earlier_failures)
    }

    /// Says which phases get no copies because of what their commands write, if the policy may start any.
    fn say_copies_left_out(&mut self, job: JobId) {
        let policy = &self.header.policy;
        if policy == "none" || policy.ends_with("+none") {
            return;
        }
        let plan = Arc::clone(&self.jobs[job].plan);
        let before = if self.home.is_some() { format!("job {}: ", plan.name) } else { String::new() };
        for line in plan.copies_left_out() {
            self.follower.message(&format!("{before}{line}"));
        }
    }
}
