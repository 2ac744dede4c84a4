//! Finds out to which attempt a process belongs, and whether this is proven.

use std::cell::OnceCell;
use std::fs;

use super::common::{FOLDER_VARIABLE, KEY_VARIABLE, RUN_VARIABLE, WITHIN_VARIABLE};
use super::environment::Environment;
use super::identity::Identity;
use super::mark::{Mark, Marks, Tag};
use super::stat::Stat;

/// The attempts to which a process belongs, according to its marks and its environment.
pub(super) struct Membership<'a> {
    stat: &'a Stat,
    pub marks: Marks,
    environment: OnceCell<Named>,
}

/// The marks of the attempts and the run that an environment names.
#[derive(Clone, Debug, Default)]
struct Named {
    attempt: Option<Mark>,
    run: Option<Mark>,
    within: Vec<Mark>,
}

impl Named {
    fn of(stat: &Stat, patient: bool) -> Named {
        let environment = Environment::of(stat, patient);
        let within = environment.get(WITHIN_VARIABLE).map_or_else(Vec::new, Mark::list);
        let (run, folder) = (environment.get(RUN_VARIABLE), environment.get(FOLDER_VARIABLE));
        let (Some(run), Some(folder)) = (run, folder) else { return Named { within, ..Named::default() } };
        let key = environment.get(KEY_VARIABLE);
        Named {
            attempt: key.map(|key| Mark::of_values(run, folder, Some(key))),
            run: Some(Mark::of_values(run, folder, None)),
            within,
        }
    }
}

impl<'a> Membership<'a> {
    /// Reads the marks of a process; `None` if it does not exist.
    pub fn of(stat: &'a Stat) -> Option<Membership<'a>> {
        Some(Membership { stat, marks: Marks::read(stat.pid)?, environment: OnceCell::new() })
    }

    fn named(&self) -> &Named {
        // With marks the environment adds little, so waiting for it is not worthwhile.
        self.environment.get_or_init(|| Named::of(self.stat, self.marks.attempt.is_none()))
    }

    /// Returns the first result of `known` for the process's attempts, innermost first.
    pub fn find<T>(&self, known: impl Fn(Mark) -> Option<T>) -> Option<T> {
        let by_marks = [self.marks.attempt, self.marks.enclosing].into_iter().flatten().find_map(&known);
        by_marks.or_else(|| {
            let named = self.named();
            named.attempt.into_iter().chain(named.within.iter().rev().copied()).find_map(&known)
        })
    }

    /// True if the process belongs to this attempt, or to a run within it.
    pub fn is_of(&self, attempt: Mark) -> bool {
        self.find(|mark| (mark == attempt).then_some(())).is_some()
    }

    /// True if the process belongs to an attempt of this run.
    pub fn is_of_run(&self, run: Mark) -> bool {
        // The marks outrank the environment, which any process can change.
        match self.marks.run {
            Some(marked) => marked == run,
            None => self.named().run == Some(run),
        }
    }

    /// True if the process belongs to this attempt itself, not to a run within it.
    fn is_directly_of(&self, attempt: Mark) -> bool {
        match self.marks.attempt {
            Some(marked) => marked == attempt,
            None => self.named().attempt == Some(attempt),
        }
    }

    /// True if this process may kill that process: the same user started both, or this process is root's.
    pub fn may_be_killed(&self) -> bool {
        let own = rustix::process::getuid();
        own.is_root() || real_user(self.stat.pid) == Some(own.as_raw())
    }

    /// True if the marks and variables of a process that need not be a descendant of this one can be trusted: the same user
    /// started both. If this process is root's, marks suffice: only root and that process's user can set them, and a command
    /// may have given up root's rights.
    pub fn is_proven(&self) -> bool {
        let own = rustix::process::getuid();
        real_user(self.stat.pid) == Some(own.as_raw()) || (own.is_root() && self.marks.attempt.is_some())
    }
}

/// True if a process is running, was started by the current user, and belongs to this attempt itself.
pub fn is_proven(process: &Identity, tag: Tag) -> bool {
    let Ok(Some(stat)) = process.stat() else { return false };
    !stat.has_ended()
        && real_user(stat.pid) == Some(rustix::process::getuid().as_raw())
        && Membership::of(&stat).is_some_and(|membership| membership.is_directly_of(tag.attempt))
        // Check again that the pid still names the same process: otherwise the answers above may concern another process.
        && stat.now().is_some_and(|now| !now.has_ended())
}

/// Returns the id of the user who started a process.
fn real_user(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns every running process whose membership is proven and for which `wanted` is true. Checks every process on the
/// machine except this one.
pub(super) fn scan(wanted: impl Fn(&Membership<'_>) -> bool) -> Vec<Stat> {
    let own = std::process::id();
    let others = super::stat::numbers_in("/proc").into_iter().filter(|pid| *pid != own);
    let running = others.filter_map(|pid| Stat::read(pid).ok()).filter(|stat| !stat.has_ended() && stat.has_memory);
    let found = running
        .filter(|stat| Membership::of(stat).is_some_and(|membership| wanted(&membership) && membership.is_proven()));
    found.filter_map(|stat| stat.now().filter(|now| !now.has_ended())).collect()
}

/// Searches all processes for the root process of an attempt: the shell that [`crate::engine::wrapped`] runs and that leads its
/// process group. `words` are words of its command line that distinguish it from the processes that it has started.
pub fn find_root(tag: Tag, words: &[&str]) -> Option<Identity> {
    let of_attempt = scan(|membership| membership.is_directly_of(tag.attempt));
    let is_root = |stat: &Stat| {
        let line = fs::read(format!("/proc/{}/cmdline", stat.pid)).unwrap_or_default();
        let has = |word: &&str| line.split(|byte| *byte == 0).any(|given| given == word.as_bytes());
        stat.group == stat.pid && words.iter().all(has)
    };
    let mut found = of_attempt.into_iter().filter(is_root).filter_map(|stat| stat.identity().ok());
    found.find(|root| is_proven(root, tag))
}
