//! The slots of an application over time, in a bounded number of steps.

use hindmost_core::metrics::{JobSpan, PhaseSpan, SlotTimeline, SlotUse, SlotUses, Spent};

use super::instants::State;
use crate::recording::{PhaseRows, Recording};

/// The most steps.
const STEPS: usize = 600;
/// The most phases that are listed.
const PHASES: usize = 40;
/// The most jobs that are listed.
const JOBS: usize = 100;
const USES: usize = SlotUse::ALL.len();
/// What time is spent on, in the order of the type.
pub(super) const SPENT: [Spent; 8] = [
    Spent::NoJob,
    Spent::NoSlots,
    Spent::Work,
    Spent::Scheduling,
    Spent::Retries,
    Spent::Stragglers,
    Spent::FewTasks,
    Spent::LastWave,
];

/// Sums over one step.
#[derive(Clone, Debug, Default)]
struct Sum {
    slots: f64,
    uses: [f64; USES],
    spent: [f64; SPENT.len()],
}

/// Adds up what is the case in each step.
#[derive(Debug)]
pub(super) struct Steps {
    from: f64,
    to: f64,
    /// The begin of each step.
    starts: Vec<f64>,
    sums: Vec<Sum>,
    /// The step to which something was added last.
    at: usize,
}

impl Steps {
    /// Creates the steps between two times. `changes` are the times at which anything changes, in order.
    pub(super) fn new((from, to): (f64, f64), changes: impl Iterator<Item = f64>) -> Steps {
        let mut starts = vec![from];
        for at in changes.filter(|at| *at > from && *at < to) {
            if starts.last().is_none_or(|last| *last < at) {
                starts.push(at);
            }
            if starts.len() > STEPS {
                let length = (to - from) / STEPS as f64;
                starts = (0..STEPS).map(|step| from + step as f64 * length).collect();
                break;
            }
        }
        let sums = vec![Sum::default(); starts.len()];
        Steps { from, to, starts, sums, at: 0 }
    }

    /// Adds a span of time in which nothing changes. Spans are added in order.
    pub(super) fn add(&mut self, (mut now, until): (f64, f64), state: &State, spent: Spent) {
        while now < until {
            while self.starts.get(self.at + 1).is_some_and(|start| *start <= now) {
                self.at += 1;
            }
            let end = self.starts.get(self.at + 1).map_or(until, |start| start.min(until));
            let seconds = end - now;
            let sum = &mut self.sums[self.at];
            sum.slots += seconds * state.all_slots() as f64;
            for (sum, used) in sum.uses.iter_mut().zip(state.uses()) {
                *sum += seconds * used as f64;
            }
            sum.spent[spent as usize] += seconds;
            now = end;
        }
    }

    /// Returns the timeline of the application to which the steps belong.
    pub(super) fn timeline(self, recording: &Recording) -> SlotTimeline {
        let ends = self.starts.iter().copied().skip(1).chain([self.to]);
        let lengths: Vec<f64> = self.starts.iter().zip(ends).map(|(start, end)| end - start).collect();
        let mean = |of: &dyn Fn(&Sum) -> f64| -> Vec<f64> {
            let each = self.sums.iter().zip(&lengths);
            each.map(|(sum, length)| if *length > 0.0 { rounded(of(sum) / length) } else { 0.0 }).collect()
        };
        let uses = SlotUse::ALL.into_iter().map(|what| SlotUses { what, slots: mean(&|sum| sum.uses[what as usize]) });
        let (phases, other_phases) = phases(recording, self.from);
        let (jobs, other_jobs) = jobs(recording, self.from, self.to);
        SlotTimeline {
            seconds: self.to - self.from,
            starts: self.starts.iter().map(|start| milliseconds(start - self.from)).collect(),
            slots: mean(&|sum| sum.slots),
            spent: self.sums.iter().map(Sum::mostly).collect(),
            uses: uses.filter(|one| one.slots.iter().any(|slots| *slots > 0.0)).collect(),
            phases,
            other_phases,
            jobs,
            other_jobs,
        }
    }
}

/// Returns the timeline of an application without its slots: only when phases ran.
pub(super) fn of_phases(recording: &Recording, (from, to): (f64, f64)) -> SlotTimeline {
    let (phases, other_phases) = phases(recording, from);
    SlotTimeline { seconds: to - from, phases, other_phases, ..SlotTimeline::default() }
}

impl Sum {
    /// What most of the step was spent on.
    fn mostly(&self) -> Spent {
        let most = self.spent.iter().copied().fold(0.0, f64::max);
        let at = self.spent.iter().position(|seconds| *seconds >= most).unwrap_or(0);
        SPENT[at]
    }
}

/// Rounds a number of slots, so that documents are short.
fn rounded(slots: f64) -> f64 {
    (slots * 1000.0).round() / 1000.0
}

/// Rounds a time to milliseconds if that does not move it, as for the times of most logs.
fn milliseconds(seconds: f64) -> f64 {
    let rounded = (seconds * 1000.0).round() / 1000.0;
    if (rounded - seconds).abs() < 1e-6 { rounded } else { seconds }
}

