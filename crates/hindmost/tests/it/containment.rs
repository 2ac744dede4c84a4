//! Processes that a command leaves running end with its attempt, and no other process or file is touched. The tests use
//! daemons of every kind, attempts of an earlier process run, forged files, terminals and scarce resources.

mod daemons;
mod files;
mod limits;
mod signals;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::scene::{run_id, until, until_recorded};

/// The user who runs the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    /// The user of the test.
    Current,
    /// The user with this id, who is not root.
    Other(u32),
}

const NOBODY: User = User::Other(65_534);

/// Returns true if a program is installed.
fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).exists())
}

/// Returns true if the test can run processes as another user.
fn may_become(id: u32) -> bool {
    let [user, group] = [format!("--reuid={id}"), format!("--regid={id}")];
    let tried = Command::new("setpriv").args([&user, &group, "--clear-groups", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Returns the users as whom a test runs: the current user and, if that is root, nobody.
fn users() -> Vec<User> {
    if may_become(65_534) { vec![User::Current, NOBODY] } else { vec![User::Current] }
}

/// A folder with a job in it, and the user who runs the job.
struct Place {
    folder: TempDir,
    user: User,
}

impl Place {
    fn new(user: User, job: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder, user };
        place.write("job.toml", job);
        fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if let User::Other(id) = user {
            chown(place.folder.path(), Some(id), Some(id)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns the command that runs `script` as the user of this place. The script ends in `exec "$@"`, which executes
    /// hindmost with these arguments.
    fn command(&self, script: &str, args: &[&str]) -> Command {
        let mut command = match self.user {
            User::Current => Command::new("sh"),
            User::Other(id) => {
                let mut command = Command::new("setpriv");
                command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups", "sh"]);
                command
            }
        };
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_hindmost")]).args(args);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("NO_COLOR", "1").env("HINDMOST", env!("CARGO_BIN_EXE_hindmost"));
        command
    }

    /// Starts `hindmost run`, by a script that ends in `exec "$@"`.
    fn spawn_by(&self, script: &str, args: &[&str]) -> Running<'_> {
        let log = |name: &str| fs::File::create(self.path(name)).unwrap();
        let mut command = self.command(script, &["run", "job.toml", "--json", "--out", "out"]);
        let child = command.args(args).stdout(log("stdout")).stderr(log("stderr")).spawn().unwrap();
        Running { place: self, child }
    }

    fn spawn(&self, args: &[&str]) -> Running<'_> {
        self.spawn_by("exec \"$@\"", args)
    }

    /// Returns the sizes of the files in a task's result.
    fn sizes(&self, result: &str) -> BTreeMap<String, u64> {
        let entries = fs::read_dir(self.path("out").join(result)).into_iter().flatten().flatten();
        let size =
            |entry: &fs::DirEntry| entry.metadata().map_or(0, |found| if found.is_file() { found.len() } else { 0 });
        entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), size(&entry))).collect()
    }

    /// Returns the command lines of running processes whose working directory or an open file is in this folder.
    fn processes(&self) -> Vec<String> {
        let pids = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        let is_here = |pid: &u32| {
            let here = |link: PathBuf| fs::read_link(link).is_ok_and(|at| at.starts_with(self.folder.path()));
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            here(format!("/proc/{pid}/cwd").into()) || open.into_iter().any(|entry| here(entry.path()))
        };
        let line = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name = |pid: u32| format!("{pid} {}", String::from_utf8_lossy(&line(pid)).replace('\0', " "));
        pids.filter(is_here).map(name).collect()
    }

    /// Returns the path of a file in the folder of a running attempt; a path that does not exist if none runs.
    fn of_attempt(&self, attempt: &str, file: &str) -> PathBuf {
        let attempts = self.path("out/.hindmost/attempts");
        let names = fs::read_dir(&attempts).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let found =
            names.filter_map(|name| name.into_string().ok()).find(|name| name.starts_with(&format!("{attempt}.")));
        attempts.join(found.unwrap_or_else(|| attempt.to_owned())).join(file)
    }

    /// Checks that no process of the run is left.
    fn is_clean(&self) {
        assert_eq!(self.processes(), Vec::<String>::new(), "{:?}", self.user);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for process in self.processes() {
            let pid = process.split(' ').next().unwrap_or_default();
            let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
        }
    }
}

/// A running `hindmost run`. It is killed when the test ends.
struct Running<'a> {
    place: &'a Place,
    child: Child,
}

impl Running<'_> {
    /// Waits until the command ends and returns the exit code; `None` if a signal ended it.
    fn end(&mut self) -> Option<i32> {
        let limit = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if Instant::now() > limit {
                let said = self.place.read("stderr");
                panic!("the command does not end: {said}{:?}", self.place.processes());
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// Waits until the command ends, which must succeed.
    fn succeed(&mut self) {
        let code = self.end();
        assert_eq!(code, Some(0), "{:?}: {}{}", self.place.user, self.place.read("stdout"), self.place.read("stderr"));
    }

    /// Kills the command once it has recorded that its attempts run. They go on.
    fn kill_once_recorded(&mut self) {
        until_recorded(&self.place.path("out"));
        self.signal("KILL");
        assert_eq!(self.end(), None);
    }

    /// Sends a signal to the command.
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LIMIT: Duration = Duration::from_mins(1);
