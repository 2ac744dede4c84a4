//! Edges between single tasks of a job's phases: a task is blocked until the tasks have finished for which it waits.
//!
//! Invariant: a blocked task is unfinished, has no running copy and is not withheld. In a phase whose tasks have parents,
//! pending tasks that never lost a copy are in [`Edges::ready`], and all others in the phase's list of tasks to be retried.

use crate::id_set::IdSet;
use crate::ids::TaskId;
use crate::workload::{JobSpec, TaskEdges, TaskGroups};

use super::job::Job;
use super::phase::Phase;

/// The edges to the tasks of a phase and from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    /// The phases with tasks that wait for single tasks of this one, each with the position of the edges among its own.
    children: Vec<(u32, usize)>,
    /// The edges from each parent, in the order of the specification.
    parents: Vec<FromParent>,
    /// For each task, the number of parents of which a task for which it waits is unfinished.
    waits_for: Vec<u32>,
    /// The pending tasks that can start and never lost a copy.
    ready: IdSet,
}

/// The edges from one parent phase.
#[derive(Clone, Debug)]
enum FromParent {
    /// Task i waits for task i.
    Each,
    /// A task waits for the parent's tasks of its group.
    Groups {
        /// Number of unfinished tasks of the parent by group.
        unfinished: Vec<u32>,
        /// The tasks of each group. A group's are those from `starts[group]` up to `starts[group + 1]`.
        tasks: Vec<u32>,
        starts: Vec<u32>,
    },
}

impl FromParent {
    fn new(edges: &TaskEdges, parent: &Phase) -> FromParent {
        let Some(TaskGroups { of_parents, of_tasks }) = &edges.groups else { return FromParent::Each };
        let count = of_parents.iter().chain(of_tasks).max().map_or(0, |largest| *largest as usize + 1);
        let mut unfinished = vec![0; count];
        for (group, task) in of_parents.iter().zip(&parent.tasks) {
            unfinished[*group as usize] += u32::from(!task.finished);
        }
        let mut tasks: Vec<u32> = (0..of_tasks.len() as u32).collect();
        tasks.sort_by_key(|task| of_tasks[*task as usize]);
        let before = |group: u32| tasks.partition_point(|task| of_tasks[*task as usize] < group) as u32;
        let starts = (0..=count as u32).map(before).collect();
        FromParent::Groups { unfinished, tasks, starts }
    }

    /// Returns whether a task waits for an unfinished task of the parent.
    fn blocks(&self, edges: &TaskEdges, parent: &Phase, task: u32) -> bool {
        match (self, &edges.groups) {
            (FromParent::Groups { unfinished, .. }, Some(groups)) => {
                unfinished[groups.of_tasks[task as usize] as usize] > 0
            }
            _ => !parent.tasks[task as usize].finished,
        }
    }

    /// Counts a task of the parent as finished. Returns the tasks that now wait for no task of the parent.
    fn finished(&mut self, edges: &TaskEdges, parent: u32) -> Vec<u32> {
        match (self, &edges.groups) {
            (FromParent::Groups { unfinished, tasks, starts }, Some(groups)) => {
                let group = groups.of_parents[parent as usize] as usize;
                unfinished[group] -= 1;
                let of_group = starts[group] as usize..starts[group + 1] as usize;
                if unfinished[group] == 0 { tasks[of_group].to_vec() } else { Vec::new() }
            }
            _ => vec![parent],
        }
    }
}

impl Edges {
    /// Returns whether the phase's tasks wait for single tasks of earlier phases.
    pub(super) fn has_parents(&self) -> bool {
        !self.parents.is_empty()
    }

    /// Returns the first pending task that never lost a copy; `None` if there is none.
    pub(super) fn first_ready(&self) -> Option<u32> {
        self.ready.next(0)
    }

    /// Must be called when a pending task starts that never lost a copy, or is pending no longer.
    pub(super) fn started(&mut self, task: u32) {
        self.ready.remove(task);
    }
}

