//! The clock of a run: the time since the run began, over all processes that have run it.

use std::time::Instant;

use hindmost_core::time::Time;

/// Measures the time since a run began.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunClock {
    began: Instant,
    offset: Time,
}

impl RunClock {
    /// Returns the clock of a run that begins now.
    pub fn new() -> RunClock {
        RunClock { began: Instant::now(), offset: Time::ZERO }
    }

    /// Returns the time since the run began.
    pub fn now(&self) -> Time {
        self.offset + Time(self.began.elapsed().as_nanos() as u64)
    }

    /// Sets the time since the run began.
    pub fn resume_at(&mut self, at: Time) {
        *self = RunClock { began: Instant::now(), offset: at };
    }
}
