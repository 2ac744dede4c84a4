//! The end of attempts: everything that one has left is killed, and has ended, before its end counts.
//!
//! An attempt whose root is our child has left nothing but descendants of ours, since orphans come to us:
//! they are looked for among our children (`orphans.rs`). What the root of an adopted attempt leaves goes
//! to another process: it is looked for among all processes of the machine, by marks, by environment and in
//! the run's control group.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::identity::Identity;
use super::mark::{Mark, Tag};
use super::stat::Stat;
use super::{belonging, cgroup, orphans, roots, signal, tree};

/// How long to wait for what is killed to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Processes that were killed and may not have ended yet.
#[derive(Debug, Default)]
struct Condemned(BTreeMap<(u32, u64), Stat>);

impl Condemned {
    /// Kills these with all that is below them; `group` is theirs, led by a process that has ended.
    fn kill(&mut self, processes: &[Stat], group: Option<u32>) {
        let killed = signal::kill_forest(processes, group);
        self.0.extend(killed.into_iter().map(|process| (process.key(), process)));
    }

    /// Forgets those that have ended; whether any has not.
    fn remain(&mut self) -> bool {
        self.0.retain(|_, process| process.now().is_some_and(|now| !now.has_ended()));
        !self.0.is_empty()
    }

    /// What does not end, for people.
    fn names(&self) -> Vec<String> {
        self.0.values().map(|process| does_not_end(process.pid)).collect()
    }
}

/// That a process does not end, for people.
pub fn does_not_end(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("process {pid} ({}) does not end", name.trim_end())
}

