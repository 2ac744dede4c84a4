//! The clusters of the tests, one for each test that runs at a time: brought up when there is none that is free, stopped when no
//! test runs any more.
//!
//! A guard process stops the daemons as soon as a pipe from this process closes, so none is left even if the tests are killed.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Programs that the tests need.
const PROGRAMS: [&str; 9] =
    ["munged", "slurmctld", "slurmd", "srun", "salloc", "scancel", "squeue", "sinfo", "scontrol"];
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/slurm-lab.sh");

/// The nodes of the cluster.
pub const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];

/// Lets Slurm notice within seconds that a node is silent. On a busy machine it may take others for silent, too.
pub const SOON: (&str, &str) = ("SLURMD_TIMEOUT", "6");

/// Time within which the controller saves its state after a change.
const SAVES: Duration = Duration::from_secs(6);

static CLUSTERS: Mutex<Clusters> = Mutex::new(Clusters { free: Vec::new(), tests: 0 });

thread_local! {
    /// The configuration of the cluster of the test that runs in this thread.
    static CONFIGURATION: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// What tests share.
struct Clusters {
    /// Clusters that no test uses.
    free: Vec<Arc<Lab>>,
    /// Number of tests that use one.
    tests: usize,
}

/// A running cluster.
pub struct Lab {
    folder: TempDir,
    guard: Child,
    settings: Vec<(&'static str, &'static str)>,
}

/// The cluster of a test.
pub struct Cluster {
    pub lab: Arc<Lab>,
    /// Whether another test may use it afterwards.
    is_shared: bool,
}

/// Lets a command use the cluster.
pub fn on_cluster(command: &mut Command) {
    let configuration = CONFIGURATION.with_borrow(Clone::clone);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SLURM")) {
        command.env_remove(name);
    }
    command.envs(configuration.iter().map(|file| ("SLURM_CONF", file)));
}

/// Fails if Slurm is not installed.
fn check_installed() {
    let has = |program: &&&str| {
        let found =
            Command::new("sh").args(["-c", &format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}")]).output();
        !found.is_ok_and(|output| output.status.success())
    };
    let missing: Vec<&str> = PROGRAMS.iter().filter(has).copied().collect();
    assert!(missing.is_empty(), "Slurm is not installed: {} missing; see scripts/slurm-lab.sh", missing.join(", "));
}

/// Returns a cluster without running steps and with all nodes idle, which other tests use afterwards.
pub fn cluster() -> Cluster {
    check_installed();
    let free = {
        let mut clusters = clusters();
        clusters.tests += 1;
        clusters.free.pop()
    };
    Cluster::of(free.unwrap_or_else(|| Arc::new(Lab::up(&[]))), true)
}

/// Returns a cluster that no other test uses.
pub fn own_cluster() -> Cluster {
    own_cluster_with(&[])
}

/// Returns a cluster that no other test uses, brought up with these environment variables.
pub fn own_cluster_with(settings: &[(&'static str, &'static str)]) -> Cluster {
    check_installed();
    clusters().tests += 1;
    Cluster::of(Arc::new(Lab::up(settings)), false)
}

fn clusters() -> MutexGuard<'static, Clusters> {
    CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    fn of(lab: Arc<Lab>, is_shared: bool) -> Cluster {
        let cluster = Cluster { lab, is_shared };
        cluster.begin();
        cluster
    }

    fn begin(&self) {
        CONFIGURATION.set(Some(self.lab.configuration()));
        self.lab.start_missing();
        self.lab.until_idle();
    }

    /// Replaces the daemons after a test has failed.
    pub fn renew(&mut self) {
        self.lab = Arc::new(Lab::up(&self.lab.settings));
        self.begin();
    }
}

