//! The catalogue: every order and every system by the name its users know, with its paper and its
//! parameters, and how to build it. A new policy is a file of its own and an entry in `orders.rs` or
//! `systems.rs`.

use serde::Serialize;

use crate::suggest::did_you_mean;

use super::by_node::{Fit, InKeyOrder};
use super::losers::Keep;
use super::order::Order;
use super::originals::Originals;
use super::queue::Which;
use super::sda::SigmaChoice;
use super::spec::{Given, OrderSpec, PolicySpec, Value};
use super::{Pass, Policy};
use crate::workload::QueueSpec;

mod budget;
mod orders;
mod systems;

pub use budget::without_clones;
pub use orders::ORDERS;
pub use systems::SYSTEMS;

const XU_LAU: &str =
    "Xu & Lau, Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster, 2015";
const XU_LIU_LAU: &str =
    "Xu, Liu & Lau, Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters, ICPP 2022";

/// An order of jobs.
#[derive(Serialize)]
pub struct OrderEntry {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// Its key, smallest first.
    pub key: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterEntry],
    /// The order of jobs itself.
    #[serde(skip)]
    build: fn(&Parameters<'_>) -> Box<dyn Order>,
    /// The pass that starts pending tasks of such jobs, one copy each.
    #[serde(skip)]
    originals: fn(&Parameters<'_>, Which) -> Box<dyn Pass>,
    /// How passes that go from node to node choose among its jobs.
    #[serde(skip)]
    fit: fn(&Parameters<'_>) -> Box<dyn Fit>,
}

/// The best fit within each key of the order.
fn in_key_order(_: &Parameters<'_>) -> Box<dyn Fit> {
    Box::new(InKeyOrder)
}

/// Originals of an order that serves one job after the other: see [`Originals`].
fn job_by_job(_: &Parameters<'_>, which: Which) -> Box<dyn Pass> {
    Box::new(Originals::of(which))
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
    build: fn(&Rule<'_>) -> Vec<Box<dyn Pass>>,
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
    /// The word given first, or a number from the first to the second, ends included.
    WordOrNumber(&'static str, f64, f64),
    /// One of these words.
    OneOf(&'static [&'static str]),
}

impl Valid {
    fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Valid::Switch, Value::Switch(_)) => true,
            (Valid::Number(low, high) | Valid::WordOrNumber(_, low, high), Value::Number(number)) => {
                (low..=high).contains(number)
            }
            (Valid::NumberBelow(low, high), Value::Number(number)) => (low..high).contains(number),
            (Valid::Count(low, high), Value::Number(number)) => {
                number.fract() == 0.0 && (f64::from(low)..=f64::from(high)).contains(number)
            }
            (Valid::OptimalOrNumber, Value::Word(word)) => word == "optimal",
            (Valid::WordOrNumber(known, ..), Value::Word(word)) => word == known,
            (Valid::OneOf(words), Value::Word(word)) => words.contains(&word.as_str()),
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
            Valid::WordOrNumber(word, low, high) => format!("{word}, or {}", Valid::Number(low, high).describe()),
            Valid::OneOf(words) => words.join(" or "),
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
    /// Queues that make no sense.
    #[error(transparent)]
    Queue(crate::queues::BadQueue),
    /// A text that is no name.
    #[error(transparent)]
    Malformed(super::spec::BadPolicySpec),
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
    /// Order for rules that bring none, perhaps with parameters.
    pub order: &'a str,
    /// γ: price of a machine-second.
    pub gamma: f64,
    /// The queues that jobs are submitted to, for orders that share the cluster among queues.
    pub queues: &'a [QueueSpec],
}

/// Parameters of an order or rule, given or default.
struct Parameters<'a> {
    entries: &'static [ParameterEntry],
    given: &'a Given,
    setting: &'a Setting<'a>,
}

impl Parameters<'_> {
    fn value(&self, name: &str) -> Value {
        if let Some(value) = self.given.get(name) {
            return value.clone();
        }
        let default = self.entries.iter().find(|entry| entry.name == name).map_or("0", |entry| entry.default);
        match (default.parse(), default.parse()) {
            (Ok(on), _) => Value::Switch(on),
            (_, Ok(number)) => Value::Number(number),
            _ => Value::Word(default.to_owned()),
        }
    }

    fn number(&self, name: &str) -> f64 {
        self.number_if_any(name).unwrap_or(0.0)
    }

    /// A number, or nothing where the value is a word.
    fn number_if_any(&self, name: &str) -> Option<f64> {
        if let Value::Number(number) = self.value(name) { Some(number) } else { None }
    }

    fn count(&self, name: &str) -> u32 {
        self.number(name) as u32
    }

    fn switch(&self, name: &str) -> bool {
        self.value(name) == Value::Switch(true)
    }

    fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.value(name), Value::Word(value) if value == word)
    }

    fn sigma(&self) -> SigmaChoice {
        self.number_if_any("sigma").map_or(SigmaChoice::Optimal, SigmaChoice::Fixed)
    }

    fn gamma(&self) -> f64 {
        self.setting.gamma
    }
}

