//! Records as CSV (RFC 4180, but lines end in a line feed only).

use std::io::{self, BufWriter, Write};

use super::place::PartFile;
use super::{ATTEMPT_COLUMNS, Extra, JOB_COLUMNS, Kind, Value, of_attempt, of_job};

/// Size of the write buffer, in bytes.
const BUFFER: usize = 1 << 16;

pub(super) struct Tables {
    jobs: BufWriter<PartFile>,
    attempts: BufWriter<PartFile>,
}

impl super::Tables for Tables {
    fn begin(jobs: PartFile, attempts: PartFile, extra: Extra) -> io::Result<Tables> {
        let (jobs, attempts) =
            (begin(jobs, &of_job(extra, &JOB_COLUMNS))?, begin(attempts, of_attempt(extra, &ATTEMPT_COLUMNS))?);
        Ok(Tables { jobs, attempts })
    }

    fn job(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        write_row(&mut self.jobs, row)
    }

    fn attempt(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        write_row(&mut self.attempts, row)
    }

    fn finish(self) -> io::Result<()> {
        finish(self.jobs)?;
        finish(self.attempts)
    }
}

/// Writes the buffered rows and waits until the file is on the disk.
pub(super) fn finish(mut file: BufWriter<PartFile>) -> io::Result<()> {
    file.flush()?;
    file.get_ref().sync()
}

/// Begins a file with a line of column names.
pub(super) fn begin(file: PartFile, columns: &[(&str, Kind)]) -> io::Result<BufWriter<PartFile>> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let names: Vec<Value<'_>> = columns.iter().map(|(name, _)| Value::Text(name)).collect();
    write_row(&mut out, &names)?;
    Ok(out)
}

/// Writes a row. Numbers have as many digits as are needed to read the same number again.
pub(super) fn write_row(out: &mut impl Write, row: &[Value<'_>]) -> io::Result<()> {
    for (at, value) in row.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        match value {
            Value::Text(text) => write_text(out, text)?,
            Value::Seconds(number) => write!(out, "{number}")?,
            Value::Count(number) => write!(out, "{number}")?,
            Value::Missing => {}
        }
    }
    out.write_all(b"\n")
}

/// Writes a text. Text with commas, quotes or line ends is quoted, and its quotes are doubled.
fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    if !text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return out.write_all(text.as_bytes());
    }
    out.write_all(b"\"")?;
    for (at, part) in text.split('"').enumerate() {
        if at > 0 {
            out.write_all(b"\"\"")?;
        }
        out.write_all(part.as_bytes())?;
    }
    out.write_all(b"\"")
}
