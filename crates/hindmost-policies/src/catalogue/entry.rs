//! An entry of the catalogue: the description of an order or a system for users, and a function that builds it from its
//! parameters.

use serde::{Serialize, Serializer};

use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::policy::order::Order;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy};
use hindmost_core::workload::QueueSpec;

use super::Setting;
use super::sources::Source;
use crate::parameters::{BadValue, Given, ParameterEntry, Parameters};
use crate::placement::by_node::{ByNode, Fit, InKeyOrder, Stage};
use crate::placement::job_by_job::Originals;

/// The catalogue's entry for an order of jobs.
#[derive(Serialize)]
pub struct OrderEntry {
    /// The name of the order on the command line and in files.
    pub name: &'static str,
    /// A line that says which job is served first.
    pub about: &'static str,
    /// Two sentences that say what the order does.
    pub does: &'static str,
    /// The conditions under which the order gives good results.
    pub wins: &'static str,
    /// The conditions under which another order gives better results.
    pub loses: &'static str,
    /// The sort key of a job. The job with the smallest key is served first.
    pub key: &'static str,
    /// Where the order comes from, and how it differs from that source.
    #[serde(flatten)]
    pub source: Source,
    /// The parameters of the order, and the function that builds it from them. [`order_of`] creates this value.
    #[serde(rename = "parameters", serialize_with = "parameters_of")]
    pub build: &'static dyn Build<Vec<QueueSpec>, JobOrder>,
}

impl OrderEntry {
    /// Returns the order's parameters in the order in which the catalogue lists them.
    pub fn parameters(&self) -> &'static [ParameterEntry] {
        self.build.parameters()
    }
}

/// The catalogue's entry for a system: a speculation policy or a complete scheduler.
#[derive(Serialize)]
pub struct SystemEntry {
    /// The name of the system on the command line and in files.
    pub name: &'static str,
    /// A line that says what the system does.
    pub about: &'static str,
    /// Two or three sentences that say what the system does.
    pub does: &'static str,
    /// The conditions under which the system gives good results.
    pub wins: &'static str,
    /// The conditions under which another system gives better results.
    pub loses: &'static str,
    /// The system's passes, in the order in which they decide.
    pub passes: &'static str,
    /// Where the system comes from, and how it differs from that source.
    #[serde(flatten)]
    pub source: Source,
    /// The name of the system's own order of jobs. `None`: the system runs under the scenario's order.
    pub order: Option<&'static str>,
    /// The parameters of the system, and the function that builds it from them. [`system_of`] creates this value.
    #[serde(rename = "parameters", serialize_with = "parameters_of")]
    pub build: &'static dyn Build<PolicyBuilder, PolicyBuilder>,
}

impl SystemEntry {
    /// Returns the system's parameters in the order in which the catalogue lists them.
    pub fn parameters(&self) -> &'static [ParameterEntry] {
        self.build.parameters()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's serialize_with passes a reference")]
fn parameters_of<C, T, S: Serializer>(build: &&'static dyn Build<C, T>, serializer: S) -> Result<S::Ok, S::Error> {
    build.parameters().serialize(serializer)
}

/// Builds a `T` from a context and from parameters given by name. [`order_of`] and [`system_of`] create implementations
/// from functions of a struct of parameters.
pub trait Build<C, T>: Sync {
    /// Returns the parameters that [`Build::build`] reads.
    fn parameters(&self) -> &'static [ParameterEntry];

    /// Builds a `T`. Ignores given parameters that are not in [`Build::parameters`].
    ///
    /// # Errors
    /// If a parameter's value is not valid.
    fn build(&self, given: &Given, context: C) -> Result<T, BadValue>;

    /// Returns what is wrong with the values of several parameters together; `None` if nothing is.
    fn check(&self, given: &Given) -> Option<String>;
}

/// Implements [`Build`] with a function of a struct of parameters and a context.
pub struct Typed<P, C, T> {
    build: fn(P, C) -> T,
    check: fn(P) -> Option<String>,
}

impl<P, C, T> Typed<P, C, T> {
    /// Adds a test of several parameters together. The function returns what is wrong, and what would be valid.
    #[must_use]
    pub const fn checked(self, check: fn(P) -> Option<String>) -> Typed<P, C, T> {
        Typed { build: self.build, check }
    }
}

impl<P: Parameters, C, T> Build<C, T> for Typed<P, C, T> {
    fn parameters(&self) -> &'static [ParameterEntry] {
        P::ENTRIES
    }

    fn build(&self, given: &Given, context: C) -> Result<T, BadValue> {
        Ok((self.build)(P::read(given)?, context))
    }

    fn check(&self, given: &Given) -> Option<String> {
        (self.check)(P::read(given).ok()?)
    }
}

