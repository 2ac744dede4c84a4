//! Helpers of the tests of live runs: a folder with a job in it, process runs of the command, and the files they leave.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hindmost_core::journal::JournalReader;
use hindmost_core::record::Record;
use hindmost_core::timeline::Timeline;
use hindmost_run::engine::END_MARKER;
use hindmost_testing::left_out;
use serde_json::Value;
use tempfile::TempDir;

use crate::hindmost;

/// A folder with a job in it.
pub struct Scene {
    pub folder: TempDir,
}

/// The output and exit code of one process run of the command.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Checks the exit code, and that there was no panic.
    pub fn with(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Returns why the first failed task failed.
    pub fn reason(&self) -> String {
        let json: Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        json["failed_tasks"][0]["reason"].as_str().unwrap_or_default().to_owned()
    }
}

impl Scene {
    pub fn new(job: &str) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("job.toml"), job).unwrap();
        Scene { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn touch(&self, name: &str) {
        self.write(name, "");
    }

    /// A shell command that waits until `open` is called.
    pub fn gate(&self) -> String {
        format!("until test -e {}; do sleep 0.1; done", self.path("go").display())
    }

    /// Lets the commands go on that wait at the gate.
    pub fn open(&self) {
        self.touch("go");
    }

    /// Starts the job with more options. `script`, if given, is run by `sh -c` and ends in `exec "$@"`.
    pub fn spawn(&self, script: Option<&str>, args: &[&str]) -> Child {
        let mut command = match script {
            None => hindmost(),
            Some(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_hindmost")]).stdin(Stdio::null());
                crate::slurm::on_cluster(&mut command);
                command
            }
        };
        let log = |name: &str| fs::File::create(self.path(name)).unwrap();
        command.current_dir(self.folder.path()).args(["run", "job.toml", "--json", "--out", "out"]).args(args);
        command.stdout(log("stdout")).stderr(log("stderr")).spawn().unwrap()
    }

    pub fn end(&self, mut child: Child) -> Ended {
        let status = ended(&mut child).unwrap_or_else(|| {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the command does not end: {}{}", self.read("stdout"), self.read("stderr"))
        });
        Ended { code: status.code(), stdout: self.read("stdout"), stderr: self.read("stderr") }
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        self.end(self.spawn(None, args))
    }

    /// Checks that no process of the run is left, and no file of its attempts.
    pub fn is_clean(&self) -> &Scene {
        let run = run_id(&self.out()).expect("a run");
        let (left, _) = leftovers(&run);
        assert!(left.is_empty(), "processes are left: {left:?}");
        let attempts = names(&self.out().join(".hindmost/attempts"));
        assert!(attempts.is_empty(), "{attempts:?}");
        self
    }

    pub fn is_verified(&self) {
        let ran = hindmost().arg("verify").arg(self.out()).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

/// A process of the command in any folder. It is killed when the test ends.
pub struct Live {
    child: Child,
    said: [fs::File; 2],
}

impl Live {
    /// Starts `hindmost run JOB --out OUT` in a folder.
    pub fn start(folder: &Path, job: &str, out: &str, args: &[&str]) -> Live {
        Live::start_with(hindmost(), folder, job, out, args)
    }

    /// Starts `COMMAND run JOB --out OUT` in a folder. `command` is `hindmost` or a program that executes it.
    pub fn start_with(mut command: Command, folder: &Path, job: &str, out: &str, args: &[&str]) -> Live {
        let said = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        command.current_dir(folder).args(["run", job, "--out", out]).args(args).stdin(Stdio::null());
        command.stdout(said[0].try_clone().unwrap()).stderr(said[1].try_clone().unwrap());
        Live { child: command.spawn().unwrap(), said }
    }

    /// Waits until the process ends.
    pub fn end(mut self) -> Ended {
        let status = ended(&mut self.child);
        let [stdout, stderr] = [0, 1].map(|at| {
            let mut bytes = Vec::new();
            self.said[at].rewind().unwrap();
            self.said[at].read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let status = status.unwrap_or_else(|| panic!("the command does not end: {stdout}{stderr}"));
        Ended { code: status.code(), stdout, stderr }
    }

    /// Kills the process, but not its children.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a program that tests execute. A process of its own writes it: if this one did, a process that another thread starts meanwhile
/// would hold the file open for writing, and a file that is open for writing can't be executed.
pub fn program(path: &Path, text: &str) {
    let mut child = Command::new("sh");
    child.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path).stdin(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// How long is waited for what must happen. Loaded machines are slow, and only what never happens takes so long.
const PATIENCE: Duration = Duration::from_mins(4);

/// Waits until a condition holds; panics if that takes too long.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    until_within(what, PATIENCE, is_so);
}

/// Waits until something that is observed is as expected; says what it was instead if that takes too long.
pub fn until_equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, observe: impl Fn() -> T) {
    let begin = Instant::now();
    loop {
        let observed = observe();
        if observed == *expected {
            return;
        }
        let is_late = begin.elapsed() > PATIENCE;
        assert!(!is_late, "this has not happened: {what}: {expected:?}, but {observed:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until something has happened, but not longer than `patience`.
pub fn until_within(what: &str, patience: Duration, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    // Some conditions start a process to find out, so that they must not be tested all the time.
    let mut pause = Duration::from_millis(5);
    while !is_so() {
        assert!(begin.elapsed() < patience, "this has not happened: {what}");
        std::thread::sleep(pause);
        pause = (pause * 3 / 2).min(Duration::from_millis(200));
    }
}

/// Waits until a run has recorded all attempts as running. A run that is killed before that resumes from another state, which
/// `cases/outliving.md` tests.
pub fn until_recorded(out: &Path) {
    until("the attempts are recorded as running", || {
        let journal = fs::read_to_string(out.join(".hindmost/journal.jsonl")).unwrap_or_default();
        let [started, running] =
            ["{\"start\":{\"attempt\"", "\"attempt_running\""].map(|what| journal.matches(what).count());
        running > 0 && running >= started
    });
}

/// Starts a process that resumes a run, and waits until the run's journal has grown: by then, attempts that still ran are
/// adopted.
pub fn resumed<P>(out: &Path, start: impl FnOnce() -> P) -> P {
    let length = || fs::metadata(out.join(".hindmost/journal.jsonl")).map_or(0, |journal| journal.len());
    let before = length();
    let process = start();
    until("the run is resumed", || length() > before);
    process
}

/// Returns true if the attempt with this folder has ended. Its marker is there from the start, and empty until then.
pub fn has_ended(attempt: &Path) -> bool {
    fs::metadata(attempt.join(END_MARKER)).is_ok_and(|end| end.len() > 0)
}

/// Runs `script` in its own mount namespace; `None` if that is not permitted.
pub fn with_mounts(folder: &Path, script: &str) -> Option<Ended> {
    for flags in ["-m", "-rm"] {
        let may = Command::new("unshare").args([flags, "mount", "-t", "tmpfs", "none"]).arg(folder).output();
        if !may.is_ok_and(|tried| tried.status.success()) {
            continue;
        }
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_hindmost")]);
        let ran = command.current_dir(folder).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        return Some(Ended { code: ran.status.code(), stdout: text(ran.stdout), stderr: text(ran.stderr) });
    }
    left_out("mounting is not permitted here");
    None
}

/// Returns a shell script that executes its arguments: as the user nobody if this is root, else as the current user.
pub fn as_nobody() -> &'static str {
    let id = Command::new("id").arg("-u").output().unwrap().stdout;
    let script = r#"exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#;
    let tried = Command::new("sh").args(["-c", script, "sh", env!("CARGO_BIN_EXE_hindmost"), "--version"]).output();
    if id == b"0\n" && tried.is_ok_and(|tried| tried.status.success()) { script } else { r#"exec "$@""# }
}

/// Sends a signal to a process.
pub fn signal(pid: u32, name: &str) {
    assert!(
        !is_ignored(name),
        "SIG{name} was ignored when these tests were started, as it is in a script's background job, and the processes that they start \
         ignore it too: run them in the foreground, or with `env --default-signal`"
    );
    let script = format!("kill -{name} {pid} 2>/dev/null");
    let _ = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).status();
}

/// Returns true if this process ignores a signal. Its children would ignore the signal too.
fn is_ignored(name: &str) -> bool {
    let number = match name {
        "HUP" => 1,
        "INT" => 2,
        "TERM" => 15,
        _ => return false,
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits >> (number - 1) & 1 == 1)
}

/// Waits until a process ends; `None` if that takes more than five minutes.
pub fn ended(child: &mut Child) -> Option<ExitStatus> {
    ended_within(child, Duration::from_mins(5))
}

/// The same with another limit.
pub fn ended_within(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begin = Instant::now();
    while begin.elapsed() < patience {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    None
}

/// Returns the running processes of a run: process ids and command lines.
pub fn processes(run: &str) -> Vec<(u32, String)> {
    processes_with(&format!("HINDMOST_RUN={run}"))
}

/// Returns the running processes whose environment has this variable with this value: process ids and command lines.
pub fn processes_with(wanted: &str) -> Vec<(u32, String)> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let of_run = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let named = |pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state =
            state.rsplit(')').next().unwrap_or_default().split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        (pid, format!("{} ({state})", String::from_utf8_lossy(&line).replace('\0', " ")))
    };
    pids.filter(of_run).map(named).collect()
}

/// Returns the processes of a run that still run after up to 10 s, and whether any were running at first. Tests call it
/// when all processes of the run should have ended.
pub fn leftovers(run: &str) -> (Vec<(u32, String)>, bool) {
    leftovers_with(&format!("HINDMOST_RUN={run}"))
}

/// The same for processes whose environment has this variable with this value.
pub fn leftovers_with(wanted: &str) -> (Vec<(u32, String)>, bool) {
    let begin = Instant::now();
    let mut found = processes_with(wanted);
    let late = !found.is_empty();
    while !found.is_empty() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
        found = processes_with(wanted);
    }
    (found, late)
}

/// Returns the id of a run from its record; `None` if the record does not exist yet.
pub fn run_id(out: &Path) -> Option<String> {
    let text = fs::read_to_string(out.join(".hindmost/job.json")).ok()?;
    let job: Value = serde_json::from_str(&text).ok()?;
    Some(job["run"].as_str()?.to_owned())
}

/// Returns the files below a folder: relative paths and contents.
pub fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(
                    name,
                    fs::read(&path)
                        .map_or_else(|_| "unreadable".to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned()),
                );
            }
        }
    }
    found
}

/// Returns the names in a folder.
pub fn names(folder: &Path) -> BTreeSet<String> {
    let found = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the records of a run's journal.
pub fn records(out: &Path) -> Vec<Record> {
    let text = fs::read(out.join(".hindmost/journal.jsonl")).unwrap();
    JournalReader::new(&text[..]).unwrap().map(Result::unwrap).collect()
}

/// Returns the timeline of a run, from its journal.
pub fn timeline(out: &Path) -> Timeline {
    Timeline::of(records(out))
}
