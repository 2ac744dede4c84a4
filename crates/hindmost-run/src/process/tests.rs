//! Tests with real processes. They wait for each expected event, with a time limit that only a failure reaches, so they do
//! not depend on the machine's speed.

mod endings;
mod ends;
mod finding;
mod identities;
mod measured;
mod trees;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hindmost_core::usage::Usage;

use super::stat::Stat;
use super::*;

/// A tree of processes that is killed when this is dropped, also if the test fails.
struct Tree {
    root: Identity,
    tag: Tag,
}

/// Folder of the runs in these tests. It does not exist.
const FOLDER: &str = "/folder of tests";
/// Key of the attempts in these tests.
const KEY: &str = "0.0.0";

impl Tree {
    /// Starts `/bin/sh` with a script; `zero` is the script's `$0`.
    fn new(script: &str, zero: impl AsRef<Path>) -> Tree {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).arg(zero.as_ref());
        Tree::of(&mut command)
    }

    /// Starts `/bin/sh` with a script that needs no `$0`.
    fn shell(script: &str) -> Tree {
        Tree::new(script, "sh")
    }

    /// Starts a command as the root process of an attempt of its own.
    fn of(command: &mut Command) -> Tree {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        adopt_orphans().unwrap();
        let run = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        command.env(RUN_VARIABLE, &run).env(KEY_VARIABLE, KEY).env(FOLDER_VARIABLE, FOLDER);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let tag = Tag::new(&run, Path::new(FOLDER), KEY);
        Tree { root: spawn(command, tag).unwrap(), tag }
    }

    /// Returns all running processes of the attempt.
    fn running(&self) -> Vec<Identity> {
        let found = membership::scan(|membership| membership.is_of(self.tag.attempt));
        found.iter().map(|stat| stat.identity().unwrap()).collect()
    }

    /// Waits until all processes of the attempt have ended, and returns its exit code.
    fn end(&self) -> Option<i32> {
        self.end_all().0
    }

    /// Waits until the root process has ended, and all others, and returns its exit code and what the attempt has used.
    fn end_measured(&self) -> (Option<i32>, Usage) {
        eventually("the root has ended", || (!self.root.is_running()).then_some(()));
        self.end_all()
    }

    fn end_all(&self) -> (Option<i32>, Usage) {
        let mut ending = Ending::new(self.root.clone(), self.tag, Vec::new(), None);
        eventually("all processes have ended", || match ending.step() {
            Outcome::Unfinished => None,
            Outcome::Nothing(code, usage) => Some((code, usage)),
            Outcome::Stays(what) => panic!("{what}"),
        })
    }

    /// Waits until the root has this many descendants, each of them running `program`.
    fn wait_for(&self, count: usize, program: &str) -> Vec<u32> {
        eventually("all processes have started", || {
            let found = descendants(self.root.pid);
            (found.len() == count && found.iter().all(|pid| name_of(*pid).as_deref() == Some(program))).then_some(found)
        })
    }

    /// Waits until all processes of the attempt have ended.
    fn wait_for_end(&self) {
        eventually("all processes have ended", || (!self.root.is_running() && self.running().is_empty()).then_some(()));
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let limit = Instant::now() + LIMIT;
        loop {
            kill_tree(&self.root);
            let running = self.running();
            running.iter().for_each(kill_tree);
            if running.is_empty() && !self.root.is_running() || Instant::now() > limit {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        orphans::forget(&self.root);
    }
}

/// Time after which a test fails that waits for an event.
const LIMIT: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until `check` returns a result.
fn eventually<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + LIMIT;
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < limit, "this has not happened in time: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Reaps a child that has ended and has not been reaped.
fn reap(process: &Identity) {
    if stat_of(process).is_some() {
        roots::reap(process.pid);
    }
}

/// Returns the name of the program that a process runs.
fn name_of(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

fn stat_of(process: &Identity) -> Option<Stat> {
    process.stat().unwrap()
}
