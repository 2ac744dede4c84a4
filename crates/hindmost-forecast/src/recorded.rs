//! Reads a log with all that a forecast needs.

use std::path::Path;

use hindmost_core::workload::WorkloadJob;
use hindmost_trace::any::{self, LogKind};
use hindmost_trace::diagnosis::RecordedWorkload;
use hindmost_trace::table::Columns;
use hindmost_trace::tasks::{self, TaskFormat};
use hindmost_trace::{RecordedNode, TraceError, hadoop, journal, spark};

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
}

/// Reads a log. `columns` are those of a table. `None` for logs of several applications of Spark or of tables, and for logs without a
/// job that can be replayed.
///
/// # Errors
/// If the log can't be read.
pub fn read(path: &Path, columns: &Columns) -> Result<Option<RecordedApplication>, TraceError> {
    let application = match any::kind_with(path, columns)? {
        LogKind::Journal(journal) => of_journal(&journal)?,
        LogKind::Tasks(format) => of_tasks(path, format, columns)?,
        LogKind::Spark => of_spark(path)?,
        LogKind::Hadoop => Some(of_hadoop(path)?),
    };
    Ok(application.filter(|one| !one.jobs.is_empty()))
}

fn of_journal(path: &Path) -> Result<Option<RecordedApplication>, TraceError> {
    let (header, found) = journal::as_recorded(path, None)?;
    Ok(found.and_then(|found| {
        let world = World::of_journal(found.world.clone(), &header)?;
        Some(as_it_ran(found, world))
    }))
}

fn of_tasks(path: &Path, format: TaskFormat, columns: &Columns) -> Result<Option<RecordedApplication>, TraceError> {
    let found = tasks::as_recorded(path, format, columns, None)?;
    Ok(found.map(|found| {
        let world = World::of_tasks(found.world.clone(), format);
        as_it_ran(found, world)
    }))
}

fn as_it_ran(found: RecordedWorkload, world: World) -> RecordedApplication {
    let RecordedWorkload { mut jobs, nodes, .. } = found;
    world.recorded.give_durations(&mut jobs);
    RecordedApplication { jobs, executors: nodes, world }
}

fn of_spark(path: &Path) -> Result<Option<RecordedApplication>, TraceError> {
    let trace = spark::open(path, None)?;
    let version = trace.applications().first().and_then(|application| application.spark_version.clone());
    let Some(world) = trace.world().cloned() else { return Ok(None) };
    let (_, mut jobs, executors, _) = trace.into_parts();
    world.give_durations(&mut jobs);
    Ok(Some(RecordedApplication { jobs, executors, world: World::of_spark(world, version.as_deref()) }))
}

fn of_hadoop(path: &Path) -> Result<RecordedApplication, TraceError> {
    let trace = hadoop::open(path, None)?.without_memory();
    let had_copies = trace.summary().speculative_attempts > 0;
    let world = trace.world().clone();
    let (_, mut jobs, executors, _) = trace.into_parts();
    world.give_durations(&mut jobs);
    Ok(RecordedApplication { jobs, executors, world: World::of_hadoop(world, had_copies) })
}
