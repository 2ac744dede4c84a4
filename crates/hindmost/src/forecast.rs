//! How fast a live run goes on, and how long it will still take, for its progress display.

use std::collections::BTreeMap;
use std::time::Duration;

use hindmost_core::metrics::PhaseProgress;

use crate::board::clock;

/// Time that a phase must have run before its end is estimated.
const SHORTEST: Duration = Duration::from_secs(1);
/// Share of a phase that must be done in this time for an estimate, and number of tasks that are enough instead.
const ENOUGH_PROGRESS: f64 = 0.02;
const ENOUGH_TASKS: u64 = 3;

/// What was seen when the process first saw a phase run.
#[derive(Clone, Copy)]
struct Begin {
    elapsed: Duration,
    progress: f64,
    finished: u64,
}

/// Observes the progress of phases. A resumed run begins with finished tasks, which say nothing about its speed now.
#[derive(Default)]
pub struct Forecast {
    first: Option<(Duration, u64)>,
    begun: BTreeMap<String, Begin>,
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
        let mut longest: Option<(Duration, &str)> = None;
        for phase in phases.iter().filter(|phase| phase.running > 0 && phase.finished < phase.tasks) {
            let PhaseProgress { progress, finished, .. } = *phase;
            let begin = *self.begun.entry(phase.name.clone()).or_insert(Begin { elapsed, progress, finished });
            let (took, done) = (elapsed.saturating_sub(begin.elapsed), progress - begin.progress);
            let is_enough = done >= ENOUGH_PROGRESS || finished >= begin.finished + ENOUGH_TASKS;
            if took < SHORTEST || !is_enough || done <= 0.0 {
                return None;
            }
            let left = took.mul_f64((1.0 - progress).max(0.0) / done);
            longest = longest.filter(|(known, _)| *known >= left).or(Some((left, &phase.name)));
        }
        let (left, name) = longest?;
        let others = phases.iter().any(|phase| phase.running == 0 && phase.finished < phase.tasks);
        let of = if others { format!(" of {name}") } else { String::new() };
        Some(format!("about {} left{of}", clock(left)))
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
        assert_eq!(note.as_deref(), Some("2.0 tasks/s, about 30.0 s left"));
        // A later phase has an unknown duration.
        let note = forecast.observe(&[phase("map", 40, 4, 0.4), phase("sum", 0, 0, 0.0)], at(110));
        assert_eq!(note.as_deref(), Some("2.0 tasks/s, about 30.0 s left of map"));
        let note = forecast.observe(&[phase("map", 100, 0, 1.0), phase("sum", 0, 1, 0.0)], at(140));
        assert_eq!(note.as_deref(), Some("2.0 tasks/s"));
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
