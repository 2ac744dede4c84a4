//! Drivers that die at any of their calls to the engine, once or again and again, and leave exactly what is
//! on disk by then: the next goes on.

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

use crate::story::{Story, is_sound, open, result, scratch, silently, takes, tasks};
use crate::world::{Died, World};

/// What the results say by whom they are.
pub fn contents(plan: &Plan, out: &Path) -> BTreeMap<TaskId, String> {
    tasks(plan).filter_map(|task| Some((task, fs::read_to_string(result(plan, out, task).join("by")).ok()?))).collect()
}

/// Checks a run that was resumed to its end: `held` are the results that were there before.
pub fn ended_rightly(plan: &Plan, out: &Path, outcome: &RunOutcome, held: &BTreeMap<TaskId, String>) {
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

/// How a life of the driver ended.
pub enum Life {
    /// With the run.
    Whole(Box<RunOutcome>),
    /// In the middle; these attempts go on.
    CutShort(BTreeSet<AttemptId>),
}

/// One life of a driver in this folder, which ends at this call to the engine. `lossy`: what it had not yet
/// given to the system is lost.
pub fn live(story: &Story, plan: &Plan, out: &Path, resume: bool, world: &mut World, lossy: bool) -> Life {
    match catch_unwind(AssertUnwindSafe(|| story.tell(plan, out, resume, world))) {
        Ok(outcome) => Life::Whole(Box::new(outcome.unwrap())),
        Err(panic) => {
            if !panic.is::<Died>() {
                resume_unwind(panic);
            }
            let journal = out.join(".hindmost/journal.jsonl");
            if lossy && journal.exists() {
                fs::File::options().write(true).open(journal).unwrap().set_len(world.journal).unwrap();
            }
            Life::CutShort(world.at_work())
        }
    }
}

/// While nobody looks, some of what is at work ends, well or without a word.
fn meanwhile(plan: &Plan, out: &Path, left: BTreeSet<AttemptId>, seed: u64) -> BTreeSet<AttemptId> {
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

/// Drivers die at every telling call and at some others.
fn drivers_die(story: &Story) {
    let folder = scratch();
    let plan = story.plan(folder.path());
    let fresh = |name: &str| {
        let out = folder.path().join(name);
        fs::create_dir(&out).unwrap();
        out.canonicalize().unwrap()
    };
    let out = fresh("whole");
    let mut world = story.world(&plan, &out);
    let outcome = story.tell(&plan, &out, false, &mut world).unwrap();
    ended_rightly(&plan, &out, &outcome, &BTreeMap::new());
    let moments = world.moments;
    println!("{} moments", moments.len());
    for (number, moment) in moments.iter().enumerate() {
        let out = fresh(&number.to_string());
        let mut next_death = Some(*moment);
        let (mut left, mut seed, mut lives) = (BTreeSet::new(), mix(number as u64), 0);
        let (outcome, held) = loop {
            let held = contents(&plan, &out);
            let mut world = story.world(&plan, &out);
            world.orphans = left;
            world.dies_after = next_death;
            match live(story, &plan, &out, lives > 0, &mut world, number % 3 > 0) {
                Life::Whole(outcome) => break (outcome, held),
                Life::CutShort(at_work) => left = meanwhile(&plan, &out, at_work, seed),
            }
            lives += 1;
            seed = mix(seed);
            // Often once, sometimes again after a little while.
            next_death = (lives < 4 && seed % 2 == 0).then_some((seed >> 8) as usize % 60);
        };
        ended_rightly(&plan, &out, &outcome, &held);
        fs::remove_dir_all(&out).unwrap();
    }
}

fn short(policy: &str) -> Story {
    let story = Story::on("n1:2,n2:2").phase_with("map", 9, "retries = 9").phase_with("reduce", 2, "retries = 9");
    story.policy(policy).plays(|launch| {
        let task = launch.attempt.task;
        let slow = task.phase == 0 && task.index % 4 == 1 && launch.attempt.copy == 0;
        takes(if slow { 9.0 } else { 0.6 + 0.1 * f64::from(task.index % 3) })
    })
}

/// The counts of a run's only phase, as its follower was last told.
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
    // Clones of one task run when the driver dies; then one puts its result in place. The next driver stops the others
    // because their task is finished, and so does the policy when it hears of the finish.
    let folder = scratch();
    let story = Story::on_nodes(4).phase("map", 1).policy("dollymp(clones=2)").plays(|_| takes(5.0));
    let plan = story.plan(folder.path());
    let (out, left) = (1..)
        .find_map(|calls| {
            let out = folder.path().join(calls.to_string());
            fs::create_dir(&out).unwrap();
            let out = out.canonicalize().unwrap();
            let mut world = story.world(&plan, &out);
            world.dies_after = Some(calls);
            let Life::CutShort(left) = live(&story, &plan, &out, false, &mut world, false) else { panic!("too late") };
            (left.len() == 3).then_some((out, left))
        })
        .unwrap();
    let winner = *left.first().unwrap();
    let mut store = open(&plan, &out, true).unwrap().store;
    fs::write(store.attempt(winner).join(END_MARKER), end_line(0, &store.run().id, winner)).unwrap();
    assert!(store.prepare(winner).unwrap());
    store.make_durable().unwrap();
    store.commit(winner).unwrap();
    drop(store);
    let mut world = story.world(&plan, &out);
    world.orphans = left.into_iter().filter(|attempt| *attempt != winner).collect();
    let mut counts = LastCounts::default();
    let outcome = story.tell_to(&plan, &out, true, &mut world, &mut counts).unwrap();
    ended_rightly(&plan, &out, &outcome, &BTreeMap::new());
    assert_eq!((world.adopted.len(), counts.0.killed, counts.0.failed), (2, 2, 0));
}

#[test]
fn under_pace() {
    drivers_die(&short("pace").chaos("slow=n2:4"));
}

#[test]
fn under_mantri_that_replaces() {
    drivers_die(&short("mantri(kill_restart=true)"));
}

#[test]
fn under_clones() {
    drivers_die(
        &Story::on("n1:4,n2:4")
            .phase_with("map", 3, "retries = 9")
            .phase("reduce", 1)
            .policy("sca")
            .plays(|launch| silently(0.5 + 0.3 * f64::from((launch.attempt.task.index + launch.attempt.copy) % 3))),
    );
}

#[test]
fn under_lost_nodes() {
    drivers_die(&short("late(cap=1)").chaos("lose=n1:0.7s@0.5s,lose=n2:0.5s@0.9s,kill=0.2,seed=4"));
}

#[test]
fn with_tasks_that_may_not_run_twice() {
    let story = Story::on("n1:2,n2:2").phase_with("map", 6, "idempotent = false\nretries = 9").phase("reduce", 1);
    drivers_die(&story.policy("pace").chaos("slow=n2:4,kill=0.2").plays(|_| takes(0.8)));
}

#[test]
fn with_time_limits() {
    let story = Story::on("n1:2").phase_with("map", 5, "time_limit = 1\nretries = 9").phase("reduce", 1);
    drivers_die(
        &story
            .policy("none")
            .plays(|launch| takes(if launch.attempt.task.index == 2 && launch.attempt.copy < 2 { 50.0 } else { 0.8 })),
    );
}
