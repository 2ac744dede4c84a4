//! Engines start, slow down and kill attempts on nodes, and report when they end.
//!
//! An engine does not know jobs, policies or results. It runs a shell that writes the end marker (see [`wrapped`]), or
//! writes the marker (see [`unwrapped`]). The marker, not the engine, says how an attempt ended.

mod clock;
mod command;
mod descriptors;
mod local;
mod nodes;
pub(crate) mod process_file;
mod scratch;
mod simple;
pub mod slurm;
mod speeds;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::resources::{Dimensions, PLENTY, ResourceError, Resources, feature_of};
use hindmost_core::time::Time;
use hindmost_core::usage::Usage;
use hindmost_core::workload::DemandByName;
use serde::{Deserialize, Serialize};

pub use command::{Marker, unwrapped, wrapped};
pub use local::Local;
pub use nodes::{NodesError, parse_nodes};
pub use scratch::temporary_place;
pub use speeds::{NodeSpeed, Speeds, check_names, give_speeds};
pub(crate) use speeds::{check_speed, features_of};

pub use crate::process::WrittenFile;
pub(crate) use crate::process::{KEY_VARIABLE, RUN_VARIABLE};

/// Name of the resource of GPUs.
pub const GPUS: &str = "gpus";

/// A node that an engine offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeOffer {
    /// Name of the node, unique in the run.
    pub name: String,
    /// Resources of the node: `cpus`, `memory` in bytes, and others by name.
    pub capacity: DemandByName,
    /// Features of the node by which the cluster manager distinguishes classes of nodes, such as `ssd`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Speed of the node as far as it is known before the run, relative to a node of speed 1.
    #[serde(default = "normal_speed")]
    pub speed: f64,
}

fn normal_speed() -> f64 {
    1.0
}

impl NodeOffer {
    /// Returns a node of speed 1 without features.
    pub fn new(name: String, capacity: DemandByName) -> NodeOffer {
        NodeOffer { name, capacity, features: Vec::new(), speed: normal_speed() }
    }

    /// True if the node has all of these features.
    pub fn has(&self, features: &[String]) -> bool {
        features.iter().all(|name| self.features.contains(name))
    }

    /// Returns the capacity in these dimensions, some of which may stand for features.
    ///
    /// # Errors
    /// If the node has a resource that is not among the dimensions.
    pub fn capacity_in(&self, dimensions: &Dimensions) -> Result<Resources, ResourceError> {
        let mut capacity = self.capacity.clone();
        for name in dimensions.names() {
            if feature_of(name).is_some_and(|feature| self.features.iter().any(|own| own == feature)) {
                capacity.insert(name.to_string(), PLENTY);
            }
        }
        dimensions.amounts(&capacity)
    }

    /// Returns the capacity as text, such as `2 cpus, 4GB of memory`.
    pub fn capacity_in_words(&self) -> String {
        hindmost_core::resources::in_words(&self.capacity)
    }
}

/// What an engine is opened for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// Name of the run for users.
    pub name: String,
    /// True if a task demands GPUs, or one of a job that arrives later may.
    pub wants_gpus: bool,
    /// True if probably nothing is left to run: nodes are requested only once an attempt is started.
    pub is_done: bool,
}

/// Identifies a run, so that its processes can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIdentity {
    /// Id of the run, unique among all runs. Every process of the run has it in its environment.
    pub id: String,
    /// Absolute path of the run's folder, as its commands received it.
    pub folder: PathBuf,
}

/// Returns the text that identifies an attempt within its run, in end markers and in the environment of processes.
pub fn key(attempt: AttemptId) -> String {
    format!("{}.{}.{}", attempt.task.phase, attempt.task.index, attempt.copy)
}

/// Returns the content of an attempt's end marker after its command has ended with this exit code. It names the run and
/// the attempt, so that no marker is mistaken for another's.
pub fn end_line(code: i32, run: &str, attempt: AttemptId) -> String {
    format!("exit {code} {run}/{}\n", key(attempt))
}

