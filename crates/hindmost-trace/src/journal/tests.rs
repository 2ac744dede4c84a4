//! Tests with small journals: which durations are read from their attempts, and which errors damaged journals give.

use std::fmt::Write;
use std::fs;

use hindmost_core::journal::Header;
use hindmost_core::metrics::Findings;
use hindmost_core::time::{TICKS_PER_SECOND, Time};
use hindmost_core::workload::{Durations, ObservedCopy, WorkloadJob};

use super::*;
use crate::log::{self, Log};
use crate::recorder::Wanted;
use crate::table::Columns;
use crate::testing;
use ObservedCopy::{AtLeast, Took};

const HEADER: &str = r#"{"hindmost_journal":1,"dimensions":["cpus","memory"],"policy":"mantri","order":"fair","gamma":0.5,"knowledge":"progress(0.1)"}"#;

/// A journal with one job, written line by line, with times in whole seconds.
struct Journal(String);

/// An attempt of the only job: phase, task and copy.
type Attempt = (u32, u32, u32);

fn id((phase, index, copy): Attempt) -> String {
    format!(r#"{{"task":{{"job":0,"phase":{phase},"index":{index}}},"copy":{copy}}}"#)
}

impl Journal {
    /// Returns a journal with two nodes of the given speeds and a job. `phases` has the number of tasks of each phase;
    /// each phase waits for the phase before it.
    fn new(speeds: [f64; 2], phases: &[u32]) -> Journal {
        let mut journal = Journal(format!("{HEADER}\n"));
        for (node, speed) in speeds.iter().enumerate() {
            journal.event(0, &format!(r#"{{"node_joined":{{"node":{node},"name":"n{node}","capacity":[4000,1024,0,0,0,0,0,0],"speed":{speed:?}}}}}"#));
        }
        let phase = |(at, tasks): (usize, &u32)| {
            let after = if at == 0 { String::new() } else { (at - 1).to_string() };
            format!(
                r#"{{"name":"p{at}","after":[{after}],"tasks":{tasks},"demand":{{"cpus":2.0}},"mean":7.0,"sd":null,"tail":null,"assumed":true,"never_copied":true}}"#
            )
        };
        let phases: Vec<String> = phases.iter().enumerate().map(phase).collect();
        journal.event(1, &format!(r#"{{"job_arrived":{{"job":0,"spec":{{"name":"j","arrival":0,"deadline":9000000000,"weight":2.0,"phases":[{}]}}}}}}"#, phases.join(",")));
        journal
    }

    fn line(&mut self, at: u64, what: &str) {
        writeln!(self.0, r#"{{"at":{},{what}}}"#, at * TICKS_PER_SECOND).unwrap();
    }

    fn event(&mut self, at: u64, event: &str) {
        self.line(at, &format!(r#""event":{event}"#));
    }

    fn start(&mut self, at: u64, attempt: Attempt, node: u32) {
        self.start_from(at, attempt, node, 0.0);
    }

    fn start_from(&mut self, at: u64, attempt: Attempt, node: u32, from_progress: f64) {
        let attempt = id(attempt);
        self.line(
            at,
            &format!(
                r#""decision":{{"start":{{"attempt":{attempt},"node":{node},"from_progress":{from_progress:?}}}}}"#
            ),
        );
    }

    fn stop(&mut self, at: u64, attempt: Attempt) {
        self.line(at, &format!(r#""decision":{{"stop":{{"attempt":{},"reason":"lost"}}}}"#, id(attempt)));
        self.ended(at, "stopped", attempt);
    }

    /// `how` is `finished`, `failed` or `stopped`.
    fn ended(&mut self, at: u64, how: &str, attempt: Attempt) {
        self.event(at, &format!(r#"{{"attempt_{how}":{{"attempt":{}}}}}"#, id(attempt)));
    }

    fn read(&self) -> Trace {
        read(self.0.as_bytes(), "j").unwrap()
    }
}

/// A journal that was read for a replay.
#[derive(Debug)]
struct Trace {
    summary: TraceSummary,
    header: Header,
    jobs: Vec<WorkloadJob>,
    nodes: Vec<JournalNode>,
    notes: Vec<String>,
}

impl Trace {
    fn of(mut log: Log) -> Result<Trace, TraceError> {
        let about = log.about_replays().to_vec();
        log.summary.warnings.extend(about);
        let RecordedRun { header, jobs, nodes, notes } = log.take_run().unwrap();
        let jobs = jobs.ok_or(TraceError::NothingFinished { name: log.name })?;
        Ok(Trace { summary: log.summary, header, jobs, nodes, notes })
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

fn diagnose_journal(journal: &[u8], name: &str) -> Result<Findings, TraceError> {
    testing::diagnosed(&super::Journal, journal, name).map(|found| found.1)
}

/// Returns the observed durations of a phase of the only job.
fn observed(trace: &Trace, phase: usize) -> (&[Vec<ObservedCopy>], &[f64]) {
    match &trace.jobs[0].durations[phase] {
        Durations::Observed { tasks, known } => (tasks, known),
        other => panic!("observed, not {other:?}"),
    }
}

/// Returns a journal of one phase with eight tasks, whose attempts end in every possible way.
fn eventful() -> Journal {
    let mut journal = Journal::new([1.0, 1.0], &[8]);
    for task in 0..6 {
        journal.start(1, (0, task, 0), u32::from(task == 2));
    }
    journal.ended(2, "failed", (0, 1, 0));
    journal.start(3, (0, 1, 1), 0);
    journal.start(4, (0, 0, 1), 1);
    journal.start(4, (0, 5, 1), 0);
    journal.event(5, r#"{"node_lost":{"node":1}}"#);
    journal.start(5, (0, 2, 1), 0);
    journal.line(6, &format!(r#""decision":{{"replace":{{"attempt":{},"from_progress":0.0}}}}"#, id((0, 3, 0))));
    journal.ended(7, "stopped", (0, 3, 0));
    journal.ended(8, "finished", (0, 1, 1));
    journal.ended(9, "finished", (0, 5, 1));
    journal.start(9, (0, 0, 2), 0);
    journal.ended(10, "finished", (0, 3, 1));
    journal.ended(11, "finished", (0, 0, 2));
    journal.stop(11, (0, 0, 0));
    journal.ended(12, "finished", (0, 5, 0));
    journal.ended(13, "finished", (0, 2, 1));
    journal.start(13, (0, 6, 0), 0);
    journal.event(14, "\"round\"");
    journal
}

#[test]
fn each_attempt_gives_a_duration_or_a_lower_bound() {
    let trace = eventful().read();
    let (tasks, known) = observed(&trace, 0);
    let expected: [&[ObservedCopy]; 7] = [
        // Task 0: the original was overtaken by the second backup; the first backup was lost with its node.
        &[AtLeast(10.0), AtLeast(1.0), Took(2.0)],
        // Task 1 failed and was relaunched: the failed attempt does not count.
        &[Took(5.0)],
        // Task 2: the node of its first attempt was lost, so this attempt does not count.
        &[Took(8.0)],
        // Task 3 was replaced; the replacement started when the original had been stopped, at 7 s.
        &[AtLeast(6.0), Took(3.0)],
        // Task 4 is still running when the journal ends.
        &[AtLeast(13.0)],
        // Task 5: the original was overtaken by a backup, but finished before it could be stopped.
        &[Took(11.0), Took(5.0)],
        // Task 6 is still running when the journal ends; task 7 was never started.
        &[AtLeast(1.0)],
    ];
    assert_eq!(tasks, expected);
    assert_eq!(known, [2.0, 3.0, 5.0, 5.0, 8.0]);
}

#[test]
fn mean_and_deviation_come_from_the_winners() {
    let trace = eventful().read();
    let spec = &trace.jobs[0].spec;
    let phase = &spec.phases[0];
    assert_eq!((phase.mean, phase.tasks, phase.assumed, phase.never_copied), (4.6, 8, false, true));
    // The deviation of the population: squares of 2.6, 1.6, 0.4, 0.4 and 3.4 over five.
    assert!((phase.sd.unwrap() - (21.2f64 / 5.0).sqrt()).abs() < 1e-12);
    assert_eq!(phase.demand["cpus"], 2.0);
    assert_eq!((spec.arrival, spec.weight, &*spec.name), (Time::from_seconds(1.0), 2.0, "j"));
    let node = JournalNode { name: "n1".into(), capacity: trace.nodes[0].capacity, speed: 1.0, power: None };
    assert_eq!((trace.nodes.len(), &trace.nodes[1]), (2, &node));
    assert_eq!(node.capacity.0[..3], [4000, 1024, 0]);
    assert_eq!((trace.header.policy.as_str(), trace.header.gamma), ("mantri", 0.5));
}

#[test]
fn attempts_are_counted_by_how_they_ended() {
    let TraceSummary { from, to, warnings, .. } = &eventful().read().summary;
    assert_eq!((*from, *to, warnings.len()), (Some(0.0), Some(14.0), 0));
    let found = eventful().read().summary;
    assert_eq!((found.format, found.jobs, found.stages, found.nodes), ("journal", 1, 1, 2));
    // Tasks 4 and 6 still run at the end, and task 7 was never started.
    assert_eq!((found.attempts, found.tasks), (11, 5));
    // Two backups of task 0, one of task 5, and the replacement of task 3.
    assert_eq!(found.speculative_attempts, 4);
    // No attempt failed itself: one was ended from outside, two were lost with their node, one was replaced, and one
    // lost. An attempt that lost but finished all the same is not among the killed ones.
    assert_eq!((found.failed_attempts, found.killed_attempts), (0, 5));
    let causes: Vec<_> = found.killed_by.iter().map(|(cause, count)| (cause.as_str(), *count)).collect();
    let expected = [
        ("another attempt replaced it", 1),
        ("another attempt won, or was expected to", 1),
        ("its node was lost", 2),
        ("not said", 1),
    ];
    assert_eq!(causes, expected);
    let failed =
        Journal(eventful().0.replace(r#"{"attempt_failed":{"#, r#"{"attempt_failed":{"reason":"exit code 3","#));
    let found = failed.read().summary;
    assert_eq!((found.failed_attempts, found.failures.get("exit code 3"), found.killed_attempts), (1, Some(&1), 4));
}

#[test]
fn a_failed_copy_gives_a_lower_bound_of_the_duration() {
    let mut journal = Journal::new([1.0, 1.0], &[1]);
    journal.start(1, (0, 0, 0), 0);
    journal.start(2, (0, 0, 1), 1);
    journal.ended(4, "failed", (0, 0, 0));
    journal.ended(9, "finished", (0, 0, 1));
    let trace = journal.read();
    assert_eq!(observed(&trace, 0).0, [vec![AtLeast(3.0), Took(7.0)]]);
    // A single duration has no deviation.
    assert_eq!(trace.jobs[0].spec.phases[0].sd, None);
}

#[test]
fn durations_are_scaled_to_speed_1_and_to_all_of_the_work() {
    let mut journal = Journal::new([1.0, 0.25], &[2]);
    journal.start(1, (0, 0, 0), 1);
    journal.start_from(1, (0, 1, 0), 0, 0.5);
    journal.ended(9, "finished", (0, 0, 0));
    journal.ended(9, "finished", (0, 1, 0));
    // Node 0 is slow, so the geometric mean of its estimates is used. Before, it counted as slow and as normal again.
    journal.event(3, r#"{"node_speed_learned":{"node":0,"speed":0.01}}"#);
    journal.event(4, r#"{"node_speed_learned":{"node":0,"speed":1.0}}"#);
    journal.event(5, r#"{"node_speed_learned":{"node":0,"speed":0.5}}"#);
    journal.event(9, r#"{"node_speed_learned":{"node":0,"speed":0.125}}"#);
    journal.event(9, r#"{"node_speed_learned":{"node":1,"speed":0.24}}"#);
    let trace = journal.read();
    assert_eq!(observed(&trace, 0).0, [vec![Took(2.0)], vec![Took(4.0)]]);
    assert_eq!(trace.nodes.iter().map(|node| node.speed).collect::<Vec<_>>(), [0.25, 0.25]);
    assert_eq!(trace.notes.len(), 2);
    assert!(trace.notes[0].contains("flowtime of 8.000 s"), "{}", trace.notes[0]);
    assert!(
        trace.notes[1].starts_with(
            "node n0 (about 0.25 times its stated speed, the geometric mean of 2 estimates from 0.12 to \
                                    0.50) was estimated to be slow"
        ),
        "{}",
        trace.notes[1]
    );
}

#[test]
fn lost_nodes_are_in_the_notes() {
    let notes = eventful().read().notes;
    assert_eq!(notes.len(), 2);
    assert!(notes[0].contains("ends at 14.000 s with no job finished"), "{}", notes[0]);
    assert!(notes[1].starts_with("node n1 was lost in the recorded run"), "{}", notes[1]);
}

#[test]
fn learned_durations_are_in_the_notes() {
    let mut journal = eventful();
    journal.event(14, r#"{"durations_learned":{"job":0,"phase":0,"durations":{"exponential":{"mean":4.0}},"median":3.0,"p90":9.0,"progress":true,"samples":5}}"#);
    let notes = journal.read().notes;
    assert!(notes[1].starts_with("the recorded run learned durations"), "{}", notes[1]);
}

#[test]
fn a_phase_without_a_finished_task_uses_other_phases() {
    let mut journal = Journal::new([1.0, 1.0], &[2, 3]);
    journal.start(1, (0, 0, 0), 0);
    journal.start(1, (0, 1, 0), 0);
    journal.ended(3, "finished", (0, 0, 0));
    journal.ended(5, "finished", (0, 1, 0));
    journal.start(5, (1, 0, 0), 0);
    journal.event(6, "\"round\"");
    let trace = journal.read();
    assert_eq!(observed(&trace, 1), (&[vec![AtLeast(1.0)]][..], &[2.0, 4.0][..]));
    assert_eq!((trace.jobs[0].spec.phases[1].mean, trace.jobs[0].spec.phases[1].after[0]), (3.0, 0));
    let [warning] = &trace.summary.warnings[..] else { panic!("{:?}", trace.summary.warnings) };
    assert!(warning.contains("\"p1\"") && warning.contains("its job's other phases"), "{warning}");
}

#[test]
fn journals_that_cannot_be_replayed_give_an_error() {
    let message = |text: &str| read(text.as_bytes(), "j").unwrap_err().to_string();
    let nothing = Journal::new([1.0, 1.0], &[2]).0;
    let newer = HEADER.replace("l\":1", "l\":7");
    let damaged = eventful().0.replacen("\"attempt_failed\"", "\"attempt_fialed\"", 1);
    let headless = HEADER.replace("progress(0.1)", "prophecy");
    for (text, expected) in [
        (nothing.as_str(), "no task has finished in the journal j"),
        ("", "j is not a journal"),
        ("{\"Event\":\"SparkListenerLogStart\"}\n", "first line is no header"),
        (&HEADER[..20], "j is not a journal"),
        (newer.as_str(), "format 7, and this version reads formats up to 1"),
        (damaged.as_str(), "line 11 can't be read (unknown variant `attempt_fialed`"),
        (headless.as_str(), "line 1 can't be read (\"prophecy\" is not a kind of knowledge"),
        (&Journal::new([1.0, 1.0], &[u32::MAX, 3]).0, "line 4 its jobs have 4294967298 tasks"),
    ] {
        let message = message(text);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn a_journal_is_read_up_to_its_cut() {
    let whole = eventful().0;
    let trace = read(&whole.as_bytes()[..whole.len() - 3], "j").unwrap();
    assert_eq!(trace.summary.to, Some(13.0));
    assert!(trace.summary.warnings[0].contains("cut short in its last line"), "{:?}", trace.summary.warnings);
    // Every prefix is read or refused, without a panic.
    for length in 0..whole.len() {
        let _ = read(&whole.as_bytes()[..length], "j");
    }
}

#[test]
fn attempts_of_unknown_tasks_are_skipped() {
    let mut journal = Journal::new([1.0, 1.0], &[1]);
    for attempt in [(0, 0, 0), (0, 1, 0), (9, 0, 0), (0, u32::MAX, 0)] {
        journal.start(1, attempt, 7);
        journal.ended(2, "finished", attempt);
    }
    assert_eq!(observed(&journal.read(), 0).0, [vec![Took(1.0)]]);
}

#[test]
fn journals_are_found_by_first_line_or_in_a_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("journal"), eventful().0).unwrap();
    fs::write(path("log"), "{\"Event\":\"SparkListenerLogStart\"}\n{\"hindmost_journal\":1}\n").unwrap();
    fs::create_dir_all(path("run.out/.hindmost")).unwrap();
    fs::write(path("run.out").join(JOURNAL_IN_FOLDER), eventful().0).unwrap();
    assert_eq!(log::kind(&path("journal")).unwrap(), Kind::Journal);
    assert_eq!(log::kind(&path("run.out")).unwrap(), Kind::Journal);
    assert_eq!(log::kind(&path("log")).unwrap(), Kind::Spark);
    assert!(matches!(log::kind(&path("nowhere")), Err(TraceError::Open { .. })));
    fs::create_dir(path("empty")).unwrap();
    assert!(matches!(log::kind(&path("empty")), Err(TraceError::Directory { .. })));
    assert!(matches!(records(folder.path(), None), Err(TraceError::NoJournal { .. })));
    let mut reports = Vec::new();
    let trace = open(&path("run.out"), Some(&mut |position, total| reports.push((position, total)))).unwrap();
    let size = eventful().0.len() as u64;
    assert_eq!(reports.last(), Some(&(size, Some(size))));
    assert_eq!(trace.jobs, eventful().read().jobs);
}

/// Returns a journal of a run whose attempt is stopped with the run at 3 s, and whose task runs again from 13 s to 15 s.
fn resumed() -> Journal {
    let mut journal = Journal::new([1.0, 1.0], &[1]);
    journal.start(1, (0, 0, 0), 0);
    journal.ended(3, "stopped", (0, 0, 0));
    journal.event(13, "\"round\"");
    journal.start(13, (0, 0, 1), 0);
    journal.ended(15, "finished", (0, 0, 1));
    journal
}

#[test]
fn pauses_in_the_run_folder_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (inner, out) = (folder.path().join("run.out/.hindmost"), folder.path().join("run.out"));
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("journal.jsonl"), resumed().0).unwrap();
    fs::write(inner.join("journal-1.jsonl"), resumed().0).unwrap();
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
    assert_eq!(observed(&trace, 0).0, [vec![Took(2.0)]]);
    // The attempt that was stopped with the run has not lost to the attempt that ran after the pause.
    let findings = log::read(&out, &Columns::default(), Wanted::DIAGNOSES, None).unwrap().findings;
    assert_eq!((findings.machine_time.losers, findings.machine_time.killed), (0.0, 2.0));
    // An earlier journal of the run, and a record that can't be read, have no pauses.
    assert!(records(&inner.join("journal-1.jsonl"), None).unwrap().pauses().is_empty());
    record("7");
    let trace = open(&out, None).unwrap();
    assert_eq!((trace.summary.to, trace.summary.paused, trace.notes.len()), (Some(15.0), None, 1));
}

#[test]
fn a_phase_that_waits_for_itself_or_a_later_one_is_refused() {
    let journal = Journal::new([1.0, 1.0], &[1, 1]);
    for (phase, wrong) in [
        ("p0", journal.0.replace(r#""after":[]"#, r#""after":[0]"#)),
        ("p1", journal.0.replace(r#""after":[0]"#, r#""after":[1]"#)),
        ("p0", journal.0.replace(r#""after":[]"#, r#""after":[1]"#)),
    ] {
        for error in [read(wrong.as_bytes(), "j").unwrap_err(), diagnose_journal(wrong.as_bytes(), "j").unwrap_err()] {
            assert!(matches!(&error, TraceError::WaitsForItself { line: 4, phase: p, .. } if p == phase), "{error}");
            assert!(error.to_string().contains("waits for itself"), "{error}");
        }
    }
    assert!(diagnose_journal(journal.0.as_bytes(), "j").is_ok());
}

#[test]
fn tasks_finished_before_the_run_are_left_out() {
    let mut journal = Journal::new([1.0, 1.0], &[2, 3, 1]);
    // Before the run, all of the first phase and the middle task of the second phase were finished.
    let (tasks, some) = (r#""tasks":2,"#, r#""tasks":3,"#);
    journal.0 = journal.0.replacen(tasks, &format!(r#"{tasks}"finished":[0,1],"#), 1);
    journal.0 = journal.0.replacen(some, &format!(r#"{some}"finished":[1],"#), 1);
    journal.start(2, (1, 0, 0), 0);
    journal.start(2, (1, 2, 0), 1);
    journal.ended(6, "finished", (1, 0, 0));
    journal.ended(8, "finished", (1, 2, 0));
    journal.start(9, (2, 0, 0), 1);
    journal.ended(12, "finished", (2, 0, 0));
    let trace = journal.read();
    let phases = &trace.jobs[0].spec.phases;
    let found: Vec<_> = phases.iter().map(|phase| (&*phase.name, phase.tasks, phase.after.clone())).collect();
    assert_eq!(found, [("p1", 2, vec![]), ("p2", 1, vec![0])]);
    assert!(phases.iter().all(|phase| phase.finished.is_empty()));
    assert_eq!(observed(&trace, 0), (&[vec![Took(4.0)], vec![Took(6.0)]][..], &[4.0, 6.0][..]));
    assert_eq!(observed(&trace, 1).1, [3.0]);
    assert!(trace.summary.warnings.is_empty(), "{:?}", trace.summary.warnings);
    assert_eq!((trace.summary.tasks, trace.summary.attempts, trace.summary.stages), (3, 3, 3));
    assert!(trace.notes[0].ends_with("had a flowtime of 11.000 s"), "{:?}", trace.notes);
    let findings = diagnose_journal(journal.0.as_bytes(), "j").unwrap();
    let stated: Vec<_> = findings.phases.iter().map(|phase| (phase.tasks, phase.tasks_stated)).collect();
    assert_eq!(stated, [(2, Some(2)), (1, Some(1))]);
}
