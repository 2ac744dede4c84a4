//! Ends attempts whose agent was killed together with the process of Slurm that watches over their step, as a system does that lacks
//! memory.
//!
//! Slurm lists such a step for ever, and nobody reports its end. So a further step on the node looks for the agent. If it is not
//! there, that step ends what the attempt has left running, and then writes the agent's last report. Only what is proven to belong to
//! the attempt is killed. When a run is over, each `srun` of it to which nobody reports the end of its step is ended too.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getuid, pidfd_open, pidfd_send_signal};

use super::super::key;
use super::super::process_file::ProcessFile;
use super::agent::opened;
use super::beat::{Beat, State, shortened};
use super::launch::Description;
use super::step::{ATTEMPT, STEP_COMMAND};
use crate::process::{Ending, Identity, Outcome, Tag, boot_id};

/// Word that makes a step end an attempt whose agent is dead.
pub const IF_DEAD: &str = "reap-if-dead";
/// Word that makes a step end an attempt and its agent: the attempt is to be stopped.
pub const ANYWAY: &str = "reap";
/// Time within which a killed agent must end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time within which an `srun` ends whose step has ended.
const FORGOTTEN: Duration = Duration::from_secs(3);
/// Pause between two looks whether such have ended.
const LOOK: Duration = Duration::from_millis(50);
/// Pause between two looks whether processes have ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Ends what is left of the attempt in a folder, and reports its end, unless its agent lives and `anyway` is false.
///
/// # Errors
/// If the folder describes no such launch, the agent can't be killed, or the end can't be reported.
pub fn reap(folder: &Path, nonce: &str, anyway: bool) -> io::Result<()> {
    let handle = opened(folder)?;
    let description = Description::read(handle.as_fd())?;
    let Some(mut beat) = Beat::read(handle.as_fd(), nonce).filter(|beat| !beat.is_last()) else { return Ok(()) };
    let since = Instant::now();
    loop {
        let agents = agents(|words| words[0] == folder.as_os_str().as_bytes() && words[1] == nonce.as_bytes());
        if agents.is_empty() {
            break;
        }
        if !anyway {
            return Ok(());
        }
        for (_, agent) in &agents {
            let _ = pidfd_send_signal(agent, Signal::KILL);
        }
        if since.elapsed() > PATIENCE {
            return Err(io::Error::other("the agent of the attempt does not end"));
        }
        std::thread::sleep(PAUSE);
    }
    let (process, group) = ProcessFile::read(handle.as_fd()).unwrap_or_default();
    // Without the file, all processes are searched for those of the attempt, as they are if the root has ended.
    let unknown = Identity { pid: 0, start_time: 0, boot_id: boot_id()? };
    let tag = Tag::new(&description.run, Path::new(&description.run_folder), &key(description.attempt));
    let mut ending = Ending::new(process.unwrap_or(unknown), tag, group.into_iter().collect(), None);
    let state = loop {
        match ending.step() {
            Outcome::Unfinished => std::thread::sleep(PAUSE),
            Outcome::Nothing(..) => break State::Ended,
            Outcome::Stays(what) => break State::Stays(shortened(&what)),
        }
    };
    // It may have ended just before it was killed.
    if Beat::read(handle.as_fd(), nonce).is_some_and(|beat| beat.is_last()) {
        return Ok(());
    }
    beat.count += 1;
    beat.state = state;
    beat.write(handle.as_fd())
}

/// Returns the agents on this machine, started by this user, for whose folder and number `is_wanted` is true.
fn agents(is_wanted: impl Fn(&[&[u8]; 2]) -> bool) -> Vec<(u32, OwnedFd)> {
    processes(|words| {
        let [_, command, what, path, nonce] = words[..] else { return false };
        command == STEP_COMMAND.as_bytes() && what == ATTEMPT.as_bytes() && is_wanted(&[path, nonce])
    })
}

/// Returns the processes on this machine, started by this user, for whose words `is_wanted` is true.
fn processes(is_wanted: impl Fn(&[&[u8]]) -> bool) -> Vec<(u32, OwnedFd)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = numbers.filter_map(|number| {
        let folder = Path::new("/proc").join(number.to_string());
        // The handle comes first: it can't be another process's than the one that is examined afterwards.
        let process = pidfd_open(Pid::from_raw(i32::try_from(number).ok()?)?, PidfdFlags::empty()).ok()?;
        // The line of a process that has ended is empty.
        let line = fs::read(folder.join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
        let is_of_this_user = fs::metadata(&folder).ok()?.uid() == getuid().as_raw();
        (is_wanted(&words) && is_of_this_user).then_some((number, process))
    });
    found.collect()
}

