//! The numbers of tasks in a run that is resumed after its job file or its inputs have changed.
//!
//! A task keeps the number with which its run began, because its result has this number. Tasks are recognised by their input and
//! their values of the matrix. A row of a table is recognised by its values; one that has changed by those columns that it had
//! before, and otherwise by its first columns ([`Alike`]). New tasks get the next numbers. A task whose input or values are gone is *withdrawn*: its number
//! stays unused, and it never runs. Tasks of a map are recognised by their values. Tasks without inputs and values only have
//! numbers. If there are more or fewer of them than before, they are other tasks, because commands see `HINDMOST_TASKS`: the phase
//! is *renewed*.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::edges::PlannedEdges;
use super::plan::{Plan, PlannedPhase};
use super::table::Table;
use crate::escape::{escaped, unescaped};

/// The tasks of a phase, as the record of a run holds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPhase {
    /// Name of the phase.
    pub name: String,
    /// Numbers of the phases that must be finished first.
    pub after: Vec<u32>,
    /// The phases of which tasks wait for single tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<PlannedEdges>,
    /// Number of tasks.
    pub tasks: u32,
    /// What each task is recognised by: its input, if it has one, and its values of the matrix or the table as
    /// `NAME=VALUE`. Empty if tasks
    /// only have numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Vec<String>>,
    /// True if each task has a command of its own, as in a map.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_commands: bool,
    /// Numbers of the withdrawn tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<u32>,
}

/// How the tasks of a job differ from those with which its run was last active. A task is given by the number of its
/// phase and its own number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskChanges {
    /// Tasks that are new, or whose input or values are there again.
    pub added: Vec<(u32, u32)>,
    /// Tasks whose input or values are gone.
    pub withdrawn: Vec<(u32, u32)>,
    /// Phases whose number of tasks has changed, so that all of their tasks are other ones, with the earlier number.
    pub renewed: Vec<(u32, u32)>,
    /// Phases that are new.
    pub phases: Vec<u32>,
    /// Phases whose tasks wait for other tasks of their parents than before.
    pub rewired: Vec<u32>,
}

impl TaskChanges {
    /// True if the tasks are the same as before.
    pub fn is_empty(&self) -> bool {
        *self == TaskChanges::default()
    }
}

impl Plan {
    /// Returns the tasks of all phases for the record of a run.
    pub(crate) fn recorded_phases(&self) -> Vec<RecordedPhase> {
        let recorded = |phase: &PlannedPhase| RecordedPhase {
            name: phase.name.clone(),
            after: phase.after.clone(),
            edges: phase.edges.clone(),
            tasks: phase.tasks,
            keys: phase.keys(),
            own_commands: phase.commands.is_some(),
            withdrawn: phase.withdrawn_tasks().collect(),
        };
        self.phases.iter().map(recorded).collect()
    }

