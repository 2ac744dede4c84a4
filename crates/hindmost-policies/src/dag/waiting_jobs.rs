//! Keeps the jobs with pending tasks, grouped by the demand of their next tasks and sorted by remaining work. In a
//! round, `graphene` compares only the first jobs of the groups that fit on some node.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound::{Excluded, Unbounded};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{JobId, NodeId};
use hindmost_core::policy::queue_place::{Which, ordered, unordered};
use hindmost_core::resources::Resources;

use crate::dag::offline_schedule::turns;
use crate::dag::packing::alignment;
use crate::dag::resource_profile::stages;
use crate::dag::task_order::Turns;
use crate::orders::effective_time::{EFFECTIVE_TIME_DEVIATIONS, effective_time, effective_volume};

/// The sort key of a job: its remaining work, then its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    work: u64,
    /// The job, whose id decides between jobs with equal remaining work.
    pub job: JobId,
}

impl Place {
    /// Creates a key for uses in which the remaining work does not matter. The work is 0.
    pub fn of(job: JobId) -> Place {
        Place { work: 0, job }
    }

    /// Returns the remaining work, in seconds of the whole cluster.
    pub fn work(self) -> f64 {
        unordered(self.work)
    }
}

/// A phase of a job with a pending task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Head {
    /// 1 for the job's first phase by rank, less for others.
    pub priority: f64,
    pub phase: u32,
    /// The group of jobs with this demand.
    pub group: u32,
    /// The number of the job's phases with a pending task that take their turn before this one.
    turn: u16,
    is_started: bool,
    /// True if all of the job's phases with a pending task have the same demand.
    pub is_alone: bool,
    /// True if the job has its offline schedule and the node for its next tasks depends only on their demand, because
    /// none of them has failed before or has its input on certain nodes.
    pub is_simple: bool,
}

/// Maximum length of [`Group::first`]. It has at least half as many entries, if the group has that many jobs.
const MOST_FIRST: usize = 640;

/// The jobs that have a phase with this demand.
#[derive(Debug)]
struct Group {
    demand: Resources,
    jobs: BTreeMap<Place, Head>,
    /// A copy of the first entries of `jobs`, in one vector because every round reads them.
    first: Vec<(Place, Head)>,
}

impl Group {
    fn insert(&mut self, place: Place, head: Head) {
        // If a job has several phases in the group, the first one represents them.
        let Entry::Vacant(entry) = self.jobs.entry(place) else { return };
        entry.insert(head);
        let at = self.first.partition_point(|(before, _)| *before < place);
        if at < self.first.len() || self.jobs.len() == at + 1 {
            self.first.insert(at, (place, head));
            if self.first.len() > MOST_FIRST {
                self.first.truncate(MOST_FIRST / 2);
            }
        }
    }

    fn remove(&mut self, place: Place) {
        if self.jobs.remove(&place).is_none() {
            return;
        }
        if let Ok(at) = self.first.binary_search_by(|(other, _)| other.cmp(&place)) {
            self.first.remove(at);
            if self.first.len() < MOST_FIRST / 2 && self.first.len() < self.jobs.len() {
                let after = self.first.last().map_or(Unbounded, |(last, _)| Excluded(*last));
                let next = self.jobs.range((after, Unbounded)).take(MOST_FIRST / 2);
                self.first.extend(next.map(|(place, head)| (*place, *head)));
            }
        }
    }
}

#[derive(Debug)]
struct Member {
    place: Place,
    /// The phases with a pending task, in the order of their turns.
    heads: Vec<Head>,
    /// The turns according to the job's offline schedule; `None` before the job's first offer.
    turns: Option<Turns>,
}

/// All jobs, with an index of those with pending tasks.
#[derive(Debug, Default)]
pub(crate) struct WaitingJobs {
    /// A group keeps its index. The index of a group without jobs is reused.
    groups: Vec<Group>,
    members: FxHashMap<JobId, Member>,
    /// A buffer that is kept to avoid allocations.
    heads: Vec<Head>,
}

