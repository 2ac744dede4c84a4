//! The table of all tasks that a run writes at its end (`results.tsv`): it finds results by input and values.

use std::fmt::Write;

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::FailedTask;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use hindmost_core::usage::Usage;
use rustc_hash::{FxHashMap, FxHashSet};

use super::jobs::IN_FOLDER;
use crate::job_file::{COLUMNS, Matrix, Plan};

/// The attempts of a task.
#[derive(Clone, Copy, Default)]
struct OfTask {
    attempts: u32,
    /// Number of the winner, and its duration in seconds as the timeline has it.
    winner: Option<(u32, f64)>,
    /// What the winner needed.
    usage: Usage,
}

/// Names of the last columns: what the winner needed; empty where that was not measured.
const MEASURED: [&str; 4] = ["peak_memory", "cpu_seconds", "bytes_read", "bytes_written"];

/// The attempts and seconds of a task in an earlier table, and what its winner needed.
type Before<'a> = ([&'a str; 2], [&'a str; 4]);

/// Returns the table: one line for each task, with tabs between the columns. `failed` are the tasks that have failed permanently,
/// `kept` the withdrawn tasks whose results stay in place. `earlier` is the table that the run wrote before it began again, if
/// there is one: it has the attempts and seconds of tasks that were finished then. `seconds` returns how long the attempt ran that
/// made a task's result, from the number of the winner if it is one of this timeline: the timeline does not show it if Hindmost was
/// killed before it recorded the end.
pub(super) fn of(
    plan: &Plan,
    timeline: &Timeline,
    (failed, kept): (&[FailedTask], &FxHashSet<TaskId>),
    earlier: &str,
    seconds: impl Fn(TaskId, Option<u32>) -> Option<f64>,
) -> String {
    let mut ran: FxHashMap<TaskId, OfTask> = FxHashMap::default();
    for row in &timeline.rows {
        let of_task = ran.entry(row.attempt.task).or_default();
        of_task.attempts += 1;
        if row.outcome == AttemptEnd::Won {
            of_task.usage = row.usage.unwrap_or_default();
            of_task.winner = Some((row.attempt.copy, (row.end - row.start).seconds()));
        }
    }
    let head: Vec<&str> = earlier.lines().next().map_or(Vec::new(), |head| head.split('\t').collect());
    // Tables of older versions lack the last columns.
    let at = head.iter().position(|name| *name == "attempts").filter(|at| *at >= 2 && at + 3 <= head.len());
    let was_measured = head.ends_with(&MEASURED);
    let rows = earlier.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() == head.len());
    let ran_before: FxHashMap<(&str, &str), Before<'_>> = rows
        .filter_map(|row| {
            let measured = row.last_chunk().filter(|_| was_measured).copied().unwrap_or_default();
            Some(((row[0], row[1]), ([row[at?], row[at? + 1]], measured)))
        })
        .collect();
    let failed: FxHashSet<(&str, u32)> = failed.iter().map(|task| (task.phase.as_str(), task.task)).collect();
    let mut keys: Vec<&str> = Vec::new();
    for (name, _) in plan.phases.iter().filter_map(|phase| phase.matrix.as_ref()).flat_map(Matrix::keys) {
        if !keys.contains(&name.as_str()) {
            keys.push(name);
        }
    }
    let (before, after) = COLUMNS.split_at(3);
    let mut table = [before, &keys, after, &MEASURED].concat().join("\t") + "\n";
    for (at, phase) in (0..).zip(&plan.phases) {
        let earlier = timeline.jobs.first().and_then(|job| job.spec.phases.get(at as usize)).map(|spec| &spec.finished);
        for index in 0..phase.tasks {
            let of_task = ran.get(&TaskId { job: IN_FOLDER, phase: at, index }).copied();
            let was_finished = earlier.is_some_and(|finished| finished.binary_search(&index).is_ok());
            let is_withdrawn = phase.is_withdrawn(index);
            let has_result = was_finished || of_task.is_some_and(|of_task| of_task.winner.is_some());
            let is_kept = kept.contains(&TaskId { job: IN_FOLDER, phase: at, index });
            let is_done = has_result && !is_withdrawn || is_kept;
            let name = escaped(phase.name.as_bytes());
            let input = phase.input_name(index).map_or(String::new(), |input| escaped(&input));
            // Writing to a string can't fail.
            let _ = write!(table, "{name}\t{index}\t{input}");
            for key in &keys {
                let value = phase.matrix_values(index).find(|(name, _)| name == key).map_or("", |(_, value)| value);
                let _ = write!(table, "\t{}", escaped(value.as_bytes()));
            }
            let folder = if is_done { format!("{name}/{index}") } else { String::new() };
            // The attempts of a task that was finished when the run began again are in an earlier journal.
            let number = index.to_string();
            let is_failed = failed.contains(&(phase.name.as_str(), index));
            let is_earlier = was_finished && is_done || is_failed && of_task.is_none();
            let before = ran_before.get(&(name.as_str(), number.as_str())).filter(|_| is_earlier);
            let in_words = |time: Option<f64>| time.map_or(String::new(), |time| format!("{time:.3}"));
            let task = TaskId { job: IN_FOLDER, phase: at, index };
            let usage = of_task.map_or(Usage::default(), |of_task| of_task.usage);
            let measured = match before {
                Some((_, measured)) => measured.map(str::to_owned),
                None => [
                    usage.memory.map_or(String::new(), |bytes| bytes.to_string()),
                    in_words(usage.cpu_seconds),
                    usage.read.map_or(String::new(), |bytes| bytes.to_string()),
                    usage.written.map_or(String::new(), |bytes| bytes.to_string()),
                ],
            };
            let [attempts, seconds] = match before {
                Some((before, _)) => before.map(str::to_owned),
                None if was_finished => [String::new(), in_words(seconds(task, None).filter(|_| is_done))],
                None => {
                    let OfTask { attempts, winner, .. } = of_task.unwrap_or_default();
                    let took = winner.and_then(|(copy, took)| seconds(task, Some(copy)).or(Some(took)));
                    [attempts.to_string(), in_words(took)]
                }
            };
            let state = if is_withdrawn {
                "withdrawn"
            } else if is_done {
                "done"
            } else if is_failed {
                "failed"
            } else {
                "unfinished"
            };
            let _ = writeln!(table, "\t{folder}\t{attempts}\t{seconds}\t{state}\t{}", measured.join("\t"));
        }
    }
    table
}

/// Returns a name in which tabs, line ends, backslashes and bytes that are no text are escaped as in C.
fn escaped(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\\' => text.push_str("\\\\"),
                other => text.push(other),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_one_line_and_in_one_column() {
        assert_eq!(escaped(b"a\tb\nc\\d\xff \xc3\xa4"), "a\\tb\\nc\\\\d\\xff ä");
    }
}