    /// Gives the tasks of this plan the numbers that they have in the record of a run, and returns what has changed since.
    /// Returns `None`, and leaves the plan as it is, if this is another job: the phases of the run must be the first
    /// phases of the plan, with the same names and dependencies. (Phases that come before others in the job file do so in
    /// the plan too, if dependencies allow it.)
    pub(crate) fn numbered_as(&mut self, recorded: &[RecordedPhase]) -> Option<TaskChanges> {
        let is_same = |now: &PlannedPhase, then: &RecordedPhase| {
            (&now.name, &now.after, now.commands.is_some()) == (&then.name, &then.after, then.own_commands)
        };
        // Long values are not recorded: they are recognised by all of them together.
        let has_keys = |(now, then): (&PlannedPhase, &RecordedPhase)| {
            now.commands.is_none() || now.keys().is_empty() == then.keys.is_empty() && !then.keys.is_empty()
        };
        if recorded.is_empty()
            || self.phases.len() < recorded.len()
            || !self.phases.iter().zip(recorded).all(has_keys)
            || !self.phases.iter().zip(recorded).all(|(now, then)| is_same(now, then))
        {
            return None;
        }
        let edges = self.phases.iter().flat_map(|phase| &phase.edges);
        let by: BTreeSet<String> = edges.filter_map(|edges| edges.by.clone()).collect();
        let mut changes = TaskChanges::default();
        for (at, phase) in (0..).zip(&mut self.phases) {
            let Some(then) = recorded.get(at as usize) else {
                changes.phases.push(at);
                // Tasks of chains have the numbers that they have in the phases before.
                if let Some(parent) = phase.tasks_of.and_then(|parent| recorded.get(parent as usize)) {
                    let now = phase.keys();
                    if now != parent.keys {
                        phase.renumber(&parent.keys, &now, &by);
                    }
                }
                continue;
            };
            if phase.edges != then.edges {
                changes.rewired.push(at);
            }
            let now = phase.keys();
            if now.is_empty() != then.keys.is_empty() || now.is_empty() && phase.tasks != then.tasks {
                changes.renewed.push((at, then.tasks));
            } else if now != then.keys || !then.withdrawn.is_empty() {
                phase.renumber(&then.keys, &now, &by);
                let was_there = |task: &u32| *task < then.tasks && then.withdrawn.binary_search(task).is_err();
                let tasks = 0..phase.tasks;
                changes.added.extend(
                    tasks.clone().filter(|task| !was_there(task) && !phase.is_withdrawn(*task)).map(|task| (at, task)),
                );
                changes
                    .withdrawn
                    .extend(tasks.filter(|task| was_there(task) && phase.is_withdrawn(*task)).map(|task| (at, task)));
            }
        }
        self.has_aligned_chains().then_some(changes)
    }

    /// True if the tasks of chains have the same number in each of their phases. Otherwise, a phase of the run had tasks of its own
    /// and has those of another phase now.
    fn has_aligned_chains(&self) -> bool {
        let mut chained = self.phases.iter().flat_map(|phase| phase.edges.iter().map(move |edges| (phase, edges)));
        chained.all(|(phase, edges)| {
            let parent = &self.phases[edges.parent as usize];
            let is_chain = phase.tasks_of == Some(edges.parent);
            edges.by.is_some() || phase.tasks == parent.tasks && (!is_chain || phase.keys() == parent.keys())
        })
    }

    /// Returns how the phases of this plan differ from those in the record of a run, if it is another job for this reason, and what the
    /// user can do about it, as the first part of a sentence.
    pub(crate) fn differs_from(&self, recorded: &[RecordedPhase]) -> Option<String> {
        let is_there = |then: &&RecordedPhase| self.phases.iter().any(|now| now.name == then.name);
        let gone: Vec<String> =
            recorded.iter().filter(|then| !is_there(then)).map(|then| format!("{:?}", then.name)).collect();
        match gone.as_slice() {
            [] => {}
            [phase] => {
                return Some(format!(
                    "its phase {phase} is not in the job file any more, and a run continues only with all of its phases; put the phase back under its name, "
                ));
            }
            phases => {
                return Some(format!(
                    "its phases {} are not in the job file any more, and a run continues only with all of its phases; put the phases back under their names, ",
                    phases.join(", ")
                ));
            }
        }
        if !self.has_aligned_chains() {
            let why = "tasks that wait for each other (each) would have other numbers than in the run; set `each` and the inputs \
                       of its phases back, ";
            return Some(why.to_owned());
        }
        let mut pairs = self.phases.iter().zip(recorded);
        let names = |phases: &[u32], of: &dyn Fn(u32) -> Option<String>| -> Vec<String> {
            phases.iter().filter_map(|phase| of(*phase)).collect()
        };
        let now_name = |phase: u32| self.phases.get(phase as usize).map(|phase| phase.name.clone());
        let then_name = |phase: u32| recorded.get(phase as usize).map(|phase| phase.name.clone());
        pairs.find_map(|(now, then)| {
            if now.name != then.name {
                return Some(format!(
                    "phase {:?} comes before phases of the run, and new phases of a run must come after all others in the job file; \
                     move it, ",
                    now.name
                ));
            }
            let (after, before) = (names(&now.after, &now_name), names(&then.after, &then_name));
            (after != before).then(|| {
                format!(
                    "`after` of phase {:?} is {after:?} now and was {before:?}, and phases of a run keep their `after`; set it back, ",
                    now.name
                )
            })
        })
    }
}

