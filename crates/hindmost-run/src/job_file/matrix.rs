//! The matrix of a phase: variables with lists of values, of which each task gets one combination.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toml::Spanned;

use super::error::Wrong;
use super::format::MatrixValue;
use super::values::{OWN, check_text};

/// Names of variables on which shells and programs depend, so that a matrix may not set them.
const RESERVED: [&str; 28] = [
    "BASHOPTS",
    "BASHPID",
    "BASH_ENV",
    "CDPATH",
    "ENV",
    "EUID",
    "GROUPS",
    "HOME",
    "IFS",
    "LANG",
    "LINENO",
    "LOGNAME",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PATH",
    "PPID",
    "PS4",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "UID",
    "USER",
    "_",
];
/// Beginnings of such names.
const RESERVED_BEGINNINGS: [&str; 4] = ["BASH_", "LC_", "LD_", "PARALLEL_"];
/// Names of the other columns of `results.tsv`.
pub(crate) const COLUMNS: [&str; 7] = ["phase", "task", "input", "folder", "attempts", "seconds", "state"];

/// Variables and their values. The tasks of a phase take the combinations in order, and the last variable changes fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix(Vec<(String, Vec<String>)>);

impl Matrix {
    /// Returns a matrix of one variable.
    pub(super) fn of_variable(name: &str, values: Vec<String>) -> Matrix {
        Matrix(vec![(name.to_owned(), values)])
    }

    /// Returns the variables with their values, in the order of the job file.
    pub fn keys(&self) -> &[(String, Vec<String>)] {
        &self.0
    }

    /// Returns the variables as JSON: a list of objects with `name` and `values`.
    pub(super) fn to_json(&self) -> Value {
        self.0.iter().map(|(name, values)| json!({"name": name, "values": values})).collect()
    }

    /// Returns the number of combinations.
    pub fn combinations(&self) -> u64 {
        self.0.iter().map(|(_, values)| values.len() as u64).fold(1, u64::saturating_mul)
    }

    /// Returns the value of each variable in a combination, given by its number. Numbers beyond the last combination begin
    /// again with the first one.
    pub fn values(&self, number: u64) -> impl Iterator<Item = (&str, &str)> {
        let mut later = self.combinations();
        self.0.iter().filter_map(move |(name, values)| {
            later /= (values.len() as u64).max(1);
            let at = (number / later.max(1)) % (values.len() as u64).max(1);
            Some((name.as_str(), values.get(at as usize)?.as_str()))
        })
    }

    /// Checks a matrix of a job file. `environment` are the variables that the phase sets.
    pub(super) fn checked(
        given: BTreeMap<String, Spanned<Vec<MatrixValue>>>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Matrix, Wrong> {
        let mut given: Vec<(String, Spanned<Vec<MatrixValue>>)> = given.into_iter().collect();
        given.sort_by_key(|(_, values)| values.span().start);
        let mut keys = Vec::with_capacity(given.len());
        for (name, values) in given {
            let span = values.span();
            let wrong = |why: String| Wrong::at(span.clone(), why);
            check_variable(&name, environment).map_err(wrong)?;
            let texts: Vec<String> = values.into_inner().into_iter().map(MatrixValue::into_text).collect();
            if texts.is_empty() {
                return Err(wrong(format!("matrix: {name} has no values: give at least one, {name} = [1, 2, 3]")));
            }
            for (at, text) in texts.iter().enumerate() {
                check_text(&format!("matrix: a value of {name}"), text).map_err(wrong)?;
                if texts[..at].contains(text) {
                    return Err(wrong(format!("matrix: {name} has the value {text:?} twice")));
                }
            }
            keys.push((name, texts));
        }
        Ok(Matrix(keys))
    }
}

/// True if a text can be the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Checks that a variable of a matrix can be set and used as `$NAME`.
fn check_variable(name: &str, environment: &BTreeMap<String, String>) -> Result<(), String> {
    let reason = if !is_variable(name) {
        "it must be the name of a variable: letters, digits and _, not beginning with a digit".to_owned()
    } else if name.starts_with(OWN) {
        format!("names that begin with {OWN} are reserved for Hindmost")
    } else if RESERVED.contains(&name) || RESERVED_BEGINNINGS.iter().any(|begin| name.starts_with(begin)) {
        "shells and programs depend on this variable".to_owned()
    } else if COLUMNS.contains(&name) {
        "results.tsv has another column of this name".to_owned()
    } else if environment.contains_key(name) {
        "the environment of the phase sets this variable too".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("matrix: {name:?} can't be used: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_variable_changes_fastest() {
        let values = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let matrix =
            Matrix(vec![("lr".to_owned(), values(&["0.1", "0.01"])), ("seed".to_owned(), values(&["1", "2", "3"]))]);
        assert_eq!(matrix.combinations(), 6);
        let combination = |number| matrix.values(number).map(|(_, value)| value).collect::<Vec<_>>().join(" ");
        let all: Vec<String> = (0..7).map(combination).collect();
        assert_eq!(all, ["0.1 1", "0.1 2", "0.1 3", "0.01 1", "0.01 2", "0.01 3", "0.1 1"]);
        assert_eq!(matrix.values(4).collect::<Vec<_>>(), [("lr", "0.01"), ("seed", "2")]);
    }
}
