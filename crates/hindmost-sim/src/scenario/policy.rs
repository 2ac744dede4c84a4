//! Policies of a scenario: a name and parameters.

use hindmost_math::plain::Quoted;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::parameters::{Given, Value};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A policy, with the keys of scenario files: its name and its parameters.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyEntry {
    /// Name of the policy, as on the command line.
    pub name: String,
    /// Parameters by name; the others have their defaults.
    #[serde(flatten)]
    pub parameters: Given,
}

impl<'de> Deserialize<'de> for PolicyEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PolicyEntry, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let name = match table.remove("name").ok_or_else(|| D::Error::missing_field("name"))? {
            toml::Value::String(name) => name,
            other => {
                let what = with_article(&other);
                return Err(D::Error::custom(format!("a policy's name is {what}, but must be a text")));
            }
        };
        let mut parameters = Given::new();
        for (parameter, value) in table {
            let value = value_of(value).map_err(|what| {
                let (policy, parameter) = (Quoted(&name), Quoted(&parameter));
                D::Error::custom(format!(
                    "policy {policy}: {parameter} is {what}, but must be a number, true or false, or a word in quotes"
                ))
            })?;
            parameters.insert(parameter, value);
        }
        Ok(PolicyEntry { name, parameters })
    }
}

/// Converts the value of a parameter.
///
/// # Errors
/// If the value has a type that parameters do not have; the error names the type.
fn value_of(value: toml::Value) -> Result<Value, &'static str> {
    match value {
        toml::Value::Boolean(on) => Ok(Value::Switch(on)),
        toml::Value::Integer(number) => Ok(Value::Number(number as f64)),
        toml::Value::Float(number) => Ok(Value::Number(number)),
        toml::Value::String(word) => Ok(Value::Word(word.into())),
        other => Err(with_article(&other)),
    }
}

fn with_article(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a text",
        toml::Value::Integer(_) | toml::Value::Float(_) => "a number",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Datetime(_) => "a date or time",
        toml::Value::Array(_) => "an array",
        toml::Value::Table(_) => "a table",
    }
}

impl PolicyEntry {
    /// Returns the specification of the policy.
    ///
    /// # Errors
    /// If the name or a parameter is not valid, or a parameter is given both in the name and as a key.
    pub fn spec(&self) -> Result<PolicySpec, String> {
        let mut spec: PolicySpec = self.name.parse().map_err(|error| format!("{error}"))?;
        for (parameter, value) in &self.parameters {
            if let Some(in_name) = spec.parameters.insert(parameter.clone(), value.clone()) {
                return Err(format!(
                    "policy {}: {parameter} is given twice, {in_name} in the name and {value} as a key; leave one out",
                    Quoted(&self.name)
                ));
            }
        }
        catalogue::check(&spec).map_err(|error| error.to_string())?;
        Ok(spec)
    }
}

impl From<&PolicySpec> for PolicyEntry {
    fn from(spec: &PolicySpec) -> PolicyEntry {
        let bare = PolicySpec { parameters: Given::new(), ..spec.clone() };
        PolicyEntry { name: bare.to_string(), parameters: spec.parameters.clone() }
    }
}
