//! Tests that cut a run's journal at any place, give the folder a state that it could have had at that moment, and resume the
//! run.
//!
//! A decision is synced before it is carried out, but events may happen before the journal has them. So for each attempt
//! that runs at the journal's end, these tests draw one of its possible states: not yet started, running, ended in any way
//! with or without its end marker, moved into place with its folder still complete, incomplete or removed, or cleaned up
//! after a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_math::random::mix;
use hindmost_run::engine::{END_MARKER, end_line};
use hindmost_run::job_file::Plan;
use hindmost_run::store::Store;
use hindmost_testing::{Draw, cases, seed};

use crate::crashes::{check_end, contents};
use crate::place::Place;
use crate::test_run::{TestRun, journal_text, key, open, takes};

/// An attempt that has started and not ended by the end of a journal.
#[derive(Clone, Debug)]
struct Unended {
    node: NodeId,
    running: bool,
    /// The attempt that this one replaces, and for whose end it waits.
    replaces: Option<AttemptId>,
}

/// The state at the end of a journal.
#[derive(Default)]
struct JournalState {
    unended: BTreeMap<AttemptId, Unended>,
    /// Attempts whose nodes were lost: files and processes of them may be left.
    lost: BTreeSet<AttemptId>,
    /// Attempts that the policy has stopped and that have not ended.
    stopped: BTreeSet<AttemptId>,
    won: BTreeMap<TaskId, AttemptId>,
    launched: BTreeMap<TaskId, u32>,
    replacements: BTreeMap<AttemptId, AttemptId>,
}

impl JournalState {
    fn of(lines: &str) -> JournalState {
        let mut state = JournalState::default();
        for line in lines.lines().skip(1) {
            let record: Record = serde_json::from_str(line).unwrap();
            match record.change {
                Change::Decision(Decision::Start { attempt, node, .. }) => state.start(attempt, node, None),
                Change::Decision(Decision::Stop { attempt, .. }) => _ = state.stopped.insert(attempt),
                Change::Decision(Decision::Replace { attempt, .. }) => {
                    let replacement = AttemptId { task: attempt.task, copy: state.launched[&attempt.task] };
                    state.replacements.insert(attempt, replacement);
                    state.start(replacement, state.unended[&attempt].node, Some(attempt));
                }
                Change::Event(Event::AttemptRunning { attempt, .. }) => {
                    if let Some(unended) = state.unended.get_mut(&attempt) {
                        unended.running = true;
                    }
                }
                Change::Event(Event::AttemptFinished { attempt }) => {
                    state.won.insert(attempt.task, attempt);
                    state.end(attempt);
                }
                Change::Event(Event::AttemptStopped { attempt } | Event::AttemptFailed { attempt, .. }) => {
                    state.end(attempt);
                }
                Change::Event(Event::NodeLost { node, .. }) => {
                    let gone =
                        state.unended.iter().filter(|(_, unended)| unended.node == node && unended.replaces.is_none());
                    state.lost.extend(gone.map(|(attempt, _)| *attempt));
                    state.unended.retain(|_, unended| unended.node != node);
                }
                _ => {}
            }
        }
        state
    }

    fn start(&mut self, attempt: AttemptId, node: NodeId, replaces: Option<AttemptId>) {
        self.launched.insert(attempt.task, attempt.copy + 1);
        self.unended.insert(attempt, Unended { node, running: false, replaces });
    }

    fn end(&mut self, attempt: AttemptId) {
        self.unended.remove(&attempt);
        self.stopped.remove(&attempt);
        self.lost.remove(&attempt);
        let replacement = self.replacements.remove(&attempt).and_then(|replacement| self.unended.get_mut(&replacement));
        if let Some(replacement) = replacement {
            replacement.replaces = None;
        }
    }
}

/// The state of an attempt while no driver runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// The attempt has no folder yet.
    NotStarted,
    /// The attempt has a folder without an output folder.
    OnlyFolder,
    /// The attempt has its folders, and its command has not been started.
    NotYetRun,
    /// The attempt runs.
    StillRunning,
    /// The attempt was killed and has no end marker.
    Killed,
    /// The command ended with exit code 0.
    EndedWell,
    /// The command ended with exit code 3.
    EndedBadly,
    /// The end marker lacks its last byte.
    MarkerCutShort,
    /// The output is in the result's place, and the attempt's folder is complete.
    InPlace,
    /// The output is in the result's place, and the end marker has been removed.
    InPlaceHalfRemoved,
    /// The output is in the result's place, and the attempt's folder has been removed.
    InPlaceRemoved,
    /// The same as `InPlaceRemoved`, and the journal records the finish.
    Committed,
    /// The attempt has failed, and its folder has been removed.
    Removed,
}

use State::*;

/// States that are possible if the journal does not say that the attempt runs.
const EARLY: [State; 3] = [NotStarted, OnlyFolder, NotYetRun];
/// States that are always possible. `StillRunning` is drawn twice as often as the others.
const LATE: [State; 9] = [
    StillRunning,
    StillRunning,
    Killed,
    EndedWell,
    EndedBadly,
    MarkerCutShort,
    InPlace,
    InPlaceHalfRemoved,
    InPlaceRemoved,
];

