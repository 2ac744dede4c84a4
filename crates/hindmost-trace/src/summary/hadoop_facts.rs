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
    /// Tasks with an attempt that succeeded.
    pub winners: u64,
    /// Speculative attempts that won.
    pub speculative_winners: u64,
    /// Killed attempts of tasks that another attempt won.
    pub killed_losers: u64,
    /// Attempts that succeeded and were later reported as failed or killed, because their output was lost: reduces
    /// could not fetch it, or its machine was lost. They count as failed or killed.
    pub outputs_lost: u64,
    /// Failed attempts by cause, which is derived from the error's text; `not said` where there is none.
    #[serde(skip_serializing)]
    pub failures: BTreeMap<String, u64>,
    /// Killed attempts by cause, which is derived in the same way. Both maps are serialised with the summary, as for
    /// every format.
    #[serde(skip_serializing)]
    pub kills: BTreeMap<String, u64>,
    /// Attempts of setup and cleanup tasks. They are in no other count, here or in the summary.
    pub setup_and_cleanup: OtherAttempts,
    /// How near to their input the maps ran.
    pub locality: Locality,
    /// The input splits of the maps.
    pub splits: Splits,
    /// Sums of selected Hadoop counters over all jobs, by name. For a job without counters of its own, the counters
    /// of its successful attempts are added up.
    pub counters: BTreeMap<&'static str, i64>,
}

/// How many jobs ended in which way.
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
    /// All attempts that ended.
    pub attempts: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts that were killed.
    pub killed: u64,
}

/// Attempts of maps that ended, by where they ran. Hadoop 2.5 and later log this for each attempt. For older logs the
/// reader compares the attempt's machine and rack with those that hold the input. If neither is known for any map of
/// a job, the job's own counters are used (`DATA_LOCAL_MAPS`, `RACK_LOCAL_MAPS`, `OTHER_LOCAL_MAPS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Locality {
    /// On a machine that holds the input.
    pub data_local: u64,
    /// In a rack with a machine that holds the input.
    pub rack_local: u64,
    /// In another rack.
    pub off_switch: u64,
    /// Where the attempt ran relative to its input is unknown.
    pub unknown: u64,
}

/// Input splits; each map reads one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Splits {
    /// Maps with an attempt that ended.
    pub maps: u64,
    /// Maps whose log entry names machines that hold their input.
    pub located: u64,
    /// Machines that hold a map's input, summed over these maps.
    pub locations: u64,
    /// Bytes that the winners read.
    pub bytes_read: u64,
    /// The most bytes that one winner read.
    pub largest: u64,
}
