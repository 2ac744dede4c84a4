//! Reads logs of any format, each once: recognises the format, and returns what a command wants of it.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use hindmost_core::metrics::{Diagnosis, Findings};

use crate::error::TraceError;
use crate::format::{Beginning, Format, Input, Kind, LOOKED_AT, Source, Stream, TaskFormat};
use crate::hadoop::{self, Hadoop};
use crate::journal::{self, Journal, RecordedRun};
use crate::reading::compression::Plain;
use crate::reading::progress::OnProgress;
use crate::reading::window::Window;
use crate::recorder::{Kept, Recorder, Wanted};
use crate::recording::Recording;
use crate::replay::{self, Application, Replay};
use crate::spark::{self, Spark};
use crate::summary::TraceSummary;
use crate::table::{self, Columns};
use crate::tasks::{Collector, Rows, folders};
use crate::{condor, dask, flink, nextflow, parallel, ray, slurm, snakemake, swf, trino};

/// The path that stands for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// A log that was read.
#[derive(Debug)]
pub struct Log {
    /// Its format.
    pub kind: Kind,
    /// Its name in errors.
    pub name: String,
    /// The counts, and warnings about problems that the reader worked around.
    pub summary: TraceSummary,
    /// What stragglers cost in it and why, if diagnoses were wanted.
    pub findings: Findings,
    /// What each of its applications spent its time on, if diagnoses were wanted.
    pub diagnoses: Vec<Diagnosis>,
    kept: Kept,
}

impl Log {
    /// Returns the recordings that were kept, in the order of the log. If a log that is read row by row was read for a replay of all of its
    /// jobs, these are one recording.
    pub fn recordings(&self) -> &[Recording] {
        match &self.kept.joined {
            Some(joined) if self.kept.recordings.is_empty() => std::slice::from_ref(joined.recording()),
            _ => &self.kept.recordings,
        }
    }

    /// Returns the run of a journal, if replays were wanted; `None` for other logs.
    pub fn take_run(&mut self) -> Option<RecordedRun> {
        self.kept.run.take()
    }

    /// Returns warnings about what is left out of the replay of a [run](Log::take_run).
    pub fn about_replays(&self) -> &[String] {
        &self.kept.about
    }

    /// Returns the version of the engine of the first application, if the log has it.
    pub fn version(&self) -> Option<&str> {
        self.kept.recordings.first()?.version.as_deref()
    }

    /// Returns all applications together as jobs and nodes that can run again, and warnings about what was left out, if replays of all were
    /// wanted. A journal has a [run](Log::take_run) instead.
    pub fn into_replay(self) -> (Replay, Vec<String>) {
        replay::together(self.kind, &self.summary, self.kept)
    }

    /// Returns the applications that are kept and can be replayed, each alone.
    pub fn take_applications(&mut self) -> Vec<Application> {
        replay::applications(self.kind, std::mem::take(&mut self.kept))
    }
}

/// Calls `with` with the readers of all formats, in the order in which they recognise logs. Spark's is the last.
fn with_formats<T>(columns: &Columns, with: impl FnOnce(&[&dyn Format]) -> T) -> T {
    let table =
        |window: Window<'_>, name: &str, collector: &mut Collector| table::read(window, name, columns, collector);
    let table = Rows { format: TaskFormat::Table, is_one: table::is_one, in_folders: None, read: &table };
    if !columns.is_empty() {
        // Where the user names columns, every file is a table.
        return with(&[&table]);
    }
    with(&[
        &Journal,
        &Hadoop,
        &ray::READER,
        &trino::READER,
        &flink::READER,
        &dask::READER,
        &snakemake::READER,
        &swf::READER,
        &condor::READER,
        &parallel::READER,
        &slurm::READER,
        &nextflow::READER,
        &table,
        &Spark,
    ])
}

/// Returns the reader of a log that begins like this.
fn reader_of<'f>(formats: &[&'f dyn Format], beginning: &Beginning<'_>) -> Option<&'f dyn Format> {
    match formats {
        [only] => Some(*only),
        all => all.iter().find(|format| format.is_one(beginning)).copied(),
    }
}

