//! Tests of logs of Hadoop that are damaged, large or in folders. Small logs, one for each irregularity, are in
//! `tests/it/fixtures/hadoop/`.

mod avro;
mod damaged;
mod files;
mod fuzz;
mod objects;
mod real;

use std::io::Write as _;
use std::path::Path;

use super::{Hadoop, HadoopFacts, is_log_directory};
use crate::Kind;
use crate::error::TraceError;
use crate::log::{self, Log};
use crate::reading::progress::OnProgress;
use crate::recorder::Wanted;
use crate::summary::TraceSummary;
use crate::testing::read_path;
use crate::testing::{self, Trace};

/// The history of a job as Hadoop 0.23, 2.x and 3.x write it, and the last one in binary form.
const V0: &str = include_str!("../../../tests/it/fixtures/hadoop/v0.jhist");
const V2: &str = include_str!("../../../tests/it/fixtures/hadoop/v2.jhist");
const V3: &str = include_str!("../../../tests/it/fixtures/hadoop/v3.jhist");
const BINARY: &[u8] = include_bytes!("../../../tests/it/fixtures/hadoop/binary.jhist");

fn counted(log: &[u8]) -> Result<(TraceSummary, HadoopFacts), TraceError> {
    let summary = testing::diagnosed(&Hadoop, log, "test")?.0;
    let facts = summary.hadoop.as_deref().unwrap().clone();
    Ok((summary, facts))
}

/// Returns what a diagnosis counts in the log at a path.
fn counts(path: &Path) -> Result<TraceSummary, TraceError> {
    diagnose(path).map(|log| log.summary)
}

/// Diagnoses the log at a path.
fn diagnose(path: &Path) -> Result<Log, TraceError> {
    read_path(&Hadoop, path, Wanted::DIAGNOSES, None)
}

/// Reads the log at a path for a replay.
fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<Trace, TraceError> {
    read_path(&Hadoop, path, Wanted::REPLAYS, progress).map(Trace::of)
}

/// Returns whether there is a Hadoop log at a path.
fn find(path: &Path) -> Result<bool, TraceError> {
    if path.is_dir() { Ok(is_log_directory(path).unwrap()) } else { Ok(log::kind(path)? == Kind::Hadoop) }
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns the numbers of attempts, speculative attempts, failed attempts and killed attempts.
fn numbers(summary: &TraceSummary) -> (u64, u64, u64, u64) {
    (summary.attempts, summary.speculative_attempts, summary.failed_attempts, summary.killed_attempts)
}

/// Returns the warning that contains a text.
fn warning<'a>(summary: &'a TraceSummary, text: &str) -> &'a str {
    let found = summary.warnings.iter().find(|warning| warning.contains(text));
    found.unwrap_or_else(|| panic!("no {text:?} in {:?}", summary.warnings))
}

fn on_disk(path: &Path, log: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, log).unwrap();
}
