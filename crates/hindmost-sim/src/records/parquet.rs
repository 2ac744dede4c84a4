//! Records as Apache Parquet: text as UTF-8 strings, seconds as doubles, counts as 64-bit integers, no nulls; pages are
//! compressed with snappy.
//!
//! Rows are buffered by column and written in row groups of [`GROUP`] rows.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::place::PartFile;
use super::{ATTEMPT_COLUMNS, Extra, JOB_COLUMNS, Kind, Value, of_attempt, of_job};

/// Number of rows in a row group. A file has at most 32 767 groups.
pub(super) const GROUP: usize = 1 << 16;

pub(super) struct Tables {
    jobs: Table,
    attempts: Table,
}

impl super::Tables for Tables {
    fn begin(jobs: PartFile, attempts: PartFile, extra: Extra) -> io::Result<Tables> {
        let (jobs, attempts) = (
            Table::begin(jobs, &of_job(extra, &JOB_COLUMNS))?,
            Table::begin(attempts, of_attempt(extra, &ATTEMPT_COLUMNS))?,
        );
        Ok(Tables { jobs, attempts })
    }

    fn job(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.jobs.push(row)
    }

    fn attempt(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.attempts.push(row)
    }

    fn finish(self) -> io::Result<()> {
        self.jobs.finish()?;
        self.attempts.finish()
    }
}

/// The buffered values of a column.
enum Column {
    Text(Vec<ByteArray>),
    Seconds(Vec<f64>),
    Count(Vec<i64>),
}

impl Column {
    fn new(kind: Kind) -> Column {
        match kind {
            Kind::Text => Column::Text(Vec::new()),
            Kind::Seconds => Column::Seconds(Vec::new()),
            Kind::Count => Column::Count(Vec::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Column::Text(values), Value::Text(text)) => {
                // Many consecutive rows have the same job, phase and outcome: they share one allocation.
                let same = values.last().filter(|last| last.data() == text.as_bytes()).cloned();
                values.push(same.unwrap_or_else(|| ByteArray::from(text)));
            }
            (Column::Seconds(values), Value::Seconds(number)) => values.push(number),
            (Column::Seconds(values), Value::Missing) => values.push(f64::NAN),
            (Column::Count(values), Value::Count(number)) => values.push(number as i64),
            // In a release build, writing the group fails later, because this column has too few values.
            _ => debug_assert!(false, "a value is not of its column's kind"),
        }
    }
}

/// A table that is being written.
pub(super) struct Table {
    writer: SerializedFileWriter<PartFile>,
    columns: Vec<Column>,
    /// Number of buffered rows.
    rows: usize,
}

impl Table {
    pub(super) fn begin(file: PartFile, columns: &[(&str, Kind)]) -> io::Result<Table> {
        let path = file.path().to_path_buf();
        let writer = writer(file, columns).map_err(|error| as_io(error, &path))?;
        Ok(Table { writer, columns: columns.iter().map(|(_, kind)| Column::new(*kind)).collect(), rows: 0 })
    }

    pub(super) fn push(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value);
        }
        self.rows += 1;
        if self.rows < GROUP {
            return Ok(());
        }
        self.write_group().map_err(|error| as_io(error, self.writer.inner().path()))
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            match column {
                Column::Text(values) => {
                    writer.typed::<ByteArrayType>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::Seconds(values) => {
                    writer.typed::<DoubleType>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::Count(values) => {
                    writer.typed::<Int64Type>().write_batch(values, None, None)?;
                    values.clear();
                }
            }
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        let rest = if self.rows > 0 { self.write_group() } else { Ok(()) };
        let written = rest.and_then(|()| self.writer.finish().map(drop));
        let file = self.writer.inner();
        written.map_err(|error| as_io(error, file.path()))?;
        file.sync()
    }
}

fn writer(file: PartFile, columns: &[(&str, Kind)]) -> Result<SerializedFileWriter<PartFile>> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for (name, kind) in columns {
        let (physical, logical) = match kind {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Seconds => (PhysicalType::DOUBLE, None),
            Kind::Count => (PhysicalType::INT64, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical)
            .build()?;
        fields.push(Arc::new(field));
        if matches!(kind, Kind::Seconds) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(*name), false);
        }
    }
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
}

/// Converts an error and adds the path of the file, unless the error comes from [`PartFile`] and already contains it.
fn as_io(error: ParquetError, path: &std::path::Path) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(format!("{}: {error}", path.display())),
        },
        error => io::Error::other(format!("{}: {error}", path.display())),
    }
}
