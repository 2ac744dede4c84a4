//! Reads any bytes as an exact workload, with one job per line in JSON.

use std::collections::BTreeSet;

use crate::check_jobs;
use hindmost_sim::exact::read_exact_from;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(text: &[u8]) {
    match read_exact_from(text, "w.jsonl") {
        Ok(jobs) => {
            assert!(!jobs.is_empty());
            check_jobs(&jobs);
            let names: BTreeSet<&str> = jobs.iter().map(|job| &*job.spec.name).collect();
            assert_eq!(names.len(), jobs.len(), "names are unique");
            for job in &jobs {
                let phases: BTreeSet<&str> = job.spec.phases.iter().map(|phase| &*phase.name).collect();
                assert_eq!(phases.len(), job.spec.phases.len(), "names of phases are unique");
            }
            // If an invalid line is appended, the error has the number of this line.
            let lines = text.split(|byte| *byte == b'\n').count() - usize::from(text.ends_with(b"\n"));
            let more = [text.trim_ascii_end(), b"\nnone"].concat();
            let error = read_exact_from(&more[..], "w.jsonl").expect_err("the last line is invalid").to_string();
            let line = more.split(|byte| *byte == b'\n').count();
            assert!(line <= lines + 1 && error.starts_with(&format!("w.jsonl, line {line}: ")), "{error}");
        }
        Err(error) => assert!(error.to_string().starts_with("w.jsonl"), "{error}"),
    }
}
