//! An attempt that the engine has started or adopted: its step, its agent's reports, and how far its kill has got.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{Mode, OFlags, openat};

use super::beat::{Beat, LOSER, STOP, State};
use super::observer::Snapshot;
use super::{CALM, SOON};

/// The time between two looks at an attempt that has not begun is the time since its launch divided by this.
const STARTING: u32 = 10;
/// Time after the kill of an attempt after which it is looked at seldom.
const LONG: Duration = Duration::from_secs(40);

/// An attempt that this engine has started or adopted, and whose end has not been reported.
#[derive(Debug)]
pub(super) struct Running {
    /// Index of the node.
    pub(super) place: usize,
    pub(super) name: String,
    /// The allocation of its step; `None` if that is unknown.
    pub(super) job: Option<u32>,
    /// True if its task may not run twice, so that its end must be sure although its node is lost.
    pub(super) is_single: bool,
    /// How long its processes may take to end after its agent has sent them `SIGTERM`.
    pub(super) kill_after: Duration,
    pub(super) nonce: String,
    pub(super) folder: OwnedFd,
    /// Path of the folder, as the agent received it.
    pub(super) path: PathBuf,
    /// The `srun` that has started the step, until it has ended; `None` if an earlier process has started the step.
    pub(super) srun: Option<Child>,
    pub(super) token: Option<u64>,
    pub(super) beat: Option<Beat>,
    pub(super) started: Instant,
    /// When the `slurmd` of the node was started, as far as it was known at the last report.
    pub(super) slurmd: Option<String>,
    /// When the attempt was launched, by the clock of the file system; `None` if an earlier process has started the step.
    pub(super) launched: Option<SystemTime>,
    /// How long after its launch the attempt's agent began; `None` while it has not.
    pub(super) began: Option<Duration>,
    /// True once the begin has been reported to the driver.
    pub(super) is_begin_reported: bool,
    /// When the last new report was read.
    pub(super) reported: Instant,
    pub(super) next_look: Instant,
    /// Since when it is unclear whether the attempt still runs: its `srun` has ended without a last report.
    pub(super) doubt: Option<Instant>,
    pub(super) killed: Option<Killed>,
    /// When a step was last started that ends the attempt if its agent is dead.
    pub(super) reaped: Option<Instant>,
    pub(super) gpus: Vec<usize>,
}

/// How far the kill of an attempt has got.
#[derive(Debug)]
pub(super) struct Killed {
    pub(super) since: Instant,
    /// True once the agent has been sent a signal.
    pub(super) is_signalled: bool,
    /// True once Slurm was requested to kill the step.
    pub(super) is_cancelled: bool,
}

impl Running {
    pub(super) fn new(
        (place, name): (usize, String),
        nonce: String,
        (folder, path): (OwnedFd, &Path),
        srun: Option<(Child, u64)>,
        gpus: Vec<usize>,
    ) -> Running {
        let now = Instant::now();
        let (srun, token) = srun.map_or((None, None), |(child, token)| (Some(child), Some(token)));
        Running {
            place,
            name,
            job: None,
            is_single: false,
            kill_after: Duration::ZERO,
            nonce,
            folder,
            path: path.to_owned(),
            next_look: now + SOON,
            srun,
            token,
            beat: None,
            started: now,
            slurmd: None,
            launched: None,
            began: None,
            is_begin_reported: false,
            reported: now,
            doubt: None,
            killed: None,
            reaped: None,
            gpus,
        }
    }

    /// Reads the agent's report. Returns true if it is a new one.
    pub(super) fn read_beat(&mut self) -> bool {
        let Some((beat, written)) = Beat::read_with_time(self.folder.as_fd(), &self.nonce) else { return false };
        self.began.get_or_insert_with(|| {
            // Both times are of the clock of the file system, so it does not matter what the clocks of nodes show.
            let ran = Duration::try_from_secs_f64(beat.ran).unwrap_or_default();
            let after = self.launched.and_then(|launched| written.duration_since(launched).ok());
            after.unwrap_or(self.started.elapsed()).saturating_sub(ran)
        });
        let is_new = self.beat.as_ref() != Some(&beat);
        if is_new {
            self.reported = Instant::now();
            self.job = Some(beat.job);
            self.beat = Some(beat);
        }
        is_new
    }

    /// Returns when the agent wrote its last report while the attempt ran; `None` if that is unknown.
    pub(super) fn written(&self) -> Option<Instant> {
        let (beat, began) = self.beat.as_ref().zip(self.began)?;
        let ran = Duration::try_from_secs_f64(beat.ran).ok()?;
        (self.launched.is_some() && !beat.is_last()).then(|| self.started + began + ran)
    }

    /// Returns how long after its launch the attempt began, if that has become known and the driver is to be notified.
    pub(super) fn take_begin(&mut self) -> Option<Duration> {
        let has_begun = self.beat.as_ref().is_some_and(|beat| !matches!(beat.state, State::NotBegun(_)));
        let began = self.began.filter(|_| has_begun && !self.is_begin_reported)?;
        self.is_begin_reported = true;
        Some(began)
    }

    /// Returns the time until the next look at an attempt that runs as it should. Its begin is noticed soon.
    pub(super) fn calm(&self) -> Duration {
        if self.beat.is_some() { CALM } else { (self.started.elapsed() / STARTING).clamp(SOON, CALM) }
    }

    /// Returns the step as `JOB.STEP`, from the agent's report or else from a snapshot.
    pub(super) fn step(&self, snapshot: &Snapshot) -> Option<String> {
        let reported = self.beat.as_ref().map(|beat| (beat.job, beat.step));
        let listed = || snapshot.steps.iter().find(|step| step.name == self.name).map(|step| (step.job, step.id));
        reported.or_else(listed).map(|(job, step)| format!("{job}.{step}"))
    }

    /// True if the agent was killed or sent a signal, and not because this run has decided so. If it was killed, another step may have
    /// written its last report.
    pub(super) fn was_interrupted(&self) -> bool {
        let was = |beat: &Beat| beat.signalled || !beat.is_last() || self.reaped.is_some();
        self.killed.is_none() && self.beat.as_ref().is_some_and(was)
    }

    /// True if it is to be found out what has interrupted the attempt.
    pub(super) fn is_unexplained(&self) -> bool {
        self.doubt.is_some() && self.was_interrupted()
    }

    /// True if the agent has reported before, but not for this time, and nothing else has shown that the attempt has ended.
    pub(super) fn is_silent(&self, time: Duration) -> bool {
        let has_begun = self.beat.as_ref().is_some_and(|beat| !beat.is_last());
        has_begun && self.reported.elapsed() > time && self.doubt.is_none_or(|since| since.elapsed() > time)
    }

    /// True if the attempt has not ended for so long after its kill that it is enough to look at it seldom.
    pub(super) fn waits_long(&self) -> bool {
        self.is_single && self.killed.as_ref().is_some_and(|killed| killed.since.elapsed() > LONG)
    }

    /// Requests the agent to stop, by a file.
    pub(super) fn request_stop(&self, is_loser: bool) {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(&self.folder, STOP, flags, Mode::from_raw_mode(0o644)) else { return };
        if is_loser {
            let _ = rustix::io::write(&file, LOSER);
        }
    }
}