/// Kills an attempt whose root was just started, and waits until it has ended.
pub fn kill_now(root: &Identity, tag: Tag) {
    let mut ending = Ending::new(root.clone(), tag, Vec::new());
    while root.is_alive() && ending.since.elapsed() < PATIENCE {
        signal::kill_tree(root);
        std::thread::sleep(Duration::from_millis(1));
    }
    while ending.step() == Outcome::Unfinished {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What has become of an attempt that was to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Something is left, and has been killed: [`Ending::step`] is to be called again soon.
    Unfinished,
    /// Nothing is left. If the root was a child of this process and ended by itself, its exit code.
    Nothing(Option<i32>),
    /// Something does not end although it was killed long ago: what.
    Stays(String),
}

/// An attempt whose root has ended or has been killed.
#[derive(Debug)]
pub struct Ending {
    root: Identity,
    tag: Tag,
    since: Instant,
    is_child: bool,
    condemned: Condemned,
    /// Control groups of the run, in which adopted attempts may have left processes.
    groups: Vec<PathBuf>,
}

impl Ending {
    /// Begins to end an attempt. `groups` are control groups in which it may have left processes.
    pub fn new(root: Identity, tag: Tag, groups: Vec<PathBuf>) -> Ending {
        let is_child = roots::get(root.pid).is_some_and(|known| known.is_child);
        Ending { root, tag, since: Instant::now(), is_child, condemned: Condemned::default(), groups }
    }

    /// Kills what is left and says whether anything is. Doesn't wait.
    pub fn step(&mut self) -> Outcome {
        let left = if self.is_child { self.kill_orphans() } else { self.kill_found() };
        let remain = self.condemned.remain();
        if !left && !remain {
            return Outcome::Nothing(orphans::forget(&self.root));
        }
        if self.since.elapsed() < PATIENCE {
            return Outcome::Unfinished;
        }
        orphans::forget(&self.root);
        let name = self.condemned.names().into_iter().next();
        Outcome::Stays(name.unwrap_or_else(|| "it starts processes faster than they can be killed".to_owned()))
    }

    /// Which attempt it is.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Kills the attempt's processes among our children; whether there were any.
    fn kill_orphans(&mut self) -> bool {
        let attempt = self.tag.attempt;
        // One of which nothing tells whose it is may be this attempt's, if it is no older.
        let is_ours = |orphan: &orphans::Orphan| match orphan.of {
            Some(of) => of == attempt,
            None => orphan.start_time >= self.root.start_time,
        };
        let left: Vec<_> = orphans::sweep().into_iter().filter(is_ours).collect();
        if left.is_empty() {
            return false;
        }
        for orphan in &left {
            orphans::claim(orphan, attempt);
        }
        let left: Vec<Stat> = left.iter().filter_map(|orphan| Stat::read(orphan.pid).ok()).collect();
        // Those that fork as fast as they can be listed are all reached at once. The group's number is the
        // root's: it can't be another's until the root is reaped.
        let group = Some(self.root.pid).filter(|_| self.holds_group());
        self.condemned.kill(&left, group);
        true
    }

    /// Whether the root is still there, if only as a zombie, and leads its group.
    fn holds_group(&self) -> bool {
        self.root.stat().is_ok_and(|stat| stat.is_some_and(|stat| stat.group == self.root.pid))
    }

    /// Kills the attempt's processes wherever they are; whether there were any.
    fn kill_found(&mut self) -> bool {
        let attempt = self.tag.attempt;
        let mut found = belonging::scan(|belonging| belonging.is_of(attempt));
        let in_groups = cgroup::members(&self.groups);
        if !in_groups.is_empty() {
            let others = of_other_attempts(|mark| mark != attempt && roots::is_known(mark));
            let unknown = in_groups.into_iter().filter(|stat| {
                stat.start_time >= self.root.start_time && !others.contains(&stat.key()) && is_nobodys(stat)
            });
            found.extend(unknown);
        }
        self.condemned.kill(&found, None);
        !found.is_empty()
    }
}

/// Processes in the trees of attempts that run.
fn of_other_attempts(runs: impl Fn(Mark) -> bool) -> HashSet<(u32, u64)> {
    let others = roots::all().into_iter().filter(|(_, root)| runs(root.tag.attempt));
    let identities =
        others.filter_map(|(pid, root)| Stat::read(pid).ok().filter(|stat| stat.start_time == root.start_time));
    let trees = identities.filter_map(|stat| stat.identity().ok()).flat_map(|root| tree::of(&root));
    trees.map(|stat| stat.key()).collect()
}

/// Whether a process says of no attempt of ours that it belongs to it, and isn't our descendant.
fn is_nobodys(stat: &Stat) -> bool {
    let known = |mark| roots::is_known(mark).then_some(());
    belonging::Belonging::of(stat)
        .is_some_and(|belonging| belonging.find(known).is_none() && belonging.is_ours_to_kill())
        && !tree::descends_from_us(stat)
}

/// Processes of a run that are of no attempt which runs.
#[derive(Debug)]
pub struct Strays<'a> {
    /// The run.
    pub run: Mark,
    /// Attempts whose processes are left alone.
    pub kept: &'a HashSet<Mark>,
    /// Attempts that are known to be of the run, which runs within them don't say.
    pub of_run: &'a HashSet<Mark>,
    /// Control groups of the run.
    pub groups: &'a [PathBuf],
}

impl Strays<'_> {
    /// Kills them all and waits until they have ended. Returns what does not end.
    pub fn end(&self) -> Vec<String> {
        let since = Instant::now();
        let mut condemned = Condemned::default();
        loop {
            let found = self.find();
            condemned.kill(&found, None);
            let remain = condemned.remain();
            if found.is_empty() && !remain {
                return Vec::new();
            }
            if since.elapsed() > PATIENCE {
                return condemned.names();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn find(&self) -> Vec<Stat> {
        let kept = |mark: Mark| self.kept.contains(&mark).then_some(());
        let mut found = belonging::scan(|belonging| {
            let of_run = belonging.is_of_run(self.run)
                || belonging.find(|mark| self.of_run.contains(&mark).then_some(())).is_some();
            of_run && belonging.find(kept).is_none()
        });
        // While attempts of ours run, an orphan of which nothing tells whose it is may be one of theirs.
        let idle = !roots::all().iter().any(|(_, root)| root.is_child);
        for orphan in orphans::sweep() {
            let is_stray = orphan.of.map_or(idle, |mark| !self.kept.contains(&mark) && !roots::is_known(mark));
            found.extend(Stat::read(orphan.pid).ok().filter(|_| is_stray));
        }
        let in_groups = cgroup::members(self.groups).into_iter().filter(|stat| {
            belonging::Belonging::of(stat)
                .is_some_and(|belonging| belonging.find(kept).is_none() && belonging.is_ours_to_kill())
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
