//! `hindmost completions` and `hindmost man`.

use clap::CommandFactory;
use hindmost_math::suggest::did_you_mean;

use crate::cli::Cli;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hindmost", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page of Hindmost, or of one command, in roff.
pub fn man(command: Option<&str>) -> Outcome {
    let mut root = Cli::command();
    root.build();
    let page = match command {
        None => root,
        Some(name) => {
            let found = root.find_subcommand(name).cloned();
            found.ok_or_else(|| {
                let names: Vec<String> = root.get_subcommands().map(|known| known.get_name().to_owned()).collect();
                Failure::input(format!(
                    "there is no command {name:?}{}; the commands are {}",
                    did_you_mean(name, names.iter().map(String::as_str)),
                    names.join(", ")
                ))
            })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    terminal::print(&String::from_utf8_lossy(&text))
}
