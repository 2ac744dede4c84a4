//! What the demo says, before and after.

use std::path::Path;

use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use hindmost_report::run::side_by_side;
use hindmost_report::text::{columns, counted, duration, grouped, percent, wrapped};
use hindmost_run::driver::RunOutcome;

use super::job::{FILES, MEGABYTE, NODES, SLOW};
use super::text::Counts;
use crate::commands::run::chart;
use crate::terminal;

/// Columns beyond which sentences are hard to read.
const SENTENCE: u16 = 100;
/// Copies that are told one by one.
const COPIES_TOLD: usize = 3;
/// What to try after the demo, and what it is.
const NEXT: [[&str; 2]; 2] = [
    ["hindmost run examples/wordcount/job.toml", "a job file to begin with"],
    ["hindmost simulate", "policies on a simulated cluster"],
];

/// What is about to be done.
pub fn introduction(slow: f64, bytes: usize, cores: usize) -> String {
    let slowed = if slow > 1.0 {
        format!("{SLOW} is slow, on purpose: what runs there takes {slow} times as long, because {}.", how(slow))
    } else {
        "None of them is slowed.".to_owned()
    };
    let nodes = match cores {
        1 => "the one core".to_owned(),
        _ => format!("the {}", unbroken(&counted(cores as u64, "core"))),
    };
    paragraph(&format!(
        "Counting the words of {FILES} files of {}\u{a0}MB: one task a file, then one that adds up. The nodes {} have \
         one cpu each and share {nodes} of this machine. {slowed} The job runs twice: first without Hindmost, then \
         with it.",
        bytes as f64 / MEGABYTE,
        NODES.join(", "),
    ))
}

/// How the slow node is slowed.
pub fn how(slow: f64) -> String {
    if slow > 1.0 {
        let share = percent(1.0 / slow);
        format!("its processes are stopped and continued in turn and run only {share} of the time")
    } else {
        "it is not slowed".to_owned()
    }
}

/// Both runs, drawn on one axis and in numbers, and what became of the copies.
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
    text + "\n" + &paragraph(&copies(&with.timeline))
}

/// That both results are right.
pub fn equal_results(counts: &Counts) -> String {
    let text = format!(
        "Both results are the same to the last byte, and what a count in memory gives: {}, {} of them different.",
        unbroken(&counted(counts.words(), "word")),
        unbroken(&grouped(counts.different()))
    );
    "\n".to_owned() + &paragraph(&text)
}

/// Where the files are, and what to try next.
pub fn farewell(out: Option<&Path>, with: &Timeline) -> String {
    let mut text = "\n".to_owned();
    match out {
        None => text += &paragraph("The files were temporary and are removed; --out DIR keeps them."),
        Some(out) => {
            let shown = out.display();
            text += &format!("Text, job file and both runs are in {shown}\n");
            if let Some(row) = with.rows.iter().find(|row| row.redundant) {
                let task = row.attempt.task;
                let command =
                    format!("hindmost explain {} {}/{}", quoted(&out.join("with")), with.phase_name(task), task.index);
                text += &format!("\nWhy there was a copy:\n  {command}\n");
            }
        }
    }
    text += "\nNext:\n";
    let widest = NEXT.map(|[command, _]| columns(command)).into_iter().max().unwrap_or(0);
    for [command, what] in NEXT {
        let line = format!("  {command:widest$}   {what}");
        // What is copied from the screen must not be broken for what stands beside it.
        let fits = columns(&line) <= usize::from(terminal::width());
        text += &if fits { line + "\n" } else { format!("  {command}\n") };
    }
    text
}

fn paragraph(text: &str) -> String {
    wrapped(text, usize::from(terminal::width().min(SENTENCE)), 0) + "\n"
}

/// With spaces at which no line is broken, for numbers.
fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// As a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = text.chars().all(|letter| letter.is_alphanumeric() || "._-/:,=@%+".contains(letter));
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// What became of the copies, in words.
fn copies(timeline: &Timeline) -> String {
    let redundant = || timeline.rows.iter().filter(|row| row.redundant);
    let mut told: Vec<String> = redundant().take(COPIES_TOLD).map(|row| copy(timeline, row)).collect();
    let more = redundant().count() - told.len();
    if more > 0 {
        told.push(format!("There were {more} more."));
    }
    if told.is_empty() { "No task lagged so much that a copy was worth it.".to_owned() } else { told.join(" ") }
}

fn copy(timeline: &Timeline, row: &TimelineRow) -> String {
    let task = format!("{}/{}", timeline.phase_name(row.attempt.task), row.attempt.task.index);
    let (node, after) = (timeline.node_name(row.node), unbroken(&duration(row.start.seconds())));
    let earlier = timeline.attempts_of(row.attempt.task).take_while(|other| other.attempt != row.attempt).last();
    let first = earlier.map_or("?", |earlier| timeline.node_name(earlier.node));
    let moved = earlier.is_some_and(|earlier| earlier.end <= row.start);
    let ended = match row.outcome {
        AttemptEnd::Won => format!("was done {} later", unbroken(&duration((row.end - row.start).seconds()))),
        _ => "was not needed in the end".to_owned(),
    };
    if moved {
        return format!("After {after} task {task}, which lagged behind on {first}, was moved to {node} and {ended}.");
    }
    format!("After {after} a copy of task {task}, which lagged behind on {first}, was started on {node} and {ended}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted(Path::new("/tmp/a-1/b")), "/tmp/a-1/b");
        assert_eq!(quoted(Path::new("it's here")), "'it'\\''s here'");
    }

    #[test]
    fn the_introduction_is_honest() {
        let text = introduction(8.0, 12_000_000, 2).replace('\n', " ");
        assert!(text.contains("5 files of 12\u{a0}MB"), "{text}");
        assert!(text.contains("share the 2\u{a0}cores of this machine. n4 is slow, on purpose"), "{text}");
        assert!(text.contains("takes 8 times as long") && text.contains("run only 12.5% of the time"), "{text}");
        let text = introduction(1.0, 500_000, 1).replace('\n', " ");
        assert!(text.contains("0.5\u{a0}MB") && text.contains("the one core"), "{text}");
        assert!(text.contains("None of them is slowed."), "{text}");
    }
}
