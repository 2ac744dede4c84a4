//! Reads any bytes as a log of each format whose rows are attempts.

use hindmost_trace::log::sniff;
use hindmost_trace::table::Columns;
use hindmost_trace::{Kind, TaskFormat};

use crate::check_log;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(log: &[u8]) {
    for format in TaskFormat::ALL {
        if let Some((diagnosed, _)) = check_log(Kind::Tasks(format), log) {
            assert_eq!(diagnosed.summary.format, format.name());
        }
    }
    // The text of a mapping of columns is any text, too.
    if let Ok(text) = std::str::from_utf8(log)
        && let Ok(columns) = text.lines().next().unwrap_or_default().parse::<Columns>()
    {
        assert_eq!(
            sniff(log, &columns) == Some(TaskFormat::Table),
            !columns.is_empty() || sniff(log, &Columns::default()) == Some(TaskFormat::Table)
        );
    }
}
