//! Any bytes as a Hadoop log, also behind the first line of a job history in either encoding.

#![no_main]

use hindmost_fuzz::read_hadoop_log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| {
    read_hadoop_log(log);
    if !log.starts_with(b"Avro-") {
        read_hadoop_log(&[b"Avro-Binary\n{\"type\":\"array\",\"items\":\"string\"}\n", log].concat());
    }
});
