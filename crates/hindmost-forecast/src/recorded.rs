//! An application of a log with all that a forecast needs.

use hindmost_core::workload::WorkloadJob;
use hindmost_trace::Kind;
use hindmost_trace::replay::{Application, RecordedNode, Replay};

use crate::version::{self, Version};
use crate::world::World;

/// An application with its jobs, executors and world.
#[derive(Clone, Debug)]
pub struct RecordedApplication {
    /// The jobs, with durations that depend on what attempts meet.
    pub jobs: Vec<WorkloadJob>,
    /// The executors.
    pub executors: Vec<RecordedNode>,
    /// How it ran.
    pub world: World,
    /// The version of the engine, as far as the log shows it.
    pub version: Option<Version>,
    /// True if stages belong to queries of Spark SQL.
    pub is_sql: bool,
}

impl RecordedApplication {
    /// Returns an application of a log as it ran. `None` if it has no job that can be replayed, or if this program does not know the policy
    /// of a run.
    pub fn of(application: Application) -> Option<RecordedApplication> {
        let (kind, is_sql) = (application.kind(), application.is_sql());
        let engine_version = application.version().map(str::to_owned);
        let version = match kind {
            Kind::Spark => engine_version.as_deref().and_then(version::version),
            Kind::Hadoop => application.id().and_then(version::version_of_hadoop),
            Kind::Tasks(_) | Kind::Journal => None,
        };
        let header = application.header().cloned();
        let Replay { mut jobs, nodes, world, had_copies, .. } = application.into_replay()?;
        let world = match kind {
            Kind::Spark => World::of_spark(world?, engine_version.as_deref(), (&nodes, had_copies)),
            Kind::Hadoop => World::of_hadoop(world?, had_copies),
            Kind::Tasks(format) => World::of_tasks(world?, format),
            Kind::Journal => World::of_journal(world?, &header?)?,
        };
        if jobs.is_empty() {
            return None;
        }
        world.recorded.give_durations(&mut jobs);
        Some(RecordedApplication { jobs, executors: nodes, world, version, is_sql })
    }
}
