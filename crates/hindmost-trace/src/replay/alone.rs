//! Applications of a log, each alone, as `hindmost advise` replays them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hindmost_core::journal::Header;

use super::own_share::RepeatsByPhase;
use super::planned;
use super::replayed::Replay;
use super::workload::{workload, workload_in_log};
use crate::format::Kind;
use crate::joined::Joined;
use crate::recorder::Kept;
use crate::recording::Recording;

/// An application of a log that can be replayed alone.
#[derive(Clone, Debug)]
pub struct Application {
    recording: Arc<Recording>,
    log: Arc<InLog>,
}

/// What the applications of a log have in common.
#[derive(Debug)]
struct InLog {
    kind: Kind,
    /// The header of a journal.
    header: Option<Header>,
    /// All jobs of a log that is read row by row, until `repeats` is found.
    joined: Mutex<Option<Joined>>,
    /// What these show of tasks that are long. Found when it is needed.
    repeats: OnceLock<Option<RepeatsByPhase>>,
}

/// Returns the applications of a log that are kept and can be replayed alone. Applications of Spark that are in one log can't be.
pub(crate) fn applications(kind: Kind, kept: Kept) -> Vec<Application> {
    if kind == Kind::Spark && kept.applications > 1 {
        return Vec::new();
    }
    let header = kept.run.map(|run| run.header);
    let log = Arc::new(InLog { kind, header, joined: Mutex::new(kept.joined), repeats: OnceLock::new() });
    kept.recordings.into_iter().map(|one| Application { recording: Arc::new(one), log: Arc::clone(&log) }).collect()
}

impl Application {
    /// Its number within the log.
    pub fn number(&self) -> u32 {
        self.recording.application
    }

    /// Its id, if the log has one.
    pub fn id(&self) -> Option<&str> {
        self.recording.id.as_deref()
    }

    /// The version of its engine, if the log has it.
    pub fn version(&self) -> Option<&str> {
        self.recording.version.as_deref()
    }

    /// True if phases belong to queries of Spark SQL.
    pub fn is_sql(&self) -> bool {
        self.recording.is_sql
    }

    /// The format of its log.
    pub fn kind(&self) -> Kind {
        self.log.kind
    }

    /// The header of its journal; `None` for other logs.
    pub fn header(&self) -> Option<&Header> {
        self.log.header.as_ref()
    }

    /// Returns its jobs, its nodes and how it ran. `None` if no task succeeded.
    pub fn into_replay(self) -> Option<Replay> {
        let mut recording = Arc::unwrap_or_clone(self.recording);
        match self.log.kind {
            Kind::Spark => return Some(planned::of_spark(&[recording], false)),
            Kind::Hadoop => {
                if let Some(from) = recording.from {
                    (recording.active, recording.active_ids) = (vec![(from, recording.to)], vec![0]);
                }
            }
            Kind::Journal => recording.active_ids = (0..recording.active.len() as u32).collect(),
            // Other jobs may show whether tasks are long by their own.
            Kind::Tasks(_) => return workload_in_log(recording, self.log.repeats()),
        }
        workload(recording)
    }
}

impl InLog {
    fn repeats(&self) -> Option<&RepeatsByPhase> {
        let find = || {
            let joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (all, is_too_large) = joined?.into_recording();
            workload(all).filter(|_| !is_too_large)?.world.map(|world| world.repeats)
        };
        self.repeats.get_or_init(find).as_ref()
    }
}
