//! Reads any bytes as a journal: for a replay, for a diagnosis, and to draw, verify and explain it.

use std::collections::BTreeSet;

use crate::{alike, check_durations, check_findings, check_summary, check_width, read_log};
use hindmost_core::explain::explain;
use hindmost_core::ids::TaskId;
use hindmost_core::journal::{Header, JournalReader, JournalWriter};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::timeline::Timeline;
use hindmost_core::verify::Verifier;
use hindmost_policies::catalogue;
use hindmost_report::gantt::{GanttOptions, gantt};
use hindmost_trace::journal::RecordedRun;
use hindmost_trace::{Kind, Wanted};

/// Journals with more tasks than this are not verified, to limit memory.
const MOST_TASKS: u64 = 20_000;
/// The most tasks of a journal that are explained.
const EXPLAINED: usize = 3;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(journal: &[u8]) {
    let read = |wanted| read_log(Kind::Journal, journal, wanted);
    let Some((mut kept, diagnosed)) = alike(read(Wanted::REPLAYS), read(Wanted::DIAGNOSES)) else { return };
    let (summary, findings) = (diagnosed.summary, diagnosed.findings);
    // Without a finished task a journal can't be replayed, but it can be diagnosed.
    if let Some(RecordedRun { jobs: Some(jobs), nodes, .. }) = kept.take_run() {
        check_durations(&jobs);
        assert_eq!(nodes.len() as u64, summary.nodes);
        assert!(jobs.len() as u64 <= summary.jobs);
        assert!(nodes.iter().all(|node| node.speed.is_finite() && node.speed > 0.0));
    }
    check_summary(&summary);
    check_findings(&findings);

    let mut reader = JournalReader::new(journal).expect("it was read before");
    let records: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().expect("it was read before");
    check_written(reader.header(), &records);
    let count = |is: fn(&Change) -> bool| records.iter().filter(|record| is(&record.change)).count();
    let timeline = Timeline::of(records.iter().cloned());
    assert_eq!(timeline.nodes.len(), count(|change| matches!(change, Change::Event(Event::NodeJoined { .. }))));
    assert_eq!(timeline.jobs.len(), count(|change| matches!(change, Change::Event(Event::JobArrived { .. }))));
    let begun = |change: &Change| matches!(change, Change::Decision(Decision::Start { .. } | Decision::Replace { .. }));
    assert!(timeline.rows.len() <= count(begun));
    for width in [40, 100, 200] {
        let options = GanttOptions { width, colour: false, ascii: width == 100, until: None, max_lanes: 20 };
        check_width(&gantt(&timeline, &options), usize::from(width));
    }
    let phases = timeline.jobs.iter().flat_map(|job| &job.spec.phases);
    if { phases }.map(|phase| u64::from(phase.tasks)).sum::<u64>() <= MOST_TASKS {
        check_verified(reader.header(), &records, &timeline);
    }
}

/// Checks that records that are written are read back as the same records.
fn check_written(header: &Header, records: &[Record]) {
    let mut writer = JournalWriter::new(Vec::new(), header).expect("writing to memory succeeds");
    let written = records.iter().all(|record| writer.write(record).is_ok());
    let bytes = writer.finish().expect("writing to memory succeeds");
    if written {
        let again: Vec<Record> =
            JournalReader::new(&bytes[..]).expect("a journal").collect::<Result<_, _>>().expect("records");
        assert!(again == records || format!("{again:?}") == format!("{records:?}"));
    }
}

/// Verifies the records, and checks that a task of a verified journal can be explained.
fn check_verified(header: &Header, records: &[Record], timeline: &Timeline) {
    let Ok(mut session) = catalogue::session_of(header) else { return };
    let mut verifier = Verifier::new(&mut session, header.is_live());
    let same = records.iter().cloned().try_for_each(|record| verifier.check(record)).is_ok();
    let verified = verifier.verified();
    assert!(verified.rounds <= verified.events && verified.events + verified.decisions <= records.len() as u64);
    if same {
        assert_eq!(verified.events + verified.decisions, records.len() as u64);
    }
    let tasks: BTreeSet<TaskId> = timeline.rows.iter().map(|row| row.attempt.task).collect();
    for task in tasks.into_iter().take(EXPLAINED) {
        let session = catalogue::session_of(header).expect("it was built before");
        let steps = explain(session, records.iter().cloned(), task);
        assert!(steps.is_ok() || !same, "a verified journal can be explained");
        for step in steps.into_iter().flatten() {
            assert!(step.at.is_finite() && !step.what.is_empty());
        }
    }
}
