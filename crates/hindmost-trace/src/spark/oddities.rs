//! Turns counts of irregularities in Spark logs into warnings.

use super::tally::Tally;
use crate::reading::warnings::{some, warn};

/// Adds warnings about irregular events. `directory` says whether the events were read from a directory or from a file.
pub(super) fn of_events(tally: &Tally, directory: bool, warnings: &mut Vec<String>) {
    let unsuccessful = (tally.tasks - tally.winners).saturating_sub(tally.unmatched_winners);
    #[rustfmt::skip]
    warn(warnings, &[
        (tally.unidentified, "task end event does", "task end events do",
            "not say which task ended; counted in the number of attempts only."),
        (tally.untimed, "successful attempt has", "successful attempts have",
            "no launch or finish time; left out of replays."),
        (tally.without_end, "attempt has no end in the log, because Spark did not wait for it:",
            "attempts have no end in the log, because Spark did not wait for them:",
            "counted as killed when another attempt won or the stage ended."),
        (tally.unended, "attempt was", "attempts were", "still running when the log ends; not counted."),
        (tally.unstarted, "task end event has", "task end events have", "no task start event; counted."),
        (tally.log_without_starts, "task end event but no task start event in the log:",
            "task end events but no task start event in the log:",
            "which attempts were running when the log ends is unknown."),
        (tally.twice, "task end event is", "task end events are", "in the log twice; counted once."),
        (tally.ended_again, "attempt of a lost executor ended again;", "attempts of lost executors ended again;",
            "each attempt counts once."),
        (tally.backwards, "attempt finishes before its launch: its duration is unknown;",
            "attempts finish before their launch: their durations are unknown;", "left out of replays."),
        (tally.missing, "task is not in the log although its stage succeeded:",
            "tasks are not in the log although their stages succeeded:", "lines of the log are missing."),
        (tally.without_job, "stage ran for no job in the log: the start of its job is missing;",
            "stages ran for no job in the log: the starts of their jobs are missing;", "left out of replays."),
        (unsuccessful, "task", "tasks", "never succeeded; left out of replays."),
    ]);
    if tally.unmatched > 0 {
        let attempts = some(tally.unmatched, "attempt", "attempts");
        let rest = match tally.unmatched_winners {
            0 => String::new(),
            tasks => format!(
                "; {} left out of replays, because the only success may be among these attempts",
                some(tasks, "task is", "tasks are")
            ),
        };
        warnings.push(format!(
            "{attempts} of resubmitted stages can't be matched to their tasks, because the log (Spark before 3.3) does not \
             name partitions{rest}."
        ));
    }
    #[rustfmt::skip]
    warn(warnings, &[
        (tally.resubmitted_stages, "stage was", "stages were",
            "submitted more than once; each task counts once, with its first success."),
        (tally.unannounced, "executor ran tasks but has", "executors ran tasks but have",
            "no event that it was added; counted as nodes."),
        (tally.decommissioned, "decommissioned executor", "decommissioned executors",
            "took no more tasks although some waited; their slots count until their last attempts ended."),
    ]);
    if tally.pauses > 0 {
        let times = if tally.pauses == 1 { String::new() } else { format!(" {} times,", tally.pauses) };
        warnings.push(format!(
            "The driver stood still{times} for at least {:.1} s{}: it recorded nothing, then at once the ends of {} whose work had ended before. They \
             count as ended when their work did; what the driver kept waiting is in scheduling.",
            tally.paused as f64 / 1000.0,
            if tally.pauses == 1 { "" } else { " in all" },
            some(tally.ended_in_pauses, "attempt", "attempts"),
        ));
    }
    applications(tally, directory, warnings);
}

/// Warns about missing starts and ends of applications, and if there are several applications.
fn applications(tally: &Tally, directory: bool, warnings: &mut Vec<String>) {
    if tally.applications > 1 {
        let count = tally.applications;
        warnings.push(if directory {
            format!("The directory holds {count} applications; they are read as one trace.")
        } else {
            format!("The file holds {count} applications one after the other; they are read as one trace.")
        });
    }
    match (tally.missing_starts, tally.applications) {
        (0, _) => {}
        (_, 1) => {
            warnings.push("The start of the application is missing: this may be a later part of the log.".to_owned());
        }
        (count, all) => warnings.push(format!(
            "The start of {count} of the {all} applications is missing: these may be later parts of logs."
        )),
    }
    match (tally.missing_ends, tally.applications) {
        (0, _) => {}
        (_, 1) => warnings.push(
            "The end of the application is missing: the log is still being written or was cut short; it was read as far as possible."
                .to_owned()
                + &tasks_after_the_last_event(tally.open_jobs),
        ),
        (count, all) => warnings.push(format!(
            "The end of {count} of the {all} applications is missing: their logs are still being written or were cut short; \
             they were read as far as possible.{}",
            tasks_after_the_last_event(tally.open_jobs)
        )),
    }
}

/// Says what may be missing although no line is incomplete, given how many jobs have no end: Spark writes its log out at events of jobs,
/// stages and executors, not at those of tasks.
fn tasks_after_the_last_event(open_jobs: u64) -> String {
    if open_jobs == 0 {
        return String::new();
    }
    format!(
        " {} running then: Spark writes events of tasks only together with later ones, so the last ones, or a whole stage, may be missing.",
        some(open_jobs, "job was", "jobs were")
    )
}

/// Counts of jobs and stages that were left out, repaired or joined when the jobs of a replay were built, and of executors
/// whose slots were derived from their attempts.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    /// Jobs without a stage that ran.
    pub jobs_without_success: u64,
    /// Stages without a success.
    pub stages_without_success: u64,
    /// Stages that do not name their parents.
    pub no_parents: u64,
    /// Cycles of stages that wait for each other.
    pub circles: u64,
    /// Jobs of SQL queries that were joined.
    pub joined_jobs: u64,
    /// Jobs of the replay that resulted from joining.
    pub joins: u64,
    /// Executors whose number of cores the log does not say.
    pub without_cores: u64,
    /// Executors on which more attempts ran at the same time than their cores and other resources allow.
    pub beyond_slots: u64,
}

impl Oddities {
    pub(super) fn add_warnings(&self, warnings: &mut Vec<String>) {
        #[rustfmt::skip]
        warn(warnings, &[
            (self.jobs_without_success, "job has", "jobs have", "no task that succeeded; left out of replays."),
            (self.stages_without_success, "stage has", "stages have", "no task that succeeded; left out of replays."),
            (self.no_parents, "stage does", "stages do", "not name parent stages; replayed without parents."),
            (self.circles, "cycle", "cycles",
                "of stages that wait for each other; broken at the stage with the lowest number."),
        ]);
        if self.joins > 0 {
            warnings.push(format!(
                "{} jobs of SQL queries that wait for each other's stages are replayed as {}.",
                self.joined_jobs,
                some(self.joins, "job", "jobs"),
            ));
        }
        if self.without_cores > 0 {
            warnings.push(format!(
                "The log does not say how many cores {} had; an executor without this number gets as many slots as the most \
                 attempts that ran on it at the same time.",
                some(self.without_cores, "executor", "executors")
            ));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.beyond_slots, "executor ran more attempts at the same time than its cores and other resources allow; it has",
                "executors ran more attempts at the same time than their cores and other resources allow; they have",
                "as many slots in replays as attempts ran at the same time."),
        ]);
    }
}