impl WaitingJobs {
    /// Updates the index after a change of a job.
    pub fn refresh(&mut self, id: JobId, cluster: &Cluster) {
        let WaitingJobs { groups, members, heads } = self;
        let mut place = Place::of(id);
        let member = members.entry(id).or_insert(Member { place, heads: Vec::new(), turns: None });
        heads.clear();
        if let Some(job) = cluster.job(id).filter(|job| job.runnable() > 0) {
            place.work = ordered(work(job, cluster));
            add_heads(job, cluster, member.turns.as_mut(), groups, heads);
        }
        if member.place == place && member.heads == *heads {
            return;
        }
        for head in &member.heads {
            groups[head.group as usize].remove(member.place);
        }
        for head in &*heads {
            groups[head.group as usize].insert(place, *head);
        }
        member.place = place;
        std::mem::swap(&mut member.heads, heads);
    }

    /// Removes a job that has ended.
    pub fn leave(&mut self, job: JobId) {
        let Some(Member { place, heads, .. }) = self.members.remove(&job) else { return };
        for head in heads {
            self.groups[head.group as usize].remove(place);
        }
    }

    /// Makes a job's offline schedule. Returns false if the job already has one or is not known.
    pub fn plan(&mut self, job: &Job, cluster: &Cluster) -> bool {
        let Some(member) = self.members.get_mut(&job.id()).filter(|member| member.turns.is_none()) else {
            return false;
        };
        let tasks = |at: usize| u64::from(job.phases()[at].to_do());
        let stages = stages(job, |at| effective_time(&job.phases()[at]), tasks);
        member.turns = Some(turns(&stages, cluster.total()));
        self.refresh(job.id(), cluster);
        true
    }

    /// Returns a job's phases with a pending task in the order of their turns.
    pub fn heads(&self, job: JobId) -> &[Head] {
        self.members.get(&job).map_or(&[], |member| &member.heads)
    }

    /// Appends the next jobs after a place that fit on some node, each with its first phase in turn that fits, until
    /// `found` has `most` entries or no job is left.
    pub fn next(
        &self,
        which: Which,
        after: Option<Place>,
        most: usize,
        cluster: &Cluster,
        nodes: &mut NodesByGroup,
        found: &mut Vec<(Place, Head)>,
    ) {
        let from = after.map_or(Unbounded, Excluded);
        let is_meant = |head: &Head| which == Which::Any || head.is_started == (which == Which::Started);
        let waiting = (0..).zip(&self.groups).filter(|(_, group)| !group.jobs.is_empty());
        let fitting = waiting.filter(|(at, group)| nodes.find(*at, &group.demand, cluster).is_some());
        let groups: Vec<&Group> = fitting.map(|(_, group)| group).collect();
        let left = most.saturating_sub(found.len());
        if let ([group], Which::Any, None) = (&groups[..], which, after)
            && (left <= group.first.len() || group.first.len() == group.jobs.len())
        {
            return found.extend_from_slice(&group.first[..left.min(group.first.len())]);
        }
        let jobs = groups.iter().map(|group| group.jobs.range((from, Unbounded)));
        let meant = jobs.map(|jobs| jobs.filter(|(_, head)| is_meant(head)).map(|(place, head)| (*place, *head)));
        let mut lines: Vec<_> = meant.collect();
        let mut nexts: Vec<Option<(Place, Head)>> = lines.iter_mut().map(Iterator::next).collect();
        let key = |at: usize, next: Option<(Place, Head)>| next.map(|(place, head)| Reverse((place, head.turn, at)));
        let mut firsts: BinaryHeap<_> = nexts.iter().enumerate().filter_map(|(at, next)| key(at, *next)).collect();
        let mut last = None;
        while found.len() < most
            && let Some(Reverse((place, _, at))) = firsts.pop()
        {
            let next = std::mem::replace(&mut nexts[at], lines[at].next());
            firsts.extend(key(at, nexts[at]));
            if last.replace(place) != Some(place) {
                found.extend(next);
            }
        }
    }

    /// Returns true if the demand of some group fits on a node.
    pub fn has_free_node(&self, cluster: &Cluster, nodes: &mut NodesByGroup) -> bool {
        let mut waiting = (0..).zip(&self.groups).filter(|(_, group)| !group.jobs.is_empty());
        waiting.any(|(at, group)| nodes.find(at, &group.demand, cluster).is_some())
    }

    /// Returns a node on which a group's demand fits, and its alignment; `None` if it fits nowhere.
    pub fn node_for(&self, group: u32, cluster: &Cluster, nodes: &mut NodesByGroup) -> Option<(NodeId, f64)> {
        nodes.find(group, &self.groups.get(group as usize)?.demand, cluster)
    }
}

