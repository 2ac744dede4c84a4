//! Calls of Slurm's commands: each with a limit on its time, and with output in a format that is the same in all versions.
//!
//! Only `-o` formats and `scontrol show` are used: the JSON output needs plugins that not every cluster has, and does not list
//! steps.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time after which a command of Slurm is killed. Slurm's own limit on one message is 10 s by default.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Environment variables of Slurm that its commands receive from this process. All others describe the allocation in which
/// this process runs, and would change what `srun` and `salloc` do.
const KEPT: [&str; 4] = ["SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS"];

/// A command of Slurm that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlurmError {
    /// The program is not installed, or can't be started.
    #[error("{0} can't be started: {1}; engine slurm needs Slurm's commands on this machine (Debian: slurm-client)")]
    NotStarted(String, String),
    /// The program did not end in time.
    #[error("{0} did not answer within {1} s")]
    TooLate(String, u64),
    /// The program returned an error.
    #[error("{0}: {1}")]
    Failed(String, String),
}

/// Returns a command of Slurm, with the environment of this process but without the variables of an enclosing allocation.
pub fn slurm(program: &str) -> Command {
    with_slurm_environment(Command::new(program))
}

/// Removes the variables of an enclosing allocation from the environment of a command.
pub fn with_slurm_environment(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if is_of_allocation(&name) {
            command.env_remove(name);
        }
    }
    command
}

/// True if a variable describes an allocation or step.
fn is_of_allocation(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    ["SLURM_", "SLURMD_", "SRUN_", "PMI_"].iter().any(|prefix| name.starts_with(prefix)) && !KEPT.contains(&name)
}

/// Runs a command of Slurm and returns what it prints.
///
/// # Errors
/// If it can't be started, fails or does not end in time.
pub fn output(program: &str, args: &[&str]) -> Result<String, SlurmError> {
    let (code, stdout, stderr) = run(slurm(program).args(args), PATIENCE)?;
    // `scontrol` writes some of its errors to stdout.
    let why = if stderr.trim().is_empty() { &stdout } else { &stderr };
    if code == Some(0) { Ok(stdout) } else { Err(SlurmError::Failed(program.to_owned(), one_line(why))) }
}

/// Runs a command. Returns its exit code (`None` if a signal ended it), standard output and standard error.
///
/// # Errors
/// If it can't be started or does not end in time; then it is killed.
pub fn run(command: &mut Command, patience: Duration) -> Result<(Option<i32>, String, String), SlurmError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let not_started = |error: io::Error| SlurmError::NotStarted(name.clone(), error.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(not_started)?;
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(not_started)? {
            break status;
        }
        if begin.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            return Err(SlurmError::TooLate(name, patience.as_secs()));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let text = |thread: Option<std::thread::JoinHandle<Vec<u8>>>| {
        let bytes = thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok((status.code(), text(stdout), text(stderr)))
}

/// Reads a pipe to its end in a thread, so that the program can't wait for a full pipe.
fn reader(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Returns messages of Slurm as one line, without the names of programs in front: only the errors, if there are any.
pub fn one_line(text: &str) -> String {
    let has_errors = text.lines().any(is_error);
    let lines =
        text.lines().filter(|line| !has_errors || is_error(line)).map(str::trim).filter(|line| !line.is_empty());
    let plain = |line: &str| {
        let mut line = line;
        while let Some(rest) = ["srun: ", "salloc: ", "scontrol: ", "squeue: ", "scancel: ", "sinfo: ", "error: "]
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix))
        {
            line = rest;
        }
        line.to_owned()
    };
    let mut plain: Vec<String> = lines.map(plain).collect();
    plain.dedup();
    if plain.is_empty() { "it gives no reason".to_owned() } else { plain.join("; ") }
}

/// True if a line of Slurm's messages is an error with a text.
fn is_error(line: &str) -> bool {
    line.split_once("error: ").is_some_and(|(_, text)| !text.trim().is_empty())
}

/// An allocation (a job of Slurm).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Id of the job.
    pub id: u32,
    /// State, such as `RUNNING` or `PENDING`.
    pub state: String,
    /// Why it waits.
    pub reason: String,
    /// Its nodes; for an allocation that waits, those that it requests.
    pub nodes: String,
    /// Its comment.
    pub comment: String,
}

impl Allocation {
    /// True if steps can be started in it.
    pub fn is_running(&self) -> bool {
        self.state == "RUNNING"
    }