/// Creates the `build` field of an order's entry from a function of the order's parameters and of the queues that jobs
/// are submitted to.
pub const fn order_of<P: Parameters>(build: fn(P, Vec<QueueSpec>) -> JobOrder) -> Typed<P, Vec<QueueSpec>, JobOrder> {
    Typed { build, check: |_| None }
}

/// Creates the `build` field of a system's entry from a function that adds the system's passes to a policy.
pub const fn system_of<P: Parameters>(
    build: fn(P, PolicyBuilder) -> PolicyBuilder,
) -> Typed<P, PolicyBuilder, PolicyBuilder> {
    Typed { build, check: |_| None }
}

/// An order of jobs, and the pass that starts their pending tasks on nodes.
pub struct JobOrder {
    order: Box<dyn Order>,
    originals: Box<dyn Fn(Which) -> Box<dyn Pass>>,
    /// True if pending tasks are started one job after the other.
    is_job_by_job: bool,
    fit: Box<dyn Fn() -> Box<dyn Fit>>,
}

impl JobOrder {
    /// Creates an order whose pending tasks are started one job after the other, see [`Originals`].
    pub fn job_by_job(order: impl Order + 'static) -> JobOrder {
        JobOrder { is_job_by_job: true, ..JobOrder::with_originals(order, Originals::of) }
    }

    /// Creates an order whose pending tasks are started, one copy each, by the pass that `originals` returns. Clone
    /// passes that go from node to node choose the task that fits a node best among the jobs with the smallest key.
    pub fn with_originals<P: Pass + 'static>(
        order: impl Order + 'static,
        originals: impl Fn(Which) -> P + 'static,
    ) -> JobOrder {
        JobOrder {
            order: Box::new(order),
            originals: Box::new(move |which| Box::new(originals(which))),
            is_job_by_job: false,
            fit: Box::new(|| Box::new(InKeyOrder)),
        }
    }

    /// Creates an order whose pending tasks are started node by node. `fit` compares the jobs for a node, see
    /// [`ByNode`].
    pub fn node_by_node<F: Fit + 'static>(
        order: impl Order + 'static,
        fit: impl Fn() -> F + Copy + 'static,
    ) -> JobOrder {
        let originals = move |which| ByNode::new(Box::new(fit()), vec![vec![Stage::Originals(which)]]);
        JobOrder { fit: Box::new(move || Box::new(fit())), ..JobOrder::with_originals(order, originals) }
    }
}

/// A policy under construction. A system adds its passes in the order in which they decide.
pub struct PolicyBuilder {
    order: JobOrder,
    own_order: bool,
    gamma: f64,
    live: bool,
    passes: Vec<Box<dyn Pass>>,
    keep: Keep,
}

impl PolicyBuilder {
    /// Creates a policy without passes. `own_order` is true if `order` is the system's own order.
    pub(super) fn new(order: JobOrder, own_order: bool, setting: &Setting<'_>) -> PolicyBuilder {
        let (gamma, live) = (setting.gamma, setting.live);
        PolicyBuilder { order, own_order, gamma, live, passes: Vec::new(), keep: Keep::None }
    }

    /// Adds the order's pass that starts pending tasks, one copy each. `which` selects the jobs: all jobs, started jobs
    /// or new jobs.
    #[must_use]
    pub fn originals(mut self, which: Which) -> PolicyBuilder {
        self.passes.push((self.order.originals)(which));
        self
    }

    /// Adds the order's pass that starts pending tasks of all jobs. In live runs, where the speeds of nodes are learned, an order that
    /// starts tasks one job after the other leaves nodes below the speed `slow` free while that is sooner.
    #[must_use]
    pub fn originals_by_speed(mut self, slow: f64) -> PolicyBuilder {
        if !self.live || !self.order.is_job_by_job {
            return self.originals(Which::Any);
        }
        self.passes.push(Box::new(Originals::by_speed(slow)));
        self
    }

    /// Adds a pass that decides after the passes added so far.
    #[must_use]
    pub fn pass(mut self, pass: impl Pass + 'static) -> PolicyBuilder {
        self.passes.push(Box::new(pass));
        self
    }

    /// Sets whether one other copy of a finished task continues to run.
    #[must_use]
    pub fn keeping(mut self, keep: Keep) -> PolicyBuilder {
        self.keep = keep;
        self
    }

    /// Returns the score by which the order chooses among jobs for a node.
    pub fn fit(&self) -> Box<dyn Fit> {
        (self.order.fit)()
    }

    /// Returns true if the policy runs under the system's own order.
    pub fn has_own_order(&self) -> bool {
        self.own_order
    }

    /// Returns γ, the price of a machine-second.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Returns true if the policy decides in a live run.
    pub fn is_live(&self) -> bool {
        self.live
    }

    pub(super) fn finish(self) -> Policy {
        Policy::new(self.order.order, self.passes).keeping(self.keep)
    }
}
