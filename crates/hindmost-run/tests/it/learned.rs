//! Tests of what a run's summary says about its copies: what `pace` has learned from them, and by how much the job ended sooner.

use std::path::Path;

use hindmost_core::explain::explain;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::journal::JournalReader;
use hindmost_core::metrics::TimeSaved;
use hindmost_core::policy::{Effect, Learned};
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_core::record::Change;
use hindmost_core::session::Answers;
use hindmost_policies::catalogue;
use hindmost_testing::cases;

use crate::fake_engine::FakeTask;
use crate::test_run::{FinishedRun, TestRun, journal_text, records, silently, takes};

/// Returns a number in (0, 1) for a copy of a task.
fn draw(seed: u64, index: u32, copy: u32) -> f64 {
    draw_for_attempt(seed, Purpose::Duration, AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy })
}

/// Runs tasks on a node of this many slots. `play` gives what the attempt of a task and copy does.
fn run(policy: &str, (tasks, slots): (u32, u32), play: impl Fn(u32, u32) -> FakeTask + 'static) -> FinishedRun {
    let test_run = TestRun::on(&format!("n1:{slots}")).phase("map", tasks).policy(policy);
    test_run.behaviour(move |launch| play(launch.attempt.task.index, launch.attempt.copy)).run().done()
}

/// Returns what a run learned from the copies of its only phase.
fn learned(finished: &FinishedRun) -> Learned {
    finished.outcome.summary.phases[0].learned.unwrap()
}

/// Runs the same tasks with `pace` and without copies. Returns the estimate, the time that copies have saved, and that of the run.
fn saved(
    size: (u32, u32),
    play: impl Fn(u32, u32) -> FakeTask + Copy + 'static,
) -> (Option<TimeSaved>, f64, FinishedRun) {
    let (with, without) = (run("pace", size, play), run("none", size, play));
    assert_eq!(without.outcome.summary.saved, None);
    (with.outcome.summary.saved, without.flowtime() - with.flowtime(), with)
}

/// An attempt hangs for 30 s with a probability of 8%, if it is the first of its task.
fn hangs(seed: u64) -> impl Fn(u32, u32) -> FakeTask + Copy {
    move |index, copy| {
        let hangs = copy == 0 && draw(seed, index, 9) < 0.08;
        silently(if hangs { 30.0 } else { 0.4 + 0.01 * draw(seed, index, copy) })
    }
}

#[test]
fn hung_attempts_give_a_lower_bound() {
    for seed in 0..10 {
        let (found, real, with) = saved((100, 8), hangs(seed));
        let found = found.unwrap();
        // No attempt that finished ran for more than 0.41 s, so nothing shows that the others needed 30 s.
        assert_eq!((found.median, found.high), (None, None), "{found:?}");
        assert_eq!((found.unknown, found.by_progress), (found.beaten, 0), "{found:?}");
        let again = found.if_as_long_again.unwrap();
        assert!(real > 20.0 && found.low <= again && again < real, "{found:?}, {real} s saved");
        let learned = learned(&with);
        assert_eq!((u64::from(learned.won), learned.effect), (with.outcome.summary.copies.won, Effect::Sooner));
    }
}

#[test]
fn progress_that_stalls_shows_no_saved_time() {
    for seed in 0..10 {
        let play = move |index, copy| {
            let hangs = if copy == 0 && draw(seed, index, 9) < 0.08 { 25.0 } else { 0.0 };
            FakeTask { hangs, ..takes(0.4 + 0.01 * draw(seed, index, copy)) }
        };
        let (found, real, _) = saved((80, 8), play);
        let found = found.unwrap();
        // At their earlier pace, the attempts that hung would have ended within a second.
        assert_eq!((found.median, found.high), (None, None), "{found:?}");
        assert!(found.stalled > 0 && found.unknown >= found.stalled, "{found:?}");
        assert!(real > 15.0 && found.low <= real, "{found:?}, {real} s saved");
    }
}

#[test]
fn progress_shows_what_was_saved() {
    let (mut within, mut runs) = (0, 0);
    let seeds = cases(15, 30);
    for seed in 10..10 + u64::from(seeds) {
        let play = move |index, copy| {
            let slow = copy == 0 && draw(seed, index, 9) < 0.1;
            takes(if slow { 20.0 + 20.0 * draw(seed, index, 8) } else { 4.0 + 0.5 * draw(seed, index, copy) })
        };
        let (found, real, _) = saved((40, 8), play);
        let Some(found) = found else { continue };
        assert_eq!((found.by_progress, found.unknown), (found.beaten, 0), "{found:?}");
        let median = found.median.unwrap();
        println!("{median:.2} s estimated, {real:.2} s saved");
        within += u32::from(found.low <= real && found.high.is_some_and(|high| real <= high));
        runs += 1;
    }
    println!("{within} of {runs} intervals of 90%");
    assert!(3 * runs >= 2 * seeds && within * 10 >= runs * 8, "{within} of {runs}");
}