impl Lab {
    fn up(settings: &[(&'static str, &'static str)]) -> Lab {
        let folder = tempfile::Builder::new().prefix("slurm").tempdir().unwrap();
        // Other users use the cluster too.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let lab = folder.path().join("lab");
        let script = "trap '' INT TERM HUP; read -r _; exec \"$0\" down \"$1\"";
        let mut guard = Command::new("sh");
        guard.args(["-c", script, SCRIPT]).arg(&lab).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut guard, 0);
        let lab = Lab { folder, guard: guard.spawn().unwrap(), settings: settings.to_vec() };
        lab.script("up", &[]);
        lab
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().join("lab")
    }

    /// Runs the script. Its output goes to a file, because the daemons keep it open.
    fn script(&self, what: &str, more: &[&str]) {
        let log = self.folder.path().join("log");
        let file = File::create(&log).unwrap();
        let mut command = Command::new(SCRIPT);
        command.arg(what).arg(self.folder()).args(more).stdin(Stdio::null());
        command.envs(self.settings.iter().copied()).stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().unwrap();
        assert!(status.success(), "slurm-lab.sh {what}: {}", fs::read_to_string(log).unwrap());
    }

    /// Returns the configuration file of the cluster.
    pub fn configuration(&self) -> PathBuf {
        self.folder().join("slurm.conf")
    }

    /// Returns the process id of a daemon. One that has just been started may not have written it yet.
    fn pid(&self, daemon: &str) -> String {
        let file = self.folder().join(format!("run/{daemon}.pid"));
        let begin = Instant::now();
        loop {
            let pid = fs::read_to_string(&file).unwrap_or_default();
            if !pid.trim().is_empty() {
                return pid.trim().to_owned();
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{} holds no process id", file.display());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn kill(&self, daemon: &str) {
        let status = Command::new("kill").args(["-KILL", &self.pid(daemon)]).status().unwrap();
        // A controller may have crashed just before.
        assert!(status.success() || daemon == "slurmctld", "{daemon} does not run");
    }

    fn is_running(&self, daemon: &str) -> bool {
        let file = self.folder().join(format!("run/{daemon}.pid"));
        let pid = fs::read_to_string(file).unwrap_or_default();
        let line = fs::read(Path::new("/proc").join(pid.trim()).join("cmdline")).unwrap_or_default();
        !pid.trim().is_empty() && String::from_utf8_lossy(&line).contains(&*self.folder().to_string_lossy())
    }

    /// Starts the daemons that a failed test has left dead.
    pub fn start_missing(&self) {
        if !self.is_running("slurmctld") {
            self.start_controller();
        }
        for node in NODES.iter().filter(|node| !self.is_running(&format!("slurmd-{node}"))) {
            self.start_node(node);
        }
    }

    /// Starts the controller if it runs no more.
    pub fn restart_crashed_controller(&self) {
        if !self.is_running("slurmctld") {
            self.start_controller();
        }
    }

    /// Kills the `slurmd` of a node. Its steps continue.
    pub fn kill_node(&self, node: &str) {
        self.kill(&format!("slurmd-{node}"));
    }

    /// Sends the `slurmd` of a node a signal, such as `STOP`.
    pub fn signal_node(&self, node: &str, name: &str) {
        let pid = self.pid(&format!("slurmd-{node}"));
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Kills the `slurmd` of a node with everything that runs in its steps, as a machine does that restarts.
    pub fn kill_node_with_steps(&self, node: &str) {
        self.signal_node_with_steps(node, "KILL");
    }

    /// Sends the `slurmd` of a node and everything that runs in its steps a signal. `STOP` makes the node silent.
    pub fn signal_node_with_steps(&self, node: &str, signal: &str) {
        let wanted = [format!("SLURM_CONF={}", self.configuration().display()), format!("SLURMD_NODENAME={node}")];
        // Another cluster on this machine may have allocations of the same numbers.
        let log = self.folder().join(format!("log/slurmd-{node}.log"));
        let is_stepd = |number: u32, line: &str| {
            let files = || fs::read_dir(format!("/proc/{number}/fd")).into_iter().flatten().flatten();
            line.starts_with("slurmstepd: [")
                && files().any(|file| fs::read_link(file.path()).is_ok_and(|file| file == log))
        };
        self.signal_node(node, signal);
        // Processes may be starting others.
        for _ in 0..2 {
            for number in process_numbers() {
                let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).into_owned();
                let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
                let variables: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
                let is_in_step = wanted.iter().all(|one| variables.contains(&one.as_bytes()));
                if is_in_step || is_stepd(number, &line) {
                    let signal = format!("-{signal}");
                    let _ = Command::new("kill").args([&signal, &number.to_string()]).stderr(Stdio::null()).status();
                }
            }
        }
    }

    /// Starts the `slurmd` of a node again.
    pub fn start_node(&self, node: &str) {
        self.script("node", &[node]);
    }

    /// Kills `slurmctld`.
    pub fn kill_controller(&self) {
        self.kill("slurmctld");
    }

    /// Kills `slurmctld` and removes what it has saved about jobs, as if it had been killed before it saved anything. It will know no
    /// allocation, and give their ids to other ones.
    pub fn kill_forgetful_controller(&self) {
        self.kill_controller();
        for file in ["job_state", "job_state.old", "last_job_id"] {
            let _ = fs::remove_file(self.folder().join("ctld").join(file));
        }
    }

    /// Ends `slurmctld`, which saves its state first.
    pub fn end_controller(&self) {
        let pid = self.pid("slurmctld");
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        let begin = Instant::now();
        while Path::new("/proc").join(&pid).join("exe").exists() {
            assert!(begin.elapsed() < Duration::from_mins(1), "slurmctld does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts `slurmctld` again.
    pub fn start_controller(&self) {
        self.script("ctld", &[]);
    }

    /// Runs one of Slurm's commands and returns what it prints.
    pub fn output(&self, program: &str, args: &[&str]) -> String {
        let output = self.try_output(program, args);
        assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn try_output(&self, program: &str, args: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null());
        on_cluster(&mut command);
        command.env("SLURM_CONF", self.configuration()).output().unwrap()
    }

    /// Returns the running steps of attempts, as `JOB.STEP`, and their nodes.
    pub fn attempts(&self) -> Vec<(String, String)> {
        let text = self.output("squeue", &["--noheader", "--steps", "-o", "%i %N %j"]);
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let of_attempts =
            words.filter(|words| words.get(2).is_some_and(|name| name.contains('@') && !name.starts_with("check")));
        of_attempts.map(|words| (words[0].to_owned(), words[1].to_owned())).collect()
    }

    /// Returns the allocations that run or wait, with their nodes.
    pub fn allocations(&self) -> Vec<(String, String)> {
        let text = self.output("squeue", &["--noheader", "--states=RUNNING,PENDING", "-o", "%A %N"]);
        let pair = |line: &str| line.trim().split_once(' ').map(|(id, node)| (id.to_owned(), node.to_owned()));
        text.lines().filter_map(pair).collect()
    }

    /// Waits until nothing is left of any run: no allocation, no step, no process of the program on a node.
    pub fn until_clean(&self) {
        let begin = Instant::now();
        loop {
            let jobs = self.output("squeue", &["--noheader"]);
            let steps = self.output("squeue", &["--noheader", "--steps"]);
            let left = processes_in_steps(&self.folder());
            if jobs.trim().is_empty() && steps.trim().is_empty() && left.is_empty() {
                return;
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "jobs: {jobs}\nsteps: {steps}\nprocesses: {left:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until all nodes are idle, and until the controller has saved the end of what ran before: if it is killed earlier,
    /// it brings back allocations that had ended, and nobody ends them.
    pub fn settle(&self) {
        self.until_idle();
        self.until_saved();
    }

    /// Waits until the controller has saved its state. It does so within some seconds after a change.
    pub fn until_saved(&self) {
        let (begin, since) = (Instant::now(), std::time::SystemTime::now());
        let is_saved = || {
            let saved = fs::metadata(self.folder().join("ctld/job_state")).and_then(|state| state.modified());
            saved.is_ok_and(|at| at > since)
        };
        while !is_saved() && begin.elapsed() < SAVES {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until all nodes are idle.
    pub fn until_idle(&self) {
        let begin = Instant::now();
        loop {
            let states = self.output("sinfo", &["--noheader", "--Node", "-o", "%t"]);
            if states.lines().all(|state| state.trim() == "idle") {
                return;
            }
            if begin.elapsed() > Duration::from_secs(10) {
                let _ = self.try_output("scancel", &["--user", &user()]);
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "the nodes are not idle: {states}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn process_numbers() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn user() -> String {
    String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Returns the processes of the program that run in steps of a cluster.
fn processes_in_steps(lab: &Path) -> Vec<String> {
    let wanted = format!("SLURM_CONF={}", lab.join("slurm.conf").display());
    let lines = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let folder = entry.ok()?.path();
        let line = String::from_utf8_lossy(&fs::read(folder.join("cmdline")).ok()?).replace('\0', " ");
        let environment = fs::read(folder.join("environ")).ok()?;
        let is_here = environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        (is_here && line.contains(" slurm-step ")).then_some(line)
    });
    lines.collect()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let unused = {
            let mut clusters = clusters();
            clusters.tests -= 1;
            // A test that has failed may have left anything.
            if self.is_shared && !std::thread::panicking() {
                clusters.free.push(self.lab.clone());
            }
            if clusters.tests == 0 { std::mem::take(&mut clusters.free) } else { Vec::new() }
        };
        // Stopping them takes time.
        drop(unused);
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}
