//! Tests with real processes. Nothing here depends on how fast anything goes: what is to happen is
//! waited for, with a limit that only a failure reaches.

mod endings;
mod ends;
mod finding;
mod identities;
mod trees;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::stat::Stat;
use super::*;

/// A tree of processes that is gone when it is dropped, whatever the test has come to.
struct Tree {
    root: Identity,
    tag: Tag,
}

/// The folder of every test's run.
const FOLDER: &str = "/folder of tests";
/// The key of every test's attempt.
const KEY: &str = "0.0.0";

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
        let run = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        command.env(RUN_VARIABLE, &run).env(KEY_VARIABLE, KEY).env(FOLDER_VARIABLE, FOLDER);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let tag = Tag::new(&run, Path::new(FOLDER), KEY);
        Tree { root: spawn(command, tag).unwrap(), tag }
    }

    /// Everything of this test that lives, wherever it is.
    fn living(&self) -> Vec<Identity> {
        let found = belonging::scan(|belonging| belonging.is_of(self.tag.attempt));
        found.iter().map(|stat| stat.identity().unwrap()).collect()
    }

    /// Waits until the attempt has ended with all that it has left, and returns its exit code.
    fn end(&self) -> Option<i32> {
        let mut ending = Ending::new(self.root.clone(), self.tag, Vec::new());
        eventually("nothing is left", || match ending.step() {
            Outcome::Unfinished => None,
            Outcome::Nothing(code) => Some(code),
            Outcome::Stays(what) => panic!("{what}"),
        })
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
        orphans::forget(&self.root);
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
    if stat_of(process).is_some() {
        roots::reap(process.pid);
    }
}

/// The name of the program that a process runs.
fn name_of(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

fn stat_of(process: &Identity) -> Option<Stat> {
    process.stat().unwrap()
}
