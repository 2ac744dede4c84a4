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

use clap::Parser;

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
    let cli = match cli::Cli::try_parse_from(arguments(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with exit code 0, everything else to stderr with 2. A closed pipe is
            // not an error.
            let code = if error.use_stderr() { 2 } else { 0 };
            if let Some(refusal) = commands::map::refusal(&error) {
                return refusal.report();
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