/// Creates the files of an attempt in this state.
fn put(store: &mut Store, attempt: AttemptId, state: State) {
    if matches!(state, NotStarted | Removed) {
        return;
    }
    let folder = store.make_attempt(attempt).unwrap();
    let mark = |text: &str| fs::write(folder.join(END_MARKER), text).unwrap();
    let run = store.run().id;
    let end = |code| end_line(code, &run, attempt);
    for name in ["stdout", "stderr"] {
        fs::write(folder.join(name), "a line\n").unwrap();
    }
    let written = fs::write(folder.join("out/by"), key(attempt));
    written.unwrap();
    match state {
        NotStarted | Removed | NotYetRun | StillRunning | Killed => {}
        OnlyFolder => fs::remove_dir_all(folder.join("out")).unwrap(),
        EndedWell => mark(&end(0)),
        EndedBadly => mark(&end(3)),
        MarkerCutShort => mark(end(0).trim_end()),
        InPlace | InPlaceHalfRemoved | InPlaceRemoved | Committed => {
            mark(&end(0));
            assert!(store.prepare(attempt, None, None, None).unwrap());
            store.make_durable().unwrap();
            store.commit(attempt).unwrap();
            if state != InPlace {
                fs::remove_file(folder.join(END_MARKER)).unwrap();
            }
            if matches!(state, InPlaceRemoved | Committed) {
                fs::remove_dir_all(&folder).unwrap();
            }
        }
    }
}

/// A run's journal and results.
struct Past {
    journal: Vec<u8>,
    results: BTreeMap<TaskId, String>,
}

/// Creates the folder as it could have been when the journal had its first `length` bytes. Returns the attempts that still
/// run, and the state that was drawn for each attempt that has not ended.
fn rebuild(
    plan: &Plan,
    out: &Path,
    past: &Past,
    length: usize,
    draw: &mut Draw,
) -> (BTreeSet<AttemptId>, BTreeMap<AttemptId, State>) {
    let mut store = open(plan, out, false).unwrap().store;
    let journal = &past.journal[..length];
    fs::write(store.journal(), journal).unwrap();
    // The run began just now, or 1 s or 100 s earlier.
    let job = out.join(".hindmost/job.json");
    let mut record: serde_json::Value = serde_json::from_str(&fs::read_to_string(&job).unwrap()).unwrap();
    let began = record["began"].as_u64().unwrap() - draw.one_of(&[0, 1_000_000_000, 100_000_000_000]);
    record["began"] = began.into();
    record["began_since_boot"] = serde_json::Value::Null;
    fs::write(&job, record.to_string()).unwrap();

    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let state = JournalState::of(std::str::from_utf8(&journal[..whole]).unwrap());
    for (task, attempt) in &state.won {
        put(&mut store, *attempt, Committed);
        let place = out.join(&plan.phases[task.phase as usize].name).join(task.index.to_string());
        assert_eq!(fs::read_to_string(place.join("by")).unwrap(), past.results[task]);
    }
    let mut states: BTreeMap<AttemptId, State> = BTreeMap::new();
    for (attempt, unended) in &state.unended {
        // A replacement waits until the attempt that it replaces has ended.
        let waits = unended.replaces.is_some_and(|replaced| {
            !matches!(states.get(&replaced), Some(Removed | InPlaceRemoved)) && state.unended.contains_key(&replaced)
        });
        let mut state = if waits {
            NotStarted
        } else if !unended.running && draw.below(3) == 0 {
            draw.one_of(&EARLY)
        } else if draw.below(8) == 0 {
            Removed
        } else {
            draw.one_of(&LATE)
        };
        // The journal says that the attempt has started, so it has a folder.
        if unended.running && matches!(state, NotStarted) {
            state = Killed;
        }
        put(&mut store, *attempt, state);
        states.insert(*attempt, state);
    }
    let mut still_running: BTreeSet<AttemptId> =
        states.iter().filter(|(_, state)| **state == StillRunning).map(|(attempt, _)| *attempt).collect();
    for attempt in state.lost.iter().filter(|attempt| !state.won.contains_key(&attempt.task)) {
        let state = draw.one_of(&[StillRunning, Killed, EndedWell, EndedBadly, Removed, Removed]);
        // An attempt of a task that may not be copied is killed before another attempt of the task starts.
        if state == StillRunning && plan.phases[attempt.task.phase as usize].idempotent {
            still_running.insert(*attempt);
        }
        put(&mut store, *attempt, state);
    }
    (still_running, states)
}

