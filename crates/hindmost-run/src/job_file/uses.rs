//! The files that commands read besides their inputs (`uses`), and other settings that may differ between the rows of a table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;

use super::error::Wrong;
use super::inputs;
use super::table::{Table, as_pattern};

/// The files that the commands of a phase read besides their inputs. They are only watched: a resumed run notices that they have
/// changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Files of all tasks, absolute and sorted.
    pub common: Vec<PathBuf>,
    /// Files that each row of the table names in addition; empty if no row names any.
    pub of_rows: Vec<Vec<PathBuf>>,
}

impl Uses {
    /// Finds the files of patterns. Those in which columns stand are files of their rows.
    pub(super) fn found(
        patterns: &[String],
        table: Option<&Table>,
        (folder, environment): (&Path, &BTreeMap<String, String>),
    ) -> Result<Uses, String> {
        let (mut common, mut of_rows) = (Vec::new(), Vec::new());
        for pattern in patterns {
            let text = Table::columns_in(table, pattern).map_err(|error| format!("uses: {error}"))?;
            if text.is_same_for_all() { common.push(pattern.clone()) } else { of_rows.push(text) }
        }
        let rows = table.filter(|_| !of_rows.is_empty()).map_or(0, Table::rows);
        let of_rows = (0..rows)
            .map(|row| {
                let Some(table) = table else { return Ok(Vec::new()) };
                let patterns: Vec<String> = of_rows.iter().map(|text| table.fill(text, row, as_pattern)).collect();
                inputs::files("uses", &patterns, folder, environment).map_err(|error| table.about(row, error))
            })
            .collect::<Result<_, String>>()?;
        let common = if common.is_empty() && rows > 0 {
            Vec::new()
        } else {
            inputs::files("uses", &common, folder, environment)?
        };
        Ok(Uses { common, of_rows })
    }

    /// Returns the files that the task in this place uses, each once and sorted.
    pub fn of(&self, place: u32) -> BTreeSet<&Path> {
        let of_row = self.of_rows.get(place as usize).into_iter().flatten();
        self.common.iter().chain(of_row).map(PathBuf::as_path).collect()
    }

    /// True if no files are named.
    pub fn is_empty(&self) -> bool {
        self.common.is_empty() && self.of_rows.is_empty()
    }
}

/// What attempts demand and how long they may take, where this differs between the rows of the table. Each list has a value for
/// each row, or none if all rows have the phase's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowLimits {
    /// Numbers of cpus.
    pub cpus: Vec<f64>,
    /// Memory in bytes.
    pub memory: Vec<u64>,
    /// Time limits.
    pub time_limit: Vec<Duration>,
}

/// Checks a setting in which columns may stand. Returns the largest value, and those of all rows if columns stand in it. `text` is the
/// text of the setting, and `with` makes a setting of a text.
pub(super) fn of_rows<T, V: Copy + PartialOrd>(
    given: Option<Spanned<T>>,
    table: Option<&Table>,
    text: impl Fn(&T) -> Option<&str>,
    with: impl Fn(&T, String) -> T,
    check: impl Fn(T) -> Result<V, String>,
) -> Result<(Option<V>, Vec<V>), Wrong> {
    let Some(given) = given else { return Ok((None, Vec::new())) };
    let span = given.span();
    let given = given.into_inner();
    let wrong = |error| Wrong::at(span.clone(), error);
    let columns = text(&given).map(|text| Table::columns_in(table, text)).transpose().map_err(wrong)?;
    let (Some(columns), Some(table)) = (columns.filter(|columns| !columns.is_same_for_all()), table) else {
        return Ok((Some(check(given).map_err(wrong)?), Vec::new()));
    };
    let row = |row| {
        check(with(&given, table.fill(&columns, row, |value| value.into()))).map_err(|error| table.about(row, error))
    };
    let rows = (0..table.rows()).map(row).collect::<Result<Vec<V>, _>>().map_err(wrong)?;
    let most = rows.iter().copied().reduce(|most, value| if value > most { value } else { most });
    Ok((most, rows))
}
