//! Commands that a shell would do nothing with but execute them: plain words, of which the first names a program.
//!
//! Executing such a command without a shell has the same result and takes half the time, which matters for tasks of a few
//! milliseconds. GNU make does the same.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Launch;
use crate::job_file::is_program;

/// First words that do not name a program to `bash` or `sh`. `true` and `false` are left out: the programs of these names do
/// the same.
const BUILT_IN: &str = include_str!("shell_words.txt");

/// Options of shells that make no difference to a command of plain words.
const HARMLESS: [&str; 9] = ["-c", "-e", "-u", "-o", "-eu", "-euo", "pipefail", "errexit", "nounset"];

/// Variables that change what a shell does with a command of plain words.
const CHANGING: [&str; 4] = ["BASH_ENV", "SHELLOPTS", "BASHOPTS", "BASH_ALIASES"];
/// Beginning of the names of variables that hold functions.
const FUNCTION: &str = "BASH_FUNC_";

/// Returns the program and the arguments of an attempt's command if its shell would only execute this program; `None` if the
/// shell has something to do.
pub(super) fn words<'a>(launch: &Launch<'a>) -> Option<(PathBuf, Vec<&'a str>)> {
    let (shell, options) = launch.shell.split_first()?;
    let name = Path::new(shell).file_name()?;
    let is_known = ["bash", "sh", "dash"].iter().any(|known| name == *known);
    if !is_known || !options.iter().all(|option| HARMLESS.contains(&option.as_str())) {
        return None;
    }
    let mut words = plain(launch.command.to_str()?)?;
    let changes = launch.environment.iter().any(|(name, _)| changes_shells(name));
    if changes || own_changes_shells() {
        return None;
    }
    let first = words.remove(0);
    let program = if first.contains('/') {
        Some(launch.directory.join(first)).filter(|path| is_program(path))
    } else {
        let given = launch.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        find(first, &given.or_else(|| env::var_os("PATH"))?)
    };
    // A script may need the shell: if it does not begin with `#!`, the shell runs it.
    program.filter(|path| is_binary(path)).map(|program| (program, words))
}

/// Returns the words of a command, of which the first may name a program; `None` if the command has characters that may mean
/// something to a shell.
fn plain(command: &str) -> Option<Vec<&str>> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _./:@%+,=-".contains(&byte);
    if !command.bytes().all(is_plain) {
        return None;
    }
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let first = words.first()?;
    (!first.contains('=') && !BUILT_IN.split_ascii_whitespace().any(|word| word == *first)).then_some(words)
}

fn changes_shells(name: &OsStr) -> bool {
    CHANGING.iter().any(|changing| name == *changing) || name.as_bytes().starts_with(FUNCTION.as_bytes())
}

/// True if the environment of this process, which attempts inherit, has a variable that changes what shells do.
fn own_changes_shells() -> bool {
    static CHANGES: OnceLock<bool> = OnceLock::new();
    *CHANGES.get_or_init(|| env::vars_os().any(|(name, _)| changes_shells(&name)))
}

/// Returns the program that a shell would execute; `None` if there is none, or if a folder of `PATH` is relative.
fn find(name: &str, path: &OsString) -> Option<PathBuf> {
    for folder in env::split_paths(path) {
        if !folder.is_absolute() {
            return None;
        }
        let program = folder.join(name);
        if is_program(&program) {
            return Some(program);
        }
    }
    None
}

/// True if a file begins as programs of Linux and other systems do that need no interpreter.
fn is_binary(path: &Path) -> bool {
    let mut begin = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok_and(|()| begin == *b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};

    use super::*;
    use crate::engine::RunIdentity;

    /// Returns the words of a command with this shell and environment, joined by commas.
    fn of(command: &str, shell: &[&str], environment: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let run = RunIdentity { id: "run".to_owned(), folder: folder.path().to_owned() };
        let shell: Vec<String> = shell.iter().map(|word| (*word).to_owned()).collect();
        let environment: Vec<(OsString, OsString)> =
            environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        std::fs::write(folder.path().join("script"), "true").unwrap();
        let launch = Launch {
            attempt: AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 0 },
            node: NodeId(0),
            run: &run,
            folder: folder.path(),
            handle: handle.as_fd(),
            shell: &shell,
            command: OsStr::new(command),
            directory: folder.path(),
            environment: &environment,
            input: None,
            demand: &hindmost_core::workload::DemandByName::new(),
            slowed: 1.0,
            outlives: false,
            tmpdir: None,
            cleans_up: false,
            kill_after: std::time::Duration::ZERO,
            is_single: false,
        };
        let (program, words) = words(&launch)?;
        let program = program.file_name()?.to_str()?.to_owned();
        Some([vec![program.as_str()], words].concat().join(","))
    }

    const BASH: [&str; 4] = ["/usr/bin/bash", "-euo", "pipefail", "-c"];

    #[test]
    fn plain_words_need_no_shell() {
        let path = [("PATH", "/nowhere:/bin:/usr/bin")];
        assert_eq!(of("true", &BASH, &path).as_deref(), Some("true"));
        assert_eq!(of("  cat  a.txt -n --x=1 ", &BASH, &path).as_deref(), Some("cat,a.txt,-n,--x=1"));
        assert_eq!(of("/bin/cat a", &["sh", "-c"], &[]).as_deref(), Some("cat,a"));
    }

    #[test]
    fn everything_else_needs_the_shell() {
        let path = [("PATH", "/bin:/usr/bin")];
        let commands = [
            "echo a",
            "a=1 cat",
            "cat 'a'",
            "cat *",
            "cat ~",
            "cat $A",
            "cat a|cat",
            "cat\ncat",
            "cat a&",
            "cat {a,b}",
        ];
        for command in
            commands.into_iter().chain(["", "  ", "no-such-program", "cd /", "[ a", "./script", "cat <a", "!"])
        {
            assert_eq!(of(command, &BASH, &path), None, "{command}");
        }
        for shell in [&["python3", "-c"][..], &["bash", "-lc"], &["bash", "-x", "-c"], &["fish", "-c"], &[]] {
            assert_eq!(of("true", shell, &path), None, "{shell:?}");
        }
        for (name, value) in [("BASH_ENV", "x"), ("BASH_FUNC_cat%%", "() { :; }"), ("SHELLOPTS", "noexec")] {
            assert_eq!(of("true", &BASH, &[path[0], (name, value)]), None, "{name}");
        }
        assert_eq!(of("cat a", &BASH, &[("PATH", ".:/bin")]), None, "the current folder may hold a program");
    }
}
