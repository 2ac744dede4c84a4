//! What a Hadoop log tells beyond what every format does.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a Hadoop log tells beyond [`TraceSummary`](crate::TraceSummary). Of maps and reduces, unless it
/// says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HadoopFacts {
    /// How the jobs ended.
    pub jobs: JobEnds,
    /// Tasks of which an attempt succeeded.
    pub winners: u64,
    /// Speculative attempts that won.
    pub speculative_winners: u64,
    /// Killed attempts of tasks of which another attempt succeeded.
    pub killed_losers: u64,
    /// Attempts that had succeeded and are then said to have failed or to be killed: their output was
    /// lost, to fetches that failed or with their machine. They count as failed or killed.
    pub outputs_lost: u64,
    /// Attempts that failed, by what the first line of their error tells; `not said` where it doesn't.
    #[serde(skip_serializing)]
    pub failures: BTreeMap<String, u64>,
    /// Attempts that were killed, likewise. Both are written with the summary, as in every format.
    #[serde(skip_serializing)]
    pub kills: BTreeMap<String, u64>,
    /// Setup and cleanup: in none of the other counts, here or in the summary.
    pub setup_and_cleanup: OtherAttempts,
    /// Where maps ran.
    pub locality: Locality,
    /// What maps read.
    pub splits: Splits,
    /// Sums of some of Hadoop's counters over all jobs, by their names. Where a log has none of the job
    /// itself, those of its attempts that succeeded.
    pub counters: BTreeMap<&'static str, i64>,
}

/// How jobs ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobEnds {
    /// Succeeded.
    pub succeeded: u64,
    /// Failed.
    pub failed: u64,
    /// Killed.
    pub killed: u64,
    /// Not at all, as far as the log goes.
    pub unfinished: u64,
}

/// Attempts of setup and cleanup tasks that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherAttempts {
    /// All of them.
    pub attempts: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were killed.
    pub killed: u64,
}

/// Attempts of maps that ended, by where they ran: as the log says of each (Hadoop 2.5 and later), else
/// by comparing machine and rack with those that hold the input; of a job of which neither tells anything,
/// what it has counted itself (`DATA_LOCAL_MAPS`, `RACK_LOCAL_MAPS`, `OTHER_LOCAL_MAPS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Locality {
    /// On a machine that holds the input.
    pub data_local: u64,
    /// In a rack that does.
    pub rack_local: u64,
    /// Elsewhere.
    pub off_switch: u64,
    /// The log doesn't tell.
    pub unknown: u64,
}

/// Splits of the input, one a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Splits {
    /// Maps of which an attempt ended.
    pub maps: u64,
    /// Those of them whose input's machines the log names.
    pub located: u64,
    /// Machines that hold their input, summed over them.
    pub locations: u64,
    /// Bytes that the winners read.
    pub bytes_read: u64,
    /// The most that one of them read.
    pub largest: u64,
}
