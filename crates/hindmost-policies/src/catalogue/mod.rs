//! The catalogue lists every order and every system by name, with its source and its parameters, and builds policies
//! from their names.
//!
//! To add a policy, write a file for it, an entry in `orders.rs` or `systems.rs`,
//! and its source and the differences from it in the file of the same name in `sources/`. The file declares the policy's
//! parameters as a struct, see [`mod@crate::parameters`].

use std::collections::BTreeMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::estimator::estimator;
use hindmost_core::journal::Header;
use hindmost_core::policy::Policy;
use hindmost_core::session::Session;
use hindmost_core::submission_queues;
use hindmost_core::workload::QueueSpec;
use hindmost_math::plain::Quoted;
use hindmost_math::suggest::did_you_mean;

use crate::parameters::{Given, ParameterEntry, Value};
use spec::{OrderSpec, PolicySpec};

mod budget;
mod entry;
mod error;
mod orders;
mod reference;
mod schema;
mod sources;
pub mod spec;
mod systems;
#[cfg(test)]
mod tests;

pub use budget::{after_deadline, clones_only_with_deadline, without_clones};
pub use entry::{Build, JobOrder, OrderEntry, PolicyBuilder, SystemEntry, Typed, order_of, system_of};
pub use error::CatalogueError;
pub use orders::ORDERS;
pub use reference::reference;
pub use schema::{order_pattern, schema};
pub use sources::Source;
pub use systems::{SYSTEMS, compared};

/// The order of jobs if neither the scenario nor the policy names one.
pub const DEFAULT_ORDER: &str = "fair";

/// The settings of a scenario that apply to all of its policies.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The name of the order, with or without parameters, for policies that name no order and whose system has none of
    /// its own.
    pub order: &'a str,
    /// γ, the price of a machine-second.
    pub gamma: f64,
    /// The queues that jobs are submitted to, for orders that share the cluster among queues.
    pub queues: &'a [QueueSpec],
    /// True if the policy decides in a live run.
    pub live: bool,
}

impl<'a> From<&'a Header> for Setting<'a> {
    /// Returns the setting that a journal's header records.
    fn from(header: &'a Header) -> Setting<'a> {
        Setting { order: &header.order, gamma: header.gamma, queues: &header.queues, live: header.is_live() }
    }
}

/// Returns the entry of the order with this name.
///
/// # Errors
/// If no order has this name.
fn order_entry(name: &str) -> Result<&'static OrderEntry, CatalogueError> {
    ORDERS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let near = if system_like(name).is_some() {
            "; it is a system, not an order".to_owned()
        } else {
            did_you_mean(&name.to_lowercase(), ORDERS.iter().map(|entry| entry.name))
        };
        CatalogueError::UnknownName { what: "order", name: name.to_owned(), near }
    })
}

/// Returns the entry of the system with this name. Upper and lower case count as equal.
fn system_like(name: &str) -> Option<&'static SystemEntry> {
    SYSTEMS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// Returns the system and the order of this name; most names are that of one of them.
///
/// # Errors
/// If there is neither.
pub fn entries(name: &str) -> Result<(Option<&'static SystemEntry>, Option<&'static OrderEntry>), CatalogueError> {
    let system = SYSTEMS.iter().find(|entry| entry.name == name);
    let order = ORDERS.iter().find(|entry| entry.name == name);
    if system.is_none() && order.is_none() {
        let names = SYSTEMS.iter().map(|entry| entry.name).chain(ORDERS.iter().map(|entry| entry.name));
        let near = did_you_mean(&name.to_lowercase(), names);
        return Err(CatalogueError::UnknownName { what: "policy", name: name.to_owned(), near });
    }
    Ok((system, order))
}

/// Returns the order before the `+` of a policy's name, and its given parameters; `None` if the name has no `+`. If
/// there is a system before the `+` and an order after it, the error suggests swapping them.
fn named_order(spec: &PolicySpec) -> Result<Option<(&'static OrderEntry, &Given)>, CatalogueError> {
    let Some(order) = &spec.order else { return Ok(None) };
    let swapped = || {
        let (system, before) = (system_like(&order.name)?.name, order_entry(&spec.system.to_lowercase()).ok()?.name);
        let swapped = PolicySpec {
            order: Some(OrderSpec { name: before.to_owned(), parameters: spec.parameters.clone() }),
            system: system.to_owned(),
            parameters: order.parameters.clone(),
        };
        Some(format!("; {system} is a system and {before} an order: did you mean {}?", Quoted(&swapped.to_string())))
    };
    let found = order_entry(&order.name).map_err(|error| match (error, swapped()) {
        (CatalogueError::UnknownName { what, name, .. }, Some(near)) => {
            CatalogueError::UnknownName { what, name, near }
        }
        (other, _) => other,
    })?;
    Ok(Some((found, &order.parameters)))
}

