//! Reads a log line by line, for readers of delimited formats and of JSON lines.

use std::borrow::Cow;

use super::Collector;
use crate::error::TraceError;
use crate::reading::lines::{Body, Lines};
use crate::reading::window::Window;

/// Calls `take` with the number and text of each line that is not blank, and with whether it ends in a line feed.
///
/// # Errors
/// If reading fails, and errors of `take`.
pub(crate) fn each(
    window: Window<'_>,
    name: &str,
    collector: &mut Collector,
    mut take: impl FnMut(&mut Collector, u64, &str, bool) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut lines: Lines<'_, ()> = Lines::over(window, |_| None).with_blanks();
    loop {
        let position = lines.window.position();
        let line = lines.next().map_err(|source| TraceError::Read { name: name.to_owned(), position, source })?;
        let Some(line) = line else { break };
        match line.body {
            Body::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
            Body::Whole(bytes) => {
                let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
                let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
                collector.issues.is_repaired = matches!(text, Cow::Owned(_));
                take(collector, line.number, &text, line.terminated)?;
            }
            Body::Skipped { .. } => collector.issues.unreadable(line.number, "the line is too long"),
        }
    }
    if let Some(damage) = lines.window.damage() {
        collector.issues.cut(format!("where it can't be decompressed ({damage})"));
    }
    Ok(())
}