fn phases(recording: &Recording, origin: f64) -> (Vec<PhaseSpan>, u64) {
    let of = |phase: &PhaseRows| {
        let earliest = phase.rows.iter().map(|row| row.start).min_by(f64::total_cmp)?;
        let (from, to) = phase.span(Some(earliest))?;
        Some(PhaseSpan {
            phase: phase.phase,
            name: phase.name.clone(),
            tasks: phase.size(),
            from: milliseconds((from - origin).max(0.0)),
            to: milliseconds((to - origin).max(0.0)),
            machine_seconds: milliseconds(phase.rows.iter().map(crate::recording::AttemptRow::seconds).sum()),
        })
    };
    let mut all: Vec<PhaseSpan> = recording.phases.iter().filter_map(of).collect();
    all.sort_by(|a, b| b.machine_seconds.total_cmp(&a.machine_seconds).then(a.phase.cmp(&b.phase)));
    let others = all.len().saturating_sub(PHASES) as u64;
    all.truncate(PHASES);
    all.sort_by(|a, b| a.from.total_cmp(&b.from).then(a.phase.cmp(&b.phase)));
    (all, others)
}

fn jobs(recording: &Recording, from: f64, to: f64) -> (Vec<JobSpan>, u64) {
    let of = |(at, (begin, end)): (usize, &(f64, Option<f64>))| {
        let begin = begin.clamp(from, to);
        JobSpan {
            job: recording.active_ids.get(at).copied(),
            from: milliseconds(begin - from),
            to: milliseconds(end.unwrap_or(to).clamp(begin, to) - from),
        }
    };
    let mut all: Vec<JobSpan> = recording.active.iter().enumerate().map(of).collect();
    all.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)).then(a.job.cmp(&b.job)));
    let others = all.len().saturating_sub(JOBS) as u64;
    all.truncate(JOBS);
    all.sort_by(|a, b| a.from.total_cmp(&b.from).then(a.job.cmp(&b.job)));
    (all, others)
}

#[cfg(test)]
mod tests {
    use super::super::diagnose;
    use super::*;
    use crate::recording::Ended;
    use crate::testing::{executor, phase, recording, row};

    #[test]
    fn steps_are_as_long_as_nothing_changes() {
        // Two slots on one executor. The typical duration is 1 s; task 3 fails and runs again, task 5 runs for 4 s.
        let mut rows: Vec<_> = (0..4).map(|at| row(at, 0, f64::from(at / 2), f64::from(at / 2 + 1))).collect();
        (rows[3].wins, rows[3].ended) = (false, Ended::Failed);
        rows.extend([row(3, 0, 2.0, 3.0), row(4, 0, 2.0, 3.0), row(5, 0, 3.0, 7.0), row(6, 0, 3.0, 4.0)]);
        let mut one = recording(vec![phase(rows)], vec![executor("a", 2)]);
        one.active = vec![(0.0, Some(7.0))];
        one.active_ids = vec![9];
        let timeline = diagnose(&one).timeline.unwrap();
        assert_eq!(timeline.starts, [0.0, 1.0, 2.0, 3.0, 4.0, 4.5]);
        assert_eq!(timeline.slots, [2.0; 6]);
        let uses: Vec<(SlotUse, &[f64])> = timeline.uses.iter().map(|one| (one.what, &one.slots[..])).collect();
        assert_eq!(
            uses,
            [
                (SlotUse::Work, &[0.0, 1.0, 1.0, 2.0, 1.0, 0.0][..]),
                (SlotUse::FirstWave, &[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
                (SlotUse::Lost, &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
                (SlotUse::Straggler, &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
                (SlotUse::Retry, &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            ]
        );
        assert_eq!(timeline.jobs, [JobSpan { job: Some(9), from: 0.0, to: 7.0 }]);
        let [only] = &timeline.phases[..] else { panic!("{:?}", timeline.phases) };
        assert_eq!((only.tasks, only.from, only.to, only.machine_seconds), (7, 0.0, 7.0, 11.0));
    }

    #[test]
    fn many_changes_give_at_most_600_steps_with_the_same_sums() {
        let rows: Vec<_> =
            (0..5000).map(|at| row(at, at % 4, f64::from(at) * 0.25, f64::from(at) * 0.25 + 0.9)).collect();
        let phases: Vec<_> = rows.chunks(50).map(|rows| phase(rows.to_vec())).collect();
        let timeline = diagnose(&recording(phases, (0..4).map(|at| executor(&format!("n{at}"), 1)).collect())).timeline;
        let timeline = timeline.unwrap();
        assert_eq!((timeline.starts.len(), timeline.phases.len(), timeline.other_phases), (STEPS, PHASES, 60));
        let length = timeline.seconds / STEPS as f64;
        let used: f64 = timeline.uses.iter().flat_map(|one| &one.slots).map(|slots| slots * length).sum();
        assert!((used - 5000.0 * 0.9).abs() < 1.0, "{used}");
    }

    #[test]
    fn an_application_without_length_has_a_timeline_without_numbers() {
        let timeline = diagnose(&recording(vec![phase(vec![row(0, 0, 5.0, 5.0)])], Vec::new())).timeline.unwrap();
        assert_eq!((timeline.seconds, timeline.starts, timeline.slots), (0.0, vec![0.0], vec![0.0]));
    }
}
