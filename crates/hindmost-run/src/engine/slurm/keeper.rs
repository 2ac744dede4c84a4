//! Keepers: one step in each allocation of a run, which gives the allocation back if the run has died.
//!
//! While a run lives, it counts up a number in a file of its folder. If Hindmost is killed, its attempts continue, so that a resumed
//! run can take them over. When the number has not changed for some minutes and no attempt runs in the allocation, the keeper gives
//! the allocation back. So a run that nobody resumes does not hold nodes for ever. It does so soon if a file says that the run has
//! ended, or if the folder is gone: the run may not have reached Slurm.
//!
//! The program that `salloc` runs starts the keeper ([`begin`]), so no allocation is without one, also if the run is killed just then.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal};

use super::{commands, own, reaper, step};

/// Name of keepers' steps. It is not that of the run's other steps, so that a resumed run keeps its keepers.
pub const NAME: &str = "hindmost-keeper";
/// Name of the file that the run changes.
const PULSE: &str = "pulse";
/// Time without a change after which a run counts as dead: 5 minutes.
const PATIENCE: Duration = Duration::from_mins(5);
/// Environment variable with another time, in seconds, for tests.
const PATIENCE_VARIABLE: &str = "HINDMOST_SLURM_KEEPER_SECONDS";
/// Time between two looks for a request to stop.
const TICK: Duration = Duration::from_millis(200);
/// Time between two looks whether the run has ended.
const LOOK: Duration = Duration::from_secs(2);

/// First of the words that make this program start a keeper in the allocation in which it runs.
pub const BEGIN: &str = "begin";
/// What stands before the id of an allocation whose keeper runs.
pub const KEPT: &str = "hindmost keeps allocation ";
/// What a keeper prints when it runs.
const KEEPS: &str = "keeps";
/// Time for which starting the keeper of a new allocation is tried again if it fails.
const STARTS: Duration = Duration::from_mins(3);
/// Time within which one `srun` must have started it. The node may need time to become ready.
const STARTS_ONCE: Duration = Duration::from_mins(10);
/// Time between a try that fails and the next one.
const PAUSE: Duration = Duration::from_secs(1);
/// Time between two looks whether it runs.
const STARTED: Duration = Duration::from_millis(10);

/// Shows that the run lives.
#[derive(Debug)]
pub struct Pulse {
    file: PathBuf,
    count: u64,
}

impl Pulse {
    /// Creates the sign of life in the run's folder.
    pub fn new(folder: &Path) -> Pulse {
        Pulse { file: folder.join(PULSE), count: u64::from(std::process::id()) << 32 }
    }

