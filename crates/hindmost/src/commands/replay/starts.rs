//! When tasks can start in the replay of a log that does not say what they waited for: as soon as slots are free, if that explains the
//! recorded times, and otherwise not before they did.

use std::sync::Arc;

use hindmost_core::metrics::RecordedTime;
use hindmost_forecast::order;
use hindmost_forecast::world::{Engine, World};
use hindmost_sim::experiment::{Execution, Experiment, run_all};

use super::Recorded;
use crate::failure::Outcome;
use crate::stop;

/// The note if tasks start as soon as slots are free.
const FREE: &str = "The log does not say what tasks waited for. Slots explain it: in the replay a phase waits for the phases \
                    that had ended before it began, and its tasks start when slots are free.";
/// The note if they don't.
const AS_RECORDED: &str = "The log does not say what tasks waited for, and slots do not explain it: in the replay no task \
                           starts before it did, so an order of jobs or tasks can gain nothing.";

/// Chooses when tasks can start in the replay of a log, if its rows are attempts; other logs say more of what tasks waited for.
/// Also finds the order in which jobs got slots. `experiment` returns the replay of a log. Returns a note on the choice.
pub(super) fn choose(
    one: &mut Recorded,
    experiment: &dyn Fn(&Recorded) -> Experiment,
) -> Outcome<Option<&'static str>> {
    let are_rows_attempts = one.world.as_ref().is_some_and(|world| matches!(world.engine, Engine::Other(_)));
    let free = one.world.as_ref().filter(|_| are_rows_attempts).and_then(World::with_free_starts);
    let Some(free) = free else {
        settle_order(one, experiment)?;
        return Ok(None);
    };
    let mut jobs = one.jobs.to_vec();
    free.recorded.give_durations(&mut jobs);
    let before = (one.world.replace(free), std::mem::replace(&mut one.jobs, Arc::new(jobs)));
    settle_order(one, experiment)?;
    if once(one, experiment)?.is_some_and(|found| found.calibrated) {
        return Ok(Some(FREE));
    }
    (one.world, one.jobs) = before;
    settle_order(one, experiment)?;
    Ok(Some(AS_RECORDED))
}

/// Gives the world of a log the order in which its jobs got slots.
fn settle_order(one: &mut Recorded, experiment: &dyn Fn(&Recorded) -> Experiment) -> Outcome {
    let Some(world) = one.world.clone() else { return Ok(()) };
    let jobs = one.jobs.clone();
    let order = order::settled(&world, &jobs, |order| {
        one.world = Some(World { order: order.to_owned(), ..world.clone() });
        once(one, experiment)
    })?;
    one.world = Some(World { order, ..world });
    Ok(())
}

/// Replays the policy that ran in a log for one seed, and compares the recorded times with the replayed ones.
fn once(one: &Recorded, experiment: &dyn Fn(&Recorded) -> Experiment) -> Outcome<Option<RecordedTime>> {
    let mut replay = experiment(one);
    replay.seeds.truncate(1);
    one.world.as_ref().map(|world| against(world, &one.name, replay)).transpose()
}

/// Replays the policy that ran in a log, and compares the recorded times with the replayed ones.
pub(super) fn against(world: &World, name: &str, mut experiment: Experiment) -> Outcome<RecordedTime> {
    experiment.policies = vec![world.policy.clone()];
    experiment.order.clone_from(&world.order);
    let execution = Execution { threads: 1, stop: stop::flag(), progress: &|_| {}, output: None };
    let results = run_all(std::slice::from_ref(&experiment), &execution)?;
    Ok(world.against(name, results.iter().flatten().next().map_or(&[], Vec::as_slice)))
}
