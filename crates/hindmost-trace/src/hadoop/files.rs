//! Finds Hadoop logs in folders.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::configuration;
use super::format::{HadoopFormat, LOOKED_AT, sniff};
use crate::reading::compression::Plain;
use crate::spark;

/// The deepest nesting of folders that are searched.
const DEEPEST: u32 = 64;

/// Returns the format of a file, from its first kilobytes.
///
/// # Errors
///
/// If the file can't be opened or read.
pub(super) fn format_of(path: &Path) -> io::Result<Option<HadoopFormat>> {
    let mut beginning = Vec::new();
    Plain::new(File::open(path)?)?.take(LOOKED_AT as u64).read_to_end(&mut beginning)?;
    Ok(sniff(&beginning))
}

/// The logs in a folder and below it.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files to read, ordered by path.
    pub files: Vec<PathBuf>,
    /// Number of Rumen traces that are left out because there are job histories.
    pub rumen_left_out: u64,
    /// Number of histories that are left out because the same job has a later history.
    pub superseded: u64,
    /// Number of Spark event logs that are left out.
    pub spark_left_out: u64,
    /// Names of the first of these Spark event logs.
    pub spark: Vec<String>,
    /// Number of files and folders that could not be opened.
    pub unopened: u64,
}

/// The most left-out files that are named.
const MOST_NAMED: usize = 5;

/// Finds the job histories in a folder, or the Rumen traces if there is no history.
///
/// # Errors
///
/// If the folder can't be read.
pub(super) fn find_logs(folder: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    let mut all = Vec::new();
    walk(fs::read_dir(folder)?, 0, &mut all, &mut found.unopened);
    all.sort();
    let (named, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| is_history(path));
    let mut histories = named;
    let mut traces = Vec::new();
    for path in others.into_iter().filter(|path| may_be_log(path)) {
        match format_of(&path) {
            Ok(Some(HadoopFormat::Rumen)) => traces.push(path),
            Ok(Some(_)) => histories.push(path),
            Ok(None) if spark::is_log(&path) => {
                found.spark_left_out += 1;
                if found.spark.len() < MOST_NAMED {
                    found.spark.push(path.strip_prefix(folder).unwrap_or(&path).display().to_string());
                }
            }
            Ok(None) => {}
            Err(_) => found.unopened += 1,
        }
    }
    if histories.is_empty() {
        found.files = traces;
        return Ok(found);
    }
    found.rumen_left_out = traces.len() as u64;
    histories.sort();
    found.superseded = histories.len() as u64;
    found.files = latest(histories);
    found.superseded -= found.files.len() as u64;
    Ok(found)
}

fn walk(entries: fs::ReadDir, depth: u32, all: &mut Vec<PathBuf>, unopened: &mut u64) {
    for entry in entries {
        let Ok((kind, entry)) = entry.and_then(|entry| Ok((entry.file_type()?, entry))) else {
            *unopened += 1;
            continue;
        };
        let path = entry.path();
        if kind.is_dir() {
            match fs::read_dir(&path) {
                Ok(entries) if depth < DEEPEST => walk(entries, depth + 1, all, unopened),
                _ => *unopened += 1,
            }
        } else if kind.is_file() || path.is_file() {
            all.push(path);
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_history(path: &Path) -> bool {
    let name = file_name(path);
    let (stem, extension) = split_name(
        [".gz", ".zst", ".zstd", ".lz4", ".snappy"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name),
    );
    extension == "jhist" && !stem.is_empty()
}

/// Splits a file name at its last dot.
fn split_name(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// Returns whether a file that is not named like a history may be a log: it is not hidden, and is neither a checksum
/// nor a job's configuration.
fn may_be_log(path: &Path) -> bool {
    if configuration::is_named_like_one(path) {
        return false;
    }
    let name = file_name(path);
    let (_, extension) = split_name(&name);
    !name.starts_with(['.', '_']) && !matches!(extension, "xml" | "crc" | "summary" | "csv" | "md" | "txt")
}

/// Keeps one history for each job. The history of a finished job (`job_1_0001-…-SUCCEEDED-….jhist`) is preferred to
/// histories that the ApplicationMasters of the running job left (`job_1_0001_1.jhist`). Among these, the last one is
/// preferred.
fn latest(histories: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::with_capacity(histories.len());
    let mut by_job = std::collections::BTreeMap::<String, usize>::new();
    for path in histories {
        let name = file_name(&path);
        let Some(job) = job_of(&name) else {
            kept.push(path);
            continue;
        };
        match by_job.get(job) {
            Some(&at) if rank(&file_name(&kept[at])) <= rank(&name) => kept[at] = path,
            Some(_) => {}
            None => {
                by_job.insert(job.to_owned(), kept.len());
                kept.push(path);
            }
        }
    }
    kept
}

/// Returns `job_1_0001` for `job_1_0001-….jhist` and `job_1_0001_2.jhist`.
fn job_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("job_")?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(rest);
    let second = digits(rest[first..].strip_prefix('_')?);
    let end = "job_".len() + first + 1 + second;
    (first > 0 && second > 0 && name[end..].starts_with(['-', '_', '.'])).then(|| &name[..end])
}

/// Returns the rank of a history among the histories of its job; the history with the highest rank is kept. Histories
/// of running jobs are ranked by the number of the ApplicationMaster; the history of the finished job is above them.
fn rank(name: &str) -> (bool, u64) {
    let rest = job_of(name).map_or("", |job| &name[job.len()..]);
    let master = rest.strip_prefix('_').and_then(|rest| rest.split('.').next()).and_then(|n| n.parse().ok());
    (rest.starts_with('-'), master.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_history_of_each_job_is_kept() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            latest(paths(&[
                "a/job_1_0001-5-u-n-9-1-0-SUCCEEDED-default.jhist",
                "b/job_1_0001_1.jhist",
                "b/job_1_0002_10.jhist",
                "b/job_1_0002_9.jhist",
                "other.jhist",
                "x/other.jhist"
            ])),
            paths(&[
                "a/job_1_0001-5-u-n-9-1-0-SUCCEEDED-default.jhist",
                "b/job_1_0002_10.jhist",
                "other.jhist",
                "x/other.jhist"
            ])
        );
        assert_eq!(job_of("job_1_0001.jhist"), Some("job_1_0001"));
        for none in ["job_", "job_1", "job_1_", "job_x_1-", "job_1_2", "xjob_1_2-"] {
            assert_eq!(job_of(none), None, "{none}");
        }
    }
}
