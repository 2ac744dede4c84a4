//! What is ranked: the worlds and policies of `ranking/ranking.toml`, and every entry of the catalogue.

use std::path::Path;

use hindmost_claims::{RankedKind, RankedPolicy};
use hindmost_core::power::PowerSpec;
use hindmost_policies::catalogue::{self, DEFAULT_ORDER, ORDERS, SYSTEMS, spec::PolicySpec};
use hindmost_sim::parameter::Parameter;
use hindmost_sim::scenario::{PolicyEntry, Scenario};
use serde::Deserialize;

use crate::data::{PaperError, Settings};
use crate::runs::{Size, add, scenario_of};

/// The file of the ranking.
const FILE: &str = "ranking.toml";
const FILES: &[(&str, &str)] = &[
    (FILE, include_str!("../../ranking/ranking.toml")),
    ("correlated.toml", include_str!("../../ranking/correlated.toml")),
    ("neighbours.toml", include_str!("../../ranking/neighbours.toml")),
    ("trace-like.toml", include_str!("../../ranking/trace-like.toml")),
];

/// The policy with which all others are compared.
pub(super) const FIRST: &str = "none";

/// The file of the ranking.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RankingSpec {
    /// What is compared.
    pub(super) title: String,
    /// Number of seeds under the main progress model, beginning with seed 1.
    pub(super) seeds: u32,
    /// Number of seeds under each other progress model.
    pub(super) other_seeds: u32,
    /// Number of seeds of the quick version.
    pub(super) quick_seeds: u32,
    /// Minutes of the whole ranking on two cores.
    pub(super) minutes: f64,
    /// Progress models, the main one first. The quick version has only the main one.
    pub(super) knowledge: Vec<String>,
    /// Sentences that explain how the comparison is made.
    pub(super) notes: Vec<String>,
    /// Keys that all worlds have, and their values.
    pub(super) set: Settings,
    /// Time to the deadline, as a multiple of the ideal time, of jobs in worlds without deadlines.
    deadline_factor: f64,
    /// Power of nodes in worlds without power models.
    power: PowerSpec,
    /// Policies besides those of the catalogue.
    pub(super) variant: Vec<VariantSpec>,
    /// The worlds.
    pub(super) world: Vec<WorldEntry>,
}

/// A policy with other parameters or in another combination.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantSpec {
    /// The policy as it is written on the command line.
    policy: String,
    /// A line that says why it is here.
    about: String,
    /// Whether it runs under the main progress model only.
    #[serde(default)]
    main_only: bool,
}

/// A world: one of a paper, or a scenario of this folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorldEntry {
    /// Short name.
    pub(super) name: String,
    /// What the cluster and the workload are.
    pub(super) about: String,
    /// Name of the paper and of its world.
    pub(super) paper: Option<[String; 2]>,
    /// Name of a scenario of this folder.
    scenario: Option<String>,
    /// Whether copies may continue the work of others; false by default, because most commands cannot.
    #[serde(default)]
    resumes: bool,
    /// Keys with their values, after those of the paper and those of all worlds.
    #[serde(default)]
    set: Settings,
    /// Further values of the quick version.
    #[serde(default)]
    quick: Settings,
    /// Further values of the version for tests.
    #[serde(default)]
    short: Settings,
}

impl RankingSpec {
    /// Reads the file.
    ///
    /// # Errors
    /// If the file is not valid, which tests check.
    pub(super) fn load() -> Result<RankingSpec, PaperError> {
        toml::from_str(text(FILE).unwrap_or_default()).map_err(|error| wrong(FILE, error.to_string()))
    }

    /// Returns the policies: all systems and orders of the catalogue, the systems that have an order of their own under the
    /// default order, and the variants of the file.
    ///
    /// # Errors
    /// If a variant is not valid.
    pub(super) fn policies(&self) -> Result<Vec<RankedPolicy>, PaperError> {
        let mut all: Vec<RankedPolicy> = Vec::new();
        let row = |policy: String, kind, about: &str, order_alone| RankedPolicy {
            policy,
            kind,
            about: about.to_owned(),
            order_alone,
            copies_alone: None,
        };
        for system in SYSTEMS {
            let order_alone = system.order.map(order_alone);
            all.push(row(system.name.to_owned(), RankedKind::System, system.about, order_alone));
        }
        for system in SYSTEMS {
            if let Some(own) = system.order {
                let about = format!("{} under the order {DEFAULT_ORDER} instead of {own}", system.name);
                all.push(row(format!("{DEFAULT_ORDER}+{}", system.name), RankedKind::OtherOrder, &about, None));
            }
        }
        for order in ORDERS.iter().filter(|order| order.name != DEFAULT_ORDER) {
            let policy = order_alone(order.name);
            all.push(row(policy.clone(), RankedKind::Order, order.about, Some(policy)));
        }
        for variant in &self.variant {
            let spec: PolicySpec =
                variant.policy.parse().map_err(|error| wrong(FILE, format!("{}: {error}", variant.policy)))?;
            let system = catalogue::check(&spec).map_err(|error| wrong(FILE, error.to_string()))?;
            let order = spec.order.as_ref().map(|order| order.name.as_str()).or(system.order);
            let order = order.filter(|order| *order != DEFAULT_ORDER).map(order_alone);
            all.push(row(variant.policy.clone(), RankedKind::Variant, &variant.about, order));
        }
        let names: Vec<String> = all.iter().map(|policy| policy.policy.clone()).collect();
        for policy in all.iter_mut().filter(|policy| policy.order_alone.is_some()) {
            policy.copies_alone = copies_alone(&policy.policy).filter(|alone| names.contains(alone));
        }
        Ok(all)
    }