    /// True unless it has ended or is ending.
    pub fn is_held(&self) -> bool {
        ["RUNNING", "PENDING", "CONFIGURING", "SUSPENDED"].contains(&&*self.state)
    }

    /// True if it has ended, with everything that ran in it.
    pub fn is_over(&self) -> bool {
        !self.is_held() && !["COMPLETING", "STAGE_OUT", "STOPPED", "SIGNALING", "RESIZING"].contains(&&*self.state)
    }

    /// True if it has ended, or is ending, because of its time limit.
    pub fn is_timed_out(&self) -> bool {
        self.state == "TIMEOUT" || self.state == "COMPLETING" && self.reason == "TimeLimit"
    }

    /// Returns what has become of an allocation that is not running, such as `is CANCELLED` or `reached its time limit`.
    pub fn end_in_words(&self) -> String {
        if self.is_timed_out() { "reached its time limit".to_owned() } else { format!("is {}", self.state) }
    }
}

/// Returns the cluster's `InactiveLimit` in seconds; 0 if there is none.
///
/// # Errors
/// If `scontrol` fails.
pub fn inactive_limit() -> Result<u64, SlurmError> {
    Ok(inactive_limit_in(&output("scontrol", &["show", "config"])?))
}

/// Returns the `InactiveLimit` in the text of `scontrol show config`.
fn inactive_limit_in(config: &str) -> u64 {
    let named = |line: &str| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "InactiveLimit").then(|| value.split_whitespace().next()?.parse().ok())?
    };
    config.lines().find_map(named).unwrap_or(0)
}

/// Separates fields of a line of `squeue`. No name of Slurm contains it.
const SEPARATOR: char = '\u{1f}';

/// Returns the allocations of this user.
///
/// # Errors
/// If `squeue` fails.
pub fn allocations() -> Result<Vec<Allocation>, SlurmError> {
    let format = ["%A", "%T", "%r", "%N", "%n", "%k"].join(&SEPARATOR.to_string());
    let text = output("squeue", &["--me", "--noheader", "--states=all", "-o", &format])?;
    Ok(text.lines().filter_map(parse_allocation).collect())
}

fn parse_allocation(line: &str) -> Option<Allocation> {
    let fields: Vec<&str> = line.split(SEPARATOR).collect();
    let [id, state, reason, nodes, requested, comment] = fields[..] else { return None };
    let nodes = if nodes.trim().is_empty() { requested } else { nodes };
    Some(Allocation {
        id: id.trim().parse().ok()?,
        state: state.trim().to_owned(),
        reason: reason.trim().to_owned(),
        nodes: nodes.trim().to_owned(),
        comment: comment.trim().to_owned(),
    })
}

/// A step of an allocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Id of the allocation.
    pub job: u32,
    /// Id of the step within it.
    pub id: u32,
    /// Name of the step.
    pub name: String,
}

/// Returns the steps of this user that have not ended.
///
/// # Errors
/// If `squeue` fails.
pub fn steps() -> Result<Vec<Step>, SlurmError> {
    let text = output("squeue", &["--me", "--noheader", "--steps", "-o", &format!("%i{SEPARATOR}%j")])?;
    Ok(text.lines().filter_map(parse_step).collect())
}

fn parse_step(line: &str) -> Option<Step> {
    let (id, name) = line.split_once(SEPARATOR)?;
    let (job, step) = id.trim().split_once('.')?;
    // Batch scripts and external steps have names in the place of numbers, and are not started by Hindmost.
    Some(Step { job: job.parse().ok()?, id: step.parse().ok()?, name: name.trim().to_owned() })
}

/// Returns the fields of each line of `scontrol --oneliner show`: `Name=value Name=value …`. A value may contain blanks.
pub fn fields(line: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    // A name begins after a blank, begins with an upper-case letter and has only letters, digits and a few others.
    let is_name = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_/:".contains(letter))
    };
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for word in line.split(' ') {
        if let Some((name, _)) = word.split_once('=')
            && is_name(name)
        {
            if let Some((before, from)) = open {
                found.entry(before).or_insert(line[from..at].trim());
            }
            open = Some((name, at + name.len() + 1));
        }
        at += word.len() + 1;
    }
    if let Some((before, from)) = open {
        found.entry(before).or_insert(line[from..].trim());
    }
    found
}

