//! Hand-worked runs and simulated ones in which the durations of the attempts that lost are known.

use super::*;
use crate::ids::JobId;
use crate::timeline::{TimelineJob, TimelineNode};
use crate::workload::{JobSpec, PhaseSpec};

fn phase(tasks: u32) -> PhaseSpec {
    PhaseSpec::new("map", tasks, 1.0)
}

/// An attempt: task, copy, start, end and whether it won. Copy 0 is the original.
type Ran = (u32, u32, f64, f64, bool);

/// Returns the timeline of a job of one phase on nodes of one slot each, which ends with its last winner.
fn timeline(slots: usize, ran: &[Ran]) -> Timeline {
    let tasks = ran.iter().map(|(task, ..)| task + 1).max().unwrap_or(0);
    let finish = ran.iter().filter(|(.., won)| *won).map(|(.., end, _)| *end).fold(0.0, f64::max);
    let spec = JobSpec::new("j", vec![phase(tasks)]);
    let job = TimelineJob {
        spec: spec.into(),
        arrival: Time::ZERO,
        finish: Some(Time::from_seconds(finish)),
        abandoned: None,
    };
    let node = TimelineNode { name: "n".into(), capacity: Resources::ONE_SLOT, lost_and_returned: Vec::new() };
    let rows = ran.iter().map(|(task, copy, start, end, won)| TimelineRow {
        attempt: AttemptId { task: TaskId { job: JobId(0), phase: 0, index: *task }, copy: *copy },
        node: NodeId(0),
        start: Time::from_seconds(*start),
        end: Time::from_seconds(*end),
        outcome: if *won { AttemptEnd::Won } else { AttemptEnd::Lost },
        redundant: *copy > 0,
        from_progress: 0.0,
        usage: None,
    });
    let mut rows: Vec<TimelineRow> = rows.collect();
    rows.sort_by_key(|row| row.start);
    Timeline { nodes: vec![node; slots], jobs: vec![job], rows, ..Timeline::default() }
}

fn saved(timeline: &Timeline, finishes: &[(u32, f64)]) -> Option<TimeSaved> {
    let measured = finishes.iter().map(|(task, at)| (*task, *at, false));
    saved_with(timeline, &measured.collect::<Vec<_>>())
}

/// Each expected finish is that of the original of a task, and says whether this had stalled.
fn saved_with(timeline: &Timeline, finishes: &[(u32, f64, bool)]) -> Option<TimeSaved> {
    let original = |task: u32| AttemptId { task: TaskId { job: JobId(0), phase: 0, index: task }, copy: 0 };
    let finish = |at: f64, stalled| MeasuredFinish { at: Time::from_seconds(at), stalled };
    let finishes = finishes.iter().map(|(task, at, stalled)| (original(*task), finish(*at, *stalled))).collect();
    TimeSaved::of(timeline, &Dimensions::one_slot(), &finishes)
}

/// Two slots. Task 0 runs from 0 to 2, task 1 from 0 to 5 where its copy wins, which runs from 3 to 5.
const ONE_COPY: [Ran; 3] = [(0, 0, 0.0, 2.0, true), (1, 0, 0.0, 5.0, false), (1, 1, 3.0, 5.0, true)];

#[test]
fn measured_progress_gives_the_remaining_time() {
    // By its progress, the original would have ended at 12 s, and the job with it: 7 s later.
    let found = saved(&timeline(2, &ONE_COPY), &[(1, 12.0)]).unwrap();
    assert!((found.median.unwrap() - 7.0).abs() < 0.5, "{found:?}");
    // Its progress is right up to a factor of 1.5: 4.67 s to 10.5 s, of which the interval leaves out a tenth.
    assert!((4.67..5.2).contains(&found.low) && (9.6..10.5).contains(&found.high.unwrap()), "{found:?}");
    assert_eq!((found.beaten, found.by_progress, found.by_durations, found.unknown), (1, 1, 0, 0));
}

#[test]
fn what_no_attempt_shows_is_only_bounded_from_below() {
    // No attempt that finished ran longer than 5 s. As long again would be 10 s instead of 5 s.
    let found = saved(&timeline(2, &ONE_COPY), &[]).unwrap();
    assert_eq!((found.low, found.median, found.high, found.if_as_long_again), (0.0, None, None, Some(5.0)));
    assert_eq!((found.beaten, found.by_progress, found.by_durations, found.unknown), (1, 0, 0, 1));
    // An expected finish in the past was a wrong estimate and shows nothing.
    assert_eq!(saved(&timeline(2, &ONE_COPY), &[(1, 4.0)]), Some(found));
}

