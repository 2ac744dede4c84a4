//! What a reader takes from one row of a log.

use crate::recording::Ended;

/// An attempt, as one row of a log describes it. Times are in seconds on the log's clock; a text that is `None` or empty
/// is one that the log does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<'a> {
    /// The application that the row belongs to. Each gets a diagnosis of its own.
    pub application: &'a str,
    /// The job within the application, which is replayed as a job.
    pub job: &'a str,
    /// Kind of the tasks that are compared with each other.
    pub phase: &'a str,
    /// What the phase is called in every job; if empty, as here.
    pub work: &'a str,
    /// The task within job and phase; if empty, the row is a task of its own.
    pub task: &'a str,
    /// The machine.
    pub node: &'a str,
    /// When the attempt could start.
    pub submitted: Option<f64>,
    /// When the attempt started.
    pub start: Option<f64>,
    /// When the attempt ended.
    pub end: Option<f64>,
    /// How it ended; `None` if it has not ended.
    pub state: Option<Ended>,
    /// Why it failed or was killed.
    pub cause: &'a str,
    /// Bytes that it read.
    pub bytes: Option<u64>,
    /// Number of the attempt among those of its task.
    pub attempt: Option<u32>,
    /// Slots that it used; `None` for one.
    pub slots: Option<f64>,
    /// Whether it was started as a copy; if `None`, a copy is an attempt that began while another attempt of its task
    /// was running.
    pub speculative: Option<bool>,
}

/// A word for a state that no known tool uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownState;

/// What the last word for a state meant. Most rows repeat it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastState(Option<(String, Result<Option<Ended>, UnknownState>)>);

impl LastState {
    /// Returns what a word means, which `meaning` finds out.
    ///
    /// # Errors
    /// Those of `meaning`.
    pub(crate) fn of(
        &mut self,
        word: &str,
        meaning: impl FnOnce(&str) -> Result<Option<Ended>, UnknownState>,
    ) -> Result<Option<Ended>, UnknownState> {
        match &self.0 {
            Some((last, ended)) if last == word => *ended,
            _ => self.0.insert((word.to_owned(), meaning(word))).1,
        }
    }
}

/// Returns how an attempt ended, from the words that tools use and from exit codes; `None` if it has not ended.
///
/// # Errors
/// If the word is not known.
pub(crate) fn state(text: &str) -> Result<Option<Ended>, UnknownState> {
    let word = text.trim().to_ascii_lowercase();
    let word = word.split([' ', '+', ':']).next().unwrap_or_default().replace(['-', '_'], "");
    Ok(Some(match word.as_str() {
        "" | "success" | "succeeded" | "successful" | "succeed" | "completed" | "complete" | "finished" | "finish"
        | "done" | "ok" | "passed" | "pass" | "won" | "terminated" | "ended" | "true" | "yes" | "exited" => {
            Ended::Succeeded
        }
        "failed"
        | "fail"
        | "failure"
        | "error"
        | "errored"
        | "err"
        | "exception"
        | "timeout"
        | "timedout"
        | "oom"
        | "outofmemory"
        | "crashed"
        | "false"
        | "no"
        | "bootfail"
        | "deadline"
        | "nodefail"
        | "lost"
        | "upstreamfailed"
        | "broken"
        | "oomkilled"
        | "oomkill"
        | "unsuccessful"
        | "deadlineexceeded"
        | "expired"
        | "timelimit"
        | "outofmemoryerror"
        | "memoryerror"
        | "segfault"
        | "sigkill"
        | "sigsegv"
        | "sigabrt"
        | "fatal"
        | "dead"
        | "faulted"
        | "crash"
        | "crashloopbackoff"
        | "imagepullbackoff"
        | "errimagepull"
        | "createcontainererror"
        | "createcontainerconfigerror"
        | "containercannotrun"
        | "runcontainererror"
        | "starterror"
        | "invalidimagename"
        | "internalerror"
        | "systemerror"
        | "usererror"
        | "nodelost"
        | "launchfailed"
        | "runfailed"
        | "jobfailed"
        | "taskfailed" => Ended::Failed,
        "killed" | "kill" | "sigterm" | "sigint" | "terminatedbyuser" | "deleted" | "removed" | "cancelled"
        | "canceled" | "aborted" | "abort" | "revoked" | "stopped" | "discarded" => Ended::Killed,
        "preempted" | "evicted" | "evict" | "requeued" | "resized" | "interrupted" => Ended::Interrupted,
        "running" | "pending" | "queued" | "waiting" | "submitted" | "scheduled" | "started" | "planned"
        | "suspended" | "configuring" | "completing" | "requeuehold" | "signaling" | "stageout" | "new" | "created"
        | "deferred" | "skipped" | "blocked" | "flushing" | "canceling" | "aborting" | "failing" | "ready" | "none"
        | "null" | "terminating" | "stopping" | "initializing" | "podinitializing" | "containercreating"
        | "starting" | "provisioning" | "staging" | "active" | "inprogress" => return Ok(None),
        code => match code.parse::<i64>() {
            Ok(0) => Ended::Succeeded,
            Ok(_) => Ended::Failed,
            Err(_) => return Err(UnknownState),
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_states_are_known() {
        for (word, ended) in [
            ("COMPLETED", Ended::Succeeded),
            ("", Ended::Succeeded),
            ("0", Ended::Succeeded),
            ("TIMEOUT", Ended::Failed),
            ("OUT_OF_MEMORY", Ended::Failed),
            ("NODE_FAIL", Ended::Failed),
            ("137", Ended::Failed),
            ("OOMKilled", Ended::Failed),
            ("CrashLoopBackOff", Ended::Failed),
            ("DeadlineExceeded", Ended::Failed),
            ("CANCELLED by 1001", Ended::Killed),
            ("PREEMPTED", Ended::Interrupted),
        ] {
            assert_eq!(state(word), Ok(Some(ended)), "{word}");
        }
        assert_eq!(state("RUNNING"), Ok(None));
        assert_eq!(state("puzzled"), Err(UnknownState));
    }
}
