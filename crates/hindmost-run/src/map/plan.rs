//! The plan of a map: one phase, in which each task has a command of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{MapError, Template};
use crate::job_file::{Allowance, LONGEST_TEXT, Plan, PlannedPhase, TaskCommand};

/// Name of the only phase of a map.
pub const PHASE: &str = "map";

/// One task of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapTask {
    /// Number of the task, from 1, as `{#}` shows it.
    pub number: u64,
    /// The values that the command uses.
    pub values: Vec<Vec<u8>>,
    /// The command. The character NUL stands for the number of the slot.
    pub command: Vec<u8>,
}

/// The tasks of a map and how they run.
#[derive(Clone, Debug, PartialEq)]
pub struct MapJob {
    /// The words of the template, joined by spaces, for people.
    pub template: String,
    /// The tasks, in the order of their numbers.
    pub tasks: Vec<MapTask>,
    /// The shell that runs commands, with its options.
    pub shell: Vec<String>,
    /// The folder in which commands run, absolute.
    pub directory: PathBuf,
    /// How often a failed task is tried again.
    pub retries: u32,
    /// How long one attempt may take; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// How long one attempt may take, as a multiple of the median duration of finished tasks.
    pub time_limit_of_median: Option<f64>,
    /// Whether a command may run more than once for a task.
    pub idempotent: bool,
}

/// Shells that understand the quotes of [`quoted`](super::quoted).
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"];