/// Blocks the tasks of a job that arrives which wait for unfinished tasks.
pub(super) fn block_tasks(spec: &JobSpec, phases: &mut [Phase]) {
    for (at, of) in spec.phases.iter().enumerate().filter(|(_, of)| !of.edges.is_empty()) {
        let (earlier, rest) = phases.split_at_mut(at);
        let phase = &mut rest[0];
        let mut found = Edges { waits_for: vec![0; phase.tasks.len()], ..Edges::default() };
        for (position, edges) in of.edges.iter().enumerate() {
            let parent = &mut earlier[edges.parent as usize];
            let from = FromParent::new(edges, parent);
            for (task, waits_for) in (0..).zip(&mut found.waits_for) {
                *waits_for += u32::from(from.blocks(edges, parent, task));
            }
            found.parents.push(from);
            parent.edges.get_or_insert_default().children.push((at as u32, position));
        }
        for (index, (task, waits_for)) in (0..).zip(phase.tasks.iter_mut().zip(&found.waits_for)) {
            task.blocked = !task.finished && *waits_for > 0;
            phase.blocked += u32::from(task.blocked);
            if task.is_pending() {
                found.ready.insert(index);
            }
        }
        phase.pending -= phase.blocked;
        // Pending tasks that may be retried are those before `next`.
        phase.next = phase.tasks.len() as u32;
        phase.edges = Some(Box::new(found));
    }
}

/// Makes the tasks pending that waited only for a task that has finished. Returns whether there are any.
pub(super) fn unblock_children(job: &mut Job, finished: TaskId) -> bool {
    let children = match &job.phases[finished.phase as usize].edges {
        Some(edges) if !edges.children.is_empty() => edges.children.clone(),
        _ => return false,
    };
    let mut unblocked = 0;
    for (child, position) in children {
        let phase = &mut job.phases[child as usize];
        let Some(found) = &mut phase.edges else { continue };
        for index in found.parents[position].finished(&job.spec.phases[child as usize].edges[position], finished.index)
        {
            let task = &mut phase.tasks[index as usize];
            found.waits_for[index as usize] -= 1;
            if task.blocked && found.waits_for[index as usize] == 0 {
                task.blocked = false;
                phase.blocked -= 1;
                phase.pending += 1;
                found.ready.insert(index);
                unblocked += u32::from(phase.parents_left == 0);
            }
        }
    }
    job.runnable += unblocked;
    unblocked > 0
}

#[cfg(test)]
mod tests {
    use super::super::{Applied, Cluster, RecordError, Task};
    use super::*;
    use crate::ids::{AttemptId, JobId, NodeId};
    use crate::record::{Decision, Event};
    use crate::testing::machines;
    use crate::time::Time;
    use crate::workload::{PhaseSpec, edges_of_each};

    const JOB: JobId = JobId(0);

    fn groups(parent: u32, of_parents: &[u32], of_tasks: &[u32]) -> TaskEdges {
        TaskEdges { parent, groups: Some(TaskGroups { of_parents: of_parents.to_vec(), of_tasks: of_tasks.to_vec() }) }
    }

    fn phase(tasks: u32, finished: &[u32], edges: Vec<TaskEdges>) -> PhaseSpec {
        let after = edges.iter().map(|edges| edges.parent).collect();
        PhaseSpec { after, edges, finished: finished.to_vec(), ..PhaseSpec::new(tasks.to_string(), tasks, 1.0) }
    }

