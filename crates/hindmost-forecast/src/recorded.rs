//! Reads a log with all that a forecast needs.

use std::path::Path;

use hindmost_core::workload::WorkloadJob;
use hindmost_trace::any::{self, LogKind};
use hindmost_trace::diagnosis::RecordedWorkload;
use hindmost_trace::table::Columns;
use hindmost_trace::tasks::{self, TaskFormat};
use hindmost_trace::{RecordedNode, TraceError, hadoop, journal, spark};

use crate::settings::{self, Version};
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

/// Reads a log: its applications with the numbers `wanted`, by number. `columns` are those of a table. Applications without a job that
/// can be replayed are left out, and all of a log with several applications of Spark.
///
/// # Errors
/// If the log can't be read.
pub fn read(path: &Path, columns: &Columns, wanted: &[u32]) -> Result<Vec<(u32, RecordedApplication)>, TraceError> {
    let first = wanted.first().copied().unwrap_or(0);
    let mut found = match any::kind_with(path, columns)? {
        LogKind::Journal(journal) => of_journal(&journal)?.map(|one| (first, one)).into_iter().collect(),
        LogKind::Tasks(format) => of_tasks(path, format, columns, wanted)?,
        LogKind::Spark => of_spark(path)?.map(|one| (first, one)).into_iter().collect(),
        LogKind::Hadoop => of_hadoop(path, wanted)?,
    };
    found.retain(|(_, one)| !one.jobs.is_empty());
    Ok(found)
}

fn of_journal(path: &Path) -> Result<Option<RecordedApplication>, TraceError> {
    let (header, found) = journal::as_recorded(path, None)?;
    Ok(found.and_then(|found| {
        let world = World::of_journal(found.world.clone(), &header)?;
        Some(as_it_ran(found, world))
    }))
}

fn of_tasks(
    path: &Path,
    format: TaskFormat,
    columns: &Columns,
    wanted: &[u32],
) -> Result<Vec<(u32, RecordedApplication)>, TraceError> {
    let found = tasks::as_recorded(path, format, columns, wanted, None)?;
    let of = |(number, found): (u32, RecordedWorkload)| {
        let world = World::of_tasks(found.world.clone(), format);
        (number, as_it_ran(found, world))
    };
    Ok(found.into_iter().map(of).collect())
}

fn of_hadoop(path: &Path, wanted: &[u32]) -> Result<Vec<(u32, RecordedApplication)>, TraceError> {
    let found = hadoop::as_recorded(path, wanted, None)?;
    let of = |(number, found): (u32, RecordedWorkload)| {
        let world = World::of_hadoop(found.world.clone(), found.had_copies);
        let version = found.id.as_deref().and_then(settings::version_of_hadoop);
        (number, RecordedApplication { version, ..as_it_ran(found, world) })
    };
    Ok(found.into_iter().map(of).collect())
}

fn as_it_ran(found: RecordedWorkload, world: World) -> RecordedApplication {
    let RecordedWorkload { mut jobs, nodes, .. } = found;
    world.recorded.give_durations(&mut jobs);
    RecordedApplication { jobs, executors: nodes, world, version: None, is_sql: false }
}

fn of_spark(path: &Path) -> Result<Option<RecordedApplication>, TraceError> {
    let trace = spark::open(path, None)?;
    let version = trace.applications().first().and_then(|application| application.spark_version.clone());
    let Some(world) = trace.world().cloned() else { return Ok(None) };
    let is_sql = trace.uses_sql();
    let (_, mut jobs, executors, _) = trace.into_parts();
    world.give_durations(&mut jobs);
    Ok(Some(RecordedApplication {
        jobs,
        executors,
        world: World::of_spark(world, version.as_deref()),
        version: version.as_deref().and_then(settings::version),
        is_sql,
    }))
}
