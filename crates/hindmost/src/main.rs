//! The `hindmost` command: reads the command line, calls the libraries, prints what they found.

mod board;
mod cli;
mod commands;
mod failure;
mod files;
mod progress;
mod race;
mod stop;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with 0, everything else to stderr with 2. A closed pipe is
            // no reason to complain.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match commands::run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
