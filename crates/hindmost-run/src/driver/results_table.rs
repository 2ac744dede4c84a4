//! The table of all tasks (`results.tsv`), which finds results by input and values. A run writes it at its end, and before a phase begins
//! that comes after others: its commands find all results of these.

use std::fmt::Write;

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::FailedTask;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use hindmost_core::usage::Usage;
use rustc_hash::{FxHashMap, FxHashSet};

use super::jobs::IN_FOLDER;
use crate::job_file::{COLUMNS, Matrix, Plan};

/// What the table says of how a task ran.
#[derive(Clone, Copy, Default)]
pub(super) struct OfTask {
    /// Number of its attempts in this journal.
    pub(super) attempts: u32,
    /// True if it was finished when the journal began.
    pub(super) was_finished: bool,
    /// True if it is finished.
    pub(super) is_finished: bool,
    /// How long the attempt ran that made its result, in seconds.
    pub(super) seconds: Option<f64>,
    /// What the winner needed.
    pub(super) usage: Usage,
}

/// The attempts of a task in a timeline.
#[derive(Clone, Copy, Default)]
struct Ran {
    attempts: u32,
    /// Number of the winner, its duration in seconds as the timeline has it, and what it needed.
    winner: Option<(u32, f64, Usage)>,
}

/// Returns a function that says how each task ran, from a timeline. `seconds` returns how long the attempt ran that made a task's
/// result, from the number of the winner if it is one of this timeline: the timeline does not show it if Hindmost was killed before it
/// recorded the end.
pub(super) fn in_timeline(
    timeline: &Timeline,
    seconds: impl Fn(TaskId, Option<u32>) -> Option<f64>,
) -> impl Fn(TaskId) -> OfTask {
    let mut ran: FxHashMap<TaskId, Ran> = FxHashMap::default();
    for row in &timeline.rows {
        let of_task = ran.entry(row.attempt.task).or_default();
        of_task.attempts += 1;
        if row.outcome == AttemptEnd::Won {
            let took = (row.end - row.start).seconds();
            of_task.winner = Some((row.attempt.copy, took, row.usage.unwrap_or_default()));
        }
    }
    move |task| {
        let spec = timeline.jobs.first().and_then(|job| job.spec.phases.get(task.phase as usize));
        let was_finished = spec.is_some_and(|spec| spec.finished.binary_search(&task.index).is_ok());
        let Ran { attempts, winner } = ran.get(&task).copied().unwrap_or_default();
        let took = winner.and_then(|(copy, took, _)| seconds(task, Some(copy)).or(Some(took)));
        OfTask {
            attempts,
            was_finished,
            is_finished: was_finished || winner.is_some(),
            seconds: if was_finished { seconds(task, None) } else { took },
            usage: winner.map_or(Usage::default(), |(.., usage)| usage),
        }
    }
}

/// Names of the last columns: what the winner needed; empty where that was not measured.
const MEASURED: [&str; 4] = ["peak_memory", "cpu_seconds", "bytes_read", "bytes_written"];

/// The attempts and seconds of a task in an earlier table, and what its winner needed.
type Before<'a> = ([&'a str; 2], [&'a str; 4]);

/// Returns the table: one line for each task, with tabs between the columns. `failed` are the tasks that have failed permanently,
/// `kept` the withdrawn tasks whose results stay in place. `earlier` is the table that the run wrote before, if there is one: it has the
/// attempts and seconds of tasks that were finished when the journal began. `ran` says how each task ran.
pub(super) fn of(
    plan: &Plan,
    (failed, kept): (&[FailedTask], &FxHashSet<TaskId>),
    earlier: &str,
    ran: impl Fn(TaskId) -> OfTask,
) -> String {
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
    for phase in &plan.phases {
        let of_matrix = phase.matrix.iter().flat_map(Matrix::keys).map(|(name, _)| name);
        for name in of_matrix.chain(phase.table.iter().flat_map(|table| table.columns())) {
            if !keys.contains(&name.as_str()) {
                keys.push(name);
            }
        }
    }
    let (before, after) = COLUMNS.split_at(3);
    let mut table = [before, &keys, after, &MEASURED].concat().join("\t") + "\n";
    for (at, phase) in (0..).zip(&plan.phases) {
        for index in 0..phase.tasks {
            let task = TaskId { job: IN_FOLDER, phase: at, index };
            let OfTask { attempts, was_finished, is_finished, seconds, usage } = ran(task);
            let is_withdrawn = phase.is_withdrawn(index);
            let is_failed = failed.contains(&(phase.name.as_str(), index));
            let is_done = is_finished && !is_withdrawn && !is_failed || kept.contains(&task);
            let name = escaped(phase.name.as_bytes());
            let input = phase.input_name(index).map_or(String::new(), |input| escaped(&input));
            // Writing to a string can't fail.
            let _ = write!(table, "{name}\t{index}\t{input}");
            for key in &keys {
                let value = phase.value(index, key).unwrap_or_default();
                let _ = write!(table, "\t{}", escaped(value.as_bytes()));
            }
            let folder = if is_done { format!("{name}/{index}") } else { String::new() };
            // The attempts of a task that was finished when the run began again are in an earlier journal.
            let number = index.to_string();
            let is_earlier = was_finished && is_done || is_failed && attempts == 0;
            let before = ran_before.get(&(name.as_str(), number.as_str())).filter(|_| is_earlier);
            let in_words = |time: Option<f64>| time.map_or(String::new(), |time| format!("{time:.3}"));
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
                None if was_finished => [String::new(), in_words(seconds.filter(|_| is_done))],
                None => [attempts.to_string(), in_words(seconds)],
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