    fn arrived(phases: Vec<PhaseSpec>) -> Result<Cluster, RecordError> {
        let mut cluster = machines(4);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JOB, spec: JobSpec::new("j", phases).into() })?;
        Ok(cluster)
    }

    fn job(cluster: &Cluster) -> &Job {
        cluster.job(JOB).unwrap()
    }

    fn task(phase: u32, index: u32) -> TaskId {
        TaskId { job: JOB, phase, index }
    }

    fn run(cluster: &mut Cluster, task: TaskId) -> Applied {
        let attempt = cluster.next_copy(task).unwrap();
        cluster.apply_decision(Time::ZERO, &Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 }).unwrap();
        cluster.apply_event(Time::ZERO, &Event::AttemptFinished { attempt }).unwrap()
    }

    /// Returns the tasks that can start: all pending tasks of open phases.
    fn can_start(cluster: &Cluster) -> Vec<(u32, u32)> {
        let phases = (0..).zip(job(cluster).phases()).filter(|(_, phase)| phase.is_open());
        let tasks = phases.flat_map(|(at, phase)| (0..).zip(phase.tasks()).map(move |(index, task)| (at, index, task)));
        let pending: Vec<(u32, u32)> =
            tasks.filter(|(.., task)| task.is_pending()).map(|(at, index, _)| (at, index)).collect();
        assert_eq!((job(cluster).runnable(), cluster.runnable()), (pending.len() as u32, pending.len() as u64));
        let next = job(cluster).next_runnable(|_| true, |_| true);
        assert_eq!(next.map(|task| (task.phase, task.index)), pending.first().copied());
        pending
    }

    #[test]
    fn a_chain_goes_on_while_other_tasks_of_its_phase_wait() {
        let each = |parent| edges_of_each(true, &[parent]);
        let mut cluster = arrived(vec![phase(3, &[], vec![]), phase(3, &[], each(0)), phase(3, &[], each(1))]).unwrap();
        assert_eq!(can_start(&cluster), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!((job(&cluster).phases()[1].blocked(), job(&cluster).pending_workload()), (3, 9.0));
        assert!(run(&mut cluster, task(0, 2)).unblocked);
        assert_eq!(can_start(&cluster), [(0, 0), (0, 1), (1, 2)]);
        run(&mut cluster, task(1, 2));
        run(&mut cluster, task(0, 0));
        assert_eq!(can_start(&cluster), [(0, 1), (1, 0), (2, 2)]);
        let attempt = AttemptId { task: task(2, 1), copy: 0 };
        let refused =
            cluster.apply_decision(Time::ZERO, &Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 });
        let reason = "its task waits for other tasks";
        assert_eq!(refused, Err(RecordError::CannotStart { attempt, reason }));
    }

    #[test]
    fn a_group_waits_for_all_of_its_tasks_and_for_no_other() {
        // Tasks 0, 2 and 3 are of one patient, task 1 of another, and the third patient has no task.
        let merge = groups(0, &[0, 1, 0, 0], &[1, 0, 2]);
        let mut cluster = arrived(vec![phase(4, &[2], vec![]), phase(3, &[], vec![merge])]).unwrap();
        assert_eq!(can_start(&cluster), [(0, 0), (0, 1), (0, 3), (1, 2)]);
        assert!(!run(&mut cluster, task(0, 3)).unblocked);
        assert!(run(&mut cluster, task(0, 0)).unblocked);
        assert_eq!(can_start(&cluster), [(0, 1), (1, 1), (1, 2)]);
        run(&mut cluster, task(0, 1));
        assert_eq!(can_start(&cluster), [(1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn a_task_waits_for_single_tasks_and_for_whole_phases() {
        let mut last = phase(2, &[], edges_of_each(true, &[1]));
        last.after = vec![0, 1];
        let mut cluster = arrived(vec![phase(2, &[], vec![]), phase(2, &[1], vec![]), last]).unwrap();
        run(&mut cluster, task(0, 0));
        assert_eq!(can_start(&cluster), [(0, 1), (1, 0)]);
        assert_eq!((job(&cluster).phases()[2].pending(), job(&cluster).phases()[2].is_open()), (1, false));
        run(&mut cluster, task(0, 1));
        assert_eq!(can_start(&cluster), [(1, 0), (2, 1)]);
        run(&mut cluster, task(1, 0));
        assert_eq!(can_start(&cluster), [(2, 0), (2, 1)]);
    }

    #[test]
    fn a_task_that_lost_its_copies_and_an_unblocked_one_both_run() {
        let mut cluster = arrived(vec![phase(2, &[], vec![]), phase(2, &[], edges_of_each(true, &[0]))]).unwrap();
        run(&mut cluster, task(0, 1));
        let attempt = AttemptId { task: task(1, 1), copy: 0 };
        cluster.apply_decision(Time::ZERO, &Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 }).unwrap();
        cluster.apply_event(Time::ZERO, &Event::NodeLost { node: NodeId(0), time_is_up: false }).unwrap();
        run_on(&mut cluster, task(0, 0), NodeId(1));
        let next = job(&cluster).next_runnable(|_| true, |_| true).unwrap();
        assert_eq!((next, job(&cluster).runnable()), (task(1, 1), 2));
        run_on(&mut cluster, next, NodeId(1));
        assert_eq!(can_start(&cluster), [(1, 0)]);
    }

    fn run_on(cluster: &mut Cluster, task: TaskId, node: NodeId) {
        let attempt = cluster.next_copy(task).unwrap();
        cluster.apply_decision(Time::ZERO, &Decision::Start { attempt, node, from_progress: 0.0 }).unwrap();
        cluster.apply_event(Time::ZERO, &Event::AttemptFinished { attempt }).unwrap();
    }

    #[test]
    fn blocked_tasks_can_be_given_up_but_not_withheld() {
        let mut cluster = arrived(vec![phase(2, &[], vec![]), phase(2, &[], edges_of_each(true, &[0]))]).unwrap();
        let withheld = Event::TaskWithheld { task: task(1, 0), until: None, may_run: None };
        let refused = cluster.apply_event(Time::ZERO, &withheld).unwrap_err();
        assert!(refused.to_string().contains("waits for other tasks"), "{refused}");
        cluster.apply_event(Time::ZERO, &Event::TaskGivenUp { task: task(1, 0) }).unwrap();
        run(&mut cluster, task(0, 0));
        assert_eq!(can_start(&cluster), [(0, 1)]);
        // A task that is given up counts as finished.
        assert!(cluster.apply_event(Time::ZERO, &Event::TaskGivenUp { task: task(0, 1) }).unwrap().unblocked);
        assert_eq!(can_start(&cluster), [(1, 1)]);
        cluster.apply_decision(Time::ZERO, &Decision::Abandon { job: JOB }).unwrap();
        assert_eq!(cluster.runnable(), 0);
        assert!(
            cluster
                .job(JOB)
                .is_none_or(|job| job.phases().iter().all(|phase| !phase.tasks().iter().any(Task::is_blocked)))
        );
    }

    #[test]
    fn bad_edges_are_refused() {
        let two = || phase(2, &[], vec![]);
        let orphan = PhaseSpec { after: Vec::new(), ..phase(2, &[], edges_of_each(true, &[0])) };
        for (phases, reason) in [
            (vec![two(), phase(3, &[], edges_of_each(true, &[0]))], "each of its 3 tasks"),
            (vec![two(), phase(2, &[], vec![groups(0, &[0], &[0, 0])])], "not given for each task"),
            (vec![two(), phase(2, &[], vec![groups(0, &[0, 4], &[0, 0])])], "no group 4"),
            (vec![two(), orphan], "not its parent"),
            (vec![two(), phase(2, &[], [edges_of_each(true, &[0]), edges_of_each(true, &[0])].concat())], "twice"),
        ] {
            let error = arrived(phases).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn edges_are_translated_when_finished_tasks_are_left_out() {
        let each = &edges_of_each(true, &[0])[0];
        assert_eq!(each.without_finished(4, (&[1], &[1]), (3, 3)), TaskEdges { parent: 4, groups: None });
        assert_eq!(each.without_finished(0, (&[0, 1], &[]), (3, 3)), groups(0, &[2], &[0, 1, 2]));
        let grouped = groups(0, &[0, 3, 3, 5], &[3, 5]);
        assert_eq!(grouped.without_finished(1, (&[0, 1], &[1]), (4, 2)), groups(1, &[0, 1], &[0]));
        assert_eq!((grouped.parents_of(0), grouped.children_of(3)), (vec![1, 2], vec![1]));
    }

    #[test]
    fn a_spec_without_edges_has_no_such_key() {
        let spec = phase(2, &[], edges_of_each(true, &[0]));
        let text = serde_json::to_string(&spec).unwrap();
        assert!(text.contains(r#""edges":[{"parent":0}]"#), "{text}");
        assert_eq!(serde_json::from_str::<PhaseSpec>(&text).unwrap(), spec);
        assert!(!serde_json::to_string(&phase(2, &[], vec![])).unwrap().contains("edges"));
    }
}
