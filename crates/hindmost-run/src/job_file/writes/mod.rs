//! Finds out whether a command names a file to write that two attempts of its task would share.
//!
//! Two attempts of a task may run at the same time only if their outputs can't meet. What a command writes on standard output or
//! into the folder of its attempt is safe. Other files are not: both attempts would write the same one. [`written`] reads the text
//! of a command as a person would who knows the usual programs, so it misses what a program writes without saying so. It is only used
//! to leave out copies, never to allow any.

mod arguments;
mod changes;
mod programs;
mod words;

use std::collections::BTreeSet;
use std::ffi::OsStr;

use programs::Written;
use words::{Part, parts};

/// Variables that hold a folder or file of the attempt's own, unless the command gives them other values.
const OWN: [&str; 4] = ["HINDMOST_OUTPUT", "HINDMOST_PROGRESS", "HINDMOST_TMP", "TMPDIR"];

/// Files that no attempt shares with another one, or that keep nothing.
const HARMLESS: [&str; 6] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full", "-"];

/// Where a command runs and what it has in its variables.
#[derive(Clone, Debug)]
struct Place {
    /// Whether the current folder is the attempt's own.
    is_own: bool,
    /// Variables that hold paths of the attempt's own.
    own: BTreeSet<String>,
    /// Files that the command has written from their beginnings so far.
    made: BTreeSet<String>,
    /// True outside subshells, and outside commands that commands run.
    is_top: bool,
}

impl Place {
    /// Where a command begins.
    fn at_begin() -> Place {
        Place { is_own: false, own: OWN.map(str::to_owned).into(), made: BTreeSet::new(), is_top: true }
    }

