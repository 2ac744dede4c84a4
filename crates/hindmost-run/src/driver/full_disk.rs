//! Waits while a disk is full: attempts that failed because of it start again once there may be space, without using up retries, and what
//! the run itself has to write waits in memory.
//!
//! Invariant: the time of waiting counts from when the disk was found full until a task succeeds. After the time that the user allows, what
//! fails because of the full disk fails as without this module.

use std::io;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_math::plain::Plain;

use super::{Driver, RunError};

/// What programs say whose disk, or share of it, is full.
const MESSAGES: [&str; 3] = ["No space left on device", "Disk quota exceeded", "not enough space on the disk"];

/// Free bytes from which an attempt may start again, unless the disk is small: 1 MiB.
const ENOUGH: u64 = 1 << 20;

/// The shortest and the longest pause until an attempt that met a full disk starts again: 1 s and 30 s.
const PAUSES: [Time; 2] = [Time(1_000_000_000), Time(30_000_000_000)];

/// Below this number of free bytes a disk is called full: 64 KiB. An end marker needs less.
const FULL: u64 = 64 << 10;

/// Below this number of free bytes a disk may have been full when an attempt ended, although it is not full now: 16 MiB. The
/// files of attempts that failed are removed, and that may free as much.
const SCARCE: u64 = 16 << 20;

/// For how long after an attempt has ended on a full disk the disk is suspected of the ends of others, too.
const LATELY: Time = Time(60_000_000_000);

/// Returns the reason of the failure of an attempt that has no end marker. `free` is the free space of the disk with the run's
/// folder, in bytes, if it is known. `was_full` says that another attempt has ended a short time ago while the disk was full.
pub(super) fn without_end_marker(free: Option<u64>, was_full: bool) -> String {
    let what = "ended without an end marker";
    let Some(free) = free else {
        return format!("{what}: something outside Hindmost killed it, or the disk is full");
    };
    let left = if free < 1 << 20 { format!("{} kB", free >> 10) } else { format!("{} MB", free >> 20) };
    if free < FULL {
        return format!("{what}: the disk is full ({free} bytes are free in the run's folder); free some space there");
    }
    if was_full || free < SCARCE {
        // What is free now includes what the removed files of other attempts have freed.
        return format!(
            "{what}, probably because the disk was full ({left} are free in the run's folder now that files of failed attempts \
             are removed); free some space there"
        );
    }
    format!("{what}: something outside Hindmost killed it (the disk is not full now: {left} are free)")
}

/// True if a file could not be written because its disk is full, or the user's share of it.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// When disks were found full.
#[derive(Debug, Default)]
pub(super) struct FullDisk {
    /// When an attempt last ended while the disk with the run's folder was full.
    last: Option<Time>,
    /// Since when attempts or the run wait for space.
    since: Option<Time>,
    /// Number of times that attempts have waited since then.
    pauses: u32,
}

impl FullDisk {
    /// True if the disk with the run's folder was full a short time before.
    pub(super) fn was_full(&self, now: Time) -> bool {
        self.last.is_some_and(|at| now - at <= LATELY)
    }

    /// Notes that a task has succeeded.
    pub(super) fn has_space(&mut self) {
        (self.since, self.pauses) = (None, 0);
    }

    /// Notes that something waits for space. Returns `None` if it has waited for as long as `most`; else whether it is the first to wait.
    fn waits(&mut self, now: Time, most: Duration) -> Option<bool> {
        let is_first = self.since.is_none() && !most.is_zero();
        let since = *self.since.get_or_insert(now);
        (Duration::from_nanos((now - since).0) < most).then_some(is_first)
    }

    /// Returns the pause until an attempt starts again.
    fn pause(&mut self) -> Time {
        let pause = Time(PAUSES[0].0.saturating_mul(1 << (self.pauses.min(16) / 4)).min(PAUSES[1].0));
        self.pauses += 1;
        pause
    }
}

