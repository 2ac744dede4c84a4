//! The commands, one module for each.

mod about;
pub mod advise;
mod clean;
mod compare;
mod demo;
mod explain;
pub mod map;
mod policies;
mod profiles;
mod recorded;
mod replay;
mod report;
mod reproduce;
mod run;
mod simulate;
mod submit;
mod theory;
mod trace;
mod verify;
mod watch;

use crate::cli::Command;
use crate::failure::Outcome;

/// Runs a command.
pub fn run(command: Command) -> Outcome {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Submit(args) => submit::run(&args),
        Command::Map(args) => map::run(*args),
        Command::Advise(args) => advise::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Clean(args) => clean::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Theory(command) => theory::run(command),
        Command::Trace(command) => trace::run(command),
        Command::Profiles { file, json } => profiles::run(&file, json),
        Command::Policies(args) => policies::run(&args),
        Command::Completions { shell } => about::completions(shell),
        Command::Man { command } => about::man(command.as_deref()),
    }
}
