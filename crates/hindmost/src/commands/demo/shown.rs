//! The text that the demo prints before and after the two runs.

use std::path::Path;

use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use hindmost_report::run::side_by_side;
use hindmost_report::text::{columns, counted, duration, grouped, percent, wrapped};
use hindmost_run::driver::RunOutcome;

use super::job::{FILES, MEGABYTE};
use super::text::Counts;
use crate::commands::report::quoted;
use crate::commands::run::chart;
use crate::terminal;

/// Largest width of paragraphs, in columns. Longer lines are hard to read.
const SENTENCE: u16 = 100;
/// Largest number of copies to describe one by one.
const COPIES_SHOWN: usize = 3;
/// A job file of the repository, to try after the demo.
const EXAMPLE: &str = "examples/wordcount/job.toml";

/// Explains the table of both runs.
const LEGEND: &str = "Slowest winner: the longest attempt that finished first for its task. Extra work: share of the \
                      total time of all attempts that was spent on attempts that lost to another copy of their task.";

/// Returns a description of the two runs that follow.
/// `cores` is the number of cores that the nodes share, if they are parts of this machine.
pub fn introduction(slow: f64, bytes: usize, cores: Option<usize>, names: &[String]) -> String {
    let slow_node = names.last().map_or("", String::as_str);
    let slowed = if slow > 1.0 {
        format!("{slow_node} is slow, on purpose: tasks there take {slow} times as long, because {}.", how(slow))
    } else {
        "No node is slowed.".to_owned()
    };
    let nodes = match cores {
        None => "have one cpu each for this job".to_owned(),
        Some(1) => "have one cpu each and share the one core of this machine".to_owned(),
        Some(cores) => {
            format!("have one cpu each and share the {} of this machine", unbroken(&counted(cores as u64, "core")))
        }
    };
    paragraph(&format!(
        "The job counts the words of {FILES} files of {}\u{a0}MB: one task for each file, then one task that adds up \
         the counts. The nodes {} {nodes}. {slowed} The job runs twice: \
         first without Hindmost, then with it.",
        bytes as f64 / MEGABYTE,
        names.join(", "),
    ))
}

/// Returns how the slow node is slowed, in words.
pub fn how(slow: f64) -> String {
    if slow > 1.0 {
        let share = percent(1.0 / slow);
        format!("its processes are stopped and continued in turn, so that they run only {share} of the time")
    } else {
        "it is not slowed".to_owned()
    }
}

/// Returns both runs as charts with the same time axis, a table of their numbers, and a sentence on each copy.
pub fn comparison(without: &RunOutcome, with: &RunOutcome) -> String {
    let until = without.timeline.end.max(with.timeline.end).seconds();
    let mut text = String::new();
    for (name, outcome) in [("without Hindmost", without), ("with Hindmost", with)] {
        let title = format!("{name}: {}", duration(outcome.summary.flowtime));
        let title = if terminal::colour() { format!("\x1b[1m{title}\x1b[0m") } else { title };
        text += &format!("\n{title}\n{}", chart(outcome, Some(until)));
    }
    text += "\n";
    text += &side_by_side(("without", &without.summary), ("with", &with.summary), terminal::width());
    text += "\n";
    text += &paragraph(LEGEND);
    text + "\n" + &paragraph(&copies(&with.timeline))
}

/// Returns a sentence that says that both results are right.
pub fn equal_results(counts: &Counts) -> String {
    let text = format!(
        "Both results are the same to the last byte and equal a count in memory: {}, {} of them different.",
        unbroken(&counted(counts.words(), "word")),
        unbroken(&grouped(counts.different()))
    );
    "\n".to_owned() + &paragraph(&text)
}

