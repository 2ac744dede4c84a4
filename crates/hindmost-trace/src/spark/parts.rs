//! Logs that consist of files, and the files' places in them.

use std::path::{Path, PathBuf};

/// A log: one file, or the parts of a log in order.
#[derive(Debug)]
pub(super) struct Log {
    /// The log's name in warnings: a path within the directory.
    pub label: String,
    pub parts: Vec<Part>,
    /// Whether the log's name says that the application is running. The application may also have been killed.
    pub in_progress: bool,
}

impl Log {
    /// Returns the log that a single file holds.
    pub(super) fn of(part: Part) -> Log {
        Log { label: part.label.clone(), parts: vec![part], in_progress: false }
    }
}

#[derive(Debug)]
pub(super) struct Part {
    pub path: PathBuf,
    pub label: String,
    /// Size in bytes; `None` if the path is not a regular file.
    pub size: Option<u64>,
}

/// Number and kind of a rolling log's file, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rolled {
    pub number: u64,
    /// True for a compacted file. It sorts after the plain file with the same number.
    pub compact: bool,
}

impl Rolled {
    /// Parses `events_NUMBER_APPLICATION`, with an ending for the codec, if it is compressed, and `.compact`. Also
    /// returns the application, with its attempt number.
    pub(super) fn of(name: &str) -> Option<(&str, Rolled)> {
        let rest = name.strip_prefix("events_")?;
        if rest.ends_with(".compact.inprogress") {
            return None;
        }
        let rest = rest.strip_suffix(".inprogress").unwrap_or(rest);
        let (rest, compact) = rest.strip_suffix(".compact").map_or((rest, false), |rest| (rest, true));
        let (number, application) = rest.split_once('_')?;
        let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
        Some((without_codec(application), Rolled { number, compact }))
    }
}

/// Returns whether a path is that of a compacted file.
pub(super) fn is_compacted(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.and_then(Rolled::of).is_some_and(|(_, rolled)| rolled.compact)
}

pub(super) fn without_codec(name: &str) -> &str {
    let codecs = [".zstd", ".zst", ".lz4", ".snappy", ".lzf", ".gz"];
    codecs.iter().find_map(|codec| name.strip_suffix(codec)).unwrap_or(name)
}

/// Returns the files of a rolling log by number, beginning with the last compacted one, as Spark reads them. `first` is
/// the number of a complete log's first file. Adds warnings about missing files.
pub(super) fn in_sequence(
    label: &str,
    first: u64,
    mut parts: Vec<(Rolled, Part)>,
    warnings: &mut Vec<String>,
) -> Vec<Part> {
    parts.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.label.cmp(&y.label)));
    let mut expected = first;
    if let Some(last) = parts.iter().rposition(|(rolled, _)| rolled.compact) {
        parts.drain(..last);
        expected = parts.first().map_or(first, |(rolled, _)| rolled.number);
        warnings.push(format!(
            "{label}: Spark has compacted this rolling log; most events of jobs that had ended are no longer in it. Its time begins with \
             the first job that is left, and what ran beside later ones may be missing."
        ));
    }
    let mut missing = Vec::new();
    let mut kept: Vec<Part> = Vec::new();
    for (rolled, part) in parts {
        if rolled.number < expected && !kept.is_empty() {
            warnings.push(format!("{} is left out: another file with this number was read.", part.label));
            continue;
        }
        if rolled.number > expected {
            missing.push(match rolled.number - 1 {
                last if last == expected => format!("{last}"),
                last => format!("{expected} to {last}"),
            });
        }
        expected = rolled.number.saturating_add(1);
        kept.push(part);
    }
    if !missing.is_empty() {
        let (files, are) = match &missing[..] {
            [only] if !only.contains(' ') => ("file", "is"),
            _ => ("files", "are"),
        };
        let missing = missing.join(", ");
        warnings.push(format!("{label}: the {files} numbered {missing} {are} missing; the others were read."));
    }
    kept
}
