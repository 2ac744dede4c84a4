//! What a run is done with, and whether that can be.

use std::collections::BTreeMap;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::journal::{Header, VERSION};
use hindmost_core::resources::Dimensions;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;

use super::RunError;
use crate::chaos::Chaos;
use crate::engine::{Engine, NodeOffer};
use crate::job_file::{Plan, check_knowledge};
use crate::store::Store;

/// The policy of runs that name none.
pub const DEFAULT_POLICY: &str = "pace";
/// What policies know in runs that do not say: progress, which tells once a tenth of the work is done.
pub const DEFAULT_KNOWLEDGE: Knowledge = Knowledge::Progress(0.1);
/// γ for policies that weigh time against resources.
const GAMMA: f64 = 0.01;

/// How a run is to be done.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The policy; without one the journal's on resume, else [`DEFAULT_POLICY`].
    pub policy: Option<PolicySpec>,
    /// What it knows of running attempts; likewise, else [`DEFAULT_KNOWLEDGE`].
    pub knowledge: Option<Knowledge>,
    /// What is done to the run.
    pub chaos: Chaos,
    /// Winners' durations of earlier runs, seconds, by the phase's name.
    pub history: BTreeMap<String, Vec<f64>>,
}

impl RunOptions {
    /// With the policy and knowledge with which the run in a folder was begun, where none are named.
    pub(super) fn filled_from(&self, store: &Store) -> RunOptions {
        let mut filled = self.clone();
        if let Some(begun) = &store.job().begun_with {
            filled.policy = filled.policy.or_else(|| begun.policy.as_deref()?.parse().ok());
            filled.knowledge = filled.knowledge.or(begun.knowledge);
        }
        filled
    }
}

/// What a run is done with: the command line says first, then the job file, then the defaults.
///
/// # Errors
/// If the job file names no policy or knowledge that there is.
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

/// Checks what can be checked before a run has a folder: policy, knowledge, fault injection, and that every
/// task fits on some node.
///
/// # Errors
/// The first thing that makes no sense.
pub fn check(plan: &Plan, options: &RunOptions, nodes: &[NodeOffer]) -> Result<(), RunError> {
    let (policy, _) = chosen(plan, options)?;
    catalogue::check(&policy)?;
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    if let Some(unknown) = options.chaos.unknown_node(&names) {
        return Err(RunError::Input(format!("chaos names node {unknown:?}, but the nodes are {}", names.join(", "))));
    }
    check_fits(plan, nodes)
}

pub(super) fn new_header(plan: &Plan, options: &RunOptions, engine: &dyn Engine) -> Result<Header, RunError> {
    let (policy, knowledge) = chosen(plan, options)?;
    Ok(Header {
        hindmost_journal: VERSION,
        dimensions: Dimensions::of(engine.nodes().iter().map(|node| &node.capacity))?,
        policy: policy.to_string(),
        order: catalogue::DEFAULT_ORDER.to_owned(),
        gamma: GAMMA,
        knowledge,
        placement: Placement::Spread,
        queues: Vec::new(),
    })
}

/// A phase whose task fits on no node would wait for ever.
fn check_fits(plan: &Plan, nodes: &[NodeOffer]) -> Result<(), RunError> {
    let dimensions = Dimensions::of(nodes.iter().map(|node| &node.capacity))?;
    let capacities: Vec<_> = nodes.iter().map(|node| dimensions.amounts(&node.capacity)).collect::<Result<_, _>>()?;
    for phase in &plan.job_spec().phases {
        let demand = dimensions.demand(&phase.demand)?;
        if !capacities.iter().any(|capacity| demand.fits(capacity)) {
            let amounts: Vec<String> =
                nodes.iter().map(|node| format!("{} {}", node.name, node.capacity_in_words())).collect();
            return Err(RunError::Input(format!(
                "phase {:?} wants {} for each task, which is more than any node has ({}): ask for less, or name larger \
                 --nodes",
                phase.name,
                hindmost_core::resources::in_words(&phase.demand),
                amounts.join("; ")
            )));
        }
    }
    Ok(())
}
