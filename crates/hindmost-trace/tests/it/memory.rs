//! Tests that reading a long log takes no more memory than reading a short log.
//!
//! The test runs in a process of its own, because it measures the peak memory of a process.

use crate::support::{Made, Maker};
use hindmost_testing::{is_nightly, left_out};
use hindmost_trace::spark::{analyse_spark, summarize_spark};

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

/// The environment variable that is set in the process that reads.
const READS: &str = "HINDMOST_TEST_READS";

#[test]
fn a_log_many_times_as_long_takes_no_more_memory() {
    if peak().is_none() {
        left_out("the system does not report the peak memory of a process");
        return;
    }
    if std::env::var_os(READS).is_none() {
        let name = "memory::a_log_many_times_as_long_takes_no_more_memory";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let ran = command.args(["--exact", name, "--nocapture"]).env(READS, "1").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(String::from_utf8_lossy(&ran.stdout).contains(" 1 passed"), "{name} is the name of no test");
        return;
    }
    // Short logs are long enough for all that is bounded to be full. The short logs together have as many bytes as the long log, so
    // both peaks include memory that depends on the number of bytes read and not on the length of a log.
    let (mebibytes, times) = if is_nightly() { (32, 20) } else { (32, 5) };
    for _ in 0..times {
        read(mebibytes << 20);
    }
    let short = peak();
    read((times * mebibytes) << 20);
    let long = peak();
    let (Some(short), Some(long)) = (short, long) else { return };
    // A mebibyte has about 260 tasks. The tolerance covers the generator of the log, the allocator's rounding, and what waits between the threads
    // of a busy machine. It is about 62 bytes for each task, and 26 at night.
    let tolerance = if is_nightly() { 4096 } else { 2048 };
    assert!(long < short + tolerance, "{short} KiB for short logs, {long} KiB for one that is {times} times as long");
}
