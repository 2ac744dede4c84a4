//! An entry of the catalogue: what users read of an order or a system, and how it is built from its parameters.

use serde::{Serialize, Serializer};

use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::policy::order::Order;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy};
use hindmost_core::workload::QueueSpec;

use crate::parameters::{BadValue, Given, ParameterEntry, Parameters};
use crate::placement::by_node::{ByNode, Fit, InKeyOrder, Stage};
use crate::placement::job_by_job::Originals;

/// An order of jobs.
#[derive(Serialize)]
pub struct OrderEntry {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// Its key, smallest first.
    pub key: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// Its parameters, and how it is built from them: [`order_of`].
    #[serde(rename = "parameters", serialize_with = "parameters_of")]
    pub build: &'static dyn Build<Vec<QueueSpec>, JobOrder>,
}

impl OrderEntry {
    /// Its parameters.
    pub fn parameters(&self) -> &'static [ParameterEntry] {
        self.build.parameters()
    }
}

/// A speculation policy or complete system.
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
    /// Its parameters, and how it is built from them: [`system_of`].
    #[serde(rename = "parameters", serialize_with = "parameters_of")]
    pub build: &'static dyn Build<PolicyBuilder, PolicyBuilder>,
}

impl SystemEntry {
    /// Its parameters.
    pub fn parameters(&self) -> &'static [ParameterEntry] {
        self.build.parameters()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's serialize_with passes a reference")]
fn parameters_of<C, T, S: Serializer>(build: &&'static dyn Build<C, T>, serializer: S) -> Result<S::Ok, S::Error> {
    build.parameters().serialize(serializer)
}

/// Builds a `T` from parameters by name and a context. [`order_of`] and [`system_of`] make one from a function of
/// the parameters' struct.
pub trait Build<C, T>: Sync {
    /// The parameters that it reads.
    fn parameters(&self) -> &'static [ParameterEntry];

    /// Builds it; ignores parameters of other names.
    ///
    /// # Errors
    /// If a value is not valid.
    fn build(&self, given: &Given, context: C) -> Result<T, BadValue>;
}

/// A function of a policy's parameters and a context.
pub struct Typed<P, C, T>(fn(P, C) -> T);

impl<P: Parameters, C, T> Build<C, T> for Typed<P, C, T> {
    fn parameters(&self) -> &'static [ParameterEntry] {
        P::ENTRIES
    }

    fn build(&self, given: &Given, context: C) -> Result<T, BadValue> {
        Ok((self.0)(P::read(given)?, context))
    }
}

/// How an order is built from its parameters and the queues that jobs are submitted to.
pub const fn order_of<P: Parameters>(build: fn(P, Vec<QueueSpec>) -> JobOrder) -> Typed<P, Vec<QueueSpec>, JobOrder> {
    Typed(build)
}

/// How a system is built from its parameters: the function adds the system's passes to the policy.
pub const fn system_of<P: Parameters>(
    build: fn(P, PolicyBuilder) -> PolicyBuilder,
) -> Typed<P, PolicyBuilder, PolicyBuilder> {
    Typed(build)
}

/// An order of jobs, and how passes place its jobs' tasks.
pub struct JobOrder {
    order: Box<dyn Order>,
    originals: Box<dyn Fn(Which) -> Box<dyn Pass>>,
    fit: Box<dyn Fn() -> Box<dyn Fit>>,
}

impl JobOrder {
    /// Serves one job after the other: see [`Originals`].
    pub fn job_by_job(order: impl Order + 'static) -> JobOrder {
        JobOrder::with_originals(order, Originals::of)
    }

    /// Starts pending tasks, one copy each, with passes of its own. Passes that go from node to node choose the best
    /// fit within each key of the order.
    pub fn with_originals<P: Pass + 'static>(
        order: impl Order + 'static,
        originals: impl Fn(Which) -> P + 'static,
    ) -> JobOrder {
        JobOrder {
            order: Box::new(order),
            originals: Box::new(move |which| Box::new(originals(which))),
            fit: Box::new(|| Box::new(InKeyOrder)),
        }
    }

    /// Goes from node to node and chooses among jobs with this fit: see [`ByNode`].
    pub fn node_by_node<F: Fit + 'static>(
        order: impl Order + 'static,
        fit: impl Fn() -> F + Copy + 'static,
    ) -> JobOrder {
        let originals = move |which| ByNode::new(Box::new(fit()), vec![vec![Stage::Originals(which)]]);
        JobOrder { fit: Box::new(move || Box::new(fit())), ..JobOrder::with_originals(order, originals) }
    }
}

/// A policy to which a system adds its passes, in the order in which they decide.
pub struct PolicyBuilder {
    order: JobOrder,
    own_order: bool,
    gamma: f64,
    passes: Vec<Box<dyn Pass>>,
    keep: Keep,
}

impl PolicyBuilder {
    /// A policy without passes under an order, perhaps the system's own; γ is the price of a machine-second.
    pub(super) fn new(order: JobOrder, own_order: bool, gamma: f64) -> PolicyBuilder {
        PolicyBuilder { order, own_order, gamma, passes: Vec::new(), keep: Keep::None }
    }

    /// Adds the pass that starts pending tasks in the order's way, one copy each: of all jobs, of started or of new
    /// ones.
    #[must_use]
    pub fn originals(mut self, which: Which) -> PolicyBuilder {
        self.passes.push((self.order.originals)(which));
        self
    }

    /// Adds a pass.
    #[must_use]
    pub fn pass(mut self, pass: impl Pass + 'static) -> PolicyBuilder {
        self.passes.push(Box::new(pass));
        self
    }

    /// Lets one of a finished task's other copies run on.
    #[must_use]
    pub fn keeping(mut self, keep: Keep) -> PolicyBuilder {
        self.keep = keep;
        self
    }

    /// How the order chooses among jobs for a node.
    pub fn fit(&self) -> Box<dyn Fit> {
        (self.order.fit)()
    }

    /// True if the system's own order is in force.
    pub fn has_own_order(&self) -> bool {
        self.own_order
    }

    /// γ: the price of a machine-second.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    pub(super) fn finish(self) -> Policy {
        Policy::new(self.order.order, self.passes).keeping(self.keep)
    }
}
