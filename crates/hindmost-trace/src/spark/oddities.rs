//! What a reader had to get around, in sentences for people.

use super::tally::Tally;
use crate::reading::warnings::{some, warn};

/// What may be odd in the events that were read from a file, or from a `directory`.
pub(super) fn of_events(tally: &Tally, directory: bool, warnings: &mut Vec<String>) {
    let unsuccessful = (tally.tasks - tally.winners).saturating_sub(tally.unmatched_winners);
    #[rustfmt::skip]
    warn(warnings, &[
        (tally.nameless, "task end", "task ends", "without stage or task number: counted among the attempts only."),
        (tally.untimed, "success", "successes", "without launch or finish time, left out of replays."),
        (tally.unended, "attempt", "attempts", "started and had not ended when the log does; not counted."),
        (tally.unstarted, "task end", "task ends", "without a start; counted."),
        (tally.startless, "task end and no start of a task in the log:", "task ends and no start of a task in the log:",
            "what was running when it ends is not known."),
        (tally.twice, "task end stands", "task ends stand", "in the log twice; counted once."),
        (tally.late, "task end", "task ends",
            "of stages that were seen long before, in part only: counted among the attempts only."),
        (tally.backwards, "attempt finishes before its launch: how long it took is not known;",
            "attempts finish before their launch: how long they took is not known;", "left out of replays."),
        (tally.missing, "task is not in the log though its stage succeeded:",
            "tasks are not in the log though their stages succeeded:", "lines of it are missing."),
        (tally.without_job, "stage of no job that was running: the start of its job is missing;",
            "stages of no job that was running: the starts of their jobs are missing;", "left out of replays."),
        (unsuccessful, "task", "tasks", "never succeeded; left out of replays."),
    ]);
    if tally.unmatched > 0 {
        let attempts = some(tally.unmatched, "attempt", "attempts");
        let rest = match tally.unmatched_winners {
            0 => String::new(),
            tasks => format!("; {} that may have succeeded there left out of replays", some(tasks, "task", "tasks")),
        };
        warnings.push(format!(
            "{attempts} of stages that were submitted again can't be matched to their tasks, since the log (of a Spark before 3.3) does not name partitions{rest}."
        ));
    }
    #[rustfmt::skip]
    warn(warnings, &[
        (tally.resubmitted_stages, "stage was", "stages were",
            "submitted again; each of their tasks counts once, with its first success."),
        (tally.unannounced, "executor ran tasks and was", "executors ran tasks and were",
            "never announced; counted as nodes."),
    ]);
    applications(tally, directory, warnings);
}

/// What is missing of applications, and that there are several.
fn applications(tally: &Tally, directory: bool, warnings: &mut Vec<String>) {
    if tally.applications > 1 {
        let count = tally.applications;
        warnings.push(if directory {
            format!("The directory holds {count} applications; they are read as one trace.")
        } else {
            format!("The file holds {count} applications one after the other; they are read as one trace.")
        });
    }
    match (tally.beheaded, tally.applications) {
        (0, _) => {}
        (_, 1) => {
            warnings.push("The start of the application is missing: this may be a later part of a log.".to_owned());
        }
        (count, all) => warnings.push(format!(
            "The start of {count} of the {all} applications is missing: these may be later parts of logs."
        )),
    }
    match (tally.endless, tally.applications) {
        (0, _) => {}
        (_, 1) => warnings.push(
            "The end of the application is missing: the log is still being written or was cut short; read as far as it goes."
                .to_owned(),
        ),
        (count, all) => warnings.push(format!(
            "The end of {count} of the {all} applications is missing: their logs are still being written or were cut short; read as far as they go."
        )),
    }
}

/// What was left out or mended when jobs were assembled.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    /// Jobs of which no stage ran.
    pub idle_jobs: u64,
    /// Stages without a success.
    pub barren: u64,
    /// Stages that don't say for which others they wait.
    pub no_parents: u64,
    /// Circles of stages that wait for each other.
    pub circles: u64,
    /// Jobs of SQL queries that were joined, and what they were joined to.
    pub joined_jobs: u64,
    pub joins: u64,
}

impl Oddities {
    pub(super) fn tell(&self, warnings: &mut Vec<String>) {
        #[rustfmt::skip]
        warn(warnings, &[
            (self.idle_jobs, "job", "jobs", "without a task that succeeded, left out of replays."),
            (self.barren, "stage", "stages", "without a task that succeeded, left out of replays."),
            (self.no_parents, "stage does", "stages do", "not say which stages come before; replayed as if none did."),
            (self.circles, "circle", "circles",
                "of stages that wait for each other, broken at the stage with the least number."),
        ]);
        if self.joins > 0 {
            warnings.push(format!(
                "{} jobs of SQL queries that wait for each other's stages are replayed as {}.",
                self.joined_jobs,
                some(self.joins, "job", "jobs"),
            ));
        }
    }
}
