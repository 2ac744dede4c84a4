//! Why the catalogue can't build a policy.

use hindmost_core::submission_queues::BadQueue;
use hindmost_math::plain::Quoted;

use super::spec::BadPolicySpec;
use crate::parameters::BadValue;

/// A policy that the catalogue can't build.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CatalogueError {
    /// No such system, rule or order.
    #[error("no {what} is called {}{near} (`hindmost policies` lists them)", Quoted(name))]
    UnknownName {
        /// `policy` or `order`.
        what: &'static str,
        /// The name.
        name: String,
        /// A suggestion, or nothing.
        near: String,
    },
    /// No such parameter.
    #[error("{system} has no parameter {}{near}; it takes {known}", Quoted(name))]
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
    Queue(BadQueue),
    /// A text that is no name.
    #[error(transparent)]
    Malformed(BadPolicySpec),
    /// A value that is not valid.
    #[error("{system}: {error}")]
    BadValue {
        /// The system.
        system: &'static str,
        /// The parameter, its value and what is valid.
        error: BadValue,
    },
}
