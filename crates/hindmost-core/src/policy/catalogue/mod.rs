//! The catalogue: every order and every system by the name its users know, with its paper and its
//! parameters, and how to build it. A new policy is a file of its own and an entry in `entries.rs`.

use serde::Serialize;

use crate::suggest::did_you_mean;

use super::order::Order;
use super::sda::SigmaChoice;
use super::spec::{PolicySpec, Value};
use super::{Pass, Policy};

mod entries;

pub use entries::{ORDERS, SYSTEMS};

/// An order of jobs.
#[derive(Serialize)]
pub struct OrderEntry {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// Its key, smallest first.
    pub key: &'static str,
    #[serde(skip)]
    build: fn() -> Box<dyn Order>,
}

/// A redundancy rule or complete system.
#[derive(Serialize)]
pub struct SystemEntry {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its passes, in order.
    pub passes: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// The order that it brings; without one it takes the scenario's.
    pub order: Option<&'static str>,
    /// Its parameters.
    pub parameters: &'static [ParameterEntry],
    #[serde(skip)]
    build: fn(&Parameters<'_>) -> Vec<Box<dyn Pass>>,
}

/// A parameter of a system.
#[derive(Serialize)]
pub struct ParameterEntry {
    /// Name.
    pub name: &'static str,
    /// Value unless given.
    pub default: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    /// What is valid.
    pub valid: Valid,
}

/// Values that a parameter may take.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Valid {
    /// `true` or `false`.
    Switch,
    /// A number from the first to the second, ends included.
    Number(f64, f64),
    /// As `Number`, without the upper end.
    NumberBelow(f64, f64),
    /// A whole number from the first to the second, ends included.
    Count(u32, u32),
    /// The word `optimal`, or a positive number.
    OptimalOrNumber,
}

impl Valid {
    fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Valid::Switch, Value::Switch(_)) => true,
            (Valid::Number(low, high), Value::Number(number)) => (low..=high).contains(number),
            (Valid::NumberBelow(low, high), Value::Number(number)) => (low..high).contains(number),
            (Valid::Count(low, high), Value::Number(number)) => {
                number.fract() == 0.0 && (f64::from(low)..=f64::from(high)).contains(number)
            }
            (Valid::OptimalOrNumber, Value::Word(word)) => word == "optimal",
            (Valid::OptimalOrNumber, Value::Number(number)) => number.is_finite() && *number > 0.0,
            _ => false,
        }
    }

    fn describe(self) -> String {
        match self {
            Valid::Switch => "true or false".to_owned(),
            Valid::Number(low, f64::MAX) => format!("a number from {low}"),
            Valid::Number(low, high) => format!("a number from {low} to {high}"),
            Valid::NumberBelow(low, high) => format!("a number from {low} to below {high}"),
            Valid::Count(low, high) => format!("a whole number from {low} to {high}"),
            Valid::OptimalOrNumber => "optimal or a positive number".to_owned(),
        }
    }
}

/// The order where neither scenario nor policy names one.
pub const DEFAULT_ORDER: &str = "fair";

/// A policy that the catalogue can't build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// No such system, rule or order.
    #[error("no {what} is called {name:?}{near} (`hindmost policies` lists them)")]
    UnknownName {
        /// `policy` or `order`.
        what: &'static str,
        /// The name.
        name: String,
        /// A suggestion, or nothing.
        near: String,
    },
    /// No such parameter.
    #[error("{system} has no parameter {name:?}{near}; it takes {known}")]
    UnknownParameter {
        /// The system.
        system: &'static str,
        /// The parameter's name.
        name: String,
        /// A suggestion, or nothing.
        near: String,
        /// The parameters that there are.
        known: String,
    },
    /// A value that is not valid.
    #[error("{system}: {name} is {value}, but must be {valid}")]
    BadValue {
        /// The system.
        system: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value.
        value: String,
        /// What is valid.
        valid: String,
    },
}

/// What a scenario tells every policy.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// Order for rules that bring none.
    pub order: &'a str,
    /// γ: price of a machine-second.
    pub gamma: f64,
}

/// A system's parameters, given or default.
struct Parameters<'a> {
    entry: &'static SystemEntry,
    spec: &'a PolicySpec,
    gamma: f64,
}

impl Parameters<'_> {
    fn value(&self, name: &str) -> Value {
        if let Some(value) = self.spec.parameters.get(name) {
            return value.clone();
        }
        let default = self.entry.parameters.iter().find(|entry| entry.name == name).map_or("0", |entry| entry.default);
        match (default.parse(), default.parse()) {
            (Ok(on), _) => Value::Switch(on),
            (_, Ok(number)) => Value::Number(number),
            _ => Value::Word(default.to_owned()),
        }
    }

    fn number(&self, name: &str) -> f64 {
        if let Value::Number(number) = self.value(name) { number } else { 0.0 }
    }

    fn count(&self, name: &str) -> u32 {
        self.number(name) as u32
    }

    fn switch(&self, name: &str) -> bool {
        self.value(name) == Value::Switch(true)
    }

    fn sigma(&self) -> SigmaChoice {
        match self.value("sigma") {
            Value::Number(sigma) => SigmaChoice::Fixed(sigma),
            _ => SigmaChoice::Optimal,
        }
    }
}

