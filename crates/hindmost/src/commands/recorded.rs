//! Reads logs of Spark and Hadoop, and journals of runs, as jobs and nodes for `replay`.

use std::path::Path;
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::journal::Header;
use hindmost_core::metrics::Diagnosis;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::workload::{DemandByName, WorkloadJob};
use hindmost_forecast::cluster::{node, of_executor, with_unique_names};
use hindmost_forecast::world::World;
use hindmost_sim::experiment::NodeKind;
use hindmost_trace::journal::{self, RecordedRun};
use hindmost_trace::log::{self, Log};
use hindmost_trace::replay::{RecordedNode, Replay};
use hindmost_trace::table::Columns;
use hindmost_trace::{COPIES_NOTE, Kind, SITUATED_NOTE, TraceError, TraceSummary, Wanted};

use crate::failure::{Failure, Outcome};

use super::trace::with_progress;

/// A note on logs with copies, which do not say what started them.
const COPIES_RAN: &str = "Copies ran in this log, which does not say by what rule. The replay of none has the times with these \
                          copies, not those without any: what the originals would have taken is not known, so gains against \
                          none are too small.";

/// Jobs and cluster of a log or journal.
pub struct Recorded {
    /// The path of the log, as the user gave it.
    pub name: String,
    /// Dimensions of the nodes' resources.
    pub dimensions: Dimensions,
    /// The nodes of the cluster.
    pub nodes: Vec<NodeKind>,
    /// The jobs to replay.
    pub jobs: Arc<Vec<WorkloadJob>>,
    /// A sentence that says how durations of copies that never ran are chosen.
    pub about_durations: &'static str,
    /// Notes on the log, in sentences for the user.
    pub notes: Vec<String>,
    /// How the jobs of a log ran; `None` for journals, and for logs of several applications.
    pub world: Option<World>,
    /// The header of a journal, which has policy, order and progress model; `None` for logs.
    pub header: Option<Header>,
    /// What the applications spent their time on, if that was wanted.
    pub diagnoses: Vec<Diagnosis>,
}

impl Recorded {
    /// Returns the progress model of the recorded run; `None` for logs. For `history`, which a replay does not have, it
    /// returns `age`.
    pub fn knowledge(&self) -> Option<Knowledge> {
        match self.header.as_ref()?.knowledge {
            // With `history` a live run learns durations while it runs. In a replay they are known from the start.
            Knowledge::History => Some(Knowledge::Age),
            other => Some(other),
        }
    }

    /// Returns this number of one-slot machines, with their dimensions, to replace the recorded nodes.
    pub fn machines(&self, count: u32) -> (Dimensions, Vec<NodeKind>) {
        // In the dimensions of a journal, a task may demand more than a one-slot machine has.
        let dimensions = if self.header.is_some() { Dimensions::one_slot() } else { self.dimensions.clone() };
        let machine = NodeKind { count, numbered: true, ..node("machine", Resources::ONE_SLOT, 1.0) };
        (dimensions, vec![machine])
    }
}

/// Reads a log or journal, once. With `diagnoses`, also finds out what its applications spent their time on.
pub fn read(path: &Path, columns: &Columns, diagnoses: bool) -> Outcome<Recorded> {
    if path == Path::new(log::STANDARD_INPUT) {
        return Err(Failure::input(
            "the results of a replay name its log, so it comes from a file, not from standard input: save it as a file and give its path",
        ));
    }
    let wanted = Wanted { diagnoses, ..Wanted::REPLAYS };
    let mut log = with_progress(|progress| log::read(path, columns, wanted, Some(progress)))?;
    let diagnoses = std::mem::take(&mut log.diagnoses);
    let recorded = match log.take_run() {
        Some(run) => of_journal(run, &log, path),
        None => of_log(log, path),
    }?;
    Ok(Recorded { diagnoses, ..recorded })
}

/// Returns why a log has no job to replay.
fn nothing_to_replay(summary: &TraceSummary) -> String {
    let nothing = "so there is nothing to replay";
    let spark = summary.spark.unwrap_or_default();
    let tasks = match spark.winners {
        0 => return format!("no job of this log has a finished task, {nothing}"),
        1 => "1 task has".to_owned(),
        tasks => format!("{tasks} tasks have"),
    };
    if spark.stages_without_job > 0 {
        return format!(
            "{tasks} finished, but the log has no start of their jobs, {nothing}; its beginning or other lines are missing: \
             give the whole log"
        );
    }
    format!("{tasks} finished, but none has a launch time with a later finish time, {nothing}")
}

