//! Simulates clusters that run parallel jobs under the policies of Hindmost.
//!
//! - A [`scenario::Scenario`], read from a TOML file or built in, describes the cluster, the workload, and the policies
//!   to compare.
//! - An [`experiment::Experiment`] is a scenario made ready to run. [`experiment::run_all`] runs every policy on every
//!   seed in parallel; all policies run the same jobs, and results do not depend on the number of threads.
//! - A run ([`driver::simulate`]) has a virtual clock and drawn durations. It sends jobs and attempts to an
//!   [`output::Output`] as they end, for example to record files ([`records`]).
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use hindmost_sim::experiment::{Execution, Experiment, run_all};
//! use hindmost_sim::scenario::Scenario;
//!
//! let set = [("horizon".to_owned(), "20".to_owned()), ("seeds".to_owned(), "1".to_owned())];
//! let scenario = Scenario::load("quickstart", &set)?;
//! let experiment = Experiment::of(&scenario, 1)?;
//! let stop = AtomicBool::new(false);
//! let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
//! let results = run_all(std::slice::from_ref(&experiment), &execution)?;
//! // The results of the first experiment's first policy on its first seed.
//! let first = &results[0][0][0];
//! assert!(first.finished > 0 && first.unfinished == 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agenda;
pub mod by_correlation;
pub mod cautions;
pub mod compare;
pub mod disturbances;
pub mod driver;
pub mod energy;
pub mod exact;
mod expected;
pub mod experiment;
mod generate;
pub mod network;
pub mod output;
pub mod parameter;
mod phases;
pub mod pictures;
pub mod recommendation;
pub mod records;
pub mod scenario;
pub mod size;
mod tail_index;
#[cfg(feature = "testing")]
pub mod testing;
mod truth;
pub mod world_notes;

/// Makes the doc tests compile and run the example of CONTRIBUTING.md, which adds a policy.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
