//! The `hindmost` command: reads the command line, calls the libraries, prints what they found.

mod board;
mod cli;
mod commands;
mod engines;
mod failure;
mod files;
mod forecast;
mod live_page;
mod progress;
mod race;
mod stop;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

/// The help of a terminal with fewer columns than this is wrapped in other ways.
const NARROW: usize = 60;

/// Returns a help text in which the lines that clap does not wrap fit into this width, such as those with the usage. Words that are
/// too long for their indentation move to the left.
fn narrowed(help: &str, width: usize) -> String {
    let mut text = String::with_capacity(help.len());
    for line in help.lines() {
        if line.chars().count() <= width {
            text.push_str(line.trim_end());
            text.push('\n');
            continue;
        }
        let begin = line.len() - line.trim_start().len();
        let indent = if line.starts_with("Usage: ") { "Usage: ".len() } else { begin };
        let mut column = begin;
        text.push_str(&line[..begin]);
        for (at, word) in line.split_whitespace().enumerate() {
            let mut word = word;
            // Only the form of a value can be longer than a line; its parts are separated by colons.
            while let Some((end, _)) = word.char_indices().nth(width)
                && let Some(colon) = word[..end].rfind(':').filter(|colon| *colon > 0)
            {
                text.push('\n');
                text.push_str(&word[..=colon]);
                word = &word[colon + 1..];
                column = width;
            }
            let length = word.chars().count();
            if at > 0 && column + 1 + length > width {
                let indent = indent.min(width.saturating_sub(length));
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            } else if at > 0 {
                text.push(' ');
                column += 1;
            } else if column + length > width {
                let indent = width.saturating_sub(length);
                text.truncate(text.len() - begin.saturating_sub(indent));
                column = indent;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
    }
    text
}

/// Returns the arguments with a space before values such as `-1:1:0.5` of `theory`. Without the space clap would take
/// such a value for an unknown option, and the user would not learn what is wrong with it. The commands trim the space.
fn arguments(given: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut in_theory = false;
    given.enumerate().map(move |(at, argument)| {
        in_theory |= at == 1 && argument == "theory";
        match argument.to_str().and_then(|text| text.strip_prefix('-')) {
            Some(rest)
                if in_theory && rest.contains(':') && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') =>
            {
                format!(" -{rest}").into()
            }
            _ => argument,
        }
    })
}

fn main() -> ExitCode {
    if let Some(code) = engines::step() {
        return code;
    }
    let width = usize::from(terminal::width());
    // Two columns of options and their descriptions need more.
    let command = cli::Cli::command().next_line_help(width < NARROW);
    let matches = command.try_get_matches_from(arguments(std::env::args_os()));
    let cli = match matches.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with exit code 0, everything else to stderr with 2. A closed pipe is
            // not an error.
            let code = if error.use_stderr() { 2 } else { 0 };
            if let Some(refusal) = commands::map::refusal(&error) {
                return refusal.report();
            }
            if width < NARROW && error.kind() == ErrorKind::DisplayHelp {
                let _ = terminal::print(&narrowed(&error.render().to_string(), width));
                return ExitCode::from(code);
            }
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match commands::run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
