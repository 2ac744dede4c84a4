//! Finds the files of the logs in a directory: the parts of a rolling log or of a log of Databricks, or a directory
//! of these, such as the one that Spark's history server reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::identity::{Identity, identify};
use super::parts::{Log, Part, Rolled, in_sequence, without_codec};
use super::rollover;
use crate::error::TraceError;
use crate::reading::warnings::{names, some};

/// The most files that a warning names.
const MOST_NAMED: usize = 5;

/// The logs at a path.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub logs: Vec<Log>,
    pub warnings: Vec<String>,
}

/// An entry of a directory.
struct Entry {
    name: String,
    path: PathBuf,
    /// Whether the entry is a file or a directory; `None` if it is neither.
    kind: Option<Kind>,
}

impl Entry {
    /// Returns whether the entry is named like a part of a log.
    fn is_part(&self) -> bool {
        Rolled::of(&self.name).is_some() || rollover::is_part(&self.name)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    File(u64),
    Directory,
}

/// Entries that were left out, and why.
#[derive(Default)]
struct LeftOut(Vec<(String, String)>);

impl Sources {
    /// Total size of all files in bytes; `None` if the size of a file is unknown.
    pub(super) fn total(&self) -> Option<u64> {
        self.logs.iter().flat_map(|log| &log.parts).map(|part| part.size).sum()
    }
}

/// Finds the logs in a directory.
///
/// # Errors
///
/// If the directory can't be read or has no log.
pub(super) fn find(path: &Path) -> Result<Sources, TraceError> {
    let failed = |source| TraceError::Open { path: path.to_owned(), source };
    let mut sources = Sources::default();
    let mut left_out = LeftOut::default();
    let entries = entries(path).map_err(failed)?;
    logs_among(entries, "", &mut sources, &mut left_out);
    sources.logs.sort_by(|a, b| a.label.cmp(&b.label));
    keep_logs(&mut sources, &mut left_out);
    left_out.add_warning(&mut sources.warnings);
    if sources.logs.is_empty() {
        return Err(TraceError::Directory { path: path.to_owned() });
    }
    Ok(sources)
}

/// Returns whether a path is a directory with event logs: parts of rolling logs, or files and directories that begin
/// like an event log.
pub(super) fn may_be_logs(path: &Path) -> bool {
    find(path).is_ok()
}

/// Returns the entries of a directory, sorted by name, without hidden entries.
fn entries(path: &Path) -> std::io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(['.', '_']) {
            continue;
        }
        let path = entry.path();
        // `fs::metadata` follows links.
        let kind = match fs::metadata(&path) {
            Ok(about) if about.is_dir() => Some(Kind::Directory),
            Ok(about) if about.is_file() => Some(Kind::File(about.len())),
            _ => None,
        };
        entries.push(Entry { name, path, kind });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Groups the entries of a directory into logs. `folder` is the prefix of the labels: empty, or the name of a directory
/// within the directory.
fn logs_among(entries: Vec<Entry>, folder: &str, sources: &mut Sources, left_out: &mut LeftOut) {
    let within = !folder.is_empty();
    let mut rolling: BTreeMap<String, Vec<(Rolled, Part)>> = BTreeMap::new();
    let mut rollovers = Vec::new();
    let status = |entry: &Entry| entry.name.starts_with("appstatus_");
    let finished = entries.iter().any(|entry| status(entry) && !entry.name.ends_with(".inprogress"));
    let unfinished = !finished && entries.iter().any(status);
    for entry in entries {
        let label = format!("{folder}{}", entry.name);
        match entry.kind {
            Some(Kind::File(size)) => {
                let part = Part { path: entry.path, label: label.clone(), size: Some(size) };
                if let Some((application, rolled)) = Rolled::of(&entry.name) {
                    rolling.entry(application.to_owned()).or_default().push((rolled, part));
                } else if rollover::is_part(&entry.name) {
                    rollovers.push(part);
                } else if !is_marker(&entry.name) {
                    let in_progress = entry.name.ends_with(".inprogress");
                    sources.logs.push(Log { label, parts: vec![part], in_progress });
                }
            }
            Some(Kind::Directory) if within => left_out.push(label, "a directory within a directory"),
            Some(Kind::Directory) => match self::entries(&entry.path) {
                Ok(inner) if inner.iter().any(Entry::is_part) => {
                    logs_among(inner, &format!("{label}/"), sources, left_out);
                }
                Ok(inner) if inner.iter().any(|entry| entry.name.starts_with("appstatus_")) => {
                    left_out.push(label, "a rolling log without event files");
                }
                Ok(_) => left_out.push(label, "a directory without parts of a log"),
                Err(error) => left_out.push(label, &error.to_string()),
            },
            None => left_out.push(label, "neither a file nor a directory"),
        }
    }
    for (application, parts) in rolling {
        let label = if within { folder.trim_end_matches('/').to_owned() } else { application };
        let parts = in_sequence(&label, 1, parts, &mut sources.warnings);
        sources.logs.push(Log { label, parts, in_progress: unfinished });
    }
    sources.logs.extend(rollover::join(rollovers, &mut sources.warnings));
}

/// Returns whether a file is a marker that Spark writes next to its logs and that has no events.
fn is_marker(name: &str) -> bool {
    // Spark 1.0 to 1.2 write the last three.
    let markers = ["appstatus_", "APPLICATION_COMPLETE", "SPARK_VERSION_", "COMPRESSION_CODEC_"];
    let unfinished_compaction = name.starts_with("events_") && name.ends_with(".compact.inprogress");
    markers.iter().any(|marker| name.starts_with(marker)) || unfinished_compaction
}

/// Removes files that are not logs, and second logs of the same application.
fn keep_logs(sources: &mut Sources, left_out: &mut LeftOut) {
    let mut kept: Vec<(Log, Identity)> = Vec::new();
    // Finished logs come first, so that of two logs of an application the finished log is kept.
    let mut logs = std::mem::take(&mut sources.logs);
    logs.sort_by_key(|log| log.in_progress);
    for log in logs {
        let known = log.parts.iter().find(|part| part.size != Some(0));
        let Some(part) = known else {
            left_out.push(log.label, "empty");
            continue;
        };
        let identity = match identify(&part.path) {
            Ok(identity) => identity,
            Err(why) => {
                left_out.push(log.label, &why);
                continue;
            }
        };
        let base = |log: &Log| without_codec(log.label.trim_end_matches(".inprogress")).to_owned();
        let same = kept.iter().find(|(other, of_other)| {
            identity.is_same(of_other, log.in_progress) || log.in_progress && base(&log) == base(other)
        });
        if let Some((other, _)) = same {
            let which = if log.in_progress && !other.in_progress { "the finished log" } else { "a log" };
            sources
                .warnings
                .push(format!("{} is left out: {} is {which} of the same application.", log.label, other.label));
            continue;
        }
        kept.push((log, identity));
    }
    sources.logs = kept.into_iter().map(|(log, _)| log).collect();
    sources.logs.sort_by(|a, b| a.label.cmp(&b.label));
}

impl LeftOut {
    fn push(&mut self, label: String, why: &str) {
        self.0.push((label, why.to_owned()));
    }

