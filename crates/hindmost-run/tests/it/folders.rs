//! Tests of a run's folder as a process that died, or a power cut, leaves it, and of what is synced in it.

use std::fs;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::metrics::RunState;
use hindmost_run::store::{Commit, Store};

use crate::crashes::contents;
use crate::place::{Place, mended};
use crate::test_run::{TestRun, entries, fails, journal_text, key, open, result, scratch, takes, tasks};

/// Makes the output of a task's first attempt its result.
fn put_result(store: &mut Store, task: TaskId) {
    let attempt = AttemptId { task, copy: 0 };
    let folder = store.make_attempt(attempt).unwrap();
    fs::write(folder.join("out/by"), key(attempt)).unwrap();
    assert!(store.prepare(attempt, None, None, None).unwrap());
    store.make_durable().unwrap();
    assert_eq!(store.commit(attempt).unwrap(), Commit::Won(None));
}

#[test]
fn results_are_synced_only_if_the_folders_of_all_their_phases_are() {
    let folder = scratch();
    let test_run = TestRun::on("n1:1").phase("a", 2).phase("b", 1).phase("c", 1);
    let (plan, out) = (test_run.plan(folder.path()), folder.path().join("out"));
    let mut store = open(&plan, &out, false).unwrap().store;
    tasks(&plan).for_each(|task| put_result(&mut store, task));
    store.sync_results(tasks(&plan)).unwrap();
    for phase in &plan.phases {
        let (place, elsewhere) = (out.join(&phase.name), folder.path().join("elsewhere"));
        fs::rename(&place, &elsewhere).unwrap();
        assert!(store.sync_results(tasks(&plan)).is_err(), "the folder of {} can't have been synced", phase.name);
        fs::rename(&elsewhere, &place).unwrap();
    }
    store.sync_results(tasks(&plan)).unwrap();
}

#[test]
fn a_manifest_whose_last_line_is_cut_short_costs_one_result_once() {
    let first = TestRun::on("n1:1").phase("map", 3).policy("none").place();
    // What is left of the line: almost nothing, a half, or all but its end.
    let kept: [fn(usize) -> usize; 3] = [|_| 1, |length| length / 2, |length| length - 1];
    for (number, kept) in kept.into_iter().enumerate() {
        let place = first.another(number);
        let run = || {
            let mut checked_engine = place.engine();
            assert_eq!(place.run_on(&mut checked_engine).summary.state, RunState::Done);
            checked_engine.started.iter().map(|started| started.attempt.task.index).collect::<Vec<_>>()
        };
        assert_eq!(run(), [0, 1, 2]);
        let manifest = place.out.join(".hindmost/manifest.jsonl");
        let mut text = fs::read_to_string(&manifest).unwrap();
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        assert!(text[last..].contains("\"task\":2"), "{text}");
        text.truncate(last + kept(text.len() - last));
        fs::write(&manifest, text).unwrap();
        // Nothing says what the result of the last task contained, so the task runs again. Then everything is known.
        assert_eq!(run(), [2]);
        assert_eq!(run(), [0; 0]);
    }
}

#[test]
fn incomplete_files_of_killed_processes_are_removed_also_if_nothing_is_left_to_run() {
    let place = TestRun::on("n1:1").phase("map", 1).policy("none").place();
    let out = &place.out;
    assert_eq!(place.run().summary.state, RunState::Done);
    let incomplete = ["report.html.part", "results.tsv.part", ".hindmost/job.json.part", ".hindmost/summary.json.part"];
    for name in incomplete.iter().chain(&["mine.part"]) {
        fs::write(out.join(name), "").unwrap();
    }
    assert_eq!(place.run().summary.attempts, 1);
    assert!(incomplete.iter().all(|name| !out.join(name).exists()));
    // Nothing else is Hindmost's.
    assert!(out.join("mine.part").exists());
}

#[test]
fn a_run_that_dies_before_it_puts_its_journal_away_begins_again() {
    let (works, behaviour) = mended(|launch| if launch.attempt.task.index == 2 { fails(1.0) } else { takes(1.0) });
    let place = TestRun::on("n1:1").phase_with("map", 3, "retries = 0").policy("none").behaviour(behaviour).place();
    let Place { plan, out, .. } = &place;
    assert_eq!(place.run().summary.state, RunState::Failed);
    let (journal, held) = (journal_text(out), contents(plan, out));
    // The record says that the run has begun again. Its journal is put away after that.
    let mut store = open(plan, out, true).unwrap().store;
    let earlier = store.run().id.clone();
    store.begin_again(plan, &[], Vec::new()).unwrap();
    let now = store.run().id.clone();
    assert_ne!(now, earlier);
    drop(store);
    let inner = out.join(".hindmost");
    fs::rename(inner.join("journal-1.jsonl"), inner.join("journal.jsonl")).unwrap();

    let opened = open(plan, out, true).unwrap();
    assert!(!opened.begun && opened.lacks_journal());
    assert_eq!(opened.store.run().id, now);
    drop(opened);
    let journals: Vec<String> = entries(&inner).into_iter().filter(|name| name.starts_with("journal")).collect();
    assert_eq!(journals, ["journal-1.jsonl"]);
    works.set(true);
    let mut checked_engine = place.engine();
    assert_eq!(place.run_on(&mut checked_engine).summary.state, RunState::Done);
    // The earlier journal is kept, and so are the results.
    assert_eq!(fs::read_to_string(inner.join("journal-1.jsonl")).unwrap(), journal);
    let failed = TaskId { job: JobId(0), phase: 0, index: 2 };
    let started: Vec<AttemptId> = checked_engine.started.iter().map(|started| started.attempt).collect();
    assert_eq!(started, [AttemptId { task: failed, copy: 0 }]);
    assert!(result(plan, out, failed).exists());
    for (task, by) in held {
        assert_eq!(contents(plan, out)[&task], by);
    }
}
