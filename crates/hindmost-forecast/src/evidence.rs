//! Says whether the long tasks of a log would also have taken long in a copy, as far as the log shows it.

use hindmost_core::metrics::{Cause, Recommended, StragglersByCause};
use hindmost_core::workload::{SituatedTask, WorkloadJob};
use hindmost_math::statistics::quantile;
use hindmost_trace::diagnosis::FAR_BEYOND;

use crate::changes::situated;
use crate::recorded::RecordedApplication;
use crate::world::Engine;

/// It matters what the log leaves open if copies may gain less than the first of these shares of the wall time, and at least the second.
const MATTERS: [f64; 2] = [0.02, 0.05];
/// The least share of the excess of stragglers without a cause in the log that is worth saying.
const UNKNOWN: f64 = 0.1;
/// Fewest tasks of a phase in which a task can stand out.
const FEWEST: usize = 10;

/// Returns what the log shows of whether long tasks take long by their nature, in words. `None` if it makes no difference to what
/// copies gain.
pub(crate) fn evidence(
    application: &RecordedApplication,
    stragglers: &StragglersByCause,
    tried: &[Recommended],
) -> Option<String> {
    let own = &application.world.recorded.own_share;
    let rests = rests_on_other_jobs(application, tried);
    let is_open = |[least, most]: [f64; 2]| least < MATTERS[0] && most >= MATTERS[1];
    if !tried.iter().any(|one| one.is_about_copies && is_open(one.gain_share_range)) {
        return rests;
    }
    let Some(likeliest) = own.likeliest else {
        // Causes that the log names also say what a copy meets.
        share_of(stragglers, &[Cause::Isolated, Cause::Unexplained]).filter(|share| *share >= UNKNOWN)?;
        let hang = longest(&application.jobs).map_or_else(String::new, |times| {
            format!(
                " One task took {times:.0} times as long as 95% of its phase, without input that explains it: more likely a \
                 hang, but this is not known."
            )
        });
        return Some(format!(
            "The log does not show whether the long tasks without another cause would take long in a copy, too: if they would, \
             copies gain the lower end of the ranges, otherwise the upper end.{hang} Run it once more: if the same tasks are \
             slow again, the work belongs to them."
        ));
    };
    let rests = rests.map_or_else(String::new, |words| format!(" {words}"));
    if own.repeats == 0 {
        return None;
    }
    if likeliest >= 0.5 {
        return Some(format!(
            "The same tasks are slow in several jobs, where other tasks on their nodes are not: a copy would most likely take \
             as long. Divide their work instead.{rests}"
        ));
    }
    let but = match application.world.recorded.long_in_most_jobs {
        0 => "The".to_owned(),
        1 => "One task is slow in most jobs, and so would its copies be. The other".to_owned(),
        more => format!("{more} tasks are slow in most jobs, and so would their copies be. The other"),
    };
    Some(format!(
        "{but} tasks that are slow in one job are not slow in the others: a copy of them would most likely not be slow.{rests}"
    ))
}

/// The share of the excess of stragglers that is due to these causes. `None` without stragglers.
pub(crate) fn share_of(stragglers: &StragglersByCause, causes: &[Cause]) -> Option<f64> {
    let found = stragglers.causes.iter().filter(|found| causes.contains(&found.cause));
    let excess: f64 = found.map(|found| found.excess_seconds).sum();
    (stragglers.excess_seconds > 0.0).then(|| excess / stragglers.excess_seconds)
}

/// Says that the gain of copies rests on the same tasks in other jobs, and what makes two tasks the same. `None` if it does not, or
/// if copies gain little.
fn rests_on_other_jobs(application: &RecordedApplication, tried: &[Recommended]) -> Option<String> {
    let own = &application.world.recorded.own_share;
    let matters = |one: &Recommended| one.is_about_copies && one.gain_share_range[1] >= MATTERS[1];
    let likeliest = own.likeliest.filter(|_| own.repeats > 0 && tried.iter().any(matters))?;
    let by = match application.world.engine {
        Engine::Other(_) => "the same name in a phase with the same name and number of tasks",
        Engine::Spark | Engine::Hadoop | Engine::Hindmost => {
            "the same number in a phase with the same name and number of tasks"
        }
    };
    let tasks = if own.repeats == 1 { "1 long task".to_owned() } else { format!("{} long tasks", own.repeats) };
    let otherwise = if likeliest < 0.5 { "less" } else { "more" };
    Some(format!(
        "What copies gain rests on {tasks} that other jobs have too, by {by}: if these do other work there, copies may gain {otherwise}."
    ))
}

