//! What the environment of a process says. `/proc` shows the one that its program was started with.
//! Programs that write their status over it (some servers, to be seen in `ps`) or that were started with
//! a clean one say nothing.

use std::time::Duration;

use super::stat::Stat;

/// How often, and after what time each, an environment that seems empty is read again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(1);

/// The variables of a process, as far as they can be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment(Vec<u8>);

impl Environment {
    /// Those of a process; none if they can't be read, or it has none. While a process executes another
    /// program, it has no environment for a moment: `patient` looks again, for some milliseconds.
    pub fn of(stat: &Stat, patient: bool) -> Environment {
        Environment(read(stat, if patient { TRIES } else { 1 }).unwrap_or_default())
    }

    /// The value of a variable: the first one of that name, as programs see it.
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
