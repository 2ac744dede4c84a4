//! Reproduces the experiments of papers and compares their claims with measured values.
//!
//! - A **claim** is a sentence of a paper together with a rule: the range of values that confirms the claim. All readings
//!   of a claim have the same rule, and the rule was written down before anything was measured.
//! - A **reading** is one interpretation of details that the paper does not specify, such as the length of a slot.
//! - A **figure** requests the simulations that it needs and derives the verdicts of its claims from their results. The
//!   simulations of all figures run in parallel. A simulation that several figures request runs once.
//!
//! A [`Reproduction`](hindmost_core::reproduction::Reproduction) contains the claims with their verdicts and all
//! numbers as data; `hindmost-report` turns it into text, Markdown and HTML. Each paper has a folder with a file for
//! each figure. Papers: Xu & Lau 2015 ([`xu2015`](fn@xu2015)) and Xu, Liu & Lau 2022 ([`dollymp2022`](fn@dollymp2022)).
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//!
//! use hindmost_papers::xu2015;
//! use hindmost_sim::experiment::Execution;
//!
//! let stop = AtomicBool::new(false);
//! let execution = Execution { threads: 4, stop: &stop, progress: &|_| {}, output: None };
//! // `true` requests the quick version, which takes minutes.
//! let reproduction = xu2015(true, &execution)?;
//! for claim in reproduction.figures.iter().flat_map(|figure| &figure.claims) {
//!     println!("{}: {}", claim.claimed, claim.verdict);
//! }
//! # Ok::<(), hindmost_sim::driver::SimulationError>(())
//! ```

mod digest;
pub mod dollymp2022;
mod plan;
mod xu2015;

pub use dollymp2022::{DecisionTime, dollymp2022, dollymp2022_decision_times, dollymp2022_runs};
#[cfg(feature = "testing")]
pub use xu2015::xu2015_short;
pub use xu2015::{xu2015, xu2015_runs};
