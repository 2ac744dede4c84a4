//! Determines why attempts failed or were killed.

use super::task_end::EndReason;
use crate::reading::causes::{CauseTable, NOT_SAID, OTHER, cause_in, shortened};

/// Fragments of Spark's messages about lost executors, and the causes that they indicate.
const LOSSES: &CauseTable = &[
    (&["memory limits", "OOM"], "out of memory"),
    (&["ecommission"], "decommissioned"),
    (&["reempt"], "preempted"),
    (&["eartbeat"], "heartbeat timed out"),
    (&["disassociated"], "connection lost"),
    (&["orker lost", "Slave lost"], "worker lost"),
    (&["excluded", "blacklist"], "excluded"),
    (&["Command exited with code", "Exit status", "exit code"], "process exited"),
];

/// Fragments of Spark's kill reasons, and the causes that they indicate.
const KILLS: &CauseTable = &[
    (&["another attempt succeeded"], LOST),
    (&["barrier stage"], "a task of the barrier stage failed"),
    (&["Stage finished"], "stage finished"),
    (&["Stage cancelled", "tage cancel"], CANCELLED),
    (&["ob cancel", "ob group"], "job cancelled"),
    (&["ecommission"], "executor decommissioned"),
    (&["reempt"], "preempted"),
    (&["killed via SparkContext.killTaskAttempt"], "killed by the user"),
    (&["xecutor"], "executor gone"),
];

/// Returns why an attempt failed: the name of Spark's end reason; for the two most general reasons also the exception's
/// class or why the executor was lost.
pub(super) fn of_failure(reason: Option<&EndReason<'_>>) -> String {
    let Some(reason) = reason else {
        return NOT_SAID.to_owned();
    };
    let name = reason.reason.get().unwrap_or(NOT_SAID);
    let more = match name {
        "ExceptionFailure" => {
            reason.class.get().map(|class| of_python(class, reason.description.get()).unwrap_or(class))
        }
        "ExecutorLostFailure" => reason.loss.get().and_then(|loss| cause_in(loss, LOSSES)),
        _ => None,
    };
    match more {
        Some(more) => format!("{name}: {}", shortened(more, 120)),
        None => shortened(name, 120),
    }
}

/// Returns the class of the exception that a Python worker raised, from the message of the exception of Spark that wraps it: the line after
/// the last traceback.
fn of_python<'a>(class: &str, description: Option<&'a str>) -> Option<&'a str> {
    if !class.ends_with(".PythonException") {
        return None;
    }
    let (_, traceback) = description?.rsplit_once("Traceback (most recent call last):")?;
    let raised =
        traceback.lines().find(|line| line.starts_with(|first: char| first.is_alphabetic() || first == '_'))?;
    let name = raised.split(':').next()?.trim_end();
    name.chars().all(|one| one.is_alphanumeric() || "._".contains(one)).then_some(name)
}

/// The cause of the end of an attempt that lost to another one.
pub(super) const LOST: &str = "another attempt succeeded";
/// The cause of the end of an attempt whose stage, or whose job, was cancelled.
const CANCELLED: &str = "stage cancelled";
/// The cause of the end of an attempt whose stage was given up because attempts of it, or of another stage of its job, failed.
pub(super) const STAGE_FAILED: &str = "stage failed";

/// Returns why attempts of a stage were killed that ended with this failure reason. `None` stands for a stage whose reason is not known.
pub(super) fn of_given_up_stage(failure: Option<&str>) -> &'static str {
    if failure.is_none_or(|text| text.contains("ancel")) { CANCELLED } else { STAGE_FAILED }
}

/// Returns why an attempt was killed. Spark before 2.2 does not log the reason. Spark says of losers that run when the last task of their
/// stage succeeds that the stage is finished or cancelled; `has_winner` says that another attempt of the task had succeeded.
pub(super) fn of_kill(reason: Option<&EndReason<'_>>, has_winner: bool) -> &'static str {
    match reason.and_then(|reason| reason.kill.get()) {
        None | Some("") => NOT_SAID,
        Some(text) => match cause_in(text, KILLS).unwrap_or(OTHER) {
            "stage finished" | CANCELLED if has_winner => LOST,
            CANCELLED => of_given_up_stage(text.strip_prefix("Stage cancelled: ")),
            cause => cause,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::parse;
    use super::*;

    #[test]
    fn failures_are_named_by_cause() {
        let said = |json: &str| of_failure(Some(&parse(json.as_bytes()).unwrap()));
        assert_eq!(
            said(r#"{"Reason":"ExceptionFailure","Class Name":"java.io.IOException"}"#),
            "ExceptionFailure: java.io.IOException"
        );
        let lost = |why: &str| said(&format!(r#"{{"Reason":"ExecutorLostFailure","Loss Reason":"{why}"}}"#));
        assert_eq!(lost("Executor heartbeat timed out after 125 ms"), "ExecutorLostFailure: heartbeat timed out");
        assert_eq!(lost("Container killed by YARN for exceeding memory limits."), "ExecutorLostFailure: out of memory");
        assert_eq!(lost("who knows"), "ExecutorLostFailure");
        assert_eq!(said(r#"{"Reason":"FetchFailed","Message":"x"}"#), "FetchFailed");
        assert_eq!(said("{}"), "not said");
        assert_eq!(of_failure(None), "not said");
    }

    #[test]
    fn kills_are_classified_by_reason() {
        let of = |why: &str, has_winner: bool| {
            let reason = format!(r#"{{"Reason":"TaskKilled","Kill Reason":"{why}"}}"#);
            of_kill(Some(&parse(reason.as_bytes()).unwrap()), has_winner)
        };
        let said = |why: &str| of(why, false);
        assert_eq!(said("another attempt succeeded"), "another attempt succeeded");
        assert_eq!(said("Finish but did not commit due to another attempt succeeded"), "another attempt succeeded");
        assert_eq!(said("Stage cancelled: Stage finished"), "stage finished");
        assert_eq!(said("Stage cancelled: Job 3 cancelled part of cancelled job group x"), "stage cancelled");
        assert_eq!(
            said("Task ResultTask(0, 1) from barrier stage ResultStage 0 (x at y) failed."),
            "a task of the barrier stage failed"
        );
        assert_eq!(of("Stage cancelled: Stage finished", true), "another attempt succeeded");
        assert_eq!(of("Stage cancelled: Job 3 was cancelled", true), "another attempt succeeded");
        assert_eq!(of("preempted", true), "preempted");
        assert_eq!(said(""), "not said");
        assert_eq!(said("because"), "other");
    }
}
