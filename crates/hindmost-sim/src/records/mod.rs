//! Record files of a run: one row for each finished job, and one for each attempt.
//!
//! [`open`] returns the output of one run. It writes `DIR/POLICY/SEED/jobs.csv` and `attempts.csv` (or
//! `.parquet`) row by row, so that its memory does not grow with the run. Until
//! [`FinishedOutput::complete`] is called, the files are named `jobs.csv.part` and `attempts.csv.part`. An output that
//! is dropped before this call removes these files and the folders that it created.
//!
//! Times are seconds since the run began. Jobs that have not finished when a run stops, and abandoned jobs, have no row.
//! Their attempts do, with the outcome `unfinished` if they were still running and `abandoned` if they were stopped because
//! the policy abandoned their job. Rows are in the order in which jobs and attempts
//! ended.

mod csv;
mod name;
mod parquet;
mod place;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use hindmost_core::metrics::JobResult;
use hindmost_math::suggest::did_you_mean;

use crate::experiment::FinishedOutput;
use crate::output::{AttemptResult, Output};
use place::{PartFile, Place};

/// The format of record files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// CSV (RFC 4180, but lines end in a line feed only) with a line of column names.
    #[default]
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Returns the name of the format, which is also the extension of its files.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a format of records; use csv or parquet{near}", near = did_you_mean(.0, ["csv", "parquet"]))]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Format, UnknownFormat> {
        let known = [Format::Csv, Format::Parquet];
        known.into_iter().find(|format| format.name() == text).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// Returns the folder of one run's records: `DIR/POLICY/SEED`.
///
/// The policy's label is encoded so that every file system accepts it and no two labels share a folder. ASCII letters,
/// digits and `+-_=.,()` are kept. Other bytes are written `%XX`, and so are a dot at either end and the first letter
/// of a name that Windows reserves for devices. A label that is too long is cut and gets a hash of the whole label.
pub fn folder(dir: &Path, policy: &str, seed: u64) -> PathBuf {
    dir.join(name::safe(policy)).join(seed.to_string())
}

/// Encodes a label as the name of a folder; see [`folder`].
pub fn safe_name(label: &str) -> String {
    name::safe(label)
}

/// Which optional columns the rows have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Rows of jobs have the columns `deadline` and `lateness` (finish − deadline), in seconds; both are NaN for a job
    /// without a deadline.
    pub deadlines: bool,
    /// Rows have the column `energy`, the energy of the job's attempts or of the attempt in joules.
    pub energy: bool,
}

/// Opens the record files of one run of the policy with this label.
///
/// # Errors
/// If the folder or a file cannot be created; the message names the path.
pub fn open(
    dir: &Path,
    format: Format,
    (policy, seed): (&str, u64),
    extra: Extra,
) -> io::Result<Box<dyn FinishedOutput>> {
    let (place, [jobs, attempts]) = Place::open(folder(dir, policy, seed), ["jobs", "attempts"], format.name())?;
    Ok(match format {
        Format::Csv => Box::new(Records { tables: csv::Tables::begin(jobs, attempts, extra)?, extra, place }),
        Format::Parquet => Box::new(Records { tables: parquet::Tables::begin(jobs, attempts, extra)?, extra, place }),
    })
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Seconds, or another real number.
    Seconds,
    /// A whole number that is not negative.
    Count,
}

/// A value of a row; its type is that of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Text.
    Text(&'a str),
    /// Seconds, or another real number, such as joules.
    Seconds(f64),
    /// A whole number that is not negative.
    Count(u64),
    /// A real number that does not exist: an empty field in CSV, NaN in Parquet.
    Missing,
}

