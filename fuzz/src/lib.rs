//! Fuzz targets, and what they check in common. [`targets`] has a module for each, which any compiler builds; the
//! programs in `fuzz_targets/` hand them to libFuzzer where cargo-fuzz builds them, and run them over files elsewhere.

use std::fmt::Display;

use hindmost_core::metrics::Findings;
use hindmost_core::workload::{Durations, ObservedCopy, WorkloadJob};
use hindmost_report::text::columns;
use hindmost_trace::hadoop::{analyse_hadoop, read_hadoop, sniff, summarize_hadoop};
use hindmost_trace::{RecordedAttempt, RecordedNode, TraceSummary};

mod seeds;
pub mod targets;

#[cfg(fuzzing)]
pub use libfuzzer_sys;
pub use seeds::over_arguments;

/// The program of a target: its module's name, and the type of its input, which must be the one that the module checks.
///
/// ```
/// hindmost_fuzz::target!(journal, &[u8]);
/// ```
/// ```compile_fail
/// hindmost_fuzz::target!(journal, &str); // a journal is bytes
/// ```
#[macro_export]
macro_rules! target {
    ($name:ident, $($input:tt)+) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|input: $($input)+| $crate::targets::$name::check(input));
        // libFuzzer's macro converts to this type; without it the type would go unread.
        #[cfg(not(fuzzing))]
        const _: fn($($input)+) = $crate::targets::$name::check;
        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::over_arguments(stringify!($name))
        }
    };
}

/// Makers of logs and packers of Spark's codecs, as the readers' own tests use them.
#[path = "../../crates/hindmost-trace/tests/support/mod.rs"]
#[allow(clippy::missing_errors_doc, reason = "tests take it for themselves")]
pub mod support;

/// Two ways of reading one log both work or fail alike; gives what came of it where both work.
///
/// # Panics
/// If they differ.
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

/// Counts of a log that must hold of any.
///
/// # Panics
/// If they don't.
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

/// Sums that must hold of any findings.
///
/// # Panics
/// If they don't.
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
        // Quantiles of more than 2048 tasks are to 0.4 %.
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

/// What the analysis was told of: all attempts but those of which it is not known which task's they are, and what tells
/// that an output was lost.
///
/// # Panics
/// If there are others.
pub fn check_told(summary: &TraceSummary, findings: &Findings) {
    let of_nothing = |warning: &String| {
        let known = warning.contains("without stage or task number") || warning.contains("do not say of which");
        warning.split(' ').next().and_then(|count| count.parse::<u64>().ok()).filter(|_| known)
    };
    let of_nothing = summary.warnings.iter().find_map(of_nothing).unwrap_or(0);
    let losses = summary.spark.map_or(0, |spark| spark.outputs_lost);
    let all = [summary.attempts, summary.failed_attempts, summary.killed_attempts, summary.speculative_attempts];
    let told = findings.attempts;
    let told = [told.ended, told.failed, told.killed, findings.speculation.started];
    for (told, all) in told.into_iter().zip(all) {
        assert!(told <= all && all - told <= of_nothing + losses, "{told} of {all}");
    }
    assert!(all[0] - told[0] >= of_nothing.max(losses), "{summary:?}");
}

/// What jobs for a replay must be, from wherever they come.
///
/// # Panics
/// If they aren't.
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

/// Jobs come by arrival and have durations for their tasks. (A journal is taken at its word for the rest: that a
/// job makes sense is checked by the cluster that takes it.)
///
/// # Panics
/// If they don't.
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

/// What the recorded machines and attempts of a log must be.
///
/// # Panics
/// If they aren't.
pub fn check_recorded(nodes: &[RecordedNode], attempts: &[RecordedAttempt]) {
    for node in nodes {
        assert!(node.slots >= 1, "{node:?}");
    }
    for attempt in attempts {
        assert!(attempt.node.is_none_or(|node| (node as usize) < nodes.len()), "{attempt:?}");
        assert!([attempt.launch, attempt.finish].into_iter().flatten().all(f64::is_finite), "{attempt:?}");
    }
}

/// No line of a text is wider than asked, and nothing in it is obeyed by a terminal.
///
/// # Panics
/// If one is.
pub fn check_width(text: &str, width: usize) {
    for line in text.lines() {
        assert!(columns(line) <= width, "{} columns instead of {width}: {line:?}", columns(line));
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// Whether a text of TOML stays in the folder that is made for it: paths in it are taken from there, and targets
/// must neither walk through a machine's files nor read its devices.
pub fn stays_in_its_folder(text: &str) -> bool {
    let escapes = ["\\u", "\\U", "\\x", "..", "~"];
    let named = |letter: char| letter.is_ascii_alphanumeric() || "*?]_-.".contains(letter);
    !escapes.iter().any(|escape| text.contains(escape))
        && text.match_indices('/').all(|(at, _)| text[..at].ends_with(named))
}

/// Reads bytes as a Hadoop log in the three ways there are, which must count alike.
///
/// # Panics
/// If they don't, or what was read does not add up.
pub fn read_hadoop_log(log: &[u8]) {
    let counted = summarize_hadoop(log, "log", None);
    if counted.is_ok() {
        assert!(sniff(log).is_some() || !log.starts_with(b"Avro"), "what is read is known by its beginning");
    }
    let Some((summary, (analysed, findings))) = alike(counted, analyse_hadoop(log, "log", None)) else {
        assert!(read_hadoop(log, "log", None).is_err());
        return;
    };
    check_summary(&summary);
    assert_eq!(analysed, summary);
    check_findings(&findings);
    check_told(&summary, &findings);
    let trace = read_hadoop(log, "log", None).expect("what can be counted can be read");
    assert_eq!(Some(trace.facts()), summary.hadoop.as_deref());
    let mut same = trace.summary().clone();
    // A replay warns of more.
    assert!(same.warnings.len() >= summary.warnings.len());
    same.warnings.truncate(summary.warnings.len());
    assert_eq!(same, summary);
    check_jobs(trace.workload_jobs());
    check_recorded(trace.cluster_nodes(), trace.attempts());
    assert_eq!(trace.cluster_nodes().len() as u64, summary.nodes);
    assert_eq!(trace.node_memory().len(), trace.cluster_nodes().len());
    assert!(trace.workload_jobs().len() as u64 <= summary.jobs);
}
