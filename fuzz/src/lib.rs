//! Fuzz targets and the checks that they share. Each module of [`targets`] is a target, which any compiler builds. The
//! programs in `fuzz_targets/` pass the target to libFuzzer if cargo-fuzz builds them, and otherwise run it over files.

use std::fmt::Display;

use hindmost_core::metrics::Findings;
use hindmost_core::workload::{Durations, ObservedCopy, WorkloadJob};
use hindmost_report::text::columns;
use hindmost_trace::hadoop::sniff;
use hindmost_trace::recording::UNKNOWN;
use hindmost_trace::replay::Replay;
use hindmost_trace::table::Columns;
use hindmost_trace::{Kind, Log, TraceError, TraceSummary, Wanted, log};

mod seeds;
pub mod targets;

#[cfg(fuzzing)]
pub use libfuzzer_sys;
pub use seeds::over_arguments;

/// Defines the program of a target: the name of its module, and the type of its input, which must be the type that the
/// module checks.
///
/// ```
/// hindmost_fuzz::target!(journal, &[u8]);
/// ```
/// ```compile_fail
/// hindmost_fuzz::target!(journal, &str); // The input of `journal` is bytes.
/// ```
#[macro_export]
macro_rules! target {
    ($name:ident, $($input:tt)+) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|input: $($input)+| $crate::targets::$name::check(input));
        // libFuzzer's macro converts to this type. Without libFuzzer nothing else would check the type.
        #[cfg(not(fuzzing))]
        const _: fn($($input)+) = $crate::targets::$name::check;
        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::over_arguments(stringify!($name))
        }
    };
}

/// Builders of logs and compressors with Spark's codecs, from the tests of the readers.
#[path = "../../crates/hindmost-trace/tests/it/support/mod.rs"]
#[allow(clippy::missing_errors_doc, reason = "helpers for tests")]
pub mod support;

/// Checks that two ways of reading one log both succeed, or fail with the same error. Returns both results; `None` if
/// both failed.
///
/// # Panics
/// If only one of the ways fails, or the errors differ.
pub fn alike<A, B, E: Display>(one: Result<A, E>, other: Result<B, E>) -> Option<(A, B)> {
    match (one, other) {
        (Ok(one), Ok(other)) => Some((one, other)),
        (Err(one), Err(other)) => {
            assert_eq!(one.to_string(), other.to_string());
            None
        }
        (Ok(_), Err(error)) => panic!("only the second way fails: {error}"),
        (Err(error), Ok(_)) => panic!("only the first way fails: {error}"),
    }
}

/// Checks the counts of a log.
///
/// # Panics
/// If they are inconsistent.
pub fn check_summary(summary: &TraceSummary) {
    let counts = summary;
    assert!(counts.failed_attempts + counts.killed_attempts <= counts.attempts, "{counts:?}");
    assert!(counts.speculative_attempts <= counts.attempts, "{counts:?}");
    assert!(counts.tasks <= counts.attempts || counts.format == "journal", "{counts:?}");
    if !counts.failures.is_empty() || counts.format != "journal" {
        assert_eq!(counts.failures.values().sum::<u64>(), counts.failed_attempts);
    }
    if !counts.killed_by.is_empty() || counts.format != "journal" {
        assert_eq!(counts.killed_by.values().sum::<u64>(), counts.killed_attempts);
    }
    if let Some(spark) = &counts.spark {
        assert!(spark.winners <= counts.tasks && spark.speculative_winners <= spark.winners, "{counts:?}");
    }
    if let Some(hadoop) = &counts.hadoop {
        assert!(hadoop.winners <= counts.tasks && hadoop.speculative_winners <= hadoop.winners, "{counts:?}");
        assert!(hadoop.killed_losers <= counts.killed_attempts, "{counts:?}");
    }
    for time in [counts.from, counts.to].into_iter().flatten() {
        assert!(time.is_finite(), "{counts:?}");
    }
    serde_json::to_string(summary).expect("a summary is JSON");
}

