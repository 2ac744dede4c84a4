//! The cause of each straggler.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use hindmost_core::metrics::{Cause, StragglerCause, Stragglers, StragglersByCause, StragglersOfPhase};
use hindmost_math::statistics::median;

use super::context::{BUSY, Context, log_bytes, slowness};
use super::neighbours::Neighbour;
use super::others::Others;
use super::repeated::Repeated;
use super::straggler::{Straggler, is_beyond_first_wave, of_phase};
use super::typical::STRAGGLER;
use super::usual::{FAR_BEYOND, Usual};
use crate::recording::Ended;
use crate::recording::{AttemptRow, TaskTimes};

/// Fewest tasks on a node around the time of a straggler that can show that it was not busy.
const FEWEST_NEIGHBOURS: usize = 2;
/// Input of more than this many times the median is no usual input.
const MORE_INPUT: f64 = 1.5;
/// Input of at least this many times the median is why a task spilled.
const MUCH_MORE_INPUT: f64 = 2.0;

/// Returns the stragglers of an application by cause, how many of them each slow node explains, and the stragglers of each phase.
pub fn stragglers<'c>(context: &'c Context<'_>) -> (StragglersByCause, BTreeMap<&'c str, u64>, Vec<StragglersOfPhase>) {
    let mut by_node: BTreeMap<&str, u64> = BTreeMap::new();
    let mut by_phase = Vec::new();
    let mut sum = StragglersByCause::default();
    let mut causes: BTreeMap<Cause, (u64, f64)> = BTreeMap::new();
    let others: Vec<Others<'_>> = (0..context.typical.len()).map(|at| Others::new(context, at)).collect();
    let repeated = Repeated::of(context, &others);
    for (at, (phase, typical)) in context.recording.phases.iter().zip(context.typical).enumerate() {
        let mut of_this = StragglersOfPhase {
            phase: phase.phase,
            of_job: phase.of_job,
            stragglers: Stragglers::default(),
            skew: context.fit(at),
        };
        let found = of_phase(phase, typical);
        let Some(seconds) = typical.seconds.filter(|_| !found.is_empty()) else {
            by_phase.push(of_this);
            continue;
        };
        let usual = Usual::of(phase, typical);
        for (number, took) in found {
            let (row, others) = (&phase.rows[number], &others[at]);
            let log = slowness(took, seconds);
            let straggler = Straggler { others, at, number, row, took, typical: seconds, log };
            let excess = took - seconds;
            let cause = cause(context, &straggler, &usual, &repeated);
            if let Some(node) = context.node(row).filter(|_| cause == Cause::SlowNode) {
                *by_node.entry(context.name(node)).or_default() += 1;
            }
            let (tasks, all) = causes.entry(cause).or_default();
            (*tasks, *all) = (*tasks + 1, *all + excess);
            sum.tasks += 1;
            sum.excess_seconds += excess;
            let of_phase = &mut of_this.stragglers;
            of_phase.tasks += 1;
            of_phase.excess_seconds += excess;
            *match cause {
                Cause::Input => &mut of_phase.skew,
                Cause::SlowNode => &mut of_phase.slow_node,
                _ => &mut of_phase.other,
            } += 1;
        }
        by_phase.push(of_this);
    }
    sum.causes = causes
        .into_iter()
        .map(|(cause, (tasks, excess_seconds))| StragglerCause { cause, tasks, excess_seconds })
        .collect();
    sum.causes.sort_by(|a, b| b.excess_seconds.total_cmp(&a.excess_seconds).then(a.cause.cmp(&b.cause)));
    (sum, by_node, by_phase)
}

