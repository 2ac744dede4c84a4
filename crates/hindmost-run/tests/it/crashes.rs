//! Tests with drivers that die at any of their calls to the engine, once or several times. A new driver resumes the run from
//! the files on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_core::timeline::AttemptEnd;
use hindmost_math::random::mix;
use hindmost_run::driver::{Follower, RunOutcome};
use hindmost_run::engine::{END_MARKER, end_line};
use hindmost_run::job_file::Plan;

use crate::checked_engine::{CheckedEngine, Died};
use crate::place::Place;
use crate::test_run::{TestRun, is_sound, open, result, silently, takes, tasks};

/// Returns which attempt wrote each task's result.
pub fn contents(plan: &Plan, out: &Path) -> BTreeMap<TaskId, String> {
    tasks(plan).filter_map(|task| Some((task, fs::read_to_string(result(plan, out, task).join("by")).ok()?))).collect()
}

/// Checks a resumed run that is done. `held` are the results from before the resumption.
pub fn check_end(plan: &Plan, out: &Path, outcome: &RunOutcome, held: &BTreeMap<TaskId, String>) {
    assert_eq!(outcome.summary.state, RunState::Done, "{:?}", outcome.summary);
    is_sound(plan, out, &outcome.timeline);
    for task in tasks(plan) {
        let won = outcome.timeline.attempts_of(task).filter(|row| row.outcome == AttemptEnd::Won);
        assert_eq!(won.count(), 1, "winners of {task}");
    }
    let now = contents(plan, out);
    assert_eq!(now.len() as u64, plan.tasks());
    for (task, by) in held {
        assert_eq!(now[task], *by, "the result of {task} has changed");
    }
}

/// How a driver's process ended.
pub enum ProcessRun {
    /// The driver ended the run.
    Completed(Box<RunOutcome>),
    /// The driver died before the end of the run; these attempts are still running.
    Died(BTreeSet<AttemptId>),
}

/// Runs a driver in this folder until it completes the run or dies at the engine's chosen call. With `lossy`, journal lines
/// that it had not passed to the operating system are lost.
pub fn run_until_death(
    test_run: &TestRun,
    plan: &Plan,
    out: &Path,
    resume: bool,
    checked_engine: &mut CheckedEngine,
    lossy: bool,
) -> ProcessRun {
    match catch_unwind(AssertUnwindSafe(|| test_run.run_in(plan, out, resume, checked_engine))) {
        Ok(outcome) => ProcessRun::Completed(Box::new(outcome.unwrap())),
        Err(panic) => {
            if !panic.is::<Died>() {
                resume_unwind(panic);
            }
            let journal = out.join(".hindmost/journal.jsonl");
            if lossy && journal.exists() {
                fs::File::options().write(true).open(journal).unwrap().set_len(checked_engine.journal).unwrap();
            }
            ProcessRun::Died(checked_engine.running_attempts())
        }
    }
}

/// Lets some running attempts end while no driver runs, with success or without an end marker. Returns those that still
/// run.
fn some_end(plan: &Plan, out: &Path, left: BTreeSet<AttemptId>, seed: u64) -> BTreeSet<AttemptId> {
    let store = open(plan, out, true).unwrap().store;
    let draw = |attempt: &AttemptId| {
        let task = attempt.task;
        mix(seed ^ u64::from(task.phase) << 40 ^ u64::from(task.index) << 20 ^ u64::from(attempt.copy)) % 4
    };
    for attempt in left.iter().filter(|attempt| draw(attempt) == 0) {
        fs::write(store.attempt(*attempt).join(END_MARKER), end_line(0, &store.run().id, *attempt)).unwrap();
    }
    left.into_iter().filter(|attempt| draw(attempt) > 1).collect()
}

/// Lets drivers die at every call at which something changes, and at some others.
fn crashes_everywhere(test_run: TestRun) {
    let whole = test_run.place();
    let mut checked_engine = whole.engine();
    let outcome = whole.run_on(&mut checked_engine);
    check_end(&whole.plan, &whole.out, &outcome, &BTreeMap::new());
    let moments = checked_engine.moments;
    println!("{} moments", moments.len());
    for (number, moment) in moments.iter().enumerate() {
        let place = whole.another(number);
        let (plan, out) = (&place.plan, &place.out);
        let mut next_death = Some(*moment);
        let (mut left, mut seed, mut crashes) = (BTreeSet::new(), mix(number as u64), 0);
        let (outcome, held) = loop {
            let held = contents(plan, out);
            let mut checked_engine = place.engine();
            checked_engine.orphans = left;
            checked_engine.dies_after = next_death;
            match place.run_until_death(&mut checked_engine, number % 3 > 0) {
                ProcessRun::Completed(outcome) => break (outcome, held),
                ProcessRun::Died(running_attempts) => left = some_end(plan, out, running_attempts, seed),
            }
            crashes += 1;
            seed = mix(seed);
            // Most runs die once, some again after a few calls.
            next_death = (crashes < 4 && seed % 2 == 0).then_some((seed >> 8) as usize % 60);
        };
        check_end(plan, out, &outcome, &held);
        fs::remove_dir_all(out).unwrap();
    }
}