#[test]
fn a_stalled_attempt_shows_no_remaining_time() {
    // Neither its earlier pace nor task 2, which ran for 8 s, shows when the original would have ended.
    let ran = [ONE_COPY.as_slice(), &[(2, 0, 0.0, 8.0, true)]].concat();
    for finish in [12.0, 4.0] {
        let found = saved_with(&timeline(3, &ran), &[(1, finish, true)]).unwrap();
        assert_eq!((found.low, found.median, found.high, found.if_as_long_again), (0.0, None, None, Some(2.0)));
        let TimeSaved { beaten, by_progress, by_durations, unknown, stalled, .. } = found;
        assert_eq!((beaten, by_progress, by_durations, unknown, stalled), (1, 0, 0, 1, 1));
    }
}

#[test]
fn finished_attempts_show_the_remaining_time() {
    // Task 2 ran for 8 s, the only attempt that was longer than 5 s: the original would have ended at 8 s.
    let ran = [ONE_COPY.as_slice(), &[(2, 0, 0.0, 8.0, true)]].concat();
    // With three slots, task 2 ends at 8 s all the same. Nothing is saved.
    let found = saved(&timeline(3, &ran), &[]).unwrap();
    assert!(found.low == 0.0 && found.median.unwrap() < 0.1, "{found:?}");
    // With a probability of one half, it would have been longer than the only one.
    assert_eq!(found.high, None);
    assert_eq!((found.beaten, found.by_durations, found.unknown), (1, 1, 0));
    // Slots: task 0 until 8; task 1 until 5, where its copy wins, then task 3; task 2 until 3, then the copy, then task 4.
    // If task 1 had run until 8 without the copy, task 3 would have run from 3 to 7, task 4 from 7 to 11 instead of from 5 to 9.
    // If it had ended between 5 and 7, task 4 would have ended between 9 and 11.
    let ran = [
        (0, 0, 0.0, 8.0, true),
        (1, 0, 0.0, 5.0, false),
        (2, 0, 0.0, 3.0, true),
        (1, 1, 3.0, 5.0, true),
        (3, 0, 5.0, 9.0, true),
        (4, 0, 5.0, 9.0, true),
    ];
    let found = saved(&timeline(3, &ran), &[]).unwrap();
    assert!((0.0..0.5).contains(&found.low) && (1.0..=2.0).contains(&found.median.unwrap()), "{found:?}");
    // Nine attempts that ran longer leave a probability of a tenth.
    let more: Vec<Ran> = (5..14).map(|task| (task, 0, 0.0, 8.0, true)).collect();
    let found = saved(&timeline(12, &[&ran[..], &more].concat()), &[]).unwrap();
    assert!(found.high.is_some_and(|high| high >= found.median.unwrap()), "{found:?}");
}

#[test]
fn copies_that_win_nothing_cost_what_they_delay() {
    // A copy holds a slot from 1 to 4, so that task 2 starts at 4 and not at 1.
    let ran = [(0, 0, 0.0, 1.0, true), (1, 0, 0.0, 4.0, true), (1, 1, 1.0, 4.0, false), (2, 0, 4.0, 9.0, true)];
    let found = saved(&timeline(2, &ran), &[]).unwrap();
    assert_eq!((found.low, found.median, found.high, found.beaten), (-3.0, Some(-3.0), Some(-3.0), 0));
}

#[test]
fn runs_without_copies_and_unclear_ones_give_no_estimate() {
    assert_eq!(saved(&timeline(2, &[(0, 0, 0.0, 2.0, true)]), &[]), None);
    // Something held the second slot: nothing follows from a schedule that takes 5 s where the run took 30 s.
    let ran = [(0, 0, 0.0, 2.0, true), (1, 0, 25.0, 30.0, false), (1, 1, 28.0, 30.0, true)];
    assert_eq!(saved(&timeline(2, &ran), &[]), None);
    let mut paused = timeline(2, &ONE_COPY);
    paused.pauses = vec![[Time::from_seconds(1.0), Time::from_seconds(2.0)]];
    assert_eq!(saved(&paused, &[]), None);
    let mut unfinished = timeline(2, &ONE_COPY);
    unfinished.jobs[0].finish = None;
    assert_eq!(saved(&unfinished, &[]), None);
}

