//! Journals that end anywhere, and folders as they could have been at that moment: a run goes on from each.
//!
//! A decision is carried out after it is safely written, but what happens may be a while ahead of the
//! journal. So for each attempt that is alive at the journal's end any state is drawn that it can be in: not
//! yet started, at work, ended in any way with or without its end marker, moved into place while its folder
//! is still there, half there or gone, cleaned up after a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_math::random::mix;
use hindmost_run::engine::{END_MARKER, end_line};
use hindmost_run::job_file::Plan;
use hindmost_run::store::Store;

use crate::deaths::{contents, ended_rightly};
use crate::story::{Story, journal_text, key, open, scratch, takes};

/// An attempt that a journal has started and not ended.
#[derive(Clone, Debug)]
struct Alive {
    node: NodeId,
    running: bool,
    /// What it waits for.
    replaces: Option<AttemptId>,
}

/// What a journal says at its end.
#[derive(Default)]
struct Told {
    alive: BTreeMap<AttemptId, Alive>,
    /// Gone with their nodes: something of them may still be there.
    lost: BTreeSet<AttemptId>,
    won: BTreeMap<TaskId, AttemptId>,
    launched: BTreeMap<TaskId, u32>,
    heirs: BTreeMap<AttemptId, AttemptId>,
}

impl Told {
    fn of(lines: &str) -> Told {
        let mut told = Told::default();
        for line in lines.lines().skip(1) {
            let record: Record = serde_json::from_str(line).unwrap();
            match record.change {
                Change::Decision(Decision::Start { attempt, node, .. }) => told.start(attempt, node, None),
                Change::Decision(Decision::Replace { attempt, .. }) => {
                    let heir = AttemptId { task: attempt.task, copy: told.launched[&attempt.task] };
                    told.heirs.insert(attempt, heir);
                    told.start(heir, told.alive[&attempt].node, Some(attempt));
                }
                Change::Event(Event::AttemptRunning { attempt }) => {
                    if let Some(alive) = told.alive.get_mut(&attempt) {
                        alive.running = true;
                    }
                }
                Change::Event(Event::AttemptFinished { attempt }) => {
                    told.won.insert(attempt.task, attempt);
                    told.end(attempt);
                }
                Change::Event(Event::AttemptStopped { attempt } | Event::AttemptFailed { attempt, .. }) => {
                    told.end(attempt);
                }
                Change::Event(Event::NodeLost { node }) => {
                    let gone = told.alive.iter().filter(|(_, alive)| alive.node == node && alive.replaces.is_none());
                    told.lost.extend(gone.map(|(attempt, _)| *attempt));
                    told.alive.retain(|_, alive| alive.node != node);
                }
                _ => {}
            }
        }
        told
    }

    fn start(&mut self, attempt: AttemptId, node: NodeId, replaces: Option<AttemptId>) {
        self.launched.insert(attempt.task, attempt.copy + 1);
        self.alive.insert(attempt, Alive { node, running: false, replaces });
    }

    fn end(&mut self, attempt: AttemptId) {
        self.alive.remove(&attempt);
        self.lost.remove(&attempt);
        let heir = self.heirs.remove(&attempt).and_then(|heir| self.alive.get_mut(&heir));
        if let Some(heir) = heir {
            heir.replaces = None;
        }
    }
}

/// The state of an attempt when nobody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    NotStarted,
    OnlyFolder,
    NotYetRun,
    AtWork,
    Killed,
    EndedWell,
    EndedBadly,
    MarkerCutShort,
    InPlace,
    InPlaceHalfRemoved,
    InPlaceRemoved,
    /// Its finish is recorded.
    Committed,
    Removed,
}

use State::*;

const EARLY: [State; 3] = [NotStarted, OnlyFolder, NotYetRun];
const LATE: [State; 9] =
    [AtWork, AtWork, Killed, EndedWell, EndedBadly, MarkerCutShort, InPlace, InPlaceHalfRemoved, InPlaceRemoved];

/// Draws numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = mix(self.0);
        (self.0 >> 20) as usize % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Brings an attempt into a state.