/// Returns the shell that runs commands: `$PARALLEL_SHELL`, else `$SHELL` if it is a shell of the Bourne family, else
/// `/bin/sh`. `variable` returns the value of an environment variable.
///
/// # Errors
/// If `$PARALLEL_SHELL` is neither a program nor the name of one in `$PATH`.
pub fn shell(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, MapError> {
    let is_known =
        |shell: &String| Path::new(shell).is_file() && SHELLS.contains(&shell.rsplit('/').next().unwrap_or(shell));
    let named = variable("PARALLEL_SHELL").filter(|shell| !shell.is_empty());
    if let Some(named) = &named {
        let path = variable("PATH").unwrap_or_default();
        let is_found = if named.contains('/') {
            is_program(Path::new(named))
        } else {
            std::env::split_paths(&path).any(|folder| is_program(&folder.join(named)))
        };
        if !is_found {
            return Err(MapError::Option(format!(
                "PARALLEL_SHELL is {named:?}, which is not a program: set it to a shell such as /bin/sh, or unset it"
            )));
        }
    }
    let shell = named.or_else(|| variable("SHELL").filter(is_known));
    Ok(vec![shell.unwrap_or_else(|| "/bin/sh".to_owned()), "-c".to_owned()])
}

/// True if this user may run the file.
fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

impl MapJob {
    /// Makes the tasks of a template: one for each list of values.
    ///
    /// # Errors
    /// If a command is too long to be passed to a shell.
    pub fn tasks(template: &Template, values: Vec<Vec<Vec<u8>>>) -> Result<Vec<MapTask>, MapError> {
        let mut tasks = Vec::with_capacity(values.len());
        for (number, values) in (1..).zip(values) {
            let command = template.command(&values, number);
            if command.len() > LONGEST_TEXT {
                let remedy = if values.len() > 1 {
                    "give each command fewer values with -n, or put them into a file"
                } else {
                    "put the value into a file"
                };
                return Err(MapError::Values(format!(
                    "the command of task {number} has {} bytes, but at most {LONGEST_TEXT} can be passed to a shell: \
                     {remedy}",
                    command.len()
                )));
            }
            tasks.push(MapTask { number, values, command });
        }
        Ok(tasks)
    }

    /// Returns the plan of the run. If the first value of every task names a file, the tasks have input files, so that
    /// their progress can be read from how far they have read them.
    pub fn plan(&self) -> Plan {
        let command =
            |task: &MapTask| TaskCommand { number: task.number, command: OsString::from_vec(task.command.clone()) };
        let phase = PlannedPhase {
            name: PHASE.to_owned(),
            after: Vec::new(),
            tasks: self.tasks.len() as u32,
            inputs: self.inputs(),
            matrix: None,
            command: self.template.clone(),
            shell: Some(self.shell.clone()),
            commands: Some(self.tasks.iter().map(command).collect()),
            places: None,
            cpus: 1.0,
            memory: None,
            gpus: 0,
            retries: self.retries,
            retry_delay: Duration::ZERO,
            // The rule of `--halt` ends the run, not its driver.
            keep_going: true,
            allowed_failures: Allowance::default(),
            time_limit: self.time_limit,
            time_limit_of_median: self.time_limit_of_median,
            idempotent: self.idempotent,
            resumes: false,
            environment: BTreeMap::new(),
            directory: self.directory.clone(),
        };
        Plan {
            name: self.name(),
            folder: self.directory.clone(),
            policy: None,
            knowledge: None,
            nodes: None,
            power: None,
            deadline: None,
            priority: 1.0,
            phases: vec![phase],
        }
    }

    /// Returns the job's name: the name of the program that the template begins with, if that is a plain name.
    fn name(&self) -> String {
        let first = self.template.split_whitespace().next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name = program.starts_with(|c: char| c.is_ascii_alphanumeric()) && program.chars().all(is_plain);
        if is_name && program.len() <= 40 { program.to_owned() } else { PHASE.to_owned() }
    }

    fn inputs(&self) -> Option<Vec<PathBuf>> {
        let file = |task: &MapTask| {
            let value = task.values.first()?;
            let path = self.directory.join(Path::new(std::ffi::OsStr::from_bytes(value)));
            path.is_file().then_some(path)
        };
        self.tasks.iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reading;
    use super::*;

    fn job(words: &[&str], values: &[&str], directory: &Path) -> MapJob {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let template = Template::new(&words, &Reading::default()).unwrap();
        let values = values.iter().map(|value| vec![value.as_bytes().to_vec()]).collect();
        MapJob {
            template: String::from_utf8(words.join(&b' ')).unwrap(),
            tasks: MapJob::tasks(&template, values).unwrap(),
            shell: shell(|_| None).unwrap(),
            directory: directory.to_owned(),
            retries: 0,
            time_limit: None,
            time_limit_of_median: None,
            idempotent: true,
        }
    }

    #[test]
    fn each_task_has_its_command() {
        let plan = job(&["/bin/echo", "{#}", "{}"], &["a b", "c"], Path::new("/")).plan();
        let commands = plan.phases[0].commands.as_ref().unwrap();
        let shown: Vec<_> = commands.iter().map(|task| (task.number, task.command.to_str().unwrap())).collect();
        assert_eq!(shown, [(1, "/bin/echo 1 'a b'"), (2, "/bin/echo 2 c")]);
        assert_eq!((plan.name.as_str(), plan.tasks()), ("echo", 2));
        assert!(plan.phases[0].inputs.is_none());
    }

    #[test]
    fn commands_identify_the_tasks() {
        let plan = |values: &[&str]| job(&["echo"], values, Path::new("/")).plan();
        assert_eq!(plan(&["a", "b"]).shape(), plan(&["a", "b"]).shape());
        assert_ne!(plan(&["a", "b"]).shape(), plan(&["a", "c"]).shape());
        assert_ne!(plan(&["a", "b"]).digest(), plan(&["b", "a"]).digest());
    }

    #[test]
    fn values_that_name_files_are_input_files() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "text").unwrap();
        let plan = job(&["gzip"], &["a"], folder.path()).plan();
        let shape = plan.shape();
        assert_eq!(plan.phases[0].inputs, Some(vec![folder.path().join("a")]));
        // A command may remove its input. The run can still be resumed.
        std::fs::remove_file(folder.path().join("a")).unwrap();
        let plan = job(&["gzip"], &["a"], folder.path()).plan();
        assert_eq!((plan.phases[0].inputs.clone(), plan.shape()), (None, shape));
    }

    #[test]
    fn the_shell_is_that_of_the_user() {
        let of = |parallel: Option<&str>, user: &str| {
            let value = |name: &str| match name {
                "SHELL" => Some(user),
                "PARALLEL_SHELL" => parallel,
                _ => Some("/nosuch:/bin"),
            };
            shell(|name| value(name).map(str::to_owned)).map(|words| words.join(" "))
        };
        assert_eq!(of(None, "/bin/sh").unwrap(), "/bin/sh -c");
        assert_eq!(of(Some("/bin/sh"), "/usr/bin/zsh").unwrap(), "/bin/sh -c");
        assert_eq!(of(Some("sh"), "/usr/bin/zsh").unwrap(), "sh -c");
        assert_eq!(of(Some(""), "/usr/bin/fish").unwrap(), "/bin/sh -c");
        assert_eq!(of(None, "/no/such/bash").unwrap(), "/bin/sh -c");
        for wrong in ["/nosuch", "nosuch", "/bin"] {
            let error = of(Some(wrong), "/bin/sh").unwrap_err().to_string();
            assert!(error.contains("PARALLEL_SHELL") && error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn long_commands_are_refused() {
        let template = Template::new(&[b"echo".to_vec()], &Reading::default()).unwrap();
        let error = MapJob::tasks(&template, vec![vec![vec![b'a'; 200_000]]]).unwrap_err();
        assert!(error.to_string().contains("task 1 has 200005 bytes"), "{error}");
        let error = MapJob::tasks(&template, vec![vec![vec![b'a'; 60_000]; 2]]).unwrap_err();
        assert!(error.to_string().contains("fewer values with -n"), "{error}");
    }
}
