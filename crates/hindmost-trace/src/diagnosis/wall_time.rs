//! Splits the wall time of an application by what it was spent on: a sweep over all instants at which something changes.

use hindmost_core::metrics::{NoJobTime, PhaseTime, SingleTasks, SlotTimeline, Spent, TimePart, WallTime};

use super::instants::{State, changes, merged};
use super::timeline::{SPENT, Steps, of_phases};
use super::typical::Typical;
use crate::recording::{PhaseRows, Recording};

/// The most phases that are listed for a part.
const LISTED: usize = 5;

/// Seconds of a part, slot-seconds that were used and that there were, and seconds of each phase.
#[derive(Debug, Default)]
struct Sum {
    seconds: f64,
    used: f64,
    slots: f64,
    /// Slot-seconds of first waves beyond the typical durations.
    cold: f64,
    /// Slot-seconds of attempts that did not win.
    lost: f64,
    phases: Vec<f64>,
}

/// Splits the wall time of an application, and returns its slots over time, or without `details` only when its phases ran; `None` if the
/// recording has no times. `is_cold` says whether an attempt, given by its phase and its number there, is in its executor's first wave,
/// and `excess` how many seconds it took longer because of that.
pub fn wall_time(
    recording: &Recording,
    typical: &[Typical],
    details: bool,
    is_cold: impl Fn(usize, usize) -> bool,
    excess: impl Fn(usize, usize) -> f64,
) -> Option<(WallTime, SlotTimeline)> {
    let (from, to) = recording.span()?;
    let (mut slots, mut changes, slots_known) = changes(recording, typical, (from, to), is_cold, excess);
    let jobs = recording.active.iter();
    let first_job = jobs.clone().map(|(begin, _)| *begin).fold(f64::INFINITY, f64::min);
    let last_job = jobs.map(|(_, end)| end.unwrap_or(to)).fold(f64::NEG_INFINITY, f64::max);
    let mut no_job = NoJobTime::default();
    for at in slots.iter_mut().map(|(at, _)| at).chain(changes.iter_mut().map(|(at, _)| at)) {
        *at = at.clamp(from, to);
    }
    // Mostly sorted, and as many as the attempts of all jobs that ran meanwhile.
    slots.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Not a stable sort, which would take half as much memory again.
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.rank().cmp(&b.1.rank())));
    let changes = merged(&slots, &changes);
    let mut steps = details.then(|| Steps::new((from, to), changes.clone().map(|(at, _)| at)));
    let sizes: Vec<u64> = recording.phases.iter().map(PhaseRows::size).collect();
    let mut state = State::of(sizes.len());
    let mut sums = SPENT.map(|_| Sum::default());
    let mut left_free = 0.0;
    let mut changes = changes.peekable();
    let mut now = from;
    while now < to {
        while let Some((_, change)) = changes.next_if(|(at, _)| *at <= now) {
            state.apply(change, &sizes);
        }
        let next = changes.peek().map_or(to, |(at, _)| *at);
        // Where the log does not say how many slots there were, a job that runs nothing waits for the scheduler.
        let are_slots_said = slots_known || !recording.slots_left.is_empty();
        let spent = Some(state.spent()).filter(|spent| are_slots_said || *spent != Spent::NoSlots);
        let (spent, seconds) = (spent.unwrap_or(Spent::Scheduling), next - now);
        if let Some(steps) = &mut steps {
            steps.add((now, next), &state, spent);
        }
        left_free += seconds * state.left_free() as f64;
        let sum = &mut sums[spent as usize];
        sum.seconds += seconds;
        sum.used += seconds * state.used().min(state.all_slots()) as f64;
        sum.cold += seconds * state.cold.max(0.0);
        sum.lost += seconds * state.lost as f64;
        sum.slots += seconds * state.all_slots() as f64;
        if let Some(phase) = state.foremost().filter(|_| spent != Spent::NoJob) {
            if sum.phases.is_empty() {
                sum.phases = vec![0.0; sizes.len()];
            }
            sum.phases[phase] += seconds;
        }
        if spent == Spent::NoJob {
            *if next <= first_job {
                &mut no_job.before_first
            } else if now >= last_job {
                &mut no_job.after_last
            } else {
                &mut no_job.between
            } += seconds;
        }
        now = next;
    }
    let seconds = to - from;
    let (used, slots) = sums.iter().fold((0.0, 0.0), |(used, slots), sum| (used + sum.used, slots + sum.slots));
    let share = |used: f64, slots: f64| (slots > 0.0).then(|| used / slots);
    let mut parts: Vec<TimePart> = SPENT
        .into_iter()
        .zip(sums)
        .filter(|(_, sum)| sum.seconds > 0.0)
        .map(|(what, sum)| TimePart {
            what,
            seconds: sum.seconds,
            share: sum.seconds / seconds,
            used_share: share(sum.used, sum.slots),
            first_wave_share: share(sum.cold.min(sum.used), sum.used),
            lost_share: share(sum.lost.min(sum.used), sum.used),
            single_tasks: single_tasks(&recording.phases, &sum.phases),
            phases: foremost(&recording.phases, &sum.phases),
        })
        .collect();
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.what.cmp(&b.what)));
    let slots_on_average = if seconds > 0.0 { slots / seconds } else { 0.0 };
    let whole = WallTime {
        from,
        to,
        seconds,
        slots: slots_on_average,
        slots_known,
        used_share: share(used, slots),
        left_free_share: share(left_free, slots),
        parts,
        no_job,
    };
    let timeline = steps.map_or_else(|| of_phases(recording, (from, to)), |steps| steps.timeline(recording));
    Some((whole, timeline))
}

