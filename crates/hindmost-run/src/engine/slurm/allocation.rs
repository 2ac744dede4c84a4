//! Allocations: one for each node, so that the loss of a node ends no other one. They are found again by their comment.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::commands::{self, Allocation, one_line, slurm};

/// Time for which giving allocations back is tried while the controller does not answer.
const PATIENCE: Duration = Duration::from_mins(1);

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
    found.retain(|one| {
        one.comment == comment && ["RUNNING", "PENDING", "CONFIGURING", "SUSPENDED"].contains(&&*one.state)
    });
    Ok(found)
}

/// Gives allocations back: those with these ids, and all others with the comment. Tries again while the controller does not
/// answer. Returns a text about what is left.
pub fn give_back(ids: &[u32], comment: &str) -> Option<String> {
    let begin = Instant::now();
    loop {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let given = commands::cancel(&ids, None).and_then(|()| with_comment(comment)).and_then(|left| {
            let left: Vec<String> = left.iter().map(|one| one.id.to_string()).collect();
            commands::cancel(&left, None)
        });
        match given {
            Ok(()) => return None,
            Err(_) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(500)),
            Err(error) => {
                return Some(format!(
                    "allocations {} could not be given back ({error}): scancel {} does it",
                    ids.join(", "),
                    ids.join(" ")
                ));
            }
        }
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
