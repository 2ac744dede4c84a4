//! What a single task of a phase has: its input, values, output and name.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::plan::PlannedPhase;

/// Longest delay before another try, unless the first one is longer: 5 minutes.
const LONGEST_DELAY: Duration = Duration::from_mins(5);

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

    /// Returns the values of a task's variables by name, in the order of the job file; nothing without a matrix. A withdrawn
    /// task has the values that it had before.
    pub fn matrix_values(&self, task: u32) -> impl Iterator<Item = (&str, &str)> {
        let place = match &self.places {
            Some(places) => places.get(task as usize).copied().flatten(),
            None => Some(task),
        };
        let matrix = self.matrix.iter().filter_map(move |matrix| Some((matrix, place?)));
        let withdrawn = self.withdrawn_keys.get(&task).into_iter().flatten();
        // The input is an absolute path, so it does not begin with the name of a variable.
        let withdrawn = withdrawn.filter(|part| !part.starts_with('/')).filter_map(|part| part.split_once('='));
        matrix.flat_map(|(matrix, place)| matrix.values(u64::from(place))).chain(withdrawn)
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
            let values = self.matrix_values(task).map(|(_, value)| value.as_bytes().to_vec());
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