impl PlannedPhase {
    /// Returns the numbers of the tasks whose inputs or values are gone.
    pub fn withdrawn_tasks(&self) -> impl Iterator<Item = u32> {
        let places = (0..).zip(self.places.iter().flatten());
        places.filter(|(_, place)| place.is_none()).map(|(task, _)| task)
    }

    /// Returns how many tasks are withdrawn.
    pub fn withdrawn(&self) -> u32 {
        self.withdrawn_tasks().count() as u32
    }

    /// Returns how many of the phase's tasks may fail permanently. Withdrawn tasks are left out.
    pub fn may_fail(&self) -> u32 {
        self.allowed_failures.of(self.tasks - self.withdrawn())
    }

    /// True if the task belonged to the run when it began, and its input or values are gone.
    pub fn is_withdrawn(&self, task: u32) -> bool {
        self.places.as_ref().is_some_and(|places| places.get(task as usize).is_some_and(Option::is_none))
    }

    /// Returns the file that a task uses, by which a resumed run notices that it has changed; `None` if it has none. In a map
    /// it is what the first value names, which need not be a file.
    pub(crate) fn compared_input(&self, task: u32) -> Option<Cow<'_, Path>> {
        match &self.commands {
            Some(commands) => commands.path_of(task, &self.directory).map(Cow::Owned),
            None => self.input_of(task).map(Cow::Borrowed),
        }
    }

    /// Returns what each task is recognised by; empty if tasks only have numbers.
    fn keys(&self) -> Vec<Vec<String>> {
        if let Some(commands) = &self.commands {
            return commands.keys();
        }
        if self.inputs.is_none() && self.matrix.is_none() && self.table.is_none() {
            return Vec::new();
        }
        let key = |task: u32| {
            if let Some(key) = self.withdrawn_keys.get(&task) {
                return key.clone();
            }
            let input = self.input_of(task).map(|input| escaped(input.as_os_str()));
            let values = self.values(task).map(|(name, value)| format!("{name}={value}"));
            input.into_iter().chain(values).collect()
        };
        (0..self.tasks).map(key).collect()
    }

    /// Gives the tasks with the keys `now` the numbers that these keys have in `then`, and appends the others.
    /// A row that moves to another group of a later phase, because its value of a column in `by` is another one, is another task: the
    /// group that it leaves changes too.
    fn renumber(&mut self, then: &[Vec<String>], now: &[Vec<String>], by: &BTreeSet<String>) {
        let mut places: Vec<Option<u32>> = vec![None; then.len()];
        let mut new: BTreeSet<u32> = (0..now.len() as u32).collect();
        let alike = match &self.table {
            Some(table) => Alike::rows(then, table),
            None => vec![Alike::Equal],
        };
        for alike in alike {
            let mut by_key: HashMap<Vec<&str>, VecDeque<u32>> = HashMap::new();
            for place in &new {
                by_key.entry(alike.part_of(&now[*place as usize], by)).or_default().push_back(*place);
            }
            let mut open: HashMap<Vec<&str>, u32> = HashMap::new();
            for key in then.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(key, _)| key) {
                *open.entry(alike.part_of(key, by)).or_default() += 1;
            }
            for (key, place) in then.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
                let part = alike.part_of(key, by);
                let Some(found) = by_key.get_mut(&part) else { continue };
                // What several rows have in common identifies none of them.
                if part.is_empty() || alike.must_be_single() && (found.len() > 1 || open.get(&part) != Some(&1)) {
                    continue;
                }
                *place = found.pop_front();
                if let Some(place) = place {
                    new.remove(place);
                }
            }
        }
        places.extend(new.into_iter().map(Some));
        if self.commands.is_none() {
            let withdrawn = (0..).zip(&places).zip(then).filter(|((_, place), _)| place.is_none());
            self.withdrawn_keys = withdrawn.map(|((number, _), key)| (number, key.clone())).collect();
        }
        if let Some(inputs) = &mut self.inputs {
            let input = |(number, place): (usize, &Option<u32>)| match place {
                Some(place) => inputs.get(*place as usize).cloned().unwrap_or_default(),
                None => then
                    .get(number)
                    .and_then(|key| key.first())
                    .filter(|text| text.starts_with('/'))
                    .map_or_else(Default::default, |text| self.directory.join(OsString::from_vec(unescaped(text)))),
            };
            *inputs = places.iter().enumerate().map(input).collect();
        }
        if let Some(commands) = &mut self.commands {
            commands.renumber(&places, then);
        }
        self.tasks = places.len() as u32;
        self.places = Some(places);
    }
}

