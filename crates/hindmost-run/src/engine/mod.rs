//! Engines: what starts, slows and kills attempts on nodes, and says what happened to them.
//!
//! An engine knows nothing of jobs, policies or results. It runs the wrapper that writes the end marker
//! (see [`wrapper`]), and the marker, not the engine, says how an attempt ended.

mod fake;
mod local;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::time::Time;
use hindmost_core::workload::DemandByName;
use serde::{Deserialize, Serialize};

pub use fake::{Fake, FakeTask};
pub(crate) use local::{KEY_VARIABLE, RUN_VARIABLE, key};
pub use local::{Local, NodesError, parse_nodes};

/// A node that an engine offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeOffer {
    /// Its name.
    pub name: String,
    /// Its room: `cpus`, `memory` in bytes, others.
    pub capacity: DemandByName,
}

impl NodeOffer {
    /// Its room, for people.
    pub fn room(&self) -> String {
        hindmost_core::resources::room(&self.capacity)
    }
}

/// An attempt to be started.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The attempt.
    pub attempt: AttemptId,
    /// Where.
    pub node: NodeId,
    /// The attempt's own folder, where the end marker, logs and the output folder are.
    pub folder: &'a Path,
    /// The command, for the shell.
    pub command: &'a str,
    /// The folder in which it runs.
    pub directory: &'a Path,
    /// Variables beyond those of this process.
    pub environment: &'a [(OsString, OsString)],
    /// The file that it reads, if it has one.
    pub input: Option<&'a Path>,
    /// How many times as long as on other nodes it shall take (rehearsal); 1 is as fast as it goes.
    pub slowed: f64,
}

/// What has happened to attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Nothing is left of it; its end marker says how it ended.
    Ended(AttemptId),
}

/// Starts, slows and kills attempts.
pub trait Engine {
    /// The nodes, by id.
    fn nodes(&self) -> &[NodeOffer];

    /// The time since the run began.
    fn now(&self) -> Time;

    /// The run goes on at this time: what comes next is counted from here.
    fn resume_at(&mut self, at: Time);

    /// Starts an attempt. [`Happened::Ended`] follows once it has ended.
    ///
    /// # Errors
    /// If it can't be started; nothing of it runs then.
    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()>;

    /// Takes over an attempt that an earlier process started and that may still run. False if it does
    /// not: then no [`Happened::Ended`] follows.
    fn adopt(&mut self, launch: &Launch<'_>) -> bool;

    /// Kills what processes of this run have left and is not of these attempts or those at work.
    fn kill_strays_but(&mut self, kept: &HashSet<AttemptId>);

    /// Kills what processes of this run have left and is not of attempts at work.
    fn kill_strays(&mut self) {
        self.kill_strays_but(&HashSet::new());
    }

    /// Kills an attempt with all that it has started. [`Happened::Ended`] follows.
    fn kill(&mut self, attempt: AttemptId);

    /// How far an attempt has read its input, as a share of it.
    fn read_share(&self, attempt: AttemptId) -> Option<f64>;

    /// Waits until something happens, or until a time, whichever comes first; what happened is appended.
    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>);
}

/// Name of the end marker in an attempt's folder: `exit CODE` and a newline, written once.
pub const END_MARKER: &str = "end";

/// The process that runs an attempt's command on every engine: a shell that runs the user's command in
/// another one and writes the end marker. Exit codes are read from the marker, because adopted processes
/// can't be waited for and some engines lose them.
///
/// # Errors
/// If its log files can't be made in the attempt's folder.
pub fn wrapper(launch: &Launch<'_>) -> io::Result<Command> {
    // One write of a few bytes; a marker without its newline is none. An engine may add a third argument: the
    // limit on open files that the command gets back.
    const SCRIPT: &str =
        r#"[ -z "$3" ] || ulimit -S -n "$3"; /bin/sh -c "$1"; code=$?; printf 'exit %d\n' "$code" > "$2""#;
    let open = |name: &str| std::fs::File::create(launch.folder.join(name));
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(SCRIPT)
        .arg("hindmost-attempt")
        .arg(launch.command)
        .arg(launch.folder.join(END_MARKER))
        .current_dir(launch.directory)
        // Not that of a task within which this process may itself be running.
        .env_remove("HINDMOST_INPUT")
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .stdin(std::process::Stdio::null())
        .stdout(open("stdout")?)
        .stderr(open("stderr")?);
    Ok(command)
}
