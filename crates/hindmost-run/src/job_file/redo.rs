//! Parts of a job that run again on request (`--redo`).

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use hindmost_math::suggest::did_you_mean;

use super::plan::Plan;

/// A phase, or some of its tasks, that run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redo {
    /// Name of the phase.
    pub phase: String,
    /// Numbers of the tasks; `None` for all.
    pub tasks: Option<Vec<RangeInclusive<u32>>>,
}

impl FromStr for Redo {
    type Err = String;

    fn from_str(text: &str) -> Result<Redo, String> {
        let range = |part: &str| -> Option<RangeInclusive<u32>> {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
            (!range.is_empty()).then_some(range)
        };
        let Some((phase, tasks)) = text.split_once('/') else {
            return Ok(Redo { phase: text.to_owned(), tasks: None });
        };
        let ranges: Option<Vec<_>> = tasks.split(',').map(range).collect();
        let wrong =
            || format!("{tasks:?} are no numbers of tasks: write {phase}, {phase}/3, {phase}/3,7 or {phase}/3-9");
        Ok(Redo { phase: phase.to_owned(), tasks: Some(ranges.ok_or_else(wrong)?) })
    }
}

impl fmt::Display for Redo {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.phase)?;
        for (at, range) in self.tasks.iter().flatten().enumerate() {
            to.write_str(if at == 0 { "/" } else { "," })?;
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(to, "{first}")?,
                (first, last) => write!(to, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the tasks that run again: the number of the phase and that of the task. Withdrawn tasks are left out.
    ///
    /// # Errors
    /// If a phase or task does not exist, or if all tasks of a part are withdrawn. The error says which ones exist.
    pub(crate) fn tasks_of_redo(&self, redo: &[Redo]) -> Result<BTreeSet<(u32, u32)>, String> {
        let mut found = BTreeSet::new();
        for part in redo {
            let at = self.phases.iter().position(|phase| phase.name == part.phase).ok_or_else(|| {
                let names: Vec<&str> = self.phases.iter().map(|phase| phase.name.as_str()).collect();
                let near = did_you_mean(&part.phase, names.iter().copied());
                format!("--redo {part}: there is no phase {:?}{near}; the phases are {}", part.phase, names.join(", "))
            })?;
            let phase = &self.phases[at];
            let tasks = phase.tasks;
            let all = [0..=tasks - 1];
            let before = found.len();
            let mut withdrawn = None;
            for range in part.tasks.as_deref().unwrap_or(&all) {
                if *range.end() >= tasks {
                    return Err(format!(
                        "--redo {part}: phase {:?} has no task {}; its tasks are 0 to {}",
                        part.phase,
                        range.end(),
                        tasks - 1
                    ));
                }
                withdrawn = range.clone().find(|task| phase.is_withdrawn(*task)).or(withdrawn);
                let present = range.clone().filter(|task| !phase.is_withdrawn(*task));
                found.extend(present.map(|task| (at as u32, task)));
            }
            if let (Some(task), true) = (withdrawn.filter(|_| part.tasks.is_some()), found.len() == before) {
                return Err(format!(
                    "--redo {part}: task {task} of phase {:?} is withdrawn, because its input or its values are gone; bring them \
                     back, or leave it out",
                    part.phase
                ));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::job_file::parse;

    #[test]
    fn withdrawn_tasks_do_not_run_again() {
        let text = "[[phase]]\nname = \"map\"\ntasks = 4\ncommand = \"true\"\n";
        let mut plan = parse(text, Path::new("/tmp/job.toml"), Path::new("/tmp")).unwrap();
        plan.phases[0].places = Some(vec![Some(0), None, Some(1), None]);
        let found = |text: &str| plan.tasks_of_redo(&[text.parse().unwrap()]);
        assert_eq!(found("map").unwrap().into_iter().collect::<Vec<_>>(), [(0, 0), (0, 2)]);
        assert_eq!(found("map/1-2").unwrap().into_iter().collect::<Vec<_>>(), [(0, 2)]);
        let error = found("map/1,3").unwrap_err();
        assert!(error.starts_with("--redo map/1,3: task 3 of phase \"map\" is withdrawn"), "{error}");
    }

    #[test]
    fn parts_are_read_and_found() {
        let text = "[[phase]]\nname = \"map\"\ntasks = 9\ncommand = \"true\"\n\
                    [[phase]]\nname = \"sum\"\nafter = [\"map\"]\ntasks = 1\ncommand = \"true\"\n";
        let plan = parse(text, Path::new("/tmp/job.toml"), Path::new("/tmp")).unwrap();
        let found = |texts: &[&str]| {
            let parts: Vec<Redo> = texts.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(parts.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
            plan.tasks_of_redo(&parts).map(|tasks| tasks.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(found(&["map/3"]).unwrap(), [(0, 3)]);
        assert_eq!(found(&["map/8,2-4", "sum"]).unwrap(), [(0, 2), (0, 3), (0, 4), (0, 8), (1, 0)]);
        assert_eq!(found(&["map"]).unwrap().len(), 9);
        assert!(found(&["map/7-9"]).unwrap_err().contains("no task 9; its tasks are 0 to 8"));
        assert!(found(&["mpa"]).unwrap_err().contains("map"));
        for wrong in ["map/", "map/x", "map/5-3", "map/1,,2", "map/-1"] {
            assert!(wrong.parse::<Redo>().unwrap_err().contains("map/3-9"), "{wrong}");
        }
    }
}