/// By what tasks of a resumed run are recognised.
enum Alike<'a> {
    /// All of the key is equal.
    Equal,
    /// The values of these columns are equal, whatever the input is.
    Columns(Vec<&'a str>),
    /// The values of these columns, the first ones of the table, are equal, and no other row has them.
    First(&'a [String]),
}

impl<'a> Alike<'a> {
    /// Returns by what rows of a table are recognised, in this order. `then` are their keys in the run.
    fn rows(then: &'a [Vec<String>], table: &'a Table) -> Vec<Alike<'a>> {
        let had: BTreeSet<&str> = then.iter().flatten().filter_map(|part| name_in(part)).collect();
        let common = table.columns().iter().map(String::as_str).filter(|name| had.contains(name));
        let columns = table.columns();
        let first = (1..=columns.len()).rev().map(|number| Alike::First(&columns[..number]));
        [Alike::Equal, Alike::Columns(common.collect())].into_iter().chain(first).collect()
    }

    /// Returns the part of a key that counts.
    fn part_of<'k>(&self, key: &'k [String], by: &BTreeSet<String>) -> Vec<&'k str> {
        let counts = |part: &&str| match self {
            Alike::Equal => true,
            Alike::Columns(names) => name_in(part).is_some_and(|name| names.contains(&name)),
            Alike::First(names) => {
                name_in(part).is_some_and(|name| names.iter().any(|own| own == name) || by.contains(name))
            }
        };
        let mut parts: Vec<&str> = key.iter().map(String::as_str).filter(counts).collect();
        // Columns may have changed places.
        parts.sort_unstable();
        parts
    }

    fn must_be_single(&self) -> bool {
        matches!(self, Alike::First(_))
    }
}

