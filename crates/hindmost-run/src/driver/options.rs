//! The options of a run, and the checks that are possible before it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::journal::{Header, VERSION};
use hindmost_core::resources::{Dimensions, FEATURE, MAX_DIMENSIONS, PLENTY};
use hindmost_core::workload::DemandByName;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;

use super::RunError;
use crate::chaos::Chaos;
use crate::engine::{NodeOffer, features_of};
use crate::job_file::{Plan, PlannedPhase, check_knowledge, check_outputs_together};
use crate::store::Store;

/// The policy of runs that name no policy.
pub const DEFAULT_POLICY: &str = "pace";
/// The progress model (what a policy may know) of runs that name none: an attempt's remaining time is known once 10% of
/// its work is done.
pub const DEFAULT_KNOWLEDGE: Knowledge = Knowledge::Progress(0.1);
/// γ: the weight of resources against time, for policies that use it.
const GAMMA: f64 = 0.01;

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The policy. `None` means the journal's on resume, else the job file's, else [`DEFAULT_POLICY`].
    pub policy: Option<PolicySpec>,
    /// The progress model: what the policy may know of running attempts. `None` means the journal's on resume, else the job
    /// file's, else [`DEFAULT_KNOWLEDGE`].
    pub knowledge: Option<Knowledge>,
    /// The faults to inject.
    pub chaos: Chaos,
    /// Durations of winning attempts in earlier runs, in seconds, by phase name.
    pub history: BTreeMap<String, Vec<f64>>,
    /// The file with profiles of earlier runs, and the number of profiles that it has at most. A run that is done adds its
    /// own. `None`: no profiles of earlier runs are known, and none are kept.
    pub profiles: Option<(PathBuf, u64)>,
    /// Whether a resumed run tries the tasks again that had failed as their phases allow.
    pub retry_failed: bool,
    /// How long what needs space waits while a disk is full; zero fails at once.
    pub disk_wait: Duration,
    /// Folder in which attempts get folders for temporary files, on the machines on which they run. `None`: the one that `TMPDIR` names
    /// there.
    pub tmpdir: Option<PathBuf>,
    /// The folder with the machine's energy counters, usually [`POWERCAP`](crate::energy::POWERCAP). `None`: the energy
    /// is not measured.
    pub powercap: Option<PathBuf>,
}

impl RunOptions {
    /// Returns these options. If they name no policy or no progress model, takes the one with which the run in this folder
    /// was begun.
    pub(super) fn filled_from(&self, store: &Store) -> RunOptions {
        let mut filled = self.clone();
        if let Some(begun) = &store.job().begun_with {
            filled.policy = filled.policy.or_else(|| begun.policy.as_deref()?.parse().ok());
            filled.knowledge = filled.knowledge.or(begun.knowledge);
        }
        filled
    }
}

/// Returns the policy and progress model of a run: those of the options, else of the job file, else the defaults.
///
/// # Errors
/// If the job file names a policy or progress model that does not exist.
pub fn chosen(plan: &Plan, options: &RunOptions) -> Result<(PolicySpec, Knowledge), RunError> {
    let policy = match (&options.policy, &plan.policy) {
        (Some(policy), _) => policy.clone(),
        (None, named) => {
            let named = named.as_deref().unwrap_or(DEFAULT_POLICY);
            named.parse().map_err(|error| RunError::Input(format!("{error}")))?
        }
    };
    let knowledge = match (options.knowledge, &plan.knowledge) {
        (Some(knowledge), _) => knowledge,
        (None, Some(named)) => named.parse().map_err(|error| RunError::Input(format!("{error}")))?,
        (None, None) => DEFAULT_KNOWLEDGE,
    };
    check_knowledge(knowledge).map_err(RunError::Input)?;
    Ok((policy, knowledge))
}

