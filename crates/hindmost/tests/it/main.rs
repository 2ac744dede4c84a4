//! Tests of the `hindmost` command: its output, its errors, and the files that it leaves.

mod advise;
mod cases;
mod chaos;
mod clean;
mod command_line_page;
mod console;
mod containment;
mod documents;
mod environments;
mod examples;
mod forecasts;
mod guarantees;
mod help;
mod journal;
mod live_page;
mod live_text;
mod map;
mod policies;
mod profiles;
mod quoted_figures;
mod replay;
mod scene;
mod schemas;
mod slurm;
mod stragglers;
mod validation;
mod variables;
mod watch;
mod words;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Returns the command `hindmost`, whose output does not depend on the terminal's width or the user's settings. In a test
/// with a Slurm cluster it uses that one.
fn hindmost() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hindmost"));
    command.env_remove("COLUMNS").env("NO_COLOR", "1").stdin(Stdio::null());
    slurm::on_cluster(&mut command);
    command
}

/// The output and the exit code of a command.
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

/// Runs a command, which must succeed, and returns the JSON document that it prints.
fn json(args: &[&str]) -> Value {
    json_in(Path::new("."), args)
}

/// The same in a folder.
fn json_in(folder: &Path, args: &[&str]) -> Value {
    let ran = run_in(folder, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    document(&ran)
}

/// Returns the JSON document that is the whole output.
fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}