/// Returns where the files are, and commands to try next.
pub fn farewell(out: Option<&Path>, with: &Timeline) -> String {
    let mut text = "\n".to_owned();
    let program = program();
    match out {
        None => text += &paragraph("The files are removed. With --out DIR the demo keeps them."),
        Some(out) => {
            let shown = out.display();
            text += &format!("The text, the job file and both runs are in {shown}\n");
            if let Some(row) = with.rows.iter().find(|row| row.redundant) {
                let task = row.attempt.task;
                let command = format!(
                    "{program} explain {} {}/{}",
                    quoted(&out.join("with").to_string_lossy()),
                    with.phase_name(task),
                    task.index
                );
                text += &format!("\nThis command shows why a copy was started:\n  {command}\n");
            }
        }
    }
    text += "\nTry next:\n";
    let mut next = vec![(format!("{program} simulate"), "compare policies on a simulated cluster")];
    if Path::new(EXAMPLE).is_file() {
        next.insert(0, (format!("{program} run {EXAMPLE}"), "run your first job file"));
    }
    let widest = next.iter().map(|(command, _)| columns(command)).max().unwrap_or(0);
    for (command, what) in next {
        let line = format!("  {command:widest$}   {what}");
        // A command must stay on one line, so that it can be copied. Its description is left out if it does not fit.
        let fits = columns(&line) <= usize::from(terminal::width());
        text += &if fits { line + "\n" } else { format!("  {command}\n") };
    }
    text
}

fn paragraph(text: &str) -> String {
    wrapped(text, usize::from(terminal::width().min(SENTENCE)), 0) + "\n"
}

/// Returns the command that starts this program again: the path by which it was started, or `hindmost` if it was found
/// on the path of the shell.
fn program() -> String {
    let started = std::env::args_os().next().map(|name| name.to_string_lossy().into_owned());
    started.filter(|path| path.contains('/')).map_or_else(|| "hindmost".to_owned(), |path| quoted(&path))
}

/// Replaces spaces by no-break spaces, so that a number and its unit stay on one line.
fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// Describes the copies and how they ended.
fn copies(timeline: &Timeline) -> String {
    let redundant = || timeline.rows.iter().filter(|row| row.redundant);
    let mut sentences: Vec<String> = redundant().take(COPIES_SHOWN).map(|row| copy(timeline, row)).collect();
    let more = redundant().count() - sentences.len();
    if more > 0 {
        sentences.push(format!("There were {more} more copies."));
    }
    if sentences.is_empty() { "No task lagged so much that it got a copy.".to_owned() } else { sentences.join(" ") }
}

fn copy(timeline: &Timeline, row: &TimelineRow) -> String {
    let task = format!("{}/{}", timeline.phase_name(row.attempt.task), row.attempt.task.index);
    let (node, after) = (timeline.node_name(row.node), unbroken(&duration(row.start.seconds())));
    let earlier = timeline.attempts_of(row.attempt.task).take_while(|other| other.attempt != row.attempt).last();
    let first = earlier.map_or("?", |earlier| timeline.node_name(earlier.node));
    let relaunched = earlier.is_some_and(|earlier| earlier.end <= row.start);
    let ended = match row.outcome {
        AttemptEnd::Won => format!("finished {} later", unbroken(&duration((row.end - row.start).seconds()))),
        _ => "did not finish first".to_owned(),
    };
    if relaunched {
        return format!("After {after} task {task}, which lagged on {first}, was relaunched on {node} and {ended}.");
    }
    format!("After {after} a copy of task {task}, which lagged on {first}, was started on {node} and {ended}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_introduction_names_size_cores_and_slow_node() {
        let nodes = super::super::job::NODES.map(str::to_owned);
        let text = introduction(8.0, 12_000_000, Some(2), &nodes).replace('\n', " ");
        assert!(text.contains("5 files of 12\u{a0}MB"), "{text}");
        assert!(text.contains("share the 2\u{a0}cores of this machine. n4 is slow, on purpose"), "{text}");
        assert!(text.contains("take 8 times as long") && text.contains("run only 12.5% of the time"), "{text}");
        let text = introduction(1.0, 500_000, Some(1), &nodes).replace('\n', " ");
        assert!(text.contains("0.5\u{a0}MB") && text.contains("the one core"), "{text}");
        assert!(text.contains("No node is slowed."), "{text}");
    }
}