/// Returns the duration of an attempt: 1 s, or 6 to 14 s for one attempt in eight.
fn drawn(seed: u64, task: u32, copy: u32) -> f64 {
    let draw = |stream| unit(hash(seed, stream, u64::from(task), u64::from(copy)));
    if draw(1) < 0.125 { 6.0 + 8.0 * draw(2) } else { 1.0 }
}

/// Runs tasks on slots in order. An attempt gets a copy on the next free slot from the age of `limit` on. Returns what ran, how
/// long it took, and how long the same attempts take without copies.
fn simulated(seed: u64, tasks: u32, slots: usize, limit: f64) -> (Vec<Ran>, f64, f64) {
    let mut free = vec![0.0f64; slots];
    for task in 0..tasks {
        let slot = (0..slots).min_by(|one, other| free[*one].total_cmp(&free[*other])).unwrap();
        free[slot] += drawn(seed, task, 0);
    }
    let without = free.into_iter().fold(0.0, f64::max);
    // Task, start, and start of its copy.
    let mut running: Vec<(u32, f64, Option<f64>)> = Vec::new();
    let (mut ran, mut next, mut now) = (Vec::new(), 0, 0.0);
    let copied = |task: u32, at: Option<f64>| at.map_or(f64::INFINITY, |at| at + drawn(seed, task, 1));
    let end = |(task, start, copy): (u32, f64, Option<f64>)| copied(task, copy).min(start + drawn(seed, task, 0));
    loop {
        let used =
            |running: &[(u32, f64, Option<f64>)]| running.iter().map(|one| 1 + usize::from(one.2.is_some())).sum();
        while slots > used(&running) {
            if let Some(late) = running.iter_mut().find(|one| one.2.is_none() && now >= one.1 + limit) {
                late.2 = Some(now);
            } else if next < tasks {
                running.push((next, now, None));
                next += 1;
            } else {
                break;
            }
        }
        let late = running.iter().filter(|one| one.2.is_none()).map(|one| one.1 + limit).filter(|late| *late > now);
        let Some(at) = running.iter().map(|one| end(*one)).chain(late).reduce(f64::min) else { break };
        now = at;
        running.retain(|one| {
            let (task, start, copy) = *one;
            if end(*one) > now {
                return true;
            }
            let won = copied(task, copy) > now;
            ran.push((task, 0, start, now, won));
            ran.extend(copy.map(|copy| (task, 1, copy, now, !won)));
            false
        });
    }
    (ran, now, without)
}

#[test]
fn lower_ends_are_below_what_was_saved() {
    // A copy starts after 7 s, so that some long attempts finish first and show how long the others would have run.
    let (mut runs, mut above) = (0, 0);
    for seed in 0..200 {
        let (ran, with, without) = simulated(seed, 120, 6, 7.0);
        let Some(found) = saved(&timeline(6, &ran), &[]) else { continue };
        runs += 1;
        above += u32::from(without - with >= found.low - 0.01);
        // Copies cut off the durations that would show more.
        assert_eq!(found.high, None, "{found:?}");
    }
    println!("{above} of {runs} above the lower end");
    assert!(runs >= 100 && above * 100 >= runs * 90, "{above} of {runs}");
}

#[test]
fn the_last_notice_says_whether_an_attempt_had_stalled() {
    let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 0 };
    let last = |notices: &[(f64, bool, bool)]| {
        let records = notices.iter().map(|(finish, guessed, stalled)| {
            let (expected_finish, conditions) = (Some(Time::from_seconds(*finish)), None);
            let (guessed, stalled) = (*guessed, *stalled);
            let event = Event::WatchMet { attempt, expected_finish, conditions, guessed, stalled };
            Record { at: Time::ZERO, change: Change::Event(event) }
        });
        let records: Vec<Record> = records.collect();
        measured_finishes(&records).get(&attempt).map(|found| (found.at.seconds(), found.stalled))
    };
    assert_eq!(last(&[(4.0, true, false)]), None);
    assert_eq!(last(&[(4.0, true, false), (5.0, false, false)]), Some((5.0, false)));
    // It has reported once, which shows no pace, and then nothing for long.
    assert_eq!(last(&[(4.0, true, false), (6.0, true, true)]), Some((6.0, true)));
    assert_eq!(last(&[(6.0, true, true), (7.0, true, false)]), None);
    assert_eq!(last(&[(6.0, true, true), (7.0, false, false)]), Some((7.0, false)));
}
