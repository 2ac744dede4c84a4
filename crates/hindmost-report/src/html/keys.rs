//! Labels and units of the keys that a sweep varies. Axes show them instead of the key's path.

use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{ORDERS, OrderEntry, SYSTEMS, SystemEntry};

use super::{listed, name};

/// The label of a key in words, and its unit; the unit is empty if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) label: String,
    pub(super) unit: &'static str,
}

/// Formats a point of a sweep, such as `slot = 1 and seeds = 3`; empty if there is no sweep.
pub(super) fn set_text(set: &[(String, String)]) -> String {
    listed(&set.iter().map(|(key, value)| format!("{} = {}", name(key), name(value))).collect::<Vec<_>>())
}

/// Keys of scenarios and replays with their labels and units.
const KNOWN: [(&str, &str, &str); 17] = [
    ("load", "load", ""),
    ("workload.arrival.poisson.load", "load", ""),
    ("workload.arrival.every.load", "load", ""),
    ("workload.arrival.poisson.rate", "arrival rate", "jobs a second"),
    ("workload.arrival.at_once.jobs", "jobs that arrive at once", ""),
    ("workload.arrival.every.jobs", "jobs", ""),
    ("workload.correlation", "share of a duration that all copies of a task share", ""),
    ("workload.slow_from", "share of its work after which a slow copy becomes slow", ""),
    ("workload.demand.cpus", "cores that a copy needs", ""),
    ("workload.demand.gpus", "accelerators that a copy needs", ""),
    ("cluster.machines", "machines", ""),
    ("machines", "machines", ""),
    ("horizon", "time after which no job arrives", "s"),
    ("slot", "time between decisions", "s"),
    ("seeds", "seeds", ""),
    ("noise", "error of estimated remaining times: σ of a log-normal factor", ""),
    ("gamma", "γ, the price of a machine-second", ""),
];

/// Keys whose value may be a distribution, with the label and unit of the quantity that is drawn from it.
const DRAWN: [(&str, &str, &str); 5] = [
    ("workload.tasks", "tasks of a job", ""),
    ("workload.duration", "duration of a copy", "s"),
    ("workload.arrival.every.gap", "gap between arrivals", "s"),
    ("workload.deadline", "time from a job's arrival to its deadline", "s"),
    ("workload.deadline_factor", "time to the deadline, in ideal times of the job", ""),
];

/// Keys of a class of nodes (`cluster.nodes.N.`) with their labels.
const OF_NODES: [(&str, &str); 3] =
    [("count", "nodes"), ("cpus", "cores of a node"), ("gpus", "accelerators of a node")];

/// Parameters of distributions with their labels, and whether they have the unit of the drawn quantity.
const OF_A_DRAW: [(&str, &str, bool); 9] = [
    ("value", "", true),
    ("mean", "mean", true),
    ("min", "smallest", true),
    ("max", "largest", true),
    ("minimum", "smallest", true),
    ("maximum", "largest", true),
    ("alpha", "tail index α", false),
    ("cv", "coefficient of variation", false),
    ("shape", "shape", false),
];

/// Returns the label and unit of a swept key; `None` if the key is not known. `policies` are the policies at the first
/// point of the sweep; in keys, `policy.N` is the element N of this list.
pub(super) fn key(key: &str, policies: &[&str]) -> Option<Key> {
    if let Some((_, label, unit)) = KNOWN.iter().find(|(known, ..)| *known == key) {
        return Some(Key { label: (*label).to_owned(), unit });
    }
    if let Some(rest) = key.strip_prefix("cluster.nodes.") {
        let (class, what) = rest.split_once('.')?;
        class.parse::<u32>().ok()?;
        if let Some(path) = what.strip_prefix("speed") {
            return drawn("speed of a node", "", path);
        }
        let (_, label) = OF_NODES.iter().find(|(known, _)| *known == what)?;
        return Some(Key { label: (*label).to_owned(), unit: "" });
    }
    if let Some(rest) = key.strip_prefix("policy.") {
        let (number, parameter) = rest.split_once('.')?;
        return of_policy(policies.get(number.parse::<usize>().ok()?)?, parameter);
    }
    DRAWN.iter().find_map(|(known, label, unit)| drawn(label, unit, key.strip_prefix(known)?))
}

/// Returns the label of a parameter of a distribution, such as `.pareto.alpha` or `.pareto.mean.uniform.max`; an empty
/// path is the number itself.
fn drawn(label: &str, unit: &'static str, path: &str) -> Option<Key> {
    if path.is_empty() {
        return Some(Key { label: label.to_owned(), unit });
    }
    let mut steps = path.strip_prefix('.')?.split('.');
    let mut words: Vec<&str> = Vec::new();
    let mut of_values = true;
    while let Some(_family) = steps.next() {
        let step = steps.next()?;
        let (_, word, counts_values) = OF_A_DRAW.iter().find(|(known, ..)| *known == step)?;
        if !word.is_empty() {
            words.insert(0, word);
        }
        of_values &= counts_values;
    }
    let label = if words.is_empty() { label.to_owned() } else { format!("{label}, {}", words.join(" ")) };
    Some(Key { label, unit: if of_values { unit } else { "" } })
}

