//! The simulated driver of Hindmost and the workloads it runs.
//!
//! A [`scenario::Scenario`] (a TOML file or a built-in one) describes cluster, workload and policies;
//! [`experiment`] runs every policy on every seed, on as many threads as there are, and compares them;
//! [`driver`] is one run.

mod agenda;
pub mod compare;
pub mod driver;
pub mod exact;
pub mod experiment;
mod generate;
pub mod network;
pub mod output;
pub mod parameter;
mod phases;
pub mod pictures;
pub mod records;
pub mod scenario;
pub mod size;
#[cfg(feature = "testing")]
pub mod testing;
mod truth;

/// The worked example of how to add a policy, so that the tests compile and run it.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
