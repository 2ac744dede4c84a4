//! Parses and prints the names of policies, such as `sca`, `sca(max_copies=8)` and `fair+mantri(delta=0.5)`.

use std::fmt;
use std::str::FromStr;

use hindmost_math::plain::Quoted;

use crate::parameters::{Given, Value};

/// The parsed name of an order, with its parameters: `fair`, `tetris(epsilon=0.1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderSpec {
    /// The order's name.
    pub name: String,
    /// The parameters that the text gives for the order.
    pub parameters: Given,
}

/// The parsed name of a policy, which is a system, an order, or a system under a named order.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    /// The order before the `+`; `None` if the name has no `+`.
    pub order: Option<OrderSpec>,
    /// The name of the system; if the policy's name is an order alone, the name of that order.
    pub system: String,
    /// The parameters that are given after the name of `system`.
    pub parameters: Given,
}

impl PolicySpec {
    /// Returns the name of a policy: this system, without given parameters.
    pub fn of(system: &str) -> PolicySpec {
        PolicySpec { order: None, system: system.to_owned(), parameters: Given::new() }
    }
}

impl fmt::Display for OrderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_named(f, &self.name, &self.parameters)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(order) = &self.order {
            write!(f, "{order}+")?;
        }
        write_named(f, &self.system, &self.parameters)
    }
}

fn write_named(f: &mut fmt::Formatter<'_>, name: &str, parameters: &Given) -> fmt::Result {
    f.write_str(name)?;
    if !parameters.is_empty() {
        let given: Vec<String> = parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        write!(f, "({})", given.join(","))?;
    }
    Ok(())
}

/// The error for a text that does not have the form of a policy's or order's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} does not name a policy: {reason}; write NAME, NAME(parameter=value,…) or ORDER+NAME", Quoted(text))]
pub struct BadPolicySpec {
    text: String,
    reason: String,
}

impl FromStr for PolicySpec {
    type Err = BadPolicySpec;

    fn from_str(text: &str) -> Result<PolicySpec, BadPolicySpec> {
        let wrong = |reason: &str| BadPolicySpec { text: text.to_owned(), reason: reason.to_owned() };
        let parts = split_outside_parentheses(text, '+');
        let (order, system) = match parts[..] {
            [system] => (None, system),
            [order, system] => (Some(parse_named(order).map_err(wrong)?), system),
            _ => return Err(wrong("there is more than one + outside parentheses")),
        };
        let (system, parameters) = parse_named(system).map_err(wrong)?;
        let order = order.map(|(name, parameters)| OrderSpec { name, parameters });
        Ok(PolicySpec { order, system, parameters })
    }
}

impl FromStr for OrderSpec {
    type Err = BadPolicySpec;

    fn from_str(text: &str) -> Result<OrderSpec, BadPolicySpec> {
        let wrong = |reason: &str| BadPolicySpec { text: text.to_owned(), reason: reason.to_owned() };
        let (name, parameters) = parse_named(text).map_err(wrong)?;
        Ok(OrderSpec { name, parameters })
    }
}

/// Parses a name and its parameters.
///
/// # Errors
/// If the text does not have this form. The error is a phrase that gives the reason.
fn parse_named(text: &str) -> Result<(String, Given), &'static str> {
    let trimmed = text.trim();
    let (name, parameters) = match trimmed.split_once('(') {
        None => (trimmed, ""),
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')').ok_or("a parenthesis is not closed")?),
    };
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !is_word(name) {
        return Err("a name consists of letters, digits, underscores and hyphens");
    }
    let mut given = Given::new();
    // `NAME()`, with an empty list, means `NAME`.
    let listed = (!parameters.trim().is_empty()).then(|| parameters.split(','));
    for parameter in listed.into_iter().flatten() {
        if parameter.trim().is_empty() {
            return Err("a parameter is empty");
        }
        let (key, value) = parameter.split_once('=').ok_or("a parameter has the form name=value")?;
        let value = value.trim();
        let value = match (value.parse::<bool>(), value.parse::<f64>()) {
            (Ok(on), _) => Value::Switch(on),
            (_, Ok(number)) => Value::Number(number),
            _ if is_word(value) => Value::Word(value.to_owned().into()),
            _ => return Err("a parameter's value is a number, true, false or a word"),
        };
        if given.insert(key.trim().to_owned(), value).is_some() {
            return Err("a parameter is given twice");
        }
    }
    Ok((name.to_owned(), given))
}

/// Splits a list of policies at the commas outside parentheses.
pub fn split_list(list: &str) -> Vec<&str> {
    split_outside_parentheses(list, ',')
}

fn split_outside_parentheses(text: &str, at: char) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0u32, 0, Vec::new());
    for (here, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if c == at && depth == 0 => {
                parts.push(&text[begin..here]);
                begin = here + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parsed_name_prints_as_the_same_text() {
        let parameters = "tetris(epsilon=0.1,remaining=time)+mantri(delta=0.5)";
        for text in
            ["sca", "sca(max_copies=8)", "fair+mantri(delta=0.5,kill_restart=true)", "ese(sigma=optimal)", parameters]
        {
            assert_eq!(text.parse::<PolicySpec>().unwrap().to_string(), text);
        }
        assert_eq!("sca( )".parse::<PolicySpec>().unwrap().to_string(), "sca");
        assert_eq!("svf + none".parse::<PolicySpec>().unwrap().to_string(), "svf+none");
        assert_eq!("tetris(epsilon=1e+2)".parse::<PolicySpec>().unwrap().order, None);
    }

    #[test]
    fn commas_inside_parentheses_do_not_separate() {
        assert_eq!(split_list("none,ese(eta=0.1,xi=1),sda"), ["none", "ese(eta=0.1,xi=1)", "sda"]);
    }

    #[test]
    fn malformed_names_are_refused() {
        for wrong in [
            "",
            "+sca",
            "sca(",
            "sca(max_copies)",
            "sca(a=1,a=2)",
            "s c a",
            "sca(x=a b)",
            "sca(,)",
            "sca(a=1,,)",
            "sca(a=1,)",
            "a+b+c",
        ] {
            assert!(wrong.parse::<PolicySpec>().is_err(), "{wrong:?}");
        }
    }
}
