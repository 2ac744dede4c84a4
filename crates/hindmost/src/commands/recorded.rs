//! What `replay` reads: logs of Spark and Hadoop and journals of our own runs, as jobs and nodes.

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
        (dimensions, vec![node("machine", count, Resources::ONE_SLOT, 1.0)])
    }
}

/// Reads a log or journal.
pub fn read(path: &Path) -> Outcome<Recorded> {
    let recorded = match any::kind(path).map_err(Failure::input)? {
        LogKind::Journal(found) => of_journal(&found, path.display().to_string())?,
        LogKind::Hadoop => of_hadoop(path)?,
        LogKind::Spark => of_spark(path)?,
    };
    if recorded.jobs.is_empty() {
        return Err(Failure::input(format!(
            "{}: no job of this log has a finished task, so there is nothing to replay",
            recorded.name
        )));
    }
    Ok(recorded)
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
        nodes: trace.nodes.iter().map(|found| node(&found.name, 1, found.capacity, found.speed)).collect(),
        jobs: Arc::new(trace.jobs),
        about_durations: journal::COPIES_NOTE,
        notes,
        header: Some(trace.header),
        name,
    })
}

fn of_spark(path: &Path) -> Outcome<Recorded> {
    let trace = with_progress(|progress| spark::open(path, Some(progress)))?;
    let (summary, jobs, recorded, _) = trace.into_parts();
    Ok(of_slots(path, summary, jobs, &recorded))
}

fn of_hadoop(path: &Path) -> Outcome<Recorded> {
    // Nodes' memory is not in the logs: what ran beside each other is all that is known of their room.
    let trace = with_progress(|progress| hadoop::open(path, Some(progress)))?.without_memory();
    let (summary, jobs, recorded, _) = trace.into_parts();
    Ok(of_slots(path, summary, jobs, &recorded))
}

/// Jobs on nodes of which the number of slots is known.
fn of_slots(path: &Path, summary: TraceSummary, jobs: Vec<WorkloadJob>, recorded: &[RecordedNode]) -> Recorded {
    let mut notes = summary.warnings;
    let (nodes, note) = cluster(recorded);
    notes.extend(note);
    Recorded {
        // A slot is a cpu here.
        dimensions: Dimensions::of([&DemandByName::new()]).unwrap_or_else(|_| Dimensions::one_slot()),
        nodes,
        jobs: Arc::new(jobs),
        about_durations: COPIES_NOTE,
        notes,
        header: None,
        name: path.display().to_string(),
    }
}

fn node(name: &str, count: u32, capacity: Resources, speed: f64) -> NodeKind {
    NodeKind { count, name: name.to_owned(), capacity, speed: Parameter::Number(speed), racks: Racks::None }
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
    let chosen: Vec<NodeKind> =
        alive_at(best.0).map(|found| node(&found.name, 1, slots(found.slots.max(1)), 1.0)).collect();
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
