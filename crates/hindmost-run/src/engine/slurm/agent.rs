//! The agent of an attempt: the program of the attempt's step, which runs the attempt on its node.
//!
//! The agent runs the attempt with engine `local`, so everything that holds for processes on one machine holds on the node too:
//! when it reports the end of the attempt, no process of the attempt is left. It stops the attempt, whose processes then have some time to
//! end,
//!
//! - on `SIGTERM`, which `scancel` sends;
//! - when the file `stop` appears in the attempt's folder, for the case that Slurm can't reach the step.
//!
//! It kills the attempt at once
//!
//! - when the attempt's folder has gone or is another one: the run has given this attempt up;
//! - when the step's own process has died.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hindmost_core::ids::NodeId;
use hindmost_core::time::Time;
use hindmost_core::workload::DemandByName;

use rustix::fs::{Mode, OFlags, openat};

use super::super::local::{may_be_signalled, says_failed};
use super::super::{Engine, Happened, Launch, Local, NodeOffer, RunIdentity};
use super::beat::{Beat, LOSER, STOP, State, shortened};
use super::launch::Description;

/// Time between two reports.
const BEATS: Duration = Duration::from_secs(2);
/// Time between two looks for a request to stop.
const LOOKS: Duration = Duration::from_millis(500);
/// Longest time for which a signal is not noticed.
const TICK: Time = Time(50_000_000);
/// Time within which a stopped attempt must end, in addition to the time that its processes have.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longest time between the signals that processes of one step are sent.
const SIGNALS: Duration = Duration::from_millis(500);
/// The same time for a command that has failed, but not by a signal: it may have handled one.
const HANDLED_SIGNALS: Duration = Duration::from_millis(200);

/// Environment variables that list the GPUs of a step, which are all those that the run has on the node.
const GPU_LISTS: [&str; 7] = [
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "SLURM_STEP_GPUS",
    "SLURM_JOB_GPUS",
];
/// Environment variable with their number.
const GPU_COUNT: &str = "SLURM_GPUS_ON_NODE";

/// Runs the attempt whose folder is `folder`. `nonce` is that of its launch. `stop_requests` counts the signals to stop.
///
/// # Errors
/// If the folder describes no such launch, or the result can't be reported.
pub fn run_attempt(folder: &Path, nonce: &str, stop_requests: &AtomicU32) -> io::Result<()> {
    let handle = opened(folder)?;
    let description = Description::read(handle.as_fd())?;
    if description.nonce != nonce {
        return Err(io::Error::other("the attempt has been started again since this step was requested"));
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let beat = Beat::first(nonce, number("SLURM_JOB_ID"), number("SLURM_STEP_ID"));
    let mut agent = Agent { folder: folder.to_owned(), handle, beat, began: Instant::now(), parent: parent() };
    agent.beat.write(agent.handle.as_fd())?;
    agent.beat.signalled = stop_requests.load(Ordering::Relaxed) > 0;
    if agent.beat.signalled || agent.is_stopped() || agent.is_given_up() {
        return agent.end(State::Ended);
    }
    agent.work(&description, stop_requests)
}

/// Opens a folder without following a link.
///
/// # Errors
/// If it can't be opened.
pub fn opened(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(folder)
}

/// Returns the id of the process that has started this one, or that has taken it over.
fn parent() -> Option<i32> {
    rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get())
}

struct Agent {
    folder: PathBuf,
    handle: File,
    beat: Beat,
    began: Instant,
    parent: Option<i32>,
}

impl Agent {
    fn work(&mut self, description: &Description, stop_requests: &AtomicU32) -> io::Result<()> {
        let node = NodeOffer::new(description.node.clone(), DemandByName::new());
        let mut local = Local::in_step(node)?;
        if let Err(error) = self.start(&mut local, description) {
            return self.end(State::NotBegun(shortened(&error.to_string())));
        }
        let (mut next_beat, mut next_look) = (Instant::now() + BEATS, Instant::now() + LOOKS);
        let patience = PATIENCE + Duration::try_from_secs_f64(description.kill_after).unwrap_or_default();
        let mut stopped: Option<Instant> = None;
        let mut happened = Vec::new();
        loop {
            local.wait(local.now() + TICK, &mut happened);
            local.memory(description.attempt);
            match happened.pop() {
                Some(Happened::Ended(_)) => {
                    let used = local.take_used(description.attempt).unwrap_or_default();
                    (self.beat.usage, self.beat.killed_for_memory) = (Some(used.usage), used.killed_for_memory);
                    self.notice_signal(stop_requests);
                    return self.end(State::Ended);
                }
                Some(Happened::NotBegun(_, what)) => return self.end(State::NotBegun(shortened(&what))),
                Some(Happened::Stays(_, what)) => return self.end(State::Stays(shortened(&what))),
                _ => {}
            }
            let now = Instant::now();
            let mut stop = stop_requests.load(Ordering::Relaxed) > 0;
            if now >= next_look {
                next_look = now + LOOKS;
                stop |= self.is_stopped();
                if self.is_given_up() {
                    stopped.get_or_insert(now);
                    local.kill(description.attempt);
                }
            }
            if stop && stopped.is_none() {
                stopped = Some(now);
                self.beat.signalled = stop_requests.load(Ordering::Relaxed) > 0;
                if self.is_loser() {
                    local.end_loser(description.attempt);
                } else {
                    local.stop(description.attempt);
                }
            }
            if now >= next_beat {
                next_beat = now + BEATS;
                self.beat.count += 1;
                self.beat.ran = self.began.elapsed().as_secs_f64();
                self.beat.share = local.read_share(description.attempt);
                // A disk that is full or a server that does not answer may recover.
                let _ = self.beat.write(self.handle.as_fd());
            }
            if stopped.is_some_and(|since| since.elapsed() > patience) {
                return self.end(State::Stays("the attempt does not end after it was killed".to_owned()));
            }
        }
    }

