//! What a replay of a log needs.

use hindmost_core::workload::WorkloadJob;

use super::nodes::RecordedNode;
use super::world::RecordedWorld;

/// Jobs and nodes of a log, or of an application of it, and how the jobs ran. Times are in seconds.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// When the replay begins, on the log's clock: when the first job was submitted. Other times count from then on.
    pub origin: f64,
    /// The jobs with a task that succeeded, in the order of their arrivals. Each task takes as long as the attempt that won it.
    pub jobs: Vec<WorkloadJob>,
    /// The nodes. Those whose slots the log does not state have as many as attempts used at the same time.
    pub nodes: Vec<RecordedNode>,
    /// How the jobs ran; `None` if they can't be replayed as they ran.
    pub world: Option<RecordedWorld>,
    /// True if there were copies.
    pub had_copies: bool,
}