/// Returns the policy and progress model of a run of several jobs, as [`chosen`] does for one. A job without a choice runs
/// under that of the others.
///
/// # Errors
/// If a job names a policy or progress model that does not exist, or if the jobs name different ones.
fn chosen_by_all(plans: &[&Plan], options: &RunOptions) -> Result<(PolicySpec, Knowledge), RunError> {
    let mut options = options.clone();
    let mut chosen_by: [Option<&str>; 2] = [None; 2];
    for plan in plans {
        let (policy, knowledge) = chosen(plan, &options)?;
        let names = [plan.policy.is_some(), plan.knowledge.is_some()];
        let differs = [
            plan.policy.is_some() && chosen(plan, &RunOptions::default())?.0 != policy,
            plan.knowledge.is_some() && chosen(plan, &RunOptions::default())?.1 != knowledge,
        ];
        for (at, what) in ["policy", "knowledge"].into_iter().enumerate() {
            if let Some(other) = chosen_by[at].filter(|_| differs[at]) {
                return Err(RunError::Input(format!(
                    "jobs {other:?} and {:?} name different values of {what}, but jobs that run together have one: choose it \
                     with --{what}",
                    plan.name
                )));
            }
        }
        if names[0] && options.policy.is_none() {
            (options.policy, chosen_by[0]) = (Some(policy), Some(plan.name.as_str()));
        }
        if names[1] && options.knowledge.is_none() {
            (options.knowledge, chosen_by[1]) = (Some(knowledge), Some(plan.name.as_str()));
        }
    }
    match plans.first() {
        Some(plan) => chosen(plan, &options),
        None => Ok((
            options
                .policy
                .map_or_else(|| DEFAULT_POLICY.parse(), Ok)
                .map_err(|error| RunError::Input(format!("{error}")))?,
            options.knowledge.unwrap_or(DEFAULT_KNOWLEDGE),
        )),
    }
}

/// Checks a run before it has a folder: its policy, its progress model, the faults to inject, and that each task fits on
/// some node.
///
/// # Errors
/// If one of these is not valid; the error is about the first such value.
pub fn check(plan: &Plan, options: &RunOptions, nodes: &[NodeOffer]) -> Result<(), RunError> {
    let (policy, _) = chosen(plan, options)?;
    catalogue::check(&policy)?;
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    if let Some(unknown) = options.chaos.unknown_node(&names) {
        let known = match names.as_slice() {
            [only] => format!("the only node is {only}; --nodes splits the machine into several"),
            several => format!("the nodes are {}", several.join(", ")),
        };
        return Err(RunError::Input(format!("--chaos names node {unknown:?}, but {known}")));
    }
    check_fits(plan, nodes)
}

/// Checks a run of several jobs as [`check`] does, and returns its policy and progress model.
///
/// # Errors
/// Those of [`check`] for each job, and if the jobs name different policies or progress models.
pub fn check_together(
    plans: &[&Plan],
    options: &RunOptions,
    nodes: &[NodeOffer],
) -> Result<(PolicySpec, Knowledge), RunError> {
    for plan in plans {
        check(plan, options, nodes).map_err(|error| RunError::Input(format!("job {:?}: {error}", plan.name)))?;
    }
    check_outputs_together(plans).map_err(RunError::Input)?;
    chosen_by_all(plans, options)
}

/// Returns the header of the journal of a new run of these jobs.
///
/// # Errors
/// If the jobs name different policies or progress models.
pub(super) fn new_header(plans: &[&Plan], options: &RunOptions, dimensions: Dimensions) -> Result<Header, RunError> {
    let (policy, knowledge) = chosen_by_all(plans, options)?;
    Ok(Header {
        hindmost_journal: VERSION,
        dimensions,
        policy: policy.to_string(),
        order: catalogue::DEFAULT_ORDER.to_owned(),
        gamma: GAMMA,
        knowledge,
        placement: Placement::Spread,
        placement_seed: None,
        live: Some(true),
        queues: Vec::new(),
    })
}

