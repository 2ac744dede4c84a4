//! How often the system has killed processes of this process's control group because memory was used up.
//!
//! An exit code proves nothing, because anybody may have sent `SIGKILL`. The group counts such kills whoever has set the limit: the
//! group, one above it, or the machine.

use std::fs;
use std::path::{Path, PathBuf};

use super::cgroup;

/// The count of a control group, if there is one.
#[derive(Clone, Debug, Default)]
pub struct MemoryKills {
    path: Option<PathBuf>,
    /// The count up to which kills are known to be those of attempts that have ended.
    explained: u64,
}

impl MemoryKills {
    /// Finds the control group that counts for this process: its own, or the nearest above it.
    pub fn find() -> MemoryKills {
        let (group, second) = (cgroup::own(), cgroup::own_of_memory());
        let above =
            |group: &Path, name: &str| group.ancestors().map(|group| group.join(name)).find(|path| has_count(path));
        let first = group.and_then(|group| above(&group, "memory.events"));
        // Control groups of version 1.
        MemoryKills { path: first.or_else(|| above(&second?, "memory.oom_control")), explained: 0 }
    }

    /// Returns the count; `None` if no group counts.
    pub fn count(&self) -> Option<u64> {
        count(self.path.as_ref()?)
    }

    /// Returns true if the system has killed a process since the count was `before`, of which no other attempt has been the victim: so
    /// many attempts are victims as there were kills, at most.
    pub fn take_one(&mut self, before: u64) -> bool {
        let explained = before.max(self.explained);
        let is_more = self.count().is_some_and(|now| now > explained);
        if is_more {
            self.explained = explained + 1;
        }
        is_more
    }
}

fn has_count(path: &Path) -> bool {
    count(path).is_some()
}

fn count(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_in_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let kills = MemoryKills { path: Some(file.clone()), explained: 0 };
        assert_eq!((kills.count(), MemoryKills::default().count()), (None, None));
        for (text, expected) in [
            ("low 0\nhigh 3\nmax 17\noom 4\noom_kill 2\noom_group_kill 1\n", Some(2)),
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", Some(5)),
            ("oom_kill_disable 0\nunder_oom 0\n", None),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(kills.count(), expected);
        }
    }

    #[test]
    fn a_kill_has_one_victim() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.events");
        let mut kills = MemoryKills { path: Some(file.clone()), explained: 0 };
        let mut takes = |count: u32, before| {
            fs::write(&file, format!("oom_kill {count}\n")).unwrap();
            kills.take_one(before)
        };
        // Three kills since the first attempts began: the last of four has another cause.
        assert_eq!([takes(4, 1), takes(4, 1), takes(4, 2), takes(4, 2)], [true, true, true, false]);
        // Kills before an attempt began do not concern it.
        assert_eq!([takes(9, 9), takes(10, 9), takes(10, 5)], [false, true, false]);
    }
}
