//! Any bytes as a Rumen trace: a job as it begins there, and whatever follows.

#![no_main]

use hindmost_fuzz::read_hadoop_log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| {
    read_hadoop_log(log);
    if !log.trim_ascii_start().starts_with(b"{") {
        read_hadoop_log(&[b"{\"jobID\":\"job_1_1\",\"mapTasks\":[", log].concat());
    }
});
