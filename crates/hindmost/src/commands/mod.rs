//! One module a command.

mod about;
mod compare;
mod policies;
mod replay;
mod reproduce;
mod simulate;
mod theory;
mod trace;

use crate::cli::Command;
use crate::failure::Outcome;

/// Carries out a command.
pub fn run(command: Command) -> Outcome {
    match command {
        Command::Simulate(args) => simulate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Theory(command) => theory::run(command),
        Command::Trace(command) => trace::run(command),
        Command::Policies { json } => policies::run(json),
        Command::Completions { shell } => about::completions(shell),
        Command::Man { command } => about::man(command.as_deref()),
    }
}
