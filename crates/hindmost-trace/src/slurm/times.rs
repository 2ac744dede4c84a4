//! When a job could start, started and ended.
//!
//! `Elapsed` is the time for which a job ran. It is less than the time from `Start` to `End` if the job was suspended, and differs from it
//! by half hours if the clock changed meanwhile. `sacct` does not say when a job was suspended: it is taken to have been suspended first
//! and to have run then, so that the end is right, and the job has no slot for longer than it ran.

use rustc_hash::FxHashMap;

use super::Job;
use crate::recording::Ended;
use crate::tasks::Collector;
use crate::tasks::units::{duration, number, time};

/// Changes of the clock are multiples of this, in seconds, and at most so many of them.
const STEP: f64 = 1800.0;
const MOST_STEPS: f64 = 4.0;
/// Each time is rounded to a second, so that sums may differ by this.
const ROUNDING: f64 = 2.0;
/// For how long Slurm holds a job before it may start again, in seconds.
const HOLD: f64 = 121.0;

/// When an attempt could start, started and ended, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ran {
    pub submitted: Option<f64>,
    pub start: Option<f64>,
    pub end: Option<f64>,
}

/// The times of jobs, one after the other.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// When the jobs that may run again ended last.
    interrupted: FxHashMap<Box<str>, f64>,
    /// How many attempts were suspended, and for how many seconds.
    suspended: (u64, f64),
    /// Starts and ends of those that were suspended for long, as far as the output says: the clock may have changed instead.
    suspended_long: Vec<(f64, f64)>,
    /// How many attempts ran while the clock changed.
    changed: u64,
    /// How many end before they start although the clock did not change by half hours, and of how many of them Elapsed says how long they ran.
    backwards: (u64, u64),
    clock: Clock,
}

/// A change of the clock to a later time, as far as attempts that ran meanwhile show it.
#[derive(Debug, Default)]
struct Clock {
    /// By how many seconds; NaN if attempts differ.
    by: f64,
    /// The last of them that started, and the first that ended.
    after: f64,
    before: f64,
}

