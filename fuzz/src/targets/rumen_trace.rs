//! Reads any bytes as a Rumen trace, alone and after the beginning of a job.

use crate::read_hadoop_log;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(log: &[u8]) {
    read_hadoop_log(log);
    if !log.trim_ascii_start().starts_with(b"{") {
        read_hadoop_log(&[b"{\"jobID\":\"job_1_1\",\"mapTasks\":[", log].concat());
    }
}
