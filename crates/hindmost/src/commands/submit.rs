//! `hindmost submit`: submits a job to a run that accepts jobs.

use hindmost_core::metrics::RunState;
use hindmost_report::text::{counted, duration};
use hindmost_run::submission::{Client, Reply, Request};
use serde_json::{Value, json};

use crate::cli::SubmitArgs;
use crate::failure::{Failure, Outcome, say};
use crate::terminal;

/// Submits a job, or closes the run for further jobs.
pub fn run(args: &SubmitArgs) -> Outcome {
    let Some(job) = &args.job else { return close(args) };
    let file = std::path::absolute(job)?;
    let file = file.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::input(format!("{}: the path of a submitted job must be valid UTF-8", file.display()))
    })?;
    let request = Request::Submit { file, name: args.name.clone(), resume: args.resume, wait: args.wait };
    let mut client = Client::send(&args.to, &request).map_err(Failure::input)?;
    let (job, folder, tasks, notes) = match client.reply().map_err(Failure::work)? {
        Reply::Accepted { job, folder, tasks, notes } => {
            for note in &notes {
                say(note);
            }
            (job, folder, tasks, notes)
        }
        other => return Err(unexpected(other)),
    };
    let mut json = json!({ "job": job, "folder": folder, "tasks": tasks, "notes": notes });
    let accepted = format!("job {job} with {} is accepted, its results go to {folder}", counted(tasks, "task"));
    if !args.wait {
        return if args.json { terminal::print_json(&json) } else { terminal::print(&accepted) };
    }
    say(&accepted);
    let (state, summary) = match client.end().map_err(Failure::work)? {
        Reply::Ended { state, summary } => (state, summary),
        other => return Err(unexpected(other)),
    };
    let flowtime = summary.get("flowtime").and_then(Value::as_f64).unwrap_or(0.0);
    json["summary"] = summary;
    let printed = if args.json {
        terminal::print_json(&json)
    } else if state == RunState::Done {
        terminal::print(&format!("job {job}: done in {}, results in {folder}", duration(flowtime)))
    } else {
        Ok(())
    };
    match state {
        RunState::Done => printed,
        RunState::Failed => {
            Err(Failure::work(format!("job {job} failed after {}; its report is in {folder}", duration(flowtime))))
        }
        RunState::Abandoned => Err(Failure::work(format!("the policy abandoned job {job}"))),
        RunState::Interrupted => {
            Err(Failure::work(format!("the run was stopped before job {job} was done: resume the run to continue it")))
        }
    }
}

fn close(args: &SubmitArgs) -> Outcome {
    let mut client = Client::send(&args.to, &Request::Close {}).map_err(Failure::input)?;
    match client.reply().map_err(Failure::work)? {
        Reply::Closed { open } if args.json => terminal::print_json(&json!({ "open": open })),
        Reply::Closed { open: 0 } => terminal::print("the run ends now"),
        Reply::Closed { open } => {
            terminal::print(&format!("the run accepts no more jobs and ends after {}", counted(open, "job")))
        }
        other => Err(unexpected(other)),
    }
}

/// Returns the failure for a reply that is a refusal or does not fit the request.
fn unexpected(reply: Reply) -> Failure {
    match reply {
        Reply::Refused { reason } => Failure::input(reason),
        _ => Failure::work(
            "the run sent a reply that does not fit the request: use the same version of Hindmost as the run",
        ),
    }
}
