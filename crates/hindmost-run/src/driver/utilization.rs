//! The utilization of a live run.

use hindmost_core::resources::{Dimensions, MAX_DIMENSIONS};
use hindmost_core::timeline::Timeline;

/// Returns the share of the nodes' capacity that attempts held from the start of the first job to its finish, or to the end of
/// the records, in the busiest dimension. Pauses are left out. `None` if no time has passed.
pub(super) fn utilization(timeline: &Timeline, dimensions: &Dimensions) -> Option<f64> {
    let job = timeline.jobs.first()?;
    let end = job.finish.unwrap_or(timeline.end);
    let demands = job.spec.phases.iter().map(|phase| dimensions.demand(&phase.demand));
    let demands: Vec<_> = demands.collect::<Result<_, _>>().ok()?;
    let mut held = [0.0; MAX_DIMENSIONS];
    for row in &timeline.rows {
        let (demand, until) = (demands.get(row.attempt.task.phase as usize)?, row.end.min(end));
        let paused = timeline.paused_until(until) - timeline.paused_until(row.start);
        let seconds = (until - row.start).seconds() - paused.seconds();
        for (held, units) in held.iter_mut().zip(demand.0) {
            *held += seconds * units as f64;
        }
    }
    let seconds = (end - job.arrival).seconds() - timeline.paused_until(end).seconds();
    let capacity = |dimension: usize| timeline.nodes.iter().map(|node| node.capacity.0[dimension] as f64).sum::<f64>();
    let shares = held.iter().enumerate().map(|(at, held)| (held, capacity(at))).filter(|(_, capacity)| *capacity > 0.0);
    let busiest = shares.map(|(held, capacity)| held / capacity).max_by(f64::total_cmp)?;
    (seconds > 0.0).then(|| busiest / seconds)
}