/// The entry of an order.
///
/// # Errors
/// If there is none of that name.
pub fn order(name: &str) -> Result<&'static OrderEntry, CatalogueError> {
    ORDERS.iter().find(|entry| entry.name == name).ok_or_else(|| CatalogueError::UnknownName {
        what: "order",
        name: name.to_owned(),
        near: did_you_mean(name, ORDERS.iter().map(|entry| entry.name)),
    })
}

/// The entry of a system or rule. An order's name alone means that order without redundancy.
///
/// # Errors
/// If there is none of that name, or a parameter is unknown or has a value that is not valid.
pub fn check(spec: &PolicySpec) -> Result<&'static SystemEntry, CatalogueError> {
    let is_order = spec.order.is_none() && ORDERS.iter().any(|entry| entry.name == spec.rule);
    let rule = if is_order { "none" } else { spec.rule.as_str() };
    let entry = SYSTEMS.iter().find(|entry| entry.name == rule).ok_or_else(|| {
        let names = SYSTEMS.iter().map(|entry| entry.name).chain(ORDERS.iter().map(|entry| entry.name));
        let near = if ORDERS.iter().any(|entry| entry.name == rule) {
            format!("; it is an order: write {rule}+RULE")
        } else {
            did_you_mean(&rule.to_lowercase(), names)
        };
        CatalogueError::UnknownName { what: "policy", name: rule.to_owned(), near }
    })?;
    if let Some(name) = &spec.order {
        order(name)?;
    }
    for (name, value) in &spec.parameters {
        let names = || entry.parameters.iter().map(|parameter| parameter.name);
        let parameter = entry.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
            CatalogueError::UnknownParameter {
                system: entry.name,
                name: name.clone(),
                near: did_you_mean(name, names()),
                known: if entry.parameters.is_empty() {
                    "no parameters".to_owned()
                } else {
                    names().collect::<Vec<_>>().join(", ")
                },
            }
        })?;
        if !parameter.valid.accepts(value) {
            return Err(CatalogueError::BadValue {
                system: entry.name,
                name: parameter.name,
                value: value.to_string(),
                valid: parameter.valid.describe(),
            });
        }
    }
    Ok(entry)
}

/// Builds a policy: its system's passes under the order it names, its system's own order, or the
/// scenario's.
///
/// # Errors
/// As [`check`], and if the scenario's order is unknown.
pub fn build(spec: &PolicySpec, setting: &Setting<'_>) -> Result<Policy, CatalogueError> {
    let entry = check(spec)?;
    let named = if entry.name == spec.rule { spec.order.as_deref() } else { Some(spec.rule.as_str()) };
    let order = order(named.or(entry.order).unwrap_or(setting.order))?;
    let parameters = Parameters { entry, spec, gamma: setting.gamma };
    Ok(Policy::new((order.build)(), (entry.build)(&parameters)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting<'static> = Setting { order: "fair", gamma: 1.0 };

    #[test]
    fn every_default_is_valid() {
        for system in SYSTEMS {
            let spec: PolicySpec = system.name.parse().unwrap();
            for parameter in system.parameters {
                let parameters = Parameters { entry: system, spec: &spec, gamma: 1.0 };
                let value = parameters.value(parameter.name);
                assert!(parameter.valid.accepts(&value), "{}: {} = {value}", system.name, parameter.name);
                assert_eq!(value.to_string(), parameter.default);
            }
        }
    }

    #[test]
    fn every_order_goes_with_every_rule() {
        for order in ORDERS {
            for system in SYSTEMS {
                let spec = format!("{}+{}", order.name, system.name).parse().unwrap();
                assert!(build(&spec, &SETTING).is_ok());
            }
        }
    }

    #[test]
    fn errors_name_what_is_near_and_what_is_valid() {
        let message = |text: &str| build(&text.parse().unwrap(), &SETTING).err().unwrap().to_string();
        assert!(message("mantry").contains("did you mean \"mantri\"?"));
        assert!(message("fairr+mantri").contains("did you mean \"fair\"?"));
        assert!(message("sca(max-copies=3)").contains("did you mean \"max_copies\"?"));
        assert!(message("sca(max_copies=0)").contains("must be a whole number from 1 to 64"));
        assert!(message("mantri(delta=1)").contains("must be a number from 0 to below 1"));
        assert!(message("mantri(delta=NaN)").contains("must be"));
        assert!(message("none(delta=1)").contains("it takes no parameters"));
        assert!(message("fair+fifo").contains("write fifo+RULE"));
        assert!(message("SCA").contains("did you mean \"sca\"?"));
    }
}