/// What a system's passes are built from: its own parameters, and the order under which it runs.
struct Rule<'a> {
    parameters: Parameters<'a>,
    order: (&'static OrderEntry, Parameters<'a>),
    own_order: bool,
}

impl<'a> std::ops::Deref for Rule<'a> {
    type Target = Parameters<'a>;

    fn deref(&self) -> &Parameters<'a> {
        &self.parameters
    }
}

impl Rule<'_> {
    /// The pass that starts pending tasks in the order's way.
    fn originals(&self, which: Which) -> Box<dyn Pass> {
        (self.order.0.originals)(&self.order.1, which)
    }

    /// How the order chooses among jobs for a node.
    fn fit(&self) -> Box<dyn Fit> {
        (self.order.0.fit)(&self.order.1)
    }

    /// True if the system's own order is in force.
    fn has_own_order(&self) -> bool {
        self.own_order
    }
}

/// The entry of an order.
///
/// # Errors
/// If there is none of that name.
fn order_entry(name: &str) -> Result<&'static OrderEntry, CatalogueError> {
    ORDERS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let near = if system_like(name).is_some() {
            "; it is a rule or system, not an order".to_owned()
        } else {
            did_you_mean(&name.to_lowercase(), ORDERS.iter().map(|entry| entry.name))
        };
        CatalogueError::UnknownName { what: "order", name: name.to_owned(), near }
    })
}

/// The system of a name, in whatever case.
fn system_like(name: &str) -> Option<&'static SystemEntry> {
    SYSTEMS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// What is before the + of a policy's name, and perhaps meant to stand behind it.
fn named_order(spec: &PolicySpec) -> Result<Option<(&'static OrderEntry, &Given)>, CatalogueError> {
    let Some(order) = &spec.order else { return Ok(None) };
    let turned = || {
        let (rule, before) = (system_like(&order.name)?.name, order_entry(&spec.rule.to_lowercase()).ok()?.name);
        let turned = PolicySpec {
            order: Some(OrderSpec { name: before.to_owned(), parameters: spec.parameters.clone() }),
            rule: rule.to_owned(),
            parameters: order.parameters.clone(),
        };
        Some(format!("; {rule} is a rule and {before} an order: did you mean \"{turned}\"?"))
    };
    let found = order_entry(&order.name).map_err(|error| match (error, turned()) {
        (CatalogueError::UnknownName { what, name, .. }, Some(near)) => {
            CatalogueError::UnknownName { what, name, near }
        }
        (other, _) => other,
    })?;
    Ok(Some((found, &order.parameters)))
}

/// An order by name, with parameters, as a scenario or journal names it.
///
/// # Errors
/// If the text names none, or a parameter is unknown or has a value that is not valid.
pub fn order(text: &str) -> Result<OrderSpec, CatalogueError> {
    let spec: OrderSpec = text.parse().map_err(|error: super::spec::BadPolicySpec| CatalogueError::Malformed(error))?;
    let entry = order_entry(&spec.name)?;
    check_parameters(entry.name, &[entry.parameters], &spec.parameters)?;
    Ok(spec)
}

