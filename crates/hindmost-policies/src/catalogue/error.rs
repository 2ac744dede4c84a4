//! The error of the catalogue.

use hindmost_core::submission_queues::BadQueue;
use hindmost_math::plain::Quoted;

use super::spec::BadPolicySpec;
use crate::parameters::BadValue;

/// The reason why the catalogue can't build a policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CatalogueError {
    /// No system or order has this name.
    #[error("no {what} is called {}{near} (`hindmost policies` lists them)", Quoted(name))]
    UnknownName {
        /// The kind of name that is unknown: `policy` or `order`.
        what: &'static str,
        /// The unknown name.
        name: String,
        /// A suggestion that the message includes; empty if there is none.
        near: String,
    },
    /// The system or order has no parameter of this name.
    #[error("{system} has no parameter {}{near}; it takes {known}", Quoted(name))]
    UnknownParameter {
        /// The name of the system or order.
        system: &'static str,
        /// The name of the unknown parameter.
        name: String,
        /// A suggestion that the message includes; empty if there is none.
        near: String,
        /// The names of the valid parameters, separated by commas, or `no parameters`.
        known: String,
    },
    /// The configuration of the submission queues is not valid.
    #[error(transparent)]
    Queue(BadQueue),
    /// The text does not have the form of a policy's name.
    #[error(transparent)]
    Malformed(BadPolicySpec),
    /// The values of several parameters do not fit each other.
    #[error("{system}: {why}")]
    BadCombination {
        /// The name of the system.
        system: &'static str,
        /// What is wrong, and what would be valid.
        why: String,
    },
    /// A parameter's value is not valid.
    #[error("{system}: {error}")]
    BadValue {
        /// The name of the system or order.
        system: &'static str,
        /// The parameter, its value and the valid values.
        error: BadValue,
    },
}
