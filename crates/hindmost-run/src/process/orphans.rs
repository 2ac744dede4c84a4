//! Orphans of attempts among our children: which attempt each is of, and reaping them.
//!
//! Other code in this process may have children too and waits for them itself, so nothing may be reaped or
//! killed but what surely belongs to an attempt. A child belongs to one if
//! - it is in the group or session of an attempt's root;
//! - its marks or its environment say so (`belonging.rs`): children of other code have our own marks;
//! - it was seen as a descendant of an attempt before it became our child;
//! - it is in another process group that it doesn't lead, or in another session. Children of other code are
//!   in our group, or lead one, unless they go to lengths.
//!
//! Children that this process had before it adopted orphans never do.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, OnceLock};

use rustix::process::{Pid, set_child_subreaper};

use super::belonging::Belonging;
use super::identity::Identity;
use super::mark::{Mark, enclosing};
use super::roots::{self, locked};
use super::stat::Stat;
use super::tree;

/// How many descendants are remembered before those that are gone are forgotten.
const MANY: usize = 1024;

/// Children that are known to be orphans. They keep their pids until we reap them.
static ORPHANS: Mutex<BTreeMap<u32, Orphan>> = Mutex::new(BTreeMap::new());

/// Descendants of attempts that are or may become our children: pid and start time.
static REMEMBERED: Mutex<BTreeSet<(u32, u64)>> = Mutex::new(BTreeSet::new());

/// Children that were there before orphans were.
static BEFORE: OnceLock<BTreeSet<(u32, u64)>> = OnceLock::new();

/// A child that an attempt has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orphan {
    pub pid: u32,
    pub start_time: u64,
    /// Its attempt; none if nothing tells.
    pub of: Option<Mark>,
}

/// Makes this process adopt the orphans of its descendants, rather than the machine's first process,
/// so that what an attempt leaves behind can still be found among our children.
///
/// # Errors
///
/// If the system refuses.
pub fn adopt_orphans() -> io::Result<()> {
    except_children_of_now();
    set_child_subreaper(Some(Pid::INIT))?; // any pid means "yes"
    roots::orphans_come();
    Ok(())
}

/// Forgets a root, now that nothing of its attempt is left. If it is our child and has ended it is reaped;
/// its exit code, if it ended with one.
pub(super) fn forget(root: &Identity) -> Option<i32> {
    let known = roots::take(root).filter(|known| known.is_child)?;
    let ended = roots::reap(root.pid);
    if ended.is_none() {
        let orphan = Orphan { pid: root.pid, start_time: root.start_time, of: Some(known.tag.attempt) };
        locked(&ORPHANS).insert(root.pid, orphan);
    }
    ended?.exit_status()
}

/// Forgets a root that does not end.
pub fn abandon(root: &Identity) {
    forget(root);
}

/// Remembers the children of now, once, as those that no attempt has left behind.
fn except_children_of_now() {
    BEFORE.get_or_init(|| {
        let children = roots::without_roots(tree::our_children());
        children.into_iter().filter_map(|pid| Stat::read(pid).ok()).map(|stat| stat.key()).collect()
    });
}

/// Remembers that these processes belong to attempts, whoever their parents are when they end.
pub(super) fn remember<'a>(members: impl IntoIterator<Item = &'a Stat>) {
    let mut remembered = locked(&REMEMBERED);
    remembered.extend(members.into_iter().map(Stat::key));
    if remembered.len() > MANY {
        remembered.retain(|(pid, start_time)| Stat::read(*pid).is_ok_and(|stat| stat.start_time == *start_time));
    }
}

/// The living orphans. Those that have ended are reaped.
pub(super) fn sweep() -> Vec<Orphan> {
    // Whatever has ended may have left orphans itself, which are our children now: listed again.
    loop {
        let (living, reaped) = look();
        if !reaped {
            return living;
        }
    }
}

/// The living orphans, and whether any has ended.
fn look() -> (Vec<Orphan>, bool) {
    let (mut living, mut reaped) = (Vec::new(), false);
    if !roots::adopts_orphans() {
        return (living, reaped);
    }
    let children = roots::without_roots(tree::our_children());
    let listed: BTreeSet<u32> = children.iter().copied().collect();
    // Somebody else may reap, or the system may, where SIGCHLD is ignored.
    locked(&ORPHANS).retain(|pid, _| listed.contains(pid));
    for pid in children {
        let known = locked(&ORPHANS).get(&pid).copied();
        let Some(orphan) = known.or_else(|| identify(pid)) else { continue };
        if roots::reap(pid).is_some() {
            reaped = true;
            locked(&ORPHANS).remove(&pid);
            locked(&REMEMBERED).remove(&(pid, orphan.start_time));
        } else {
            locked(&ORPHANS).insert(pid, orphan);
            living.push(orphan);
        }
    }
    (living, reaped)
}

/// Takes an orphan of which nothing tells whose it is for one of this attempt.
pub(super) fn claim(orphan: &Orphan, attempt: Mark) {
    if let Some(known) = locked(&ORPHANS).get_mut(&orphan.pid) {
        known.of = Some(attempt);
    }
}

/// What a child is that isn't a root; none if it isn't an attempt's.
fn identify(pid: u32) -> Option<Orphan> {
    let stat = Stat::read(pid).ok()?;
    if BEFORE.get().is_some_and(|before| before.contains(&stat.key())) {
        return None;
    }
    let orphan = |of| Some(Orphan { pid, start_time: stat.start_time, of });
    // Nobody else can get the number of a group or session that somebody is in.
    let leaders = [stat.group, stat.session].map(roots::get);
    if let Some(root) = leaders.into_iter().flatten().find(|root| root.is_child) {
        return orphan(Some(root.tag.attempt));
    }
    if let Some(belonging) = Belonging::of(&stat) {
        let of = belonging.find(|mark| roots::is_known(mark).then_some(mark));
        let marked = belonging.marks.attempt;
        if of.is_some() || (marked.is_some() && marked != enclosing().own) {
            return orphan(of);
        }
    }
    let own = roots::own();
    let elsewhere = stat.group != own.group && (stat.group != stat.pid || stat.session != own.session);
    if elsewhere || locked(&REMEMBERED).contains(&stat.key()) { orphan(None) } else { None }
}
