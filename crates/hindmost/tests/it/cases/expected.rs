//! What a case expects of a command, and how it differs from what the command did.

use super::json::Statement;
use crate::Ran;
use crate::console::Shown;

/// A command of a case, with what is expected of it.
pub struct Step {
    /// The number of its first line in the file.
    pub line: usize,
    pub command: String,
    code: i32,
    /// The whole texts of standard output and standard error, if they are expected.
    texts: [Option<Text>; 2],
    /// Parts that standard output or standard error has or lacks.
    parts: Vec<(Stream, bool, String)>,
    statements: Vec<Statement>,
}

#[derive(Clone, Copy)]
enum Stream {
    Output = 0,
    Error = 1,
}

impl Stream {
    fn name(self) -> &'static str {
        ["standard output", "standard error"][self as usize]
    }

    fn of(self, ran: &Ran) -> &str {
        [&ran.stdout, &ran.stderr][self as usize]
    }
}

/// The lines of an expected text.
struct Text {
    /// The number of its first line in the file.
    line: usize,
    lines: Vec<String>,
}

/// A change of a file: at a line, this many lines are replaced by others.
pub struct Edit {
    line: usize,
    count: usize,
    lines: Vec<String>,
}

/// The beginnings of lines that are not a line of output. A backslash before it makes the line one.
const MARKS: &[char] = &['$', '>', '[', '!', '~', '-', '#', '.', '\\'];

/// Stands for a stream without any text.
const NOTHING: &str = "(nothing)";

impl Step {
    /// Reads a command and the lines after it.
    pub fn read(shown: &Shown) -> Result<Step, String> {
        let mut step = Step {
            line: shown.line,
            command: shown.text.clone(),
            code: 0,
            texts: [None, None],
            parts: Vec::new(),
            statements: Vec::new(),
        };
        // Empty lines separate commands.
        let end = shown.output.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        for (number, line) in (shown.line + 1..).zip(&shown.output[..end]) {
            step.add(number, line).map_err(|error| format!("{number}: {error}"))?;
        }
        Ok(step)
    }

    fn add(&mut self, number: usize, line: &str) -> Result<(), String> {
        let code = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let code = code.and_then(|(code, message)| Some((code.parse().ok()?, message.strip_prefix(' '))));
        let (stream, rest) = line.strip_prefix('!').map_or((Stream::Output, line), |rest| (Stream::Error, rest));
        let part = rest.strip_prefix("~ ").map(|part| (true, part));
        let part = part.or_else(|| rest.strip_prefix("-~ ").map(|part| (false, part)));
        if let Some(continued) = line.strip_prefix("> ") {
            self.command += "\n";
            self.command += continued;
        } else if let Some((code, message)) = code {
            self.code = code;
            self.parts.extend(message.map(|message| (Stream::Error, true, folded(message))));
        } else if let Some((has, part)) = part {
            self.parts.push((stream, has, folded(part)));
        } else if line.starts_with("# ") {
            // A comment.
        } else if line.starts_with('.') && line != "..." {
            self.statements.push(Statement::read(line)?);
        } else {
            let text = self.texts[stream as usize].get_or_insert(Text { line: number, lines: Vec::new() });
            if text.line + text.lines.len() != number {
                return Err(format!("the lines of {} do not follow one another", stream.name()));
            }
            let line = if matches!(stream, Stream::Error) { rest.strip_prefix(' ').unwrap_or(rest) } else { line };
            text.lines.push(line.strip_prefix('\\').unwrap_or(line).to_owned());
        }
        Ok(())
    }

    /// Returns what a command did otherwise than expected. If expected texts are renewed, a text that differs is no difference, and
    /// becomes an edit.
    pub fn differences(&self, ran: &Ran, edits: &mut Vec<Edit>) -> Vec<String> {
        let mut found = Vec::new();
        if ran.code != Some(self.code) {
            found.push(format!(
                "exit code {}, not {}",
                ran.code.map_or("missing".to_owned(), |code| code.to_string()),
                self.code
            ));
        }
        if ran.stderr.contains("panicked") {
            found.push("a panic".to_owned());
        }
        // Wrong input is an error, and nothing else.
        if self.code == 2 {
            if self.texts[1].is_none() && !ran.stderr.starts_with("error: ") {
                found.push("standard error does not begin with \"error: \"".to_owned());
            }
            if self.texts[0].is_none() && !ran.stdout.is_empty() {
                found.push("standard output is not empty".to_owned());
            }
        }
        for stream in [Stream::Output, Stream::Error] {
            let Some(text) = &self.texts[stream as usize] else { continue };
            let printed: Vec<&str> = stream.of(ran).trim_end().lines().map(str::trim_end).collect();
            let expected: Vec<&str> = text.lines.iter().map(String::as_str).collect();
            let expected = if expected == [NOTHING] { &[] } else { &expected[..] };
            if are_like(expected, &printed) {
                continue;
            }
            if std::env::var_os("HINDMOST_UPDATE_CASES").is_some() && !expected.contains(&"...") {
                edits.push(text.renewed(stream, &printed));
            } else {
                found.push(format!("{} is not\n{}", stream.name(), expected.join("\n")));
            }
        }
        for (stream, has, part) in &self.parts {
            if folded(stream.of(ran)).contains(part) != *has {
                found.push(format!("{} {} {part:?}", stream.name(), if *has { "lacks" } else { "has" }));
            }
        }
        if !self.statements.is_empty() {
            match serde_json::from_str(&ran.stdout) {
                Ok(document) => found.extend(self.statements.iter().filter_map(|one| one.difference(&document))),
                Err(error) => found.push(format!("standard output is no JSON document: {error}")),
            }
        }
        found
    }
}

impl Text {
    /// Replaces these lines by printed ones. A line with an elision stays where it is like the printed one.
    fn renewed(&self, stream: Stream, printed: &[&str]) -> Edit {
        let mark = if matches!(stream, Stream::Error) { "! " } else { "" };
        let line = |printed: &&str| {
            let kept = self.lines.iter().find(|line| is_like(line, printed));
            let line = kept.map_or(*printed, String::as_str);
            let escape = if mark.is_empty() && line.starts_with(MARKS) { "\\" } else { "" };
            format!("{mark}{escape}{line}")
        };
        let lines =
            if printed.is_empty() { vec![format!("{mark}{NOTHING}")] } else { printed.iter().map(line).collect() };
        Edit { line: self.line, count: self.lines.len(), lines }
    }
}

/// Returns a text with these changes.
pub fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.line));
    for edit in edits {
        lines.splice(edit.line - 1..edit.line - 1 + edit.count, edit.lines);
    }
    lines.join("\n") + "\n"
}

/// Returns a text with single spaces between its words: messages wrap at the width of the terminal.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if these lines are the expected ones. The line `...` stands for any number of lines.
fn are_like(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], printed) => printed.is_empty(),
        (["...", expected @ ..], printed) => (0..=printed.len()).any(|skipped| are_like(expected, &printed[skipped..])),
        ([line, expected @ ..], [first, printed @ ..]) => is_like(line, first) && are_like(expected, printed),
        (_, []) => false,
    }
}

/// Returns true if a line is the expected one, in which `[..]` stands for any text.
fn is_like(expected: &str, line: &str) -> bool {
    let Some((begin, mut rest)) = expected.split_once("[..]") else { return expected == line };
    let Some(mut line) = line.strip_prefix(begin) else { return false };
    while let Some((middle, after)) = rest.split_once("[..]") {
        let Some(at) = line.find(middle) else { return false };
        (line, rest) = (&line[at + middle.len()..], after);
    }
    line.ends_with(rest)
}
