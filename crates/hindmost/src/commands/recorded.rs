//! What `replay` reads: logs of Spark and Hadoop and journals of our own runs, as jobs and nodes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::journal::Header;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::workload::{DemandByName, WorkloadJob};
use hindmost_sim::experiment::{NodeKind, Racks};
use hindmost_sim::parameter::Parameter;
use hindmost_trace::any::{self, LogKind};
use hindmost_trace::{COPIES_NOTE, RecordedNode, TraceSummary, hadoop, journal, spark};

use crate::failure::{Failure, Outcome};

use super::trace::with_progress;

/// Jobs and cluster of a log or journal.
pub struct Recorded {
    /// The file, as it was named.
    pub name: String,
    /// Dimensions of room.
    pub dimensions: Dimensions,
    /// The nodes.
    pub nodes: Vec<NodeKind>,
    /// The jobs.
    pub jobs: Arc<Vec<WorkloadJob>>,
    /// How durations that were not recorded are found.
    pub about_durations: &'static str,
    /// What is to be told of it, in sentences for people.
    pub notes: Vec<String>,
    /// Of a journal: policy, order, knowledge and so on of the run.
    pub header: Option<Header>,
}

impl Recorded {
    /// What policies knew in the recorded run, as far as a replay can give it to them; `None` where
    /// nobody says.
    pub fn knowledge(&self) -> Option<Knowledge> {
        match self.header.as_ref()?.knowledge {
            // Learned as the run went on; a replay knows the durations from its beginning.
            Knowledge::History => Some(Knowledge::Age),
            other => Some(other),
        }
    }

    /// So many one-slot machines instead of the recorded nodes.
    pub fn machines(&self, count: u32) -> (Dimensions, Vec<NodeKind>) {
        // Tasks of a journal may need more than one-slot machines of its dimensions would have.
        let dimensions = if self.header.is_some() { Dimensions::one_slot() } else { self.dimensions.clone() };
        let machine = NodeKind { count, numbered: true, ..node("machine", Resources::ONE_SLOT, 1.0) };
        (dimensions, vec![machine])
    }
}

/// Reads a log or journal.
pub fn read(path: &Path) -> Outcome<Recorded> {
    match any::kind(path).map_err(Failure::input)? {
        LogKind::Journal(found) => of_journal(&found, path.display().to_string()),
        LogKind::Hadoop => of_hadoop(path),
        LogKind::Spark => of_spark(path),
    }
}

/// Why a log without a job for a replay has none.
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
            "{tasks} finished, but of stages whose job has no start in this log, {nothing}; the log begins inside its jobs, or lines of it are missing: give the whole one"
        );
    }
    format!("{tasks} finished, but none with a launch and a finish after it, {nothing}")
}

fn of_journal(path: &Path, name: String) -> Outcome<Recorded> {
    let trace = with_progress(|progress| journal::open(path, Some(progress)))?;
    let mut notes = trace.notes;
    notes.extend(trace.summary.warnings);
    if trace.header.knowledge == Knowledge::History {
        notes.push("the run's knowledge, history, is for live runs; a replay knows its durations: age".to_owned());
    }
    Ok(Recorded {
        dimensions: trace.header.dimensions.clone(),
        nodes: unlike(trace.nodes.iter().map(|found| node(&found.name, found.capacity, found.speed))),
        jobs: Arc::new(trace.jobs),
        about_durations: journal::COPIES_NOTE,
        notes,
        header: Some(trace.header),
        name,
    })
}

fn of_spark(path: &Path) -> Outcome<Recorded> {
    let trace = with_progress(|progress| spark::open(path, Some(progress)))?;
    let (summary, jobs, mut recorded, _) = trace.into_parts();
    for node in &mut recorded {
        node.name = executor_name(node);
    }
    of_slots(path, summary, jobs, &recorded)
}

/// What an executor is called as a node: `executor-4@host`, behind the application where there are several.
fn executor_name(node: &RecordedNode) -> String {
    let (application, id) = node.name.rsplit_once(' ').map_or(("", &*node.name), |(before, id)| (before, id));
    let gap = if application.is_empty() { "" } else { " " };
    let at = if node.host.is_empty() { "" } else { "@" };
    format!("{application}{gap}executor-{id}{at}{}", node.host)
}

fn of_hadoop(path: &Path) -> Outcome<Recorded> {
    // Nodes' memory is not in the logs: what ran beside each other is all that is known of their room.
    let trace = with_progress(|progress| hadoop::open(path, Some(progress)))?.without_memory();
    let (summary, jobs, recorded, _) = trace.into_parts();
    of_slots(path, summary, jobs, &recorded)
}

/// Jobs on nodes of which the number of slots is known.
fn of_slots(
    path: &Path,
    summary: TraceSummary,
    jobs: Vec<WorkloadJob>,
    recorded: &[RecordedNode],
) -> Outcome<Recorded> {
    if jobs.is_empty() {
        return Err(Failure::input(format!("{}: {}", path.display(), nothing_to_replay(&summary))));
    }
    let mut notes = summary.warnings;
    let (nodes, note) = cluster(recorded);
    notes.extend(note);
    Ok(Recorded {
        // A slot is a cpu here.
        dimensions: Dimensions::of([&DemandByName::new()]).unwrap_or_else(|_| Dimensions::one_slot()),
        nodes,
        jobs: Arc::new(jobs),
        about_durations: COPIES_NOTE,
        notes,
        header: None,
        name: path.display().to_string(),
    })
}

/// A node of this name.
fn node(name: &str, capacity: Resources, speed: f64) -> NodeKind {
    NodeKind {
        count: 1,
        name: name.to_owned(),
        numbered: false,
        capacity,
        speed: Parameter::Number(speed),
        racks: Racks::None,
    }
}

/// The nodes, of which those are numbered whose name another one has, too.
fn unlike(nodes: impl Iterator<Item = NodeKind>) -> Vec<NodeKind> {
    let mut nodes: Vec<NodeKind> = nodes.collect();
    let mut names = BTreeMap::<String, u32>::new();
    for node in &nodes {
        *names.entry(node.name.clone()).or_default() += 1;
    }
    for node in &mut nodes {
        node.numbered = names[&node.name] > 1;
    }
    nodes
}

/// The executors of a log as nodes: those of the moment when they had the most slots together, since
/// executors that come after others have gone never ran beside them.
fn cluster(recorded: &[RecordedNode]) -> (Vec<NodeKind>, Option<String>) {
    let alive_at = |time: f64| {
        recorded.iter().filter(move |node| {
            node.added.is_none_or(|added| added <= time) && node.removed.is_none_or(|removed| removed > time)
        })
    };
    let slots_at = |time: f64| alive_at(time).map(|node| u64::from(node.slots)).sum::<u64>();
    let mut best = (f64::NEG_INFINITY, slots_at(f64::NEG_INFINITY));
    for time in recorded.iter().filter_map(|node| node.added) {
        let slots = slots_at(time);
        if slots > best.1 {
            best = (time, slots);
        }
    }
    let slots = |count: u32| {
        let mut capacity = Resources::NONE;
        capacity.0[0] = u64::from(count) * Resources::ONE_SLOT.0[0];
        capacity
    };
    let chosen = unlike(alive_at(best.0).map(|found| node(&found.name, slots(found.slots.max(1)), 1.0)));
    let note = (chosen.len() < recorded.len()).then(|| {
        format!(
            "{} executors came and went; replayed on the {} that ran at once when slots were most ({})",
            recorded.len(),
            chosen.len(),
            best.1
        )
    });
    (chosen, note)
}
