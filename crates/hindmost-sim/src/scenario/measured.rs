//! `measured_speed`: speeds of nodes from a file of measurements, such as benchmark scores of cloud machines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hindmost_core::random::{Purpose, draw};
use hindmost_math::plain::Quoted;
use hindmost_math::suggest::did_you_mean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameter::absolute;

/// Speeds of nodes from a file of measurements. A speed is a measured value divided by the mean or median of the file. The
/// file has one measurement per line, in columns that commas separate; empty lines and lines that begin with `#` are
/// skipped, and the first line may have the names of the columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSpeed {
    /// The file; a relative path is relative to the scenario's folder.
    pub file: PathBuf,
    /// The column with the measured values, by its name or its number from 1; may be left out if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<Column>,
    /// The value that is speed 1.
    #[serde(default)]
    pub divide_by: Centre,
    /// Which measurement a node has.
    #[serde(default)]
    pub take: Take,
    /// The speeds; empty until the file is read.
    #[serde(skip)]
    speeds: Arc<[f64]>,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Column {
    /// Number of the column, from 1.
    Number(#[schemars(range(min = 1))] u32),
    /// Name of the column in the first line.
    Name(String),
}

/// The measured value that is speed 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// The mean of all values.
    #[default]
    Mean,
    /// The median of all values.
    Median,
}

/// Which measurement a node has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// A random one, drawn for each node and seed; all are equally likely.
    #[default]
    AtRandom,
    /// The nodes of the class take the measurements in the order of the file, and begin again after the last one.
    InTurn,
}

impl MeasuredSpeed {
    /// Creates speeds that are taken from a list, without a file.
    ///
    /// # Errors
    /// If the list is empty or a value is not a number above 0.
    #[cfg(test)]
    fn of(values: &[f64], divide_by: Centre, take: Take) -> Result<MeasuredSpeed, String> {
        let speeds = divided(values, divide_by)?;
        Ok(MeasuredSpeed { file: PathBuf::new(), column: None, divide_by, take, speeds })
    }

    /// Reads the file, relative to `folder`.
    ///
    /// # Errors
    /// If the file can't be read, has no measurement, or has a line without a number above 0 in the column. The message
    /// names file and line.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), String> {
        let path = absolute(folder, &self.file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let named = |error: String| format!("{}{error}", path.display());
        let values = column_of(&text, self.column.as_ref()).map_err(named)?;
        self.speeds = divided(&values, self.divide_by).map_err(named)?;
        self.file = path;
        Ok(())
    }

    /// Returns the speed of a node. `number` is its number over all classes, `place` its number within its class.
    pub(crate) fn speed(&self, seed: u64, number: u64, place: u64) -> f64 {
        let count = self.speeds.len().max(1);
        let at = match self.take {
            Take::AtRandom => (draw(seed, Purpose::MeasuredSpeed, number, 0) * count as f64) as usize,
            Take::InTurn => (place % count as u64) as usize,
        };
        self.speeds.get(at.min(count - 1)).copied().unwrap_or(1.0)
    }

    /// Returns the mean speed of a number of nodes.
    pub(crate) fn mean(&self, nodes: u32) -> f64 {
        let mean = |count: usize| {
            let speeds = self.speeds.iter().cycle().take(count);
            speeds.sum::<f64>() / count.max(1) as f64
        };
        match self.take {
            Take::AtRandom => mean(self.speeds.len()),
            Take::InTurn => mean(nodes as usize),
        }
    }

