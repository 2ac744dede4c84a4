//! Reads the blocks of Markdown files and runs the commands in them: of documents (`documents.rs`) and of cases (`cases.rs`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A part of a Markdown file.
pub enum Part<'a> {
    /// A line outside of code blocks, with its number from 1.
    Line(usize, &'a str),
    /// A code block.
    Block(Block<'a>),
}

/// A code block of a Markdown file.
pub struct Block<'a> {
    /// The first word of the line that begins the block, such as `console`.
    pub language: &'a str,
    /// The other words of this line: in a case, the name of a file.
    pub name: &'a str,
    /// The number of the line after it, from 1.
    pub line: usize,
    /// The lines of the block.
    pub lines: Vec<&'a str>,
}

impl Block<'_> {
    /// Returns the text of the block, with a line feed after each line.
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [*line, "\n"]).collect()
    }

    /// Returns the commands of a block of a console. Comments may stand before the first one; the error says at which line there is
    /// output instead.
    pub fn commands(&self) -> Result<Vec<Shown>, String> {
        let mut found: Vec<Shown> = Vec::new();
        for (number, line) in (self.line..).zip(&self.lines) {
            if let Some(text) = line.strip_prefix("$ ") {
                found.push(Shown { line: number, text: text.to_owned(), output: Vec::new() });
            } else if !(found.is_empty() && line.starts_with("# ")) {
                let last = found.last_mut().ok_or_else(|| format!("{number}: output before the first command"))?;
                last.output.push(line.trim_end().to_owned());
            }
        }
        Ok(found)
    }
}

/// A command of a Markdown file.
pub struct Shown {
    /// The number of its line, from 1.
    pub line: usize,
    /// The command as it is written.
    pub text: String,
    /// The lines after it, up to the next command.
    pub output: Vec<String>,
}

/// Returns the lines and code blocks of a Markdown file in their order. The error says that the last block does not end.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => parts.push(Part::Block(block)),
            (Some(info), None) => {
                let (language, name) = info.split_once(' ').unwrap_or((info, ""));
                open = Some(Block { language, name, line: number + 1, lines: Vec::new() });
            }
            (None, Some(mut block)) => {
                block.lines.push(line);
                open = Some(block);
            }
            (None, None) => parts.push(Part::Line(number, line)),
        }
    }
    match open {
        Some(block) => Err(format!("the code block at line {} does not end", block.line - 1)),
        None => Ok(parts),
    }
}

/// Returns a shell that runs a command in a folder, with `hindmost` and the programs of some folders in its path. The output of
/// `hindmost` depends neither on the width of a terminal nor on the user's settings.
pub fn shell(folder: &Path, programs: &[PathBuf], command: &str) -> Command {
    let hindmost = Path::new(env!("CARGO_BIN_EXE_hindmost")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = programs.iter().cloned().chain([hindmost]).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).stdin(Stdio::null()).env("PATH", path);
    shell.env_remove("COLUMNS").env("NO_COLOR", "1");
    shell
}
