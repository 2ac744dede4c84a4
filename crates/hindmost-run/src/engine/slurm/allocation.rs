//! Allocations: one for each node, so that the loss of a node ends no other one. They are found again by their comment.
//!
//! ```text
//! this process ── requester ── salloc ── (granted) ── starter ── srun ── (Slurm) ── keeper on the node
//!              pipe ▲────────────────────────────────────┘ ▲
//! ```
//!
//! An allocation that nobody watches over must not come into being, whenever this process is killed. So `salloc` runs a program,
//! the starter (`keeper.rs`), which starts the keeper of the allocation and only then ends `salloc` without giving the allocation back. The
//! requester and the starter notice the end of this process by a pipe: then the requester withdraws a request that waits, and the
//! starter gives back what was granted too late.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::commands::{self, Allocation, one_line, slurm};
use super::{keeper, step};

/// Time within which Slurm must confirm that allocations have ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time after which Slurm is requested again to end an allocation that it still lists.
const AGAIN: Duration = Duration::from_secs(3);
/// Time after which a `salloc` hangs that was sent a signal to end.
const HANGS: Duration = Duration::from_secs(15);
/// Time for which the cancel of the allocation of such a `salloc` is tried again.
const CANCELS: Duration = Duration::from_mins(1);
/// First of the words that make this program request an allocation.
pub const REQUEST: &str = "request";
/// Shortest and longest time between two looks at what is left.
const LOOKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// A request for an allocation that Slurm has not granted yet.
#[derive(Debug)]
pub struct Requested {
    child: Child,
    /// The pipe whose end shows that this process has died or has withdrawn the request.
    lifeline: Option<ChildStdin>,
    stderr: Option<JoinHandle<String>>,
}

/// What has become of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It waits.
    Waits,
    /// It was granted, and its keeper runs, so steps can be started on the node: the id of the allocation.
    Granted(u32),
    /// It was refused, with Slurm's reason.
    Refused(String),
}

/// How allocations are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The user's own options of `salloc`.
    pub args: Vec<String>,
    /// Name of the job in Slurm's queue.
    pub name: String,
    /// The comment by which the allocation is found again.
    pub comment: String,
    /// The engine's own folder in the run's folder.
    pub folder: PathBuf,
    /// This program.
    pub program: PathBuf,
}

