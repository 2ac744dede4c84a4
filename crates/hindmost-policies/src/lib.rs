//! The published scheduling policies, each in a file of its own under the name that its users know.
//!
//! - [`orders`]: which job is next;
//! - [`speculation`]: which running attempts get a backup;
//! - [`cloning`]: which tasks start with several copies;
//! - [`placement`]: on which node a task starts;
//! - [`dag`]: orders that plan a job's phases ahead of time;
//! - [`theory`]: the optimisation problems behind them, on their own;
//! - [`mod@parameters`]: how a policy declares its parameters;
//! - [`catalogue`]: names, parameters and papers of all of them, and how they are built.
//!
//! Imports go one way between the folders: orders and dag use placement, placement and speculation use cloning, all of
//! them may use theory and parameters, the catalogue uses everything, and nothing uses the catalogue.

pub mod catalogue;
pub mod cloning;
pub mod dag;
pub mod orders;
pub mod parameters;
pub mod placement;
pub mod speculation;
pub mod theory;
