//! Commands of tasks that have one each, as those of a map.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::digest::Digest;
use crate::escape::{escaped, unescaped};
use crate::map::Template;

/// Largest size of the values that the record of a run holds, with what surrounds each of them: 32 MiB. Longer ones are not
/// recorded, so that the record stays far below its largest size.
pub(super) const MOST_RECORDED: usize = 32 << 20;
/// Number of bytes that surround the values of a task in the record, with a margin.
const AROUND: usize = 64;

/// The command of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCommand {
    /// Number of the task as the user counts, from 1. The command sees it as `PARALLEL_SEQ`.
    pub number: u64,
    /// The values that the command uses. They identify the task when its run is resumed.
    pub values: Vec<Vec<u8>>,
    /// The command that the shell runs. The character NUL stands for the number of the attempt's slot.
    pub command: Vec<u8>,
}

/// The commands of all tasks of a phase, and the template from which they were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCommands {
    /// The template.
    pub template: Template,
    /// The commands, one for each task.
    pub tasks: Vec<TaskCommand>,
    /// False if the run is in a temporary folder, so that nothing needs to be recorded for resuming it.
    pub resumable: bool,
}

impl TaskCommands {
    /// Returns the command of a task, given by its number in the run.
    pub fn get(&self, task: u32) -> Option<&TaskCommand> {
        self.tasks.get(task as usize)
    }

    /// Returns what each task is recognised by: its values. Empty if nothing is recorded, or if the values are too long for the
    /// record.
    pub(super) fn keys(&self) -> Vec<Vec<String>> {
        // Each byte may become three when it is escaped.
        let size = |value: &Vec<u8>| AROUND + 3 * value.len();
        let of_task = |task: &TaskCommand| AROUND + task.values.iter().map(size).sum::<usize>();
        if !self.resumable || self.tasks.iter().map(of_task).sum::<usize>() > MOST_RECORDED {
            return Vec::new();
        }
        let key = |task: &TaskCommand| task.values.iter().map(|value| escaped(OsStr::from_bytes(value))).collect();
        self.tasks.iter().map(key).collect()
    }

    /// Puts the tasks at their places in a run: `places` holds for each task of the run its present place, or `None` if its
    /// values are gone, which are then those in `then`. Tasks are numbered as in the run, so commands are made again where `{#}`
    /// would be another number.
    pub(super) fn renumber(&mut self, places: &[Option<u32>], then: &[Vec<String>]) {
        let task = |(number, (at, place)): (u64, (usize, &Option<u32>))| {
            let known = place.and_then(|place| self.get(place));
            match known {
                Some(known) if known.number == number => known.clone(),
                _ => {
                    let gone = || then.get(at).into_iter().flatten().map(|text| unescaped(text)).collect();
                    let values = known.map_or_else(gone, |known| known.values.clone());
                    let command = self.template.command(&values, number);
                    TaskCommand { number, values, command }
                }
            }
        };
        self.tasks = (1..).zip(places.iter().enumerate()).map(task).collect();
    }

    /// Returns the path that the first value of a task names in this folder; `None` if nothing is recorded. Whether it is a
    /// file may change while tasks run.
    pub(super) fn path_of(&self, task: u32, folder: &Path) -> Option<PathBuf> {
        let value = self.get(task).filter(|_| self.resumable)?.values.first()?;
        Some(folder.join(OsString::from_vec(value.clone())))
    }

    /// Adds the values of all tasks to a digest.
    pub(super) fn add_values(&self, digest: &mut Digest) {
        for task in &self.tasks {
            digest.number(task.values.len() as u64);
            task.values.iter().for_each(|value| digest.path(Path::new(OsStr::from_bytes(value))));
        }
    }

    /// Adds what the template does with values to a digest. Its text alone does not show this: options decide about quotes,
    /// and which value a name stands for.
    pub(super) fn add_template(&self, digest: &mut Digest) {
        digest.path(Path::new(OsStr::from_bytes(&self.template.sample())));
    }
}
