//! The targets. Each is a module with a function `check`, which the target's program in `fuzz_targets/` calls.

use arbitrary::{Arbitrary, Unstructured};

pub mod compressed_log;
pub mod diagnosis;
pub mod exact_workload;
pub mod findings;
pub mod hadoop_log;
pub mod job_file;
pub mod journal;
pub mod policy_spec;
pub mod report_text;
pub mod rumen_trace;
pub mod scenario;
pub mod spark_log;
pub mod task_log;

/// A fuzz target: a check that runs on arbitrary inputs.
pub struct Target {
    /// The name of its binary and of its folder in `seeds/`.
    pub name: &'static str,
    /// Checks one input, given as bytes. Panics if a check fails.
    pub check: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 13] = [
    Target { name: "compressed_log", check: |bytes| with(bytes, compressed_log::check) },
    Target { name: "diagnosis", check: |bytes| with(bytes, diagnosis::check) },
    Target { name: "exact_workload", check: |bytes| with(bytes, exact_workload::check) },
    Target { name: "findings", check: |bytes| with(bytes, findings::check) },
    Target { name: "hadoop_log", check: |bytes| with(bytes, hadoop_log::check) },
    Target { name: "job_file", check: |bytes| with(bytes, job_file::check) },
    Target { name: "journal", check: |bytes| with(bytes, journal::check) },
    Target { name: "policy_spec", check: |bytes| with(bytes, policy_spec::check) },
    Target { name: "report_text", check: |bytes| with(bytes, report_text::check) },
    Target { name: "rumen_trace", check: |bytes| with(bytes, rumen_trace::check) },
    Target { name: "scenario", check: |bytes| with(bytes, scenario::check) },
    Target { name: "spark_log", check: |bytes| with(bytes, spark_log::check) },
    Target { name: "task_log", check: |bytes| with(bytes, task_log::check) },
];

/// Calls a check with an input built from bytes, as libFuzzer does.
fn with<'a, T: Arbitrary<'a>>(bytes: &'a [u8], check: fn(T)) {
    if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        check(input);
    }
}
