//! Finding processes by what their environment says: children inherit it, whatever group or session
//! they are in and whoever their parents are, so it marks everything that an attempt has started.
//!
//! What `/proc` shows is the environment that the program was started with. Programs that write their
//! status over it (some servers, to be seen in `ps`) or start others with a clean one aren't found.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use super::identity::Identity;
use super::stat::{Stat, numbers_in};
use super::{ours, tree};

/// How often, and after what time each, an environment that seems empty is read again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(1);

/// Every living process whose environment has `name=value`, with the value of `key` in the same
/// environment. Those that can't be read are left out, and so is this process itself.
///
/// It looks at every process on the machine.
pub fn find_by_environment(name: &str, value: &str, key: &str) -> Vec<(Identity, Option<OsString>)> {
    let others = numbers_in("/proc").into_iter().filter(|pid| *pid != std::process::id());
    others.filter_map(|pid| marked(pid, name, value, key)).filter_map(named).collect()
}

/// Living orphans of attempts that this process has adopted: its direct children whose environment has
/// `name=value`, with the value of `key` in the same environment. Roots that [`super::spawn`] has
/// started aren't among them until their end has been told.
///
/// It looks at this process's children only.
pub fn adopted_orphans(name: &str, value: &str, key: &str) -> Vec<(Identity, Option<OsString>)> {
    let children = ours::without_roots(tree::our_children());
    let found: Vec<_> = children.into_iter().filter_map(|pid| marked(pid, name, value, key)).collect();
    let orphans: Vec<_> = found.into_iter().filter(|(stat, _)| !ours::is_root(stat.pid, stat.start_time)).collect();
    ours::remember(orphans.iter().map(|(stat, _)| stat));
    orphans.into_iter().filter_map(named).collect()
}

fn named((stat, found): (Stat, Option<OsString>)) -> Option<(Identity, Option<OsString>)> {
    Some((stat.identity().ok()?, found))
}

/// The process and the value of `key`, if it lives and its environment has `name=value`.
fn marked(pid: u32, name: &str, value: &str, key: &str) -> Option<(Stat, Option<OsString>)> {
    let stat = Stat::read(pid).ok()?;
    let environment = environment(&stat)?;
    if variable(&environment, name)? != value.as_bytes() {
        return None;
    }
    // Had the pid been given to another process meanwhile, the environment might be that one's.
    let stat = stat.now().filter(|now| !now.has_ended())?;
    let found = variable(&environment, key).map(|found| OsString::from_vec(found.to_vec()));
    Some((stat, found))
}

/// The environment that a process was started with; none if it can't be read or there is none.
fn environment(stat: &Stat) -> Option<Vec<u8>> {
    if stat.has_ended() || !stat.has_memory {
        return None;
    }
    for attempt in 0..TRIES {
        let read = std::fs::read(format!("/proc/{}/environ", stat.pid)).ok()?;
        if !read.is_empty() {
            return Some(read);
        }
        // While a process becomes another program, it has no environment for a moment.
        if attempt + 1 < TRIES {
            std::thread::sleep(PAUSE);
        }
    }
    None
}

/// The value of a variable: the first one of that name, as programs see it.
fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}
