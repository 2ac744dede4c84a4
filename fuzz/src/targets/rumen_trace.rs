//! Any bytes as a Rumen trace: a job as it begins there, and whatever follows.

use crate::read_hadoop_log;

/// Checks one input.
///
/// # Panics
/// If what must hold does not.
pub fn check(log: &[u8]) {
    read_hadoop_log(log);
    if !log.trim_ascii_start().starts_with(b"{") {
        read_hadoop_log(&[b"{\"jobID\":\"job_1_1\",\"mapTasks\":[", log].concat());
    }
}
