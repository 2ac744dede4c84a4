//! Finds input files by patterns.
//!
//! This module walks the folders itself, name by name, because a pattern must also find files whose names are not valid
//! UTF-8, and the job's folder may have any name, also one with brackets.

use std::collections::{BTreeMap, BTreeSet};
use std::env::VarError;
use std::fs::{self, FileType};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

/// The rules of a shell: only patterns that begin with a dot match hidden files.
const LIKE_A_SHELL: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// One part of a pattern's path.
enum Part {
    /// A literal name.
    Name(String),
    /// All names that match a pattern.
    Like(Pattern),
    /// `**`: this folder and all folders below it.
    Below,
}

/// Returns the files that match any of the patterns of a key, each once and sorted. `environment` has the variables of the phase;
/// others are those of this process.
pub(super) fn files(
    key: &str,
    patterns: &[String],
    folder: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<PathBuf>, String> {
    if patterns.is_empty() {
        return Err(format!("{key} is an empty list: give a pattern such as \"text/*.txt\""));
    }
    let mut found = BTreeSet::new();
    for pattern in patterns {
        let wrong = |reason: String| format!("{key}: {pattern:?} {reason}");
        let expanded = expanded(pattern, environment).map_err(wrong)?;
        let parts = parts(&expanded).map_err(wrong)?;
        let mut walk = Walk { parts: &parts, found: BTreeSet::new(), folders_matched: false };
        let absolute = expanded.starts_with('/');
        walk.from(if absolute { Path::new("/") } else { folder }).map_err(wrong)?;
        if walk.found.is_empty() {
            let within = if absolute { String::new() } else { format!(" in {}", folder.display()) };
            return Err(wrong(if walk.folders_matched {
                let all = format!("{}/*", pattern.trim_end_matches('/'));
                format!("matches no file{within}, only folders; for the files in them write {all:?}")
            } else {
                format!("matches no file{within}")
            }));
        }
        found.append(&mut walk.found);
    }
    Ok(found.into_iter().collect())
}

/// Replaces `~/` at the beginning, `$NAME` and `${NAME}` by their values, which stand for themselves: `*` in a value is no pattern.
/// Other dollar signs stay.
fn expanded(pattern: &str, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let value = |name: &str| -> Result<String, String> {
        let of_process = || match std::env::var(name) {
            Ok(value) => Ok(value),
            Err(VarError::NotPresent) => {
                Err(format!("uses ${name}, which is not set: export it, or set it in environment"))
            }
            Err(VarError::NotUnicode(_)) => Err(format!("uses ${name}, whose value is not valid UTF-8")),
        };
        let value = environment.get(name).cloned().map_or_else(of_process, Ok)?;
        Ok(Pattern::escape(&value))
    };
    let mut text = String::new();
    let mut rest = pattern;
    if let Some(after) = rest.strip_prefix("~/") {
        text = value("HOME")? + "/";
        rest = after;
    }
    while let Some((before, after)) = rest.split_once('$') {
        text += before;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let plain = || after.split_at(after.find(|c| !is_part(c)).unwrap_or(after.len()));
        let (name, left) = braced.unwrap_or_else(plain);
        if name.starts_with(|c: char| is_part(c) && !c.is_ascii_digit()) && name.chars().all(is_part) {
            text += &value(name)?;
            rest = left;
        } else {
            text.push('$');
            rest = after;
        }
    }
    Ok(text + rest)
}

fn parts(pattern: &str) -> Result<Vec<Part>, String> {
    if pattern.trim().is_empty() {
        return Err("is not a valid pattern: give one such as \"text/*.txt\"".to_owned());
    }
    if pattern.contains('\0') {
        return Err("contains the character NUL, which file names can't contain".to_owned());
    }
    let mut parts: Vec<Part> = Vec::new();
    for name in pattern.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == "**" {
            if !matches!(parts.last(), Some(Part::Below)) {
                parts.push(Part::Below);
            }
        } else if name.contains(['*', '?', '[']) {
            let like =
                Pattern::new(name).map_err(|error| format!("is not a valid pattern: {} in {name:?}", error.msg))?;
            parts.push(Part::Like(like));
        } else {
            parts.push(Part::Name(name.to_owned()));
        }
    }
    // A final `**` stands for all files below.
    if let Some(Part::Below) = parts.last() {
        parts.push(Part::Like(Pattern::new("*").map_err(|error| error.to_string())?));
    }
    Ok(parts)
}

/// The walk of one pattern through folders.
struct Walk<'a> {
    parts: &'a [Part],
    found: BTreeSet<PathBuf>,
    folders_matched: bool,
}

impl Walk<'_> {
    fn from(&mut self, start: &Path) -> Result<(), String> {
        let mut todo = vec![(start.to_path_buf(), 0)];
        // A pattern with several `**` may reach one folder in many ways.
        let mut seen: BTreeSet<(PathBuf, usize)> = BTreeSet::new();
        while let Some((path, at)) = todo.pop() {
            match self.parts.get(at) {
                None => self.folders_matched = true,
                Some(Part::Name(name)) if name == ".." => {
                    // The parent in the file system, even if the path contains links.
                    let Some(path) = if_it_exists(&path, path.canonicalize())? else { continue };
                    todo.push((path.parent().unwrap_or(Path::new("/")).to_path_buf(), at + 1));
                }
                Some(Part::Name(name)) => {
                    let path = path.join(name);
                    if let Some(kind) = if_it_exists(&path, fs::metadata(&path))? {
                        self.arrive(path, kind.file_type(), at, &mut todo);
                    }
                }
                Some(Part::Like(_) | Part::Below) => {
                    if seen.insert((path.clone(), at)) {
                        self.list(&path, at, &mut todo)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Matches the names in a folder with the part of the pattern that has the index `at`.
    fn list(&mut self, folder: &Path, at: usize, todo: &mut Vec<(PathBuf, usize)>) -> Result<(), String> {
        let below = matches!(self.parts[at], Part::Below);
        if below {
            todo.push((folder.to_path_buf(), at + 1));
        }
        let Some(entries) = if_it_exists(folder, fs::read_dir(folder))? else { return Ok(()) };
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = entry.path();
            // Another process may have removed the file since it was listed.
            let Some(kind) = if_it_exists(&path, entry.file_type())? else { continue };
            match &self.parts[at] {
                // `**` does not follow links, because they may form a circle.
                Part::Below if kind.is_dir() && !name.starts_with('.') => todo.push((path, at)),
                Part::Like(pattern) if pattern.matches_with(&name, LIKE_A_SHELL) => {
                    let kind = if kind.is_symlink() {
                        fs::metadata(&path).map_err(|error| unreadable(&path, &error))?.file_type()
                    } else {
                        kind
                    };
                    self.arrive(path, kind, at, todo);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles a path whose last name the part with the index `at` has matched: a folder is searched later, and a file is
    /// found if the pattern ends with this part.
    fn arrive(&mut self, path: PathBuf, kind: FileType, at: usize, todo: &mut Vec<(PathBuf, usize)>) {
        if kind.is_dir() {
            todo.push((path, at + 1));
        } else if at + 1 == self.parts.len() {
            self.found.insert(path);
        }
    }
}

/// Turns the error of a name that does not exist, or whose parent is not a folder, into `None`.
fn if_it_exists<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, String> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("leads to {}, which can't be read: {error}", path.display())
}
