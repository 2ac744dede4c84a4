//! Options of GNU parallel that Hindmost does not have, and what to use instead.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::failure::Failure;

/// Options, and what to use instead.
const REFUSED: [(&[&str], &str); 17] = [
    (
        &[
            "--pipe",
            "--spreadstdin",
            "--pipepart",
            "--pipe-part",
            "--block",
            "--recstart",
            "--recend",
            "--cat",
            "--fifo",
        ],
        "Hindmost does not split one input into blocks: split it with `split`, and map over the pieces",
    ),
    (&["-X", "-m", "--xargs", "-s", "--max-chars", "-x"], "each value is one task: -n N gives each command N values"),
    (
        &[
            "-S",
            "--sshlogin",
            "--sshloginfile",
            "--slf",
            "--transfer",
            "--transferfile",
            "--tf",
            "--return",
            "--trc",
            "--cleanup",
            "--basefile",
            "--bf",
            "--onall",
            "--nonall",
            "--ssh",
            "--filter-hosts",
        ],
        "Hindmost runs tasks on this machine only",
    ),
    (
        &["--semaphore", "--sem", "--id", "--fg", "--bg", "--wait"],
        "Hindmost has no semaphores: give all commands to one run, or use flock",
    ),
    (
        &["-u", "--ungroup", "--lb", "--linebuffer", "--line-buffer"],
        "a task may have several attempts, and only the winner's output is printed, so output is printed when a task ends",
    ),
    (
        &["--results", "--res", "--files", "--outputasfiles"],
        "--out DIR keeps the output of each task in DIR/.hindmost/logs; or redirect it in the command: > {#}.txt",
    ),
    (&["--tagstring", "--ctag", "--ctagstring"], "--tag begins each line with the values of its task"),
    (&["-L", "-l", "--max-lines"], "-n N gives each command N values"),
    (
        &["--delay", "--load", "--memfree", "--noswap", "--memsuspend", "--limit", "--nice", "--sshdelay"],
        "-j N limits how many tasks run at a time; begin the command with `nice` to run it with low priority",
    ),
    (&["--env", "--record-env", "--session"], "commands see all exported variables"),
    (
        &["--rpl", "--plus", "--parens", "-U", "-i", "--replace", "--er", "--bnr", "--dnr", "--bner", "--seqreplace"],
        "the replacement strings are {} {.} {/} {//} {/.} {#} {%} and those with a position; -I TEXT changes {}",
    ),
    (&["--shuf", "--sort"], "sort the values first: shuf FILE | hindmost map COMMAND"),
    (&["--trim", "-E", "--eof", "--skip-first-line"], "change the values first, for example with sed"),
    (&["--arg-sep", "--arg-file-sep"], "the separators are ::: :::+ :::: ::::+"),
    (
        &["--retry-failed"],
        "--resume-failed --joblog FILE runs the failed tasks again, with the same command and values",
    ),
    (
        &["--tmux", "--tmuxpane", "--sqlmaster", "--sqlworker", "--sql", "--sqlandworker"],
        "Hindmost has neither tmux nor databases",
    ),
    (
        &["-t", "--fifos", "--show-limits", "--shellquote", "--citation", "--will-cite", "--bibtex", "--minversion"],
        "leave it out",
    ),
];

/// Returns what to print for an option of GNU parallel that `hindmost map` does not have; `None` for all other mistakes.
pub fn refusal(error: &Error) -> Option<Failure> {
    let is_map = std::env::args_os().nth(1).is_some_and(|command| command == "map");
    if !is_map || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let instead = instead(given)?;
    Some(Failure::input(format!("{given} of GNU parallel is not part of `hindmost map`: {instead}")))
}

fn instead(given: &str) -> Option<&'static str> {
    let name = given.split_once('=').map_or(given, |(name, _)| name);
    REFUSED.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_refused_once() {
        let mut names: Vec<&str> = REFUSED.iter().flat_map(|(names, _)| *names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(instead("--block=10M").is_some_and(|text| text.contains("split")));
        assert_eq!(instead("--no-such-option"), None);
    }
}