/// Returns the dimensions of the resources of a run: those of its nodes, and one for each feature that a phase requires. If
/// other jobs may arrive (`is_open`), also for features of the nodes, as many as possible.
///
/// # Errors
/// If there are too many.
pub(super) fn dimensions(plans: &[&Plan], nodes: &[NodeOffer], is_open: bool) -> Result<Dimensions, RunError> {
    let resources = Dimensions::of(nodes.iter().map(|node| &node.capacity))?;
    let phases = plans.iter().flat_map(|plan| &plan.phases);
    let required: BTreeSet<&str> = phases.flat_map(|phase| &phase.features).map(String::as_str).collect();
    let most = MAX_DIMENSIONS - resources.names().len();
    if required.len() > most {
        let names: Vec<&str> = required.into_iter().collect();
        return Err(RunError::Input(format!(
            "phases require {} different features ({}), but beside {} at most {most} are possible",
            names.len(),
            names.join(", "),
            resources.names().join(", ")
        )));
    }
    let mut features: Vec<&str> = required.iter().copied().collect();
    if is_open {
        let mut others = features_of(nodes);
        others.retain(|name| !required.contains(name));
        // A feature that all nodes have decides nothing, so it comes last.
        others.sort_by_key(|name| nodes.iter().all(|node| node.features.iter().any(|own| own == name)));
        features.extend(others.into_iter().take(most - features.len()));
    }
    let features: Vec<DemandByName> =
        features.into_iter().map(|name| DemandByName::from([(format!("{FEATURE}{name}"), PLENTY)])).collect();
    Ok(Dimensions::of(nodes.iter().map(|node| &node.capacity).chain(&features))?)
}

/// Checks that each phase's tasks fit on some node: otherwise they would wait for ever.
pub(super) fn check_fits(plan: &Plan, nodes: &[NodeOffer]) -> Result<(), RunError> {
    let dimensions = dimensions(&[plan], nodes, false)?;
    let capacities: Vec<_> = nodes.iter().map(|node| node.capacity_in(&dimensions)).collect::<Result<_, _>>()?;
    for phase in &plan.phases {
        let demand = dimensions.demand(&phase.demand())?;
        if capacities.iter().any(|capacity| demand.fits(capacity)) {
            continue;
        }
        let suitable: Vec<&NodeOffer> = nodes.iter().filter(|node| node.has(&phase.features)).collect();
        if suitable.is_empty() {
            return Err(RunError::Input(no_such_node(phase, nodes)));
        }
        let amounts: Vec<String> =
            suitable.iter().map(|node| format!("{} {}", node.name, node.capacity_in_words())).collect();
        let which = match phase.features.as_slice() {
            [] => String::new(),
            features => format!(" with {}", features.join(" and ")),
        };
        let resources = PlannedPhase { features: Vec::new(), ..phase.clone() }.demand();
        return Err(RunError::Input(format!(
            "each task of phase {:?} demands {}, which is more than any node{which} has ({}): lower the demand in the job \
             file, or give larger --nodes",
            phase.name,
            hindmost_core::resources::in_words(&resources),
            amounts.join("; ")
        )));
    }
    Ok(())
}

/// Returns an error about a phase that requires features which no node has.
fn no_such_node(phase: &PlannedPhase, nodes: &[NodeOffer]) -> String {
    let required = format!("phase {:?} requires nodes with {}", phase.name, phase.features.join(" and "));
    if features_of(nodes).is_empty() {
        return format!("{required}, but no node of the run has any feature: only nodes of engine slurm can have some");
    }
    let of = |node: &NodeOffer| match node.features.as_slice() {
        [] => format!("{} none", node.name),
        features => format!("{} {}", node.name, features.join(", ")),
    };
    let have: Vec<String> = nodes.iter().map(of).collect();
    format!(
        "{required}, but no node of the run is such a node (features: {}): correct the job file, or choose other nodes with \
         --nodes",
        have.join("; ")
    )
}

/// Checks that a run with these dimensions can start attempts only on nodes with the features that a job requires.
pub(super) fn check_features(plan: &Plan, dimensions: &Dimensions) -> Result<(), RunError> {
    let is_known = |feature: &&String| dimensions.names().iter().any(|name| **name == format!("{FEATURE}{feature}"));
    for phase in &plan.phases {
        if let Some(unknown) = phase.features.iter().find(|feature| !is_known(feature)) {
            return Err(RunError::Input(format!(
                "phase {:?} requires nodes with {unknown}, but the run was begun without a job that does, and its nodes have more \
                 features than it can distinguish: submit the job to a run of its own",
                phase.name
            )));
        }
    }
    Ok(())
}
