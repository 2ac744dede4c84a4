//! Steps: each attempt runs in one, on its node, and so do the checks of nodes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hindmost_core::ids::AttemptId;
use hindmost_core::resources::MEMORY;
use hindmost_core::workload::DemandByName;

use super::super::{GPUS, RunIdentity, key};
use super::agent::{self, answered, sent};
use super::commands::{self, SlurmError, one_line, with_slurm_environment};
use super::nodes::MEGABYTE;
use crate::process::{self, Mark};

/// First argument of the program when it is started in a step. It is no command for users.
pub const STEP_COMMAND: &str = "slurm-step";
/// Word that makes a step run an attempt.
pub const ATTEMPT: &str = "attempt";
/// Time within which what is left of an attempt must have ended.
const REAPED: Duration = Duration::from_secs(30);
/// Time within which a node must answer a check.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the part of a step's name that all steps of a run have.
pub fn run_suffix(run: &RunIdentity) -> String {
    format!("@{}", Mark::of_run(&run.id, &run.folder).hex())
}

/// Returns the name of an attempt's step.
pub fn name_of(run: &RunIdentity, attempt: AttemptId) -> String {
    key(attempt) + &run_suffix(run)
}

/// Returns an `srun` command for a step in an allocation.
///
/// `--overlap` because Hindmost decides what fits on a node: without it, a step that starts before Slurm has noticed the end of
/// the one before it waits for a second. `--exact` and `--cpus-per-task` are left out: together with `--overlap`, Slurm would
/// bind all steps to the same first cores.
pub(super) fn srun(job: u32, node: &str, name: &str) -> Command {
    let mut command = with_slurm_environment(process::apart("srun".as_ref()));
    command.arg(format!("--jobid={job}")).arg(format!("--nodelist={node}")).arg(format!("--job-name={name}"));
    command.args([
        "--overlap",
        "--nodes=1",
        "--ntasks=1",
        "--cpu-bind=none",
        "--mpi=none",
        "--input=none",
        "--chdir=/",
    ]);
    command.stdin(Stdio::null());
    command
}

/// Starts the step of an attempt, whose folder holds the description of its launch. `gpus` is the number of GPUs of the node.
///
/// # Errors
/// If `srun` can't be started.
pub fn start(
    (job, node, name): (u32, &str, &str),
    demand: &DemandByName,
    gpus: u32,
    program: &Path,
    folder: &Path,
    nonce: &str,
    log: File,
) -> io::Result<Child> {
    let mut command = srun(job, node, name);
    // Slurm limits the memory of the step. 0 means all memory of the allocation.
    let megabytes = demand.get(MEMORY).map_or(0.0, |bytes| (bytes / MEGABYTE).ceil());
    command.arg(if megabytes > 0.0 { format!("--mem={megabytes:.0}M") } else { "--mem=0".to_owned() });
    if gpus > 0 {
        // All GPUs of the node, of which the agent shows the attempt its own: overlapping steps would all get the first ones.
        let wanted = demand.get(GPUS).copied().unwrap_or(0.0) > 0.0;
        command.arg(if wanted { format!("--gres=gpu:{gpus}") } else { "--gres=none".to_owned() });
    }
    command.arg(program).args([STEP_COMMAND, ATTEMPT]).arg(folder).arg(nonce);
    command.stdout(log.try_clone()?).stderr(log);
    command.spawn()
}

/// Ends what is left of an attempt on its node, in a step of its own. `what` is a word of [`reaper`](super::reaper). Waits until
/// that is done.
///
/// # Errors
/// If the step fails.
pub fn reap(
    (job, node, name): (u32, &str, &str),
    program: &Path,
    what: &str,
    folder: &Path,
    nonce: &str,
) -> Result<(), String> {
    let mut command = srun(job, node, name);
    command.arg("--mem=0").arg(program).args([STEP_COMMAND, what]).arg(folder).arg(nonce);
    let (code, _, stderr) = commands::run(&mut command, REAPED).map_err(|error| error.to_string())?;
    if code == Some(0) { Ok(()) } else { Err(one_line(&stderr)) }
}

/// What a check of a node has found wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The node does not have this program.
    #[error("{0}")]
    NoProgram(String),
    /// The node does not share the run's folder.
    #[error("{0}")]
    NotShared(String),
    /// The node does not answer.
    #[error("{0}")]
    Silent(String),
    /// The check says nothing about the node: Slurm could not start it.
    #[error("{0}")]
    Unclear(String),
}

