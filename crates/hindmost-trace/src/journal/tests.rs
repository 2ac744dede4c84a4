//! Tests of journals that are cut, and of journals in the folders of runs. Small journals are in `tests/it/fixtures/journal/`.

use std::fs;

use hindmost_core::time::{TICKS_PER_SECOND, Time};
use hindmost_core::workload::{Durations, ObservedCopy, WorkloadJob};

use super::*;
use crate::log::{self, Log};
use crate::recorder::Wanted;
use crate::table::Columns;
use crate::testing;

/// One phase with eight tasks, whose attempts end in every possible way.
const ENDINGS: &str = include_str!("../../tests/it/fixtures/journal/endings.jsonl");
/// Two chains of two tasks.
const CHAINS: &str = include_str!("../../tests/it/fixtures/journal/chains.jsonl");
/// A run whose attempt is stopped with the run at 3 s, and whose task runs again from 13 s to 15 s.
const RESUMED: &str = include_str!("../../tests/it/fixtures/journal/resumed.jsonl");

/// A journal that was read for a replay.
#[derive(Debug)]
struct Trace {
    summary: TraceSummary,
    jobs: Vec<WorkloadJob>,
    notes: Vec<String>,
}

impl Trace {
    fn of(mut log: Log) -> Result<Trace, TraceError> {
        let about = log.about_replays().to_vec();
        log.summary.warnings.extend(about);
        let RecordedRun { jobs, notes, .. } = log.take_run().unwrap();
        let jobs = jobs.ok_or(TraceError::NothingFinished { name: log.name })?;
        Ok(Trace { summary: log.summary, jobs, notes })
    }
}

/// Reads a journal for a replay.
fn read(journal: &[u8], name: &str) -> Result<Trace, TraceError> {
    Trace::of(testing::read(&super::Journal, journal, name, Wanted::REPLAYS, None)?)
}

/// Reads the journal at a path for a replay.
fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<Trace, TraceError> {
    Trace::of(log::read(path, &Columns::default(), Wanted::REPLAYS, progress)?)
}

#[test]
fn other_files_are_no_journals() {
    let header = ENDINGS.lines().next().unwrap();
    for (text, expected) in [
        ("", "j is not a journal"),
        ("{\"Event\":\"SparkListenerLogStart\"}\n", "first line is no header"),
        (&header[..20], "j is not a journal"),
    ] {
        let message = read(text.as_bytes(), "j").unwrap_err().to_string();
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn a_journal_is_read_up_to_its_cut() {
    let trace = read(&ENDINGS.as_bytes()[..ENDINGS.len() - 3], "j").unwrap();
    assert_eq!(trace.summary.to, Some(13.0));
    assert!(trace.summary.warnings[0].contains("cut short in its last line"), "{:?}", trace.summary.warnings);
    // Every prefix is read or refused, without a panic.
    for length in 0..ENDINGS.len() {
        let _ = read(&ENDINGS.as_bytes()[..length], "j");
    }
}

#[test]
fn journals_are_found_by_first_line_or_in_a_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("journal"), ENDINGS).unwrap();
    fs::write(path("log"), "{\"Event\":\"SparkListenerLogStart\"}\n{\"hindmost_journal\":1}\n").unwrap();
    fs::create_dir_all(path("run.out/.hindmost")).unwrap();
    fs::write(path("run.out").join(JOURNAL_IN_FOLDER), ENDINGS).unwrap();
    assert_eq!(log::kind(&path("journal")).unwrap(), Kind::Journal);
    assert_eq!(log::kind(&path("run.out")).unwrap(), Kind::Journal);
    assert_eq!(log::kind(&path("log")).unwrap(), Kind::Spark);
    assert!(matches!(log::kind(&path("nowhere")), Err(TraceError::Open { .. })));
    fs::create_dir(path("empty")).unwrap();
    assert!(matches!(log::kind(&path("empty")), Err(TraceError::Directory { .. })));
    assert!(matches!(records(folder.path(), None), Err(TraceError::NoJournal { .. })));
    let mut reports = Vec::new();
    let trace = open(&path("run.out"), Some(&mut |position, total| reports.push((position, total)))).unwrap();
    let size = ENDINGS.len() as u64;
    assert_eq!(reports.last(), Some(&(size, Some(size))));
    assert_eq!(trace.jobs, read(ENDINGS.as_bytes(), "j").unwrap().jobs);
}

#[test]
fn tasks_of_chains_wait_for_their_own_parents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    fs::write(&path, CHAINS).unwrap();
    let recording = Collected::from(records(&path, None).unwrap()).unwrap().recording();
    let ready: Vec<&[(u32, f64)]> = recording.phases.iter().map(|phase| &phase.ready[..]).collect();
    assert_eq!(ready, [&[][..], &[(0, 0.35), (1, 2.3)][..]]);
}

#[test]
fn pauses_in_the_run_folder_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (inner, out) = (folder.path().join("run.out/.hindmost"), folder.path().join("run.out"));
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("journal.jsonl"), RESUMED).unwrap();
    fs::write(inner.join("journal-1.jsonl"), RESUMED).unwrap();
    let second = TICKS_PER_SECOND;
    let record =
        |pauses: &str| fs::write(inner.join("job.json"), format!(r#"{{"job":"j","pauses":{pauses}}}"#)).unwrap();
    // The pauses are not in order, they overlap, and the last one is after the end of the run.
    record(&format!(
        "[[{},{}],[{},{}],[{},{}]]",
        6 * second,
        12 * second,
        3 * second,
        7 * second,
        50 * second,
        60 * second
    ));
    assert_eq!(
        records(&out, None).unwrap().pauses(),
        [[Time(3 * second), Time(12 * second)], [Time(50 * second), Time(60 * second)]]
    );
    let trace = open(&out, None).unwrap();
    assert_eq!((trace.summary.to, trace.summary.paused), (Some(6.0), Some(9.0)));
    assert!(trace.notes[0].contains("flowtime of 5.000 s"), "{:?}", trace.notes);
    assert!(trace.notes[1].starts_with("the recorded run was paused for 9.000 s"), "{:?}", trace.notes);
    let Durations::Observed { tasks, .. } = &trace.jobs[0].durations[0] else { panic!("observed") };
    assert_eq!(tasks, &[vec![ObservedCopy::Took(2.0)]]);
    // The attempt that was stopped with the run has not lost to the attempt that ran after the pause.
    let findings = log::read(&out, &Columns::default(), Wanted::DIAGNOSES, None).unwrap().findings;
    assert_eq!((findings.machine_time.losers, findings.machine_time.killed), (0.0, 2.0));
    // An earlier journal of the run, and a record that can't be read, have no pauses.
    assert!(records(&inner.join("journal-1.jsonl"), None).unwrap().pauses().is_empty());
    record("7");
    let trace = open(&out, None).unwrap();
    assert_eq!((trace.summary.to, trace.summary.paused, trace.notes.len()), (Some(15.0), None, 1));
}
