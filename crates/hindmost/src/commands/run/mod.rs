//! `hindmost run`: runs a job of many tasks, or several jobs, on this machine or a cluster.

mod executing;
mod one_job;
mod settings;
mod several;
mod shown;

use hindmost_run::job_file;

use crate::cli::RunJobArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal;

pub use executing::{execute, open, run_plan};
pub use settings::{knowledge, policy, powercap};
pub use several::holds_several;
pub use shown::chart;

/// Runs a job or several, or checks their files.
pub fn run(args: &RunJobArgs) -> Outcome {
    if args.schema {
        return terminal::print_json(&job_file::schema());
    }
    for (option, is_set) in [("--keep-results", args.keep_results), ("--retry-failed", args.retry_failed)] {
        if is_set && !args.resumes() {
            return Err(Failure::input(format!(
                "{option} is about the results of an earlier run: add --resume or --redo, or leave it out"
            )));
        }
    }
    let [path] = args.jobs.as_slice() else { return several::run(args) };
    if args.listen.is_some() || args.out.as_deref().is_some_and(several::holds_several) {
        return several::run(args);
    }
    one_job::run(args, path)
}