    /// Returns whether the speeds depend on the seed.
    pub(crate) fn is_drawn(&self) -> bool {
        self.take == Take::AtRandom && self.speeds.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// Divides values by their mean or median.
fn divided(values: &[f64], by: Centre) -> Result<Arc<[f64]>, String> {
    let centre = match by {
        Centre::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Centre::Median => {
            let mut sorted = values.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
        }
    };
    let speeds: Vec<f64> = values.iter().map(|value| value / centre).collect();
    // A quotient may be 0 or infinite although both numbers are above 0.
    match speeds.iter().find(|speed| !(1e-6..=1e6).contains(*speed)) {
        Some(speed) => Err(format!(": a value is {speed:e} times the centre of all values: is this the right column?")),
        None => Ok(speeds.into()),
    }
}

/// Returns the values of a column, which are numbers above 0.
fn column_of(text: &str, column: Option<&Column>) -> Result<Vec<f64>, String> {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).enumerate();
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
    let Some((_, first)) = lines.peek().copied() else { return Err(" contains no measurements".to_owned()) };
    let names: Vec<&str> = first.split(',').map(plain).collect();
    let at = match column {
        Some(Column::Number(number)) if (1..=names.len()).contains(&(*number as usize)) => *number as usize - 1,
        Some(Column::Number(number)) => {
            return Err(format!(" has {} columns, but column is {number}: count from 1", names.len()));
        }
        Some(Column::Name(name)) => names.iter().position(|known| known == name).ok_or_else(|| {
            let near = did_you_mean(name, names.iter().copied());
            format!(" has no column {} in its first line ({}){near}", Quoted(name), names.join(", "))
        })?,
        None if names.len() == 1 => 0,
        None => {
            return Err(format!(" has {} columns ({}): name one with column = …", names.len(), names.join(", ")));
        }
    };
    // The first line has the names if a column is named, or if the value there is no number.
    if matches!(column, Some(Column::Name(_))) || names.get(at).is_some_and(|name| name.parse::<f64>().is_err()) {
        lines.next();
    }
    let mut values = Vec::new();
    for (number, line) in lines {
        let wrong = |what: String| format!(", line {}: {what}", number + 1);
        let field = line.split(',').map(plain).nth(at);
        let field = field.ok_or_else(|| wrong(format!("there is no column {}", at + 1)))?;
        let value = field.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        values.push(value.ok_or_else(|| wrong(format!("{} is not a number above 0", Quoted(field))))?);
    }
    if values.is_empty() { Err(" contains no measurements".to_owned()) } else { Ok(values) }
}

/// Removes space and quotes around a field.
fn plain(field: &str) -> &str {
    field.trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_values_divided_by_their_mean_or_median() {
        let of = |by| MeasuredSpeed::of(&[2.0, 4.0, 12.0], by, Take::InTurn).unwrap();
        let speeds = |measured: &MeasuredSpeed| (0..4).map(|place| measured.speed(1, 9, place)).collect::<Vec<f64>>();
        assert_eq!(speeds(&of(Centre::Mean)), [1.0 / 3.0, 2.0 / 3.0, 2.0, 1.0 / 3.0]);
        assert_eq!(speeds(&of(Centre::Median)), [0.5, 1.0, 3.0, 0.5]);
    }

    #[test]
    fn random_speeds_depend_on_seed_and_node_only() {
        let measured = MeasuredSpeed::of(&[1.0, 2.0, 3.0], Centre::Median, Take::AtRandom).unwrap();
        let counts = (0..3000).fold([0; 3], |mut counts, node| {
            let speed = measured.speed(4, node, 0);
            assert_eq!(speed, measured.speed(4, node, 77));
            counts[(speed * 2.0) as usize - 1] += 1;
            counts
        });
        // Within four standard errors of a third.
        assert!(counts.iter().all(|count| (f64::from(*count) - 1000.0).abs() < 4.0 * (3000.0f64 * 2.0 / 9.0).sqrt()));
        assert!(measured.is_drawn());
    }

    #[test]
    fn columns_are_found_by_name_or_number() {
        let text = "# cloud machines\nvalue,\"vm id\"\n12.5,0\n\n11, 3\n";
        let name = |name: &str| Column::Name(name.to_owned());
        assert_eq!(column_of(text, Some(&name("value"))), Ok(vec![12.5, 11.0]));
        assert_eq!(column_of(text, Some(&Column::Number(1))), Ok(vec![12.5, 11.0]));
        assert_eq!(column_of("7\n8\n", None), Ok(vec![7.0, 8.0]));
        assert_eq!(column_of("score\n7\n8", None), Ok(vec![7.0, 8.0]));
        // The file has no names, so the first line counts.
        assert_eq!(column_of("1,5\n2,6\n", Some(&Column::Number(2))), Ok(vec![5.0, 6.0]));
    }

    #[test]
    fn wrong_files_are_refused() {
        let name = Column::Name("valeu".to_owned());
        for (text, column, reason) in [
            ("", None, "contains no measurements"),
            ("# nothing\nvalue\n", None, "contains no measurements"),
            ("value,runtime\n1,2\n", None, "has 2 columns (value, runtime): name one"),
            (
                "value,runtime\n1,2\n",
                Some(&name),
                "has no column \"valeu\" in its first line (value, runtime); did you mean \"value\"?",
            ),
            ("value\n1\n", Some(&Column::Number(2)), "has 1 columns, but column is 2"),
            ("value\n1\n", Some(&Column::Number(0)), "column is 0: count from 1"),
            ("value\n1\nfast\n", None, ", line 3: \"fast\" is not a number above 0"),
            ("value\n1\n-2\n", None, ", line 3: \"-2\" is not a number above 0"),
            ("value\n1\n0\n", None, ", line 3: \"0\" is not a number above 0"),
            ("value\nNaN\n", None, ", line 2: \"NaN\" is not a number above 0"),
            ("a,b\n1,2\n3\n", Some(&Column::Number(2)), ", line 3: there is no column 2"),
        ] {
            let error = column_of(text, column).unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
        assert!(divided(&[1e-9, 1.0], Centre::Mean).unwrap_err().contains("is this the right column?"));
    }
}