    /// Shows that the run lives now.
    pub fn show(&mut self) {
        self.count += 1;
        let _ = fs::write(&self.file, format!("{:020}\n", self.count));
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Starts the keeper of an allocation.
///
/// # Errors
/// If `srun` can't be started.
pub fn start(job: u32, node: &str, program: &Path, folder: &Path) -> io::Result<Child> {
    keeper(job, node, program, folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Returns the command that runs the keeper of an allocation.
fn keeper(job: u32, node: &str, program: &Path, folder: &Path) -> Command {
    let mut command = step::srun(job, node, NAME);
    command.arg("--mem=0").arg(program).args([step::STEP_COMMAND, "keep"]).arg(folder).arg(job.to_string());
    command
}

/// The program of `salloc`: starts the keeper of the allocation in which this process runs, says so, and ends `salloc` so that the
/// allocation stays. If the keeper can't be started, or the run has died, this function returns, and `salloc` gives the allocation
/// back.
///
/// # Errors
/// If the keeper can't be started.
pub fn begin(folder: &Path, node: &str, stop_requests: &AtomicU32) -> io::Result<()> {
    let job = std::env::var("SLURM_JOB_ID").ok().and_then(|id| id.parse().ok());
    let Some(job) = job else { return Err(io::Error::other("this command is for allocations of Slurm only")) };
    let kept = start_first(job, folder, node, stop_requests);
    let is_waited_for = matches!(kept, Ok(true)) && !is_abandoned(stop_requests, Duration::ZERO);
    if is_waited_for && writeln!(io::stderr(), "{KEPT}{job}").is_ok() {
        end_salloc();
        return Ok(());
    }
    // Nobody waits for what `salloc` does, and it may have been killed.
    let _ = commands::cancel(&[job.to_string()], None);
    kept.map(drop)
}

/// Starts the keeper of a new allocation, and waits until it runs. False if the run has died meanwhile.
fn start_first(job: u32, folder: &Path, node: &str, stop_requests: &AtomicU32) -> io::Result<bool> {
    let log = folder.join(format!("keeper-{job}"));
    let mut program = std::env::current_exe()?;
    let begin = Instant::now();
    loop {
        let file = fs::File::create(&log)?;
        let mut srun = keeper(job, node, &program, folder);
        let mut srun = srun.stdout(file.try_clone()?).stderr(file).spawn()?;
        let since = Instant::now();
        while srun.try_wait()?.is_none() && since.elapsed() < STARTS_ONCE {
            if fs::read_to_string(&log)?.lines().any(|line| line == KEEPS) {
                return Ok(true);
            }
            if is_abandoned(stop_requests, STARTED) {
                return Ok(false);
            }
        }
        let _ = srun.kill();
        let _ = srun.wait();
        let said = fs::read_to_string(&log)?;
        let is_missing = said.contains("execve") || said.contains("No such file");
        if is_missing && !program.starts_with(folder) {
            program = own::copy_program(&program, folder)?;
        } else if is_missing || begin.elapsed() > STARTS {
            return Err(io::Error::other(format!("error: node {node} can't be used: {}", commands::one_line(&said))));
        } else if is_abandoned(stop_requests, PAUSE) {
            return Ok(false);
        }
    }
}

/// Kills the `salloc` that has started this process. It does not give its allocation back then.
fn end_salloc() {
    let Some(parent) = getppid() else { return };
    let Ok(process) = pidfd_open(parent, PidfdFlags::empty()) else { return };
    let name = fs::read_to_string(format!("/proc/{}/comm", parent.as_raw_nonzero())).unwrap_or_default();
    // If it has died, this process has another parent.
    if name.trim_end() == "salloc" && getppid() == Some(parent) {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
}

/// Keeps an allocation until the run has died or ended, or this process is signalled.
pub fn keep(folder: &Path, job: &str, stop_requests: &AtomicU32) {
    let patience = std::env::var(PATIENCE_VARIABLE).ok().and_then(|text| text.parse().ok());
    let patience = patience.map_or(PATIENCE, Duration::from_secs);
    let look = (patience / 10).clamp(TICK, LOOK);
    let read = || fs::read_to_string(folder.join(PULSE)).unwrap_or_default();
    let (mut last, mut changed, mut next) = (read(), Instant::now(), Instant::now() + look);
    // If the node does not see the folder at all, the run will say so, and needs the allocation until then.
    let mut was_there = folder.is_dir();
    let _ = writeln!(io::stdout(), "{KEEPS}");
    while stop_requests.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(TICK);
        if Instant::now() < next {
            continue;
        }
        next = Instant::now() + look;
        let now = read();
        if now != last {
            (last, changed) = (now, Instant::now());
        }
        was_there |= folder.is_dir();
        let is_dead = || changed.elapsed() > patience && is_unused(job, folder, changed.elapsed() > patience * 2);
        if was_there && own::has_ended(folder) || is_dead() {
            if has_gone(job) {
                // A controller that was killed may not know this step, and end it with nothing.
                return;
            }
            // It is tried again at the next look.
            let _ = commands::cancel(&[job.to_owned()], None);
        }
    }
}

/// True if Slurm says that an allocation has ended, or does not know it.
fn has_gone(job: &str) -> bool {
    let is_it = |one: &commands::Allocation| one.id.to_string() == job && one.is_held();
    commands::allocations().is_ok_and(|allocations| !allocations.iter().any(is_it))
}

/// True if no attempt of the run with this folder runs in an allocation. Slurm may list a step for ever whose processes have all been
/// killed: if `is_late`, only the agents on this node count.
fn is_unused(job: &str, folder: &Path, is_late: bool) -> bool {
    let of_job = |step: &commands::Step| step.job.to_string() == job && step.name != NAME;
    let is_unlisted = || commands::steps().is_ok_and(|steps| !steps.iter().any(of_job));
    if is_late { !reaper::has_agents(job, folder) } else { is_unlisted() }
}

/// True if the process at the other end of the standard input has died or closed it, or this process has been signalled. Waits up to
/// `patience`.
pub fn is_abandoned(stop_requests: &AtomicU32, patience: Duration) -> bool {
    if stop_requests.load(Ordering::Relaxed) > 0 {
        return true;
    }
    let stdin = io::stdin();
    let patience = Timespec::try_from(patience).ok();
    // Nothing is ever written, so an event is the end.
    let polled = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], patience.as_ref());
    polled.is_ok_and(|events| events > 0) || stop_requests.load(Ordering::Relaxed) > 0
}