fn short(policy: &str) -> TestRun {
    // Tasks of the second phase start while tasks of the first one run.
    let test_run = TestRun::on("n1:2,n2:2").phase_with("map", 9, "retries = 9");
    let test_run = test_run.phase_with("sort", 9, "retries = 9\neach = true").phase_with("reduce", 2, "retries = 9");
    test_run.policy(policy).behaviour(|launch| {
        let task = launch.attempt.task;
        let slow = task.phase == 0 && task.index % 4 == 1 && launch.attempt.copy == 0;
        takes(if slow { 9.0 } else { 0.6 + 0.1 * f64::from(task.index % 3) })
    })
}

/// The last counts of a run's only phase that its follower received.
#[derive(Default)]
struct LastCounts(PhaseProgress);

impl Follower for LastCounts {
    fn phases(&mut self, phases: &[PhaseProgress], _elapsed: Duration) {
        self.0 = phases[0].clone();
    }

    fn message(&mut self, _line: &str) {}
}

#[test]
fn a_copy_that_is_stopped_for_two_reasons_counts_once() {
    // Three clones of one task run when the driver dies. Then one clone's result is put in place. The next driver stops the
    // others because their task is finished, and so does the policy when it observes the finish.
    let test_run = TestRun::on_nodes(4).phase("map", 1).policy("dollymp(clones=2)").behaviour(|_| takes(5.0));
    let first = test_run.clone().place();
    let places = (1..).map(|calls| first.another(calls)).zip(1..);
    let mut died = places.map(|(place, calls)| (place.dies_at(calls, false), place));
    let (mut checked_engine, Place { plan, out, .. }) = died.find(|(engine, _)| engine.orphans.len() == 3).unwrap();
    let winner = *checked_engine.orphans.first().unwrap();
    let mut store = open(&plan, &out, true).unwrap().store;
    fs::write(store.attempt(winner).join(END_MARKER), end_line(0, &store.run().id, winner)).unwrap();
    assert!(store.prepare(winner, None, None, None).unwrap());
    store.make_durable().unwrap();
    store.commit(winner).unwrap();
    drop(store);
    checked_engine.orphans.remove(&winner);
    let mut counts = LastCounts::default();
    let outcome = test_run.run_with_follower(&plan, &out, true, &mut checked_engine, &mut counts).unwrap();
    check_end(&plan, &out, &outcome, &BTreeMap::new());
    assert_eq!((checked_engine.adopted.len(), counts.0.killed, counts.0.failed), (2, 2, 0));
}

#[test]
fn a_run_under_pace_survives_any_crash() {
    crashes_everywhere(short("pace").chaos("slow=n2:4"));
}

#[test]
fn a_run_with_replacements_survives_any_crash() {
    crashes_everywhere(short("mantri(kill_restart=true)"));
}

#[test]
fn a_run_with_clones_survives_any_crash() {
    crashes_everywhere(
        TestRun::on("n1:4,n2:4")
            .phase_with("map", 3, "retries = 9")
            .phase("reduce", 1)
            .policy("sca")
            .behaviour(|launch| silently(0.5 + 0.3 * f64::from((launch.attempt.task.index + launch.attempt.copy) % 3))),
    );
}

#[test]
fn a_run_with_lost_nodes_survives_any_crash() {
    crashes_everywhere(short("late(cap=1)").chaos("lose=n1:0.7s@0.5s,lose=n2:0.5s@0.9s,kill=0.2,seed=4"));
}

#[test]
fn tasks_that_may_not_run_twice_survive_any_crash() {
    let test_run = TestRun::on("n1:2,n2:2").phase_with("map", 6, "idempotent = false\nretries = 9").phase("reduce", 1);
    crashes_everywhere(test_run.policy("pace").chaos("slow=n2:4,kill=0.2").behaviour(|_| takes(0.8)));
}

#[test]
fn a_run_with_time_limits_survives_any_crash() {
    let test_run = TestRun::on("n1:2").phase_with("map", 5, "time_limit = 1\nretries = 9").phase("reduce", 1);
    crashes_everywhere(
        test_run.policy("none").behaviour(|launch| {
            takes(if launch.attempt.task.index == 2 && launch.attempt.copy < 2 { 50.0 } else { 0.8 })
        }),
    );
}
