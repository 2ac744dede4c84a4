//! Reads any bytes as a log of each format whose rows are attempts.

use hindmost_trace::table::Columns;
use hindmost_trace::tasks::{TaskFormat, diagnose_tasks, read_tasks, sniff};

use crate::{alike, check_counted, check_findings, check_jobs, check_recorded, check_summary};

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(log: &[u8]) {
    let columns = Columns::default();
    for format in TaskFormat::ALL {
        let diagnosed = diagnose_tasks(log, "log", format, &columns, None);
        let Some(((summary, findings, _), trace)) = alike(diagnosed, read_tasks(log, "log", format, &columns)) else {
            continue;
        };
        assert_eq!(summary.format, format.name());
        check_summary(&summary);
        check_findings(&findings);
        check_counted(&summary, &findings);
        let mut same = trace.summary().clone();
        // Reading for a replay gives further warnings.
        assert!(same.warnings.len() >= summary.warnings.len());
        same.warnings.truncate(summary.warnings.len());
        assert_eq!(same, summary);
        check_jobs(trace.workload_jobs());
        check_recorded(trace.cluster_nodes(), trace.attempts());
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