/// Cancels allocations, or steps as `JOB.STEP`. `signal` sends only this signal to a step. What has ended already is no error.
///
/// # Errors
/// If `scancel` fails.
pub fn cancel(ids: &[String], signal: Option<&str>) -> Result<(), SlurmError> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut command = slurm("scancel");
    command.args(signal.map(|signal| format!("--signal={signal}"))).args(ids);
    let (code, _, stderr) = run(&mut command, PATIENCE)?;
    let has_ended =
        |line: &str| ["already complet", "Invalid job id", "already finished"].iter().any(|text| line.contains(text));
    if code == Some(0) || stderr.lines().filter(|line| !line.trim().is_empty()).all(has_ended) {
        return Ok(());
    }
    Err(SlurmError::Failed("scancel".to_owned(), one_line(&stderr)))
}

/// Returns the names in a list of nodes such as `n[1-3],x`.
///
/// # Errors
/// If `scontrol` fails.
pub fn host_names(list: &str) -> Result<Vec<String>, SlurmError> {
    let text = output("scontrol", &["show", "hostnames", list])?;
    Ok(text.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inactive_limit_is_found_in_the_configuration() {
        let config =
            "HealthCheckProgram      = (null)\nInactiveLimit           = 120 sec\nJobAcctGatherType       = x\n";
        assert_eq!(inactive_limit_in(config), 120);
        assert_eq!(inactive_limit_in("InactiveLimit           = 0 sec\n"), 0);
        assert_eq!((inactive_limit_in(""), inactive_limit_in("InactiveLimit = none")), (0, 0));
    }

    #[test]
    fn fields_of_scontrol_may_contain_blanks() {
        let line = "NodeName=n1 Arch=x86_64 OS=Linux 6.1 #1 SMP x=y Gres=gpu:2 State=DOWN* Reason=Not responding [slurm@2026] \
                    CfgTRES=cpu=4,mem=4000M Extra=";
        let found = fields(line);
        assert_eq!(found["NodeName"], "n1");
        assert_eq!(found["OS"], "Linux 6.1 #1 SMP x=y");
        assert_eq!(found["State"], "DOWN*");
        assert_eq!(found["Reason"], "Not responding [slurm@2026]");
        assert_eq!(found["CfgTRES"], "cpu=4,mem=4000M");
        assert_eq!(found["Extra"], "");
        assert!(fields("").is_empty());
    }

    #[test]
    fn lines_of_squeue_are_parsed() {
        let line = ["12", "RUNNING", "None", "n1", "", "hindmost x"].join(&SEPARATOR.to_string());
        let found = parse_allocation(&line).unwrap();
        assert_eq!((found.id, &*found.nodes, &*found.comment, found.is_running()), (12, "n1", "hindmost x", true));
        let waits = ["13", "PENDING", "Resources", "", "n2", "(null)"].join(&SEPARATOR.to_string());
        assert_eq!(parse_allocation(&waits).unwrap().nodes, "n2");
        assert_eq!(parse_allocation("12 RUNNING"), None);
        let step = |line: &str| parse_step(&line.replace('|', &SEPARATOR.to_string()));
        assert_eq!(step("3.7|0.1.2@x"), Some(Step { job: 3, id: 7, name: "0.1.2@x".to_owned() }));
        assert_eq!((step("3.batch|batch"), step("3.extern|extern"), step("")), (None, None, None));
    }

    #[test]
    fn messages_become_one_line() {
        let text = "srun: error: Unable to create step for job 1: Memory\nsrun: error: \n\nsrun: Force Terminated job step 1.2\n";
        assert_eq!(one_line(text), "Unable to create step for job 1: Memory");
        assert_eq!(one_line("srun: Force Terminated job step 1.2\n"), "Force Terminated job step 1.2");
        assert_eq!(one_line(" \n"), "it gives no reason");
    }

    #[test]
    fn variables_of_an_allocation_are_recognised() {
        let is = |name: &str| is_of_allocation(OsStr::new(name));
        assert!(is("SLURM_JOB_ID") && is("SLURM_MEM_PER_CPU") && is("SLURMD_NODENAME"));
        assert!(!is("SLURM_CONF") && !is("PATH") && !is("SALLOC_PARTITION"));
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let ran = run(Command::new("sleep").arg("60"), Duration::from_millis(50));
        assert_eq!(ran.unwrap_err(), SlurmError::TooLate("sleep".to_owned(), 0));
        let missing = run(&mut Command::new("no-such-program"), PATIENCE).unwrap_err();
        assert!(missing.to_string().contains("no-such-program can't be started"));
        let (code, stdout, stderr) =
            run(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 3"]), PATIENCE).unwrap();
        assert_eq!((code, &*stdout, &*stderr), (Some(3), "a\n", "b\n"));
    }
}
