//! The shell that runs commands.
//!
//! A phase may name its shell. The other phases of a run use the default shell of the machine on which the run began, which
//! the record of the job keeps, so that a resumed run does not mix shells.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Returns the shell of phases that name none: `bash -euo pipefail -c` if there is a `bash`, otherwise `sh -eu -c`. The command
/// is the last argument after these words.
pub fn default_shell() -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match program("bash").as_deref().and_then(Path::to_str) {
        Some(bash) => words(&[bash, "-euo", "pipefail", "-c"]),
        None => words(&["/bin/sh", "-eu", "-c"]),
    }
}

/// Returns the shell with which versions ran commands that did not record it.
pub(crate) fn earlier_shell() -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned()]
}

/// Shells of the Bourne family.
const BOURNE: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"];

/// Returns true if a program, which may have a folder before its name, is a shell of the Bourne family.
pub(crate) fn is_bourne(program: &str) -> bool {
    BOURNE.contains(&program.rsplit('/').next().unwrap_or(program))
}

/// Returns the path of a program in the folders of `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut found = folders.map(|folder| folder.join(name));
    found.find(|path| is_program(path))
}

/// Folders in which the system looks for programs without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Checks that the program of a shell exists. `environment` are the variables of the phase, and `directory` is the folder in
/// which its commands run.
pub(super) fn check_program(
    shell: &[String],
    environment: &BTreeMap<String, String>,
    directory: &Path,
) -> Result<(), String> {
    let Some(name) = shell.first() else { return Ok(()) };
    if name.contains('/') {
        let path = directory.join(name);
        return if is_program(&path) {
            Ok(())
        } else {
            Err(format!("shell: {} is not a program that you may run: correct its path", path.display()))
        };
    }
    let path = environment.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    let mut found = std::env::split_paths(&path).map(|folder| directory.join(folder).join(name));
    if found.any(|path| is_program(&path)) {
        Ok(())
    } else {
        Err(format!("shell: no folder of PATH has a program {name:?}: correct its name, give its path, or install it"))
    }
}

/// True if a path names a file that this process may execute.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Returns a shell as users write it, such as `bash -euo pipefail -c`.
pub fn shell_in_words(shell: &[String]) -> String {
    let mut words: Vec<&str> = shell.iter().map(String::as_str).collect();
    if let Some(first) = words.first_mut() {
        *first = first.rsplit('/').next().unwrap_or(first);
    }
    words.join(" ")
}