fn check_parameters(
    owner: &'static str,
    entries: &[&'static [ParameterEntry]],
    given: &Given,
) -> Result<(), CatalogueError> {
    let all = || entries.iter().flat_map(|entries| entries.iter());
    for (name, value) in given {
        let parameter =
            all().find(|parameter| parameter.name == name).ok_or_else(|| CatalogueError::UnknownParameter {
                system: owner,
                name: name.clone(),
                near: did_you_mean(name, all().map(|parameter| parameter.name)),
                known: match all().map(|parameter| parameter.name).collect::<Vec<_>>() {
                    names if names.is_empty() => "no parameters".to_owned(),
                    names => names.join(", "),
                },
            })?;
        if !parameter.valid.accepts(value) {
            return Err(CatalogueError::BadValue {
                system: owner,
                name: parameter.name,
                value: value.to_string(),
                valid: parameter.valid.describe(),
            });
        }
    }
    Ok(())
}

/// What a policy's name means.
struct Meaning<'a> {
    system: &'static SystemEntry,
    /// The order that is named or that the system brings, with the parameters meant for it.
    order: Option<(&'static OrderEntry, &'a Given)>,
    /// The parameters meant for the system.
    given: &'a Given,
}

static NONE_GIVEN: Given = Given::new();

/// Of a name that is both a system's and an order's, the system is meant; an order's name alone means
/// that order without redundancy.
fn meaning(spec: &PolicySpec) -> Result<Meaning<'_>, CatalogueError> {
    let named = named_order(spec)?;
    let by_name = |name: &str| SYSTEMS.iter().find(|entry| entry.name == name);
    if let Some(system) = by_name(&spec.rule) {
        let own = system.order.map(|order| Ok((order_entry(order)?, &spec.parameters))).transpose()?;
        return Ok(Meaning { system, order: named.or(own), given: &spec.parameters });
    }
    let alone = ORDERS.iter().find(|entry| entry.name == spec.rule);
    if let (Some(order), Some(system), None) = (alone, by_name("none"), &named) {
        return Ok(Meaning { system, order: Some((order, &spec.parameters)), given: &NONE_GIVEN });
    }
    let near = if alone.is_some() {
        format!("; it is an order: write {}+RULE", spec.rule)
    } else {
        let names = SYSTEMS.iter().map(|entry| entry.name).chain(ORDERS.iter().map(|entry| entry.name));
        did_you_mean(&spec.rule.to_lowercase(), names)
    };
    Err(CatalogueError::UnknownName { what: "policy", name: spec.rule.clone(), near })
}

/// Where what the rule does not take is a parameter of the order that is named, tells how to give it.
fn belongs_to_order(mut error: CatalogueError, spec: &PolicySpec) -> CatalogueError {
    if let CatalogueError::UnknownParameter { name, near, .. } = &mut error
        && let Some(order) = &spec.order
        && order_entry(&order.name).is_ok_and(|entry| entry.parameters.iter().any(|one| one.name == name))
        && let Some(value) = spec.parameters.get(name)
    {
        let mut order = order.clone();
        order.parameters.insert(name.clone(), value.clone());
        *near = format!(", but its order has: give it in the name: \"{order}+{}\"", spec.rule);
    }
    error
}

/// Checks that a policy can be built: that its names are known and its parameters valid. A system that
/// brings its order takes that order's parameters too.
///
/// # Errors
/// If there is none of that name, or a parameter is unknown or has a value that is not valid.
pub fn check(spec: &PolicySpec) -> Result<&'static SystemEntry, CatalogueError> {
    let found = meaning(spec)?;
    if let Some(order) = &spec.order {
        check_parameters(order_entry(&order.name)?.name, &[order_entry(&order.name)?.parameters], &order.parameters)?;
    }
    match found.order {
        // An order alone, or a system with its own order: both take what is given.
        Some((order, given)) if std::ptr::eq(given, &raw const spec.parameters) => {
            let owner = if found.system.name == spec.rule { found.system.name } else { order.name };
            let of_system = if found.system.name == spec.rule { found.system.parameters } else { &[] };
            check_parameters(owner, &[of_system, order.parameters], given)?;
        }
        _ => check_parameters(found.system.name, &[found.system.parameters], &spec.parameters)
            .map_err(|error| belongs_to_order(error, spec))?,
    }
    Ok(found.system)
}

