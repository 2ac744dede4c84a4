//! Engines: what starts, slows and kills attempts on nodes, and says what happened to them.
//!
//! An engine knows nothing of jobs, policies or results. It runs the wrapper that writes the end marker
//! (see [`wrapper`]), and the marker, not the engine, says how an attempt ended.

mod descriptors;
mod local;
mod nodes;
mod process_file;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::time::Time;
use hindmost_core::workload::DemandByName;
use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use crate::process;

pub use local::Local;
pub use nodes::{NodesError, parse_nodes};

pub(crate) use crate::process::{KEY_VARIABLE, RUN_VARIABLE};

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
    pub fn capacity_in_words(&self) -> String {
        hindmost_core::resources::in_words(&self.capacity)
    }
}

/// Which run attempts belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIdentity {
    /// Unique among all runs. Every process of the run has it in its environment.
    pub id: String,
    /// The run's folder, absolute, as its commands know it.
    pub folder: PathBuf,
}

/// What an end marker and the environment of processes say of an attempt within its run.
pub fn key(attempt: AttemptId) -> String {
    format!("{}.{}.{}", attempt.task.phase, attempt.task.index, attempt.copy)
}

/// What the end marker of an attempt holds once its command has ended with this exit code. It names run and
/// attempt, so that no marker is taken for another's.
pub fn end_line(code: i32, run: &str, attempt: AttemptId) -> String {
    format!("exit {code} {run}/{}\n", key(attempt))
}

/// An attempt to be started.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The attempt.
    pub attempt: AttemptId,
    /// Where.
    pub node: NodeId,
    /// The run that it belongs to.
    pub run: &'a RunIdentity,
    /// The attempt's own folder, where the end marker, logs and the output folder are.
    pub folder: &'a Path,
    /// The same folder, opened. Files in it are made relative to this, exclusively, and no link is followed.
    pub handle: BorrowedFd<'a>,
    /// The command, for the shell.
    pub command: &'a str,
    /// The folder in which it runs.
    pub directory: &'a Path,
    /// Variables beyond those of this process.
    pub environment: &'a [(OsString, OsString)],
    /// The file that it reads, if it has one.
    pub input: Option<&'a Path>,
    /// How many times as long as on other nodes it takes (fault injection); 1 is as fast as it goes.
    pub slowed: f64,
}

/// What has happened to attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Nothing is left of it; its end marker says how it ended.
    Ended(AttemptId),
    /// Its command was not started, for want of something that may be there soon, such as free processes: what.
    NotBegun(AttemptId, String),
    /// It has ended, but something that it has started can't be ended, and may still write: what.
    Stays(AttemptId, String),
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

    /// Kills processes of a run that are not of these attempts or of those that this engine runs, and waits
    /// until they have ended. Returns what does not end, if there is any.
    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String>;

    /// Kills processes of a run that are not of attempts that this engine runs, and waits until they have
    /// ended. Returns what does not end, if there is any.
    fn kill_strays(&mut self, run: &RunIdentity) -> Vec<String> {
        self.kill_strays_but(run, &HashSet::new())
    }

    /// Kills an attempt with all that it has started. [`Happened::Ended`] follows.
    fn kill(&mut self, attempt: AttemptId);

    /// True if an attempt that an earlier process started still runs.
    fn is_at_work(&self, _run: &RunIdentity, _attempt: AttemptId) -> bool {
        false
    }

    /// False while the system has no more processes to give.
    fn can_start(&self) -> bool {
        true
    }

    /// How far an attempt has read its input, as a share of it.
    fn read_share(&self, attempt: AttemptId) -> Option<f64>;

    /// Waits until something happens, or until a time, whichever comes first; what happened is appended.
    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>);
}

/// Name of the end marker in an attempt's folder: a line that [`end_line`] gives, written once.
pub const END_MARKER: &str = "end";

/// What the shell that runs an attempt calls itself.
pub(crate) const ROOT_NAME: &str = "hindmost-attempt";

/// The process that runs an attempt's command on every engine: a shell that runs the user's command in
/// another one and writes the end marker. Exit codes are read from the marker, because adopted processes
/// can't be waited for and some engines lose them.
///
/// # Errors
/// If its log files can't be made in the attempt's folder.
pub fn wrapper(launch: &Launch<'_>) -> io::Result<Command> {
    // The marker is open from the start, as standard input: writing it needs no path, so it gets into the attempt's own
    // folder, wherever that is by then. It is one write of a few bytes; a marker without its newline is none. An
    // engine may add a fourth argument: the limit on open files that the command gets back.
    // Where the shell can't be kept from the terminal, reading it is an error for its commands at least.
    const KEEPING_TERMINAL: &str = "trap '' TTIN TTOU; ";
    // If the attempt's folder was moved meanwhile, what the command has written by its path is elsewhere.
    const SCRIPT: &str = r#"exec 3>&0 </dev/null; [ -z "$4" ] || ulimit -S -n "$4"; /bin/sh -c "$1" 3>&-; code=$?
[ "$3/end" -ef /proc/self/fd/3 ] && word=exit || word=moved; printf '%s %d %s\n' "$word" "$code" "$2" >&3 || exit 97"#;
    let new_file = |name: &str| -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(launch.handle, name, flags, Mode::from_raw_mode(0o644))?.into())
    };
    let script = format!("{}{SCRIPT}", if process::keeps_terminal() { KEEPING_TERMINAL } else { "" });
    let mut command = process::apart("/bin/sh");
    command.envs(process::within().map(|marks| (process::WITHIN_VARIABLE, marks)));
    command
        .arg("-c")
        .arg(script)
        .arg(ROOT_NAME)
        .arg(launch.command)
        .arg(format!("{}/{}", launch.run.id, key(launch.attempt)))
        .arg(launch.folder)
        .current_dir(launch.directory)
        // Not that of a task within which this process may itself be running.
        .env_remove("HINDMOST_INPUT")
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .stdin(new_file(END_MARKER)?)
        .stdout(new_file("stdout")?)
        .stderr(new_file("stderr")?);
    Ok(command)
}