    fn add_warning(&self, warnings: &mut Vec<String>) {
        if self.0.is_empty() {
            return;
        }
        let named: Vec<String> =
            self.0.iter().take(MOST_NAMED).map(|(label, why)| format!("{label} ({why})")).collect();
        let all = self.0.len() as u64;
        let count = some(all, "entry", "entries");
        let (are, were) = if all == 1 { ("is", "was") } else { ("are", "were") };
        warnings.push(format!(
            "{count} of the directory {are} no Spark event log and {were} left out: {}.",
            names(&named, all)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_of_rolling_logs_are_parsed() {
        let of = |name| Rolled::of(name).map(|(application, rolled)| (application, rolled.number, rolled.compact));
        assert_eq!(of("events_1_app-2"), Some(("app-2", 1, false)));
        assert_eq!(of("events_12_application_1_2_1.zstd"), Some(("application_1_2_1", 12, false)));
        assert_eq!(of("events_3_app.lz4.compact"), Some(("app", 3, true)));
        assert_eq!(of("events_3_app.compact.inprogress"), None);
        for no in ["events_x_app", "events_1", "event_1_app", "events__app", "appstatus_app"] {
            assert_eq!(of(no), None, "{no}");
        }
        assert!(is_marker("appstatus_app.inprogress") && is_marker("events_3_app.compact.inprogress"));
    }

    fn sequence(names: &[&str]) -> (Vec<String>, Vec<String>) {
        let part = |name: &&str| {
            let (_, rolled) = Rolled::of(name).unwrap();
            (rolled, Part { path: PathBuf::new(), label: (*name).to_owned(), size: None })
        };
        let mut warnings = Vec::new();
        let parts = in_sequence("log", 1, names.iter().map(part).collect(), &mut warnings);
        (parts.into_iter().map(|part| part.label).collect(), warnings)
    }

    #[test]
    fn parts_are_read_in_order_from_the_last_compacted_one() {
        let (parts, warnings) = sequence(&["events_10_a", "events_2_a", "events_1_a", "events_3_a"]);
        assert_eq!(parts, ["events_1_a", "events_2_a", "events_3_a", "events_10_a"]);
        assert_eq!(warnings, ["log: the files numbered 4 to 9 are missing; the others were read."]);

        let (parts, warnings) =
            sequence(&["events_4_a", "events_1_a.compact", "events_3_a.compact", "events_3_a", "events_2_a"]);
        assert_eq!(parts, ["events_3_a.compact", "events_4_a"]);
        assert!(warnings.len() == 1 && warnings[0].contains("compacted"), "{warnings:?}");

        let (parts, warnings) = sequence(&["events_2_a", "events_3_a.zstd", "events_3_a"]);
        assert_eq!(parts, ["events_2_a", "events_3_a"]);
        assert!(warnings[0].starts_with("events_3_a.zstd is left out"), "{warnings:?}");
        assert!(warnings[1].contains("the file numbered 1 is missing"), "{warnings:?}");
    }
}
