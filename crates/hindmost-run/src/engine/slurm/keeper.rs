//! Keepers: one step in each allocation of a run, which gives the allocation back if the run has died.
//!
//! While a run lives, it counts up a number in a file of its folder. If Hindmost is killed, its attempts continue, so that a resumed
//! run can take them over. When the number has not changed for some minutes and no attempt runs in the allocation, the keeper gives
//! the allocation back. So a run that nobody resumes does not hold nodes for ever. It does so soon if a file says that the run has
//! ended, or if the folder is gone: the run may not have reached Slurm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{commands, own, step};

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
    let mut command = step::srun(job, node, NAME);
    command.arg("--mem=0").arg(program).args([step::STEP_COMMAND, "keep"]).arg(folder).arg(job.to_string());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command.spawn()
}

/// Keeps an allocation until the run has died or ended, or this process is signalled.
pub fn keep(folder: &Path, job: &str, stop_requests: &AtomicU32) {
    let patience = std::env::var(PATIENCE_VARIABLE).ok().and_then(|text| text.parse().ok());
    let patience = patience.map_or(PATIENCE, Duration::from_secs);
    let look = (patience / 10).clamp(TICK, LOOK);
    let read = || fs::read_to_string(folder.join(PULSE)).unwrap_or_default();
    let (mut last, mut changed, mut next) = (read(), Instant::now(), Instant::now() + look);
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
        if own::has_ended(folder) || changed.elapsed() > patience && is_unused(job) {
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
    let is_it = |one: &commands::Allocation| one.id.to_string() == job && super::allocation::is_held(one);
    commands::allocations().is_ok_and(|allocations| !allocations.iter().any(is_it))
}

/// True if no attempt runs in an allocation.
fn is_unused(job: &str) -> bool {
    let of_job = |step: &commands::Step| step.job.to_string() == job && step.name != NAME;
    commands::steps().is_ok_and(|steps| !steps.iter().any(of_job))
}
