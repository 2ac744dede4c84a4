//! Options of GNU parallel that Hindmost does not have, and what to use instead.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::failure::Failure;

/// On each line, options and what to use instead.
const REFUSED: &str = include_str!("refusals.txt");

/// Returns the options, separated by spaces, and what to use instead.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    REFUSED.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "))
}

/// Returns what to print for an option of GNU parallel that `hindmost map` does not have; `None` for all other mistakes.
pub fn refusal(error: &Error) -> Option<Failure> {
    let is_map = std::env::args_os().nth(1).is_some_and(|command| command == "map");
    if !is_map || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    refused(given)
}

/// Returns the failure for an option of GNU parallel; `None` for other options.
pub fn refused(given: &str) -> Option<Failure> {
    let instead = instead(given)?;
    Some(Failure::input(format!("{given} of GNU parallel is not part of `hindmost map`: {instead}")))
}

/// Returns what to use in place of an option. A long option may be abbreviated if all options that it may stand for have the
/// same text.
fn instead(given: &str) -> Option<&'static str> {
    let given = given.split_once('=').map_or(given, |(name, _)| name);
    let texts = |matches: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
        all().filter(|(names, _)| names.split_whitespace().any(matches)).map(|(_, text)| text).collect()
    };
    if let Some(text) = texts(&|name| name == given).first() {
        return Some(text);
    }
    match texts(&|name| given.len() > 3 && given.starts_with("--") && name.starts_with(given))[..] {
        [text] => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    /// All spellings of the options of GNU parallel 20221122, from the table in its source.
    const SPELLINGS: &str = include_str!("parallel_options.txt");

    #[test]
    fn each_option_is_refused_once() {
        let mut names: Vec<&str> = all().flat_map(|(names, _)| names.split_whitespace()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(instead("--block=10M").is_some_and(|text| text.contains("split")));
        assert!(instead("--line-buf").is_some_and(|text| text.contains("winner")));
        assert_eq!(["--no-such-option", "--s", "--b", "--"].map(instead), [None; 4]);
    }

    #[test]
    fn each_option_of_gnu_parallel_is_known() {
        let mut root = Cli::command();
        root.build();
        let map = root.find_subcommand("map").unwrap();
        let mut known = Vec::new();
        for argument in map.get_arguments() {
            known.extend(
                argument.get_long_and_visible_aliases().unwrap_or_default().iter().map(|name| format!("--{name}")),
            );
            known.extend(argument.get_all_aliases().unwrap_or_default().iter().map(|name| format!("--{name}")));
            known.extend(
                argument.get_short_and_visible_aliases().unwrap_or_default().iter().map(|name| format!("-{name}")),
            );
            known.extend(argument.get_all_short_aliases().unwrap_or_default().iter().map(|name| format!("-{name}")));
        }
        for spelling in SPELLINGS.split_whitespace() {
            let option = if spelling.len() == 1 { format!("-{spelling}") } else { format!("--{spelling}") };
            if known.contains(&option) {
                continue;
            }
            assert!(instead(&option).is_some(), "{option} has no text");
            // Nor is it taken for an abbreviation.
            let Err(error) = Cli::try_parse_from(["hindmost", "map", &option, "1", "echo"]) else {
                panic!("{option} is accepted");
            };
            assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{option}");
            let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { panic!("{option}") };
            assert_eq!(*given, option);
        }
    }
}