    /// Returns true if a file with this name belongs to the attempt alone.
    fn owns(&self, path: &str) -> bool {
        // `png:-` is what ImageMagick calls standard output, and `pipe:1` what FFmpeg does.
        let is_harmless = HARMLESS.contains(&path)
            || ["/dev/fd/", "/proc/self/fd/", "pipe:"].iter().any(|begin| path.starts_with(begin))
            || path.ends_with(":-");
        if path.is_empty() || is_harmless {
            return true;
        }
        // Each attempt has a name of its own then.
        if ["$HINDMOST_ATTEMPT", "${HINDMOST_ATTEMPT}"].iter().any(|number| path.contains(number)) {
            return true;
        }
        // `x/../..` may lead out of the folder.
        if path.split('/').any(|part| part == "..") {
            return false;
        }
        match variable(path) {
            Some(name) => self.own.contains(name),
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

/// What a command names for writing that is not its attempt's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The first such file, as the command has it.
    pub file: String,
    /// Whether the command has the same effect if it is stopped and runs again.
    pub repeats: Repeats,
    /// True if its text shows every file that it names, so that it can be seen whether an attempt has changed one ([`Changed`]).
    pub shows_files: bool,
    /// True if it changes files that are there, as `sed -i` and `mv` do.
    pub changes_files: bool,
}

/// Whether a command has the same effect if it is stopped and runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repeats {
    /// It may not: its text does not show which files it changes, or not in a way that could be checked.
    Never,
    /// As long as the files that it changes are as they were before it began, or it has added nothing to the one file that it opens, once,
    /// to add to it (`work >> log`); see [`Changed`].
    UntilItChanges,
    /// Always: all files are written from their beginnings.
    Always,
}

/// A file that a command names, but for those that it writes from their beginnings: it must be seen that it has not changed it yet
/// before the command may run again. It may also name no file, such as an option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about the file")]
pub struct Changed {
    /// The file, as the command has it.
    pub file: String,
    /// True if the file's state says whether it was changed. Its path is the same whenever the command names it, from the folder in
    /// which it begins, and may hold `$HINDMOST_INPUT` and other variables.
    pub by_state: bool,
    /// True if the command opens the file once, to add to it, so that the position there says whether it has added something.
    pub by_position: bool,
    /// True if the command may read what is in it, if it is a folder.
    pub is_listed: bool,
    /// True if only programs name it that change none of their files.
    pub is_only_read: bool,
}

/// Variables that name the input of a task, and its number.
pub(crate) const VARIABLES: [&str; 2] = ["HINDMOST_INPUT", "HINDMOST_TASK"];

/// What was noted while a command was read.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each says one thing that makes the text say less")]
struct Noted {
    /// The files that it names for writing, as it has them, in their order.
    files: Vec<String>,
    /// True if it changes files which its text does not show.
    is_unclear: bool,
    /// Files that it does not write from their beginnings, and what appears beside them.
    changed: Vec<String>,
    /// Files that redirections of its own open to add to them, each as often as its text has it.
    added: Vec<String>,
    /// True if a part that may run more than once has such a redirection.
    adds_again: bool,
    /// True if it does not stay in the folder in which it begins, or to which its first command changes.
    moves: bool,
    /// The folder to which its first command changes.
    base: Option<String>,
    /// True if the shell replaces a part of a word that may name a file by what is not known before.
    expands: bool,
    /// Variables whose values are in words that may name files.
    uses: BTreeSet<String>,
    /// All words that may name files, as it has them.
    words: BTreeSet<String>,
    /// The words whose folders it does not read.
    not_listed: BTreeSet<String>,
    /// The words that programs have which may change their files.
    not_only_read: BTreeSet<String>,
    /// Variables to which it gives values.
    assigned: BTreeSet<String>,
}

/// Returns what a command names for writing that is not the attempt's own; `None` if it names nothing.
pub(crate) fn written(command: &str) -> Option<Found> {
    let noted = noted(command);
    let changed = noted.to_check(command);
    let repeats = match changed.as_deref() {
        None => Repeats::Never,
        Some([]) => Repeats::Always,
        Some(_) => Repeats::UntilItChanges,
    };
    let (shows_files, changes_files) = (noted.named(command).is_some(), !noted.changed.is_empty());
    Some(Found { file: noted.files.into_iter().next()?, repeats, shows_files, changes_files })
}

/// What a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The folder to which its first command changes, as the command has it.
    pub base: Option<String>,
    /// The files that must be as they were before the command may run again.
    pub files: Vec<Changed>,
    /// The files that it writes from their beginnings before it reads them.
    pub written_anew: Vec<String>,
    /// The variables in these names, longer names first where one begins with another.
    pub uses: Vec<String>,
}

/// Returns what a command names; `None` if its text does not show it.
pub(crate) fn named(command: &str) -> Option<Named> {
    // A text that could not be read may name other files.
    if command.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    noted(command).named(command)
}

/// True if a command writes a file whose name begins with the value of a variable.
pub(crate) fn writes_value_of(command: &str, name: &str) -> bool {
    let noted = noted(command);
    let mut files = noted.files.iter().chain(&noted.changed);
    files.any(|file| variable(file) == Some(name))
}

impl Noted {
    /// Returns the files that a command changes in another way than writing them from their beginnings; `None` if they are not known.
    fn to_check(&self, command: &str) -> Option<Vec<Changed>> {
        if self.is_unclear {
            return None;
        }
        let plain = in_one_spelling(command);
        let is_changed =
            |file: &&String| self.changed.contains(file) || self.added.contains(file) || !self.is_clear(file, &plain);
        let beside = self.changed.iter().filter(|file| !self.files.contains(file));
        let files: BTreeSet<&String> = self.files.iter().filter(is_changed).chain(beside).collect();
        let of = |file: &String| {
            let by_position = self.added == [file.clone()]
                && !self.adds_again
                && is_named_once(&plain, &in_one_spelling(file))
                && !may_loop(command);
            let filled_in =
                self.uses.iter().filter(|name| !name.starts_with("HINDMOST_") || VARIABLES.contains(&name.as_str()));
            let filled_in = filled_in.fold(in_one_spelling(file), |text, name| substituted(&text, name, ""));
            let by_state = !self.moves && self.is_plain(file) && !filled_in.contains('$');
            (by_state || by_position).then(|| Changed {
                file: file.clone(),
                by_state,
                by_position,
                is_listed: !self.not_listed.contains(file),
                is_only_read: false,
            })
        };
        files.into_iter().map(of).collect()
    }

