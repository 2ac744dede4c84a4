//! Which attempt a process belongs to, and what proves it.

use std::cell::OnceCell;
use std::fs;

use super::environment::Environment;
use super::identity::Identity;
use super::mark::{FOLDER_VARIABLE, KEY_VARIABLE, Mark, Marks, RUN_VARIABLE, Tag, WITHIN_VARIABLE};
use super::stat::Stat;

/// What a process says of the attempts that it belongs to: by its marks and, if those don't tell, by its
/// environment.
pub(super) struct Belonging<'a> {
    stat: &'a Stat,
    pub marks: Marks,
    environment: OnceCell<Named>,
}

/// What an environment names, as marks.
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

impl<'a> Belonging<'a> {
    /// What a living process says; none if it is gone.
    pub fn of(stat: &'a Stat) -> Option<Belonging<'a>> {
        Some(Belonging { stat, marks: Marks::read(stat.pid)?, environment: OnceCell::new() })
    }

    fn named(&self) -> &Named {
        // With marks the environment adds little, and an empty one is common among daemons.
        self.environment.get_or_init(|| Named::of(self.stat, self.marks.attempt.is_none()))
    }

    /// The first of its attempts, innermost first, that `known` knows.
    pub fn find<T>(&self, known: impl Fn(Mark) -> Option<T>) -> Option<T> {
        let by_marks = [self.marks.attempt, self.marks.enclosing].into_iter().flatten().find_map(&known);
        by_marks.or_else(|| {
            let named = self.named();
            named.attempt.into_iter().chain(named.within.iter().rev().copied()).find_map(&known)
        })
    }

    /// Whether it is of this attempt, or of a run within it.
    pub fn is_of(&self, attempt: Mark) -> bool {
        self.find(|mark| (mark == attempt).then_some(())).is_some()
    }

    /// Whether it is of an attempt of this run.
    pub fn is_of_run(&self, run: Mark) -> bool {
        // The marks outrank the environment, which anybody can set.
        match self.marks.run {
            Some(marked) => marked == run,
            None => self.named().run == Some(run),
        }
    }

    /// Whether it is of this attempt itself, rather than of a run within it.
    fn is_directly_of(&self, attempt: Mark) -> bool {
        match self.marks.attempt {
            Some(marked) => marked == attempt,
            None => self.named().attempt == Some(attempt),
        }
    }

    /// Whether it is our user's, or anybody's if that is root.
    pub fn is_ours_to_kill(&self) -> bool {
        let own = rustix::process::getuid();
        own.is_root() || real_user(self.stat.pid) == Some(own.as_raw())
    }

    /// Whether what it says may be believed of a process that is no descendant of ours: it is our user's.
    /// To root, marks are proof enough, because only root and a process's own user can set them, and
    /// commands may give up root's rights.
    pub fn is_proven(&self) -> bool {
        let own = rustix::process::getuid();
        real_user(self.stat.pid) == Some(own.as_raw()) || (own.is_root() && self.marks.attempt.is_some())
    }
}

/// Whether a process lives, is our user's, and belongs to this attempt itself.
pub fn is_proven(process: &Identity, tag: Tag) -> bool {
    let Ok(Some(stat)) = process.stat() else { return false };
    !stat.has_ended()
        && real_user(stat.pid) == Some(rustix::process::getuid().as_raw())
        && Belonging::of(&stat).is_some_and(|belonging| belonging.is_directly_of(tag.attempt))
        // Had the pid been given to another process meanwhile, all that might be that one's.
        && stat.now().is_some_and(|now| !now.has_ended())
}

/// The number of the user who started a process.
fn real_user(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Every living process of which `wanted` is true and whose belonging is proven. It looks at every process
/// on the machine but this one.
pub(super) fn scan(wanted: impl Fn(&Belonging<'_>) -> bool) -> Vec<Stat> {
    let own = std::process::id();
    let others = super::stat::numbers_in("/proc").into_iter().filter(|pid| *pid != own);
    let living = others.filter_map(|pid| Stat::read(pid).ok()).filter(|stat| !stat.has_ended() && stat.has_memory);
    let found =
        living.filter(|stat| Belonging::of(stat).is_some_and(|belonging| wanted(&belonging) && belonging.is_proven()));
    found.filter_map(|stat| stat.now().filter(|now| !now.has_ended())).collect()
}

/// The root of an attempt, found among all processes: the shell that [`crate::engine::wrapper`] runs, which
/// leads its group. `words` are those of its command line that tell it from what it has started.
pub fn find_root(tag: Tag, words: &[&str]) -> Option<Identity> {
    let of_attempt = scan(|belonging| belonging.is_directly_of(tag.attempt));
    let is_root = |stat: &Stat| {
        let line = fs::read(format!("/proc/{}/cmdline", stat.pid)).unwrap_or_default();
        let has = |word: &&str| line.split(|byte| *byte == 0).any(|given| given == word.as_bytes());
        stat.group == stat.pid && words.iter().all(has)
    };
    let mut found = of_attempt.into_iter().filter(is_root).filter_map(|stat| stat.identity().ok());
    found.find(|root| is_proven(root, tag))
}
