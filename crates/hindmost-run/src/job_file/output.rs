//! The file that each task's standard output becomes: the key `output` of a phase, and `--output` of a map.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::matrix::Matrix;
use super::plan::{Digest, Plan, PlannedPhase};
use crate::map::{Reading, Template};

/// A template of the paths of output files, with the replacement strings of a map's commands. In a job file, the first value is the
/// task's input, if it has one, and the others are its values of the matrix, which have their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputTemplate {
    text: String,
    template: Template,
}

impl OutputTemplate {
    /// Reads a template. `reading` says what replacement strings mean.
    ///
    /// # Errors
    /// If it is not the path of a file, or uses the number of a slot.
    pub fn new(text: &[u8], reading: &Reading<'_>) -> Result<OutputTemplate, String> {
        let shown = String::from_utf8_lossy(text).into_owned();
        if text.is_empty() || text.ends_with(b"/") {
            return Err(format!("{shown:?} is not the path of a file"));
        }
        let template = Template::path(text, reading).map_err(|error| error.to_string())?;
        Ok(OutputTemplate { text: shown, template })
    }

    /// Reads the template of a phase of a job file.
    pub(super) fn of_phase(text: &str, has_inputs: bool, matrix: Option<&Matrix>) -> Result<OutputTemplate, String> {
        let inputs = has_inputs.then(|| b"input".to_vec());
        let variables = matrix.into_iter().flat_map(Matrix::keys).map(|(name, _)| name.as_bytes().to_vec());
        let names: Vec<Vec<u8>> = inputs.into_iter().chain(variables).collect();
        let OutputTemplate { text, template } =
            OutputTemplate::new(text.as_bytes(), &Reading { names: &names, ..Reading::default() })?;
        // `{}` is the input. Variables have names.
        Ok(OutputTemplate { text, template: if has_inputs { template.of_first_value() } else { template } })
    }

    /// Returns the template as the user has written it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Returns a path without links, as far as it exists.
pub(crate) fn place_of(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => place_of(parent).join(name),
        _ => path.to_owned(),
    }
}

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

impl PlannedPhase {
    /// Returns the path of the file that a task's standard output becomes; `None` if it stays in the run's folder.
    pub fn output_of(&self, task: u32) -> Option<PathBuf> {
        let template = &self.output.as_ref()?.template;
        let path = if let Some(commands) = &self.commands {
            let own = commands.get(task)?;
            template.command(&own.values, own.number)
        } else {
            let input = self.input_of(task).map(|path| path.as_os_str().as_bytes().to_vec());
            let values = self.matrix_values(task).map(|(_, value)| value.as_bytes().to_vec());
            template.command(&input.into_iter().chain(values).collect::<Vec<_>>(), u64::from(task))
        };
        Some(self.directory.join(Path::new(&OsString::from_vec(path))))
    }

    /// Returns a task's name for people: that of its phase and its number.
    pub(crate) fn name_of(&self, task: u32) -> String {
        match self.commands.as_ref().and_then(|commands| commands.get(task)) {
            Some(own) => format!("task {}", own.number),
            None => format!("{}/{task}", self.name),
        }
    }

    /// Adds the template, and what it does with values, to a digest.
    pub(super) fn add_output(&self, digest: &mut Digest) {
        if let Some(output) = &self.output {
            digest.path(Path::new("output"));
            digest.path(Path::new(&OsString::from_vec(output.template.sample())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str, values: &[&str]) -> String {
        let template = OutputTemplate::new(text.as_bytes(), &Reading::default()).unwrap().template;
        let values: Vec<Vec<u8>> = values.iter().map(|value| value.as_bytes().to_vec()).collect();
        String::from_utf8(template.command(&values, 7)).unwrap()
    }

    #[test]
    fn paths_are_made_of_values_as_they_are() {
        assert_eq!(path("{.}.gz", &["a b/c.txt"]), "a b/c.gz");
        assert_eq!(path("out/{1/.}-{2}-{#}.txt", &["x/it's $HOME.c", "5"]), "out/it's $HOME-5-7.txt");
        // A path is no command: without a replacement string, nothing is added to it.
        assert_eq!(path("all", &["a"]), "all");
        assert_eq!(path("a b {}", &["c"]), "a b c");
    }

    #[test]
    fn what_is_no_path_of_a_file_is_refused() {
        for (text, why) in [
            ("", "not the path"),
            ("out/", "not the path"),
            ("{%}.txt", "slot"),
            ("{= s/a/b/ =}", "Perl"),
            ("x-{seeed}.txt", "{seeed} is no replacement string"),
        ] {
            let refused = OutputTemplate::new(text.as_bytes(), &Reading::default()).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
