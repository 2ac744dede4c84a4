//! The catalogue: every order and every system by the name its users know, with its paper and its
//! parameters, and how to build it. A new policy is a file of its own and an entry here.

use serde::Serialize;

use crate::suggest::did_you_mean;

use super::ese::{CloneSmallNewJobs, EseRule};
use super::hadoop::HadoopRule;
use super::late::{LateBackups, LateParameters};
use super::mantri::MantriRule;
use super::order::{Fair, FewestRemaining, Fifo, Order, SmallestWorkload, Srpt};
use super::originals::Originals;
use super::sca::CloneNewJobs;
use super::sda::{SdaRule, SigmaChoice};
use super::spark::SparkBackups;
use super::spec::{PolicySpec, Value};
use super::stragglers::Stragglers;
use super::{Pass, Policy};

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

/// The orders, in the order in which they are listed.
pub static ORDERS: &[OrderEntry] = &[
    OrderEntry { name: "fifo", key: "arrival", build: || Box::new(Fifo) },
    OrderEntry {
        name: "fair",
        key: "running attempts (one-slot machines), else dominant share, over weight",
        build: || Box::new(Fair),
    },
    OrderEntry {
        name: "smallest_workload",
        key: "started jobs before new ones; then tasks not yet started x mean duration",
        build: || Box::new(SmallestWorkload),
    },
    OrderEntry {
        name: "srpt",
        key: "longest remaining path of phases, in effective times (mean + 1.5 standard deviations)",
        build: || Box::new(Srpt),
    },
    OrderEntry {
        name: "fewest_remaining",
        key: "started jobs before new ones; fewest tasks not yet started, new ones by workload",
        build: || Box::new(FewestRemaining),
    },
];

/// The order where neither scenario nor policy names one.
pub const DEFAULT_ORDER: &str = "fair";

const XU_LAU: &str =
    "Xu & Lau, Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster, 2015";
const SIGMA: ParameterEntry = ParameterEntry {
    name: "sigma",
    default: "optimal",
    about: "a straggler's remaining time is above sigma mean durations",
    valid: Valid::OptimalOrNumber,
};
const MAX_COPIES: ParameterEntry =
    ParameterEntry { name: "max_copies", default: "8", about: "most copies of a task", valid: Valid::Count(1, 64) };

