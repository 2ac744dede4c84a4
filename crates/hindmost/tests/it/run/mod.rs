//! Tests of `hindmost run` with jobs of real commands.

mod deadlines;
mod outliving;
mod variables;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Ran, hindmost, run_in};

/// A folder with a job in it.
pub struct Job(TempDir);

impl Job {
    /// Creates a job with this text in a new folder.
    pub fn new(text: &str) -> Job {
        let job = Job(tempfile::tempdir().unwrap());
        job.write("job.toml", text);
        job
    }

    /// Returns the job's folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file in the job's folder.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Returns the text of a file in the job's folder.
    pub fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns true if a file is in the job's folder.
    pub fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// Returns the number of lines of a file in the job's folder; 0 if there is no such file.
    pub fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path().join(name)).map_or(0, |text| text.lines().count())
    }

    /// Runs the job to its end, whatever its exit code.
    pub fn run(&self, args: &[&str]) -> Ran {
        run_in(self.path(), &[&["run", "job.toml"], args].concat())
    }

    /// Runs the job to its end and checks that it succeeds.
    pub fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }

    /// Runs the job to its end, checks the exit code and returns the JSON document.
    pub fn json(&self, args: &[&str], code: i32) -> Value {
        let ran = self.run(&[&["--json"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}: {}{}", ran.stdout, ran.stderr);
        document(&ran)
    }

    /// Waits until the run in this folder has recorded that its attempts run.
    pub fn until_recorded(&self) {
        let is_out = |name: &String| self.path().join(name).join(".hindmost").is_dir();
        let outs: Vec<String> = self.names(".").into_iter().filter(is_out).collect();
        assert_eq!(outs.len(), 1, "{outs:?}");
        crate::scene::until_recorded(&self.path().join(&outs[0]));
    }

    /// Starts the job without waiting for its end.
    pub fn start(&self, args: &[&str]) -> Started {
        let mut command = hindmost();
        command.current_dir(self.path()).args(["run", "job.toml"]).args(args);
        Started(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Returns the sorted names in a folder of the job's folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path().join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Returns the JSON document that is the whole output.
pub fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

/// A running command. It is killed when the test ends.
pub struct Started(Option<Child>);

impl Started {
    /// Sends a signal, such as `INT`.
    pub fn signal(&self, signal: &str) {
        crate::scene::signal(self.0.as_ref().unwrap().id(), signal);
    }

    /// Waits until the command ends and returns its output and exit code.
    pub fn wait(mut self) -> Ran {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a condition holds; panics after two minutes.
pub fn wait_for(what: &str, condition: impl Fn() -> bool) {
    crate::scene::until_within(what, Duration::from_mins(2), condition);
}