fn cause(context: &Context<'_>, straggler: &Straggler<'_>, usual: &Usual, repeated: &Repeated<'_>) -> Cause {
    let Straggler { at, number, row, log, .. } = *straggler;
    let is_cold = context.is_cold(at, number);
    let first = if is_cold { context.first_wave_of(at).unwrap_or(context.first_wave).max(0.0) } else { 0.0 };
    let is_slow_enough = |by: f64, of: f64| by > 0.0 && by >= of / 2.0;
    let of_node = context.slowness_of_node(row).map_or(0.0, f64::ln);
    let by_input = context.by_input(at, row).max(0.0);
    if is_long_elsewhere(context, straggler) {
        // Whatever else it met, its copy did not.
        let found = measured(&row.spent, &usual.times, straggler.took - straggler.typical);
        let is_input = is_slow_enough(by_input, log);
        return found.or(is_input.then_some(Cause::Input)).unwrap_or(Cause::TaskItself);
    }
    if is_slow_enough(of_node, log) && of_node >= first.max(by_input) {
        // What the log measures says more: another machine would not cure it.
        let garbage = measured(&row.spent, &usual.times, straggler.took - straggler.typical);
        return garbage.filter(|cause| *cause == Cause::GarbageCollection).unwrap_or(Cause::SlowNode);
    }
    // What other first attempts do not explain.
    let is_beyond = is_cold && is_beyond_first_wave(context, straggler, first + of_node);
    let is_first = is_cold && first >= log / 2.0;
    // What the log measures comes before what follows from a comparison.
    let garbage = f64::from(row.spent.garbage_collection - usual.times.garbage_collection);
    if is_first && garbage >= (straggler.took - straggler.typical) / 2.0 {
        return Cause::GarbageCollection;
    }
    if is_first && !is_beyond {
        return Cause::FirstWave;
    }
    let (left, excess) = if is_beyond {
        ((log - first).max(0.0), straggler.took - straggler.typical * first.exp())
    } else {
        (log, straggler.took - straggler.typical)
    };
    let explains = |by: f64| is_slow_enough(by, left);
    let (own, usual_times) = (&row.spent, if is_beyond { &usual.first_times } else { &usual.times });
    match measured(own, usual_times, excess) {
        // Loading classes is part of it.
        Some(Cause::Deserialization) if is_cold && !is_beyond => return Cause::FirstWave,
        Some(cause) => return cause,
        None => {}
    }
    // A cold executor may have a little more of everything.
    if is_cold && accounted(own, usual_times) >= excess / 2.0 {
        return Cause::FirstWave;
    }
    // A task can't take longer because of its input by more than that is larger, about.
    let by_far_most = usual.by_far_most_input(row).filter(|by| left <= by + STRAGGLER.ln());
    if explains(by_input)
        || usual.by_having_input(row, straggler.typical).is_some_and(explains)
        || by_far_most.is_some_and(explains)
    {
        return Cause::Input;
    }
    if is_cold && !is_beyond && first > 0.0 && is_slow_enough(first + by_input, log) {
        return if first >= by_input { Cause::FirstWave } else { Cause::Input };
    }
    if own.spilled > 0.0 && own.spilled > 2.0 * usual_times.spilled {
        // With so much more input, spilling is how it takes longer, not why.
        let has_more = |median: f64| log_bytes(row).is_some_and(|log| log >= median + MUCH_MORE_INPUT.ln());
        return if usual.bytes.is_some_and(has_more) { Cause::Input } else { Cause::Spill };
    }
    if of_node > 0.0 && explains(by_input + of_node) {
        return Cause::SlowNode;
    }
    // Where all tasks of a node took long, it was not for a time.
    let beside = LazyCell::new(|| context.beside(row, (row.start, row.end)));
    if !context.is_perhaps_slow(row) && context.busy(row, &beside).is_some_and(|busy| explains(by_input + busy)) {
        // Not every executor is warm after its first wave.
        return if context.is_warming(row) { Cause::FirstWave } else { Cause::BusyNode };
    }
    if usual.by_distance(own.distance).is_some_and(explains) {
        return Cause::Locality;
    }
    let is_isolated =
        (!is_cold || is_beyond) && is_isolated(context, straggler, (excess, &beside), (usual, usual_times), repeated);
    if is_isolated {
        return Cause::Isolated;
    }
    let is_by_its_own = !is_cold || is_beyond;
    let phase = &context.recording.phases[at];
    if is_by_its_own && repeated.is_the_task((at, phase), row.task) { Cause::TaskItself } else { Cause::Unexplained }
}

/// What the log measures that explains at least half of the excess.
fn measured(own: &TaskTimes, usual: &TaskTimes, excess: f64) -> Option<Cause> {
    let all = [
        (Cause::GarbageCollection, own.garbage_collection - usual.garbage_collection),
        (Cause::FetchWait, own.fetch_wait - usual.fetch_wait),
        (Cause::Deserialization, own.deserialization - usual.deserialization),
        (Cause::Delay, own.delay - usual.delay),
    ];
    all.into_iter().find(|(_, beyond)| f64::from(*beyond) >= excess / 2.0).map(|(cause, _)| cause)
}

