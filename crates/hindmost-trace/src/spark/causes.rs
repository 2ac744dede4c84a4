//! Why attempts failed, and why others were killed: in a few words that can be counted.

use std::collections::BTreeMap;

use super::fields::EndReason;

/// As many causes are told apart; all others are one.
const MOST: usize = 200;
const OTHER: &str = "other";
const NOT_SAID: &str = "not said";

/// How often each cause was named.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes(BTreeMap<String, u64>);

impl Causes {
    pub(super) fn count(&mut self, cause: &str) {
        if let Some(count) = self.0.get_mut(cause) {
            *count += 1;
        } else if self.0.len() < MOST {
            self.0.insert(cause.to_owned(), 1);
        } else {
            *self.0.entry(OTHER.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.0
    }
}

/// What the loss of an executor is put down to, from words in Spark's own sentences.
const LOSSES: &[(&str, &str)] = &[
    ("memory limits", "out of memory"),
    ("OOM", "out of memory"),
    ("ecommission", "decommissioned"),
    ("reempt", "preempted"),
    ("eartbeat", "heartbeat timed out"),
    ("disassociated", "connection lost"),
    ("worker lost", "worker lost"),
    ("orker lost", "worker lost"),
    ("Slave lost", "worker lost"),
    ("excluded", "excluded"),
    ("blacklist", "excluded"),
    ("Command exited with code", "process exited"),
    ("Exit status", "process exited"),
    ("exit code", "process exited"),
];

/// Why attempts are killed, from words in the reasons that Spark gives.
const KILLS: &[(&str, &str)] = &[
    ("another attempt succeeded", "another attempt succeeded"),
    ("barrier stage", "a task of the barrier stage failed"),
    ("Stage finished", "stage finished"),
    ("Stage cancelled", "stage cancelled"),
    ("tage cancel", "stage cancelled"),
    ("ob cancel", "job cancelled"),
    ("ob group", "job cancelled"),
    ("ecommission", "executor decommissioned"),
    ("reempt", "preempted"),
    ("killed via SparkContext.killTaskAttempt", "killed by the user"),
    ("xecutor", "executor gone"),
];

/// The first that fits.
fn category(text: &str, table: &[(&str, &'static str)]) -> Option<&'static str> {
    table.iter().find(|(words, _)| text.contains(words)).map(|&(_, category)| category)
}

/// Why an attempt failed: Spark's name of the reason, and more where that says little.
pub(super) fn of_failure(reason: Option<&EndReason<'_>>) -> String {
    let Some(reason) = reason else {
        return NOT_SAID.to_owned();
    };
    let name = reason.reason.get().unwrap_or(NOT_SAID);
    let more = match name {
        "ExceptionFailure" => reason.class.get(),
        "ExecutorLostFailure" => reason.loss.get().and_then(|loss| category(loss, LOSSES)),
        _ => None,
    };
    match more {
        Some(more) => format!("{name}: {}", shortened(more, 120)),
        None => shortened(name, 120),
    }
}

/// Why an attempt was killed. Spark before 2.2 doesn't say.
pub(super) fn of_kill(reason: Option<&EndReason<'_>>) -> &'static str {
    match reason.and_then(|reason| reason.kill.get()) {
        None | Some("") => NOT_SAID,
        Some(text) => category(text, KILLS).unwrap_or(OTHER),
    }
}

/// The first line that isn't blank, cut where it is long.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(most).collect();
    if short.len() < line.len() {
        short = short.trim_end().to_owned();
        short.push('…');
    }
    short
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
    fn kills_are_put_in_categories() {
        let said = |why: &str| {
            of_kill(Some(&parse(format!(r#"{{"Reason":"TaskKilled","Kill Reason":"{why}"}}"#).as_bytes()).unwrap()))
        };
        assert_eq!(said("another attempt succeeded"), "another attempt succeeded");
        assert_eq!(said("Finish but did not commit due to another attempt succeeded"), "another attempt succeeded");
        assert_eq!(said("Stage cancelled: Stage finished"), "stage finished");
        assert_eq!(said("Stage cancelled: Job 3 cancelled part of cancelled job group x"), "stage cancelled");
        assert_eq!(
            said("Task ResultTask(0, 1) from barrier stage ResultStage 0 (x at y) failed."),
            "a task of the barrier stage failed"
        );
        assert_eq!(said(""), "not said");
        assert_eq!(said("because"), "other");
    }

    #[test]
    fn causes_without_end_become_one() {
        let mut causes = Causes::default();
        for i in 0..1000 {
            causes.count(&i.to_string());
        }
        causes.count("7");
        assert_eq!((causes.counts().len(), causes.counts()["other"], causes.counts()["7"]), (MOST + 1, 800, 2));
    }

    #[test]
    fn texts_are_cut() {
        assert_eq!(shortened("\n  count at A.scala:1 \nmore", 80), "count at A.scala:1");
        assert_eq!(shortened("größer als", 6), "größer…");
        assert_eq!(shortened("", 6), "");
    }
}
