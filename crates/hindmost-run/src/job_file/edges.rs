//! Edges between single tasks: which tasks of earlier phases a task waits for, and which tasks were made from the results
//! of others.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::workload::{TaskEdges, TaskGroups};
use serde::{Deserialize, Serialize};

use super::plan::{Plan, PlannedPhase};

/// A parent of which a phase's tasks wait for single tasks, and not for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEdges {
    /// Number of the parent phase.
    pub parent: u32,
    /// The variable of both phases' tasks that has the same value in a task and in those for which it waits. `None`: task i
    /// waits for task i.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Plan {
    /// Returns the edges from single tasks to those of a phase.
    pub fn edges(&self, phase: u32) -> Vec<TaskEdges> {
        let of = &self.phases[phase as usize];
        let edges = |edges: &PlannedEdges| {
            let parent = &self.phases[edges.parent as usize];
            let groups = edges.by.as_ref().map(|by| groups(parent, of, by));
            TaskEdges { parent: edges.parent, groups }
        };
        of.edges.iter().map(edges).collect()
    }

    /// Returns the tasks that get no result because none of the single tasks has one for which they wait. `without` are the tasks that have
    /// none.
    pub(crate) fn left_out(&self, without: &BTreeSet<TaskId>) -> BTreeSet<TaskId> {
        let mut left_out = BTreeSet::new();
        if without.is_empty() {
            return left_out;
        }
        for (at, phase) in (0..).zip(&self.phases) {
            for TaskEdges { parent, groups } in self.edges(at) {
                let of_parent = |index| TaskId { job: JobId(0), phase: parent, index };
                let has_none = |index: u32| {
                    without.contains(&of_parent(index))
                        || left_out.contains(&of_parent(index))
                        || self.phases[parent as usize].is_withdrawn(index)
                };
                let parents: Vec<bool> = (0..self.phases[parent as usize].tasks).map(has_none).collect();
                // The groups of the parent's tasks, and whether all tasks of each have no result.
                let group = |of: &dyn Fn(&TaskGroups) -> &Vec<u32>, task: u32| {
                    groups.as_ref().map_or(task, |groups| of(groups)[task as usize])
                };
                let mut all: BTreeMap<u32, bool> = BTreeMap::new();
                for (index, has_none) in (0..).zip(parents) {
                    let group = all.entry(group(&|groups| &groups.of_parents, index)).or_insert(true);
                    *group &= has_none;
                }
                let tasks = (0..phase.tasks).filter(|index| !phase.is_withdrawn(*index));
                let out = tasks.filter(|index| all.get(&group(&|groups| &groups.of_tasks, *index)) == Some(&true));
                left_out.extend(out.map(|index| TaskId { job: JobId(0), phase: at, index }));
            }
        }
        left_out
    }

    /// Returns the variables that say which single tasks of earlier phases a task comes after: `HINDMOST_PARENTS_` with the name
    /// of the phase, and the numbers of its tasks that have a result, with spaces between them. `edges` are those of the
    /// task's phase; `has_none` says whether the task of a phase, by their numbers, gets no result.
    pub(crate) fn parents_of(
        &self,
        task: u32,
        edges: &[TaskEdges],
        has_none: impl Fn(u32, u32) -> bool,
    ) -> impl Iterator<Item = (String, String)> {
        edges.iter().filter_map(move |edges| {
            let parent = self.phases.get(edges.parent as usize)?;
            let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name: String = parent.name.chars().map(|c| if is_valid(c) { c } else { '_' }).collect();
            let is_there = |index: &u32| !parent.is_withdrawn(*index) && !has_none(edges.parent, *index);
            let tasks = edges.parents_of(task).into_iter().filter(is_there);
            let numbers: Vec<String> = tasks.map(|index| index.to_string()).collect();
            Some((format!("HINDMOST_PARENTS_{name}"), numbers.join(" ")))
        })
    }
}

/// Returns the tasks of two phases by the values of a variable. A task without a value is in a group of its own.
fn groups(parent: &PlannedPhase, phase: &PlannedPhase, by: &str) -> TaskGroups {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut next = 0..;
    let mut group = |of: &PlannedPhase, task: u32| {
        let mut number = || next.next().unwrap_or_default();
        match of.value_of(task, by) {
            Some(value) => *numbers.entry(value).or_insert_with(number),
            None => number(),
        }
    };
    let of_parents = (0..parent.tasks).map(|task| group(parent, task)).collect();
    let of_tasks = (0..phase.tasks).map(|task| group(phase, task)).collect();
    TaskGroups { of_parents, of_tasks }
}

impl PlannedPhase {
    /// Returns the value of a variable of a task; `None` if it has none of this name.
    pub(super) fn value_of(&self, task: u32, name: &str) -> Option<String> {
        self.values(task).find(|(own, _)| *own == name).map(|(_, value)| value.to_owned())
    }
}