/// Returns the label of a parameter of a policy or of its order, from the catalogue.
fn of_policy(policy: &str, parameter: &str) -> Option<Key> {
    let spec: PolicySpec = policy.parse().ok()?;
    let of_order = |name: &str| ORDERS.iter().find(|entry| entry.name == name).map(OrderEntry::parameters);
    let system = SYSTEMS.iter().find(|entry| entry.name == spec.system).map(SystemEntry::parameters);
    let known = system.or_else(|| of_order(&spec.system))?;
    let entry = known.iter().find(|entry| entry.name == parameter)?;
    Some(Key { label: format!("{}: {}", spec.system, entry.about), unit: "" })
}

/// Returns one name for a policy whose parameters differ between the points of a sweep: its name without the swept
/// parameters, followed by a note such as `(delta swept)`.
pub(super) fn common_name(names: &[&str]) -> String {
    let first = names.first().copied().unwrap_or_default();
    if names.iter().all(|name| *name == first) {
        return first.to_owned();
    }
    let specs: Result<Vec<PolicySpec>, _> = names.iter().map(|name| name.parse::<PolicySpec>()).collect();
    let Some((spec, others)) = specs.as_deref().ok().and_then(<[PolicySpec]>::split_first) else {
        return first.to_owned();
    };
    let same = |other: &PolicySpec| other.system == spec.system && other.order == spec.order;
    if !others.iter().all(same) {
        return first.to_owned();
    }
    let mut common = spec.clone();
    common.parameters.retain(|name, value| others.iter().all(|other| other.parameters.get(name) == Some(value)));
    let mut swept: Vec<&str> =
        specs.iter().flatten().flat_map(|spec| spec.parameters.keys()).map(String::as_str).collect();
    swept.retain(|name| !common.parameters.contains_key(*name));
    swept.sort_unstable();
    swept.dedup();
    format!("{common} ({} swept)", swept.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label_of(name: &str) -> Option<(String, &'static str)> {
        let policies = ["fair", "mantri", "srpt+sca(max_copies=4)"];
        key(name, &policies).map(|key| (key.label, key.unit))
    }

    #[test]
    fn known_keys_have_labels_and_units() {
        for (name, label, unit) in [
            ("workload.arrival.poisson.rate", "arrival rate", "jobs a second"),
            ("horizon", "time after which no job arrives", "s"),
            ("workload.duration", "duration of a copy", "s"),
            ("workload.duration.pareto.alpha", "duration of a copy, tail index α", ""),
            ("workload.duration.pareto.mean.uniform.max", "duration of a copy, largest mean", "s"),
            ("workload.tasks.uniform.max", "tasks of a job, largest", ""),
            ("workload.tasks.constant.value", "tasks of a job", ""),
            ("cluster.nodes.0.count", "nodes", ""),
            ("cluster.nodes.12.speed", "speed of a node", ""),
            ("policy.2.max_copies", "sca: maximum number of copies of a task", ""),
            ("policy.1.delta", "mantri: probability of saving resources above which a backup starts", ""),
        ] {
            assert_eq!(label_of(name), Some((label.to_owned(), unit)), "{name}");
        }
    }

    #[test]
    fn unknown_keys_have_no_label() {
        for name in [
            "rate",
            "",
            "policy.9.max_copies",
            "policy.2.delta",
            "policy.x.delta",
            "policy.1",
            "cluster.nodes.0",
            "cluster.nodes.a.count",
            "workload.tasksx",
            "workload.duration.pareto",
            "workload.duration.pareto.beta",
            "workload.duration..",
        ] {
            assert_eq!(label_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_policy_with_swept_parameters_has_one_name() {
        assert_eq!(common_name(&["mantri", "mantri"]), "mantri");
        let swept = ["sca(max_copies=2)", "sca(max_copies=4)", "sca"];
        assert_eq!(common_name(&swept), "sca (max_copies swept)");
        let swept = ["srpt+mantri(delta=0.1,kill_restart=true)", "srpt+mantri(kill_restart=true)"];
        assert_eq!(common_name(&swept), "srpt+mantri(kill_restart=true) (delta swept)");
        assert_eq!(common_name(&["sca", "sda"]), "sca");
        assert_eq!(common_name(&["(", "sca"]), "(");
        assert_eq!(common_name(&[]), "");
    }
}
