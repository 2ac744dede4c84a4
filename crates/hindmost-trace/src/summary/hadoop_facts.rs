//! Counts that only Hadoop logs have.

use std::collections::BTreeMap;

use serde::Serialize;

/// Counts that only Hadoop logs have, besides [`TraceSummary`](crate::TraceSummary). They cover maps and reduces
/// unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HadoopFacts {
    /// How the jobs ended.
    pub jobs: JobEnds,
    /// Tasks that never had an attempt, because their job failed, was killed or had not finished before. The number of
    /// tasks in the summary includes them.
    pub tasks_without_attempt: u64,
    /// Tasks with an attempt that succeeded.
    pub winners: u64,
    /// Speculative attempts that won.
    pub speculative_winners: u64,
    /// Killed attempts of tasks that another attempt won.
    pub killed_losers: u64,
    /// Attempts that succeeded and were later reported as failed or killed, because their output was lost: reduces
    /// could not fetch it, or its machine was lost. They count as failed or killed.
    pub outputs_lost: u64,
    /// Failed attempts by cause. The cause is derived from the text of the error; it is `not said` if there is no text.
    /// The key `failures` of the summary has the same counts.
    #[serde(skip_serializing)]
    pub failures: BTreeMap<String, u64>,
    /// Killed attempts by cause. The cause is derived from the text of the message; it is `not said` if there is no
    /// text. The key `killed_by` of the summary has the same counts.
    #[serde(skip_serializing)]
    pub kills: BTreeMap<String, u64>,
    /// Attempts of setup and cleanup tasks. No other count includes them, here or in the summary.
    pub setup_and_cleanup: OtherAttempts,
    /// How close to their input the maps ran.
    pub locality: Locality,
    /// The maps' input splits: how many, where they are stored, and how large they are.
    pub splits: Splits,
    /// Sums of selected Hadoop counters over all jobs, by name. If the log has no counters for a job, the counters of
    /// the job's successful attempts are added up.
    pub counters: BTreeMap<&'static str, i64>,
}

/// How many jobs succeeded, failed, were killed, or did not end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobEnds {
    /// Jobs that succeeded.
    pub succeeded: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// Jobs that were killed.
    pub killed: u64,
    /// Jobs without an end in the log.
    pub unfinished: u64,
}

/// Counts of setup and cleanup attempts that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherAttempts {
    /// Attempts that ended, with any outcome.
    pub attempts: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts that were killed.
    pub killed: u64,
}

/// Attempts of maps that ended, by the distance between the attempt and its input. Hadoop 2.5 and later log the
/// distance for each attempt. In older logs the reader compares the attempt's machine and rack with the machines and
/// racks that hold the input. If the distance is known for no map of a job, the job's counters are used
/// (`DATA_LOCAL_MAPS`, `RACK_LOCAL_MAPS`, `OTHER_LOCAL_MAPS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Locality {
    /// Attempts on a machine that holds their input.
    pub data_local: u64,
    /// Attempts in a rack with a machine that holds their input.
    pub rack_local: u64,
    /// Attempts in another rack.
    pub off_switch: u64,
    /// Attempts whose distance from their input is unknown.
    pub unknown: u64,
}

/// Counts about input splits, the parts of the input that each map reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Splits {
    /// Maps with an attempt that ended.
    pub maps: u64,
    /// Maps whose log entry names machines that hold their input.
    pub located: u64,
    /// Number of machines that hold a map's input, summed over the maps in `located`.
    pub locations: u64,
    /// Bytes that the winners of maps read.
    pub bytes_read: u64,
    /// The most bytes that one winner of a map read.
    pub largest: u64,
}
