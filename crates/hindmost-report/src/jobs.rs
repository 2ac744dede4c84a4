//! Renders the jobs of a run of several as text for the terminal.

use hindmost_core::metrics::{RunState, RunSummary};

use crate::run::state;
use crate::table::{Column, named, narrowed};
use crate::text::{counted, duration, grouped, name};

/// Largest width of a job's name, in columns.
const LONGEST_NAME: usize = 40;

/// The columns after the job's name, from left to right.
const COLUMNS: &[Column<RunSummary>] = &[
    Column { heading: "state", from_width: 0, cell: |job| state(job.state).to_owned() },
    Column { heading: "flowtime", from_width: 0, cell: |job| duration(job.flowtime) },
    Column { heading: "tasks\nfinished", from_width: 0, cell: finished },
    Column { heading: "attempts", from_width: 85, cell: |job| grouped(job.attempts) },
    Column { heading: "copies\nstarted", from_width: 60, cell: |job| grouped(job.copies.launched) },
    Column { heading: "copies\nwon", from_width: 65, cell: |job| grouped(job.copies.won) },
];

fn finished(job: &RunSummary) -> String {
    let finished: u64 = job.phases.iter().map(|phase| phase.finished).sum();
    format!("{}/{}", grouped(finished), grouped(job.tasks))
}

/// Returns a table with a line for each job, of at most `width` columns.
pub fn jobs_table(jobs: &[&RunSummary], width: u16) -> String {
    let draw = |columns: &[&Column<RunSummary>], longest: usize| {
        named("job", jobs.iter().map(|job| (name(&job.job, longest, "…"), *job)), columns)
    };
    narrowed(COLUMNS, width, LONGEST_NAME, draw) + "\n"
}

/// Returns one line on how a job has ended, such as `job sort: done in 12 s, 40 tasks`.
pub fn end_of_job(job: &RunSummary) -> String {
    let after = if job.state == RunState::Done { "in" } else { "after" };
    let failed = match job.failed_tasks.len() as u64 {
        0 => String::new(),
        failed => format!(", {} failed", counted(failed, "task")),
    };
    format!(
        "job {}: {} {after} {}{failed}",
        name(&job.job, LONGEST_NAME, "…"),
        state(job.state),
        duration(job.flowtime)
    )
}
