//! Prints results to standard output. A closed pipe is not an error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::failure::Outcome;

/// Width of text, in columns, if standard output is not a terminal or its width is unknown.
const COLUMNS_ELSEWHERE: u16 = 120;

/// Returns the width of standard output, in columns. The variable `COLUMNS` overrides the terminal's width.
pub fn width() -> u16 {
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || io::stdout().is_terminal().then(hindmost_report::terminal_width).flatten();
    // A terminal of unknown size reports 0.
    variable.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(COLUMNS_ELSEWHERE)
}

/// Prints text and adds a line feed if its last line has none.
pub fn print(text: &str) -> Outcome {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Prints one JSON document.
pub fn print_json(value: &impl Serialize) -> Outcome {
    print(&json(value)?)
}

/// Returns the JSON document that is printed or written to a file.
pub fn json(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string_pretty(value).map_err(crate::failure::Failure::work)
}

/// Returns true if text may have colours: standard output is a terminal and the variable `NO_COLOR` is not set.
pub fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && io::stdout().is_terminal()
}