    /// True if a command writes a file from its beginning, before it reads it.
    fn is_clear(&self, file: &str, plain: &str) -> bool {
        let file = in_one_spelling(file);
        // A variable may hold the name of a file that the command reads, too.
        let is_from_variable = self.assigned.iter().any(|name| file.contains(&format!("${name}")));
        !is_from_variable && is_written_before_it_is_read(plain, &file)
    }

    fn named(&self, command: &str) -> Option<Named> {
        // The values of other variables are known before the command begins.
        if self.expands || self.moves || self.uses.iter().any(|name| self.assigned.contains(name)) {
            return None;
        }
        let mut files = self.to_check(command)?;
        let plain = in_one_spelling(command);
        let is_anew =
            |file: &&String| !self.changed.contains(file) && !self.added.contains(file) && self.is_clear(file, &plain);
        let written_anew: Vec<String> = self.files.iter().filter(is_anew).cloned().collect();
        let anew: BTreeSet<String> = written_anew.iter().map(|file| in_one_spelling(file)).collect();
        for word in &self.words {
            let is_other = !anew.contains(&in_one_spelling(word)) && files.iter().all(|file| file.file != *word);
            // Folders and files of the attempt's own have variables that hold them.
            if is_other
                && variable(word)
                    .is_none_or(|name| !name.starts_with("HINDMOST_") && name != "TMPDIR" || VARIABLES.contains(&name))
            {
                let is_listed = !self.not_listed.contains(word);
                let is_only_read = !self.not_only_read.contains(word);
                files.push(Changed { file: word.clone(), by_state: true, by_position: false, is_listed, is_only_read });
            }
        }
        let is_known = |file: &&Changed| file.by_position || self.is_plain(&file.file);
        let uses = self.uses.iter().cloned().collect();
        files.iter().all(|file| is_known(&file)).then(|| Named { base: self.base.clone(), files, written_anew, uses })
    }

    /// True if a word of a command has no part that is not known before it begins, but for [`VARIABLES`].
    fn is_plain(&self, word: &str) -> bool {
        // `{%}` is the number of a slot.
        let is_given = VARIABLES.iter().all(|name| !self.assigned.contains(*name));
        word != programs::ITS_ARGUMENTS && !word.contains("{%}") && is_given
    }
}

/// Returns a text in which `$NAME` is replaced by a value. `${NAME}` must have been replaced by `$NAME`.
pub(crate) fn substituted(text: &str, name: &str, value: &str) -> String {
    let variable = format!("${name}");
    let mut parts = text.split(&variable);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A longer name.
        if part.starts_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '_') {
            whole.push_str(&variable);
        } else {
            whole.push_str(value);
        }
        whole.push_str(part);
    }
    whole
}

/// True if a part of a command may run more than once.
fn may_loop(command: &str) -> bool {
    let mut words = command.split(|sign: char| !(sign.is_alphanumeric() || "_-".contains(sign)));
    command.contains("()") || words.any(|word| ["for", "while", "until", "select", "function"].contains(&word))
}

