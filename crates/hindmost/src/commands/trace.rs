//! `hindmost trace`: counts the contents of logs and shows what stragglers cost in them.

use std::path::Path;

use hindmost_core::metrics::{Diagnosis, DiagnosisTotal, Findings};
use hindmost_report::findings;
use hindmost_report::text::{counted, duration, escaped, grouped, indented};
use hindmost_trace::log::{self, Log};
use hindmost_trace::{TraceError, TraceSummary, Wanted};
use serde::Serialize;

use crate::cli::TraceCommand;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::terminal;

/// Width of the labels of counts, in columns.
const NAMES: usize = 22;

/// The counts and findings of one log, as `--json` prints them.
#[derive(Serialize)]
struct LogInfo {
    #[serde(flatten)]
    summary: TraceSummary,
    findings: Findings,
    /// All applications together.
    diagnosis: DiagnosisTotal,
    #[serde(skip)]
    applications: Vec<Diagnosis>,
}

/// Runs a trace command.
pub fn run(command: TraceCommand) -> Outcome {
    let TraceCommand::Info { files, columns, states, json } = command;
    let columns = columns.with_states(states);
    let mut all = Vec::new();
    for file in &files {
        let read = with_progress(|progress| log::read(file, &columns, Wanted::BRIEF_DIAGNOSES, Some(progress)))?;
        let Log { summary, findings, diagnoses: applications, .. } = read;
        all.push(LogInfo { summary, findings, diagnosis: DiagnosisTotal::of(applications.iter()), applications });
    }
    if json {
        return match &all[..] {
            [only] => terminal::print_json(only),
            all => terminal::print_json(&all),
        };
    }
    let texts: Vec<String> = files.iter().zip(&all).map(|(file, info)| text(&name(file), info)).collect();
    terminal::print(&texts.join("\n"))
}

/// Returns the name of a file for display.
fn name(file: &Path) -> String {
    if file == Path::new(log::STANDARD_INPUT) { "standard input".to_owned() } else { file.display().to_string() }
}

/// Reads a log and shows a progress bar while it is read.
pub fn with_progress<T>(read: impl FnOnce(&mut dyn FnMut(u64, Option<u64>)) -> Result<T, TraceError>) -> Outcome<T> {
    let bar = Progress::new(1.0, "reading");
    let mut shown = 0.0;
    let result = read(&mut |done, total| {
        if let Some(total) = total.filter(|total| *total > 0) {
            let fraction = (done as f64 / total as f64).min(1.0);
            bar.advance(fraction - shown);
            shown = fraction;
        }
    });
    bar.finish(true);
    result.map_err(Failure::input)
}

fn text(name: &str, info: &LogInfo) -> String {
    let summary = &info.summary;
    let width = usize::from(terminal::width()).max(40);
    let mut text = indented("", &escaped(name), width);
    let span = summary.from.zip(summary.to).map(|(from, to)| to - from);
    let (stages, nodes) = match summary.format {
        "spark" => ("stages", "nodes (executors)"),
        _ => ("phases", "nodes"),
    };
    let mut line = |what: &str, value: String| text += &indented(&format!("  {what:<NAMES$} "), &value, width);
    line("format", summary.format.to_string());
    for (what, count) in [
        ("jobs", summary.jobs),
        (stages, summary.stages),
        ("tasks", summary.tasks),
        ("attempts", summary.attempts),
        ("speculative attempts", summary.speculative_attempts),
        ("failed attempts", summary.failed_attempts),
        ("killed attempts", summary.killed_attempts),
        (nodes, summary.nodes),
    ] {
        line(what, grouped(count));
    }
    if let Some(span) = span {
        line("time covered", duration(span));
    }
    if let Some(paused) = summary.paused {
        line("paused", format!("{}, left out of all other times", duration(paused)));
    }
    for (what, causes) in [("failed because of", &summary.failures), ("killed because of", &summary.killed_by)] {
        let mut causes: Vec<(&String, &u64)> = causes.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (at, (cause, count)) in causes.into_iter().enumerate() {
            line(if at == 0 { what } else { "" }, format!("{}: {}", counted(*count, "attempt"), escaped(cause)));
        }
    }
    for warning in &summary.warnings {
        text += &indented("  warning: ", &escaped(warning), width);
    }
    text + "\n" + &findings::text(&info.findings, &info.applications, terminal::width())
}
