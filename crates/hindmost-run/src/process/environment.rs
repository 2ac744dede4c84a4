//! Reads the environment variables with which a process was started, from `/proc`. They are unknown for programs that
//! overwrite them (some servers do, to show their status in `ps`) or that were started with an empty environment.

use std::time::Duration;

use super::stat::Stat;

/// Number of times that an environment is read if it seems empty.
const TRIES: u32 = 5;
/// Time between two of these reads.
const PAUSE: Duration = Duration::from_millis(1);

/// The variables of a process, as far as they can be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment(Vec<u8>);

impl Environment {
    /// Reads the variables of a process; empty if they can't be read. A process that executes another program has no
    /// environment for a moment: if `patient` is true, reads again for some milliseconds.
    pub fn of(stat: &Stat, patient: bool) -> Environment {
        Environment(read(stat, if patient { TRIES } else { 1 }).unwrap_or_default())
    }

    /// Returns the value of a variable: the first one of this name, as programs see it.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let mut entries = self.0.split(|byte| *byte == 0);
        entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }
}

fn read(stat: &Stat, tries: u32) -> Option<Vec<u8>> {
    if stat.has_ended() || !stat.has_memory {
        return None;
    }
    for left in (0..tries).rev() {
        let read = std::fs::read(format!("/proc/{}/environ", stat.pid)).ok()?;
        if !read.is_empty() {
            return Some(read);
        }
        if left > 0 {
            std::thread::sleep(PAUSE);
        }
    }
    None
}