/// Returns a text in which the same file has the same name: `$x` for `${x}`, and `x` for `./x`.
pub(crate) fn in_one_spelling(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let begins =
            plain.chars().next_back().is_none_or(|before| !(before.is_alphanumeric() || "./_-{}$".contains(before)));
        let name = rest.strip_prefix("${").and_then(|rest| rest.split_once('}')).filter(|(name, _)| {
            !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
        });
        if let Some((name, after)) = name {
            plain.push('$');
            plain.push_str(name);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("./").filter(|_| begins) {
            rest = after;
        } else {
            plain.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    plain
}

fn noted(command: &str) -> Noted {
    let mut noted = Noted::default();
    written_in(command, &mut Place::at_begin(), &mut noted);
    noted
}

/// Returns where a command names a file.
fn mentions(command: &str, file: &str) -> Vec<usize> {
    let is_part = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || "._-{}/$".contains(sign));
    let is_whole =
        |at: usize| !is_part(command[..at].chars().next_back()) && !is_part(command[at + file.len()..].chars().next());
    command.match_indices(file).map(|(at, _)| at).filter(|at| is_whole(*at)).collect()
}

fn is_named_once(command: &str, file: &str) -> bool {
    mentions(command, file).len() == 1 && !file.contains('$')
}

/// True if a command names a file for writing before it names it otherwise, and not twice in one simple command: a command that
/// looks at what an earlier attempt has left, such as `[ -s x ] || work > x` and `sort -o x x`, may do something else the second
/// time.
fn is_written_before_it_is_read(command: &str, file: &str) -> bool {
    let mentions = mentions(command, file);
    let Some(first) = mentions.first() else { return true };
    // Not the signs of `>|`, `>&` and `&>`.
    let ends = |(at, sign): &(usize, char)| {
        let is_redirection = command[..*at].ends_with('>') || command[at + sign.len_utf8()..].starts_with('>');
        ";\n()".contains(*sign) || "|&".contains(*sign) && !is_redirection
    };
    let begin = command[..*first].char_indices().rev().find(ends).map_or(0, |(at, _)| at + 1);
    let end = command.char_indices().skip_while(|(at, _)| at < first).find(ends).map_or(command.len(), |(at, _)| at);
    let is_alone = mentions.iter().filter(|at| (begin..end).contains(*at)).count() == 1;
    is_alone && noted(&command[begin..end]).files.iter().any(|written| written == file)
}

/// True if a command has a trap, in quotes, that ends it: only then does it do nothing else after `SIGTERM`.
pub(crate) fn cleans_up(command: &OsStr) -> bool {
    let text = command.to_string_lossy();
    text.split("trap ").skip(1).any(|rest| {
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let body = quote.and_then(|quote| rest[1..].split(quote).next());
        body.is_some_and(|body| {
            body.split([';', '&', '|', '\n', '{', '(']).any(|part| part.trim_start().starts_with("exit"))
        })
    })
}

fn written_in(command: &str, place: &mut Place, noted: &mut Noted) {
    let mut outside = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut uses = Vec::new();
    for part in parts(command).into_iter().chain([Part::End]) {
        match part {
            Part::Word(word) => words.push(word),
            Part::Expands | Part::Uses(None, true) => noted.expands = true,
            Part::Uses(Some(name), true) => _ = noted.uses.insert(name),
            Part::Uses(name, false) => uses.push(name),
            Part::Reads(target) => _ = noted.words.insert(target),
            Part::WritesTo(target) | Part::AddsTo(target) if place.owns(&target) => {}
            Part::WritesTo(target) => {
                place.made.insert(target.clone());
                noted.files.push(target);
            }
            Part::AddsTo(target) => {
                noted.added.push(target.clone());
                noted.files.push(target);
            }
            Part::Nested(text) => within(&text, place, noted),
            Part::End | Part::Open | Part::Close => {
                if !programs::names_no_files(&words) {
                    noted.expands |= uses.contains(&None);
                    noted.uses.extend(uses.drain(..).flatten());
                }
                uses.clear();
                simple_command(&std::mem::take(&mut words), place, noted);
                match part {
                    // What a subshell changes ends with it.
                    Part::Open => {
                        outside.push(place.clone());
                        place.is_top = false;
                    }
                    Part::Close => *place = outside.pop().unwrap_or_else(|| place.clone()),
                    _ => {}
                }
            }
        }
    }
}

/// Finds what a command writes that a command runs, perhaps several times.
fn within(command: &str, place: &Place, noted: &mut Noted) {
    let before = noted.added.len();
    written_in(command, &mut Place { is_top: false, ..place.clone() }, noted);
    noted.adds_again |= noted.added.len() > before;
}

/// Finds what a simple command writes, and notes what it changes for those after it.
fn simple_command(words: &[String], place: &mut Place, noted: &mut Noted) {
    let mut words = words;
    if let Some(name) = words.get(1).filter(|_| matches!(words[0].as_str(), "for" | "read" | "select")) {
        noted.assigned.insert(name.clone());
    }
    while let Some((name, value)) = words.first().and_then(|word| assignment(word)) {
        noted.assigned.insert(name.to_owned());
        if place.owns(value) && !value.is_empty() && value != "-" {
            place.own.insert(name.to_owned());
        } else {
            place.own.remove(name);
        }
        words = &words[1..];
    }
    let Some((program, arguments)) = programs::program(words) else { return };
    noted.moves |= programs::moves(words);
    let is_first = noted.words.is_empty() && noted.files.is_empty();
    noted.expands |= programs::reads_names(&program, words);
    for word in words {
        let value = word.split_once('=').map(|(_, value)| value).filter(|value| !value.is_empty());
        let joined = word.get(2..).filter(|rest| word.starts_with('-') && !word.starts_with("--") && !rest.is_empty());
        for part in [Some(word.as_str()), value, joined].into_iter().flatten() {
            if program == "mkdir" && words.iter().any(|word| word == "-p" || word == "--parents") {
                // Other tasks may have made it meanwhile, which changes nothing.
                continue;
            }
            noted.words.insert(part.to_owned());
            if matches!(program.as_str(), "mkdir" | "test" | "[") {
                noted.not_listed.insert(part.to_owned());
            }
            if !programs::changes_nothing(&program, words) {
                noted.not_only_read.insert(part.to_owned());
            }
        }
    }
    match program.as_str() {
        "cd" | "pushd" => {
            match &arguments[..] {
                [folder] if is_first && place.is_top && !folder.contains('$') && folder != "-" => {
                    noted.base = Some(folder.clone());
                    noted.words.clear();
                }
                _ => noted.moves = true,
            }
            let folder = arguments.iter().find(|word| !word.starts_with('-'));
            place.is_own = folder.is_some_and(|folder| place.owns(folder));
        }
        "export" | "local" | "declare" | "readonly" | "typeset" => {
            let assigned: Vec<String> = arguments.iter().filter(|word| assignment(word).is_some()).cloned().collect();
            if !assigned.is_empty() {
                simple_command(&assigned, place, noted);
            }
        }
        _ => match programs::written(&program, &arguments) {
            Written::Nothing => {}
            Written::Files(files) => {
                let others: Vec<String> = files.into_iter().filter(|file| !place.owns(file)).collect();
                // What the command has made itself is there again when it is moved again.
                let moves_own = program == "mv" && arguments.len() == 2 && place.made.contains(&arguments[0]);
                if !others.is_empty() && !moves_own && !programs::may_repeat(&program, &arguments) {
                    match changes::of(&program, &arguments) {
                        Some(changed) => noted.changed.extend(changed.into_iter().filter(|file| !place.owns(file))),
                        None => noted.is_unclear = true,
                    }
                }
                noted.files.extend(others);
            }
            Written::InFolder(_) if place.is_own => {}
            Written::InFolder(what) => {
                noted.files.push(what);
                noted.is_unclear = true;
            }
            Written::By(command) => {
                let before = noted.files.len();
                within(&command, place, noted);
                // Somewhere else, or as somebody else.
                noted.is_unclear |= noted.files.len() > before && programs::runs_elsewhere(&program);
            }
            Written::ByWords(words) => simple_command(&words, &mut place.clone(), noted),
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
