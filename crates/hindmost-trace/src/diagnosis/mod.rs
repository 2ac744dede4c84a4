//! What an application spent its wall time on, and why its stragglers were slow.
//!
//! A reader fills a [`Recording`] with everything that happened in one application. [`diagnose`] returns the
//! [`Diagnosis`]. A recording holds about 100 bytes for each attempt.

#[cfg(test)]
mod accusations;
pub(crate) mod area;
mod busy;
mod causes;
pub(crate) mod context;
mod failing_nodes;
pub(crate) mod inputs;
mod instants;
mod joins;
mod last;
mod neighbours;
mod others;
mod rank_sums;
mod rank_test;
mod repeated;
mod slots;
mod slow_nodes;
mod straggler;
mod stragglers;
mod timeline;
pub(crate) mod typical;
mod usual;
mod variance;
mod wall_time;

use hindmost_core::metrics::Diagnosis;

use crate::recording::Recording;
pub(crate) use area::Area;
use context::Context;
pub(crate) use joins::slots_that_join;
pub(crate) use repeated::is_no_chance;
pub(crate) use slots::most_slots;
pub(crate) use slow_nodes::proven_slow;
pub(crate) use typical::STRAGGLER;
use typical::Typical;
pub use usual::FAR_BEYOND;

/// Finds out what an application spent its time on, and why its stragglers were slow.
pub fn diagnose(recording: &Recording) -> Diagnosis {
    diagnose_with(recording, true)
}

/// Does the same. Without details, it leaves out what the durations of tasks depend on, and of the timeline all but the phases.
pub(crate) fn diagnose_with(recording: &Recording, with_details: bool) -> Diagnosis {
    let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
    let (context, mut nodes) = Context::of(recording, &typical);
    let is_cold = |phase: usize, row: usize| context.is_cold(phase, row);
    let first: Vec<f64> = (0..recording.phases.len()).map(|at| context.probable_first_wave_of(at)).collect();
    let excess = |phase: usize, row: usize| context.excess_of_first_wave(phase, row, first[phase]);
    let (wall_time, timeline) = wall_time::wall_time(recording, &typical, with_details, is_cold, excess).unzip();
    let (stragglers, by_node, by_phase) = stragglers::stragglers(&context);
    for node in &mut nodes.slow {
        node.stragglers = by_node.get(&*node.node).copied().unwrap_or(0);
    }
    Diagnosis {
        application: recording.application,
        id: recording.id.clone(),
        name: recording.name.clone(),
        jobs: recording.jobs,
        tasks: recording.phases.iter().map(|phase| phase.winners().count() as u64).sum(),
        all_tasks: recording.phases.iter().map(|phase| phase.size().max(phase.winners().count() as u64)).sum(),
        workers: recording.workers,
        unsuccessful: recording.unsuccessful,
        failed_jobs: recording.failed_jobs.clone(),
        wall_time,
        timeline,
        task_time: last::task_time(recording),
        lost: last::lost_work(recording),
        failures: last::failures(recording),
        finished_last: last::finished_last(recording, &typical),
        stragglers,
        by_phase,
        variance: with_details.then(|| variance::variance(recording, &typical, &context)).flatten(),
        failing_nodes: failing_nodes::failing_nodes(&context),
        slow_nodes: nodes.slow,
        nodes_tested: nodes.tested,
        nodes_untested: nodes.untested,
        are_executors_tested: context.are_executors_tested(),
        settings: recording.settings.clone(),
        needs: recording.needs.0.clone(),
        suggestions: recording.needs.1.clone(),
        advice: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Ended;
    use crate::recording::PhaseRows;
    use crate::testing::{phase, recording, row};

    #[test]
    fn tasks_are_those_that_finished_and_all_of_them() {
        let mut rows = vec![row(0, 0, 0.0, 1.0), row(1, 0, 0.0, 2.0)];
        (rows[1].wins, rows[1].ended) = (false, Ended::Killed);
        let stated = PhaseRows { tasks: Some(500), ..phase(rows.clone()) };
        let found = diagnose(&recording(vec![stated, phase(rows)], Vec::new()));
        assert_eq!((found.tasks, found.all_tasks), (2, 502));
    }
}