#[test]
fn durations_with_a_long_tail_give_a_lower_bound() {
    // Durations are due to luck, and copies cut off the long ones that would show what was saved.
    let (mut runs, mut above) = (0, 0);
    let seeds = cases(30, 60);
    for seed in 0..u64::from(seeds) {
        let play = move |index, copy| silently(0.4 * draw(seed, index, copy).powf(-0.8));
        let (found, real, _) = saved((100, 6), play);
        let Some(found) = found.filter(|found| found.beaten > 0) else { continue };
        runs += 1;
        above += u32::from(found.low - 0.05 <= real);
        assert_eq!(found.high, None, "{found:?}");
    }
    println!("{above} of {runs} above the lower end");
    assert!(3 * runs >= seeds && above * 10 >= runs * 9, "{above} of {runs}");
}

#[test]
fn tasks_long_by_nature_save_nothing() {
    for seed in 0..20 {
        let play = move |index, _| silently(0.6 * (1.6 * (draw(seed, index, 0) - 0.5)).exp().powi(2));
        let (found, real, with) = saved((60, 8), play);
        let Some(found) = found else { continue };
        assert!(real.abs() < 0.1 * with.flowtime(), "{real}");
        let small = 0.03 * with.flowtime();
        assert!(found.low <= real + small && found.high.is_none_or(|high| high >= real - small), "{found:?}, {real} s");
    }
}

#[test]
fn losses_are_reported_with_what_they_held_back() {
    // Every tenth task takes long in every attempt.
    let play = |index, _| silently(if index % 10 == 7 { 6.0 } else { 0.5 + 0.05 * draw(1, index, 0) });
    let finished = run("pace", (120, 6), play);
    let found = learned(&finished);
    println!("{found:?}");
    assert!(found.won == 0 && found.lost > 0 && found.by_age, "{found:?}");
    assert!(matches!(found.effect, Effect::Rarer | Effect::OneAtATime), "{found:?}");
    assert_eq!(found.factor, (found.lost_weight.floor().clamp(0.0, 4.0)).exp2());
    let held_back = found.held_back;
    assert!(held_back.by_outcomes + held_back.by_budget > 0, "{found:?}");
    // A task that was held back says so, with what copies had shown.
    let steps = (0..120).flat_map(|index| steps_of(&finished.place.out, index));
    let steps: Vec<_> = steps.filter(|step| step.what == "gets no copy now").collect();
    assert!(!steps.is_empty());
    for step in steps {
        let because = step.because.unwrap();
        assert!(
            ["have lost", "budget", "cost the job", "no copy", "long", "no resources are free"]
                .iter()
                .any(|word| because.contains(word)),
            "{because}"
        );
        assert!(!step.knew.is_empty());
    }
}

fn steps_of(out: &Path, index: u32) -> Vec<hindmost_core::explain::Step> {
    let header = JournalReader::new(journal_text(out).as_bytes()).unwrap().header().clone();
    let task = TaskId { job: JobId(0), phase: 0, index };
    explain(catalogue::session_of(&header).unwrap(), records(out), task).unwrap()
}

#[test]
fn a_replay_and_a_resumed_run_have_learned_the_same() {
    let test_run = TestRun::on("n1:8")
        .phase("map", 100)
        .behaviour(|launch| hangs(3)(launch.attempt.task.index, launch.attempt.copy));
    let first = test_run.run().done();
    let summary = &first.outcome.summary;
    let again = test_run.run().done();
    assert_eq!(summary.phases[0].learned, again.outcome.summary.phases[0].learned);
    assert_eq!(summary.saved, again.outcome.summary.saved);
    let header = JournalReader::new(journal_text(&first.place.out).as_bytes()).unwrap().header().clone();
    let mut session = catalogue::session_of(&header).unwrap();
    session.keep_learned();
    for record in records(&first.place.out) {
        if let Change::Event(event) = record.change {
            session.step(record.at, &event, &mut Answers::default()).unwrap();
        }
    }
    assert_eq!(session.learned(JobId(0)), [summary.phases[0].learned]);
    let resumed = first.place.run();
    assert_eq!(resumed.summary.phases[0].learned, summary.phases[0].learned);
    assert_eq!(resumed.summary.saved, summary.saved);
}

#[test]
fn copies_that_hang_too_free_slots_for_others() {
    // The first two attempts of five tasks of 100 hang, more than there are slots.
    let play =
        |index: u32, copy| silently(if index % 20 == 4 && copy < 2 { 30.0 } else { 0.4 + 0.02 * draw(1, index, copy) });
    let finished = run("pace", (100, 8), play);
    // Without hangs the job takes 5.3 s, and without copies over 30 s.
    assert!(finished.flowtime() < 16.0, "{}", finished.flowtime());
}

#[test]
fn attempts_that_fill_all_slots_are_said_to_wait_for_one() {
    // Two tasks hang at the same time on two slots. Attempts are never stopped before their copies have finished, so nothing can be done.
    let play = |index: u32, copy| silently(if (20..22).contains(&index) && copy == 0 { 12.0 } else { 0.4 });
    let finished = run("pace", (40, 2), play);
    let found = learned(&finished);
    assert!(found.held_back.by_resources >= 1, "{found:?}");
    let steps = (20..22).flat_map(|index| steps_of(&finished.place.out, index));
    let waits: Vec<_> = steps.filter(|step| step.what == "gets no copy now").collect();
    assert!(waits.iter().any(|step| format!("{step:?}").contains("no resources are free for a copy")), "{waits:?}");
}
