//! All applications of a log together, as `hindmost replay` runs them.

use super::nodes::RecordedNode;
use super::planned;
use super::replayed::Replay;
use super::workload::{UNNAMED, workload, workload_without_world};
use crate::format::Kind;
use crate::joined::Joined;
use crate::reading::warnings::some;
use crate::recorder::Kept;
use crate::recording::PhaseRows;
use crate::summary::TraceSummary;

/// The warning on slots that follow from attempts that ran at the same time.
const SLOTS_OF_ATTEMPTS: &str = "The log does not say how many slots nodes had; each node gets as many slots as the most \
                                 attempts that ran on it at the same time.";
/// The warning on slots that follow from what attempts used.
const SLOTS_USED: &str =
    "The log does not say how many slots nodes had; each node gets as many slots as were used on it at the same time.";
/// The warning on a log without a world.
const TOO_LARGE: &str = "The log is too large to be replayed as it ran: failed attempts are left out, and recorded and \
                         replayed times are not compared. In the replay a phase waits for the phases that had ended before it \
                         began, and its tasks start when slots are free.";

/// Returns the jobs and nodes of a log, and warnings about what was left out. A journal has a replay of its own.
pub(crate) fn together(kind: Kind, summary: &TraceSummary, kept: Kept) -> (Replay, Vec<String>) {
    let Kept { applications, recordings, machines, mut about, joined, .. } = kept;
    match kind {
        Kind::Spark => (planned::of_spark(&recordings, applications > 1), about),
        Kind::Hadoop => {
            let replay = planned::of_hadoop(recordings, &machines);
            about.extend((!machines.is_empty()).then(|| SLOTS_OF_ATTEMPTS.to_owned()));
            let idle = summary.jobs - replay.jobs.len() as u64;
            if idle > 0 {
                let jobs = some(idle, "job has", "jobs have");
                about.push(format!("{jobs} no task that succeeded; left out of replays."));
            }
            (replay, about)
        }
        Kind::Tasks(_) => (of_rows(joined.unwrap_or_default(), &mut about), about),
        Kind::Journal => (Replay::default(), about),
    }
}

/// Returns the jobs of a log that is read row by row. Attempts whose node it does not name ran on machines of their own.
fn of_rows(joined: Joined, about: &mut Vec<String>) -> Replay {
    let (recording, is_too_large) = joined.into_recording();
    let largest = recording.phases.iter().map(PhaseRows::slots_of_a_task).max().unwrap_or(1);
    let found = if is_too_large { workload_without_world(recording) } else { workload(recording) };
    let Some(mut replay) = found else { return Replay::default() };
    let unnamed: u32 = replay.nodes.iter().filter(|node| node.host.is_empty()).map(|node| node.slots).sum();
    // Engines start copies on other machines, so these attempts don't share one.
    replay.nodes.retain(|node| !node.host.is_empty());
    // A task with several slots needs one machine that has them.
    let each = if replay.nodes.is_empty() { largest } else { 1 };
    let machine = |_| RecordedNode::unnamed(UNNAMED, each);
    replay.nodes.extend((0..unnamed.div_ceil(each)).map(machine));
    about.push(SLOTS_USED.to_owned());
    if unnamed > 0 {
        about.push(format!(
            "Attempts whose node is not known ran on up to {unnamed} slots at the same time; the replay has as many slots on \
             machines of its own for them."
        ));
    }
    let jobs = replay.world.iter().flat_map(|world| &world.jobs);
    let (count, seconds) = jobs.filter(|job| job.again > 0.0).fold((0, 0.0), |(n, sum), job| (n + 1, sum + job.again));
    if count > 0 {
        about.push(format!(
            "A replay runs each task once, so recorded times are without the end of {} in which only work ran again that had succeeded \
             ({seconds:.1} s).",
            some(count, "job", "jobs")
        ));
    }
    about.extend(is_too_large.then(|| TOO_LARGE.to_owned()));
    replay
}
