//! Tests of the view of a run in progress: it shows the same however the journal comes in, and its last state is that of the
//! run's summary.

use std::fs;
use std::path::Path;

use hindmost_core::metrics::RunState;
use hindmost_core::timeline::AttemptKind;
use hindmost_run::live_view::{JobState, LiveError, LiveView, Outcome, Snapshot, State};
use proptest::prelude::*;

use crate::test_run::{FinishedRun, TestRun, fails, journal_text, scratch, takes};

/// A run with stragglers, copies, a failed attempt and a later phase.
fn busy() -> FinishedRun {
    let run = TestRun::on("n1:2,n2:2").phase("map", 14).phase("reduce", 2).policy("mantri").behaviour(|launch| {
        let attempt = launch.attempt;
        match (attempt.task.phase, attempt.task.index, attempt.copy) {
            (0, 3, 0) => fails(4.0),
            (0, 5 | 9, 0) => takes(120.0),
            _ => takes(10.0),
        }
    });
    run.run().done()
}

/// Returns the state of the run in a folder.
pub fn seen(folder: &Path) -> Snapshot {
    let mut view = LiveView::new(folder);
    view.refresh().unwrap();
    view.snapshot()
}

/// Creates a run's folder with this journal and without a record of the job.
fn folder_with(journal: &[u8]) -> tempfile::TempDir {
    let folder = scratch();
    fs::create_dir(folder.path().join(".hindmost")).unwrap();
    fs::write(folder.path().join(".hindmost/journal.jsonl"), journal).unwrap();
    folder
}

fn write(folder: &Path, journal: &[u8]) {
    fs::write(folder.join(".hindmost/journal.jsonl"), journal).unwrap();
}

#[test]
fn the_last_state_is_that_of_the_summary() {
    let finished = busy();
    let (snapshot, summary) = (seen(&finished.place.out), &finished.outcome.summary);
    assert_eq!(snapshot.state, State::Done);
    assert_eq!((snapshot.tasks, snapshot.attempts), (summary.tasks, summary.attempts));
    assert_eq!((snapshot.copies.launched, snapshot.copies.won), (summary.copies.launched, summary.copies.won));
    assert!(summary.copies.won > 0, "{summary:?}");
    assert_eq!((snapshot.failed_attempts, snapshot.failed_tasks, snapshot.running_attempts), (1, 0, 0));
    assert!(snapshot.failures[0].message.contains("exit code 3"), "{snapshot:?}");
    assert_eq!((snapshot.jobs.len(), snapshot.jobs[0].state), (1, JobState::Done));
    for (phase, of) in snapshot.jobs[0].phases.iter().zip(&summary.phases) {
        assert_eq!(
            (&phase.name, phase.tasks, phase.finished, phase.attempts),
            (&of.name, of.tasks, of.finished, of.attempts)
        );
        assert_eq!(
            (phase.copies.launched, phase.copies.won, phase.median),
            (of.copies.launched, of.copies.won, of.p50)
        );
        assert_eq!((phase.progress, phase.waiting, phase.left), (1.0, false, None));
    }
    assert_eq!(snapshot.problem, None);
    assert!(snapshot.nodes.iter().all(|node| node.attempts == 0 && !node.lost), "{snapshot:?}");
    let won = snapshot.ended.iter().filter(|ended| ended.outcome == Outcome::Won).count() as u64;
    assert_eq!(won, summary.tasks);
}

#[test]
fn a_failed_run_is_shown_as_failed() {
    let run = TestRun::on("n1:2").phase("map", 4).policy("none");
    let finished = run.behaviour(|launch| if launch.attempt.task.index == 1 { fails(2.0) } else { takes(5.0) }).run();
    assert_eq!(finished.outcome.summary.state, RunState::Failed);
    let snapshot = seen(&finished.place.out);
    assert_eq!((snapshot.state, snapshot.failed_tasks, snapshot.failed_attempts), (State::Failed, 1, 3));
}

#[test]
fn attempts_of_a_run_in_the_middle_are_shown() {
    let finished = busy();
    let journal = journal_text(&finished.place.out);
    // Cuts the journal after the first start of a copy; nobody holds the lock, so the run's process is gone.
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    let copy = lines.iter().position(|line| line.contains("\"start\"") && line.contains("\"copy\":1")).unwrap();
    let folder = folder_with(lines[..=copy].concat().as_bytes());
    let snapshot = seen(folder.path());
    assert_eq!(snapshot.state, State::Gone);
    assert!(
        snapshot.running_attempts > 0
            && snapshot.running.len() as u64 == snapshot.running_attempts + snapshot.starting_attempts,
        "{snapshot:?}"
    );
    assert_eq!(snapshot.jobs[0].state, JobState::Running);
    assert!(snapshot.jobs[0].phases[1].waiting && !snapshot.jobs[0].phases[0].waiting);
    let newest = snapshot.running.last().unwrap();
    assert!(newest.copy == 1 && newest.kind != AttemptKind::Original, "{newest:?}");
    let on_nodes: u64 = snapshot.nodes.iter().map(|node| node.attempts).sum();
    assert_eq!(on_nodes, snapshot.running_attempts + snapshot.starting_attempts);
    for node in &snapshot.nodes {
        let used = node.used.as_ref().unwrap().get("cpus").copied().unwrap_or(0.0);
        // The policy's next decisions are known before the journal has them.
        assert!(used >= node.attempts as f64, "{node:?}");
    }
}

