//! Nodes of a recorded run.

/// A node of the recorded cluster. In a Spark log, a node is an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedNode {
    /// The node's id in the log. If several applications are read together, the application's id comes before it.
    pub name: String,
    /// Name of the machine; empty if the log does not name it.
    pub host: String,
    /// The most tasks that the node could run at the same time, at least 1.
    pub slots: u32,
    /// Whether `slots` follows from the number of cores in the log. If not, `slots` is the largest number of attempts
    /// of the log that ran on the node at the same time: the log does not say the number of cores, or it is too small.
    pub slots_known: bool,
    /// When the node was added, in seconds after the trace's origin (negative: before the origin); `None` if unknown.
    pub added: Option<f64>,
    /// When the node was removed, in seconds after the trace's origin; `None` if it stayed to the end.
    pub removed: Option<f64>,
}

impl RecordedNode {
    /// A machine that the log does not name.
    pub(super) fn unnamed(name: &str, slots: u32) -> RecordedNode {
        let (name, host) = (name.to_owned(), String::new());
        RecordedNode { name, host, slots, slots_known: false, added: None, removed: None }
    }
}
