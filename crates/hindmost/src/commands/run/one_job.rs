//! `hindmost run` with one job file.

use std::path::Path;

use hindmost_core::metrics::RunState;
use hindmost_report::run::run_table;
use hindmost_report::text::{counted, grouped};
use hindmost_run::driver::{self, RunError, RunOptions, RunOutcome};
use hindmost_run::engine::NodeOffer;
use hindmost_run::job_file::{self, Plan};
use hindmost_run::store::{Opening, Store, begun_with};

use super::executing::run_plan;
use super::settings::{opening, options, resume_command};
use super::shown::{Shown, chart, checked, described, nodes_in_words, why_failed};
use crate::board::Board;
use crate::cli::RunJobArgs;
use crate::engines::Chosen;
use crate::failure::{Failure, Outcome};
use crate::{live_page, terminal};

/// Runs a job, or checks its file.
pub(super) fn run(args: &RunJobArgs, path: &Path) -> Outcome {
    let mut plan = job_file::load(path).map_err(Failure::input)?;
    plan.override_with(&args.overrides());
    args.ending.count_term();
    let options = options(args)?;
    let unknown = options.history.keys().filter(|name| plan.phases.iter().all(|phase| phase.name != **name));
    for phase in unknown {
        crate::failure::say(&format!(
            "--history has durations of phase {phase:?}, but this job has no such phase; they are not used"
        ));
    }
    let out = args.out.clone().unwrap_or_else(|| plan.folder.join(format!("{}.out", plan.name)));
    let opening = opening(args);
    let recorded = if opening.resume { begun_with(&out) } else { None };
    let mut engine =
        Chosen::of(&args.engine, args.nodes.as_deref(), plan.nodes.as_deref(), recorded, &|node| plan.can_use(node))?;
    engine.set_speeds(&args.node_speed, &plan.speeds)?;
    args.ending.check_tmpdir(engine.is_shared())?;
    if !args.redo.is_empty() && !out.join(".hindmost").is_dir() {
        return Err(Failure::input(format!(
            "--redo: {} holds no run, so no part of it can run again; without --redo, all of the job runs",
            out.display()
        )));
    }
    if args.check {
        live_page::check(args.serve.as_deref())?;
        return check(args, &plan, &options, (&engine.nodes, engine.given), &out, &opening);
    }
    let page = live_page::serve(args.serve.as_deref(), &out)?;
    let board = Board::new(&plan.name, args.json || args.quiet);
    let outcome = run_plan(&plan, &options, &out, opening, engine, &mut Shown::new(&board, args.quiet));
    board.finish();
    if let Some(page) = page {
        page.finish();
    }
    for suggestion in outcome.iter().flat_map(|outcome| &outcome.summary.suggestions).filter(|_| !args.quiet) {
        crate::failure::say(&suggestion.text);
    }
    let hint = format!("`{}` continues the run", resume_command(args));
    let outcome = outcome.map_err(|failure| match failure {
        Failure::Work(error) => Failure::work(format!("{error:#}; after you have corrected this, {hint}")),
        other => other,
    })?;
    // The state of the job decides the exit code, even if stdout is closed.
    let printed = print(args, &outcome, &out);
    match outcome.summary.state {
        RunState::Done => printed,
        RunState::Failed => Err(Failure::work(format!("the job failed: {}; {hint}", why_failed(&outcome)))),
        RunState::Abandoned => Err(Failure::work(format!(
            "the policy abandoned the job; the results of its finished tasks are in {}",
            out.display()
        ))),
        RunState::Interrupted => {
            crate::failure::say(&hint);
            Err(Failure::Interrupted)
        }
    }
}

fn print(args: &RunJobArgs, outcome: &RunOutcome, out: &Path) -> Outcome {
    if args.json {
        terminal::print_json(&outcome.summary)
    } else {
        let mut text = run_table(&outcome.summary, terminal::width());
        if args.gantt {
            text += "\n";
            text += &chart(outcome, None);
        }
        if outcome.summary.state == RunState::Done {
            text += &format!("\nresults in {}\n", out.display());
        }
        terminal::print(&text)
    }
}

fn check(
    args: &RunJobArgs,
    plan: &Plan,
    options: &RunOptions,
    (nodes, are_given): (&[NodeOffer], bool),
    out: &Path,
    opening: &Opening,
) -> Outcome {
    // What a resumed run would do, if there is a run.
    let opened = (opening.resume && out.join(".hindmost").is_dir())
        .then(|| Store::open(out, plan, opening).map_err(RunError::from))
        .transpose()?;
    let recorded = match &opened {
        Some(opened) if !are_given => driver::recorded_nodes(&opened.store)?,
        _ => None,
    };
    let nodes = recorded.as_deref().unwrap_or(nodes);
    driver::check(plan, options, nodes)?;
    let resumed = opened.map(|opened| driver::resume_plan(options, &opened, nodes)).transpose()?;
    let (policy, knowledge) = driver::chosen(plan, options)?;
    let shell = plan.shells_in_words(&job_file::default_shell());
    if args.json {
        let mut json = checked(plan, &(policy, knowledge), nodes)?;
        if let Some(resumed) = &resumed {
            json["resume"] = resumed.to_json();
        }
        return terminal::print_json(&json);
    }
    let mut text = plan.describe();
    text +=
        &format!("\nThe job would run with policy {policy}, knowledge {knowledge}, shell {shell}, on these nodes:\n");
    text += &nodes_in_words(nodes);
    if let Some(resumed) = &resumed {
        text += &format!("\nThe run in {} would continue:\n", out.display());
        for phase in &resumed.phases {
            let failed = match phase.failed {
                0 => String::new(),
                1 => "1 task stays failed, ".to_owned(),
                count => format!("{count} tasks stay failed, "),
            };
            let withdrawn = match phase.withdrawn {
                0 => String::new(),
                count => format!(", {} withdrawn", counted(u64::from(count), "task")),
            };
            let to_run = counted(u64::from(phase.to_run), "task");
            let ended = match phase.ended {
                0 => String::new(),
                count => format!(" ({} of them while Hindmost was not running)", grouped(u64::from(count))),
            };
            text +=
                &format!("  {}: {} finished{ended}, {failed}{to_run} to run{withdrawn}\n", phase.phase, phase.finished);
        }
        for line in &resumed.messages {
            text += &format!("  {line}\n");
        }
    } else if opening.resume {
        text += &format!("\nThere is no run to resume in {}: a new run would begin.\n", out.display());
    }
    terminal::print(&described(&text))
}
