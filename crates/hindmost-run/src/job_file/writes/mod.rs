//! Finds out whether a command names a file to write that two attempts of its task would share.
//!
//! Two attempts of a task may run at the same time only if their outputs can't meet. What a command writes on standard output or
//! into the folder of its attempt is safe. Other files are not: both attempts would write the same one. [`written`] reads the text
//! of a command as a person would who knows the usual programs, so it misses what a program writes without saying so. It is only used
//! to leave out copies, never to allow any.

mod programs;
mod words;

use std::collections::BTreeSet;

use programs::Written;
use words::{Part, parts};

/// Variables that hold a folder of the attempt's own.
const OWN: [&str; 2] = ["HINDMOST_OUTPUT", "HINDMOST_PROGRESS"];

/// Files that no attempt shares with another one, or that keep nothing.
const HARMLESS: [&str; 6] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full", "-"];

/// Where a command runs and what it has in its variables.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Whether the current folder is the attempt's own.
    is_own: bool,
    /// Variables that hold paths of the attempt's own.
    own: BTreeSet<String>,
}

impl Place {
    /// Returns true if a file with this name belongs to the attempt alone.
    fn owns(&self, path: &str) -> bool {
        // `png:-` is what ImageMagick calls standard output, and `pipe:1` what FFmpeg does.
        let is_harmless = HARMLESS.contains(&path)
            || ["/dev/fd/", "/proc/self/fd/", "pipe:"].iter().any(|begin| path.starts_with(begin))
            || path.ends_with(":-");
        if path.is_empty() || is_harmless {
            return true;
        }
        // `x/../..` may lead out of the folder.
        if path.split('/').any(|part| part == "..") {
            return false;
        }
        match variable(path) {
            Some(name) => OWN.contains(&name) || self.own.contains(name),
            None => is_temporary(path) || self.is_own && !path.starts_with(['/', '~', '$']),
        }
    }
}

/// Returns the variable with whose value a path begins: `$NAME` or `${NAME}`, or `${NAME:-…}`.
fn variable(path: &str) -> Option<&str> {
    let rest = path.strip_prefix('$')?;
    let (rest, is_in_braces) = rest.strip_prefix('{').map_or((rest, false), |rest| (rest, true));
    let end = rest.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let is_whole =
        if is_in_braces { after.starts_with(['}', ':', '%', '#']) } else { after.is_empty() || after.starts_with('/') };
    (!name.is_empty() && is_whole).then_some(name)
}

/// Returns true if a word is a new temporary file or folder, or a file in one.
fn is_temporary(word: &str) -> bool {
    word.strip_prefix("$(").is_some_and(|command| command.trim_start().starts_with("mktemp"))
}

/// Returns a file that a command names for writing and that is not the attempt's own, as the command has it; `None` if it
/// names none.
pub(crate) fn written(command: &str) -> Option<String> {
    written_in(command, &mut Place::default())
}

fn written_in(command: &str, place: &mut Place) -> Option<String> {
    let mut outside = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for part in parts(command).into_iter().chain([Part::End]) {
        let found = match part {
            Part::Word(word) => {
                words.push(word);
                None
            }
            Part::WritesTo(target) => Some(target).filter(|target| !place.owns(target)),
            Part::Nested(text) => written_in(&text, &mut place.clone()),
            Part::End | Part::Open | Part::Close => {
                let found = simple_command(&std::mem::take(&mut words), place);
                match part {
                    // What a subshell changes ends with it.
                    Part::Open => outside.push(place.clone()),
                    Part::Close => *place = outside.pop().unwrap_or_else(|| place.clone()),
                    _ => {}
                }
                found
            }
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns what a simple command writes, and notes what it changes for those after it.
fn simple_command(words: &[String], place: &mut Place) -> Option<String> {
    let mut words = words;
    while let Some((name, value)) = words.first().and_then(|word| assignment(word)) {
        if place.owns(value) && !value.is_empty() && value != "-" {
            place.own.insert(name.to_owned());
        } else {
            place.own.remove(name);
        }
        words = &words[1..];
    }
    let (program, arguments) = programs::program(words)?;
    match program.as_str() {
        "cd" | "pushd" => {
            let folder = arguments.iter().find(|word| !word.starts_with('-'));
            place.is_own = folder.is_some_and(|folder| place.owns(folder));
            None
        }
        "export" | "local" | "declare" | "readonly" | "typeset" => {
            let assigned: Vec<String> = arguments.iter().filter(|word| assignment(word).is_some()).cloned().collect();
            if assigned.is_empty() { None } else { simple_command(&assigned, place) }
        }
        _ => match programs::written(&program, &arguments) {
            Written::Nothing => None,
            Written::Files(files) => files.into_iter().find(|file| !place.owns(file)),
            Written::InFolder(what) => (!place.is_own).then_some(what),
            Written::By(command) => written_in(&command, &mut place.clone()),
            Written::ByWords(words) => simple_command(&words, &mut place.clone()),
        },
    }
}

/// Splits `NAME=VALUE`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests;