/// An attempt to be started.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Id of the attempt.
    pub attempt: AttemptId,
    /// Node on which the attempt runs.
    pub node: NodeId,
    /// Run to which the attempt belongs.
    pub run: &'a RunIdentity,
    /// The attempt's folder, which holds the end marker, the logs and the output folder.
    pub folder: &'a Path,
    /// The same folder, opened. The engine creates files in it relative to this handle and follows no links.
    pub handle: BorrowedFd<'a>,
    /// The shell that runs the command, with its options.
    pub shell: &'a [String],
    /// The user's shell command.
    pub command: &'a OsStr,
    /// Folder in which the command runs.
    pub directory: &'a Path,
    /// Environment variables in addition to those of this process.
    pub environment: &'a [(OsString, OsString)],
    /// The task's input file, if it has one.
    pub input: Option<&'a Path>,
    /// Resources of the node that the attempt uses, by name.
    pub demand: &'a DemandByName,
    /// Factor by which fault injection makes the attempt take longer; 1 means not at all.
    pub slowed: f64,
    /// True if the attempt must write its end marker even if this process ends before it. False if the engine may write the
    /// marker instead, which costs less: without this process the attempt then has no marker and is lost.
    pub outlives: bool,
    /// Folder in which the attempt's folder for temporary files is made; `None`: the one that the variable `TMPDIR` names.
    pub tmpdir: Option<&'a Path>,
    /// True if the command is a shell script that handles `SIGTERM` and ends then.
    pub cleans_up: bool,
    /// How long the processes of the attempt may take to end after they got `SIGTERM` ([`Engine::stop`]).
    pub kill_after: Duration,
    /// True if the task may not run twice. If the attempt's node is lost, [`Happened::Ended`] follows only once the attempt has surely
    /// ended.
    pub is_single: bool,
}

/// What is known of the resources of an attempt that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// What it has used.
    pub usage: Usage,
    /// True if the system has killed a process of it because memory was used up, as far as that can be proven.
    pub killed_for_memory: bool,
}

/// The loss of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLoss {
    /// The reason, for the user; `None` if there is nothing to say about it.
    pub why: Option<String>,
    /// True if the time is up for which the node was allocated. Tasks that take longer can't finish there.
    pub is_time_up: bool,
}

/// What an engine reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The command of an attempt that did not begin at once ([`Engine::has_begun`]) has begun, this long after its start.
    Begun(AttemptId, Time),
    /// All processes of the attempt have ended. Its end marker says how its command ended.
    Ended(AttemptId),
    /// All processes of the attempt have ended, and its command is not to blame unless its end marker says that it succeeded; holds what
    /// ended it, such as the failure of its node.
    CutShort(AttemptId, String),
    /// The attempt's command was not started, because the system lacked something that may be available soon, such as free
    /// processes; holds a message about it.
    NotBegun(AttemptId, String),
    /// The attempt has ended, but a process that it has started does not end and may still write; holds a message about this
    /// process.
    Stays(AttemptId, String),
    /// A node is lost, with all attempts that run on it. An end follows for each of these attempts, once it can do no harm; for those of
    /// tasks that may not run twice, once they have surely ended.
    NodeLost(NodeId, NodeLoss),
    /// A lost node has returned, and attempts can be started on it.
    NodeReturned(NodeId),
    /// Something that the user should know, which changes nothing for the run.
    Notice(String),
}

/// Starts, slows down and kills attempts.
pub trait Engine {
    /// Returns the nodes in the order of their ids.
    fn nodes(&self) -> &[NodeOffer];

    /// Returns the time since the run began.
    fn now(&self) -> Time;

    /// Sets the time since the run began, when a run is resumed.
    fn resume_at(&mut self, at: Time);

    /// Starts an attempt. [`Happened::Ended`] follows once it has ended.
    ///
    /// # Errors
    /// If it can't be started. In that case none of its processes runs.
    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()>;

    /// True if the command of a running attempt has begun. If not, [`Happened::Begun`] follows once it has.
    fn has_begun(&self, _attempt: AttemptId) -> bool {
        true
    }

