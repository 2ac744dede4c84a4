//! When tasks can start in the replay of a log that does not say what they waited for: as soon as slots are free, if that explains the
//! recorded times, and otherwise not before they did.

use std::sync::Arc;

use hindmost_core::metrics::RecordedTime;
use hindmost_forecast::world::{Engine, World};
use hindmost_sim::experiment::{Execution, Experiment, run_all};

use super::Recorded;
use crate::failure::Outcome;
use crate::stop;

/// The note if tasks start as soon as slots are free.
const FREE: &str = "The log does not say what tasks waited for. Slots explain it: in the replay a phase waits for the phases that had ended before it began, and its tasks start when slots are free.";
/// The note if they don't.
const AS_RECORDED: &str = "The log does not say what tasks waited for, and slots do not explain it: in the replay no task starts before it did, so an order of jobs or tasks can gain nothing.";

/// Chooses when tasks can start in the replay of a log, if its rows are attempts; other logs say more of what tasks waited for. `experiment` returns the replay of a log. Returns a note on the choice.
pub(super) fn choose(
    one: &mut Recorded,
    experiment: &dyn Fn(&Recorded) -> Experiment,
) -> Outcome<Option<&'static str>> {
    let Some(world) = one.world.as_ref().filter(|world| matches!(world.engine, Engine::Other(_))) else {
        return Ok(None);
    };
    let Some(free) = world.with_free_starts() else { return Ok(None) };
    let mut jobs = one.jobs.to_vec();
    free.recorded.give_durations(&mut jobs);
    let before = (one.world.replace(free.clone()), std::mem::replace(&mut one.jobs, Arc::new(jobs)));
    let mut replay = experiment(one);
    replay.seeds.truncate(1);
    if against(&free, &one.name, replay)?.is_some_and(|found| found.calibrated) {
        return Ok(Some(FREE));
    }
    (one.world, one.jobs) = before;
    Ok(Some(AS_RECORDED))
}

/// Replays the policy that ran in a log, and compares the recorded times with the replayed ones.
pub(super) fn against(world: &World, name: &str, mut experiment: Experiment) -> Outcome<Option<RecordedTime>> {
    experiment.policies = vec![world.policy.clone()];
    let execution = Execution { threads: 1, stop: stop::flag(), progress: &|_| {}, output: None };
    let results = run_all(std::slice::from_ref(&experiment), &execution)?;
    Ok(match &results[0][..] {
        [of_policy] => Some(world.against(name, of_policy)),
        _ => None,
    })
}