/// Returns the name of the variable or column in a part of a key; `None` if the part is an input, which is an absolute path.
fn name_in(part: &str) -> Option<&str> {
    if part.starts_with('/') { None } else { part.split_once('=').map(|(name, _)| name) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::job_file::parse;

    fn plan(folder: &Path, phases: &str) -> Plan {
        parse(&format!("name = \"j\"\n{phases}"), &folder.join("job.toml"), folder).unwrap()
    }

    fn inputs(plan: &Plan) -> Vec<String> {
        let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        plan.phases[0].inputs.iter().flatten().map(name).collect()
    }

    #[test]
    fn inputs_keep_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let write = |names: &[&str]| names.iter().for_each(|name| fs::write(path.join(name), "x").unwrap());
        let now = || plan(path, "[[phase]]\nname = \"a\"\ninputs = \"*.txt\"\ncommand = \"true\"\n");
        write(&["b.txt", "d.txt"]);
        let first = now();
        let mut same = now();
        assert!(same.numbered_as(&first.recorded_phases()).unwrap().is_empty());
        assert_eq!((&same, same.shape()), (&first, first.shape()));
        // One more before, one between, one gone.
        write(&["a.txt", "c.txt"]);
        fs::remove_file(path.join("b.txt")).unwrap();
        let mut second = now();
        let changes = second.numbered_as(&first.recorded_phases()).unwrap();
        assert_eq!(inputs(&second), ["b.txt", "d.txt", "a.txt", "c.txt"]);
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 2), (0, 3)][..], &[(0, 0)][..]));
        assert!(second.phases[0].is_withdrawn(0) && !second.phases[0].is_withdrawn(1));
        assert_ne!(second.shape(), first.shape());
        // Nothing has changed since.
        let mut third = now();
        assert!(third.numbered_as(&second.recorded_phases()).unwrap().is_empty());
        assert_eq!((&third, third.shape()), (&second, second.shape()));
        // The input is there again.
        write(&["b.txt"]);
        let mut fourth = now();
        let changes = fourth.numbered_as(&second.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 0)][..], &[][..]));
        assert_eq!(inputs(&fourth), ["b.txt", "d.txt", "a.txt", "c.txt"]);
        assert!(!fourth.phases[0].is_withdrawn(0));
    }

    #[test]
    fn values_of_a_matrix_keep_their_numbers() {
        let path = Path::new("/tmp");
        let with = |lr: &str| {
            let matrix = format!("matrix = {{ lr = [{lr}], seed = [1, 2] }}\n");
            plan(path, &format!("[[phase]]\nname = \"a\"\n{matrix}command = \"true\"\n"))
        };
        let first = with("0.1, 0.3");
        let mut second = with("0.1, 0.2, 0.3");
        let changes = second.numbered_as(&first.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 4), (0, 5)][..], &[][..]));
        let values = |plan: &Plan, task| {
            plan.phases[0].values(task).map(|(_, value)| value.to_owned()).collect::<Vec<_>>().join(" ")
        };
        let all: Vec<String> = (0..6).map(|task| values(&second, task)).collect();
        assert_eq!(all, ["0.1 1", "0.1 2", "0.3 1", "0.3 2", "0.2 1", "0.2 2"]);
        let mut third = with("0.2, 0.3");
        let changes = third.numbered_as(&second.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[][..], &[(0, 0), (0, 1)][..]));
        assert_eq!([values(&third, 0), values(&third, 3), values(&third, 4)], ["0.1 1", "0.3 2", "0.2 1"]);
        // They stay withdrawn as long as their value is gone.
        let mut fourth = with("0.2, 0.3");
        assert!(fourth.numbered_as(&third.recorded_phases()).unwrap().is_empty());
        assert_eq!((&fourth, fourth.shape()), (&third, third.shape()));
        // The value is there again, at another place, and another one is gone.
        let mut fifth = with("0.2, 0.1");
        let changes = fifth.numbered_as(&fourth.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 0), (0, 1)][..], &[(0, 2), (0, 3)][..]));
        let all: Vec<String> = (0..6).map(|task| values(&fifth, task)).collect();
        assert_eq!(all, ["0.1 1", "0.1 2", "0.3 1", "0.3 2", "0.2 1", "0.2 2"]);
        assert!(!fifth.phases[0].is_withdrawn(0) && fifth.phases[0].is_withdrawn(2));
    }

    #[test]
    fn values_of_a_matrix_with_inputs_keep_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.txt", "b=1.txt"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let with = |values: &str| {
            let phase = format!("inputs = \"*.txt\"\nmatrix = {{ v = [{values}] }}\ncommand = \"true\"\n");
            plan(folder.path(), &format!("[[phase]]\nname = \"a\"\n{phase}"))
        };
        let first = with("1, 2");
        let mut second = with("2");
        second.numbered_as(&first.recorded_phases()).unwrap();
        assert_eq!(second.phases[0].withdrawn_tasks().collect::<Vec<_>>(), [0, 2]);
        let values: Vec<(&str, &str)> = (0..4).flat_map(|task| second.phases[0].values(task)).collect();
        assert_eq!(values, [("v", "1"), ("v", "2"), ("v", "1"), ("v", "2")]);
        let mut third = with("1, 2");
        let changes = third.numbered_as(&second.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 0), (0, 2)][..], &[][..]));
        assert_eq!((inputs(&third), third.tasks()), (inputs(&first), 4));
    }

    #[test]
    fn rows_of_a_table_keep_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let with = |rows: &str| {
            fs::write(folder.path().join("t.csv"), rows).unwrap();
            plan(folder.path(), "[[phase]]\nname = \"a\"\ntable = \"t.csv\"\ncommand = \"true\"\n")
        };
        let shown = |plan: &Plan| -> Vec<String> {
            let row = |task| plan.phases[0].values(task).map(|(_, value)| value).collect::<Vec<_>>().join(" ");
            (0..plan.phases[0].tasks).map(row).collect()
        };
        // Another order; two rows are equal.
        let first = with("patient,lane\np1,1\np1,2\np2,1\np2,1\n");
        let mut second = with("lane,patient\n1,p2\n2,p1\n1,p2\n1,p1\n");
        assert!(second.numbered_as(&first.recorded_phases()).unwrap().is_empty());
        assert_eq!(shown(&second), ["1 p1", "2 p1", "1 p2", "1 p2"]);
        assert_eq!((second.phases[0].value(1, "patient"), second.phases[0].value(1, "x")), (Some("p1"), None));
        // A new column, a new row first, and a row that is gone.
        let mut third = with("patient,lane,age\np3,1,30\np1,2,40\np1,1,40\np2,1,50\n");
        let changes = third.numbered_as(&first.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 4)][..], &[(0, 3)][..]));
        assert_eq!(shown(&third), ["p1 1 40", "p1 2 40", "p2 1 50", "p2 1", "p3 1 30"]);
        // Changed rows are recognised by as many of their first columns as distinguish them from others.
        let mut fourth = with("patient,lane,age\np3,7,30\np1,2,41\np1,1,41\np2,1,50\n");
        assert!(fourth.numbered_as(&third.recorded_phases()).unwrap().is_empty());
        assert_eq!(shown(&fourth), ["p1 1 41", "p1 2 41", "p2 1 50", "p2 1", "p3 7 30"]);
        // Two rows of one patient with other lanes may be either of the earlier ones.
        let mut fifth = with("patient,lane,age\np1,3,40\np1,4,40\np2,1,50\np3,7,30\n");
        let changes = fifth.numbered_as(&fourth.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 5), (0, 6)][..], &[(0, 0), (0, 1)][..]));
    }

    #[test]
    fn other_numbers_of_tasks_renew_their_phase() {
        let path = Path::new("/tmp");
        let with = |tasks: u32, more: &str| {
            plan(path, &format!("[[phase]]\nname = \"a\"\ntasks = {tasks}\ncommand = \"true\"\n{more}"))
        };
        let more = "[[phase]]\nname = \"b\"\nafter = [\"a\"]\ntasks = 1\ncommand = \"true\"\n";
        let changes = with(4, more).numbered_as(&with(3, "").recorded_phases()).unwrap();
        assert_eq!((&changes.renewed[..], &changes.phases[..]), (&[(0, 3)][..], &[1][..]));
        assert_eq!(with(3, "").numbered_as(&with(3, more).recorded_phases()), None, "a phase is gone");
        let other = more.replace("after = [\"a\"]\n", "");
        assert_eq!(with(3, &other).numbered_as(&with(3, more).recorded_phases()), None, "other dependencies");
    }
}