/// Ends each `srun` on this machine that has started a step of a run that is over, given the folder in which the engine's own one
/// and those of the attempts are. It ends when its step has ended, unless everything of the step was killed and a controller that
/// was killed has forgotten the step: then nobody reports its end.
pub fn end_forgotten(folder: &Path) {
    let is_of_run = |words: &[&[u8]]| {
        let command = words.iter().position(|word| *word == STEP_COMMAND.as_bytes());
        let path = command.and_then(|at| words.get(at + 2)).map(|path| Path::new(std::ffi::OsStr::from_bytes(path)));
        let is_srun =
            words.first().is_some_and(|program| Path::new(std::ffi::OsStr::from_bytes(program)).ends_with("srun"));
        is_srun && path.is_some_and(|path| path.starts_with(folder))
    };
    let since = Instant::now();
    loop {
        let left = processes(is_of_run);
        if left.is_empty() || since.elapsed() > 2 * FORGOTTEN {
            return;
        }
        if since.elapsed() > FORGOTTEN {
            for (_, srun) in &left {
                let _ = pidfd_send_signal(srun, Signal::KILL);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// True if an agent of a run runs on this machine in a step of this allocation, given the engine's folder among the run's own
/// files. Other clusters, and the same one before it was set up again, number their allocations alike.
pub fn has_agents(job: &str, folder: &Path) -> bool {
    let of_run = folder.ancestors().nth(2).unwrap_or(folder);
    let wanted = format!("SLURM_JOB_ID={job}");
    let is_of_job = |number: u32| {
        // What can't be read may belong to it.
        let environment = fs::read(format!("/proc/{number}/environ"));
        environment.map_or(true, |text| text.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()))
    };
    let is_of_run = |[path, _]: &[&[u8]; 2]| {
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        path.starts_with(of_run) || fs::canonicalize(path).is_ok_and(|path| path.starts_with(of_run))
    };
    agents(is_of_run).into_iter().any(|(number, _)| is_of_job(number))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::Command;

    use hindmost_core::ids::{AttemptId, JobId, TaskId};

    use super::*;
    use crate::process::{KEY_VARIABLE, RUN_VARIABLE};

    #[test]
    fn an_srun_that_does_not_learn_of_the_end_is_ended() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let starts = folders.each_ref().map(|folder| {
            let mut command = Command::new("sh");
            std::os::unix::process::CommandExt::arg0(&mut command, "srun");
            command.args(["-c", "read -r _", "hindmost", STEP_COMMAND, "keep"]).arg(folder.path().join("slurm"));
            command.stdin(std::process::Stdio::piped()).spawn().unwrap()
        });
        let [mut forgotten, mut other] = starts;
        // A process has its command line a moment after its program has begun.
        while std::fs::read(format!("/proc/{}/cmdline", forgotten.id())).unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        end_forgotten(folders[0].path());
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&forgotten.wait().unwrap()), Some(9));
        assert_eq!(other.try_wait().unwrap(), None, "it is another run's");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn what_a_dead_agent_has_left_is_ended_and_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 1 }, copy: 0 };
        let run = super::super::new_nonce();
        let description = Description {
            nonce: "7".to_owned(),
            attempt,
            run: run.clone(),
            run_folder: folder.path().into(),
            node: "n1".to_owned(),
            shell: Vec::new(),
            command: "true".into(),
            directory: "/".into(),
            environment: Vec::new(),
            input: None,
            slowed: 1.0,
            slurmd: None,
            tmpdir: None,
            cleans_up: false,
            kill_after: 5.0,
            gpus: None,
        };
        description.write(handle.as_fd()).unwrap();
        Beat::create(handle.as_fd()).unwrap();
        let mut beat = Beat { count: 3, ..Beat::first("7", 1, 2) };
        reap(folder.path(), "7", true).unwrap();
        assert_eq!(Beat::read(handle.as_fd(), "7"), None, "its agent has not begun");
        beat.write(handle.as_fd()).unwrap();
        let mut left = Command::new("sleep");
        left.arg("60").env(RUN_VARIABLE, &run).env(KEY_VARIABLE, key(attempt));
        let mut left = left.env(crate::process::FOLDER_VARIABLE, folder.path()).spawn().unwrap();
        reap(folder.path(), "8", true).unwrap();
        assert!(left.try_wait().unwrap().is_none(), "this is another launch");
        reap(folder.path(), "7", false).unwrap();
        assert!(!left.wait().unwrap().success());
        (beat.count, beat.state) = (4, State::Ended);
        assert_eq!(Beat::read(handle.as_fd(), "7"), Some(beat.clone()));
        reap(folder.path(), "7", true).unwrap();
        assert_eq!(Beat::read(handle.as_fd(), "7"), Some(beat));
    }
}
