//! What a single task of a phase has: its input, values, output and name.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::plan::PlannedPhase;
use super::row_command::COLUMN_VARIABLE;

/// Longest delay before another try, unless the first one is longer: 5 minutes.
const LONGEST_DELAY: Duration = Duration::from_mins(5);

/// What a task reads.
#[derive(Clone, Debug, Default)]
pub struct TaskReads<'a> {
    /// Its input file; `None` if it has none.
    pub input: Option<Cow<'a, Path>>,
    /// The files that it uses besides.
    pub used: BTreeSet<&'a Path>,
    /// The values of its row, by column; empty without a table.
    pub row: Vec<(&'a str, &'a str)>,
}

impl PlannedPhase {
    /// Returns the input file of a task; `None` if the tasks have no inputs.
    pub fn input_of(&self, task: u32) -> Option<&Path> {
        self.inputs.as_ref()?.get(task as usize).map(std::path::PathBuf::as_path)
    }

    /// Returns what the user calls the input of a task: its input file, or else the values of a map's task, with spaces between
    /// them; `None` if it has neither.
    pub(crate) fn input_name(&self, task: u32) -> Option<Cow<'_, [u8]>> {
        let values = self.commands.as_ref().and_then(|commands| commands.get(task)).map(|own| &own.values);
        match (self.input_of(task), values) {
            // A file alone does not identify a task that has other values too.
            (Some(file), None) => Some(Cow::Borrowed(file.as_os_str().as_bytes())),
            (Some(file), Some(values)) if values.len() < 2 => Some(Cow::Borrowed(file.as_os_str().as_bytes())),
            (_, values) => values.filter(|values| !values.is_empty()).map(|values| Cow::Owned(values.join(&b' '))),
        }
    }

    /// Returns the place of a task in the order of the job file: the number of its row in a table. `None` if it is withdrawn.
    pub(crate) fn place_of(&self, task: u32) -> Option<u32> {
        match &self.places {
            Some(places) => places.get(task as usize).copied().flatten(),
            None => Some(task),
        }
    }

    /// Returns the values of a task by name, of its variables in the matrix or of its columns in the table, in the order of these;
    /// nothing without either. A withdrawn task has the values that it had before.
    pub fn values(&self, task: u32) -> impl Iterator<Item = (&str, &str)> {
        let place = self.place_of(task);
        let matrix = self.matrix.iter().filter_map(move |matrix| Some((matrix, place?)));
        let table = self.table.iter().filter_map(move |table| Some((table, place?)));
        let withdrawn = self.withdrawn_keys.get(&task).into_iter().flatten();
        // The input is an absolute path, so it does not begin with the name of a variable.
        let withdrawn = withdrawn.filter(|part| !part.starts_with('/')).filter_map(|part| part.split_once('='));
        let matrix = matrix.flat_map(|(matrix, place)| matrix.values(u64::from(place)));
        matrix.chain(table.flat_map(|(table, place)| table.row(place))).chain(withdrawn)
    }

    /// Returns the value of a column of the table, or of a variable of the matrix, for a task; `None` if there is none of this name.
    pub fn value(&self, task: u32, name: &str) -> Option<&str> {
        self.values(task).find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the names of the variables in which commands see the task's values, with the values.
    pub(crate) fn variables(&self, task: u32) -> impl Iterator<Item = (String, &str)> {
        let before = if self.table.is_some() { COLUMN_VARIABLE } else { "" };
        self.values(task).map(move |(name, value)| (format!("{before}{name}"), value))
    }

    /// Returns what a task reads and a resumed run watches: its row of the table, the files that it uses, and its input. The input of a
    /// map is what the first value names, which need not be a file.
    pub fn reads(&self, task: u32) -> TaskReads<'_> {
        TaskReads {
            input: self.compared_input(task),
            used: self.place_of(task).map(|place| self.uses.of(place)).unwrap_or_default(),
            row: self.table.iter().flat_map(|_| self.values(task)).collect(),
        }
    }

    /// Returns how long an attempt of a task may take; `None` for no limit.
    pub(crate) fn time_limit_of(&self, task: u32) -> Option<Duration> {
        let of_row = self.place_of(task).and_then(|row| self.row_limits.time_limit.get(row as usize));
        of_row.copied().or(self.time_limit)
    }

    /// Returns how long a task waits for its next try after its failure number `failures`, from 1. The delay doubles with each
    /// failure, up to 5 minutes or the first delay, if that is longer.
    pub fn delay_after(&self, failures: u32) -> Duration {
        let factor = 2u32.saturating_pow(failures.saturating_sub(1));
        self.retry_delay.saturating_mul(factor).min(LONGEST_DELAY.max(self.retry_delay))
    }

    /// Returns the path of the file that a task's standard output becomes; `None` if it stays in the run's folder.
    pub fn output_of(&self, task: u32) -> Option<PathBuf> {
        let output = self.output.as_ref()?;
        let path = if let Some(commands) = &self.commands {
            let own = commands.get(task)?;
            output.path(&own.values, own.number)
        } else {
            let input = self.input_of(task).map(|path| path.as_os_str().as_bytes().to_vec());
            let values = self.values(task).map(|(_, value)| value.as_bytes().to_vec());
            output.path(&input.into_iter().chain(values).collect::<Vec<_>>(), u64::from(task))
        };
        Some(self.directory.join(path))
    }

    /// Returns a task's name for people: that of its phase and its number.
    pub(crate) fn name_of(&self, task: u32) -> String {
        match self.commands.as_ref().and_then(|commands| commands.get(task)) {
            Some(own) => format!("task {}", own.number),
            None => format!("{}/{task}", self.name),
        }
    }
}