/// The phases of a single task; `None` if there are none.
fn single_tasks(phases: &[PhaseRows], seconds: &[f64]) -> Option<SingleTasks> {
    let of_single = phases.iter().zip(seconds).filter(|(phase, seconds)| **seconds > 0.0 && phase.size() == 1);
    let single: Vec<f64> = of_single.map(|(_, seconds)| *seconds).collect();
    (!single.is_empty()).then(|| SingleTasks { phases: single.len() as u64, seconds: single.iter().sum() })
}

/// The phases with the most seconds.
fn foremost(phases: &[PhaseRows], seconds: &[f64]) -> Vec<PhaseTime> {
    let mut all: Vec<(usize, f64)> =
        seconds.iter().copied().enumerate().filter(|(_, seconds)| *seconds > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(LISTED);
    all.into_iter()
        .map(|(at, seconds)| PhaseTime {
            phase: phases[at].phase,
            name: phases[at].name.clone(),
            job: phases[at].job.clone(),
            tasks: phases[at].size(),
            seconds,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::slots::unended;
    use super::*;
    use crate::recording::Ended;
    use crate::recording::{AttemptRow, Unended};
    use crate::testing::{executor, phase, recording, row};

    fn parts(recording: &Recording) -> Vec<(Spent, f64, f64)> {
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        let (whole, timeline) = wall_time(recording, &typical, true, |_, _| false, |_, _| 0.0).unwrap();
        consistent(&whole, &timeline);
        let sum: f64 = whole.parts.iter().map(|part| part.seconds).sum();
        assert!((sum - whole.seconds).abs() < 1e-9, "the parts add up: {sum} {}", whole.seconds);
        let mut parts: Vec<_> =
            whole.parts.iter().map(|part| (part.what, part.seconds, part.used_share.unwrap_or(0.0))).collect();
        parts.sort_by_key(|(what, ..)| *what);
        parts
    }

    /// The timeline has the same slots and the same use as the whole.
    fn consistent(whole: &WallTime, timeline: &SlotTimeline) {
        let ends = timeline.starts.iter().copied().skip(1).chain([timeline.seconds]);
        let lengths: Vec<f64> = timeline.starts.iter().zip(ends).map(|(start, end)| end - start).collect();
        let sum = |values: &[f64]| values.iter().zip(&lengths).map(|(value, length)| value * length).sum::<f64>();
        assert!((lengths.iter().sum::<f64>() - whole.seconds).abs() < 1e-6, "{lengths:?}");
        assert!((sum(&timeline.slots) - whole.slots * whole.seconds).abs() < 0.01 * whole.seconds, "{timeline:?}");
        let used: f64 = timeline.uses.iter().map(|one| sum(&one.slots)).sum();
        let expected = whole.used_share.unwrap_or(0.0) * whole.slots * whole.seconds;
        assert!((used - expected).abs() < 0.01 * whole.seconds, "{timeline:?}");
    }

    #[test]
    fn every_second_has_its_reason() {
        // Four slots. 0–1: no job; 1–2: the driver; 2–4: four tasks of 2 s; 4–6: two tasks, the last wave;
        // 6–7: only a task that runs for longer than 1.5 × 2 s.
        let mut rows: Vec<_> = (0..4).map(|at| row(at, 0, 2.0, 4.0)).collect();
        rows.extend([row(4, 0, 4.0, 6.0), row(5, 0, 4.0, 8.0)]);
        let mut one = recording(vec![phase(rows)], vec![executor("h", 4)]);
        one.phases[0].submitted = Some(2.0);
        one.executors[0].added = Some(0.0);
        one.active = vec![(1.0, Some(8.0))];
        (one.from, one.to) = (Some(0.0), Some(9.0));
        assert_eq!(
            parts(&one),
            [
                (Spent::NoJob, 2.0, 0.0),
                (Spent::Work, 2.0, 1.0),
                (Spent::Scheduling, 1.0, 0.0),
                (Spent::Stragglers, 1.0, 0.25),
                (Spent::LastWave, 3.0, 5.0 / 12.0),
            ]
        );
    }

    #[test]
    fn time_without_jobs_and_excess_of_first_waves_are_named() {
        // Two slots. A job from 2 to 11: two cold tasks of 5 s, then eight of 1 s; another one from 14 to 15, and an end at 19.
        let mut rows = vec![row(0, 0, 2.0, 7.0), row(1, 0, 2.0, 7.0)];
        rows.extend((0..8).map(|at| row(2 + at, 0, f64::from(7 + at / 2), f64::from(8 + at / 2))));
        let mut one = recording(vec![phase(rows), phase(vec![row(0, 0, 14.0, 15.0)])], vec![executor("h", 2)]);
        one.executors[0].added = Some(0.0);
        one.active = vec![(2.0, Some(11.0)), (14.0, Some(15.0))];
        (one.from, one.to) = (Some(0.0), Some(19.0));
        let typical: Vec<Typical> = one.phases.iter().map(Typical::of).collect();
        let excess = |phase: usize, row: usize| if phase == 0 && row < 2 { 4.0 } else { 0.0 };
        let (whole, _) = wall_time(&one, &typical, false, |_, _| false, excess).unwrap();
        assert_eq!(whole.no_job, NoJobTime { before_first: 2.0, between: 3.0, after_last: 4.0 });
        let work = whole.parts.iter().find(|part| part.what == Spent::Work).unwrap();
        let share = work.first_wave_share.unwrap();
        assert!((share - 8.0 / 18.0).abs() < 1e-8, "2 · 4 of 18 slot-seconds: {share}");
    }

    #[test]
    fn losers_after_their_job_are_no_part_of_it() {
        // The copy wins at 4, the job ends at 5, and the original runs until 9 before it is killed.
        let copy = AttemptRow { speculative: true, ..row(3, 1, 3.0, 4.0) };
        let original = AttemptRow { wins: false, ended: Ended::Killed, ..row(3, 0, 0.0, 9.0) };
        let rows = vec![row(0, 0, 0.0, 2.0), row(1, 1, 0.0, 2.0), row(2, 1, 2.0, 3.0), copy, original];
        let mut one = recording(vec![phase(rows)], vec![executor("a", 2), executor("b", 2)]);
        (one.active, one.from, one.to) = (vec![(0.0, Some(5.0))], Some(0.0), Some(10.0));
        let of_part = |what: Spent| parts(&one).into_iter().find(|part| part.0 == what).map(|part| part.1);
        assert_eq!(of_part(Spent::NoJob), Some(5.0));
    }

    #[test]
    fn lost_work_is_a_part_of_ordinary_work() {
        // One slot: an attempt fails after 3 s, and the next one takes 1 s.
        let failed = AttemptRow { wins: false, ended: Ended::Failed, ..row(0, 0, 0.0, 3.0) };
        let one = recording(vec![phase(vec![failed, row(0, 0, 3.0, 4.0)])], vec![executor("a", 1)]);
        let typical: Vec<Typical> = one.phases.iter().map(Typical::of).collect();
        let (whole, _) = wall_time(&one, &typical, false, |_, _| false, |_, _| 0.0).unwrap();
        let shares: Vec<(Spent, Option<f64>)> = whole.parts.iter().map(|part| (part.what, part.lost_share)).collect();
        assert_eq!(shares, [(Spent::Work, Some(0.75))]);
    }

    #[test]
    fn one_task_on_many_slots_is_too_few_tasks() {
        let mut one = recording(vec![phase(vec![row(0, 0, 0.0, 167.0)])], vec![executor("h", 256)]);
        one.active = vec![(0.0, Some(167.0))];
        assert_eq!(parts(&one), [(Spent::FewTasks, 167.0, 1.0 / 256.0)]);
    }

    #[test]
    fn phases_of_a_single_task_are_summed() {
        // Two tasks for 100 s, then two phases of one task for 30 s and 7 s, on four slots.
        let pair = phase(vec![row(0, 0, 0.0, 100.0), row(1, 0, 0.0, 100.0)]);
        let single = |from, to| phase(vec![row(0, 0, from, to)]);
        let phases = vec![pair, single(100.0, 130.0), single(130.0, 137.0)];
        let mut all = recording(phases, vec![executor("h", 4)]);
        all.active = vec![(0.0, Some(137.0))];
        let typical: Vec<Typical> = all.phases.iter().map(Typical::of).collect();
        let (whole, _) = wall_time(&all, &typical, false, |_, _| false, |_, _| 0.0).unwrap();
        let few = whole.parts.iter().find(|part| part.what == Spent::FewTasks).unwrap();
        assert_eq!((few.seconds, few.single_tasks), (137.0, Some(SingleTasks { phases: 2, seconds: 37.0 })));
    }

    #[test]
    fn what_runs_again_counts_as_retry() {
        let mut rows: Vec<_> = (0..4).map(|at| row(at, 0, 0.0, 1.0)).collect();
        (rows[3].wins, rows[3].ended) = (false, crate::recording::Ended::Failed);
        rows.push(row(3, 0, 1.0, 3.0));
        let one = recording(vec![phase(rows)], vec![executor("h", 4)]);
        assert_eq!(parts(&one), [(Spent::Work, 1.0, 1.0), (Spent::Retries, 2.0, 0.25)]);
    }

    #[test]
    fn what_is_lost_beside_a_retry_keeps_nothing_waiting() {
        // A task fails at 1 and runs again until 3, beside an attempt of a phase that is given up.
        let mut rows = vec![row(0, 0, 0.0, 1.0), row(0, 0, 1.0, 3.0)];
        (rows[0].wins, rows[0].ended) = (false, Ended::Failed);
        let given_up = AttemptRow { wins: false, ended: Ended::Killed, ..row(0, 0, 0.0, 3.0) };
        let one = recording(vec![phase(rows), phase(vec![given_up])], vec![executor("h", 4)]);
        assert!(parts(&one).contains(&(Spent::Retries, 2.0, 0.5)), "{:?}", parts(&one));
    }

    #[test]
    fn tasks_that_wait_while_slots_are_free_wait_for_the_scheduler() {
        let rows = vec![row(0, 0, 0.0, 2.0), row(1, 0, 1.0, 3.0)];
        let mut one = recording(vec![phase(rows)], vec![executor("h", 2)]);
        one.phases[0].submitted = Some(0.0);
        assert_eq!(parts(&one), [(Spent::Work, 1.0, 1.0), (Spent::Scheduling, 1.0, 0.5), (Spent::LastWave, 1.0, 0.5)]);
    }

    #[test]
    fn an_executor_that_was_replaced_on_its_machine_has_gone() {
        let rows = vec![row(0, 0, 0.0, 2.0), row(1, 1, 3.0, 5.0)];
        let mut one = recording(vec![phase(rows)], vec![executor("a", 1), executor("a", 1)]);
        (one.executors[0].added, one.executors[1].added) = (Some(0.0), Some(3.0));
        assert_eq!(parts(&one), [(Spent::NoSlots, 1.0, 0.0), (Spent::Work, 4.0, 1.0)]);
    }

    #[test]
    fn executors_count_from_when_they_join_until_they_leave() {
        let rows = vec![row(0, 0, 2.0, 4.0), row(1, 1, 2.0, 4.0)];
        let mut one = recording(vec![phase(rows)], vec![executor("a", 1), executor("b", 1)]);
        (one.executors[0].added, one.executors[1].added) = (Some(1.0), Some(2.0));
        one.executors[1].removed = Some(4.0);
        (one.from, one.to) = (Some(0.0), Some(5.0));
        one.phases[0].submitted = Some(0.0);
        let got = parts(&one);
        assert_eq!(
            got,
            [(Spent::NoSlots, 1.0, 0.0), (Spent::Work, 2.0, 1.0), (Spent::Scheduling, 2.0, 0.0)],
            "one second without a slot, one before the tasks, one after them"
        );
    }

    #[test]
    fn losers_without_an_end_hold_their_slots() {
        // Four slots; two hung attempts, whose copies won, never end. The second job has six tasks on the other two slots.
        let copy = |task, start: f64| AttemptRow { speculative: true, ..row(task, 1, start, start + 1.0) };
        let first = phase(vec![row(0, 1, 0.0, 1.0), row(1, 1, 0.0, 1.0), copy(2, 1.0), copy(3, 1.0)]);
        let rows = (0..6).map(|task| row(task, 1, 2.0 + f64::from(task / 2), 3.0 + f64::from(task / 2))).collect();
        let second = PhaseRows { submitted: Some(2.0), ..phase(rows) };
        let mut one = recording(vec![first, second], vec![executor("a", 2), executor("b", 2)]);
        (one.from, one.to) = (Some(0.0), Some(5.0));
        one.executors[0].added = Some(0.0);
        let waits = |one: &Recording| {
            parts(one).into_iter().find(|part| part.0 == Spent::Scheduling).map_or(0.0, |part| part.1)
        };
        assert_eq!(waits(&one), 3.0, "two slots seem to be free");
        let hung = Unended { executor: 0, start: 0.0, until: f64::INFINITY };
        one.unended = vec![hung, hung];
        assert_eq!(waits(&one), 0.0);
        // What runs on the slot later shows that it was free.
        one.phases[1].rows[4].executor = 0;
        one.phases[1].rows[5].executor = 0;
        assert_eq!(unended(&one, 5.0), [(0.0, 4.0), (0.0, 4.0)]);
        one.executors[0].removed = Some(3.0);
        assert_eq!(unended(&one, 5.0), [(0.0, 3.0), (0.0, 3.0)]);
    }

    #[test]
    fn slots_of_a_node_that_the_run_avoids_are_not_free() {
        // Eight tasks wait for the two slots of one node; the other node is slow from 1 s on.
        let rows = (0..8).map(|task| row(task, 0, f64::from(task / 2), f64::from(task / 2 + 1))).collect();
        let mut one = recording(vec![PhaseRows { submitted: Some(0.0), ..phase(rows) }], vec![]);
        one.executors = vec![executor("a", 2), executor("b", 2)];
        (one.from, one.to) = (Some(0.0), Some(4.0));
        one.executors[1].added = Some(0.0);
        let spent =
            |one: &Recording| parts(one).into_iter().map(|(what, seconds, _)| (what, seconds)).collect::<Vec<_>>();
        assert_eq!(spent(&one), [(Spent::Scheduling, 3.0), (Spent::LastWave, 1.0)]);
        one.executors[1].avoided = vec![(1.0, 4.0)];
        let typical: Vec<Typical> = one.phases.iter().map(Typical::of).collect();
        let (whole, _) = wall_time(&one, &typical, false, |_, _| false, |_, _| 0.0).unwrap();
        assert_eq!(spent(&one), [(Spent::Work, 3.0), (Spent::Scheduling, 1.0)]);
        assert_eq!(whole.left_free_share, Some(2.0 * 2.0 / 16.0), "tasks wait until the last two start");
    }

    #[test]
    fn no_more_slots_are_used_than_there_are() {
        // Each attempt is logged to end 0.05 s after its slot ran the next one.
        let rows = (0..8).map(|task| row(task, 0, f64::from(task / 2), f64::from(task / 2) + 1.05)).collect();
        let one = recording(vec![phase(rows)], vec![executor("h", 2)]);
        let timeline = super::super::diagnose(&one).timeline.unwrap();
        assert!(timeline.slots.iter().all(|slots| *slots <= 2.0), "{:?}", timeline.slots);
        for step in 0..timeline.starts.len() {
            let used: f64 = timeline.uses.iter().map(|one| one.slots[step]).sum();
            assert!(used <= 2.0, "{used}");
        }
    }
}