/// Requests an allocation of one whole node with this number of GPUs. Does not wait for it.
///
/// # Errors
/// If `salloc` can't be started.
pub fn request(node: &str, gpus: u32, terms: &Terms) -> std::io::Result<Requested> {
    let mut command = slurm_step(&terms.program);
    // A program must run in the allocation.
    command.arg(REQUEST).args(terms.args.iter().filter(|arg| *arg != "--no-shell"));
    // Without --no-kill, Slurm would cancel the allocation when the node fails, even if it returns at once.
    command.args(["--nodes=1", "--exclusive", "--no-kill", "--mem=0"]);
    command.arg(format!("--nodelist={node}"));
    command.arg(format!("--job-name={}", terms.name)).arg(format!("--comment={}", terms.comment));
    command.args((gpus > 0).then(|| format!("--gres=gpu:{gpus}")));
    command.arg(&terms.program).args([step::STEP_COMMAND, keeper::BEGIN]).arg(&terms.folder).arg(node);
    apart(&mut command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let lifeline = child.stdin.take();
    let stderr = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    Ok(Requested { child, lifeline, stderr })
}

/// Returns a command that runs this program as a step does, on this machine.
fn slurm_step(program: &std::path::Path) -> Command {
    let mut command = commands::with_slurm_environment(Command::new(program));
    command.arg(step::STEP_COMMAND);
    command
}

/// Runs `salloc` with these arguments until it ends. Withdraws the request if the process that has started this one dies or
/// withdraws it, or if this process is signalled.
///
/// # Errors
/// If `salloc` can't be started or watched.
pub fn watch_request(args: &[OsString], stop_requests: &'static AtomicU32) -> io::Result<()> {
    let mut command = slurm("salloc");
    let mut child = command.args(args).stdin(Stdio::inherit()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let requested = Arc::new(AtomicU32::new(0));
    let messages = child.stderr.take().map(|pipe| {
        let requested = Arc::clone(&requested);
        std::thread::spawn(move || pass_on(pipe, &requested))
    });
    let pid = Pid::from_child(&child);
    // As long as the child has not been waited for, no other process has its number.
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let was_killed = Arc::new(AtomicBool::new(false));
    let kills = Arc::clone(&was_killed);
    std::thread::spawn(move || {
        while !keeper::is_abandoned(stop_requests, LOOKS[1]) {}
        let since = Instant::now();
        loop {
            // `salloc` withdraws a request that waits. It may be just about to send it. Its handler of the signal may wait for ever for
            // what the interrupted code holds.
            let hangs = since.elapsed() > HANGS;
            kills.fetch_or(hangs, Ordering::Relaxed);
            let _ = pidfd_send_signal(&process, if hangs { Signal::KILL } else { Signal::TERM });
            std::thread::sleep(AGAIN);
        }
    });
    child.wait()?;
    if let Some(messages) = messages.filter(|_| !was_killed.load(Ordering::Relaxed)) {
        let _ = messages.join();
    }
    let id = requested.load(Ordering::Relaxed);
    let since = Instant::now();
    while was_killed.load(Ordering::Relaxed) && id > 0 && since.elapsed() < CANCELS {
        if commands::cancel(&[id.to_string()], None).is_ok() {
            break;
        }
        std::thread::sleep(AGAIN);
    }
    Ok(())
}

/// Passes the messages of `salloc` on, and notes the id of the allocation that they name.
fn pass_on(pipe: impl Read, requested: &AtomicU32) {
    for line in BufReader::new(pipe).lines() {
        let Ok(line) = line else { return };
        if let Some(id) = requested_in(&line) {
            requested.store(id, Ordering::Relaxed);
        }
        // The process that has started this one may have died.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Returns the id of the allocation that a message of `salloc` names.
fn requested_in(line: &str) -> Option<u32> {
    let names = |what: &str| line.strip_prefix("salloc: ")?.strip_prefix(what)?.trim().parse().ok();
    ["Pending job allocation", "Granted job allocation"].into_iter().find_map(names)
}

/// Keeps Ctrl-C in a terminal away from a command: this process decides what it means.
fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

impl Requested {
    /// Returns what has become of the request, without waiting.
    pub fn answer(&mut self) -> Answer {
        match self.child.try_wait() {
            Ok(None) => return Answer::Waits,
            Ok(Some(_)) => {}
            Err(error) => return Answer::Refused(error.to_string()),
        }
        let text = self.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        match kept_in(&text) {
            Some(id) => Answer::Granted(id),
            None => Answer::Refused(one_line(&text)),
        }
    }

    /// Withdraws the request. Does not wait.
    pub fn withdraw(&mut self) {
        self.lifeline = None;
    }

    /// Waits until the request has been withdrawn, but not beyond `end`.
    pub fn wait_until(&mut self, end: Instant) {
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(LOOKS[0]);
        }
    }
}

impl Drop for Requested {
    fn drop(&mut self) {
        // The requester's process group exists at least as long as the requester has not been waited for.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Returns the id of the allocation whose starter says in these messages that its keeper runs.
fn kept_in(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(keeper::KEPT))?;
    line.trim().parse().ok()
}

/// Returns the allocations with this comment.
///
/// # Errors
/// If Slurm does not answer.
pub fn with_comment(comment: &str) -> Result<Vec<Allocation>, commands::SlurmError> {
    let mut found = commands::allocations()?;
    found.retain(|one| one.comment == comment && one.is_held());
    Ok(found)
}

/// Gives allocations back: those with these ids, and all others with the comment. Waits until Slurm confirms that they have
/// ended, because a controller that is killed forgets what it has not saved. Returns a text about what is left.
pub fn give_back(ids: &[u32], comment: &str) -> Option<String> {
    let begin = Instant::now();
    let mut left: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let (mut cancelled, mut pause) = (None, LOOKS[0]);
    loop {
        let mut trouble = None;
        if cancelled.is_none_or(|at: Instant| at.elapsed() > AGAIN) {
            match commands::cancel(&left, None) {
                Ok(()) => cancelled = Some(Instant::now()),
                Err(error) => trouble = Some(error.to_string()),
            }
        }
        match with_comment(comment) {
            Ok(held) if held.is_empty() && trouble.is_none() => return None,
            Ok(held) => {
                let held: Vec<String> = held.iter().map(|one| one.id.to_string()).collect();
                if held.iter().any(|id| !left.contains(id)) {
                    cancelled = None;
                }
                if !held.is_empty() {
                    left = held;
                }
            }
            Err(error) => {
                // The controller may have forgotten what it was requested to do.
                (cancelled, trouble) = (None, Some(error.to_string()));
            }
        }
        if begin.elapsed() > PATIENCE {
            let ids = (left.join(", "), left.join(" "));
            let why = trouble.map(|why| format!(" ({why})")).unwrap_or_default();
            return Some(format!(
                "Slurm does not confirm that allocations {} have ended{why}: `squeue --me` shows what is left, and `scancel {}` ends it",
                ids.0, ids.1
            ));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOKS[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_granted_allocation_is_found_in_the_messages() {
        let text = "salloc: Pending job allocation 12\nsalloc: job 12 queued\nsalloc: Granted job allocation 12\n";
        assert_eq!(kept_in(text), None, "its keeper does not run yet");
        assert_eq!(kept_in(&format!("{text}{}12\n", keeper::KEPT)), Some(12));
        let ids: Vec<_> = text.lines().map(requested_in).collect();
        assert_eq!(ids, [Some(12), None, Some(12)]);
        assert_eq!(kept_in("salloc: error: Job submit/allocate failed: Invalid partition name specified\n"), None);
    }
}