    /// Returns whether a policy runs under progress models other than the main one.
    pub(super) fn runs_under_others(&self, policy: &RankedPolicy) -> bool {
        !self.variant.iter().any(|variant| variant.main_only && variant.policy == policy.policy)
    }
}

/// Returns the policy that has only the copies of a policy with an order of its own, under the default order; `None` for an
/// order alone.
fn copies_alone(policy: &str) -> Option<String> {
    let system = policy.rsplit_once('+').map_or(policy, |(_, system)| system);
    let name = system.split('(').next().unwrap_or(system);
    let entry = SYSTEMS.iter().find(|entry| entry.name == name).filter(|entry| entry.name != FIRST)?;
    Some(if entry.order.is_some() { format!("{DEFAULT_ORDER}+{system}") } else { system.to_owned() })
}

/// Returns whether a row of the ranking is a system as the catalogue has it.
pub(super) fn is_system(policy: &RankedPolicy) -> bool {
    policy.kind == RankedKind::System
}

/// Returns whether a policy is a variant that combines an order with a system.
pub(super) fn is_combination(policy: &RankedPolicy) -> bool {
    let names_order = || policy.policy.parse::<PolicySpec>().is_ok_and(|spec| spec.order.is_some());
    policy.kind == RankedKind::Variant && names_order()
}

/// Returns the policy that has only an order.
fn order_alone(order: &str) -> String {
    format!("{order}+{FIRST}")
}

impl WorldEntry {
    /// Returns the scenario of the world under a progress model, with these policies and this number of seeds.
    ///
    /// # Errors
    /// If the world's data are not valid.
    pub(super) fn scenario(
        &self,
        all: &RankingSpec,
        (size, knowledge): (Size, &str),
        policies: &[RankedPolicy],
        seeds: u32,
    ) -> Result<Scenario, PaperError> {
        let mut set = Vec::new();
        add(&mut set, &all.set);
        add(&mut set, &self.set);
        if size != Size::Full {
            add(&mut set, &self.quick);
        }
        if size == Size::Short {
            add(&mut set, &self.short);
        }
        set.push(("knowledge".to_owned(), knowledge.to_owned()));
        let mut scenario = match (&self.paper, &self.scenario) {
            (Some([paper, world]), None) => {
                let paper =
                    crate::built_in(paper).ok_or_else(|| wrong(FILE, format!("there is no paper {paper:?}")))??;
                let world =
                    paper.world(world).ok_or_else(|| wrong(FILE, format!("{} has no world {world:?}", paper.key)))?;
                scenario_of(&paper, world, set)?
            }
            (None, Some(file)) => {
                let text = text(file).ok_or_else(|| wrong(FILE, format!("there is no file {file:?}")))?;
                Scenario::parse(text, file, Path::new("."), &set)
                    .map_err(|error| PaperError::World { world: self.name.clone(), error })?
            }
            _ => return Err(wrong(FILE, format!("world {:?} needs either a paper or a scenario", self.name))),
        };
        self.complete(&mut scenario, all);
        scenario.name.clone_from(&self.name);
        let spec = |policy: &RankedPolicy| policy.policy.parse::<PolicySpec>();
        let specs: Result<Vec<PolicySpec>, _> = policies.iter().map(spec).collect();
        scenario.policy =
            specs.map_err(|error| wrong(FILE, error.to_string()))?.iter().map(PolicyEntry::from).collect();
        scenario.seeds = seeds;
        Ok(scenario)
    }

    /// Adds what all worlds have: deadlines, power models, and whether copies may continue the work of others.
    fn complete(&self, scenario: &mut Scenario, all: &RankingSpec) {
        let workload = &mut scenario.workload;
        let kinds = &mut workload.job;
        let has_deadlines = workload.deadline.is_some()
            || workload.deadline_factor.is_some()
            || kinds.iter().any(|kind| kind.deadline.is_some() || kind.deadline_factor.is_some());
        if kinds.is_empty() {
            workload.resumes = Some(self.resumes);
        }
        for phase in kinds.iter_mut().flat_map(|kind| &mut kind.phase) {
            phase.resumes = self.resumes;
        }
        if !has_deadlines {
            workload.deadline_factor = Some(Parameter::Number(all.deadline_factor));
        }
        let cluster = &mut scenario.cluster;
        if cluster.machines.is_some() {
            cluster.power.get_or_insert_with(|| all.power.clone());
        }
        for class in &mut cluster.nodes {
            class.power.get_or_insert_with(|| all.power.clone());
        }
    }
}

fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

fn wrong(file: &str, message: String) -> PaperError {
    PaperError::Data { file: file.to_owned(), message }
}
