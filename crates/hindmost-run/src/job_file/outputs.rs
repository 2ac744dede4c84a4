//! Checks that no two tasks have one output file.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::output::place_of;
use super::plan::Plan;

impl Plan {
    /// Checks that no two tasks have one output file, that none is the task's own input, and that none has a path that can't be one.
    ///
    /// # Errors
    /// A message about the first such task.
    pub fn check_outputs(&self) -> Result<(), String> {
        let mut of: HashMap<PathBuf, (usize, u32)> = HashMap::new();
        for (at, phase) in self.phases.iter().enumerate().filter(|(_, phase)| phase.output.is_some()) {
            for task in (0..phase.tasks).filter(|task| !phase.is_withdrawn(*task)) {
                let Some(path) = phase.output_of(task) else { continue };
                let shown = path.display();
                if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
                    return Err(format!(
                        "the output of {} is {shown}, which is not the path of a file",
                        phase.name_of(task)
                    ));
                }
                let place = place_of(&path);
                let input =
                    phase.input_of(task).map(Path::to_owned).or_else(|| Some(phase.compared_input(task)?.into_owned()));
                if input.is_some_and(|input| place_of(&input) == place) {
                    return Err(format!(
                        "the output of {} is its own input {shown}, which a second attempt would read changed: give it another name",
                        phase.name_of(task)
                    ));
                }
                if let Some((other, first)) = of.insert(place, (at, task)) {
                    return Err(format!(
                        "{} and {} have the same output {shown}: use more of the values, or {{#}}, the number of the task",
                        self.phases[other].name_of(first),
                        phase.name_of(task)
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Checks that no two jobs of a run have one output file.
///
/// # Errors
/// A message about the first such file.
pub(crate) fn check_outputs_together(plans: &[&Plan]) -> Result<(), String> {
    let mut of: HashMap<PathBuf, &str> = HashMap::new();
    for plan in plans {
        let phases = plan.phases.iter().filter(|phase| phase.output.is_some());
        let paths = phases.flat_map(|phase| (0..phase.tasks).filter_map(|task| phase.output_of(task)));
        for path in paths {
            let other = of.insert(place_of(&path), &plan.name);
            if let Some(other) = other.filter(|other| *other != plan.name) {
                return Err(format!("jobs {other:?} and {:?} have the same output {}", plan.name, path.display()));
            }
        }
    }
    Ok(())
}
