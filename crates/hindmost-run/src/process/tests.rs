//! Tests with real processes. Nothing here depends on how fast anything goes: what is to happen is
//! waited for, with a limit that only a failure reaches.

mod ends;
mod finding;
mod identities;
mod trees;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::stat::Stat;
use super::*;

/// Marks every process that a test starts.
const MARK: &str = "HINDMOST_PROCESS_TEST";

/// A tree of processes that is gone when it is dropped, whatever the test has come to.
struct Tree {
    root: Identity,
    mark: String,
}

impl Tree {
    /// Runs a script with `/bin/sh`; `$0` is what is given as such.
    fn new(script: &str, zero: impl AsRef<Path>) -> Tree {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).arg(zero.as_ref());
        Tree::of(&mut command)
    }

    /// Runs a script that needs no `$0`.
    fn shell(script: &str) -> Tree {
        Tree::new(script, "sh")
    }

    /// Runs a command.
    fn of(command: &mut Command) -> Tree {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        adopt_orphans().unwrap();
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, &mark).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Tree { root: spawn(command).unwrap(), mark }
    }

    /// Everything of this test that lives, wherever it is.
    fn living(&self) -> Vec<Identity> {
        find_by_environment(MARK, &self.mark, "").into_iter().map(|(identity, _)| identity).collect()
    }

    /// Waits until the root has this many descendants, each of them running `program`.
    fn wait_for(&self, count: usize, program: &str) -> Vec<u32> {
        eventually("all have started", || {
            let found = descendants(self.root.pid);
            (found.len() == count && found.iter().all(|pid| name_of(*pid).as_deref() == Some(program))).then_some(found)
        })
    }

    /// Waits until nothing of this test lives.
    fn wait_for_end(&self) {
        eventually("all have ended", || (!self.root.is_alive() && self.living().is_empty()).then_some(()));
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let limit = Instant::now() + LIMIT;
        loop {
            kill_tree(&self.root);
            let living = self.living();
            living.iter().for_each(kill_tree);
            if living.is_empty() && !self.root.is_alive() || Instant::now() > limit {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        reap(&self.root);
    }
}

/// How long something may take before it has surely failed.
const LIMIT: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until there is a result.
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + LIMIT;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < limit, "never: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Reaps a child if it has ended and nobody else has done it.
fn reap(process: &Identity) {
    if let Ok(Some(descriptor)) = pidfd::open(process.pid, process.start_time) {
        pidfd::reap(&descriptor);
    }
}

/// The name of the program that a process runs.
fn name_of(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

fn stat_of(process: &Identity) -> Option<Stat> {
    process.stat().unwrap()
}