/// True if another attempt of the task took long too, on another executor at the same time: more than 1.5 times as long as is typical,
/// and long enough for at least half of the difference of the logarithms. One that was stopped would have taken longer. What a first wave
/// and a slow node explain does not count.
fn is_long_elsewhere(context: &Context<'_>, straggler: &Straggler<'_>) -> bool {
    let Straggler { others, at, number, row, took, typical, log } = *straggler;
    let other = |(other, one): (usize, &AttemptRow)| {
        if one.ended == Ended::Failed || one.executor == row.executor {
            return false;
        }
        // Attempts that only the driver gave up, as when it lost sight of an executor, had other reasons to be slow.
        let is_copy = one.speculative || row.speculative;
        if !is_copy || one.start >= row.start + took || one.end <= row.start {
            return false;
        }
        let is_cold = context.is_cold(at, other);
        let first = if is_cold { context.first_wave_of(at).unwrap_or(context.first_wave).max(0.0) } else { 0.0 };
        let of_node = context.slowness_of_node(one).map_or(0.0, f64::ln);
        // Hadoop logs the end of a loser when it has cleaned up.
        let seconds = one.end.min(row.start + took) - one.start;
        slowness(seconds, typical) - first - of_node > STRAGGLER.ln().max(log / 2.0)
    };
    others.of_task(number).any(other)
}

/// The seconds beyond what is usual for which the log accounts.
fn accounted(own: &TaskTimes, usual: &TaskTimes) -> f64 {
    let beyond = [
        own.garbage_collection - usual.garbage_collection,
        own.deserialization - usual.deserialization,
        own.fetch_wait - usual.fetch_wait,
        own.delay - usual.delay,
    ];
    beyond.into_iter().map(|seconds| f64::from(seconds.max(0.0))).sum()
}

/// ln of the slowness of other stragglers of the phase that ran on the node of an attempt, mostly at its time, until they were
/// killed because a copy had won.
fn stopped_beside(context: &Context<'_>, straggler: &Straggler<'_>) -> Vec<f64> {
    let Straggler { others, row, typical, .. } = *straggler;
    let Some(machine) = context.machine(row) else { return Vec::new() };
    let is_beside = |other: &AttemptRow| {
        let is_other = other.task != row.task && context.machine(other) == Some(machine);
        is_other && other.start < row.end && other.end > row.start
    };
    let of = |(other, won): &(&AttemptRow, f64)| {
        // Its end is logged when it has cleaned up.
        let seconds = other.end.min(*won) - other.start;
        let overlap = other.end.min(row.end) - other.start.max(row.start);
        Some(slowness(seconds, typical)).filter(|slowness| overlap > 0.5 * seconds && *slowness > STRAGGLER.ln())
    };
    others.stopped().iter().filter(|(other, _)| is_beside(other)).filter_map(of).collect()
}

