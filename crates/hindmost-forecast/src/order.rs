//! The order in which jobs of a log that ran at the same time got slots: that of the engine's settings, or the one that gives the recorded
//! times where the log leaves it open.

use hindmost_core::metrics::RecordedTime;
use hindmost_core::workload::WorkloadJob;

use crate::world::{Engine, FIRST_IN_FIRST_OUT, World};

/// All jobs in turn.
const FAIR: &str = "fair";

/// Returns the orders that the engine may have used, likeliest first.
fn possible(world: &World) -> &'static [&'static str] {
    match world.engine {
        Engine::Spark if is_spark_fair(world) => &[FAIR, FIRST_IN_FIRST_OUT],
        // The order of a run is known, and Spark's only one without pools is first in, first out.
        Engine::Spark | Engine::Hindmost => &[],
        Engine::Hadoop | Engine::Other(_) => &[FIRST_IN_FIRST_OUT, FAIR],
    }
}

/// Whether Spark shared slots between pools. Jobs of one pool may still run first in, first out: a file says so that is not in the log.
fn is_spark_fair(world: &World) -> bool {
    world.recorded.settings.get("spark.scheduler.mode").is_some_and(|mode| mode.trim().eq_ignore_ascii_case("fair"))
}

/// Returns whether any of the recorded jobs ran at the same time.
fn overlap(world: &World, jobs: &[WorkloadJob]) -> bool {
    let times = jobs.iter().zip(&world.recorded.jobs);
    let mut times: Vec<(f64, f64)> = times
        .map(|(job, recorded)| (job.spec.arrival.seconds(), job.spec.arrival.seconds() + recorded.seconds))
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = f64::NEG_INFINITY;
    times.into_iter().any(|(from, to)| {
        let is_before = from < until;
        until = until.max(to);
        is_before
    })
}

/// Returns the likeliest order whose replay gives the recorded times, or else the one that comes nearest; the one of `world` if no two jobs
/// ran at the same time, or if it is known. `replay` replays the policy that ran with an order.
///
/// # Errors
/// If a replay fails.
pub fn settled<E>(
    world: &World,
    jobs: &[WorkloadJob],
    mut replay: impl FnMut(&str) -> Result<Option<RecordedTime>, E>,
) -> Result<String, E> {
    let orders = possible(world);
    if orders.is_empty() || !overlap(world, jobs) {
        return Ok(world.order.clone());
    }
    let mut nearest = (f64::INFINITY, &*world.order);
    for order in orders {
        let Some(found) = replay(order)? else { return Ok(world.order.clone()) };
        if found.calibrated {
            return Ok((*order).to_owned());
        }
        let off = found.ratio.map_or(f64::INFINITY, |ratio| ratio.max(f64::MIN_POSITIVE).ln().abs());
        if off < nearest.0 {
            nearest = (off, order);
        }
    }
    Ok(nearest.1.to_owned())
}
