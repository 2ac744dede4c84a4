//! Joins the parts of logs that Databricks delivers: `eventlog-DATE--HOUR`, one for each hour, and `eventlog`, the last
//! one.
//!
//! The first line of a part has the number of the part and the id of the Spark context. Parts with the same context are
//! one log. In parts without this line the log begins with the start of an application, and parts without such a start
//! continue the part before them.

use std::collections::BTreeMap;

use super::identity::identify;
use super::parts::{Log, Part, Rolled, in_sequence, without_codec};

/// Returns whether a file is named like a part.
pub(super) fn is_part(name: &str) -> bool {
    let Some(date) = without_codec(name).strip_prefix("eventlog") else {
        return false;
    };
    let digits = |text: &str| text.len() >= 4 && text.bytes().take(4).all(|byte| byte.is_ascii_digit());
    let dated = date.strip_prefix('-').is_some_and(digits);
    date.is_empty() || dated && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Joins files that are named like parts into logs. A file that is no log stays a log of its own.
pub(super) fn join(mut parts: Vec<Part>, warnings: &mut Vec<String>) -> Vec<Log> {
    let undated = |part: &Part| without_codec(&part.label).ends_with("eventlog");
    parts.sort_by(|a, b| undated(a).cmp(&undated(b)).then_with(|| a.label.cmp(&b.label)));
    let mut numbered: BTreeMap<i64, Vec<(Rolled, Part)>> = BTreeMap::new();
    let mut logs: Vec<Log> = Vec::new();
    // The log that parts without a number continue.
    let mut open: Option<usize> = None;
    for part in parts {
        let Ok(identity) = identify(&part.path) else {
            logs.push(Log::of(part));
            continue;
        };
        if let Some((context, number)) = identity.rollover {
            numbered.entry(context).or_default().push((Rolled { number, compact: false }, part));
            continue;
        }
        match open {
            Some(at) if !identity.started => logs[at].parts.push(part),
            _ => {
                open = Some(logs.len());
                logs.push(Log::of(part));
            }
        }
    }
    for mut parts in numbered.into_values() {
        parts.sort_by_key(|(rolled, _)| rolled.number);
        let label = parts.first().map(|(_, part)| part.label.clone()).unwrap_or_default();
        let parts = in_sequence(&label, 0, parts, warnings);
        logs.push(Log { label, parts, in_progress: false });
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_are_recognised() {
        for name in ["eventlog", "eventlog.gz", "eventlog-2022-01-14--17-00.gz", "eventlog-2022-01-14--17-00"] {
            assert!(is_part(name), "{name}");
        }
        for name in ["eventlog_v2_app-1", "eventlog-", "eventlog-old", "eventlog2", "my-eventlog", "eventlog-2022x"] {
            assert!(!is_part(name), "{name}");
        }
    }
}