/// Returns whether a text is a time without a date, as with `SLURM_TIME_FORMAT=relative`.
pub(super) fn is_relative(text: &str) -> bool {
    text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

impl Times {
    /// Returns the times of a job's row, of which start and end are read.
    pub(super) fn of(&mut self, job: &Job<'_>, read: [Option<f64>; 2], ended: Option<Ended>) -> Ran {
        let is_known = |at: &f64| *at > 0.0;
        let took = duration(&job.elapsed, None);
        let [submit, eligible] = [&job.submit, &job.eligible].map(|text| time(text, None).filter(is_known));
        let [start, end] = read.map(|time| time.filter(is_known));
        // A start that is not known means that the job never started.
        let start = match &job.start {
            Some(_) => start,
            None => end.zip(took).map(|(end, took)| end - took),
        };
        let end = end.or_else(|| Some(start? + took?));
        let mut ran = Ran { submitted: submit, start, end };
        let Some(began) = start else { return ran };
        ran.submitted = eligible.filter(|at| *at <= began).or_else(|| self.eligible(job, submit, began));
        if let Some(last) = end.filter(|_| ended == Some(Ended::Interrupted) || job.state.starts_with("NODE_FAIL")) {
            self.interrupted.insert((&*job.id).into(), last);
        }
        let is_local = job.start.as_deref().is_some_and(|text| number(text).is_none());
        match (end, took, ended) {
            (Some(last), None, Some(_)) if last < began => self.backwards.0 += 1,
            // Seconds since 1970 do not change with the clock.
            (Some(last), Some(took), Some(_)) => {
                self.stopped(&mut ran, (began, last), took, duration(&job.suspended, None).unwrap_or(0.0), is_local);
            }
            _ => {}
        }
        ran
    }

    /// Returns when a job could start, if `Eligible` does not say it. Slurm holds a job that runs again.
    fn eligible(&self, job: &Job<'_>, submit: Option<f64>, start: f64) -> Option<f64> {
        let submit = submit?;
        let is_again = self.interrupted.get(&*job.id).is_some_and(|end| (end - submit).abs() <= ROUNDING);
        let is_held = is_again && start - submit >= HOLD - ROUNDING;
        Some(if is_held { start.min(submit + HOLD) } else { submit })
    }

    /// Takes the time for which a job did not run, and changes of the clock, out of its times.
    fn stopped(&mut self, ran: &mut Ran, (start, end): (f64, f64), took: f64, mut suspended: f64, is_local: bool) {
        let beyond = end - start - took - suspended;
        let steps = (beyond / STEP).round();
        let is_clock =
            is_local && steps != 0.0 && steps.abs() <= MOST_STEPS && (beyond - steps * STEP).abs() <= ROUNDING;
        if is_clock {
            self.changed += 1;
            self.clock.add(steps * STEP, start, start + took + suspended);
        } else if beyond >= ROUNDING {
            suspended += beyond;
            if is_local && beyond >= STEP {
                self.suspended_long.push((start, end));
            }
        } else if end >= start && beyond <= -ROUNDING {
            // Nothing explains that it ran for longer than from its start to its end.
            return;
        } else if end < start {
            self.backwards.0 += 1;
            if took == 0.0 {
                // Slurm has no negative Elapsed.
                return;
            }
            self.backwards.1 += 1;
        }
        if suspended > 0.0 {
            self.suspended.0 += 1;
            self.suspended.1 += suspended;
        }
        if is_clock || suspended > 0.0 || end < start {
            ran.submitted = ran.submitted.map(|at| at.min(start) + suspended);
            (ran.start, ran.end) = (Some(start + suspended), Some(start + suspended + took));
        }
    }

    /// Says what was taken out, and puts times after a change of the clock right.
    pub(super) fn end(&self, collector: &mut Collector) {
        let (attempts, mut seconds) = self.suspended;
        if let Some(first) = self.clock.first_after() {
            let is_by_clock = |(start, end): &&(f64, f64)| *start <= self.clock.before && *end >= first;
            seconds -= self.clock.by * self.suspended_long.iter().filter(is_by_clock).count() as f64;
        }
        if attempts > 0 {
            let (attempts, their) = if attempts == 1 {
                ("1 attempt was".to_owned(), "Its duration is")
            } else {
                (format!("{attempts} attempts were"), "Their durations are")
            };
            collector.issues.note(format!(
                "{attempts} suspended, for {seconds:.0} s together. {their} without that time, and counted back from the end, because \
                 sacct does not say when jobs were suspended.",
            ));
        }
        let (backwards, known) = self.backwards;
        if backwards > 0 {
            let (attempts, their) = if backwards == 1 {
                ("1 attempt ends before it starts".to_owned(), "it")
            } else {
                (format!("{backwards} attempts end before they start"), "they")
            };
            let ends = match known {
                0 => "The log does not say how long.".to_owned(),
                _ if known == backwards => "Ends follow from the start and Elapsed.".to_owned(),
                _ => format!(
                    "Of {known}, the end follows from the start and Elapsed; of the others, the log does not say how long."
                ),
            };
            collector.issues.note(format!(
                "{attempts}: the clock went back while {their} ran. {ends} Times between jobs before and after it are wrong by as much."
            ));
        }
        if self.changed == 0 {
            return;
        }
        let attempts = if self.changed == 1 { "1 attempt".to_owned() } else { format!("{} attempts", self.changed) };
        let mut said = format!("The clock changed while {attempts} ran, whose ends follow from the start and Elapsed.");
        if let Some(from) = self.clock.first_after() {
            collector.earlier(from, self.clock.by);
            said += &format!(" Times from then on are {:.0} s earlier than the log says.", self.clock.by);
        } else {
            said += " Times between jobs before the change and after it are wrong by as much.";
        }
        collector
            .issues
            .note(format!("{said} SLURM_TIME_FORMAT=%s sacct … prints times that do not change with the clock."));
    }
}

impl Clock {
    fn add(&mut self, by: f64, start: f64, end: f64) {
        if self.by == 0.0 {
            *self = Clock { by, after: start, before: end };
        } else if self.by == by {
            (self.after, self.before) = (self.after.max(start), self.before.min(end));
        } else {
            self.by = f64::NAN;
        }
    }

    /// Returns the first time that must be after the change; `None` if times before and after it overlap. A clock that goes
    /// back shows the same times twice.
    fn first_after(&self) -> Option<f64> {
        let first = self.after + self.by;
        (self.by > 0.0 && self.before < first && self.after <= self.before).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of a job that was submitted at 10:00:00 and ran as given.
    fn ran(times: &mut Times, start: &str, end: &str, elapsed: &str, suspended: &str) -> (f64, f64, f64) {
        let on = |text: &str| format!("2024-03-31T{text}");
        let job = Job {
            id: "1".into(),
            submit: on("10:00:00").into(),
            start: Some(on(start).into()),
            end: on(end).into(),
            elapsed: elapsed.into(),
            suspended: suspended.into(),
            ..Job::default()
        };
        let read = [job.start.as_deref().unwrap_or_default(), &*job.end].map(|text| time(text, None));
        let ran = times.of(&job, read, Some(Ended::Succeeded));
        let ten = time(&job.submit, None).unwrap();
        (ran.submitted.unwrap() - ten, ran.start.unwrap() - ten, ran.end.unwrap() - ten)
    }

    #[test]
    fn suspension_and_changes_of_the_clock_are_taken_out() {
        let mut times = Times::default();
        assert_eq!(ran(&mut times, "10:00:05", "10:01:05", "00:01:00", ""), (0.0, 5.0, 65.0));
        // Suspended for 20 s, with the column and without it.
        for suspended in ["00:00:20", ""] {
            assert_eq!(ran(&mut times, "10:00:05", "10:01:05", "00:00:40", suspended), (20.0, 25.0, 65.0));
        }
        assert_eq!((times.suspended, times.changed), ((2, 40.0), 0));
        // The clock goes forward by an hour, then back, the second time with a suspension of 20 s.
        assert_eq!(ran(&mut times, "10:00:05", "11:01:05", "00:01:00", ""), (0.0, 5.0, 65.0));
        assert_eq!(ran(&mut times, "10:00:05", "09:01:25", "00:01:00", "00:00:20"), (20.0, 25.0, 85.0));
        assert_eq!(times.changed, 2);
        assert!(times.clock.first_after().is_none());
    }

    #[test]
    fn attempts_that_end_before_they_start_are_counted() {
        let mut times = Times::default();
        // The clock was set back by 400 s. Slurm says that the job ran for no time at all, or there is no such column.
        assert_eq!(ran(&mut times, "10:10:00", "10:03:50", "00:00:30", ""), (0.0, 600.0, 630.0));
        for elapsed in ["00:00:00", ""] {
            assert_eq!(ran(&mut times, "10:10:00", "10:03:50", elapsed, ""), (0.0, 600.0, 230.0));
        }
        assert_eq!((times.backwards, times.changed, times.suspended.0), ((3, 1), 0, 0));
    }

    #[test]
    fn times_after_a_change_are_known_if_attempts_are_short() {
        let mut clock = Clock::default();
        clock.add(3600.0, 100.0, 200.0);
        clock.add(3600.0, 150.0, 170.0);
        assert_eq!(clock.first_after(), Some(3750.0));
        clock.add(3600.0, 150.0, 9000.0);
        assert_eq!(clock.first_after(), Some(3750.0));
        let mut long = Clock::default();
        long.add(3600.0, 100.0, 90_000.0);
        assert_eq!(long.first_after(), None);
    }
}
