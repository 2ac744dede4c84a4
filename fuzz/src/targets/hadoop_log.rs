//! Reads any bytes as a Hadoop log, alone and after the first line of a job history in either encoding.

use crate::read_hadoop_log;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(log: &[u8]) {
    read_hadoop_log(log);
    if !log.starts_with(b"Avro-") {
        read_hadoop_log(&[b"Avro-Binary\n{\"type\":\"array\",\"items\":\"string\"}\n", log].concat());
    }
}
