//! The plan of a map: one phase, in which each task has a command of its own.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{MapError, Template};
use crate::job_file::{
    Allowance, Copies, DEFAULT_LOSSES, LONGEST_TEXT, OutputTemplate, Plan, PlannedPhase, RowLimits, TaskCommand,
    TaskCommands, Uses, is_bourne,
};

/// Name of the only phase of a map.
pub const PHASE: &str = "map";

/// The tasks of a map and how they run.
#[derive(Clone, Debug, PartialEq)]
pub struct MapJob {
    /// The words of the template, joined by spaces, for people.
    pub words: String,
    /// The template, the tasks in the order of their numbers, and whether the run may be resumed.
    pub commands: TaskCommands,
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
    /// How long the processes of a stopped command may take to end before they are killed.
    pub kill_after: Duration,
    /// Whether a command may run more than once for a task.
    pub idempotent: bool,
    /// The file that each task's standard output becomes; `None` if it is printed.
    pub output: Option<OutputTemplate>,
}

/// Returns the shell that runs commands: `$PARALLEL_SHELL`, else `$SHELL` if it is a shell of the Bourne family, else
/// `/bin/sh`. `variable` returns the value of an environment variable.
///
/// # Errors
/// If `$PARALLEL_SHELL` is neither a program nor the name of one in `$PATH`.
pub fn shell(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, MapError> {
    let is_known = |shell: &String| Path::new(shell).is_file() && is_bourne(shell);
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
    pub fn tasks(template: &Template, values: Vec<Vec<Vec<u8>>>) -> Result<Vec<TaskCommand>, MapError> {
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
            tasks.push(TaskCommand { number, values, command });
        }
        Ok(tasks)
    }

    /// Returns the plan of the run. If the first value of every task names a file, the tasks have input files, so that
    /// their progress can be read from how far they have read them.
    pub fn plan(&self) -> Plan {
        let phase = PlannedPhase {
            name: PHASE.to_owned(),
            after: Vec::new(),
            edges: Vec::new(),
            tasks_of: None,
            tasks: self.commands.tasks.len() as u32,
            inputs: self.inputs(),
            matrix: None,
            table: None,
            uses: Uses::default(),
            row_limits: RowLimits::default(),
            command: self.words.clone(),
            shell: Some(self.shell.clone()),
            commands: Some(self.commands.clone()),
            output: self.output.clone(),
            places: None,
            withdrawn_keys: BTreeMap::new(),
            cpus: 1.0,
            memory: None,
            memory_retry: None,
            gpus: 0,
            features: Vec::new(),
            retries: self.retries,
            retry_delay: Duration::ZERO,
            allowed_losses: DEFAULT_LOSSES,
            // The rule of `--halt` ends the run, not its driver.
            keep_going: true,
            allowed_failures: Allowance::default(),
            time_limit: self.time_limit,
            time_limit_retry: None,
            time_limit_of_median: self.time_limit_of_median,
            kill_after: self.kill_after,
            idempotent: self.idempotent,
            copies: self.copies(),
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
            speeds: BTreeMap::new(),
            power: None,
            deadline: None,
            priority: 1.0,
            phases: vec![phase],
        }
    }

    /// Returns whether tasks may have copies, from their commands as the shell gets them.
    fn copies(&self) -> Copies {
        // Programs that are values may differ from task to task.
        let is_value = self.words.split_whitespace().next().is_some_and(|first| first.contains('{'));
        let commands = self.commands.tasks.iter().take(if is_value { usize::MAX } else { 1 });
        let of = |task: &TaskCommand| Copies::of(&String::from_utf8_lossy(&task.command), Some(&self.shell));
        let all = commands.map(of).reduce(Copies::and).unwrap_or_default();
        // Users know the template, not the command that it becomes.
        match Copies::of(&self.words, Some(&self.shell)) {
            in_template @ Copies::WouldShare(_) if all != Copies::Allowed => in_template.and(all),
            _ => all,
        }
    }

    /// Returns the job's name: the name of the program that the template begins with, if that is a plain name.
    fn name(&self) -> String {
        let first = self.words.split_whitespace().next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name = program.starts_with(|c: char| c.is_ascii_alphanumeric()) && program.chars().all(is_plain);
        if is_name && program.len() <= 40 { program.to_owned() } else { PHASE.to_owned() }
    }

    fn inputs(&self) -> Option<Vec<PathBuf>> {
        let file = |task: &TaskCommand| {
            let value = task.values.first()?;
            let path = self.directory.join(Path::new(std::ffi::OsStr::from_bytes(value)));
            path.is_file().then_some(path)
        };
        self.commands.tasks.iter().map(file).collect()
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
            words: String::from_utf8(words.join(&b' ')).unwrap(),
            commands: TaskCommands { tasks: MapJob::tasks(&template, values).unwrap(), template, resumable: true },
            shell: shell(|_| None).unwrap(),
            directory: directory.to_owned(),
            retries: 0,
            time_limit: None,
            time_limit_of_median: None,
            kill_after: crate::job_file::KILL_AFTER,
            idempotent: true,
            output: None,
        }
    }

    #[test]
    fn each_task_has_its_command() {
        let plan = job(&["/bin/echo", "{#}", "{}"], &["a b", "c"], Path::new("/")).plan();
        let commands = plan.phases[0].commands.as_ref().unwrap();
        let shown: Vec<_> = commands.tasks.iter().map(|task| (task.number, &task.command[..])).collect();
        assert_eq!(shown, [(1, &b"/bin/echo 1 'a b'"[..]), (2, b"/bin/echo 2 c")]);
        assert_eq!((plan.name.as_str(), plan.tasks()), ("echo", 2));
        assert!(plan.phases[0].inputs.is_none());
    }

    #[test]
    fn values_identify_the_tasks() {
        let plan = |values: &[&str]| job(&["echo"], values, Path::new("/")).plan();
        assert_eq!(plan(&["a", "b"]).shape(), plan(&["a", "b"]).shape());
        assert_ne!(plan(&["a", "b"]).shape(), plan(&["a", "c"]).shape());
        assert_ne!(plan(&["a", "b"]).digest(), plan(&["b", "a"]).digest());
        assert_eq!(plan(&["a", "b"]).shape(), job(&["echo", "x"], &["a", "b"], Path::new("/")).plan().shape());
    }

    #[test]
    fn other_commands_for_the_same_values_have_other_digests() {
        let mut plain = job(&["echo", "{} x y"], &["a"], Path::new("/"));
        let digest = plain.plan().phases[0].digest();
        assert_eq!(job(&["echo", "{} x y"], &["b"], Path::new("/")).plan().phases[0].digest(), digest);
        assert_ne!(job(&["echo", "{} x z"], &["a"], Path::new("/")).plan().phases[0].digest(), digest);
        // The same words with `-q` are another command.
        let words: Vec<Vec<u8>> = vec![b"echo".to_vec(), b"{} x y".to_vec()];
        plain.commands.template = Template::new(&words, &Reading { quoted: true, ..Reading::default() }).unwrap();
        assert_ne!(plain.plan().phases[0].digest(), digest);
    }

    #[test]
    fn tasks_keep_their_numbers_when_values_change() {
        let plan = |values: &[&str]| job(&["echo", "{#}", "{}"], values, Path::new("/")).plan();
        let first = plan(&["b", "d", "b"]);
        let mut second = plan(&["a", "b", "c", "b"]);
        let changes = second.numbered_as(&first.recorded_phases()).unwrap();
        assert_eq!((&changes.added[..], &changes.withdrawn[..]), (&[(0, 3), (0, 4)][..], &[(0, 1)][..]));
        let commands: Vec<String> = (0..5).map(|task| second.phases[0].command_of(task)).collect();
        assert_eq!(commands, ["echo 1 b", "echo 2 d", "echo 3 b", "echo 4 a", "echo 5 c"]);
        assert_eq!(second.phases[0].places, Some(vec![Some(1), None, Some(3), Some(0), Some(2)]));
        // Nothing has changed since, and the order of values does not matter.
        let mut third = plan(&["c", "b", "a", "b"]);
        assert!(third.numbered_as(&second.recorded_phases()).unwrap().is_empty());
        assert_eq!(third.phases[0].command_of(4), "echo 5 c");
        // A job of `hindmost run` has no commands of its own.
        let mut other = plan(&["b"]);
        other.phases[0].commands = None;
        assert_eq!(other.numbered_as(&first.recorded_phases()), None);
    }

    #[test]
    fn values_of_a_temporary_run_are_not_recorded() {
        let mut temporary = job(&["echo"], &["a"], Path::new("/"));
        temporary.commands.resumable = false;
        assert!(temporary.plan().recorded_phases()[0].keys.is_empty());
        assert_eq!(temporary.plan().phases[0].compared_input(0), None);
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
