//! An entry of the catalogue: the description of an order or a system for users, and a function that builds it from its
//! parameters.

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
    /// Which job is served first, in a line.
    pub about: &'static str,
    /// What it does, in two sentences.
    pub does: &'static str,
    /// The conditions under which it gives good results.
    pub wins: &'static str,
    /// The conditions under which another order gives better results.
    pub loses: &'static str,
    /// The sort key of a job. The job with the smallest key is served first.
    pub key: &'static str,
    /// The paper or program that it comes from.
    pub source: &'static str,
    /// Its parameters and the function that builds it from them. Made by [`order_of`].
    #[serde(rename = "parameters", serialize_with = "parameters_of")]
    pub build: &'static dyn Build<Vec<QueueSpec>, JobOrder>,
}

impl OrderEntry {
    /// Returns its parameters in the order in which they are listed.
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
    /// What it does, in two or three sentences.
    pub does: &'static str,
    /// The conditions under which it gives good results.
    pub wins: &'static str,
    /// The conditions under which another system gives better results.
    pub loses: &'static str,
    /// Its passes, in the order in which they decide.
    pub passes: &'static str,
    /// The paper or program that it comes from.
    pub source: &'static str,
    /// The name of its own order of jobs. `None`: it runs under the scenario's order.
    pub order: Option<&'static str>,
    /// Its parameters and the function that builds it from them. Made by [`system_of`].
    #[serde(rename = "parameters", serialize_with = "parameters_of")]
    pub build: &'static dyn Build<PolicyBuilder, PolicyBuilder>,
}

impl SystemEntry {
    /// Returns its parameters in the order in which they are listed.
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
    /// Returns the parameters that [`Build::build`] reads.
    fn parameters(&self) -> &'static [ParameterEntry];

    /// Builds the value. Ignores parameters of other names.
    ///
    /// # Errors
    /// If a parameter's value is not valid.
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

/// Makes the `build` field of an order's entry from a function of its parameters and of the queues that jobs are
/// submitted to.
pub const fn order_of<P: Parameters>(build: fn(P, Vec<QueueSpec>) -> JobOrder) -> Typed<P, Vec<QueueSpec>, JobOrder> {
    Typed(build)
}

/// Makes the `build` field of a system's entry from a function that adds the system's passes to a policy.
pub const fn system_of<P: Parameters>(
    build: fn(P, PolicyBuilder) -> PolicyBuilder,
) -> Typed<P, PolicyBuilder, PolicyBuilder> {
    Typed(build)
}

/// An order of jobs together with its way of placing their tasks on nodes.
pub struct JobOrder {
    order: Box<dyn Order>,
    originals: Box<dyn Fn(Which) -> Box<dyn Pass>>,
    fit: Box<dyn Fn() -> Box<dyn Fit>>,
}

impl JobOrder {
    /// An order that serves one job after the other, see [`Originals`].
    pub fn job_by_job(order: impl Order + 'static) -> JobOrder {
        JobOrder::with_originals(order, Originals::of)
    }

    /// An order whose pending tasks are started by a pass of its own, one copy each. Clone passes that go from node to
    /// node take the best fit among the jobs with the smallest key.
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

    /// An order that goes from node to node and chooses among jobs by `fit`, see [`ByNode`].
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
    passes: Vec<Box<dyn Pass>>,
    keep: Keep,
}

impl PolicyBuilder {
    /// A policy without passes. `own_order` is true if `order` is the system's own order; γ is the price of a
    /// machine-second.
    pub(super) fn new(order: JobOrder, own_order: bool, gamma: f64) -> PolicyBuilder {
        PolicyBuilder { order, own_order, gamma, passes: Vec::new(), keep: Keep::None }
    }

    /// Adds the order's pass that starts pending tasks, one copy each: tasks of all jobs, of started jobs or of new
    /// jobs.
    #[must_use]
    pub fn originals(mut self, which: Which) -> PolicyBuilder {
        self.passes.push((self.order.originals)(which));
        self
    }

    /// Adds a pass, which decides after those added before.
    #[must_use]
    pub fn pass(mut self, pass: impl Pass + 'static) -> PolicyBuilder {
        self.passes.push(Box::new(pass));
        self
    }

    /// Sets whether one more copy of a finished task continues to run.
    #[must_use]
    pub fn keeping(mut self, keep: Keep) -> PolicyBuilder {
        self.keep = keep;
        self
    }

    /// Returns the way in which the order chooses among jobs for a node.
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

    pub(super) fn finish(self) -> Policy {
        Policy::new(self.order.order, self.passes).keeping(self.keep)
    }
}
