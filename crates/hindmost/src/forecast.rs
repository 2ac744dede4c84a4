//! How fast a live run goes on, and how long it will still take, for its progress display.
//!
//! If running tasks show their progress, the time left follows from the rate of work so far. Otherwise a running task is taken
//! to need what is missing of the mean duration of finished tasks, and the pending tasks follow in waves. So the time left goes
//! down while tasks run, also if none finishes for a while.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hindmost_core::metrics::PhaseProgress;

use crate::board::clock;

/// Time that a phase must have run before its end is estimated.
const SHORTEST: Duration = Duration::from_secs(1);
/// Share of a phase that must be done in this time for an estimate, and number of tasks that are enough instead.
const ENOUGH_PROGRESS: f64 = 0.02;
const ENOUGH_TASKS: u64 = 3;

/// Share of its expected duration after which a running task still needs the rest, however long it has been running.
const LARGEST_SHARE: f64 = 0.95;
/// Multiple of the mean duration after which nobody knows how long a running task will still take.
const OVERDUE: f64 = 2.0;

/// What was seen of a phase since the process first saw it run.
struct Seen {
    begin: Duration,
    /// Progress and number of finished tasks at the begin.
    progress: f64,
    finished: u64,
    /// When the numbers below were last brought up to date.
    at: Duration,
    /// Time for which tasks ran, summed over the tasks, in seconds.
    ran: f64,
    /// Number of finished tasks at that time.
    finished_then: u64,
    /// The times at which the running tasks began, as far as they were seen, the oldest first.
    begun: VecDeque<Duration>,
    /// True once a running task has shown how much of its work is done.
    shows_progress: bool,
}

impl Seen {
    fn new(phase: &PhaseProgress, elapsed: Duration) -> Seen {
        Seen {
            begin: elapsed,
            progress: phase.progress,
            finished: phase.finished,
            at: elapsed,
            ran: 0.0,
            finished_then: phase.finished,
            begun: VecDeque::new(),
            shows_progress: false,
        }
    }

    /// Takes up what has happened until now. The tasks that began first are assumed to have finished first.
    fn update(&mut self, phase: &PhaseProgress, elapsed: Duration) {
        self.ran += self.begun.len() as f64 * elapsed.saturating_sub(self.at).as_secs_f64();
        self.at = elapsed;
        let running = usize::try_from(phase.running).unwrap_or(usize::MAX);
        let ended = usize::try_from(phase.finished.saturating_sub(self.finished_then)).unwrap_or(usize::MAX);
        self.begun.drain(..ended.min(self.begun.len()));
        // Others have failed, or began while nobody looked.
        self.begun.drain(..self.begun.len().saturating_sub(running));
        self.begun.resize(running, elapsed);
        self.finished_then = phase.finished;
        let done = phase.progress * phase.tasks as f64 - phase.finished as f64;
        self.shows_progress |= done > 1e-6 * phase.tasks as f64;
    }

    /// Returns the time left; `None` if it is not known.
    fn left(&self, phase: &PhaseProgress) -> Option<f64> {
        let (took, done) = (self.at.saturating_sub(self.begin), phase.progress - self.progress);
        let finished = phase.finished - self.finished.min(phase.finished);
        let is_enough = done >= ENOUGH_PROGRESS || finished >= ENOUGH_TASKS;
        if took < SHORTEST || !is_enough || done <= 0.0 {
            return None;
        }
        if self.shows_progress || finished == 0 {
            return Some(took.as_secs_f64() * (1.0 - phase.progress).max(0.0) / done);
        }
        let ages: Vec<f64> = self.begun.iter().map(|begun| self.at.saturating_sub(*begun).as_secs_f64()).collect();
        let mean = (self.ran - ages.iter().sum::<f64>()) / finished as f64;
        let pending = phase.tasks.saturating_sub(phase.finished + phase.running);
        left_in_waves(&ages, pending, mean)
    }
}