#[test]
fn a_new_journal_replaces_the_old_one() {
    let (long, short) = (busy(), TestRun::on("n1:1").phase("only", 1).policy("none").run().done());
    let [first, second] = [journal_text(&long.place.out), journal_text(&short.place.out)];
    let folder = folder_with(first.as_bytes());
    let mut view = LiveView::new(folder.path());
    view.refresh().unwrap();
    assert_eq!(view.snapshot().tasks, 16);
    // The old one is put away and a new one begins, as in a run that begins again.
    let inner = folder.path().join(".hindmost");
    fs::rename(inner.join("journal.jsonl"), inner.join("journal-1.jsonl")).unwrap();
    fs::write(inner.join("job.json"), fs::read(short.place.out.join(".hindmost/job.json")).unwrap()).unwrap();
    view.refresh().unwrap();
    assert_eq!((view.snapshot().tasks, view.snapshot().state), (0, State::Gone));
    write(folder.path(), second.as_bytes());
    view.refresh().unwrap();
    assert_eq!((view.snapshot().tasks, view.snapshot().jobs[0].phases[0].name.as_str()), (1, "only"));
    // A shorter file at the same place begins again, too.
    write(folder.path(), &second.as_bytes()[..=second.find('\n').unwrap()]);
    view.refresh().unwrap();
    assert_eq!(view.snapshot().tasks, 0);
}

#[test]
fn damaged_journals_are_shown_as_far_as_they_go() {
    let finished = busy();
    let journal = journal_text(&finished.place.out);
    let mut lines: Vec<&str> = journal.split_inclusive('\n').collect();
    lines[20] = "not a record\n";
    let folder = folder_with(lines.concat().as_bytes());
    let snapshot = seen(folder.path());
    assert!(snapshot.problem.as_ref().unwrap().contains("line 21"), "{snapshot:?}");
    assert!(snapshot.tasks == 16 && snapshot.finished < 16, "{snapshot:?}");
    for (text, expected) in [("{\"hindmost_journal\":99}\n", "format 99"), ("hello\n", "not a journal")] {
        let folder = folder_with(text.as_bytes());
        let error = LiveView::new(folder.path()).refresh().unwrap_err();
        assert!(matches!(error, LiveError::BadJournal { .. }) && error.to_string().contains(expected), "{error}");
    }
    for (text, expected) in [
        (journal.replacen("\"tasks\":14", "\"tasks\":4000000000", 1), "more than 50000000"),
        (journal.replacen("\"after\":[0]", "\"after\":[1]", 1), "waits for itself"),
    ] {
        let folder = folder_with(text.as_bytes());
        let problem = seen(folder.path()).problem.unwrap_or_default();
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
    // A policy that is unknown here: the attempts are shown, but not what only a replay knows.
    let folder = folder_with(journal.replacen("\"policy\":\"mantri\"", "\"policy\":\"later\"", 1).as_bytes());
    let snapshot = seen(folder.path());
    assert!(snapshot.problem.as_ref().unwrap().contains("can't repeat the decisions"), "{snapshot:?}");
    assert_eq!((snapshot.finished, snapshot.nodes[0].used.is_none()), (16, true));
}

#[test]
fn folders_without_a_run_are_refused() {
    let folder = scratch();
    let refused = |path: &Path| LiveView::new(path).refresh().unwrap_err();
    assert!(matches!(refused(&folder.path().join("missing")), LiveError::NoFolder(_)));
    assert!(matches!(refused(folder.path()), LiveError::NoRun(_)));
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(refused(&folder.path().join("file")), LiveError::NoRun(_)));
    fs::create_dir(folder.path().join(".hindmost")).unwrap();
    assert!(matches!(refused(folder.path()), LiveError::NoRun(_)));
}

#[test]
fn nothing_in_the_folder_changes() {
    let finished = busy();
    let inner = finished.place.out.join(".hindmost");
    let state = || {
        let mut entries: Vec<_> = fs::read_dir(&inner)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let about = entry.metadata().unwrap();
                (entry.file_name(), about.len(), about.modified().unwrap())
            })
            .collect();
        entries.sort();
        entries
    };
    let before = state();
    seen(&finished.place.out);
    assert_eq!(state(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(24, 240)))]

    /// The journal grows by pieces of any size, which end inside lines and characters.
    #[test]
    fn pieces_of_any_size_give_the_same_state(sizes in proptest::collection::vec(1_usize..4000, 1..60)) {
        thread_local! {
            static JOURNAL: String = journal_text(&busy().place.out);
        }
        let journal = JOURNAL.with(Clone::clone);
        let journal = journal.as_bytes();
        let folder = folder_with(b"");
        let mut view = LiveView::new(folder.path());
        let mut end = 0;
        for size in sizes {
            end = (end + size).min(journal.len());
            write(folder.path(), &journal[..end]);
            view.refresh().unwrap();
            prop_assert_eq!(view.snapshot(), seen(folder.path()));
        }
        write(folder.path(), journal);
        view.refresh().unwrap();
        prop_assert_eq!(view.snapshot(), seen(folder.path()));
        prop_assert_eq!(view.snapshot().finished, 16);
    }
}
