//! An attempt that the engine has started or adopted: its step, its agent's reports, and how far its kill has got.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, openat};

use super::beat::{Beat, STOP};
use super::observer::Snapshot;
use super::{CALM, SOON};

/// An attempt that this engine has started or adopted, and whose end has not been reported.
#[derive(Debug)]
pub(super) struct Running {
    /// Index of the node.
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) nonce: String,
    pub(super) folder: OwnedFd,
    /// Path of the folder, as the agent received it.
    pub(super) path: PathBuf,
    /// The `srun` that has started the step, until it has ended; `None` if an earlier process has started the step.
    pub(super) srun: Option<Child>,
    pub(super) token: Option<u64>,
    pub(super) beat: Option<Beat>,
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
            nonce,
            folder,
            path: path.to_owned(),
            next_look: now + if srun.is_some() { CALM } else { SOON },
            srun,
            token,
            beat: None,
            reported: now,
            doubt: None,
            killed: None,
            reaped: None,
            gpus,
        }
    }

    /// Reads the agent's report.
    pub(super) fn read_beat(&mut self) {
        let Some(beat) = Beat::read(self.folder.as_fd(), &self.nonce) else { return };
        if self.beat.as_ref() != Some(&beat) {
            self.reported = Instant::now();
            self.beat = Some(beat);
        }
    }

    /// Returns the step as `JOB.STEP`, from the agent's report or else from a snapshot.
    pub(super) fn step(&self, snapshot: &Snapshot) -> Option<String> {
        let reported = self.beat.as_ref().map(|beat| (beat.job, beat.step));
        let listed = || snapshot.steps.iter().find(|step| step.name == self.name).map(|step| (step.job, step.id));
        reported.or_else(listed).map(|(job, step)| format!("{job}.{step}"))
    }

    /// True if the agent has reported before, but not for this time, and nothing else has shown that the attempt has ended.
    pub(super) fn is_silent(&self, time: Duration) -> bool {
        let has_begun = self.beat.as_ref().is_some_and(|beat| !beat.is_last());
        has_begun && self.reported.elapsed() > time && self.doubt.is_none_or(|since| since.elapsed() > time)
    }

    /// Requests the agent to stop, by a file.
    pub(super) fn request_stop(&self) {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let _ = openat(&self.folder, STOP, flags, Mode::from_raw_mode(0o644));
    }
}