/// Returns the time until all tasks are finished, if each takes `mean` seconds. The running ones have these ages, the oldest
/// first; each of the pending ones follows the one that ends first. `None` if all that is left has taken much longer already.
fn left_in_waves(ages: &[f64], pending: u64, mean: f64) -> Option<f64> {
    if ages.is_empty() || mean <= 0.0 || pending == 0 && ages.iter().all(|age| *age > OVERDUE * mean) {
        return None;
    }
    let rest: Vec<f64> = ages.iter().map(|age| mean * (1.0 - (age / mean).min(LARGEST_SHARE))).collect();
    let slots = rest.len() as u64;
    let (waves, more) = ((pending / slots) as f64 * mean, (pending % slots) as usize);
    let last = rest.last().copied().unwrap_or_default() + waves;
    Some(if more > 0 { last.max(rest[more - 1] + waves + mean) } else { last })
}

/// Returns a time that is left as text, no more exact than an estimate can be.
fn roughly(seconds: f64) -> String {
    let step = match seconds {
        ..20.0 => 1.0,
        20.0..120.0 => 5.0,
        120.0..1200.0 => 30.0,
        _ => 60.0,
    };
    let rounded = ((seconds / step).round() * step).max(1.0);
    if rounded < 60.0 { format!("{rounded:.0} s") } else { clock(Duration::from_secs_f64(rounded)) }
}

/// Observes the progress of phases. A resumed run begins with finished tasks, which say nothing about its speed now.
#[derive(Default)]
pub struct Forecast {
    first: Option<(Duration, u64)>,
    seen: BTreeMap<String, Seen>,
}

impl Forecast {
    /// Returns the rate and the time left as text, such as `3.2 tasks/s, about 18 s left`; `None` as long as neither can be said.
    /// `elapsed` is the time since the run began.
    pub fn observe(&mut self, phases: &[PhaseProgress], elapsed: Duration) -> Option<String> {
        let finished: u64 = phases.iter().map(|phase| phase.finished).sum();
        let (since, before) = *self.first.get_or_insert((elapsed, finished));
        let rate = rate(finished.saturating_sub(before), elapsed.saturating_sub(since));
        let left = self.left(phases, elapsed);
        match (rate, left) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(rate), Some(left)) => Some(format!("{rate}, {left}")),
        }
    }

    /// Returns the time left of the running phases, the longest one of them. If other phases come later, names the phase.
    fn left(&mut self, phases: &[PhaseProgress], elapsed: Duration) -> Option<String> {
        let mut longest: Option<(f64, &str)> = None;
        let mut is_known = true;
        for phase in phases.iter().filter(|phase| phase.running > 0 && phase.finished < phase.tasks) {
            let seen = self.seen.entry(phase.name.clone()).or_insert_with(|| Seen::new(phase, elapsed));
            seen.update(phase, elapsed);
            match seen.left(phase) {
                Some(left) => longest = longest.filter(|(known, _)| *known >= left).or(Some((left, &phase.name))),
                None => is_known = false,
            }
        }
        let (left, name) = longest.filter(|_| is_known)?;
        let others = phases.iter().any(|phase| phase.running == 0 && phase.finished < phase.tasks);
        let of = if others { format!(" of {name}") } else { String::new() };
        Some(format!("about {} left{of}", roughly(left)))
    }
}

