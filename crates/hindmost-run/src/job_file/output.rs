//! The file that each task's standard output becomes: the key `output` of a phase, and `--output` of a map.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::digest::Digest;
use crate::map::{Reading, Template};

/// A template of the paths of output files, with the replacement strings of a map's commands. In a job file, the first value is the
/// task's input, if it has one, and the others are its values of the matrix or the table, which have
/// their names.
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
    pub(super) fn of_phase<'a>(
        text: &str,
        has_inputs: bool,
        variables: impl Iterator<Item = &'a String>,
    ) -> Result<OutputTemplate, String> {
        let inputs = has_inputs.then(|| b"input".to_vec());
        let variables = variables.map(|name| name.as_bytes().to_vec());
        let names: Vec<Vec<u8>> = inputs.into_iter().chain(variables).collect();
        let OutputTemplate { text, template } =
            OutputTemplate::new(text.as_bytes(), &Reading { names: &names, ..Reading::default() })?;
        // `{}` is the input. Variables have names.
        Ok(OutputTemplate { text, template: if has_inputs { template.of_first_value() } else { template } })
    }

    /// Returns the path of the output of a task with these values and this number.
    pub(super) fn path(&self, values: &[Vec<u8>], number: u64) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.template.command(values, number)))
    }

    /// Adds the template, and what it does with values, to a digest.
    pub(super) fn add_to(&self, digest: &mut Digest) {
        digest.path(Path::new("output"));
        digest.path(Path::new(&OsString::from_vec(self.template.sample())));
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
