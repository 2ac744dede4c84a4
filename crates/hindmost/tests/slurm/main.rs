//! Tests of engine `slurm` on a small cluster of four nodes on this machine, which `scripts/slurm-lab.sh` brings up.
//!
//! Where Slurm is not installed each test prints `skipped`, and fails if `HINDMOST_REQUIRE_SLURM` is set.
#![cfg(target_os = "linux")]

mod allocations;
mod chaos;
mod crashes;
mod ends;
mod faults;
mod lab;
#[path = "../it/scene.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod scene;
mod silent;
mod use_cases;
mod users;

use std::process::{Command, Stdio};

/// Returns the command `hindmost` with the cluster of the tests.
fn hindmost() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hindmost"));
    command.env_remove("COLUMNS").env("NO_COLOR", "1").stdin(Stdio::null());
    lab::on_cluster(&mut command);
    command
}