/// The systems, in the order in which they are listed.
pub static SYSTEMS: &[SystemEntry] = &[
    SystemEntry {
        name: "none",
        about: "one copy of each task, no redundancy",
        passes: "[Originals(order)]",
        source: "the baseline",
        order: None,
        parameters: &[],
        build: |_| vec![Box::new(Originals::of_all_jobs())],
    },
    SystemEntry {
        name: "hadoop",
        about: "once nothing of the job is pending, a backup for the task expected to end last",
        passes: "[Originals(order), Backups(hadoop rule, when nothing is pending)]",
        source: "Apache Hadoop MapReduce, DefaultSpeculator",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "minimum_allowed",
                default: "10",
                about: "backups always allowed at a time, a job",
                valid: Valid::Count(0, 1_000_000),
            },
            ParameterEntry {
                name: "of_total_tasks",
                default: "0.01",
                about: "backups allowed at a time, as a share of the job's tasks",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "of_running_tasks",
                default: "0.1",
                about: "backups allowed at a time, as a share of the job's running tasks",
                valid: Valid::Number(0.0, 1.0),
            },
        ],
        build: |parameters| {
            let rule = HadoopRule {
                minimum_allowed: parameters.count("minimum_allowed"),
                of_total_tasks: parameters.number("of_total_tasks"),
                of_running_tasks: parameters.number("of_running_tasks"),
            };
            vec![Box::new(Originals::of_all_jobs()), Box::new(Stragglers::new(rule))]
        },
    },
    SystemEntry {
        name: "spark",
        about: "once most of a phase has finished, a backup for what runs far longer than its median",
        passes: "[Originals(order), Backups(spark rule: quantile, multiplier, minimum runtime)]",
        source: "Apache Spark 4, TaskSetManager (spark.speculation)",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "quantile",
                default: "0.9",
                about: "share of a phase's tasks that must have finished",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "multiplier",
                default: "3",
                about: "how many medians an attempt may run",
                valid: Valid::Number(0.0, f64::MAX),
            },
            ParameterEntry {
                name: "min_runtime",
                default: "0.1",
                about: "seconds that every attempt may run",
                valid: Valid::Number(0.0, f64::MAX),
            },
        ],
        build: |parameters| {
            let backups = SparkBackups::new(
                parameters.number("quantile"),
                parameters.number("multiplier"),
                parameters.number("min_runtime"),
            );
            vec![Box::new(Originals::of_all_jobs()), Box::new(backups)]
        },
    },
    SystemEntry {
        name: "late",
        about: "backups for the slowest quarter by progress rate, longest time to end first, on fast nodes",
        passes: "[Originals(order), Backups(late rule, speculative cap)]",
        source: "Zaharia et al., Improving MapReduce Performance in Heterogeneous Environments, OSDI 2008",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "slow_task",
                default: "0.25",
                about: "percentile of progress rates below which an attempt is slow",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "slow_node",
                default: "0.25",
                about: "percentile of nodes' progress below which a node gets no backups",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "cap",
                default: "0.1",
                about: "share of the cluster's room that may run backups",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "min_age",
                default: "0",
                about: "seconds for which an attempt is left alone",
                valid: Valid::Number(0.0, f64::MAX),
            },
        ],
        build: |parameters| {
            let backups = LateBackups::new(LateParameters {
                slow_task: parameters.number("slow_task"),
                slow_node: parameters.number("slow_node"),
                cap: parameters.number("cap"),
                min_age: parameters.number("min_age"),
            });
            vec![Box::new(Originals::of_all_jobs()), Box::new(backups)]
        },
    },
    SystemEntry {
        name: "mantri",
        about: "a backup where it is expected to save resources: P(t_rem > 2 t_new) > delta",
        passes: "[Backups(mantri rule), Originals(order)]",
        source: "Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "delta",
                default: "0.25",
                about: "how likely the saving must be",
                valid: Valid::NumberBelow(0.0, 1.0),
            },
            ParameterEntry {
                name: "kill_restart",
                default: "false",
                about: "stop and start afresh where there is no room for a backup",
                valid: Valid::Switch,
            },
        ],
        build: |parameters| {
            let rule =
                MantriRule { delta: parameters.number("delta"), kill_restart: parameters.switch("kill_restart") };
            vec![Box::new(Stragglers::new(rule)), Box::new(Originals::of_all_jobs())]
        },
    },
    SystemEntry {
        name: "sca",
        about: "clones every task of new jobs as problem P2 says while the cluster is light",
        passes: "[Originals(started jobs, fewest remaining), NewJobs(P2 copies, or one each)]",
        source: XU_LAU,
        order: Some("fewest_remaining"),
        parameters: &[MAX_COPIES],
        build: |parameters| {
            vec![
                Box::new(Originals::of_started_jobs()),
                Box::new(CloneNewJobs::new(parameters.count("max_copies"), parameters.gamma)),
                // New jobs that P2 leaves, one copy a task.
                Box::new(Originals::of_all_jobs()),
            ]
        },
    },
    SystemEntry {
        name: "sda",
        about: "c - 1 fresh copies for attempts whose remaining time is above sigma mean durations",
        passes: "[Backups(sda rule), Originals(smallest_workload)]",
        source: XU_LAU,
        order: Some("smallest_workload"),
        parameters: &[SIGMA, MAX_COPIES],
        build: |parameters| {
            let rule = SdaRule::new(parameters.sigma(), parameters.count("max_copies"));
            vec![Box::new(Stragglers::new(rule)), Box::new(Originals::of_all_jobs())]
        },
    },
    SystemEntry {
        name: "ese",
        about: "under heavy load: backups for the longest remaining times, clones for small new jobs",
        passes: "[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned by Eq. 29)]",
        source: XU_LAU,
        order: Some("smallest_workload"),
        parameters: &[
            SIGMA,
            ParameterEntry {
                name: "eta",
                default: "0.1",
                about: "a small job has fewer tasks than this share of the idle machines for each new job",
                valid: Valid::Number(0.0, f64::MAX),
            },
            ParameterEntry {
                name: "xi",
                default: "1",
                about: "a small job's mean duration is below this, seconds",
                valid: Valid::Number(0.0, f64::MAX),
            },
            MAX_COPIES,
        ],
        build: |parameters| {
            let new_jobs = CloneSmallNewJobs::new(
                parameters.number("eta"),
                parameters.number("xi"),
                parameters.count("max_copies"),
                parameters.gamma,
            );
            vec![
                Box::new(Stragglers::new(EseRule::new(parameters.sigma()))),
                Box::new(Originals::of_started_jobs()),
                Box::new(new_jobs),
            ]
        },
    },
];

/// A policy that the catalogue can't build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// No such system, rule or order.
    #[error("no {what} is called {name:?}{near}; `hindmost policies` lists them")]
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
        CatalogueError::UnknownName { what: "policy", name: rule.to_owned(), near: did_you_mean(rule, names) }
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
                    "none".to_owned()
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
        assert!(message("none(delta=1)").contains("it takes none"));
    }
}