/// Writes a table to the file `FOLDER/NAME.csv` or `FOLDER/NAME.parquet`. `fill` receives a function that writes a row,
/// which has a value for each column. The file appears under its name when it is complete.
///
/// # Errors
/// If the file cannot be written; the message names the path.
pub fn write_table(
    folder: &Path,
    name: &str,
    format: Format,
    columns: &[(&str, Kind)],
    fill: impl FnOnce(&mut dyn FnMut(&[Value<'_>]) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let (place, [file]) = Place::open(folder.to_path_buf(), [name], format.name())?;
    match format {
        Format::Csv => {
            let mut out = csv::begin(file, columns)?;
            fill(&mut |row| csv::write_row(&mut out, row))?;
            csv::finish(out)?;
        }
        Format::Parquet => {
            let mut table = parquet::Table::begin(file, columns)?;
            fill(&mut |row| table.push(row))?;
            table.finish()?;
        }
    }
    place.keep()
}

/// The last column of both tables, which they have only with power models.
const ENERGY: (&str, Kind) = ("energy", Kind::Seconds);

/// Number of columns of attempts before the energy.
const ATTEMPT_BASE: usize = 8;
/// Number of columns of jobs before those about deadlines.
const JOB_BASE: usize = 9;

/// Returns the columns of the table of attempts, or the values of a row, without the energy if there are no energies.
fn of_attempt<T>(extra: Extra, all: &[T]) -> &[T] {
    &all[..ATTEMPT_BASE + usize::from(extra.energy)]
}

/// Returns the columns of the table of jobs, or the values of a row, without the optional ones that are not wanted.
pub fn of_job<T: Copy>(extra: Extra, all: &[T; 12]) -> Vec<T> {
    let [.., energy] = all;
    let mut wanted = all[..JOB_BASE + if extra.deadlines { 2 } else { 0 }].to_vec();
    wanted.extend(extra.energy.then_some(*energy));
    wanted
}

/// Columns of the jobs, in the order of [`job_row`].
pub const JOB_COLUMNS: [(&str, Kind); 12] = [
    ("job", Kind::Text),
    ("arrival", Kind::Seconds),
    ("start", Kind::Seconds),
    ("finish", Kind::Seconds),
    ("flowtime", Kind::Seconds),
    ("running_time", Kind::Seconds),
    ("resource", Kind::Seconds),
    ("tasks", Kind::Count),
    ("attempts", Kind::Count),
    ("deadline", Kind::Seconds),
    ("lateness", Kind::Seconds),
    ENERGY,
];

/// Columns of the attempts, in the order of [`attempt_row`].
const ATTEMPT_COLUMNS: [(&str, Kind); 9] = [
    ("job", Kind::Text),
    ("phase", Kind::Text),
    ("task", Kind::Count),
    ("copy", Kind::Count),
    ("node", Kind::Text),
    ("start", Kind::Seconds),
    ("end", Kind::Seconds),
    ("outcome", Kind::Text),
    ENERGY,
];

/// Returns a job's row, in the order of [`JOB_COLUMNS`].
pub fn job_row<'a>(name: &'a str, result: &JobResult) -> [Value<'a>; 12] {
    [
        Value::Text(name),
        Value::Seconds(result.arrival),
        Value::Seconds(result.start),
        Value::Seconds(result.finish),
        Value::Seconds(result.flowtime()),
        Value::Seconds(result.running_time()),
        Value::Seconds(result.resource),
        Value::Count(result.tasks),
        Value::Count(result.attempts),
        Value::Seconds(result.deadline.unwrap_or(f64::NAN)),
        Value::Seconds(result.lateness().unwrap_or(f64::NAN)),
        result.energy.map_or(Value::Missing, Value::Seconds),
    ]
}

fn attempt_row<'a>(result: &'a AttemptResult<'_>) -> [Value<'a>; 9] {
    [
        Value::Text(&result.job.name),
        Value::Text(result.phase_name()),
        Value::Count(u64::from(result.attempt.task.index)),
        Value::Count(u64::from(result.attempt.copy)),
        Value::Text(result.node_name),
        Value::Seconds(result.start.seconds()),
        Value::Seconds(result.end.seconds()),
        Value::Text(result.outcome.name()),
        Value::Seconds(result.energy.map_or(0.0, |energy| energy.joules)),
    ]
}

/// The two files of a run in one of the formats.
trait Tables: Sized {
    /// Begins both files; `extra` says which optional columns rows have.
    fn begin(jobs: PartFile, attempts: PartFile, extra: Extra) -> io::Result<Self>;
    fn job(&mut self, row: &[Value<'_>]) -> io::Result<()>;
    fn attempt(&mut self, row: &[Value<'_>]) -> io::Result<()>;
    /// Writes all buffered rows to the files and waits until the files are on the disk.
    fn finish(self) -> io::Result<()>;
}

/// The output of a run. The order of the fields matters: files are closed before they are removed.
struct Records<T> {
    tables: T,
    /// Which optional columns rows have.
    extra: Extra,
    place: Place,
}

impl<T: Tables> Output for Records<T> {
    fn job(&mut self, name: &Arc<str>, result: &JobResult) -> io::Result<()> {
        self.tables.job(&of_job(self.extra, &job_row(name, result)))
    }

    fn wants_attempts(&self) -> bool {
        true
    }

    fn attempt(&mut self, result: &AttemptResult<'_>) -> io::Result<()> {
        self.tables.attempt(of_attempt(self.extra, &attempt_row(result)))
    }
}

impl<T: Tables> FinishedOutput for Records<T> {
    fn complete(self: Box<Self>) -> io::Result<()> {
        let Records { tables, place, .. } = *self;
        tables.finish()?;
        place.keep()
    }
}

#[cfg(test)]
mod tests;