/// Returns the format of a log with this decompressed beginning, if each of its rows is an attempt; `None` for other logs. A table is
/// recognised by its columns, or by those of `columns`.
pub fn sniff(beginning: &[u8], columns: &Columns) -> Option<TaskFormat> {
    let kind = with_formats(columns, |formats| Some(reader_of(formats, &Beginning::new(beginning, beginning))?.kind()));
    match kind {
        Some(Kind::Tasks(format)) => Some(format),
        _ => None,
    }
}

/// Returns the format of the log at a path. A file is recognised by its first bytes, a folder by its contents. A folder
/// that holds Spark logs directly counts as Spark; any other folder with logs of several kinds counts as Hadoop. The
/// readers' warnings name the logs that they leave out.
///
/// # Errors
/// If the path can't be read, or is a folder without any log.
pub fn kind(path: &Path) -> Result<Kind, TraceError> {
    with_formats(&Columns::default(), |formats| Ok(opened(path, formats)?.0.kind()))
}

/// Returns what is in a folder that is not a log itself, in order; empty for a folder that is one log, and for a file.
pub fn parts(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() || journal::of_folder(path).is_some() || spark::is_one_log(path) || of_files(path).is_some() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']));
    entries.retain(|entry| !is_hidden(entry) && !is_beside_logs(entry));
    entries.sort();
    entries
}

/// Returns whether a file is no log, but belongs to one beside it: the configuration of a job of Hadoop.
pub fn is_beside_logs(path: &Path) -> bool {
    hadoop::is_configuration(path)
}

/// Reads the log at a path. The path `-` is the standard input. The standard input and pipes may hold a log of any format. If `columns`
/// names any column, a file is read as a table.
///
/// # Errors
/// As for [`kind`], and the errors of the format's own reader.
pub fn read(
    path: &Path,
    columns: &Columns,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    if path == Path::new(STANDARD_INPUT) {
        return read_stream(io::stdin().lock(), "standard input", columns, wanted, progress);
    }
    if let Some(file) = pipe(path)? {
        return read_stream(file, &path.display().to_string(), columns, wanted, progress);
    }
    with_formats(columns, |formats| {
        let (format, opened) = opened(path, formats)?;
        let Opened::File(file, path) = &opened else {
            return read_with(format, Input::Folder(path), wanted, progress);
        };
        let about = file.metadata().map_err(|source| TraceError::Open { path: path.clone(), source })?;
        let (name, size) = (path.display().to_string(), about.is_file().then_some(about.len()));
        let input = Input::Stream(Stream { reader: Box::new(file), name, path: Some(path), size });
        read_with(format, input, wanted, progress)
    })
}

/// Does the same as [`read`] for a log that is read from `reader`. `name` is the log's name in errors.
///
/// # Errors
/// If reading fails, and the errors of the format's own reader.
pub fn read_stream(
    mut reader: impl Read,
    name: &str,
    columns: &Columns,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    let mut beginning = Vec::new();
    let read = reader.by_ref().take(LOOKED_AT as u64).read_to_end(&mut beginning);
    read.map_err(|source| TraceError::Read { name: name.to_owned(), position: 0, source })?;
    let plain = plain(&beginning);
    with_formats(columns, |formats| {
        let format = reader_of(formats, &Beginning::new(&beginning, &plain)).unwrap_or(&Spark);
        let reader = Box::new(Cursor::new(&beginning).chain(reader));
        let input = Input::Stream(Stream { reader, name: name.to_owned(), path: None, size: None });
        read_with(format, input, wanted, progress)
    })
}

/// Reads a log as one of this format, whatever it looks like. `name` is the log's name in errors.
///
/// # Errors
/// The errors of the format's reader.
pub fn read_as(
    kind: Kind,
    reader: impl Read,
    name: &str,
    columns: &Columns,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    with_formats(columns, |formats| {
        let format = formats.iter().find(|format| format.kind() == kind).copied().unwrap_or(&Spark);
        let stream = Stream { reader: Box::new(reader), name: name.to_owned(), path: None, size: None };
        read_with(format, Input::Stream(stream), wanted, progress)
    })
}

