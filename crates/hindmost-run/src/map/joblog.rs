//! The job log (`--joblog`) in the format of GNU parallel: a line for each task that has ended.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::MapError;

/// The first line of a job log.
const HEADER: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
/// The host of tasks on this machine.
const THIS_MACHINE: &str = ":";
/// Number of bytes that are read at a time to find the last line.
const BLOCK: u64 = 65_536;

/// One line of a job log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry<'a> {
    /// Number of the task, from 1.
    pub number: u64,
    /// When the attempt was started, in seconds since 1970.
    pub start: f64,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Number of bytes of its standard output.
    pub output: u64,
    /// Exit code of its command; -1 if it was stopped.
    pub exit: i32,
    /// The signal that ended its command; 0 if none did.
    pub signal: i32,
    /// The command.
    pub command: &'a [u8],
}

/// A job log that is being written.
#[derive(Debug)]
pub struct JobLog {
    path: PathBuf,
    file: File,
}

impl JobLog {
    /// Opens a job log. Empties it, or appends to it if `keeps`. A new log begins with the header. Before something is
    /// appended, a last line that is cut off is removed.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn open(path: &Path, keeps: bool) -> Result<JobLog, MapError> {
        let fault = |error| MapError::Io { path: path.to_owned(), error };
        let mut options = OpenOptions::new();
        let options = options.create(true);
        let mut file = if keeps { options.read(true).append(true) } else { options.write(true).truncate(true) }
            .open(path)
            .map_err(fault)?;
        if keeps {
            end_last_line(&mut file).map_err(fault)?;
        }
        if file.metadata().map_err(fault)?.len() == 0 {
            file.write_all(HEADER.as_bytes()).map_err(fault)?;
        }
        Ok(JobLog { path: path.to_owned(), file })
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, at once.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn add(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let Entry { number, start, seconds, output, exit, signal, command } = entry;
        let mut line = format!("{number}\t{THIS_MACHINE}\t{start:.3}\t{seconds:10.3}\t0\t{output}\t{exit}\t{signal}\t")
            .into_bytes();
        // A command of several lines stays on one line of the log.
        line.extend(command.iter().map(|byte| if *byte == b'\n' { 0 } else { *byte }));
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// Removes a last line without a line feed from a job log. A file that is not a job log keeps it, and gets the line feed.
fn end_last_line(file: &mut File) -> io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut whole = 0;
    let mut end = length;
    while end > 0 && whole == 0 {
        let begin = end.saturating_sub(BLOCK);
        let block = read_at(file, begin, end - begin)?;
        whole = block.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| begin + at as u64 + 1);
        end = begin;
    }
    if whole == length {
        return Ok(());
    }
    let first = read_at(file, 0, length.min(HEADER.len() as u64))?;
    if HEADER.as_bytes().starts_with(&first) { file.set_len(whole) } else { file.write_all(b"\n") }
}

fn read_at(file: &mut File, begin: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    (&*file).take(length).read_to_end(&mut block)?;
    Ok(block)
}

/// The tasks that an earlier run has entered into a job log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Tasks by number, each with whether it succeeded.
    tasks: BTreeMap<u64, bool>,
    /// The last line has no line feed, so it does not count.
    is_cut_off: bool,
}

impl Earlier {
    /// Reads a job log. A log that does not exist has no tasks. A last line without a line feed does not count, because the
    /// run ended while it was written.
    ///
    /// # Errors
    /// If the log can't be read, or is not a job log.
    pub fn read(path: &Path) -> Result<Earlier, MapError> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Earlier::default()),
            Err(error) => return Err(MapError::Io { path: path.to_owned(), error }),
        };
        let mut tasks = BTreeMap::new();
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for (at, line) in text[..whole].split(|byte| *byte == b'\n').enumerate() {
            let fields: Vec<&[u8]> = line.splitn(9, |byte| *byte == b'\t').collect();
            if at == 0 || line.is_empty() {
                continue;
            }
            let number = |field: usize| -> Option<i64> { std::str::from_utf8(fields.get(field)?).ok()?.parse().ok() };
            let (Some(task), Some(exit), Some(signal)) = (number(0), number(6), number(7)) else {
                return Err(MapError::Values(format!(
                    "{}: line {} is not a line of a job log: give the log of an earlier run, or remove it",
                    path.display(),
                    at + 1
                )));
            };
            tasks.insert(task as u64, exit == 0 && signal == 0);
        }
        Ok(Earlier { tasks, is_cut_off: whole < text.len() })
    }

    /// True if the last line of the log is cut off.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// True if the log has a task with this number. With `only_good`, the task must have succeeded.
    pub fn has(&self, number: u64, only_good: bool) -> bool {
        self.tasks.get(&number).is_some_and(|good| *good || !only_good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, exit: i32) -> Entry<'static> {
        Entry { number, start: 12.5, seconds: 1.25, output: 7, exit, signal: 0, command: b"echo a\nb" }
    }

    #[test]
    fn lines_are_those_of_gnu_parallel() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = JobLog::open(&path, false).unwrap();
        log.add(&entry(3, 0)).unwrap();
        let mut log = JobLog::open(&path, true).unwrap();
        log.add(&entry(1, 2)).unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(
            text,
            format!(
                "{HEADER}3\t:\t12.500\t     1.250\t0\t7\t0\t0\techo a\0b\n1\t:\t12.500\t     1.250\t0\t7\t2\t0\techo a\0b\n"
            )
        );
        JobLog::open(&path, false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), HEADER);
    }

    #[test]
    fn the_last_line_of_a_task_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(Earlier::read(&path).unwrap(), Earlier::default());
        let mut log = JobLog::open(&path, false).unwrap();
        for (number, exit) in [(1, 0), (2, 3), (4, 1), (4, 0)] {
            log.add(&entry(number, exit)).unwrap();
        }
        let earlier = Earlier::read(&path).unwrap();
        let has = |only_good| [1, 2, 3, 4].map(|number| earlier.has(number, only_good));
        assert_eq!((has(false), has(true)), ([true, true, false, true], [true, false, false, true]));
        std::fs::write(&path, "x\nnot a log\n").unwrap();
        assert!(Earlier::read(&path).unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn a_last_line_that_is_cut_off_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let long = vec![b'x'; 70_000];
        let mut log = JobLog::open(&path, false).unwrap();
        log.add(&entry(1, 0)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        log.add(&Entry { command: &long, ..entry(2, 0) }).unwrap();
        let all = std::fs::read(&path).unwrap();
        // Cut within the long command, within the fields, at a line feed, and within the header.
        for (length, kept) in [
            (all.len() - 1, whole.len()),
            (whole.len() + 3, whole.len()),
            (whole.len(), whole.len()),
            (HEADER.len() - 4, 0),
        ] {
            std::fs::write(&path, &all[..length]).unwrap();
            let earlier = Earlier::read(&path).unwrap();
            assert_eq!((earlier.has(1, true), earlier.has(2, false)), (kept > 0, false), "{length}");
            assert_eq!(earlier.is_cut_off(), kept != length);
            JobLog::open(&path, true).unwrap().add(&entry(1, 0)).unwrap();
            let expected = if kept == 0 { whole.clone() } else { [&whole[..], &whole[HEADER.len()..]].concat() };
            assert_eq!(std::fs::read(&path).unwrap(), expected, "{length}");
        }
    }

    #[test]
    fn other_files_keep_their_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        std::fs::write(&path, "my notes").unwrap();
        JobLog::open(&path, true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
    }
}
