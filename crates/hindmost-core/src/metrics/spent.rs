//! What the time of an application is spent on.

use serde::Serialize;

/// What an application spends time on. At each instant, the first of these that is true counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// No job is running; at most attempts that lost still are.
    NoJob,
    /// A job is running, and there is no slot.
    NoSlots,
    /// At least nine tenths of the slots are in use.
    Work,
    /// Tasks wait, or no attempt runs although a job is running: the scheduler or the driver takes this time.
    Scheduling,
    /// No task waits, and all running attempts repeat work: an earlier attempt of their task failed or was lost, or its output
    /// was.
    Retries,
    /// No task waits, and all other running attempts have taken more than 1.5 times as long as is typical of their phases.
    Stragglers,
    /// No task waits, and the running phases have fewer tasks than there are slots.
    FewTasks,
    /// No task waits: the last wave of a phase leaves slots free.
    LastWave,
}
