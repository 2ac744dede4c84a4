//! A schedule of tasks in a given order: each starts on the first node with free resources once its phase may begin.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::ids::NodeId;
use crate::resources::Resources;

/// The phases of a job and the nodes of its run.
pub(super) struct Schedule {
    /// The parents of each phase that must finish before any of its tasks starts.
    pub(super) after: Vec<Vec<u32>>,
    /// The single tasks for which each task waits, by number; empty if no task waits for single tasks.
    pub(super) waits_for: Vec<Vec<usize>>,
    /// The resources that an attempt of each phase needs.
    pub(super) demands: Vec<Resources>,
    /// The resources of each node.
    pub(super) nodes: Vec<Resources>,
}

/// An attempt to schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// The number of its task. Tasks are numbered from 0.
    pub(super) task: usize,
    pub(super) phase: u32,
    /// The node on which it starts if this one has free resources.
    pub(super) node: NodeId,
    /// Its duration, in seconds.
    pub(super) seconds: f64,
    /// How long after the first attempt of its task it starts at the earliest, in seconds.
    pub(super) delay: f64,
}

/// In which order attempts start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InOrder {
    /// Each attempt starts after all earlier ones have.
    All,
    /// Each attempt starts after all earlier ones of its phase have.
    OfPhase,
}

/// Something that happens at a time.
#[derive(Clone, Copy, PartialEq)]
struct At {
    seconds: f64,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// An attempt ends on a node.
    Ends { attempt: usize, node: usize },
    /// An attempt may start from now on.
    Due,
}

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &At) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &At) -> std::cmp::Ordering {
        self.seconds.total_cmp(&other.seconds).then(self.what.cmp(&other.what))
    }
}

/// The state of a schedule at a time.
struct State<'a> {
    schedule: &'a Schedule,
    work: &'a [Work],
    now: f64,
    free: Vec<Resources>,
    /// The attempts that have not started, in order. The first one of each queue starts next.
    queues: Vec<VecDeque<usize>>,
    /// When the first attempt of each task started; `None` before that.
    begun: Vec<Option<f64>>,
    /// Number of attempts of each phase that have not ended.
    unfinished: Vec<usize>,
    /// Number of attempts of each task that have not ended.
    unfinished_of: Vec<usize>,
    happens: BinaryHeap<Reverse<At>>,
}

impl Schedule {
    /// Returns the time until the last attempt has ended, in seconds. Attempts that fit on no node, and those that must start
    /// after them, are left out.
    pub(super) fn makespan(&self, work: &[Work], in_order: InOrder) -> f64 {
        let mut queues = vec![VecDeque::new(); if in_order == InOrder::All { 1 } else { self.after.len() }];
        let mut unfinished = vec![0; self.after.len()];
        for (at, attempt) in work.iter().enumerate() {
            queues[if in_order == InOrder::All { 0 } else { attempt.phase as usize }].push_back(at);
            unfinished[attempt.phase as usize] += 1;
        }
        let tasks = work.iter().map(|attempt| attempt.task + 1).max().unwrap_or(0);
        let mut unfinished_of = vec![0; tasks];
        for attempt in work {
            unfinished_of[attempt.task] += 1;
        }
        let (free, begun, happens) = (self.nodes.clone(), vec![None; tasks], BinaryHeap::new());
        let mut state =
            State { schedule: self, work, now: 0.0, free, queues, begun, unfinished, unfinished_of, happens };
        state.start();
        while let Some(Reverse(at)) = state.happens.pop() {
            state.now = at.seconds;
            state.happened(at.what);
            // What happens at the same time comes before the next start.
            if state.happens.peek().is_none_or(|Reverse(next)| next.seconds > state.now) {
                state.start();
            }
        }
        state.now
    }
}