/// Returns a job's remaining work, in seconds of the whole cluster.
fn work(job: &Job, cluster: &Cluster) -> f64 {
    job.phases().iter().map(|phase| effective_volume(phase, cluster.total(), EFFECTIVE_TIME_DEVIATIONS)).sum()
}

/// Appends the phases of a job with a pending task: in the order of their turns if the job has its schedule, otherwise
/// by index.
fn add_heads(job: &Job, cluster: &Cluster, turns: Option<&mut Turns>, groups: &mut Vec<Group>, heads: &mut Vec<Head>) {
    let started = |at: usize| {
        let phase = &job.phases()[at];
        let is_waiting = phase.is_open() && phase.pending() > 0;
        is_waiting.then(|| u64::from(phase.to_do().saturating_sub(phase.pending())))
    };
    let is_started = job.started().is_some();
    let mut is_simple = turns.is_some();
    let mut add = |phase: u32, priority: f64| {
        let next = job.next_runnable(|at| at == phase, |_| true);
        is_simple &= next.is_some_and(|task| !cluster.has_failed(task) && cluster.replicas(task).is_empty());
        let group = group_of(job.phases()[phase as usize].demand(), groups, heads);
        let turn = u16::try_from(heads.len()).unwrap_or(u16::MAX);
        heads.push(Head { priority, phase, group, turn, is_started, is_alone: true, is_simple });
    };
    if let Some(turns) = turns {
        turns.in_order(started).for_each(|(phase, priority)| add(phase, priority));
    } else {
        (0..job.phases().len()).filter(|at| started(*at).is_some()).for_each(|at| add(at as u32, 0.0));
    }
    let is_alone = heads.iter().all(|head| head.group == heads[0].group);
    for head in heads {
        (head.is_simple, head.is_alone) = (is_simple, is_alone);
    }
}

/// Returns the index of the group for a demand; adds a group if necessary. The groups of `heads` are not reused,
/// because these heads are about to be added to them.
fn group_of(demand: &Resources, groups: &mut Vec<Group>, heads: &[Head]) -> u32 {
    let known = groups.iter().position(|group| group.demand == *demand);
    let at = known.or_else(|| {
        let is_unused = |at: usize| groups[at].jobs.is_empty() && heads.iter().all(|head| head.group as usize != at);
        let unused = (0..groups.len()).find(|at| is_unused(*at))?;
        groups[unused].demand = *demand;
        Some(unused)
    });
    at.unwrap_or_else(|| {
        groups.push(Group { demand: *demand, jobs: BTreeMap::new(), first: Vec::new() });
        groups.len() - 1
    }) as u32
}

/// The nodes on which the demands of groups fit, found once in a round. In a round, free resources only shrink.
#[derive(Debug, Default)]
pub(crate) struct NodesByGroup(Vec<GroupNode>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum GroupNode {
    Unknown,
    Nowhere,
    /// On this node, with this alignment.
    On(NodeId, f64),
}

impl NodesByGroup {
    fn find(&mut self, group: u32, demand: &Resources, cluster: &Cluster) -> Option<(NodeId, f64)> {
        let at = group as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, GroupNode::Unknown);
        }
        if self.0[at] == GroupNode::Unknown {
            let node = cluster.find_node_for_demand(demand);
            let aligned = |id: NodeId| Some(GroupNode::On(id, alignment(demand, cluster.node(id)?)));
            self.0[at] = node.and_then(aligned).unwrap_or(GroupNode::Nowhere);
        }
        match self.0[at] {
            GroupNode::On(node, alignment) => Some((node, alignment)),
            _ => None,
        }
    }

    /// Returns the alignment of a group's demand with its node; 0 if it has none.
    pub fn alignment(&self, group: u32) -> f64 {
        match self.0.get(group as usize) {
            Some(GroupNode::On(_, alignment)) => *alignment,
            _ => 0.0,
        }
    }

    /// Marks this node as no longer known to fit the groups for which it was found, because its free resources have
    /// shrunk.
    pub fn taken(&mut self, node: NodeId) {
        for node_of_group in &mut self.0 {
            if matches!(node_of_group, GroupNode::On(on, _) if *on == node) {
                *node_of_group = GroupNode::Unknown;
            }
        }
    }
}