/// Checks the sums of findings.
///
/// # Panics
/// If they are inconsistent.
pub fn check_findings(findings: &Findings) {
    let attempts = findings.attempts;
    assert_eq!(attempts.ended, attempts.succeeded + attempts.failed + attempts.killed);
    assert!(findings.tasks <= attempts.succeeded);
    let copies = findings.speculation;
    assert_eq!(copies.started, copies.won + copies.lost);
    let time = findings.machine_time;
    let parts = time.winners + time.losers + time.repeated + time.failed + time.killed;
    assert!(time.total.is_finite() && (time.total - parts).abs() <= 1e-9 * time.total.max(1.0), "{time:?}");
    let found = findings.stragglers;
    assert_eq!(found.tasks, found.skew + found.slow_node + found.other + found.unclassified);
    assert!(found.tasks <= findings.tasks && found.excess_seconds.is_finite());
    if findings.left_out == 0 {
        let phases = || findings.phases.iter();
        assert_eq!(phases().map(|phase| phase.attempts.ended).sum::<u64>(), attempts.ended);
        assert_eq!(phases().map(|phase| phase.tasks).sum::<u64>(), findings.tasks);
        assert_eq!(phases().map(|phase| phase.stragglers.tasks).sum::<u64>(), found.tasks);
        assert_eq!(phases().map(|phase| phase.speculation.started).sum::<u64>(), copies.started);
    }
    let waits = findings.phases.iter().map(|phase| phase.waiting).chain(findings.jobs.iter().map(|job| job.waiting));
    for waiting in waits.chain([findings.waiting]) {
        assert!(waiting.seconds >= 0.0 && waiting.seconds.is_finite(), "{waiting:?}");
        assert!(waiting.share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{waiting:?}");
    }
    for phase in &findings.phases {
        let durations = phase.durations;
        let in_order = [durations.p50, durations.p95, durations.max];
        // Quantiles of more than 2048 tasks have an error of 0.4 %.
        assert!(
            in_order.windows(2).all(|pair| pair[0].unwrap_or(0.0) <= 1.005 * pair[1].unwrap_or(0.0)),
            "{durations:?}"
        );
    }
    assert!(findings.slow_nodes.len() as u64 <= findings.nodes_tested);
    for node in &findings.slow_nodes {
        assert!((0.0..=1.0).contains(&node.p) && (node.p..=1.0).contains(&node.p_corrected), "{node:?}");
        assert!(node.ratio_ci95[0] <= node.ratio_ci95[1], "{node:?}");
    }
    serde_json::to_string(findings).expect("findings are JSON");
}

/// Checks that the findings count all attempts, except those of unknown tasks and records of lost outputs.
///
/// # Panics
/// If the counts differ otherwise.
pub fn check_counted(summary: &TraceSummary, findings: &Findings) {
    let of_unknown_tasks = |warning: &String| {
        let known = warning.contains("not say which task ended") || warning.contains("an attempt without naming it");
        warning.split(' ').next().and_then(|count| count.parse::<u64>().ok()).filter(|_| known)
    };
    let of_unknown_tasks = summary.warnings.iter().find_map(of_unknown_tasks).unwrap_or(0);
    let losses = summary.spark.map_or(0, |spark| spark.outputs_lost);
    let all = [summary.attempts, summary.failed_attempts, summary.killed_attempts, summary.speculative_attempts];
    let found = findings.attempts;
    let found = [found.ended, found.failed, found.killed, findings.speculation.started];
    for (found, all) in found.into_iter().zip(all) {
        assert!(found <= all && all - found <= of_unknown_tasks + losses, "{found} of {all}");
    }
    assert!(all[0] - found[0] >= of_unknown_tasks.max(losses), "{summary:?}");
}

/// Checks jobs for a replay, from any source.
///
/// # Panics
/// If they are invalid.
pub fn check_jobs(jobs: &[WorkloadJob]) {
    for WorkloadJob { spec, .. } in jobs {
        assert!(!spec.phases.is_empty() && spec.weight.is_finite() && spec.weight > 0.0, "{spec:?}");
        for (at, phase) in (0..).zip(&spec.phases) {
            assert!(phase.tasks > 0 && phase.after.iter().all(|parent| *parent < at), "{phase:?}");
            assert!(is_span(phase.mean) && phase.sd.is_none_or(is_span), "{phase:?}");
        }
    }
    check_durations(jobs);
}

fn is_span(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

/// Checks that jobs are sorted by arrival and have durations for their tasks. A journal is not checked further, because
/// the cluster checks each job when it arrives.
///
/// # Panics
/// If the jobs are not sorted, or durations are missing or invalid.
pub fn check_durations(jobs: &[WorkloadJob]) {
    assert!(jobs.is_sorted_by_key(|job| job.spec.arrival), "by arrival");
    for WorkloadJob { spec, durations } in jobs {
        assert_eq!(spec.phases.len(), durations.len(), "{spec:?}");
        for (phase, durations) in spec.phases.iter().zip(durations) {
            let tasks = phase.tasks as usize;
            match durations {
                Durations::Drawn(_) => {}
                Durations::Listed(listed) => {
                    assert_eq!(listed.len(), tasks);
                    assert!(listed.iter().all(|copies| !copies.is_empty() && copies.iter().all(|took| is_span(*took))));
                }
                Durations::Recorded(recorded) => {
                    assert_eq!(recorded.len(), tasks);
                    assert!(recorded.iter().all(|took| is_span(*took)));
                }
                Durations::Situated(situated) => {
                    assert_eq!(situated.tasks.len(), tasks);
                    assert!(is_span(situated.typical) && is_span(situated.gap) && situated.first_wave >= 1.0);
                    for task in &situated.tasks {
                        assert!(is_span(task.residual) && task.input > 0.0, "{task:?}");
                        assert!(task.attempts.iter().all(|one| is_span(one.seconds) && one.met > 0.0), "{task:?}");
                    }
                }
                Durations::Observed { tasks: observed, known } => {
                    assert!(observed.len() <= tasks);
                    assert!(
                        !known.is_empty() && known.is_sorted() && known.iter().all(|took| is_span(*took)),
                        "{known:?}"
                    );
                    let mut all = observed.iter().flatten();
                    assert!(all.all(|(ObservedCopy::Took(took) | ObservedCopy::AtLeast(took))| is_span(*took)));
                }
            }
        }
    }
}

/// Reads a log as one of this format.
///
/// # Errors
/// The errors of the reader.
pub fn read_log(kind: Kind, log: &[u8], wanted: Wanted) -> Result<Log, TraceError> {
    log::read_as(kind, log, "log", &Columns::default(), wanted, None)
}

/// Reads bytes as a log of this format in both ways: for a diagnosis and for a replay. Checks that the counts agree and that the results
/// are consistent. Returns the log with its diagnoses, and its replay; `None` if it can't be read.
///
/// # Panics
/// If a check fails.
pub fn check_log(kind: Kind, log: &[u8]) -> Option<(Log, Replay)> {
    let (diagnosed, kept) = alike(read_log(kind, log, Wanted::DIAGNOSES), read_log(kind, log, Wanted::REPLAYS))?;
    check_summary(&diagnosed.summary);
    check_findings(&diagnosed.findings);
    check_counted(&diagnosed.summary, &diagnosed.findings);
    assert_eq!(kept.summary, diagnosed.summary);
    for recording in kept.recordings() {
        for row in recording.phases.iter().flat_map(|phase| &phase.rows) {
            let is_known = (row.executor as usize) < recording.executors.len();
            assert!(is_known || row.executor == UNKNOWN, "{row:?}");
            assert!(row.start.is_finite() && row.end.is_finite(), "{row:?}");
        }
    }
    let (replay, _) = kept.into_replay();
    check_jobs(&replay.jobs);
    assert!(replay.nodes.iter().all(|node| node.slots >= 1), "{:?}", replay.nodes);
    Some((diagnosed, replay))
}

/// Checks that no line of a text is wider than `width` columns, and that it has no control characters that a terminal
/// would interpret.
///
/// # Panics
/// If a line is too wide or has control characters.
pub fn check_width(text: &str, width: usize) {
    for line in text.lines() {
        assert!(columns(line) <= width, "{} columns instead of {width}: {line:?}", columns(line));
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// Returns whether the paths in a TOML text stay in the folder that is made for it. Targets must neither walk through a
/// machine's files nor read its devices.
pub fn stays_in_its_folder(text: &str) -> bool {
    let escapes = ["\\u", "\\U", "\\x", "..", "~"];
    let named = |letter: char| letter.is_ascii_alphanumeric() || "*?]_-.".contains(letter);
    !escapes.iter().any(|escape| text.contains(escape))
        && text.match_indices('/').all(|(at, _)| text[..at].ends_with(named))
}

/// Reads bytes as a Hadoop log in both ways and checks that the counts agree.
///
/// # Panics
/// If the counts differ, or the results are inconsistent.
pub fn read_hadoop_log(log: &[u8]) {
    let Some((diagnosed, replay)) = check_log(Kind::Hadoop, log) else { return };
    assert!(sniff(log).is_some() || !log.starts_with(b"Avro"), "a readable log is recognised by its beginning");
    assert_eq!(replay.nodes.len() as u64, diagnosed.summary.nodes);
    assert!(replay.jobs.len() as u64 <= diagnosed.summary.jobs);
}