    /// Notes whether this agent has been sent a signal. Slurm sends it to all processes of the step, one after the other, so the
    /// end of an attempt that a signal may have killed waits for the agent's own. A command that handles the signal may end with any
    /// exit code.
    fn notice_signal(&mut self, stop_requests: &AtomicU32) {
        let begin = Instant::now();
        let longest = if may_be_signalled(&self.folder) {
            SIGNALS
        } else if says_failed(&self.folder) {
            HANDLED_SIGNALS
        } else {
            Duration::ZERO
        };
        while stop_requests.load(Ordering::Relaxed) == 0 && begin.elapsed() < longest {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.beat.signalled |= stop_requests.load(Ordering::Relaxed) > 0;
    }

    fn start(&self, local: &mut Local, description: &Description) -> io::Result<()> {
        let run = RunIdentity { id: description.run.clone(), folder: description.run_folder.clone().into() };
        let mut environment = description.environment.clone();
        if let Some(gpus) = &description.gpus {
            environment.push(("HINDMOST_GPUS".into(), joined(gpus.iter().map(ToString::to_string)).into()));
            for name in GPU_LISTS {
                let Ok(list) = std::env::var(name) else { continue };
                environment.push((name.into(), chosen(&list, gpus).into()));
            }
            if std::env::var_os(GPU_COUNT).is_some() {
                environment.push((GPU_COUNT.into(), gpus.len().to_string().into()));
            }
        }
        local.start(&Launch {
            attempt: description.attempt,
            node: NodeId(0),
            run: &run,
            folder: &self.folder,
            handle: self.handle.as_fd(),
            shell: &description.shell,
            command: &description.command,
            directory: Path::new(&description.directory),
            environment: &environment,
            input: description.input.as_ref().map(Path::new),
            demand: &DemandByName::new(),
            slowed: description.slowed,
            outlives: true,
            tmpdir: description.tmpdir.as_ref().map(Path::new),
            cleans_up: description.cleans_up,
            kill_after: Duration::try_from_secs_f64(description.kill_after).unwrap_or_default(),
            is_single: false,
        })
    }

    /// True if the run requests that the attempt stops.
    fn is_stopped(&self) -> bool {
        rustix::fs::statat(&self.handle, STOP, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// True if another attempt of the task succeeds or goes on.
    fn is_loser(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(file) = openat(&self.handle, STOP, flags, Mode::empty()) else { return false };
        let mut content = [0; LOSER.len()];
        rustix::io::read(&file, &mut content).is_ok_and(|length| content[..length] == *LOSER)
    }

    /// True if the attempt counts as ended already, or nobody is left who could wait for its end.
    fn is_given_up(&self) -> bool {
        let place = |found: &fs::Metadata| (found.dev(), found.ino());
        let (Ok(held), there) = (self.handle.metadata(), fs::symlink_metadata(&self.folder)) else { return true };
        let is_gone = match &there {
            Ok(there) => place(there) != place(&held),
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        };
        is_gone || parent() != self.parent
    }

    /// Reports the end of the attempt.
    fn end(&mut self, state: State) -> io::Result<()> {
        self.beat.count += 1;
        self.beat.ran = self.began.elapsed().as_secs_f64();
        self.beat.state = state;
        self.beat.write(self.handle.as_fd())
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(",")
}

/// Returns the entries of a list at these positions.
fn chosen(list: &str, positions: &[usize]) -> String {
    let entries: Vec<&str> = list.split(',').collect();
    joined(positions.iter().filter_map(|position| entries.get(*position)).map(|entry| (*entry).to_owned()))
}

/// Name of the file that the driver writes to find out whether a node sees the run's folder.
pub fn sent(nonce: &str) -> String {
    format!("check-{nonce}")
}

/// Name of the file with which a node answers.
pub fn answered(nonce: &str) -> String {
    format!("checked-{nonce}")
}

/// What stands before the message of a check that fails.
pub const CHECK_FAILED: &str = "check failed: ";

/// Answers the driver: reads the file that the driver has written into `folder`, and writes another one.
///
/// # Errors
/// If the driver's file is not there, or the answer can't be written. The message names the node and the folder.
pub fn answer_check(folder: &Path, nonce: &str) -> io::Result<()> {
    let node = std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| "this node".to_owned());
    let here = folder.display();
    let read = fs::read_to_string(folder.join(sent(nonce)));
    let failed = |what: String| io::Error::other(format!("{CHECK_FAILED}{what}"));
    let read = read.map_err(|error| failed(format!("node {node} can't read files in {here}: {error}")))?;
    if read != nonce {
        return Err(failed(format!("node {node} reads something else in {here} than what was written")));
    }
    fs::write(folder.join(answered(nonce)), nonce)
        .map_err(|error| failed(format!("node {node} can't write files in {here}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_chosen_by_position() {
        assert_eq!(chosen("0,1,2,3", &[1, 3]), "1,3");
        assert_eq!(chosen("GPU-a,GPU-b", &[0]), "GPU-a");
        assert_eq!(chosen("0", &[3]), "");
    }

    #[test]
    fn a_check_needs_the_file_of_the_driver() {
        let folder = tempfile::tempdir().unwrap();
        let error = answer_check(folder.path(), "7").unwrap_err().to_string();
        assert!(error.contains("can't read files in"), "{error}");
        fs::write(folder.path().join(sent("7")), "7").unwrap();
        answer_check(folder.path(), "7").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(answered("7"))).unwrap(), "7");
    }
}
