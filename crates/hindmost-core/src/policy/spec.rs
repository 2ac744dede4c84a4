//! Policies by name: `sca`, `sca(max_copies=8)`, `fair+mantri(delta=0.5)`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A word, such as `optimal`.
    Word(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => write!(f, "{on}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

/// A policy by name: a system or rule, perhaps under an order of its own, with parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    /// The order, where one is named.
    pub order: Option<String>,
    /// The system or redundancy rule.
    pub rule: String,
    /// Parameters that differ from their defaults.
    pub parameters: BTreeMap<String, Value>,
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(order) = &self.order {
            write!(f, "{order}+")?;
        }
        f.write_str(&self.rule)?;
        if !self.parameters.is_empty() {
            let given: Vec<String> = self.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
            write!(f, "({})", given.join(","))?;
        }
        Ok(())
    }
}

/// A text that is not of the form of a policy's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} does not name a policy: {reason}; write NAME, NAME(parameter=value,…) or ORDER+NAME")]
pub struct BadPolicySpec {
    text: String,
    reason: String,
}

impl FromStr for PolicySpec {
    type Err = BadPolicySpec;

    fn from_str(text: &str) -> Result<PolicySpec, BadPolicySpec> {
        let wrong = |reason: &str| BadPolicySpec { text: text.to_owned(), reason: reason.to_owned() };
        let trimmed = text.trim();
        let (name, parameters) = match trimmed.split_once('(') {
            None => (trimmed, ""),
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(|| wrong("its parenthesis is not closed"))?),
        };
        let (order, rule) = match name.split_once('+') {
            None => (None, name.trim()),
            Some((order, rule)) => (Some(order.trim().to_owned()), rule.trim()),
        };
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !is_word(rule) || order.as_deref().is_some_and(|order| !is_word(order)) {
            return Err(wrong("a name is made of letters, digits and underscores"));
        }
        let mut given = BTreeMap::new();
        for parameter in parameters.split(',').filter(|parameter| !parameter.trim().is_empty()) {
            let (key, value) = parameter.split_once('=').ok_or_else(|| wrong("a parameter is written name=value"))?;
            let value = value.trim();
            let value = match (value.parse::<bool>(), value.parse::<f64>()) {
                (Ok(on), _) => Value::Switch(on),
                (_, Ok(number)) => Value::Number(number),
                _ if is_word(value) => Value::Word(value.to_owned()),
                _ => return Err(wrong("a parameter's value is a number, true, false or a word")),
            };
            if given.insert(key.trim().to_owned(), value).is_some() {
                return Err(wrong("a parameter is given twice"));
            }
        }
        Ok(PolicySpec { order, rule: rule.to_owned(), parameters: given })
    }
}

/// Splits a list of policies at the commas outside parentheses.
pub fn split_list(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0u32, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_round_trip() {
        for text in ["sca", "sca(max_copies=8)", "fair+mantri(delta=0.5,kill_restart=true)", "ese(sigma=optimal)"] {
            assert_eq!(text.parse::<PolicySpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn commas_inside_parentheses_do_not_separate() {
        assert_eq!(split_list("none,ese(eta=0.1,xi=1),sda"), ["none", "ese(eta=0.1,xi=1)", "sda"]);
    }

    #[test]
    fn malformed_names_are_refused() {
        for wrong in ["", "+sca", "sca(", "sca(max_copies)", "sca(a=1,a=2)", "s c a", "sca(x=a b)"] {
            assert!(wrong.parse::<PolicySpec>().is_err(), "{wrong:?}");
        }
    }
}