    /// Takes over an attempt that an earlier process started. Returns false if it no longer runs; in that
    /// case no [`Happened::Ended`] follows.
    fn adopt(&mut self, launch: &Launch<'_>) -> bool;

    /// Kills all processes of a run that belong neither to the attempts in `kept` nor to attempts that this engine runs,
    /// and waits until they have ended. Returns a text about each process that does not end.
    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String>;

    /// Kills all processes of a run that do not belong to attempts that this engine runs, and waits until they have ended.
    /// Returns a text about each process that does not end.
    fn kill_strays(&mut self, run: &RunIdentity) -> Vec<String> {
        self.kill_strays_but(run, &HashSet::new())
    }

    /// Kills an attempt with all processes that it has started. [`Happened::Ended`] follows.
    fn kill(&mut self, attempt: AttemptId);

    /// Sends `SIGTERM` to all processes of an attempt, and kills those that are left after [`Launch::kill_after`].
    /// [`Happened::Ended`] follows once all have ended. The end marker does not say that the command has succeeded, unless it had before.
    /// An engine without processes of its own kills the attempt.
    fn stop(&mut self, attempt: AttemptId) {
        self.kill(attempt);
    }

    /// True if [`Engine::freeze`] keeps an attempt from doing anything.
    fn can_freeze(&self) -> bool {
        false
    }

    /// Stops all processes of an attempt without ending them, so that none of them does anything before the attempt is ended.
    fn freeze(&mut self, _attempt: AttemptId) {}

    /// Lets the processes of such an attempt go on.
    fn thaw(&mut self, _attempt: AttemptId) {}

    /// Ends an attempt beside which another one of its task succeeds or goes on, and whose programs nobody has read: what they do
    /// in order to clean up might destroy what the other attempt writes. So its processes are killed at once, except the shell of
    /// its command if the launch says that it cleans up ([`Launch::cleans_up`]); that gets `SIGTERM`. [`Happened::Ended`] follows.
    fn end_loser(&mut self, attempt: AttemptId) {
        self.kill(attempt);
    }

    /// Takes over an attempt that an earlier process started, whose task may not run twice, and that may still run although it can't be
    /// adopted, because its node is lost. [`Happened::Ended`] follows once it has surely ended. Returns false if it has ended already; then
    /// nothing follows.
    fn await_end(&mut self, _launch: &Launch<'_>) -> bool {
        false
    }

    /// Lets [`Happened::Ended`] follow soon for an attempt on a lost node although the attempt may still run, because the run ends.
    fn let_go(&mut self, _attempt: AttemptId) {}

    /// True if an attempt that an earlier process started still runs.
    fn is_running(&self, _run: &RunIdentity, _attempt: AttemptId) -> bool {
        false
    }

    /// Returns why the command of an attempt is not to blame for its end, such as the end of its allocation; `None` if nothing else
    /// is known to have ended it. The attempt was started by an earlier process, in this folder, and has ended with this exit code.
    fn cut_short(&mut self, _folder: BorrowedFd<'_>, _code: i32) -> Option<String> {
        None
    }

    /// Returns the reason if no lost node can return any more; `None` if it can.
    fn is_over(&self) -> Option<&str> {
        None
    }

    /// False while the system can start no more processes.
    fn can_start(&self) -> bool {
        true
    }

    /// Returns the share of its input that an attempt has read, in [0, 1]; `None` if it is unknown.
    fn read_share(&self, attempt: AttemptId) -> Option<f64>;

    /// Looks at the memory of an attempt's running processes, and returns it in bytes; `None` if it is unknown, or was looked at just
    /// before.
    fn memory(&mut self, _attempt: AttemptId) -> Option<u64> {
        None
    }

    /// Returns what is known of the resources of an attempt that has ended, once; `None` if that is nothing.
    fn take_used(&mut self, _attempt: AttemptId) -> Option<Used> {
        None
    }

    /// Returns the files outside its folder that an attempt has open for writing, as far as that is known.
    fn written_files(&self, _attempt: AttemptId) -> Vec<WrittenFile> {
        Vec::new()
    }

    /// Waits until something happens or until the time `until`, whichever comes first, and appends what has happened.
    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>);
}

/// Name of the end marker in an attempt's folder: one line, as [`end_line`] returns it.
pub const END_MARKER: &str = "end";

/// The name (`$0`) of the shell that runs an attempt.
pub(crate) const ROOT_NAME: &str = "hindmost-attempt";