fn of_journal(run: RecordedRun, log: &Log, path: &Path) -> Outcome<Recorded> {
    let RecordedRun { header, jobs, nodes, mut notes } = run;
    let Some(jobs) = jobs else { return Err(Failure::input(TraceError::NothingFinished { name: log.name.clone() })) };
    notes.extend(log.summary.warnings.iter().chain(log.about_replays()).cloned());
    if header.knowledge == Knowledge::History {
        notes.push(
            "the run used knowledge history, which is for live runs only; the replay uses age instead".to_owned(),
        );
    }
    Ok(Recorded {
        name: path.display().to_string(),
        dimensions: header.dimensions.clone(),
        nodes: with_unique_names(
            nodes
                .iter()
                .map(|found| NodeKind { power: found.power.clone(), ..node(&found.name, found.capacity, found.speed) }),
        ),
        jobs: Arc::new(jobs),
        about_durations: journal::COPIES_NOTE,
        notes,
        world: None,
        header: Some(header),
        diagnoses: Vec::new(),
    })
}

/// Returns the name of an executor as a node: `executor-4@host`. If the log has several applications, the
/// application's name comes first.
fn executor_name(node: &RecordedNode) -> String {
    let (application, id) = node.name.rsplit_once(' ').map_or(("", &*node.name), |(before, id)| (before, id));
    let gap = if application.is_empty() { "" } else { " " };
    let at = if node.host.is_empty() { "" } else { "@" };
    format!("{application}{gap}executor-{id}{at}{}", node.host)
}

/// Returns jobs and nodes of a log that gives the number of slots of each node.
fn of_log(log: Log, path: &Path) -> Outcome<Recorded> {
    let (kind, version) = (log.kind, log.version().map(str::to_owned));
    let summary = log.summary.clone();
    let (Replay { mut jobs, nodes: mut recorded, world, had_copies, .. }, about) = log.into_replay();
    if jobs.is_empty() {
        return Err(Failure::input(format!("{}: {}", path.display(), nothing_to_replay(&summary))));
    }
    if kind == Kind::Spark {
        for node in &mut recorded {
            node.name = executor_name(node);
        }
    }
    let world = world.map(|world| match kind {
        Kind::Hadoop => World::of_hadoop(world, summary.speculative_attempts > 0),
        Kind::Tasks(format) => World::of_tasks(world, format),
        Kind::Spark | Kind::Journal => World::of_spark(world, version.as_deref(), (&recorded, had_copies)),
    });
    let mut notes = summary.warnings;
    notes.extend(about);
    let (nodes, note) = match &world {
        Some(world) => (with_unique_names(recorded.iter().map(of_executor)), world.about()),
        None => cluster(&recorded),
    };
    notes.extend(note);
    if let Some(world) = &world {
        world.recorded.give_durations(&mut jobs);
        // Other engines say what started copies.
        notes.extend((had_copies && matches!(kind, Kind::Tasks(_))).then(|| COPIES_RAN.to_owned()));
    }
    Ok(Recorded {
        name: path.display().to_string(),
        // A slot is one cpu.
        dimensions: Dimensions::of([&DemandByName::new()]).unwrap_or_else(|_| Dimensions::one_slot()),
        nodes,
        jobs: Arc::new(jobs),
        about_durations: if world.is_some() { SITUATED_NOTE } else { COPIES_NOTE },
        notes,
        world,
        header: None,
        diagnoses: Vec::new(),
    })
}

/// Returns the executors that were present when the log had its largest number of slots, as nodes. All executors of a log
/// together would be too many, because some replaced others. The note gives the number of executors that are used.
fn cluster(recorded: &[RecordedNode]) -> (Vec<NodeKind>, Option<String>) {
    let present_at = |time: f64| {
        recorded.iter().filter(move |node| {
            node.added.is_none_or(|added| added <= time) && node.removed.is_none_or(|removed| removed > time)
        })
    };
    let slots_at = |time: f64| present_at(time).map(|node| u64::from(node.slots)).sum::<u64>();
    let mut best = (f64::NEG_INFINITY, slots_at(f64::NEG_INFINITY));
    for time in recorded.iter().filter_map(|node| node.added) {
        let slots = slots_at(time);
        if slots > best.1 {
            best = (time, slots);
        }
    }
    let chosen = with_unique_names(present_at(best.0).map(of_executor));
    let note = (chosen.len() < recorded.len()).then(|| {
        format!(
            "the log has {} executors over time; the replay uses the {} that were present when the number of slots was \
             largest ({} slots)",
            recorded.len(),
            chosen.len(),
            best.1
        )
    });
    (chosen, note)
}
