//! Looks at the cluster in a thread of its own: which steps and allocations there are, and in what state the nodes are. So a
//! controller that does not answer never holds up the run.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::commands::{self, Allocation, SlurmError, Step};
use super::keeper::Pulse;
use super::nodes::{self, SlurmNode};

/// Time between two looks if nothing is in doubt.
const CALM: Duration = Duration::from_secs(5);
/// Shortest time between two looks, so that the controller is not overloaded.
const SHORTEST: Duration = Duration::from_millis(250);
/// Time for which Slurm may fail to answer before the user is notified.
const QUIET: Duration = Duration::from_secs(10);

/// The state of the cluster as far as it concerns the run.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When the look began: what happened later is not in it.
    pub begun: Instant,
    /// Steps of this user that have not ended.
    pub steps: Vec<Step>,
    /// Allocations of this user.
    pub allocations: Vec<Allocation>,
    /// The nodes of the run.
    pub nodes: Vec<SlurmNode>,
}

impl Snapshot {
    /// Looks at the cluster. `names` is a list of nodes.
    ///
    /// # Errors
    /// If one of Slurm's commands fails.
    pub fn take(names: &str) -> Result<Snapshot, SlurmError> {
        let begun = Instant::now();
        Ok(Snapshot {
            begun,
            steps: commands::steps()?,
            allocations: commands::allocations()?,
            nodes: nodes::show(Some(names))?,
        })
    }

    /// Returns what has happened to a node since its `slurmd` was started at the time `before`, if that may have ended what ran there.
    pub fn node_fault(&self, node: &str, before: Option<&str>) -> Option<String> {
        let found = self.nodes.iter().find(|found| found.name == node)?;
        if !found.is_up() {
            return Some(format!("Slurm says {} of its node {node}", found.state));
        }
        let now = found.slurmd_started.as_deref();
        let has_restarted = before.is_some_and(|before| now.is_some_and(|now| now != before));
        has_restarted.then(|| format!("`slurmd` of its node {node} has ended and was started again"))
    }

    /// Returns when the `slurmd` of a node was started, as Slurm prints it; `None` if that is unknown.
    pub fn slurmd_started(&self, node: &str) -> Option<&str> {
        self.nodes.iter().find(|found| found.name == node)?.slurmd_started.as_deref()
    }

    /// Returns the state of a cluster of which nothing is known.
    pub fn empty() -> Snapshot {
        Snapshot { begun: Instant::now(), steps: Vec::new(), allocations: Vec::new(), nodes: Vec::new() }
    }

    /// Takes a snapshot, and tries again for some time while the controller does not answer.
    ///
    /// # Errors
    /// If it does not answer within `patience`.
    pub fn take_within(names: &str, patience: Duration) -> Result<Snapshot, SlurmError> {
        let begin = Instant::now();
        loop {
            match Snapshot::take(names) {
                Err(_) if begin.elapsed() < patience => std::thread::sleep(Duration::from_millis(500)),
                other => return other,
            }
        }
    }
}

/// What the observer reports.
#[derive(Debug)]
pub enum Seen {
    /// A snapshot.
    Cluster(Snapshot),
    /// Slurm has not answered for some time.
    Silent(String),
    /// Slurm answers again.
    Answers,
}

/// The observer.
#[derive(Debug)]
pub struct Observer {
    wanted: Sender<()>,
    seen: Receiver<Seen>,
}

impl Observer {
    /// Starts to observe these nodes. Shows in the run's folder that the run lives.
    pub fn start(names: String, folder: PathBuf) -> Observer {
        let (wanted, requests) = channel();
        let (reports, seen) = channel();
        std::thread::spawn(move || observe(&names, Pulse::new(&folder), &requests, &reports));
        Observer { wanted, seen }
    }

    /// Requests a look now.
    pub fn look(&self) {
        let _ = self.wanted.send(());
    }

    /// Returns what has been seen since the last call.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

fn observe(names: &str, mut pulse: Pulse, requests: &Receiver<()>, reports: &Sender<Seen>) {
    let mut failing: Option<(Instant, bool)> = None;
    loop {
        pulse.show();
        let begin = Instant::now();
        let report = match Snapshot::take(names) {
            Ok(snapshot) => {
                if let Some((_, true)) = failing.take()
                    && reports.send(Seen::Answers).is_err()
                {
                    return;
                }
                Some(Seen::Cluster(snapshot))
            }
            Err(error) => {
                let (since, is_reported) = *failing.get_or_insert((begin, false));
                let is_late = !is_reported && since.elapsed() > QUIET;
                if is_late {
                    failing = Some((since, true));
                }
                is_late.then(|| Seen::Silent(error.to_string()))
            }
        };
        if report.is_some_and(|report| reports.send(report).is_err()) {
            return;
        }
        let pause = if failing.is_some() { Duration::from_secs(1) } else { CALM };
        match requests.recv_timeout(pause) {
            Ok(()) => {
                std::thread::sleep(SHORTEST.saturating_sub(begin.elapsed()));
                while requests.try_recv().is_ok() {}
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