/// Returns how many times as long as 95% of its phase the longest task took that no input explains, if there is one that stands out.
fn longest(jobs: &[WorkloadJob]) -> Option<f64> {
    let of_phase = |tasks: &[SituatedTask]| {
        let mut residuals: Vec<f64> = tasks.iter().map(|task| task.residual).collect();
        residuals.sort_unstable_by(f64::total_cmp);
        let longest = residuals.pop().filter(|_| tasks.len() >= FEWEST)?;
        let times = longest / quantile(&mut residuals, 0.95)?;
        (times >= FAR_BEYOND).then_some(times)
    };
    jobs.iter().flat_map(situated).filter_map(|phase| of_phase(&phase.tasks)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use hindmost_core::metrics::StragglerCause;
    use hindmost_trace::replay::{OwnShare, RecordedWorld};

    use super::*;
    use crate::world::World;

    fn said(own_share: OwnShare, range: [f64; 2]) -> Option<String> {
        let mut recorded = RecordedWorld::default();
        recorded.own_share = own_share;
        let application = RecordedApplication {
            jobs: Vec::new(),
            executors: Vec::new(),
            world: World::of_spark(recorded, None, (&[], false)),
            version: None,
            is_sql: false,
        };
        let cause = StragglerCause { cause: Cause::Isolated, tasks: 1, excess_seconds: 9.0 };
        let stragglers = StragglersByCause { tasks: 1, excess_seconds: 9.0, causes: vec![cause] };
        evidence(
            &application,
            &stragglers,
            &[Recommended { is_about_copies: true, gain_share_range: range, ..Recommended::default() }],
        )
    }

    #[test]
    fn what_the_log_leaves_open_is_said_if_it_matters() {
        let open = OwnShare::default();
        assert!(said(open, [0.0, 0.4]).is_some_and(|text| text.contains("Run it once more")));
        assert_eq!((said(open, [0.0, 0.04]), said(open, [0.1, 0.4])), (None, None));
    }

    #[test]
    fn what_other_jobs_show_is_said() {
        let known = |likeliest: f64| OwnShare { likeliest: Some(likeliest), repeats: 3, ..OwnShare::default() };
        assert!(
            said(known(1.0), [0.0, 0.4])
                .is_some_and(|text| text.starts_with("The same tasks are slow in several jobs"))
        );
        assert!(said(known(0.0), [0.0, 0.4]).is_some_and(|text| text.contains("are not slow in the others")));
        // Copies that ran are evidence, but not of other jobs.
        assert_eq!(said(OwnShare { repeats: 0, ..known(0.0) }, [0.0, 0.4]), None);
    }

    #[test]
    fn a_gain_that_rests_on_the_same_tasks_in_other_jobs_says_so() {
        let known = OwnShare { likeliest: Some(0.0), repeats: 3, ..OwnShare::default() };
        let rests = "What copies gain rests on 3 long tasks that other jobs have too, by the same number";
        assert!(said(known, [0.1, 0.4]).is_some_and(|text| text.starts_with(rests)));
        assert!(said(known, [0.0, 0.4]).is_some_and(|text| text.contains(rests)));
        assert!(said(known, [0.1, 0.4]).is_some_and(|text| text.ends_with("may gain less.")));
        let own = OwnShare { likeliest: Some(1.0), ..known };
        assert!(said(own, [0.0, 0.4]).is_some_and(|text| text.ends_with("may gain more.")));
        assert_eq!(said(known, [0.0, 0.04]), None);
    }
}