/// Some tasks of a phase, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    /// These tasks, by number.
    Some(BTreeSet<u32>),
    /// All tasks.
    All,
}

impl Tasks {
    pub(crate) const NONE: Tasks = Tasks::Some(BTreeSet::new());

    /// Returns whether a task is among them.
    pub(crate) fn contains(&self, task: u32) -> bool {
        match self {
            Tasks::Some(tasks) => tasks.contains(&task),
            Tasks::All => true,
        }
    }

    fn is_none(&self) -> bool {
        matches!(self, Tasks::Some(tasks) if tasks.is_empty())
    }

    fn add(&mut self, more: Tasks) {
        match (&mut *self, more) {
            (Tasks::Some(tasks), Tasks::Some(more)) => tasks.extend(more),
            _ => *self = Tasks::All,
        }
    }
}

/// What comes after tasks whose results are made anew: tasks that use these results, directly or through others. Phases are
/// visited in order, so that what is found of a phase can depend on what comes before it.
#[derive(Debug)]
pub(crate) struct MadeFrom<'a> {
    plan: &'a Plan,
    /// The tasks of each visited phase that are made anew.
    anew: Vec<Tasks>,
}

impl<'a> MadeFrom<'a> {
    pub(crate) fn new(plan: &'a Plan) -> MadeFrom<'a> {
        MadeFrom { plan, anew: Vec::with_capacity(plan.phases.len()) }
    }

    /// Returns the tasks of the next phase that use results which are made anew.
    pub(crate) fn reached(&self) -> Tasks {
        let at = self.anew.len();
        let Some(phase) = self.plan.phases.get(at) else { return Tasks::NONE };
        let has_edges = |parent: &u32| phase.edges.iter().any(|edges| edges.parent == *parent);
        if phase.after.iter().any(|parent| !has_edges(parent) && !self.anew[*parent as usize].is_none()) {
            return Tasks::All;
        }
        let mut reached = BTreeSet::new();
        for TaskEdges { parent, groups } in self.plan.edges(at as u32) {
            let anew = &self.anew[parent as usize];
            match groups {
                None => reached.extend((0..phase.tasks).filter(|task| anew.contains(*task))),
                Some(TaskGroups { of_parents, of_tasks }) => {
                    let parents = (0..).zip(of_parents);
                    let groups: BTreeSet<u32> =
                        parents.filter(|(task, _)| anew.contains(*task)).map(|(_, group)| group).collect();
                    let tasks = (0..).zip(of_tasks);
                    reached.extend(tasks.filter(|(_, group)| groups.contains(group)).map(|(task, _)| task));
                }
            }
        }
        Tasks::Some(reached)
    }

    /// Says which tasks of the next phase are made anew, besides those that [`MadeFrom::reached`] returns.
    pub(crate) fn visit(&mut self, others: Tasks) {
        let mut anew = self.reached();
        anew.add(others);
        self.anew.push(anew);
    }
}

/// The tasks that come after others, by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Later(Vec<Tasks>);

impl Later {
    /// Returns the tasks of a job that use results of these tasks or of all tasks of these phases, directly or through other
    /// tasks.
    pub(crate) fn of(plan: &Plan, tasks: &BTreeSet<(u32, u32)>, phases: &BTreeSet<u32>) -> Later {
        let mut made_from = MadeFrom::new(plan);
        let reached = (0..plan.phases.len() as u32).map(|phase| {
            let reached = made_from.reached();
            let of_phase = tasks.range((phase, 0)..=(phase, u32::MAX)).map(|(_, task)| *task);
            made_from.visit(if phases.contains(&phase) { Tasks::All } else { Tasks::Some(of_phase.collect()) });
            reached
        });
        Later(reached.collect())
    }

    /// Returns whether a task is among them.
    pub(crate) fn contains(&self, task: TaskId) -> bool {
        self.0.get(task.phase as usize).is_some_and(|tasks| tasks.contains(task.index))
    }

