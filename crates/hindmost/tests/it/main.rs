//! The `hindmost` command as its users meet it: what it prints, how it fails, what it leaves behind.

mod chaos;
#[cfg(target_os = "linux")]
mod containment;
mod demo;
mod errors;
mod examples;
mod files;
mod guarantees;
mod help;
mod journal;
mod replay;
mod reports;
mod run;
mod run_errors;
mod scene;
mod simulate;
mod theory;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The command, away from the terminal's width and the user's settings.
fn hindmost() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hindmost"));
    command.env_remove("COLUMNS").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// What a run printed and how it ended.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str]) -> Ran {
    run_in(Path::new("."), args)
}

fn run_in(folder: &Path, args: &[&str]) -> Ran {
    let output: Output = hindmost().current_dir(folder).args(args).output().expect("the command runs");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text on stdout"),
        stderr: String::from_utf8(output.stderr).expect("text on stderr"),
    }
}

/// The JSON document that a successful run printed.
fn json(args: &[&str]) -> serde_json::Value {
    let ran = run(args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ran.stdout))
}
