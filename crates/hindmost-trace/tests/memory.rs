//! Tests that reading a long log takes no more memory than reading a short log.
//!
//! This test binary has a single test, because the test measures the peak memory of the process.

mod support;

use hindmost_trace::spark::{analyse_spark, summarize_spark};
use support::{Made, Maker};

/// Returns the peak memory of the process so far, in KiB; `None` if the system does not report it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

fn read(bytes: u64) {
    let mut maker = Maker::new(bytes);
    let counted = summarize_spark(&mut maker, "made", None).unwrap();
    let (analysed, _) = analyse_spark(Maker::new(bytes), "made", None).unwrap();
    assert_eq!(analysed, counted);
    let more = counted.spark.unwrap();
    let found = Made {
        jobs: counted.jobs,
        stages: counted.stages,
        skipped: more.skipped_stages,
        tasks: more.winners,
        attempts: counted.attempts,
        speculative: counted.speculative_attempts,
        failed: counted.failed_attempts,
        killed: counted.killed_attempts,
        executors: counted.nodes,
    };
    assert_eq!(found, maker.made);
    assert_eq!(counted.warnings, [""; 0]);
}

#[test]
fn a_log_twenty_times_as_long_takes_no_more_memory() {
    // The 20 short logs have as many bytes as the long log. So both peaks include memory that depends on the number of
    // bytes read and not on the length of a log.
    for _ in 0..20 {
        read(32 << 20);
    }
    let short = peak();
    read(640 << 20);
    let long = peak();
    let (Some(short), Some(long)) = (short, long) else {
        println!("memory isn't measured: the system does not report the peak memory of a process");
        return;
    };
    // The long log has 608 MiB more than a short log, with 160 000 tasks. The tolerance of 4 MiB covers the generator
    // of the log and the allocator's rounding.
    assert!(long < short + 4096, "{short} KiB for 32 MiB, {long} KiB for 640 MiB");
}
