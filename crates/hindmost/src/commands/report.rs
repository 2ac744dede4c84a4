//! The parts of report pages that are not results: the commands that make the page again, and why copies were started.

use std::collections::BTreeMap;
use std::path::Path;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::reasons::reasons;
use hindmost_core::record::{Change, Event, Record};
use hindmost_policies::catalogue;
use hindmost_report::html::{RunPage, Step, run_page};
use hindmost_run::driver::{RunOptions, RunOutcome};
use hindmost_trace::journal;
use hindmost_trace::table::{Columns, States};

use crate::cli::{ReplayArgs, RunArgs};
use crate::failure;

const REPORT: &str = "report.html";

/// What a comparison simulates.
pub enum Subject<'a> {
    /// A scenario, as the command line names it, with the value of `--correlations`.
    Scenario(&'a str, Option<&'a str>),
    /// Logs and journals, with the options that say how to read them.
    Logs(&'a ReplayArgs),
}

/// Returns the steps that make a comparison again. Options that do not change results are left out: `--threads`, and
/// the folder of `--out`.
pub fn again(subject: &Subject<'_>, args: &RunArgs, scenario: Option<&str>) -> Vec<Step> {
    let mut command = match subject {
        Subject::Scenario(name, correlations) => {
            let correlations = correlations.map(|values| format!(" --correlations {}", quoted(values)));
            format!("hindmost simulate {}{}", quoted(name), correlations.unwrap_or_default())
        }
        Subject::Logs(replay) => {
            let logs: Vec<String> = replay.logs.iter().map(|log| quoted(&log.to_string_lossy())).collect();
            format!("hindmost replay {}{}", logs.join(" "), of_tables(&replay.columns, &replay.states))
        }
    };
    let mut option = |name: &str, value: &str| command += &format!(" --{name} {}", quoted(value));
    args.policy.iter().for_each(|policy| option("policy", policy));
    if let Some(seeds) = args.seeds {
        option("seeds", &seeds.to_string());
    }
    if args.seed != 1 {
        option("seed", &args.seed.to_string());
    }
    if let Some(knowledge) = &args.knowledge {
        option("knowledge", knowledge);
    }
    args.set.iter().for_each(|set| option("set", set));
    args.sweep.iter().for_each(|sweep| option("sweep", sweep));
    command += " --out DIR";
    let mut steps = vec![Step {
        text: "This command makes the same page again, on any machine and with any number of threads:".to_owned(),
        code: command,
    }];
    if let Some(scenario) = scenario {
        steps.push(Step {
            text: "The scenario with all options applied (scenario.toml in the folder of this page):".to_owned(),
            code: scenario.to_owned(),
        });
    }
    steps
}

/// Returns the options that say how tables are read, as a part of a command.
pub fn of_tables(columns: &Columns, states: &States) -> String {
    let mut options = String::new();
    for (name, value) in [("columns", columns.to_string()), ("states", states.to_string())] {
        if !value.is_empty() {
            options += &format!(" --{name} {}", quoted(&value));
        }
    }
    options
}

/// Returns the text, in quotes if a shell needs them.
pub fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-/:,=@%+".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Writes the report of a live run into its folder. If that fails, a message says so and the run still succeeds.
pub fn of_run(options: &RunOptions, out: &Path, outcome: &RunOutcome) {
    // A run whose journal is missing keeps the report that it has.
    if outcome.timeline.nodes.is_empty() {
        return;
    }
    write(outcome, &page_of_run(options, out, None, outcome));
}

/// Writes the report of a job of a run of several into the job's folder, as [`of_run`] does. `home` is the folder of the run.
pub fn of_job(options: &RunOptions, home: &Path, outcome: &RunOutcome) {
    write(outcome, &page_of_run(options, home, Some(&outcome.summary.job), outcome));
}

fn write(outcome: &RunOutcome, page: &str) {
    // The results of a phase of this name would be at the page's path.
    let taken = outcome.plan.phases.iter().any(|phase| phase.name == REPORT);
    if let Err(error) = outcome.pages.write(REPORT, taken, page).map_err(anyhow::Error::from) {
        failure::say(&format!("the report could not be written: {error:#}"));
    }
}

/// Returns the report of a run, or of one of its jobs. `out` is the folder with the journal.
fn page_of_run(options: &RunOptions, out: &Path, job: Option<&str>, outcome: &RunOutcome) -> String {
    let folder = quoted(&out.to_string_lossy());
    let example = outcome.timeline.rows.iter().find(|row| row.redundant).or(outcome.timeline.rows.first());
    let mut again = Vec::new();
    if let Some(row) = example {
        let job = job.map_or(String::new(), |job| format!("{job}/"));
        let task = format!("{job}{}/{}", outcome.timeline.phase_name(row.attempt.task), row.attempt.task.index);
        again.push(Step {
            text: "Each step of a task, with what the policy knew at that time:".to_owned(),
            code: format!("hindmost explain {folder} {}", quoted(&task)),
        });
    }
    again.push(Step {
        text: "Compare other policies on the jobs and nodes of this run:".to_owned(),
        code: format!("hindmost replay {folder}"),
    });
    again.push(Step {
        text: "Check that the policy makes the same decisions again:".to_owned(),
        code: format!("hindmost verify {folder}"),
    });
    let page = RunPage {
        summary: &outcome.summary,
        timeline: &outcome.timeline,
        reasons: &run_reasons(out, job),
        work: &outcome.plan.describe(),
        faults: &injected_faults(options),
        again: &again,
    };
    run_page(&page)
}

/// Returns why copies were started, from the run's journal: those of one of its jobs, or of its only one. Empty if the journal
/// can't be read.
fn run_reasons(out: &Path, job: Option<&str>) -> BTreeMap<AttemptId, String> {
    let Ok(reader) = journal::records(out, None) else { return BTreeMap::default() };
    let header = reader.header().clone();
    let Ok(session) = catalogue::session_of(&header) else { return BTreeMap::default() };
    // If the journal is cut short, its complete records are used.
    let records: Vec<Record> = reader.map_while(Result::ok).collect();
    let Some(job) = job else { return reasons(session, records) };
    let mut arrived = records.iter().rev().filter_map(|record| match &record.change {
        Change::Event(Event::JobArrived { job: id, spec }) if *spec.name == *job => Some(*id),
        _ => None,
    });
    let Some(id) = arrived.next() else { return BTreeMap::default() };
    // The timeline of one job gives it number 0.
    let alone = |attempt: AttemptId| AttemptId { task: TaskId { job: JobId(0), ..attempt.task }, ..attempt };
    let all = reasons(session, records).into_iter();
    all.filter(|(attempt, _)| attempt.task.job == id).map(|(attempt, why)| (alone(attempt), why)).collect()
}

/// Returns the faults that `--chaos` injects, in words.
fn injected_faults(options: &RunOptions) -> String {
    let chaos = &options.chaos;
    let mut said: Vec<String> =
        chaos.slow.iter().map(|(node, factor)| format!("{node} slowed by a factor of {factor}")).collect();
    if chaos.kill > 0.0 {
        said.push(format!("each attempt killed with probability {}", chaos.kill));
    }
    said.extend(chaos.lose.iter().map(|lost| format!("{} lost", lost.node)));
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_where_a_shell_needs_it() {
        assert_eq!(["/tmp/a-1/b", "it's here", ""].map(quoted), ["/tmp/a-1/b", "'it'\\''s here'", "''"]);
    }
}