impl State<'_> {
    fn happened(&mut self, what: What) {
        if let What::Ends { attempt, node } = what {
            let phase = self.work[attempt].phase as usize;
            self.free[node] = self.free[node].plus(&self.schedule.demands[phase]);
            self.unfinished[phase] -= 1;
            self.unfinished_of[self.work[attempt].task] -= 1;
        }
    }

    /// Starts everything that may start now and for which a node has free resources.
    fn start(&mut self) {
        let of_phase = self.queues.len() > 1;
        for queue in 0..self.queues.len() {
            let mut at = 0;
            while let Some(attempt) = self.queues[queue].get(at).copied() {
                // Others of its phase overtake a task that waits for single tasks.
                if of_phase && self.is_blocked(attempt) {
                    at += 1;
                    continue;
                }
                let Some(node) = self.may_start(attempt) else { break };
                self.queues[queue].remove(at);
                let Work { task, phase, seconds, .. } = self.work[attempt];
                self.begun[task].get_or_insert(self.now);
                let demand = &self.schedule.demands[phase as usize];
                self.free[node] = self.free[node].minus(demand);
                let what = What::Ends { attempt, node };
                self.happens.push(Reverse(At { seconds: self.now + seconds, what }));
            }
        }
    }

    /// Returns whether the task of an attempt waits for single tasks that have not finished.
    fn is_blocked(&self, attempt: usize) -> bool {
        let waits_for = self.schedule.waits_for.get(self.work[attempt].task);
        waits_for.is_some_and(|tasks| tasks.iter().any(|task| self.unfinished_of[*task] > 0))
    }

    /// Returns the node on which an attempt starts now; `None` if it can't start.
    fn may_start(&mut self, attempt: usize) -> Option<usize> {
        let work = &self.work[attempt];
        let waits_for_phase = |parent: &u32| self.unfinished[*parent as usize] > 0;
        if self.schedule.after[work.phase as usize].iter().any(waits_for_phase) || self.is_blocked(attempt) {
            return None;
        }
        let due = self.begun[work.task].map_or(self.now, |begun| begun + work.delay);
        if due > self.now {
            self.happens.push(Reverse(At { seconds: due, what: What::Due }));
            return None;
        }
        let demand = &self.schedule.demands[work.phase as usize];
        let fits = |node: &usize| self.free.get(*node).is_some_and(|free| demand.fits(free));
        Some(work.node.0 as usize).filter(|node| fits(node)).or_else(|| (0..self.free.len()).find(|node| fits(node)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(nodes: &[u64], after: &[&[u32]]) -> Schedule {
        let slots = |count: u64| {
            let mut all = Resources::NONE;
            all.0[0] = count;
            all
        };
        Schedule {
            after: after.iter().map(|parents| parents.to_vec()).collect(),
            waits_for: Vec::new(),
            demands: vec![slots(1); after.len()],
            nodes: nodes.iter().map(|count| slots(*count)).collect(),
        }
    }

    /// Returns attempts of different tasks, given by phase and duration.
    fn work(attempts: &[(u32, f64)]) -> Vec<Work> {
        let work = attempts.iter().enumerate().map(|(task, (phase, seconds))| Work {
            task,
            phase: *phase,
            node: NodeId(0),
            seconds: *seconds,
            delay: 0.0,
        });
        work.collect()
    }

    #[test]
    fn tasks_start_in_order_on_free_slots() {
        // Slots: 3, then 2 from 3 to 5; 1, then 4 from 1 to 5, then 1 from 5 to 6.
        let tasks = work(&[3.0, 1.0, 4.0, 2.0, 1.0].map(|seconds| (0, seconds)));
        for order in [InOrder::All, InOrder::OfPhase] {
            assert_eq!(slots(&[1, 1], &[&[]]).makespan(&tasks, order), 6.0);
            assert_eq!(slots(&[5], &[&[]]).makespan(&tasks, order), 4.0);
        }
    }

    #[test]
    fn a_phase_waits_for_its_parents() {
        let tasks = work(&[(0, 2.0), (0, 3.0), (1, 1.0), (2, 5.0)]);
        // Phase 2 has no parents and runs beside phase 0 on the third slot, if it need not start after phase 1.
        let independent = slots(&[3], &[&[], &[0], &[]]);
        assert_eq!(independent.makespan(&tasks, InOrder::OfPhase), 5.0);
        assert_eq!(independent.makespan(&tasks, InOrder::All), 8.0);
        assert_eq!(slots(&[3], &[&[], &[0], &[1]]).makespan(&tasks, InOrder::OfPhase), 9.0);
    }

    #[test]
    fn copies_start_after_their_delay() {
        // The copy of task 0 is due after 2 s and holds the slot of task 1 from 2 to 4; then task 2 runs.
        let mut tasks = work(&[(0, 4.0), (0, 2.0), (0, 2.0), (0, 3.0)]);
        tasks[2] = Work { task: 0, delay: 2.0, ..tasks[2] };
        assert_eq!(slots(&[2], &[&[]]).makespan(&tasks, InOrder::All), 7.0);
        // With a third slot, task 2 need not wait for a slot, but still starts after the copy.
        assert_eq!(slots(&[3], &[&[]]).makespan(&tasks, InOrder::All), 5.0);
    }

    #[test]
    fn what_fits_nowhere_is_left_out() {
        assert_eq!(slots(&[0], &[&[]]).makespan(&work(&[(0, 4.0)]), InOrder::All), 0.0);
    }
}
