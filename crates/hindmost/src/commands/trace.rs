//! `hindmost trace`: what logs hold.

use hindmost_trace::{TraceError, TraceSummary, journal, spark};

use crate::cli::TraceCommand;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::terminal;

/// Carries out a trace command.
pub fn run(command: TraceCommand) -> Outcome {
    let TraceCommand::Info { files, json } = command;
    let mut summaries = Vec::new();
    for file in &files {
        summaries.push(with_progress(|progress| match journal::find(file)? {
            Some(found) => journal::summarize(&found, Some(progress)),
            None => spark::summarize(file, Some(progress)),
        })?);
    }
    if json {
        return match &summaries[..] {
            [only] => terminal::print_json(only),
            all => terminal::print_json(&all),
        };
    }
    let texts: Vec<String> =
        files.iter().zip(&summaries).map(|(file, summary)| text(&file.display().to_string(), summary)).collect();
    terminal::print(&texts.join("\n"))
}

/// Reads a log with a progress bar.
pub fn with_progress<T>(read: impl FnOnce(&mut dyn FnMut(u64, Option<u64>)) -> Result<T, TraceError>) -> Outcome<T> {
    let bar = Progress::new(1.0, "reading");
    let mut told = 0.0;
    let result = read(&mut |done, total| {
        if let Some(total) = total.filter(|total| *total > 0) {
            let fraction = (done as f64 / total as f64).min(1.0);
            bar.advance(fraction - told);
            told = fraction;
        }
    });
    bar.finish(true);
    result.map_err(Failure::input)
}

fn text(name: &str, summary: &TraceSummary) -> String {
    let mut text = format!("{name}\n");
    let span = summary.from.zip(summary.to).map(|(from, to)| to - from);
    let (stages, nodes) = match summary.format {
        "journal" => ("phases", "nodes"),
        _ => ("stages", "nodes (executors)"),
    };
    let mut line = |what: &str, value: String| text += &format!("  {what:<22} {value}\n");
    line("format", summary.format.to_string());
    line("jobs", summary.jobs.to_string());
    line(stages, summary.stages.to_string());
    line("tasks", summary.tasks.to_string());
    line("attempts", summary.attempts.to_string());
    line("speculative attempts", summary.speculative_attempts.to_string());
    line("failed attempts", summary.failed_attempts.to_string());
    line("killed attempts", summary.killed_attempts.to_string());
    line(nodes, summary.nodes.to_string());
    if let Some(span) = span {
        line("time covered", format!("{span:.3} s"));
    }
    for warning in &summary.warnings {
        text += &format!("  warning: {warning}\n");
    }
    text
}
