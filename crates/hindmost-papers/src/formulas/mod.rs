//! Values and tables that follow from formulas, without a scenario of simulated jobs. Claims and tables refer to them by
//! name.

mod dollymp2022;
mod riski;
mod shed;
mod xu2015;
mod zhou2018;

use hindmost_claims::{DataTable, Measured};
use hindmost_math::suggest::did_you_mean;

/// Computes a value. Several values are those of several cases, all of which must satisfy the claim's rule.
pub type Value = fn() -> Result<Vec<Measured>, String>;

/// Computes a table.
pub type Table = fn() -> Result<DataTable, String>;

/// Reading of values that follow from the paper's formulas.
pub const ANALYSIS: &str = "analysis";

/// All values by name.
fn values() -> impl Iterator<Item = &'static (&'static str, Value)> + Clone {
    xu2015::VALUES.iter().chain(dollymp2022::VALUES).chain(zhou2018::VALUES).chain(riski::VALUES).chain(shed::VALUES)
}

/// All tables by name.
fn tables() -> impl Iterator<Item = &'static (&'static str, Table)> + Clone {
    xu2015::TABLES.iter().chain(dollymp2022::TABLES).chain(zhou2018::TABLES).chain(riski::TABLES).chain(shed::TABLES)
}

/// Returns the message of an error.
fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns one value that does not depend on a reading.
fn exact(value: &str, number: f64, unit: &str) -> Measured {
    Measured::exact(ANALYSIS, value, Some(number), unit)
}

/// Returns the only value of a formula.
#[allow(clippy::unnecessary_wraps, reason = "formulas that can fail have this type")]
fn one(value: &str, number: f64, unit: &str) -> Result<Vec<Measured>, String> {
    Ok(vec![exact(value, number, unit)])
}

/// Returns the value with this name.
///
/// # Errors
/// If there is none; the error names a similar one.
pub fn value(name: &str) -> Result<Value, String> {
    values()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
        .ok_or_else(|| format!("there is no formula {name:?}{}", did_you_mean(name, values().map(|(known, _)| *known))))
}

/// Returns the table with this name.
///
/// # Errors
/// If there is none; the error names a similar one.
pub fn table(name: &str) -> Result<Table, String> {
    tables()
        .find(|(known, _)| *known == name)
        .map(|(_, table)| *table)
        .ok_or_else(|| format!("there is no table {name:?}{}", did_you_mean(name, tables().map(|(known, _)| *known))))
}
