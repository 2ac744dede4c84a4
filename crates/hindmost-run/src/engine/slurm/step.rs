//! Steps: each attempt runs in one, on its node, and so do the checks of nodes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hindmost_core::ids::AttemptId;
use hindmost_core::resources::MEMORY;
use hindmost_core::workload::DemandByName;

use super::super::{RunIdentity, key};
use super::agent::{answered, sent};
use super::commands::{self, SlurmError, one_line, with_slurm_environment};
use super::nodes::{GPUS, MEGABYTE};
use crate::process::{self, Mark};

/// First argument of the program when it is started in a step. It is no command for users.
pub const STEP_COMMAND: &str = "slurm-step";
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
    command.arg(program).args([STEP_COMMAND, "attempt"]).arg(folder).arg(nonce);
    command.stdout(log.try_clone()?).stderr(log);
    command.spawn()
}

/// Checks that a node answers, and that a file written here is read there and the other way round. `folder` is on the file system
/// to check.
///
/// # Errors
/// A text that names the node, the folder and what is wrong.
pub fn check(job: u32, node: &str, name: &str, program: &Path, folder: &Path) -> Result<(), String> {
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
) -> Result<(), String> {
    std::fs::write(sent, nonce).map_err(|error| format!("{}: {error}", sent.display()))?;
    let mut command = srun(job, node, name);
    command.arg("--mem=0").arg(program).args([STEP_COMMAND, "check"]).arg(folder).arg(nonce);
    let (code, _, stderr) = commands::run(&mut command, PATIENCE).map_err(|error| match error {
        SlurmError::TooLate(..) => format!("node {node} does not answer within {} s", PATIENCE.as_secs()),
        other => other.to_string(),
    })?;
    if code != Some(0) {
        let why = one_line(&stderr);
        if why.contains("execve") || why.contains("No such file") && !why.contains("can't read") {
            return Err(format!("node {node} has no {} ({why})", program.display()));
        }
        return Err(if why.contains("node ") { why } else { format!("node {node}: {why}") });
    }
    // `srun` returns 0 even if the node has failed.
    match std::fs::read_to_string(answered) {
        Ok(read) if read == nonce => Ok(()),
        _ => Err(format!(
            "a file that node {node} has written in {} can't be read here; the run's folder must be on a file system that all \
             nodes share",
            folder.display()
        )),
    }
}