/// Parses and checks the name of an order, with or without parameters, as scenarios and journals write it.
///
/// # Errors
/// If the text names no order, or a parameter is unknown or has a value that is not valid.
pub fn order(text: &str) -> Result<OrderSpec, CatalogueError> {
    let spec: OrderSpec = text.parse().map_err(CatalogueError::Malformed)?;
    let entry = order_entry(&spec.name)?;
    check_parameters(entry.name, &[entry.parameters()], &spec.parameters)?;
    Ok(spec)
}

/// Checks what a system demands of several parameters together. Each of them must be valid.
fn check_together(system: &SystemEntry, given: &Given) -> Result<(), CatalogueError> {
    let why = system.build.check(given);
    why.map_or(Ok(()), |why| Err(CatalogueError::BadCombination { system: system.name, why }))
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
        parameter.check(value).map_err(|error| CatalogueError::BadValue { system: owner, error })?;
    }
    Ok(())
}

/// The system and order that a policy's name stands for.
struct Meaning<'a> {
    system: &'static SystemEntry,
    /// The order in the policy's name, otherwise the system's own order, with the parameters given for it. `None`: the
    /// policy runs under the scenario's order.
    order: Option<(&'static OrderEntry, &'a Given)>,
    /// The parameters given for the system.
    given: &'a Given,
}

static NONE_GIVEN: Given = Given::new();

/// Returns the system and the order that a policy's name stands for. If a system and an order have the same name, the
/// name stands for the system. The name of an order alone stands for that order with the system `none`.
fn meaning(spec: &PolicySpec) -> Result<Meaning<'_>, CatalogueError> {
    let named = named_order(spec)?;
    let by_name = |name: &str| SYSTEMS.iter().find(|entry| entry.name == name);
    if let Some(system) = by_name(&spec.system) {
        let own = system.order.map(|order| Ok((order_entry(order)?, &spec.parameters))).transpose()?;
        return Ok(Meaning { system, order: named.or(own), given: &spec.parameters });
    }
    let alone = ORDERS.iter().find(|entry| entry.name == spec.system);
    if let (Some(order), Some(system), None) = (alone, by_name("none"), &named) {
        return Ok(Meaning { system, order: Some((order, &spec.parameters)), given: &NONE_GIVEN });
    }
    let near = if alone.is_some() {
        format!("; it is an order: write {}+SYSTEM", spec.system)
    } else {
        let names = SYSTEMS.iter().map(|entry| entry.name).chain(ORDERS.iter().map(|entry| entry.name));
        did_you_mean(&spec.system.to_lowercase(), names)
    };
    Err(CatalogueError::UnknownName { what: "policy", name: spec.system.clone(), near })
}

/// Adds a suggestion to the error for a parameter that the system does not have: if the order in the policy's name has
/// this parameter, the suggestion is the policy's name with the parameter given to the order.
fn belongs_to_order(mut error: CatalogueError, spec: &PolicySpec) -> CatalogueError {
    if let CatalogueError::UnknownParameter { name, near, .. } = &mut error
        && let Some(order) = &spec.order
        && order_entry(&order.name).is_ok_and(|entry| entry.parameters().iter().any(|one| one.name == name))
        && let Some(value) = spec.parameters.get(name)
    {
        let mut order = order.clone();
        let owner = order.name.clone();
        order.parameters.insert(name.clone(), value.clone());
        let written = format!("{order}+{}", spec.system);
        *near = format!(", but the order {owner} has it; write it in the name: {}", Quoted(&written));
    }
    error
}

/// Returns the given parameters that have one of these entries and differ from its default.
fn differing<'a>(given: &'a Given, entries: &[ParameterEntry]) -> BTreeMap<&'a str, &'a Value> {
    let is_changed = |name: &str, value: &Value| entries.iter().any(|one| one.name == name && one.default != *value);
    given.iter().filter(|(name, value)| is_changed(name, value)).map(|(name, value)| (name.as_str(), value)).collect()
}

/// Returns true if two names stand for the same policy. Names that differ only in parameters at their defaults, or in
/// whether they name the system's own order, stand for the same policy. Returns false if either name is not valid.
pub fn mean_the_same(one: &PolicySpec, other: &PolicySpec) -> bool {
    let essence = |spec| {
        let Meaning { system, order, given } = meaning(spec).ok()?;
        let order = order.map(|(order, given)| (order.name, differing(given, order.parameters())));
        Some((system.name, order, differing(given, system.parameters())))
    };
    essence(one).is_some_and(|found| essence(other) == Some(found))
}

/// Checks that a policy can be built, that is, its names are known and its parameters valid, and returns its system. A
/// system under its own order takes that order's parameters too.
///
/// # Errors
/// If a name is not known, or a parameter is unknown or has a value that is not valid.
pub fn check(spec: &PolicySpec) -> Result<&'static SystemEntry, CatalogueError> {
    let found = meaning(spec)?;
    let system = found.system;
    match found.order {
        Some((order, given)) if spec.order.is_some() => {
            check_parameters(order.name, &[order.parameters()], given)?;
            check_parameters(system.name, &[system.parameters()], found.given)
                .map_err(|error| belongs_to_order(error, spec))?;
        }
        // The policy's name is the name of an order.
        Some((order, given)) if system.name != spec.system => {
            check_parameters(order.name, &[order.parameters()], given)?;
        }
        // The policy's name is a system that has its own order; both read the given parameters.
        Some((order, given)) => check_parameters(system.name, &[system.parameters(), order.parameters()], given)?,
        None => check_parameters(system.name, &[system.parameters()], found.given)?,
    }
    check_together(system, found.given)?;
    Ok(system)
}

