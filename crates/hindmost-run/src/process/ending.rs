//! Ends attempts: before an attempt counts as ended, all its remaining processes are killed and have ended. Those of an attempt that was
//! sent `SIGTERM` are killed only after the time that they have for it.
//!
//! If the attempt's root process is a child of this process, its orphans become children of this process and are searched
//! there (`orphans.rs`). The orphans of an adopted attempt become children of another process. So they are searched among
//! all processes of the machine, by marks, by environment and in the run's control group.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::common::{Outcome, Strays};
use super::identity::Identity;
use super::mark::{Mark, Tag};
use super::stat::Stat;
use super::{cgroup, membership, orphans, roots, signal, tree};

/// Time within which killed processes must end. Processes that do not are reported.
const PATIENCE: Duration = Duration::from_secs(10);

/// Processes that were killed and may not have ended yet.
#[derive(Debug, Default)]
struct Killed(BTreeMap<(u32, u64), Stat>);

impl Killed {
    /// Kills these processes with all their descendants. `group` is a process group that belongs to them although its
    /// leader has ended.
    fn kill(&mut self, processes: &[Stat], group: Option<u32>) {
        let members = signal::kill_forest(processes, group);
        self.0.extend(members.into_iter().map(|process| (process.key(), process)));
    }

    /// Removes processes that have ended. Returns true if any remain.
    fn remain(&mut self) -> bool {
        self.0.retain(|_, process| process.now().is_some_and(|now| !now.has_ended()));
        !self.0.is_empty()
    }

    /// Returns a message about each process that remains.
    fn names(&self) -> Vec<String> {
        self.0.values().map(|process| does_not_end(process.pid)).collect()
    }
}

/// Returns the message that a process does not end.
pub fn does_not_end(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("process {pid} ({}) does not end", name.trim_end())
}

