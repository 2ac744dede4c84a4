//! What reports tell beside results: how to make them again, and of live runs why copies were started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hindmost_core::ids::AttemptId;
use hindmost_core::reasons::reasons;
use hindmost_policies::catalogue;
use hindmost_report::html::{RunPage, Step, run_page};
use hindmost_run::driver::{RunOptions, RunOutcome};
use hindmost_run::job_file::Plan;
use hindmost_trace::journal;

use crate::cli::RunArgs;
use crate::failure;

const REPORT: &str = "report.html";

/// What a comparison is of.
pub enum Subject<'a> {
    /// A scenario, as the command line names it.
    Scenario(&'a str),
    /// Logs and journals.
    Logs(&'a [PathBuf]),
}

/// How a comparison is made again. What results do not depend on is left out: threads, and where they go.
pub fn again(subject: &Subject<'_>, args: &RunArgs, scenario: Option<&str>) -> Vec<Step> {
    let mut command = match subject {
        Subject::Scenario(name) => format!("hindmost simulate {}", quoted(name)),
        Subject::Logs(logs) => {
            let logs: Vec<String> = logs.iter().map(|log| quoted(&log.to_string_lossy())).collect();
            format!("hindmost replay {}", logs.join(" "))
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
        text: "The same command gives the same page, on any machine and any number of threads:".to_owned(),
        code: command,
    }];
    if let Some(scenario) = scenario {
        steps.push(Step {
            text: "The scenario with all that was set (scenario.toml beside this page):".to_owned(),
            code: scenario.to_owned(),
        });
    }
    steps
}

/// A word of a command as the shell takes it.
fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-/:,=@%+".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Writes the report of a live run into its folder. That it can't be written is told, but is no failure of the run.
pub fn of_run(plan: &Plan, options: &RunOptions, out: &Path, outcome: &RunOutcome) {
    // A phase's results may have that place.
    let taken = plan.phases.iter().any(|phase| phase.name == REPORT);
    let page = page_of_run(plan, options, out, outcome);
    let written = page.and_then(|page| outcome.pages.write(REPORT, taken, &page).map_err(anyhow::Error::from));
    if let Err(error) = written {
        failure::say(&format!("the report could not be written: {error:#}"));
    }
}

fn page_of_run(plan: &Plan, options: &RunOptions, out: &Path, outcome: &RunOutcome) -> anyhow::Result<String> {
    let folder = quoted(&out.to_string_lossy());
    let example = outcome.timeline.rows.iter().find(|row| row.redundant).or(outcome.timeline.rows.first());
    let mut again = Vec::new();
    if let Some(row) = example {
        let task = format!("{}/{}", outcome.timeline.phase_name(row.attempt.task), row.attempt.task.index);
        again.push(Step {
            text: "The whole story of a task, with what the policy knew at each step:".to_owned(),
            code: format!("hindmost explain {folder} {}", quoted(&task)),
        });
    }
    again.push(Step {
        text: "What other policies would have done with this run:".to_owned(),
        code: format!("hindmost replay {folder}"),
    });
    again.push(Step {
        text: "Whether its journal gives the same decisions again:".to_owned(),
        code: format!("hindmost verify {folder}"),
    });
    let page = RunPage {
        summary: &outcome.summary,
        timeline: &outcome.timeline,
        reasons: &run_reasons(out),
        work: &plan.describe(),
        rehearsal: &rehearsal(options),
        again: &again,
    };
    Ok(run_page(&page)?)
}

/// Why copies were started, from the run's journal; nothing where it does not tell.
fn run_reasons(out: &Path) -> BTreeMap<AttemptId, String> {
    let Ok(reader) = journal::records(out, None) else { return BTreeMap::default() };
    let header = reader.header().clone();
    let Ok(session) = catalogue::session_of(&header) else { return BTreeMap::default() };
    // A journal that is cut short tells as much as it has.
    let records = reader.map_while(Result::ok);
    reasons(session, records)
}

/// What was rehearsed, as `--chaos` takes it.
fn rehearsal(options: &RunOptions) -> String {
    let chaos = &options.chaos;
    let mut said: Vec<String> =
        chaos.slow.iter().map(|(node, factor)| format!("{node} slowed {factor} times")).collect();
    if chaos.kill > 0.0 {
        said.push(format!("attempts killed by a chance of {}", chaos.kill));
    }
    said.extend(chaos.lose.iter().map(|lost| format!("{} taken away", lost.node)));
    said.join(", ")
}