/// Resumes the run from the first `length` bytes of its journal. Sometimes cuts the journal of the resumed run again.
fn resume_from(whole: &Place, past: &Past, length: usize, seed: u64) {
    let mut draw = Draw(seed);
    let (mut journal, mut results) = (past.journal.clone(), past.results.clone());
    let mut length = length;
    for part in 0..3 {
        let place = whole.another(part);
        let (plan, out) = (&place.plan, &place.out);
        let past = Past { journal, results };
        let (still_running, states) = rebuild(plan, out, &past, length, &mut draw);
        let held = contents(plan, out);
        let mut checked_engine = place.engine();
        checked_engine.orphans = still_running;
        let context = Context { text: &past.journal[..length], states: &states };
        let outcome = place.run_on(&mut checked_engine);
        check_end(plan, out, &outcome, &held);
        let adopted: BTreeSet<AttemptId> = checked_engine.adopted.iter().copied().collect();
        let left = states.iter().filter(|(_, state)| **state == StillRunning).map(|(attempt, _)| *attempt);
        for attempt in left {
            assert!(adopted.contains(&attempt), "{attempt} was running and was not adopted");
        }
        let whole = past.journal[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let stopped = JournalState::of(std::str::from_utf8(&past.journal[..whole]).unwrap()).stopped;
        for attempt in stopped.intersection(&adopted) {
            assert!(checked_engine.killed.contains(attempt), "{attempt} was stopped by the policy and goes on");
        }
        drop(context);
        journal = journal_text(out).into_bytes();
        results = contents(plan, out);
        fs::remove_dir_all(out).unwrap();
        if draw.below(3) > 0 {
            return;
        }
        // A journal that was cut before the job arrived has begun again and may be shorter now.
        length = length.min(journal.len());
        length += draw.below((journal.len() - length + 1) as u64) as usize;
    }
}

/// Prints the cut journal and the drawn states if the test panics.
struct Context<'a> {
    text: &'a [u8],
    states: &'a BTreeMap<AttemptId, State>,
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}\n{:#?}", String::from_utf8_lossy(self.text), self.states);
        }
    }
}

/// Cuts a run's journal after every line and in the middle of some lines, and resumes the run from each cut. Returns the
/// whole run's journal.
fn resumes_from_everywhere(test_run: TestRun, number: u64) -> String {
    let whole = test_run.place();
    let (plan, out) = (&whole.plan, &whole.out);
    check_end(plan, out, &whole.run(), &BTreeMap::new());
    let past = Past { journal: journal_text(out).into_bytes(), results: contents(plan, out) };
    let ends = past.journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let mut journal_cuts: Vec<usize> = std::iter::once(0).chain(ends).collect();
    println!("{} lines", journal_cuts.len() - 1);
    let mut draw = Draw(seed() ^ number << 32);
    journal_cuts.extend((0..40).map(|_| draw.below(past.journal.len() as u64) as usize));
    for length in journal_cuts {
        for again in 0..cases(1, 6) {
            let seed = mix(seed() ^ number << 32 ^ (length as u64) << 4 ^ u64::from(again));
            resume_from(&whole, &past, length, seed);
        }
    }
    String::from_utf8_lossy(&past.journal).into_owned()
}

fn small(policy: &str) -> TestRun {
    let test_run =
        TestRun::on("n1:2,n2:2").phase_with("map", 8, "retries = 60").phase_with("reduce", 2, "retries = 60");
    test_run.policy(policy).behaviour(|launch| {
        let task = launch.attempt.task;
        let slow = task.phase == 0 && task.index % 4 == 1 && launch.attempt.copy == 0;
        takes(if slow { 6.0 } else { 0.4 + 0.1 * f64::from(task.index % 3) })
    })
}

#[test]
fn a_run_under_pace_resumes_from_any_cut() {
    resumes_from_everywhere(small("pace").chaos("slow=n2:4"), 1);
}

#[test]
fn a_run_with_replacements_resumes_from_any_cut() {
    resumes_from_everywhere(small("mantri(kill_restart=true,delta=0.1)"), 2);
}

#[test]
fn a_run_with_clones_and_lost_nodes_resumes_from_any_cut() {
    let test_run = TestRun::on("n1:3,n2:3").phase_with("map", 3, "retries = 60").phase_with("end", 2, "retries = 60");
    let test_run = test_run.policy("sca").chaos("lose=n2:0.4s@0.3s,kill=0.1");
    resumes_from_everywhere(test_run.behaviour(|launch| takes(0.5 + 0.1 * f64::from(launch.attempt.copy))), 3);
}

#[test]
fn runs_under_late_and_spark_resume_from_any_cut() {
    resumes_from_everywhere(small("late(cap=1)").chaos("lose=n1:0.5s@0.6s"), 4);
    resumes_from_everywhere(small("spark(quantile=0.3,multiplier=1.5)").knowledge("age"), 5);
}

#[test]
fn a_run_with_reservations_resumes_from_any_cut() {
    // Some cuts are between a reservation and its use or its end.
    let test_run = small("window(slow=0.9)").chaos("lose=n1:0.5s@0.9s");
    let journal = resumes_from_everywhere(test_run, 7);
    assert!(journal.contains("\"reserve\""), "{journal}");
}

#[test]
fn tasks_that_may_not_run_twice_resume_from_any_cut() {
    let test_run = TestRun::on("n1:2,n2:2").phase_with("map", 6, "idempotent = false\nretries = 60");
    let test_run = test_run.phase_with("end", 1, "idempotent = false\nretries = 60").policy("pace").chaos("slow=n2:3");
    resumes_from_everywhere(test_run.behaviour(|_| takes(0.6)), 6);
}