/// True if everything that could have made an attempt slow is known to be as usual: the tasks around it on its node, its input, and
/// the seconds that the log accounts for. So it hung, or was slow by chance.
fn is_isolated(
    context: &Context<'_>,
    straggler: &Straggler<'_>,
    (excess, beside): (f64, &[Neighbour]),
    (usual, times): (&Usual, &TaskTimes),
    repeated: &Repeated<'_>,
) -> bool {
    let Straggler { at, row, took, .. } = *straggler;
    let is_usual = |slowness: f64| slowness < BUSY;
    let slowness = |beside: &[Neighbour]| beside.iter().map(|one| one.slowness).collect::<Vec<f64>>();
    let mut around = slowness(beside);
    // Where all that ran at the time was slow, even if it was a single task, the node may have been.
    let is_alone = around.iter().any(|slowness| is_usual(*slowness))
        || around.is_empty() && stopped_beside(context, straggler).is_empty();
    if around.len() < FEWEST_NEIGHBOURS {
        around = slowness(&context.beside(row, (row.start - took, row.start + 2.0 * took)));
    }
    let is_calm = is_alone && around.len() >= FEWEST_NEIGHBOURS && median(&mut around).is_some_and(is_usual);
    let own = &row.spent;
    let accounted = accounted(own, times);
    let is_input_usual = match (row.bytes_read, usual.bytes) {
        (None, _) => usual.most.is_some_and(|most| took >= FAR_BEYOND * most),
        (Some(_), None) => true,
        (Some(_), Some(median)) => log_bytes(row).is_none_or(|log| log <= median + MORE_INPUT.ln()),
    };
    let is_distance_usual =
        own.distance == 0 || usual.by_distance(own.distance).is_some() || usual.is_nearest(own.distance);
    let phase = &context.recording.phases[at];
    is_calm
        && accounted < excess / 4.0
        && is_input_usual
        && is_distance_usual
        && !repeated.is_repeated((at, phase), row.task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::typical::Typical;
    use crate::testing::{executor, phase, recording, row};

    /// Four executors of two slots: first waves of 3 s each, then six waves of 1 s. The change may make attempts longer, whose slot then
    /// runs nothing else.
    fn causes(change: impl Fn(&mut Vec<AttemptRow>)) -> Vec<(Cause, u64)> {
        let at = |task: u32| {
            let (wave, number) = (task / 8, task % 4);
            let start = if wave == 0 { 0.0 } else { 2.0 + f64::from(wave) };
            AttemptRow { bytes_read: Some(0), ..row(task, number, start, f64::from(wave) + 3.0) }
        };
        let mut rows: Vec<AttemptRow> = (0..56).map(at).collect();
        change(&mut rows);
        let recording = recording(vec![phase(rows)], (0..4).map(|number| executor(&format!("h{number}"), 2)).collect());
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        let (context, _) = Context::of(&recording, &typical);
        let mut causes: Vec<_> = stragglers(&context).0.causes.iter().map(|found| (found.cause, found.tasks)).collect();
        causes.sort();
        causes
    }

    #[test]
    fn an_attempt_that_hangs_among_usual_ones_is_isolated() {
        assert_eq!(causes(|_| ()), [(Cause::FirstWave, 8)]);
        let hangs = |rows: &mut Vec<AttemptRow>| rows[17].end += 4.0;
        assert_eq!(causes(hangs), [(Cause::FirstWave, 8), (Cause::Isolated, 1)]);
    }

    #[test]
    fn first_attempts_with_more_input_have_that_as_cause() {
        // 64 executors of two slots run 128 tasks of about 128 MB, then 48 of a third of that; durations grow with the input.
        let at = |task: u32| {
            let is_first = task < 128;
            let bytes = if is_first { 100_000_000 } else { 33_000_000 } + u64::from(task * 37 % 32) * 1_000_000;
            let start = if is_first { 0.0 } else { 13.0 };
            AttemptRow { bytes_read: Some(bytes), ..row(task, task / 2 % 64, start, start + bytes as f64 / 1e7) }
        };
        let rows: Vec<AttemptRow> = (0..176).map(at).collect();
        let executors = (0..64).map(|number| executor(&format!("h{number}"), 2)).collect();
        let recording = recording(vec![phase(rows)], executors);
        let found = super::super::diagnose(&recording);
        assert!(found.stragglers.causes.iter().all(|found| found.cause != Cause::FirstWave), "{:?}", found.stragglers);
    }

    #[test]
    fn a_node_that_still_gets_faster_is_not_busy() {
        // Eight slots on one node: waves of 12, 3, 1.8 and then 1 s, of which 2.8 s and more is a straggler.
        let waves = |seconds: &[f64]| {
            let mut rows = Vec::new();
            let mut start = 0.0;
            for (wave, seconds) in (0..).zip(seconds) {
                let of = |at: u32| AttemptRow {
                    bytes_read: Some(0),
                    ..row(8 * wave + at, 0, start, start + seconds * (1.0 + 0.01 * f64::from(at % 3)))
                };
                rows.extend((0..8).map(of));
                start += seconds * 1.03;
            }
            let found = super::super::diagnose(&recording(vec![phase(rows)], vec![executor("h", 8)]));
            let causes = found.stragglers.causes;
            causes.iter().map(|found| (found.cause, found.tasks)).collect::<Vec<_>>()
        };
        let usual = [1.0; 9];
        assert_eq!(waves(&[&[12.0, 3.0, 1.8][..], &usual].concat()), [(Cause::FirstWave, 24)]);
        // Later, the same is a busy node.
        let busy = waves(&[&[12.0][..], &usual, &[3.0], &usual].concat());
        assert_eq!(busy, [(Cause::FirstWave, 8), (Cause::BusyNode, 8)]);
    }

    /// Task 17 takes 5 s instead of 1 s on executor 1; a copy of it runs on executor 2 for these seconds until it is killed.
    fn with_copy(seconds: f64) -> impl Fn(&mut Vec<AttemptRow>) {
        move |rows| {
            rows[17].end += 4.0;
            let end = rows[17].end;
            let lost =
                AttemptRow { wins: false, ended: Ended::Killed, speculative: true, ..row(17, 2, end - seconds, end) };
            rows.push(AttemptRow { bytes_read: Some(0), ..lost });
        }
    }

    #[test]
    fn a_task_whose_copy_took_long_too_is_slow_by_its_own() {
        assert_eq!(causes(with_copy(4.5)), [(Cause::FirstWave, 8), (Cause::TaskItself, 1)]);
        assert_eq!(causes(with_copy(1.2)), [(Cause::FirstWave, 8), (Cause::Isolated, 1)], "as other tasks take");
        let failed = |rows: &mut Vec<AttemptRow>| {
            with_copy(4.5)(rows);
            rows.last_mut().unwrap().ended = Ended::Failed;
        };
        assert_eq!(causes(failed), [(Cause::FirstWave, 8), (Cause::Isolated, 1)]);
        let cleaned_up = |rows: &mut Vec<AttemptRow>| {
            with_copy(1.2)(rows);
            rows.last_mut().unwrap().end += 6.0;
        };
        assert_eq!(
            causes(cleaned_up),
            [(Cause::FirstWave, 8), (Cause::Isolated, 1)],
            "it ended long after it had lost"
        );
        let measured = |rows: &mut Vec<AttemptRow>| {
            with_copy(4.5)(rows);
            rows[17].spent.garbage_collection = 3.0;
        };
        assert_eq!(causes(measured), [(Cause::FirstWave, 8), (Cause::GarbageCollection, 1)]);
    }

    #[test]
    fn two_tasks_that_hang_side_by_side_are_not_isolated() {
        // The executor runs nothing else then; before and after, its tasks are as usual.
        let both = causes(|rows| {
            let (node, start) = (rows[17].executor, rows[17].start);
            rows.retain(|row| row.executor != node || row.start <= start || row.start > start + 4.0);
            rows.iter_mut().filter(|row| row.executor == node && row.start == start).for_each(|row| row.end += 4.0);
        });
        assert_eq!(both, [(Cause::FirstWave, 8), (Cause::Unexplained, 2)]);
    }

    #[test]
    fn originals_that_copies_overtake_together_are_not_isolated() {
        let overtaken = |count: usize| {
            causes(|rows| {
                let (node, start) = (rows[17].executor, rows[17].start);
                rows.retain(|row| row.executor != node || row.start <= start || row.start > start + 4.0);
                let hung = |(_, row): &(usize, &AttemptRow)| row.executor == node && row.start == start;
                let hung: Vec<usize> = rows.iter().enumerate().filter(hung).map(|(at, _)| at).take(count).collect();
                for at in hung {
                    let copy = AttemptRow { executor: node + 1, start: start + 3.0, end: start + 4.0, ..rows[at] };
                    rows.push(AttemptRow { speculative: true, ..copy });
                    (rows[at].wins, rows[at].ended, rows[at].end) = (false, Ended::Killed, start + 4.1);
                }
            })
        };
        assert_eq!(overtaken(1), [(Cause::FirstWave, 8), (Cause::Isolated, 1)]);
        assert_eq!(overtaken(2), [(Cause::FirstWave, 8), (Cause::Unexplained, 2)]);
    }

    #[test]
    fn what_the_log_measures_comes_before_first_waves() {
        let measured = causes(|rows| rows[2].spent.garbage_collection = 1.2);
        assert_eq!(measured, [(Cause::FirstWave, 7), (Cause::GarbageCollection, 1)]);
        assert_eq!(causes(|rows| rows[2].spent.garbage_collection = 0.8), [(Cause::FirstWave, 8)]);
    }

    #[test]
    fn a_straggler_of_which_anything_is_unusual_or_unknown_is_not_isolated() {
        let unexplained = [(Cause::FirstWave, 8), (Cause::Unexplained, 1)];
        let with = |change: &dyn Fn(&mut AttemptRow)| {
            causes(|rows| {
                rows[17].end += 4.0;
                change(&mut rows[17]);
            })
        };
        assert_eq!(with(&|row| row.bytes_read = None), unexplained, "its input is not known");
        assert_eq!(with(&|row| row.spent.garbage_collection = 1.5), unexplained, "the log accounts for a part of it");
        let more_input = causes(|rows| {
            for row in rows.iter_mut() {
                row.bytes_read = Some(1000);
            }
            (rows[17].end, rows[17].bytes_read) = (rows[17].end + 4.0, Some(3000));
        });
        assert_eq!(
            more_input, unexplained,
            "one task with more input does not prove that it matters, nor the contrary"
        );
    }

    #[test]
    fn a_task_that_takes_many_times_as_long_as_all_others_hangs() {
        // 40 tasks of a list on a machine of four slots, whose input the log does not have.
        let hung = |seconds: f64| {
            let at = |task: u32| {
                let start = 10.5 * f64::from(task / 4);
                row(task, 0, start, start + if task == 37 { seconds } else { 10.0 + 0.01 * f64::from(task) })
            };
            let recording = recording(vec![phase((0..40).map(at).collect())], vec![executor("h", 4)]);
            let causes = super::super::diagnose(&recording).stragglers.causes;
            causes.iter().map(|found| (found.cause, found.tasks)).collect::<Vec<_>>()
        };
        assert_eq!(hung(100.0), [(Cause::Isolated, 1)]);
        assert_eq!(hung(40.0), [(Cause::Unexplained, 1)]);
    }

    #[test]
    fn a_task_that_spills_because_of_its_input_has_more_input() {
        let spills = |bytes: u64| {
            causes(|rows| {
                for row in rows.iter_mut() {
                    row.bytes_read = Some(50_000);
                }
                (rows[17].end, rows[17].bytes_read) = (rows[17].end + 8.0, Some(bytes));
                rows[17].spent.spilled = 300_000.0;
            })
        };
        assert_eq!(spills(1_000_000), [(Cause::FirstWave, 8), (Cause::Input, 1)]);
        assert_eq!(spills(60_000), [(Cause::FirstWave, 8), (Cause::Spill, 1)]);
    }

    #[test]
    fn a_first_attempt_that_takes_far_longer_than_other_first_ones_has_a_cause_of_its_own() {
        assert_eq!(causes(|rows| rows[2].end += 6.0), [(Cause::FirstWave, 7), (Cause::Isolated, 1)]);
        assert_eq!(causes(|rows| rows[2].end += 1.0), [(Cause::FirstWave, 8)], "4 s among 3 s are no more than cold");
        // Both first attempts of executor 2: it took longer to warm up.
        let both = causes(|rows| {
            rows.retain(|row| row.executor != 2 || row.start == 0.0);
            rows.iter_mut().filter(|row| row.executor == 2).for_each(|row| row.end += 5.0);
        });
        assert_eq!(both, [(Cause::FirstWave, 8)]);
    }

    #[test]
    fn first_attempts_that_deserialize_far_longer_have_that_cause() {
        // Five executors run one phase and then another one; a sixth joins for the second one, of one task on each executor.
        let with = |seconds: f64, deserialization: f32| {
            let mut first: Vec<AttemptRow> = (0..5).map(|at| row(at, at, 0.0, 2.4)).collect();
            first.extend((0..20).map(|at| row(5 + at, at % 5, 3.0 + f64::from(at / 5), 3.7 + f64::from(at / 5))));
            let mut second: Vec<AttemptRow> = (0..5).map(|at| row(at, at, 10.0, 10.7)).collect();
            second.push(row(5, 5, 10.0, 10.0 + seconds));
            second[5].spent.deserialization = deserialization;
            let executors = (0..6).map(|number| executor(&format!("h{number}"), 1)).collect();
            let causes =
                super::super::diagnose(&recording(vec![phase(first), phase(second)], executors)).stragglers.causes;
            causes.iter().map(|found| (found.cause, found.tasks)).collect::<Vec<_>>()
        };
        assert_eq!(with(15.8, 15.1), [(Cause::Deserialization, 1), (Cause::FirstWave, 5)]);
        assert_eq!(with(2.4, 1.5), [(Cause::FirstWave, 6)], "as long as first attempts elsewhere");
    }

    #[test]
    fn tasks_with_input_among_many_without_have_more_input() {
        // Four slots on one node run 40 tasks without input, which Spark places anywhere, and 30 near their input.
        let at = |task: u32| {
            let is_empty = task * 37 % 70 < 40;
            let start = 1.2 * f64::from(task / 4);
            let seconds = if is_empty { 0.5 } else { 1.0 } + 0.002 * f64::from(task * 7 % 11);
            let mut one = row(task, 0, start, start + seconds);
            one.bytes_read = Some(if is_empty { 0 } else { 99_000 });
            one.spent.distance = u8::from(!is_empty);
            one
        };
        let recording = recording(vec![phase((0..70).map(at).collect())], vec![executor("h", 4)]);
        let causes = super::super::diagnose(&recording).stragglers.causes;
        assert_eq!(causes.iter().map(|found| found.cause).collect::<Vec<_>>(), [Cause::Input]);
    }
}
