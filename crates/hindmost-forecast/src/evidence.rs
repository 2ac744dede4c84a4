//! Says whether the long tasks of a log would also have taken long in a copy, as far as the log shows it.

use hindmost_core::metrics::Recommended;
use hindmost_core::workload::{SituatedTask, WorkloadJob};
use hindmost_math::statistics::quantile;

use crate::changes::situated;
use crate::recorded::RecordedApplication;

/// The least difference between the ends of the range of a gain for which it matters what the log leaves open, as a share of the wall time.
const MATTERS: f64 = 0.02;
/// A single task that takes this many times as long as 95% of its phase is more likely to hang than to take so long by its nature.
const HANGS: f64 = 10.0;
/// Fewest tasks of a phase in which such a task stands out.
const FEWEST: usize = 10;

/// Returns what the log shows of whether long tasks take long by their nature, in words. `None` if it makes no difference to what copies gain.
pub(crate) fn evidence(application: &RecordedApplication, tried: &[Recommended]) -> Option<String> {
    let own = &application.world.recorded.own_share;
    let width = |one: &Recommended| one.gain_share_range[1] - one.gain_share_range[0];
    let matters = tried.iter().any(|one| one.is_about_copies && width(one) >= MATTERS);
    let Some(likeliest) = own.likeliest else {
        return matters.then(|| {
            let hang = longest(&application.jobs).map_or_else(String::new, |times| {
                format!(
                    " One task took {times:.0} times as long as 95% of its phase, without input that explains it: more likely a hang, \
                     but this is not known."
                )
            });
            format!(
                "The log does not show whether the long tasks would take long in a copy, too: if they would, copies gain the lower end of \
                 the ranges, otherwise the upper end.{hang} Run it once more: if the same tasks are slow again, the work belongs to them."
            )
        });
    };
    if own.repeats == 0 {
        return None;
    }
    if likeliest >= 0.5 {
        return Some(
            "The same tasks are slow in several jobs, where other tasks on their nodes are not: a copy would most likely take as long. Divide their work instead."
                .to_owned(),
        );
    }
    matters.then(|| {
        "The tasks that are slow in one job are not slow in the others: a copy of them would most likely not be slow.".to_owned()
    })
}

/// Returns how many times as long as 95% of its phase the longest task took that no input explains, if there is one that stands out.
fn longest(jobs: &[WorkloadJob]) -> Option<f64> {
    let of_phase = |tasks: &[SituatedTask]| {
        let mut residuals: Vec<f64> = tasks.iter().map(|task| task.residual).collect();
        residuals.sort_unstable_by(f64::total_cmp);
        let longest = residuals.pop().filter(|_| tasks.len() >= FEWEST)?;
        let times = longest / quantile(&mut residuals, 0.95)?;
        (times >= HANGS).then_some(times)
    };
    jobs.iter().flat_map(situated).filter_map(|phase| of_phase(&phase.tasks)).reduce(f64::max)
}