/// True if the scenario's order is in force under a policy: it names none, and its system brings none.
///
/// # Errors
/// If there is none of that name.
pub fn takes_setting_order(spec: &PolicySpec) -> Result<bool, CatalogueError> {
    Ok(meaning(spec)?.order.is_none())
}

/// How the scenario's order is told beside some policies: with what it applies to, or not at all.
pub fn told_order<'a>(order: &str, policies: impl IntoIterator<Item = &'a PolicySpec>) -> Option<String> {
    let (mut under, mut besides) = (false, false);
    for spec in policies {
        // Of what can't be told apart it may be in force.
        let takes = takes_setting_order(spec).unwrap_or(true);
        under |= takes;
        besides |= !takes;
    }
    under.then(|| if besides { format!("order {order} for rules named alone") } else { format!("order {order}") })
}

/// Builds a policy: its system's passes under the order it names, its system's own order, or the
/// scenario's.
///
/// # Errors
/// As [`check`], and if the scenario's order is unknown or its queues make no sense.
pub fn build(spec: &PolicySpec, setting: &Setting<'_>) -> Result<Policy, CatalogueError> {
    check(spec)?;
    crate::queues::check(setting.queues).map_err(CatalogueError::Queue)?;
    let found = meaning(spec)?;
    let by_default;
    let (order, given) = if let Some(named) = found.order {
        named
    } else {
        by_default = self::order(setting.order)?;
        (order_entry(&by_default.name)?, &by_default.parameters)
    };
    let of_order = Parameters { entries: order.parameters, given, setting };
    let built = (order.build)(&of_order);
    let parameters = Parameters { entries: found.system.parameters, given: found.given, setting };
    // A system with a parameter `keep` says which of a finished task's other copies runs on.
    let keep = if parameters.is("keep", "best_locality") { Keep::BestLocality } else { Keep::None };
    let own_order = found.system.order == Some(order.name);
    let rule = Rule { parameters, order: (order, of_order), own_order };
    Ok(Policy::new(built, (found.system.build)(&rule)).keeping(keep))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting<'static> = Setting { order: "fair", gamma: 1.0, queues: &[] };

    #[test]
    fn every_default_is_valid() {
        let systems = SYSTEMS.iter().map(|system| (system.name, system.parameters));
        let orders = ORDERS.iter().map(|order| (order.name, order.parameters));
        for (name, entries) in systems.chain(orders) {
            for parameter in entries {
                let parameters = Parameters { entries, given: &NONE_GIVEN, setting: &SETTING };
                let value = parameters.value(parameter.name);
                assert!(parameter.valid.accepts(&value), "{name}: {} = {value}", parameter.name);
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
    fn the_settings_order_is_told_where_it_applies() {
        let told = |names: &[&str]| {
            let specs: Vec<PolicySpec> = names.iter().map(|name| name.parse().unwrap()).collect();
            told_order("fair", &specs)
        };
        assert_eq!(told(&["none", "mantri"]).as_deref(), Some("order fair"));
        assert_eq!(told(&["dollymp", "drf", "drf+none"]), None);
        assert_eq!(told(&["dollymp", "dolly"]).as_deref(), Some("order fair for rules named alone"));
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
        assert!(message("tetris+dollymp(epsilon=2)").contains("in the name: \"tetris(epsilon=2)+dollymp\""));
        assert!(message("fair+fifo").contains("write fifo+RULE"));
        assert!(message("DRF+none").contains("did you mean \"drf\"?"));
        assert!(message("sca+mantri").contains("; it is a rule or system, not an order"));
        assert!(message("mantri(delta=0.5)+tetris(epsilon=1)").contains(
            "no order is called \"mantri\"; mantri is a rule and tetris an order: did you mean \
             \"tetris(epsilon=1)+mantri(delta=0.5)\"?"
        ));
        assert!(message("Mantri+Tetris").contains("did you mean \"tetris+mantri\"?"));
        assert!(message("ese(sigma=-1e300)").contains("sigma is -1e300, but"));
        assert!(message("SCA").contains("did you mean \"sca\"?"));
    }
}