    /// Returns those of a phase with this number of tasks, for a run's own job.
    pub(crate) fn of_phase(&self, phase: u32, tasks: u32) -> Vec<TaskId> {
        let of = self.0.get(phase as usize);
        let contains = |index: &u32| of.is_some_and(|of| of.contains(*index));
        (0..tasks).filter(contains).map(|index| TaskId { job: JobId(0), phase, index }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::job_file::parse;

    fn plan(phases: &str) -> Plan {
        parse(&format!("name = \"j\"\n{phases}"), Path::new("/tmp/job.toml"), Path::new("/tmp")).unwrap()
    }

    fn phase(name: &str, keys: &str) -> String {
        format!("[[phase]]\nname = {name:?}\ncommand = \"true\"\n{keys}\n")
    }

    /// Two samples each of two patients, in chains of two steps, one merge for each patient, and a last phase of all.
    fn pipeline() -> Plan {
        plan(
            &[
                phase("trim", "matrix = { patient = [\"p\", \"q\"], sample = [1, 2] }"),
                phase("align", "after = [\"trim\"]\neach = true"),
                phase("merge", "after = [{ phase = \"align\", by = \"patient\" }]"),
                phase("all", "after = [\"merge\"]\ntasks = 2"),
            ]
            .concat(),
        )
    }

    #[test]
    fn chains_and_groups_have_the_tasks_of_the_phases_before() {
        let plan = pipeline();
        let tasks: Vec<u32> = plan.phases.iter().map(|phase| phase.tasks).collect();
        assert_eq!(tasks, [4, 4, 2, 2]);
        let patients: Vec<Option<String>> = (0..2).map(|task| plan.phases[2].value_of(task, "patient")).collect();
        assert_eq!(patients, [Some("p".to_owned()), Some("q".to_owned())]);
        assert_eq!(plan.phases[1].value_of(3, "sample").as_deref(), Some("2"));
        let edges = plan.edges(2);
        let parents: Vec<Vec<u32>> = (0..2).map(|task| edges[0].parents_of(task)).collect();
        assert_eq!(parents, [[0, 1], [2, 3]]);
        let variables: Vec<(String, String)> = plan.parents_of(1, &edges, |_, _| false).collect();
        assert_eq!(variables, [("HINDMOST_PARENTS_align".to_owned(), "2 3".to_owned())]);
        assert!(plan.edges(3).is_empty());
    }

    #[test]
    fn tasks_are_left_out_if_none_of_their_parents_has_a_result() {
        let plan = pipeline();
        let tasks = |tasks: &[(u32, u32)]| -> BTreeSet<TaskId> {
            tasks.iter().map(|(phase, index)| TaskId { job: JobId(0), phase: *phase, index: *index }).collect()
        };
        assert_eq!(plan.left_out(&tasks(&[(0, 1)])), tasks(&[(1, 1)]));
        assert_eq!(plan.left_out(&tasks(&[(0, 2), (0, 3)])), tasks(&[(1, 2), (1, 3), (2, 1)]));
        assert_eq!(plan.left_out(&tasks(&[(2, 0), (2, 1)])), tasks(&[]));
    }

    #[test]
    fn what_comes_after_a_task_follows_its_chain() {
        let plan = pipeline();
        let later = |tasks: &[(u32, u32)], phases: &[u32]| {
            let later = Later::of(&plan, &tasks.iter().copied().collect(), &phases.iter().copied().collect());
            let of = |phase: u32| later.of_phase(phase, plan.phases[phase as usize].tasks);
            (0..4).flat_map(of).map(|task| (task.phase, task.index)).collect::<Vec<_>>()
        };
        assert_eq!(later(&[(0, 1)], &[]), [(1, 1), (2, 0), (3, 0), (3, 1)]);
        assert_eq!(later(&[(1, 2)], &[]), [(2, 1), (3, 0), (3, 1)]);
        assert_eq!(later(&[(3, 0)], &[]), []);
        assert_eq!(later(&[], &[1]), [(2, 0), (2, 1), (3, 0), (3, 1)]);
    }

    #[test]
    fn edges_that_do_not_fit_are_errors() {
        let trim = phase("trim", "matrix = { sample = [1, 2] }");
        for (keys, message) in [
            ("each = true", "name it: after"),
            ("after = [\"trim\"]", "each = true if it has one task for each"),
            ("after = [\"trim\"]\neach = true\ntasks = 3", "it has 3 tasks and that phase has 2"),
            ("after = [{ phase = \"trim\", by = \"smaple\" }]", "did you mean \"sample\"?"),
            ("after = [{ phase = \"trim\", by = \"sample\", each = true }]", "both each and by"),
            ("after = [{ phase = \"trim\", by = \"sample\" }]\ntasks = 2", "have no variable \"sample\""),
            ("after = [{ phase = \"trim\", by = \"sample\" }]\nmatrix = { sample = [1, 3] }", "has the value \"3\""),
            ("after = [\"trim\", { phase = \"trim\", by = \"sample\" }]\neach = true", "twice"),
            ("after = [{ phases = \"trim\" }]", "each = true"),
        ] {
            let text = format!("name = \"j\"\n{trim}{}", phase("align", keys));
            let error = parse(&text, Path::new("/tmp/job.toml"), Path::new("/tmp")).unwrap_err().to_string();
            assert!(error.contains(message), "{keys}: {error}");
        }
    }
}
