//! Tests that any input is read or refused, without a panic.

use proptest::prelude::*;

use super::super::{Hadoop, sniff};
use super::{BINARY, V0, V2, counted};
use crate::testing::Trace;

/// Reads a log with every function, and checks invariants that hold for any log.
fn read(bytes: &[u8]) {
    let _ = sniff(bytes);
    let Ok((summary, facts)) = counted(bytes) else {
        return;
    };
    assert!(summary.failed_attempts + summary.killed_attempts <= summary.attempts);
    assert!(summary.speculative_attempts <= summary.attempts);
    assert!(facts.winners <= summary.attempts && facts.killed_losers <= summary.killed_attempts);
    assert_eq!(facts.failures.values().sum::<u64>(), summary.failed_attempts);
    assert_eq!(facts.kills.values().sum::<u64>(), summary.killed_attempts);
    let trace = Trace::read(&Hadoop, bytes, "test").unwrap();
    assert_eq!(trace.cluster_nodes().len() as u64, summary.nodes);
    for job in trace.workload_jobs() {
        assert_eq!(job.spec.phases.len(), job.durations.len());
        assert!(job.spec.phases.iter().all(|phase| phase.tasks > 0 && phase.mean > 0.0));
    }
}

/// Returns a valid log of every format.
fn seeds() -> Vec<Vec<u8>> {
    let mut all = vec![BINARY.to_vec(), V0.as_bytes().to_vec(), V2.as_bytes().to_vec()];
    let attempt = r#"{"attemptID":"attempt_1_1_m_0_0","result":"KILLED","hostName":"/r\\.1/h","startTime":5,"finishTime":9,"location":{"layers":["r","h"]}}"#;
    let job = format!(
        "{{\n \"jobID\" : \"job_1_1\",\n \"mapTasks\" : [ {{\"taskID\":\"task_1_1_m_0\",\"attempts\":[{attempt},{attempt}]}} \
         ], \"otherTasks\":[],\n \"submitTime\":1,\"totalMaps\":3,\"outcome\":\"SUCCESS\"}}\n"
    );
    all.push(job.repeat(3).into_bytes());
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hindmost_testing::cases(100, 1000), ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), form in 0..4usize) {
        let head: &[u8] = [&b""[..], b"Avro-Json\n", b"Avro-Binary\n{\"type\":\"array\",\"items\":\"string\"}\n", b"{\"jobID\":1,"][form];
        read(&[head, &bytes].concat());
    }

    #[test]
    fn a_changed_log_is_read_or_refused(
        form in 0..4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..12),
    ) {
        let mut bytes = seeds().swap_remove(form);
        for (at, byte, how) in changes {
            let at = at.index(bytes.len().max(1));
            match how {
                0 if !bytes.is_empty() => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if !bytes.is_empty() => { bytes.remove(at); }
                _ => bytes.truncate(at.max(bytes.len() / 2)),
            }
        }
        read(&bytes);
    }

    #[test]
    fn numbers_of_any_size_are_read(number in any::<i64>(), other in any::<u64>()) {
        let text = String::from_utf8(seeds().swap_remove(2)).unwrap();
        for name in ["startTime", "finishTime", "submitTime", "totalMaps", "finishedMaps", "value"] {
            let replaced: String = text
                .lines()
                .map(|line| replace_number(line, name, &number.to_string()) + "\n")
                .collect();
            read(replaced.as_bytes());
        }
        read(text.replace("_000001_", &format!("_{other}_")).as_bytes());
        read(text.replace("_000000_1", &format!("_000000_{}", other % (1 << 32))).as_bytes());
    }
}

fn replace_number(line: &str, name: &str, number: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    let key = format!("\"{name}\":");
    while let Some(at) = rest.find(&key) {
        let after = at + key.len();
        text += &rest[..after];
        text += number;
        rest = rest[after..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text + rest
}