/// Returns the rate of finished tasks as text; `None` if too few have finished.
fn rate(finished: u64, took: Duration) -> Option<String> {
    if finished < ENOUGH_TASKS || took < SHORTEST {
        return None;
    }
    let a_second = finished as f64 / took.as_secs_f64();
    Some(match a_second {
        10.0.. => format!("{a_second:.0} tasks/s"),
        1.0.. => format!("{a_second:.1} tasks/s"),
        _ if a_second * 60.0 >= 1.0 => format!("{:.0} tasks/min", a_second * 60.0),
        _ => format!("{:.1} tasks/h", a_second * 3600.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, finished: u64, running: u64, progress: f64) -> PhaseProgress {
        PhaseProgress { name: name.to_owned(), tasks: 100, finished, running, progress, ..PhaseProgress::default() }
    }

    #[test]
    fn rate_and_time_left_follow_from_what_was_seen() {
        let mut forecast = Forecast::default();
        let at = Duration::from_secs;
        // Resumed with 20 finished tasks.
        assert_eq!(forecast.observe(&[phase("map", 20, 4, 0.2)], at(100)), None);
        assert_eq!(forecast.observe(&[phase("map", 21, 4, 0.21)], at(101)), None);
        // In 10 s 20 tasks: 60 are left for 30 s.
        let note = forecast.observe(&[phase("map", 40, 4, 0.4)], at(110));
        assert_eq!(note.as_deref(), Some("2.0 tasks/s, about 30 s left"));
        // A later phase has an unknown duration.
        let note = forecast.observe(&[phase("map", 40, 4, 0.4), phase("sum", 0, 0, 0.0)], at(110));
        assert_eq!(note.as_deref(), Some("2.0 tasks/s, about 30 s left of map"));
        let note = forecast.observe(&[phase("map", 100, 0, 1.0), phase("sum", 0, 1, 0.0)], at(140));
        assert_eq!(note.as_deref(), Some("2.0 tasks/s"));
    }

    /// Tasks of equal length on two cpus: what is left after some seconds.
    fn waves(tasks: u64, duration: f64, until: f64) -> Vec<(f64, Option<String>)> {
        let mut forecast = Forecast::default();
        let seen = (0..).map(|step| f64::from(step) * 0.2).take_while(|at| *at <= until);
        let observed = seen.map(|at| {
            let finished = (2 * (at / duration) as u64).min(tasks);
            let running = (tasks - finished).min(2);
            let now = PhaseProgress {
                name: "map".to_owned(),
                tasks,
                finished,
                running,
                progress: finished as f64 / tasks as f64,
                ..PhaseProgress::default()
            };
            (at, forecast.observe(&[now], Duration::from_secs_f64(at)))
        });
        observed.collect()
    }

    #[test]
    fn the_time_left_goes_down_while_nothing_finishes() {
        let mut last = f64::INFINITY;
        for (at, note) in waves(7, 1.7, 6.7).into_iter().filter(|(at, _)| *at >= 1.9) {
            let note = note.unwrap();
            let left: f64 = note.split("about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!(left <= last, "{at}: {note}");
            // What is left is rounded to seconds, and at least one second.
            assert!((left - (6.8 - at)).abs() < 1.0, "{at}: {note}");
            last = left;
        }
    }

    #[test]
    fn short_tasks_are_counted_although_nobody_sees_them_begin() {
        let notes = waves(1000, 0.01, 3.0);
        assert_eq!(notes.last().unwrap().1.as_deref(), Some("200 tasks/s, about 2 s left"));
    }

    #[test]
    fn pending_tasks_follow_in_waves() {
        for (ages, pending, left) in [
            (&[0.3, 0.3][..], 3, Some(4.8)),
            (&[1.5, 1.5], 3, Some(3.6)),
            (&[1.5, 0.5], 0, Some(1.2)),
            (&[1.5, 0.5], 1, Some(1.9)),
            (&[1.5, 0.5], 2, Some(2.9)),
            // A task that takes longer than others ends soon, as far as anybody knows, but not at once.
            (&[2.0], 0, Some(0.085)),
            (&[9.0], 0, None),
            (&[], 3, None),
        ] {
            let found = left_in_waves(ages, pending, 1.7);
            assert_eq!(found.map(|left| (left * 1e6).round()), left.map(|left: f64| (left * 1e6).round()), "{ages:?}");
        }
    }

    #[test]
    fn the_time_left_is_no_more_exact_than_an_estimate() {
        let texts = [0.2, 3.6, 18.2, 33.0, 59.0].map(roughly);
        assert_eq!(texts, ["1 s", "4 s", "18 s", "35 s", "1 min 00 s"]);
    }

    #[test]
    fn slow_rates_have_larger_units() {
        for (finished, seconds, text) in
            [(2, 1, None), (300, 10, Some("30 tasks/s")), (4, 40, Some("6 tasks/min")), (5, 7200, Some("2.5 tasks/h"))]
        {
            assert_eq!(rate(finished, Duration::from_secs(seconds)).as_deref(), text);
        }
    }
}
