//! Tests that reading a log of many applications takes no more memory than reading a log of one.
//!
//! The test runs in a process of its own, because it measures the peak memory of a process.

use std::io::{self, Read};

use crate::reading::diagnose_stream;
use crate::support::{Made, Maker};
use hindmost_testing::{is_nightly, left_out};

/// Returns the peak memory of the process so far, in KiB; `None` if the system does not report it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Applications one after the other.
struct Applications {
    open: Maker,
    left: u64,
    made: Vec<Made>,
}

impl Read for Applications {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.open.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        if self.made.len() as u64 == self.left {
            return Ok(0);
        }
        self.made.push(self.open.made);
        self.open = Maker::new(BYTES);
        if self.made.len() as u64 == self.left { Ok(0) } else { self.read(buffer) }
    }
}

/// Bytes of an application.
const BYTES: u64 = 64 << 20;

fn read(applications: u64) {
    let mut log = Applications { open: Maker::new(BYTES), left: applications, made: Vec::new() };
    let (counted, findings, diagnoses) = diagnose_stream(&mut log, "made").unwrap();
    let sum = |of: fn(&Made) -> u64| log.made.iter().map(of).sum::<u64>();
    let more = counted.spark.unwrap();
    assert_eq!((more.applications, diagnoses.len() as u64), (applications, applications));
    assert_eq!(
        [counted.jobs, counted.stages, more.skipped_stages],
        [sum(|made| made.jobs), sum(|made| made.stages), sum(|made| made.skipped)]
    );
    assert_eq!([more.winners, findings.tasks], [sum(|made| made.tasks); 2]);
    assert_eq!([counted.attempts, findings.attempts.ended], [sum(|made| made.attempts); 2]);
    assert_eq!(
        [counted.speculative_attempts, counted.killed_attempts],
        [sum(|made| made.speculative), sum(|made| made.killed)]
    );
    assert_eq!([counted.failed_attempts, counted.nodes], [sum(|made| made.failed), sum(|made| made.executors)]);
    assert_eq!(counted.warnings.len(), usize::from(applications > 1), "{:?}", counted.warnings);
}

/// The environment variable that is set in the process that reads.
const READS: &str = "HINDMOST_TEST_READS";

#[test]
fn many_applications_take_no_more_memory_than_one() {
    if peak().is_none() {
        left_out("the system does not report the peak memory of a process");
        return;
    }
    if std::env::var_os(READS).is_none() {
        let name = "memory::many_applications_take_no_more_memory_than_one";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let ran = command.args(["--exact", name, "--nocapture"]).env(READS, "1").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(String::from_utf8_lossy(&ran.stdout).contains(" 1 passed"), "{name} is the name of no test");
        return;
    }
    let applications = if is_nightly() { 12 } else { 4 };
    // The second log includes what the allocator has kept of the first.
    read(1);
    read(1);
    let short = peak();
    read(applications);
    let long = peak();
    let (Some(short), Some(long)) = (short, long) else { return };
    // The tolerance covers the diagnoses, the generator of the log, the allocator's rounding, and what waits between the threads of a busy
    // machine. The attempts of an application take 1.7 MiB.
    let tolerance = if is_nightly() { 8192 } else { 4096 };
    assert!(long < short + tolerance, "{short} KiB for one application, {long} KiB for {applications}");
}
