//! Allocations: one for each node, so that the loss of a node ends no other one. They are found again by their comment.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::commands::{self, Allocation, one_line, slurm};

/// Time within which Slurm must confirm that allocations have ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time after which Slurm is requested again to end an allocation that it still lists.
const AGAIN: Duration = Duration::from_secs(3);
/// Shortest and longest time between two looks at what is left.
const LOOKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// A request for an allocation that Slurm has not granted yet.
#[derive(Debug)]
pub struct Requested {
    child: Child,
    stderr: Option<JoinHandle<String>>,
}

/// What has become of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It waits.
    Waits,
    /// It was granted: the id of the allocation.
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
}

/// Requests an allocation of one whole node with this number of GPUs. Does not wait for it.
///
/// # Errors
/// If `salloc` can't be started.
pub fn request(node: &str, gpus: u32, terms: &Terms) -> std::io::Result<Requested> {
    let mut command = slurm("salloc");
    command.args(&terms.args);
    // Without --no-kill, Slurm would cancel the allocation when the node fails, even if it returns at once.
    command.args(["--no-shell", "--nodes=1", "--exclusive", "--no-kill", "--mem=0"]);
    command.arg(format!("--nodelist={node}"));
    command.arg(format!("--job-name={}", terms.name)).arg(format!("--comment={}", terms.comment));
    command.args((gpus > 0).then(|| format!("--gres=gpu:{gpus}")));
    apart(&mut command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    Ok(Requested { child, stderr })
}

/// Keeps Ctrl-C in a terminal away from a command: this process decides what it means.
fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

impl Requested {
    /// Returns what has become of the request, without waiting.
    pub fn answer(&mut self) -> Answer {
        let status = match self.child.try_wait() {
            Ok(None) => return Answer::Waits,
            Ok(Some(status)) => status,
            Err(error) => return Answer::Refused(error.to_string()),
        };
        let text = self.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        match granted_in(&text) {
            Some(id) if status.success() => Answer::Granted(id),
            _ => Answer::Refused(one_line(&text)),
        }
    }
}

impl Drop for Requested {
    fn drop(&mut self) {
        // `salloc` would withdraw its request on a signal that it can handle, but waits for the controller to do so.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the id of the allocation in the messages of `salloc`.
fn granted_in(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.split_once("Granted job allocation "))?.1;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the allocations with this comment.
///
/// # Errors
/// If Slurm does not answer.
pub fn with_comment(comment: &str) -> Result<Vec<Allocation>, commands::SlurmError> {
    let mut found = commands::allocations()?;
    found.retain(|one| one.comment == comment && is_held(one));
    Ok(found)
}

/// True unless an allocation has ended or is ending.
pub fn is_held(one: &Allocation) -> bool {
    ["RUNNING", "PENDING", "CONFIGURING", "SUSPENDED"].contains(&&*one.state)
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
        let text = "salloc: Pending job allocation 12\nsalloc: job 12 queued\nsalloc: Granted job allocation 12\nsalloc: Waiting\n";
        assert_eq!(granted_in(text), Some(12));
        assert_eq!(granted_in("salloc: error: Job submit/allocate failed: Invalid partition name specified\n"), None);
    }
}