fn put(store: &mut Store, attempt: AttemptId, state: State) {
    if matches!(state, NotStarted | Removed) {
        return;
    }
    let folder = store.make_attempt(attempt).unwrap();
    let mark = |text: &str| fs::write(folder.join(END_MARKER), text).unwrap();
    let run = store.run().id;
    let end = |code| end_line(code, &run, attempt);
    for name in ["stdout", "stderr"] {
        fs::write(folder.join(name), "said\n").unwrap();
    }
    let written = fs::write(folder.join("out/by"), key(attempt));
    written.unwrap();
    match state {
        NotStarted | Removed | NotYetRun | AtWork | Killed => {}
        OnlyFolder => fs::remove_dir_all(folder.join("out")).unwrap(),
        EndedWell => mark(&end(0)),
        EndedBadly => mark(&end(3)),
        MarkerCutShort => mark(end(0).trim_end()),
        InPlace | InPlaceHalfRemoved | InPlaceRemoved | Committed => {
            mark(&end(0));
            assert!(store.prepare(attempt).unwrap());
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

/// Makes the folder as it could have been when the journal's first `length` bytes were written. What is
/// still at work, and what was drawn for those alive.
fn rebuild(
    plan: &Plan,
    out: &Path,
    past: &Past,
    length: usize,
    draw: &mut Draw,
) -> (BTreeSet<AttemptId>, BTreeMap<AttemptId, State>) {
    fs::create_dir(out).unwrap();
    let mut store = open(plan, out, false).unwrap().store;
    let journal = &past.journal[..length];
    fs::write(store.journal(), journal).unwrap();
    // Some time has passed, or next to none.
    let job = out.join(".hindmost/job.json");
    let mut record: serde_json::Value = serde_json::from_str(&fs::read_to_string(&job).unwrap()).unwrap();
    let began = record["began"].as_u64().unwrap() - draw.of(&[0, 1_000_000_000, 100_000_000_000]);
    record["began"] = began.into();
    record["began_since_boot"] = serde_json::Value::Null;
    fs::write(&job, record.to_string()).unwrap();

    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let told = Told::of(std::str::from_utf8(&journal[..whole]).unwrap());
    for (task, attempt) in &told.won {
        put(&mut store, *attempt, Committed);
        let place = out.join(&plan.phases[task.phase as usize].name).join(task.index.to_string());
        assert_eq!(fs::read_to_string(place.join("by")).unwrap(), past.results[task]);
    }
    let mut states: BTreeMap<AttemptId, State> = BTreeMap::new();
    for (attempt, alive) in &told.alive {
        // One that waits for another's room has been started if that one is gone.
        let waits = alive.replaces.is_some_and(|replaced| {
            !matches!(states.get(&replaced), Some(Removed | InPlaceRemoved)) && told.alive.contains_key(&replaced)
        });
        let mut state = if waits {
            NotStarted
        } else if !alive.running && draw.below(3) == 0 {
            draw.of(&EARLY)
        } else if draw.below(8) == 0 {
            Removed
        } else {
            draw.of(&LATE)
        };
        // Only one of them is there by now.
        if alive.running && matches!(state, NotStarted) {
            state = Killed;
        }
        put(&mut store, *attempt, state);
        states.insert(*attempt, state);
    }
    let mut at_work: BTreeSet<AttemptId> =
        states.iter().filter(|(_, state)| **state == AtWork).map(|(attempt, _)| *attempt).collect();
    for attempt in told.lost.iter().filter(|attempt| !told.won.contains_key(&attempt.task)) {
        let state = draw.of(&[AtWork, Killed, EndedWell, EndedBadly, Removed, Removed]);
        // What may not be copied has no second attempt before the first is killed.
        if state == AtWork && plan.phases[attempt.task.phase as usize].idempotent {
            at_work.insert(*attempt);
        }
        put(&mut store, *attempt, state);
    }
    (at_work, states)
}

/// Goes on from a cut, and perhaps from another after that.
fn go_on(story: &Story, plan: &Plan, folder: &Path, past: &Past, length: usize, seed: u64) {
    let mut draw = Draw(seed);
    let (mut journal, mut results) = (past.journal.clone(), past.results.clone());
    let mut length = length;
    for life in 0..3 {
        let out = folder.join(format!("life{life}"));
        let past = Past { journal, results };
        let (at_work, states) = rebuild(plan, &out, &past, length, &mut draw);
        let out = out.canonicalize().unwrap();
        let held = contents(plan, &out);
        let mut world = story.world(plan, &out);
        world.orphans = at_work;
        let context = Context { text: &past.journal[..length], states: &states };
        let outcome = story.tell(plan, &out, true, &mut world).unwrap_or_else(|error| panic!("{error}"));
        ended_rightly(plan, &out, &outcome, &held);
        let adopted: BTreeSet<AttemptId> = world.adopted.iter().copied().collect();
        let left = states.iter().filter(|(_, state)| **state == AtWork).map(|(attempt, _)| *attempt);
        for attempt in left {
            assert!(adopted.contains(&attempt), "{attempt} was at work and was not taken over");
        }
        drop(context);
        journal = journal_text(&out).into_bytes();
        results = contents(plan, &out);
        fs::remove_dir_all(&out).unwrap();
        if draw.below(3) > 0 {
            return;
        }
        // A journal that had no job yet was begun anew.
        length = length.min(journal.len());
        length += draw.below(journal.len() - length + 1);
    }
}

/// Told when something goes wrong.
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

/// Cuts a run's journal after every line, and in the middle of some.
fn goes_on_from_everywhere(story: &Story, number: u64) {
    let folder = scratch();
    let plan = story.plan(folder.path());
    let out = folder.path().join("whole");
    fs::create_dir(&out).unwrap();
    let out = out.canonicalize().unwrap();
    let mut world = story.world(&plan, &out);
    let outcome = story.tell(&plan, &out, false, &mut world).unwrap();
    ended_rightly(&plan, &out, &outcome, &BTreeMap::new());
    let past = Past { journal: journal_text(&out).into_bytes(), results: contents(&plan, &out) };
    let ends = past.journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let mut cuts: Vec<usize> = std::iter::once(0).chain(ends).collect();
    println!("{} lines", cuts.len() - 1);
    let mut draw = Draw(number);
    cuts.extend((0..40).map(|_| draw.below(past.journal.len())));
    for length in cuts {
        for again in 0..6 {
            let seed = mix(number << 32 ^ (length as u64) << 4 ^ again);
            go_on(story, &plan, folder.path(), &past, length, seed);
        }
    }
}

fn small(policy: &str) -> Story {
    let story = Story::on("n1:2,n2:2").phase_with("map", 8, "retries = 60").phase_with("reduce", 2, "retries = 60");
    story.policy(policy).plays(|launch| {
        let task = launch.attempt.task;
        let slow = task.phase == 0 && task.index % 4 == 1 && launch.attempt.copy == 0;
        takes(if slow { 6.0 } else { 0.4 + 0.1 * f64::from(task.index % 3) })
    })
}

#[test]
fn under_pace() {
    goes_on_from_everywhere(&small("pace").chaos("slow=n2:4"), 1);
}

#[test]
fn under_mantri_that_replaces() {
    goes_on_from_everywhere(&small("mantri(kill_restart=true,delta=0.1)"), 2);
}

#[test]
fn under_clones_and_lost_nodes() {
    let story = Story::on("n1:3,n2:3").phase_with("map", 3, "retries = 60").phase_with("end", 2, "retries = 60");
    let story = story.policy("sca").chaos("lose=n2:0.4s@0.3s,kill=0.1");
    goes_on_from_everywhere(&story.plays(|launch| takes(0.5 + 0.1 * f64::from(launch.attempt.copy))), 3);
}

#[test]
fn under_late_and_spark() {
    goes_on_from_everywhere(&small("late(cap=1)").chaos("lose=n1:0.5s@0.6s"), 4);
    goes_on_from_everywhere(&small("spark(quantile=0.3,multiplier=1.5)").knowledge("age"), 5);
}

#[test]
fn with_tasks_that_may_not_run_twice() {
    let story = Story::on("n1:2,n2:2").phase_with("map", 6, "idempotent = false\nretries = 60");
    let story = story.phase_with("end", 1, "idempotent = false\nretries = 60").policy("pace").chaos("slow=n2:3");
    goes_on_from_everywhere(&story.plays(|_| takes(0.6)), 6);
}
