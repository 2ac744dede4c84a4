//! Classifies why attempts failed or were killed, from Hadoop's messages.

use crate::reading::causes::{CauseTable, OTHER, cause_in};

/// The most bytes of a message that are examined.
const LOOKED_AT: usize = 4 << 10;

/// Fragments of messages in lower case, and the cause that they indicate. The first matching row decides.
const CAUSES: &CauseTable = &[
    (&["speculation:", "speculative attempt", "succeeded first"], "speculation"),
    (&["preempt", "exit code: -102", "exit status: -102"], "preempted"),
    (&["too many fetch", "too many output fetch"], "too many fetch failures"),
    (&["shuffleerror", "error in shuffle", "shuffle failed"], "shuffle failed"),
    (
        &["outofmemory", "beyond physical memory", "beyond virtual memory", "beyond the 'physical'", "java heap space"],
        "out of memory",
    ),
    (&["timed out", "failed to report status"], "timed out"),
    (
        &[
            "lost node",
            "*lost* node",
            "node lost",
            "lost task tracker",
            "lost tasktracker",
            "tasktracker lost",
            "unusable node",
            "unhealthy",
            "decommission",
            "exit status: -100",
            "bad node",
        ],
        "node lost",
    ),
    (
        &[
            "kill requested by user",
            "killed by user",
            "received kill",
            "job kill",
            "kill job",
            "attempt kill",
            "task kill",
            "job_kill",
            "task_kill",
        ],
        "killed by request",
    ),
    (&["applicationmaster", "application master"], "killed by the ApplicationMaster"),
    (&["killed on request", "killed by external signal"], "container killed"),
    (&["container launch", "launch failed", "failed to launch"], "container launch failed"),
    (&["exit code", "exitcode", "nonzero status", "exit with"], "container exited"),
];

/// Returns the cause of a message: a row of the table, or the class of the exception that the message begins with.
/// `None` if the message is empty.
pub(super) fn cause(text: &str) -> Option<String> {
    let text = text.trim_start_matches([' ', ',', '\n', '\t', '\r']);
    let mut end = text.len().min(LOOKED_AT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    if text.trim().is_empty() {
        return None;
    }
    // An exception's own message may contain any words, so the exception's class decides, unless the table has a row
    // for the class.
    let lower = text.to_ascii_lowercase();
    let first_line = text.lines().next().unwrap_or(text);
    let exception = exception(first_line);
    let table = |text: &str| cause_in(text, CAUSES).map(str::to_owned);
    match exception {
        Some(name) => Some(table(&name.to_ascii_lowercase()).or_else(|| shuffle(&lower)).unwrap_or(name)),
        None => Some(table(&lower).unwrap_or_else(|| OTHER.to_owned())),
    }
}

fn shuffle(lower: &str) -> Option<String> {
    lower.contains("shuffleerror").then(|| "shuffle failed".to_owned())
}

/// Returns the exception's class in a line such as `Error: java.io.IOException: Broken pipe`.
fn exception(line: &str) -> Option<String> {
    let line = line.trim().strip_prefix("Error: ").unwrap_or(line.trim());
    let name = line.split([':', ' ']).next()?;
    let like_a_class = name.contains('.')
        && name.len() <= 120
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$'));
    let last = name.rsplit(['.', '$']).next()?;
    let ends = ["Exception", "Error", "Throwable", "Failure"].iter().any(|end| last.ends_with(end));
    (like_a_class && ends).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hadoop_messages_are_classified() {
        for (text, expected) in [
            ("Speculation: attempt_1_0001_m_000002_1 succeeded first!", "speculation"),
            (
                "Container killed by the ApplicationMaster.\nContainer killed on request. Exit code is 143\n",
                "killed by the ApplicationMaster",
            ),
            ("Container preempted by scheduler", "preempted"),
            ("Too Many fetch failures.Failing the attempt", "too many fetch failures"),
            ("TaskAttempt killed because it ran on unusable node h3:8041. AttemptId:attempt_1", "node lost"),
            ("Container released on a *lost* node", "node lost"),
            ("AttemptID:attempt_1_0001_r_000280_0 Timed out after 600 secs", "timed out"),
            (
                "Error: java.lang.RuntimeException: Intentional map failure\n\tat a.b(C.java:5)",
                "java.lang.RuntimeException",
            ),
            ("Error: java.lang.OutOfMemoryError: Java heap space", "out of memory"),
            ("Container [pid=1,containerID=c] is running beyond physical memory limits.", "out of memory"),
            (
                "Error: org.apache.hadoop.mapreduce.task.reduce.Shuffle$ShuffleError: error in shuffle in fetcher#5",
                "shuffle failed",
            ),
            ("Exception from container-launch.\nContainer id: c\nExit code: 1\n", "container exited"),
            (", Task KILL is received. Killing attempt!", "killed by request"),
            ("something else", "other"),
        ] {
            assert_eq!(cause(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(cause(""), None);
        assert_eq!(cause(" \n"), None);
        assert_eq!(cause(&"ä".repeat(9000)).as_deref(), Some("other"));
    }
}
