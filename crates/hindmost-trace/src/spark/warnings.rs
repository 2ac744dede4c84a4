//! What a reader had to get around, in sentences for people.

use super::collect::Collector;

/// "1 task", "2 tasks".
pub(super) fn some(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// What may be odd in the events that were read.
pub(super) fn of_events(log: &Collector, cut_short: bool, warnings: &mut Vec<String>) {
    let mut say = |count: u64, one: &str, more: &str, rest: &str| {
        if count > 0 {
            warnings.push(format!("{} {rest}", some(count, one, more)));
        }
    };
    let applications = &log.applications;
    let all_stages = || applications.iter().flat_map(|application| application.stages.values());

    say(log.nameless, "task end", "task ends", "without stage or task number: counted among the attempts only.");
    say(log.untimed, "success", "successes", "without launch or finish time, left out of replays.");
    say(
        log.starts.saturating_sub(log.attempts),
        "attempt",
        "attempts",
        "started and had not ended when the log does; not counted.",
    );
    // Logs without any start are the work of tools that leave them out.
    if log.starts > 0 {
        let ends = log.attempts.saturating_sub(log.starts);
        say(ends, "task end", "task ends", "without a start; counted.");
    }
    let lost = all_stages().map(|stage| u64::from(stage.seen.len() - stage.won.len())).sum();
    say(lost, "task", "tasks", "never succeeded; left out of replays.");
    let again = all_stages().filter(|stage| stage.last_attempt > 0).count() as u64;
    say(again, "stage was", "stages were", "submitted again; each of their tasks counts once, with its first success.");
    let unknown = applications.iter().map(|a| a.executors.unannounced() as u64).sum();
    say(unknown, "executor", "executors", "ran tasks and were never announced; counted as nodes.");

    if applications.len() > 1 {
        warnings.push(format!(
            "The file holds {} applications one after the other; they are read as one trace.",
            applications.len()
        ));
    }
    let without_start = applications.iter().filter(|a| !a.started).count();
    if without_start > 0 {
        warnings.push("The start of the application is missing: this may be a later part of a log.".to_owned());
    }
    if !cut_short && applications.last().is_some_and(|last| !last.ended) {
        warnings.push(
            "The end of the application is missing: the log is still being written or was cut short; read as far as it goes."
                .to_owned(),
        );
    }
}

/// What was left out or mended when jobs were assembled.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    /// Jobs of which no stage ran.
    pub idle_jobs: u64,
    /// Stages that no active job lists.
    pub orphans: u64,
    /// Stages without a success.
    pub barren: u64,
    /// Stages that don't say for which others they wait.
    pub no_parents: u64,
    /// Circles of stages that wait for each other.
    pub circles: u64,
}

impl Oddities {
    pub(super) fn tell(&self, warnings: &mut Vec<String>) {
        let mut say = |count: u64, one: &str, more: &str, rest: &str| {
            if count > 0 {
                warnings.push(format!("{} {rest}", some(count, one, more)));
            }
        };
        say(self.idle_jobs, "job", "jobs", "without a task that succeeded, left out of replays.");
        say(self.orphans, "stage", "stages", "of no job that was running, left out of replays.");
        say(self.barren, "stage", "stages", "without a task that succeeded, left out of replays.");
        say(self.no_parents, "stage does", "stages do", "not say which stages come before; replayed as if none did.");
        say(
            self.circles,
            "circle",
            "circles",
            "of stages that wait for each other, broken at the stage with the least number.",
        );
    }
}