/// Kills an attempt whose root process was just started, and waits until it has ended.
pub fn kill_now(root: &Identity, tag: Tag) {
    let mut ending = Ending::new(root.clone(), tag, Vec::new(), None);
    while root.is_running() && ending.since.elapsed() < PATIENCE {
        signal::kill_tree(root);
        std::thread::sleep(Duration::from_millis(1));
    }
    while ending.step() == Outcome::Unfinished {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// An attempt whose root process has ended or has been killed.
#[derive(Debug)]
pub struct Ending {
    root: Identity,
    tag: Tag,
    /// Since when the processes are killed.
    since: Instant,
    /// Until when processes that got `SIGTERM` are not killed.
    patience: Option<Instant>,
    /// True if the root process is a child of this process.
    is_child: bool,
    killed: Killed,
    /// Control groups of the run, in which adopted attempts may have left processes.
    groups: Vec<PathBuf>,
}

impl Ending {
    /// Begins to end an attempt. `groups` are control groups in which it may have left processes. Its processes are not killed
    /// before the time `patience`, if they got `SIGTERM`.
    pub fn new(root: Identity, tag: Tag, groups: Vec<PathBuf>, patience: Option<Instant>) -> Ending {
        let is_child = roots::get(root.pid).is_some_and(|known| known.is_child);
        Ending { root, tag, since: Instant::now(), patience, is_child, killed: Killed::default(), groups }
    }

    /// Kills the remaining processes at the next step.
    pub fn hurry(&mut self) {
        self.patience = self.patience.map(|_| Instant::now());
    }

    /// Kills the remaining processes, unless they still have time to end, and returns whether any remain. Does not wait.
    pub fn step(&mut self) -> Outcome {
        let (found, group) = if self.is_child { self.find_orphans() } else { (self.find_marked(), None) };
        if let Some(end) = self.patience {
            let now = Instant::now();
            if now < end && !found.is_empty() {
                orphans::remember(&tree::below(&found));
                return Outcome::Unfinished;
            }
            self.patience = None;
            self.since = now;
        }
        if !found.is_empty() {
            self.killed.kill(&found, group);
        }
        if !self.killed.remain() && found.is_empty() {
            let (code, usage) = orphans::forget(&self.root);
            return Outcome::Nothing(code, usage);
        }
        if self.since.elapsed() < PATIENCE {
            return Outcome::Unfinished;
        }
        orphans::forget(&self.root);
        let name = self.killed.names().into_iter().next();
        Outcome::Stays(name.unwrap_or_else(|| "the attempt starts processes faster than they can be killed".to_owned()))
    }

    /// Returns the attempt's tag.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns the attempt's processes among the children of this process, and the attempt's process group if it is still known.
    fn find_orphans(&self) -> (Vec<Stat>, Option<u32>) {
        let attempt = self.tag.attempt;
        // An orphan whose attempt is unknown may belong to this attempt, if it is not older than the root process.
        let may_be_its = |orphan: &orphans::Orphan| match orphan.of {
            Some(of) => of == attempt,
            None => orphan.start_time >= self.root.start_time,
        };
        let find = || orphans::sweep().into_iter().filter(may_be_its).collect::<Vec<_>>();
        // The system may leave a child out of a list if others end while the list is read, so one empty list is no proof.
        let left = Some(find()).filter(|left| !left.is_empty()).unwrap_or_else(find);
        for orphan in &left {
            orphans::claim(orphan, attempt);
        }
        let left: Vec<Stat> = left.iter().filter_map(|orphan| Stat::read(orphan.pid).ok()).collect();
        // The group's signal also reaches processes that fork faster than they can be listed. The group's number is the
        // root's pid, which the system does not reuse before the root is reaped.
        let group = Some(self.root.pid).filter(|_| self.holds_group());
        (left, group)
    }

    /// True if the root process still exists, even as a zombie, and leads its group.
    fn holds_group(&self) -> bool {
        self.root.stat().is_ok_and(|stat| stat.is_some_and(|stat| stat.group == self.root.pid))
    }

    /// Searches all processes for processes of the attempt.
    fn find_marked(&self) -> Vec<Stat> {
        let attempt = self.tag.attempt;
        let mut found = membership::scan(|membership| membership.is_of(attempt));
        let in_groups = cgroup::members(&self.groups);
        if !in_groups.is_empty() {
            let others = of_other_attempts(|mark| mark != attempt && roots::is_known(mark));
            let unknown = in_groups.into_iter().filter(|stat| {
                stat.start_time >= self.root.start_time && !others.contains(&stat.key()) && is_unclaimed(stat)
            });
            found.extend(unknown);
        }
        found
    }
}

/// Returns the keys of all processes in the trees of attempts for which `runs` is true.
fn of_other_attempts(runs: impl Fn(Mark) -> bool) -> HashSet<(u32, u64)> {
    let others = roots::all().into_iter().filter(|(_, root)| runs(root.tag.attempt));
    let identities =
        others.filter_map(|(pid, root)| Stat::read(pid).ok().filter(|stat| stat.start_time == root.start_time));
    let trees = identities.filter_map(|stat| stat.identity().ok()).flat_map(|root| tree::of(&root));
    trees.map(|stat| stat.key()).collect()
}

/// True if a process belongs to no known attempt, is not a descendant of this process, and may be killed.
fn is_unclaimed(stat: &Stat) -> bool {
    let known = |mark| roots::is_known(mark).then_some(());
    membership::Membership::of(stat)
        .is_some_and(|membership| membership.find(known).is_none() && membership.may_be_killed())
        && !tree::descends_from_us(stat)
}

impl Strays<'_> {
    /// Kills all these processes and waits until they have ended. Returns a message about each process that does not end.
    pub fn end(&self) -> Vec<String> {
        let since = Instant::now();
        let mut killed = Killed::default();
        loop {
            let found = self.find();
            killed.kill(&found, None);
            let remain = killed.remain();
            if found.is_empty() && !remain {
                return Vec::new();
            }
            if since.elapsed() > PATIENCE {
                return killed.names();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn find(&self) -> Vec<Stat> {
        let kept = |mark: Mark| self.kept.contains(&mark).then_some(());
        let mut found = membership::scan(|membership| {
            let of_run = membership.is_of_run(self.run)
                || membership.find(|mark| self.of_run.contains(&mark).then_some(())).is_some();
            of_run && membership.find(kept).is_none()
        });
        // While attempts of this process run, an orphan whose attempt is unknown may belong to one of them.
        let idle = !roots::all().iter().any(|(_, root)| root.is_child);
        for orphan in orphans::sweep() {
            let is_stray = orphan.of.map_or(idle, |mark| !self.kept.contains(&mark) && !roots::is_known(mark));
            found.extend(Stat::read(orphan.pid).ok().filter(|_| is_stray));
        }
        let in_groups = cgroup::members(self.groups).into_iter().filter(|stat| {
            membership::Membership::of(stat)
                .is_some_and(|membership| membership.find(kept).is_none() && membership.may_be_killed())
                && !tree::descends_from_us(stat)
        });
        found.extend(in_groups);
        if !found.is_empty() {
            let running = of_other_attempts(|mark| self.kept.contains(&mark) || roots::is_known(mark));
            found.retain(|stat| !running.contains(&stat.key()));
        }
        found
    }
}
