//! Standard output: results only, and no complaint where a reader stops reading.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::failure::Outcome;

/// Columns of text where it can't be asked: a pipe or a file.
const COLUMNS_ELSEWHERE: u16 = 120;

/// Width of standard output, in columns. `COLUMNS` overrides what the terminal says.
pub fn width() -> u16 {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let told = || io::stdout().is_terminal().then(hindmost_report::terminal_width).flatten();
    // A terminal that does not know its size says 0.
    asked.or_else(told).filter(|columns| *columns > 0).unwrap_or(COLUMNS_ELSEWHERE)
}

/// Prints text as it is.
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

/// A JSON document as it is printed and written to files.
pub fn json(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string_pretty(value).map_err(crate::failure::Failure::work)
}

/// Whether standard output takes colours: a terminal, and nobody has said `NO_COLOR`.
pub fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && io::stdout().is_terminal()
}