/// Checks that a node answers, and that a file written here is read there and the other way round. `folder` is on the file system
/// to check.
///
/// # Errors
/// What is wrong; the text names the node and the folder.
pub fn check(job: u32, node: &str, name: &str, program: &Path, folder: &Path) -> Result<(), Fault> {
    let nonce = super::new_nonce();
    let files = [folder.join(sent(&nonce)), folder.join(answered(&nonce))];
    let checked = try_check(job, node, name, program, folder, &nonce, &files);
    for file in files {
        let _ = std::fs::remove_file(file);
    }
    checked
}

fn try_check(
    job: u32,
    node: &str,
    name: &str,
    program: &Path,
    folder: &Path,
    nonce: &str,
    [sent, answered]: &[PathBuf; 2],
) -> Result<(), Fault> {
    std::fs::write(sent, nonce).map_err(|error| Fault::Unclear(format!("{}: {error}", sent.display())))?;
    let mut command = srun(job, node, name);
    command.arg("--mem=0").arg(program).args([STEP_COMMAND, "check"]).arg(folder).arg(nonce);
    let (code, _, stderr) = commands::run(&mut command, PATIENCE).map_err(|error| match error {
        SlurmError::TooLate(..) => {
            Fault::Silent(format!("node {node} does not answer within {} s", PATIENCE.as_secs()))
        }
        other => Fault::Unclear(other.to_string()),
    })?;
    if code != Some(0) {
        return Err(fault_in(&stderr, node, program));
    }
    // `srun` returns 0 even if the node has failed.
    match std::fs::read_to_string(answered) {
        Ok(read) if read == nonce => Ok(()),
        _ if stderr.contains("ode fail") => Err(Fault::Silent(one_line(&stderr))),
        _ => Err(Fault::NotShared(format!(
            "a file that node {node} has written in {} can't be read here; {SHARED}",
            folder.display()
        ))),
    }
}

/// What to do about a folder that a node does not see.
const SHARED: &str = "the run's folder must be on a file system that all nodes share (--out DIR chooses it)";

/// Returns what the messages of a failed check say.
fn fault_in(stderr: &str, node: &str, program: &Path) -> Fault {
    let own = stderr.lines().find_map(|line| line.split_once(agent::CHECK_FAILED)).map(|(_, why)| why.trim());
    if let Some(why) = own {
        return Fault::NotShared(format!("{why}; {SHARED}"));
    }
    let why = one_line(stderr);
    let named = if why.contains("node ") { why.clone() } else { format!("node {node}: {why}") };
    if why.contains("execve") || why.contains("No such file") {
        return Fault::NoProgram(format!("node {node} has no {} ({why})", program.display()));
    }
    // Slurm refuses steps while it starts, if it counts the memory of steps that have ended, and in an allocation that has ended, of which
    // the next snapshot says why.
    let refusals =
        ["Unable to create step", "Unable to confirm allocation", "Unable to contact slurm controller", "has expired"];
    let is_refused = refusals.iter().any(|text| why.contains(text));
    if is_refused { Fault::Unclear(named) } else { Fault::Silent(named) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_a_check_say_what_is_wrong() {
        let of = |text: &str| fault_in(text, "n1", Path::new("/x/hindmost"));
        let no_program =
            "slurmstepd: error: execve(): /x/hindmost: No such file or directory\nsrun: error: n1: task 0: Exited";
        assert!(matches!(of(no_program), Fault::NoProgram(why) if why.starts_with("node n1 has no /x/hindmost")));
        let shared =
            format!("error: {}node n1 can't read files in /y: No such file or directory\n", agent::CHECK_FAILED);
        assert!(matches!(of(&shared), Fault::NotShared(why) if why.starts_with("node n1 can't read files in /y")));
        let silent = "srun: error: Task launch for StepId=5.1 failed on node n1: Communication connection failure\n";
        assert!(matches!(of(silent), Fault::Silent(_)));
        let refused = "srun: error: Unable to create step for job 5: Memory required by task is not available\n";
        assert_eq!(
            of("srun: error: Slurm job 1 has expired\n"),
            Fault::Unclear("node n1: Slurm job 1 has expired".to_owned())
        );
        assert_eq!(
            of(refused),
            Fault::Unclear(
                "node n1: Unable to create step for job 5: Memory required by task is not available".to_owned()
            )
        );
    }
}