/// Returns true if a policy runs under the scenario's order: it names no order, and its system has no order of its own.
///
/// # Errors
/// If a name is not known.
fn takes_setting_order(spec: &PolicySpec) -> Result<bool, CatalogueError> {
    Ok(meaning(spec)?.order.is_none())
}

/// Returns a phrase that says which of these policies run under the scenario's order: "order fair" if all do, "order
/// fair for policies without an order of their own" if some do, and `None` if none does.
pub fn order_in_words<'a>(order: &str, policies: impl IntoIterator<Item = &'a PolicySpec>) -> Option<String> {
    let (mut uses_it, mut others) = (false, false);
    for spec in policies {
        // A policy that is not valid counts as running under the scenario's order.
        let takes = takes_setting_order(spec).unwrap_or(true);
        uses_it |= takes;
        others |= !takes;
    }
    uses_it.then(|| {
        if others {
            format!("order {order} for policies without an order of their own")
        } else {
            format!("order {order}")
        }
    })
}

/// Builds a policy: its system's passes under the order that the name gives, else under the system's own order, else
/// under the scenario's.
///
/// # Errors
/// As [`check`], and if the scenario's order is unknown or its queues are not valid.
pub fn build(spec: &PolicySpec, setting: &Setting<'_>) -> Result<Policy, CatalogueError> {
    check(spec)?;
    let found = meaning(spec)?;
    assemble(found.system, found.given, found.order, setting)
}

impl OrderEntry {
    /// Builds a policy that starts one copy of each task, in this order. The order need not be in the catalogue.
    ///
    /// # Errors
    /// If a parameter is unknown, a value is not valid, or the scenario's queues are not valid.
    pub fn policy(&self, given: &Given, setting: &Setting<'_>) -> Result<Policy, CatalogueError> {
        check_parameters(self.name, &[self.parameters()], given)?;
        let alone = meaning(&PolicySpec::of("none"))?.system;
        assemble(alone, &NONE_GIVEN, Some((self, given)), setting)
    }
}

impl SystemEntry {
    /// Builds a policy of this system under its own order or the scenario's. The system need not be in the catalogue.
    ///
    /// # Errors
    /// If a parameter is unknown, a value is not valid, an order is unknown, or the scenario's queues are not valid.
    pub fn policy(&self, given: &Given, setting: &Setting<'_>) -> Result<Policy, CatalogueError> {
        let own = self.order.map(order_entry).transpose()?;
        let of_order = own.map_or(&[][..], OrderEntry::parameters);
        check_parameters(self.name, &[self.parameters(), of_order], given)?;
        assemble(self, given, own.map(|order| (order, given)), setting)
    }
}

/// Builds a policy from a system and an order. `None`: the scenario's order.
fn assemble(
    system: &SystemEntry,
    given: &Given,
    order: Option<(&OrderEntry, &Given)>,
    setting: &Setting<'_>,
) -> Result<Policy, CatalogueError> {
    submission_queues::check(setting.queues).map_err(CatalogueError::Queue)?;
    let by_default;
    let (order, given_to_order) = if let Some(named) = order {
        named
    } else {
        by_default = self::order(setting.order)?;
        (order_entry(&by_default.name)?, &by_default.parameters)
    };
    let bad_value = |name| move |error| CatalogueError::BadValue { system: name, error };
    let jobs = order.build.build(given_to_order, setting.queues.to_vec()).map_err(bad_value(order.name))?;
    let policy = PolicyBuilder::new(jobs, system.order == Some(order.name), setting);
    let built = system.build.build(given, policy).map(PolicyBuilder::finish).map_err(bad_value(system.name))?;
    check_together(system, given)?;
    Ok(built)
}

/// Returns a session in which the records of a journal can be replayed. It has the policy that the journal's header
/// names, in its initial state, and an empty cluster.
///
/// # Errors
/// If the catalogue cannot build the policy that the header names.
pub fn session_of(header: &Header) -> Result<Session, CatalogueError> {
    let spec: PolicySpec = header.policy.parse().map_err(CatalogueError::Malformed)?;
    Ok(session_under(build(&spec, &Setting::from(header))?, header))
}

/// Returns a session for replaying a journal, as [`session_of`] does, but with a policy that the caller has built. The
/// catalogue need not know this policy.
pub fn session_under(policy: Policy, header: &Header) -> Session {
    let seed = header.placement_seed.unwrap_or_default();
    let cluster = Cluster::new(header.dimensions.clone()).with_placement(header.placement, seed);
    let cluster = if header.is_live() { cluster.visiting_by_id() } else { cluster };
    Session::new(cluster, policy, estimator(header.knowledge))
}
