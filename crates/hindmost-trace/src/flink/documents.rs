//! The documents of the REST interface of which attempts are made.

use serde::Deserialize;

use crate::reading::values::{Number, Owned};

/// An attempt of a subtask.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Attempt {
    pub subtask: Number,
    pub status: Owned,
    #[serde(rename = "attempt")]
    pub number: Number,
    pub endpoint: Owned,
    /// The endpoint in Flink 1.
    pub host: Owned,
    pub start_time: Number,
    pub end_time: Number,
    pub metrics: Metrics,
    pub taskmanager_id: Owned,
    pub status_duration: Spent,
    pub other_concurrent_attempts: Option<Vec<Attempt>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Metrics {
    pub read_bytes: Number,
}

/// The milliseconds for which an attempt was in a state.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "UPPERCASE")]
pub(super) struct Spent {
    pub created: Number,
    pub scheduled: Number,
}

/// What is read of `/jobs/J`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Overview {
    pub name: Owned,
    #[serde(rename = "job-type")]
    pub kind: Owned,
    #[serde(rename = "schedulerType")]
    pub scheduler: Owned,
    pub vertices: Vec<Vertex>,
    pub plan: Plan,
}

/// Which vertices have results of which others as inputs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Plan {
    pub nodes: Vec<Node>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub id: Owned,
    pub inputs: Vec<Input>,
}

/// An input of a vertex: the vertex whose result it is, and whether this one waits for its end (`blocking`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    pub id: Owned,
    pub exchange: Owned,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Vertex {
    pub id: Owned,
    pub name: Owned,
    pub subtasks: Vec<Attempt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Exceptions {
    pub exception_history: History,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct History {
    pub entries: Vec<Exception>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Exception {
    #[serde(rename = "exceptionName")]
    pub name: Owned,
    /// Such as `work (7/8) - execution #0`.
    pub task_name: Owned,
    pub concurrent_exceptions: Option<Vec<Exception>>,
}

impl Attempt {
    pub fn start(&self) -> Option<f64> {
        self.start_time.instant().map(|at| at as f64 / 1000.0)
    }

    pub fn end(&self) -> Option<f64> {
        self.end_time.instant().map(|at| at as f64 / 1000.0)
    }

    /// Returns when it could have started. Adaptive schedulers create attempts when they may run, and others when the job begins.
    pub fn submitted(&self, is_adaptive: bool) -> Option<f64> {
        let Spent { created, scheduled } = self.status_duration;
        let created = created.real().filter(|_| is_adaptive).unwrap_or(0.0);
        let waited = (created + scheduled.real()?) / 1000.0;
        self.start().filter(|_| waited >= 0.0).map(|start| start - waited)
    }

    /// Returns the machine: that in the name of the TaskManager (`HOST:PORT-RANDOM`), or in the address, or else the whole name.
    pub fn node(&self) -> &str {
        let name = self.taskmanager_id.get().unwrap_or_default();
        let host = |text: &'_ str| text.rsplit_once(':').map_or(0, |(host, _)| host.len());
        let has_port =
            |text: &str| text.rsplit_once(':').is_some_and(|(_, port)| port.starts_with(|c: char| c.is_ascii_digit()));
        let address = self.endpoint.filled().or(self.host.filled()).unwrap_or_default();
        match (has_port(name), has_port(address)) {
            (true, _) => &name[..host(name)],
            (_, true) => &address[..host(address)],
            _ if name.is_empty() => address,
            _ => name,
        }
    }
}

/// A document of an archive.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Document {
    pub path: Owned,
    pub json: Owned,
}
