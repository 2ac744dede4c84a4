//! Tests of `hindmost map` that are no cases: `parallel.rs` compares it with GNU parallel.

mod parallel;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{Ran, hindmost};

/// A folder in which commands run, with a folder for temporary files.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("temporary")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = hindmost();
        command
            .arg("map")
            .args(args)
            .current_dir(self.0.path())
            .env("TMPDIR", self.path("temporary"))
            .env("PARALLEL_SHELL", "/bin/sh");
        command
    }

    /// Runs a map to its end, and checks that it leaves no temporary files.
    fn map(&self, args: &[&str]) -> Ran {
        self.map_with("", args)
    }

    /// The same with a text on standard input.
    fn map_with(&self, input: &str, args: &[&str]) -> Ran {
        let ran = output(self.command(args), input.as_bytes());
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        assert!(is_empty(&self.path("temporary")), "temporary files are left");
        ran
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Runs a command with a text on standard input.
fn output(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command may end before it reads its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}