/// Reads a log of this format.
pub(crate) fn read_with(
    format: &dyn Format,
    input: Input<'_>,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    let mut recorder = Recorder::new(wanted);
    let name = match &input {
        Input::Folder(path) => path.display().to_string(),
        Input::Stream(stream) => stream.name.clone(),
    };
    let mut on_progress = progress.map(|report| |done: u64, total: Option<u64>| report(done, total));
    let progress = on_progress.as_mut().map(|report| report as OnProgress<'_>);
    let summary = format.read(Source { input, progress }, &mut recorder)?;
    let (findings, diagnoses, kept) = recorder.into_parts();
    Ok(Log { kind: format.kind(), name, summary, findings, diagnoses, kept })
}

/// Opens the log at a path, and returns the reader of its format.
fn opened<'f>(path: &Path, formats: &[&'f dyn Format]) -> Result<(&'f dyn Format, Opened), TraceError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TraceError::Open { path, source }
    };
    if !path.is_dir() {
        let mut file = File::open(path).map_err(failed(path))?;
        let format = recognised(&mut file, formats).map_err(failed(path))?;
        return Ok((format, Opened::File(file, path.to_owned())));
    }
    if let Some(journal) = journal::of_folder(path) {
        let file = File::open(&journal).map_err(failed(&journal))?;
        return Ok((&Journal, Opened::File(file, journal)));
    }
    if spark::is_log_directory(path) {
        return Ok((&Spark, Opened::Folder));
    }
    if hadoop::is_log_directory(path).map_err(failed(path))? {
        return Ok((&Hadoop, Opened::Folder));
    }
    if let Some(reader) = of_files(path)
        && let Some(format) = formats.iter().find(|format| format.kind() == reader.kind())
    {
        return Ok((*format, Opened::Folder));
    }
    Err(TraceError::Directory { path: path.to_owned() })
}

/// Returns the reader of a folder whose files are parts of one log of attempts.
fn of_files(path: &Path) -> Option<&'static Rows<'static>> {
    const OF_FILES: [&Rows<'_>; 2] = [&flink::READER, &snakemake::READER];
    OF_FILES.into_iter().find(|reader| reader.in_folders.is_some_and(|how| folders::find(path, how.is_part).is_some()))
}

/// A log that was opened.
enum Opened {
    /// A folder of logs.
    Folder,
    /// A file at its beginning, and its path.
    File(File, PathBuf),
}

/// Returns the reader of a file's format, and leaves the file at its beginning.
fn recognised<'f>(file: &mut File, formats: &[&'f dyn Format]) -> io::Result<&'f dyn Format> {
    if let [only] = formats {
        return Ok(*only);
    }
    let (mut raw, mut plain) = (Vec::new(), Vec::new());
    file.take(LOOKED_AT as u64).read_to_end(&mut raw)?;
    file.rewind()?;
    if !Journal.is_one(&Beginning::new(&raw, &[])) {
        Plain::new(&mut *file)?.take(LOOKED_AT as u64).read_to_end(&mut plain)?;
        file.rewind()?;
    }
    Ok(reader_of(formats, &Beginning::new(&raw, &plain)).unwrap_or(&Spark))
}

/// Opens a pipe, or another file that can be read only once; `None` for other paths.
fn pipe(path: &Path) -> Result<Option<File>, TraceError> {
    let about = std::fs::metadata(path);
    if !about.is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Ok(None);
    }
    File::open(path).map(Some).map_err(|source| TraceError::Open { path: path.to_owned(), source })
}

/// Returns the decompressed beginning of a log, as far as the given bytes reach.
fn plain(beginning: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    if let Ok(reader) = Plain::new(beginning) {
        // An error is expected here: the compressed data end after `LOOKED_AT` bytes.
        let _ = reader.take(LOOKED_AT as u64).read_to_end(&mut plain);
    }
    plain
}