impl Driver<'_> {
    /// Notes whether the disks with the folders of the run are full.
    pub(super) fn look_at_disks(&mut self) {
        if self.jobs.iter().any(|job| job.store.free_space().is_some_and(|free| free < FULL)) {
            self.disk.last = Some(self.engine.now());
        }
    }

    /// Returns what to say about an attempt with exit code 0 during which the disk was full: not every command notices that its
    /// output was cut.
    pub(super) fn met_full_disk_unnoticed(&self, attempt: AttemptId, since: Time) -> Option<String> {
        let was_full = self.disk.last.is_some_and(|at| at >= since);
        let folder = self.jobs[attempt.task.job].store.folder();
        was_full.then(|| {
            let folder = folder.display();
            format!(
                "the disk was full while it ran ({folder}), so its output may be incomplete although its exit code is 0"
            )
        })
    }

    /// Returns what to say about a full disk if that has probably ended an attempt that may run again.
    pub(super) fn met_full_disk(&mut self, attempt: AttemptId) -> Option<String> {
        let job = &self.jobs[attempt.task.job];
        let now = self.engine.now();
        let free = job.store.free_space();
        if free.is_some_and(|free| free < FULL) {
            self.disk.last = Some(now);
        }
        if !job.phase(attempt.task).may_repeat() {
            return None;
        }
        if free.is_some_and(|free| free < FULL || free < SCARCE && self.disk.was_full(now)) {
            return Some(format!("the disk is full ({})", job.store.folder().display()));
        }
        let said = job.store.output_tail(attempt, "stderr");
        let line = said.lines().rev().find(|line| MESSAGES.iter().any(|message| line.contains(message)))?;
        Some(format!("a disk is full: {}", line.trim()))
    }

    /// Handles an attempt that a full disk has ended: its task is tried again later, which takes no retry. If the run has waited
    /// for too long, the attempt has failed.
    pub(super) fn wait_for_space(&mut self, attempt: AttemptId, what: &str) -> Result<(), RunError> {
        let now = self.engine.now();
        let is_open = !self.jobs[attempt.task.job].shutdown.has_begun();
        let Some(is_first) = self.disk.waits(now, self.options.disk_wait).filter(|_| is_open) else {
            return self.record_failure(attempt, what.to_owned(), true);
        };
        if is_first {
            let name = self.full_name(attempt.task);
            self.say_full(&format!("{name}: {what}"));
        }
        self.clean(attempt, false);
        self.waiting.forget(attempt);
        self.happen(&Event::AttemptFailed { attempt, reason: None, external: Some("a disk was full".into()) })?;
        self.put_off(attempt.task)
    }

    /// Does not start an attempt while the disk with the run's folder is still full. Returns true if it is put off.
    pub(super) fn still_waits_for_space(&mut self, attempt: AttemptId) -> Result<bool, RunError> {
        let is_full = || !self.jobs[attempt.task.job].store.has_space(ENOUGH);
        if self.disk.since.is_none()
            || !is_full()
            || self.disk.waits(self.engine.now(), self.options.disk_wait).is_none()
        {
            return Ok(false);
        }
        self.clean(attempt, false);
        self.waiting.forget(attempt);
        self.happen(&Event::AttemptStopped { attempt })?;
        self.put_off(attempt.task)?;
        Ok(true)
    }

    /// Withholds a task for a while, unless another attempt of it runs.
    fn put_off(&mut self, task: TaskId) -> Result<(), RunError> {
        let pause = self.disk.pause();
        self.withhold_for(task, pause)
    }

    fn say_full(&mut self, what: &str) {
        self.follower.message(&format!(
            "{what}; what needs space waits for at most {} s (--disk-wait): free some space",
            Plain(self.options.disk_wait.as_secs_f64())
        ));
    }

    /// Passes the lines of the journal to the operating system. Returns false if the disk is full and the run waits.
    pub(super) fn write_journal(&mut self) -> Result<bool, RunError> {
        let Err(error) = self.recorder.journal.write() else { return Ok(true) };
        let waits = if is_full(&error) { self.disk.waits(self.engine.now(), self.options.disk_wait) } else { None };
        match waits {
            None => Err(self.recorder.journal.fault(error)),
            Some(is_first) => {
                if is_first {
                    self.say_full(&format!("the journal of the run can't be written: {error}"));
                }
                Ok(false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_as_the_cause() {
        assert!(without_end_marker(Some(0), false).contains("the disk is full (0 bytes are free"));
        let killed = without_end_marker(Some(50 << 20), false);
        assert!(killed.contains("killed it (the disk is not full now: 50 MB are free)"), "{killed}");
        assert!(without_end_marker(None, false).ends_with("killed it, or the disk is full"));
    }

    #[test]
    fn freed_space_does_not_hide_that_the_disk_was_full() {
        for (free, was_full, left) in [
            (84 << 10, false, "84 kB"),
            (84 << 10, true, "84 kB"),
            (5 << 20, false, "5 MB"),
            (3 << 30, true, "3072 MB"),
        ] {
            let said = without_end_marker(Some(free), was_full);
            let begin = format!("ended without an end marker, probably because the disk was full ({left} are free");
            assert!(said.starts_with(&begin) && said.ends_with("free some space there"), "{said}");
        }
    }
}
